// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/tls_hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/userspace/decode/tls_bytes.h"

namespace routelens {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::variant<ClientHello, TlsFault> Client(const Bytes& body) {
  return ParseClientHello(body, body.size());
}

ClientHello Parsed(const Bytes& body) {
  auto parsed = Client(body);
  if (const auto* fault = std::get_if<TlsFault>(&parsed)) {
    ADD_FAILURE() << ToString(*fault);
    return {};
  }
  return std::get<ClientHello>(std::move(parsed));
}

std::string FaultName(const Bytes& body) {
  const auto parsed = Client(body);
  const auto* fault = std::get_if<TlsFault>(&parsed);
  return fault == nullptr ? "none" : std::string(ToString(*fault));
}

ServerHello ParsedServer(const Bytes& body) {
  auto parsed = ParseServerHello(body, body.size());
  if (const auto* fault = std::get_if<TlsFault>(&parsed)) {
    ADD_FAILURE() << ToString(*fault);
    return {};
  }
  return std::get<ServerHello>(std::move(parsed));
}

std::string ServerFaultName(const Bytes& body) {
  const auto parsed = ParseServerHello(body, body.size());
  const auto* fault = std::get_if<TlsFault>(&parsed);
  return fault == nullptr ? "none" : std::string(ToString(*fault));
}

TEST(TlsHello, ReadsWhatAClientOffers) {
  const ClientHello hello = Parsed(ClientHelloBody(
      ServerName("mcp.example.com") +
      Extension(16, Counted16(Counted8(BytesOf("h2")) + Counted8(BytesOf("http/1.1")))) +
      Extension(43, Counted8(U16(0x8a8a) + U16(kTls13) + U16(kTls12))) + Extension(42, {}) +
      Extension(0xfe0d, BytesOf("ech")) + Extension(0x1234, BytesOf("unknown"))));
  EXPECT_EQ(hello.legacy_version, kTls12);
  EXPECT_EQ(hello.random, SomeRandom());
  EXPECT_EQ(hello.server_name, "mcp.example.com");
  EXPECT_THAT(hello.alpn, ElementsAre("h2", "http/1.1"));
  EXPECT_THAT(hello.versions, ElementsAre(kTls13, kTls12)) << "GREASE is no version";
  EXPECT_TRUE(hello.encrypted_client_hello);
  EXPECT_TRUE(hello.offers_early_data);
  EXPECT_FALSE(hello.offers_resumption);
  EXPECT_FALSE(hello.cut);
}

TEST(TlsHello, C17_NamesOfEveryLengthComeOutExactly) {
  for (const size_t length : {size_t{1}, size_t{127}, size_t{128}, size_t{255}, size_t{256}}) {
    const std::string name(length, 'n');
    EXPECT_EQ(Parsed(ClientHelloBody(ServerName(name))).server_name, name);
  }
  EXPECT_EQ(Parsed(ClientHelloBody({})).server_name, "");
}

TEST(TlsHello, C16_FindsANameAtTheEndOfALongHello) {
  const Bytes key_share = Extension(51, Bytes(1800, std::byte{7}));
  EXPECT_EQ(Parsed(ClientHelloBody(key_share + ServerName("late.example"))).server_name,
            "late.example");
}

TEST(TlsHello, C23_LengthsThatDoNotFitAreMalformed) {
  const Bytes bad[] = {
      U16(0) + U16(10) + BytesOf("short"),                             // extension > rest
      Extension(0, U16(20) + BytesOf({0}) + Counted16(BytesOf("x"))),  // list > extension
      Extension(0, U16(1) + BytesOf({0}) + Counted16(BytesOf("x"))),   // list < extension
      Extension(0, Counted16(BytesOf({0}) + U16(9) + BytesOf("x"))),   // name > list
      Extension(0, Counted16(BytesOf({0}) + U16(0xffff))),             // underflow bait
      Extension(0, Counted16({})),
      Extension(0, {}),
      Extension(16, Counted16(BytesOf({5, 'h', '2'}))),
      Extension(16, Counted16({})),
      Extension(43, Counted8(BytesOf({3}))),
      Extension(43, Counted8({})),
      Extension(43, U16(kTls13)),
      BytesOf({0}),
  };
  for (const Bytes& extensions : bad)
    EXPECT_EQ(FaultName(ClientHelloBody(extensions)), "bad_length");
  EXPECT_EQ(FaultName(ClientHelloBody(Extension(0, Counted16(BytesOf({0}) + Counted16({}))))),
            "bad_value");
  EXPECT_EQ(FaultName(ClientHelloBody(Extension(16, Counted16(BytesOf({0}))))), "bad_value");
  EXPECT_EQ(FaultName(ClientHelloBody({}) + BytesOf("left over")), "bad_length");
}

TEST(TlsHello, C23_OtherKindsOfNameArePassedOver) {
  const Bytes other = BytesOf({7}) + Counted16(BytesOf("other"));
  const Bytes host = BytesOf({0}) + Counted16(BytesOf("host"));
  EXPECT_EQ(Parsed(ClientHelloBody(Extension(0, Counted16(other + host)))).server_name, "host");
  EXPECT_EQ(Parsed(ClientHelloBody(Extension(0, Counted16(other)))).server_name, "");
}

TEST(TlsHello, KnowsOffersToResume) {
  const auto offers = [](const Bytes& extensions, const Bytes& session_id) {
    return Parsed(ClientHelloBody(extensions, session_id)).offers_resumption;
  };
  const Bytes tls13 = Extension(43, Counted8(U16(kTls13)));
  EXPECT_FALSE(offers({}, {}));
  EXPECT_TRUE(offers({}, Bytes(32)));
  EXPECT_FALSE(offers(tls13, Bytes(32))) << "a session id for middleboxes";
  EXPECT_TRUE(offers(tls13 + Extension(41, BytesOf("psk")), {}));
  EXPECT_TRUE(offers(Extension(35, BytesOf("ticket")), {}));
  EXPECT_FALSE(offers(Extension(35, {}), {})) << "asks for a ticket, has none";
}

TEST(TlsHello, AHelloWithoutExtensionsIsOne) {
  const Bytes with = ClientHelloBody({});
  const Bytes without(with.begin(), with.end() - 2);
  EXPECT_THAT(Parsed(without).versions, ElementsAre(kTls12));
  EXPECT_EQ(FaultName(Bytes(without.begin(), without.end() - 1)), "too_short");
}

TEST(TlsHello, AnyCutKeepsWhatWasWholeAndSaysSo) {
  const Bytes body =
      ClientHelloBody(ServerName("cut.example") + Extension(43, Counted8(U16(kTls13))));
  for (size_t length = 0; length < body.size(); ++length) {
    const auto parsed = ParseClientHello(std::span(body).first(length), body.size());
    if (length < 2 + 32 + 1) {
      EXPECT_EQ(std::get<TlsFault>(parsed), TlsFault::kTooShort);
      continue;
    }
    ASSERT_TRUE(std::holds_alternative<ClientHello>(parsed)) << length;
    const auto& hello = std::get<ClientHello>(parsed);
    EXPECT_TRUE(hello.cut);
    EXPECT_EQ(hello.random, SomeRandom());
    EXPECT_TRUE(hello.server_name.empty() || hello.server_name == "cut.example");
  }
  EXPECT_EQ(std::get<TlsFault>(ParseClientHello(body, body.size() - 1)), TlsFault::kBadLength);
}

TEST(TlsHello, OddParametersAreMalformed) {
  EXPECT_EQ(FaultName(ClientHelloBody({}, Bytes(33))), "bad_length");
  Bytes ssl2 = ClientHelloBody({});
  ssl2[0] = std::byte{2};
  EXPECT_EQ(FaultName(ssl2), "bad_value");
}

TEST(TlsHello, C22_TheVersionComesFromSupportedVersions) {
  EXPECT_EQ(ParsedServer(ServerHelloBody(Extension(43, U16(kTls13)))).version, kTls13);
  EXPECT_EQ(ParsedServer(ServerHelloBody({})).version, kTls12);
  EXPECT_EQ(ServerFaultName(ServerHelloBody(Extension(43, BytesOf({3})))), "bad_length");
  EXPECT_EQ(ServerFaultName(ServerHelloBody(Extension(43, U24(0x030400)))), "bad_length");
}

TEST(TlsHello, ReadsTheServersChoices) {
  const ServerHello hello =
      ParsedServer(ServerHelloBody(Extension(16, Counted16(Counted8(BytesOf("h2"))))));
  EXPECT_EQ(hello.alpn, "h2");
  EXPECT_EQ(hello.cipher_suite, 0x1301);
  EXPECT_FALSE(hello.is_hello_retry_request);
  EXPECT_EQ(ServerFaultName(ServerHelloBody(
                Extension(16, Counted16(Counted8(BytesOf("h2")) + Counted8(BytesOf("x")))))),
            "bad_value");
}

TEST(TlsHello, TellsResumptionInBothVersions) {
  const ClientHello client12 = Parsed(ClientHelloBody({}, Bytes(32, std::byte{5})));
  EXPECT_TRUE(IsResumption(client12, ParsedServer(ServerHelloBody({}, Bytes(32, std::byte{5})))));
  EXPECT_FALSE(IsResumption(client12, ParsedServer(ServerHelloBody({}, Bytes(32, std::byte{6})))));
  EXPECT_FALSE(IsResumption(client12, ParsedServer(ServerHelloBody({}))));
  const Bytes tls13 = Extension(43, U16(kTls13));
  EXPECT_FALSE(
      IsResumption(client12, ParsedServer(ServerHelloBody(tls13, Bytes(32, std::byte{5})))))
      << "TLS 1.3 echoes the session id always";
  EXPECT_TRUE(IsResumption(client12, ParsedServer(ServerHelloBody(tls13 + Extension(41, U16(0))))));
}

TEST(TlsHello, OnlyFatalAlertsThatAreErrorsFail) {
  EXPECT_TRUE(AlertFails(2, 48));
  EXPECT_TRUE(AlertFails(2, 116));
  EXPECT_FALSE(AlertFails(1, 112)) << "a warning before a normal ServerHello";
  EXPECT_FALSE(AlertFails(1, 0));
  EXPECT_FALSE(AlertFails(2, 0)) << "close_notify";
  EXPECT_FALSE(AlertFails(2, 90)) << "user_canceled";
  EXPECT_FALSE(AlertFails(0, 0)) << "no alert";
}

}  // namespace
}  // namespace routelens

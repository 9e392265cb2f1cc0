// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/tls_handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/userspace/decode/tls_bytes.h"

namespace routelens {
namespace {

using ::testing::ElementsAre;

Bytes Flight(const std::string& name) {
  std::ifstream in(std::string(TLS_FLIGHTS_DIR) + "/" + name + ".bin", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_FALSE(text.empty()) << name;
  return BytesOf(text);
}

TlsFlight Read(const Bytes& bytes, size_t piece = SIZE_MAX) {
  TlsHandshakeReader reader;
  for (size_t at = 0; at < bytes.size();) {
    const size_t count = std::min(piece, bytes.size() - at);
    reader.Add(static_cast<uint32_t>(at), std::span(bytes).subspan(at, count));
    at += count;
  }
  return reader.flight();
}

TEST(TlsHandshake, ReadsFlightsOfRealClientsAndServers) {
  const TlsFlight client13 = Read(Flight("tls13_client"));
  EXPECT_EQ(client13.client_hello->server_name, "mcp.example.com");
  EXPECT_THAT(client13.client_hello->alpn, ElementsAre("h2", "http/1.1"));
  EXPECT_THAT(client13.client_hello->versions, ElementsAre(kTls13));
  EXPECT_FALSE(client13.client_hello->offers_resumption);
  const TlsFlight server13 = Read(Flight("tls13_server"));
  EXPECT_EQ(server13.server_hello->version, kTls13);
  EXPECT_FALSE(server13.certificate) << "TLS 1.3 has it encrypted";
  EXPECT_FALSE(IsResumption(*client13.client_hello, *server13.server_hello));

  const TlsFlight client12 = Read(Flight("tls12_client"));
  const TlsFlight server12 = Read(Flight("tls12_server"));
  EXPECT_THAT(client12.client_hello->versions, ElementsAre(kTls12));
  EXPECT_TRUE(client12.client_key_exchange);
  EXPECT_EQ(server12.server_hello->version, kTls12);
  EXPECT_EQ(server12.server_hello->alpn, "http/1.1");
  EXPECT_TRUE(server12.certificate);
  EXPECT_TRUE(server12.certificate_request);
  EXPECT_TRUE(server12.server_hello_done);

  EXPECT_EQ(Read(Flight("gnutls_client")).client_hello->server_name, "mcp.example.com");
  EXPECT_EQ(Read(Flight("openssl_client")).client_hello->server_name, "mcp.example.com");
}

TEST(TlsHandshake, TellsResumedSessionsOfRealPeers) {
  for (const std::string version : {"tls12", "tls13"}) {
    const TlsFlight client = Read(Flight(version + "_resumed_client"));
    const TlsFlight server = Read(Flight(version + "_resumed_server"));
    EXPECT_TRUE(client.client_hello->offers_resumption) << version;
    EXPECT_TRUE(IsResumption(*client.client_hello, *server.server_hello)) << version;
    EXPECT_FALSE(server.certificate) << version;
  }
}

TEST(TlsHandshake, KnowsAHelloRetryRequestByItsRandom) {
  const TlsFlight server = Read(Flight("hrr_server"));
  EXPECT_TRUE(server.hello_retry_request);
  EXPECT_TRUE(server.server_hello->is_hello_retry_request);
  EXPECT_EQ(server.server_hello->version, kTls13);
  EXPECT_FALSE(Read(Flight("tls13_server")).hello_retry_request);
}

TEST(TlsHandshake, JoinsMessagesHoweverTheyAreCut) {
  for (const std::string name : {"tls13_client", "tls12_server", "tls12_resumed_client"}) {
    const Bytes bytes = Flight(name);
    const TlsFlight whole = Read(bytes);
    for (size_t piece = 1; piece < 64; ++piece)
      EXPECT_EQ(Read(bytes, piece), whole) << name << " by " << piece;
  }
}

TEST(TlsHandshake, JoinsAMessageAcrossRecords) {
  const Bytes message = HandshakeMessage(1, ClientHelloBody(ServerName("split.example")));
  for (size_t cut = 1; cut < message.size(); ++cut) {
    const auto at = message.begin() + static_cast<ptrdiff_t>(cut);
    const Bytes records =
        HandshakeRecord(Bytes(message.begin(), at)) + HandshakeRecord(Bytes(at, message.end()));
    EXPECT_EQ(Read(records).client_hello->server_name, "split.example");
  }
}

TEST(TlsHandshake, C20_APartOfAHelloIsIncompleteNotAnotherProtocol) {
  const TlsFlight flight = Read(BytesOf({22, 3, 1}));
  EXPECT_TRUE(flight.incomplete);
  EXPECT_FALSE(flight.malformed);
  EXPECT_FALSE(flight.client_hello.has_value());
}

TEST(TlsHandshake, AGapKeepsTheHelloThatHadBegun) {
  const Bytes records = HandshakeRecord(
      HandshakeMessage(1, ClientHelloBody(ServerName("cut.example") + Extension(21, Bytes(300)))));
  TlsHandshakeReader reader;
  reader.Add(0, std::span(records).first(120));
  reader.Break();
  reader.Add(120, std::span(records).subspan(120));
  EXPECT_TRUE(reader.flight().gap);
  ASSERT_TRUE(reader.flight().client_hello.has_value());
  EXPECT_TRUE(reader.flight().client_hello->cut);
  EXPECT_EQ(reader.flight().client_hello->server_name, "cut.example");
}

TEST(TlsHandshake, AnOffsetThatDoesNotContinueIsAGap) {
  const Bytes records = Flight("tls13_client");
  TlsHandshakeReader reader;
  reader.Add(0, std::span(records).first(20));
  reader.Add(30, std::span(records).subspan(30));
  EXPECT_TRUE(reader.flight().gap);
  EXPECT_FALSE(reader.flight().client_hello.has_value());
}

TEST(TlsHandshake, AFlightBeyondTheLimitIsCutThere) {
  const Bytes big =
      HandshakeMessage(1, ClientHelloBody(ServerName("big.example") + Extension(41, Bytes(5000))));
  const Bytes records = HandshakeRecord(big);
  TlsHandshakeReader reader;
  reader.Add(0, std::span(records).first(4096));
  EXPECT_TRUE(reader.flight().gap);
  EXPECT_TRUE(reader.flight().client_hello->cut);
  EXPECT_EQ(reader.flight().client_hello->server_name, "big.example");
  const TlsFlight more = Read(records, 4095);
  EXPECT_TRUE(more.gap);
}

TEST(TlsHandshake, C25_BytesThatAreNoHandshakeGiveNoName) {
  EXPECT_TRUE(Read(BytesOf("HTTP/1.1 400 Bad Request")).malformed);
  EXPECT_TRUE(Read(HandshakeRecord(HandshakeMessage(1, BytesOf("junk")))).malformed);
  EXPECT_FALSE(
      Read(HandshakeRecord(HandshakeMessage(1, BytesOf("junk")))).client_hello.has_value());
  const TlsFlight empty = Read(HandshakeRecord({}) + Flight("tls13_client"));
  EXPECT_EQ(empty.client_hello->server_name, "mcp.example.com") << "an empty fragment is passed";
}

}  // namespace
}  // namespace routelens

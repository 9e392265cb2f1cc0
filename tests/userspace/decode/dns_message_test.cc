// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/dns_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/userspace/decode/bytes.h"

namespace routelens {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kResponse = 0x8180;

Bytes Name(std::string_view dotted) {
  Bytes name;
  while (!dotted.empty()) {
    const size_t dot = std::min(dotted.find('.'), dotted.size());
    name = name + Counted8(BytesOf(dotted.substr(0, dot)));
    dotted.remove_prefix(std::min(dot + 1, dotted.size()));
  }
  return name + BytesOf({0});
}

Bytes Pointer(size_t offset) {
  return U16(0xc000 | offset);
}

Bytes Header(size_t flags, size_t questions, size_t answers) {
  return U16(0x1234) + U16(flags) + U16(questions) + U16(answers) + U16(0) + U16(0);
}

Bytes Question(std::string_view name, size_t type = kDnsTypeA) {
  return Name(name) + U16(type) + U16(1);
}

Bytes Answer(const Bytes& name, size_t type, const Bytes& data, size_t ttl_s = 60,
             size_t dns_class = 1) {
  return name + U16(type) + U16(dns_class) + U32(ttl_s) + Counted16(data);
}

DnsMessage Parsed(const Bytes& bytes) {
  ParsedDns parsed = ParseDnsMessage(bytes);
  if (const auto* fault = std::get_if<DnsFault>(&parsed)) {
    ADD_FAILURE() << ToString(*fault);
    return {};
  }
  return std::get<DnsMessage>(std::move(parsed));
}

std::string FaultName(const Bytes& bytes) {
  const ParsedDns parsed = ParseDnsMessage(bytes);
  const auto* fault = std::get_if<DnsFault>(&parsed);
  return fault == nullptr ? "none" : std::string(ToString(*fault));
}

IpAddress Address(std::string_view text) {
  return ParseIpAddress(text).value();
}

TEST(DnsMessage, ReadsAQuery) {
  const DnsMessage message = Parsed(Header(0x0100, 1, 0) + Question("Example.COM", kDnsTypeAaaa));
  EXPECT_EQ(message.id, 0x1234);
  EXPECT_FALSE(message.is_response);
  EXPECT_THAT(message.questions, ElementsAre(DnsQuestion{"example.com", kDnsTypeAaaa, 1}));
  EXPECT_FALSE(message.incomplete);
}

TEST(DnsMessage, ReadsAddressesThroughAnAliasChain) {
  const Bytes bytes =
      Header(kResponse, 1, 5) + Question("www.example.com") +
      Answer(Pointer(12), kDnsTypeCname, Name("edge.example.net"), 30) +
      Answer(Name("EDGE.example.net"), kDnsTypeCname, BytesOf({1, 'x'}) + Pointer(16), 20) +
      Answer(Name("x.example.com"), kDnsTypeA, BytesOf({192, 0, 2, 1}), 50) +
      Answer(Name("x.example.com"), kDnsTypeAaaa, U32(0x20010db8) + U32(0) + U32(0) + U32(1), 10) +
      Answer(Name("unrelated.example.org"), kDnsTypeA, BytesOf({192, 0, 2, 66}));
  const DnsMessage message = Parsed(bytes);
  EXPECT_EQ(message.aliases.size(), 2u);
  EXPECT_EQ(message.addresses.size(), 3u);
  const DnsAnswer answer = AnswerOf(message);
  EXPECT_EQ(answer.name, "www.example.com");
  EXPECT_EQ(answer.canonical, "x.example.com");
  EXPECT_THAT(answer.addresses, ElementsAre(Address("192.0.2.1"), Address("2001:db8::1")));
  EXPECT_EQ(answer.ttl_s, 10u);
}

TEST(DnsMessage, AliasLoopsEndAndGiveNothing) {
  const DnsMessage message =
      Parsed(Header(kResponse, 1, 2) + Question("a") + Answer(Name("a"), kDnsTypeCname, Name("b")) +
             Answer(Name("b"), kDnsTypeCname, Name("a")));
  EXPECT_THAT(AnswerOf(message).addresses, IsEmpty());
}

TEST(DnsMessage, B5_TellsEachRcodeAndAnEmptyAnswerApart) {
  for (const int rcode : {kDnsNoError + 0, kDnsServFail + 0, kDnsNxDomain + 0, kDnsRefused + 0}) {
    const DnsMessage message =
        Parsed(Header(static_cast<size_t>(kResponse | rcode), 1, 0) + Question("a.example"));
    EXPECT_EQ(message.rcode, rcode);
    EXPECT_TRUE(message.is_response);
    EXPECT_FALSE(message.truncated);
    EXPECT_THAT(AnswerOf(message).addresses, IsEmpty());
  }
  EXPECT_TRUE(Parsed(Header(kResponse | 0x0200, 1, 0) + Question("a.example")).truncated);
}

TEST(DnsMessage, B4_ParallelQueriesKeepTheirOwnIds) {
  Bytes bytes = Header(0x0100, 1, 0) + Question("a");
  bytes[0] = std::byte{0xab};
  bytes[1] = std::byte{0xcd};
  EXPECT_EQ(Parsed(bytes).id, 0xabcd);
  EXPECT_EQ(FaultName(Bytes(11)), "too_short") << "a header that was not read is no message";
}

TEST(DnsMessage, B7_PointerToItselfIsAnError) {
  EXPECT_EQ(FaultName(Header(kResponse, 1, 0) + Pointer(12) + U16(1) + U16(1)), "bad_pointer");
  EXPECT_EQ(FaultName(Header(kResponse, 1, 0) + BytesOf({1, 'a'}) + Pointer(12) + U16(1) + U16(1)),
            "bad_pointer");
}

TEST(DnsMessage, B7_FollowsBackwardPointersUpToTheLimit) {
  // A chain within the data of an answer of another type: each entry points to the one before.
  const auto chain = [](size_t pointers) {
    Bytes bytes = Header(kResponse, 1, 2) + Question("end");
    Bytes data = Pointer(12);
    const size_t start = bytes.size() + 1 + 10;
    for (size_t i = 1; i < pointers; ++i) data = data + Pointer(start + 2 * (i - 1));
    bytes = bytes + Answer(BytesOf({0}), 16, data);
    return bytes + Answer(Pointer(start + 2 * (pointers - 1)), kDnsTypeA, BytesOf({192, 0, 2, 1}));
  };
  EXPECT_EQ(AnswerOf(Parsed(chain(126))).addresses.size(), 1u);
  EXPECT_EQ(FaultName(chain(127)), "bad_pointer");
  EXPECT_EQ(FaultName(chain(5000)), "bad_pointer");
}

TEST(DnsMessage, B7_NamesHaveAtMost127LabelsAnd255Bytes) {
  std::string name;
  for (int i = 0; i < 127; ++i) name += i == 0 ? "a" : ".a";
  EXPECT_EQ(Parsed(Header(0, 1, 0) + Question(name)).questions.front().name, name);
  EXPECT_EQ(FaultName(Header(0, 1, 0) + Question(name + ".a")), "name_too_long");
  const std::string label(63, 'x');
  const std::string fits = label + "." + label + "." + label + "." + std::string(61, 'y');
  EXPECT_EQ(Parsed(Header(0, 1, 0) + Question(fits)).questions.front().name, fits);
  EXPECT_EQ(FaultName(Header(0, 1, 0) + Question(fits + "z")), "name_too_long");
}

TEST(DnsMessage, B8_PointerLoopsAreErrors) {
  // A -> B -> A: the second pointer leads forward.
  const Bytes loop = Header(kResponse, 1, 0) + Pointer(14) + Pointer(12) + U16(1) + U16(1);
  EXPECT_EQ(FaultName(loop), "bad_pointer");
}

TEST(DnsMessage, UnknownLabelTypesAreErrors) {
  for (const int type : {0x40, 0x80})
    EXPECT_EQ(FaultName(Header(0, 1, 0) + BytesOf({type | 1, 'a', 0}) + U16(1) + U16(1)),
              "bad_label");
}

TEST(DnsMessage, OddBytesInLabelsAreEscaped) {
  const Bytes odd =
      Header(0, 1, 0) + Counted8(BytesOf("a.b\\ ")) + BytesOf({1, 0xff, 0}) + U16(1) + U16(1);
  EXPECT_EQ(Parsed(odd).questions.front().name, "a\\046b\\092\\032.\\255");
  EXPECT_EQ(Parsed(Header(0, 1, 0) + Question("")).questions.front().name, "");
}

TEST(DnsMessage, ZeroLengthAndMisshapenAnswersAreErrors) {
  const Bytes start = Header(kResponse, 1, 1) + Question("a");
  for (const size_t length : {size_t{0}, size_t{3}, size_t{5}, size_t{16}})
    EXPECT_EQ(FaultName(start + Answer(Name("a"), kDnsTypeA, Bytes(length))), "bad_length");
  for (const size_t length : {size_t{0}, size_t{4}, size_t{15}})
    EXPECT_EQ(FaultName(start + Answer(Name("a"), kDnsTypeAaaa, Bytes(length))), "bad_length");
  EXPECT_EQ(FaultName(start + Answer(Name("a"), kDnsTypeCname, {})), "bad_length");
  EXPECT_EQ(FaultName(start + Answer(Name("a"), kDnsTypeCname, Name("b") + BytesOf("x"))),
            "bad_length");
  EXPECT_EQ(Parsed(start + Answer(Name("a"), 16, {})).incomplete, false)
      << "other types may be empty";
}

TEST(DnsMessage, AddressesOfOtherClassesAreNotBelieved) {
  const DnsMessage message = Parsed(Header(kResponse, 1, 1) + Question("a") +
                                    Answer(Name("a"), kDnsTypeA, BytesOf({1, 2, 3, 4}), 60, 3));
  EXPECT_THAT(message.addresses, IsEmpty());
}

TEST(DnsMessage, B16_ACutAnswerIsIncompleteAndKeepsWhatWasWhole) {
  const Bytes whole = Header(kResponse | kDnsNxDomain, 1, 2) + Question("a") +
                      Answer(Name("a"), kDnsTypeA, BytesOf({192, 0, 2, 1})) +
                      Answer(Name("a"), kDnsTypeA, BytesOf({192, 0, 2, 2}));
  const size_t question_end = (Header(0, 1, 0) + Question("a")).size();
  for (size_t length = 0; length < whole.size(); ++length) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    if (length < question_end) {
      EXPECT_EQ(FaultName(cut), "too_short");
      continue;
    }
    const DnsMessage message = Parsed(cut);
    EXPECT_TRUE(message.incomplete) << length;
    EXPECT_EQ(message.rcode, kDnsNxDomain);
    EXPECT_LE(message.addresses.size(), 1u);
  }
  EXPECT_FALSE(Parsed(whole).incomplete);
}

TEST(DnsMessage, CountsThatLieAreBounded) {
  const DnsMessage message = Parsed(Header(kResponse, 1, 65535) + Question("a"));
  EXPECT_TRUE(message.incomplete);
  EXPECT_EQ(FaultName(Header(kResponse, 65535, 0) + Question("a")), "too_short");
  Bytes many = Header(kResponse, 1, 2000) + Question("a");
  for (int i = 0; i < 2000; ++i)
    many = many + Answer(Pointer(12), kDnsTypeA, BytesOf({1, 2, 3, 4}));
  const DnsMessage bounded = Parsed(many);
  EXPECT_TRUE(bounded.incomplete);
  EXPECT_EQ(bounded.addresses.size(), 512u);
}

TEST(DnsMessage, CanonicalNamesLoseOneDotAndTheirCapitals) {
  EXPECT_EQ(CanonicalDnsName("Example.COM."), "example.com");
  EXPECT_EQ(CanonicalDnsName("example.com.."), "example.com.");
  EXPECT_EQ(CanonicalDnsName(""), "");
}

}  // namespace
}  // namespace routelens

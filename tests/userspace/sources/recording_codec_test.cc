// SPDX-License-Identifier: Apache-2.0
#include "userspace/sources/recording_codec.h"

#include <gtest/gtest.h>

#include "tests/userspace/sources/recorded_calls.h"
#include "userspace/sources/crc32.h"

namespace routelens {
namespace {

TEST(Crc32, IsTheOneOfIeee8023) {
  const std::string check = "123456789";
  EXPECT_EQ(Crc32(BytesOf(check)), 0xcbf43926u);
  EXPECT_EQ(Crc32(BytesOf("56789"), Crc32(BytesOf("1234"))), 0xcbf43926u);
  EXPECT_EQ(Crc32({}), 0u);
}

TEST(RecordingCodec, ValuesComeBackAsTheyWere) {
  EXPECT_EQ(DecodePolicy(EncodePolicy(SomePolicy())), SomePolicy());
  EXPECT_EQ(DecodePolicy(EncodePolicy({})), Policy{});
  EXPECT_EQ(DecodeCoverage(EncodeCoverage(SomeCoverage())), SomeCoverage());
  EXPECT_EQ(DecodeCoverage(EncodeCoverage({})), Coverage{});
  const Loss loss{1, 2, 3, 4, 5, 6, 7, 8, 9, UINT64_MAX};
  EXPECT_EQ(DecodeLoss(EncodeLoss(loss)), loss);
  EXPECT_EQ(DecodeTime(EncodeTime({INT64_MAX})), BootTime{INT64_MAX});
  EXPECT_EQ(DecodeTime(EncodeTime({UINT64_MAX})), std::nullopt) << "no clock gets there";
}

TEST(RecordingCodec, WarningsStayBehind) {
  Policy policy = SomePolicy();
  policy.warnings = {{"where", "what"}};
  EXPECT_EQ(DecodePolicy(EncodePolicy(policy)), SomePolicy());
}

TEST(RecordingCodec, SubjectsAreNeverBelieved) {
  Policy policy = SomePolicy();
  policy.routes.front().subject.text = "mcp-route:v1:forged";
  policy.routes.front().host = "API.Example.com";
  EXPECT_EQ(DecodePolicy(EncodePolicy(policy)), SomePolicy());
}

TEST(RecordingCodec, EveryPrefixAndEveryLongerFormIsRefused) {
  const auto refuses = [](const std::vector<std::byte>& bytes, auto decode) {
    for (size_t length = 0; length < bytes.size(); ++length)
      EXPECT_FALSE(decode(std::span(bytes).first(length)).has_value()) << length;
    std::vector<std::byte> longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decode(longer).has_value());
  };
  refuses(EncodePolicy(SomePolicy()), DecodePolicy);
  refuses(EncodeCoverage(SomeCoverage()), DecodeCoverage);
  refuses(EncodeLoss({}), DecodeLoss);
  refuses(EncodeTime({1}), DecodeTime);
}

TEST(RecordingCodec, CountsBeyondWhatIsThereAreRefused) {
  for (const uint64_t count : {uint64_t{1}, uint64_t{0x7fffffff}, uint64_t{0xffffffff}}) {
    ByteWriter writer;
    writer.U32(count);
    EXPECT_FALSE(DecodePolicy(writer.bytes()).has_value());
    EXPECT_FALSE(DecodeCoverage(writer.bytes()).has_value());
  }
}

TEST(RecordingCodec, RoutesWithoutHostOrPortsAreRefused) {
  Policy policy;
  policy.routes = {Route{"", {443}, "/**", false, {}, ""}};
  EXPECT_FALSE(DecodePolicy(EncodePolicy(policy)).has_value());
  policy.routes = {Route{"host", {}, "/**", false, {}, ""}};
  EXPECT_FALSE(DecodePolicy(EncodePolicy(policy)).has_value());
}

}  // namespace
}  // namespace routelens

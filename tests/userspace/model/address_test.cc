// SPDX-License-Identifier: Apache-2.0
#include "userspace/model/address.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/hash/hash_testing.h"

namespace routelens {
namespace {

IpAddress Ip(std::string_view text) {
  const std::optional<IpAddress> address = ParseIpAddress(text);
  EXPECT_TRUE(address) << text;
  return address.value_or(IpAddress{});
}

TEST(IpAddress, HasOneFormForBothFamilies) {
  EXPECT_EQ(Ip("127.0.0.1"), Ip("::ffff:127.0.0.1"));
  EXPECT_EQ(Ip("127.0.0.1"), Ip("::ffff:7f00:1"));
  EXPECT_NE(Ip("127.0.0.1"), Ip("::127.0.0.1"));
  EXPECT_TRUE(Ip("::ffff:10.0.0.1").is_v4());
  EXPECT_FALSE(Ip("::1").is_v4());
}

TEST(IpAddress, KnowsLoopbackAndUnspecified) {
  for (const char* text : {"127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.53"})
    EXPECT_TRUE(Ip(text).is_loopback()) << text;
  for (const char* text : {"128.0.0.1", "::", "0.0.0.0", "::2", "1::1"})
    EXPECT_FALSE(Ip(text).is_loopback()) << text;
  for (const char* text : {"0.0.0.0", "::", "::ffff:0:0"})
    EXPECT_TRUE(Ip(text).is_unspecified()) << text;
  for (const char* text : {"0.0.0.1", "::1", "1::", "127.0.0.1"})
    EXPECT_FALSE(Ip(text).is_unspecified()) << text;
}

TEST(IpAddress, RefusesWhatIsNoPlainAddress) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view text : {""sv,
                                      "localhost"sv,
                                      "127.1"sv,
                                      "0177.0.0.1"sv,
                                      "127.0.0.01"sv,
                                      "256.0.0.1"sv,
                                      "1.2.3"sv,
                                      "1.2.3.4.5"sv,
                                      " 127.0.0.1"sv,
                                      "127.0.0.1 "sv,
                                      "0x7f.0.0.1"sv,
                                      "[::1]"sv,
                                      "fe80::1%lo"sv,
                                      "::1::"sv,
                                      ":::"sv,
                                      "12345::"sv,
                                      "1:2:3:4:5:6:7:8:9"sv,
                                      "127.0.0.1\0"sv,
                                      "::1\0x"sv,
                                      "1111:2222:3333:4444:5555:6666:7777:255.255.255.2555"sv}) {
    EXPECT_FALSE(ParseIpAddress(text)) << text;
  }
}

TEST(IpAddress, IsWrittenAsRfc5952Says) {
  const std::pair<const char*, const char*> texts[] = {
      {"192.0.2.1", "192.0.2.1"},
      {"::ffff:192.0.2.1", "192.0.2.1"},
      {"0.0.0.0", "0.0.0.0"},
      {"255.255.255.255", "255.255.255.255"},
      {"::", "::"},
      {"::1", "::1"},
      {"1::", "1::"},
      {"::1:2", "::1:2"},
      {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
      {"2001:0db8::0001", "2001:db8::1"},
      {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
      {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
      {"1:0:0:2:0:0:0:0", "1:0:0:2::"},
      {"fe80::a00b", "fe80::a00b"},
  };
  for (const auto& [text, expected] : texts) EXPECT_EQ(ToString(Ip(text)), expected);
}

TEST(IpAddress, ReadsBackWhatItWrites) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 5000; ++round) {
    IpAddress address;
    for (uint8_t& byte : address.bytes)
      byte = random() % 3 == 0 ? static_cast<uint8_t>(random() % 256) : uint8_t{0};
    const std::string text = ToString(address);
    EXPECT_EQ(ParseIpAddress(text), address) << text;
  }
}

TEST(Endpoint, PutsIpv6InBrackets) {
  EXPECT_EQ(ToString(Endpoint{Ip("192.0.2.1"), 443, 0}), "192.0.2.1:443");
  EXPECT_EQ(ToString(Endpoint{Ip("2001:db8::1"), 65535, 3}), "[2001:db8::1]:65535");
}

TEST(Endpoint, HashesAsItCompares) {
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly({
      Endpoint{Ip("192.0.2.1"), 443, 0},
      Endpoint{Ip("::ffff:192.0.2.1"), 443, 0},
      Endpoint{Ip("192.0.2.1"), 444, 0},
      Endpoint{Ip("192.0.2.1"), 443, 1},
      Endpoint{},
  }));
}

}  // namespace
}  // namespace routelens

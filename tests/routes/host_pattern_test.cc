// SPDX-License-Identifier: Apache-2.0
#include "routes/host_pattern.h"

#include <gtest/gtest.h>

namespace routelens {
namespace {

bool Matches(std::string_view pattern, std::string_view host) {
  return HostPattern(pattern).Matches(host);
}

TEST(HostPattern, TakesOneLabelWithOneStar) {
  EXPECT_TRUE(Matches("*.example.com", "mcp.example.com"));
  EXPECT_FALSE(Matches("*.example.com", "a.b.example.com"));
  EXPECT_FALSE(Matches("*.example.com", "example.com"));
  EXPECT_FALSE(Matches("*.example.com", ".example.com"));
  EXPECT_FALSE(Matches("*.example.com", "mcp.example.com.evil.test"));
}

TEST(HostPattern, TakesManyLabelsWithTwoStars) {
  EXPECT_TRUE(Matches("**.example.com", "mcp.example.com"));
  EXPECT_TRUE(Matches("**.example.com", "a.b.example.com"));
  EXPECT_FALSE(Matches("**.example.com", "example.com"));
  EXPECT_FALSE(Matches("**.example.com", "badexample.com"));
  EXPECT_TRUE(Matches("**", "anything.at.all"));
  EXPECT_FALSE(Matches("*", "two.labels"));
}

TEST(HostPattern, TakesAPartOfALabel) {
  EXPECT_TRUE(Matches("api-*.example.com", "api-eu.example.com"));
  EXPECT_TRUE(Matches("api-*.example.com", "api-.example.com"));
  EXPECT_FALSE(Matches("api-*.example.com", "api-a.b.example.com"));
  EXPECT_TRUE(Matches("mcp.*.example.com", "mcp.eu.example.com"));
}

TEST(HostPattern, NamesTheLabelsAfterItsLastWildcard) {
  EXPECT_EQ(HostPattern("*.example.com").literal_suffix(), "example.com");
  EXPECT_EQ(HostPattern("*example.com").literal_suffix(), "com");
  EXPECT_EQ(HostPattern("a.*").literal_suffix(), "");
  EXPECT_EQ(HostPattern("a.**.b.*x.c.d").literal_suffix(), "c.d");
}

TEST(HostPattern, RefusesAHostThatIsNoName) {
  EXPECT_FALSE(Matches("**", std::string(254, 'a')));
  EXPECT_TRUE(Matches("**", std::string(253, 'a')));
  EXPECT_FALSE(Matches("*.example.com", ""));
}

TEST(MatchableHost, StripsWhatMatchingDoesNotCompare) {
  EXPECT_EQ(MatchableHost("MCP.Example.com."), "mcp.example.com");
  EXPECT_EQ(MatchableHost("[::1]"), "::1");
  EXPECT_EQ(MatchableHost("[fe80::1%eth0]"), "fe80::1");
  EXPECT_EQ(MatchableHost("fe80::1%eth0"), "fe80::1");
  EXPECT_EQ(MatchableHost("host.."), "host.");
  EXPECT_EQ(MatchableHost(""), "");
}

TEST(HostAddress, ReadsAddressesAndNothingElse) {
  EXPECT_TRUE(HostAddress("127.0.0.1"));
  EXPECT_TRUE(HostAddress("::1"));
  EXPECT_EQ(HostAddress("::1"), HostAddress("0:0:0:0:0:0:0:1"));
  EXPECT_EQ(HostAddress("::ffff:127.0.0.1"), HostAddress("127.0.0.1"));
  for (const char* name : {"", "127.1", "0177.0.0.1", "localhost", "1.2.3.4.5", "[::1]", "::1%lo"})
    EXPECT_FALSE(HostAddress(name)) << name;
}

}  // namespace
}  // namespace routelens

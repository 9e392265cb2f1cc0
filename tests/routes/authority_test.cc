// SPDX-License-Identifier: Apache-2.0
#include "routes/authority.h"

#include <gtest/gtest.h>

#include <random>

namespace routelens {
namespace {

std::string Parsed(std::string_view text) {
  const std::optional<Authority> authority = ParseAuthority(text);
  if (!authority)
    return "(none)";
  return authority->host + "|" + (authority->port ? std::to_string(*authority->port) : "-");
}

TEST(Authority, SplitsHostAndPort) {
  EXPECT_EQ(Parsed("MCP.Example.com:443"), "mcp.example.com|443");
  EXPECT_EQ(Parsed("mcp.example.com"), "mcp.example.com|-");
  EXPECT_EQ(Parsed("mcp.example.com:"), "mcp.example.com|-");
  EXPECT_EQ(Parsed("127.0.0.1:18443"), "127.0.0.1|18443");
  EXPECT_EQ(Parsed("localhost:65535"), "localhost|65535");
  EXPECT_EQ(Parsed("my_host-1:1"), "my_host-1|1");
}

TEST(Authority, StripsOneTrailingDot) {
  EXPECT_EQ(Parsed("mcp.example.com.:443"), "mcp.example.com|443");
  EXPECT_EQ(Parsed("mcp.example.com.."), "(none)");
  EXPECT_EQ(Parsed("."), "(none)");
}

TEST(Authority, StripsBracketsAndZoneOfIpv6Literals) {
  EXPECT_EQ(Parsed("[::1]:443"), "::1|443");
  EXPECT_EQ(Parsed("[2001:DB8::1]"), "2001:db8::1|-");
  EXPECT_EQ(Parsed("[fe80::1%25eth0]:443"), "fe80::1|443");
  EXPECT_EQ(Parsed("[fe80::1%eth0]:443"), "fe80::1|443");
  EXPECT_EQ(Parsed("::1"), "::1|-");
}

TEST(Authority, RefusesWhatIsNone) {
  for (const char* text : {"",
                           ":443",
                           "host:0",
                           "host:65536",
                           "host:443443",
                           "host:4x",
                           "host:-1",
                           "a:b:c",
                           "[::1",
                           "[::1]443",
                           "[host]:443",
                           "[]",
                           "[1.2.3.4]:443",
                           "user@host:443",
                           "ho st",
                           "host/path",
                           "host%41",
                           "http://host",
                           "a..b",
                           ".host",
                           "b\xC3\xBC"
                           "cher.example",
                           "host\n",
                           "*:443x",
                           "host:443 ",
                           "[::1]:443:443"}) {
    EXPECT_EQ(Parsed(text), "(none)") << text;
  }
  EXPECT_EQ(Parsed(std::string(254, 'a')), "(none)");
}

}  // namespace
}  // namespace routelens

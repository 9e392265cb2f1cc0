// SPDX-License-Identifier: Apache-2.0
#include "routes/policy_lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "base/status_util.h"

namespace routelens {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Each argument is the fields of one endpoint of the rule "r".
std::vector<std::string> Warnings(const std::vector<std::string>& endpoints,
                                  const std::string& binaries = "[{path: /bin/a}]") {
  std::string yaml = "network_policies:\n  r:\n    endpoints:\n";
  for (const std::string& fields : endpoints) yaml += "      - {" + fields + "}\n";
  yaml += "    binaries: " + binaries + "\n";
  const absl::StatusOr<Policy> policy = ParsePolicy(yaml, "policy.yaml");
  EXPECT_TRUE(policy.ok()) << MessageOf(policy.status());
  std::vector<std::string> out;
  if (policy.ok()) {
    for (const PolicyWarning& warning : policy->warnings)
      out.push_back(warning.where + ": " + warning.what);
  }
  return out;
}

std::vector<std::string> PathWarnings(const std::string& path) {
  return Warnings({"host: h.test, port: 443, protocol: mcp, path: \"" + path + "\""});
}

std::vector<std::string> HostWarnings(const std::string& host) {
  return Warnings({"host: \"" + host + "\", port: 443, protocol: mcp"});
}

TEST(PolicyLint, WarnsOfARuleWithoutBinaries) {
  for (const char* none : {"[]", ""}) {
    EXPECT_THAT(Warnings({"host: h.test, port: 443"}, none),
                ElementsAre(AllOf(HasSubstr("network_policies.r (line 2)"),
                                  HasSubstr("names no binaries"))));
  }
}

TEST(PolicyLint, HasNothingToSayOfGoodRoutes) {
  for (const char* path : {"", "/", "/mcp", "/mcp/", "/a/**", "/a/*/b", "/v[0-9]/mcp", "/**/mcp",
                           "/~a/b-c_d.e", "/a%20b", "*"})
    EXPECT_THAT(PathWarnings(path), IsEmpty()) << path;
  for (const char* host : {"h.test", "H.TEST", "h.test.", "127.0.0.1", "::1", "localhost", "a_b.c"})
    EXPECT_THAT(HostWarnings(host), IsEmpty()) << host;
}

TEST(PolicyLint, WarnsOfPathsThatNoRequestCanMatch) {
  for (const char* path :
       {"mcp", "/a//b", "/a/../b", "/a/./b", "/a%2Fb", "/a%2fb", "/a;x", "/a#b", "/%6dcp", "/a%3ab",
        "/b\xC3\xBC"
        "cher",
        "/a b", "/a%", "/a\\u0001", "/*//b", "/*/%2F", "/a/../*", "mcp/**", "/a//b/**"}) {
    EXPECT_THAT(PathWarnings(path),
                ElementsAre(AllOf(HasSubstr("network_policies.r.endpoints[0].path (line 4)"),
                                  HasSubstr("no request can match path"))))
        << path;
  }
  EXPECT_THAT(PathWarnings("/a//b"), ElementsAre(HasSubstr("compared as '/a/b'; write that")));
  EXPECT_THAT(PathWarnings("/mcp?key=1"), ElementsAre(HasSubstr("query is not part of its path")));
}

TEST(PolicyLint, WarnsOfPatternsThatMeanLessThanTheySeem) {
  EXPECT_THAT(PathWarnings("/a**"), ElementsAre(HasSubstr("not a valid pattern")));
  EXPECT_THAT(PathWarnings("/[a"), ElementsAre(HasSubstr("not a valid pattern")));
  EXPECT_THAT(PathWarnings("/*/x/**"), ElementsAre(HasSubstr("compared as it is written")));
}

TEST(PolicyLint, WarnsOfHostsThatNoRequestCanMatch) {
  for (const char* host : {"b\xC3\xBC"
                           "cher.example",
                           "https://h.test", "h.test/mcp", "h.test:443", " h.test", "h..test",
                           "user@h.test", "h test", "h\\u0000"}) {
    EXPECT_THAT(HostWarnings(host), ElementsAre(AllOf(HasSubstr("endpoints[0].host"),
                                                      HasSubstr("no request can match host"))))
        << host;
  }
  EXPECT_THAT(HostWarnings("[::1]"), ElementsAre(HasSubstr("write '::1'")));
}

TEST(PolicyLint, WarnsOfWildcardHostsThatAreNoRoutes) {
  EXPECT_THAT(HostWarnings("*.example.com"), ElementsAre(HasSubstr("a wildcard host is no route")));
  EXPECT_THAT(Warnings({"host: '*.com', port: 443"}), ElementsAre(HasSubstr("top-level domain")));
  EXPECT_THAT(Warnings({"host: '*.example.com', port: 443"}), IsEmpty());
}

TEST(PolicyLint, WarnsOfOtherOddEndpoints) {
  EXPECT_THAT(Warnings({"host: h, port: 1, protocol: mpc"}),
              ElementsAre(HasSubstr("unknown protocol")));
  EXPECT_THAT(Warnings({"host: h, port: 1, enforcement: block"}),
              ElementsAre(HasSubstr("unknown enforcement 'block'")));
  EXPECT_THAT(Warnings({"host: h"}), ElementsAre(HasSubstr("has no port")));
  EXPECT_THAT(Warnings({"port: 1, protocol: mcp"}), ElementsAre(HasSubstr("without a host")));
  EXPECT_THAT(Warnings({"host: h, port: 1, ports: [2]"}),
              ElementsAre(HasSubstr("'ports' is there")));
}

TEST(PolicyLint, WarnsOfAHostWithAndWithoutDot) {
  EXPECT_THAT(Warnings({"host: h.test, port: 443, protocol: mcp, path: /a",
                        "host: h.test., port: 443, protocol: mcp, path: /bcd"}),
              ElementsAre(AllOf(HasSubstr("endpoints[1].host"), HasSubstr("trailing dot"),
                                HasSubstr("network_policies.r.endpoints[0] (line 4)"))));
  EXPECT_THAT(Warnings({"host: h.test, port: 443, protocol: mcp",
                        "host: h.test., port: 8443, protocol: mcp"}),
              IsEmpty());
}

TEST(PolicyLint, WarnsOfOverlapAtEqualRank) {
  const auto pair = [](const std::string& a, const std::string& b) {
    return Warnings({"host: h.test, port: 443, protocol: mcp, path: \"" + a + "\"",
                     "host: h.test, ports: [443, 1], protocol: mcp, path: \"" + b + "\""});
  };
  EXPECT_THAT(pair("/a*", "/*a"),
              ElementsAre(HasSubstr("overlaps network_policies.r.endpoints[0]")));
  EXPECT_THAT(pair("/mcp", "/mcp"), SizeIs(1));  // ports differ, so two routes
  EXPECT_THAT(pair("/a", "/b"), IsEmpty());
  EXPECT_THAT(pair("/a/**", "/a"), IsEmpty());
  EXPECT_THAT(Warnings({"host: h.test, port: 443, protocol: rest, path: /mcp",
                        "host: h.test, port: 443, protocol: mcp, path: /mcp"}),
              ElementsAre(HasSubstr("endpoints[1].path")));
  EXPECT_THAT(Warnings({"host: h.a.test, port: 443, protocol: mcp", "host: '*.a.test', port: 443"}),
              SizeIs(1));
  EXPECT_THAT(Warnings({"host: h.test, port: 443, protocol: mcp", "allowed_ips: [], port: 443"}),
              SizeIs(1));
  EXPECT_THAT(Warnings({"host: h.test, port: 443, protocol: mcp", "host: h.test, port: 80"}),
              IsEmpty());
  EXPECT_THAT(Warnings({"host: h.test, port: 443, protocol: rest", "host: h.test, port: 443"}),
              IsEmpty());
}

TEST(PolicyLint, StopsComparingInALargePolicy) {
  std::vector<std::string> endpoints;
  for (int i = 0; i < 3000; ++i) {
    endpoints.push_back("host: h.test, port: 443, protocol: mcp, path: \"/*" +
                        std::to_string(10000 + i) + "\"");
  }
  const std::clock_t begin = std::clock();
  const std::vector<std::string> warnings = Warnings(endpoints);
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 10);
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_THAT(warnings[0], HasSubstr("not all are named"));
}

}  // namespace
}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "routes/match.h"

#include <gtest/gtest.h>

#include <ostream>

#include "routes/authority.h"
#include "routes/request_path.h"

namespace routelens {

void PrintTo(MatchVerdict verdict, std::ostream* out) {
  *out << static_cast<int>(verdict);
}

namespace {

using Path = std::optional<std::string>;

// Endpoints in words: "mcp mcp.example.com 443,8443 /mcp".
class PolicyBuilder {
 public:
  PolicyBuilder& Endpoint(std::string protocol, std::string host, std::vector<uint16_t> ports,
                          std::string path = "") {
    PolicyEndpoint endpoint;
    endpoint.rule = "rule";
    endpoint.protocol = std::move(protocol);
    endpoint.host = std::move(host);
    endpoint.ports = std::move(ports);
    endpoint.path = std::move(path);
    endpoint.is_route = endpoint.protocol == "mcp";
    if (endpoint.is_route) {
      Route route = MakeRoute(endpoint.host, endpoint.ports, endpoint.path, false);
      bool known = false;
      for (const Route& other : policy_.routes) known = known || other.subject == route.subject;
      if (!known)
        policy_.routes.push_back(std::move(route));
    }
    policy_.endpoints.push_back(std::move(endpoint));
    return *this;
  }

  const Policy& policy() const { return policy_; }

  // Implicit, so that a test reads as a story.
  operator RouteMatcher() const { return RouteMatcher(policy_); }

 private:
  Policy policy_;
};

PolicyBuilder Mcp(std::string host, std::vector<uint16_t> ports, std::string path = "") {
  return PolicyBuilder().Endpoint("mcp", std::move(host), std::move(ports), std::move(path));
}

// The index of the route, or the verdict as a negative number.
int Routed(const Match& match) {
  return match.verdict == MatchVerdict::kRoute ? static_cast<int>(match.route)
                                               : -static_cast<int>(match.verdict);
}

constexpr int kNone = -static_cast<int>(MatchVerdict::kNoRoute);
constexpr int kPort = -static_cast<int>(MatchVerdict::kPortMismatch);
constexpr int kUnknown = -static_cast<int>(MatchVerdict::kPathUnknown);
constexpr int kNoPath = -static_cast<int>(MatchVerdict::kPathMatchesNone);
constexpr int kAmbiguous = -static_cast<int>(MatchVerdict::kPathAmbiguous);
constexpr int kName = -static_cast<int>(MatchVerdict::kNameUnknown);

std::array<uint8_t, 16> Address(std::string_view text) {
  return HostAddress(text).value();
}

TEST(RouteMatcher, ComparesHostsWithoutCaseBracketsAndTrailingDot) {
  const RouteMatcher matcher = Mcp("MCP.Example.com", {443}).Endpoint("mcp", "::1", {443});
  EXPECT_EQ(Routed(matcher.MatchRequest("mcp.example.COM", 443, Path("/mcp"))), 0);
  EXPECT_EQ(Routed(matcher.MatchRequest("mcp.example.com.", 443, Path("/mcp"))), 0);
  EXPECT_EQ(Routed(matcher.MatchRequest("[::1]", 443, Path("/mcp"))), 1);
  EXPECT_EQ(Routed(matcher.MatchRequest("::1", 443, Path("/mcp"))), 1);
  EXPECT_EQ(Routed(matcher.MatchRequest("example.com", 443, Path("/mcp"))), kNone);
  EXPECT_EQ(Routed(matcher.MatchRequest("", 443, Path("/mcp"))), kNone);
}

TEST(RouteMatcher, StripsATrailingDotOfThePolicyToo) {
  const RouteMatcher matcher = Mcp("mcp.example.com.", {443});
  EXPECT_EQ(Routed(matcher.MatchRequest("mcp.example.com", 443, Path("/"))), 0);
  EXPECT_EQ(Routed(matcher.MatchHost("mcp.example.com.")), 0);
}

TEST(RouteMatcher, CallsAHostWithAndWithoutDotAmbiguous) {
  const RouteMatcher matcher =
      Mcp("mcp.example.com.", {443}, "/a").Endpoint("mcp", "mcp.example.com", {443, 8443}, "/b");
  EXPECT_EQ(Routed(matcher.MatchRequest("mcp.example.com", 443, Path("/a"))), kAmbiguous);
  EXPECT_EQ(Routed(matcher.MatchRequest("mcp.example.com", 443, {})), kAmbiguous);
  EXPECT_EQ(Routed(matcher.MatchHost("mcp.example.com")), kAmbiguous);
  EXPECT_EQ(Routed(matcher.MatchRequest("mcp.example.com", 8443, Path("/b"))), 1);
}

TEST(RouteMatcher, PrefersThePathWithMostCharacters) {
  const RouteMatcher matcher = Mcp("h.test", {443}, "/**")
                                   .Endpoint("mcp", "h.test", {443}, "/a/**")
                                   .Endpoint("mcp", "h.test", {443}, "/a/b*")
                                   .Endpoint("mcp", "h.test", {443}, "/a/bcd");
  EXPECT_EQ(Routed(matcher.MatchRequest("h.test", 443, Path("/"))), 0);
  EXPECT_EQ(Routed(matcher.MatchRequest("h.test", 443, Path("/a"))), 1);
  EXPECT_EQ(Routed(matcher.MatchRequest("h.test", 443, Path("/a/bc"))), 2);
  EXPECT_EQ(Routed(matcher.MatchRequest("h.test", 443, Path("/a/bcd"))), 3);
}

TEST(RouteMatcher, AttributesNothingAtEqualSpecificity) {
  const RouteMatcher matcher = Mcp("h.test", {443}, "/a*")
                                   .Endpoint("mcp", "h.test", {443}, "/*a")
                                   .Endpoint("rest", "h.test", {443}, "/mcp")
                                   .Endpoint("mcp", "h.test", {443}, "/mcp");
  EXPECT_EQ(Routed(matcher.MatchRequest("h.test", 443, Path("/ab"))), 0);
  EXPECT_EQ(Routed(matcher.MatchRequest("h.test", 443, Path("/aa"))), kAmbiguous);
  EXPECT_EQ(Routed(matcher.MatchRequest("h.test", 443, Path("/mcp"))), kAmbiguous);
}

TEST(RouteMatcher, IsNotConfusedByATieBelowTheWinner) {
  const RouteMatcher matcher = Mcp("h.test", {443}, "/a*")
                                   .Endpoint("mcp", "h.test", {443}, "/*a")
                                   .Endpoint("mcp", "h.test", {443}, "/aaa");
  EXPECT_EQ(Routed(matcher.MatchRequest("h.test", 443, Path("/aaa"))), 2);
}

TEST(RouteMatcher, CountsOneRouteDeclaredTwiceAsOne) {
  const RouteMatcher matcher =
      Mcp("h.test", {443, 8443}, "/mcp").Endpoint("mcp", "H.TEST", {8443, 443, 443}, "/mcp");
  EXPECT_EQ(Routed(matcher.MatchRequest("h.test", 443, {})), 0);
  EXPECT_EQ(Routed(matcher.MatchRequest("h.test", 443, Path("/mcp"))), 0);
  EXPECT_EQ(Routed(matcher.MatchHost("h.test")), 0);
}

TEST(RouteMatcher, AttributesAnUnknownPathOnlyToASingleEndpoint) {
  const RouteMatcher one = Mcp("h.test", {443}, "/mcp");
  EXPECT_EQ(Routed(one.MatchRequest("h.test", 443, {})), 0);
  const RouteMatcher two = Mcp("h.test", {443}, "/a").Endpoint("mcp", "h.test", {443}, "/b");
  EXPECT_EQ(Routed(two.MatchRequest("h.test", 443, {})), kUnknown);
  EXPECT_EQ(Routed(two.MatchRequest("h.test", 443, Path("/b"))), 1);
}

TEST(RouteMatcher, CountsRestWildcardAndHostlessEndpoints) {
  for (const auto& [protocol, host] :
       std::vector<std::pair<std::string, std::string>>{{"rest", "mcp.example.com"},
                                                        {"", "mcp.example.com"},
                                                        {"rest", "*.example.com"},
                                                        {"rest", "**"},
                                                        {"", ""}}) {
    SCOPED_TRACE(protocol + " " + host);
    const RouteMatcher matcher =
        Mcp("mcp.example.com", {443}, "/mcp").Endpoint(protocol, host, {443});
    EXPECT_EQ(Routed(matcher.MatchRequest("mcp.example.com", 443, {})), kUnknown);
    EXPECT_EQ(Routed(matcher.MatchHost("mcp.example.com")), kUnknown);
    EXPECT_EQ(Routed(matcher.MatchRequest("mcp.example.com", 443, Path("/mcp"))), 0);
    EXPECT_EQ(Routed(matcher.MatchRequest("mcp.example.com", 443, Path("/other"))), kNone);
  }
}

TEST(RouteMatcher, IgnoresEndpointsThatCannotBeMeant) {
  const RouteMatcher matcher = Mcp("mcp.example.com", {443}, "/mcp")
                                   .Endpoint("rest", "*.example.org", {443})
                                   .Endpoint("rest", "*.com", {443})
                                   .Endpoint("rest", "mcp.example.com", {80})
                                   .Endpoint("", "", {5432});
  EXPECT_EQ(Routed(matcher.MatchRequest("mcp.example.com", 443, {})), 0);
  // A lookup has no port, so the REST endpoint on port 80 may be what it was for.
  EXPECT_EQ(Routed(matcher.MatchHost("mcp.example.com")), kUnknown);
}

TEST(RouteMatcher, MatchesAHostThatFailedToResolve) {
  const RouteMatcher matcher = Mcp("a.test", {443}, "/mcp")
                                   .Endpoint("mcp", "b.test", {443}, "/x")
                                   .Endpoint("mcp", "b.test", {8443}, "/x")
                                   .Endpoint("rest", "c.test", {443});
  EXPECT_EQ(Routed(matcher.MatchHost("A.test.")), 0);
  EXPECT_EQ(Routed(matcher.MatchHost("b.test")), kUnknown);
  EXPECT_EQ(Routed(matcher.MatchHost("c.test")), kNone);
  EXPECT_EQ(Routed(matcher.MatchHost("d.test")), kNone);
  EXPECT_EQ(Routed(matcher.MatchHost("")), kNone);
}

TEST(RouteMatcher, NamesTheRouteThatARequestNearlyMeant) {
  const RouteMatcher matcher = Mcp("a.test", {443}, "/mcp")
                                   .Endpoint("mcp", "b.test", {443}, "/x")
                                   .Endpoint("mcp", "b.test", {443}, "/y");
  const Match other_port = matcher.MatchRequest("a.test", 8443, Path("/mcp"));
  EXPECT_EQ(Routed(other_port), kPort);
  EXPECT_EQ(other_port.only_near, 0u);
  const Match other_path = matcher.MatchRequest("a.test", 443, Path("/mcp/"));
  EXPECT_EQ(Routed(other_path), kNoPath);
  EXPECT_EQ(other_path.only_near, 0u);
  const Match two_near = matcher.MatchRequest("b.test", 443, Path("/z"));
  EXPECT_EQ(Routed(two_near), kNoPath);
  EXPECT_EQ(two_near.only_near, std::nullopt);
  EXPECT_EQ(matcher.MatchRequest("b.test", 1, {}).only_near, std::nullopt);
}

TEST(RouteMatcher, SaysNoRouteWhenOnlyOthersHaveTheAuthority) {
  const RouteMatcher matcher = Mcp("a.test", {443}).Endpoint("rest", "b.test", {443});
  EXPECT_EQ(Routed(matcher.MatchRequest("b.test", 443, {})), kNone);
  EXPECT_EQ(Routed(matcher.MatchRequest("b.test", 8443, {})), kNone);
}

TEST(RouteMatcher, ComparesAddressesInBinary) {
  const RouteMatcher matcher = Mcp("0:0:0:0:0:0:0:1", {443}, "/mcp")
                                   .Endpoint("mcp", "[2001:DB8::1]", {443})
                                   .Endpoint("mcp", "127.0.0.1", {18443});
  EXPECT_EQ(Routed(matcher.MatchAddress(Address("::1"), 443, {})), 0);
  EXPECT_EQ(Routed(matcher.MatchAddress(Address("::1"), 443, Path("/mcp"))), 0);
  EXPECT_EQ(Routed(matcher.MatchAddress(Address("2001:db8:0::1"), 443, {})), 1);
  EXPECT_EQ(Routed(matcher.MatchAddress(Address("::ffff:127.0.0.1"), 18443, {})), 2);
  EXPECT_EQ(Routed(matcher.MatchAddress(Address("127.0.0.2"), 18443, {})), kNone);
  const Match other_port = matcher.MatchAddress(Address("127.0.0.1"), 443, {});
  EXPECT_EQ(Routed(other_port), kPort);
  EXPECT_EQ(other_port.only_near, 2u);
}

TEST(RouteMatcher, LeavesAnAddressAloneThatOthersCanShare) {
  const auto literal = Address("10.0.0.5");
  // Two spellings of one address are two routes.
  EXPECT_EQ(Routed(RouteMatcher(Mcp("10.0.0.5", {443}).Endpoint("mcp", "::ffff:10.0.0.5", {443}))
                       .MatchAddress(literal, 443, {})),
            kUnknown);
  // A name on the same port may stand for the address, unless the client named the address.
  const RouteMatcher named = Mcp("10.0.0.5", {443}).Endpoint("rest", "api.example.com", {443});
  EXPECT_EQ(Routed(named.MatchAddress(literal, 443, {})), kName);
  EXPECT_EQ(Routed(named.MatchAddress(literal, 443, {}, AddressSource::kLiteral)), 0);
  const RouteMatcher wildcard = Mcp("10.0.0.5", {443}).Endpoint("rest", "*.example.com", {443});
  EXPECT_EQ(Routed(wildcard.MatchAddress(literal, 443, {})), kName);
  EXPECT_EQ(Routed(wildcard.MatchAddress(literal, 443, {}, AddressSource::kLiteral)), 0);
  const RouteMatcher everything = Mcp("10.0.0.5", {443}).Endpoint("rest", "**", {443});
  EXPECT_EQ(Routed(everything.MatchAddress(literal, 443, {}, AddressSource::kLiteral)), kUnknown);
  // A hostless endpoint stands for any host on its port.
  const RouteMatcher hostless = Mcp("10.0.0.5", {443}).Endpoint("", "", {443});
  EXPECT_EQ(Routed(hostless.MatchAddress(literal, 443, {}, AddressSource::kLiteral)), kUnknown);
  // A name on another port does not matter.
  const RouteMatcher apart = Mcp("10.0.0.5", {443}).Endpoint("rest", "api.example.com", {80});
  EXPECT_EQ(Routed(apart.MatchAddress(literal, 443, {})), 0);
}

TEST(RouteMatcher, KnowsTheHostsOfRoutes) {
  const RouteMatcher matcher = Mcp("a.test", {443}).Endpoint("rest", "b.test", {443});
  EXPECT_TRUE(matcher.IsRouteHost("A.test."));
  EXPECT_FALSE(matcher.IsRouteHost("b.test"));
  EXPECT_FALSE(matcher.IsRouteHost("c.test"));
}

TEST(RouteMatcher, SurvivesItsPolicyAndACopy) {
  RouteMatcher copy = [] {
    const RouteMatcher matcher = Mcp("a.test", {443}).Endpoint("rest", "*.b.test", {443});
    return RouteMatcher(matcher);
  }();
  EXPECT_EQ(Routed(copy.MatchRequest("a.test", 443, {})), 0);
  EXPECT_EQ(Routed(copy.MatchRequest("x.b.test", 443, {})), kNone);
}

// Pitfall G4: one denial reaches the sensor as a proxy's answer, a refused lookup or EPERM. Each
// knows less than the one before, and all must name the same subject.
TEST(RouteMatcher, G4NamesOneSubjectHoweverADenialIsSeen) {
  const PolicyBuilder builder =
      Mcp("mcp.example.com", {443}, "/mcp").Endpoint("rest", "x.test", {80});
  const RouteMatcher matcher = builder;
  const Authority connect = ParseAuthority("MCP.example.com.:443").value();
  const Match by_proxy =
      matcher.MatchRequest(connect.host, *connect.port, NormalizeRequestPath("/mcp?session=1"));
  const Match by_lookup = matcher.MatchHost("mcp.example.com");
  const Match by_errno = matcher.MatchRequest("mcp.example.com", 443, std::nullopt);
  ASSERT_EQ(by_proxy.verdict, MatchVerdict::kRoute);
  ASSERT_EQ(by_lookup.verdict, MatchVerdict::kRoute);
  ASSERT_EQ(by_errno.verdict, MatchVerdict::kRoute);
  const std::string subject = SubjectOf("mcp.example.com", {443}, "/mcp").text;
  for (const Match& match : {by_proxy, by_lookup, by_errno})
    EXPECT_EQ(builder.policy().routes[match.route].subject.text, subject);
}

}  // namespace
}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Properties of matching over random policies, against a reading of the rules that is slow and
// plain; and the cost of a look-up in the largest policy that is accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <set>

#include "routes/match.h"

namespace routelens {
namespace {

const char* const kHosts[] = {"a.test", "b.test",    "A.test", "a.test.", "x.a.test",
                              "*.test", "**.a.test", "",       "::1",     "10.0.0.1"};
const char* const kPaths[] = {"", "/**", "/a", "/a/**", "/a*", "/*a", "/a/b", "/[ab]", "/A"};
const char* const kRequests[] = {"/", "/a", "/a/b", "/aa", "/b", "/ba"};
const char* const kRequestHosts[] = {"a.test", "b.test", "x.a.test", "y.x.a.test", "c.test", "::1"};
const uint16_t kPorts[] = {443, 8443};

Policy RandomPolicy(std::mt19937& random) {
  Policy policy;
  std::set<std::string> subjects;
  for (size_t i = 1 + random() % 6; i > 0; --i) {
    PolicyEndpoint endpoint;
    endpoint.host = kHosts[random() % std::size(kHosts)];
    endpoint.path = kPaths[random() % std::size(kPaths)];
    endpoint.ports = {kPorts[random() % 2]};
    if (random() % 3 == 0)
      endpoint.ports.push_back(kPorts[random() % 2]);
    endpoint.protocol = random() % 4 == 0 ? "rest" : "mcp";
    endpoint.is_route =
        endpoint.protocol == "mcp" && !endpoint.host.empty() && !IsWildcardHost(endpoint.host);
    if (endpoint.is_route) {
      Route route = MakeRoute(endpoint.host, endpoint.ports, endpoint.path, false);
      if (subjects.insert(route.subject.text).second)
        policy.routes.push_back(std::move(route));
    }
    policy.endpoints.push_back(std::move(endpoint));
  }
  return policy;
}

bool HostAllows(const PolicyEndpoint& endpoint, std::string_view host) {
  if (endpoint.host.empty())
    return true;
  const std::string pattern = MatchableHost(endpoint.host);
  return IsWildcardHost(pattern) ? HostPattern(pattern).Matches(host) : pattern == host;
}

bool PortAllows(const PolicyEndpoint& endpoint, uint16_t port) {
  return std::count(endpoint.ports.begin(), endpoint.ports.end(), port) > 0;
}

// What an endpoint stands for: its route, or itself.
std::string Identity(const PolicyEndpoint& endpoint, size_t index) {
  return endpoint.is_route ? SubjectOf(endpoint.host, endpoint.ports, endpoint.path).text
                           : "not a route " + std::to_string(index);
}

// The subject that the rules give, "" if they give none.
std::string ByTheRules(const Policy& policy, std::string_view host, uint16_t port,
                       const std::optional<std::string>& path) {
  std::set<std::string> fitting;
  std::set<bool> dots;
  size_t most = 0;
  for (size_t i = 0; i < policy.endpoints.size(); ++i) {
    const PolicyEndpoint& endpoint = policy.endpoints[i];
    if (!HostAllows(endpoint, host) || !PortAllows(endpoint, port))
      continue;
    dots.insert(!endpoint.host.empty() && endpoint.host.back() == '.');
    const PathPattern pattern(endpoint.path);
    if (path && !pattern.Matches(*path))
      continue;
    const size_t rank = path ? pattern.specificity() : 0;
    if (rank > most)
      fitting.clear();
    if (rank >= most)
      fitting.insert(Identity(endpoint, i));
    most = std::max(most, rank);
  }
  const bool one = fitting.size() == 1 && dots.size() == 1;
  return one && fitting.begin()->rfind("mcp-route:", 0) == 0 ? *fitting.begin() : "";
}

TEST(RouteMatcherProperty, AgreesWithThePlainReadingOfTheRules) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int routed = 0;
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    const Policy policy = RandomPolicy(random);
    const RouteMatcher matcher(policy);
    for (const char* host : kRequestHosts) {
      for (const uint16_t port : kPorts) {
        std::vector<std::optional<std::string>> paths = {std::nullopt};
        paths.insert(paths.end(), std::begin(kRequests), std::end(kRequests));
        for (const std::optional<std::string>& path : paths) {
          const Match match = matcher.MatchRequest(host, port, path);
          const std::string expected = ByTheRules(policy, host, port, path);
          const std::string got = match.verdict == MatchVerdict::kRoute
                                      ? policy.routes.at(match.route).subject.text
                                      : "";
          ASSERT_EQ(got, expected) << host << ":" << port << " " << path.value_or("(unknown)");
          expected.empty() ? ++refused : ++routed;
        }
      }
    }
  }
  EXPECT_GT(routed, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(RouteMatcherProperty, NeverNamesARouteWithAnotherHostOrPort) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 1000; ++round) {
    const Policy policy = RandomPolicy(random);
    const RouteMatcher matcher(policy);
    for (const char* host : kRequestHosts) {
      const Match by_host = matcher.MatchHost(host);
      if (by_host.verdict == MatchVerdict::kRoute) {
        EXPECT_EQ(MatchableHost(policy.routes.at(by_host.route).host), host);
      }
      for (const uint16_t port : kPorts) {
        const Match match = matcher.MatchRequest(host, port, std::string("/a"));
        if (match.verdict == MatchVerdict::kRoute) {
          const Route& route = policy.routes.at(match.route);
          EXPECT_EQ(MatchableHost(route.host), host);
          EXPECT_TRUE(std::binary_search(route.ports.begin(), route.ports.end(), port));
        }
        if (match.only_near) {
          EXPECT_EQ(MatchableHost(policy.routes.at(*match.only_near).host), host);
        }
        const Match by_address = matcher.MatchAddress(*HostAddress("::1"), port, std::nullopt);
        if (by_address.verdict == MatchVerdict::kRoute) {
          EXPECT_EQ(policy.routes.at(by_address.route).host, "::1");
        }
      }
    }
  }
}

// The order of endpoints in the file means nothing.
TEST(RouteMatcherProperty, DoesNotDependOnTheOrderOfEndpoints) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 1000; ++round) {
    const Policy policy = RandomPolicy(random);
    Policy shuffled = policy;
    std::shuffle(shuffled.endpoints.begin(), shuffled.endpoints.end(), random);
    const RouteMatcher a(policy);
    const RouteMatcher b(shuffled);
    for (const char* host : kRequestHosts) {
      for (const char* path : kRequests) {
        const Match one = a.MatchRequest(host, 443, std::string(path));
        const Match other = b.MatchRequest(host, 443, std::string(path));
        EXPECT_EQ(one.verdict, other.verdict);
        EXPECT_EQ(one.route, other.route);
        EXPECT_EQ(one.only_near, other.only_near);
      }
    }
  }
}

TEST(RouteMatcherProperty, LooksUpInALargePolicyInMicroseconds) {
  Policy policy;
  for (int i = 0; i < 16384; ++i) {
    PolicyEndpoint endpoint;
    endpoint.protocol = "mcp";
    const std::string number = std::to_string(i);
    endpoint.host = i % 4 == 0 ? "*.w" + number + ".example.com" : "h" + number + ".example.com";
    endpoint.is_route = i % 4 != 0;
    endpoint.ports = {443, 8443};
    endpoint.path = "/mcp";
    if (endpoint.is_route)
      policy.routes.push_back(MakeRoute(endpoint.host, endpoint.ports, endpoint.path, false));
    policy.endpoints.push_back(std::move(endpoint));
  }
  const RouteMatcher matcher(policy);
  constexpr int kLookUps = 20000;
  const std::clock_t begin = std::clock();
  int routed = 0;
  for (int i = 0; i < kLookUps; ++i) {
    const std::string host = "h" + std::to_string(i % 16384) + ".example.com";
    routed += matcher.MatchRequest(host, 443, std::string("/mcp")).verdict == MatchVerdict::kRoute;
  }
  const std::clock_t spent = std::clock() - begin;
  EXPECT_GT(routed, kLookUps / 2);
  // 100 µs each: room for a debug build under a sanitizer; going through all endpoints costs
  // milliseconds each.
  EXPECT_LT(spent, CLOCKS_PER_SEC / 10000 * kLookUps);
}

}  // namespace
}  // namespace routelens

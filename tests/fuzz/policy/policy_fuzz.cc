// SPDX-License-Identifier: Apache-2.0
//
// Input: policy YAML, then optionally a NUL and an authority, a NUL and a request target. Whatever
// the bytes, parsing ends with a policy or an error that names the file, and what matching answers
// fits the policy that it answers from.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/status_util.h"
#include "routes/authority.h"
#include "routes/match.h"
#include "routes/policy.h"
#include "routes/request_path.h"

namespace {

using namespace routelens;  // NOLINT(google-build-using-namespace): a program of one file

constexpr std::string_view kSource = "fuzz.yaml";

void Require(bool holds, const char* what) {
  if (holds)
    return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

std::string_view TakeUntilNul(std::string_view& rest) {
  const size_t nul = rest.find('\0');
  const std::string_view part = rest.substr(0, nul);
  rest = nul == std::string_view::npos ? std::string_view() : rest.substr(nul + 1);
  return part;
}

bool IsHarmless(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

void CheckPolicy(const Policy& policy) {
  Require(std::is_sorted(policy.routes.begin(), policy.routes.end(),
                         [](const Route& a, const Route& b) { return a.subject < b.subject; }),
          "routes are sorted by subject");
  for (const Route& route : policy.routes) {
    Require(MakeRoute(route.host, route.ports, route.path, route.credentialed) == route,
            "a route is its own canonical form");
    Require(!route.host.empty() && !route.ports.empty() && route.ports.front() != 0,
            "a route has a host and ports");
  }
  for (const PolicyWarning& warning : policy.warnings)
    Require(IsHarmless(warning.where) && IsHarmless(warning.what), "a warning is one plain line");
}

void CheckMatch(const Policy& policy, const Match& match, std::string_view host) {
  if (match.verdict == MatchVerdict::kRoute)
    Require(MatchableHost(policy.routes.at(match.route).host) == host, "a route has the host");
  if (match.only_near)
    Require(MatchableHost(policy.routes.at(*match.only_near).host) == host, "nearly the host");
}

void CheckMatching(const Policy& policy, std::string_view authority_text, std::string_view target) {
  const RouteMatcher matcher(policy);
  const std::optional<std::string> path = NormalizeRequestPath(target);
  if (path)
    Require(NormalizeRequestPath(*path) == path, "a normal path stays as it is");
  for (const Route& route : policy.routes) {
    for (const uint16_t port : {route.ports.front(), uint16_t{1}}) {
      const std::string host = MatchableHost(route.host);
      // "h.." and "[[h]]" are no hosts: asked for in this form they would be stripped once more.
      if (!host.empty() && MatchableHost(host) == host)
        CheckMatch(policy, matcher.MatchRequest(host, port, path), host);
    }
  }
  const std::optional<Authority> authority = ParseAuthority(authority_text);
  if (!authority)
    return;
  const std::optional<Authority> again = ParseAuthority(authority->host);
  Require(again && again->host == authority->host && !again->port, "a parsed host stays as it is");
  CheckMatch(policy, matcher.MatchRequest(authority->host, authority->port.value_or(443), path),
             authority->host);
  CheckMatch(policy, matcher.MatchHost(authority->host), authority->host);
  if (const auto address = HostAddress(authority->host))
    (void)matcher.MatchAddress(*address, authority->port.value_or(443), path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view yaml = TakeUntilNul(rest);
  const std::string_view authority = TakeUntilNul(rest);
  const std::string_view target = TakeUntilNul(rest);

  PolicyLimits limits;
  limits.max_nodes = 20000;
  const absl::StatusOr<Policy> policy = ParsePolicy(yaml, kSource, {}, limits);
  if (!policy.ok()) {
    Require(policy.status().code() == absl::StatusCode::kInvalidArgument, "an error of the input");
    Require(MessageOf(policy.status()).substr(0, kSource.size()) == kSource, "an error has a file");
    Require(IsHarmless(MessageOf(policy.status())), "an error is one plain line");
    CheckMatching({}, authority, target);
    return 0;
  }
  CheckPolicy(*policy);
  CheckMatching(*policy, authority, target);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Which route a request belongs to (design: route identity, Matching; rulings 16 to 18). Pure:
// answers from the policy alone, and says why when the answer is not exactly one route.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "routes/policy.h"

namespace routelens {

enum class MatchVerdict : uint8_t {
  kRoute,          // exactly one: `route`
  kNoRoute,        // no endpoint of the policy has that authority, or only non-MCP ones have
  kPortMismatch,   // a route has that host, on other ports
  kPathUnknown,    // several endpoints share host and port and the path is not known
  kPathMatchesNone,
  kPathAmbiguous,  // equal specificity, or `host` and `host.` both declared
};

struct Match {
  MatchVerdict verdict = MatchVerdict::kNoRoute;
  size_t route = 0;                 // index into Policy::routes when kRoute
  std::optional<size_t> only_near;  // kPortMismatch, kPathMatchesNone: the one route it nearly was
};

// A request target reduced to what matching compares: no query, no fragment, unreserved
// percent-escapes decoded, dot segments resolved, "//" collapsed, ";params" stripped. Empty when
// the target cannot be normalised (control or non-ASCII bytes, "%2F", over 4 KiB): path unknown.
std::optional<std::string> NormalizeRequestPath(std::string_view target);

// Splits "host:port", "[v6]:port", "host". Strips brackets, one trailing dot and %zone, and lowers
// ASCII case. Port is empty when absent; the whole is empty when it is not an authority.
struct Authority {
  std::string host;
  std::optional<uint16_t> port;
};
std::optional<Authority> ParseAuthority(std::string_view text);

// Compiled form of a policy; keeps its own copies. Immutable, safe to share.
class RouteMatcher {
 public:
  explicit RouteMatcher(const Policy& policy);

  // `path` is a normalised request path, or nothing when it is not known.
  Match MatchRequest(std::string_view host, uint16_t port,
                     const std::optional<std::string>& path) const;

  // A name that failed to resolve: the port is not known either (rulings 16).
  Match MatchHost(std::string_view host) const;

  // True if some endpoint (route or not) other than by IP literal could be meant by this address
  // and port: then an IP-literal route is not the only reading (rulings 17).
  bool IsRouteHost(std::string_view host) const;

 private:
  struct CompiledEndpoint {
    std::string host;  // lower case, one trailing dot stripped, brackets and zone stripped
    bool dotted = false;
    bool wildcard = false;
    std::vector<uint16_t> ports;
    std::string path;
    std::optional<size_t> route;
  };
  std::vector<CompiledEndpoint> endpoints_;
};

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Which route a request belongs to (design: route identity, Matching; rulings 16 to 18). Pure:
// answers from the policy alone, and says why when the answer is not exactly one route.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "base/string_map.h"
#include "routes/host_pattern.h"
#include "routes/path_pattern.h"
#include "routes/policy.h"

namespace routelens {

enum class MatchVerdict : uint8_t {
  kRoute,         // exactly one: `route`
  kNoRoute,       // no endpoint of the policy has that authority, or only non-MCP ones have
  kPortMismatch,  // a route has that host, on other ports
  kPathUnknown,   // several endpoints share host and port and the path is not known
  kPathMatchesNone,
  kPathAmbiguous,  // equal specificity, or `host` and `host.` both declared
  kNameUnknown,    // MatchAddress only: an endpoint with a name could be meant as well
};

struct Match {
  MatchVerdict verdict = MatchVerdict::kNoRoute;
  size_t route = 0;                 // index into Policy::routes when kRoute
  std::optional<size_t> only_near;  // kPortMismatch, kPathMatchesNone: the one route it nearly was
};

// How the caller knows the address that it asks MatchAddress about.
enum class AddressSource : uint8_t {
  kDestination,  // where a socket connected to: a name that no witness saw may be behind it
  kLiteral,      // the client itself named the address: an authority, or a ClientHello without SNI
};

// Compiled form of a policy; keeps its own copies. Immutable, safe to share.
class RouteMatcher {
 public:
  explicit RouteMatcher(const Policy& policy);

  // `path` is what NormalizeRequestPath returned: nothing when it is not known.
  Match MatchRequest(std::string_view host, uint16_t port,
                     const std::optional<std::string>& path) const;

  // A name that failed to resolve: the port is not known either (rulings 16).
  Match MatchHost(std::string_view host) const;

  // A destination known by address only (rulings 17): IP-literal endpoints are compared in binary,
  // so that "0:0:0:0:0:0:0:1" is "::1". IPv4 is v4-mapped. The caller has made sure that the owner
  // resolved no name to the address. From kDestination, any endpoint on this port that has a name
  // could be meant too: kNameUnknown.
  Match MatchAddress(const std::array<uint8_t, 16>& address, uint16_t port,
                     const std::optional<std::string>& path,
                     AddressSource source = AddressSource::kDestination) const;

  // True if some route has exactly this host, on whatever port.
  bool IsRouteHost(std::string_view host) const;

 private:
  struct CompiledEndpoint {
    bool dotted = false;  // written with a trailing dot
    std::vector<uint16_t> ports;
    PathPattern path;
    std::optional<size_t> route;
  };

  struct WildcardHost {
    HostPattern pattern;
    uint32_t endpoint = 0;
  };

  using Candidates = absl::InlinedVector<uint32_t, 8>;

  bool HasPort(uint32_t endpoint, uint16_t port) const;
  void AppendWildcards(std::string_view host, std::optional<uint16_t> port, Candidates& out) const;
  std::optional<size_t> OnlyRouteOf(const Candidates& candidates) const;
  Match Decide(const Candidates& candidates, const std::optional<std::string>& path) const;
  Match DecideOffPort(const std::vector<uint32_t>* same_host) const;

  std::vector<CompiledEndpoint> endpoints_;
  // Keys: lower case, one trailing dot, brackets and zone stripped. Values: indices of endpoints_.
  StringMap<std::vector<uint32_t>> by_host_;
  // Wildcard hosts by the labels after their last wildcard ("" if there are none).
  StringMap<std::vector<WildcardHost>> wildcards_by_suffix_;
  std::vector<uint32_t> hostless_;
  absl::flat_hash_map<std::array<uint8_t, 16>, std::vector<uint32_t>> by_address_;
  absl::flat_hash_set<uint16_t> named_ports_;  // of every endpoint whose host is not an address
};

}  // namespace routelens

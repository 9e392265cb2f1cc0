// SPDX-License-Identifier: Apache-2.0
//
// The effective policy as Routelens needs it: every network endpoint (for the rule that an
// authority must fit exactly one endpoint, rulings 16), and the MCP routes among them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "routes/route.h"

namespace routelens {

// One endpoint of the policy, of any protocol, as written (ports already effective).
struct PolicyEndpoint {
  std::string rule;  // key of network_policies
  std::string host;  // as written; "" for a hostless endpoint (allowed_ips)
  std::vector<uint16_t> ports;
  std::string path;       // as written
  std::string protocol;   // trimmed, lower case; "" if absent
  bool is_route = false;  // protocol mcp, concrete host, at least one port
  bool credentialed = false;
  bool enforced = false;      // enforcement: enforce
  bool has_binaries = false;  // the rule names at least one binary
  friend bool operator==(const PolicyEndpoint&, const PolicyEndpoint&) = default;
};

// One thing in a policy that is accepted but deserves a word: an unknown field, a route that no
// request can match, a rule without binaries.
struct PolicyWarning {
  std::string where;  // "network_policies.github.endpoints[0].foo", with the line if known
  std::string what;
  friend bool operator==(const PolicyWarning&, const PolicyWarning&) = default;
};

struct Policy {
  std::vector<PolicyEndpoint> endpoints;  // in the order of the file
  std::vector<Route> routes;              // merged, sorted by subject
  std::vector<PolicyWarning> warnings;
  friend bool operator==(const Policy&, const Policy&) = default;
};

struct PolicyLimits {
  size_t max_bytes = 4u << 20;
  size_t max_endpoints = 16384;
  size_t max_ports_per_endpoint = 4096;
  size_t max_nodes = 1u << 20;  // YAML nodes after alias expansion: an alias bomb ends here
  int max_depth = 64;
};

// Parses OpenShell policy YAML (`network_policies` of a SandboxPolicy). Errors are
// InvalidArgument, name the file (`source`), the place and the remedy. Unknown fields are kept out
// of the result and warned about by name. `credentialed` adds routes by subject text.
absl::StatusOr<Policy> ParsePolicy(std::string_view yaml, std::string_view source,
                                   const std::set<std::string>& credentialed = {},
                                   const PolicyLimits& limits = {});

// Reads a whole file ("-" is standard input), at most limits.max_bytes, then ParsePolicy. Only
// regular files are read by name; it never waits for one. When the file cannot be opened or read
// the code follows errno.
absl::StatusOr<Policy> LoadPolicyFile(const std::string& path,
                                      const std::set<std::string>& credentialed = {},
                                      const PolicyLimits& limits = {});

}  // namespace routelens

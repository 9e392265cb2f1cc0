// SPDX-License-Identifier: Apache-2.0
//
// What a route is and how it is named (design: route identity). A route is one canonical MCP
// endpoint of the effective policy. Canonical form: host in ASCII lower case and otherwise byte for
// byte; ports sorted without duplicates; path "", "**" and "/**" are "/**", else byte for byte.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace routelens {

// "mcp-route:v1:" + 64 lower-case hex digits.
struct RouteSubject {
  std::string text;
  friend auto operator<=>(const RouteSubject&, const RouteSubject&) = default;

  template <typename H>
  friend H AbslHashValue(H h, const RouteSubject& subject) {
    return H::combine(std::move(h), subject.text);
  }
};

struct Route {
  std::string host;             // canonical
  std::vector<uint16_t> ports;  // canonical, never empty
  std::string path;             // canonical, never empty
  bool credentialed = false;
  RouteSubject subject;
  std::string endpoint_id;  // "endpoint:v1:" + 64 hex digits
  friend bool operator==(const Route&, const Route&) = default;
};

// Canonical forms of the parts.
std::string CanonicalHost(std::string_view host);
std::string CanonicalPath(std::string_view path);
std::vector<uint16_t> CanonicalPorts(std::vector<uint16_t> ports);

// SHA-256 over the raw domain tag `openshell:mcp-route-subject:v1`, then host, path, port count
// and each port, each with a 64-bit big-endian length prefix. Arguments are canonicalised here.
RouteSubject SubjectOf(std::string_view host, const std::vector<uint16_t>& ports,
                       std::string_view path);

// The same with the tag `openshell:endpoint:v1` and the printed form of OpenShell's endpoint_id.
std::string EndpointIdOf(std::string_view host, const std::vector<uint16_t>& ports,
                         std::string_view path);

// Canonicalises the parts and computes both names.
Route MakeRoute(std::string_view host, std::vector<uint16_t> ports, std::string_view path,
                bool credentialed);

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Hosts as matching compares them, and wildcard hosts (OpenShell: `.` separates, `*` stands for one
// label or a part of one, `**` for any number of them). Nothing here is used for subjects, which
// keep the host as it is written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace routelens {

// RFC 1035 section 2.3.4, without the root label. No longer name can be resolved or requested.
inline constexpr size_t kMaxHostBytes = 253;

// ASCII lower case, without brackets, %zone and one trailing dot.
std::string MatchableHost(std::string_view host);

bool IsWildcardHost(std::string_view host);

// Reads a whole host as an IP literal: dotted IPv4 (returned v4-mapped) or textual IPv6 without
// brackets and zone. Empty if it is a name.
std::optional<std::array<uint8_t, 16>> HostAddress(std::string_view host);

class HostPattern {
 public:
  // `pattern` is a wildcard host, already MatchableHost.
  explicit HostPattern(std::string_view pattern);

  // `host` is MatchableHost.
  bool Matches(std::string_view host) const;

  // The labels after the last one with a wildcard: "example.com" of "*.example.com", "" of "a.*".
  // Every host that matches is this or ends with "." and this.
  const std::string& literal_suffix() const { return literal_suffix_; }

 private:
  enum class Step : uint8_t { kLiteral, kOneInLabel, kInLabel, kAcrossLabels };

  struct Token {
    Step step = Step::kLiteral;
    char literal = 0;
  };

  std::vector<Token> tokens_;
  size_t shortest_ = 0;  // bytes that a match has at least
  std::string literal_suffix_;
};

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// The authority of a request: host and port as matching compares them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace routelens {

struct Authority {
  std::string host;              // as of MatchableHost; never empty
  std::optional<uint16_t> port;  // nothing when absent
};

// Splits "host:port", "[v6]:port", "host". Strips brackets, one trailing dot and %zone, and lowers
// ASCII case. Nothing when it is not an authority.
std::optional<Authority> ParseAuthority(std::string_view text);

}  // namespace routelens

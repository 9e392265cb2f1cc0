// SPDX-License-Identifier: Apache-2.0
//
// Addresses as values. One form for both families: IPv4 is v4-mapped IPv6 (RFC 4291 section
// 2.5.5.2), so that 127.0.0.1 and ::ffff:127.0.0.1 compare equal.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace routelens {

struct IpAddress {
  std::array<uint8_t, 16> bytes{};
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;

  bool is_v4() const;
  bool is_loopback() const;     // 127.0.0.0/8 or ::1
  bool is_unspecified() const;  // 0.0.0.0 or ::

  template <typename H>
  friend H AbslHashValue(H h, const IpAddress& a) {
    return H::combine(std::move(h), a.bytes);
  }
};

struct Endpoint {
  IpAddress address;
  uint16_t port = 0;
  uint32_t scope_id = 0;
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;

  template <typename H>
  friend H AbslHashValue(H h, const Endpoint& e) {
    return H::combine(std::move(h), e.address, e.port, e.scope_id);
  }
};

// Reads dotted IPv4 or textual IPv6, without brackets and without a %zone. Nothing else: no names,
// no "127.1", no octal. Empty if `text` is not an address.
std::optional<IpAddress> ParseIpAddress(std::string_view text);

// "192.0.2.1" or "2001:db8::1" (RFC 5952); never v4-mapped text.
std::string ToString(const IpAddress& address);

// "192.0.2.1:443" or "[2001:db8::1]:443".
std::string ToString(const Endpoint& endpoint);

}  // namespace routelens

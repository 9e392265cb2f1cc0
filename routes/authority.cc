// SPDX-License-Identifier: Apache-2.0
#include "routes/authority.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "routes/host_pattern.h"
#include "routes/uri_characters.h"

namespace routelens {
namespace {

// Digits after the colon; an empty port is as good as none (RFC 3986 section 3.2.3).
bool ReadPort(std::string_view text, std::optional<uint16_t>& port) {
  constexpr size_t kMostDigits = 5;
  if (text.empty())
    return true;
  unsigned value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (text.size() > kMostDigits || read.ec != std::errc() || read.ptr != end || value == 0 ||
      value > 65535) {
    return false;
  }
  port = static_cast<uint16_t>(value);
  return true;
}

// A name as it can stand in an authority or a DNS question: labels of printable ASCII.
bool IsRequestName(std::string_view name) {
  if (name.empty() || name.size() > kMaxHostBytes || name.front() == '.' || name.back() == '.' ||
      name.find("..") != std::string_view::npos) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return IsUnreserved(byte) || IsSubDelimiter(byte);
  });
}

}  // namespace

std::optional<Authority> ParseAuthority(std::string_view text) {
  Authority authority;
  std::string_view host = text;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const size_t close = text.find(']');
    if (close == std::string_view::npos)
      return std::nullopt;
    host = text.substr(0, close + 1);
    port = text.substr(close + 1);
    if (!port.empty() && port.front() != ':')
      return std::nullopt;
  } else if (const size_t colon = text.find(':');
             colon != std::string_view::npos && colon == text.rfind(':')) {
    host = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (!port.empty() && !ReadPort(port.substr(1), authority.port))
    return std::nullopt;

  authority.host = MatchableHost(host);
  const std::optional<std::array<uint8_t, 16>> address = HostAddress(authority.host);
  const bool v6 = address && authority.host.find(':') != std::string::npos;
  if (v6)
    return authority;
  // Only an IPv6 literal has brackets, colons or a zone.
  if (host.find_first_of("[%:") != std::string_view::npos || !IsRequestName(authority.host)) {
    return std::nullopt;
  }
  return authority;
}

}  // namespace routelens

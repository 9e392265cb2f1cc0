// SPDX-License-Identifier: Apache-2.0
#include "userspace/model/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace routelens {
namespace {

constexpr size_t kV4Offset = 12;
constexpr std::array<uint8_t, kV4Offset> kV4MappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};

// A run of at least two zero groups that RFC 5952 section 4.2 writes as "::"; the longest, and of
// equals the first.
struct ZeroRun {
  size_t begin = 0;
  size_t length = 0;
};

ZeroRun LongestZeroRun(const std::array<uint16_t, 8>& groups) {
  ZeroRun best;
  for (size_t begin = 0; begin < groups.size();) {
    size_t end = begin;
    while (end < groups.size() && groups[end] == 0) ++end;
    if (end - begin > best.length)
      best = {begin, end - begin};
    begin = end + 1;
  }
  return best.length >= 2 ? best : ZeroRun{};
}

// Not inet_ntop: it writes ::1:2 as ::0.1.0.2.
std::string V6Text(const std::array<uint8_t, 16>& bytes) {
  std::array<uint16_t, 8> groups{};
  for (size_t i = 0; i < groups.size(); ++i)
    groups[i] = static_cast<uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  const ZeroRun run = LongestZeroRun(groups);
  std::string text;
  for (size_t i = 0; i < groups.size();) {
    if (run.length > 0 && i == run.begin) {
      text += "::";
      i += run.length;
      continue;
    }
    if (!text.empty() && text.back() != ':')
      text += ':';
    char group[8];
    std::snprintf(group, sizeof group, "%x", groups[i]);
    text += group;
    ++i;
  }
  return text;
}

}  // namespace

bool IpAddress::is_v4() const {
  return std::equal(kV4MappedPrefix.begin(), kV4MappedPrefix.end(), bytes.begin());
}

bool IpAddress::is_loopback() const {
  if (is_v4())
    return bytes[kV4Offset] == 127;
  IpAddress v6_loopback;
  v6_loopback.bytes[15] = 1;
  return *this == v6_loopback;
}

bool IpAddress::is_unspecified() const {
  const size_t begin = is_v4() ? kV4Offset : 0;
  return std::all_of(bytes.begin() + begin, bytes.end(), [](uint8_t byte) { return byte == 0; });
}

std::optional<IpAddress> ParseIpAddress(std::string_view text) {
  char terminated[INET6_ADDRSTRLEN];
  if (text.empty() || text.size() >= sizeof terminated ||
      text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  std::memcpy(terminated, text.data(), text.size());
  terminated[text.size()] = '\0';
  IpAddress address;
  if (inet_pton(AF_INET6, terminated, address.bytes.data()) == 1)
    return address;
  std::copy(kV4MappedPrefix.begin(), kV4MappedPrefix.end(), address.bytes.begin());
  if (inet_pton(AF_INET, terminated, address.bytes.data() + kV4Offset) == 1)
    return address;
  return std::nullopt;
}

std::string ToString(const IpAddress& address) {
  if (!address.is_v4())
    return V6Text(address.bytes);
  char text[INET_ADDRSTRLEN];
  const uint8_t* v4 = address.bytes.data() + kV4Offset;
  std::snprintf(text, sizeof text, "%u.%u.%u.%u", v4[0], v4[1], v4[2], v4[3]);
  return text;
}

std::string ToString(const Endpoint& endpoint) {
  const std::string host = ToString(endpoint.address);
  const std::string port = std::to_string(endpoint.port);
  return endpoint.address.is_v4() ? host + ":" + port : "[" + host + "]:" + port;
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// CRC-32 of IEEE 802.3 (reflected polynomial 0xedb88320), as in gzip and PNG: finds the accidents
// of disks and copies. Not a defence against an author.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace routelens {

namespace internal {

constexpr std::array<uint32_t, 256> MakeCrc32Table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xedb88320u : 0);
    table[i] = value;
  }
  return table;
}

inline constexpr std::array<uint32_t, 256> kCrc32Table = MakeCrc32Table();

}  // namespace internal

// `so_far` is the CRC of what stands before; 0 at the start.
constexpr uint32_t Crc32(std::span<const std::byte> bytes, uint32_t so_far = 0) {
  uint32_t value = ~so_far;
  for (const std::byte byte : bytes)
    value = internal::kCrc32Table[(value ^ std::to_integer<uint32_t>(byte)) & 0xff] ^ value >> 8;
  return ~value;
}

}  // namespace routelens

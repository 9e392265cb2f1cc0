// SPDX-License-Identifier: Apache-2.0
//
// Bytes as tests write them.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace routelens {

using Bytes = std::vector<std::byte>;

inline Bytes BytesOf(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline Bytes BytesOf(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Big-endian.
inline Bytes U16(size_t value) {
  return {static_cast<std::byte>(value >> 8 & 0xff), static_cast<std::byte>(value & 0xff)};
}

inline Bytes U24(size_t value) {
  return Bytes{static_cast<std::byte>(value >> 16 & 0xff)} + U16(value);
}

inline Bytes U32(size_t value) {
  return U16(value >> 16) + U16(value);
}

inline Bytes Counted8(const Bytes& bytes) {
  return Bytes{static_cast<std::byte>(bytes.size())} + bytes;
}

inline Bytes Counted16(const Bytes& bytes) {
  return U16(bytes.size()) + bytes;
}

}  // namespace routelens

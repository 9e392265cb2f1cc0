// SPDX-License-Identifier: Apache-2.0
//
// Reads numbers and slices from the front of a span, big-endian as networks have them. Every read
// says whether the bytes were there; after one that was not, the reader stays failed and gives
// zeros and empty spans, so that a parser may check once at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace routelens {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }

  bool empty() const { return at_ == bytes_.size(); }

  size_t position() const { return at_; }

  size_t remaining() const { return bytes_.size() - at_; }

  // The next `count` bytes; a view into what was given, empty if there are fewer.
  std::span<const std::byte> Take(size_t count) {
    if (!ok_ || count > remaining()) {
      ok_ = false;
      return {};
    }
    const std::span<const std::byte> taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  uint8_t U8() { return static_cast<uint8_t>(Number(1)); }

  uint16_t U16() { return static_cast<uint16_t>(Number(2)); }

  uint32_t U24() { return Number(3); }

  uint32_t U32() { return Number(4); }

  uint64_t U64() {
    const uint64_t high = U32();
    return high << 32 | U32();
  }

  // A slice whose length stands before it.
  std::span<const std::byte> Counted8() { return Take(U8()); }

  std::span<const std::byte> Counted16() { return Take(U16()); }

 private:
  uint32_t Number(size_t count) {
    uint32_t value = 0;
    for (const std::byte byte : Take(count)) value = value << 8 | std::to_integer<uint32_t>(byte);
    return value;
  }

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace routelens

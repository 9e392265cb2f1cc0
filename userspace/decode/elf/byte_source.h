// SPDX-License-Identifier: Apache-2.0
//
// Bytes at an offset: what the ELF reader reads from. A file can be truncated or rewritten by its
// owner while it is read, so nothing is mapped, every read says how far it came, and no two reads
// are assumed to agree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace routelens {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `out` from `offset`. False, with `out` in any state, when not all of it could be had.
  virtual bool ReadAt(uint64_t offset, std::span<std::byte> out) const = 0;
};

// Bytes in memory; `bytes` must outlive it.
class MemoryBytes final : public ByteSource {
 public:
  explicit MemoryBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset)
      return false;
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace routelens

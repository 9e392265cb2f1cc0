// SPDX-License-Identifier: Apache-2.0
//
// One direction of DNS over TCP (RFC 1035 section 4.2.2): puts messages together from pieces that
// may be cut anywhere, in the length prefix too. Pieces come in order; one that does not continue
// where the last ended breaks the stream, and a broken stream gives nothing more: the length that
// comes next cannot be known. Holds at most one message. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace routelens {

class DnsStream {
 public:
  // Adds bytes that begin `offset` bytes after the stream's start.
  void Add(uint32_t offset, std::span<const std::byte> bytes);

  // Bytes were missed.
  void Break();

  // The next whole message, without its length; nothing if there is none yet.
  std::optional<std::vector<std::byte>> TakeMessage();

  bool broken() const { return broken_; }

  // Bytes wait: when TakeMessage gives nothing, of a message that is not whole.
  bool incomplete() const { return !buffer_.empty(); }

 private:
  std::vector<std::byte> buffer_;  // whole messages not yet taken, then the start of one
  uint32_t next_offset_ = 0;
  bool broken_ = false;
};

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/dns_stream.h"

#include "userspace/decode/byte_reader.h"

namespace routelens {
namespace {

// Two messages of the largest size: a caller that takes messages after each Add never gets here.
constexpr size_t kMaxBufferBytes = 2 * (65535 + 2);

}  // namespace

void DnsStream::Add(uint32_t offset, std::span<const std::byte> bytes) {
  if (broken_)
    return;
  if (offset != next_offset_ || buffer_.size() + bytes.size() > kMaxBufferBytes) {
    Break();
    return;
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  next_offset_ += static_cast<uint32_t>(bytes.size());
}

void DnsStream::Break() {
  broken_ = true;
}

std::optional<std::vector<std::byte>> DnsStream::TakeMessage() {
  ByteReader reader(buffer_);
  const std::span<const std::byte> message = reader.Counted16();
  if (!reader.ok())
    return std::nullopt;
  std::vector<std::byte> taken(message.begin(), message.end());
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(reader.position()));
  return taken;
}

}  // namespace routelens

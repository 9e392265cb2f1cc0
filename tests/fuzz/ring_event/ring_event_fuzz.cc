// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a record of the ring buffer. What decodes must decode to the same from its used
// bytes alone.
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "tests/fuzz/require.h"
#include "userspace/decode/event_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> record = std::as_bytes(std::span(data, size));
  const routelens::DecodedEvent decoded = routelens::DecodeEvent(record);
  const std::span<const std::byte> used = routelens::RecordBytes(record);
  RL_REQUIRE(used.size() <= size);
  RL_REQUIRE(routelens::DecodeEvent(used) == decoded);
  if (const auto* event = std::get_if<routelens::Event>(&decoded))
    RL_REQUIRE(routelens::TimeOf(record) == event->header.time);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Takes records out of the ring. A record is handed out cut to the size its header states: the
// kernel reserves room in a few sizes and what lies behind the record is old ring content.
//
// One reader at a time. wake_fd becomes readable when much waits; little waits for the reader's
// own timer.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "absl/status/statusor.h"

struct ring_buffer;

namespace routelens {

class RingReader {
 public:
  using Sink = std::function<void(std::span<const std::byte> record)>;

  // `map_fd` is borrowed and must outlive the reader.
  static absl::StatusOr<std::unique_ptr<RingReader>> Open(int map_fd);
  ~RingReader();
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;

  // Delivers what is there, at most kBatch records: a producer that never stops must not hold the
  // caller. Returns how many. The span lives until the sink returns.
  size_t Drain(const Sink& sink);
  int wake_fd() const;

  static constexpr size_t kBatch = 65536;

 private:
  RingReader() = default;
  static int OnSample(void* context, void* data, size_t bytes);

  ring_buffer* ring_ = nullptr;
  const Sink* sink_ = nullptr;  // during Drain
  size_t delivered_ = 0;
};

}  // namespace routelens

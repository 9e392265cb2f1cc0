// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/ring_reader.h"

#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/status_util.h"
#include "bpf/abi/events.h"

namespace routelens {

absl::StatusOr<std::unique_ptr<RingReader>> RingReader::Open(int map_fd) {
  std::unique_ptr<RingReader> reader(new RingReader());
  reader->ring_ = ring_buffer__new(map_fd, &OnSample, reader.get(), nullptr);
  if (reader->ring_ == nullptr)
    return ErrnoStatus(errno, "opening the ring buffer");
  return reader;
}

RingReader::~RingReader() {
  ring_buffer__free(ring_);
}

int RingReader::wake_fd() const {
  return ring_buffer__epoll_fd(ring_);
}

int RingReader::OnSample(void* context, void* data, size_t bytes) {
  auto* reader = static_cast<RingReader*>(context);
  rl_event_header header;
  if (bytes >= sizeof(header)) {
    std::memcpy(&header, data, sizeof(header));
    bytes = std::min<size_t>(bytes, header.size);
  }
  (*reader->sink_)({static_cast<const std::byte*>(data), bytes});
  return ++reader->delivered_ < kBatch ? 0 : -ECANCELED;
}

size_t RingReader::Drain(const Sink& sink) {
  sink_ = &sink;
  delivered_ = 0;
  ring_buffer__consume(ring_);
  sink_ = nullptr;
  return delivered_;
}

}  // namespace routelens

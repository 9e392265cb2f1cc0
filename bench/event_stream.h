// SPDX-License-Identifier: Apache-2.0
//
// Makes ring-buffer records as the kernel side does, so that everything above the ring can be
// measured without a kernel: one boundary, increasing sequence numbers and times, a new socket
// cookie for each connection. Records lie one behind the other in one buffer; Clear keeps its
// memory, so that a measured loop does not pay for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bpf/abi/events.h"

namespace routelens::bench {

class EventStream {
 public:
  // The next record gets `first_ns`, each later one `step_ns` more.
  EventStream(uint64_t first_ns, uint64_t step_ns) : now_ns_(first_ns), step_ns_(step_ns) {}

  // Starts a connection of its own to 10.x.y.z with `peer` as the last 24 bits; its cookie.
  uint64_t Connect(uint32_t peer, uint16_t port);
  void Established(uint64_t cookie, uint32_t peer, uint16_t port);
  // One request in the clear and its answer, heads only.
  void Request(uint64_t cookie, uint32_t index, std::string_view path, std::string_view host);
  void Response(uint64_t cookie, uint32_t index, uint16_t status);
  // A ClientHello that names `host`, as stream bytes and as a record head.
  void ClientHello(uint64_t cookie, std::string_view host);
  void TlsRecordHead(uint64_t cookie, uint16_t index, uint8_t direction, uint8_t content_type,
                     uint16_t length);
  // The owner closed an established connection, or the peer refused it.
  void Closed(uint64_t cookie);
  void Refused(uint64_t cookie);

  void Clear();

  size_t size() const { return ends_.size(); }

  std::span<const std::byte> record(size_t i) const;  // valid until the next change

  uint64_t now_ns() const { return now_ns_; }

 private:
  // Appends a zeroed record of `bytes` with its header filled; valid until the next Append.
  std::byte* Append(uint16_t kind, size_t bytes);

  std::vector<std::byte> bytes_;
  std::vector<size_t> ends_;
  uint64_t now_ns_;
  uint64_t step_ns_;
  uint64_t seq_ = 0;
  uint64_t last_cookie_ = 1000;
};

}  // namespace routelens::bench

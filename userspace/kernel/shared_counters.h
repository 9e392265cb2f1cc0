// SPDX-License-Identifier: Apache-2.0
//
// The kernel's counters, mapped read-only: before 5.19 looking them up would need CAP_BPF, which
// the reader gives up. Values are read while the kernel adds to them: each is exact, together they
// are of about the same moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "bpf/abi/counters.h"

namespace routelens {

class SharedCounters {
 public:
  // `map_fd` is borrowed for the call.
  static absl::StatusOr<std::unique_ptr<SharedCounters>> Map(int map_fd);
  ~SharedCounters();
  SharedCounters(const SharedCounters&) = delete;
  SharedCounters& operator=(const SharedCounters&) = delete;

  // All zero for an index beyond RL_MAX_BOUNDARIES.
  rl_boundary_counters Read(uint32_t boundary) const;

 private:
  SharedCounters(void* memory, size_t bytes) : memory_(memory), bytes_(bytes) {}

  void* memory_;
  size_t bytes_;
};

}  // namespace routelens

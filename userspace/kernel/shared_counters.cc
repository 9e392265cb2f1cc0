// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/shared_counters.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/status_util.h"

namespace routelens {

absl::StatusOr<std::unique_ptr<SharedCounters>> SharedCounters::Map(int map_fd) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = (RL_MAX_BOUNDARIES * sizeof(rl_boundary_counters) + page - 1) / page * page;
  void* memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, map_fd, 0);
  if (memory == MAP_FAILED)
    return ErrnoStatus(errno, "mapping the counters");
  return std::unique_ptr<SharedCounters>(new SharedCounters(memory, bytes));
}

SharedCounters::~SharedCounters() {
  munmap(memory_, bytes_);
}

rl_boundary_counters SharedCounters::Read(uint32_t boundary) const {
  rl_boundary_counters copy = {};
  if (boundary >= RL_MAX_BOUNDARIES)
    return copy;
  static_assert(sizeof(copy) % sizeof(uint64_t) == 0);
  const auto* words =
      static_cast<const uint64_t*>(memory_) + boundary * (sizeof(copy) / sizeof(uint64_t));
  auto* out = reinterpret_cast<uint64_t*>(&copy);
  for (size_t i = 0; i < sizeof(copy) / sizeof(uint64_t); ++i)
    out[i] = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
  return copy;
}

}  // namespace routelens

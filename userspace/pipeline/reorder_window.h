// SPDX-License-Identifier: Apache-2.0
//
// Puts events into the order of their times. The ring gives them in the order in which room was
// reserved, which on several CPUs is almost, but not quite, the order of time: each event waits
// until the window has passed, then comes out behind all that are older. Events of one time come
// in the order of their sequence numbers.
//
// An event that is older than what came out already is late: the caller is told, because what it
// could have changed is decided. Bounded by what one window can hold; beyond that the oldest come
// out early, which is counted. Not thread-safe; time is an argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "userspace/model/events.h"
#include "userspace/model/time.h"

namespace routelens {

constexpr Duration kReorderWindow = Milliseconds(50);

class ReorderWindow {
 public:
  explicit ReorderWindow(size_t max_events) : max_events_(max_events == 0 ? 1 : max_events) {}

  // False if the event is late; it is not taken then.
  bool Add(Event event);

  // The oldest event, if it is not younger than `until` (or if there are too many). It is the
  // caller's, to move from, until the next call of Add or Release.
  Event* Release(BootTime until);

  size_t size() const { return heap_.size(); }

 private:
  struct Entry {
    BootTime time;
    uint64_t seq = 0;
    uint64_t order = 0;
    uint32_t boundary = 0;
    uint32_t slot = 0;
  };

  static bool Later(const Entry& a, const Entry& b);

  size_t max_events_;
  std::vector<Entry> heap_;
  std::vector<Event> slots_;
  std::vector<uint32_t> free_;
  std::optional<uint32_t> lent_;  // the slot of the event that was released last
  BootTime released_;             // time of the last event that came out
  uint64_t order_ = 0;
};

}  // namespace routelens

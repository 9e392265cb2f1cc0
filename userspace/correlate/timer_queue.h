// SPDX-License-Identifier: Apache-2.0
//
// Deadlines in event time. Nothing is ever cancelled: whoever owns the thing behind an id looks,
// when the time comes, whether it is still due. Equal deadlines come in the order in which they
// were set, so that a replay fires the same timers in the same order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "userspace/model/time.h"

namespace routelens {

enum class TimerKind : uint8_t {
  kAttemptGroup,
  kLookup,
  kHeldRequest,
  kUnreadableFlow,
  kEndedFlow,
};

class TimerQueue {
 public:
  struct Timer {
    BootTime deadline;
    uint64_t order = 0;
    uint64_t id = 0;
    TimerKind kind = TimerKind::kAttemptGroup;
  };

  void Set(BootTime deadline, TimerKind kind, uint64_t id) {
    heap_.push_back({deadline, ++order_, id, kind});
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }

  // The next timer that is due at `now`, removed.
  std::optional<Timer> TakeDue(BootTime now) {
    if (heap_.empty() || heap_.front().deadline > now)
      return std::nullopt;
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    const Timer due = heap_.back();
    heap_.pop_back();
    return due;
  }

  size_t size() const { return heap_.size(); }

 private:
  static bool Later(const Timer& a, const Timer& b) {
    return a.deadline != b.deadline ? a.deadline > b.deadline : a.order > b.order;
  }

  std::vector<Timer> heap_;
  uint64_t order_ = 0;
};

}  // namespace routelens

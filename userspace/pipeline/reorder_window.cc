// SPDX-License-Identifier: Apache-2.0
#include "userspace/pipeline/reorder_window.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace routelens {

bool ReorderWindow::Later(const Entry& a, const Entry& b) {
  return std::tie(a.time, a.boundary, a.seq, a.order) >
         std::tie(b.time, b.boundary, b.seq, b.order);
}

bool ReorderWindow::Add(Event event) {
  if (event.header.time < released_)
    return false;
  uint32_t slot;
  if (!free_.empty()) {
    slot = free_.back();
    free_.pop_back();
  } else {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  }
  heap_.push_back({event.header.time, event.header.seq, ++order_,
                   static_cast<uint32_t>(event.header.boundary), slot});
  slots_[slot] = std::move(event);
  std::push_heap(heap_.begin(), heap_.end(), Later);
  return true;
}

Event* ReorderWindow::Release(BootTime until) {
  if (lent_) {
    free_.push_back(*lent_);
    lent_.reset();
  }
  if (heap_.empty() || (heap_.front().time > until && heap_.size() <= max_events_))
    return nullptr;
  std::pop_heap(heap_.begin(), heap_.end(), Later);
  const Entry oldest = heap_.back();
  heap_.pop_back();
  released_ = std::max(released_, oldest.time);
  lent_ = oldest.slot;
  return &slots_[oldest.slot];
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Open flows, by socket cookie. One cookie may connect again after a failure: each attempt is a
// flow of its own, opened after the last one has ended.
//
// When full, the flow idle longest is evicted, handed to the caller and counted; a flow is never
// dropped silently. Not thread-safe. Does no I/O and reads no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "userspace/model/ids.h"
#include "userspace/tables/bounded_table.h"
#include "userspace/tables/flow.h"

namespace routelens {

class FlowTable {
 public:
  explicit FlowTable(size_t max_flows) : flows_(max_flows) {}

  // A new flow. `on_evict(const Flow&)` is called first for the one that must make room, if any.
  // The pointer is good until the flow is erased.
  template <typename OnEvict>
  Flow& Open(FlowId id, OnEvict&& on_evict) {
    flows_.Erase(id);
    Flow& flow = flows_.Insert(id, [&](FlowId, Flow& victim) {
      evicted_++;
      on_evict(victim);
    });
    flow.id = id;
    return flow;
  }

  // The flow, and counts as a sign of life; nullptr if its beginning was not seen.
  Flow* Touch(FlowId id) { return flows_.Touch(id); }

  Flow* Find(FlowId id) { return flows_.Find(id); }

  void Erase(FlowId id) { flows_.Erase(id); }

  // visit(Flow&), idlest first.
  template <typename Visit>
  void ForEach(Visit&& visit) {
    flows_.ForEach([&](FlowId, Flow& flow) { visit(flow); });
  }

  size_t size() const { return flows_.size(); }

  uint64_t evicted() const { return evicted_; }

 private:
  BoundedTable<FlowId, Flow> flows_;
  uint64_t evicted_ = 0;
};

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Processes of the boundaries: whose whole life was watched. A fork's child has
// its parent's memory, and with it names that the parent had resolved: so a child's life counts as
// watched only if its parent's does. An exec starts afresh.
//
// Nothing is ever attributed by descent: a name that a parent resolved is not the child's (rulings
// 15). Bounded; the idlest goes, and is then as if it had never been seen. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "userspace/model/events.h"
#include "userspace/model/ids.h"
#include "userspace/model/time.h"
#include "userspace/tables/bounded_table.h"

namespace routelens {

class ProcessTable {
 public:
  explicit ProcessTable(size_t max_processes) : processes_(max_processes) {}

  void Apply(const ProcessEvent& event, BootTime now);

  // True if everything this process has done since its birth or its last exec was under watch, and
  // `last_loss` (unknown: never) lies before that.
  bool WatchedThroughout(const ProcessKey& process, BootTime last_loss) const;

  uint64_t evicted() const { return evicted_; }

  size_t size() const { return processes_.size(); }

 private:
  struct Process {
    BootTime watched_since;  // unknown: not from its beginning
  };

  Process& Get(const ProcessKey& key);

  BoundedTable<ProcessKey, Process> processes_;
  absl::flat_hash_map<uint32_t, ProcessKey> by_tgid_;  // of the living
  uint64_t evicted_ = 0;
};

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/tables/process_table.h"

namespace routelens {

ProcessTable::Process& ProcessTable::Get(const ProcessKey& key) {
  if (Process* process = processes_.Touch(key))
    return *process;
  return processes_.Insert(key, [this](const ProcessKey& old, const Process&) {
    evicted_++;
    auto found = by_tgid_.find(old.tgid);
    if (found != by_tgid_.end() && found->second == old)
      by_tgid_.erase(found);
  });
}

void ProcessTable::Apply(const ProcessEvent& event, BootTime now) {
  const ProcessKey& key = event.owner.process;
  switch (event.op) {
    case ProcessOp::kFork: {
      BootTime inherited;
      auto parent = by_tgid_.find(event.parent_tgid);
      if (parent != by_tgid_.end()) {
        if (const Process* known = processes_.Find(parent->second))
          inherited = known->watched_since;
      }
      Get(key).watched_since = inherited;
      by_tgid_[key.tgid] = key;
      break;
    }
    case ProcessOp::kExec:
      Get(key).watched_since = now;
      by_tgid_[key.tgid] = key;
      break;
    case ProcessOp::kExit: {
      Get(key);  // counts as use: late events of its last moments may still come
      auto living = by_tgid_.find(key.tgid);
      if (living != by_tgid_.end() && living->second == key)
        by_tgid_.erase(living);
      break;
    }
  }
}

bool ProcessTable::WatchedThroughout(const ProcessKey& process, BootTime last_loss) const {
  const Process* known = processes_.Find(process);
  return known && known->watched_since.known() &&
         (!last_loss.known() || last_loss < known->watched_since);
}

}  // namespace routelens

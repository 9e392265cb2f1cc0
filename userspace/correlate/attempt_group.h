// SPDX-License-Identifier: Apache-2.0
//
// Groups the connect() calls that are one try to reach one (process, name, port): all addresses of
// a name, tried side by side or one after the other (Happy Eyeballs). The first that is established
// wins and silences the others. Only when all have ended without a winner, and no other address was
// tried within the attempt window, has the group failed.
//
//   open --established--> won   (later ends say nothing)
//   open --all ended, 300 ms pass--> failed: TakeFailed gives what speaks for it
//
// The same address again is a new try, and a new group beside the first, which still waits for its
// next address. Without a name the address is the name.
// Bounded; the oldest group goes and is counted. Not thread-safe; time is an argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "userspace/classify/classifier.h"
#include "userspace/classify/evidence.h"
#include "userspace/correlate/timer_queue.h"
#include "userspace/model/address.h"
#include "userspace/model/ids.h"
#include "userspace/tables/bounded_table.h"
#include "userspace/tables/flow.h"

namespace routelens {

constexpr Duration kAttemptWindow = Milliseconds(300);
// A client's own timer of 300 ms (Go) fires a little late.
constexpr Duration kAttemptWindowWithSlack = Milliseconds(350);

// A try that reached nothing.
struct FailedGroup {
  BoundaryIndex boundary{};
  Role role = Role::kWorkload;
  ProcessKey process;
  AddressName name;
  Endpoint remote;  // of the attempt that speaks for the group
  BootTime start;
  BootTime end;
  ExchangeEvidence evidence;
};

class AttemptGroups {
 public:
  // `timers` must outlive this; it is asked to fire kAttemptGroup with a group's id.
  AttemptGroups(size_t max_groups, TimerQueue& timers) : groups_(max_groups), timers_(timers) {}

  // A connect() has begun. Returns the group's id, never 0.
  uint64_t Join(const Flow& flow, BootTime now);

  // The attempt is established. True if it is the first of its group.
  bool Won(uint64_t group, FlowId flow);

  // The attempt has ended without having been established.
  void Ended(uint64_t group, FlowId flow, const ExchangeEvidence& evidence, BootTime now);

  // The error that connect() returned, for an attempt that has ended without a cause.
  void NoteError(FlowId flow, int error);

  // The attempt is not followed any more: nothing is concluded for its group.
  void Forget(uint64_t group);

  // The group's timer has fired. What failed, if it has.
  std::optional<FailedGroup> TakeFailed(uint64_t group, BootTime now);

  // Every group that has failed, its window over or not.
  std::vector<FailedGroup> TakeAllFailed();

  // Forgets the open groups of a boundary; returns how many.
  size_t DropBoundary(BoundaryIndex boundary);

  uint64_t evicted() const { return evicted_; }

  size_t size() const { return groups_.size(); }

 private:
  struct Key {
    BoundaryIndex boundary{};
    ProcessKey process;
    uint16_t port = 0;
    IpAddress address;  // zero when there is a name
    std::string name;
    friend bool operator==(const Key&, const Key&) = default;

    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), static_cast<uint32_t>(key.boundary), key.process, key.port,
                        key.address, key.name);
    }
  };

  struct Attempt {
    FlowId flow{};
    Endpoint remote;
    BootTime ended;  // unknown while it is open
    ExchangeEvidence evidence;
  };

  struct Group {
    Key key;
    Role role = Role::kWorkload;
    AddressName name;
    BootTime start;
    BootTime last_start;
    BootTime last_end;
    bool won = false;
    absl::InlinedVector<Attempt, 1> attempts;
  };

  static Key KeyOf(const Flow& flow);
  bool CanJoin(const Group& group, const Flow& flow, BootTime now) const;
  static bool AllEnded(const Group& group);
  Group* FindToJoin(const Key& key, const Flow& flow, BootTime now, uint64_t* id);
  void ForgetKey(uint64_t id, const Key& key);
  FailedGroup Summarise(const Group& group) const;
  void Erase(uint64_t id);

  BoundedTable<uint64_t, Group> groups_;
  absl::flat_hash_map<Key, absl::InlinedVector<uint64_t, 1>> by_key_;
  absl::flat_hash_map<FlowId, uint64_t> by_flow_;
  TimerQueue& timers_;
  uint64_t last_id_ = 0;
  uint64_t evicted_ = 0;
};

}  // namespace routelens

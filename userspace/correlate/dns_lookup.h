// SPDX-License-Identifier: Apache-2.0
//
// Look-ups of names, one exchange each however many messages it takes: A and AAAA, the names of a
// search list, the same question to the next server, TC and the retry over TCP, and getaddrinfo's
// result as second witness. One address for any of its names is success; it has failed when all
// questions have ended without one and no other follows within the attempt window. A success goes
// to the name table; a failure comes out of Take.
//
//   open --address--> done                      (silent; stragglers are swallowed)
//   open --all answered "no"--> settling --300 ms--> failed
//   open --asker gives up (getaddrinfo returns, socket closed, process gone)--> settling
//   open --15 s without an answer--> failed
//   failed --getaddrinfo says so too--> swallowed
//
// A look-up that only passes on the question of another process (a stub resolver inside the
// boundary) is context: it never fails by itself.
// Bounded: the oldest look-up goes and is counted. Not thread-safe; time is an argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/string_map.h"
#include "userspace/correlate/lookup_state.h"
#include "userspace/correlate/timer_queue.h"
#include "userspace/decode/dns_message.h"
#include "userspace/model/events.h"
#include "userspace/tables/bounded_table.h"
#include "userspace/tables/name_table.h"

namespace routelens {

// A question that nobody has answered for so long is not waited for any more; so long, too, a
// failure is remembered that has been told.
constexpr Duration kDnsGiveUp = Seconds(15);

// Where a DNS message came from.
struct DnsContext {
  BoundaryIndex boundary{};
  Role role = Role::kWorkload;
  ProcessKey process;
  FlowId flow{};
  bool after_loss = false;  // a part of this look-up may have been lost
};

class DnsLookups {
 public:
  // `timers` must outlive this; it is asked to fire kLookup with a look-up's id.
  DnsLookups(size_t max_lookups, TimerQueue& timers) : lookups_(max_lookups), timers_(timers) {}

  // One message, in either direction; which one its QR bit and `from_server` must agree on.
  void OnMessage(const DnsMessage& message, bool from_server, const DnsContext& context,
                 NameTable& names, BootTime now);

  // getaddrinfo has returned: the second witness of the same look-up, or the only one.
  void OnResolver(const ResolverResult& result, BoundaryIndex boundary, Role role, NameTable& names,
                  BootTime now);

  // A socket that may have carried questions of this process is gone.
  void OnSocketClosed(const ProcessKey& process, FlowId flow, BootTime now);

  // Whatever the process still asked, it has given up.
  void OnProcessExit(const ProcessKey& process, BootTime now);

  // The look-up's timer has fired. What failed, if it has.
  std::optional<FailedLookup> Take(uint64_t lookup, BootTime now);

  // All that have failed, their window over or not.
  std::vector<FailedLookup> TakeAllFailed(BootTime now);

  // Forgets the open look-ups of a boundary; returns how many.
  size_t DropBoundary(BoundaryIndex boundary);

  // Look-ups that had to make room.
  uint64_t evicted() const { return evicted_; }

  size_t size() const { return lookups_.size(); }

 private:
  LookupState* Find(const ProcessKey& process, std::string_view name, BootTime now, uint64_t* id);
  LookupState& Open(const ProcessKey& process, BoundaryIndex boundary, Role role, BootTime now,
                    uint64_t* id);
  bool AskedByAnother(const DnsContext& context, std::string_view name);
  void OnQuestion(const DnsMessage& message, const DnsContext& context, BootTime now);
  void OnAnswer(const DnsMessage& message, const DnsContext& context, NameTable& names,
                BootTime now);
  void Settle(uint64_t id, LookupState& lookup, BootTime now);
  void Erase(uint64_t id);

  BoundedTable<uint64_t, LookupState> lookups_;
  absl::flat_hash_map<ProcessKey, absl::InlinedVector<uint64_t, 2>> by_process_;
  StringMap<absl::InlinedVector<uint64_t, 1>> by_name_;  // look-ups that asked for it
  TimerQueue& timers_;
  uint64_t last_id_ = 0;
  uint64_t evicted_ = 0;
};

}  // namespace routelens

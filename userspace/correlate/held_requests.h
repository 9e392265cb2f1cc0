// SPDX-License-Identifier: Apache-2.0
//
// Requests whose outcome depends on what the client does next: a reset or EOF on a connection that
// had served, a 407, a 417. If the same process asks the same peer again within 2 s, that attempt
// speaks for both (rulings 6, 11, 13). Also remembers each process's last connects, because a
// client may connect again before it closes the stale connection.
//
// Bounded: the oldest goes and is counted. Not thread-safe; time is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "userspace/correlate/judgement.h"
#include "userspace/correlate/timer_queue.h"
#include "userspace/model/address.h"
#include "userspace/model/ids.h"
#include "userspace/tables/bounded_table.h"

namespace routelens {

constexpr Duration kRetryWindow = Seconds(2);

// What must happen for a held request to have been tried again.
enum class RetryBy : uint8_t {
  kConnectOrRequest,  // a new connection to the same place, or a request to the same name
  kRequest,           // a request to the same name
};

class HeldRequests {
 public:
  // `timers` must outlive this; it is asked to fire kHeldRequest with an id.
  HeldRequests(size_t max_held, TimerQueue& timers)
      : held_(max_held), recent_(max_held), timers_(timers) {}

  void Hold(EndedExchange exchange, const ProcessKey& process, const Endpoint& remote,
            RetryBy retry_by, BootTime now);

  // The process connects, or sends a request. Returns the held ones that this tries again.
  std::vector<EndedExchange> NoteConnect(const ProcessKey& process, const Endpoint& remote,
                                         BootTime now);
  std::vector<EndedExchange> NoteRequest(const ProcessKey& process, const NamedPeer& peer);

  // When the process last connected there; unknown if it is not remembered.
  BootTime LastConnect(const ProcessKey& process, const Endpoint& remote) const;

  // The timer has fired: the request that was not tried again.
  std::optional<EndedExchange> TakeExpired(uint64_t id);

  // Those that were answered (407, 417): nothing more is to be waited for.
  std::vector<EndedExchange> TakeAnswered();

  // Forgets those of a boundary; returns how many.
  size_t DropBoundary(BoundaryIndex boundary);

  bool empty() const { return held_.size() == 0; }

  uint64_t evicted() const { return evicted_; }

 private:
  struct Held {
    EndedExchange exchange;
    ProcessKey process;
    Endpoint remote;
    RetryBy retry_by = RetryBy::kConnectOrRequest;
  };

  struct Place {
    ProcessKey process;
    Endpoint remote;
    friend bool operator==(const Place&, const Place&) = default;

    template <typename H>
    friend H AbslHashValue(H h, const Place& place) {
      return H::combine(std::move(h), place.process, place.remote);
    }
  };

  template <typename Is>
  std::vector<EndedExchange> TakeIf(Is&& is);

  BoundedTable<uint64_t, Held> held_;
  BoundedTable<Place, BootTime> recent_;
  TimerQueue& timers_;
  uint64_t last_id_ = 0;
  uint64_t evicted_ = 0;
};

}  // namespace routelens

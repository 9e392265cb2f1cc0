// SPDX-License-Identifier: Apache-2.0
//
// Notices lost records, boundary by boundary: by a gap in the sequence numbers that the reorder
// window did not fill, and by the kernel's own counter of drops, which every record carries (where
// the kernel numbers nothing, that counter is all there is). Also notices records that come twice.
//
// Not thread-safe; reads no clock.
#pragma once

#include <cstdint>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "userspace/model/events.h"

namespace routelens {

class SequenceWatch {
 public:
  // A record has arrived, in whatever order. False if it has come before.
  bool Arrived(const EventHeader& header);

  // The record comes out of the reorder window. True if something was lost before it that had not
  // been noticed: a number below its own is still missing, or the drop counter has moved.
  bool Released(const EventHeader& header);

  // Gaps that were never filled.
  uint64_t gaps() const { return gaps_; }

  // Drops that the released records told of, over all boundaries.
  uint64_t dropped() const { return dropped_; }

 private:
  struct Boundary {
    uint64_t next = 1;  // the lowest number that has not arrived and is in no gap
    uint64_t dropped = 0;
    BootTime latest;
    absl::btree_map<uint64_t, uint64_t> gaps;  // first missing number -> one past the last
  };

  absl::flat_hash_map<BoundaryIndex, Boundary> boundaries_;
  uint64_t gaps_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace routelens

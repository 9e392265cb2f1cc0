// SPDX-License-Identifier: Apache-2.0
#include "userspace/pipeline/sequence_watch.h"

#include <algorithm>
#include <iterator>

namespace routelens {

bool SequenceWatch::Arrived(const EventHeader& header) {
  const uint64_t seq = header.seq;
  if (seq == 0)
    return true;
  Boundary& boundary = boundaries_[header.boundary];
  // The index has been given to another boundary, which begins to count.
  if (seq == 1 && boundary.next > 1 && header.time > boundary.latest)
    boundary = {};
  boundary.latest = std::max(boundary.latest, header.time);
  if (seq >= boundary.next) {
    if (seq > boundary.next)
      boundary.gaps[boundary.next] = seq;
    boundary.next = seq + 1;
    return true;
  }
  auto gap = boundary.gaps.upper_bound(seq);
  if (gap == boundary.gaps.begin())
    return false;
  --gap;
  const uint64_t begin = gap->first;
  const uint64_t end = gap->second;
  if (seq >= end)
    return false;
  boundary.gaps.erase(gap);
  if (begin < seq)
    boundary.gaps[begin] = seq;
  if (seq + 1 < end)
    boundary.gaps[seq + 1] = end;
  return true;
}

bool SequenceWatch::Released(const EventHeader& header) {
  Boundary& boundary = boundaries_[header.boundary];
  bool lost = false;
  while (!boundary.gaps.empty() && boundary.gaps.begin()->first < header.seq) {
    boundary.gaps.erase(boundary.gaps.begin());
    gaps_++;
    lost = true;
  }
  if (header.dropped > boundary.dropped) {
    dropped_ += header.dropped - boundary.dropped;
    boundary.dropped = header.dropped;
    lost = true;
  }
  return lost;
}

}  // namespace routelens

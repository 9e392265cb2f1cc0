// SPDX-License-Identifier: Apache-2.0
//
// Who was denied its name server lately, by a policy hook: its name then does not resolve, and the
// cause is the policy. Bounded, oldest first. Not thread-safe; time is an argument.
#pragma once

#include <cstddef>
#include <deque>

#include "userspace/model/ids.h"
#include "userspace/model/time.h"

namespace routelens {

class DeniedNameServers {
 public:
  void Note(BoundaryIndex boundary, const ProcessKey& process, BootTime at);

  // True if this process was denied one between these times, both included.
  bool Within(BoundaryIndex boundary, const ProcessKey& process, BootTime from, BootTime to) const;

 private:
  static constexpr size_t kKept = 256;

  struct Denial {
    BoundaryIndex boundary{};
    ProcessKey process;
    BootTime at;
  };

  std::deque<Denial> denials_;
};

}  // namespace routelens

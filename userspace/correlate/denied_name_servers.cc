// SPDX-License-Identifier: Apache-2.0
#include "userspace/correlate/denied_name_servers.h"

#include <algorithm>

namespace routelens {

void DeniedNameServers::Note(BoundaryIndex boundary, const ProcessKey& process, BootTime at) {
  denials_.push_back({boundary, process, at});
  if (denials_.size() > kKept)
    denials_.pop_front();
}

bool DeniedNameServers::Within(BoundaryIndex boundary, const ProcessKey& process, BootTime from,
                               BootTime to) const {
  return std::any_of(denials_.begin(), denials_.end(), [&](const Denial& denial) {
    return denial.boundary == boundary && denial.process == process && denial.at >= from &&
           denial.at <= to;
  });
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// What `attach` watches: a pid, a cgroup or a container, resolved to either one cgroup or a set of
// processes. A process scope is the fall-back where a cgroup would hold more than was asked for:
// the root cgroup (containers sit there on some hybrid hosts), or one that the process shares.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "userspace/boundary/cgroup.h"
#include "userspace/boundary/process.h"

namespace routelens {

struct BoundaryTarget {
  CgroupDirectory cgroup;  // the boundary itself; the root of the hierarchy when by_process
  bool by_process = false;
  std::vector<ProcessInfo> processes;  // by_process: the process and its descendants, as of now
  std::string description;             // "cgroup /a/b", "process 12 and its descendants"
};

// The process and its descendants: by cgroup when its cgroup holds nothing else.
absl::StatusOr<BoundaryTarget> TargetOfProcess(const CgroupTree& tree, pid_t pid);

// A cgroup and all below it. The root cgroup is refused: name a process instead.
absl::StatusOr<BoundaryTarget> TargetOfCgroup(const CgroupTree& tree, const std::string& path,
                                              uint32_t max_level);

// A running podman container.
absl::StatusOr<BoundaryTarget> TargetOfContainer(const CgroupTree& tree, const std::string& name,
                                                 uint32_t max_level);

// Whether `members` are all among `allowed`: then watching their cgroup shows no stranger.
bool IsWithin(const std::vector<pid_t>& members, const std::vector<ProcessInfo>& allowed);

// Whether anything of the target still runs.
bool IsAlive(const BoundaryTarget& target);

}  // namespace routelens

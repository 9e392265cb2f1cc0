// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/target.h"

#include <algorithm>
#include <utility>

#include "base/status_util.h"
#include "userspace/boundary/container.h"

namespace routelens {
namespace {

absl::StatusOr<BoundaryTarget> ByProcess(const CgroupTree& tree, pid_t pid,
                                         std::vector<ProcessInfo> family) {
  auto root = tree.OpenDirectory("/");
  if (!root.ok()) {
    return WithContext(root.status(), "watching by process needs the root of the cgroup hierarchy");
  }
  BoundaryTarget target;
  target.cgroup = *std::move(root);
  target.by_process = true;
  target.processes = std::move(family);
  target.description = "process " + std::to_string(pid) + " and its descendants";
  return target;
}

absl::StatusOr<BoundaryTarget> ByCgroup(CgroupDirectory directory, uint32_t max_level) {
  if (directory.level > max_level) {
    return absl::FailedPreconditionError("cgroup " + directory.path + " lies " +
                                         std::to_string(directory.level) +
                                         " levels deep, and the kernel side looks at " +
                                         std::to_string(max_level) + ": name one of its ancestors");
  }
  BoundaryTarget target;
  target.description = "cgroup " + directory.path;
  target.cgroup = std::move(directory);
  return target;
}

}  // namespace

bool IsWithin(const std::vector<pid_t>& members, const std::vector<ProcessInfo>& allowed) {
  return std::all_of(members.begin(), members.end(), [&](pid_t member) {
    return std::any_of(allowed.begin(), allowed.end(),
                       [&](const ProcessInfo& info) { return info.pid == member; });
  });
}

absl::StatusOr<BoundaryTarget> TargetOfProcess(const CgroupTree& tree, pid_t pid) {
  auto root_process = ReadProcess(pid);
  if (!root_process.ok())
    return root_process.status();
  std::vector<ProcessInfo> family = WithDescendants(ListProcesses(), pid);
  auto directory = tree.OpenDirectoryOf(pid);
  if (directory.ok() && directory->level > 0) {
    const auto members = ProcessesBelow(*directory);
    if (members.ok() && !members->empty() && IsWithin(*members, family)) {
      BoundaryTarget target;
      target.description = "process " + std::to_string(pid) + " (cgroup " + directory->path + ")";
      target.cgroup = *std::move(directory);
      return target;
    }
  }
  return ByProcess(tree, pid, std::move(family));
}

absl::StatusOr<BoundaryTarget> TargetOfCgroup(const CgroupTree& tree, const std::string& path,
                                              uint32_t max_level) {
  auto directory = tree.OpenDirectory(path);
  if (!directory.ok())
    return directory.status();
  if (directory->level == 0) {
    return absl::InvalidArgumentError(
        "the root cgroup holds every process of the host: name a process with --pid instead");
  }
  return ByCgroup(*std::move(directory), max_level);
}

absl::StatusOr<BoundaryTarget> TargetOfContainer(const CgroupTree& tree, const std::string& name,
                                                 uint32_t max_level) {
  auto container = FindContainer(name);
  if (!container.ok())
    return container.status();
  // Where the runtime names none, the container's first process knows.
  auto directory = tree.OpenDirectoryOf(container->pid);
  if (!container->cgroup_path.empty()) {
    auto named = tree.OpenDirectory(container->cgroup_path);
    if (named.ok())
      directory = std::move(named);
  }
  if (directory.ok() && directory->level > 0) {
    // A first process in a cgroup of somebody else (--cgroups=disabled) is watched by itself.
    const auto members = ProcessesBelow(*directory);
    const std::vector<ProcessInfo> family = WithDescendants(ListProcesses(), container->pid);
    if (!container->cgroup_path.empty() || (members.ok() && IsWithin(*members, family))) {
      auto target = ByCgroup(*std::move(directory), max_level);
      if (target.ok())
        target->description = "container " + name + ", " + target->description;
      return target;
    }
  }
  auto target = ByProcess(tree, container->pid, WithDescendants(ListProcesses(), container->pid));
  if (target.ok())
    target->description = "container " + name + ", " + target->description;
  return target;
}

bool IsAlive(const BoundaryTarget& target) {
  if (!target.by_process) {
    const auto populated = IsPopulated(target.cgroup);
    return populated.ok() && *populated;
  }
  return std::any_of(target.processes.begin(), target.processes.end(), [](const ProcessInfo& info) {
    const auto now = ReadProcess(info.pid);
    return now.ok() && now->start_boot_ns == info.start_boot_ns;
  });
}

}  // namespace routelens

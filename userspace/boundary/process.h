// SPDX-License-Identifier: Apache-2.0
//
// Processes as /proc shows them: identity, parents, descendants. Everything read here may be gone
// by the time it is used; who acts on a process compares its start time again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "userspace/model/ids.h"

namespace routelens {

struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  uint64_t start_boot_ns = 0;  // at the grain of /proc: one clock tick (10 ms), rounded down
};

// Fields of the text of /proc/PID/stat; the command's name may hold any byte. Empty if malformed.
std::optional<ProcessInfo> ParseProcStat(std::string_view stat, int64_t ticks_per_second);

// kNotFound if there is no such process.
absl::StatusOr<ProcessInfo> ReadProcess(pid_t pid);

// All processes that /proc shows now.
std::vector<ProcessInfo> ListProcesses();

// `root` and those of `all` that descend from it, parents first. Empty if `root` is not in `all`.
std::vector<ProcessInfo> WithDescendants(const std::vector<ProcessInfo>& all, pid_t root);

// Whether `pid` is one of `roots` (same start time) or a descendant of one, as /proc shows it now.
bool DescendsFrom(pid_t pid, const std::vector<ProcessInfo>& roots);

// Whether this process sees the initial cgroup and pid namespaces, which the kernel side reports
// in. In another one, numbers and paths read here mean something else.
bool InInitialCgroupNamespace();
bool InInitialPidNamespace();

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <set>

#include "userspace/boundary/proc_file.h"

namespace routelens {
namespace {

constexpr int kStartTimeField = 22;  // proc(5), counted from 1
constexpr int kParentField = 4;
constexpr int kFirstFieldAfterName = 3;

template <typename T>
bool ParseNumber(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// Inode numbers of the initial namespaces, fixed by the kernel (include/linux/proc_ns.h, stable
// since 3.8 and 4.6).
bool NamespaceIs(const char* link, std::string_view expected) {
  std::array<char, 64> target{};
  const ssize_t length = ::readlink(link, target.data(), target.size());
  return length > 0 && std::string_view(target.data(), static_cast<size_t>(length)) == expected;
}

}  // namespace

std::optional<ProcessInfo> ParseProcStat(std::string_view stat, int64_t ticks_per_second) {
  ProcessInfo info;
  const size_t open = stat.find(" (");
  const size_t close = stat.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      ticks_per_second <= 0 || !ParseNumber(stat.substr(0, open), info.pid)) {
    return std::nullopt;
  }
  std::string_view rest = stat.substr(std::min(close + 2, stat.size()));
  uint64_t ticks = 0;
  bool found = false;
  for (int field = kFirstFieldAfterName; !rest.empty() && !found; ++field) {
    const size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (field == kParentField && !ParseNumber(word, info.parent))
      return std::nullopt;
    if (field == kStartTimeField) {
      if (!ParseNumber(word, ticks))
        return std::nullopt;
      found = true;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!found)
    return std::nullopt;
  info.start_boot_ns = ticks * (1'000'000'000 / static_cast<uint64_t>(ticks_per_second));
  return info;
}

absl::StatusOr<ProcessInfo> ReadProcess(pid_t pid) {
  auto text = ReadSmallFile(AT_FDCWD, "/proc/" + std::to_string(pid) + "/stat");
  if (!text.ok())
    return absl::NotFoundError("no process " + std::to_string(pid));
  const std::optional<ProcessInfo> info = ParseProcStat(*text, ::sysconf(_SC_CLK_TCK));
  if (!info) {
    return absl::InternalError("/proc/" + std::to_string(pid) + "/stat is not as proc(5) says");
  }
  return *info;
}

std::vector<ProcessInfo> ListProcesses() {
  std::vector<ProcessInfo> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir("/proc"), &::closedir);
  if (!dir)
    return all;
  while (const dirent* entry = ::readdir(dir.get())) {
    pid_t pid = 0;
    if (!ParseNumber(std::string_view(entry->d_name), pid))
      continue;
    const auto info = ReadProcess(pid);
    if (info.ok())
      all.push_back(*info);
  }
  return all;
}

std::vector<ProcessInfo> WithDescendants(const std::vector<ProcessInfo>& all, pid_t root) {
  std::vector<ProcessInfo> found;
  std::set<pid_t> known;
  const auto add = [&](const ProcessInfo& info) {
    if (known.insert(info.pid).second)
      found.push_back(info);
  };
  for (const ProcessInfo& info : all) {
    if (info.pid == root)
      add(info);
  }
  for (size_t next = 0; next < found.size(); ++next) {
    const pid_t parent = found[next].pid;
    for (const ProcessInfo& info : all) {
      if (info.parent == parent)
        add(info);
    }
  }
  return found;
}

bool DescendsFrom(pid_t pid, const std::vector<ProcessInfo>& roots) {
  constexpr int kMaxGenerations = 4096;  // parents may change while we climb: never for ever
  for (int i = 0; i < kMaxGenerations && pid > 0; ++i) {
    const auto info = ReadProcess(pid);
    if (!info.ok())
      return false;
    const auto same = [&](const ProcessInfo& root) {
      return root.pid == info->pid && root.start_boot_ns == info->start_boot_ns;
    };
    if (std::any_of(roots.begin(), roots.end(), same))
      return true;
    pid = info->parent;
  }
  return false;
}

bool InInitialCgroupNamespace() {
  return NamespaceIs("/proc/self/ns/cgroup", "cgroup:[4026531835]");
}

bool InInitialPidNamespace() {
  return NamespaceIs("/proc/self/ns/pid", "pid:[4026531836]");
}

}  // namespace routelens

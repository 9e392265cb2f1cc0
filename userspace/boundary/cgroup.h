// SPDX-License-Identifier: Apache-2.0
//
// The cgroup v2 hierarchy as this process sees it: finds where it is mounted (also on hybrid hosts,
// where it lies beside v1 hierarchies), opens directories in it, and makes the cgroup of `run`.
//
// A cgroup that Routelens made is named routelens-<id>, and its maker holds a shared lock on the
// directory while it lives, so that the next start can tell leftovers from cgroups in use.
// Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace routelens {

// One line of mountinfo that mounts cgroup2.
struct CgroupMount {
  std::string mount_point;
  std::string root;  // which directory of the hierarchy is mounted there, "/" for all of it
  friend bool operator==(const CgroupMount&, const CgroupMount&) = default;
};

// The cgroup2 mounts in the text of /proc/PID/mountinfo, in its order (octal escapes undone).
std::vector<CgroupMount> ParseCgroupMounts(std::string_view mountinfo);

// The path after "0::" in the text of /proc/PID/cgroup; empty if the process has none.
std::optional<std::string> ParseUnifiedPath(std::string_view proc_cgroup);

// Whether `inner` is `outer` or lies below it; both are paths of the hierarchy.
bool IsCgroupBelow(std::string_view inner, std::string_view outer);

// Whether process `pid` is in the cgroup `path` or below it now.
bool IsInCgroup(pid_t pid, const std::string& path);

// Number of components of a path of the hierarchy: 0 for "/".
uint32_t CgroupLevel(std::string_view path);

// An open directory of the hierarchy.
struct CgroupDirectory {
  UniqueFd fd;
  uint64_t id = 0;     // inode number, which is the kernel's cgroup id
  uint32_t level = 0;  // 0 is the root
  std::string path;    // within the hierarchy
};

class CgroupTree {
 public:
  // Opens the hierarchy through the mounts of this process. Where none is mounted, mounts one for
  // this process alone, without a path: it goes with the last descriptor.
  static absl::StatusOr<CgroupTree> Open();

  // Opens a directory by its path in the hierarchy ("/a/b"), or by a path below the mount point.
  absl::StatusOr<CgroupDirectory> OpenDirectory(const std::string& path) const;

  // The same for the cgroup of process `pid`.
  absl::StatusOr<CgroupDirectory> OpenDirectoryOf(pid_t pid) const;

  const std::string& mount_point() const { return mount_point_; }  // "" for the private mount

 private:
  absl::StatusOr<CgroupDirectory> OpenInHierarchy(const std::string& path) const;

  UniqueFd root_;
  std::string mount_point_;
  std::string root_path_ = "/";
};

// The processes directly in `directory`, in the pid namespace of this process. Those of other pid
// namespaces read as 0 and are left out.
absl::StatusOr<std::vector<pid_t>> ProcessesIn(const CgroupDirectory& directory);

// Those in `directory` and everything below it.
absl::StatusOr<std::vector<pid_t>> ProcessesBelow(const CgroupDirectory& directory);

// Whether any process lives in `directory` or below it.
absl::StatusOr<bool> IsPopulated(const CgroupDirectory& directory);

// A cgroup made for one command. Removed on destruction when nothing lives in it; else it stays
// for the processes that do.
class MadeCgroup {
 public:
  // Makes routelens-<id> below the cgroup of this process, or below the nearest ancestor that can
  // have it. `max_level` is the deepest level the kernel side looks at.
  static absl::StatusOr<MadeCgroup> Make(const CgroupTree& tree, const std::string& id,
                                         uint32_t max_level);
  ~MadeCgroup();
  MadeCgroup(MadeCgroup&&) = default;
  MadeCgroup& operator=(MadeCgroup&&) = delete;

  const CgroupDirectory& directory() const { return directory_; }

  absl::Status AddProcess(pid_t pid) const;

 private:
  MadeCgroup(UniqueFd parent, CgroupDirectory directory, std::string name);
  UniqueFd parent_;
  CgroupDirectory directory_;
  std::string name_;
};

// Removes cgroups that earlier runs left below the places where Make would put one, if they are
// empty and their maker is gone. Returns how many.
int RemoveLeftoverCgroups(const CgroupTree& tree);

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// A cgroup of our own for the start test: made below the one this process is in, removed with the
// object. The mount of cgroup2 is found in mountinfo, wherever it is (hybrid hosts have it below a
// tmpfs of version 1 hierarchies).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace routelens {

// Mount point of the first cgroup2 file system in the text of /proc/PID/mountinfo, "" if none.
// Octal escapes of the mount point are undone.
std::string FindCgroup2Mount(std::string_view mountinfo);

// The path in the "0::" line of /proc/PID/cgroup, "" if none.
std::string FindUnifiedPath(std::string_view cgroup);

// The cgroup directory of this process, open; the status says what is missing.
absl::StatusOr<UniqueFd> OpenOwnCgroup();

class ScratchCgroup {
 public:
  static absl::StatusOr<ScratchCgroup> Make();
  ~ScratchCgroup();
  ScratchCgroup(ScratchCgroup&&) = default;
  ScratchCgroup& operator=(ScratchCgroup&&) = delete;

  int fd() const { return fd_.get(); }

  uint64_t id() const { return id_; }

  absl::Status Admit(pid_t pid);

 private:
  ScratchCgroup() = default;

  UniqueFd parent_;
  UniqueFd fd_;
  uint64_t id_ = 0;
  std::string name_;
};

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/scratch_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/status_util.h"
#include "userspace/kernel/proc_text.h"

namespace routelens {

namespace {

// mountinfo writes space, tab, newline and backslash as three octal digits.
std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      int value = 0;
      for (size_t digit = i + 1; digit <= i + 3; ++digit) value = value * 8 + (text[digit] - '0');
      out.push_back(static_cast<char>(value));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

std::string FindCgroup2Mount(std::string_view mountinfo) {
  std::string found;
  ForEachLine(mountinfo, [&](std::string_view line) {
    // proc(5): ID parent major:minor root MOUNTPOINT options [tags] - TYPE source options
    if (!found.empty() || line.find(" - cgroup2 ") == std::string_view::npos)
      return;
    found = Unescape(Word(line, 4));
  });
  return found;
}

std::string FindUnifiedPath(std::string_view cgroup) {
  std::string found;
  ForEachLine(cgroup, [&](std::string_view line) {
    if (line.substr(0, 3) == "0::")
      found = std::string(line.substr(3));
  });
  return found;
}

absl::StatusOr<UniqueFd> OpenOwnCgroup() {
  const std::string mount = FindCgroup2Mount(ReadProcText("/proc/self/mountinfo"));
  if (mount.empty())
    return absl::NotFoundError("no cgroup2 file system is mounted");
  const std::string path = mount + FindUnifiedPath(ReadProcText("/proc/self/cgroup"));
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd)
    return ErrnoStatus(errno, "opening " + path);
  return fd;
}

absl::StatusOr<ScratchCgroup> ScratchCgroup::Make() {
  absl::StatusOr<UniqueFd> parent = OpenOwnCgroup();
  if (!parent.ok())
    return parent.status();
  ScratchCgroup made;
  made.name_ = "routelens-start-" + std::to_string(getpid());
  if (mkdirat(parent->get(), made.name_.c_str(), 0755) != 0 && errno != EEXIST)
    return ErrnoStatus(errno, "making a cgroup for the start test");
  made.parent_ = *std::move(parent);
  made.fd_.Reset(
      openat(made.parent_.get(), made.name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status = {};
  if (!made.fd_ || fstat(made.fd_.get(), &status) != 0)
    return ErrnoStatus(errno, "opening the cgroup of the start test");
  made.id_ = status.st_ino;
  return made;
}

ScratchCgroup::~ScratchCgroup() {
  if (parent_)
    unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);
}

absl::Status ScratchCgroup::Admit(pid_t pid) {
  UniqueFd procs(openat(fd_.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(pid);
  if (!procs || write(procs.get(), text.data(), text.size()) < 0)
    return ErrnoStatus(errno, "moving a process into the cgroup of the start test");
  return absl::OkStatus();
}

}  // namespace routelens

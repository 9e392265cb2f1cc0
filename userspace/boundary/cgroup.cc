// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <utility>

#include "base/status_util.h"
#include "userspace/boundary/proc_file.h"

namespace routelens {
namespace {

constexpr std::string_view kNamePrefix = "routelens-";
constexpr int kMaxWalkDepth = 32;          // of cgroups below a boundary
constexpr size_t kMaxWalkEntries = 65536;  // over one walk

// mountinfo writes space, tab, newline and backslash as three octal digits.
std::string UndoOctal(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, value, 8).ptr ==
            text.data() + i + 4) {
      out += static_cast<char>(value);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string_view> SplitWords(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    if (end > 0)
      words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

template <typename F>
void ForEachLine(std::string_view text, F f) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// `path` without the leading `prefix` directory; nothing when it does not lie below it.
std::optional<std::string> Below(const std::string& path, const std::string& prefix) {
  if (prefix == "/" || prefix.empty())
    return path;
  if (path == prefix)
    return "/";
  if (path.size() > prefix.size() && path.compare(0, prefix.size(), prefix) == 0 &&
      path[prefix.size()] == '/') {
    return path.substr(prefix.size());
  }
  return std::nullopt;
}

std::string JoinPath(const std::string& a, const std::string& b) {
  std::string joined = a == "/" ? "" : a;
  if (b != "/" && !b.empty())
    joined += b.front() == '/' ? b : "/" + b;
  return joined.empty() ? "/" : joined;
}

// One spelling: a leading slash, no empty or "." component, no trailing slash. A ".." is kept: the
// kernel refuses it below.
std::string CleanPath(std::string_view path) {
  std::string clean;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (!part.empty() && part != ".")
      (clean += '/') += part;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return clean.empty() ? "/" : clean;
}

bool HasDotDot(std::string_view path) {
  return path == "/.." || path.find("/../") != std::string_view::npos ||
         (path.size() >= 3 && path.substr(path.size() - 3) == "/..");
}

// A cgroup2 mount with no place in the file tree.
absl::StatusOr<UniqueFd> MountPrivately() {
  const UniqueFd fs(static_cast<int>(::syscall(SYS_fsopen, "cgroup2", 1 /* FSOPEN_CLOEXEC */)));
  if (!fs)
    return ErrnoStatus(errno, "fsopen cgroup2");
  if (::syscall(SYS_fsconfig, fs.get(), 6 /* FSCONFIG_CMD_CREATE */, nullptr, nullptr, 0) != 0) {
    return ErrnoStatus(errno, "create a cgroup2 mount");
  }
  UniqueFd mount(static_cast<int>(::syscall(SYS_fsmount, fs.get(), 1 /* FSMOUNT_CLOEXEC */, 0)));
  if (!mount)
    return ErrnoStatus(errno, "fsmount cgroup2");
  return mount;
}

// Calls f(name) for each subdirectory of `fd`.
template <typename F>
void ForEachSubdirectory(int fd, F f) {
  const int copy = ::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0)
    return;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(copy), &::closedir);
  if (!dir) {
    ::close(copy);
    return;
  }
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..")
      f(name);
  }
}

absl::Status CollectProcesses(int fd, int depth, std::vector<pid_t>& pids) {
  auto text = ReadSmallFile(fd, "cgroup.procs");
  // A threaded cgroup answers EOPNOTSUPP; its processes are listed at its domain.
  if (!text.ok() && depth == 0)
    return text.status();
  if (text.ok()) {
    ForEachLine(*text, [&](std::string_view line) {
      pid_t pid = 0;
      std::from_chars(line.data(), line.data() + line.size(), pid);
      if (pid > 0)
        pids.push_back(pid);
    });
  }
  return absl::OkStatus();
}

absl::Status CollectBelow(int fd, int depth, std::vector<pid_t>& pids) {
  RL_RETURN_IF_ERROR(CollectProcesses(fd, depth, pids));
  if (depth >= kMaxWalkDepth || pids.size() > kMaxWalkEntries)
    return absl::OkStatus();
  ForEachSubdirectory(fd, [&](const std::string& name) {
    const UniqueFd child(
        ::openat(fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (child)
      (void)CollectBelow(child.get(), depth + 1, pids);  // it may vanish meanwhile
  });
  return absl::OkStatus();
}

// Removes `name` below `parent` and empty cgroups inside it. Fails harmlessly (EBUSY) where a
// process lives.
bool RemoveEmpty(int parent, const std::string& name, int depth = 0) {
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0)
    return true;
  if (depth >= kMaxWalkDepth)
    return false;
  const UniqueFd fd(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd)
    return false;
  ForEachSubdirectory(fd.get(),
                      [&](const std::string& child) { RemoveEmpty(fd.get(), child, depth + 1); });
  return ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0;
}

absl::StatusOr<CgroupDirectory> Describe(UniqueFd fd, std::string path) {
  struct stat info {};

  if (::fstat(fd.get(), &info) != 0)
    return ErrnoStatus(errno, "stat cgroup " + path);
  CgroupDirectory directory;
  directory.fd = std::move(fd);
  directory.id = info.st_ino;
  directory.level = CgroupLevel(path);
  directory.path = std::move(path);
  return directory;
}

// A new cgroup takes processes unless an ancestor made the subtree threaded.
bool TakesProcesses(int fd) {
  const auto type = ReadSmallFile(fd, "cgroup.type");
  return !type.ok() || type->rfind("domain invalid", 0) != 0;
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace

std::vector<CgroupMount> ParseCgroupMounts(std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  ForEachLine(mountinfo, [&](std::string_view line) {
    // proc(5): id parent major:minor root mount-point options [tags...] - type source options
    const std::vector<std::string_view> words = SplitWords(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || dash == words.end() || dash + 1 == words.end())
      return;
    if (*(dash + 1) == "cgroup2")
      mounts.push_back({UndoOctal(words[4]), UndoOctal(words[3])});
  });
  return mounts;
}

std::optional<std::string> ParseUnifiedPath(std::string_view proc_cgroup) {
  std::optional<std::string> path;
  ForEachLine(proc_cgroup, [&](std::string_view line) {
    constexpr std::string_view kUnified = "0::";
    constexpr std::string_view kDeleted = " (deleted)";
    if (line.substr(0, kUnified.size()) != kUnified)
      return;
    line.remove_prefix(kUnified.size());
    if (line.size() > kDeleted.size() && line.substr(line.size() - kDeleted.size()) == kDeleted) {
      return;
    }
    if (!line.empty() && line.front() == '/')
      path = std::string(line);
  });
  return path;
}

bool IsCgroupBelow(std::string_view inner, std::string_view outer) {
  return Below(CleanPath(inner), CleanPath(outer)).has_value();
}

bool IsInCgroup(pid_t pid, const std::string& path) {
  const auto text = ReadSmallFile(AT_FDCWD, "/proc/" + std::to_string(pid) + "/cgroup");
  if (!text.ok())
    return false;
  const std::optional<std::string> own = ParseUnifiedPath(*text);
  return own && IsCgroupBelow(*own, path);
}

uint32_t CgroupLevel(std::string_view path) {
  const std::string clean = CleanPath(path);
  return clean == "/" ? 0 : static_cast<uint32_t>(std::count(clean.begin(), clean.end(), '/'));
}

absl::StatusOr<CgroupTree> CgroupTree::Open() {
  auto mountinfo = ReadSmallFile(AT_FDCWD, "/proc/self/mountinfo", 64u << 20);
  if (!mountinfo.ok())
    return mountinfo.status();
  CgroupTree tree;
  std::vector<CgroupMount> mounts = ParseCgroupMounts(*mountinfo);
  // The whole hierarchy before a part of it.
  std::stable_partition(mounts.begin(), mounts.end(),
                        [](const CgroupMount& mount) { return mount.root == "/"; });
  for (const CgroupMount& mount : mounts) {
    UniqueFd fd(::open(mount.mount_point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
      continue;
    tree.root_ = std::move(fd);
    tree.mount_point_ = mount.mount_point;
    tree.root_path_ = mount.root;
    return tree;
  }
  auto mount = MountPrivately();
  if (!mount.ok()) {
    return WithContext(mount.status(),
                       "cgroup v2 is not mounted and cannot be mounted (run as root, or "
                       "`mount -t cgroup2 none DIR`)");
  }
  tree.root_ = *std::move(mount);
  return tree;
}

absl::StatusOr<CgroupDirectory> CgroupTree::OpenInHierarchy(const std::string& path) const {
  if (HasDotDot(path)) {
    return absl::InvalidArgumentError("cgroup path " + path + " has a '..' in it");
  }
  const std::optional<std::string> relative = Below(path, root_path_);
  if (!relative) {
    return absl::NotFoundError("cgroup " + path + " lies outside of what is mounted at " +
                               mount_point_);
  }
  const std::string name = *relative == "/" ? "." : relative->substr(1);
  UniqueFd fd(::openat(root_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd)
    return ErrnoStatus(errno, "open cgroup " + path);
  return Describe(std::move(fd), path);
}

absl::StatusOr<CgroupDirectory> CgroupTree::OpenDirectory(const std::string& path) const {
  const std::string clean = CleanPath(path);
  if (!mount_point_.empty()) {
    const std::optional<std::string> below = Below(clean, mount_point_);
    if (below)
      return OpenInHierarchy(JoinPath(root_path_, *below));
  }
  return OpenInHierarchy(clean);
}

absl::StatusOr<CgroupDirectory> CgroupTree::OpenDirectoryOf(pid_t pid) const {
  auto text = ReadSmallFile(AT_FDCWD, "/proc/" + std::to_string(pid) + "/cgroup");
  if (!text.ok())
    return text.status();
  const std::optional<std::string> path = ParseUnifiedPath(*text);
  if (!path) {
    return absl::NotFoundError("process " + std::to_string(pid) + " is in no cgroup of version 2");
  }
  return OpenInHierarchy(CleanPath(*path));
}

absl::StatusOr<std::vector<pid_t>> ProcessesIn(const CgroupDirectory& directory) {
  std::vector<pid_t> pids;
  RL_RETURN_IF_ERROR(CollectProcesses(directory.fd.get(), 0, pids));
  return pids;
}

absl::StatusOr<std::vector<pid_t>> ProcessesBelow(const CgroupDirectory& directory) {
  std::vector<pid_t> pids;
  RL_RETURN_IF_ERROR(CollectBelow(directory.fd.get(), 0, pids));
  return pids;
}

absl::StatusOr<bool> IsPopulated(const CgroupDirectory& directory) {
  auto events = ReadSmallFile(directory.fd.get(), "cgroup.events");
  if (!events.ok())
    return events.status();
  return events->find("populated 1") != std::string::npos;
}

MadeCgroup::MadeCgroup(UniqueFd parent, CgroupDirectory directory, std::string name)
    : parent_(std::move(parent)), directory_(std::move(directory)), name_(std::move(name)) {}

MadeCgroup::~MadeCgroup() {
  if (parent_)
    RemoveEmpty(parent_.get(), name_);
}

absl::StatusOr<MadeCgroup> MadeCgroup::Make(const CgroupTree& tree, const std::string& id,
                                            uint32_t max_level) {
  auto parent = tree.OpenDirectoryOf(::getpid());
  if (!parent.ok())
    parent = tree.OpenDirectory("/");
  if (!parent.ok())
    return parent.status();
  const std::string name = std::string(kNamePrefix) + id;
  absl::Status refused = absl::FailedPreconditionError("cgroup " + parent->path + " is too deep");
  for (;;) {
    if (parent->level + 1 <= max_level) {
      if (::mkdirat(parent->fd.get(), name.c_str(), 0755) == 0) {
        UniqueFd fd(::openat(parent->fd.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (fd && TakesProcesses(fd.get()) && ::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) {
          auto directory = Describe(std::move(fd), JoinPath(parent->path, name));
          if (!directory.ok())
            return directory.status();
          return MadeCgroup(std::move(parent->fd), *std::move(directory), name);
        }
        RemoveEmpty(parent->fd.get(), name);
        refused = absl::FailedPreconditionError("cgroup " + parent->path + " takes no processes");
      } else {
        refused = ErrnoStatus(errno, "make cgroup " + JoinPath(parent->path, name));
      }
    }
    if (parent->level == 0)
      return refused;
    auto above = tree.OpenDirectory(ParentOf(parent->path));
    if (!above.ok())
      return refused;
    parent = std::move(above);
  }
}

absl::Status MadeCgroup::AddProcess(pid_t pid) const {
  const UniqueFd fd(::openat(directory_.fd.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(pid);
  if (!fd || ::write(fd.get(), text.data(), text.size()) < 0) {
    return ErrnoStatus(errno, "move process " + text + " into cgroup " + directory_.path);
  }
  return absl::OkStatus();
}

int RemoveLeftoverCgroups(const CgroupTree& tree) {
  int removed = 0;
  auto place = tree.OpenDirectoryOf(::getpid());
  while (place.ok()) {
    std::vector<std::string> names;
    ForEachSubdirectory(place->fd.get(), [&](const std::string& name) {
      if (name.rfind(kNamePrefix, 0) == 0)
        names.push_back(name);
    });
    for (const std::string& name : names) {
      const UniqueFd fd(
          ::openat(place->fd.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
      // Its maker holds a shared lock as long as it lives.
      if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
        continue;
      if (RemoveEmpty(place->fd.get(), name))
        ++removed;
    }
    if (place->level == 0)
      break;
    place = tree.OpenDirectory(ParentOf(place->path));
  }
  return removed;
}

}  // namespace routelens

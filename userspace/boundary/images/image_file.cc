// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/images/image_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "base/status_util.h"
#include "userspace/boundary/proc_file.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

namespace routelens {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

UniqueFd OpenAt2(int dir_fd, const std::string& path, uint64_t flags, uint64_t resolve) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = resolve;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, dir_fd, path.c_str(), &how, sizeof(how))));
}

std::string_view LastComponent(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

ImageId IdOf(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

uint64_t MountIdOf(int fd) {
  const auto info = ReadSmallFile(AT_FDCWD, "/proc/self/fdinfo/" + std::to_string(fd));
  if (!info.ok())
    return 0;
  const std::string_view text = *info;
  const size_t at = text.find("mnt_id:");
  if (at == std::string_view::npos)
    return 0;
  const size_t digits = text.find_first_of("0123456789", at);
  uint64_t id = 0;
  if (digits != std::string_view::npos)
    std::from_chars(text.data() + digits, text.data() + text.size(), id);
  return id;
}

std::string LinkOf(int fd) {
  char path[4096];
  const ssize_t length =
      ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof(path));
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

// The layer's file behind a file of overlayfs.
bool FindRealId(pid_t pid, int fd, ImageId& id) {
  const auto mountinfo = ReadSmallFile(AT_FDCWD, "/proc/" + std::to_string(pid) + "/mountinfo");
  if (!mountinfo.ok())
    return false;
  const OverlayPlace place = FindOverlayPlace(*mountinfo, MountIdOf(fd), LinkOf(fd));
  for (const std::string& layer : place.layers) {
    const UniqueFd directory(::open(layer.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory)
      continue;
    const UniqueFd file =
        OpenAt2(directory.get(), "." + place.path, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);

    struct stat status {};

    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
      continue;
    id = IdOf(status);
    return true;
  }
  return false;
}

// From a descriptor of the path alone to one that can be read.
absl::StatusOr<ImageFile> Reopen(pid_t pid, const UniqueFd& path_fd, uint64_t inode,
                                 std::string_view name) {
  struct stat status {};

  struct statfs file_system {};

  if (::fstat(path_fd.get(), &status) != 0 || ::fstatfs(path_fd.get(), &file_system) != 0)
    return ErrnoStatus(errno, "look at the image");
  if (!S_ISREG(status.st_mode))
    return absl::FailedPreconditionError("not a regular file");
  if (file_system.f_type == FUSE_SUPER_MAGIC)
    return absl::FailedPreconditionError("library blind: the image is on a FUSE file system");
  const bool is_overlay = file_system.f_type == OVERLAYFS_SUPER_MAGIC;
  // Below these, what a mapping shows is another number than what stat shows.
  const bool numbers_differ = is_overlay || file_system.f_type == BTRFS_SUPER_MAGIC;
  if (inode != 0 && !numbers_differ && inode != status.st_ino)
    return absl::FailedPreconditionError("the image was replaced before it could be probed");
  ImageFile image;
  image.fd.Reset(::open(("/proc/self/fd/" + std::to_string(path_fd.get())).c_str(),
                        O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!image.fd)
    return ErrnoStatus(errno, "open the image");
  image.id = IdOf(status);
  image.name = std::string(name);
  image.id_is_real = !is_overlay || FindRealId(pid, image.fd.get(), image.id);
  return image;
}

}  // namespace

std::vector<MappedFile> ParseExecutableMappings(pid_t pid, std::string_view maps) {
  std::vector<MappedFile> mapped;
  for (std::string_view line : Split(maps, '\n')) {
    // address perms offset dev inode path
    size_t at = 0;
    std::string_view fields[5];
    for (std::string_view& field : fields) {
      const size_t end = std::min(line.find(' ', at), line.size());
      field = line.substr(at, end - at);
      at = std::min(line.find_first_not_of(' ', end), line.size());
    }
    const std::string_view path = line.substr(at);
    if (fields[1].size() < 3 || fields[1][2] != 'x' || path.empty() || path[0] != '/')
      continue;
    MappedFile file;
    file.pid = pid;
    std::from_chars(fields[4].data(), fields[4].data() + fields[4].size(), file.inode);
    file.path = std::string(path);
    const bool known = std::any_of(mapped.begin(), mapped.end(), [&](const MappedFile& other) {
      return other.inode == file.inode && other.path == file.path;
    });
    if (!known)
      mapped.push_back(std::move(file));
  }
  return mapped;
}

absl::StatusOr<ImageFile> OpenMapped(const MappedFile& mapped) {
  if (mapped.path.size() >= kDeleted.size() &&
      mapped.path.compare(mapped.path.size() - kDeleted.size(), kDeleted.size(), kDeleted) == 0)
    return absl::NotFoundError("the image was deleted before it could be probed");
  const UniqueFd root(::open(("/proc/" + std::to_string(mapped.pid) + "/root").c_str(),
                             O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root)
    return ErrnoStatus(errno, "open the root of the process");
  const UniqueFd file =
      OpenAt2(root.get(), mapped.path, O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
  if (!file)
    return ErrnoStatus(errno, "find the image");
  return Reopen(mapped.pid, file, mapped.inode, LastComponent(mapped.path));
}

absl::StatusOr<ImageFile> OpenOwn(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!file)
    return ErrnoStatus(errno, path);
  return Reopen(::getpid(), file, 0, LastComponent(path));
}

bool FdBytes::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

OverlayPlace FindOverlayPlace(std::string_view mountinfo, uint64_t mount_id,
                              std::string_view file_path) {
  for (std::string_view line : Split(mountinfo, '\n')) {
    const std::vector<std::string_view> fields = Split(line, ' ');
    uint64_t id = 0;
    if (fields.size() < 7)
      continue;
    std::from_chars(fields[0].data(), fields[0].data() + fields[0].size(), id);
    const auto dash = std::find(fields.begin() + 6, fields.end(), "-");
    if (id != mount_id || fields.end() - dash < 4 || dash[1] != "overlay")
      continue;
    const std::string_view mount_root = fields[3], mount_point = fields[4], options = dash[3];
    if (line.find('\\') != std::string_view::npos || mount_root != "/")
      return {};
    if (mount_point != "/") {
      if (file_path.substr(0, mount_point.size()) != mount_point)
        return {};
      file_path.remove_prefix(mount_point.size());
    }
    if (file_path.empty() || file_path[0] != '/')
      return {};
    OverlayPlace place;
    place.path = std::string(file_path);
    for (std::string_view prefix : {"upperdir=", "lowerdir="}) {
      for (std::string_view option : Split(options, ',')) {
        if (option.substr(0, prefix.size()) != prefix)
          continue;
        for (std::string_view layer : Split(option.substr(prefix.size()), ':')) {
          if (layer.empty() || layer[0] != '/')
            return {};  // relative to a directory that we do not know
          place.layers.emplace_back(layer);
        }
      }
    }
    return place;
  }
  return {};
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Opens the program images that a process has mapped, through that process's own mounts and beneath
// its own root, and tells real files apart. What a sandbox put there is hostile: links are resolved
// inside its root only, nothing but a regular file is opened for reading, and files served by a
// user-space file system (FUSE) are refused, because reading them can hang for ever.
//
// Blocking calls; may be called from any thread.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "userspace/decode/elf/byte_source.h"

namespace routelens {

// A file, whatever name it has: device and inode of the real file. Below overlayfs that is the file
// of the layer, so that one image in many containers is one file.
struct ImageId {
  uint64_t device = 0;
  uint64_t inode = 0;
  friend auto operator<=>(const ImageId&, const ImageId&) = default;

  template <typename H>
  friend H AbslHashValue(H h, const ImageId& id) {
    return H::combine(std::move(h), id.device, id.inode);
  }
};

struct ImageFile {
  UniqueFd fd;
  ImageId id;
  std::string name;        // last component
  bool id_is_real = true;  // false: overlayfs whose layers cannot be seen from here
};

// An executable mapping of a file, as /proc/PID/maps or the mapping stream shows it.
struct MappedFile {
  pid_t pid = 0;
  uint64_t inode = 0;  // 0: not to be compared
  std::string path;    // in the process's own mounts
  // Only where the kernel told of the mapping itself; /proc/PID/maps shows neither.
  uint64_t device = 0;
  uint64_t generation = 0;  // tells a reused inode number from the old one
};

// The files with executable mappings in the text of /proc/PID/maps, each once.
std::vector<MappedFile> ParseExecutableMappings(pid_t pid, std::string_view maps);

// kNotFound when the process or the file is gone, kFailedPrecondition when the path holds another
// file by now or none that may be read.
absl::StatusOr<ImageFile> OpenMapped(const MappedFile& mapped);

// A file of this process's own mounts, links followed.
absl::StatusOr<ImageFile> OpenOwn(const std::string& path);

// Reads an open file by pread; `fd` is borrowed.
class FdBytes final : public ByteSource {
 public:
  explicit FdBytes(int fd) : fd_(fd) {}

  bool ReadAt(uint64_t offset, std::span<std::byte> out) const override;

 private:
  int fd_;
};

// Where overlayfs keeps a file: the layers (upper first) named by the mountinfo line with this
// mount id, and the file's path within the mount. Empty when the line is no overlay, or uses
// escapes that we do not undo.
struct OverlayPlace {
  std::vector<std::string> layers;
  std::string path;
};

OverlayPlace FindOverlayPlace(std::string_view mountinfo, uint64_t mount_id,
                              std::string_view file_path);

}  // namespace routelens

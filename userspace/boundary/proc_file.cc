// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/status_util.h"
#include "base/unique_fd.h"

namespace routelens {

absl::StatusOr<std::string> ReadSmallFile(int dir_fd, const std::string& name, size_t max_bytes) {
  const UniqueFd fd(::openat(dir_fd, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd)
    return ErrnoStatus(errno, "open " + name);
  std::string text;
  char chunk[16384];
  for (;;) {
    const ssize_t got = ::read(fd.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return ErrnoStatus(errno, "read " + name);
    if (got == 0)
      return text;
    if (text.size() + static_cast<size_t>(got) > max_bytes) {
      return ErrnoStatus(EFBIG, "read " + name);
    }
    text.append(chunk, static_cast<size_t>(got));
  }
}

}  // namespace routelens

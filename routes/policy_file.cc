// SPDX-License-Identifier: Apache-2.0
//
// LoadPolicyFile of routes/policy.h: the one place of this room that does I/O.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/status_util.h"
#include "base/unique_fd.h"
#include "routes/policy.h"

namespace routelens {
namespace {

constexpr std::string_view kStandardInput = "-";

absl::Status Refuse(const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError("policy " + path + " " + why);
}

absl::StatusOr<std::string> ReadAll(int fd, const std::string& name, size_t max_bytes) {
  std::string text;
  char buffer[64 * 1024];
  while (true) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return ErrnoStatus(errno, "cannot read policy " + name);
    if (got == 0)
      return text;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > max_bytes) {
      return Refuse(name, "is larger than " + std::to_string(max_bytes) +
                              " bytes; split it, or check that it is the policy");
    }
  }
}

// Opens a regular file. Never waits: a FIFO without a writer would block open() for ever, so the
// kind of the file is looked at through a descriptor that does not block.
absl::StatusOr<UniqueFd> OpenRegular(const std::string& path, size_t max_bytes) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd)
    return ErrnoStatus(errno, "cannot open policy " + path);

  struct stat status {};

  if (fstat(fd.get(), &status) != 0)
    return ErrnoStatus(errno, "cannot stat policy " + path);
  if (S_ISDIR(status.st_mode))
    return Refuse(path, "is a directory; name the YAML file in it");
  if (!S_ISREG(status.st_mode))
    return Refuse(path, "is not a regular file; use '-' to read standard input");
  if (status.st_size > 0 && static_cast<uint64_t>(status.st_size) > max_bytes) {
    return Refuse(path, "is larger than " + std::to_string(max_bytes) +
                            " bytes; split it, or check that it is the policy");
  }
  return fd;
}

}  // namespace

absl::StatusOr<Policy> LoadPolicyFile(const std::string& path,
                                      const std::set<std::string>& credentialed,
                                      const PolicyLimits& limits) {
  if (path == kStandardInput) {
    const absl::StatusOr<std::string> text =
        ReadAll(STDIN_FILENO, "from standard input", limits.max_bytes);
    return text.ok() ? ParsePolicy(*text, "standard input", credentialed, limits) : text.status();
  }
  const absl::StatusOr<UniqueFd> file = OpenRegular(path, limits.max_bytes);
  if (!file.ok())
    return file.status();
  const absl::StatusOr<std::string> text = ReadAll(file->get(), path, limits.max_bytes);
  return text.ok() ? ParsePolicy(*text, path, credentialed, limits) : text.status();
}

}  // namespace routelens

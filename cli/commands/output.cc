// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/status_util.h"
#include "cli/render/text.h"

namespace routelens {
namespace {

// Follows links, so that the file behind one is replaced and not the link.
std::string RealName(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) != nullptr ? std::string(resolved) : path;
}

}  // namespace

absl::Status WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return ErrnoStatus(errno, "write");
    text.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

void PrintError(std::string_view message) {
  (void)WriteAll(STDERR_FILENO, "routelens: " + Printable(message) + "\n");
}

int Fail(const absl::Status& status, int exit_status) {
  PrintError(MessageOf(status));
  return exit_status;
}

int PrintResult(std::string_view text) {
  const absl::Status status = WriteAll(STDOUT_FILENO, text);
  if (status.ok())
    return kExitOk;
  PrintError("standard output: " + std::string(MessageOf(status)));
  return kExitFailed;
}

bool ColourAllowed(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return ::isatty(fd) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
         (term == nullptr || std::strcmp(term, "dumb") != 0);
}

void FillStandardDescriptors() {
  for (;;) {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0 || fd > STDERR_FILENO) {
      if (fd >= 0)
        ::close(fd);
      return;
    }
  }
}

OutputFile::OutputFile(UniqueFd fd, std::string path, std::string temporary,
                       std::optional<InvokingUser> user)
    : fd_(std::move(fd)),
      path_(std::move(path)),
      temporary_(std::move(temporary)),
      user_(std::move(user)) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")),
      user_(std::move(other.user_)) {}

OutputFile::~OutputFile() {
  if (temporary_.empty())
    return;
  const ActingAs acting(user_);
  ::unlink(temporary_.c_str());
}

absl::StatusOr<OutputFile> OutputFile::Open(const std::string& path,
                                            const std::optional<InvokingUser>& user) {
  const ActingAs acting(user);
  if (!acting.ok())
    return ErrnoStatus(errno, "act as the invoking user");

  struct stat info {};

  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd)
      return ErrnoStatus(errno, "open " + path);
    return OutputFile(std::move(fd), path, "", user);
  }
  const std::string real = RealName(path);
  std::string temporary = real + ".XXXXXX";
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd)
    return ErrnoStatus(errno, "make a file beside " + path);
  // mkostemp gives 0600; a file made in the usual way has what the umask leaves.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd.get(), 0666 & ~mask);
  return OutputFile(std::move(fd), real, temporary, user);
}

absl::Status OutputFile::Write(std::string_view text) const {
  RL_RETURN_IF_ERROR(WithContext(WriteAll(fd_.get(), text), path_));
  if (!temporary_.empty() && ::fsync(fd_.get()) != 0)
    return ErrnoStatus(errno, "write " + path_);
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  if (temporary_.empty())
    return absl::OkStatus();
  const ActingAs acting(user_);
  if (!acting.ok())
    return ErrnoStatus(errno, "act as the invoking user");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return ErrnoStatus(errno, "give " + path_ + " its name");
  }
  temporary_.clear();
  return absl::OkStatus();
}

}  // namespace routelens

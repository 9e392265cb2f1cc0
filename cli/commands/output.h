// SPDX-License-Identifier: Apache-2.0
//
// Where text goes: standard output and error, and the file of --output.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "userspace/boundary/invoking_user.h"

namespace routelens {

// Exit statuses that every command shares.
constexpr int kExitOk = 0;
constexpr int kExitNegative = 1;  // the answer is no: the policy is wrong, the floor is not met
constexpr int kExitUsage = 2;
constexpr int kExitFailed = 125;  // Routelens itself failed

// Writes all of it; retries what was interrupted or only partly taken.
absl::Status WriteAll(int fd, std::string_view text);

// "routelens: <message>" on standard error, made printable.
void PrintError(std::string_view message);

// PrintError with the status's message; returns `exit_status`, for the caller to return.
int Fail(const absl::Status& status, int exit_status = kExitFailed);

// To standard output. On failure prints an error and returns kExitFailed, else kExitOk.
int PrintResult(std::string_view text);

// Whether text to `fd` may have colour: a terminal, TERM is not dumb, NO_COLOR is not set.
bool ColourAllowed(int fd);

// Opens /dev/null for each standard descriptor that is closed, so that no other file gets its
// number.
void FillStandardDescriptors();

// A file that appears whole or not at all: written under another name in the same folder and
// renamed. What is no regular file (a terminal, a pipe, /dev/null) is written to directly.
class OutputFile {
 public:
  // Opens as `user`. The error names the file.
  static absl::StatusOr<OutputFile> Open(const std::string& path,
                                         const std::optional<InvokingUser>& user);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  // Usable in any process that inherited it.
  absl::Status Write(std::string_view text) const;

  int fd() const { return fd_.get(); }

  // Gives it its name.
  absl::Status Commit();

 private:
  OutputFile(UniqueFd fd, std::string path, std::string temporary,
             std::optional<InvokingUser> user);
  UniqueFd fd_;
  std::string path_;
  std::string temporary_;  // "" when written directly, or committed
  std::optional<InvokingUser> user_;
};

}  // namespace routelens

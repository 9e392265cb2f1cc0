// SPDX-License-Identifier: Apache-2.0
//
// Who asked: the user behind sudo, as sudo's environment names them. The command runs as that user
// with that user's groups; everything of Routelens itself stays as it is.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace routelens {

struct InvokingUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary ones, `gid` included
  // What sudo pointed at root and a program of the user expects to be the user's own.
  std::vector<std::pair<std::string, std::string>> environment;
  friend bool operator==(const InvokingUser&, const InvokingUser&) = default;
};

// The user to run the command as: nothing when this process is not root, or root was not reached
// through sudo, or root itself called sudo. An error when sudo names a user that does not exist:
// running the command as root then would be the wrong surprise.
absl::StatusOr<std::optional<InvokingUser>> FindInvokingUser();

// SUDO_UID and SUDO_GID as numbers, by a look-up of environment variables. Empty if unset.
// An error if only one is set or one is no number.
using LookUpVariable = std::function<std::optional<std::string>(const std::string& name)>;
absl::StatusOr<std::optional<std::pair<uid_t, gid_t>>> ParseSudoIds(const LookUpVariable& variable);

// While it lives, this process acts on files as `user`: what root may do and the user may not then
// fails. Without a user it does nothing. `ok` is false when it could not switch.
class ActingAs {
 public:
  explicit ActingAs(const std::optional<InvokingUser>& user);
  ~ActingAs();
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

  bool ok() const { return ok_; }

 private:
  bool switched_ = false;
  bool ok_ = true;
  gid_t gid_ = 0;
  std::vector<gid_t> groups_;
};

}  // namespace routelens

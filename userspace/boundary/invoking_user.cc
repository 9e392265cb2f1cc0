// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/invoking_user.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/status_util.h"

namespace routelens {
namespace {

constexpr int kMaxGroups = 65536;  // NGROUPS_MAX

bool ParseId(const std::string& text, uint32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // -1 means "leave as it is" to setresuid: never an id.
  return error == std::errc() && end == text.data() + text.size() && value != UINT32_MAX;
}

std::optional<std::string> Environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr)
    return std::nullopt;
  return std::string(value);
}

}  // namespace

absl::StatusOr<std::optional<std::pair<uid_t, gid_t>>> ParseSudoIds(
    const LookUpVariable& variable) {
  const std::optional<std::string> uid_text = variable("SUDO_UID");
  const std::optional<std::string> gid_text = variable("SUDO_GID");
  if (!uid_text && !gid_text)
    return std::optional<std::pair<uid_t, gid_t>>();
  uid_t uid = 0;
  gid_t gid = 0;
  if (!uid_text || !gid_text || !ParseId(*uid_text, uid) || !ParseId(*gid_text, gid)) {
    return absl::InvalidArgumentError(
        "SUDO_UID and SUDO_GID must both be numbers (unset both to run the command as root)");
  }
  return std::optional<std::pair<uid_t, gid_t>>({uid, gid});
}

absl::StatusOr<std::optional<InvokingUser>> FindInvokingUser() {
  if (::getuid() != 0 || ::geteuid() != 0)
    return std::optional<InvokingUser>();
  auto ids = ParseSudoIds(Environment);
  if (!ids.ok())
    return ids.status();
  if (!*ids || (*ids)->first == 0)
    return std::optional<InvokingUser>();

  InvokingUser user;
  user.uid = (*ids)->first;
  user.gid = (*ids)->second;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(65536);
  const int error = ::getpwuid_r(user.uid, &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    return absl::NotFoundError(
        "sudo was called by user " + std::to_string(user.uid) +
        ", who is not in the user database" +
        (error != 0 ? " (" + std::string(strerrordesc_np(error)) + ")" : ""));
  }
  int count = 64;
  user.groups.resize(static_cast<size_t>(count));
  while (::getgrouplist(entry.pw_name, user.gid, user.groups.data(), &count) < 0) {
    if (count > kMaxGroups || static_cast<size_t>(count) <= user.groups.size()) {
      return absl::InternalError("cannot list the groups of user " + std::to_string(user.uid));
    }
    user.groups.resize(static_cast<size_t>(count));
  }
  user.groups.resize(static_cast<size_t>(count));

  const std::string root_home = [] {
    passwd root{};
    passwd* result = nullptr;
    std::array<char, 4096> text{};
    ::getpwuid_r(0, &root, text.data(), text.size(), &result);
    return result != nullptr ? std::string(root.pw_dir) : std::string("/root");
  }();
  if (Environment("HOME") == root_home)
    user.environment.emplace_back("HOME", entry.pw_dir);
  for (const char* name : {"USER", "LOGNAME"}) {
    if (Environment(name) == "root")
      user.environment.emplace_back(name, entry.pw_name);
  }
  return std::optional<InvokingUser>(std::move(user));
}

ActingAs::ActingAs(const std::optional<InvokingUser>& user) {
  if (!user)
    return;
  gid_ = ::getegid();
  const int count = ::getgroups(0, nullptr);
  groups_.resize(static_cast<size_t>(std::max(count, 0)));
  ok_ = count >= 0 && ::getgroups(count, groups_.data()) == count &&
        ::setgroups(user->groups.size(), user->groups.data()) == 0 && ::setegid(user->gid) == 0 &&
        ::seteuid(user->uid) == 0;
  switched_ = true;
}

ActingAs::~ActingAs() {
  if (!switched_)
    return;
  // Back in the other order: only root may set groups. Going on as the wrong user would be worse
  // than ending.
  if (::seteuid(0) != 0 || ::setegid(gid_) != 0 ||
      ::setgroups(groups_.size(), groups_.data()) != 0) {
    std::abort();
  }
}

}  // namespace routelens

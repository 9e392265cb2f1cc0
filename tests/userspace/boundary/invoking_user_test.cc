// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/invoking_user.h"

#include <map>

#include "gtest/gtest.h"

namespace routelens {
namespace {

absl::StatusOr<std::optional<std::pair<uid_t, gid_t>>> Parse(
    const std::map<std::string, std::string>& environment) {
  return ParseSudoIds([&](const std::string& name) -> std::optional<std::string> {
    const auto it = environment.find(name);
    if (it == environment.end())
      return std::nullopt;
    return it->second;
  });
}

TEST(InvokingUser, IsNobodyWithoutSudo) {
  const auto ids = Parse({});
  ASSERT_TRUE(ids.ok());
  EXPECT_FALSE(ids->has_value());
}

TEST(InvokingUser, IsWhomSudoNames) {
  const auto ids = Parse({{"SUDO_UID", "1000"}, {"SUDO_GID", "100"}});
  ASSERT_TRUE(ids.ok() && ids->has_value());
  EXPECT_EQ(**ids, (std::pair<uid_t, gid_t>(1000, 100)));
}

TEST(InvokingUser, IsNeverGuessedFromHalfOrWrongNumbers) {
  EXPECT_FALSE(Parse({{"SUDO_UID", "1000"}}).ok());
  EXPECT_FALSE(Parse({{"SUDO_GID", "1000"}}).ok());
  for (const char* wrong : {"", "x", "-1", "1000 ", "0x3e8", "4294967295", "4294967296"}) {
    EXPECT_FALSE(Parse({{"SUDO_UID", wrong}, {"SUDO_GID", "1000"}}).ok()) << wrong;
    EXPECT_FALSE(Parse({{"SUDO_UID", "1000"}, {"SUDO_GID", wrong}}).ok()) << wrong;
  }
}

}  // namespace
}  // namespace routelens

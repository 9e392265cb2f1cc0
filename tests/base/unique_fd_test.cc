// SPDX-License-Identifier: Apache-2.0
#include "base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>
#include <utility>

namespace routelens {
namespace {

int NewFd() {
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_GE(fd, 0);
  return fd;
}

bool IsOpen(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

TEST(UniqueFd, ClosesAtTheEndOfItsLife) {
  const int raw = NewFd();
  {
    const UniqueFd fd(raw);
    EXPECT_TRUE(fd);
    EXPECT_EQ(fd.get(), raw);
    EXPECT_TRUE(IsOpen(raw));
  }
  EXPECT_FALSE(IsOpen(raw));
}

TEST(UniqueFd, IsEmptyByDefault) {
  const UniqueFd none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.get(), -1);
}

TEST(UniqueFd, MovesOwnership) {
  const int raw = NewFd();
  UniqueFd from(raw);
  UniqueFd to(std::move(from));
  EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move): what a moved-from one holds is promised
  EXPECT_EQ(to.get(), raw);
  EXPECT_TRUE(IsOpen(raw));
}

TEST(UniqueFd, ClosesWhatItHeldWhenAssignedTo) {
  const int old = NewFd();
  const int fresh = NewFd();
  UniqueFd fd(old);
  fd = UniqueFd(fresh);
  EXPECT_FALSE(IsOpen(old));
  EXPECT_TRUE(IsOpen(fresh));
  EXPECT_EQ(fd.get(), fresh);
}

TEST(UniqueFd, KeepsItsDescriptorWhenAssignedToItself) {
  const int raw = NewFd();
  UniqueFd fd(raw);
  UniqueFd& same = fd;
  fd = std::move(same);
  EXPECT_EQ(fd.get(), raw);
  EXPECT_TRUE(IsOpen(raw));
}

TEST(UniqueFd, LetsGoWithoutClosing) {
  UniqueFd fd(NewFd());
  const int raw = fd.Release();
  EXPECT_FALSE(fd);
  EXPECT_TRUE(IsOpen(raw));
  close(raw);
}

TEST(UniqueFd, KeepsErrno) {
  UniqueFd bad(1 << 20);  // close() fails with EBADF
  errno = ENOENT;
  bad.Reset();
  EXPECT_EQ(errno, ENOENT);
}

TEST(UniqueFd, IsNeitherCopiedNorTakenForANumber) {
  static_assert(!std::is_copy_constructible_v<UniqueFd>);
  static_assert(!std::is_copy_assignable_v<UniqueFd>);
  static_assert(!std::is_convertible_v<UniqueFd, int>);
  static_assert(!std::is_convertible_v<int, UniqueFd>);
  static_assert(std::is_nothrow_move_constructible_v<UniqueFd>);
}

}  // namespace
}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/cgroup.h"

#include <sys/wait.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace routelens {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CgroupMounts, AreFoundOnAUnifiedHost) {
  EXPECT_THAT(
      ParseCgroupMounts("25 30 0:22 / /sys rw shared:7 - sysfs sysfs rw\n"
                        "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"),
      ElementsAre(CgroupMount{"/sys/fs/cgroup", "/"}));
}

TEST(CgroupMounts, AreFoundBesideVersionOne) {
  EXPECT_THAT(ParseCgroupMounts("39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
                                "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"),
              ElementsAre(CgroupMount{"/sys/fs/cgroup/unified", "/"}));
}

TEST(CgroupMounts, MayShowAPartOnlyAndHaveOddNames) {
  EXPECT_THAT(ParseCgroupMounts("9 1 0:1 /../a\\040b /mnt/c\\011d rw - cgroup2 x rw"),
              ElementsAre(CgroupMount{"/mnt/c\td", "/../a b"}));
}

TEST(CgroupMounts, OfGarbageAreNone) {
  for (const char* text : {"", "\n\n", "-", "1 2 3 - cgroup2", "1 2 3 4 5 6 7", "1 2 3 4 5 -"}) {
    EXPECT_THAT(ParseCgroupMounts(text), IsEmpty()) << text;
  }
}

TEST(UnifiedPath, IsThatOfHierarchyZero) {
  EXPECT_EQ(ParseUnifiedPath("9:pids:/x\n0::/user.slice/a\n"), "/user.slice/a");
  EXPECT_EQ(ParseUnifiedPath("0::/"), "/");
}

TEST(UnifiedPath, IsNoneWhenAbsentOrDeleted) {
  EXPECT_FALSE(ParseUnifiedPath("9:pids:/x\n").has_value());
  EXPECT_FALSE(ParseUnifiedPath("0::/gone (deleted)\n").has_value());
  EXPECT_FALSE(ParseUnifiedPath("0::\n").has_value());
}

TEST(CgroupPath, LiesBelowByComponentsNotByLetters) {
  EXPECT_TRUE(IsCgroupBelow("/a", "/a"));
  EXPECT_TRUE(IsCgroupBelow("/a/b", "/a"));
  EXPECT_TRUE(IsCgroupBelow("/a/b", "/"));
  EXPECT_FALSE(IsCgroupBelow("/ab", "/a"));
  EXPECT_FALSE(IsCgroupBelow("/a", "/a/b"));
}

TEST(CgroupLevel, CountsComponents) {
  EXPECT_EQ(CgroupLevel("/"), 0u);
  EXPECT_EQ(CgroupLevel(""), 0u);
  EXPECT_EQ(CgroupLevel("/a"), 1u);
  EXPECT_EQ(CgroupLevel("/a//b/"), 2u);
}

// With the real hierarchy of this host.
class MadeCgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0)
      GTEST_SKIP() << "making cgroups needs root";
    auto tree = CgroupTree::Open();
    if (!tree.ok())
      GTEST_SKIP() << "no cgroup v2 here: " << tree.status();
    tree_.emplace(*std::move(tree));
  }

  static std::string Id(const char* name) { return std::string(name) + std::to_string(::getpid()); }

  std::optional<CgroupTree> tree_;
};

TEST_F(MadeCgroupTest, HoldsTheProcessAndGoesWithIt) {
  std::string path;
  {
    auto made = MadeCgroup::Make(*tree_, Id("test-a-"), 7);
    ASSERT_TRUE(made.ok()) << made.status();
    path = made->directory().path;
    EXPECT_EQ(made->directory().level, CgroupLevel(path));
    const pid_t child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    ASSERT_TRUE(made->AddProcess(child).ok());
    EXPECT_THAT(*ProcessesIn(made->directory()), ElementsAre(child));
    EXPECT_TRUE(*IsPopulated(made->directory()));
    auto seen = tree_->OpenDirectoryOf(child);
    ASSERT_TRUE(seen.ok()) << seen.status();
    EXPECT_EQ(seen->id, made->directory().id);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_FALSE(*IsPopulated(made->directory()));
  }
  EXPECT_FALSE(tree_->OpenDirectory(path).ok());
}

TEST_F(MadeCgroupTest, StaysWhileSomethingLivesInItAndIsALeftoverAfter) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  std::string path;
  {
    auto made = MadeCgroup::Make(*tree_, Id("test-b-"), 7);
    ASSERT_TRUE(made.ok()) << made.status();
    path = made->directory().path;
    ASSERT_TRUE(made->AddProcess(child).ok());
  }
  EXPECT_TRUE(tree_->OpenDirectory(path).ok());
  RemoveLeftoverCgroups(*tree_);
  EXPECT_TRUE(tree_->OpenDirectory(path).ok());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_GE(RemoveLeftoverCgroups(*tree_), 1);
  EXPECT_FALSE(tree_->OpenDirectory(path).ok());
}

TEST_F(MadeCgroupTest, IsNoLeftoverWhileItsMakerLives) {
  auto made = MadeCgroup::Make(*tree_, Id("test-c-"), 7);
  ASSERT_TRUE(made.ok()) << made.status();
  RemoveLeftoverCgroups(*tree_);
  EXPECT_TRUE(tree_->OpenDirectory(made->directory().path).ok());
}

TEST_F(MadeCgroupTest, OpensByHierarchyPathAndByMountedPath) {
  auto made = MadeCgroup::Make(*tree_, Id("test-d-"), 7);
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string path = made->directory().path;
  EXPECT_EQ(tree_->OpenDirectory(path)->id, made->directory().id);
  if (!tree_->mount_point().empty()) {
    EXPECT_EQ(tree_->OpenDirectory(tree_->mount_point() + path)->id, made->directory().id);
  }
  EXPECT_FALSE(tree_->OpenDirectory(path + "/../..").ok());
  EXPECT_FALSE(tree_->OpenDirectory("/no/such/cgroup").ok());
}

}  // namespace
}  // namespace routelens

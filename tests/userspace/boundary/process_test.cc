// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/process.h"

#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "userspace/boundary/target.h"

namespace routelens {
namespace {

constexpr char kAfterName[] =
    " S 7 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1000 200 18446744073709551615\n";

TEST(ProcStat, GivesParentAndStartTime) {
  const auto info = ParseProcStat(std::string("42 (cat)") + kAfterName, 100);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->pid, 42);
  EXPECT_EQ(info->parent, 7);
  EXPECT_EQ(info->start_boot_ns, 123'450'000'000u);
}

TEST(ProcStat, SurvivesAnyNameAProcessGivesItself) {
  for (const char* name : {"a b", ") S 1 1", "((", "x)\n", ""}) {
    const auto info = ParseProcStat("42 (" + std::string(name) + ")" + kAfterName, 100);
    ASSERT_TRUE(info.has_value()) << name;
    EXPECT_EQ(info->parent, 7) << name;
    EXPECT_EQ(info->start_boot_ns, 123'450'000'000u) << name;
  }
}

TEST(ProcStat, RefusesWhatIsCut) {
  const std::string whole = std::string("42 (cat)") + kAfterName;
  const size_t start_time_ends = whole.find("12345");
  for (size_t size = 0; size < start_time_ends; ++size) {
    EXPECT_FALSE(ParseProcStat(whole.substr(0, size), 100).has_value()) << size;
  }
}

TEST(Processes, IncludeThisOne) {
  const auto self = ReadProcess(::getpid());
  ASSERT_TRUE(self.ok());
  EXPECT_EQ(self->parent, ::getppid());
  EXPECT_GT(self->start_boot_ns, 0u);
  const auto family = WithDescendants(ListProcesses(), ::getppid());
  EXPECT_TRUE(std::any_of(family.begin(), family.end(),
                          [](const ProcessInfo& info) { return info.pid == ::getpid(); }));
}

TEST(Processes, DescendantsAreFoundInAnyOrderAndWithoutEndlessLoops) {
  // Pid 5 and 6 are each other's parents: no real table, but one read while it changes.
  const std::vector<ProcessInfo> all = {{3, 2, 0}, {2, 1, 0}, {4, 3, 0}, {5, 6, 0},
                                        {6, 5, 0}, {9, 1, 0}, {1, 0, 0}};
  std::vector<pid_t> pids;
  for (const ProcessInfo& info : WithDescendants(all, 2)) pids.push_back(info.pid);
  EXPECT_THAT(pids, testing::ElementsAre(2, 3, 4));
  EXPECT_EQ(WithDescendants(all, 5).size(), 2u);
  EXPECT_TRUE(WithDescendants(all, 77).empty());
}

TEST(Processes, DescendFromTheirParentsAsTheyWere) {
  const auto parent = ReadProcess(::getppid());
  ASSERT_TRUE(parent.ok());
  EXPECT_TRUE(DescendsFrom(::getpid(), {*parent}));
  EXPECT_TRUE(DescendsFrom(::getppid(), {*parent}));
  // The same pid with another start time is another process.
  EXPECT_FALSE(DescendsFrom(::getpid(), {{parent->pid, 0, parent->start_boot_ns + 1}}));
  EXPECT_FALSE(DescendsFrom(1, {*ReadProcess(::getpid())}));
}

TEST(Target, IsWithinOnlyWhenNoStrangerIsThere) {
  const std::vector<ProcessInfo> family = {{2, 1, 0}, {3, 2, 0}};
  EXPECT_TRUE(IsWithin({2}, family));
  EXPECT_TRUE(IsWithin({3, 2}, family));
  EXPECT_FALSE(IsWithin({2, 9}, family));
}

}  // namespace
}  // namespace routelens

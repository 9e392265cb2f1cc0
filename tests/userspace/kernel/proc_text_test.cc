// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/proc_text.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "gtest/gtest.h"
#include "userspace/kernel/scratch_cgroup.h"

namespace routelens {

namespace {

TEST(ProcText, SplitsLinesWithAndWithoutALastNewline) {
  std::vector<std::string> lines;
  const auto collect = [&](std::string_view line) { lines.emplace_back(line); };
  ForEachLine("one\n\nthree", collect);
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "three"}));
  lines.clear();
  ForEachLine("one\n", collect);
  EXPECT_EQ(lines, (std::vector<std::string>{"one"}));
}

TEST(ProcText, FindsWordsBetweenRunsOfSpaces) {
  EXPECT_EQ(Word("  a   bc d", 1), "bc");
  EXPECT_EQ(Word("  a   bc d", 2), "d");
  EXPECT_EQ(Word("a b", 2), "");
  EXPECT_EQ(Word("", 0), "");
}

TEST(ProcText, ReadsTheStartTimePastACommWithSpacesAndParentheses) {
  const std::string fields = " S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 0 0";
  const auto tick = static_cast<uint64_t>(1'000'000'000 / sysconf(_SC_CLK_TCK));
  EXPECT_EQ(StartBootNs("42 (a) b (c d)" + fields), 12345 * tick);
  EXPECT_EQ(StartBootNs("42 (cut) S 1 1"), 0u);
  EXPECT_EQ(StartBootNs(""), 0u);
  EXPECT_EQ(StartBootNs("42 (x) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12x45 0"), 0u);
}

TEST(ProcText, TellsThisProcessesStartTimeInThePast) {
  const uint64_t start = StartBootNs(ReadProcText("/proc/self/stat"));
  EXPECT_GT(start, 0u);
  EXPECT_LE(start, BootClockNs());
}

TEST(ProcText, ReadsAMissingFileAsNothingAndALongOneInPart) {
  EXPECT_EQ(ReadProcText("/proc/self/no-such-file"), "");
  EXPECT_LE(ReadProcText("/proc/self/status", 16).size(), 4096u);
}

TEST(Cgroup2Mount, IsFoundBelowVersionOneHierarchies) {
  const std::string mountinfo =
      "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu\n"
      "41 31 0:38 / /sys/fs/cgroup/unified\\040two rw,relatime shared:10 - cgroup2 cgroup2 rw\n"
      "42 31 0:38 / /elsewhere rw,relatime - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(FindCgroup2Mount(mountinfo), "/sys/fs/cgroup/unified two");
  EXPECT_EQ(FindCgroup2Mount("31 23 0:28 / /cgroup2 rw - tmpfs tmpfs rw\n"), "");
  EXPECT_EQ(FindCgroup2Mount(""), "");
}

TEST(Cgroup2Path, IsThatOfTheUnifiedHierarchy) {
  EXPECT_EQ(FindUnifiedPath("4:memory:/a\n0::/b/c\n"), "/b/c");
  EXPECT_EQ(FindUnifiedPath("4:memory:/a\n"), "");
}

}  // namespace

}  // namespace routelens

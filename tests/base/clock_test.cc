// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include <cstdlib>
#include <limits>
#include <string>

namespace routelens {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(Clock, WritesRfc3339InUtcWithMilliseconds) {
  EXPECT_EQ(FormatRfc3339(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatRfc3339(1'767'323'045'678'000'000), "2026-01-02T03:04:05.678Z");
  EXPECT_EQ(FormatRfc3339(951'782'400 * kSecond), "2000-02-29T00:00:00.000Z");
}

TEST(Clock, CutsFractionsOfAMillisecond) {
  EXPECT_EQ(FormatRfc3339(999'999), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatRfc3339(kSecond - 1), "1970-01-01T00:00:00.999Z");
  EXPECT_EQ(FormatRfc3339(kSecond), "1970-01-01T00:00:01.000Z");
}

TEST(Clock, ClampsTimesOutsideOfWhatRfc3339Holds) {
  EXPECT_EQ(FormatRfc3339(-1), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatRfc3339(std::numeric_limits<int64_t>::min()), "1970-01-01T00:00:00.000Z");
  // The largest of 64 bits of nanoseconds is well before the year 10000.
  EXPECT_EQ(FormatRfc3339(std::numeric_limits<int64_t>::max()), "2262-04-11T23:47:16.854Z");
}

TEST(Clock, DoesNotLookAtTheTimeZone) {
  const char* before = std::getenv("TZ");
  const std::string saved = before == nullptr ? "" : before;
  setenv("TZ", "Pacific/Kiritimati", 1);
  tzset();
  EXPECT_EQ(FormatRfc3339(0), "1970-01-01T00:00:00.000Z");
  if (before == nullptr)
    unsetenv("TZ");
  else
    setenv("TZ", saved.c_str(), 1);
  tzset();
}

TEST(Clock, BootClockRunsAndTheOffsetLeadsToWallTime) {
  const uint64_t before = BootClockNs();
  EXPECT_GT(before, 0u);
  EXPECT_GE(BootClockNs(), before);
  timespec wall{};
  ASSERT_EQ(clock_gettime(CLOCK_REALTIME, &wall), 0);
  const int64_t expected = int64_t{wall.tv_sec} * kSecond + wall.tv_nsec;
  const int64_t got = WallClockOffsetNs() + static_cast<int64_t>(BootClockNs());
  EXPECT_LT(std::abs(got - expected), 10 * kSecond);
}

}  // namespace
}  // namespace routelens

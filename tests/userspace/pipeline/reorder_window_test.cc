// SPDX-License-Identifier: Apache-2.0
#include "userspace/pipeline/reorder_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace routelens {
namespace {

Event At(uint64_t ns, uint64_t seq = 0) {
  Event event;
  event.header.time = BootTime{ns};
  event.header.seq = seq;
  return event;
}

std::vector<uint64_t> ReleaseAll(ReorderWindow& window, uint64_t until) {
  std::vector<uint64_t> times;
  while (const Event* event = window.Release(BootTime{until}))
    times.push_back(event->header.time.ns);
  return times;
}

TEST(ReorderWindow, GivesEventsInTheOrderOfTheirTimes) {
  ReorderWindow window(100);
  for (const uint64_t ns : {30, 10, 20, 50, 40}) EXPECT_TRUE(window.Add(At(ns)));
  EXPECT_THAT(ReleaseAll(window, 35), testing::ElementsAre(10, 20, 30));
  EXPECT_THAT(ReleaseAll(window, 100), testing::ElementsAre(40, 50));
  EXPECT_EQ(window.size(), 0U);
}

TEST(ReorderWindow, EventsOfOneTimeComeInTheOrderOfTheirNumbers) {
  ReorderWindow window(100);
  for (const uint64_t seq : {3, 1, 2}) window.Add(At(10, seq));
  for (uint64_t expected = 1; expected <= 3; expected++) {
    const Event* event = window.Release(BootTime{10});
    ASSERT_NE(event, nullptr);
    EXPECT_EQ(event->header.seq, expected);
  }
}

TEST(ReorderWindow, RefusesWhatIsOlderThanWhatCameOut) {
  ReorderWindow window(100);
  window.Add(At(10));
  ReleaseAll(window, 10);
  EXPECT_FALSE(window.Add(At(9)));
  EXPECT_TRUE(window.Add(At(10)));
}

TEST(ReorderWindow, GivesTheOldestEarlyWhenItHoldsTooMany) {
  ReorderWindow window(2);
  for (const uint64_t ns : {30, 20, 10}) window.Add(At(ns));
  EXPECT_THAT(ReleaseAll(window, 0), testing::ElementsAre(10));
}

}  // namespace
}  // namespace routelens

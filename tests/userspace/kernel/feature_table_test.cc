// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/feature_table.h"

#include <set>
#include <string_view>

#include "gtest/gtest.h"

namespace routelens {

namespace {

TEST(FeatureTable, NamesEachCapabilityOnceWithItsCostAndRemedy) {
  std::set<std::string_view> names;
  for (const Feature& feature : FeatureTable()) {
    EXPECT_TRUE(names.insert(feature.name).second) << feature.name;
    EXPECT_FALSE(feature.costs.empty()) << feature.name;
    EXPECT_FALSE(feature.remedy.empty()) << feature.name;
  }
  EXPECT_EQ(names.size(), 14u);
}

TEST(FeatureTable, PutsNoProgramOnTheRungsOfTwoCapabilities) {
  std::set<std::string_view> taken;
  for (const Feature& feature : FeatureTable()) {
    std::set<std::string_view> own;
    for (const Rung& rung : feature.rungs) {
      EXPECT_FALSE(rung.programs.empty()) << rung.via;
      own.insert(rung.programs.begin(), rung.programs.end());
    }
    for (const std::string_view program : own) EXPECT_TRUE(taken.insert(program).second) << program;
  }
}

TEST(FeatureTable, KeepsTheFloorFreeOfConditionsOnItsLastRung) {
  for (const Feature& feature : FeatureTable())
    if (feature.floor && !feature.rungs.empty()) {
      EXPECT_EQ(feature.rungs.back().condition, Rung::kAlways) << feature.name;
    }
}

}  // namespace

}  // namespace routelens

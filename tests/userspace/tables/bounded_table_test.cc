// SPDX-License-Identifier: Apache-2.0
#include "userspace/tables/bounded_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace routelens {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A table whose values are their keys, and what it evicted.
class Filled {
 public:
  explicit Filled(size_t capacity) : table(capacity) {}

  void Insert(int key) {
    table.Insert(key, [this](int old, int) { evicted.push_back(old); }) = key;
  }

  std::vector<int> InOrder() {
    std::vector<int> keys;
    table.ForEach([&](int key, int value) {
      EXPECT_EQ(value, key);
      keys.push_back(key);
    });
    return keys;
  }

  BoundedTable<int, int> table;
  std::vector<int> evicted;
};

TEST(BoundedTable, EvictsTheIdlestWhenFull) {
  Filled filled(3);
  for (const int key : {1, 2, 3}) filled.Insert(key);
  EXPECT_NE(filled.table.Touch(1), nullptr);
  EXPECT_NE(filled.table.Find(2), nullptr);  // does not count as use
  EXPECT_EQ(*filled.table.idlest(), 2);
  filled.Insert(4);
  EXPECT_THAT(filled.evicted, ElementsAre(2));
  EXPECT_THAT(filled.InOrder(), ElementsAre(3, 1, 4));
}

TEST(BoundedTable, ForgetsWhatIsErased) {
  Filled filled(3);
  for (const int key : {1, 2, 3}) filled.Insert(key);
  EXPECT_TRUE(filled.table.Erase(1));
  EXPECT_FALSE(filled.table.Erase(1));
  EXPECT_EQ(filled.table.Find(1), nullptr);
  EXPECT_EQ(*filled.table.idlest(), 2);
  filled.Insert(4);  // in the room of 1
  EXPECT_THAT(filled.evicted, IsEmpty());
  EXPECT_THAT(filled.InOrder(), ElementsAre(2, 3, 4));
}

TEST(BoundedTable, KeepsValuesWhereTheyAre) {
  BoundedTable<int, int> table(1000);
  int* const first = &table.Insert(0, [](int, int) {});
  for (int key = 1; key < 1000; ++key) table.Insert(key, [](int, int) {});
  EXPECT_EQ(table.Find(0), first);
}

TEST(BoundedTable, OfNoCapacityHoldsOne) {
  Filled filled(0);
  EXPECT_EQ(filled.table.idlest(), nullptr);
  filled.Insert(1);
  filled.Insert(2);
  EXPECT_THAT(filled.evicted, ElementsAre(1));
  EXPECT_EQ(filled.table.size(), 1u);
}

}  // namespace
}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "base/string_map.h"

#include <gtest/gtest.h>

namespace routelens {
namespace {

TEST(StringMap, IsAskedWithPartsOfATextWithoutACopy) {
  StringMap<int> map;
  map.emplace("example.com", 1);
  map[std::string("a\0b", 3)] = 2;
  const std::string_view text = "mcp.example.com";
  ASSERT_NE(map.find(text.substr(4)), map.end());
  EXPECT_EQ(map.find(text.substr(4))->second, 1);
  EXPECT_EQ(map.find(text), map.end());
  EXPECT_EQ(map.find(std::string_view("a")), map.end());
  EXPECT_TRUE(map.contains(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace routelens

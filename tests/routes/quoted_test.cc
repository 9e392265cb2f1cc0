// SPDX-License-Identifier: Apache-2.0
#include "routes/quoted.h"

#include <gtest/gtest.h>

namespace routelens {
namespace {

TEST(Quoted, CannotMoveACursorOrForgeALine) {
  EXPECT_EQ(Quoted("mcp.example.com"), "'mcp.example.com'");
  EXPECT_EQ(Quoted("a\x1b[2J\nb\x7F"), "'a\\x1b[2J\\x0ab\\x7f'");
  EXPECT_EQ(Quoted("it's a \\"), "'it\\x27s a \\x5c'");
  EXPECT_EQ(Quoted("b\xC3\xBC"
                   "cher"),
            "'b\xC3\xBC"
            "cher'");
  EXPECT_EQ(Escaped("tab\there"), "tab\\x09here");
}

TEST(Quoted, IsCutBetweenCharacters) {
  EXPECT_EQ(Quoted(std::string(80, 'a')), "'" + std::string(80, 'a') + "'");
  EXPECT_EQ(Quoted(std::string(81, 'a')), "'" + std::string(80, 'a') + "...'");
  EXPECT_EQ(Quoted(std::string(79, 'a') + "\xC3\xBC"
                                          "x"),
            "'" + std::string(79, 'a') + "...'");
}

TEST(Quoted, LeavesPlainKeysAlone) {
  EXPECT_EQ(QuotedKey("git-hub_2.x"), "git-hub_2.x");
  EXPECT_EQ(QuotedKey("my rule"), "'my rule'");
  EXPECT_EQ(QuotedKey(""), "''");
}

}  // namespace
}  // namespace routelens

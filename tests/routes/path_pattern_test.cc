// SPDX-License-Identifier: Apache-2.0
#include "routes/path_pattern.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace routelens {
namespace {

bool Matches(std::string_view pattern, std::string_view path) {
  return PathPattern(pattern).Matches(path);
}

bool Overlap(std::string_view a, std::string_view b) {
  size_t budget = std::numeric_limits<size_t>::max();
  const bool overlap = PathPattern(a).Overlaps(PathPattern(b), budget);
  EXPECT_EQ(PathPattern(b).Overlaps(PathPattern(a), budget), overlap) << a << " " << b;
  return overlap;
}

TEST(PathPattern, MatchesEverythingInThreeSpellings) {
  for (const char* all : {"", "**", "/**"}) {
    EXPECT_TRUE(Matches(all, "/"));
    EXPECT_TRUE(Matches(all, "/a/b"));
    EXPECT_EQ(PathPattern(all).specificity(), 1u);
  }
}

TEST(PathPattern, MatchesAPathExactly) {
  EXPECT_TRUE(Matches("/mcp", "/mcp"));
  EXPECT_FALSE(Matches("/mcp", "/mcp/"));
  EXPECT_FALSE(Matches("/mcp/", "/mcp"));
  EXPECT_FALSE(Matches("/mcp", "/MCP"));
  EXPECT_FALSE(Matches("/mcp", "/mcpx"));
}

TEST(PathPattern, MatchesASubtreeAndItsRoot) {
  EXPECT_TRUE(Matches("/a/**", "/a"));
  EXPECT_TRUE(Matches("/a/**", "/a/"));
  EXPECT_TRUE(Matches("/a/**", "/a/b/c"));
  EXPECT_FALSE(Matches("/a/**", "/ab"));
  EXPECT_FALSE(Matches("/a/**", "/"));
  // What stands before the last "/**" is no glob.
  EXPECT_FALSE(Matches("/*/x/**", "/a/x/b"));
  EXPECT_TRUE(Matches("/*/x/**", "/*/x/b"));
}

TEST(PathPattern, CrossesSlashesWithAStar) {
  EXPECT_TRUE(Matches("/a/*", "/a/b/c"));
  EXPECT_TRUE(Matches("/a/*", "/a/"));
  EXPECT_FALSE(Matches("/a/*", "/a"));
  EXPECT_TRUE(Matches("/*/mcp", "/x/y/mcp"));
  EXPECT_TRUE(Matches("*", "/anything"));
  EXPECT_TRUE(Matches("/v*/m*p", "/v1/mcp"));
  EXPECT_FALSE(Matches("/v*/mcp", "/v1/mcp/"));
}

TEST(PathPattern, TakesWholeSegmentsWithTwoStars) {
  EXPECT_TRUE(Matches("/a/**/b", "/a/b"));
  EXPECT_TRUE(Matches("/a/**/b", "/a/x/y/b"));
  EXPECT_FALSE(Matches("/a/**/b", "/a/xb"));
  EXPECT_TRUE(Matches("**/b", "/b"));
  EXPECT_TRUE(Matches("/**/**/b", "/a/b"));
}

TEST(PathPattern, KnowsOneCharacterAndSets) {
  EXPECT_TRUE(Matches("/v?", "/v1"));
  EXPECT_FALSE(Matches("/v?", "/v"));
  EXPECT_TRUE(Matches("/v[0-9a]", "/v7"));
  EXPECT_TRUE(Matches("/v[0-9a]", "/va"));
  EXPECT_FALSE(Matches("/v[0-9a]", "/vb"));
  EXPECT_TRUE(Matches("/v[!0-9]", "/vx"));
  EXPECT_FALSE(Matches("/v[!0-9]", "/v3"));
  EXPECT_TRUE(Matches("/v[]]x", "/v]x"));
  EXPECT_TRUE(Matches("/v[*]", "/v*"));
  EXPECT_FALSE(Matches("/v[9-0]", "/v5"));
}

TEST(PathPattern, MatchesOnlyItselfWhenTheGlobIsInvalid) {
  for (const char* invalid : {"/a**", "/***", "/a/**b", "/[abc", "/[", "/[!]", "/[]"}) {
    EXPECT_EQ(PathPattern(invalid).kind(), PathPattern::Kind::kInvalidGlob) << invalid;
    EXPECT_TRUE(Matches(invalid, invalid)) << invalid;
    EXPECT_FALSE(Matches(invalid, "/a/b")) << invalid;
    EXPECT_FALSE(Matches(invalid, "/a")) << invalid;
  }
}

TEST(PathPattern, CountsCharactersOtherThanStars) {
  EXPECT_EQ(PathPattern("/mcp").specificity(), 4u);
  EXPECT_EQ(PathPattern("/m*p").specificity(), 3u);
  EXPECT_EQ(PathPattern("/a/**").specificity(), 3u);
  EXPECT_EQ(PathPattern("/\xC3\xBC").specificity(), 2u);
}

TEST(PathPattern, AnswersAHostilePatternInBoundedTime) {
  std::string stars = "/";
  for (int i = 0; i < 200; ++i) stars += "*a";
  EXPECT_FALSE(Matches(stars, "/" + std::string(4000, 'a') + "b"));
  std::string segments;
  for (int i = 0; i < 200; ++i) segments += "/**/a*";
  EXPECT_FALSE(Matches(segments + "z", "/" + std::string(4000, 'a')));
}

TEST(PathPattern, FindsPathsThatTwoPatternsShare) {
  EXPECT_TRUE(Overlap("/**", "/mcp"));
  EXPECT_TRUE(Overlap("/a*", "/*b"));
  EXPECT_TRUE(Overlap("/a/**", "/a/b*"));
  EXPECT_TRUE(Overlap("/a/**", "/a*"));
  EXPECT_TRUE(Overlap("/v?", "/v[0-9]"));
  EXPECT_TRUE(Overlap("/a/**", "/a/b/**"));
  EXPECT_FALSE(Overlap("/a", "/b"));
  EXPECT_FALSE(Overlap("/a*", "/b*"));
  EXPECT_FALSE(Overlap("/v[0-4]", "/v[5-9]"));
  EXPECT_FALSE(Overlap("/a/**", "/ab*"));
  EXPECT_FALSE(Overlap("/a/**", "/b/**"));
}

TEST(PathPattern, StopsComparingWhenTheBudgetIsUsedUp) {
  size_t budget = 10;
  EXPECT_FALSE(PathPattern("/aaaa*").Overlaps(PathPattern("/a*aaa"), budget));
  EXPECT_EQ(budget, 0u);
}

// Property: a path that both match makes them overlap.
TEST(PathPattern, NeverDeniesAnOverlapThatExists) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string pieces[] = {"/", "a", "b", "*", "?", "[ab]", "/**/", "/**"};
  const auto pattern = [&] {
    std::string text = "/";
    for (size_t i = random() % 5; i > 0; --i) text += pieces[random() % std::size(pieces)];
    return text;
  };
  int shared = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string a = pattern();
    const std::string b = pattern();
    std::string path = "/";
    for (size_t i = random() % 5; i > 0; --i) path += "ab/"[random() % 3];
    if (!Matches(a, path) || !Matches(b, path))
      continue;
    ++shared;
    EXPECT_TRUE(Overlap(a, b)) << a << " " << b << " both match " << path;
  }
  EXPECT_GT(shared, 200);
}

}  // namespace
}  // namespace routelens

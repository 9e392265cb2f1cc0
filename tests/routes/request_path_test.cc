// SPDX-License-Identifier: Apache-2.0
#include "routes/request_path.h"

#include <gtest/gtest.h>

#include <random>

namespace routelens {
namespace {

std::string Normalized(std::string_view target) {
  return NormalizeRequestPath(target).value_or("(unknown)");
}

TEST(RequestPath, LeavesOutQueryAndFragment) {
  EXPECT_EQ(Normalized("/mcp?token=1"), "/mcp");
  EXPECT_EQ(Normalized("/mcp#top"), "/mcp");
  EXPECT_EQ(Normalized("/mcp?a#b"), "/mcp");
  EXPECT_EQ(Normalized("/?/etc"), "/");
}

TEST(RequestPath, DecodesUnreservedEscapesOnly) {
  EXPECT_EQ(Normalized("/%6d%63%70"), "/mcp");
  EXPECT_EQ(Normalized("/%7Euser/a%2Db%5Fc%2e"), "/~user/a-b_c.");
  EXPECT_EQ(Normalized("/a%3ab%40c"), "/a%3Ab%40c");
  EXPECT_EQ(Normalized("/b%c3%bccher"), "/b%C3%BCcher");
  EXPECT_EQ(Normalized("/a%252e"), "/a%252e");
}

TEST(RequestPath, ResolvesDotSegments) {
  EXPECT_EQ(Normalized("/a/./b"), "/a/b");
  EXPECT_EQ(Normalized("/a/../b"), "/b");
  EXPECT_EQ(Normalized("/a/b/.."), "/a/");
  EXPECT_EQ(Normalized("/a/b/."), "/a/b/");
  EXPECT_EQ(Normalized("/a/.."), "/");
  EXPECT_EQ(Normalized("/a/%2e%2E/b"), "/b");
  EXPECT_EQ(Normalized("/a/...//b"), "/a/.../b");
}

TEST(RequestPath, CollapsesSlashesAndKeepsATrailingOne) {
  EXPECT_EQ(Normalized("//a///b//"), "/a/b/");
  EXPECT_EQ(Normalized("/"), "/");
  EXPECT_EQ(Normalized("//"), "/");
}

TEST(RequestPath, StripsParametersBeforeDotSegments) {
  EXPECT_EQ(Normalized("/mcp;jsessionid=1/x;y"), "/mcp/x");
  EXPECT_EQ(Normalized("/a/..;x/b"), "/b");
  EXPECT_EQ(Normalized("/a/;x"), "/a/");
  EXPECT_EQ(Normalized("/a/;x/b"), "/a/b");
}

TEST(RequestPath, ReadsAbsoluteForm) {
  EXPECT_EQ(Normalized("http://mcp.example.com/mcp?x"), "/mcp");
  EXPECT_EQ(Normalized("https://mcp.example.com"), "/");
  EXPECT_EQ(Normalized("http://h?x"), "/");
  EXPECT_EQ(Normalized("/proxy/http://h/a"), "/proxy/http:/h/a");
}

TEST(RequestPath, EscapesWhatAPathCannotHold) {
  EXPECT_EQ(Normalized("/a|b\"c"), "/a%7Cb%22c");
}

TEST(RequestPath, IsUnknownWhenItCannotBeNormalised) {
  using std::string_view_literals::operator""sv;
  const std::string_view unknown[] = {
      "",      "*",      "mcp",        "example.com:443", "://x/a",  "/a%2Fb", "/a%2fb", "/a\x01",
      "/a\nb", "/a\x7F", "/b\xC3\xBC", "/a%00",           "/a%0d",   "/a%7F",  "/a%",    "/a%2",
      "/a%zz", "/..",    "/a/../..",   "/%2e%2e/etc",     "/a\0b"sv,
  };
  for (const std::string_view target : unknown)
    EXPECT_EQ(Normalized(target), "(unknown)") << target;
}

TEST(RequestPath, IsUnknownAboveFourKibibytes) {
  const std::string longest = "/" + std::string(4095, 'a');
  EXPECT_EQ(Normalized(longest), longest);
  EXPECT_EQ(Normalized(longest + "?" + std::string(9000, 'q')), longest);
  EXPECT_EQ(Normalized(longest + "a"), "(unknown)");
  // Grows when it is written in its one form, so that it would not be normal any more.
  EXPECT_EQ(Normalized("/" + std::string(2000, '|')), "(unknown)");
}

// Property: what comes out is in normal form, whatever went in.
TEST(RequestPath, IsNormalAfterOnePass) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string pieces[] = {"/",   ".",   "..",  ";",    "a",   "%2e", "%2E", "%25", "%41",
                                "%3b", "%7c", "|",   "*",    "~",   "%",   "2e",  "//",  "/./",
                                "[",   "]",   "%5B", "/../", "%40", "@",   ":",   "%3A"};
  int known = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string target = "/";
    for (size_t i = random() % 10; i > 0; --i) target += pieces[random() % std::size(pieces)];
    const std::optional<std::string> once = NormalizeRequestPath(target);
    if (!once)
      continue;
    ++known;
    EXPECT_EQ(NormalizeRequestPath(*once), once) << target;
    EXPECT_EQ(once->front(), '/') << target;
    EXPECT_EQ(once->find("//"), std::string::npos) << target;
    EXPECT_EQ(once->find(';'), std::string::npos) << target;
    EXPECT_EQ(("/" + *once + "/").find("/../"), std::string::npos) << target;
    EXPECT_EQ(("/" + *once + "/").find("/./"), std::string::npos) << target;
  }
  EXPECT_GT(known, 5000);
}

}  // namespace
}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// The `path` of a policy endpoint, compiled (design: route identity, Matching). "/**" matches every
// path; a trailing "/**" that path and its subtree; anything else is a glob as OpenShell's glob
// library reads it: `*` and `?` cross "/", "**" is whole segments, "[a-z]" and "[!a]" are sets, and
// a glob that is not valid matches only itself, byte for byte; so does one of more than
// kMaxGlobBytes, which no request is long enough for. Immutable value.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace routelens {

// A request's path has at most 4 KiB, so of a longer glob all but that is stars.
inline constexpr size_t kMaxGlobBytes = 16384;

class PathPattern {
 public:
  enum class Kind : uint8_t { kAll, kExact, kSubtree, kGlob, kInvalidGlob };

  PathPattern() = default;  // matches every path

  // `path` as canonical in Route, or as written.
  explicit PathPattern(std::string_view path);

  // `request_path` is what NormalizeRequestPath returned.
  bool Matches(std::string_view request_path) const;

  // True if some path could match both. May say true for two globs with "**" that share none.
  // `budget` is decremented by the work done; when it is used up the answer is false.
  bool Overlaps(const PathPattern& other, size_t& budget) const;

  Kind kind() const { return kind_; }

  // The path; of a subtree what stands before "/**".
  const std::string& text() const { return text_; }

  // Number of characters other than `*`: of several matching patterns the highest wins.
  size_t specificity() const { return specificity_; }

 private:
  enum class Step : uint8_t {
    kOne,            // one byte out of `set`
    kAnything,       // any run of bytes, "/" too
    kWholeSegments,  // nothing, or anything up to and with a "/"
  };

  struct Token {
    Step step = Step::kOne;
    std::bitset<256> set;
  };

  bool CompileGlob(std::string_view glob);
  size_t CompileSet(std::string_view glob, size_t begin);
  bool MatchesGlob(std::string_view path) const;
  static std::vector<Token> Literal(std::string_view text);
  static bool Intersect(const std::vector<Token>& a, const std::vector<Token>& b, size_t& budget);

  Kind kind_ = Kind::kAll;
  std::string text_ = "/**";
  size_t specificity_ = 1;
  std::vector<Token> tokens_;  // of kGlob
  size_t shortest_ = 0;        // bytes that a match of the glob has at least
};

}  // namespace routelens

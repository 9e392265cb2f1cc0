// SPDX-License-Identifier: Apache-2.0
#include "routes/path_pattern.h"

#include <algorithm>

#include "routes/route.h"

namespace routelens {
namespace {

constexpr std::string_view kSubtreeSuffix = "/**";

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

bool Spend(size_t work, size_t& budget) {
  const bool enough = work <= budget;
  budget = enough ? budget - work : 0;
  return enough;
}

// Characters, not bytes: a UTF-8 continuation byte does not count.
size_t CountSpecific(std::string_view path) {
  return static_cast<size_t>(std::count_if(path.begin(), path.end(), [](char c) {
    return c != '*' && (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

PathPattern::PathPattern(std::string_view path) : text_(CanonicalPath(path)) {
  specificity_ = CountSpecific(text_);
  if (text_ == kSubtreeSuffix)
    return;
  if (EndsWith(text_, kSubtreeSuffix)) {
    kind_ = Kind::kSubtree;
    text_.resize(text_.size() - kSubtreeSuffix.size());
    return;
  }
  if (text_.find_first_of("*?[") == std::string::npos) {
    kind_ = Kind::kExact;
    return;
  }
  kind_ = text_.size() <= kMaxGlobBytes && CompileGlob(text_) ? Kind::kGlob : Kind::kInvalidGlob;
  if (kind_ == Kind::kInvalidGlob)
    tokens_.clear();
  shortest_ = static_cast<size_t>(std::count_if(
      tokens_.begin(), tokens_.end(), [](const Token& t) { return t.step == Step::kOne; }));
}

bool PathPattern::CompileGlob(std::string_view glob) {
  for (size_t i = 0; i < glob.size();) {
    if (glob[i] == '[') {
      const size_t end = CompileSet(glob, i);
      if (end == 0)
        return false;
      i = end;
      continue;
    }
    if (glob[i] != '*') {
      Token one;
      if (glob[i] == '?')
        one.set.set();
      else
        one.set.set(static_cast<unsigned char>(glob[i]));
      tokens_.push_back(one);
      ++i;
      continue;
    }
    const size_t begin = i;
    while (i < glob.size() && glob[i] == '*') ++i;
    if (i - begin == 1) {
      tokens_.push_back({Step::kAnything, {}});
      continue;
    }
    // "**" is valid only as a whole segment, and takes the "/" after it.
    const bool starts_segment = begin == 0 || glob[begin - 1] == '/';
    const bool ends_segment = i == glob.size() || glob[i] == '/';
    if (i - begin > 2 || !starts_segment || !ends_segment)
      return false;
    if (i < glob.size())
      ++i;
    if (tokens_.empty() || tokens_.back().step != Step::kWholeSegments)
      tokens_.push_back({Step::kWholeSegments, {}});
  }
  return true;
}

// Returns the index after the set that starts at `begin`, 0 if it is not closed. A "]" that comes
// first stands for itself.
size_t PathPattern::CompileSet(std::string_view glob, size_t begin) {
  const bool negated = begin + 1 < glob.size() && glob[begin + 1] == '!';
  const size_t first = begin + (negated ? 2 : 1);
  const size_t close = first < glob.size() ? glob.find(']', first + 1) : std::string_view::npos;
  if (close == std::string_view::npos)
    return 0;
  const std::string_view members = glob.substr(first, close - first);
  Token one;
  for (size_t i = 0; i < members.size();) {
    const auto low = static_cast<unsigned char>(members[i]);
    if (i + 2 < members.size() && members[i + 1] == '-') {
      const auto high = static_cast<unsigned char>(members[i + 2]);
      for (unsigned c = low; c <= high; ++c) one.set.set(c);
      i += 3;
    } else {
      one.set.set(low);
      ++i;
    }
  }
  if (negated)
    one.set.flip();
  tokens_.push_back(one);
  return close + 1;
}

bool PathPattern::Matches(std::string_view request_path) const {
  switch (kind_) {
    case Kind::kAll:
      return true;
    case Kind::kExact:
    case Kind::kInvalidGlob:
      return request_path == text_;
    case Kind::kSubtree:
      return request_path.substr(0, text_.size()) == text_ &&
             (request_path.size() == text_.size() || request_path[text_.size()] == '/');
    case Kind::kGlob:
      return request_path == text_ || MatchesGlob(request_path);
  }
  return false;
}

// Simulates the pattern over all positions at once: the work is tokens times bytes whatever the
// pattern, where backtracking over two kinds of star could explode.
bool PathPattern::MatchesGlob(std::string_view path) const {
  if (path.size() < shortest_)
    return false;
  std::vector<uint8_t> at(path.size() + 1, 0);  // at[i]: the tokens so far can end before byte i
  at[0] = 1;
  for (const Token& token : tokens_) {
    if (token.step == Step::kOne) {
      for (size_t i = path.size(); i > 0; --i)
        at[i] = at[i - 1] != 0 && token.set[static_cast<unsigned char>(path[i - 1])] ? 1 : 0;
      at[0] = 0;
      continue;
    }
    bool reached = false;
    for (size_t i = 0; i <= path.size(); ++i) {
      const bool here = at[i] != 0;
      const bool may_end = token.step == Step::kAnything || (i > 0 && path[i - 1] == '/');
      at[i] = here || (reached && may_end) ? 1 : 0;
      reached = reached || here;
    }
  }
  return at[path.size()] != 0;
}

std::vector<PathPattern::Token> PathPattern::Literal(std::string_view text) {
  std::vector<Token> tokens(text.size());
  for (size_t i = 0; i < text.size(); ++i) tokens[i].set.set(static_cast<unsigned char>(text[i]));
  return tokens;
}

bool PathPattern::Overlaps(const PathPattern& other, size_t& budget) const {
  const auto exact = [](const PathPattern& p) {
    return p.kind_ == Kind::kExact || p.kind_ == Kind::kInvalidGlob;
  };
  if (kind_ == Kind::kAll || other.kind_ == Kind::kAll)
    return true;
  if (exact(*this) || exact(other)) {
    const PathPattern& path = exact(*this) ? *this : other;
    const PathPattern& pattern = exact(*this) ? other : *this;
    return Spend(pattern.tokens_.size() * path.text_.size(), budget) && pattern.Matches(path.text_);
  }
  if (kind_ == Kind::kSubtree && other.kind_ == Kind::kSubtree) {
    return Matches(other.text_) || other.Matches(text_);
  }
  if (kind_ == Kind::kGlob && other.kind_ == Kind::kGlob)
    return Intersect(tokens_, other.tokens_, budget);
  // A glob and a subtree: the subtree's own path, or anything below it.
  const PathPattern& glob = kind_ == Kind::kGlob ? *this : other;
  const PathPattern& subtree = kind_ == Kind::kGlob ? other : *this;
  std::vector<Token> below = Literal(subtree.text_ + "/");
  below.push_back({Step::kAnything, {}});
  return Intersect(glob.tokens_, Literal(subtree.text_), budget) ||
         Intersect(glob.tokens_, below, budget);
}

// Whether some text matches both: reachability over pairs of positions.
bool PathPattern::Intersect(const std::vector<Token>& a, const std::vector<Token>& b,
                            size_t& budget) {
  const size_t cells = (a.size() + 1) * (b.size() + 1);
  if (!Spend(cells, budget))
    return false;
  const size_t width = b.size() + 1;
  std::vector<uint8_t> reach(cells, 0);
  reach[0] = 1;
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (reach[i * width + j] == 0)
        continue;
      const bool star_a = i < a.size() && a[i].step != Step::kOne;
      const bool star_b = j < b.size() && b[j].step != Step::kOne;
      const bool one_a = i < a.size() && !star_a;
      const bool one_b = j < b.size() && !star_b;
      if (star_a || (star_b && one_a))
        reach[(i + 1) * width + j] = 1;
      if (star_b || (star_a && one_b))
        reach[i * width + j + 1] = 1;
      if (one_a && one_b && (a[i].set & b[j].set).any())
        reach[(i + 1) * width + j + 1] = 1;
    }
  }
  return reach[cells - 1] != 0;
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/near_word.h"

#include <algorithm>
#include <cstddef>

namespace routelens {
namespace {

constexpr size_t kMaxTyped = 64;  // nobody means a command with more letters

// Damerau-Levenshtein distance, the restricted form.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string NearestWord(std::string_view typed, const std::vector<std::string>& words) {
  if (typed.size() > kMaxTyped)
    return "";
  std::string nearest;
  size_t least = std::max<size_t>(1, typed.size() / 3) + 1;
  for (const std::string& word : words) {
    const size_t distance = Distance(typed, word);
    if (distance < least) {
      least = distance;
      nearest = word;
    }
  }
  return nearest;
}

}  // namespace routelens

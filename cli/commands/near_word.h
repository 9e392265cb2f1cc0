// SPDX-License-Identifier: Apache-2.0
//
// The word somebody probably meant. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace routelens {

// The one of `words` that `typed` is nearest to, by letters added, left out, changed or swapped; ""
// when even that is more than a third of it away. The first of equals.
std::string NearestWord(std::string_view typed, const std::vector<std::string>& words);

}  // namespace routelens

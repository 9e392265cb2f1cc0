// SPDX-License-Identifier: Apache-2.0
//
// A hash map keyed by std::string that can be asked with a std::string_view without a copy.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace routelens {

struct StringHash {
  using is_transparent = void;

  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

template <typename V>
using StringMap = absl::flat_hash_map<std::string, V, StringHash, std::equal_to<>>;

}  // namespace routelens

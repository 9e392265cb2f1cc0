// SPDX-License-Identifier: Apache-2.0
//
// The path of a request as matching compares it. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace routelens {

// A longer path, before or after it is normalised, counts as not known.
inline constexpr size_t kMaxRequestPathBytes = 4096;

// A request target (origin or absolute form) reduced to what matching compares: no query, no
// fragment, unreserved percent-escapes decoded and the others in upper case, dot segments resolved,
// "//" collapsed, ";params" stripped. Empty when the target cannot be normalised (control or
// non-ASCII bytes, a broken escape, "%2F", ".." above the root, over kMaxRequestPathBytes): path
// unknown. Normalising twice changes nothing.
std::optional<std::string> NormalizeRequestPath(std::string_view target);

}  // namespace routelens

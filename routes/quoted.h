// SPDX-License-Identifier: Apache-2.0
//
// Text of a policy inside a message: shortened, and with no byte that could move a terminal's
// cursor or forge a line.
#pragma once

#include <string>
#include <string_view>

namespace routelens {

// Without quotes, whole: control characters as \xNN.
std::string Escaped(std::string_view text);

// 'text' in single quotes; control characters as \xNN, at most 80 bytes and then "...".
std::string Quoted(std::string_view text);

// The same without quotes when `text` is only letters, digits, "_", "-" and ".".
std::string QuotedKey(std::string_view text);

}  // namespace routelens

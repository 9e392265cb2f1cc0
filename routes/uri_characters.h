// SPDX-License-Identifier: Apache-2.0
//
// Classes of characters of RFC 3986, section 2 (ASCII only, whatever the locale). Pure.
#pragma once

#include <cctype>
#include <string_view>

namespace routelens {

inline bool IsUnreserved(unsigned char c) {
  return (c < 0x80 && std::isalnum(c) != 0) || c == '-' || c == '.' || c == '_' || c == '~';
}

inline bool IsSubDelimiter(unsigned char c) {
  return std::string_view("!$&'()*+,;=").find(static_cast<char>(c)) != std::string_view::npos;
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "routes/quoted.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace routelens {
namespace {

constexpr size_t kMaxShownBytes = 80;

void AppendEscaped(std::string_view text, std::string_view also, std::string& out) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || also.find(c) != std::string_view::npos) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      out += escape;
    } else {
      out += c;
    }
  }
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string out;
  AppendEscaped(text, "", out);
  return out;
}

std::string Quoted(std::string_view text) {
  size_t end = std::min(text.size(), kMaxShownBytes);
  // Not in the middle of a UTF-8 character.
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  std::string out = "'";
  AppendEscaped(text.substr(0, end), "'\\", out);
  out += end < text.size() ? "...'" : "'";
  return out;
}

std::string QuotedKey(std::string_view text) {
  const bool plain =
      !text.empty() && text.size() <= kMaxShownBytes &&
      std::all_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x80 && (std::isalnum(byte) != 0 || c == '_' || c == '-' || c == '.');
      });
  return plain ? std::string(text) : Quoted(text);
}

}  // namespace routelens

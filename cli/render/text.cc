// SPDX-License-Identifier: Apache-2.0
#include "cli/render/text.h"

#include <algorithm>
#include <array>

namespace routelens {

std::string Printable(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

std::string Shorten(std::string_view text, size_t width) {
  constexpr std::string_view kDots = "...";
  if (text.size() <= width)
    return std::string(text);
  if (width <= kDots.size())
    return std::string(kDots.substr(0, width));
  return std::string(text.substr(0, width - kDots.size())) + std::string(kDots);
}

std::vector<std::string> Wrap(std::string_view text, size_t width) {
  width = std::max<size_t>(width, 1);
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!word.empty()) {
      std::string& line = lines.back();
      const size_t room = width - std::min(width, line.size() + (line.empty() ? 0 : 1));
      if (word.size() <= room) {
        if (!line.empty())
          line += ' ';
        line += word;
        break;
      }
      if (line.empty()) {
        line += word.substr(0, width);
        word.remove_prefix(std::min(width, word.size()));
      }
      if (!word.empty())
        lines.emplace_back();
    }
  }
  return lines;
}

std::string Paragraph(std::string_view first, std::string_view rest, std::string_view text,
                      size_t width) {
  std::string out;
  const size_t indent = std::max(first.size(), rest.size());
  std::string_view prefix = first;
  for (const std::string& line : Wrap(text, width - std::min(width, indent))) {
    ((out += prefix) += line) += '\n';
    prefix = rest;
  }
  return out;
}

std::string FormatAge(Duration age) {
  const int64_t seconds = std::max<int64_t>(age.ns, 0) / 1'000'000'000;
  if (seconds < 60)
    return std::to_string(seconds) + "s";
  if (seconds < 3600)
    return std::to_string(seconds / 60) + "m";
  if (seconds < 86400)
    return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86400) + "d";
}

std::string FormatPorts(const std::vector<uint16_t>& ports) {
  std::string out;
  for (const uint16_t port : ports) {
    if (!out.empty())
      out += ',';
    out += std::to_string(port);
  }
  return out;
}

std::string FormatAuthority(std::string_view host, uint16_t port) {
  std::string out = host.empty() ? "?" : Printable(host);
  if (out.find(':') != std::string::npos && out.front() != '[')
    out = "[" + out + "]";
  if (port != 0)
    out += ":" + std::to_string(port);
  return out;
}

std::string Paint(std::string_view text, Colour colour, bool enabled) {
  static constexpr std::array<std::string_view, 5> kCodes = {"", "\x1b[32m", "\x1b[31m", "\x1b[33m",
                                                             "\x1b[1m"};
  if (!enabled || colour == Colour::kNone)
    return std::string(text);
  return std::string(kCodes[static_cast<size_t>(colour)]) + std::string(text) + "\x1b[0m";
}

}  // namespace routelens

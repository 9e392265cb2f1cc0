// SPDX-License-Identifier: Apache-2.0
#include "routes/request_path.h"

#include <vector>

#include "routes/uri_characters.h"

namespace routelens {
namespace {

// What may stand in a path segment without an escape (RFC 3986 pchar).
bool IsSegmentCharacter(unsigned char c) {
  return IsUnreserved(c) || IsSubDelimiter(c) || c == ':' || c == '@';
}

int HexDigit(unsigned char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

void AppendEscape(unsigned char c, std::string& out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  out += '%';
  out += kDigits[c >> 4];
  out += kDigits[c & 0xF];
}

// The path of a target in origin form ("/a?b") or absolute form ("http://h/a?b").
std::optional<std::string_view> RawPath(std::string_view target) {
  target = target.substr(0, target.find_first_of("?#"));
  if (!target.empty() && target.front() == '/')
    return target;
  const size_t scheme = target.find("://");
  if (scheme == 0 || scheme == std::string_view::npos || target.find('/') < scheme)
    return std::nullopt;
  const size_t slash = target.find('/', scheme + 3);
  return slash == std::string_view::npos ? "/" : target.substr(slash);
}

// Decodes the unreserved escapes and writes every other byte in the one form that it has.
std::optional<std::string> NormalizeEscapes(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (size_t i = 0; i < path.size(); ++i) {
    const auto c = static_cast<unsigned char>(path[i]);
    if (c < 0x20 || c >= 0x7F)
      return std::nullopt;
    if (c != '%') {
      if (c == '/' || IsSegmentCharacter(c))
        out += static_cast<char>(c);
      else
        AppendEscape(c, out);
      continue;
    }
    if (i + 2 >= path.size())
      return std::nullopt;
    const int high = HexDigit(static_cast<unsigned char>(path[i + 1]));
    const int low = HexDigit(static_cast<unsigned char>(path[i + 2]));
    if (high < 0 || low < 0)
      return std::nullopt;
    const auto decoded = static_cast<unsigned char>(high << 4 | low);
    if (decoded < 0x20 || decoded == 0x7F || decoded == '/')
      return std::nullopt;
    if (IsUnreserved(decoded))
      out += static_cast<char>(decoded);
    else
      AppendEscape(decoded, out);
    i += 2;
  }
  return out;
}

}  // namespace

std::optional<std::string> NormalizeRequestPath(std::string_view target) {
  const std::optional<std::string_view> raw = RawPath(target);
  if (!raw || raw->size() > kMaxRequestPathBytes)
    return std::nullopt;
  const std::optional<std::string> escaped = NormalizeEscapes(*raw);
  if (!escaped)
    return std::nullopt;

  std::vector<std::string_view> segments;
  std::string_view rest = std::string_view(*escaped).substr(1);
  while (true) {
    const size_t slash = rest.find('/');
    const bool last = slash == std::string_view::npos;
    std::string_view segment = rest.substr(0, slash);
    // Before dot segments are resolved: "..;x" must not come back as ".." later.
    segment = segment.substr(0, segment.find(';'));
    if (segment == "..") {
      if (segments.empty())
        return std::nullopt;
      segments.pop_back();
      segment = {};
    } else if (segment == ".") {
      segment = {};
    }
    if (!segment.empty() || last)  // an empty last segment is a trailing slash
      segments.push_back(segment);
    if (last)
      break;
    rest.remove_prefix(slash + 1);
  }
  std::string path;
  path.reserve(escaped->size());
  for (const std::string_view segment : segments) {
    path += '/';
    path += segment;
  }
  return path.size() <= kMaxRequestPathBytes ? std::optional(path) : std::nullopt;
}

}  // namespace routelens

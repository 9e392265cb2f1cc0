// SPDX-License-Identifier: Apache-2.0
#include "routes/yaml_values.h"

#include <algorithm>

#include "routes/quoted.h"

namespace routelens {
namespace {

using Kind = YamlNode::Kind;

std::string_view NameOf(Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      return "a single value";
    case Kind::kSequence:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return "";
}

bool IsDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// What YAML's core schema reads as a decimal number.
bool IsPlainNumber(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+'))
    text.remove_prefix(1);
  const size_t point = text.find('.');
  return IsDigits(text.substr(0, point)) &&
         (point == std::string_view::npos || IsDigits(text.substr(point + 1)));
}

}  // namespace

const YamlNode* Field(const YamlNode& map, std::string_view name) {
  for (size_t i = 0; i < map.children.size(); i += 2) {
    if (map.children[i]->text == name)
      return map.children[i + 1];
  }
  return nullptr;
}

std::optional<bool> AsBool(const YamlNode& node) {
  if (node.kind != Kind::kScalar || node.quoted || node.foreign_tag)
    return std::nullopt;
  if (node.text == "true" || node.text == "True" || node.text == "TRUE")
    return true;
  if (node.text == "false" || node.text == "False" || node.text == "FALSE")
    return false;
  return std::nullopt;
}

std::optional<int64_t> AsInteger(const YamlNode& node) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  if (node.kind != Kind::kScalar || node.quoted || node.foreign_tag)
    return std::nullopt;
  std::string_view digits = node.text;
  const bool negative = !digits.empty() && digits.front() == '-';
  if (!digits.empty() && (negative || digits.front() == '+'))
    digits.remove_prefix(1);
  int64_t base = 10;
  if (digits.substr(0, 2) == "0x" || digits.substr(0, 2) == "0o") {
    base = digits[1] == 'x' ? 16 : 8;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits.front() == '0') {
    return std::nullopt;  // 0443 is text in YAML 1.2 and octal in 1.1
  }
  int64_t value = 0;
  for (const char c : digits) {
    const int64_t digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : base;
    if (digit >= base)
      return std::nullopt;
    value = std::min(value * base + digit, kLarge);
  }
  if (digits.empty())
    return std::nullopt;
  return negative ? -value : value;
}

bool IsPlainNumberOrBool(const YamlNode& node) {
  return node.kind == Kind::kScalar && !node.quoted &&
         (IsPlainNumber(node.text) || AsBool(node).has_value());
}

std::string Described(const YamlNode& node) {
  if (node.foreign_tag)
    return "a value with a YAML tag of its own";
  return std::string(NameOf(node.kind)) +
         (node.kind == Kind::kScalar ? " " + Quoted(node.text) : "");
}

}  // namespace routelens

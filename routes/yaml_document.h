// SPDX-License-Identifier: Apache-2.0
//
// One YAML document as a tree with line numbers, read by yaml-cpp's event parser and by nothing
// else. Refuses what a policy never needs and a hostile file may have: duplicate keys at any level
// (yaml-cpp keeps one in silence), alias bombs, deep nesting, several documents, bytes that are not
// UTF-8 text. Aliases share the node they refer to; limits count them as if written out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace routelens {

struct YamlNode {
  enum class Kind : uint8_t { kNull, kScalar, kSequence, kMap };

  Kind kind = Kind::kNull;
  bool quoted = false;  // a scalar that is text whatever it looks like: quoted, block, or !!str
  bool foreign_tag = false;               // has a tag other than those of the YAML core
  int line = 0;                           // from 1
  std::string text;                       // of a scalar
  std::vector<const YamlNode*> children;  // of a map: key, value, key, value; keys are scalars
};

struct YamlDocument {
  std::deque<YamlNode> nodes;
  const YamlNode* root = nullptr;  // in `nodes`
};

struct YamlLimits {
  size_t max_bytes = 0;
  size_t max_nodes = 0;  // with every alias written out
  int max_depth = 0;     // with every alias written out
};

// InvalidArgument with "<source>:<line>: " in front when the line is known.
absl::Status YamlError(std::string_view source, int line, const std::string& message);

// Errors are YamlError's.
absl::StatusOr<YamlDocument> ParseYaml(std::string_view text, std::string_view source,
                                       const YamlLimits& limits);

}  // namespace routelens

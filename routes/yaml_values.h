// SPDX-License-Identifier: Apache-2.0
//
// What one YAML node says, by YAML 1.2's core schema. A quoted scalar is text whatever it looks
// like. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "routes/yaml_document.h"

namespace routelens {

// The value of a map's field, or nullptr. `map` must be a map.
const YamlNode* Field(const YamlNode& map, std::string_view name);

// Nothing if the node is no plain truth value.
std::optional<bool> AsBool(const YamlNode& node);

// The value of a plain integer (decimal, 0x or 0o), clamped to what a port could never be. Nothing
// if the node is no integer.
std::optional<int64_t> AsInteger(const YamlNode& node);

// True for what looks like text and is none.
bool IsPlainNumberOrBool(const YamlNode& node);

// For a message, behind "must be ..., not": "a list", "a single value 'x'".
std::string Described(const YamlNode& node);

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// JSON values to text that any terminal and any reader can take: ASCII only, and bytes that are not
// UTF-8 (names that programs chose) replaced instead of refused. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace routelens {

// In one line, or with `indent` spaces for each level.
inline std::string Dump(const nlohmann::ordered_json& value, int indent = -1) {
  using Json = nlohmann::ordered_json;
  return value.dump(indent, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace routelens

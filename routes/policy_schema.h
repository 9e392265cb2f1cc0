// SPDX-License-Identifier: Apache-2.0
//
// The names of the fields that OpenShell's policy YAML has, so that a field which Routelens does
// not need is told from one that nobody knows. Types are not here: the parser checks those of the
// fields it reads.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "routes/yaml_document.h"

namespace routelens {

struct PolicyField;

// The fields of one kind of map.
using PolicySchema = std::span<const PolicyField>;

struct PolicyField {
  std::string_view name;
  PolicySchema inner;  // of its map, or of the maps in its list; empty: not looked into
};

extern const PolicySchema kPolicySchema;    // the top of the file, without network_policies' inside
extern const PolicySchema kRuleSchema;      // network_policies.<rule>, without endpoints' inside
extern const PolicySchema kEndpointSchema;  // network_policies.<rule>.endpoints[i], all of it
extern const PolicySchema kBinarySchema;    // network_policies.<rule>.binaries[i]

// Calls `tell` for each field below `node` that its schema does not have: where it stands
// ("<where>.mcp.foo"), its key, and the schema. Does not look inside unknown fields.
using UnknownField =
    std::function<void(const std::string& where, const YamlNode& key, PolicySchema schema)>;
void FindUnknownFields(const YamlNode& node, PolicySchema schema, const std::string& where,
                       const UnknownField& tell);

// The known field that `name` may be a misspelling of, "" if none is near.
std::string_view NearestField(std::string_view name, PolicySchema schema);

}  // namespace routelens

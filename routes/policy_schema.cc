// SPDX-License-Identifier: Apache-2.0
#include "routes/policy_schema.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "routes/quoted.h"

namespace routelens {
namespace {

constexpr PolicyField kFilesystem[] = {
    {"include_workdir", {}}, {"read_only", {}}, {"read_write", {}}};
constexpr PolicyField kLandlock[] = {{"compatibility", {}}};
constexpr PolicyField kProcess[] = {{"run_as_user", {}}, {"run_as_group", {}}};
constexpr PolicyField kTop[] = {
    {"version", {}},       {"filesystem_policy", kFilesystem}, {"landlock", kLandlock},
    {"process", kProcess}, {"network_policies", {}},           {"network_middlewares", {}},
};

constexpr PolicyField kRule[] = {{"name", {}}, {"endpoints", {}}, {"binaries", {}}};
constexpr PolicyField kBinary[] = {{"path", {}}, {"harness", {}}};

constexpr PolicyField kMatcher[] = {
    {"method", {}},         {"path", {}},   {"command", {}}, {"query", {}},  {"operation_type", {}},
    {"operation_name", {}}, {"fields", {}}, {"tool", {}},    {"params", {}},
};
constexpr PolicyField kAllowRule[] = {{"allow", kMatcher}};
constexpr PolicyField kJsonRpc[] = {{"max_body_bytes", {}}};
constexpr PolicyField kMcp[] = {
    {"max_body_bytes", {}},
    {"strict_tool_names", {}},
    {"allow_all_known_mcp_methods", {}},
    {"versions", {}},
};
constexpr PolicyField kBinding[] = {{"provider", {}}};
constexpr PolicyField kEndpoint[] = {
    {"host", {}},
    {"path", {}},
    {"port", {}},
    {"ports", {}},
    {"protocol", {}},
    {"tls", {}},
    {"enforcement", {}},
    {"access", {}},
    {"rules", kAllowRule},
    {"deny_rules", kMatcher},
    {"allowed_ips", {}},
    {"allow_encoded_slash", {}},
    {"websocket_credential_rewrite", {}},
    {"request_body_credential_rewrite", {}},
    {"allow_uninspected_credentials", {}},
    {"persisted_queries", {}},
    {"graphql_persisted_queries", {}},
    {"graphql_max_body_bytes", {}},
    {"credential_signing", {}},
    {"signing_service", {}},
    {"signing_region", {}},
    {"json_rpc", kJsonRpc},
    {"json_rpc_max_body_bytes", {}},
    {"mcp", kMcp},
    {"credential_binding", kBinding},
    {"provider_credentialed", {}},
    {"advisor_proposed", {}},
};

constexpr size_t kMaxComparedBytes = 40;

// Levenshtein distance.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

const PolicySchema kPolicySchema = kTop;
const PolicySchema kRuleSchema = kRule;
const PolicySchema kEndpointSchema = kEndpoint;
const PolicySchema kBinarySchema = kBinary;

void FindUnknownFields(const YamlNode& node, PolicySchema schema, const std::string& where,
                       const UnknownField& tell) {
  if (node.kind == YamlNode::Kind::kSequence) {
    for (size_t i = 0; i < node.children.size(); ++i) {
      const YamlNode& item = *node.children[i];
      if (item.kind == YamlNode::Kind::kMap)
        FindUnknownFields(item, schema, where + "[" + std::to_string(i) + "]", tell);
    }
    return;
  }
  if (node.kind != YamlNode::Kind::kMap)
    return;
  for (size_t i = 0; i < node.children.size(); i += 2) {
    const YamlNode& key = *node.children[i];
    const auto known = std::find_if(schema.begin(), schema.end(), [&](const PolicyField& field) {
      return field.name == key.text;
    });
    const std::string here = where + (where.empty() ? "" : ".") + QuotedKey(key.text);
    if (known == schema.end())
      tell(here, key, schema);
    else if (!known->inner.empty())
      FindUnknownFields(*node.children[i + 1], known->inner, here, tell);
  }
}

std::string_view NearestField(std::string_view name, PolicySchema schema) {
  if (name.size() > kMaxComparedBytes)
    return {};
  std::string_view nearest;
  size_t least = std::min<size_t>(2, name.size() / 3) + 1;
  for (const PolicyField& field : schema) {
    const size_t distance = EditDistance(name, field.name);
    if (distance < least) {
      least = distance;
      nearest = field.name;
    }
  }
  return nearest;
}

}  // namespace routelens

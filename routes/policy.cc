// SPDX-License-Identifier: Apache-2.0
#include "routes/policy.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/status_util.h"
#include "routes/host_pattern.h"
#include "routes/policy_lint.h"
#include "routes/policy_schema.h"
#include "routes/quoted.h"
#include "routes/yaml_document.h"
#include "routes/yaml_values.h"

namespace routelens {
namespace {

using Kind = YamlNode::Kind;

// A file of nothing but mistakes must not become a report larger than itself.
constexpr size_t kMaxWarnings = 500;

// Rust's str::trim, as far as ASCII goes.
std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

class PolicyParser {
 public:
  PolicyParser(std::string_view source, const std::set<std::string>& credentialed,
               const PolicyLimits& limits)
      : source_(source), credentialed_(credentialed), limits_(limits) {}

  absl::StatusOr<Policy> Parse(const YamlNode& root) {
    RL_RETURN_IF_ERROR(ExpectMap(root, "the policy"));
    RL_RETURN_IF_ERROR(RefuseUnknown(root, kPolicySchema, ""));
    const YamlNode* rules = Field(root, "network_policies");
    if (rules == nullptr || rules->kind == Kind::kNull) {
      Warn("network_policies", rules == nullptr ? 0 : rules->line,
           "there are no network_policies, so the policy has no routes");
    } else {
      RL_RETURN_IF_ERROR(ExpectMap(*rules, "network_policies"));
      for (size_t i = 0; i < rules->children.size(); i += 2)
        RL_RETURN_IF_ERROR(ParseRule(*rules->children[i], *rules->children[i + 1]));
    }
    CollectRoutes();
    LintEndpoints(
        policy_, places_, [this](size_t endpoint, std::string_view field, const std::string& what) {
          const EndpointPlace& place = places_[endpoint];
          Warn(place.where + (field.empty() ? "" : ".") + std::string(field), place.line, what);
        });
    if (warnings_left_out_ > 0) {
      policy_.warnings.push_back(
          {std::string(source_), std::to_string(warnings_left_out_) + " more warnings left out"});
    }
    return std::move(policy_);
  }

 private:
  absl::Status Error(const std::string& where, int line, const std::string& what) const {
    return YamlError(source_, line, where + ": " + what);
  }

  bool HasRoomForWarning() const { return policy_.warnings.size() < kMaxWarnings; }

  void Warn(const std::string& where, int line, const std::string& what) {
    if (!HasRoomForWarning()) {
      ++warnings_left_out_;
      return;
    }
    policy_.warnings.push_back(
        {where + (line > 0 ? " (line " + std::to_string(line) + ")" : ""), what});
  }

  absl::Status ExpectMap(const YamlNode& node, const std::string& where) const {
    if (node.kind == Kind::kMap && !node.foreign_tag)
      return absl::OkStatus();
    return Error(where, node.line, "must be a map of names to values, not " + Described(node));
  }

  // Null counts as an empty list.
  absl::Status ExpectList(const YamlNode& node, const std::string& where,
                          const std::string& remedy) const {
    if ((node.kind == Kind::kSequence && !node.foreign_tag) || node.kind == Kind::kNull)
      return absl::OkStatus();
    return Error(where, node.line, "must be a list, not " + Described(node) + "; " + remedy);
  }

  // Text of a field that is absent or a string. Plain numbers and truth values are not strings.
  absl::Status ReadText(const YamlNode& map, std::string_view name, const std::string& where,
                        std::string& out) const {
    const YamlNode* node = Field(map, name);
    if (node == nullptr)
      return absl::OkStatus();
    const std::string here = where + "." + std::string(name);
    if (node->kind != Kind::kScalar || node->foreign_tag)
      return Error(here, node->line, "must be text, not " + Described(*node));
    if (IsPlainNumberOrBool(*node)) {
      return Error(here, node->line,
                   "must be text, not the number or truth value " + Quoted(node->text) +
                       "; put it in quotes if it is meant as text");
    }
    out = node->text;
    return absl::OkStatus();
  }

  // `where()` is asked only to say what is wrong: a policy may have a million ports.
  template <typename Where>
  absl::StatusOr<int64_t> ReadPort(const YamlNode& node, const Where& where, int64_t lowest) const {
    const std::optional<int64_t> port = AsInteger(node);
    if (!port) {
      return Error(where(), node.line,
                   "must be a whole number without quotes, not " + Described(node));
    }
    if (*port < lowest || *port > 65535) {
      return Error(where(), node.line,
                   "port " + Quoted(node.text) +
                       " is outside 1..65535; write the port that the server listens on");
    }
    return *port;
  }

  // Warns about unknown fields; refuses merge keys, which OpenShell does not expand either: what
  // they would bring in would be missing without a word.
  absl::Status RefuseUnknown(const YamlNode& node, PolicySchema schema, const std::string& where) {
    absl::Status status;
    FindUnknownFields(node, schema, where,
                      [&](const std::string& here, const YamlNode& key, PolicySchema siblings) {
                        if (key.text == "<<" && !key.quoted) {
                          if (status.ok())
                            status = Error(here, key.line,
                                           "merge keys are not supported; write the fields out");
                          return;
                        }
                        std::string what = "unknown field, ignored";
                        if (HasRoomForWarning()) {
                          const std::string_view meant = NearestField(key.text, siblings);
                          if (!meant.empty())
                            what += "; did you mean " + Quoted(meant) + "?";
                        }
                        Warn(here, key.line, what);
                      });
    return status;
  }

  absl::Status ParseRule(const YamlNode& key, const YamlNode& rule) {
    const std::string where = "network_policies." + QuotedKey(key.text);
    RL_RETURN_IF_ERROR(ExpectMap(rule, where));
    RL_RETURN_IF_ERROR(RefuseUnknown(rule, kRuleSchema, where));
    bool has_binaries = false;
    if (const YamlNode* binaries = Field(rule, "binaries")) {
      RL_RETURN_IF_ERROR(ParseBinaries(*binaries, where + ".binaries"));
      has_binaries = !binaries->children.empty();
    }
    const YamlNode* endpoints = Field(rule, "endpoints");
    if (endpoints == nullptr)
      return absl::OkStatus();
    RL_RETURN_IF_ERROR(
        ExpectList(*endpoints, where + ".endpoints", "begin each endpoint with '- host: ...'"));
    if (!has_binaries && !endpoints->children.empty()) {
      Warn(
          where, key.line,
          "the rule names no binaries, so it matches no program and every request to its endpoints "
          "is denied; add 'binaries'");
    }
    for (size_t i = 0; i < endpoints->children.size(); ++i) {
      RL_RETURN_IF_ERROR(ParseEndpoint(key.text, *endpoints->children[i],
                                       where + ".endpoints[" + std::to_string(i) + "]",
                                       has_binaries));
    }
    return absl::OkStatus();
  }

  absl::Status ParseBinaries(const YamlNode& binaries, const std::string& where) {
    RL_RETURN_IF_ERROR(ExpectList(binaries, where, "write '- path: /usr/bin/program'"));
    for (size_t i = 0; i < binaries.children.size(); ++i) {
      const YamlNode& binary = *binaries.children[i];
      const std::string here = where + "[" + std::to_string(i) + "]";
      if (binary.kind != Kind::kMap) {
        return Error(here, binary.line,
                     "must be a map with 'path', not " + Described(binary) +
                         "; write '- path: /usr/bin/program'");
      }
      RL_RETURN_IF_ERROR(RefuseUnknown(binary, kBinarySchema, here));
      std::string path;
      RL_RETURN_IF_ERROR(ReadText(binary, "path", here, path));
      if (path.empty())
        return Error(here, binary.line, "has no 'path'; write '- path: /usr/bin/program'");
    }
    return absl::OkStatus();
  }

  absl::Status ParseEndpoint(const std::string& rule, const YamlNode& node,
                             const std::string& where, bool has_binaries) {
    RL_RETURN_IF_ERROR(ExpectMap(node, where));
    if (policy_.endpoints.size() >= limits_.max_endpoints) {
      return Error(
          where, node.line,
          "more than " + std::to_string(limits_.max_endpoints) + " endpoints; split the policy");
    }
    RL_RETURN_IF_ERROR(RefuseUnknown(node, kEndpointSchema, where));
    PolicyEndpoint endpoint;
    endpoint.rule = rule;
    endpoint.has_binaries = has_binaries;
    std::string protocol;
    std::string enforcement;
    RL_RETURN_IF_ERROR(ReadText(node, "host", where, endpoint.host));
    RL_RETURN_IF_ERROR(ReadText(node, "path", where, endpoint.path));
    RL_RETURN_IF_ERROR(ReadText(node, "protocol", where, protocol));
    RL_RETURN_IF_ERROR(ReadText(node, "enforcement", where, enforcement));
    RL_RETURN_IF_ERROR(ReadPorts(node, where, endpoint.ports));
    RL_RETURN_IF_ERROR(ReadCredential(node, where, endpoint.credentialed));
    endpoint.protocol = CanonicalHost(Trim(protocol));  // ASCII lower case, as of a host
    endpoint.enforced = enforcement == "enforce";
    endpoint.is_route = endpoint.protocol == "mcp" && !endpoint.host.empty() &&
                        !IsWildcardHost(endpoint.host) && !endpoint.ports.empty();
    TellOddities(endpoint, enforcement, where, node.line);
    places_.push_back({where, node.line});
    policy_.endpoints.push_back(std::move(endpoint));
    return absl::OkStatus();
  }

  absl::Status ReadPorts(const YamlNode& node, const std::string& where,
                         std::vector<uint16_t>& out) {
    const YamlNode* single = Field(node, "port");
    const YamlNode* many = Field(node, "ports");
    int64_t port = 0;
    if (single != nullptr) {
      // 0 is how older policies say "none".
      const absl::StatusOr<int64_t> read = ReadPort(
          *single, [&] { return where + ".port"; }, 0);
      if (!read.ok())
        return read.status();
      port = *read;
    }
    if (many != nullptr) {
      RL_RETURN_IF_ERROR(ExpectList(*many, where + ".ports", "write 'ports: [443]'"));
      if (many->children.size() > limits_.max_ports_per_endpoint) {
        return Error(where + ".ports", many->line,
                     "more than " + std::to_string(limits_.max_ports_per_endpoint) +
                         " ports; split the endpoint");
      }
      for (size_t i = 0; i < many->children.size(); ++i) {
        const absl::StatusOr<int64_t> read = ReadPort(
            *many->children[i], [&] { return where + ".ports[" + std::to_string(i) + "]"; }, 1);
        if (!read.ok())
          return read.status();
        out.push_back(static_cast<uint16_t>(*read));
      }
    }
    if (port == 0)
      return absl::OkStatus();
    const auto authored = static_cast<uint16_t>(port);
    if (out.empty()) {
      out.push_back(authored);
    } else if (std::find(out.begin(), out.end(), authored) == out.end()) {
      Warn(where + ".port", single->line,
           "ignored, because 'ports' is there too; add it to 'ports' or remove it");
    }
    return absl::OkStatus();
  }

  absl::Status ReadCredential(const YamlNode& node, const std::string& where,
                              bool& credentialed) const {
    const YamlNode* binding = Field(node, "credential_binding");
    if (binding != nullptr && binding->kind != Kind::kNull) {
      RL_RETURN_IF_ERROR(ExpectMap(*binding, where + ".credential_binding"));
      credentialed = true;
    }
    const YamlNode* derived = Field(node, "provider_credentialed");
    if (derived != nullptr && derived->kind != Kind::kNull) {
      const std::optional<bool> value = AsBool(*derived);
      if (!value) {
        return Error(where + ".provider_credentialed", derived->line,
                     "must be true or false, not " + Described(*derived));
      }
      credentialed = credentialed || *value;
    }
    return absl::OkStatus();
  }

  void TellOddities(const PolicyEndpoint& endpoint, const std::string& enforcement,
                    const std::string& where, int line) {
    constexpr std::string_view kProtocols[] = {"",    "rest",     "websocket", "graphql",
                                               "sql", "json-rpc", "mcp",       "tcp"};
    if (std::find(std::begin(kProtocols), std::end(kProtocols), endpoint.protocol) ==
        std::end(kProtocols)) {
      Warn(where + ".protocol", line,
           "unknown protocol " + Quoted(endpoint.protocol) + "; only 'mcp' makes a route");
    }
    if (!enforcement.empty() && enforcement != "enforce" && enforcement != "audit") {
      Warn(where + ".enforcement", line,
           "unknown enforcement " + Quoted(enforcement) +
               ", taken as 'audit'; write 'enforce' or "
               "'audit'");
    }
    if (endpoint.ports.empty()) {
      Warn(where, line, "has no port, so no request can match it; write 'port' or 'ports'");
    } else if (endpoint.protocol == "mcp" && endpoint.host.empty()) {
      Warn(where, line, "an MCP endpoint without a host is no route; write its 'host'");
    }
  }

  void CollectRoutes() {
    std::map<std::string, Route> by_subject;
    for (PolicyEndpoint& endpoint : policy_.endpoints) {
      if (!endpoint.is_route)
        continue;
      Route route = MakeRoute(endpoint.host, endpoint.ports, endpoint.path, endpoint.credentialed);
      if (credentialed_.count(route.subject.text) > 0)
        endpoint.credentialed = route.credentialed = true;
      const bool credentialed = route.credentialed;
      const auto [merged, added] = by_subject.emplace(route.subject.text, std::move(route));
      if (!added)
        merged->second.credentialed = merged->second.credentialed || credentialed;
    }
    for (const std::string& subject : credentialed_) {
      if (by_subject.count(subject) == 0) {
        Warn("credentialed " + Quoted(subject), 0,
             "is not the subject of any route of this policy; 'policy routes' lists them");
      }
    }
    for (auto& [subject, route] : by_subject) policy_.routes.push_back(std::move(route));
  }

  const std::string_view source_;
  const std::set<std::string>& credentialed_;
  const PolicyLimits& limits_;
  Policy policy_;
  std::vector<EndpointPlace> places_;  // of policy_.endpoints
  size_t warnings_left_out_ = 0;
};

}  // namespace

absl::StatusOr<Policy> ParsePolicy(std::string_view yaml, std::string_view source,
                                   const std::set<std::string>& credentialed,
                                   const PolicyLimits& limits) {
  const absl::StatusOr<YamlDocument> document =
      ParseYaml(yaml, source, {limits.max_bytes, limits.max_nodes, limits.max_depth});
  if (!document.ok())
    return document.status();
  if (document->root == nullptr || document->root->kind == Kind::kNull) {
    return YamlError(source, 0,
                     "is empty; a policy has at least 'network_policies:' with one rule");
  }
  return PolicyParser(source, credentialed, limits).Parse(*document->root);
}

}  // namespace routelens

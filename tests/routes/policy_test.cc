// SPDX-License-Identifier: Apache-2.0
#include "routes/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_util.h"

namespace routelens {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A policy with every field that OpenShell has, and no word to say about it.
constexpr std::string_view kWholePolicy = R"(# a sandbox
version: 1
filesystem_policy:
  include_workdir: true
  read_only: [/usr, /lib]
  read_write: [/sandbox]
landlock: {compatibility: best_effort}
process: {run_as_user: sandbox, run_as_group: sandbox}
network_policies:
  tickets:
    name: tickets
    endpoints:
      - host: MCP.Tickets.example
        ports: [8443, 443, 443]
        path: /mcp
        protocol: " MCP "
        enforcement: enforce
        tls: terminate
        rules:
          - allow: {method: initialize}
          - allow: {method: tools/call, tool: {any: ["search", "read_*"]}}
        deny_rules:
          - {method: tools/call, tool: delete}
        mcp: {max_body_bytes: 65536, strict_tool_names: true, allow_all_known_mcp_methods: false,
              versions: ["2025-06-18"]}
        credential_binding: {provider: tickets}
        allow_uninspected_credentials: false
    binaries:
      - path: /usr/bin/node
      - {path: /usr/bin/python3, harness: true}
  web:
    endpoints:
      - host: "*.docs.example"
        port: 443
        protocol: rest
        access: read-only
        allow_encoded_slash: true
        websocket_credential_rewrite: false
        request_body_credential_rewrite: false
        credential_signing: sigv4
        signing_service: s3
        signing_region: eu-1
      - {host: graph.example, port: 443, protocol: graphql, persisted_queries: deny,
         graphql_max_body_bytes: 1, graphql_persisted_queries: {a: {operation_type: query}}}
      - {host: rpc.example, port: 443, protocol: json-rpc, json_rpc: {max_body_bytes: 5}}
      - allowed_ips: [10.0.0.0/8]
        port: 5432
    binaries: [{path: /usr/bin/curl}]
network_middlewares:
  audit: {anything: [1, {x: y}]}
)";

Policy Parsed(std::string_view yaml, const std::set<std::string>& credentialed = {}) {
  absl::StatusOr<Policy> policy = ParsePolicy(yaml, "policy.yaml", credentialed);
  EXPECT_TRUE(policy.ok()) << MessageOf(policy.status());
  return policy.ok() ? *std::move(policy) : Policy{};
}

// One rule "r" with one endpoint of these fields, and a binary.
std::string OneEndpoint(const std::string& fields) {
  return "network_policies:\n  r:\n    endpoints:\n      - {" + fields +
         "}\n    binaries: [{path: /usr/bin/curl}]\n";
}

PolicyEndpoint Only(const std::string& fields) {
  const Policy policy = Parsed(OneEndpoint(fields));
  EXPECT_EQ(policy.endpoints.size(), 1u);
  return policy.endpoints.empty() ? PolicyEndpoint{} : policy.endpoints.front();
}

TEST(Policy, ReadsEveryFieldThatOpenShellHasWithoutAWord) {
  const Policy policy = Parsed(kWholePolicy);
  EXPECT_THAT(policy.warnings, IsEmpty())
      << policy.warnings.front().where << ": " << policy.warnings.front().what;
  ASSERT_THAT(policy.endpoints, SizeIs(5));
  const PolicyEndpoint& mcp = policy.endpoints[0];
  EXPECT_EQ(mcp.rule, "tickets");
  EXPECT_EQ(mcp.host, "MCP.Tickets.example");
  EXPECT_THAT(mcp.ports, ElementsAre(8443, 443, 443));
  EXPECT_EQ(mcp.path, "/mcp");
  EXPECT_EQ(mcp.protocol, "mcp");
  EXPECT_TRUE(mcp.is_route);
  EXPECT_TRUE(mcp.credentialed);
  EXPECT_TRUE(mcp.enforced);
  EXPECT_TRUE(mcp.has_binaries);
  for (size_t i = 1; i < policy.endpoints.size(); ++i) {
    EXPECT_FALSE(policy.endpoints[i].is_route);
    EXPECT_FALSE(policy.endpoints[i].enforced);
  }
  EXPECT_EQ(policy.endpoints[4].host, "");
  EXPECT_THAT(policy.endpoints[4].ports, ElementsAre(5432));
  ASSERT_THAT(policy.routes, SizeIs(1));
  EXPECT_EQ(policy.routes[0], MakeRoute("mcp.tickets.example", {443, 8443}, "/mcp", true));
}

TEST(Policy, TakesPortsBeforePort) {
  EXPECT_THAT(Only("host: h, ports: [1, 2], port: 2").ports, ElementsAre(1, 2));
  EXPECT_THAT(Only("host: h, port: 443").ports, ElementsAre(443));
  EXPECT_THAT(Only("host: h, ports: [], port: 443").ports, ElementsAre(443));
  EXPECT_THAT(Only("host: h, ports: [0x1bb, 65535]").ports, ElementsAre(443, 65535));
}

TEST(Policy, DropsPortZeroThatStandsAlone) {
  const Policy policy = Parsed(OneEndpoint("host: h, port: 0, protocol: mcp"));
  EXPECT_THAT(policy.routes, IsEmpty());
  ASSERT_THAT(policy.warnings, SizeIs(1));
  EXPECT_THAT(policy.warnings[0].what, HasSubstr("has no port"));
  EXPECT_THAT(Only("host: h, port: 0, ports: [443]").ports, ElementsAre(443));
}

TEST(Policy, MakesRoutesOfMcpEndpointsWithHostAndPortOnly) {
  EXPECT_TRUE(Only("host: h.test, port: 1, protocol: Mcp").is_route);
  EXPECT_FALSE(Only("host: h.test, port: 1, protocol: rest").is_route);
  EXPECT_FALSE(Only("host: h.test, port: 1").is_route);
  EXPECT_FALSE(Only("host: h.test, protocol: mcp").is_route);
  EXPECT_FALSE(Only("host: '*.h.test', port: 1, protocol: mcp").is_route);
  EXPECT_FALSE(Only("host: '', port: 1, protocol: mcp").is_route);
  EXPECT_FALSE(Only("port: 1, protocol: mcp").is_route);
}

TEST(Policy, MergesDeclarationsOfOneRoute) {
  const Policy policy = Parsed(R"(
network_policies:
  a:
    endpoints: [{host: H.test, ports: [2, 1], protocol: mcp, path: "**"}]
    binaries: [{path: /bin/a}]
  b:
    endpoints:
      - {host: h.test, ports: [1, 2, 2], protocol: mcp, credential_binding: {provider: p}}
    binaries: [{path: /bin/b}]
)");
  EXPECT_THAT(policy.endpoints, SizeIs(2));
  EXPECT_FALSE(policy.endpoints[0].credentialed);
  EXPECT_TRUE(policy.endpoints[1].credentialed);
  ASSERT_THAT(policy.routes, SizeIs(1));
  EXPECT_EQ(policy.routes[0], MakeRoute("h.test", {1, 2}, "/**", true));
  EXPECT_THAT(policy.warnings, IsEmpty());
}

TEST(Policy, SortsRoutesBySubject) {
  std::string yaml = "network_policies:\n  r:\n    binaries: [{path: /a}]\n    endpoints:\n";
  for (int i = 0; i < 20; ++i)
    yaml += "      - {host: h" + std::to_string(i) + ".test, port: 443, protocol: mcp}\n";
  const Policy policy = Parsed(yaml);
  ASSERT_THAT(policy.routes, SizeIs(20));
  EXPECT_TRUE(std::is_sorted(policy.routes.begin(), policy.routes.end(),
                             [](const Route& a, const Route& b) { return a.subject < b.subject; }));
}

TEST(Policy, TakesCredentialedRoutesFromThreePlaces) {
  EXPECT_TRUE(
      Only("host: h, port: 1, protocol: mcp, credential_binding: {provider: x}").credentialed);
  EXPECT_TRUE(Only("host: h, port: 1, protocol: mcp, provider_credentialed: true").credentialed);
  EXPECT_FALSE(Only("host: h, port: 1, protocol: mcp, provider_credentialed: false").credentialed);
  EXPECT_FALSE(Only("host: h, port: 1, protocol: mcp, credential_binding: null").credentialed);
  const std::string subject = SubjectOf("h", {1}, "").text;
  const Policy policy = Parsed(OneEndpoint("host: h, port: 1, protocol: mcp"), {subject});
  EXPECT_TRUE(policy.endpoints[0].credentialed);
  EXPECT_TRUE(policy.routes[0].credentialed);
}

TEST(Policy, WarnsOfACredentialedSubjectThatNoRouteHas) {
  const std::string stranger = SubjectOf("other", {1}, "").text;
  const Policy policy = Parsed(OneEndpoint("host: h, port: 1, protocol: mcp"), {stranger});
  ASSERT_THAT(policy.warnings, SizeIs(1));
  EXPECT_THAT(policy.warnings[0].where, HasSubstr(stranger));
}

TEST(Policy, NamesUnknownFieldsWithPlaceAndLine) {
  const Policy policy = Parsed(R"(version: 1
colour: red
network_policies:
  "my rule":
    endpoint: []
    endpoints:
      - host: h.test
        port: 443
        protocl: mcp
        mcp: {strict_tool_name: true}
        rules: [{allow: {method: x, toool: y}}]
    binaries:
      - path: /a
        args: [1]
)");
  std::vector<std::string> seen;
  for (const PolicyWarning& warning : policy.warnings)
    seen.push_back(warning.where + ": " + warning.what);
  EXPECT_THAT(
      seen,
      ElementsAre(
          "colour (line 2): unknown field, ignored",
          "network_policies.'my rule'.endpoint (line 5): unknown field, ignored; did you mean "
          "'endpoints'?",
          "network_policies.'my rule'.binaries[0].args (line 14): unknown field, ignored",
          "network_policies.'my rule'.endpoints[0].protocl (line 9): unknown field, ignored; did "
          "you mean 'protocol'?",
          "network_policies.'my rule'.endpoints[0].mcp.strict_tool_name (line 10): unknown field, "
          "ignored; did you mean 'strict_tool_names'?",
          "network_policies.'my rule'.endpoints[0].rules[0].allow.toool (line 11): unknown field, "
          "ignored; did you mean 'tool'?"));
}

TEST(Policy, TakesTextThatIsQuotedWhateverItLooksLike) {
  EXPECT_EQ(Only("host: '1234', port: 1").host, "1234");
  EXPECT_EQ(Only("host: 127.0.0.1, port: 1").host, "127.0.0.1");
  EXPECT_EQ(Only("host: '::1', port: 1").host, "::1");
  EXPECT_EQ(Only("host: !!str 12, port: 1").host, "12");
  EXPECT_EQ(Only("host: \"b\\u00fccher.example\", port: 1").host,
            "b\xC3\xBC"
            "cher.example");
}

TEST(Policy, FollowsAliases) {
  const Policy policy = Parsed(R"(
network_policies:
  a:
    endpoints: &list
      - {host: h.test, ports: &p [443, 8443], protocol: mcp}
    binaries: &b [{path: /bin/a}]
  b: {endpoints: *list, binaries: *b}
  c:
    endpoints: [{host: i.test, ports: *p, protocol: mcp}]
    binaries: *b
)");
  EXPECT_THAT(policy.endpoints, SizeIs(3));
  EXPECT_THAT(policy.routes, SizeIs(2));
  EXPECT_THAT(policy.endpoints[2].ports, ElementsAre(443, 8443));
}

TEST(Policy, TakesAByteOrderMarkAndCarriageReturns) {
  const Policy policy = Parsed(
      "\xEF\xBB\xBF---\r\nnetwork_policies:\r\n  r:\r\n    endpoints:\r\n      - host: h.test"
      "\r\n        port: 443\r\n        protocol: mcp\r\n    binaries: [{path: /a}]\r\n...\r\n");
  ASSERT_THAT(policy.routes, SizeIs(1));
  EXPECT_EQ(policy.routes[0].host, "h.test");
}

TEST(Policy, HasNoRoutesWithoutNetworkPolicies) {
  for (const char* yaml : {"version: 1\n", "version: 1\nnetwork_policies:\n"}) {
    const Policy policy = Parsed(yaml);
    EXPECT_THAT(policy.routes, IsEmpty());
    ASSERT_THAT(policy.warnings, SizeIs(1));
    EXPECT_THAT(policy.warnings[0].what, HasSubstr("no routes"));
  }
  EXPECT_THAT(Parsed("network_policies: {}\n").warnings, IsEmpty());
}

TEST(Policy, ParsesTheSameTwice) {
  EXPECT_EQ(Parsed(kWholePolicy), Parsed(kWholePolicy));
}

}  // namespace
}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Policies that are wrong or hostile: each is refused with the file, the place and a way out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "base/status_util.h"
#include "routes/path_pattern.h"
#include "routes/policy.h"

namespace routelens {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

std::string Refused(std::string_view yaml, const PolicyLimits& limits = {}) {
  const absl::StatusOr<Policy> policy = ParsePolicy(yaml, "policy.yaml", {}, limits);
  if (policy.ok())
    return "(accepted)";
  EXPECT_EQ(policy.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(MessageOf(policy.status()));
}

std::string RefusedEndpoint(const std::string& fields) {
  return Refused(
      "network_policies:\n  git hub:\n    endpoints:\n      - {host: ok, port: 1}\n"
      "      - {" +
      fields + "}\n");
}

TEST(PolicyErrors, NameRuleEndpointLineAndRemedy) {
  EXPECT_EQ(RefusedEndpoint("host: h, ports: [443, 70000]"),
            "policy.yaml:5: network_policies.'git hub'.endpoints[1].ports[1]: port '70000' is "
            "outside 1..65535; write the port that the server listens on");
}

TEST(PolicyErrors, RefusePortsOutsideTheRange) {
  for (const char* port : {"70000", "65536", "-1", "99999999999999999999999999", "0x10000"})
    EXPECT_THAT(RefusedEndpoint(std::string("host: h, port: ") + port),
                HasSubstr("outside 1..65535"));
  EXPECT_THAT(RefusedEndpoint("host: h, ports: [0]"), HasSubstr("outside 1..65535"));
  EXPECT_THAT(RefusedEndpoint("host: h, ports: [443], port: 70000"), HasSubstr("outside 1..65535"));
}

TEST(PolicyErrors, RefusePortsThatAreNoNumbers) {
  for (const char* port : {"https", "'443'", "443.0", "4_43", "0443", "''", "null", "true", "[443]",
                           "{a: b}", "!!float 443", "0x", "+", "1e3"}) {
    if (std::string(port) == "!!float 443")
      continue;
    EXPECT_THAT(RefusedEndpoint(std::string("host: h, port: ") + port),
                AllOf(HasSubstr(".port: "), HasSubstr("whole number")))
        << port;
  }
  EXPECT_THAT(RefusedEndpoint("host: h, ports: 443"),
              AllOf(HasSubstr(".ports: must be a list"), HasSubstr("ports: [443]")));
}

TEST(PolicyErrors, RefuseWrongTypes) {
  EXPECT_THAT(RefusedEndpoint("host: [h], port: 1"), HasSubstr(".host: must be text, not a list"));
  EXPECT_THAT(RefusedEndpoint("host: {a: b}"), HasSubstr(".host: must be text, not a map"));
  EXPECT_THAT(RefusedEndpoint("host: , port: 1"), HasSubstr(".host: must be text, not nothing"));
  EXPECT_THAT(RefusedEndpoint("host: 1234"), HasSubstr("put it in quotes"));
  EXPECT_THAT(RefusedEndpoint("host: true"), HasSubstr("put it in quotes"));
  EXPECT_THAT(RefusedEndpoint("host: !!binary aGk="), HasSubstr("(accepted)"));
  EXPECT_THAT(RefusedEndpoint("host: !mine h"), HasSubstr("YAML tag"));
  EXPECT_THAT(RefusedEndpoint("host: h, path: [/mcp]"), HasSubstr(".path: must be text"));
  EXPECT_THAT(RefusedEndpoint("host: h, protocol: {}"), HasSubstr(".protocol: must be text"));
  EXPECT_THAT(RefusedEndpoint("host: h, enforcement: 1"), HasSubstr(".enforcement: must be text"));
  EXPECT_THAT(RefusedEndpoint("host: h, credential_binding: x"), HasSubstr("must be a map"));
  EXPECT_THAT(RefusedEndpoint("host: h, provider_credentialed: 1"), HasSubstr("true or false"));
  EXPECT_THAT(Refused("network_policies: []\n"), HasSubstr("network_policies: must be a map"));
  EXPECT_THAT(Refused("network_policies: {r: []}\n"),
              HasSubstr("network_policies.r: must be a map"));
  EXPECT_THAT(Refused("network_policies: {r: }\n"), HasSubstr("not nothing"));
  EXPECT_THAT(Refused("network_policies: {r: {endpoints: {host: h}}}\n"),
              HasSubstr("endpoints: must be a list"));
  EXPECT_THAT(Refused("network_policies: {r: {endpoints: [h]}}\n"),
              HasSubstr("endpoints[0]: must be a map of names to values, not a single value 'h'"));
  EXPECT_THAT(Refused("network_policies: {r: {binaries: /bin/sh}}\n"),
              HasSubstr("write '- path: /usr/bin/program'"));
  EXPECT_THAT(Refused("network_policies: {r: {binaries: [/bin/sh]}}\n"), HasSubstr("binaries[0]"));
  EXPECT_THAT(Refused("network_policies: {r: {binaries: [{harness: true}]}}\n"),
              HasSubstr("has no 'path'"));
}

TEST(PolicyErrors, RefuseATopThatIsNoMap) {
  EXPECT_THAT(Refused("- a\n- b\n"), StartsWith("policy.yaml:1: the policy: must be a map"));
  EXPECT_THAT(Refused("just words\n"), HasSubstr("must be a map"));
}

TEST(PolicyErrors, RefuseAnEmptyFile) {
  for (const char* empty : {"", "\n\n", "# only a comment\n", "---\n", "~\n", "\xEF\xBB\xBF"})
    EXPECT_THAT(Refused(empty), HasSubstr("is empty; a policy has at least")) << empty;
}

TEST(PolicyErrors, RefuseWhatIsNotYaml) {
  for (const char* text : {"{", "a: b: c", "a: [1, 2", "\"open", "a:\n\t- b", "&", "*nobody",
                           "%YAML 9.0\n---\na: b", "!<", "{a: b}}", "key: \"\\q\""}) {
    const std::string error = Refused(text);
    EXPECT_THAT(error, StartsWith("policy.yaml")) << text;
  }
  EXPECT_THAT(Refused("a: 1\nb: [1, 2\nc: 3\n"), HasSubstr("not valid YAML"));
}

TEST(PolicyErrors, RefuseDuplicateKeysAtEveryLevel) {
  EXPECT_THAT(Refused("version: 1\nversion: 2\n"),
              "policy.yaml:2: duplicate key 'version', first on line 1; keep one of them");
  EXPECT_THAT(Refused("network_policies:\n  r: {}\n  s: {}\n  r: {}\n"),
              HasSubstr("policy.yaml:4: duplicate key 'r', first on line 2"));
  EXPECT_THAT(RefusedEndpoint("host: a, port: 1, host: b"), HasSubstr("duplicate key 'host'"));
  EXPECT_THAT(RefusedEndpoint("host: a, \"host\": b"), HasSubstr("duplicate key 'host'"));
  // Also where Routelens reads nothing.
  EXPECT_THAT(RefusedEndpoint("host: a, port: 1, mcp: {versions: [{x: 1, x: 2}]}"),
              HasSubstr("duplicate key 'x'"));
  EXPECT_THAT(Refused("a: &k b\nunknown: {? *k : 1, b: 2}\n"), HasSubstr("duplicate key 'b'"));
}

TEST(PolicyErrors, RefuseKeysThatAreNoText) {
  EXPECT_THAT(Refused("? [a, b]\n: c\n"), HasSubstr("a key of a map is not plain text"));
  EXPECT_THAT(Refused("~: c\n"), HasSubstr("a key of a map is not plain text"));
}

TEST(PolicyErrors, RefuseMergeKeys) {
  EXPECT_THAT(Refused("network_policies:\n  r:\n    endpoints:\n      - &e {host: h, port: 1}\n"
                      "      - <<: *e\n        protocol: mcp\n"),
              HasSubstr("merge keys are not supported"));
}

TEST(PolicyErrors, RefuseSeveralDocuments) {
  EXPECT_THAT(Refused("a: 1\n---\nb: 2\n"), HasSubstr("a second YAML document begins here"));
  EXPECT_THAT(Refused("---\na: 1\n---\n"), HasSubstr("a second YAML document"));
}

TEST(PolicyErrors, RefuseBytesThatAreNotUtf8Text) {
  using std::string_view_literals::operator""sv;
  EXPECT_THAT(Refused("version: 1\nx: \0\n"sv), HasSubstr("policy.yaml:2: contains a NUL byte"));
  EXPECT_THAT(Refused("\xFF\xFEv\0e\0"sv), HasSubstr("UTF-16"));
  EXPECT_THAT(Refused("\xFE\xFF\0v\0e"sv), HasSubstr("UTF-16"));
  EXPECT_THAT(Refused("\0\0\xFE\xFF"sv), HasSubstr("UTF-32"));
  EXPECT_THAT(Refused("version: \x1b[31m1\n"), HasSubstr("control character"));
  for (const std::string_view bad : {"\x80"sv, "\xC0\xAF"sv, "\xE0\x80\xAF"sv, "\xED\xA0\x80"sv,
                                     "\xF5\x80\x80\x80"sv, "\xF0\x80\x80\x80"sv, "\xE2\x82"sv})
    EXPECT_THAT(Refused("a: 1\nb: " + std::string(bad)),
                HasSubstr("policy.yaml:2: contains bytes"));
}

TEST(PolicyErrors, ShowHostileTextHarmlessly) {
  const std::string error =
      RefusedEndpoint("host: h, port: \"\\e[31m\\n" + std::string(500, 'x') + "\"");
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_LT(error.size(), 300u);
}

TEST(PolicyErrors, RefuseAliasBombs) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string from = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + from;
    for (int j = 0; j < 8; ++j) bomb += ", " + from;
    bomb += "]\n";
  }
  EXPECT_THAT(Refused(bomb), HasSubstr("with all aliases written out"));
  EXPECT_THAT(Refused("a: &a [*a]\n"), HasSubstr("alias refers to a value that contains it"));
  EXPECT_THAT(Refused("a: &a {b: *a}\n"), HasSubstr("alias refers to a value that contains it"));
}

TEST(PolicyErrors, RefuseDeepNesting) {
  for (const char* open : {"[", "{a: "})
    EXPECT_THAT(Refused("a: " + std::string(open) +
                        [&] {
                          std::string text;
                          for (int i = 0; i < 100000; ++i) text += open;
                          return text;
                        }()),
                HasSubstr("nested deeper than 64"));
  std::string by_alias = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i)
    by_alias += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" +
                std::to_string(i - 1) + "]\n";
  EXPECT_THAT(Refused(by_alias), HasSubstr("nested deeper than 64"));
}

TEST(PolicyErrors, RefuseWhatIsAboveALimit) {
  PolicyLimits limits;
  limits.max_bytes = 100;
  EXPECT_THAT(Refused(std::string(101, '#'), limits), HasSubstr("larger than 100 bytes"));
  limits = {};
  limits.max_endpoints = 2;
  EXPECT_THAT(
      Refused("network_policies: {r: {endpoints: [{host: a}, {host: b}, {host: c}]}}", limits),
      HasSubstr("endpoints[2]: more than 2 endpoints"));
  limits = {};
  limits.max_ports_per_endpoint = 2;
  EXPECT_THAT(Refused("network_policies: {r: {endpoints: [{host: a, ports: [1, 2, 3]}]}}", limits),
              HasSubstr("more than 2 ports"));
}

// Files of the kinds that cost some YAML readers minutes or gigabytes. What is quadratic would show
// at this size; processor time, because a busy machine is not what is tested.
TEST(PolicyErrors, AnswerHostileFilesInSeconds) {
  const size_t size = PolicyLimits{}.max_bytes / 8;
  const auto repeat = [&](std::string_view head, std::string_view piece) {
    std::string text(head);
    while (text.size() + piece.size() <= size) text += piece;
    return text;
  };
  std::vector<std::string> files = {
      repeat("a: [", "x,"),      repeat("a: [", "[],"),    repeat("a: ", "[["),
      repeat("", "- "),          repeat("", "? "),         repeat("", "a: "),
      repeat("a: \"", "\\n"),    repeat("a: |\n", " x\n"), repeat("", "\n"),
      repeat("", "#"),           repeat("a: ", "&a "),     repeat("a: [", "*a,"),
      repeat("", "%YAML 1.2\n"), repeat("a: {", "b,"),     repeat("a: [", "&a a,"),
      repeat("a: '", "''"),      repeat("", "x"),          repeat("a: {", "? "),
      repeat("", "---\n"),       repeat("a: !", "x"),      repeat("{\"", "a\":1,\""),
  };
  std::string unknown = "network_policies: {r: {endpoints: [{host: h";
  for (int i = 0; unknown.size() < size; ++i) unknown += ",enforcemen" + std::to_string(i) + ":";
  files.push_back(unknown + "}]}}");
  // Paths that would cost the product of their lengths to compare, or gigabytes to compile.
  const std::string a(size / 4, 'a');
  files.push_back("network_policies: {r: {endpoints: [{host: h, port: 1, protocol: mcp, path: \"/" +
                  a + "\"}, {host: h, port: 1, protocol: mcp, path: \"/*" + a + "\"}]}}");
  std::string stars = "/a";
  while (stars.size() < kMaxGlobBytes - 2) stars += "*a";
  std::string globs = "network_policies: {r: {endpoints: [{host: h, port: 1, protocol: mcp}";
  while (globs.size() < size)
    globs += ", {host: h, port: 1, protocol: mcp, path: \"" + stars + "?\"}";
  files.push_back(globs + "]}}");
  std::string ports = "p: &p [1";
  for (int i = 2; i <= 4000; ++i) ports += "," + std::to_string(i);
  ports += "]\nq: &q [65535";
  for (int i = 4001; i < 8000; ++i) ports += "," + std::to_string(i);
  ports += "]\nnetwork_policies: {r: {endpoints: [{host: i, port: 1}";
  for (int i = 0; i < 200; ++i)
    ports += std::string(", {host: h, protocol: mcp, ports: ") + (i % 2 == 0 ? "*p}" : "*q}");
  files.push_back(ports + "]}}");
  for (const std::string& file : files) {
    const std::clock_t begin = std::clock();
    (void)ParsePolicy(file, "policy.yaml");
    EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 10) << file.substr(0, 20);
  }
}

TEST(PolicyErrors, BoundTheWarnings) {
  std::string yaml = "network_policies: {}\n";
  for (int i = 0; i < 5000; ++i) yaml += "unknown" + std::to_string(i) + ": 1\n";
  const absl::StatusOr<Policy> policy = ParsePolicy(yaml, "policy.yaml");
  ASSERT_TRUE(policy.ok());
  ASSERT_THAT(policy->warnings, SizeIs(501));
  EXPECT_EQ(policy->warnings.back().what, "4500 more warnings left out");
}

}  // namespace
}  // namespace routelens

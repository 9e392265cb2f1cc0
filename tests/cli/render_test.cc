// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/render/doctor.h"
#include "cli/render/event_line.h"
#include "cli/render/policy_text.h"
#include "cli/render/report_json.h"
#include "cli/render/report_text.h"
#include "cli/render/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/golden.h"

namespace routelens {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kWallOffsetNs = 1'700'000'000'000'000'000;
constexpr uint64_t kSecond = 1'000'000'000;
// What a hostile peer or process would like a terminal to see.
const std::string kHostile =
    "a\x1b]0;owned\x07\x9b"
    "31m\xc2\x9b\xe2\x80\xae\r\nb\x7f\\";

Coverage SomeCoverage() {
  Coverage coverage;
  coverage.capabilities = {
      {"connect", true, true, "cgroup/connect4,6", "", "", ""},
      {"connect_error", true, false, "uprobe libc", "fexit refused with EPERM", "", ""},
      {"tls_library", false, false, "", "perf_event_open: permission denied",
       "the cause of a TLS failure inside a library, and HTTP status behind TLS",
       "run as root, or give CAP_PERFMON"},
  };
  coverage.libraries = {{"openssl_shared", "libssl.so.3", 11, ""},
                        {"unknown", "agent", 0, "no TLS library that is known"}};
  coverage.blind_spots = {"MCP servers reached over stdio: no network traffic to see"};
  return coverage;
}

Report SomeReport() {
  Report report;
  const Route tools = MakeRoute("mcp.example.com", {443}, "/mcp", true);
  const Route other =
      MakeRoute("very-long-name-of-a-host-that-somebody-gave-to-a-server.example.org", {443, 8443},
                "/a/rather/long/path/**", false);
  const Route third = MakeRoute("2001:db8::1", {8080}, "", false);
  const Route quiet = MakeRoute("quiet.example.com", {443}, "", false);
  report.conditions = {
      {tools,
       Outcome::kReachable,
       Hint::kNoSseStream,
       {90 * kSecond},
       {10 * kSecond},
       {90 * kSecond}},
      {other, Outcome::kTlsFailed, Hint::kNone, {30 * kSecond}, {30 * kSecond}, {95 * kSecond}},
      {third, Outcome::kNoObservedExchange, Hint::kNoAnswer, {}, {}, {97 * kSecond}},
      {quiet, Outcome::kNoObservedExchange, Hint::kNone, {}, {}, {}},
  };
  report.exchanges = {
      {{90 * kSecond},
       {91 * kSecond},
       tools.subject,
       Outcome::kReachable,
       Confidence::kObserved,
       Rule::kHttpStatusReachable,
       Hint::kNoSseStream},
      {{30 * kSecond},
       {31 * kSecond},
       other.subject,
       Outcome::kTlsFailed,
       Confidence::kInferred,
       Rule::kTlsServerClosedAfterHello,
       Hint::kNone},
  };
  const UnattributedRecord stranger = {{1 * kSecond},
                                       {2 * kSecond},
                                       UnattributedReason::kNoRoute,
                                       Outcome::kTransportFailed,
                                       Confidence::kObserved,
                                       Rule::kConnectRefused,
                                       Hint::kOtherPort,
                                       "mcp.example.com",
                                       8443};
  report.unattributed = {stranger, stranger, stranger};
  report.unattributed.push_back({{3 * kSecond},
                                 {4 * kSecond},
                                 UnattributedReason::kNameUnknown,
                                 Outcome::kNoObservedExchange,
                                 Confidence::kWeak,
                                 Rule::kTlsAbandonedAfterHandshake,
                                 Hint::kNone,
                                 "",
                                 0});
  report.unattributed.push_back({{3 * kSecond},
                                 {4 * kSecond},
                                 UnattributedReason::kNoRoute,
                                 Outcome::kReachable,
                                 Confidence::kObserved,
                                 Rule::kHttpStatusReachable,
                                 Hint::kNone,
                                 kHostile,
                                 80});
  report.unattributed_truncated = 1;
  report.coverage = SomeCoverage();
  report.loss.kernel_ring_full = 12;
  report.loss.exchanges_dropped = 2;
  return report;
}

bool IsPlainAscii(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); });
}

size_t Widest(const std::string& text) {
  size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

TEST(ReportText, OfEverythingAtOnce) {
  const std::string text = RenderReportText(SomeReport(), {100 * kSecond}, {});
  ExpectGolden("report.txt", text);
  EXPECT_LE(Widest(text), kTextWidth);
  EXPECT_TRUE(IsPlainAscii(text));
}

TEST(ReportText, HasColourOnlyWhenAsked) {
  const std::string colour = RenderReportText(SomeReport(), {100 * kSecond}, {true, false});
  EXPECT_THAT(colour, HasSubstr("\x1b[32mTrue"));
  EXPECT_THAT(colour, HasSubstr("\x1b[31mFalse"));
  EXPECT_THAT(RenderReportText(SomeReport(), {100 * kSecond}, {}), Not(HasSubstr("\x1b")));
}

TEST(ReportText, OfNothing) {
  EXPECT_EQ(RenderReportText({}, {1}, {}),
            "routelens: 0 routes, 0 exchanges, 0 unattributed, nothing lost\n");
}

TEST(ReportText, OfManyStrangersIsBounded) {
  Report report;
  for (uint16_t port = 1; port <= 5000; ++port) {
    UnattributedRecord record;
    record.host = "h" + std::to_string(port);
    record.port = port;
    report.unattributed.push_back(record);
  }
  const std::string text = RenderReportText(report, {1}, {});
  EXPECT_THAT(text, HasSubstr("and 4980 more"));
  EXPECT_LT(text.size(), 4000u);
}

TEST(ReportJson, OfEverythingAtOnce) {
  const std::string text = RenderReportJson(SomeReport(), kWallOffsetNs);
  ExpectGolden("report.json", text);
  EXPECT_TRUE(IsPlainAscii(text));
}

TEST(ReportJson, HasTheDocumentedKeysAndNoOthers) {
  const json parsed = json::parse(RenderReportJson(SomeReport(), kWallOffsetNs));
  const auto keys = [](const json& object) {
    std::set<std::string> names;
    for (const auto& item : object.items()) names.insert(item.key());
    return names;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(keys(parsed), (Names{"conditions", "exchanges", "unattributed", "coverage", "loss"}));
  EXPECT_EQ(keys(parsed["conditions"][0]),
            (Names{"type", "subject", "status", "reason", "message", "observation_time",
                   "last_transition_time", "last_attempt_time", "route"}));
  EXPECT_EQ(keys(parsed["conditions"][0]["route"]),
            (Names{"host", "ports", "path", "credentialed"}));
  EXPECT_EQ(keys(parsed["exchanges"][0]),
            (Names{"start", "route", "outcome", "confidence", "rule", "hint"}));
  EXPECT_EQ(keys(parsed["unattributed"][0]),
            (Names{"start", "reason", "outcome", "confidence", "rule", "hint", "host", "port"}));
  EXPECT_EQ(keys(parsed["coverage"]), (Names{"capabilities", "libraries", "blind_spots"}));
}

TEST(ReportJson, OfNothingIsWhole) {
  const json parsed = json::parse(RenderReportJson({}, 0));
  EXPECT_TRUE(parsed["conditions"].empty());
  EXPECT_TRUE(parsed["exchanges"].is_array());
  EXPECT_EQ(parsed["loss"]["kernel_ring_full"], 0);
}

TEST(ReportJson, KeepsHostileTextAsDataOnly) {
  const json parsed = json::parse(RenderReportJson(SomeReport(), kWallOffsetNs));
  const std::string host = parsed["unattributed"][4]["host"];
  EXPECT_THAT(host, HasSubstr("\x1b]0;owned"));
  EXPECT_THAT(host, HasSubstr("\xef\xbf\xbd"));  // U+FFFD for what is no UTF-8
}

TEST(Message, SaysTheHintAndEndsAsPriorEvidence) {
  const std::string message = MessageWithHint(Outcome::kUpstreamRejected, Hint::kNoSseStream);
  EXPECT_THAT(message, HasSubstr("405 to GET"));
  EXPECT_THAT(message, testing::EndsWith("this is sandbox-level prior evidence."));
  EXPECT_EQ(MessageWithHint(Outcome::kReachable, Hint::kNone), MessageOf(Outcome::kReachable));
}

TEST(SuggestedPolicy, NamesWhatWasSeen) {
  const std::string yaml = SuggestPolicy(SomeReport());
  ExpectGolden("suggested_policy.yaml", yaml);
  EXPECT_TRUE(IsPlainAscii(yaml));
}

TEST(SuggestedPolicy, IsNothingWhenNothingWasNamed) {
  Report report;
  UnattributedRecord address;
  address.host = "192.0.2.1";
  address.port = 443;
  report.unattributed = {address, {}};
  EXPECT_EQ(SuggestPolicy(report), "");
}

TEST(Doctor, SaysWhatIsThereAndWhatIsNot) {
  const DoctorFindings findings{SomeCoverage(), true, "", {"cap_bpf", "cap_perfmon"}};
  const std::string text = RenderDoctorText(findings, false);
  ExpectGolden("doctor.txt", text);
  EXPECT_LE(Widest(text), kTextWidth);
  ExpectGolden("doctor.json", RenderDoctorJson(findings));
}

TEST(Doctor, SaysWhyNothingCouldBeLoaded) {
  const DoctorFindings findings{{}, false, "watching needs cap_bpf: run it with sudo", {}};
  EXPECT_THAT(RenderDoctorText(findings, false), HasSubstr("error: watching needs cap_bpf"));
  const json parsed = json::parse(RenderDoctorJson(findings));
  EXPECT_EQ(parsed["floor_met"], false);
  EXPECT_EQ(parsed["error"], "watching needs cap_bpf: run it with sudo");
}

TEST(PolicyText, ListsRoutesAndWarnings) {
  Policy policy;
  policy.routes = {MakeRoute("mcp.example.com", {443, 8443}, "/mcp", true)};
  policy.endpoints.resize(2);
  policy.warnings = {{"network_policies.a\x1b[31m.endpoints[0]", "unknown field\nwith a line"}};
  ExpectGolden("routes.txt", RenderRoutesText(policy));
  ExpectGolden("routes.json", RenderRoutesJson(policy));
  ExpectGolden("check.txt", RenderCheckText(policy, "p.yaml"));
  ExpectGolden("check.json", RenderCheckJson(policy));
  EXPECT_TRUE(IsPlainAscii(RenderCheckText(policy, "p\x1b.yaml")));
}

std::vector<Event> AllEvents() {
  Owner owner;
  owner.process = {4711, 5};
  owner.comm = kHostile;
  const Endpoint peer{*ParseIpAddress("192.0.2.1"), 443, 0};
  FlowEnd end;
  end.flow = FlowId{7};
  end.cause = EndCause::kFailed;
  end.error = 111;
  StreamBytes stream;
  stream.flow = FlowId{7};
  stream.bytes = {std::byte{1}, std::byte{2}};
  TlsRecord record;
  record.flow = FlowId{7};
  record.content_type = 21;
  record.length = 2;
  record.alert_level = 2;
  record.alert_description = 48;
  HttpRequestHead request;
  request.flow = FlowId{7};
  request.method = HttpMethod::kPost;
  request.path = "/mcp";
  request.host = kHostile;
  HttpResponseHead response;
  response.flow = FlowId{7};
  response.status = 405;
  DnsDatagram dns;
  dns.owner = owner;
  dns.remote = peer;
  dns.bytes = {std::byte{9}};
  LibraryCall call;
  call.owner = owner;
  call.op = LibraryOp::kVerify;
  call.value = 20;
  ResolverResult resolver;
  resolver.owner = owner;
  resolver.result = -2;
  resolver.name = kHostile;
  std::vector<EventBody> bodies = {
      ConnectAttempt{owner, FlowId{7}, 1, peer, Transport::kTcp, false, true, false},
      ConnectError{FlowId{7}, 101},
      Established{FlowId{7}, peer, peer},
      PeerFin{FlowId{7}},
      end,
      stream,
      record,
      request,
      response,
      dns,
      call,
      resolver,
      ProcessEvent{owner, 1, ProcessOp::kExec},
  };
  std::vector<Event> events;
  for (EventBody& body : bodies) {
    Event event;
    event.header.time = {5 * kSecond};
    event.body = std::move(body);
    events.push_back(std::move(event));
  }
  return events;
}

TEST(EventLine, OfEveryKind) {
  std::string lines;
  std::string for_person;
  for (const Event& event : AllEvents()) {
    const std::string line = EventLine(event, kWallOffsetNs);
    EXPECT_TRUE(json::accept(line)) << line;
    lines += line + "\n";
    for_person += LineForPerson(line, false) + "\n";
  }
  const Report report = SomeReport();
  for (const std::string& line :
       {ConditionLine(report.conditions[0], kWallOffsetNs),
        ConditionLine(report.conditions[3], kWallOffsetNs),
        ExchangeLine(report.exchanges[0], kWallOffsetNs),
        UnattributedLine(report.unattributed[4], kWallOffsetNs),
        UnattributedLine(report.unattributed[3], kWallOffsetNs), DroppedLine(3), EndLine()}) {
    lines += line + "\n";
    for_person += LineForPerson(line, false) + "\n";
  }
  ExpectGolden("events.jsonl", lines);
  ExpectGolden("events.txt", for_person);
  EXPECT_TRUE(IsPlainAscii(lines));
  EXPECT_TRUE(IsPlainAscii(for_person));
}

TEST(EventLine, NeverHasBytesOfAHandshakeOrAMessage) {
  StreamBytes stream;
  DnsDatagram dns;
  stream.bytes = dns.bytes = std::vector<std::byte>(100, std::byte{'S'});
  Event event;
  event.body = stream;
  EXPECT_THAT(EventLine(event, 0), Not(HasSubstr("SSSS")));
  event.body = dns;
  EXPECT_THAT(EventLine(event, 0), Not(HasSubstr("SSSS")));
}

TEST(LineForPerson, OfWhatIsNoLineIsEmpty) {
  for (const char* text : {"", "x", "[]", "1", "{}", R"({"event":1})", R"({"event":""})", "{\"a",
                           R"({"event":{"a":1}})"}) {
    const std::string line = LineForPerson(text, false);
    EXPECT_TRUE(IsPlainAscii(line)) << text;
  }
}

TEST(LineForPerson, SurvivesWrongTypesEverywhere) {
  for (const char* text :
       {R"({"event":"condition","route":5,"status":[],"observation_time":{}})",
        R"({"event":"condition","route":{"ports":3,"host":[1]}})",
        R"({"event":"exchange","route":null,"start":"2"})", R"({"event":"unattributed"})",
        "{\"event\":\"x\",\"\\u001b[2J\":\"\\u001b[2J\"}"}) {
    const std::string line = LineForPerson(text, false);
    EXPECT_FALSE(line.empty());
    EXPECT_TRUE(IsPlainAscii(line)) << line;
  }
}

TEST(Text, PrintableEscapesEverythingElse) {
  EXPECT_EQ(Printable("plain ~"), "plain ~");
  EXPECT_EQ(Printable(kHostile),
            "a\\x1b]0;owned\\x07\\x9b31m\\xc2\\x9b\\xe2\\x80\\xae\\x0d\\x0ab\\x7f\\x5c");
  EXPECT_EQ(Printable(std::string("\0", 1)), "\\x00");
}

TEST(Text, WrapNeverExceedsItsWidth) {
  const std::string text = "one two " + std::string(50, 'x') + " three  four";
  for (size_t width = 1; width < 30; ++width) {
    for (const std::string& line : Wrap(text, width)) EXPECT_LE(line.size(), width);
  }
  EXPECT_THAT(Wrap("a b c", 3), testing::ElementsAre("a b", "c"));
  EXPECT_THAT(Wrap("", 3), testing::ElementsAre(""));
}

TEST(Text, ShortenKeepsItsWidth) {
  EXPECT_EQ(Shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(Shorten("abcdefg", 6), "abc...");
  EXPECT_EQ(Shorten("abcdefg", 2), "..");
}

TEST(Text, AgesAreShort) {
  EXPECT_EQ(FormatAge(Seconds(-5)), "0s");
  EXPECT_EQ(FormatAge(Milliseconds(59'999)), "59s");
  EXPECT_EQ(FormatAge(Seconds(60)), "1m");
  EXPECT_EQ(FormatAge(Seconds(3600)), "1h");
  EXPECT_EQ(FormatAge(Seconds(86400 * 3)), "3d");
}

TEST(Text, AuthoritiesAreNeverAmbiguous) {
  EXPECT_EQ(FormatAuthority("h", 443), "h:443");
  EXPECT_EQ(FormatAuthority("2001:db8::1", 443), "[2001:db8::1]:443");
  EXPECT_EQ(FormatAuthority("", 0), "?");
  EXPECT_EQ(FormatAuthority("", 53), "?:53");
}

}  // namespace
}  // namespace routelens

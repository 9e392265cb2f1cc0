// SPDX-License-Identifier: Apache-2.0
//
// Stories of names: look-ups that fail, and which route an exchange belongs to.
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/story.h"

namespace routelens {
namespace {

constexpr uint8_t kServFail = 2;
constexpr uint8_t kNxDomain = 3;
constexpr uint8_t kRefused = 5;
constexpr uint16_t kA = 1;
constexpr uint16_t kAaaa = 28;
constexpr uint64_t kDnsFlow = 950'000;

Policy OneRoute() {
  return PolicyWith({{"mcp.example", 443}});
}

ExchangeRecord Only(const Report& report) {
  EXPECT_EQ(report.exchanges.size(), 1U);
  return report.exchanges.empty() ? ExchangeRecord{} : report.exchanges.front();
}

UnattributedRecord OnlyUnattributed(const Report& report) {
  EXPECT_TRUE(report.exchanges.empty());
  EXPECT_EQ(report.unattributed.size(), 1U);
  return report.unattributed.empty() ? UnattributedRecord{} : report.unattributed.front();
}

// --- look-ups ---

TEST(LookupStory, NegativeAnswersAreTransportFailed) {
  for (const auto& [rcode, rule] :
       {std::pair{kNxDomain, Rule::kDnsFailed}, std::pair{kServFail, Rule::kDnsFailed},
        std::pair{kRefused, Rule::kDnsFailed}, std::pair{uint8_t{0}, Rule::kDnsNoAddress}}) {
    Story s;
    s.Exec().Lookup("mcp.example", {}, rcode);
    const Report report = s.Run(OneRoute());
    EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
    EXPECT_EQ(Only(report).rule, rule);
    EXPECT_EQ(Only(report).confidence, Confidence::kObserved);
    EXPECT_EQ(ConditionOf(report).hint, Hint::kDnsFailedInSandbox);
  }
}

TEST(LookupStory, OneFamilyIsEnough) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  EXPECT_TRUE(s.Run(OneRoute()).exchanges.empty());
  Story t;
  t.Exec().Add(Ev().ConnectsUdp(kDnsFlow, "10.0.0.53", 53));
  t.Ask(kDnsFlow, 1, "mcp.example", kA).Ask(kDnsFlow, 2, "mcp.example", kAaaa);
  t.Reply(kDnsFlow, 1, "mcp.example", kA, kServFail, {});
  t.Reply(kDnsFlow, 2, "mcp.example", kAaaa, 0, {"fd00::7"});
  EXPECT_TRUE(t.Run(OneRoute()).exchanges.empty());
}

TEST(LookupStory, GetaddrinfoConfirmsAndMakesNoSecondExchange) {
  Story s;
  s.Exec().Lookup("mcp.example", {}, kNxDomain).Resolve("mcp.example", -2, {}, 10);
  EXPECT_EQ(Only(s.Run(OneRoute())).rule, Rule::kDnsFailed);
  Story t;
  t.Exec();
  t.Lookup("mcp.example", {}, kNxDomain).Wait(2000).Resolve("mcp.example", -2, {}, 2100);
  EXPECT_EQ(Only(t.Run(OneRoute())).rule, Rule::kDnsFailed);
}

TEST(LookupStory, GetaddrinfoThatSucceedsAfterAllIsNoFailure) {
  Story s;
  s.Exec().Lookup("mcp.example", {}, kNxDomain).Resolve("mcp.example", 0, {"10.0.0.7"}, 10);
  EXPECT_TRUE(s.Run(OneRoute()).exchanges.empty());
}

TEST(LookupStory, GetaddrinfoAloneIsEnoughUnlessItAskedNobody) {
  Story s;
  s.Exec().Resolve("mcp.example", -2, {}, 5);
  EXPECT_EQ(Only(s.Run(OneRoute())).confidence, Confidence::kObserved);
  Story t;  // is it a number? AI_NUMERICHOST
  t.Exec().Resolve("mcp.example", -2, {}, 0.05);
  const Report report = t.Run(OneRoute());
  EXPECT_EQ(Only(report).confidence, Confidence::kWeak);
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
}

TEST(LookupStory, TheCallersOwnMistakesAreNoFailure) {
  for (const int result : {-1, -6, -7, -8, -10, -11}) {
    Story s;
    s.Exec().Resolve("mcp.example", result, {}, 5);
    EXPECT_TRUE(s.Run(OneRoute()).exchanges.empty()) << result;
  }
}

TEST(LookupStory, NumbersAreNotLookedUp) {
  Story s;
  s.Exec().Resolve("10.0.0.7", -2, {}, 5).Resolve("", -2, {}, 5);
  const Report report = s.Run(OneRoute());
  EXPECT_TRUE(report.exchanges.empty());
  EXPECT_TRUE(report.unattributed.empty());
}

TEST(LookupStory, B2_NoAnswerIsAFailureOnceTheAskerGivesUp) {
  Story s;
  s.Exec().Add(Ev().ConnectsUdp(kDnsFlow, "10.0.0.53", 53));
  s.Ask(kDnsFlow, 1, "mcp.example", kA).Wait(5000).Ask(kDnsFlow, 1, "mcp.example", kA);
  s.Wait(5000).Resolve("mcp.example", -3, {}, 10'000);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
  EXPECT_EQ(Only(report).rule, Rule::kDnsNoAnswer);
  EXPECT_EQ(Only(report).confidence, Confidence::kObserved);
}

TEST(LookupStory, B2_NoAnswerUntilTheProcessEndsOrTimePasses) {
  for (const bool exits : {true, false}) {
    Story s;
    s.Exec().Add(Ev().ConnectsUdp(kDnsFlow, "10.0.0.53", 53));
    s.Ask(kDnsFlow, 1, "mcp.example", kA);
    if (exits)
      s.Wait(4000).Exit();
    const Report report = s.Run(OneRoute());
    EXPECT_EQ(Only(report).rule, Rule::kDnsNoAnswer);
    EXPECT_EQ(Only(report).confidence, Confidence::kInferred);
  }
}

TEST(LookupStory, B5_AQuestionGivenUpEarlyIsNotRefused) {
  Story s;
  s.Exec().Add(Ev().ConnectsUdp(kDnsFlow, "10.0.0.53", 53));
  s.Ask(kDnsFlow, 1, "mcp.example", kA).Wait(100).Exit();
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(Only(report).outcome, Outcome::kNoObservedExchange);
  EXPECT_EQ(Only(report).rule, Rule::kCallerCancelled);
}

TEST(LookupStory, TheNextServerAnswersWhatTheFirstDidNot) {
  Story s;
  s.Exec().Add(Ev().ConnectsUdp(kDnsFlow, "10.0.0.53", 53));
  s.Ask(kDnsFlow, 1, "mcp.example", kA).Reply(kDnsFlow, 1, "mcp.example", kA, kServFail, {});
  FlowEnd end;
  end.no_state_change = true;
  s.End(kDnsFlow, end).Add(Ev().ConnectsUdp(kDnsFlow + 1, "10.0.0.54", 53));
  s.Ask(kDnsFlow + 1, 2, "mcp.example", kA);
  s.Reply(kDnsFlow + 1, 2, "mcp.example", kA, 0, {"10.0.0.7"});
  EXPECT_TRUE(s.Run(OneRoute()).exchanges.empty());
}

TEST(LookupStory, TruncatedThenOverTcp) {
  for (const uint8_t rcode : {uint8_t{0}, kNxDomain}) {
    Story s;
    s.Exec().Add(Ev().ConnectsUdp(kDnsFlow, "10.0.0.53", 53));
    s.Ask(kDnsFlow, 1, "mcp.example", kA);
    s.Reply(kDnsFlow, 1, "mcp.example", kA, 0, {}, true);
    const uint64_t tcp = s.Connected("10.0.0.53", 53);
    // B16: the length prefix comes in a segment of its own.
    const std::vector<std::byte> query = DnsQuery(2, "mcp.example", kA);
    const std::vector<std::byte> reply =
        DnsReply(2, "mcp.example", kA, rcode,
                 rcode == 0 ? std::vector<std::string>{"10.0.0.7"} : std::vector<std::string>{});
    for (const auto& [direction, message] :
         {std::pair{Direction::kEgress, query}, std::pair{Direction::kIngress, reply}}) {
      StreamBytes bytes;
      bytes.flow = FlowId{tcp};
      bytes.protocol = StreamProtocol::kDns;
      bytes.direction = direction;
      bytes.bytes = {std::byte{0}, static_cast<std::byte>(message.size())};
      s.Add(Ev().Streams(bytes));
      bytes.offset = 2;
      bytes.bytes = message;
      s.Add(Ev().Streams(bytes));
    }
    const Report report = s.Run(OneRoute());
    if (rcode == 0)
      EXPECT_TRUE(report.exchanges.empty());
    else
      EXPECT_EQ(Only(report).rule, Rule::kDnsFailed);
  }
}

TEST(LookupStory, SearchListIsOneExchangeUnderTheNameThatWasAsked) {
  Story s;
  s.Exec();
  s.Lookup("mcp.example.corp.local", {}, kNxDomain).Lookup("mcp.example", {}, kNxDomain);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(Only(report).rule, Rule::kDnsFailed);
  EXPECT_TRUE(report.unattributed.empty());
  Story t;
  t.Exec().Lookup("mcp.example.corp.local", {}, kNxDomain).Lookup("mcp.example", {"10.0.0.7"});
  EXPECT_TRUE(t.Run(OneRoute()).exchanges.empty());
}

TEST(LookupStory, B11_TheStubsOwnQuestionIsContextOnly) {
  Story s;
  s.Exec().Add(Ev().ConnectsUdp(kDnsFlow, "127.0.0.53", 53));
  s.Ask(kDnsFlow, 1, "mcp.example", kA, "127.0.0.53");
  s.As(kResolver).Add(Ev().By(kResolver).ConnectsUdp(kDnsFlow + 1, "10.0.0.53", 53));
  s.Ask(kDnsFlow + 1, 9, "mcp.example", kA);
  s.Reply(kDnsFlow + 1, 9, "mcp.example", kA, kNxDomain, {});
  s.As(kAgent).Reply(kDnsFlow, 1, "mcp.example", kA, kNxDomain, {});
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(Only(report).rule, Rule::kDnsFailed);
  EXPECT_TRUE(report.unattributed.empty());
}

TEST(LookupStory, AnswersThatNobodyAskedForAreNotBelieved) {
  Story s;
  s.Exec().Add(Ev().ConnectsUdp(kDnsFlow, "10.0.0.53", 53));
  s.Ask(kDnsFlow, 1, "mcp.example", kA);
  s.Reply(kDnsFlow, 2, "mcp.example", kA, kNxDomain, {});      // another id
  s.Reply(kDnsFlow + 5, 1, "mcp.example", kA, kNxDomain, {});  // another socket
  s.Reply(kDnsFlow, 1, "mcp.example", kA, 0, {"10.0.0.7"});
  EXPECT_TRUE(s.Run(OneRoute()).exchanges.empty());
}

TEST(LookupStory, AFailedLookupBelongsToTheOnlyEndpointWithThatHost) {
  const Policy policy = PolicyWith({{"mcp.example", 443, "/a"}, {"mcp.example", 443, "/b"}});
  Story s;
  s.Exec().Lookup("mcp.example", {}, kNxDomain);
  const UnattributedRecord record = OnlyUnattributed(s.Run(policy));
  EXPECT_EQ(record.reason, UnattributedReason::kPathUnknown);
  EXPECT_EQ(record.hint, Hint::kHostMatchesSeveral);
  EXPECT_EQ(record.host, "mcp.example");
  EXPECT_EQ(record.port, 0);
}

TEST(LookupStory, ManyParallelLookupsEachHaveTheirOutcome) {
  std::vector<TestRoute> routes;
  Story s;
  s.Exec().Add(Ev().ConnectsUdp(kDnsFlow, "10.0.0.53", 53));
  for (int i = 0; i < 100; i++) routes.push_back({"s" + std::to_string(i) + ".example", 443});
  for (int i = 0; i < 100; i++)
    s.Ask(kDnsFlow, static_cast<uint16_t>(i), routes[static_cast<size_t>(i)].host, kA);
  for (int i = 99; i >= 0; i--) {
    const bool good = i % 2 == 0;
    s.Reply(kDnsFlow, static_cast<uint16_t>(i), routes[static_cast<size_t>(i)].host, kA,
            good ? uint8_t{0} : kNxDomain,
            good ? std::vector<std::string>{"10.0.0.7"} : std::vector<std::string>{});
  }
  const Report report = s.Run(PolicyWith(routes));
  EXPECT_EQ(report.exchanges.size(), 50U);
  for (int i = 0; i < 100; i++)
    EXPECT_EQ(OutcomeOf(report, "s" + std::to_string(i) + ".example"),
              i % 2 == 0 ? Outcome::kNoObservedExchange : Outcome::kTransportFailed);
}

// --- whose exchange is it ---

TEST(NameStory, AnotherProcessesLookupNamesNothing) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  s.As(kOther).Exec();
  s.Fail(s.Connect("10.0.0.7", 443), ECONNREFUSED);
  EXPECT_EQ(OnlyUnattributed(s.Run(OneRoute())).reason, UnattributedReason::kNameUnknown);
}

TEST(NameStory, F7_AReusedPidIsAnotherProcess) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"}).Exit();
  EventBuilder event;
  event.Connects(500, "10.0.0.7", 443);
  std::get<ConnectAttempt>(event.event_.body).owner.process.start_boot_ns++;
  s.Add(event).Fail(500, ECONNREFUSED);
  EXPECT_EQ(OnlyUnattributed(s.Run(OneRoute())).reason, UnattributedReason::kNameUnknown);
}

TEST(NameStory, GetaddrinfoNamesWhatTheHostsFileHolds) {
  Story s;
  s.Exec().Resolve("MCP.Example.", 0, {"127.0.0.1"});
  s.Fail(s.Connect("127.0.0.1", 443), ECONNREFUSED);
  EXPECT_EQ(OutcomeOf(s.Run(OneRoute())), Outcome::kTransportFailed);
}

TEST(NameStory, TwoNamesOnOneAddressNeedAnotherWitness) {
  const Policy policy = PolicyWith({{"a.example", 443}, {"b.example", 443}});
  Story s;
  s.Exec().Lookup("a.example", {"10.0.0.7"}).Lookup("b.example", {"10.0.0.7"});
  s.Fail(s.Connect("10.0.0.7", 443), ECONNREFUSED);
  EXPECT_EQ(OnlyUnattributed(s.Run(policy)).reason, UnattributedReason::kNameAmbiguous);
  const uint64_t flow = s.Wait(1000).Connected("10.0.0.7", 443);
  s.Hello(flow, {.sni = "b.example"}).Reset(flow);
  const Report report = s.Run(policy);
  EXPECT_EQ(OutcomeOf(report, "a.example"), Outcome::kNoObservedExchange);
  EXPECT_EQ(OutcomeOf(report, "b.example"), Outcome::kTlsFailed);
}

TEST(NameStory, ASearchNameOfTheSameAddressIsNoSecondName) {
  Story s;
  s.Exec()
      .Lookup("mcp.example.corp.local", {"10.0.0.7"})
      .Resolve("mcp.example", 0, {"10.0.0.7"}, 20);
  s.Fail(s.Connect("10.0.0.7", 443), ECONNREFUSED);
  EXPECT_EQ(OutcomeOf(s.Run(OneRoute())), Outcome::kTransportFailed);
}

TEST(NameStory, DnsNeverContradictsTheHost) {
  Story s;  // curl --resolve, a hosts file: DNS said another name
  s.Exec().Lookup("cdn.example", {"10.0.0.7"});
  const uint64_t flow = s.Connected("10.0.0.7", 80);
  s.Request(flow, HttpMethod::kPost, "/mcp", "mcp.example").Answer(flow, 200);
  EXPECT_EQ(OutcomeOf(s.Run(PolicyWith({{"mcp.example", 80}}))), Outcome::kReachable);
}

TEST(NameStory, HostDecidesPerRequestAgainstTheSni) {
  const Policy policy = PolicyWith({{"a.example", 443}, {"b.example", 443}});
  Story s;
  s.Exec();
  const uint64_t flow = s.Connected("10.0.0.7", 443);
  s.LibraryDraws(1, std::byte{0x11}).Handshake13(flow, {.sni = "a.example"});
  s.LibraryRequest(1, HttpMethod::kPost, "/mcp", "b.example").LibraryAnswer(1, 503);
  const Report report = s.Run(policy);
  EXPECT_EQ(OutcomeOf(report, "a.example"), Outcome::kNoObservedExchange);
  EXPECT_EQ(OutcomeOf(report, "b.example"), Outcome::kUpstreamRejected);
}

TEST(NameStory, HostWithAnotherPortThanTheSocketsIsAmbiguous) {
  Story s;
  s.Exec();
  const uint64_t flow = s.Connected("127.0.0.1", 8080);
  s.Request(flow, HttpMethod::kPost, "/mcp", "mcp.example:443").Answer(flow, 200);
  EXPECT_EQ(OnlyUnattributed(s.Run(OneRoute())).reason, UnattributedReason::kNameAmbiguous);
}

TEST(NameStory, RepeatedHostNamesNobody) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  const uint64_t flow = s.Connected("10.0.0.7", 80);
  HttpRequestHead head;
  head.flow = FlowId{flow};
  head.request_index = 1;
  head.path = "/mcp";
  head.host_repeated = true;
  s.Add(Ev().Requests(head)).Answer(flow, 400);
  EXPECT_EQ(OnlyUnattributed(s.Run(PolicyWith({{"mcp.example", 80}}))).reason,
            UnattributedReason::kNameAmbiguous);
}

TEST(NameStory, AnIpLiteralRouteByHostHeader) {
  const Policy policy = PolicyWith({{"10.0.0.7", 80}, {"::1", 80}});
  Story s;
  s.Exec();
  const uint64_t four = s.Connected("10.0.0.7", 80);
  s.Request(four, HttpMethod::kPost, "/mcp", "10.0.0.7").Answer(four, 200);
  const uint64_t six = s.Connected("::1", 80);
  s.Request(six, HttpMethod::kPost, "/mcp", "[::1]:80").Answer(six, 404);
  const Report report = s.Run(policy);
  EXPECT_EQ(OutcomeOf(report, "10.0.0.7"), Outcome::kReachable);
  EXPECT_EQ(OutcomeOf(report, "::1"), Outcome::kUpstreamRejected);
}

TEST(NameStory, AnIpLiteralRouteByDestinationNeedsAWatchedProcessWithoutAName) {
  const Policy policy = PolicyWith({{"10.0.0.7", 80}});
  Story watched;
  watched.Exec();
  watched.Fail(watched.Connect("10.0.0.7", 80), ECONNREFUSED);
  EXPECT_EQ(OutcomeOf(watched.Run(policy)), Outcome::kTransportFailed);
  Story older;  // what it resolved before the watch began is not known
  older.Fail(older.Connect("10.0.0.7", 80), ECONNREFUSED);
  EXPECT_EQ(OutcomeOf(older.Run(policy)), Outcome::kNoObservedExchange);
  Story named;
  named.Exec().Lookup("api.example", {"10.0.0.7"});
  named.Fail(named.Connect("10.0.0.7", 80), ECONNREFUSED);
  EXPECT_EQ(OutcomeOf(named.Run(policy)), Outcome::kNoObservedExchange);
}

TEST(NameStory, AnIpLiteralRouteInTlsHasNoSni) {
  Story s;
  s.Exec();
  const uint64_t flow = s.Connected("10.0.0.7", 443);
  s.Hello(flow, {.sni = ""}).Reset(flow);
  EXPECT_EQ(OutcomeOf(s.Run(PolicyWith({{"10.0.0.7", 443}}))), Outcome::kTlsFailed);
}

TEST(NameStory, AChildOfAWatchedProcessHasNoNameOfItsParent) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  s.As(kOther).Add(Ev().By(kOther).Process(ProcessOp::kFork, kAgent.pid));
  s.Fail(s.Connect("10.0.0.7", 443), ECONNREFUSED);
  EXPECT_EQ(OnlyUnattributed(s.Run(OneRoute())).reason, UnattributedReason::kNameUnknown);
}

TEST(NameStory, ARoutesHostOnAnotherPortCarriesTheHint) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  s.Fail(s.Connect("10.0.0.7", 8443), ECONNREFUSED);
  const UnattributedRecord record = OnlyUnattributed(s.Run(OneRoute()));
  EXPECT_EQ(record.reason, UnattributedReason::kPortMismatch);
  EXPECT_EQ(record.hint, Hint::kOtherPort);
  EXPECT_EQ(record.host, "mcp.example");
  EXPECT_EQ(record.port, 8443);
}

TEST(NameStory, AHostThatIsNoRouteStaysUnattributed) {
  Story s;
  s.Exec().Lookup("other.example", {"10.0.0.7"});
  s.Fail(s.Connect("10.0.0.7", 443), ECONNREFUSED);
  EXPECT_EQ(OnlyUnattributed(s.Run(OneRoute())).reason, UnattributedReason::kNoRoute);
}

TEST(NameStory, WhatFailsBeforeThePathIsKnownBelongsToNoneOfTwoRoutes) {
  const Policy policy = PolicyWith({{"mcp.example", 80, "/a"}, {"mcp.example", 80, "/b"}});
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  s.Fail(s.Connect("10.0.0.7", 80), ECONNREFUSED);
  EXPECT_EQ(OnlyUnattributed(s.Run(policy)).reason, UnattributedReason::kPathUnknown);
  const uint64_t flow = s.Wait(1000).Connected("10.0.0.7", 80);
  s.Request(flow, HttpMethod::kPost, "/b", "mcp.example").Reset(flow);
  const Report report = s.Run(policy);
  EXPECT_EQ(OutcomeOf(report, "mcp.example", "/a"), Outcome::kNoObservedExchange);
  EXPECT_EQ(OutcomeOf(report, "mcp.example", "/b"), Outcome::kTransportFailed);
}

TEST(NameStory, ANearMissPathCarriesTheHint) {
  Story s;
  s.Exec();
  const uint64_t flow = s.Connected("10.0.0.7", 80);
  s.Request(flow, HttpMethod::kPost, "/mcpp", "mcp.example").Answer(flow, 404);
  const UnattributedRecord record = OnlyUnattributed(s.Run(PolicyWith({{"mcp.example", 80}})));
  EXPECT_EQ(record.reason, UnattributedReason::kPathMatchesNone);
  EXPECT_EQ(record.hint, Hint::kNearMissPath);
}

TEST(NameStory, ATruncatedPathIsAnUnknownPath) {
  const Policy policy = PolicyWith({{"mcp.example", 80, "/a/**"}, {"mcp.example", 80, "/b"}});
  Story s;
  s.Exec();
  const uint64_t flow = s.Connected("10.0.0.7", 80);
  HttpRequestHead head;
  head.flow = FlowId{flow};
  head.request_index = 1;
  head.path = "/a/" + std::string(200, 'x');
  head.path_truncated = true;
  head.host = "mcp.example";
  s.Add(Ev().Requests(head)).Answer(flow, 404);
  EXPECT_EQ(OnlyUnattributed(s.Run(policy)).reason, UnattributedReason::kPathUnknown);
}

}  // namespace
}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Stories of connections that do not come about, or end before HTTP: what the report says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/story.h"

namespace routelens {
namespace {

Policy OneRoute() {
  return PolicyWith({{"mcp.example", 443}});
}

// A story whose agent has resolved mcp.example to 10.0.0.7.
Story Resolved() {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  return s;
}

ExchangeRecord OnlyExchange(const Report& report) {
  EXPECT_EQ(report.exchanges.size(), 1U);
  return report.exchanges.empty() ? ExchangeRecord{} : report.exchanges.front();
}

TEST(TransportStory, RefusedConnectIsTransportFailed) {
  Story s = Resolved();
  const uint64_t flow = s.Connect("10.0.0.7", 443);
  s.Fail(flow, ECONNREFUSED);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
  EXPECT_EQ(OnlyExchange(report).rule, Rule::kConnectRefused);
  EXPECT_EQ(OnlyExchange(report).confidence, Confidence::kObserved);
}

TEST(TransportStory, TheExchangeStartsWithItsLookup) {
  Story s;
  s.Exec();
  const double before = s.now();
  s.Lookup("mcp.example", {"10.0.0.7"});
  s.Fail(s.Connect("10.0.0.7", 443), ECONNREFUSED);
  const double between = s.now();
  s.Wait(1000).Fail(s.Connect("10.0.0.7", 443), ECONNREFUSED);
  const Report report = s.Run(OneRoute());
  ASSERT_EQ(report.exchanges.size(), 2U);
  EXPECT_LT(report.exchanges[0].start, AtMs(before + 3));
  EXPECT_GT(report.exchanges[1].start, AtMs(between)) << "the look-up belongs to the first only";
}

TEST(TransportStory, UnreachableAndTimedOutAreTransportFailed) {
  for (const auto& [error, rule] : {std::pair{EHOSTUNREACH, Rule::kConnectUnreachable},
                                    std::pair{ENETUNREACH, Rule::kConnectUnreachable},
                                    std::pair{ETIMEDOUT, Rule::kConnectTimedOut},
                                    std::pair{EADDRNOTAVAIL, Rule::kConnectFailed}}) {
    Story s = Resolved();
    s.Fail(s.Connect("10.0.0.7", 443), error);
    const Report report = s.Run(OneRoute());
    EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed) << error;
    EXPECT_EQ(OnlyExchange(report).rule, rule) << error;
  }
}

TEST(TransportStory, A28_NonBlockingRefusedIsFailedNotConnected) {
  Story s = Resolved();
  const uint64_t flow = s.Connect("10.0.0.7", 443);
  s.Wait(200).Fail(flow, ECONNREFUSED);
  EXPECT_EQ(OutcomeOf(s.Run(OneRoute())), Outcome::kTransportFailed);
}

TEST(TransportStory, FailureAtOnceGetsItsCauseFromConnectsResult) {
  Story s = Resolved();
  s.FailAtOnce(s.Connect("10.0.0.7", 443), ENETUNREACH);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
  EXPECT_EQ(OnlyExchange(report).rule, Rule::kConnectUnreachable);
}

TEST(TransportStory, FailureAtOnceWithoutACauseIsWeak) {
  Story s = Resolved();
  FlowEnd end;
  end.no_state_change = true;
  end.egress_proven = true;
  s.End(s.Connect("10.0.0.7", 443), end);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
  EXPECT_EQ(OnlyExchange(report).confidence, Confidence::kWeak);
  EXPECT_EQ(OnlyExchange(report).outcome, Outcome::kTransportFailed);
}

TEST(TransportStory, CauseMayComeAfterTheEnd) {
  Story s = Resolved();
  const uint64_t flow = s.Connect("10.0.0.7", 443);
  FlowEnd end;  // the SYN was never sent: no route to a port of our own
  end.cause = EndCause::kFailed;
  end.state = TcpState::kSynSent;
  end.egress_proven = true;
  s.End(flow, end);
  s.Add(Ev().FailsAtOnce(flow, EADDRNOTAVAIL));
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
  EXPECT_EQ(OnlyExchange(report).rule, Rule::kConnectFailed);
  EXPECT_EQ(OnlyExchange(report).confidence, Confidence::kObserved);
}

TEST(TransportStory, G4_DenialByAPolicyHookIsPolicyDenied) {
  for (const int error : {EPERM, EACCES}) {
    Story s = Resolved();
    s.FailAtOnce(s.Connect("10.0.0.7", 443), error);
    const Report report = s.Run(OneRoute());
    EXPECT_EQ(OutcomeOf(report), Outcome::kPolicyDenied);
    EXPECT_EQ(OnlyExchange(report).rule, Rule::kPolicyHookDenied);
    EXPECT_EQ(OnlyExchange(report).confidence, Confidence::kObserved);
  }
}

TEST(TransportStory, DenialSeenInTheHookNeedsNoResultOfConnect) {
  Story s = Resolved();
  EventBuilder event;
  event.Connects(7, "10.0.0.7", 443);
  std::get<ConnectAttempt>(event.event_.body).denied_by_policy_hook = true;
  s.Add(event);
  EXPECT_EQ(OutcomeOf(s.Run(OneRoute())), Outcome::kPolicyDenied);
}

// Two requests side by side, each refused by ::1 before either goes on to the address that works.
TEST(TransportStory, A26_TwoTriesAtOnceThatBothFallBackAreNoFailure) {
  Story s;
  s.Exec().Lookup("mcp.example", {"::1", "127.0.0.1"});
  for (int i = 0; i < 2; i++) s.Fail(s.Connect("::1", 443), ECONNREFUSED);
  const uint64_t first = s.Connected("127.0.0.1", 443);
  const uint64_t second = s.Connected("127.0.0.1", 443);
  s.Wait(1000).Close(first).Close(second);
  for (const ExchangeRecord& exchange : s.Run(OneRoute()).exchanges)
    EXPECT_EQ(exchange.outcome, Outcome::kNoObservedExchange) << ToString(exchange.rule);
}

// ICMPv6 "administratively prohibited" is EACCES too, and comes from a router.
TEST(TransportStory, TheSameErrorAfterASynIsNotTheHooks) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  FlowEnd end;
  end.cause = EndCause::kFailed;
  end.state = TcpState::kSynSent;
  end.error = EACCES;
  end.syn_seen = true;
  end.egress_proven = true;
  s.End(s.Connect("10.0.0.7", 443), end);
  EXPECT_EQ(OutcomeOf(s.Run(OneRoute())), Outcome::kTransportFailed);
}

// The packet filter of the same host answers within connect(); the program then asks and is told.
TEST(TransportStory, AnsweredByIcmpWithinConnectIsAFailureThoughTheOwnerReleasedIt) {
  for (const bool syn_seen : {true, false}) {
    Story s;
    s.Exec().Lookup("mcp.example", {"10.0.0.7"});
    const uint64_t flow = s.Connect("10.0.0.7", 443);
    s.Add(Ev().FailsAtOnce(flow, EHOSTUNREACH, true));
    FlowEnd end;
    end.state = TcpState::kSynSent;
    end.syn_seen = syn_seen;
    end.egress_proven = true;
    s.End(flow, end);
    const Report report = s.Run(OneRoute());
    EXPECT_EQ(OutcomeOf(report), syn_seen ? Outcome::kTransportFailed : Outcome::kPolicyDenied);
    EXPECT_EQ(OnlyExchange(report).rule,
              syn_seen ? Rule::kConnectUnreachable : Rule::kBlockedBeforeEgress);
  }
}

TEST(TransportStory, AnsweredByIcmpAndThenEstablishedIsNoFailure) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  const uint64_t flow = s.Connect("10.0.0.7", 443);
  s.Add(Ev().FailsAtOnce(flow, EHOSTUNREACH, true));
  s.Establish(flow).Close(flow);
  EXPECT_EQ(OutcomeOf(s.Run(OneRoute())), Outcome::kNoObservedExchange);
}

TEST(TransportStory, G4_DenialOfTheNameServerIsPolicyDeniedForTheName) {
  Story s;
  s.Exec();
  Event denied = Ev().ConnectsUdp(900, "10.0.0.53", 53).event_;
  std::get<ConnectAttempt>(denied.body).denied_by_policy_hook = true;
  EventBuilder builder;
  builder.event_ = denied;
  s.Add(builder).Wait(1).Resolve("mcp.example", -3, {}, 10);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kPolicyDenied);
  EXPECT_EQ(OnlyExchange(report).rule, Rule::kPolicyHookDenied);
  ASSERT_EQ(report.unattributed.size(), 1U);
  EXPECT_EQ(report.unattributed.front().outcome, Outcome::kPolicyDenied);
}

TEST(TransportStory, RejectedBeforeEgressIsPolicyDeniedInferred) {
  Story s = Resolved();
  FlowEnd end;
  end.cause = EndCause::kFailed;
  end.state = TcpState::kSynSent;
  end.error = ECONNREFUSED;
  end.egress_proven = true;  // and no SYN came by
  s.End(s.Connect("10.0.0.7", 443), end);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kPolicyDenied);
  EXPECT_EQ(OnlyExchange(report).rule, Rule::kBlockedBeforeEgress);
  EXPECT_EQ(OnlyExchange(report).confidence, Confidence::kInferred);
  EXPECT_EQ(ConditionOf(report).hint, Hint::kBlockedLocally);
}

TEST(TransportStory, WithoutAProvenEgressHookAMissingSynMeansNothing) {
  Story s = Resolved();
  FlowEnd end;
  end.cause = EndCause::kFailed;
  end.state = TcpState::kSynSent;
  end.error = ECONNREFUSED;
  s.End(s.Connect("10.0.0.7", 443), end);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
  EXPECT_EQ(OnlyExchange(report).confidence, Confidence::kInferred);
}

TEST(TransportStory, DroppedBeforeEgressIsPolicyDeniedOnceTheClientGivesUpInEarnest) {
  Story s = Resolved();
  FlowEnd end;
  end.state = TcpState::kSynSent;
  end.egress_proven = true;
  end.retransmits = 2;
  const uint64_t flow = s.Connect("10.0.0.7", 443);
  s.Wait(4000).End(flow, end);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kPolicyDenied);
}

TEST(TransportStory, A5_ConnectCancelledByItsCallerChangesNothing) {
  Story s = Resolved();
  const uint64_t flow = s.Connect("10.0.0.7", 443);
  s.Wait(50).GiveUp(flow, 0);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
  EXPECT_EQ(OnlyExchange(report).rule, Rule::kCallerCancelled);
  EXPECT_TRUE(ConditionOf(report).last_attempt.known());
  EXPECT_TRUE(report.unattributed.empty());
}

TEST(TransportStory, BlackholeIsTransportFailedOnceTheClientGivesUpInEarnest) {
  for (const auto& [waited, retransmits, outcome] :
       {std::tuple{4000.0, 2U, Outcome::kTransportFailed},
        std::tuple{4000.0, 1U, Outcome::kNoObservedExchange},
        std::tuple{2500.0, 2U, Outcome::kNoObservedExchange}}) {
    Story s = Resolved();
    const uint64_t flow = s.Connect("10.0.0.7", 443);
    s.Wait(waited).GiveUp(flow, retransmits);
    EXPECT_EQ(OutcomeOf(s.Run(OneRoute())), outcome) << waited << " ms, " << retransmits;
  }
}

TEST(TransportStory, A1_AcceptedAndClosedAtOnceIsNoFailure) {
  Story s = Resolved();
  s.PeerClose(s.Connected("10.0.0.7", 443));
  s.Close(s.Connected("10.0.0.7", 443));
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
  for (const ExchangeRecord& exchange : report.exchanges)
    EXPECT_EQ(exchange.outcome, Outcome::kNoObservedExchange);
}

TEST(TransportStory, A2_IdleConnectionClosedLocallyIsNoFailure) {
  Story s = Resolved();
  const uint64_t flow = s.Connected("10.0.0.7", 443);
  s.Wait(2000).Close(flow);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OnlyExchange(report).rule, Rule::kClosedWithoutAWord);
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
}

TEST(TransportStory, ResetRightAfterConnectIsTransportFailed) {
  Story s = Resolved();
  s.Reset(s.Connected("10.0.0.7", 443));
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
}

TEST(TransportStory, ResetOfAConnectionThatLayIdleIsNoFailure) {
  Story s = Resolved();
  const uint64_t flow = s.Connected("10.0.0.7", 443);
  s.Wait(60'000).Reset(flow);
  EXPECT_EQ(OutcomeOf(s.Run(OneRoute())), Outcome::kNoObservedExchange);
}

TEST(TransportStory, A26_HappyEyeballsWinnerSilencesTheLoser) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7", "fd00::7"});
  s.Fail(s.Connect("fd00::7", 443), ECONNREFUSED);
  const uint64_t winner = s.Connected("10.0.0.7", 443);
  s.Handshake13(winner);
  s.FromClient(winner, 23, 300).FromServer(winner, 23, 900).Close(winner);
  const Report report = s.Run(OneRoute());
  ASSERT_EQ(report.exchanges.size(), 1U);
  EXPECT_EQ(report.exchanges[0].rule, Rule::kStatusNotVisible);
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
}

TEST(TransportStory, A26_SideBySideAttemptsAreOneExchange) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7", "fd00::7"});
  const uint64_t six = s.Connect("fd00::7", 443);
  s.Wait(200);
  const uint64_t four = s.Connect("10.0.0.7", 443);
  s.Fail(four, ECONNREFUSED).Fail(six, ENETUNREACH);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(report.exchanges.size(), 1U);
  EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
}

TEST(TransportStory, A26_FailedAttemptsOfOneTryGiveTheFailureThatEndedIt) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7", "fd00::7"});
  s.FailAtOnce(s.Connect("fd00::7", 443), ENETUNREACH);
  s.Fail(s.Connect("10.0.0.7", 443), ECONNREFUSED);
  EXPECT_EQ(OnlyExchange(s.Run(OneRoute())).rule, Rule::kConnectRefused);
}

TEST(TransportStory, TheSameAddressAgainIsAnExchangeOfItsOwn) {
  Story s = Resolved();
  for (int i = 0; i < 5; i++) s.Fail(s.Connect("10.0.0.7", 443), ECONNREFUSED);
  EXPECT_EQ(s.Run(OneRoute()).exchanges.size(), 5U);
}

TEST(TransportStory, SpeculativeSecondConnectionChangesNothing) {
  Story s = Resolved();
  const uint64_t first = s.Connected("10.0.0.7", 80);
  s.Request(first, HttpMethod::kPost, "/mcp", "mcp.example:80").Answer(first, 200);
  const uint64_t second = s.Connected("10.0.0.7", 80);
  s.Wait(500).Close(second).Close(first);
  const Report report = s.Run(PolicyWith({{"mcp.example", 80}}));
  EXPECT_EQ(OutcomeOf(report), Outcome::kReachable);
}

TEST(TransportStory, A22_PreExistingConnectionGivesNoConnectVerdict) {
  Story s;
  for (uint64_t flow = 1; flow <= 50; flow++) {
    EventBuilder event;
    event.Connects(flow, "10.0.0.7", 443);
    std::get<ConnectAttempt>(event.event_.body).preexisting = true;
    s.Add(event);
  }
  for (uint64_t flow = 1; flow <= 50; flow++) {
    s.FromClient(flow, 23, 300).FromServer(flow, 23, 600);
    if (flow % 2 == 0)
      s.Reset(flow);
    else
      s.Close(flow);
  }
  const Report report = s.Run(OneRoute());
  EXPECT_TRUE(report.exchanges.empty());
  EXPECT_TRUE(report.unattributed.empty());
}

TEST(TransportStory, A19_EventsBelongToTheirCookieWhateverTheAddresses) {
  Story s = Resolved();
  const uint64_t refused = s.Connect("10.0.0.7", 443);
  const uint64_t waits = s.Connect("10.0.0.7", 443);
  s.Fail(refused, ECONNREFUSED).Establish(waits).Wait(500).Close(waits);
  const Report report = s.Run(OneRoute());
  ASSERT_EQ(report.exchanges.size(), 2U);
  EXPECT_EQ(report.exchanges[0].rule, Rule::kConnectRefused);
  EXPECT_EQ(report.exchanges[1].rule, Rule::kClosedWithoutAWord);
}

TEST(TransportStory, F8_ASocketThatConnectsAgainIsASecondExchange) {
  Story s = Resolved();
  const uint64_t flow = s.Connect("10.0.0.7", 443);
  s.Fail(flow, ECONNREFUSED);
  s.Add(Ev().Connects(flow, "10.0.0.7", 443)).Establish(flow);
  s.Handshake13(flow).FromClient(flow, 23, 200).FromServer(flow, 23, 900).Close(flow);
  const Report report = s.Run(OneRoute());
  ASSERT_EQ(report.exchanges.size(), 2U);
  EXPECT_EQ(report.exchanges[0].rule, Rule::kConnectRefused);
  EXPECT_EQ(report.exchanges[1].rule, Rule::kStatusNotVisible);
}

TEST(TransportStory, A7_A8_ConservationOverManyFailures) {
  Story s = Resolved();
  for (int i = 0; i < 2000; i++) s.FailAtOnce(s.Connect("10.0.0.7", 443), ENETUNREACH);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(report.exchanges.size(), 2000U);
  EXPECT_EQ(report.loss, Loss{});
}

TEST(TransportStory, A20_BoundariesDoNotMix) {
  Story a(0);
  Story b(1);
  a.Exec().Lookup("mcp.example", {"10.0.0.7"});
  // The other boundary never resolved that name: its refused connect is nobody's.
  b.Fail(b.Connect("10.0.0.7", 443), ECONNREFUSED);
  std::vector<Event> events = a.events();
  events.insert(events.end(), b.events().begin(), b.events().end());
  const Report report = RunEvents(events, OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
  ASSERT_EQ(report.unattributed.size(), 1U);
  EXPECT_EQ(report.unattributed[0].reason, UnattributedReason::kNameUnknown);
  EXPECT_EQ(report.unattributed[0].host, "10.0.0.7");
}

}  // namespace
}  // namespace routelens

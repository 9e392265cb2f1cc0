// SPDX-License-Identifier: Apache-2.0
//
// Stories of HTTP in the clear: statuses, heads that are none, connections that end, retries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/story.h"

namespace routelens {
namespace {

constexpr const char* kHost = "mcp.example:80";

Policy OneRoute() {
  return PolicyWith({{"mcp.example", 80}});
}

struct Connection {
  Story story;
  uint64_t flow = 0;
};

Connection Ready() {
  Connection c;
  c.story.Exec().Lookup("mcp.example", {"10.0.0.7"});
  c.flow = c.story.Connected("10.0.0.7", 80);
  return c;
}

Connection Asked(HttpMethod method = HttpMethod::kPost, bool with_session = false) {
  Connection c = Ready();
  c.story.Request(c.flow, method, "/mcp", kHost, with_session);
  return c;
}

ExchangeRecord Only(const Report& report) {
  EXPECT_EQ(report.exchanges.size(), 1U);
  return report.exchanges.empty() ? ExchangeRecord{} : report.exchanges.front();
}

TEST(HttpStory, StatusDecides) {
  for (const auto& [status, outcome] : {std::pair{uint16_t{101}, Outcome::kReachable},
                                        std::pair{uint16_t{200}, Outcome::kReachable},
                                        std::pair{uint16_t{202}, Outcome::kReachable},
                                        std::pair{uint16_t{204}, Outcome::kReachable},
                                        std::pair{uint16_t{301}, Outcome::kReachable},
                                        std::pair{uint16_t{304}, Outcome::kReachable},
                                        std::pair{uint16_t{399}, Outcome::kReachable},
                                        std::pair{uint16_t{400}, Outcome::kUpstreamRejected},
                                        std::pair{uint16_t{403}, Outcome::kUpstreamRejected},
                                        std::pair{uint16_t{429}, Outcome::kUpstreamRejected},
                                        std::pair{uint16_t{500}, Outcome::kUpstreamRejected},
                                        std::pair{uint16_t{503}, Outcome::kUpstreamRejected},
                                        std::pair{uint16_t{600}, Outcome::kUpstreamRejected},
                                        std::pair{uint16_t{999}, Outcome::kUpstreamRejected}}) {
    Connection c = Asked();
    c.story.Answer(c.flow, status).Close(c.flow);
    const Report report = c.story.Run(OneRoute());
    EXPECT_EQ(OutcomeOf(report), outcome) << status;
    EXPECT_EQ(Only(report).confidence, Confidence::kObserved) << status;
  }
}

TEST(HttpStory, RejectionsThatNeedAWordCarryTheirHint) {
  for (const auto& [method, status, session, hint] :
       {std::tuple{HttpMethod::kGet, uint16_t{405}, false, Hint::kNoSseStream},
        std::tuple{HttpMethod::kDelete, uint16_t{405}, true, Hint::kSessionDeleteRefused},
        std::tuple{HttpMethod::kPost, uint16_t{405}, false, Hint::kNone},
        std::tuple{HttpMethod::kPost, uint16_t{404}, true, Hint::kSessionExpired},
        std::tuple{HttpMethod::kPost, uint16_t{404}, false, Hint::kNone},
        std::tuple{HttpMethod::kPost, uint16_t{401}, false, Hint::kCredentialMayHaveExpired}}) {
    Connection c = Asked(method, session);
    c.story.Answer(c.flow, status);
    EXPECT_EQ(ConditionOf(c.story.Run(OneRoute())).hint, hint) << status;
  }
}

TEST(HttpStory, G1_InterimAnswersAreNotTheLastWord) {
  Connection c = Asked();
  c.story.Answer(c.flow, 103).Answer(c.flow, 103).Answer(c.flow, 200);
  EXPECT_EQ(OutcomeOf(c.story.Run(OneRoute())), Outcome::kReachable);

  Connection d = Asked();
  d.story.Answer(d.flow, 100).Answer(d.flow, 417).Close(d.flow);
  EXPECT_EQ(OutcomeOf(d.story.Run(OneRoute())), Outcome::kUpstreamRejected);

  Connection e = Asked();
  e.story.Answer(e.flow, 100).PeerClose(e.flow);
  EXPECT_EQ(OutcomeOf(e.story.Run(OneRoute())), Outcome::kTransportFailed);
}

TEST(HttpStory, G2_MalformedHeadIsTransportFailed) {
  Connection c = Asked();
  c.story.Malformed(c.flow).Close(c.flow);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
  EXPECT_EQ(Only(report).rule, Rule::kHttpMalformed);
}

TEST(HttpStory, HeadCutByThePeerIsTransportFailed) {
  for (const bool by_reset : {false, true}) {
    Connection c = Asked();
    FlowEnd end;
    end.established = true;
    end.head_open = true;
    end.request_open = true;
    end.bytes_received = 30;
    end.bytes_acked = 300;
    end.cause = by_reset ? EndCause::kFailed : EndCause::kReleased;
    end.error = by_reset ? 104 : 0;
    end.reset_received = by_reset;
    end.peer_fin = !by_reset;
    end.state = by_reset ? TcpState::kEstablished : TcpState::kCloseWait;
    c.story.End(c.flow, end);
    const Report report = c.story.Run(OneRoute());
    EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
    EXPECT_EQ(Only(report).rule, Rule::kHttpHeadCut);
  }
}

TEST(HttpStory, HeadCutByItsOwnReaderIsNoFailure) {
  Connection c = Asked();
  FlowEnd end;
  end.established = true;
  end.head_open = true;
  end.state = TcpState::kEstablished;
  c.story.End(c.flow, end);
  EXPECT_EQ(OutcomeOf(c.story.Run(OneRoute())), Outcome::kNoObservedExchange);
}

TEST(HttpStory, WholeHeadThenCutBodyKeepsTheStatus) {
  Connection c = Asked();
  c.story.Answer(c.flow, 200).Reset(c.flow);
  EXPECT_EQ(OutcomeOf(c.story.Run(OneRoute())), Outcome::kReachable);
  Connection d = Asked();
  d.story.Answer(d.flow, 503).PeerClose(d.flow);
  EXPECT_EQ(OutcomeOf(d.story.Run(OneRoute())), Outcome::kUpstreamRejected);
}

TEST(HttpStory, ResetOrCloseBeforeTheAnswerIsTransportFailed) {
  Connection c = Asked();
  c.story.Reset(c.flow);
  EXPECT_EQ(Only(c.story.Run(OneRoute())).rule, Rule::kResetBeforeAnswer);
  EXPECT_EQ(OutcomeOf(c.story.Run(OneRoute())), Outcome::kTransportFailed);
  Connection d = Asked();
  d.story.PeerClose(d.flow);
  EXPECT_EQ(Only(d.story.Run(OneRoute())).rule, Rule::kClosedBeforeAnswer);
  EXPECT_EQ(OutcomeOf(d.story.Run(OneRoute())), Outcome::kTransportFailed);
}

TEST(HttpStory, ClientThatGivesUpWaitingGivesAHintAndNoOutcome) {
  Connection c = Asked();
  c.story.Wait(4000).Close(c.flow);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
  EXPECT_EQ(ConditionOf(report).hint, Hint::kNoAnswer);
  EXPECT_TRUE(ConditionOf(report).last_attempt.known());
  EXPECT_EQ(Only(report).rule, Rule::kNoAnswerInTime);
}

TEST(HttpStory, ClientThatLeavesSoonSaysNothing) {
  Connection c = Asked();
  c.story.Wait(100).Close(c.flow);
  EXPECT_EQ(Only(c.story.Run(OneRoute())).rule, Rule::kCallerCancelled);
}

TEST(HttpStory, EachRequestOfAKeptConnectionIsAnExchange) {
  Connection c = Ready();
  for (const uint16_t status : {uint16_t{200}, uint16_t{202}, uint16_t{405}}) {
    c.story.Wait(100).Request(c.flow, status == 405 ? HttpMethod::kGet : HttpMethod::kPost, "/mcp",
                              kHost);
    c.story.Answer(c.flow, status);
  }
  c.story.Close(c.flow);
  const Report report = c.story.Run(OneRoute());
  ASSERT_EQ(report.exchanges.size(), 3U);
  EXPECT_EQ(report.exchanges[1].outcome, Outcome::kReachable);
  EXPECT_EQ(OutcomeOf(report), Outcome::kUpstreamRejected);
  EXPECT_EQ(ConditionOf(report).hint, Hint::kNoSseStream);
}

TEST(HttpStory, PipelinedAnswersPairInOrder) {
  Policy policy = PolicyWith({{"mcp.example", 80, "/a"}, {"mcp.example", 80, "/b"}});
  Connection c = Ready();
  c.story.Request(c.flow, HttpMethod::kPost, "/a", kHost);
  c.story.Request(c.flow, HttpMethod::kPost, "/b", kHost);
  c.story.Answer(c.flow, 500).Answer(c.flow, 200).Close(c.flow);
  const Report report = c.story.Run(policy);
  EXPECT_EQ(OutcomeOf(report, "mcp.example", "/a"), Outcome::kUpstreamRejected);
  EXPECT_EQ(OutcomeOf(report, "mcp.example", "/b"), Outcome::kReachable);
}

TEST(HttpStory, CloseWithSeveralOutstandingDecidesNone) {
  Connection c = Ready();
  c.story.Request(c.flow, HttpMethod::kPost, "/mcp", kHost);
  c.story.Request(c.flow, HttpMethod::kPost, "/mcp", kHost).Reset(c.flow);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
  EXPECT_EQ(report.exchanges.size(), 2U);
}

TEST(HttpStory, StaleKeepAliveIsDecidedByTheRetry) {
  Connection c = Asked();
  c.story.Answer(c.flow, 200).Wait(5000);
  c.story.Request(c.flow, HttpMethod::kPost, "/mcp", kHost).Reset(c.flow);
  const uint64_t retry = c.story.Connected("10.0.0.7", 80);
  c.story.Request(retry, HttpMethod::kPost, "/mcp", kHost).Answer(retry, 200);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kReachable);
  for (const ExchangeRecord& exchange : report.exchanges)
    EXPECT_NE(exchange.outcome, Outcome::kTransportFailed);
}

TEST(HttpStory, StaleKeepAliveWhoseRetryConnectsBeforeTheOldSocketIsClosed) {
  Connection c = Asked();
  c.story.Answer(c.flow, 200).Wait(5000);
  c.story.Request(c.flow, HttpMethod::kPost, "/mcp", kHost);
  c.story.Add(Ev().PeerCloses(c.flow));
  const uint64_t retry = c.story.Connected("10.0.0.7", 80);
  c.story.PeerClose(c.flow);
  c.story.Request(retry, HttpMethod::kPost, "/mcp", kHost).Answer(retry, 503);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kUpstreamRejected);
  for (const ExchangeRecord& exchange : report.exchanges)
    EXPECT_NE(exchange.outcome, Outcome::kTransportFailed);
}

TEST(HttpStory, StaleKeepAliveWhoseRetryUsesAnotherOpenConnection) {
  Connection c = Asked();
  const uint64_t other = c.story.Connected("10.0.0.7", 80);
  c.story.Answer(c.flow, 200).Wait(5000);
  c.story.Request(c.flow, HttpMethod::kPost, "/mcp", kHost).Reset(c.flow);
  c.story.Request(other, HttpMethod::kPost, "/mcp", kHost).Answer(other, 200);
  const Report report = c.story.Run(OneRoute());
  for (const ExchangeRecord& exchange : report.exchanges)
    EXPECT_NE(exchange.outcome, Outcome::kTransportFailed);
}

TEST(HttpStory, StaleKeepAliveThatNobodyRetriesIsTransportFailed) {
  Connection c = Asked();
  c.story.Answer(c.flow, 200).Wait(5000);
  c.story.Request(c.flow, HttpMethod::kPost, "/mcp", kHost).Reset(c.flow);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
  EXPECT_EQ(ConditionOf(report).observed, report.exchanges.back().end);
}

TEST(HttpStory, StaleKeepAliveStillWaitingAtTheEndIsNoOutcome) {
  Connection c = Asked();
  c.story.Answer(c.flow, 200).Wait(5000);
  c.story.Request(c.flow, HttpMethod::kPost, "/mcp", kHost).Reset(c.flow);
  const Report report = RunEvents(c.story.events(), OneRoute(), {}, 500);
  EXPECT_EQ(OutcomeOf(report), Outcome::kReachable);
}

TEST(HttpStory, A417ThatIsRetriedIsDecidedByTheRetry) {
  Connection c = Asked();
  c.story.Answer(c.flow, 417).Request(c.flow, HttpMethod::kPost, "/mcp", kHost);
  c.story.Answer(c.flow, 200).Close(c.flow);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(Only(report).outcome, Outcome::kReachable);
}

TEST(HttpStory, LatestIsByTheStartOfTheExchange) {
  Connection c = Ready();
  const uint64_t other = c.story.Connected("10.0.0.7", 80);
  c.story.Request(c.flow, HttpMethod::kGet, "/mcp", kHost);  // an old call, slow
  c.story.Wait(400).Request(other, HttpMethod::kPost, "/mcp", kHost).Answer(other, 200);
  c.story.Wait(1000).Answer(c.flow, 503);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kReachable);
}

TEST(HttpStory, EventStreamIsDecidedByItsHead) {
  Connection c = Asked(HttpMethod::kGet);
  c.story.Answer(c.flow, 200).Wait(60'000).Reset(c.flow);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kReachable);
  EXPECT_LT(ConditionOf(report).observed, AtMs(1000));
}

TEST(HttpStory, PreExistingKeepAliveThenARequestInTheClearCountsByItsStatus) {
  Story s;
  EventBuilder event;
  event.Connects(1, "10.0.0.7", 80);
  std::get<ConnectAttempt>(event.event_.body).preexisting = true;
  s.Add(event).Request(1, HttpMethod::kPost, "/mcp", kHost).Answer(1, 200);
  EXPECT_EQ(OutcomeOf(s.Run(OneRoute())), Outcome::kReachable);
}

TEST(HttpStory, TransitionIsWhenTheOutcomeChanged) {
  Connection c = Ready();
  double second = 0;
  for (const uint16_t status : {uint16_t{200}, uint16_t{500}, uint16_t{503}}) {
    c.story.Wait(100).Request(c.flow, HttpMethod::kPost, "/mcp", kHost).Answer(c.flow, status);
    if (status == 500)
      second = c.story.now();
  }
  const RouteCondition condition = ConditionOf(c.story.Run(OneRoute()));
  EXPECT_EQ(condition.transition, AtMs(second));
  EXPECT_GT(condition.observed, condition.transition);
}

// --- through a proxy ---

Connection ThroughProxy() {
  Connection c;
  c.story.Exec();
  c.flow = c.story.Connected("10.200.0.1", 3128);
  return c;
}

Policy ProxiedRoute() {
  return PolicyWith({{"mcp.example", 443}});
}

TEST(ProxyStory, RequestInATunnelIsAttributedByItsConnect) {
  Connection c = ThroughProxy();
  c.story.Proxied(c.flow, "mcp.example:443").Answer(c.flow, 200);
  c.story.Request(c.flow, HttpMethod::kPost, "/mcp", "mcp.example").Answer(c.flow, 200);
  const Report report = c.story.Run(ProxiedRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kReachable);
  EXPECT_EQ(Only(report).confidence, Confidence::kInferred);
}

TEST(ProxyStory, TlsFailureInATunnelIsAttributedByItsConnect) {
  Connection c = ThroughProxy();
  c.story.Proxied(c.flow, "mcp.example:443").Answer(c.flow, 200).Hello(c.flow);
  c.story.ServerFlight13(c.flow).Alert(c.flow, Direction::kEgress, 2, 48).Close(c.flow);
  EXPECT_EQ(OutcomeOf(c.story.Run(ProxiedRoute())), Outcome::kTlsFailed);
}

TEST(ProxyStory, ContradictionWithinATunnelIsAmbiguous) {
  Connection c = ThroughProxy();
  HelloOptions hello;
  hello.sni = "other.example";
  c.story.Proxied(c.flow, "mcp.example:443").Answer(c.flow, 200).Hello(c.flow, hello);
  c.story.Reset(c.flow);
  const Report report = c.story.Run(ProxiedRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
  ASSERT_EQ(report.unattributed.size(), 1U);
  EXPECT_EQ(report.unattributed[0].reason, UnattributedReason::kNameAmbiguous);
}

TEST(ProxyStory, AConnectRefusedByAProxyThatIsNotWatchedIsNoPolicyDenial) {
  for (const auto& [status, confidence] :
       {std::pair{uint16_t{403}, Confidence::kWeak}, std::pair{uint16_t{503}, Confidence::kWeak},
        std::pair{uint16_t{502}, Confidence::kInferred},
        std::pair{uint16_t{504}, Confidence::kInferred}}) {
    Connection c = ThroughProxy();
    c.story.Proxied(c.flow, "mcp.example:443").Answer(c.flow, status).Close(c.flow);
    const ExchangeRecord exchange = Only(c.story.Run(ProxiedRoute()));
    EXPECT_EQ(exchange.rule, Rule::kProxyConnectFailed);
    EXPECT_EQ(exchange.outcome, Outcome::kTransportFailed);
    EXPECT_EQ(exchange.confidence, confidence) << status;
  }
}

TEST(ProxyStory, A407ThatIsRetriedIsDecidedByTheRetry) {
  Connection c = ThroughProxy();
  c.story.Proxied(c.flow, "mcp.example:443").Answer(c.flow, 407);
  c.story.Proxied(c.flow, "mcp.example:443").Answer(c.flow, 200);
  c.story.Request(c.flow, HttpMethod::kPost, "/mcp", "mcp.example").Answer(c.flow, 200);
  EXPECT_EQ(Only(c.story.Run(ProxiedRoute())).outcome, Outcome::kReachable);
}

TEST(ProxyStory, A407ThatNobodyRetriesIsTransportFailed) {
  Connection c = ThroughProxy();
  c.story.Proxied(c.flow, "mcp.example:443").Answer(c.flow, 407).Close(c.flow);
  EXPECT_EQ(OutcomeOf(c.story.Run(ProxiedRoute())), Outcome::kTransportFailed);
}

TEST(ProxyStory, A403FromAWatchedProxyThatDidNotConnectIsPolicyDenied) {
  Connection c = ThroughProxy();
  c.story.Add(Ev().By(kOther).AsProxy().Process(ProcessOp::kExec));
  c.story.Proxied(c.flow, "mcp.example:443").Answer(c.flow, 403).Close(c.flow);
  const Report report = c.story.Run(ProxiedRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kPolicyDenied);
  EXPECT_EQ(Only(report).confidence, Confidence::kInferred);
}

TEST(ProxyStory, A403FromAWatchedProxyThatDidConnectIsItsUpstreamLegsMatter) {
  Connection c = ThroughProxy();
  c.story.Proxied(c.flow, "mcp.example:443");
  c.story.Add(Ev().By(kOther).AsProxy().Connects(77, "10.0.0.7", 443));
  c.story.Answer(c.flow, 403).Close(c.flow);
  EXPECT_EQ(OutcomeOf(c.story.Run(ProxiedRoute())), Outcome::kNoObservedExchange);
}

TEST(ProxyStory, AStatusThatAProxyMakesItselfIsWeak) {
  for (const uint16_t status : {uint16_t{403}, uint16_t{502}, uint16_t{503}}) {
    Connection c = ThroughProxy();
    c.story.Proxied(c.flow, "mcp.example:443").Answer(c.flow, 200);
    c.story.Request(c.flow, HttpMethod::kPost, "/mcp", "mcp.example").Answer(c.flow, status);
    const Report report = c.story.Run(ProxiedRoute());
    EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange) << status;
    EXPECT_EQ(Only(report).confidence, Confidence::kWeak) << status;
  }
}

TEST(ProxyStory, AProxyThatHangsUpOnConnectIsTransportFailed) {
  Connection c = ThroughProxy();
  c.story.Proxied(c.flow, "mcp.example:443").PeerClose(c.flow);
  EXPECT_EQ(OutcomeOf(c.story.Run(ProxiedRoute())), Outcome::kTransportFailed);
}

}  // namespace
}  // namespace routelens

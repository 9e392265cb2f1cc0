// SPDX-License-Identifier: Apache-2.0
#include "userspace/pipeline/route_board.h"

#include <gtest/gtest.h>

namespace routelens {
namespace {

JudgedExchange Exchange(uint64_t start, uint64_t end, Outcome outcome, Rule rule,
                        Confidence confidence = Confidence::kObserved,
                        Stage stage = Stage::kAnswered) {
  JudgedExchange exchange;
  exchange.start = BootTime{start};
  exchange.end = BootTime{end};
  exchange.said = {outcome, confidence, rule, Hint::kNone};
  exchange.stage = stage;
  exchange.attribution.route = 0;
  return exchange;
}

JudgedExchange Refused(uint64_t start, uint64_t end) {
  return Exchange(start, end, Outcome::kTransportFailed, Rule::kConnectRefused,
                  Confidence::kObserved, Stage::kConnect);
}

JudgedExchange Nothing(uint64_t start, uint64_t end, Rule rule, Stage stage) {
  return Exchange(start, end, Outcome::kNoObservedExchange, rule, Confidence::kNone, stage);
}

RouteBoard OneRoute() {
  return RouteBoard({MakeRoute("mcp.example", {443}, "/mcp", false)});
}

TEST(RouteBoard, BeginsWithNothingObserved) {
  const RouteBoard board = OneRoute();
  const RouteCondition& shown = board.At(0);
  EXPECT_EQ(shown.outcome, Outcome::kNoObservedExchange);
  EXPECT_FALSE(shown.observed.known());
  EXPECT_FALSE(shown.transition.known());
  EXPECT_FALSE(shown.last_attempt.known());
}

TEST(RouteBoard, ALaterStartWinsWhateverTheEnds) {
  RouteBoard board = OneRoute();
  EXPECT_TRUE(board.Take(0, Exchange(20, 30, Outcome::kReachable, Rule::kHttpStatusReachable)));
  board.Take(0, Exchange(10, 99, Outcome::kUpstreamRejected, Rule::kHttpStatusRejected));
  EXPECT_EQ(board.At(0).outcome, Outcome::kReachable);
  EXPECT_EQ(board.At(0).last_attempt, BootTime{20});
}

TEST(RouteBoard, WeakEvidenceChangesNothingButTheLastAttempt) {
  RouteBoard board = OneRoute();
  board.Take(0, Exchange(10, 20, Outcome::kReachable, Rule::kHttpStatusReachable));
  board.Take(0, Exchange(30, 40, Outcome::kTlsFailed, Rule::kTlsClientClosedInHandshake,
                         Confidence::kWeak));
  EXPECT_EQ(board.At(0).outcome, Outcome::kReachable);
  EXPECT_EQ(board.At(0).observed, BootTime{20});
  EXPECT_EQ(board.At(0).last_attempt, BootTime{30});
}

TEST(RouteBoard, TransitionMovesOnlyWithTheOutcome) {
  RouteBoard board = OneRoute();
  board.Take(0, Refused(10, 20));
  board.Take(0, Refused(30, 40));
  EXPECT_EQ(board.At(0).transition, BootTime{20});
  EXPECT_EQ(board.At(0).observed, BootTime{40});
}

TEST(RouteBoard, WhatWentFurtherUnseenWithdrawsAFailure) {
  RouteBoard board = OneRoute();
  board.Take(0, Refused(10, 20));
  EXPECT_TRUE(board.Take(0, Nothing(30, 40, Rule::kStatusNotVisible, Stage::kAnswered)));
  EXPECT_EQ(board.At(0).outcome, Outcome::kNoObservedExchange);
  EXPECT_EQ(board.At(0).hint, Hint::kStatusNotVisible);
  EXPECT_EQ(board.At(0).transition, BootTime{40});
  board.Take(0, Refused(25, 50));  // older than what withdrew it
  EXPECT_EQ(board.At(0).outcome, Outcome::kNoObservedExchange);
}

TEST(RouteBoard, LostEventsWithdrawOnlyAFailureOfAnEarlierStage) {
  RouteBoard board = OneRoute();
  board.Take(0, Refused(10, 20));
  board.Take(0, Nothing(30, 40, Rule::kEventsLost, Stage::kConnect));
  EXPECT_EQ(board.At(0).outcome, Outcome::kTransportFailed);
  board.Take(0, Nothing(30, 40, Rule::kEventsLost, Stage::kHandshaken));
  EXPECT_EQ(board.At(0).outcome, Outcome::kNoObservedExchange);
}

TEST(RouteBoard, LostEventsWithinTheHandshakeDoNotWithdrawATlsFailure) {
  RouteBoard board = OneRoute();
  board.Take(0, Exchange(10, 20, Outcome::kTlsFailed, Rule::kTlsAlertReceived,
                         Confidence::kObserved, Stage::kConnected));
  board.Take(0, Nothing(30, 40, Rule::kEventsLost, Stage::kConnected));
  EXPECT_EQ(board.At(0).outcome, Outcome::kTlsFailed);
  board.Take(0, Nothing(50, 60, Rule::kEventsLost, Stage::kHandshaken));
  EXPECT_EQ(board.At(0).outcome, Outcome::kNoObservedExchange);
}

TEST(RouteBoard, NothingWithdrawsASuccess) {
  RouteBoard board = OneRoute();
  board.Take(0, Exchange(10, 20, Outcome::kReachable, Rule::kHttpStatusReachable));
  board.Take(0, Nothing(30, 40, Rule::kStatusNotVisible, Stage::kAnswered));
  EXPECT_EQ(board.At(0).outcome, Outcome::kReachable);
}

TEST(RouteBoard, AConnectionWithoutAWordWithdrawsNothing) {
  RouteBoard board = OneRoute();
  board.Take(0, Refused(10, 20));
  board.Take(0, Nothing(30, 40, Rule::kClosedWithoutAWord, Stage::kConnected));
  EXPECT_EQ(board.At(0).outcome, Outcome::kTransportFailed);
}

}  // namespace
}  // namespace routelens

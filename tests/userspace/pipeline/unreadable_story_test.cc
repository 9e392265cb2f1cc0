// SPDX-License-Identifier: Apache-2.0
//
// Stories of answers that cannot be read (Go, Java, rustls): a failure must not stand against calls
// that go through unseen (rulings 1), and silence must not withdraw anything.
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/story.h"

namespace routelens {
namespace {

constexpr uint64_t kSsl = 0x7f0000001000;

Policy OneRoute() {
  return PolicyWith({{"mcp.example", 443}});
}

// A refused connect: the route is shown as failed.
Story Failed() {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  s.Fail(s.Connect("10.0.0.7", 443), ECONNREFUSED);
  s.Wait(1000);
  return s;
}

TEST(UnreadableStory, GoodCallsThatCannotBeReadWithdrawAFailure) {
  Story s = Failed();
  const uint64_t flow = s.Connected("10.0.0.7", 443);
  s.Handshake13(flow).FromClient(flow, 23, 300).FromServer(flow, 23, 900).Close(flow);
  const Report report = s.Run(OneRoute());
  const RouteCondition& condition = ConditionOf(report);
  EXPECT_EQ(condition.outcome, Outcome::kNoObservedExchange);
  EXPECT_EQ(condition.hint, Hint::kStatusNotVisible);
  EXPECT_FALSE(condition.observed.known());
  EXPECT_TRUE(condition.transition.known());
  ASSERT_EQ(report.exchanges.size(), 2U);
  EXPECT_EQ(report.exchanges[1].rule, Rule::kStatusNotVisible);
}

TEST(UnreadableStory, AnOpenConnectionWithdrawsAfterAWhile) {
  Story s = Failed();
  const uint64_t flow = s.Connected("10.0.0.7", 443);
  s.Handshake13(flow).FromClient(flow, 23, 300).FromServer(flow, 23, 900);
  EXPECT_EQ(OutcomeOf(RunEvents(s.events(), OneRoute(), {}, 10'000)), Outcome::kNoObservedExchange);
}

TEST(UnreadableStory, LaterCallsOnAKeptConnectionWithdrawALaterFailure) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  const uint64_t kept = s.Connected("10.0.0.7", 443);
  s.Handshake13(kept).FromClient(kept, 23, 300).FromServer(kept, 23, 900).Wait(10'000);
  s.Fail(s.Connect("10.0.0.7", 443), ECONNREFUSED).Wait(10'000);
  s.FromClient(kept, 23, 300).FromServer(kept, 23, 900).Close(kept);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
  EXPECT_EQ(ConditionOf(report).hint, Hint::kStatusNotVisible);
}

TEST(UnreadableStory, AnOlderCallWithdrawsNothing) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  const uint64_t kept = s.Connected("10.0.0.7", 443);
  s.Handshake13(kept).FromClient(kept, 23, 300);
  s.Wait(1000).Fail(s.Connect("10.0.0.7", 443), ECONNREFUSED);
  s.FromServer(kept, 23, 900).Close(kept);
  EXPECT_EQ(OutcomeOf(s.Run(OneRoute())), Outcome::kTransportFailed);
}

TEST(UnreadableStory, AConnectionWithoutAWordWithdrawsNothing) {
  Story s = Failed();
  s.Close(s.Connected("10.0.0.7", 443)).Wait(100);
  const uint64_t idle = s.Connected("10.0.0.7", 443);
  s.Handshake13(idle).FromServer(idle, 23, 250).Wait(1000).Close(idle);
  EXPECT_EQ(OutcomeOf(s.Run(OneRoute())), Outcome::kTransportFailed);
}

TEST(UnreadableStory, UnreadableCallsDoNotWithdrawASuccess) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  const uint64_t flow = s.Connected("10.0.0.7", 443);
  s.LibraryDraws(kSsl, std::byte{0x11}).Handshake13(flow);
  s.LibraryRequest(kSsl, HttpMethod::kPost, "/mcp", "mcp.example").LibraryAnswer(kSsl, 200);
  const uint64_t other = s.Wait(1000).Connected("10.0.0.7", 443);
  s.Handshake13(other, {.random = std::byte{0x55}}).FromClient(other, 23, 300);
  s.FromServer(other, 23, 900).Close(other);
  EXPECT_EQ(OutcomeOf(s.Run(OneRoute())), Outcome::kReachable);
}

TEST(UnreadableStory, Http2WithoutAReadableStatusSaysNothing) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  const uint64_t flow = s.Connected("10.0.0.7", 443);
  s.LibraryDraws(kSsl, std::byte{0x11}).Handshake13(flow);
  s.LibraryRequest(kSsl, HttpMethod::kOther, "", "").LibraryAnswer(kSsl, 0, true).Close(flow);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
  ASSERT_EQ(report.exchanges.size(), 1U);
  EXPECT_EQ(report.exchanges[0].rule, Rule::kStatusNotVisible);
}

TEST(UnreadableStory, LibraryAnswersThatTheWireSawAndTheProbeDidNotAreNoFailure) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  const uint64_t flow = s.Connected("10.0.0.7", 443);
  s.LibraryDraws(kSsl, std::byte{0x11}).Handshake13(flow);
  s.LibraryRequest(kSsl, HttpMethod::kPost, "/mcp", "mcp.example");
  s.FromClient(flow, 23, 300).FromServer(flow, 23, 900).PeerClose(flow);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
}

TEST(UnreadableStory, ResetAfterTheHandshakeWithOnlyTicketsIsWeak) {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  const uint64_t flow = s.Connected("10.0.0.7", 443);
  s.Handshake13(flow).FromServer(flow, 23, 250).FromClient(flow, 23, 300).Reset(flow);
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
  ASSERT_EQ(report.exchanges.size(), 1U);
  EXPECT_EQ(report.exchanges[0].confidence, Confidence::kWeak);
}

}  // namespace
}  // namespace routelens

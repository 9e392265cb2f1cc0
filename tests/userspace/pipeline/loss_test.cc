// SPDX-License-Identifier: Apache-2.0
//
// What the pipeline says when records are missing, late, doubled or bad.
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/story.h"

namespace routelens {
namespace {

Policy OneRoute() {
  return PolicyWith({{"mcp.example", 80}});
}

Story Asked() {
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  const uint64_t flow = s.Connected("10.0.0.7", 80);
  s.Request(flow, HttpMethod::kPost, "/mcp", "mcp.example");
  return s;
}

// Takes the n-th event from the end out of the sequence.
std::vector<Event> Without(const Story& story, size_t from_end) {
  std::vector<Event> events = Story(story).events();
  events.erase(events.end() - 1 - static_cast<std::ptrdiff_t>(from_end));
  return events;
}

TEST(Loss, AGapDropsWhatIsOpenAndCountsIt) {
  Story s = Asked();
  s.Reset(1 + 1);  // the connection's flow is the second that the story opened
  const Report whole = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(whole), Outcome::kTransportFailed);
  const Report lossy = RunEvents(Without(s, 1), OneRoute());  // the request is missing
  EXPECT_EQ(OutcomeOf(lossy), Outcome::kNoObservedExchange);
  EXPECT_EQ(lossy.loss.sequence_gaps, 1U);
  EXPECT_EQ(lossy.loss.exchanges_dropped, 1U);
}

TEST(Loss, WhatWasShownBeforeStaysAndWhatComesLaterCounts) {
  Story s = Asked();
  s.Answer(2, 503);
  s.Request(2, HttpMethod::kPost, "/mcp", "mcp.example");
  s.Answer(2, 200);  // this answer will be missing
  s.Wait(1000).Request(2, HttpMethod::kPost, "/mcp", "mcp.example");
  const Report shown = RunEvents(Without(s, 1), OneRoute());
  EXPECT_EQ(OutcomeOf(shown), Outcome::kUpstreamRejected);
  s.Answer(2, 204);
  const Report after = RunEvents(Without(s, 2), OneRoute());
  EXPECT_EQ(OutcomeOf(after), Outcome::kReachable);
}

TEST(Loss, ADropCounterThatMovedIsALossToo) {
  Story s = Asked();
  for (Event& event : s.events()) event.header.seq = 0;
  s.Reset(2);
  s.events().back().header.seq = 0;
  s.events().back().header.dropped = 2;
  const Report report = s.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
  EXPECT_EQ(report.loss.exchanges_dropped, 1U);
  EXPECT_EQ(report.loss.sequence_gaps, 0U);
}

TEST(Loss, F5_OnlyTheBoundaryThatLostSomethingIsTouched) {
  Story noisy(0);
  noisy.Exec().Lookup("mcp.example", {"10.0.0.7"});
  const uint64_t open = noisy.Connected("10.0.0.7", 80);
  noisy.Request(open, HttpMethod::kPost, "/mcp", "mcp.example");
  Story quiet(1);
  quiet.As(kOther).Exec().Lookup("mcp.example", {"10.0.0.7"});
  quiet.Fail(quiet.Connect("10.0.0.7", 80), ECONNREFUSED);
  noisy.Wait(20).Add(Ev().Process(ProcessOp::kExec));
  noisy.events().back().header.seq += 1000;
  std::vector<Event> events = noisy.events();
  events.insert(events.end(), quiet.events().begin(), quiet.events().end());
  const Report report = RunEvents(events, OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
  EXPECT_EQ(report.loss.exchanges_dropped, 1U);
}

TEST(Loss, KernelCountersThatNoRecordExplainsDropWhatIsOpen) {
  Pipeline pipeline(OneRoute(), {});
  Story s = Asked();
  for (const Event& event : s.events()) pipeline.Feed(EncodeRecord(event));
  Loss kernel;
  kernel.kernel_ring_full = 5;
  pipeline.SetKernelLoss(kernel);
  const double now = s.now();
  pipeline.AdvanceTo(AtMs(now + 10));
  EXPECT_EQ(pipeline.MakeReport().loss.exchanges_dropped, 0U) << "a record may still tell of it";
  pipeline.AdvanceTo(AtMs(now + 200));
  EXPECT_EQ(pipeline.MakeReport().loss.exchanges_dropped, 1U);
  pipeline.AdvanceTo(AtMs(now + 400));
  pipeline.Finish(AtMs(now + 500));
  const Report report = pipeline.MakeReport();
  EXPECT_EQ(report.loss.exchanges_dropped, 1U);
  EXPECT_EQ(report.loss.kernel_ring_full, 5U);
}

TEST(Loss, DoubledRecordsAreIgnored) {
  Story s = Asked();
  s.Answer(2, 200);
  std::vector<Event> twice;
  for (const Event& event : s.events()) {
    twice.push_back(event);
    twice.push_back(event);
  }
  EXPECT_EQ(RunEvents(twice, OneRoute()), s.Run(OneRoute()));
}

TEST(Loss, ARecordThatComesAfterItsWindowIsALoss) {
  Story s = Asked();
  s.Answer(2, 200).Wait(1000).Request(2, HttpMethod::kPost, "/mcp", "mcp.example");
  s.Wait(1000).Exec();
  std::vector<Event> events = s.events();
  std::rotate(events.end() - 3, events.end() - 2, events.end());  // the answer comes last
  const Report report = RunEvents(events, OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kNoObservedExchange);
  EXPECT_GE(report.loss.sequence_gaps, 1U);
}

TEST(Loss, BadRecordsAreCounted) {
  Pipeline pipeline(OneRoute(), {});
  pipeline.Feed({});
  std::vector<std::byte> junk(200, std::byte{0xff});
  pipeline.Feed(junk);
  std::vector<std::byte> cut = EncodeRecord(Ev().Connects(1, "10.0.0.7", 80).At(1));
  cut.resize(60);
  pipeline.Feed(cut);
  EXPECT_EQ(pipeline.MakeReport().loss.undecodable, 3U);
}

TEST(Loss, NamesOfDnsAreNotBelievedForAWhileAfterALoss) {
  // The answer that is missing told of a second name for the same address.
  Story s;
  s.Exec().Lookup("mcp.example", {"10.0.0.7"});
  const size_t before = s.events().size();
  s.Lookup("other.example", {"10.0.0.7"});
  s.Wait(500).Fail(s.Connect("10.0.0.7", 80), ECONNREFUSED);
  std::vector<Event> events = s.events();
  for (size_t i = before; i < events.size(); i++) {
    std::vector<Event> lossy = events;
    lossy.erase(lossy.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(OutcomeOf(RunEvents(lossy, OneRoute())), Outcome::kNoObservedExchange) << i;
  }
}

TEST(Loss, F10_TablesKeepTheirBoundsAndCountWhatMustGo) {
  PipelineLimits limits;
  limits.max_flows = 100;
  limits.max_names = 50;
  limits.max_processes = 20;
  limits.max_library_sessions = 20;
  limits.max_exchange_records = 30;
  limits.max_unattributed_records = 40;
  Story s;
  for (uint32_t i = 0; i < 500; i++) {
    const std::string address = "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250);
    s.As({1000 + i, "many"}).Exec().Lookup("mcp.example", {address});
    s.Hello(s.Connected(address, 443), {.random = static_cast<std::byte>(i)});
    s.LibraryDraws(i + 1, static_cast<std::byte>(i));
    s.Fail(s.Connect(address, i % 2 == 0 ? 80 : 81), ECONNREFUSED);
  }
  const Report report = s.Run(OneRoute(), limits);
  EXPECT_EQ(report.exchanges.size(), 30U);
  EXPECT_EQ(report.exchanges_truncated, 220U);
  EXPECT_EQ(report.unattributed.size(), 40U);
  EXPECT_EQ(report.unattributed_truncated, 210U);
  EXPECT_GT(report.loss.table_full, 1000U);
}

}  // namespace
}  // namespace routelens

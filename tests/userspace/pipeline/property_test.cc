// SPDX-License-Identifier: Apache-2.0
//
// Properties over generated stories. Seeds are fixed, so that a failure can be told again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <set>
#include <tuple>

#include "tests/support/story.h"

namespace routelens {
namespace {

constexpr int kSeeds = 40;

Policy SomeRoutes() {
  return PolicyWith({{"a.example", 80},
                     {"b.example", 443},
                     {"c.example", 443, "/one"},
                     {"c.example", 443, "/two"},
                     {"10.0.0.9", 80}});
}

class Teller {
 public:
  explicit Teller(uint32_t seed) : random_(seed) {}

  Story Tell() {
    story_.As(kAgent).Exec().As(kOther).Exec();
    const int chapters = 3 + Below(6);
    for (int i = 0; i < chapters; i++) {
      story_.As(Below(2) == 0 ? kAgent : kOther).Wait(Below(3) == 0 ? 600 : 5);
      Chapter();
    }
    return std::move(story_);
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void Chapter() {
    switch (Below(10)) {
      case 0:
        story_.Lookup(Name(), {}, Below(2) == 0 ? 3 : 2);
        return;
      case 1:
        story_.Resolve(Name(), -2, {}, 5);
        return;
      case 2:
        Resolve();
        story_.Fail(story_.Connect(address_, port_), Below(2) == 0 ? ECONNREFUSED : EHOSTUNREACH);
        return;
      case 3:
        Resolve();
        story_.FailAtOnce(story_.Connect(address_, port_), EPERM);
        return;
      case 4:
        story_.Fail(story_.Connect("10.0.0.9", 80), ECONNREFUSED);
        return;
      case 5: {
        Resolve();
        const uint64_t flow = story_.Connect(address_, port_);
        story_.Wait(50).GiveUp(flow, 0);
        return;
      }
      case 6:
      case 7:
        Resolve();
        Clear();
        return;
      default:
        Resolve();
        Tls();
        return;
    }
  }

  std::string Name() {
    constexpr const char* kNames[] = {"a.example", "b.example", "c.example", "x.example"};
    return kNames[Below(4)];
  }

  void Resolve() {
    name_ = Name();
    // a and x share an address.
    address_ = name_ == "b.example" ? "10.0.0.2" : name_ == "c.example" ? "10.0.0.3" : "10.0.0.1";
    port_ = name_ == "b.example" || name_ == "c.example" ? 443 : 80;
    if (Below(2) == 0)
      story_.Lookup(name_, {address_});
    else
      story_.Resolve(name_, 0, {address_});
  }

  void Clear() {
    const uint64_t flow = story_.Connected(address_, port_);
    const int requests = 1 + Below(3);
    for (int i = 0; i < requests; i++) {
      story_.Request(flow, HttpMethod::kPost, Below(2) == 0 ? "/mcp" : "/one", name_);
      if (i + 1 == requests && Below(3) == 0)
        break;
      if (Below(4) == 0)
        story_.Answer(flow, 100);
      story_.Answer(flow, static_cast<uint16_t>(Below(2) == 0 ? 200 : 503));
    }
    End(flow);
  }

  void Tls() {
    const uint64_t flow = story_.Connected(address_, port_);
    const uint64_t ssl = 0x1000 + flow;
    const auto random = static_cast<std::byte>(flow);
    const bool has_library = Below(2) == 0;
    if (has_library)
      story_.LibraryDraws(ssl, random);
    story_.Hello(flow, {.random = random, .sni = name_});
    const int how_far = Below(6);
    if (how_far == 0)
      return End(flow);
    if (how_far == 1) {
      story_.Alert(flow, Direction::kIngress, 2, 40);
      return End(flow);
    }
    story_.ServerFlight13(flow);
    if (how_far == 2) {
      if (has_library)
        story_.Library(ssl, LibraryOp::kVerify, 20).Library(ssl, LibraryOp::kError, 134);
      return End(flow);
    }
    if (how_far == 3) {
      story_.FromClient(flow, 20, 1).FromClient(flow, 23, 19);
      return End(flow);
    }
    story_.Finish13(flow);
    if (has_library)
      story_.LibraryRequest(ssl, HttpMethod::kPost, "/mcp", name_);
    story_.FromClient(flow, 23, 200).FromServer(flow, 23, 900);
    if (has_library)
      story_.LibraryAnswer(ssl, static_cast<uint16_t>(Below(2) == 0 ? 200 : 401));
    End(flow);
  }

  void End(uint64_t flow) {
    switch (Below(4)) {
      case 0:
        story_.Reset(flow);
        return;
      case 1:
        story_.PeerClose(flow);
        return;
      case 2:
        story_.Close(flow);
        return;
      default:
        return;  // stays open
    }
  }

  std::mt19937 random_;
  Story story_;
  std::string name_;
  std::string address_;
  uint16_t port_ = 0;
};

std::vector<Event> TellOf(int seed) {
  return Teller(static_cast<uint32_t>(seed)).Tell().events();
}

TEST(PipelineProperty, ReplayingTwiceGivesEqualReports) {
  size_t exchanges = 0;
  for (int seed = 0; seed < kSeeds; seed++) {
    const std::vector<Event> events = TellOf(seed);
    const Report report = RunEvents(events, SomeRoutes());
    EXPECT_EQ(report, RunEvents(events, SomeRoutes())) << seed;
    exchanges += report.exchanges.size();
  }
  EXPECT_GT(exchanges, 80U) << "the stories tell too little";
}

TEST(PipelineProperty, B1_AnyOrderWithinTheWindowGivesTheSameReport) {
  for (int seed = 0; seed < kSeeds; seed++) {
    std::vector<Event> events = TellOf(seed);
    const Report expected = RunEvents(events, SomeRoutes());
    std::mt19937 random(static_cast<uint32_t>(seed));
    // Each record arrives up to 40 ms after its time.
    std::vector<std::pair<uint64_t, Event>> arrivals;
    for (const Event& event : events)
      arrivals.push_back({event.header.time.ns + random() % 40'000'000, event});
    std::stable_sort(arrivals.begin(), arrivals.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < events.size(); i++) events[i] = arrivals[i].second;
    EXPECT_EQ(RunEvents(events, SomeRoutes()), expected) << seed;
  }
}

TEST(PipelineProperty, ItDoesNotMatterHowOftenTimeIsTold) {
  for (int seed = 0; seed < kSeeds; seed++) {
    const std::vector<Event> events = TellOf(seed);
    const Report expected = RunEvents(events, SomeRoutes());
    Pipeline pipeline(SomeRoutes(), {});
    BootTime last;
    for (const Event& event : events) {
      for (BootTime t = last; last.known() && t < event.header.time; t = t + Milliseconds(7))
        pipeline.AdvanceTo(t);
      pipeline.Feed(EncodeRecord(event));
      last = event.header.time;
    }
    for (BootTime t = last; t < last + Milliseconds(20'000); t = t + Milliseconds(13))
      pipeline.AdvanceTo(t);
    pipeline.AdvanceTo(last + Milliseconds(20'000));
    pipeline.Finish(last + Milliseconds(20'000));
    EXPECT_EQ(pipeline.MakeReport(), expected) << seed;
  }
}

TEST(PipelineProperty, APrefixAndTheRestAreTheWhole) {
  const std::vector<Event> events = TellOf(3);
  const Report expected = RunEvents(events, SomeRoutes());
  for (size_t cut = 0; cut <= events.size(); cut++) {
    Pipeline pipeline(SomeRoutes(), {});
    for (size_t i = 0; i < cut; i++) pipeline.Feed(EncodeRecord(events[i]));
    pipeline.MakeReport();
    for (size_t i = cut; i < events.size(); i++) pipeline.Feed(EncodeRecord(events[i]));
    const BootTime end = events.back().header.time + Milliseconds(20'000);
    pipeline.AdvanceTo(end);
    pipeline.Finish(end);
    EXPECT_EQ(pipeline.MakeReport(), expected) << cut;
  }
}

// What an exchange claims, without its times.
using Claim = std::tuple<std::string, Outcome, Rule>;

std::multiset<Claim> ClaimsOf(const Report& report) {
  std::multiset<Claim> claims;
  for (const ExchangeRecord& exchange : report.exchanges) {
    if (exchange.outcome != Outcome::kNoObservedExchange &&
        exchange.confidence >= Confidence::kInferred)
      claims.insert({exchange.subject.text, exchange.outcome, exchange.rule});
  }
  return claims;
}

TEST(PipelineProperty, LosingAnyOneRecordNeverMakesAClaimThatTheWholeDoesNotMake) {
  for (int seed = 0; seed < kSeeds; seed++) {
    const std::vector<Event> events = TellOf(seed);
    const std::multiset<Claim> whole = ClaimsOf(RunEvents(events, SomeRoutes()));
    for (size_t i = 0; i + 1 < events.size(); i++) {
      std::vector<Event> lossy = events;
      lossy.erase(lossy.begin() + static_cast<std::ptrdiff_t>(i));
      const Report report = RunEvents(lossy, SomeRoutes());
      EXPECT_EQ(report.loss.sequence_gaps, 1U);
      for (const Claim& claim : ClaimsOf(report))
        EXPECT_TRUE(whole.contains(claim))
            << "seed " << seed << ", without event " << i << " of kind " << events[i].body.index()
            << ": " << ToString(std::get<2>(claim));
    }
  }
}

TEST(PipelineProperty, AnyRecordsInAnyOrderAreSafe) {
  for (int seed = 0; seed < kSeeds; seed++) {
    std::vector<Event> events = TellOf(seed);
    std::mt19937 random(static_cast<uint32_t>(seed) + 1000);
    std::shuffle(events.begin(), events.end(), random);
    PipelineLimits tight;
    tight.max_flows = 4;
    tight.max_names = 2;
    tight.max_processes = 2;
    tight.max_library_sessions = 2;
    Pipeline pipeline(SomeRoutes(), tight);
    for (const Event& event : events) {
      std::vector<std::byte> record = EncodeRecord(event);
      if (random() % 8 == 0)
        record[random() % record.size()] = static_cast<std::byte>(random());
      pipeline.Feed(record);
      if (random() % 16 == 0)
        pipeline.AdvanceTo(event.header.time);
    }
    pipeline.Finish(AtMs(100'000));
    pipeline.MakeReport();
  }
}

}  // namespace
}  // namespace routelens

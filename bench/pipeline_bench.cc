// SPDX-License-Identifier: Apache-2.0
//
// Ring records to conditions, on one thread: Pipeline::Feed over streams that bench/event_stream
// makes. Making a stream is not measured. Time is processor time. Counters: events per second and
// allocations per event.
#include <benchmark/benchmark.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "bench/allocation_count.h"
#include "bench/event_stream.h"
#include "routes/policy.h"
#include "userspace/pipeline/pipeline.h"

namespace routelens::bench {
namespace {

constexpr uint64_t kFirstNs = 1'000'000'000'000;
constexpr uint64_t kStepNs = 10'000;  // 100,000 events per second of kernel time
constexpr size_t kBatchEvents = 4096;
constexpr uint64_t kReorderNs = 60'000'000;  // more than the pipeline's reorder window

constexpr char kPolicy[] = R"(
network_policies:
  bench:
    endpoints:
      - {host: mcp.example.com, port: 8080, protocol: mcp, path: /mcp}
      - {host: tls.example.com, port: 443, protocol: mcp}
    binaries: [{path: /usr/bin/bench}]
)";

// Processor time of this thread: what else the machine does is not ours to report.
double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Policy BenchPolicy() {
  auto policy = ParsePolicy(kPolicy, "bench policy");
  if (!policy.ok()) {
    std::fprintf(stderr, "%s\n", policy.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(policy);
}

// Fills one batch; called again for each, with flow state kept by the closure.
using Fill = std::function<void(EventStream&)>;

void FeedBatches(benchmark::State& state, const Fill& fill) {
  Pipeline pipeline(BenchPolicy(), PipelineLimits{});
  EventStream stream(kFirstNs, kStepNs);
  uint64_t events = 0;
  uint64_t allocations = 0;
  const auto feed = [&] {
    for (size_t i = 0; i < stream.size(); ++i) pipeline.Feed(stream.record(i));
    pipeline.AdvanceTo({stream.now_ns()});
  };
  // Tables grow to their working size before anything is counted.
  for (int warm_up = 0; warm_up < 32; ++warm_up) {
    stream.Clear();
    fill(stream);
    feed();
  }
  for (auto _ : state) {
    stream.Clear();
    fill(stream);
    const uint64_t allocations_before = AllocationCount();
    const double before = ThreadSeconds();
    feed();
    state.SetIterationTime(ThreadSeconds() - before);
    allocations += AllocationCount() - allocations_before;
    events += stream.size();
  }
  pipeline.AdvanceTo({stream.now_ns() + kReorderNs});
  const Report report = pipeline.MakeReport();
  if (report.loss.undecodable + report.loss.sequence_gaps != 0)
    state.SkipWithError("the pipeline refused records of the stream");
  state.SetItemsProcessed(static_cast<int64_t>(events));
  state.counters["allocations_per_event"] =
      static_cast<double>(allocations) / static_cast<double>(events);
}

// 64 open connections that go on asking and being answered: the settled path.
void SettledKeepAlive(benchmark::State& state) {
  constexpr uint32_t kFlows = 64;
  uint64_t first_cookie = 0;
  uint32_t index = 0;
  FeedBatches(state, [&](EventStream& stream) {
    if (first_cookie == 0) {
      for (uint32_t peer = 0; peer < kFlows; ++peer) {
        const uint64_t cookie = stream.Connect(peer, 8080);
        if (first_cookie == 0)
          first_cookie = cookie;
        stream.Established(cookie, peer, 8080);
      }
    }
    while (stream.size() < kBatchEvents) {
      ++index;
      for (uint64_t flow = 0; flow < kFlows; ++flow)
        stream.Request(first_cookie + flow, index, "/mcp", "mcp.example.com:8080");
      for (uint64_t flow = 0; flow < kFlows; ++flow)
        stream.Response(first_cookie + flow, index, 200);
    }
  });
}

BENCHMARK(SettledKeepAlive)->UseManualTime();

// A connection for each request: connect, established, request, answer, end.
void ConnectionPerRequest(benchmark::State& state) {
  uint32_t peer = 0;
  FeedBatches(state, [&](EventStream& stream) {
    while (stream.size() < kBatchEvents) {
      const uint32_t to = ++peer % 251;
      const uint64_t cookie = stream.Connect(to, 8080);
      stream.Established(cookie, to, 8080);
      stream.Request(cookie, 1, "/mcp", "mcp.example.com:8080");
      stream.Response(cookie, 1, 200);
      stream.Closed(cookie);
    }
  });
}

BENCHMARK(ConnectionPerRequest)->UseManualTime();

// A TLS connection whose server closes it in the middle of the handshake.
void TlsFirstFlight(benchmark::State& state) {
  constexpr uint8_t kHandshake = 22;
  constexpr uint8_t kApplicationData = 23;
  uint32_t peer = 0;
  FeedBatches(state, [&](EventStream& stream) {
    while (stream.size() < kBatchEvents) {
      const uint32_t to = ++peer % 251;
      const uint64_t cookie = stream.Connect(to, 443);
      stream.Established(cookie, to, 443);
      stream.ClientHello(cookie, "tls.example.com");
      stream.TlsRecordHead(cookie, 0, RL_INGRESS, kHandshake, 122);
      stream.TlsRecordHead(cookie, 1, RL_INGRESS, kApplicationData, 2048);
      stream.TlsRecordHead(cookie, 1, RL_EGRESS, kApplicationData, 69);
      stream.TlsRecordHead(cookie, 2, RL_EGRESS, kApplicationData, 300);
      stream.TlsRecordHead(cookie, 2, RL_INGRESS, kApplicationData, 400);
      stream.Closed(cookie);
    }
  });
}

BENCHMARK(TlsFirstFlight)->UseManualTime();

// Nothing but refused connections, to a million different peers.
void RefusedConnects(benchmark::State& state) {
  uint32_t peer = 0;
  FeedBatches(state, [&](EventStream& stream) {
    while (stream.size() < kBatchEvents) {
      const uint64_t cookie = stream.Connect(++peer % 1'000'000, 8080);
      stream.Refused(cookie);
    }
  });
}

BENCHMARK(RefusedConnects)->UseManualTime();

}  // namespace
}  // namespace routelens::bench

BENCHMARK_MAIN();

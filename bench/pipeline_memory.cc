// SPDX-License-Identifier: Apache-2.0
//
// Resident memory of a pipeline: with nothing, with 10,000 live flows, or after COUNT distinct
// peers (a million). Prints one JSON object; sizes in KiB. Measured in a process of its own,
// because an allocator does not give everything back.
//
// Usage: pipeline_memory live | pipeline_memory peers [COUNT]
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "bench/event_stream.h"
#include "routes/policy.h"
#include "userspace/pipeline/pipeline.h"

namespace routelens::bench {
namespace {

constexpr uint32_t kLiveFlows = 10'000;
constexpr uint32_t kPeers = 1'000'000;
constexpr uint64_t kFirstNs = 1'000'000'000'000;
constexpr uint64_t kStepNs = 10'000;

constexpr char kPolicy[] = R"(
network_policies:
  bench:
    endpoints: [{host: mcp.example.com, port: 8080, protocol: mcp, path: /mcp}]
    binaries: [{path: /usr/bin/bench}]
)";

uint64_t ResidentKib() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  uint64_t resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

void FeedAll(Pipeline& pipeline, EventStream& stream) {
  for (size_t i = 0; i < stream.size(); ++i) pipeline.Feed(stream.record(i));
  pipeline.AdvanceTo({stream.now_ns()});
  stream.Clear();
}

void OpenLiveFlows(Pipeline& pipeline, EventStream& stream) {
  for (uint32_t peer = 0; peer < kLiveFlows; ++peer) {
    const uint64_t cookie = stream.Connect(peer, 8080);
    stream.Established(cookie, peer, 8080);
    stream.Request(cookie, 1, "/mcp", "mcp.example.com:8080");
    if (peer % 64 == 63)
      FeedAll(pipeline, stream);
  }
  FeedAll(pipeline, stream);
}

// Connections that are never closed: the table has to evict them.
void OpenToManyPeers(Pipeline& pipeline, EventStream& stream, uint32_t peers) {
  for (uint32_t peer = 0; peer < peers; ++peer) {
    const uint64_t cookie = stream.Connect(peer, static_cast<uint16_t>(1024 + peer % 60'000));
    stream.Established(cookie, peer, 8080);
    if (peer % 64 == 63)
      FeedAll(pipeline, stream);
  }
  FeedAll(pipeline, stream);
}

int Main(std::string_view what, uint32_t peers) {
  auto policy = ParsePolicy(kPolicy, "bench policy");
  if (!policy.ok()) {
    std::fprintf(stderr, "%s\n", policy.status().ToString().c_str());
    return 1;
  }
  Pipeline pipeline(*std::move(policy), PipelineLimits{});
  EventStream stream(kFirstNs, kStepNs);
  const uint64_t before = ResidentKib();
  if (what == "live")
    OpenLiveFlows(pipeline, stream);
  else
    OpenToManyPeers(pipeline, stream, peers);
  const uint64_t after = ResidentKib();
  const Report report = pipeline.MakeReport();
  std::printf(
      "{\"case\": \"%s\", \"rss_before_kib\": %llu, \"rss_after_kib\": %llu, "
      "\"table_full\": %llu, \"undecodable\": %llu}\n",
      std::string(what).c_str(), static_cast<unsigned long long>(before),
      static_cast<unsigned long long>(after),
      static_cast<unsigned long long>(report.loss.table_full),
      static_cast<unsigned long long>(report.loss.undecodable));
  return report.loss.undecodable == 0 ? 0 : 1;
}

}  // namespace
}  // namespace routelens::bench

int main(int argc, char** argv) {
  using routelens::bench::kPeers;
  const std::string_view what = argc > 1 ? argv[1] : "";
  const int peers = argc == 3 ? std::atoi(argv[2]) : kPeers;
  if (argc > 3 || peers <= 0 || (what != "live" && what != "peers")) {
    std::fprintf(stderr, "usage: pipeline_memory live | pipeline_memory peers [COUNT]\n");
    return 2;
  }
  return routelens::bench::Main(what, static_cast<uint32_t>(peers));
}

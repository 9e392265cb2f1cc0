// SPDX-License-Identifier: Apache-2.0
//
// A recording of real traffic through the pipeline, again and again: events per second of processor
// time and allocations per event. Reading the file is not measured; making the pipeline is, because
// each round needs a new one. Prints one JSON object.
//
// Usage: replay_bench RECORDING [ROUNDS]
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/allocation_count.h"
#include "routes/policy.h"
#include "userspace/pipeline/pipeline.h"
#include "userspace/sources/recording_reader.h"

namespace routelens::bench {
namespace {

using RawRecord = std::vector<std::byte>;
using Call = std::variant<RawRecord, BootTime>;

// Keeps what the recording feeds, in order.
class Collector : public RecordingSink {
 public:
  void Start(const RecordingHeader&, Policy policy) override { policy_ = std::move(policy); }

  void Feed(std::span<const std::byte> record) override {
    calls_.emplace_back(RawRecord(record.begin(), record.end()));
    ++records_;
  }

  void AdvanceTo(BootTime now) override { calls_.emplace_back(now); }

  void SetKernelLoss(const Loss&) override {}

  void SetCoverage(Coverage) override {}

  void Finish(BootTime now) override { end_ = now; }

  size_t records() const { return records_; }

  void Replay() const {
    Pipeline pipeline(policy_, PipelineLimits{});
    for (const Call& call : calls_) {
      if (const auto* record = std::get_if<RawRecord>(&call))
        pipeline.Feed(*record);
      else
        pipeline.AdvanceTo(std::get<BootTime>(call));
    }
    pipeline.Finish(end_);
  }

 private:
  Policy policy_;
  std::vector<Call> calls_;
  size_t records_ = 0;
  BootTime end_;
};

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

int Main(const std::string& path, int rounds) {
  Collector collector;
  const auto summary = ReplayRecordingFile(path, collector);
  if (!summary.ok()) {
    std::fprintf(stderr, "replay_bench: %s\n", summary.status().ToString().c_str());
    return 1;
  }
  if (collector.records() == 0) {
    std::fprintf(stderr, "replay_bench: %s holds no record\n", path.c_str());
    return 1;
  }
  collector.Replay();
  const uint64_t allocations_before = AllocationCount();
  const double before = ThreadSeconds();
  for (int round = 0; round < rounds; ++round) collector.Replay();
  const double seconds = ThreadSeconds() - before;
  const double events = static_cast<double>(collector.records()) * rounds;
  std::printf(
      "{\"records\": %zu, \"rounds\": %d, \"events_per_second\": %.0f, "
      "\"allocations_per_event\": %.3f}\n",
      collector.records(), rounds, events / seconds,
      static_cast<double>(AllocationCount() - allocations_before) / events);
  return 0;
}

}  // namespace
}  // namespace routelens::bench

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 200;
  if (argc < 2 || argc > 3 || rounds <= 0) {
    std::fprintf(stderr, "usage: replay_bench RECORDING [ROUNDS]\n");
    return 2;
  }
  return routelens::bench::Main(argv[1], rounds);
}

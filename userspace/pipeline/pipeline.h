// SPDX-License-Identifier: Apache-2.0
//
// The stages in order: raw record -> decode -> order -> flow and name tables -> exchange builder ->
// attribution -> classifier -> latest observation of each route. Deterministic: time comes in with
// the records and with AdvanceTo, so a recording replays to the same report byte for byte.
//
// Not thread-safe; belongs to one thread. No I/O, no clock. Memory is bounded by PipelineLimits;
// what does not fit is evicted, idlest first, and counted in Loss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "routes/policy.h"
#include "userspace/model/events.h"
#include "userspace/model/report.h"

namespace routelens {

struct PipelineLimits {
  size_t max_flows = 16384;
  size_t max_names = 4096;  // DNS and resolver entries per boundary (evidence.md)
  size_t max_processes = 16384;
  size_t max_library_sessions = 16384;
  size_t max_exchange_records = 100000;
  size_t max_unattributed_records = 10000;
};

// What the pipeline tells while it runs (`routelens watch`). Called on the pipeline's thread,
// within Feed or AdvanceTo; must not call back into the pipeline.
struct PipelineObserver {
  std::function<void(const Event&)> on_event;  // after reordering
  std::function<void(const ExchangeRecord&)> on_exchange;
  std::function<void(const UnattributedRecord&)> on_unattributed;
  std::function<void(const RouteCondition&)> on_condition;  // whenever a condition changes
};

class Pipeline {
 public:
  Pipeline(Policy policy, PipelineLimits limits, PipelineObserver observer = {});
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // One record of the ring buffer. A record that cannot be decoded is counted, never fatal.
  void Feed(std::span<const std::byte> record);

  // Says that it is at least `now`: releases the reorder window and runs what time decides.
  void AdvanceTo(BootTime now);

  // The kernel's own loss counters for all boundaries, as of now (absolute values).
  void SetKernelLoss(const Loss& kernel);
  void SetCoverage(Coverage coverage);

  // Ends every open exchange as "still open": nothing open is turned into an outcome except what
  // is already decided. Call once, last.
  void Finish(BootTime now);

  // What is known now. Valid at any time.
  Report MakeReport() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace routelens

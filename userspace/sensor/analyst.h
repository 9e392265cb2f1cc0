// SPDX-License-Identifier: Apache-2.0
//
// The half of the live sensor that looks at evidence: drains the ring, records, feeds the pipeline
// and reports. It runs in a process of its own without privileges, on descriptors and mappings
// that it inherited; it attaches nothing. One thread.
//
// Order within a turn: records, then loss, then time; the recording gets the same in the same
// order, so that a replay sees what the pipeline saw.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "userspace/kernel/kernel_sensor.h"
#include "userspace/model/coverage.h"
#include "userspace/model/report.h"
#include "userspace/model/time.h"
#include "userspace/pipeline/pipeline.h"
#include "userspace/sensor/channel.h"
#include "userspace/sensor/watch_server.h"
#include "userspace/sources/recording_writer.h"

namespace routelens {

// Kernel loss of all boundaries together.
Loss SumLoss(const std::vector<rl_boundary_counters>& counters);

class Analyst {
 public:
  // Keeps references to all; `recording` may be null. What the recording cannot keep is its own to
  // count; it never stops the analysis.
  Analyst(KernelSensor& kernel, std::vector<uint32_t> boundaries, Pipeline& pipeline,
          RecordingWriter* recording);

  // Drains what is there, accounts for loss, and says that it is `now`. Returns the records taken.
  size_t Turn(BootTime now);

  void SetCoverage(Coverage coverage);

  // Drains until quiet, ends everything open, and reports.
  Report Finish(const std::function<BootTime()>& clock);

 private:
  void Take(std::span<const std::byte> record);
  void AccountForLoss();

  KernelSensor& kernel_;
  std::vector<uint32_t> boundaries_;
  Pipeline& pipeline_;
  RecordingWriter* recording_;
  Loss loss_;
};

struct AnalystLoop {
  Analyst& analyst;
  Channel& channel;
  int ring_fd = -1;
  WatchServer* watch = nullptr;                          // may be null
  std::function<absl::Status(const Report&)> on_report;  // writes it where it belongs
};

// Runs until the attacher asks to finish or is gone, then reports. Returns the exit status for the
// analyst's process.
int RunAnalyst(const AnalystLoop& loop);

}  // namespace routelens

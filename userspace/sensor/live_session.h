// SPDX-License-Identifier: Apache-2.0
//
// The live sensor put together: loads the kernel side, watches boundaries, and splits into two
// processes (docs/decisions/0002-two-processes.md): this one stays the attacher, its child is the
// analyst. When this object goes, or this process dies in any way, nothing stays attached.
//
// Order of use: Load, Watch..., StartAnalysis, then Turn whenever fds() are readable, then Finish.
// The process must have one thread until StartAnalysis has returned. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "routes/policy.h"
#include "userspace/boundary/cgroup.h"
#include "userspace/boundary/target.h"
#include "userspace/kernel/kernel_sensor.h"
#include "userspace/model/coverage.h"
#include "userspace/model/ids.h"
#include "userspace/model/report.h"
#include "userspace/pipeline/pipeline.h"
#include "userspace/sensor/analyst.h"
#include "userspace/sensor/channel.h"
#include "userspace/sensor/library_witness.h"
#include "userspace/sensor/watch_server.h"

namespace routelens {

// Deepest level of the cgroup hierarchy that a boundary may have.
constexpr uint32_t kMaxBoundaryLevel = RL_MAX_CGROUP_LEVELS - 1;

// All that the analyst needs. Everything in it is used in the analyst's process only.
struct AnalysisPlan {
  Policy policy;
  PipelineLimits limits;
  PipelineObserver observer;
  UniqueFd recording;  // empty: none
  std::string recording_name;
  RecordingHeader recording_header;
  WatchServer* watch = nullptr;
  std::vector<int> descriptors;  // further ones that on_report and the observer use
  // `recorded` says whether the recording is whole.
  std::function<absl::Status(const Report&, const absl::Status& recorded)> on_report;
};

class LiveSession {
 public:
  // Loads everything that this kernel takes. An error names the missing floor capability.
  static absl::StatusOr<std::unique_ptr<LiveSession>> Load(const KernelOptions& options);
  ~LiveSession();
  LiveSession(const LiveSession&) = delete;
  LiveSession& operator=(const LiveSession&) = delete;

  // Probes the image that will be executed for `file`, before it is: a program that lives for 50 ms
  // is covered then. `search_path` has the form of $PATH.
  void ProbeProgram(const std::string& file, const std::string& search_path);

  absl::Status WatchCgroup(const CgroupDirectory& cgroup, Role role);

  // Also reports the connections that are open already.
  absl::Status WatchTarget(const BoundaryTarget& target, Role role);

  // Forks the analyst and takes from both processes what they need no longer.
  absl::Status StartAnalysis(AnalysisPlan plan);

  // Descriptors to wait on, at most kTurnEveryMs.
  std::vector<int> fds() const;
  static constexpr int kTurnEveryMs = 500;

  // Handles what waits on fds(). kUnavailable when the analyst died.
  absl::Status Turn();

  // Has the analyst drain and report, waits for it, and detaches everything. An error when the
  // report could not be written or the analyst died before it.
  absl::Status Finish();

  Coverage coverage() const;

 private:
  explicit LiveSession(std::unique_ptr<KernelSensor> kernel);
  absl::Status HandleMessages(bool& done, std::string& error);
  [[noreturn]] void BecomeAnalyst(AnalysisPlan plan, Channel channel);

  std::unique_ptr<KernelSensor> kernel_;
  std::unique_ptr<LibraryWitness> libraries_;  // null without library probes
  std::vector<uint32_t> boundaries_;
  Channel channel_{UniqueFd()};
  pid_t analyst_ = -1;
};

// Kinds of traffic that no witness sees (rulings 38), as fixed sentences.
std::vector<std::string> BlindSpots();

// The kernel's answers as coverage.
std::vector<Capability> CapabilitiesOf(const std::vector<CapabilityState>& states);

}  // namespace routelens

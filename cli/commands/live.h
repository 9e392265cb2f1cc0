// SPDX-License-Identifier: Apache-2.0
//
// What `run` and `attach` share: their flags, and the putting together of a live session: policy,
// outputs, recording, watch socket, report.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/commands/output.h"
#include "routes/policy.h"
#include "userspace/boundary/invoking_user.h"
#include "userspace/sensor/live_session.h"
#include "userspace/sensor/watch_server.h"

namespace CLI {
class App;
}

namespace routelens {

struct LiveFlags {
  std::string policy;
  std::string record;
  std::string output;
  std::vector<std::string> credentialed;
  bool json = false;
  bool quiet = false;
  bool watch = false;
  bool no_library_probes = false;
  bool no_data_path_probes = false;
  bool syscall_exit = false;
};

void AddLiveFlags(CLI::App& command, LiveFlags& flags);

// Prints one line if loading takes long. One at a time.
class SlowLoadNotice {
 public:
  SlowLoadNotice();
  ~SlowLoadNotice();
  SlowLoadNotice(const SlowLoadNotice&) = delete;
  SlowLoadNotice& operator=(const SlowLoadNotice&) = delete;

 private:
  void* timer_ = nullptr;
  bool armed_ = false;
};

class LiveRun {
 public:
  // Reads the policy, as the invoking user. Before anything is started.
  static absl::StatusOr<std::unique_ptr<LiveRun>> Prepare(const LiveFlags& flags);

  // Opens outputs and the watch socket, loads the kernel side. `report_fd` is where the report for
  // a person goes.
  absl::Status Load(int report_fd);

  LiveSession& session() { return *session_; }

  const std::string& id() const { return id_; }

  const std::optional<InvokingUser>& user() const { return user_; }

  // After the boundaries are watched.
  absl::Status StartAnalysis();

  // Report and detach. Prints what failed; kExitOk or kExitFailed.
  int Finish();

 private:
  explicit LiveRun(const LiveFlags& flags) : flags_(flags) {}

  absl::Status WriteReport(const Report& report, const absl::Status& recorded) const;

  LiveFlags flags_;
  std::string id_;
  int report_fd_ = -1;
  std::optional<InvokingUser> user_;
  int64_t wall_offset_ns_ = 0;  // one for the whole session: a replay shows the same times
  Policy policy_;
  UniqueFd recording_;
  std::optional<OutputFile> output_;
  std::unique_ptr<WatchServer> watch_;
  std::unique_ptr<LiveSession> session_;
};

}  // namespace routelens

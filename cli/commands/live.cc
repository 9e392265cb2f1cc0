// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/live.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/status_util.h"
#include "cli/render/event_line.h"
#include "cli/render/report_json.h"
#include "cli/render/report_text.h"

namespace routelens {
namespace {

constexpr int kSlowLoadSeconds = 2;

void SayLoading(int) {
  const int saved = errno;
  constexpr char kText[] =
      "routelens: loading the kernel programs, this kernel takes its time ...\n";
  (void)!::write(STDERR_FILENO, kText, sizeof kText - 1);
  errno = saved;
}

std::string MakeId() {
  uint32_t value = 0;
  if (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    value = static_cast<uint32_t>(BootClockNs());
  }
  constexpr char kHex[] = "0123456789abcdef";
  std::string id;
  for (int shift = 28; shift >= 0; shift -= 4) id += kHex[(value >> shift) & 15];
  return id;
}

// Lines for --watch on standard error. It may be a pipe that nobody reads, and it is shared with
// the command, so that it cannot be made non-blocking: asks first, and drops what has no room.
class WatchLines {
 public:
  explicit WatchLines(bool colour) : colour_(colour) {}

  void Print(const std::string& json_line) {
    constexpr size_t kSafeBytes = 4096;  // PIPE_BUF: what a writable pipe takes at once
    std::string text;
    if (dropped_ > 0)
      text = LineForPerson(DroppedLine(dropped_), colour_) + "\n";
    text += LineForPerson(json_line, colour_) + "\n";
    pollfd room{STDERR_FILENO, POLLOUT, 0};
    if (text.size() > kSafeBytes || ::poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0) {
      ++dropped_;
      return;
    }
    if (WriteAll(STDERR_FILENO, text).ok())
      dropped_ = 0;
  }

 private:
  bool colour_;
  uint64_t dropped_ = 0;
};

}  // namespace

void AddLiveFlags(CLI::App& command, LiveFlags& flags) {
  command.add_option("--policy,-p", flags.policy, "OpenShell policy file");
  command.add_option("--record", flags.record, "record all events to a file");
  command.add_option("--output,-o", flags.output, "write the report as JSON to a file");
  command.add_option("--credentialed", flags.credentialed, "subject of a route with a credential")
      ->expected(1)
      ->take_all();
  command.add_flag("--json", flags.json, "report as JSON");
  command.add_flag("--quiet,-q", flags.quiet, "no report for a person");
  command.add_flag("--watch", flags.watch, "live lines on standard error");
  command.add_flag("--no-library-probes", flags.no_library_probes, "no probes in libraries");
  command.add_flag("--no-data-path-probes", flags.no_data_path_probes, "no probes on reads");
  command.add_flag("--syscall-exit", flags.syscall_exit, "see why any connect() failed at once");
}

SlowLoadNotice::SlowLoadNotice() {
  struct sigaction action {};

  action.sa_handler = SayLoading;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGRTMIN, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN;
  timer_t timer{};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
    return;
  timer_ = timer;
  armed_ = true;
  itimerspec when{};
  when.it_value.tv_sec = kSlowLoadSeconds;
  ::timer_settime(timer, 0, &when, nullptr);
}

SlowLoadNotice::~SlowLoadNotice() {
  if (armed_)
    ::timer_delete(static_cast<timer_t>(timer_));
}

absl::StatusOr<std::unique_ptr<LiveRun>> LiveRun::Prepare(const LiveFlags& flags) {
  std::unique_ptr<LiveRun> run(new LiveRun(flags));
  run->id_ = MakeId();
  run->wall_offset_ns_ = WallClockOffsetNs();
  auto user = FindInvokingUser();
  if (!user.ok())
    return user.status();
  run->user_ = *std::move(user);
  if (!flags.policy.empty()) {
    const ActingAs acting(run->user_);
    auto policy =
        LoadPolicyFile(flags.policy, {flags.credentialed.begin(), flags.credentialed.end()});
    if (!policy.ok())
      return policy.status();
    run->policy_ = *std::move(policy);
  }
  return run;
}

absl::Status LiveRun::Load(int report_fd) {
  report_fd_ = report_fd;
  if (!flags_.output.empty()) {
    auto output = OutputFile::Open(flags_.output, user_);
    if (!output.ok())
      return output.status();
    output_.emplace(*std::move(output));
  }
  if (!flags_.record.empty()) {
    const ActingAs acting(user_);
    if (!acting.ok())
      return ErrnoStatus(errno, "act as the invoking user");
    recording_.Reset(
        ::open(flags_.record.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666));
    if (!recording_)
      return ErrnoStatus(errno, "open " + flags_.record);
  }
  {
    const SlowLoadNotice notice;
    KernelOptions options;
    options.library_probes = !flags_.no_library_probes;
    options.data_path_probes = !flags_.no_data_path_probes;
    options.syscall_exit = flags_.syscall_exit;
    auto session = LiveSession::Load(options);
    if (!session.ok())
      return session.status();
    session_ = *std::move(session);
  }
  const char* runtime_dir = std::getenv("XDG_RUNTIME_DIR");
  std::optional<std::pair<uid_t, gid_t>> owner;
  if (user_)
    owner = {user_->uid, user_->gid};
  auto watch = WatchServer::Listen(
      WatchDirectories(user_ ? user_->uid : ::geteuid(), runtime_dir != nullptr ? runtime_dir : ""),
      id_, owner, DroppedLine);
  // Without it only `routelens watch` from another terminal is missing: said, and not fatal.
  if (watch.ok()) {
    watch_ = *std::move(watch);
  } else {
    PrintError("no socket for `routelens watch`: " + std::string(MessageOf(watch.status())));
  }
  return absl::OkStatus();
}

absl::Status LiveRun::WriteReport(const Report& report, const absl::Status& recorded) const {
  const BootTime now{BootClockNs()};
  const bool json_to_person = flags_.json && !output_;
  if (!recorded.ok())
    PrintError("recording cut: " + std::string(MessageOf(recorded)));
  absl::Status status = absl::OkStatus();
  std::string json;
  if (output_ || json_to_person)
    json = RenderReportJson(report, wall_offset_ns_);
  if (output_)
    status = output_->Write(json);
  if (json_to_person) {
    const absl::Status shown = WriteAll(report_fd_, json);
    if (status.ok())
      status = shown;
  } else if (!flags_.quiet || !status.ok()) {
    std::string text = RenderReportText(report, now, {ColourAllowed(report_fd_), false});
    if (flags_.policy.empty()) {
      const std::string suggestion = SuggestPolicy(report);
      text += "\nNo policy was given, so there were no routes to judge.\n";
      if (!suggestion.empty()) {
        text += "What was seen, as a policy to start from (--policy FILE):\n\n" + suggestion;
      }
    }
    const absl::Status shown = WriteAll(report_fd_, text);
    if (status.ok())
      status = shown;
  }
  return status;
}

absl::Status LiveRun::StartAnalysis() {
  AnalysisPlan plan;
  plan.policy = std::move(policy_);
  plan.watch = watch_.get();
  if (output_)
    plan.descriptors.push_back(output_->fd());
  plan.recording = std::move(recording_);
  plan.recording_name = flags_.record;
  plan.recording_header.wall_clock_offset_ns = wall_offset_ns_;
  plan.recording_header.product_version = ROUTELENS_VERSION;
  plan.on_report = [this](const Report& report, const absl::Status& recorded) {
    const absl::Status status = WriteReport(report, recorded);
    if (watch_)
      watch_->Publish(EndLine(), WatchDetail::kSummary);
    return status;
  };
  const int64_t wall_offset_ns = wall_offset_ns_;
  const auto lines = std::make_shared<WatchLines>(ColourAllowed(STDERR_FILENO));
  const auto wanted = [this](WatchDetail detail) {
    return (flags_.watch && detail == WatchDetail::kSummary) ||
           (watch_ && watch_->anyone_wants(detail));
  };
  const auto publish = [this, lines](const std::string& line, WatchDetail detail) {
    if (flags_.watch && detail == WatchDetail::kSummary)
      lines->Print(line);
    if (watch_)
      watch_->Publish(line, detail);
  };
  plan.observer.on_condition = [=](const RouteCondition& condition) {
    if (wanted(WatchDetail::kSummary)) {
      publish(ConditionLine(condition, wall_offset_ns), WatchDetail::kSummary);
    }
  };
  plan.observer.on_exchange = [=](const ExchangeRecord& exchange) {
    if (wanted(WatchDetail::kSummary)) {
      publish(ExchangeLine(exchange, wall_offset_ns), WatchDetail::kSummary);
    }
  };
  plan.observer.on_unattributed = [=](const UnattributedRecord& record) {
    if (wanted(WatchDetail::kSummary)) {
      publish(UnattributedLine(record, wall_offset_ns), WatchDetail::kSummary);
    }
  };
  plan.observer.on_event = [=](const Event& event) {
    if (wanted(WatchDetail::kAll))
      publish(EventLine(event, wall_offset_ns), WatchDetail::kAll);
  };
  return session_->StartAnalysis(std::move(plan));
}

int LiveRun::Finish() {
  absl::Status status = session_->Finish();
  if (status.ok() && output_)
    status = output_->Commit();
  if (status.ok())
    return kExitOk;
  PrintError("no complete report: " + std::string(MessageOf(status)));
  return kExitFailed;
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/sensor/live_session.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "base/status_util.h"
#include "userspace/sensor/privileges.h"

namespace routelens {
namespace {

constexpr int kFinishTimeoutMs = 30'000;  // a report to a slow terminal or disk takes its time

std::vector<int> OpenDescriptors() {
  std::vector<int> open;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir("/proc/self/fd"), &::closedir);
  if (!dir)
    return open;
  while (const dirent* entry = ::readdir(dir.get())) {
    int fd = -1;
    const std::string_view name(entry->d_name);
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd >= 0 && fd != ::dirfd(dir.get()))
      open.push_back(fd);
  }
  return open;
}

// The processes of a cgroup and below it, for the library witness.
LibraryWitness::Members MembersOf(const CgroupDirectory& cgroup) {
  const auto directory = std::make_shared<CgroupDirectory>();
  directory->fd.Reset(::fcntl(cgroup.fd.get(), F_DUPFD_CLOEXEC, 0));
  directory->path = cgroup.path;
  LibraryWitness::Members members;
  members.contains = [path = cgroup.path](pid_t pid) { return IsInCgroup(pid, path); };
  members.list = [directory] {
    auto pids = ProcessesBelow(*directory);
    return pids.ok() ? *std::move(pids) : std::vector<pid_t>();
  };
  return members;
}

// Processes and their descendants. One whose parents have ended is not found again: its images have
// been seen when they were mapped.
LibraryWitness::Members MembersOf(const std::vector<ProcessInfo>& roots) {
  LibraryWitness::Members members;
  members.contains = [roots](pid_t pid) { return DescendsFrom(pid, roots); };
  members.list = [roots] {
    std::vector<pid_t> pids;
    const std::vector<ProcessInfo> all = ListProcesses();
    for (const ProcessInfo& info : all) {
      if (DescendsFrom(info.pid, roots))
        pids.push_back(info.pid);
    }
    return pids;
  };
  return members;
}

CgroupScope ScopeOf(const CgroupDirectory& cgroup) {
  return {cgroup.fd.get(), cgroup.id, cgroup.level};
}

}  // namespace

std::vector<std::string> BlindSpots() {
  return {"MCP servers reached over stdio: no network traffic to see",
          "HTTP/3 (QUIC): encrypted from its first packet",
          "SOCKS proxies: the address behind the proxy is not read",
          "DNS over TLS and DNS over HTTPS: names are encrypted",
          "traffic inside gVisor, Kata and micro-VM guests: host probes do not reach it"};
}

std::vector<Capability> CapabilitiesOf(const std::vector<CapabilityState>& states) {
  std::vector<Capability> capabilities;
  for (const CapabilityState& state : states) {
    capabilities.push_back({state.name, state.present, state.floor, state.via, state.reason,
                            state.costs, state.remedy});
  }
  return capabilities;
}

LiveSession::LiveSession(std::unique_ptr<KernelSensor> kernel) : kernel_(std::move(kernel)) {}

LiveSession::~LiveSession() {
  if (analyst_ <= 0)
    return;
  // Without Finish nobody wants a report.
  ::kill(analyst_, SIGKILL);
  int status = 0;
  while (::waitpid(analyst_, &status, 0) < 0 && errno == EINTR) {
  }
}

absl::StatusOr<std::unique_ptr<LiveSession>> LiveSession::Load(const KernelOptions& options) {
  const std::vector<std::string> missing = MissingCapabilities();
  if (!missing.empty()) {
    std::string names;
    for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
    return absl::PermissionDeniedError("watching needs " + names +
                                       ", which this process lacks: run it with sudo");
  }
  auto kernel = KernelSensor::Load(options);
  if (!kernel.ok())
    return kernel.status();
  std::unique_ptr<LiveSession> session(new LiveSession(*std::move(kernel)));
  if (options.library_probes) {
    session->libraries_ =
        std::make_unique<LibraryWitness>(*session->kernel_, options.data_path_probes);
    session->libraries_->Prepare();
    session->libraries_->ProbeHost();
  }
  return session;
}

void LiveSession::ProbeProgram(const std::string& file, const std::string& search_path) {
  if (libraries_)
    libraries_->ProbeProgram(file, search_path);
}

absl::Status LiveSession::WatchCgroup(const CgroupDirectory& cgroup, Role role) {
  auto index = kernel_->AddCgroupBoundary(ScopeOf(cgroup), static_cast<uint8_t>(role));
  if (!index.ok())
    return WithContext(index.status(), "watch cgroup " + cgroup.path);
  boundaries_.push_back(*index);
  if (libraries_)
    libraries_->Watch(MembersOf(cgroup));
  return absl::OkStatus();
}

absl::Status LiveSession::WatchTarget(const BoundaryTarget& target, Role role) {
  if (!target.by_process) {
    RL_RETURN_IF_ERROR(WatchCgroup(target.cgroup, role));
    return kernel_->SnapshotFlows(boundaries_.back());
  }
  std::vector<rl_process_key> keys;
  for (const ProcessInfo& info : target.processes) {
    rl_process_key key{};
    key.start_boot_ns = info.start_boot_ns;
    key.tgid = static_cast<uint32_t>(info.pid);
    keys.push_back(key);
  }
  auto index =
      kernel_->AddProcessBoundary(ScopeOf(target.cgroup), keys, static_cast<uint8_t>(role));
  if (!index.ok())
    return WithContext(index.status(), "watch " + target.description);
  boundaries_.push_back(*index);
  if (libraries_)
    libraries_->Watch(MembersOf(target.processes));
  return kernel_->SnapshotFlows(*index);
}

Coverage LiveSession::coverage() const {
  Coverage coverage;
  coverage.capabilities = CapabilitiesOf(kernel_->capabilities());
  if (libraries_)
    coverage.libraries = libraries_->coverage();
  coverage.blind_spots = BlindSpots();
  return coverage;
}

void LiveSession::BecomeAnalyst(AnalysisPlan plan, Channel channel) {
  // What keeps programs attached belongs to the attacher alone: with it goes everything.
  std::vector<int> kept = std::move(plan.descriptors);
  kept.insert(kept.end(), {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, kernel_->wake_fd(),
                           channel.fd(), plan.recording.get()});
  if (plan.watch != nullptr) {
    for (const int fd : plan.watch->fds()) kept.push_back(fd);
  }
  for (const int fd : OpenDescriptors()) {
    if (std::find(kept.begin(), kept.end(), fd) == kept.end())
      ::close(fd);
  }

  // ^C and ^Z at the terminal are meant for the command; the attacher says when to end.
  struct sigaction ignore {};

  ignore.sa_handler = SIG_IGN;
  for (const int signal :
       {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTOU, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM}) {
    ::sigaction(signal, &ignore, nullptr);
  }
  std::optional<RecordingWriter> recording;
  if (plan.recording) {
    plan.recording_header.abi_version = RL_ABI_VERSION;
    recording.emplace(std::move(plan.recording), plan.recording_name, plan.recording_header,
                      plan.policy);
  }
  Pipeline pipeline(std::move(plan.policy), plan.limits, std::move(plan.observer));
  Analyst analyst(*kernel_, boundaries_, pipeline, recording ? &*recording : nullptr);
  analyst.SetCoverage(coverage());
  const absl::Status confined = ConfineAnalyst();
  if (!confined.ok()) {
    (void)channel.Send(
        ReportDone{"cannot confine the analyst: " + std::string(MessageOf(confined))}, 1000);
    ::_exit(1);
  }
  const auto on_report = [&](const Report& report) {
    return plan.on_report(report, recording ? recording->status() : absl::OkStatus());
  };
  const int status = RunAnalyst({analyst, channel, kernel_->wake_fd(), plan.watch, on_report});
  // Not exit(): destructors here are the attacher's to run.
  ::_exit(status);
}

absl::Status LiveSession::StartAnalysis(AnalysisPlan plan) {
  auto ends = Channel::Make();
  if (!ends.ok())
    return ends.status();
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0)
    return ErrnoStatus(errno, "fork");
  if (pid == 0) {
    ends->first.Close();
    BecomeAnalyst(std::move(plan), std::move(ends->second));
  }
  analyst_ = pid;
  ends->second.Close();
  channel_ = std::move(ends->first);
  RL_RETURN_IF_ERROR(ConfineAttacher());
  // Only now: its thread gets what is left of the capabilities, and the fork is over.
  return libraries_ ? libraries_->Follow() : absl::OkStatus();
}

std::vector<int> LiveSession::fds() const {
  std::vector<int> fds = {channel_.fd()};
  if (libraries_)
    fds.push_back(libraries_->fd());
  return fds;
}

absl::Status LiveSession::HandleMessages(bool& done, std::string& error) {
  for (;;) {
    auto message = channel_.Receive();
    if (!message.ok())
      return message.status();
    if (!message->has_value())
      return absl::OkStatus();
    if (const auto* report = std::get_if<ReportDone>(&**message)) {
      done = true;
      error = report->error;
      return absl::OkStatus();
    }
  }
}

absl::Status LiveSession::Turn() {
  bool done = false;
  std::string error;
  RL_RETURN_IF_ERROR(HandleMessages(done, error));
  // It reports only when asked: done here means that it could not go on.
  if (done)
    return absl::UnavailableError(error.empty() ? "the analyst ended" : error);
  if (libraries_) {
    libraries_->Turn();
    // Without waiting: Finish sends it once more.
    if (libraries_->TakeChanged())
      (void)channel_.Send(CoverageChanged{coverage()}, 0);
  }
  return absl::OkStatus();
}

absl::Status LiveSession::Finish() {
  RL_RETURN_IF_ERROR(channel_.Send(CoverageChanged{coverage()}, 1000));
  RL_RETURN_IF_ERROR(channel_.Send(FinishRequest{}, 1000));
  bool done = false;
  std::string error;
  absl::Status status = absl::OkStatus();
  while (!done && status.ok()) {
    pollfd wait{channel_.fd(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, kFinishTimeoutMs);
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready == 0)
      status = absl::DeadlineExceededError("the analyst gave no report in time");
    if (ready > 0)
      status = HandleMessages(done, error);
  }
  if (!done && analyst_ > 0)
    ::kill(analyst_, SIGKILL);
  int exit_status = 0;
  while (::waitpid(analyst_, &exit_status, 0) < 0 && errno == EINTR) {
  }
  analyst_ = -1;
  libraries_.reset();
  kernel_.reset();
  if (!done) {
    return WIFSIGNALED(exit_status) ? absl::UnavailableError("the analyst was killed by signal " +
                                                             std::to_string(WTERMSIG(exit_status)))
                                    : WithContext(status, "no report");
  }
  if (!error.empty())
    return absl::UnknownError(error);
  return absl::OkStatus();
}

}  // namespace routelens

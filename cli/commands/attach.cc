// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/attach.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/status_util.h"
#include "userspace/boundary/cgroup.h"
#include "userspace/boundary/process.h"
#include "userspace/boundary/signal_relay.h"
#include "userspace/boundary/target.h"

namespace routelens {
namespace {

constexpr uint64_t kAliveEveryNs = 500'000'000;

absl::StatusOr<BoundaryTarget> Resolve(const CgroupTree& tree, const AttachFlags& flags) {
  if (flags.pid > 0)
    return TargetOfProcess(tree, flags.pid);
  if (!flags.cgroup.empty())
    return TargetOfCgroup(tree, flags.cgroup, kMaxBoundaryLevel);
  return TargetOfContainer(tree, flags.container, kMaxBoundaryLevel);
}

// Until a signal, the end of the time, or nothing of the target is left.
absl::Status WaitForEnd(const BoundaryTarget& target, uint64_t duration_ns, SignalRelay& relay,
                        LiveSession& session) {
  const uint64_t start = BootClockNs();
  uint64_t look_at = start + kAliveEveryNs;
  for (;;) {
    const uint64_t now = BootClockNs();
    if (duration_ns != 0 && now - start >= duration_ns)
      return absl::OkStatus();
    uint64_t wake = look_at;
    if (duration_ns != 0)
      wake = std::min(wake, start + duration_ns);
    std::vector<pollfd> waits = {{relay.fd(), POLLIN, 0}};
    for (const int fd : session.fds()) waits.push_back({fd, POLLIN, 0});
    const int timeout_ms = wake <= now ? 0 : static_cast<int>((wake - now + 999'999) / 1'000'000);
    if (::poll(waits.data(), waits.size(), timeout_ms) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "wait");
    }
    if (relay.Take() != 0)
      return absl::OkStatus();
    RL_RETURN_IF_ERROR(session.Turn());
    if (BootClockNs() >= look_at) {
      if (!IsAlive(target))
        return absl::OkStatus();
      look_at = BootClockNs() + kAliveEveryNs;
    }
  }
}

}  // namespace

int AttachCommand(const AttachFlags& flags) {
  auto live = LiveRun::Prepare(flags.live);
  if (!live.ok())
    return Fail(live.status());
  FillStandardDescriptors();
  auto relay = SignalRelay::Start();
  if (!relay.ok())
    return Fail(relay.status());
  if (!InInitialCgroupNamespace() || !InInitialPidNamespace()) {
    return Fail(absl::FailedPreconditionError(
        "this is a namespace of its own (a container), where pids and cgroups have other names: "
        "start Routelens on the host"));
  }
  auto tree = CgroupTree::Open();
  if (!tree.ok())
    return Fail(tree.status());
  auto target = Resolve(*tree, flags);
  if (!target.ok())
    return Fail(target.status());
  absl::Status started = (*live)->Load(STDOUT_FILENO);
  if (started.ok())
    started = (*live)->session().WatchTarget(*target, Role::kWorkload);
  if (started.ok())
    started = (*live)->StartAnalysis();
  if (!started.ok())
    return Fail(started);
  if (!flags.live.quiet)
    PrintError("watching " + target->description);
  const absl::Status ended = WaitForEnd(
      *target, static_cast<uint64_t>(flags.duration_seconds * 1e9), *relay, (*live)->session());
  if (!ended.ok())
    PrintError("watching has ended: " + std::string(MessageOf(ended)));
  return (*live)->Finish();
}

}  // namespace routelens

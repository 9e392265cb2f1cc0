// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/status_util.h"
#include "userspace/boundary/cgroup.h"
#include "userspace/boundary/command.h"
#include "userspace/boundary/process.h"
#include "userspace/boundary/signal_relay.h"

namespace routelens {
namespace {

// What the command's last connections still have to tell, and what time decides about them.
constexpr uint64_t kLingerNs = 500'000'000;

// Waits until the command has ended and the linger time is over, or a second request to end comes.
void WaitForEnd(ParkedCommand& command, SignalRelay& relay, LiveSession& session) {
  using Kind = CommandState::Kind;
  bool watching = true;
  uint64_t deadline = 0;
  for (;;) {
    const uint64_t now = BootClockNs();
    if (deadline != 0 && now >= deadline)
      return;
    std::vector<pollfd> waits = {{relay.fd(), POLLIN, 0}};
    if (deadline == 0)
      waits.push_back({command.pidfd(), POLLIN, 0});
    if (watching) {
      for (const int fd : session.fds()) waits.push_back({fd, POLLIN, 0});
    }
    const uint64_t left_ms =
        deadline == 0 ? LiveSession::kTurnEveryMs : (deadline - now + 999'999) / 1'000'000;
    const int timeout_ms = static_cast<int>(std::min<uint64_t>(left_ms, LiveSession::kTurnEveryMs));
    if (::poll(waits.data(), waits.size(), timeout_ms) < 0 && errno != EINTR)
      return;
    if (deadline == 0) {
      relay.Relay(command);
      const Kind kind = command.Poll().kind;
      if (kind == Kind::kExited || kind == Kind::kKilled)
        deadline = BootClockNs() + kLingerNs;
    } else if (relay.Take() != 0) {
      return;
    }
    if (watching) {
      const absl::Status status = session.Turn();
      if (!status.ok()) {
        // The command is what matters: it goes on without being watched.
        PrintError("watching has ended: " + std::string(MessageOf(status)));
        watching = false;
      }
    }
  }
}

}  // namespace

int RunCommand(const RunFlags& flags) {
  auto live = LiveRun::Prepare(flags.live);
  if (!live.ok())
    return Fail(live.status());
  // Declared before the command: an empty cgroup can be removed, one with the command in it cannot.
  std::optional<MadeCgroup> cgroup;
  auto command = ParkedCommand::Park(flags.command, (*live)->user());
  if (!command.ok())
    return Fail(command.status());
  FillStandardDescriptors();
  auto relay = SignalRelay::Start();
  if (!relay.ok())
    return Fail(relay.status());

  if (!InInitialCgroupNamespace()) {
    return Fail(absl::FailedPreconditionError(
        "this is a cgroup namespace of its own (a container): start Routelens on the host"));
  }
  const absl::Status loaded = (*live)->Load(STDERR_FILENO);
  if (!loaded.ok())
    return Fail(loaded);
  const char* search_path = std::getenv("PATH");
  (*live)->session().ProbeProgram(flags.command[0], search_path != nullptr ? search_path : "");
  auto tree = CgroupTree::Open();
  if (!tree.ok())
    return Fail(tree.status());
  RemoveLeftoverCgroups(*tree);
  auto made = MadeCgroup::Make(*tree, (*live)->id(), kMaxBoundaryLevel);
  if (!made.ok())
    return Fail(made.status());
  cgroup.emplace(*std::move(made));
  absl::Status started = cgroup->AddProcess(command->pid());
  if (started.ok()) {
    started = (*live)->session().WatchCgroup(cgroup->directory(), Role::kWorkload);
  }
  if (started.ok())
    started = (*live)->StartAnalysis();
  if (!started.ok())
    return Fail(started);

  const int interrupted = relay->Take();
  if (interrupted != 0) {
    PrintError("interrupted before the command was started");
    return 128 + interrupted;
  }
  const int error = command->Release();
  if (error != 0) {
    PrintError(flags.command[0] + ": " + strerrordesc_np(error));
    return ExitStatusForFailedStart(error);
  }
  WaitForEnd(*command, *relay, (*live)->session());
  const int report = (*live)->Finish();
  const int status = ExitStatusOf(command->Poll());
  return status == 0 ? report : status;
}

}  // namespace routelens

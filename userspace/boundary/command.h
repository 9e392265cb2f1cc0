// SPDX-License-Identifier: Apache-2.0
//
// The command of `run`: forked before Routelens changes anything about itself, parked until its
// cgroup and its watchers are ready, then executed as if Routelens were not there.
//
// The command keeps what Routelens was started with: descriptors, working directory, environment,
// limits, umask, signal mask and dispositions, process group, terminal, capabilities, OOM score.
// Only under sudo it becomes the invoking user (invoking_user.h). It is not tied to the life of
// Routelens. Not thread-safe; the process must have one thread when Park is called.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "userspace/boundary/invoking_user.h"

namespace routelens {

// How a command that was executed ended, or that it only stopped.
struct CommandState {
  enum class Kind { kRunning, kStopped, kExited, kKilled };
  Kind kind = Kind::kRunning;
  int value = 0;  // exit status, or number of the signal
};

// The status a shell would give: the exit status, or 128 + signal.
int ExitStatusOf(const CommandState& state);

class ParkedCommand {
 public:
  // Forks. `argv` is not empty; its first word is looked up in PATH when it has no slash.
  static absl::StatusOr<ParkedCommand> Park(const std::vector<std::string>& argv,
                                            std::optional<InvokingUser> user);

  // A command that was never released is gone without a trace.
  ~ParkedCommand();
  ParkedCommand(ParkedCommand&& other) noexcept;
  ParkedCommand& operator=(ParkedCommand&&) = delete;

  // Lets it execute and waits until it has. The errno of the failed step otherwise; the exit
  // status for it is ExitStatusForFailedStart.
  int Release();

  // Looks at it without waiting.
  CommandState Poll();

  // Sends `signal`; harmless when it is gone.
  void Signal(int signal) const;

  // Lets it go on after a stop.
  void Continue();

  pid_t pid() const { return pid_; }

  // Readable when it has ended.
  int pidfd() const { return pidfd_.get(); }

 private:
  ParkedCommand(pid_t pid, UniqueFd pidfd, UniqueFd release, UniqueFd failure);
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  UniqueFd release_;  // written once to let it go; closed without a word, it exits
  UniqueFd failure_;  // says why it could not be executed; closes silently when it was
  bool released_ = false;
  CommandState last_;
};

// 127 when there is no such command, else 126.
int ExitStatusForFailedStart(int error);

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Signals between whoever signals Routelens and the command it runs.
//
// Routelens and the command share one process group, so what the terminal sends (SI_KERNEL) reaches
// the command without help and is not sent again. What another process sends to Routelens by its
// pid is passed on: HUP INT QUIT TERM USR1 USR2 ALRM CONT TSTP. Routelens itself acts on none of
// them: the command decides what they mean. When the command stops, Routelens stops too, so that
// the shell sees its job stop; when it is continued, so is the command. Not thread-safe.
#pragma once

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "userspace/boundary/command.h"

namespace routelens {

class SignalRelay {
 public:
  // Blocks these signals and SIGCHLD in this process from now on, and ignores SIGPIPE. Call it
  // after the fork of the command, which must not inherit the mask.
  static absl::StatusOr<SignalRelay> Start();

  // Readable when a signal waits.
  int fd() const { return fd_.get(); }

  // Takes what waits: passes it on, and follows the command when it stops. Returns the first
  // signal that asks to end (HUP INT QUIT TERM), terminal or not, or 0.
  int Relay(ParkedCommand& command);

  // The same without a command: only the first signal that asks to end, or 0.
  int Take();

 private:
  explicit SignalRelay(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace routelens

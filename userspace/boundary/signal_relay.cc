// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/signal_relay.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/status_util.h"

namespace routelens {
namespace {

constexpr std::array<int, 9> kRelayed = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                         SIGUSR2, SIGALRM, SIGCONT, SIGTSTP};

bool AsksToEnd(int signal) {
  return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

// Calls f(info) for every signal that waits.
template <typename F>
void TakeAll(int fd, F f) {
  for (;;) {
    signalfd_siginfo info{};
    const ssize_t got = ::read(fd, &info, sizeof info);
    if (got < 0 && errno == EINTR)
      continue;
    if (got != static_cast<ssize_t>(sizeof info))
      return;
    f(info);
  }
}

}  // namespace

absl::StatusOr<SignalRelay> SignalRelay::Start() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : kRelayed) ::sigaddset(&set, signal);
  ::sigaddset(&set, SIGCHLD);
  // In the background, with `stty tostop`, the report must still come out.
  ::sigaddset(&set, SIGTTOU);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0)
    return ErrnoStatus(errno, "block signals");

  // A reader of our output that goes away is an error to report, never our end.
  struct sigaction ignore {};

  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);
  // A signal that is ignored never gets to a signalfd; nohup and background shells ignore some.
  // Those stay ignored: the command inherited the same.
  ::sigdelset(&set, SIGTTOU);
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd)
    return ErrnoStatus(errno, "signalfd");
  return SignalRelay(std::move(fd));
}

int SignalRelay::Relay(ParkedCommand& command) {
  int end = 0;
  TakeAll(fd_.get(), [&](const signalfd_siginfo& info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD)
      return;
    if (end == 0 && AsksToEnd(signal))
      end = signal;
    const bool from_terminal = info.ssi_code == SI_KERNEL;
    const bool from_command = static_cast<pid_t>(info.ssi_pid) == command.pid();
    if (!from_terminal && !from_command)
      command.Signal(signal);
  });
  if (command.Poll().kind == CommandState::Kind::kStopped) {
    ::kill(::getpid(), SIGSTOP);
    // Here somebody has continued us.
    command.Continue();
  }
  return end;
}

int SignalRelay::Take() {
  int end = 0;
  TakeAll(fd_.get(), [&](const signalfd_siginfo& info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (end == 0 && AsksToEnd(signal))
      end = signal;
  });
  return end;
}

}  // namespace routelens

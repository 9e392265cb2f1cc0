// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/command.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "base/status_util.h"

namespace routelens {
namespace {

constexpr char kGo = 'g';

ssize_t ReadRetrying(int fd, void* data, size_t size) {
  for (;;) {
    const ssize_t got = ::read(fd, data, size);
    if (got >= 0 || errno != EINTR)
      return got;
  }
}

[[noreturn]] void FailStart(int failure_fd, int error) {
  // The parent reads this, or sees the pipe close; there is nobody else to tell.
  if (::write(failure_fd, &error, sizeof error) < 0)
    ::_exit(ExitStatusForFailedStart(error));
  ::_exit(ExitStatusForFailedStart(error));
}

bool BecomeUser(const InvokingUser& user) {
  if (::setgroups(user.groups.size(), user.groups.data()) != 0)
    return false;
  if (::setresgid(user.gid, user.gid, user.gid) != 0)
    return false;
  if (::setresuid(user.uid, user.uid, user.uid) != 0)
    return false;
  for (const auto& [name, value] : user.environment) {
    if (::setenv(name.c_str(), value.c_str(), 1) != 0)
      return false;
  }
  return true;
}

// In the child, from fork to exec.
[[noreturn]] void Launch(int release_fd, int failure_fd, char* const* argv,
                         const std::optional<InvokingUser>& user) {
  char word = 0;
  if (ReadRetrying(release_fd, &word, 1) != 1 || word != kGo)
    ::_exit(0);
  if (user && !BecomeUser(*user))
    FailStart(failure_fd, errno);
  ::execvp(argv[0], argv);
  FailStart(failure_fd, errno);
}

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return ErrnoStatus(errno, "make a pipe");
  Pipe pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
  // Where the caller closed a standard descriptor it must stay closed for the command, and what is
  // written there must not end up in this pipe.
  for (UniqueFd* end : {&pipe.read, &pipe.write}) {
    if (end->get() > STDERR_FILENO)
      continue;
    UniqueFd above(::fcntl(end->get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!above)
      return ErrnoStatus(errno, "move a pipe");
    *end = std::move(above);
  }
  return pipe;
}

}  // namespace

int ExitStatusOf(const CommandState& state) {
  return state.kind == CommandState::Kind::kKilled ? 128 + state.value : state.value;
}

int ExitStatusForFailedStart(int error) {
  constexpr int kNotExecutable = 126;
  constexpr int kNotFound = 127;
  return error == ENOENT || error == ENOTDIR ? kNotFound : kNotExecutable;
}

ParkedCommand::ParkedCommand(pid_t pid, UniqueFd pidfd, UniqueFd release, UniqueFd failure)
    : pid_(pid),
      pidfd_(std::move(pidfd)),
      release_(std::move(release)),
      failure_(std::move(failure)) {}

ParkedCommand::ParkedCommand(ParkedCommand&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      release_(std::move(other.release_)),
      failure_(std::move(other.failure_)),
      released_(other.released_),
      last_(other.last_) {}

ParkedCommand::~ParkedCommand() {
  if (pid_ < 0 || released_)
    return;
  release_.Reset();
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

absl::StatusOr<ParkedCommand> ParkedCommand::Park(const std::vector<std::string>& argv,
                                                  std::optional<InvokingUser> user) {
  auto release = MakePipe();
  if (!release.ok())
    return release.status();
  auto failure = MakePipe();
  if (!failure.ok())
    return failure.status();
  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  const pid_t pid = ::fork();
  if (pid < 0)
    return ErrnoStatus(errno, "fork");
  if (pid == 0) {
    release->write.Reset();
    failure->read.Reset();
    Launch(release->read.get(), failure->write.get(), pointers.data(), user);
  }

  // Where the caller ignores SIGCHLD the command's status would be lost; the command, forked
  // before, keeps the disposition it was given.
  struct sigaction child_default {};

  child_default.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &child_default, nullptr);
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const int error = errno;
  ParkedCommand parked(pid, std::move(pidfd), std::move(release->write), std::move(failure->read));
  if (!parked.pidfd_)
    return ErrnoStatus(error, "pidfd_open (Linux 5.3 or later is needed)");
  return parked;
}

int ParkedCommand::Release() {
  released_ = true;

  // A command killed while it was parked has closed its end: no SIGPIPE for that.
  struct sigaction ignore {};

  struct sigaction old {};

  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &old);
  const bool told = ::write(release_.get(), &kGo, 1) == 1;
  ::sigaction(SIGPIPE, &old, nullptr);
  release_.Reset();
  int error = 0;
  const ssize_t got = told ? ReadRetrying(failure_.get(), &error, sizeof error) : 0;
  failure_.Reset();
  if (got != static_cast<ssize_t>(sizeof error))
    return 0;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  last_ = {CommandState::Kind::kExited, ExitStatusForFailedStart(error)};
  return error;
}

CommandState ParkedCommand::Poll() {
  using Kind = CommandState::Kind;
  if (last_.kind == Kind::kExited || last_.kind == Kind::kKilled)
    return last_;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WSTOPPED | WCONTINUED | WNOHANG) !=
          0 ||
      info.si_pid == 0) {
    return last_;
  }
  switch (info.si_code) {
    case CLD_EXITED:
      last_ = {Kind::kExited, info.si_status};
      break;
    case CLD_KILLED:
    case CLD_DUMPED:
      last_ = {Kind::kKilled, info.si_status};
      break;
    case CLD_STOPPED:
      last_ = {Kind::kStopped, info.si_status};
      break;
    default:
      last_ = {Kind::kRunning, 0};
  }
  return last_;
}

void ParkedCommand::Continue() {
  Signal(SIGCONT);
  // Not for waitid() to tell: of a command that ends as soon as it goes on, it tells nothing until
  // the end.
  if (last_.kind == CommandState::Kind::kStopped)
    last_ = {CommandState::Kind::kRunning, 0};
}

void ParkedCommand::Signal(int signal) const {
  ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
}

}  // namespace routelens

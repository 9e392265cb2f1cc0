// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/container.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/status_util.h"
#include "base/unique_fd.h"

namespace routelens {
namespace {

constexpr size_t kMaxOutputBytes = 4u << 20;
constexpr int kPodmanTimeoutMs = 20'000;

struct Output {
  std::string text;
  std::string complaint;  // the last line of standard error
  int exit_status = 0;
};

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return ErrnoStatus(errno, "make a pipe");
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// The last line of what a process that has ended left in the pipe; of a long text, of its
// beginning.
std::string LastLineIn(const UniqueFd& read_end) {
  std::string text(4096, '\0');
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);  // a child of the process may still hold the pipe
  const ssize_t got = ::read(read_end.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  text.erase(text.find_last_not_of('\n') + 1);
  return text.substr(text.rfind('\n') + 1);
}

// Runs `argv` with nothing on standard input.
absl::StatusOr<Output> RunAndRead(const std::vector<std::string>& argv) {
  absl::StatusOr<Pipe> out = MakePipe();
  absl::StatusOr<Pipe> errors = MakePipe();
  if (!out.ok() || !errors.ok())
    return out.ok() ? errors.status() : out.status();
  const UniqueFd& read_end = out->read_end;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out->write_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors->write_end.get(), STDERR_FILENO);
  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  out->write_end.Reset();
  errors->write_end.Reset();
  if (error != 0)
    return ErrnoStatus(error, "run " + argv[0]);

  Output output;
  bool whole = false;
  char chunk[16384];
  while (output.text.size() <= kMaxOutputBytes) {
    pollfd wait{read_end.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, kPodmanTimeoutMs);
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0)
      break;
    const ssize_t got = ::read(read_end.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR)
      continue;
    whole = got == 0;
    if (got <= 0)
      break;
    output.text.append(chunk, static_cast<size_t>(got));
  }
  if (!whole)
    ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!whole)
    return absl::DeadlineExceededError(argv[0] + " gave no whole answer");
  output.complaint = LastLineIn(errors->read_end);
  output.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

}  // namespace

absl::StatusOr<ContainerInfo> ParsePodmanInspect(std::string_view json) {
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_array() || parsed.empty() || !parsed[0].is_object()) {
    return absl::InvalidArgumentError("podman inspect did not answer with a list of containers");
  }
  const auto state = parsed[0].find("State");
  if (state == parsed[0].end() || !state->is_object()) {
    return absl::InvalidArgumentError("podman inspect: no State");
  }
  ContainerInfo info;
  const auto pid = state->find("Pid");
  if (pid != state->end() && pid->is_number_integer())
    info.pid = pid->get<pid_t>();
  if (info.pid <= 0)
    return absl::FailedPreconditionError("the container does not run");
  const auto path = state->find("CgroupPath");
  if (path != state->end() && path->is_string())
    info.cgroup_path = path->get<std::string>();
  return info;
}

absl::StatusOr<ContainerInfo> FindContainer(const std::string& name) {
  auto output = RunAndRead({"podman", "inspect", "--type", "container", "--", name});
  if (!output.ok()) {
    return WithContext(output.status(), "cannot ask podman about container " + name);
  }
  if (output->exit_status != 0) {
    return absl::NotFoundError("container " + name + ": podman says: " + output->complaint);
  }
  auto info = ParsePodmanInspect(output->text);
  if (!info.ok())
    return WithContext(info.status(), "container " + name);
  return info;
}

}  // namespace routelens

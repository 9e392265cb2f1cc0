// SPDX-License-Identifier: Apache-2.0
//
// Runs a command in a cgroup of its own and shows the kernel side's raw records. For people who
// work on the sensor; `routelens run --record` is the product's way.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/status_util.h"
#include "tests/bpf/scratch_boundary.h"

namespace routelens {

namespace {

constexpr char kUsage[] =
    "usage: raw_records [--write FILE] [--floor] [--without CAPABILITY]... -- COMMAND ARGUMENT...\n"
    "\n"
    "Runs COMMAND in a cgroup of its own, watched by the kernel side alone, and prints one line "
    "for\n"
    "each raw record on standard error. --write also writes them: a 32-bit length in host byte\n"
    "order before each. Needs root. Exit status: the command's, or 125.\n";

int Fail(const std::string& why) {
  std::fprintf(stderr, "raw_records: %s\n", why.c_str());
  return 125;
}

int Main(int argc, char** argv) {
  KernelOptions options;
  std::string write_to;
  int at = 1;
  for (; at < argc && std::string(argv[at]) != "--"; ++at) {
    const std::string argument = argv[at];
    if (argument == "--floor")
      options.without.insert("sequence_numbers");
    else if (argument == "--write" && at + 1 < argc)
      write_to = argv[++at];
    else if (argument == "--without" && at + 1 < argc)
      options.without.insert(argv[++at]);
    else
      return Fail("unknown argument '" + argument + "'\n" + kUsage);
  }
  const std::vector<std::string> command(argv + std::min(at + 1, argc), argv + argc);
  if (command.empty())
    return Fail(std::string("no command\n") + kUsage);
  auto sensor = KernelSensor::Load(options);
  if (!sensor.ok())
    return Fail(std::string(MessageOf(sensor.status())));
  auto cgroup = TestCgroup::Make("raw-records");
  if (!cgroup.ok())
    return Fail(std::string(MessageOf(cgroup.status())));
  auto boundary = (*sensor)->AddCgroupBoundary((*cgroup)->scope(), RL_ROLE_WORKLOAD);
  if (!boundary.ok())
    return Fail(std::string(MessageOf(boundary.status())));

  std::ofstream file;
  if (!write_to.empty())
    file.open(write_to, std::ios::binary);
  const auto show = [&] {
    for (const RawRecord& record : DrainAll(sensor->get())) {
      std::fprintf(stderr, "%s\n", Describe(record).c_str());
      const auto length = static_cast<uint32_t>(record.bytes.size());
      file.write(reinterpret_cast<const char*>(&length), sizeof(length));
      file.write(reinterpret_cast<const char*>(record.bytes.data()), length);
    }
  };
  const pid_t pid = (*cgroup)->Start(command);
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    pollfd wake = {.fd = (*sensor)->wake_fd(), .events = POLLIN, .revents = 0};
    poll(&wake, 1, 20);
    show();
  }
  poll(nullptr, 0, 100);
  show();
  const rl_boundary_counters counters = (*sensor)->Counters(*boundary);
  std::fprintf(stderr, "emitted=%llu dropped=%llu started=%llu ended=%llu\n", counters.emitted,
               counters.dropped, counters.started, counters.ended);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

}  // namespace routelens

int main(int argc, char** argv) {
  return routelens::Main(argc, argv);
}

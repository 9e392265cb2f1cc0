// SPDX-License-Identifier: Apache-2.0
//
// How long it takes to load the kernel side once, and then to attach to and detach from one more
// boundary. Makes its cgroups below the folder it is given and removes them. Prints one JSON
// object; times in milliseconds.
//
// Usage: attach_bench CGROUP2-FOLDER LEVEL COUNT
//   LEVEL   depth of the folder below the cgroup2 root
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "bpf/abi/events.h"
#include "userspace/kernel/kernel_sensor.h"

namespace routelens::bench {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// A cgroup that is removed with the object.
class Cgroup {
 public:
  Cgroup(const std::string& parent, uint32_t level, size_t number)
      : path_(parent + "/routelens-bench-" + std::to_string(getpid()) + "-" +
              std::to_string(number)) {
    if (mkdir(path_.c_str(), 0755) == 0)
      fd_.Reset(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    struct stat status {};

    if (!fd_ || fstat(fd_.get(), &status) != 0) {
      std::fprintf(stderr, "attach_bench: %s: %s\n", path_.c_str(), std::strerror(errno));
      std::exit(1);
    }
    scope_ = {.fd = fd_.get(), .id = status.st_ino, .level = level};
  }

  ~Cgroup() { rmdir(path_.c_str()); }

  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  const CgroupScope& scope() const { return scope_; }

 private:
  std::string path_;
  UniqueFd fd_;
  CgroupScope scope_;
};

void PrintSpread(const char* name, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  std::printf(", \"%s\": {\"median\": %.3f, \"max\": %.3f}", name, times[times.size() / 2],
              times.back());
}

int Main(const std::string& parent, uint32_t level, size_t count) {
  const Clock::time_point before_load = Clock::now();
  auto sensor = KernelSensor::Load(KernelOptions{});
  if (!sensor.ok()) {
    std::fprintf(stderr, "attach_bench: %s\n", sensor.status().ToString().c_str());
    return 1;
  }
  std::printf("{\"load_ms\": %.1f, \"boundaries\": %zu", MillisecondsSince(before_load), count);
  std::vector<double> attach;
  std::vector<double> detach;
  for (size_t i = 0; i < count; ++i) {
    const Cgroup cgroup(parent, level + 1, i);
    const Clock::time_point before_attach = Clock::now();
    const auto boundary = (*sensor)->AddCgroupBoundary(cgroup.scope(), RL_ROLE_WORKLOAD);
    attach.push_back(MillisecondsSince(before_attach));
    if (!boundary.ok()) {
      std::fprintf(stderr, "attach_bench: %s\n", boundary.status().ToString().c_str());
      return 1;
    }
    const Clock::time_point before_detach = Clock::now();
    if (const absl::Status status = (*sensor)->RemoveBoundary(*boundary); !status.ok()) {
      std::fprintf(stderr, "attach_bench: %s\n", status.ToString().c_str());
      return 1;
    }
    detach.push_back(MillisecondsSince(before_detach));
  }
  PrintSpread("attach_ms", attach);
  PrintSpread("detach_ms", detach);
  const Clock::time_point before_unload = Clock::now();
  sensor->reset();
  std::printf(", \"unload_ms\": %.1f}\n", MillisecondsSince(before_unload));
  return 0;
}

}  // namespace
}  // namespace routelens::bench

int main(int argc, char** argv) {
  const int count = argc == 4 ? std::atoi(argv[3]) : 0;
  if (count <= 0) {
    std::fprintf(stderr, "usage: attach_bench CGROUP2-FOLDER LEVEL COUNT\n");
    return 2;
  }
  return routelens::bench::Main(argv[1], static_cast<uint32_t>(std::atoi(argv[2])),
                                static_cast<size_t>(count));
}

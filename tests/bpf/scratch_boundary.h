// SPDX-License-Identifier: Apache-2.0
//
// For tests that watch real traffic: a cgroup of the test's own as a boundary, functions or
// commands run inside it as a child process, and the raw records that came out.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "bpf/abi/events.h"
#include "userspace/kernel/kernel_sensor.h"

namespace routelens {

// One record, as it came out of the ring.
struct RawRecord {
  std::vector<std::byte> bytes;

  rl_event_header header() const { return As<rl_event_header>(); }

  // The fixed part; zero where the record is shorter.
  template <typename T>
  T As() const {
    T value = {};
    std::memcpy(static_cast<void*>(&value), bytes.data(), std::min(sizeof(T), bytes.size()));
    return value;
  }

  // `length` bytes after the fixed part and `skip` more; "" when the record is shorter.
  std::string Tail(size_t fixed, size_t skip, size_t length) const {
    if (fixed + skip + length > bytes.size())
      return "";
    return std::string(reinterpret_cast<const char*>(bytes.data()) + fixed + skip, length);
  }
};

// A child cgroup of the one this process is in, removed with the object.
class TestCgroup {
 public:
  static absl::StatusOr<std::unique_ptr<TestCgroup>> Make(const std::string& name);
  static absl::StatusOr<std::unique_ptr<TestCgroup>> MakeInside(const TestCgroup& outer,
                                                                const std::string& name);
  ~TestCgroup();

  CgroupScope scope() const { return {.fd = fd_.get(), .id = id_, .level = level_}; }

  const std::string& path() const { return path_; }

  // Forks; the child enters this cgroup, then runs `body` and exits with what it returns.
  pid_t Start(const std::function<int()>& body) const;
  // The same with a command; 127 when it cannot be run.
  pid_t Start(const std::vector<std::string>& command) const;
  // Start, then wait. Returns the exit status, 128 + signal, or -1.
  int Run(const std::function<int()>& body) const;
  int Run(const std::vector<std::string>& command) const;

 private:
  TestCgroup() = default;

  std::string path_;
  UniqueFd fd_;
  uint64_t id_ = 0;
  uint32_t level_ = 0;
};

int WaitFor(pid_t pid);

// Everything in the ring now.
std::vector<RawRecord> DrainAll(KernelSensor* sensor);

// What the ring delivers until `enough` says so, or for at most `patience_ms`.
std::vector<RawRecord> DrainUntil(KernelSensor* sensor,
                                  const std::function<bool(const std::vector<RawRecord>&)>& enough,
                                  int patience_ms = 3000);

// One line for people: kind, boundary, sequence, and the members that matter.
std::string Describe(const RawRecord& record);

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// The kernel half of the sensor as user space sees it: loads the BPF objects by the ladder of
// feature_table.h, attaches them for each boundary, and hands out raw records. The only room that
// includes libbpf.
//
// Owns every program, map and link it makes: when the object goes, nothing stays in the kernel.
// Nothing is pinned. Not thread-safe except where said.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bpf/abi/counters.h"

namespace routelens {

struct KernelOptions {
  uint32_t ring_bytes = 16u << 20;    // power of two, multiple of the page size
  uint32_t budget_per_window = 4096;  // records per boundary and 10 ms
  uint32_t budget_when_crowded = 64;
  bool library_probes = true;     // load the programs that uprobes run
  bool data_path_probes = true;   // SSL_read/SSL_write, for the status line
  bool syscall_exit = false;      // last rung of connect_error: slows every syscall of the host
  std::set<std::string> without;  // names of capabilities to leave out (doctor, tests)
};

// One capability; `reason` is what the start test or the kernel said.
struct CapabilityState {
  std::string name;
  bool present = false;
  bool floor = false;
  std::string via;
  std::string reason;
  std::string costs;
  std::string remedy;
};

// A cgroup v2 directory that is (part of) a boundary.
struct CgroupScope {
  int fd = -1;         // open directory, borrowed during the call
  uint64_t id = 0;     // inode number of the directory in cgroup2 = kernel's cgroup id
  uint32_t level = 0;  // depth below the cgroup2 root; the root itself is 0
};

// Where to place a probe. Instruction offsets are file offsets.
struct ProbeRequest {
  std::string program;  // name of the BPF program, e.g. "on_ssl_clear"
  uint64_t file_offset = 0;
  bool is_return = false;  // a return probe: only where ReturnProbesSafe()
};

// One loaded image's probes; detached when destroyed (may take 100 ms; thread-safe to destroy
// from another thread).
class ProbeAttachment {
 public:
  virtual ~ProbeAttachment() = default;
  virtual uint32_t count() const = 0;

  // The kernel's first refusal when fewer probes are on than were asked for; "" otherwise.
  virtual std::string reason() const { return ""; }
};

class KernelSensor {
 public:
  // Loads. Fails only when a floor capability cannot be had; the status names it and the reason.
  static absl::StatusOr<std::unique_ptr<KernelSensor>> Load(const KernelOptions& options);
  virtual ~KernelSensor() = default;

  virtual const std::vector<CapabilityState>& capabilities() const = 0;

  // Starts watching. Indices are reused only after RemoveBoundary.
  virtual absl::StatusOr<uint32_t> AddCgroupBoundary(const CgroupScope& cgroup, uint8_t role) = 0;
  // For processes in the root cgroup: `root` is where programs attach, scope is by process.
  virtual absl::StatusOr<uint32_t> AddProcessBoundary(const CgroupScope& root,
                                                      const std::vector<rl_process_key>& processes,
                                                      uint8_t role) = 0;
  virtual absl::Status AddProcess(uint32_t boundary, const rl_process_key& process,
                                  uint8_t role) = 0;
  virtual absl::Status RemoveBoundary(uint32_t boundary) = 0;

  // Reports the boundary's TCP flows that are older than the sensor, as pre-existing connects.
  virtual absl::Status SnapshotFlows(uint32_t boundary) = 0;

  virtual rl_boundary_counters Counters(uint32_t boundary) const = 0;

  using Sink = std::function<void(std::span<const std::byte> record)>;
  // Delivers what is in the ring now; returns the number of records.
  virtual size_t Drain(const Sink& sink) = 0;
  // Readable when the ring asks for attention; a reader must also Drain on a timer (batching).
  virtual int wake_fd() const = 0;

  // Whether a seccomp-confined child survived a return probe on this kernel, tried at Load.
  virtual bool ReturnProbesSafe() const = 0;

  // Whether AttachProbes can place programs that ask for the return of single calls (6.13).
  virtual bool SessionProbesSafe() const { return false; }

  virtual absl::StatusOr<std::unique_ptr<ProbeAttachment>> AttachProbes(
      int image_fd, const std::vector<ProbeRequest>& probes) = 0;
};

}  // namespace routelens

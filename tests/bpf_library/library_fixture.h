// SPDX-License-Identifier: Apache-2.0
//
// The library programs alone, loaded and attached on this machine, with one boundary: a cgroup of
// the test's own. Runs commands inside or outside of it and gives back the records they left.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "bpf/abi/counters.h"
#include "bpf/abi/events.h"
#include "userspace/decode/elf/probe_plan.h"
#include "userspace/kernel/library_probes.h"

struct bpf_object;
struct ring_buffer;

namespace routelens {

// A library call, HTTP head or resolver result, as text that a test can compare: "ERROR 134",
// "VERIFY 20", "RANDOM", "RESULT 1", "FREE", "START", "POST /mcp localhost:1", "STATUS 404",
// "RESOLVED -2 name".
struct Seen {
  std::string text;
  uint32_t tgid = 0;
  uint64_t key = 0;    // SSL*
  std::string random;  // of RANDOM: 32 bytes
  std::vector<std::byte> record;
};

class LibraryFixture {
 public:
  // Fails with the reason when this machine cannot run it (no root, no BPF, no cgroup2).
  static absl::StatusOr<std::unique_ptr<LibraryFixture>> Load(bool allow_sessions,
                                                              bool allow_multi = true);
  ~LibraryFixture();

  const UprobeSupport& support() const { return support_; }

  // Plans and attaches; the returned attachment is kept until the fixture goes.
  absl::StatusOr<ProbePlan> Attach(const std::string& image, const ProbeChoice& choice);

  void DetachAll() { attachments_.clear(); }

  // Runs a shell command to its end, with `inside` in the boundary; gives its output. Then drains.
  std::string Run(const std::string& command, bool inside = true);
  std::vector<Seen> Take();

  uint64_t Entries(const char* map) const;
  rl_boundary_counters counters() const;

 private:
  LibraryFixture() = default;
  void Drain();

  UprobeSupport support_;
  bpf_object* object_ = nullptr;
  ring_buffer* ring_ = nullptr;
  std::string cgroup_;
  std::vector<std::unique_ptr<ProbeAttachment>> attachments_;
  std::vector<Seen> seen_;
};

}  // namespace routelens

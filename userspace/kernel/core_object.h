// SPDX-License-Identifier: Apache-2.0
//
// The loaded BPF object: opens the full variant or the floor variant, chooses programs by the
// ladder of feature_table.h by really loading them, and attaches those that need no cgroup. What
// the kernel refuses is left out, one rung at a time, with the reason it gave.
//
// Owns maps, programs and tracing links; all go with it. Not thread-safe; loading installs libbpf's
// process-wide print function for its duration.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "userspace/kernel/feature_table.h"
#include "userspace/kernel/kernel_sensor.h"
#include "userspace/kernel/library_probes.h"

struct bpf_object;
struct bpf_link;
struct bpf_program;

namespace routelens {

class CoreObject {
 public:
  // Fails when a capability of the floor has no rung that loads; the status names both.
  static absl::StatusOr<std::unique_ptr<CoreObject>> Load(const KernelOptions& options);
  ~CoreObject();
  CoreObject(const CoreObject&) = delete;
  CoreObject& operator=(const CoreObject&) = delete;

  ObjectVariant variant() const { return variant_; }

  const UprobeSupport& uprobes() const { return uprobes_; }

  // One for each feature of the table, in its order. Those without rungs are not decided here:
  // present is false and reason empty.
  const std::vector<CapabilityState>& states() const { return states_; }

  // The programs that are attached to each boundary's cgroup; borrowed.
  const std::vector<bpf_program*>& cgroup_programs() const { return cgroup_programs_; }

  bpf_program* FindLoadedProgram(const std::string& name) const;  // nullptr: not loaded
  int map_fd(const char* name) const;                             // borrowed

 private:
  CoreObject(ObjectVariant variant, UprobeSupport uprobes)
      : variant_(variant), uprobes_(std::move(uprobes)) {}

  struct Refusal {
    std::string program;
    std::string reason;
  };
  class Ladder;

  absl::Status Choose(const KernelOptions& options);
  absl::Status TryLoad(const KernelOptions& options, const Ladder& ladder, Refusal* refusal);
  absl::Status AttachTracing(Refusal* refusal);
  void Close();

  ObjectVariant variant_;
  UprobeSupport uprobes_;
  bpf_object* object_ = nullptr;
  std::vector<bpf_link*> tracing_links_;
  std::vector<bpf_program*> cgroup_programs_;
  std::vector<CapabilityState> states_;
};

}  // namespace routelens

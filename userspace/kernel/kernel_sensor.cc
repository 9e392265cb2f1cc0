// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/kernel_sensor.h"

#include <bpf/bpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/status_util.h"
#include "base/unique_fd.h"
#include "bpf/abi/counters.h"
#include "bpf/abi/events.h"
#include "userspace/kernel/cgroup_attachments.h"
#include "userspace/kernel/core_object.h"
#include "userspace/kernel/flow_snapshot.h"
#include "userspace/kernel/library_probes.h"
#include "userspace/kernel/proc_text.h"
#include "userspace/kernel/return_probe_test.h"
#include "userspace/kernel/ring_reader.h"
#include "userspace/kernel/scratch_cgroup.h"
#include "userspace/kernel/shared_counters.h"
#include "userspace/kernel/start_traffic.h"

namespace routelens {

namespace {

constexpr uint32_t kAnyLevel = (1U << RL_MAX_CGROUP_LEVELS) - 1;

// Which record shows that a capability works.
struct Proof {
  std::string_view capability;
  uint16_t kind;
};

constexpr Proof kProofs[] = {
    {"connect", RL_EV_CONNECT},        {"connect_result", RL_EV_ESTABLISHED},
    {"cancel", RL_EV_FLOW_END},        {"packets", RL_EV_HTTP_REQUEST},
    {"packets", RL_EV_HTTP_RESPONSE},  {"udp_dns", RL_EV_DNS},
    {"process_events", RL_EV_PROCESS},
};

struct ErrorWitness {
  const char* program;
  uint32_t number;  // enum rl_error_witness
};

constexpr ErrorWitness kErrorWitnesses[] = {{"on_inet_connect", RL_VIA_FEXIT},
                                            {"on_syscall_exit", RL_VIA_SYSCALL_EXIT},
                                            {"on_libc_connect", RL_VIA_LIBC}};

uint64_t OwnId(int cgroup_fd) {
  struct stat status = {};
  return fstat(cgroup_fd, &status) == 0 ? status.st_ino : 0;
}

rl_process_key FlooredToTick(rl_process_key key) {
  key.start_boot_ns -= key.start_boot_ns % RL_START_TICK_NS;
  key.pad = 0;
  return key;
}

class LibbpfSensor final : public KernelSensor {
 public:
  static absl::StatusOr<std::unique_ptr<KernelSensor>> Open(const KernelOptions& options) {
    auto object = CoreObject::Load(options);
    if (!object.ok())
      return object.status();
    std::unique_ptr<LibbpfSensor> sensor(new LibbpfSensor(options, *std::move(object)));
    RL_RETURN_IF_ERROR(sensor->Prepare());
    RL_RETURN_IF_ERROR(sensor->ProveByTraffic());
    return std::unique_ptr<KernelSensor>(std::move(sensor));
  }

  const std::vector<CapabilityState>& capabilities() const override { return capabilities_; }

  absl::StatusOr<uint32_t> AddCgroupBoundary(const CgroupScope& cgroup, uint8_t role) override {
    if (cgroup.level >= RL_MAX_CGROUP_LEVELS)
      return absl::InvalidArgumentError("the cgroup lies " + std::to_string(cgroup.level) +
                                        " levels below the root; boundaries may lie at most " +
                                        std::to_string(RL_MAX_CGROUP_LEVELS - 1) + " deep");
    return Add(cgroup, 1U << cgroup.level, {}, role);
  }

  absl::StatusOr<uint32_t> AddProcessBoundary(const CgroupScope& root,
                                              const std::vector<rl_process_key>& processes,
                                              uint8_t role) override {
    RL_RETURN_IF_ERROR(RequireProcessScopes());
    return Add(root, 0, processes, role);
  }

  absl::Status AddProcess(uint32_t boundary, const rl_process_key& process, uint8_t role) override {
    RL_RETURN_IF_ERROR(RequireProcessScopes());
    const auto found = boundaries_.find(boundary);
    if (found == boundaries_.end())
      return NoSuchBoundary(boundary);
    RL_RETURN_IF_ERROR(PutProcess(process, {.boundary = boundary, .role = role, .pad = {}}));
    found->second.has_processes = true;
    return PutSettings();
  }

  absl::Status RemoveBoundary(uint32_t boundary) override {
    const auto found = boundaries_.find(boundary);
    if (found == boundaries_.end())
      return NoSuchBoundary(boundary);
    if (found->second.is_attached)
      attachments_.Detach(found->second.cgroup_id);
    if (found->second.level_mask != 0)
      bpf_map_delete_elem(object_->map_fd("boundary_cgroups"), &found->second.cgroup_id);
    if (found->second.has_processes)
      for (const rl_process_key& key : ProcessKeysOf(boundary))
        bpf_map_delete_elem(object_->map_fd("boundary_processes"), &key);
    boundaries_.erase(found);
    return PutSettings();
  }

  absl::Status SnapshotFlows(uint32_t boundary) override {
    const auto found = boundaries_.find(boundary);
    if (found == boundaries_.end())
      return NoSuchBoundary(boundary);
    if (options_.without.contains("preexisting_flows"))
      return absl::UnavailableError("preexisting_flows is left out by option");
    std::vector<pid_t> pids;
    if (found->second.level_mask != 0)
      pids = ProcessesOf(found->second.cgroup.get());
    for (const rl_process_key& key : ProcessKeysOf(boundary))
      pids.push_back(static_cast<pid_t>(key.tgid));
    const rl_scope scope = {.boundary = boundary, .role = found->second.role, .pad = {}};
    return SnapshotFlowsOf(pids, scope, object_->map_fd("flows")).status();
  }

  rl_boundary_counters Counters(uint32_t boundary) const override {
    return counters_->Read(boundary);
  }

  size_t Drain(const Sink& sink) override { return ring_->Drain(sink); }

  int wake_fd() const override { return ring_->wake_fd(); }

  bool ReturnProbesSafe() const override {
    std::call_once(return_probes_tried_, [this] {
      return_probes_safe_ = options_.library_probes && ReturnProbesAreSurvived();
    });
    return return_probes_safe_;
  }

  bool SessionProbesSafe() const override {
    return object_->uprobes().sessions && ReturnProbesSafe();
  }

  absl::StatusOr<std::unique_ptr<ProbeAttachment>> AttachProbes(
      int image_fd, const std::vector<ProbeRequest>& probes) override {
    const auto find = [this](const std::string& name) { return object_->FindLoadedProgram(name); };
    return AttachLibraryProbes(find, object_->uprobes(), image_fd, probes);
  }

 private:
  struct Boundary {
    UniqueFd cgroup;
    uint64_t cgroup_id = 0;
    uint32_t level_mask = 0;  // levels at which its cgroup may lie; 0: by process only
    uint8_t role = 0;
    bool has_processes = false;
    bool is_attached = false;
  };

  LibbpfSensor(const KernelOptions& options, std::unique_ptr<CoreObject> object)
      : options_(options), object_(std::move(object)), attachments_(object_->cgroup_programs()) {}

  static absl::Status NoSuchBoundary(uint32_t boundary) {
    return absl::NotFoundError("no boundary " + std::to_string(boundary));
  }

  absl::Status Prepare() {
    auto counters = SharedCounters::Map(object_->map_fd("counters"));
    if (!counters.ok())
      return counters.status();
    counters_ = *std::move(counters);
    auto ring = RingReader::Open(object_->map_fd("events"));
    if (!ring.ok())
      return ring.status();
    ring_ = *std::move(ring);
    capabilities_ = object_->states();
    CapabilityState& processes = Capability("boundary_by_process");
    processes.present = Capability("process_events").present && processes.reason.empty();
    processes.via = processes.present ? "process map kept by fork and exit" : "";
    if (!processes.present && processes.reason.empty())
      processes.reason = "needs process_events";
    CapabilityState& old_flows = Capability("preexisting_flows");
    if (old_flows.reason.empty()) {
      const absl::Status can = CanSnapshotFlows();
      old_flows.present = can.ok();
      old_flows.via = can.ok() ? "pidfd_getfd" : "";
      old_flows.reason = MessageOf(can);
    }
    if (const CapabilityState& errors = Capability("connect_error"); errors.present)
      for (const ErrorWitness& witness : kErrorWitnesses)
        if (object_->FindLoadedProgram(witness.program) != nullptr)
          error_witness_ = witness.number;
    return PutSettings();
  }

  CapabilityState& Capability(std::string_view name) {
    return *std::find_if(capabilities_.begin(), capabilities_.end(),
                         [&](const CapabilityState& state) { return state.name == name; });
  }

  absl::Status RequireProcessScopes() {
    const CapabilityState& state = Capability("boundary_by_process");
    return state.present
               ? absl::OkStatus()
               : absl::UnavailableError("boundary_by_process is missing: " + state.reason);
  }

  // A number that was not used for long: sockets of a removed boundary may still carry it.
  std::optional<uint32_t> FreeIndex() {
    for (uint32_t tried = 0; tried < RL_MAX_BOUNDARIES; ++tried) {
      const uint32_t index = next_index_;
      next_index_ = (next_index_ + 1) % RL_MAX_BOUNDARIES;
      if (!boundaries_.contains(index))
        return index;
    }
    return std::nullopt;
  }

  absl::StatusOr<uint32_t> Add(const CgroupScope& cgroup, uint32_t level_mask,
                               const std::vector<rl_process_key>& processes, uint8_t role) {
    const std::optional<uint32_t> index = FreeIndex();
    if (!index)
      return absl::ResourceExhaustedError("all " + std::to_string(RL_MAX_BOUNDARIES) +
                                          " boundaries are in use");
    for (const auto& [other, boundary] : boundaries_)
      if (level_mask != 0 && boundary.level_mask != 0 && boundary.cgroup_id == cgroup.id)
        return absl::AlreadyExistsError("the cgroup is boundary " + std::to_string(other));
    Boundary boundary;
    boundary.cgroup.Reset(dup(cgroup.fd));
    boundary.cgroup_id = cgroup.id;
    boundary.level_mask = level_mask;
    boundary.role = role;
    boundary.has_processes = !processes.empty();
    if (!boundary.cgroup)
      return ErrnoStatus(errno, "keeping the boundary's cgroup open");
    const rl_boundary_counters zero = {};
    bpf_map_update_elem(object_->map_fd("counters"), &*index, &zero, BPF_ANY);
    boundaries_.emplace(*index, std::move(boundary));
    if (absl::Status status = Connect(cgroup, level_mask, processes, *index, role); !status.ok()) {
      (void)RemoveBoundary(*index).ok();
      return status;
    }
    return *index;
  }

  absl::Status Connect(const CgroupScope& cgroup, uint32_t level_mask,
                       const std::vector<rl_process_key>& processes, uint32_t index, uint8_t role) {
    const rl_scope scope = {.boundary = index, .role = role, .pad = {}};
    if (level_mask != 0 &&
        bpf_map_update_elem(object_->map_fd("boundary_cgroups"), &cgroup.id, &scope, BPF_ANY) != 0)
      return ErrnoStatus(errno, "naming the boundary's cgroup");
    for (const rl_process_key& process : processes) RL_RETURN_IF_ERROR(PutProcess(process, scope));
    RL_RETURN_IF_ERROR(PutSettings());
    RL_RETURN_IF_ERROR(attachments_.Attach(cgroup.fd, cgroup.id));
    boundaries_.at(index).is_attached = true;
    return absl::OkStatus();
  }

  absl::Status PutProcess(const rl_process_key& process, const rl_scope& scope) {
    const rl_process_key key = FlooredToTick(process);
    if (bpf_map_update_elem(object_->map_fd("boundary_processes"), &key, &scope, BPF_ANY) != 0)
      return ErrnoStatus(errno, "naming process " + std::to_string(process.tgid));
    return absl::OkStatus();
  }

  std::vector<rl_process_key> ProcessKeysOf(uint32_t boundary) const {
    const int map = object_->map_fd("boundary_processes");
    std::vector<rl_process_key> keys;
    rl_process_key key = {};
    rl_process_key next = {};
    const rl_process_key* previous = nullptr;
    while (bpf_map_get_next_key(map, previous, &next) == 0) {
      key = next;
      previous = &key;
      rl_scope scope = {};
      if (bpf_map_lookup_elem(map, &key, &scope) == 0 && scope.boundary == boundary)
        keys.push_back(key);
    }
    return keys;
  }

  absl::Status PutSettings() {
    rl_settings settings = {};
    settings.budget_per_window = options_.budget_per_window;
    settings.budget_when_crowded = options_.budget_when_crowded;
    settings.connect_error_witness = error_witness_;
    for (const auto& [index, boundary] : boundaries_) {
      settings.cgroup_level_mask |= boundary.level_mask;
      settings.pid_scopes += boundary.has_processes ? 1 : 0;
    }
    const uint32_t zero = 0;
    if (bpf_map_update_elem(object_->map_fd("settings"), &zero, &settings, BPF_ANY) != 0)
      return ErrnoStatus(errno, "writing the settings");
    return absl::OkStatus();
  }

  absl::Status ProveByTraffic();
  absl::StatusOr<uint32_t> WatchStartTraffic(pid_t pid, std::optional<ScratchCgroup>* scratch);

  const KernelOptions options_;
  std::unique_ptr<CoreObject> object_;
  CgroupAttachments attachments_;  // goes before the programs it attached
  std::unique_ptr<SharedCounters> counters_;
  std::unique_ptr<RingReader> ring_;
  std::vector<CapabilityState> capabilities_;
  std::map<uint32_t, Boundary> boundaries_;
  uint32_t next_index_ = 0;
  uint32_t error_witness_ = 0;
  mutable std::once_flag return_probes_tried_;
  mutable bool return_probes_safe_ = false;
};

// The start test's process as a boundary: in a cgroup of its own where one can be made, else as a
// process of the cgroup this program is in.
absl::StatusOr<uint32_t> LibbpfSensor::WatchStartTraffic(pid_t pid,
                                                         std::optional<ScratchCgroup>* scratch) {
  absl::StatusOr<ScratchCgroup> made = ScratchCgroup::Make();
  if (made.ok() && made->Admit(pid).ok()) {
    scratch->emplace(*std::move(made));
    const CgroupScope cgroup = {.fd = (*scratch)->fd(), .id = (*scratch)->id(), .level = 0};
    return Add(cgroup, kAnyLevel, {}, RL_ROLE_WORKLOAD);
  }
  absl::StatusOr<UniqueFd> own = OpenOwnCgroup();
  if (!own.ok())
    return own.status();
  RL_RETURN_IF_ERROR(RequireProcessScopes());
  const std::string stat = ReadProcText("/proc/" + std::to_string(pid) + "/stat");
  const rl_process_key key = {
      .start_boot_ns = StartBootNs(stat), .tgid = static_cast<uint32_t>(pid), .pad = 0};
  Capability("boundary_cgroup").reason =
      "start test by process: " + std::string(MessageOf(made.status()));
  return Add({.fd = own->get(), .id = OwnId(own->get()), .level = 0}, 0, {key}, RL_ROLE_WORKLOAD);
}

// Attach success is no proof that a program runs: each capability must have shown its record.
absl::Status LibbpfSensor::ProveByTraffic() {
  absl::StatusOr<StartTraffic> traffic = StartTraffic::Fork();
  if (!traffic.ok())
    return traffic.status();
  std::optional<ScratchCgroup> scratch;
  const absl::StatusOr<uint32_t> boundary = WatchStartTraffic(traffic->pid(), &scratch);
  if (!boundary.ok())
    return WithContext(boundary.status(), "start test");
  const absl::StatusOr<StartTraffic::Done> done = traffic->Go();
  std::set<uint16_t> kinds;
  Drain([&](std::span<const std::byte> record) {
    rl_event_header header = {};
    std::memcpy(&header, record.data(), std::min(sizeof(header), record.size()));
    if (header.boundary == *boundary)
      kinds.insert(header.kind);
  });
  RL_RETURN_IF_ERROR(RemoveBoundary(*boundary));
  if (!done.ok())
    return WithContext(done.status(), "start test");

  CapabilityState& cgroup = Capability("boundary_cgroup");
  cgroup.present = true;
  cgroup.via = scratch ? "cgroup2 ancestor ids" : "cgroup2, not proven by the start test";
  for (const Proof& proof : kProofs) {
    CapabilityState& state = Capability(proof.capability);
    const bool was_tried = proof.kind != RL_EV_DNS || *done == StartTraffic::Done::kAll;
    if (!state.present || !was_tried || kinds.contains(proof.kind))
      continue;
    state.present = false;
    state.reason = state.via + " is attached but was silent in the start test";
    state.via.clear();
    if (state.floor)
      return absl::FailedPreconditionError("capability " + state.name + " cannot be had: " +
                                           state.reason + "; needed: " + state.remedy);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelSensor>> KernelSensor::Load(const KernelOptions& options) {
  return LibbpfSensor::Open(options);
}

}  // namespace routelens

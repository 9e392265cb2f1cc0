// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/core_object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "base/status_util.h"
#include "core.skel.h"
#include "core_floor.skel.h"

namespace routelens {

namespace {

constexpr size_t kVerifierLogBytes = 1 << 20;
constexpr int kMaxAttempts = 64;  // more than there are rungs

// What libbpf says during one load. It has no user pointer, so the text goes through a thread-local
// while the scope lasts.
class LibbpfLog {
 public:
  LibbpfLog() : previous_print_(libbpf_set_print(&Print)) { text_ = &lines_; }

  ~LibbpfLog() {
    text_ = nullptr;
    libbpf_set_print(previous_print_);
  }

  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;

  // The program of the last line that begins "libbpf: prog 'NAME':", or "".
  std::string LastProgram() const {
    static constexpr std::string_view kMark = "libbpf: prog '";
    const size_t at = lines_.rfind(kMark);
    if (at == std::string::npos)
      return "";
    const size_t begin = at + kMark.size();
    return lines_.substr(begin, lines_.find('\'', begin) - begin);
  }

  std::string LastLine() const {
    const size_t end = lines_.find_last_not_of('\n');
    if (end == std::string::npos)
      return "";
    const size_t begin = lines_.rfind('\n', end);
    return lines_.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
  }

 private:
  __attribute__((format(printf, 2, 0))) static int Print(libbpf_print_level level,
                                                         const char* format, va_list arguments) {
    if (level != LIBBPF_WARN || text_ == nullptr)
      return 0;
    char line[1024];
    const int length = std::vsnprintf(line, sizeof(line), format, arguments);
    if (length > 0)
      text_->append(line, std::min<size_t>(static_cast<size_t>(length), sizeof(line) - 1));
    return length;
  }

  static thread_local std::string* text_;
  std::string lines_;
  libbpf_print_fn_t previous_print_;
};

thread_local std::string* LibbpfLog::text_ = nullptr;

// The verifier's own words: the last line before its statistics.
std::string VerifierVerdict(const char* log) {
  std::string_view text(log);
  if (const size_t statistics = text.rfind("processed "); statistics != std::string_view::npos)
    text = text.substr(0, statistics);
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const size_t begin = text.rfind('\n');
  return std::string(begin == std::string_view::npos ? text : text.substr(begin + 1));
}

bool IsAttachedToCgroups(const bpf_program* program) {
  switch (bpf_program__type(program)) {
    case BPF_PROG_TYPE_CGROUP_SOCK_ADDR:
    case BPF_PROG_TYPE_CGROUP_SOCK:
    case BPF_PROG_TYPE_CGROUP_SKB:
    case BPF_PROG_TYPE_SOCK_OPS:
      return true;
    default:
      return false;
  }
}

bool IsAttachedOnce(const bpf_program* program) {
  return bpf_program__type(program) == BPF_PROG_TYPE_TRACING;
}

}  // namespace

// Which rung each feature stands on.
class CoreObject::Ladder {
 public:
  Ladder(const KernelOptions& options, ObjectVariant variant, const UprobeSupport& uprobes)
      : options_(options), variant_(variant), uprobes_(uprobes) {
    for (const Feature& feature : FeatureTable()) places_.emplace_back().feature = &feature;
    for (Place& place : places_) {
      const std::vector<Rung>& rungs = place.feature->rungs;
      if (std::any_of(rungs.begin(), rungs.end(), NeedsUprobes) && !uprobes_.any())
        place.reason = uprobes_.reason;
      if (options.without.contains(std::string(place.feature->name))) {
        place.rung = place.feature->rungs.size();
        place.reason = "left out by option";
      }
      SkipUnfit(&place);
    }
  }

  bool Wants(std::string_view program) const {
    return std::any_of(places_.begin(), places_.end(), [&](const Place& place) {
      const Rung* rung = place.current();
      return rung != nullptr && std::find(rung->programs.begin(), rung->programs.end(), program) !=
                                    rung->programs.end();
    });
  }

  // Fails when a capability of the floor has no rung.
  absl::Status CheckFloor() const {
    for (const Place& place : places_)
      if (place.feature->floor && !place.feature->rungs.empty() && place.current() == nullptr)
        return absl::FailedPreconditionError("capability " + std::string(place.feature->name) +
                                             " cannot be had: " + place.reason +
                                             "; needed: " + std::string(place.feature->remedy));
    return absl::OkStatus();
  }

  // Steps down where `refusal.program` stands. Fails when nothing stands there, or when a
  // capability of the floor has no rung left.
  absl::Status StepDown(const Refusal& refusal) {
    for (Place& place : places_) {
      const Rung* rung = place.current();
      if (rung == nullptr || std::find(rung->programs.begin(), rung->programs.end(),
                                       refusal.program) == rung->programs.end())
        continue;
      place.reason = std::string(rung->via) + ": " + refusal.reason;
      ++place.rung;
      SkipUnfit(&place);
      return CheckFloor();
    }
    return absl::InternalError("program " + refusal.program + " is on no rung: " + refusal.reason);
  }

  std::vector<CapabilityState> States() const {
    std::vector<CapabilityState> states;
    for (const Place& place : places_) {
      const Rung* rung = place.current();
      states.push_back({.name = std::string(place.feature->name),
                        .present = rung != nullptr,
                        .floor = place.feature->floor,
                        .via = rung != nullptr ? std::string(rung->via) : "",
                        .reason = place.reason,
                        .costs = std::string(place.feature->costs),
                        .remedy = std::string(place.feature->remedy)});
    }
    return states;
  }

 private:
  struct Place {
    const Feature* feature = nullptr;
    size_t rung = 0;
    std::string reason;

    const Rung* current() const {
      return rung < feature->rungs.size() ? &feature->rungs[rung] : nullptr;
    }
  };

  static bool NeedsUprobes(const Rung& rung) {
    return rung.condition == Rung::kUprobes || rung.condition == Rung::kDataPath;
  }

  bool Fits(const Rung& rung) const {
    switch (rung.condition) {
      case Rung::kFullObject:
        return variant_ == ObjectVariant::kFull;
      case Rung::kUprobes:
        return options_.library_probes && uprobes_.any();
      case Rung::kDataPath:
        return options_.library_probes && options_.data_path_probes && uprobes_.any() &&
               variant_ == ObjectVariant::kFull;
      case Rung::kOnDemand:
        return options_.syscall_exit;
      case Rung::kAlways:
        break;
    }
    return true;
  }

  void SkipUnfit(Place* place) const {
    while (place->current() != nullptr && !Fits(*place->current())) ++place->rung;
  }

  const KernelOptions& options_;
  ObjectVariant variant_;
  const UprobeSupport& uprobes_;
  std::vector<Place> places_;
};

absl::StatusOr<std::unique_ptr<CoreObject>> CoreObject::Load(const KernelOptions& options) {
  UprobeSupport uprobes;
  if (options.library_probes)
    uprobes = TestUprobes();
  else
    uprobes.reason = "left out by option";
  std::string full_refused = "left out by option";
  if (!options.without.contains("sequence_numbers")) {
    std::unique_ptr<CoreObject> full(new CoreObject(ObjectVariant::kFull, uprobes));
    const absl::Status status = full->Choose(options);
    if (status.ok())
      return full;
    full_refused = MessageOf(status);
  }
  std::unique_ptr<CoreObject> floor(new CoreObject(ObjectVariant::kFloor, uprobes));
  RL_RETURN_IF_ERROR(floor->Choose(options));
  for (CapabilityState& state : floor->states_)
    if (state.name == "sequence_numbers")
      state.reason = full_refused;
  return floor;
}

CoreObject::~CoreObject() {
  Close();
}

void CoreObject::Close() {
  for (bpf_link* link : tracing_links_) bpf_link__destroy(link);
  tracing_links_.clear();
  cgroup_programs_.clear();
  if (object_ != nullptr)
    bpf_object__close(object_);
  object_ = nullptr;
}

absl::Status CoreObject::Choose(const KernelOptions& options) {
  Ladder ladder(options, variant_, uprobes_);
  RL_RETURN_IF_ERROR(ladder.CheckFloor());
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    Refusal refusal;
    const absl::Status status = TryLoad(options, ladder, &refusal);
    if (status.ok()) {
      states_ = ladder.States();
      for (CapabilityState& state : states_)
        if (state.name == "sequence_numbers" && variant_ == ObjectVariant::kFull) {
          state.present = true;
          state.via = "atomic fetch";
        }
      return absl::OkStatus();
    }
    Close();
    if (refusal.program.empty())
      return status;
    RL_RETURN_IF_ERROR(ladder.StepDown(refusal));
  }
  return absl::InternalError("the ladder of BPF programs has no end");
}

absl::Status CoreObject::TryLoad(const KernelOptions& options, const Ladder& ladder,
                                 Refusal* refusal) {
  LibbpfLog log;
  size_t bytes = 0;
  const void* elf =
      variant_ == ObjectVariant::kFull ? core__elf_bytes(&bytes) : core_floor__elf_bytes(&bytes);
  LIBBPF_OPTS(bpf_object_open_opts, open_options, .object_name = "routelens");
  object_ = bpf_object__open_mem(elf, bytes, &open_options);
  if (object_ == nullptr)
    return ErrnoStatus(errno, "opening the BPF object (" + log.LastLine() + ")");

  std::map<std::string, std::unique_ptr<char[]>> verifier_logs;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_) {
    const std::string name = bpf_program__name(program);
    const bool wanted = ladder.Wants(name);
    bpf_program__set_autoload(program, wanted);
    if (!wanted)
      continue;
    std::unique_ptr<char[]>& buffer = verifier_logs[name];
    buffer.reset(new char[kVerifierLogBytes]);  // not zeroed: untouched pages cost nothing
    buffer[0] = '\0';
    bpf_program__set_log_buf(program, buffer.get(), kVerifierLogBytes);
  }
  PrepareLibraryPrograms(object_, uprobes_);
  bpf_map* events = bpf_object__find_map_by_name(object_, "events");
  if (bpf_map__set_max_entries(events, options.ring_bytes) != 0)
    return ErrnoStatus(errno, "setting the size of the ring");

  const int error = bpf_object__load(object_);
  if (error != 0) {
    refusal->program = log.LastProgram();
    if (!ladder.Wants(refusal->program))
      refusal->program.clear();
    refusal->reason = std::strerror(-error);
    if (const auto found = verifier_logs.find(refusal->program); found != verifier_logs.end())
      if (const std::string verdict = VerifierVerdict(found->second.get()); !verdict.empty())
        refusal->reason += " (" + verdict + ")";
    return ErrnoStatus(-error, "loading BPF programs (" + log.LastLine() + ")");
  }
  bpf_object__for_each_program(program, object_) {
    if (bpf_program__autoload(program) && IsAttachedToCgroups(program))
      cgroup_programs_.push_back(program);
  }
  return AttachTracing(refusal);
}

absl::Status CoreObject::AttachTracing(Refusal* refusal) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_) {
    if (!bpf_program__autoload(program) || !IsAttachedOnce(program))
      continue;
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr) {
      const int error = errno;
      refusal->program = bpf_program__name(program);
      refusal->reason = std::string("attach: ") + std::strerror(error);
      return ErrnoStatus(error, "attaching " + refusal->program);
    }
    tracing_links_.push_back(link);
  }
  return absl::OkStatus();
}

bpf_program* CoreObject::FindLoadedProgram(const std::string& name) const {
  bpf_program* program = bpf_object__find_program_by_name(object_, name.c_str());
  return program != nullptr && bpf_program__fd(program) >= 0 ? program : nullptr;
}

int CoreObject::map_fd(const char* name) const {
  return bpf_object__find_map_fd_by_name(object_, name);
}

}  // namespace routelens

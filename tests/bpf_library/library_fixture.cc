// SPDX-License-Identifier: Apache-2.0
#include "tests/bpf_library/library_fixture.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>

#include "base/status_util.h"
#include "library_only.skel.h"

namespace routelens {
namespace {

class FileBytes final : public ByteSource {
 public:
  explicit FileBytes(int fd) : fd_(fd) {}

  bool ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    return ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(out.size());
  }

 private:
  int fd_;
};

// Where cgroup2 is mounted; "" when it is not.
std::string CgroupMount() {
  std::ifstream mounts("/proc/self/mounts");
  std::string device, path, type, rest;
  while (mounts >> device >> path >> type && std::getline(mounts, rest)) {
    if (type == "cgroup2")
      return path;
  }
  return "";
}

template <typename T>
const T& As(std::span<const std::byte> record) {
  return *reinterpret_cast<const T*>(record.data());
}

std::string TextOf(const rl_ev_library& ev) {
  switch (ev.op) {
    case RL_LIB_HELLO_RANDOM:
      return "RANDOM";
    case RL_LIB_VERIFY:
      return "VERIFY " + std::to_string(ev.value);
    case RL_LIB_ERROR:
      return "ERROR " + std::to_string(ev.value);
    case RL_LIB_RESULT:
      return "RESULT " + std::to_string(ev.value);
    case RL_LIB_VERIFY_ASKED:
      return "VERIFY_ASKED " + std::to_string(ev.value);
    case RL_LIB_FREE:
      return "FREE";
    case RL_LIB_START:
      return "START";
    default:
      return "op " + std::to_string(ev.op);
  }
}

std::string TextOf(const rl_ev_http_request& ev) {
  static constexpr const char* kMethods[] = {"OTHER", "GET",     "POST",    "DELETE",
                                             "HEAD",  "CONNECT", "OPTIONS", "PUT"};
  if (ev.form == RL_FORM_H2)
    return "H2 " + std::to_string(ev.request_index);
  const auto* text = reinterpret_cast<const char*>(ev.text);
  return std::string(kMethods[ev.method & 7]) + " " + std::string(text, ev.path_length) + " " +
         std::string(text + ev.path_length, ev.host_length);
}

Seen Read(std::span<const std::byte> record) {
  Seen seen;
  seen.record.assign(record.begin(), record.end());
  switch (As<rl_event_header>(record).kind) {
    case RL_EV_LIBRARY: {
      const auto& ev = As<rl_ev_library>(record);
      seen.text = TextOf(ev);
      seen.tgid = ev.owner.tgid;
      seen.key = ev.ssl;
      if (ev.op == RL_LIB_HELLO_RANDOM)
        seen.random.assign(reinterpret_cast<const char*>(ev.data), sizeof(ev.data));
      break;
    }
    case RL_EV_HTTP_REQUEST: {
      const auto& ev = As<rl_ev_http_request>(record);
      seen.text = TextOf(ev);
      seen.tgid = ev.owner.tgid;
      seen.key = ev.key;
      break;
    }
    case RL_EV_HTTP_RESPONSE: {
      const auto& ev = As<rl_ev_http_response>(record);
      seen.text = "STATUS " + std::to_string(ev.status);
      if ((ev.flags & RL_HTTP_MALFORMED) != 0)
        seen.text = "MALFORMED";
      seen.tgid = ev.owner.tgid;
      seen.key = ev.key;
      break;
    }
    case RL_EV_RESOLVER: {
      const auto& ev = As<rl_ev_resolver>(record);
      seen.text = "RESOLVED " + std::to_string(ev.result) + " " +
                  std::string(reinterpret_cast<const char*>(ev.name), ev.name_length) + " " +
                  std::to_string(ev.address_count);
      seen.tgid = ev.owner.tgid;
      break;
    }
    default:
      seen.text = "kind " + std::to_string(As<rl_event_header>(record).kind);
  }
  return seen;
}

int OnRecord(void* context, void* data, size_t size) {
  static_cast<std::vector<Seen>*>(context)->push_back(
      Read({static_cast<const std::byte*>(data), size}));
  return 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryFixture>> LibraryFixture::Load(bool allow_sessions,
                                                                     bool allow_multi) {
  if (::geteuid() != 0)
    return absl::PermissionDeniedError("needs root");
  const std::string mount = CgroupMount();
  if (mount.empty())
    return absl::UnavailableError("needs a mounted cgroup2");
  std::unique_ptr<LibraryFixture> fixture(new LibraryFixture);
  fixture->support_ = TestUprobes();
  fixture->support_.sessions &= allow_sessions && allow_multi;
  fixture->support_.multi &= allow_multi;
  if (!fixture->support_.any())
    return absl::UnavailableError(fixture->support_.reason);

  size_t bytes = 0;
  const void* elf = library_only__elf_bytes(&bytes);
  fixture->object_ = bpf_object__open_mem(elf, bytes, nullptr);
  if (fixture->object_ == nullptr)
    return ErrnoStatus(errno, "open the BPF object");
  PrepareLibraryPrograms(fixture->object_, fixture->support_);
  if (const int error = bpf_object__load(fixture->object_); error != 0)
    return ErrnoStatus(-error, "load the BPF object");
  const auto fd = [&](const char* name) {
    return bpf_object__find_map_fd_by_name(fixture->object_, name);
  };
  fixture->ring_ = ring_buffer__new(fd("events"), &OnRecord, &fixture->seen_, nullptr);

  fixture->cgroup_ = mount + "/rl_library_test_" + std::to_string(::getpid());
  if (::mkdir(fixture->cgroup_.c_str(), 0755) != 0)
    return ErrnoStatus(errno, "make a cgroup");

  struct stat status {};

  ::stat(fixture->cgroup_.c_str(), &status);
  const uint64_t id = status.st_ino;
  const rl_scope scope{0, RL_ROLE_WORKLOAD, {}};
  bpf_map_update_elem(fd("boundary_cgroups"), &id, &scope, BPF_ANY);
  rl_settings settings{};
  settings.cgroup_level_mask = 1u << 1;  // right below the root
  settings.budget_per_window = 1u << 20;
  settings.budget_when_crowded = 1u << 20;
  const uint32_t zero = 0;
  bpf_map_update_elem(fd("settings"), &zero, &settings, BPF_ANY);
  return fixture;
}

LibraryFixture::~LibraryFixture() {
  attachments_.clear();
  if (ring_ != nullptr)
    ring_buffer__free(ring_);
  if (object_ != nullptr)
    bpf_object__close(object_);
  if (!cgroup_.empty())
    ::rmdir(cgroup_.c_str());
}

absl::StatusOr<ProbePlan> LibraryFixture::Attach(const std::string& image,
                                                 const ProbeChoice& choice) {
  const UniqueFd fd(::open(image.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return ErrnoStatus(errno, image);
  absl::StatusOr<ProbePlan> plan = PlanProbes(FileBytes(fd.get()), choice);
  if (!plan.ok())
    return plan.status();
  std::vector<ProbeRequest> requests;
  for (const PlannedProbe& probe : plan->probes)
    requests.push_back({probe.program, probe.file_offset, probe.is_return});
  auto attached = AttachLibraryProbes(
      [this](const std::string& name) -> bpf_program* {
        bpf_program* program = bpf_object__find_program_by_name(object_, name.c_str());
        return program != nullptr && bpf_program__fd(program) >= 0 ? program : nullptr;
      },
      support_, fd.get(), requests);
  if (!attached.ok())
    return attached.status();
  if ((*attached)->count() != requests.size())
    return absl::InternalError("refused: " + (*attached)->reason());
  attachments_.push_back(*std::move(attached));
  return plan;
}

std::string LibraryFixture::Run(const std::string& command, bool inside) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return "";
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (inside) {
      const int procs = ::open((cgroup_ + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
      if (procs < 0 || ::write(procs, "0", 1) != 1)
        ::_exit(125);
    }
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(126);
  }
  ::close(ends[1]);
  std::string output;
  char buffer[4096];
  ssize_t got;
  while ((got = ::read(ends[0], buffer, sizeof(buffer))) > 0) {
    output.append(buffer, static_cast<size_t>(got));
    Drain();
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  Drain();
  return output;
}

void LibraryFixture::Drain() {
  ring_buffer__consume(ring_);
}

std::vector<Seen> LibraryFixture::Take() {
  Drain();
  return std::exchange(seen_, {});
}

uint64_t LibraryFixture::Entries(const char* map) const {
  const int fd = bpf_object__find_map_fd_by_name(object_, map);
  std::vector<char> key(256), next(256);
  uint64_t count = 0;
  const void* previous = nullptr;
  while (bpf_map_get_next_key(fd, previous, next.data()) == 0) {
    key = next;
    previous = key.data();
    ++count;
  }
  return count;
}

rl_boundary_counters LibraryFixture::counters() const {
  rl_boundary_counters counters{};
  const uint32_t zero = 0;
  bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(object_, "counters"), &zero, &counters);
  return counters;
}

}  // namespace routelens

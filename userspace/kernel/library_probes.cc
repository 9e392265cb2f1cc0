// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/library_probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "base/status_util.h"
#include "base/unique_fd.h"
#include "bpf/abi/library_probes.h"

namespace routelens {
namespace {

// include/uapi/linux/bpf.h of 6.6 and 6.13; Debian 12's header ends before them.
constexpr uint32_t kTraceUprobeMulti = 48;
constexpr uint32_t kTraceUprobeSession = 57;
constexpr uint32_t kUprobeMultiReturn = 1;

// The head of union bpf_attr for BPF_LINK_CREATE of a multi-probe link.
struct UprobeMultiAttr {
  uint32_t prog_fd;
  uint32_t target_fd;
  uint32_t attach_type;
  uint32_t flags;
  uint64_t path;
  uint64_t offsets;
  uint64_t ref_counter_offsets;
  uint64_t cookies;
  uint32_t count;
  uint32_t multi_flags;
  uint32_t pid;
  uint32_t pad;
};

static_assert(offsetof(UprobeMultiAttr, path) == 16, "as in union bpf_attr");

struct ProgramRow {
  std::string_view name;
  rl_probe_place place;
};

#define RL_ROW(program, symbol, place, arguments, group) {#program, place},
constexpr ProgramRow kRows[] = {RL_LIBRARY_PROBES(RL_ROW)};
#undef RL_ROW

std::string PathOf(int image_fd) {
  return "/proc/self/fd/" + std::to_string(image_fd);
}

UniqueFd LinkMulti(int program_fd, uint32_t attach_type, const std::string& path,
                   const std::vector<uint64_t>& offsets, bool is_return) {
  UprobeMultiAttr attr;
  std::memset(&attr, 0, sizeof(attr));
  attr.prog_fd = static_cast<uint32_t>(program_fd);
  attr.attach_type = attach_type;
  attr.path = reinterpret_cast<uint64_t>(path.c_str());
  attr.offsets = reinterpret_cast<uint64_t>(offsets.data());
  attr.count = static_cast<uint32_t>(offsets.size());
  attr.multi_flags = is_return ? kUprobeMultiReturn : 0;
  return UniqueFd(static_cast<int>(::syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr))));
}

// A program that does nothing, loaded for this way of attaching.
UniqueFd LoadNothing(uint32_t attach_type) {
  const bpf_insn code[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
  };
  LIBBPF_OPTS(bpf_prog_load_opts, options);
  options.expected_attach_type = static_cast<bpf_attach_type>(attach_type);
  return UniqueFd(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "rl_nothing", "GPL", code, 2, &options));
}

// The function that the test probes; never called.
[[gnu::noinline, gnu::used]] void TestTarget() {
  asm volatile("nop");
}

// Where this function's code lies in the file it was loaded from, and that file's name.
struct OwnImage {
  std::string path;
  uint64_t offset = 0;
};

bool FindOwnImage(OwnImage& out) {
  const auto address = reinterpret_cast<uint64_t>(&TestTarget);
  const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                   &std::fclose);
  if (!maps)
    return false;
  char line[4096];
  while (std::fgets(line, sizeof(line), maps.get()) != nullptr) {
    unsigned long begin = 0, end = 0, offset = 0;
    if (std::sscanf(line, "%lx-%lx %*s %lx", &begin, &end, &offset) != 3 || address < begin ||
        address >= end)
      continue;
    const char* path = std::strchr(line, '/');
    if (path == nullptr)
      return false;
    out.path.assign(path, std::strcspn(path, "\n"));
    out.offset = address - begin + offset;
    return true;
  }
  return false;
}

int PerfType() {
  const UniqueFd file(::open("/sys/bus/event_source/devices/uprobe/type", O_RDONLY | O_CLOEXEC));
  char text[16] = {};
  if (!file || ::read(file.get(), text, sizeof(text) - 1) <= 0)
    return -1;
  return std::atoi(text);
}

// Zero, or the errno of the kernel's refusal.
int TryPerf(const OwnImage& image) {
  const int type = PerfType();
  if (type < 0)
    return ENODEV;
  perf_event_attr attr;
  std::memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = static_cast<uint32_t>(type);
  attr.config1 = reinterpret_cast<uint64_t>(image.path.c_str());
  attr.config2 = image.offset;
  attr.disabled = 1;
  const UniqueFd event(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, ::getpid(), -1, -1, PERF_FLAG_FD_CLOEXEC)));
  return event ? 0 : errno;
}

// Links of one image. Each close waits for a grace period, so they are closed side by side.
class Links final : public ProbeAttachment {
 public:
  ~Links() override {
    std::vector<std::thread> closers;
    closers.reserve(fds_.size() + links_.size());
    for (UniqueFd& fd : fds_) closers.emplace_back([&fd] { fd.Reset(); });
    for (bpf_link* link : links_) closers.emplace_back([link] { bpf_link__destroy(link); });
    for (std::thread& closer : closers) closer.join();
  }

  uint32_t count() const override { return count_; }

  std::string reason() const override { return reason_; }

  void Add(UniqueFd link, size_t probes) {
    fds_.push_back(std::move(link));
    count_ += static_cast<uint32_t>(probes);
  }

  void Add(bpf_link* link) {
    links_.push_back(link);
    ++count_;
  }

  void Refuse(const std::string& program, int error) {
    if (reason_.empty())
      reason_ = program + ": " + std::strerror(error);
  }

 private:
  std::vector<UniqueFd> fds_;
  std::vector<bpf_link*> links_;
  uint32_t count_ = 0;
  std::string reason_;
};

struct Group {
  bpf_program* program = nullptr;
  std::vector<uint64_t> offsets;
};

// By program and whether it is a return probe: one link each.
using Groups = std::map<std::pair<std::string, bool>, Group>;

void AttachMulti(const Groups& groups, const std::string& path, Links& links) {
  for (const auto& [key, group] : groups) {
    const auto& [name, is_return] = key;
    UniqueFd link = LinkMulti(bpf_program__fd(group.program),
                              IsSessionProgram(name) ? kTraceUprobeSession : kTraceUprobeMulti,
                              path, group.offsets, is_return);
    if (link)
      links.Add(std::move(link), group.offsets.size());
    else
      links.Refuse(name, errno);
  }
}

void AttachPerf(const Groups& groups, const std::string& path, Links& links) {
  for (const auto& [key, group] : groups) {
    for (uint64_t offset : group.offsets) {
      bpf_link* link =
          bpf_program__attach_uprobe(group.program, key.second, -1, path.c_str(), offset);
      if (link != nullptr)
        links.Add(link);
      else
        links.Refuse(key.first, errno);
    }
  }
}

}  // namespace

UprobeSupport TestUprobes() {
  UprobeSupport support;
  OwnImage image;
  if (!FindOwnImage(image)) {
    support.reason = "/proc does not show this program's own image";
    return support;
  }
  const auto links = [&](uint32_t attach_type) {
    const UniqueFd program = LoadNothing(attach_type);
    return program &&
           LinkMulti(program.get(), attach_type, image.path, {image.offset}, false).get() >= 0;
  };
  support.multi = links(kTraceUprobeMulti);
  support.sessions = support.multi && links(kTraceUprobeSession);
  const int error = TryPerf(image);
  support.perf = error == 0;
  if (!support.any())
    support.reason = std::string("uprobes are refused: ") + std::strerror(error);
  return support;
}

bool IsSessionProgram(const std::string& program) {
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const ProgramRow& row) {
    return row.name == program && row.place == RL_PLACE_SESSION;
  });
}

void PrepareLibraryPrograms(bpf_object* object, const UprobeSupport& support) {
  for (const ProgramRow& row : kRows) {
    bpf_program* program = bpf_object__find_program_by_name(object, std::string(row.name).c_str());
    if (program == nullptr)
      continue;
    const bool is_session = row.place == RL_PLACE_SESSION;
    if (is_session ? !support.sessions : !support.any()) {
      bpf_program__set_autoload(program, false);
      continue;
    }
    if (support.multi)
      bpf_program__set_expected_attach_type(
          program,
          static_cast<bpf_attach_type>(is_session ? kTraceUprobeSession : kTraceUprobeMulti));
  }
}

absl::StatusOr<std::unique_ptr<ProbeAttachment>> AttachLibraryProbes(
    const FindProgram& find, const UprobeSupport& support, int image_fd,
    const std::vector<ProbeRequest>& probes) {
  if (!support.any())
    return absl::UnavailableError(support.reason);
  Groups groups;
  for (const ProbeRequest& probe : probes) {
    bpf_program* program = find(probe.program);
    if (program == nullptr)
      continue;
    Group& group = groups[{probe.program, probe.is_return}];
    group.program = program;
    group.offsets.push_back(probe.file_offset);
  }
  if (groups.empty())
    return absl::UnavailableError("none of the programs is loaded");
  auto links = std::make_unique<Links>();
  if (support.multi)
    AttachMulti(groups, PathOf(image_fd), *links);
  else
    AttachPerf(groups, PathOf(image_fd), *links);
  if (links->count() == 0)
    return absl::UnavailableError("the kernel refuses probes in this image: " + links->reason());
  return std::unique_ptr<ProbeAttachment>(std::move(links));
}

}  // namespace routelens

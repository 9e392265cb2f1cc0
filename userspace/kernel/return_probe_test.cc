// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/return_probe_test.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "userspace/kernel/proc_text.h"

// What is probed: a function with C linkage, never inlined.
extern "C" __attribute__((noinline)) int routelens_return_probe_target(int value) {
  __asm__ volatile("" : "+r"(value));
  return value + 1;
}

namespace routelens {

namespace {

struct FilePlace {
  std::string path;
  uint64_t offset = 0;
};

// Which file holds this code, and where in it.
std::optional<FilePlace> PlaceOf(uint64_t address) {
  std::optional<FilePlace> place;
  ForEachLine(ReadProcText("/proc/self/maps"), [&](std::string_view line) {
    // proc(5): begin-end perms offset dev inode path, numbers in hexadecimal.
    const std::string_view range = Word(line, 0);
    const size_t dash = range.find('-');
    const std::string_view path = Word(line, 5);
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    const std::string_view offset_text = Word(line, 2);
    if (dash == std::string_view::npos || path.empty())
      return;
    std::from_chars(range.data(), range.data() + dash, begin, 16);
    std::from_chars(range.data() + dash + 1, range.data() + range.size(), end, 16);
    std::from_chars(offset_text.data(), offset_text.data() + offset_text.size(), offset, 16);
    if (address >= begin && address < end)
      place = FilePlace{.path = std::string(path), .offset = address - begin + offset};
  });
  return place;
}

UniqueFd AttachReturnProbe(pid_t pid, const FilePlace& place) {
  const std::string type = ReadProcText("/sys/bus/event_source/devices/uprobe/type");
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = static_cast<uint32_t>(std::atoi(type.c_str()));
  attributes.config = 1;  // format/retprobe is config:0
  attributes.config1 = reinterpret_cast<uint64_t>(place.path.c_str());
  attributes.config2 = place.offset;
  if (type.empty())
    return UniqueFd();
  return UniqueFd(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, pid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

[[noreturn]] void RunConfinedChild(int go_fd) {
  char go = 0;
  if (read(go_fd, &go, 1) != 1 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
    _exit(2);
  int (*volatile target)(int) = &routelens_return_probe_target;
  const int value = target(0);
  syscall(SYS_exit, value == 1 ? 0 : 1);  // strict mode kills exit_group
  __builtin_unreachable();
}

}  // namespace

bool ReturnProbesAreSurvived() {
  const auto place = PlaceOf(reinterpret_cast<uint64_t>(&routelens_return_probe_target));
  int ends[2];
  if (!place || pipe2(ends, O_CLOEXEC) != 0)
    return false;
  UniqueFd wait_end(ends[0]);
  UniqueFd go_end(ends[1]);
  const pid_t child = fork();
  if (child < 0)
    return false;
  if (child == 0) {
    close(ends[1]);
    RunConfinedChild(ends[0]);
  }
  const UniqueFd probe = AttachReturnProbe(child, *place);
  const bool started = probe && write(go_end.get(), "g", 1) == 1;
  go_end.Reset();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  uint64_t hits = 0;
  const bool fired = started && read(probe.get(), &hits, sizeof(hits)) == sizeof(hits) && hits > 0;
  return fired && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/proc_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/unique_fd.h"

namespace routelens {

std::string ReadProcText(const std::string& path, size_t limit_bytes) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  while (fd && text.size() < limit_bytes) {
    const ssize_t n = read(fd.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

void ForEachLine(std::string_view text, const std::function<void(std::string_view)>& visit) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    visit(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

std::string_view Word(std::string_view line, size_t index) {
  while (true) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos)
      return {};
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find(' '));
    if (index-- == 0)
      return word;
    line.remove_prefix(word.size());
  }
}

uint64_t StartBootNs(std::string_view stat) {
  const size_t comm_end = stat.rfind(')');
  if (comm_end == std::string_view::npos)
    return 0;
  // proc(5): starttime is the 22nd field, the 20th after the comm.
  const std::string_view word = Word(stat.substr(comm_end + 1), 19);
  uint64_t ticks = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), ticks);
  if (error != std::errc() || end != word.data() + word.size())
    return 0;
  static const auto ticks_per_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  return ticks * (1'000'000'000 / ticks_per_second);
}

}  // namespace routelens

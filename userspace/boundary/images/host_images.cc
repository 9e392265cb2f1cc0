// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/images/host_images.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/unique_fd.h"

namespace routelens {
namespace {

constexpr const char* kFolders[] = {"/lib/x86_64-linux-gnu",
                                    "/usr/lib/x86_64-linux-gnu",
                                    "/lib/aarch64-linux-gnu",
                                    "/usr/lib/aarch64-linux-gnu",
                                    "/lib64",
                                    "/usr/lib64",
                                    "/lib",
                                    "/usr/lib",
                                    "/usr/local/lib",
                                    "/usr/local/lib64"};
constexpr std::string_view kPrefixes[] = {"libssl.so.", "libcrypto.so.", "libc.so.6"};
constexpr const char* kCarriers[] = {"node"};
constexpr size_t kMaxPrograms = 4;
constexpr size_t kShebangBytes = 256;  // BINPRM_BUF_SIZE

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// The words of a script's first line; empty when the file is none.
std::vector<std::string> ShebangOf(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));

  struct stat status {};

  char text[kShebangBytes];
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return {};
  const ssize_t got = ::pread(fd.get(), text, sizeof(text), 0);
  if (got < 3 || text[0] != '#' || text[1] != '!')
    return {};
  std::string_view line(text + 2, static_cast<size_t>(got) - 2);
  line = line.substr(0, line.find('\n'));
  std::vector<std::string> words;
  while (true) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos)
      return words;
    const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

}  // namespace

std::vector<std::string> HostLibraries() {
  std::vector<std::string> found;
  std::vector<ino_t> seen;
  for (const char* folder : kFolders) {
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder), &::closedir);
    if (!dir)
      continue;
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(dir.get())) {
      const std::string_view name(entry->d_name);
      if (std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                      [&](std::string_view prefix) { return StartsWith(name, prefix); }))
        names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      std::string path = std::string(folder) + "/" + name;

      struct stat status {};

      if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
          std::find(seen.begin(), seen.end(), status.st_ino) != seen.end())
        continue;
      seen.push_back(status.st_ino);
      found.push_back(std::move(path));
    }
  }
  return found;
}

std::string FindProgramFile(const std::string& name, const std::string& search_path) {
  const auto is_program = [](const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           (status.st_mode & 0111) != 0;
  };
  if (name.find('/') != std::string::npos)
    return is_program(name) ? name : "";
  std::string_view rest = search_path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::string path = std::string(rest.substr(0, end)) + "/" + name;
    if (end > 0 && is_program(path))
      return path;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

std::vector<std::string> CarriersOf(const std::string& search_path) {
  std::vector<std::string> found;
  for (const char* name : kCarriers) {
    if (std::string file = FindProgramFile(name, search_path); !file.empty())
      found.push_back(std::move(file));
  }
  return found;
}

std::vector<std::string> ProgramsOf(const std::string& file, const std::string& search_path) {
  std::vector<std::string> programs;
  std::string next = FindProgramFile(file, search_path);
  while (!next.empty() && programs.size() < kMaxPrograms) {
    programs.push_back(next);
    const std::vector<std::string> words = ShebangOf(next);
    next.clear();
    if (words.empty())
      break;
    next = words[0];
    const bool is_env = next.size() >= 4 && next.compare(next.size() - 4, 4, "/env") == 0;
    for (size_t i = 1; is_env && i < words.size(); ++i) {
      if (words[i][0] == '-' || words[i].find('=') != std::string::npos)
        continue;
      next = FindProgramFile(words[i], search_path);
      break;
    }
  }
  return programs;
}

}  // namespace routelens

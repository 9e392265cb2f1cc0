// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/watch.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "base/status_util.h"
#include "base/unique_fd.h"
#include "cli/commands/output.h"
#include "cli/render/event_line.h"
#include "userspace/sensor/watch_server.h"

namespace routelens {
namespace {

constexpr std::string_view kSuffix = ".sock";
constexpr size_t kMaxLineBytes = 64u << 10;

UniqueFd Connect(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!fd || path.size() >= sizeof address.sun_path)
    return UniqueFd();
  std::memcpy(address.sun_path, path.data(), path.size());
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return UniqueFd();
  }
  // A socket at a predictable place may be somebody else's: only root or ourselves is believed.
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      (peer.uid != 0 && peer.uid != ::geteuid())) {
    return UniqueFd();
  }
  return fd;
}

// Sessions that answer, by id.
std::map<std::string, UniqueFd> FindSessions() {
  std::map<std::string, UniqueFd> sessions;
  const char* runtime_dir = std::getenv("XDG_RUNTIME_DIR");
  std::vector<std::string> directories =
      WatchDirectories(::geteuid(), runtime_dir != nullptr ? runtime_dir : "");
  for (const std::string& directory : directories) {
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(directory.c_str()), &::closedir);
    if (!dir)
      continue;
    while (const dirent* entry = ::readdir(dir.get())) {
      const std::string name = entry->d_name;
      if (name.size() <= kSuffix.size() || name.substr(name.size() - kSuffix.size()) != kSuffix) {
        continue;
      }
      UniqueFd fd = Connect(directory + "/" + name);
      if (fd)
        sessions.emplace(name.substr(0, name.size() - kSuffix.size()), std::move(fd));
    }
  }
  return sessions;
}

absl::Status ShowLines(int fd, bool json) {
  const bool colour = ColourAllowed(STDOUT_FILENO);
  std::string buffer;
  std::array<char, 16384> chunk{};
  for (;;) {
    const ssize_t got = ::recv(fd, chunk.data(), chunk.size(), 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return ErrnoStatus(errno, "read from the session");
    if (got == 0)
      return absl::OkStatus();
    buffer.append(chunk.data(), static_cast<size_t>(got));
    std::string text;
    size_t start = 0;
    for (size_t end = buffer.find('\n'); end != std::string::npos; end = buffer.find('\n', start)) {
      const std::string line = buffer.substr(start, end - start);
      text += (json ? line : LineForPerson(line, colour)) + "\n";
      start = end + 1;
    }
    buffer.erase(0, start);
    if (buffer.size() > kMaxLineBytes)
      return absl::DataLossError("a line without an end");
    RL_RETURN_IF_ERROR(WriteAll(STDOUT_FILENO, text));
  }
}

}  // namespace

int WatchCommand(const WatchFlags& flags) {
  std::map<std::string, UniqueFd> sessions = FindSessions();
  auto chosen = flags.id.empty() ? sessions.begin() : sessions.find(flags.id);
  if (chosen == sessions.end()) {
    PrintError(flags.id.empty() ? "no session runs (start one with `routelens run` or `attach`)"
                                : "no session " + flags.id + " runs");
    return kExitFailed;
  }
  if (flags.id.empty() && sessions.size() > 1) {
    std::string ids;
    for (const auto& [id, fd] : sessions) ids += " " + id;
    PrintError("several sessions run, name one of:" + ids);
    return kExitUsage;
  }
  absl::Status status = WriteAll(chosen->second.get(), flags.all ? "all\n" : "summary\n");
  if (status.ok())
    status = ShowLines(chosen->second.get(), flags.json);
  return status.ok() ? kExitOk : Fail(status);
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/sensor/watch_server.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/status_util.h"

namespace routelens {
namespace {

constexpr int kBacklog = 8;

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

// Opens a private directory, made if need be. A link in the last place, a directory of somebody
// else, or one that others may write to is refused: the names in it would not be ours.
absl::StatusOr<UniqueFd> OpenPrivateDirectory(const std::string& path,
                                              std::optional<std::pair<uid_t, gid_t>> owner) {
  const std::string parent = ParentOf(path);
  const UniqueFd above(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!above)
    return ErrnoStatus(errno, "open " + parent);
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool made = ::mkdirat(above.get(), name.c_str(), 0700) == 0;
  if (!made && errno != EEXIST)
    return ErrnoStatus(errno, "make " + path);
  UniqueFd fd(::openat(above.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd)
    return ErrnoStatus(errno, "open " + path);
  if (made && owner && ::fchown(fd.get(), owner->first, owner->second) != 0) {
    return ErrnoStatus(errno, "give " + path + " to its user");
  }

  struct stat info {};

  if (::fstat(fd.get(), &info) != 0)
    return ErrnoStatus(errno, "stat " + path);
  const uid_t wanted = owner ? owner->first : ::geteuid();
  if ((info.st_uid != wanted && info.st_uid != 0) || (info.st_mode & 022) != 0) {
    return absl::PermissionDeniedError(path + " belongs to somebody else or is open to others");
  }
  return fd;
}

// A name in an open directory: neither a long path nor a swapped directory matters.
std::optional<sockaddr_un> AddressOf(int directory, const std::string& name) {
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return std::nullopt;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

absl::StatusOr<UniqueFd> BindIn(int directory, const std::string& name,
                                std::optional<std::pair<uid_t, gid_t>> owner) {
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener)
    return ErrnoStatus(errno, "make a socket");
  const std::optional<sockaddr_un> address = AddressOf(directory, name);
  if (!address)
    return absl::InvalidArgumentError("name too long: " + name);
  const mode_t old_mask = ::umask(0177);
  const int bound =
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  const int error = errno;
  ::umask(old_mask);
  if (bound != 0)
    return ErrnoStatus(error, "bind " + name);
  if (owner &&
      ::fchownat(directory, name.c_str(), owner->first, owner->second, AT_SYMLINK_NOFOLLOW) != 0) {
    return ErrnoStatus(errno, "give " + name + " to its user");
  }
  if (::listen(listener.get(), kBacklog) != 0)
    return ErrnoStatus(errno, "listen on " + name);
  return listener;
}

// Sockets whose session was killed stay as names that nobody listens behind.
void RemoveDeadSockets(int directory) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0)
    return;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(copy), &::closedir);
  if (!dir)
    return;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (entry->d_type == DT_SOCK && name.size() > 5 && name.substr(name.size() - 5) == ".sock") {
      names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto address = AddressOf(directory, name);
    if (probe && address &&
        ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) !=
            0 &&
        errno == ECONNREFUSED) {
      ::unlinkat(directory, name.c_str(), 0);
    }
  }
}

bool Watch(int epoll, int fd, uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll, operation, fd, &event) == 0;
}

}  // namespace

std::vector<std::string> WatchDirectories(uid_t uid, const std::string& xdg_runtime_dir) {
  std::vector<std::string> directories;
  if (!xdg_runtime_dir.empty() && xdg_runtime_dir.front() == '/') {
    directories.push_back(xdg_runtime_dir + "/routelens");
  }
  const std::string run_user = "/run/user/" + std::to_string(uid);
  if (run_user != xdg_runtime_dir)
    directories.push_back(run_user + "/routelens");
  if (uid == 0)
    directories.push_back("/run/routelens");
  directories.push_back("/tmp/routelens-" + std::to_string(uid));
  return directories;
}

WatchServer::WatchServer(UniqueFd directory, UniqueFd listener, UniqueFd epoll, std::string path,
                         std::function<std::string(uint64_t)> dropped_line, WatchLimits limits)
    : directory_(std::move(directory)),
      listener_(std::move(listener)),
      epoll_(std::move(epoll)),
      path_(std::move(path)),
      dropped_line_(std::move(dropped_line)),
      limits_(limits),
      maker_(::getpid()) {}

WatchServer::~WatchServer() {
  if (::getpid() == maker_)
    Unlink();
}

void WatchServer::Unlink() {
  const std::string name = path_.substr(path_.rfind('/') + 1);
  ::unlinkat(directory_.get(), name.c_str(), 0);
}

absl::StatusOr<std::unique_ptr<WatchServer>> WatchServer::Listen(
    const std::vector<std::string>& directories, const std::string& id,
    std::optional<std::pair<uid_t, gid_t>> owner, std::function<std::string(uint64_t)> dropped_line,
    WatchLimits limits) {
  absl::Status refused = absl::NotFoundError("no directory for the watch socket");
  for (const std::string& directory : directories) {
    auto open = OpenPrivateDirectory(directory, owner);
    if (!open.ok()) {
      refused = open.status();
      continue;
    }
    RemoveDeadSockets(open->get());
    const std::string name = id + ".sock";
    auto listener = BindIn(open->get(), name, owner);
    if (!listener.ok()) {
      refused = WithContext(listener.status(), directory);
      continue;
    }
    UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll || !Watch(epoll.get(), listener->get(), EPOLLIN, EPOLL_CTL_ADD)) {
      return ErrnoStatus(errno, "watch the socket");
    }
    return std::unique_ptr<WatchServer>(new WatchServer(*std::move(open), *std::move(listener),
                                                        std::move(epoll), directory + "/" + name,
                                                        std::move(dropped_line), limits));
  }
  return refused;
}

void WatchServer::Accept() {
  for (;;) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd)
      return;
    if (clients_.size() >= limits_.max_clients ||
        !Watch(epoll_.get(), fd.get(), EPOLLIN | EPOLLRDHUP, EPOLL_CTL_ADD)) {
      continue;
    }
    const int number = fd.get();
    Client client;
    client.fd = std::move(fd);
    clients_.emplace(number, std::move(client));
  }
}

// False when the client is to be dropped.
bool WatchServer::ReadRequest(Client& client) {
  std::array<char, 64> text{};
  const ssize_t got = ::recv(client.fd.get(), text.data(), text.size(), 0);
  if (got < 0)
    return errno == EAGAIN || errno == EINTR;
  if (got == 0)
    return false;
  const std::string_view request(text.data(), static_cast<size_t>(got));
  if (request == "all\n") {
    client.detail = WatchDetail::kAll;
  } else if (request == "summary\n") {
    client.detail = WatchDetail::kSummary;
  } else {
    return false;
  }
  return true;
}

bool WatchServer::Flush(Client& client) {
  while (!client.buffer.empty()) {
    const ssize_t sent = ::send(client.fd.get(), client.buffer.data(), client.buffer.size(),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0 && errno != EAGAIN)
      return false;
    if (sent < 0)
      break;
    client.buffer.erase(0, static_cast<size_t>(sent));
  }
  if (client.buffer.empty() && client.dropped > 0) {
    client.buffer = dropped_line_(std::exchange(client.dropped, 0)) + "\n";
    return Flush(client);
  }
  const bool wait = !client.buffer.empty();
  if (wait != client.waits_to_write) {
    client.waits_to_write = wait;
    Watch(epoll_.get(), client.fd.get(), EPOLLIN | EPOLLRDHUP | (wait ? EPOLLOUT : 0u),
          EPOLL_CTL_MOD);
  }
  return true;
}

void WatchServer::Turn() {
  std::array<epoll_event, 16> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.fd == listener_.get()) {
      Accept();
      continue;
    }
    const auto client = clients_.find(event.data.fd);
    if (client == clients_.end())
      continue;
    bool keep = (event.events & (EPOLLERR | EPOLLHUP)) == 0;
    if (keep && (event.events & (EPOLLIN | EPOLLRDHUP)) != 0)
      keep = ReadRequest(client->second);
    if (keep && (event.events & EPOLLOUT) != 0)
      keep = Flush(client->second);
    if (!keep)
      clients_.erase(client);
  }
}

void WatchServer::Publish(std::string_view line, WatchDetail detail) {
  for (auto it = clients_.begin(); it != clients_.end();) {
    Client& client = it->second;
    const bool wants =
        client.detail && (detail == WatchDetail::kSummary || *client.detail == WatchDetail::kAll);
    bool keep = true;
    if (wants) {
      if (client.dropped > 0 ||
          client.buffer.size() + line.size() + 1 > limits_.max_buffered_bytes) {
        ++client.dropped;
      } else {
        (client.buffer += line) += '\n';
      }
      keep = Flush(client);
    }
    it = keep ? std::next(it) : clients_.erase(it);
  }
}

bool WatchServer::anyone_wants(WatchDetail detail) const {
  return std::any_of(clients_.begin(), clients_.end(), [&](const auto& entry) {
    return entry.second.detail &&
           (detail == WatchDetail::kSummary || *entry.second.detail == WatchDetail::kAll);
  });
}

}  // namespace routelens

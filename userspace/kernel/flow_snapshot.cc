// SPDX-License-Identifier: Apache-2.0
#include "userspace/kernel/flow_snapshot.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/status_util.h"
#include "base/unique_fd.h"
#include "bpf/abi/flow.h"
#include "userspace/kernel/proc_text.h"

namespace routelens {

namespace {

constexpr uint16_t kDnsPort = 53;
constexpr int kMaxCgroupDepth = 32;
constexpr uint8_t kTcpEstablished = 1;
constexpr uint8_t kTcpSynSent = 2;
constexpr uint8_t kTcpFinWait1 = 4;
constexpr uint8_t kTcpFinWait2 = 5;
constexpr uint8_t kTcpCloseWait = 8;
#ifndef SO_NETNS_COOKIE
constexpr int SO_NETNS_COOKIE = 71;
#endif

struct DirectoryCloser {
  void operator()(DIR* directory) const { closedir(directory); }
};

using Directory = std::unique_ptr<DIR, DirectoryCloser>;

int PidfdOpen(pid_t pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

int PidfdGetfd(int pidfd, int target) {
  return static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, target, 0));
}

template <typename T>
std::optional<T> SocketOption(int fd, int level, int name) {
  T value = {};
  socklen_t length = sizeof(value);
  if (getsockopt(fd, level, name, &value, &length) != 0)
    return std::nullopt;
  return value;
}

rl_address AddressOf(const sockaddr_storage& storage) {
  rl_address address = {};
  if (storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
    address.addr[10] = 0xff;
    address.addr[11] = 0xff;
    std::memcpy(&address.addr[12], &v4.sin_addr, 4);
    address.port = ntohs(v4.sin_port);
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
    std::memcpy(address.addr, &v6.sin6_addr, 16);
    address.port = ntohs(v6.sin6_port);
    address.scope_id = v6.sin6_scope_id;
  }
  return address;
}

template <typename Call>
std::optional<rl_address> NameOf(int fd, Call call) {
  sockaddr_storage storage = {};
  socklen_t length = sizeof(storage);
  if (call(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0)
    return std::nullopt;
  return AddressOf(storage);
}

// Ports listened on, from the text of /proc/PID/net/tcp or tcp6.
void AddListeningPorts(std::string_view text, std::set<uint16_t>* ports) {
  ForEachLine(text, [&](std::string_view line) {
    const std::string_view local = Word(line, 1);
    const size_t colon = local.rfind(':');
    if (Word(line, 3) != "0A" || colon == std::string_view::npos)
      return;
    uint16_t port = 0;
    std::from_chars(local.data() + colon + 1, local.data() + local.size(), port, 16);
    ports->insert(port);
  });
}

bool IsClientState(uint8_t state) {
  return state == kTcpEstablished || state == kTcpSynSent || state == kTcpFinWait1 ||
         state == kTcpFinWait2 || state == kTcpCloseWait;
}

class Snapshot {
 public:
  Snapshot(const rl_scope& scope, int flows_fd) : scope_(scope), flows_fd_(flows_fd) {}

  void VisitProcess(pid_t pid) {
    UniqueFd process(PidfdOpen(pid));
    const std::string proc = "/proc/" + std::to_string(pid);
    Directory descriptors(opendir((proc + "/fd").c_str()));
    if (!process || !descriptors)
      return;
    rl_owner owner = {};
    owner.tgid = static_cast<uint32_t>(pid);
    owner.start_boot_ns = StartBootNs(ReadProcText(proc + "/stat"));
    const std::string comm = ReadProcText(proc + "/comm");
    comm.copy(owner.comm, std::min(comm.find('\n'), sizeof(owner.comm) - 1));
    while (const dirent* entry = readdir(descriptors.get())) {
      char target[64] = {};
      if (readlinkat(dirfd(descriptors.get()), entry->d_name, target, sizeof(target) - 1) <= 0)
        continue;
      if (std::string_view(target).substr(0, 8) != "socket:[" || !seen_.insert(target).second)
        continue;
      UniqueFd socket(PidfdGetfd(process.get(), std::atoi(entry->d_name)));
      if (socket)
        VisitSocket(socket.get(), owner, proc);
    }
  }

  size_t marked() const { return marked_; }

 private:
  bool IsAccepted(uint16_t local_port, const std::string& proc) {
    struct stat status = {};
    stat((proc + "/ns/net").c_str(), &status);
    const auto [found, is_new] = listening_.try_emplace(status.st_ino);
    if (is_new) {
      AddListeningPorts(ReadProcText(proc + "/net/tcp", 16 << 20), &found->second);
      AddListeningPorts(ReadProcText(proc + "/net/tcp6", 16 << 20), &found->second);
    }
    return found->second.contains(local_port);
  }

  void VisitSocket(int fd, const rl_owner& owner, const std::string& proc) {
    const auto family = SocketOption<int>(fd, SOL_SOCKET, SO_DOMAIN);
    const auto protocol = SocketOption<int>(fd, SOL_SOCKET, SO_PROTOCOL);
    const auto cookie = SocketOption<uint64_t>(fd, SOL_SOCKET, SO_COOKIE);
    const auto peer = NameOf(fd, getpeername);
    if (!family || !protocol || !cookie || (*family != AF_INET && *family != AF_INET6))
      return;
    rl_flow flow = {};
    flow.owner = owner;
    flow.cookie = *cookie;
    flow.netns_cookie = SocketOption<uint64_t>(fd, SOL_SOCKET, SO_NETNS_COOKIE).value_or(0);
    flow.scope = scope_;
    flow.protocol = static_cast<uint8_t>(*protocol);
    flow.family = static_cast<uint8_t>(*family);
    flow.connect_flags = RL_CONNECT_PREEXISTING | RL_CONNECT_OWNER_GUESS;
    if (*protocol == IPPROTO_TCP) {
      const auto info = SocketOption<tcp_info>(fd, IPPROTO_TCP, TCP_INFO);
      const auto local = NameOf(fd, getsockname);
      if (!info || !local || !IsClientState(info->tcpi_state) || IsAccepted(local->port, proc))
        return;
      flow.phase = RL_FLOW_UNANNOUNCED;
      flow.established = info->tcpi_state != kTcpSynSent ? 1 : 0;
      flow.peer_fin = info->tcpi_state == kTcpCloseWait ? 1 : 0;
      flow.asked = peer.value_or(rl_address{});
    } else if (*protocol == IPPROTO_UDP && peer && peer->port == kDnsPort) {
      flow.asked = *peer;
    } else {
      return;
    }
    Mark(fd, flow);
  }

  void Mark(int fd, const rl_flow& flow) {
    if (bpf_map_update_elem(flows_fd_, &fd, &flow, BPF_NOEXIST) == 0) {
      ++marked_;
      return;
    }
    // Known to the hooks: keep it, unless it speaks of a boundary that was removed since.
    rl_flow known = {};
    if (bpf_map_lookup_elem(flows_fd_, &fd, &known) == 0 &&
        known.scope.boundary != scope_.boundary &&
        bpf_map_update_elem(flows_fd_, &fd, &flow, BPF_ANY) == 0)
      ++marked_;
  }

  const rl_scope scope_;
  const int flows_fd_;
  std::set<std::string> seen_;                     // sockets, by their inode's name
  std::map<ino_t, std::set<uint16_t>> listening_;  // by network namespace
  size_t marked_ = 0;
};

void AddProcesses(int cgroup_fd, int depth, std::vector<pid_t>* pids) {
  const std::string base = "/proc/self/fd/" + std::to_string(cgroup_fd);
  ForEachLine(ReadProcText(base + "/cgroup.procs"), [&](std::string_view line) {
    pid_t pid = 0;
    std::from_chars(line.data(), line.data() + line.size(), pid);
    if (pid > 0)
      pids->push_back(pid);
  });
  Directory directory(opendir(base.c_str()));
  if (depth >= kMaxCgroupDepth || !directory)
    return;
  while (const dirent* entry = readdir(directory.get())) {
    if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
      continue;
    UniqueFd child(openat(cgroup_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (child)
      AddProcesses(child.get(), depth + 1, pids);
  }
}

}  // namespace

absl::Status CanSnapshotFlows() {
  UniqueFd self(PidfdOpen(getpid()));
  if (!self)
    return ErrnoStatus(errno, "pidfd_open");
  UniqueFd copy(PidfdGetfd(self.get(), self.get()));
  return copy ? absl::OkStatus() : ErrnoStatus(errno, "pidfd_getfd");
}

absl::StatusOr<size_t> SnapshotFlowsOf(const std::vector<pid_t>& pids, const rl_scope& scope,
                                       int flows_fd) {
  RL_RETURN_IF_ERROR(CanSnapshotFlows());
  Snapshot snapshot(scope, flows_fd);
  for (pid_t pid : pids) snapshot.VisitProcess(pid);
  return snapshot.marked();
}

std::vector<pid_t> ProcessesOf(int cgroup_fd) {
  std::vector<pid_t> pids;
  AddProcesses(cgroup_fd, 0, &pids);
  return pids;
}

}  // namespace routelens

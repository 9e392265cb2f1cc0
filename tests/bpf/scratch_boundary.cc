// SPDX-License-Identifier: Apache-2.0
#include "tests/bpf/scratch_boundary.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/status_util.h"
#include "userspace/kernel/proc_text.h"
#include "userspace/kernel/scratch_cgroup.h"

namespace routelens {

namespace {

std::string AddressText(const rl_address& address) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, address.addr, text, sizeof(text));
  return "[" + std::string(text) + "]:" + std::to_string(address.port);
}

std::string Number(const char* name, uint64_t value) {
  return std::string(" ") + name + "=" + std::to_string(value);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TestCgroup>> TestCgroup::Make(const std::string& name) {
  const std::string mount = FindCgroup2Mount(ReadProcText("/proc/self/mountinfo"));
  std::string own = FindUnifiedPath(ReadProcText("/proc/self/cgroup"));
  if (mount.empty())
    return absl::NotFoundError("no cgroup2 is mounted");
  if (own == "/")
    own.clear();
  std::unique_ptr<TestCgroup> made(new TestCgroup());
  made->path_ = mount + own + "/" + name + "-" + std::to_string(getpid());
  made->level_ = 1 + static_cast<uint32_t>(std::count(own.begin(), own.end(), '/'));
  if (mkdir(made->path_.c_str(), 0755) != 0)
    return ErrnoStatus(errno, "making " + made->path_);
  made->fd_.Reset(open(made->path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status = {};
  fstat(made->fd_.get(), &status);
  made->id_ = status.st_ino;
  return made;
}

absl::StatusOr<std::unique_ptr<TestCgroup>> TestCgroup::MakeInside(const TestCgroup& outer,
                                                                   const std::string& name) {
  std::unique_ptr<TestCgroup> made(new TestCgroup());
  made->path_ = outer.path_ + "/" + name;
  made->level_ = outer.level_ + 1;
  if (mkdir(made->path_.c_str(), 0755) != 0)
    return ErrnoStatus(errno, "making " + made->path_);
  made->fd_.Reset(open(made->path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status = {};
  fstat(made->fd_.get(), &status);
  made->id_ = status.st_ino;
  return made;
}

TestCgroup::~TestCgroup() {
  // A process that has just been reaped may hold the cgroup a moment longer.
  for (int i = 0; i < 100 && rmdir(path_.c_str()) != 0 && errno == EBUSY; ++i) poll(nullptr, 0, 10);
}

pid_t TestCgroup::Start(const std::function<int()>& body) const {
  const pid_t pid = fork();
  if (pid != 0)
    return pid;
  const int procs = openat(fd_.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC);
  if (procs < 0 || write(procs, "0", 1) != 1)
    _exit(125);
  close(procs);
  _exit(body());
}

pid_t TestCgroup::Start(const std::vector<std::string>& command) const {
  return Start([&] {
    std::vector<char*> arguments;
    for (const std::string& argument : command)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    return 127;
  });
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int TestCgroup::Run(const std::function<int()>& body) const {
  return WaitFor(Start(body));
}

int TestCgroup::Run(const std::vector<std::string>& command) const {
  return WaitFor(Start(command));
}

std::vector<RawRecord> DrainAll(KernelSensor* sensor) {
  std::vector<RawRecord> records;
  while (sensor->Drain([&](std::span<const std::byte> record) {
    records.push_back({.bytes = {record.begin(), record.end()}});
  }) > 0) {
  }
  return records;
}

std::vector<RawRecord> DrainUntil(KernelSensor* sensor,
                                  const std::function<bool(const std::vector<RawRecord>&)>& enough,
                                  int patience_ms) {
  const uint64_t give_up = BootClockNs() + static_cast<uint64_t>(patience_ms) * 1'000'000;
  std::vector<RawRecord> records;
  while (true) {
    for (RawRecord& record : DrainAll(sensor)) records.push_back(std::move(record));
    if (enough(records) || BootClockNs() > give_up)
      return records;
    poll(nullptr, 0, 5);
  }
}

std::string Describe(const RawRecord& record) {
  const rl_event_header header = record.header();
  const std::string who = Number("boundary", header.boundary) + Number("seq", header.seq);
  switch (header.kind) {
    case RL_EV_CONNECT: {
      const auto ev = record.As<rl_ev_connect>();
      return "connect" + who + Number("cookie", ev.cookie) + " " + AddressText(ev.remote) +
             Number("protocol", ev.protocol) + Number("flags", ev.flags) +
             Number("tgid", ev.owner.tgid) + " comm=" + ev.owner.comm;
    }
    case RL_EV_CONNECT_ERROR: {
      const auto ev = record.As<rl_ev_connect_error>();
      return "connect_error" + who + Number("cookie", ev.cookie) +
             Number("error", static_cast<uint64_t>(ev.error)) + Number("via", ev.via);
    }
    case RL_EV_ESTABLISHED: {
      const auto ev = record.As<rl_ev_established>();
      return "established" + who + Number("cookie", ev.cookie) + " " + AddressText(ev.local) +
             " -> " + AddressText(ev.remote);
    }
    case RL_EV_PEER_FIN:
      return "peer_fin" + who + Number("cookie", record.As<rl_ev_peer_fin>().cookie);
    case RL_EV_FLOW_END: {
      const auto ev = record.As<rl_ev_flow_end>();
      return "flow_end" + who + Number("cookie", ev.cookie) + Number("cause", ev.cause) +
             Number("state", ev.state) + Number("error", static_cast<uint64_t>(ev.error)) +
             Number("flags", ev.flags) + Number("received", ev.bytes_received) +
             Number("acked", ev.bytes_acked) + Number("retransmits", ev.retransmits);
    }
    case RL_EV_STREAM: {
      const auto ev = record.As<rl_ev_stream>();
      return "stream" + who + Number("cookie", ev.cookie) + Number("direction", ev.direction) +
             Number("protocol", ev.protocol) + Number("offset", ev.offset) +
             Number("length", ev.length) + Number("flags", ev.flags);
    }
    case RL_EV_TLS_RECORD: {
      const auto ev = record.As<rl_ev_tls_record>();
      return "tls_record" + who + Number("cookie", ev.cookie) + Number("direction", ev.direction) +
             Number("index", ev.index) + Number("type", ev.content_type) +
             Number("length", ev.length) + Number("alert", ev.alert_description);
    }
    case RL_EV_HTTP_REQUEST: {
      const auto ev = record.As<rl_ev_http_request>();
      const size_t fixed = offsetof(rl_ev_http_request, text);
      return "http_request" + who + Number("key", ev.key) + Number("index", ev.request_index) +
             Number("method", ev.method) + Number("form", ev.form) + Number("flags", ev.flags) +
             " path=" + record.Tail(fixed, 0, ev.path_length) +
             " host=" + record.Tail(fixed, ev.path_length, ev.host_length);
    }
    case RL_EV_HTTP_RESPONSE: {
      const auto ev = record.As<rl_ev_http_response>();
      return "http_response" + who + Number("key", ev.key) + Number("index", ev.request_index) +
             Number("status", ev.status) + Number("flags", ev.flags);
    }
    case RL_EV_DNS: {
      const auto ev = record.As<rl_ev_dns>();
      return "dns" + who + Number("cookie", ev.cookie) + " " + AddressText(ev.remote) +
             Number("direction", ev.direction) + Number("length", ev.length) +
             Number("wire", ev.wire_length) + Number("local", ev.local_port);
    }
    case RL_EV_PROCESS: {
      const auto ev = record.As<rl_ev_process>();
      return "process" + who + Number("op", ev.op) + Number("tgid", ev.owner.tgid) +
             Number("parent", ev.parent_tgid) + " comm=" + ev.owner.comm;
    }
    default:
      return "kind " + std::to_string(header.kind) + who + Number("size", header.size);
  }
}

}  // namespace routelens

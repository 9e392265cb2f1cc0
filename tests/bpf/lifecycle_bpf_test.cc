// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/clock.h"
#include "tests/bpf/sensor_fixture.h"
#include "tests/bpf/traffic.h"
#include "userspace/kernel/flow_snapshot.h"
#include "userspace/kernel/proc_text.h"
#include "userspace/kernel/scratch_cgroup.h"

namespace routelens {

namespace {

constexpr uint64_t kMs = 1'000'000;

// BPF links on one cgroup, and the programs they hold. Only those: others may run sensors here too.
struct Attached {
  std::set<uint32_t> links;
  std::set<uint32_t> programs;
};

Attached AttachedTo(uint64_t cgroup_id) {
  Attached attached;
  uint32_t id = 0;
  while (bpf_link_get_next_id(id, &id) == 0) {
    const UniqueFd link(bpf_link_get_fd_by_id(id));
    bpf_link_info info = {};
    uint32_t length = sizeof(info);
    if (!link || bpf_obj_get_info_by_fd(link.get(), &info, &length) != 0 ||
        info.type != BPF_LINK_TYPE_CGROUP || info.cgroup.cgroup_id != cgroup_id)
      continue;
    attached.links.insert(id);
    attached.programs.insert(info.prog_id);
  }
  return attached;
}

size_t StillLoaded(const std::set<uint32_t>& programs) {
  return static_cast<size_t>(std::count_if(programs.begin(), programs.end(), [](uint32_t id) {
    return static_cast<bool>(UniqueFd(bpf_prog_get_fd_by_id(id)));
  }));
}

template <typename T>
bool EventuallyEqual(const std::function<T()>& now, const T& wanted) {
  for (int i = 0; i < 300; ++i) {
    if (now() == wanted)
      return true;
    poll(nullptr, 0, 10);
  }
  return false;
}

class LifecycleTest : public SensorTest {};

TEST_F(LifecycleTest, StatesEveryCapabilityOnceAndTheFloorIsMet) {
  std::vector<std::string> names;
  for (const CapabilityState& state : sensor_->capabilities()) {
    names.push_back(state.name);
    EXPECT_TRUE(state.present || !state.floor) << state.name << ": " << state.reason;
    EXPECT_EQ(state.present, !state.via.empty()) << state.name;
    EXPECT_TRUE(state.present || !state.reason.empty()) << state.name;
    EXPECT_FALSE(state.costs.empty()) << state.name;
    EXPECT_FALSE(state.remedy.empty()) << state.name;
  }
  EXPECT_THAT(names,
              testing::ElementsAre("boundary_cgroup", "connect", "connect_result", "connect_error",
                                   "cancel", "udp_dns", "packets", "reset_cause",
                                   "preexisting_flows", "process_events", "boundary_by_process",
                                   "library_openssl", "resolver_libc", "sequence_numbers"));
}

TEST_F(LifecycleTest, LeavesOutWhatItIsToldAndWorksOn) {  // E8
  KernelOptions options = Options();
  options.without = {"process_events", "reset_cause", "sequence_numbers", "preexisting_flows"};
  const auto loaded = KernelSensor::Load(options);
  ASSERT_TRUE(loaded.ok()) << MessageOf(loaded.status());
  for (const CapabilityState& state : (*loaded)->capabilities())
    if (options.without.contains(state.name)) {
      EXPECT_FALSE(state.present) << state.name;
      EXPECT_EQ(state.reason, "left out by option") << state.name;
    }
}

TEST_F(LifecycleTest, NamesTheFloorCapabilityThatIsMissing) {
  KernelOptions options = Options();
  options.without = {"packets"};
  const auto loaded = KernelSensor::Load(options);
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(std::string(MessageOf(loaded.status())), testing::HasSubstr("packets"));
}

TEST_F(LifecycleTest, RemovingABoundaryLeavesNoLinkAndNoRecord) {
  auto second = TestCgroup::Make("bpf-second");
  ASSERT_TRUE(second.ok());
  const uint64_t id = (*second)->scope().id;
  const auto added = sensor_->AddCgroupBoundary((*second)->scope(), RL_ROLE_WORKLOAD);
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(AttachedTo(id).links.size(), 8u);
  ASSERT_TRUE(sensor_->RemoveBoundary(*added).ok());
  EXPECT_TRUE(EventuallyEqual<size_t>([id] { return AttachedTo(id).links.size(); }, size_t{0}));
  DrainAll(sensor_.get());
  EXPECT_EQ((*second)->Run([] { return ConnectedPair().server ? 0 : 1; }), 0);
  EXPECT_TRUE(DrainAll(sensor_.get()).empty());
  EXPECT_FALSE(sensor_->RemoveBoundary(*added).ok());
}

TEST_F(LifecycleTest, AttachesWithinAHundredMillisecondsAndDetachesWithinASecond) {
  auto second = TestCgroup::Make("bpf-second");
  ASSERT_TRUE(second.ok());
  const uint64_t begin = BootClockNs();
  const auto added = sensor_->AddCgroupBoundary((*second)->scope(), RL_ROLE_WORKLOAD);
  const uint64_t attached = BootClockNs();
  ASSERT_TRUE(added.ok());
  ASSERT_TRUE(sensor_->RemoveBoundary(*added).ok());
  const uint64_t detached = BootClockNs();
  std::printf("attach %.2f ms, detach %.2f ms\n", static_cast<double>(attached - begin) / kMs,
              static_cast<double>(detached - attached) / kMs);
  EXPECT_LT(attached - begin, 100 * kMs);
  EXPECT_LT(detached - attached, 1000 * kMs);
}

TEST_F(LifecycleTest, NothingStaysWhenTheProcessIsKilled) {
  auto cgroup = TestCgroup::Make("bpf-killed");
  ASSERT_TRUE(cgroup.ok());
  const uint64_t id = (*cgroup)->scope().id;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    auto loaded = KernelSensor::Load(Options());
    const bool ok =
        loaded.ok() && (*loaded)->AddCgroupBoundary((*cgroup)->scope(), RL_ROLE_WORKLOAD).ok();
    (void)!write(ends[1], ok ? "y" : "n", 1);
    pause();
  }
  char ready = 0;
  ASSERT_EQ(read(ends[0], &ready, 1), 1);
  EXPECT_EQ(ready, 'y');
  const Attached attached = AttachedTo(id);
  EXPECT_EQ(attached.links.size(), 8u);
  EXPECT_EQ(StillLoaded(attached.programs), attached.programs.size());
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  EXPECT_TRUE(EventuallyEqual<size_t>([id] { return AttachedTo(id).links.size(); }, size_t{0}));
  EXPECT_TRUE(EventuallyEqual<size_t>([&] { return StillLoaded(attached.programs); }, size_t{0}));
}

TEST_F(LifecycleTest, RefusesTheSameCgroupTwiceAndOneThatLiesTooDeep) {
  EXPECT_FALSE(sensor_->AddCgroupBoundary(cgroup_->scope(), RL_ROLE_PROXY).ok());
  CgroupScope deep = cgroup_->scope();
  deep.level = RL_MAX_CGROUP_LEVELS;
  const auto added = sensor_->AddCgroupBoundary(deep, RL_ROLE_WORKLOAD);
  ASSERT_FALSE(added.ok());
  EXPECT_THAT(std::string(MessageOf(added.status())), testing::HasSubstr("levels"));
}

TEST_F(LifecycleTest, ServesHundredsOfBoundaries) {
  std::vector<std::unique_ptr<TestCgroup>> cgroups;
  std::vector<uint32_t> boundaries;
  for (int i = 0; i < 200; ++i) {
    auto cgroup = TestCgroup::Make("bpf-many" + std::to_string(i));
    ASSERT_TRUE(cgroup.ok());
    const auto added = sensor_->AddCgroupBoundary((*cgroup)->scope(), RL_ROLE_WORKLOAD);
    ASSERT_TRUE(added.ok()) << i << ": " << MessageOf(added.status());
    cgroups.push_back(*std::move(cgroup));
    boundaries.push_back(*added);
  }
  EXPECT_EQ(cgroups[150]->Run([] { return ConnectedPair().server ? 0 : 1; }), 0);
  const auto connects = Of<rl_ev_connect>(DrainAll(sensor_.get()), RL_EV_CONNECT);
  ASSERT_EQ(connects.size(), 1u);
  EXPECT_EQ(connects[0].header.boundary, boundaries[150]);
  for (const uint32_t boundary : boundaries) EXPECT_TRUE(sensor_->RemoveBoundary(boundary).ok());
}

TEST_F(LifecycleTest, ReportsForkExecAndExitOfProcessesButNotOfThreads) {
  EXPECT_EQ(cgroup_->Run({"sh", "-c", "true & wait; exec true"}), 0);
  const auto records = DrainUntil(sensor_.get(), [](const auto& seen) {
    const auto all = Of<rl_ev_process>(seen, RL_EV_PROCESS);
    return std::count_if(all.begin(), all.end(),
                         [](const auto& ev) { return ev.op == RL_PROCESS_EXIT; }) >= 2;
  });
  const auto all = Of<rl_ev_process>(records, RL_EV_PROCESS);
  ASSERT_FALSE(all.empty());
  const uint32_t shell = all[0].owner.tgid;
  int forks = 0;
  std::map<std::string, int> execs;
  std::set<uint32_t> exits;
  for (const auto& ev : all) {
    if (ev.op == RL_PROCESS_FORK) {
      ++forks;
      EXPECT_EQ(ev.parent_tgid, shell);
    }
    if (ev.op == RL_PROCESS_EXEC)
      ++execs[ev.owner.comm];
    if (ev.op == RL_PROCESS_EXIT)
      exits.insert(ev.owner.tgid);
    EXPECT_NE(ev.owner.start_boot_ns, 0u);
  }
  EXPECT_EQ(forks, 1) << Story(records);
  EXPECT_EQ(execs["sh"], 1) << Story(records);
  EXPECT_GE(execs["true"], 1) << Story(records);  // a shell may run it as a builtin
  EXPECT_EQ(exits.size(), 2u) << Story(records);
}

TEST_F(LifecycleTest, WatchesProcessesByNameWithTheirChildren) {
  const auto own = OpenOwnCgroup();
  ASSERT_TRUE(own.ok());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    char go = 0;
    (void)!read(ends[0], &go, 1);
    const pid_t child = fork();
    if (child == 0)
      _exit(ConnectedPair().server ? 0 : 1);
    _exit(WaitFor(child));
  }
  const rl_process_key key = {
      .start_boot_ns = StartBootNs(ReadProcText("/proc/" + std::to_string(pid) + "/stat")),
      .tgid = static_cast<uint32_t>(pid),
      .pad = 0};
  const auto added =
      sensor_->AddProcessBoundary({.fd = own->get(), .id = 1, .level = 0}, {key}, RL_ROLE_WORKLOAD);
  ASSERT_TRUE(added.ok()) << MessageOf(added.status());
  ASSERT_EQ(write(ends[1], "g", 1), 1);
  EXPECT_EQ(WaitFor(pid), 0);
  const Pair unrelated = ConnectedPair();
  const auto records = DrainAll(sensor_.get());
  const auto connects = Of<rl_ev_connect>(records, RL_EV_CONNECT);
  ASSERT_EQ(connects.size(), 1u) << Story(records);
  EXPECT_EQ(connects[0].header.boundary, *added);
  EXPECT_NE(connects[0].owner.tgid, static_cast<uint32_t>(pid));
  EXPECT_TRUE(sensor_->RemoveBoundary(*added).ok());
}

// A16, A22: connections that were there before. The body tells by a byte when it may go on.
TEST_F(LifecycleTest, ReportsOlderConnectionsAsPreexistingAndReadsTheirNextRequest) {
  auto older = TestCgroup::Make("bpf-older");
  ASSERT_TRUE(older.ok());
  int to_child[2];
  int to_test[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_test), 0);
  const pid_t pid = (*older)->Start([&] {
    uint16_t port = 0;
    UniqueFd listener = Listen(&port);
    UniqueFd client = Tcp();
    RL_EXPECT_IN_BODY(Connect(client.get(), V4(INADDR_LOOPBACK, port)) == 0);
    UniqueFd server(accept(listener.get(), nullptr, nullptr));
    RL_EXPECT_IN_BODY(Send(client.get(), "GET /before HTTP/1.1\r\nHost: h\r\n\r\n"));
    RL_EXPECT_IN_BODY(!Receive(server.get()).empty());
    RL_EXPECT_IN_BODY(Send(server.get(), "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha"));
    char go = 0;
    RL_EXPECT_IN_BODY(write(to_test[1], "r", 1) == 1 && read(to_child[0], &go, 1) == 1);
    RL_EXPECT_IN_BODY(Send(server.get(), "lf"));  // the rest of the old answer
    RL_EXPECT_IN_BODY(!Receive(client.get()).empty());
    RL_EXPECT_IN_BODY(Send(client.get(), "POST /after HTTP/1.1\r\nHost: h\r\n\r\n"));
    RL_EXPECT_IN_BODY(!Receive(server.get()).empty());
    RL_EXPECT_IN_BODY(Send(server.get(), "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"));
    RL_EXPECT_IN_BODY(!Receive(client.get()).empty());
    server.Reset();
    RL_EXPECT_IN_BODY(Receive(client.get()).empty());
    return 0;
  });
  char ready = 0;
  ASSERT_EQ(read(to_test[0], &ready, 1), 1);
  const auto added = sensor_->AddCgroupBoundary((*older)->scope(), RL_ROLE_WORKLOAD);
  ASSERT_TRUE(added.ok());
  const absl::Status snapshot = sensor_->SnapshotFlows(*added);
  ASSERT_TRUE(snapshot.ok()) << MessageOf(snapshot);
  ASSERT_EQ(write(to_child[1], "g", 1), 1);
  EXPECT_EQ(WaitFor(pid), 0);
  const auto records = DrainAll(sensor_.get());
  const auto connects = Of<rl_ev_connect>(records, RL_EV_CONNECT);
  ASSERT_EQ(connects.size(), 1u) << Story(records);
  EXPECT_TRUE(connects[0].flags & RL_CONNECT_PREEXISTING);
  EXPECT_TRUE(connects[0].flags & RL_CONNECT_OWNER_GUESS);
  EXPECT_EQ(connects[0].owner.tgid, static_cast<uint32_t>(pid));
  EXPECT_NE(connects[0].remote.port, 0);
  const auto requests = Of<rl_ev_http_request>(records, RL_EV_HTTP_REQUEST);
  ASSERT_EQ(requests.size(), 1u) << Story(records);
  EXPECT_EQ(requests[0].path_length, 6);
  const auto responses = Of<rl_ev_http_response>(records, RL_EV_HTTP_RESPONSE);
  ASSERT_EQ(responses.size(), 1u) << Story(records);
  EXPECT_EQ(responses[0].status, 503);
  EXPECT_EQ(Of<rl_ev_peer_fin>(records, RL_EV_PEER_FIN).size(), 1u);
  EXPECT_EQ(Of<rl_ev_flow_end>(records, RL_EV_FLOW_END).size(), 1u);
  EXPECT_TRUE(sensor_->RemoveBoundary(*added).ok());
}

TEST_F(LifecycleTest, MakesNoGuessAboutOlderTls) {
  auto older = TestCgroup::Make("bpf-older");
  ASSERT_TRUE(older.ok());
  int to_child[2];
  int to_test[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_test), 0);
  const pid_t pid = (*older)->Start([&] {
    Pair pair = ConnectedPair();
    char go = 0;
    RL_EXPECT_IN_BODY(write(to_test[1], "r", 1) == 1 && read(to_child[0], &go, 1) == 1);
    for (int i = 0; i < 3; ++i) {
      RL_EXPECT_IN_BODY(Send(pair.client.get(), TlsRecord(23, "GET / HTTP/1.1\r\n\r\n")));
      RL_EXPECT_IN_BODY(!Receive(pair.server.get()).empty());
      RL_EXPECT_IN_BODY(Send(pair.server.get(), TlsRecord(23, "HTTP/1.1 200 OK\r\n\r\n")));
      RL_EXPECT_IN_BODY(!Receive(pair.client.get()).empty());
    }
    return 0;
  });
  char ready = 0;
  ASSERT_EQ(read(to_test[0], &ready, 1), 1);
  const auto added = sensor_->AddCgroupBoundary((*older)->scope(), RL_ROLE_WORKLOAD);
  ASSERT_TRUE(added.ok());
  ASSERT_TRUE(sensor_->SnapshotFlows(*added).ok());
  ASSERT_EQ(write(to_child[1], "g", 1), 1);
  EXPECT_EQ(WaitFor(pid), 0);
  std::set<uint16_t> kinds;
  for (const RawRecord& record : DrainAll(sensor_.get())) kinds.insert(record.header().kind);
  EXPECT_THAT(kinds, testing::IsSubsetOf({RL_EV_CONNECT, RL_EV_FLOW_END, RL_EV_PROCESS}));
  EXPECT_TRUE(sensor_->RemoveBoundary(*added).ok());
}

TEST_F(LifecycleTest, TellsWhetherReturnProbesAreSurvived) {
  KernelOptions options;
  options.data_path_probes = false;
  const auto loaded = KernelSensor::Load(options);
  ASSERT_TRUE(loaded.ok()) << MessageOf(loaded.status());
  std::printf("return probes under seccomp: %s\n",
              (*loaded)->ReturnProbesSafe() ? "survived" : "not survived, or not tried");
  EXPECT_FALSE(sensor_->ReturnProbesSafe()) << "not tried without library probes";
}

}  // namespace

}  // namespace routelens

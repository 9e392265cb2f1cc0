// SPDX-License-Identifier: Apache-2.0
//
// Conservation: started = ok + failed + cancelled + pending; emitted = received; sequence = emitted
// + dropped. Each holds exactly, whatever is lost.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <set>
#include <thread>

#include "base/clock.h"
#include "tests/bpf/sensor_fixture.h"
#include "tests/bpf/traffic.h"

namespace routelens {

namespace {

constexpr int kThreads = 8;

// What each of the threads does: connects that are in turns refused and served; with a port that
// never answers, every third goes there and is given up.
struct Crowd {
  int connects = 0;
  uint16_t deaf_port = 0;
  int hold_until = -1;  // a pipe: the last connection of each thread is kept until a byte comes
};

class CrowdRun {
 public:
  explicit CrowdRun(const Crowd& crowd) : crowd_(crowd) {}

  int Run() {
    std::thread acceptor([&] { Accept(); });
    std::vector<std::thread> threads;
    std::vector<UniqueFd> last(kThreads);
    for (UniqueFd& fd : last) threads.emplace_back([&] { fd = ConnectAll(); });
    for (std::thread& thread : threads) thread.join();
    char byte = 0;
    if (crowd_.hold_until >= 0 && read(crowd_.hold_until, &byte, 1) != 1)
      wrong_ = true;
    last.clear();
    done_ = true;
    acceptor.join();
    return wrong_ ? 1 : 0;
  }

 private:
  void Accept() {
    pollfd ready = {.fd = listener_.get(), .events = POLLIN, .revents = 0};
    while (!done_) {
      if (poll(&ready, 1, 20) == 1)
        UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
  }

  // Returns the last socket.
  UniqueFd ConnectAll() {
    UniqueFd fd;
    for (int i = 0; i < crowd_.connects; ++i) {
      switch (i % (crowd_.deaf_port != 0 ? 3 : 2)) {
        case 0:
          fd = ConnectOnce(0, closed_port_, ECONNREFUSED);
          break;
        case 1:
          fd = ConnectOnce(0, open_port_, 0);
          break;
        default:
          fd = ConnectOnce(SOCK_NONBLOCK, crowd_.deaf_port, EINPROGRESS);
      }
    }
    return fd;
  }

  UniqueFd ConnectOnce(int flags, uint16_t port, int expected) {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
    const linger now = {.l_onoff = 1, .l_linger = 0};  // ports come free at once
    setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    if ((Connect(fd.get(), V4(INADDR_LOOPBACK, port)) == 0 ? 0 : errno) != expected)
      wrong_ = true;
    return fd;
  }

  const Crowd crowd_;
  uint16_t open_port_ = 0;
  const UniqueFd listener_ = Listen(&open_port_, 4096);
  const uint16_t closed_port_ = ClosedPort();
  std::atomic<bool> wrong_ = false;
  std::atomic<bool> done_ = false;
};

int ConnectFromThreads(int count) {
  return CrowdRun({.connects = count}).Run();
}

class LossTest : public SensorTest {
 protected:
  // Drains while the process runs, and until nothing comes any more.
  std::vector<RawRecord> DrainWhileRunning(pid_t pid) {
    std::vector<RawRecord> records;
    const auto take = [&] {
      for (RawRecord& record : DrainAll(sensor_.get())) records.push_back(std::move(record));
    };
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
      take();
      poll(nullptr, 0, 1);
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    poll(nullptr, 0, 50);
    take();
    return records;
  }
};

// How the attempts of some records came out.
struct Tally {
  std::map<uint64_t, int> open;  // by cookie: connects less ends
  size_t started = 0, ok = 0, failed = 0, cancelled = 0;

  void Add(const RawRecord& record) {
    if (record.header().kind == RL_EV_CONNECT) {
      ++started;
      ++open[record.As<rl_ev_connect>().cookie];
    }
    if (record.header().kind != RL_EV_FLOW_END)
      return;
    const auto end = record.As<rl_ev_flow_end>();
    --open[end.cookie];
    if ((end.flags & RL_END_ESTABLISHED) != 0)
      ++ok;
    else
      ++(end.cause == RL_END_FAILED ? failed : cancelled);
  }

  size_t Pending() const {
    return static_cast<size_t>(std::count_if(open.begin(), open.end(),
                                             [](const auto& entry) { return entry.second == 1; }));
  }

  bool EachEndedOnce() const {
    return std::all_of(open.begin(), open.end(),
                       [](const auto& entry) { return entry.second == 0 || entry.second == 1; });
  }
};

TEST_F(LossTest, ConservesAHundredThousandConnectsOfEightThreads) {  // A8, F2
  constexpr int kEach = 12'500;
  constexpr size_t kConnects = kThreads * kEach;
  // A backlog that is full: the SYNs that come after are dropped.
  uint16_t deaf_port = 0;
  const UniqueFd deaf = Listen(&deaf_port, 0);
  const UniqueFd filler = Tcp();
  ASSERT_EQ(Connect(filler.get(), V4(INADDR_LOOPBACK, deaf_port)), 0);
  int go[2];
  ASSERT_EQ(pipe2(go, O_CLOEXEC), 0);
  const UniqueFd go_read(go[0]), go_write(go[1]);

  const Crowd crowd = {.connects = kEach, .deaf_port = deaf_port, .hold_until = go_read.get()};
  const pid_t pid = cgroup_->Start([&] { return CrowdRun(crowd).Run(); });
  auto records = DrainUntil(
      sensor_.get(),
      [&](const auto&) {
        const rl_boundary_counters counters = sensor_->Counters(boundary());
        return counters.started == kConnects && counters.ended == kConnects - kThreads;
      },
      120'000);
  poll(nullptr, 0, 50);  // an end is counted before its record is in the ring
  for (RawRecord& record : DrainAll(sensor_.get())) records.push_back(std::move(record));
  Tally tally;
  for (const RawRecord& record : records) tally.Add(record);
  EXPECT_EQ(tally.started, kConnects);
  EXPECT_EQ(tally.Pending(), size_t{kThreads});
  EXPECT_EQ(tally.ok + tally.failed + tally.cancelled + tally.Pending(), kConnects);

  ASSERT_EQ(write(go_write.get(), "x", 1), 1);
  for (RawRecord& record : DrainWhileRunning(pid)) {
    tally.Add(record);
    records.push_back(std::move(record));
  }
  EXPECT_TRUE(tally.EachEndedOnce());
  EXPECT_EQ(tally.Pending(), 0u);
  EXPECT_EQ(tally.failed, size_t{kThreads} * 4167);  // of each thread's 12,500, in turns of three
  EXPECT_EQ(tally.ok, size_t{kThreads} * 4167);
  EXPECT_EQ(tally.cancelled, size_t{kThreads} * 4166);
  EXPECT_EQ(Of<rl_ev_established>(records, RL_EV_ESTABLISHED).size(), tally.ok);

  const rl_boundary_counters counters = sensor_->Counters(boundary());
  EXPECT_EQ(counters.started, kConnects);
  EXPECT_EQ(counters.ended, kConnects);
  EXPECT_EQ(counters.dropped, 0u);
  EXPECT_EQ(counters.emitted, records.size());
  EXPECT_EQ(counters.sequence, records.size());
  std::set<uint64_t> sequence;
  for (const RawRecord& record : records) sequence.insert(record.header().seq);
  EXPECT_EQ(sequence.size(), records.size());
  EXPECT_EQ(*sequence.begin(), 1u);
  EXPECT_EQ(*sequence.rbegin(), records.size());
}

TEST_F(LossTest, CountsEveryRecordThatATinyRingCannotTake) {
  TearDown();
  boundary_ = -1;
  cgroup_.reset();
  KernelOptions options = Options();
  options.ring_bytes = 16384;
  Load(options);
  MakeBoundary();
  ASSERT_EQ(cgroup_->Run([] { return ConnectFromThreads(100); }), 0);
  const auto records = DrainAll(sensor_.get());
  const rl_boundary_counters counters = sensor_->Counters(boundary());
  EXPECT_EQ(counters.started, 800u);
  EXPECT_EQ(counters.ended, 800u);
  EXPECT_GT(counters.dropped, 0u);
  EXPECT_EQ(counters.emitted, records.size());
  EXPECT_EQ(counters.sequence, counters.emitted + counters.dropped);
  uint64_t by_cause = 0;
  for (const uint64_t dropped : counters.by_cause) by_cause += dropped;
  EXPECT_EQ(by_cause, counters.dropped);
  EXPECT_GT(counters.by_cause[RL_DROP_RING_FULL] + counters.by_cause[RL_DROP_THROTTLED], 0u);
}

TEST_F(LossTest, AFloodOfOneBoundaryDoesNotHideAnother) {  // F5
  TearDown();
  boundary_ = -1;
  cgroup_.reset();
  KernelOptions options = Options();
  options.ring_bytes = 1 << 20;
  options.budget_per_window = 200;
  options.budget_when_crowded = 16;
  Load(options);
  MakeBoundary();
  auto quiet = TestCgroup::Make("bpf-quiet");
  ASSERT_TRUE(quiet.ok());
  const auto quiet_boundary = sensor_->AddCgroupBoundary((*quiet)->scope(), RL_ROLE_WORKLOAD);
  ASSERT_TRUE(quiet_boundary.ok());
  // Nobody reads: the flood fills what it may of the ring.
  ASSERT_EQ(cgroup_->Run([] { return ConnectFromThreads(1000); }), 0);
  ASSERT_EQ((*quiet)->Run([] {
    UniqueFd fd = Tcp();
    return Connect(fd.get(), V4(INADDR_LOOPBACK, ClosedPort())) == -1 ? 0 : 1;
  }),
            0);
  const auto records = DrainAll(sensor_.get());
  const rl_boundary_counters loud = sensor_->Counters(boundary());
  const rl_boundary_counters calm = sensor_->Counters(*quiet_boundary);
  EXPECT_GT(loud.by_cause[RL_DROP_THROTTLED], 0u);
  EXPECT_EQ(calm.dropped, 0u);
  size_t of_quiet = 0;
  for (const RawRecord& record : records)
    of_quiet += record.header().boundary == *quiet_boundary ? 1 : 0;
  EXPECT_EQ(of_quiet, calm.emitted);
  EXPECT_GE(of_quiet, 2u);
  EXPECT_TRUE(sensor_->RemoveBoundary(*quiet_boundary).ok());
}

TEST_F(LossTest, WakesTheReaderWhenAQuarterOfTheRingWaits) {
  TearDown();
  boundary_ = -1;
  cgroup_.reset();
  KernelOptions options = Options();
  options.ring_bytes = 64 << 10;
  Load(options);
  MakeBoundary();
  DrainAll(sensor_.get());
  pollfd wake = {.fd = sensor_->wake_fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(cgroup_->Run([] { return ConnectFromThreads(1); }), 0);
  EXPECT_EQ(poll(&wake, 1, 0), 0) << "a few records must not wake";
  ASSERT_EQ(cgroup_->Run([] { return ConnectFromThreads(20); }), 0);
  EXPECT_EQ(poll(&wake, 1, 100), 1);
}

TEST_F(LossTest, EndsEveryFailureAtOnce) {  // A7
  const auto records = DrainWhileRunning(cgroup_->Start([] {
    RL_EXPECT_IN_BODY(EnterOwnNetwork());
    for (int i = 0; i < 5000; ++i) {
      UniqueFd fd = Tcp();
      RL_EXPECT_IN_BODY(Connect(fd.get(), V4(0xC0000201, 80)) == -1);
    }
    return 0;
  }));
  const rl_boundary_counters counters = sensor_->Counters(boundary());
  EXPECT_EQ(counters.started, 5000u);
  EXPECT_EQ(counters.ended, 5000u);
  EXPECT_EQ(Of<rl_ev_flow_end>(records, RL_EV_FLOW_END).size(), 5000u);
}

}  // namespace

}  // namespace routelens

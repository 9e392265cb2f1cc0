// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "tests/bpf/sensor_fixture.h"
#include "tests/bpf/traffic.h"

namespace routelens {

namespace {

constexpr uint32_t kUnroutable = 0xC0000201;  // 192.0.2.1, RFC 5737; only in namespaces of our own

class ConnectTest : public SensorTest {
 protected:
  // The one attempt of `records`; fails the test when there is another number of them.
  struct Attempt {
    rl_ev_connect connect = {};
    rl_ev_flow_end end = {};
    size_t established = 0;
  };

  static Attempt OnlyAttempt(const std::vector<RawRecord>& records) {
    const auto connects = Of<rl_ev_connect>(records, RL_EV_CONNECT);
    const auto ends = Of<rl_ev_flow_end>(records, RL_EV_FLOW_END);
    EXPECT_EQ(connects.size(), 1u) << Story(records);
    EXPECT_EQ(ends.size(), 1u) << Story(records);
    Attempt attempt;
    if (connects.size() != 1 || ends.size() != 1)
      return attempt;
    attempt.connect = connects[0];
    attempt.end = ends[0];
    attempt.established = Of<rl_ev_established>(records, RL_EV_ESTABLISHED).size();
    EXPECT_EQ(attempt.connect.cookie, attempt.end.cookie);
    return attempt;
  }
};

std::string AddressText(const uint8_t (&address)[16]) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, address, text, sizeof(text));
  return text;
}

TEST_F(ConnectTest, ReportsAnEstablishedConnectionWithItsOwnerAndBothAddresses) {
  uint16_t port = 0;
  const UniqueFd listener = Listen(&port);
  const auto records = Watch([&] {
    UniqueFd fd = Tcp();
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(INADDR_LOOPBACK, port)) == 0);
    return 0;
  });
  const Attempt attempt = OnlyAttempt(records);
  EXPECT_EQ(attempt.connect.remote.port, port);
  EXPECT_EQ(AddressText(attempt.connect.remote.addr), "::ffff:127.0.0.1");
  EXPECT_EQ(attempt.connect.protocol, IPPROTO_TCP);
  EXPECT_EQ(attempt.connect.family, AF_INET);
  EXPECT_EQ(attempt.connect.flags, 0u);
  EXPECT_NE(attempt.connect.netns_cookie, 0u);
  EXPECT_EQ(attempt.connect.owner.tgid, attempt.connect.owner.tid);
  EXPECT_EQ(attempt.connect.owner.cgroup_id, cgroup_->scope().id);
  EXPECT_NE(attempt.connect.owner.start_boot_ns, 0u);
  EXPECT_EQ(std::string(attempt.connect.owner.comm).substr(0, 7), "connect");
  EXPECT_EQ(attempt.connect.header.role, RL_ROLE_WORKLOAD);
  const auto established = Of<rl_ev_established>(records, RL_EV_ESTABLISHED);
  ASSERT_EQ(established.size(), 1u);
  EXPECT_EQ(established[0].remote.port, port);
  EXPECT_NE(established[0].local.port, 0);
  EXPECT_EQ(AddressText(established[0].local.addr), "::ffff:127.0.0.1");
  EXPECT_EQ(attempt.end.cause, RL_END_RELEASED);
  EXPECT_EQ(attempt.end.error, 0);
  EXPECT_TRUE(attempt.end.flags & RL_END_ESTABLISHED);
  EXPECT_TRUE(attempt.end.flags & RL_END_SYN_SEEN);
  EXPECT_TRUE(attempt.end.flags & RL_END_EGRESS_PROVEN);
}

TEST_F(ConnectTest, ReportsIpv6Loopback) {
  uint16_t port = 0;
  const UniqueFd listener = ListenV6(&port);
  if (!listener)
    GTEST_SKIP() << "this kernel has no IPv6";
  const auto records = Watch([&] {
    const sockaddr_in6 to = V6Loopback(port);
    UniqueFd fd(socket(AF_INET6, SOCK_STREAM, 0));
    RL_EXPECT_IN_BODY(connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0);
    return 0;
  });
  EXPECT_EQ(AddressText(OnlyAttempt(records).connect.remote.addr), "::1");
  const auto established = Of<rl_ev_established>(records, RL_EV_ESTABLISHED);
  ASSERT_EQ(established.size(), 1u);
  EXPECT_EQ(AddressText(established[0].local.addr), "::1");
  EXPECT_EQ(AddressText(established[0].remote.addr), "::1");
  EXPECT_EQ(established[0].remote.port, port);
}

TEST_F(ConnectTest, ReportsARefusedConnectAsFailedWithItsError) {
  const auto records = Watch([&] {
    UniqueFd fd = Tcp();
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(INADDR_LOOPBACK, ClosedPort())) == -1 &&
                      errno == ECONNREFUSED);
    return 0;
  });
  const Attempt attempt = OnlyAttempt(records);
  EXPECT_EQ(attempt.end.cause, RL_END_FAILED);
  EXPECT_EQ(attempt.end.error, ECONNREFUSED);
  EXPECT_EQ(attempt.end.state, 2);
  EXPECT_TRUE(attempt.end.flags & RL_END_SYN_SEEN);
  EXPECT_TRUE(attempt.end.flags & RL_END_RESET_RECEIVED);
  EXPECT_EQ(attempt.established, 0u);
}

TEST_F(ConnectTest, ReportsANonBlockingRefusedConnectOnce) {  // A28, A4
  const auto records = Watch([&] {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    Connect(fd.get(), V4(INADDR_LOOPBACK, ClosedPort()));
    pollfd ready = {.fd = fd.get(), .events = POLLOUT, .revents = 0};
    poll(&ready, 1, 1000);
    return 0;
  });
  EXPECT_EQ(OnlyAttempt(records).end.error, ECONNREFUSED);
}

// A listener whose backlog is full drops SYNs: the peer that never answers.
TEST_F(ConnectTest, ReportsAConnectThatItsOwnerGivesUpAsReleasedInSynSent) {  // A5
  const auto records = Watch([&] {
    RL_EXPECT_IN_BODY(EnterOwnNetwork());
    uint16_t port = 0;
    UniqueFd listener = Listen(&port, 0);
    UniqueFd filler = Tcp();
    RL_EXPECT_IN_BODY(Connect(filler.get(), V4(INADDR_LOOPBACK, port)) == 0);
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(INADDR_LOOPBACK, port)) == -1 && errno == EINPROGRESS);
    poll(nullptr, 0, 50);
    return 0;
  });
  const auto ends = Of<rl_ev_flow_end>(records, RL_EV_FLOW_END);
  ASSERT_EQ(ends.size(), 2u) << Story(records);
  const auto& end = ends[0].state == 2 ? ends[0] : ends[1];
  EXPECT_EQ(end.cause, RL_END_RELEASED);
  EXPECT_EQ(end.state, 2);
  EXPECT_EQ(end.error, 0);
  EXPECT_FALSE(end.flags & (RL_END_ESTABLISHED | RL_END_NO_STATE_CHANGE));
  EXPECT_TRUE(end.flags & RL_END_SYN_SEEN);
}

TEST_F(ConnectTest, ReportsATimeOutWithItsRetransmissions) {
  const auto records = Watch([&] {
    RL_EXPECT_IN_BODY(EnterOwnNetwork());
    uint16_t port = 0;
    UniqueFd listener = Listen(&port, 0);
    UniqueFd filler = Tcp();
    RL_EXPECT_IN_BODY(Connect(filler.get(), V4(INADDR_LOOPBACK, port)) == 0);
    UniqueFd fd = Tcp();
    const int retries = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_SYNCNT, &retries, sizeof(retries));
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(INADDR_LOOPBACK, port)) == -1 && errno == ETIMEDOUT);
    return 0;
  });
  const auto ends = Of<rl_ev_flow_end>(records, RL_EV_FLOW_END);
  const auto failed = std::find_if(ends.begin(), ends.end(),
                                   [](const auto& end) { return end.cause == RL_END_FAILED; });
  ASSERT_NE(failed, ends.end()) << Story(records);
  EXPECT_EQ(failed->error, ETIMEDOUT);
  EXPECT_EQ(failed->state, 2);
  EXPECT_GE(failed->retransmits, 1u);  // since 6.5 the first ones come at linear intervals
}

TEST_F(ConnectTest, ReportsAFailureAtOnceAsReleasedWithoutAnyChangeOfState) {  // A7
  const auto records = Watch([&] {
    RL_EXPECT_IN_BODY(EnterOwnNetwork());
    UniqueFd fd = Tcp();
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(kUnroutable, 80)) == -1 && errno == ENETUNREACH);
    return 0;
  });
  const Attempt attempt = OnlyAttempt(records);
  EXPECT_EQ(attempt.end.cause, RL_END_RELEASED);
  EXPECT_EQ(attempt.end.state, 7);
  EXPECT_TRUE(attempt.end.flags & RL_END_NO_STATE_CHANGE);
  EXPECT_FALSE(attempt.end.flags & RL_END_SYN_SEEN);
}

TEST_F(ConnectTest, NamesTheErrorOfAFailureAtOnceWhereItHasAWitness) {
  TearDown();
  boundary_ = -1;
  KernelOptions options = Options();
  options.syscall_exit = true;
  Load(options);
  cgroup_.reset();
  MakeBoundary();
  const auto records = Watch([&] {
    RL_EXPECT_IN_BODY(EnterOwnNetwork());
    UniqueFd fd = Tcp();
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(kUnroutable, 80)) == -1);
    UniqueFd refused = Tcp();
    RL_EXPECT_IN_BODY(Connect(refused.get(), V4(INADDR_LOOPBACK, ClosedPort())) == -1);
    return 0;
  });
  const auto errors = Of<rl_ev_connect_error>(records, RL_EV_CONNECT_ERROR);
  ASSERT_EQ(errors.size(), 1u) << Story(records);
  EXPECT_EQ(errors[0].error, ENETUNREACH);
  EXPECT_EQ(errors[0].cookie, Of<rl_ev_connect>(records, RL_EV_CONNECT)[0].cookie);
}

TEST_F(ConnectTest, MarksAConnectThatAnInnerPolicyProgramDenied) {
  auto inner = TestCgroup::MakeInside(*cgroup_, "policy");
  ASSERT_TRUE(inner.ok());
  const bpf_insn deny[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
  LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_CGROUP_INET4_CONNECT);
  const UniqueFd program(bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, "deny", "GPL", deny,
                                       std::size(deny), &options));
  ASSERT_TRUE(program);
  const UniqueFd link(
      bpf_link_create(program.get(), (*inner)->scope().fd, BPF_CGROUP_INET4_CONNECT, nullptr));
  ASSERT_TRUE(link);
  EXPECT_EQ((*inner)->Run([] {
    UniqueFd fd = Tcp();
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(INADDR_LOOPBACK, 9)) == -1 && errno == EPERM);
    return 0;
  }),
            0);
  const Attempt attempt = OnlyAttempt(DrainAll(sensor_.get()));
  EXPECT_EQ(attempt.connect.flags, static_cast<uint32_t>(RL_CONNECT_DENIED));
  EXPECT_TRUE(attempt.end.flags & RL_END_NO_STATE_CHANGE);
}

TEST_F(ConnectTest, EndsTheFirstAttemptWhenTheSocketConnectsAgain) {
  uint16_t port = 0;
  const UniqueFd listener = Listen(&port);
  const auto records = Watch([&] {
    UniqueFd fd = Tcp();
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(INADDR_LOOPBACK, ClosedPort())) == -1);
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(INADDR_LOOPBACK, port)) == 0);
    RL_EXPECT_IN_BODY(Send(fd.get(), "GET /again HTTP/1.1\r\nHost: h\r\n\r\n"));
    return 0;
  });
  const auto ends = Of<rl_ev_flow_end>(records, RL_EV_FLOW_END);
  ASSERT_EQ(ends.size(), 2u) << Story(records);
  EXPECT_EQ(ends[0].error, ECONNREFUSED);
  EXPECT_EQ(ends[1].error, 0);
  EXPECT_EQ(ends[0].cookie, ends[1].cookie);
  EXPECT_FALSE(ends[1].flags & (RL_END_RESET_RECEIVED | RL_END_HOLE)) << Story(records);
  EXPECT_EQ(Of<rl_ev_http_request>(records, RL_EV_HTTP_REQUEST).size(), 1u) << Story(records);
}

TEST_F(ConnectTest, TakesDisconnectForGivingUp) {
  uint16_t port = 0;
  const UniqueFd listener = Listen(&port);
  const auto records = Watch([&] {
    UniqueFd fd = Tcp();
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(INADDR_LOOPBACK, port)) == 0);
    sockaddr nobody = {};
    nobody.sa_family = AF_UNSPEC;
    RL_EXPECT_IN_BODY(connect(fd.get(), &nobody, sizeof(nobody)) == 0);
    return 0;
  });
  const Attempt attempt = OnlyAttempt(records);
  EXPECT_EQ(attempt.end.cause, RL_END_RELEASED);
  EXPECT_EQ(attempt.end.state, 1);
}

TEST_F(ConnectTest, TellsAResetByThePeerFromOneOfItsOwn) {
  const auto by_peer = Watch([&] {
    Pair pair = ConnectedPair();
    const linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(pair.server.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    pair.server.Reset();
    RL_EXPECT_IN_BODY(Receive(pair.client.get()).empty() && errno == ECONNRESET);
    return 0;
  });
  const Attempt theirs = OnlyAttempt(by_peer);
  EXPECT_EQ(theirs.end.cause, RL_END_FAILED);
  EXPECT_EQ(theirs.end.error, ECONNRESET);
  EXPECT_EQ(theirs.end.state, 1);
  EXPECT_TRUE(theirs.end.flags & RL_END_RESET_RECEIVED);
  EXPECT_FALSE(theirs.end.flags & RL_END_RESET_SENT);

  const auto own = Watch([&] {
    Pair pair = ConnectedPair();
    RL_EXPECT_IN_BODY(Send(pair.server.get(), "unread"));
    poll(nullptr, 0, 10);
    pair.client.Reset();
    return 0;
  });
  const Attempt ours = OnlyAttempt(own);
  EXPECT_EQ(ours.end.cause, RL_END_RELEASED);
  EXPECT_EQ(ours.end.state, 1);
  EXPECT_EQ(ours.end.bytes_received, 6u);
  EXPECT_TRUE(ours.end.flags & RL_END_RESET_SENT);
  EXPECT_FALSE(ours.end.flags & RL_END_RESET_RECEIVED);
}

TEST_F(ConnectTest, ReportsThePeersFinBeforeTheOwnersRelease) {
  const auto records = Watch([&] {
    Pair pair = ConnectedPair();
    pair.server.Reset();
    RL_EXPECT_IN_BODY(Receive(pair.client.get()).empty());
    return 0;
  });
  const Attempt attempt = OnlyAttempt(records);
  EXPECT_EQ(Of<rl_ev_peer_fin>(records, RL_EV_PEER_FIN).size(), 1u);
  EXPECT_EQ(attempt.end.state, 8);
  EXPECT_TRUE(attempt.end.flags & RL_END_PEER_FIN);
  EXPECT_FALSE(attempt.end.flags & RL_END_RESET_SENT);
}

TEST_F(ConnectTest, DoesNotTakeAHalfCloseForTheEnd) {
  const auto records = Watch([&] {
    Pair pair = ConnectedPair();
    shutdown(pair.client.get(), SHUT_WR);
    RL_EXPECT_IN_BODY(Receive(pair.server.get()).empty());
    RL_EXPECT_IN_BODY(Send(pair.server.get(), "late answer"));
    RL_EXPECT_IN_BODY(Receive(pair.client.get()) == "late answer");
    pair.server.Reset();
    RL_EXPECT_IN_BODY(Receive(pair.client.get()).empty());
    return 0;
  });
  const Attempt attempt = OnlyAttempt(records);
  EXPECT_EQ(attempt.end.cause, RL_END_RELEASED) << Story(records);
  EXPECT_TRUE(attempt.end.flags & RL_END_PEER_FIN) << Story(records);
  EXPECT_EQ(attempt.end.bytes_received, 12u) << Story(records);  // 11 and the FIN
}

TEST_F(ConnectTest, SeesIoUringConnects) {  // A23
  io_uring probe = {};
  if (const int error = io_uring_queue_init(2, &probe, 0); error != 0)
    GTEST_SKIP() << "io_uring: " << strerror(-error);
  io_uring_queue_exit(&probe);
  uint16_t port = 0;
  const UniqueFd listener = Listen(&port);
  const auto records = Watch([&] {
    io_uring ring = {};
    RL_EXPECT_IN_BODY(io_uring_queue_init(2, &ring, 0) == 0);
    for (const uint16_t target : {port, ClosedPort()}) {
      UniqueFd fd = Tcp();
      const sockaddr_in to = V4(INADDR_LOOPBACK, target);
      io_uring_sqe* entry = io_uring_get_sqe(&ring);
      io_uring_prep_connect(entry, fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to));
      io_uring_sqe_set_flags(entry, IOSQE_ASYNC);
      io_uring_cqe* done = nullptr;
      RL_EXPECT_IN_BODY(io_uring_submit_and_wait(&ring, 1) == 1);
      RL_EXPECT_IN_BODY(io_uring_wait_cqe(&ring, &done) == 0);
      RL_EXPECT_IN_BODY(done->res == (target == port ? 0 : -ECONNREFUSED));
      io_uring_cqe_seen(&ring, done);
    }
    io_uring_queue_exit(&ring);
    return 0;
  });
  const auto ends = Of<rl_ev_flow_end>(records, RL_EV_FLOW_END);
  ASSERT_EQ(ends.size(), 2u) << Story(records);
  EXPECT_EQ(std::count_if(ends.begin(), ends.end(),
                          [](const auto& end) { return end.error == ECONNREFUSED; }),
            1);
  EXPECT_EQ(Of<rl_ev_established>(records, RL_EV_ESTABLISHED).size(), 1u);
}

TEST_F(ConnectTest, IgnoresAcceptedSocketsAndOtherFamilies) {
  const auto records = Watch([&] {
    Pair pair = ConnectedPair();
    int ends[2];
    RL_EXPECT_IN_BODY(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    UniqueFd udp(socket(AF_INET, SOCK_DGRAM, 0));
    RL_EXPECT_IN_BODY(Connect(udp.get(), V4(INADDR_LOOPBACK, 9)) == 0);
    return 0;
  });
  OnlyAttempt(records);
}

TEST_F(ConnectTest, SeesNothingOfProcessesOutside) {
  Pair pair = ConnectedPair();
  ASSERT_TRUE(pair.client);
  EXPECT_TRUE(Send(pair.client.get(), "GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(DrainAll(sensor_.get()).empty());
}

TEST_F(ConnectTest, CountsAProcessInANestedCgroupInside) {  // D20
  auto inner = TestCgroup::MakeInside(*cgroup_, "nested");
  ASSERT_TRUE(inner.ok());
  EXPECT_EQ((*inner)->Run([] { return ConnectedPair().server ? 0 : 1; }), 0);
  const Attempt attempt = OnlyAttempt(DrainAll(sensor_.get()));
  EXPECT_EQ(attempt.connect.header.boundary, boundary());
  EXPECT_EQ(attempt.connect.owner.cgroup_id, (*inner)->scope().id);
}

TEST_F(ConnectTest, GivesAnInnerBoundaryItsOwnRecordsOnce) {
  auto inner = TestCgroup::MakeInside(*cgroup_, "own");
  ASSERT_TRUE(inner.ok());
  const auto added = sensor_->AddCgroupBoundary((*inner)->scope(), RL_ROLE_PROXY);
  ASSERT_TRUE(added.ok());
  EXPECT_EQ((*inner)->Run([] { return ConnectedPair().server ? 0 : 1; }), 0);
  const Attempt attempt = OnlyAttempt(DrainAll(sensor_.get()));
  EXPECT_EQ(attempt.connect.header.boundary, *added);
  EXPECT_EQ(attempt.connect.header.role, RL_ROLE_PROXY);

  // The outer one goes: the inner one must be served by programs of its own from now on.
  EXPECT_TRUE(sensor_->RemoveBoundary(boundary()).ok());
  boundary_ = static_cast<int>(*added);
  EXPECT_EQ((*inner)->Run([] { return ConnectedPair().server ? 0 : 1; }), 0);
  EXPECT_EQ(OnlyAttempt(DrainAll(sensor_.get())).connect.header.boundary, *added);
}

TEST_F(ConnectTest, KeepsTheSameTupleInTwoNamespacesApart) {  // A20
  const auto body = [] {
    RL_EXPECT_IN_BODY(EnterOwnNetwork());
    UniqueFd listener(socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in at = V4(INADDR_LOOPBACK, 4000);
    RL_EXPECT_IN_BODY(bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)) ==
                      0);
    RL_EXPECT_IN_BODY(listen(listener.get(), 1) == 0);
    UniqueFd fd = Tcp();
    const sockaddr_in from = V4(INADDR_LOOPBACK, 4001);
    RL_EXPECT_IN_BODY(bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof(from)) == 0);
    RL_EXPECT_IN_BODY(Connect(fd.get(), at) == 0);
    return 0;
  };
  auto records = Watch(body);
  for (RawRecord& record : Watch(body)) records.push_back(record);
  const auto connects = Of<rl_ev_connect>(records, RL_EV_CONNECT);
  ASSERT_EQ(connects.size(), 2u);
  EXPECT_NE(connects[0].cookie, connects[1].cookie);
  EXPECT_NE(connects[0].netns_cookie, connects[1].netns_cookie);
}

}  // namespace

}  // namespace routelens

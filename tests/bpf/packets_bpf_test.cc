// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>

#include "tests/bpf/sensor_fixture.h"
#include "tests/bpf/traffic.h"

namespace routelens {

namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Run for both objects: the floor one has another driver loop.
class PacketTest : public SensorTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (geteuid() != 0)
      GTEST_SKIP() << "needs root: loads BPF programs";
    KernelOptions options = Options();
    if (GetParam())
      options.without.insert("sequence_numbers");
    Load(options);
    MakeBoundary();
  }

  struct Request {
    std::string path;
    std::string host;
    uint8_t method;
    friend bool operator==(const Request&, const Request&) = default;
  };

  static std::vector<Request> Requests(const std::vector<RawRecord>& records) {
    std::vector<Request> requests;
    for (const RawRecord& record : records) {
      if (record.header().kind != RL_EV_HTTP_REQUEST)
        continue;
      const auto ev = record.As<rl_ev_http_request>();
      const size_t fixed = offsetof(rl_ev_http_request, text);
      requests.push_back({record.Tail(fixed, 0, ev.path_length),
                          record.Tail(fixed, ev.path_length, ev.host_length), ev.method});
    }
    return requests;
  }

  static std::vector<int> Statuses(const std::vector<RawRecord>& records) {
    std::vector<int> statuses;
    for (const auto& ev : Of<rl_ev_http_response>(records, RL_EV_HTTP_RESPONSE))
      statuses.push_back(ev.status);
    return statuses;
  }

  // What was copied out of one direction, put together; fails the test at a gap.
  static std::string Stream(const std::vector<RawRecord>& records, uint8_t direction) {
    std::string bytes;
    for (const RawRecord& record : records) {
      const auto ev = record.As<rl_ev_stream>();
      if (record.header().kind != RL_EV_STREAM || ev.direction != direction)
        continue;
      EXPECT_EQ(ev.offset, bytes.size());
      EXPECT_EQ(ev.header.size, sizeof(ev) + ev.length);
      bytes += record.Tail(sizeof(ev), 0, ev.length);
    }
    return bytes;
  }

  static uint32_t EndFlags(const std::vector<RawRecord>& records) {
    const auto ends = Of<rl_ev_flow_end>(records, RL_EV_FLOW_END);
    EXPECT_THAT(ends, SizeIs(1)) << Story(records);
    return ends.empty() ? 0 : ends[0].flags;
  }
};

TEST_P(PacketTest, ReadsAnExchangeInTheClearUpToTheQuestionMark) {
  const auto records = Watch([] {
    Pair pair = ConnectedPair();
    RL_EXPECT_IN_BODY(Send(pair.client.get(),
                           "POST /mcp?token=secret HTTP/1.1\r\nHost: mcp.example:80\r\n"
                           "Authorization: Bearer secret\r\nContent-Length: 5\r\n\r\nhello"));
    RL_EXPECT_IN_BODY(!Receive(pair.server.get()).empty());
    RL_EXPECT_IN_BODY(
        Send(pair.server.get(), "HTTP/1.1 429 Too Many\r\nContent-Length: 2\r\n\r\nno"));
    RL_EXPECT_IN_BODY(!Receive(pair.client.get()).empty());
    return 0;
  });
  EXPECT_THAT(Requests(records), ElementsAre(Request{"/mcp", "mcp.example:80", RL_METHOD_POST}));
  EXPECT_THAT(Statuses(records), ElementsAre(429));
  const uint32_t flags = EndFlags(records);
  EXPECT_TRUE(flags & RL_END_SERVED) << Story(records);
  EXPECT_FALSE(flags & (RL_END_REQUEST_OPEN | RL_END_HEAD_OPEN | RL_END_HOLE)) << Story(records);
  for (const RawRecord& record : records) {
    const std::string bytes(reinterpret_cast<const char*>(record.bytes.data()),
                            record.bytes.size());
    EXPECT_EQ(bytes.find("secret"), std::string::npos) << Describe(record);
  }
}

TEST_P(PacketTest, ReadsHeadsThatComeByteByByte) {
  const auto records = Watch([] {
    Pair pair = ConnectedPair();
    const int now = 1;
    setsockopt(pair.client.get(), IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now));
    setsockopt(pair.server.get(), IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now));
    for (const char byte : std::string("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"))
      RL_EXPECT_IN_BODY(Send(pair.client.get(), std::string_view(&byte, 1)));
    for (const char byte : std::string("HTTP/1.1 503 Busy\r\n\r\n"))
      RL_EXPECT_IN_BODY(Send(pair.server.get(), std::string_view(&byte, 1)));
    return 0;
  });
  EXPECT_THAT(Requests(records), ElementsAre(Request{"/slow", "h", RL_METHOD_GET}));
  EXPECT_THAT(Statuses(records), ElementsAre(503));
}

TEST_P(PacketTest, PassesLongBodiesAndReadsTheNextExchange) {
  const auto records = Watch([] {
    Pair pair = ConnectedPair();
    const std::string body(300'000, 'x');
    const std::string head = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    const pid_t server = fork();
    if (server == 0) {
      for (int i = 0; i < 2; ++i) {
        size_t got = 0;
        const size_t want = body.size() + head.size() + 37;
        while (got < want) {
          const std::string part = Receive(pair.server.get(), want - got);
          if (part.empty())
            _exit(1);
          got += part.size();
        }
        Send(pair.server.get(), "HTTP/1.1 200 OK\r\n" + head + body);
      }
      _exit(0);
    }
    for (int i = 0; i < 2; ++i) {
      RL_EXPECT_IN_BODY(
          Send(pair.client.get(), "POST /bodies HTTP/1.1\r\nHost: long.h\r\n" + head + body));
      size_t got = 0;
      while (got < 17 + head.size() + body.size()) got += Receive(pair.client.get()).size();
    }
    RL_EXPECT_IN_BODY(WaitFor(server) == 0);
    return 0;
  });
  EXPECT_THAT(Requests(records), SizeIs(2)) << Story(records);
  EXPECT_THAT(Statuses(records), ElementsAre(200, 200)) << Story(records);
  EXPECT_FALSE(EndFlags(records) & RL_END_HOLE);
}

TEST_P(PacketTest, TellsThatAnAnswerIsOutstandingOrBegun) {
  const auto outstanding = Watch([] {
    Pair pair = ConnectedPair();
    RL_EXPECT_IN_BODY(Send(pair.client.get(), "GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    RL_EXPECT_IN_BODY(!Receive(pair.server.get()).empty());
    pair.client.Reset();
    return 0;
  });
  EXPECT_EQ(EndFlags(outstanding) & (RL_END_REQUEST_OPEN | RL_END_HEAD_OPEN),
            static_cast<uint32_t>(RL_END_REQUEST_OPEN));
  const auto begun = Watch([] {
    Pair pair = ConnectedPair();
    RL_EXPECT_IN_BODY(Send(pair.client.get(), "GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    RL_EXPECT_IN_BODY(!Receive(pair.server.get()).empty());
    RL_EXPECT_IN_BODY(Send(pair.server.get(), "HTTP/1.1 200 OK\r\nContent-"));
    RL_EXPECT_IN_BODY(!Receive(pair.client.get()).empty());
    pair.client.Reset();
    return 0;
  });
  EXPECT_TRUE(EndFlags(begun) & RL_END_REQUEST_OPEN);
  EXPECT_TRUE(EndFlags(begun) & RL_END_HEAD_OPEN);
}

TEST_P(PacketTest, CopiesTheFirstFlightsOfTlsAndDescribesEachRecord) {
  std::string hello(1900, 'h');  // C16: a hello of 1.9 KB
  hello[0] = 1;
  const std::string from_client = TlsRecord(22, hello);
  const std::string flight = TlsRecord(22, "server hello") + TlsRecord(22, std::string(2500, 'c'));
  const std::string alert = TlsRecord(21, std::string("\x02\x30", 2));
  const auto records = Watch([&] {
    Pair pair = ConnectedPair();
    const int now = 1;
    setsockopt(pair.client.get(), IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now));
    for (size_t at = 0; at < from_client.size(); at += 700)  // C17: several segments
      RL_EXPECT_IN_BODY(Send(pair.client.get(), from_client.substr(at, 700)));
    RL_EXPECT_IN_BODY(!Receive(pair.server.get()).empty());
    RL_EXPECT_IN_BODY(Send(pair.server.get(), flight));
    RL_EXPECT_IN_BODY(!Receive(pair.client.get()).empty());
    RL_EXPECT_IN_BODY(Send(pair.client.get(), alert));
    return 0;
  });
  EXPECT_EQ(Stream(records, RL_EGRESS), from_client) << Story(records);
  EXPECT_EQ(Stream(records, RL_INGRESS), flight) << Story(records);
  const auto heads = Of<rl_ev_tls_record>(records, RL_EV_TLS_RECORD);
  ASSERT_THAT(heads, SizeIs(4)) << Story(records);
  EXPECT_EQ(heads[0].length, hello.size());
  EXPECT_EQ(heads[0].version, 0x0301);
  EXPECT_EQ(heads[2].direction, RL_INGRESS);
  EXPECT_EQ(heads[2].index, 1);
  EXPECT_EQ(heads[3].direction, RL_EGRESS);
  EXPECT_EQ(heads[3].content_type, 21);
  EXPECT_EQ(heads[3].alert_level, 2);
  EXPECT_EQ(heads[3].alert_description, 48);
}

TEST_P(PacketTest, CutsAFlightAtItsLimitAndSaysSo) {
  const auto records = Watch([] {
    Pair pair = ConnectedPair();
    RL_EXPECT_IN_BODY(Send(pair.client.get(), TlsRecord(22, "\x01hello")));
    RL_EXPECT_IN_BODY(!Receive(pair.server.get()).empty());
    RL_EXPECT_IN_BODY(Send(pair.server.get(), TlsRecord(22, std::string(9000, 'c'))));
    poll(nullptr, 0, 20);
    return 0;
  });
  EXPECT_EQ(Stream(records, RL_INGRESS).size(), RL_FLIGHT_MAX) << Story(records);
  const auto parts = Of<rl_ev_stream>(records, RL_EV_STREAM);
  EXPECT_TRUE(parts.back().flags & RL_STREAM_TRUNCATED);
}

TEST_P(PacketTest, TakesNothingAfterTheHandshakeAndSettles) {
  const auto records = Watch([] {
    Pair pair = ConnectedPair();
    RL_EXPECT_IN_BODY(Send(pair.client.get(), TlsRecord(22, "\x01hello")));
    RL_EXPECT_IN_BODY(!Receive(pair.server.get()).empty());
    RL_EXPECT_IN_BODY(Send(pair.server.get(), TlsRecord(22, "\x02hello") + TlsRecord(20, "\x01")));
    for (int i = 0; i < 60; ++i) {
      RL_EXPECT_IN_BODY(Send(pair.client.get(), TlsRecord(23, "private bytes")));
      RL_EXPECT_IN_BODY(!Receive(pair.server.get()).empty());
      RL_EXPECT_IN_BODY(Send(pair.server.get(), TlsRecord(23, "private answer")));
      RL_EXPECT_IN_BODY(!Receive(pair.client.get()).empty());
    }
    return 0;
  });
  EXPECT_LE(Of<rl_ev_tls_record>(records, RL_EV_TLS_RECORD).size(), 2u * RL_TLS_RECORDS_MAX);
  for (const RawRecord& record : records) {
    const std::string bytes(reinterpret_cast<const char*>(record.bytes.data()),
                            record.bytes.size());
    EXPECT_EQ(bytes.find("private"), std::string::npos);
  }
}

TEST_P(PacketTest, ReportsAnAnswerThatIsNoTls) {
  const auto records = Watch([] {
    Pair pair = ConnectedPair();
    RL_EXPECT_IN_BODY(Send(pair.client.get(), TlsRecord(22, "\x01hello")));
    RL_EXPECT_IN_BODY(!Receive(pair.server.get()).empty());
    RL_EXPECT_IN_BODY(Send(pair.server.get(), "HTTP/1.1 400 Bad Request\r\n\r\n"));
    poll(nullptr, 0, 20);
    return 0;
  });
  const auto heads = Of<rl_ev_tls_record>(records, RL_EV_TLS_RECORD);
  ASSERT_THAT(heads, SizeIs(2)) << Story(records);
  EXPECT_EQ(heads[1].version, 0);
  EXPECT_EQ(heads[1].content_type, 'H');
}

TEST_P(PacketTest, FollowsATunnelIntoTls) {
  const auto records = Watch([] {
    Pair pair = ConnectedPair();
    RL_EXPECT_IN_BODY(Send(pair.client.get(),
                           "CONNECT mcp.example:443 HTTP/1.1\r\nHost: mcp.example:443\r\n\r\n"));
    RL_EXPECT_IN_BODY(!Receive(pair.server.get()).empty());
    RL_EXPECT_IN_BODY(Send(pair.server.get(), "HTTP/1.1 200 Connected\r\n\r\n"));
    RL_EXPECT_IN_BODY(!Receive(pair.client.get()).empty());
    RL_EXPECT_IN_BODY(Send(pair.client.get(), TlsRecord(22, "\x01hello")));
    poll(nullptr, 0, 20);
    return 0;
  });
  EXPECT_THAT(Requests(records), ElementsAre(Request{"", "mcp.example:443", RL_METHOD_CONNECT}));
  const auto parts = Of<rl_ev_stream>(records, RL_EV_STREAM);
  ASSERT_THAT(parts, SizeIs(1)) << Story(records);
  EXPECT_TRUE(parts[0].flags & RL_STREAM_IN_TUNNEL);
}

TEST_P(PacketTest, StaysSilentAboutWhatItCannotRead) {
  const auto records = Watch([] {
    Pair pair = ConnectedPair();
    RL_EXPECT_IN_BODY(Send(pair.client.get(), std::string("\x00\x01\x02 binary", 10)));
    RL_EXPECT_IN_BODY(Send(pair.server.get(), "HTTP/1.1 200 OK\r\n\r\n"));
    poll(nullptr, 0, 20);
    return 0;
  });
  EXPECT_TRUE(Requests(records).empty());
  EXPECT_TRUE(Statuses(records).empty());
  EXPECT_TRUE(Of<rl_ev_stream>(records, RL_EV_STREAM).empty());
}

// A question for "a" and its answer, over loopback port 53 in a namespace of the body's own.
constexpr char kQuestion[] =
    "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01"
    "a"
    "\x00\x00\x01\x00\x01";
constexpr char kAnswer[] =
    "\x12\x34\x81\x83\x00\x01\x00\x00\x00\x00\x00\x00\x01"
    "a"
    "\x00\x00\x01\x00\x01";
constexpr size_t kMessageBytes = sizeof(kQuestion) - 1;

UniqueFd UdpServer(uint16_t port) {
  UniqueFd fd(socket(AF_INET, SOCK_DGRAM, 0));
  const sockaddr_in at = V4(INADDR_LOOPBACK, port);
  return bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)) == 0 ? std::move(fd)
                                                                                 : UniqueFd();
}

int AnswerOne(int server, std::string_view answer) {
  char buffer[512];
  sockaddr_in from = {};
  socklen_t length = sizeof(from);
  RL_EXPECT_IN_BODY(
      recvfrom(server, buffer, sizeof(buffer), 0, reinterpret_cast<sockaddr*>(&from), &length) > 0);
  RL_EXPECT_IN_BODY(sendto(server, answer.data(), answer.size(), 0,
                           reinterpret_cast<const sockaddr*>(&from), length) > 0);
  return 0;
}

TEST_P(PacketTest, CopiesDnsOfConnectedAndUnconnectedSockets) {  // B10
  const auto records = Watch([] {
    RL_EXPECT_IN_BODY(EnterOwnNetwork());
    UniqueFd server = UdpServer(53);
    RL_EXPECT_IN_BODY(server);
    const sockaddr_in to = V4(INADDR_LOOPBACK, 53);
    UniqueFd connected(socket(AF_INET, SOCK_DGRAM, 0));
    RL_EXPECT_IN_BODY(Connect(connected.get(), to) == 0);
    RL_EXPECT_IN_BODY(send(connected.get(), kQuestion, kMessageBytes, 0) > 0);
    RL_EXPECT_IN_BODY(AnswerOne(server.get(), {kAnswer, kMessageBytes}) == 0);

    UniqueFd unconnected(socket(AF_INET, SOCK_DGRAM, 0));
    iovec part = {.iov_base = const_cast<char*>(kQuestion), .iov_len = kMessageBytes};
    sockaddr_in target = to;
    mmsghdr both[2] = {};
    for (mmsghdr& one : both) {
      one.msg_hdr.msg_name = &target;
      one.msg_hdr.msg_namelen = sizeof(target);
      one.msg_hdr.msg_iov = &part;
      one.msg_hdr.msg_iovlen = 1;
    }
    RL_EXPECT_IN_BODY(sendmmsg(unconnected.get(), both, 2, 0) == 2);
    RL_EXPECT_IN_BODY(AnswerOne(server.get(), {kAnswer, kMessageBytes}) == 0);
    return 0;
  });
  std::map<uint8_t, int> by_direction;
  for (const RawRecord& record : records) {
    if (record.header().kind != RL_EV_DNS)
      continue;
    const auto ev = record.As<rl_ev_dns>();
    ++by_direction[ev.direction];
    EXPECT_EQ(ev.remote.port, 53);
    EXPECT_NE(ev.local_port, 0);
    EXPECT_NE(ev.owner.tgid, 0u);
    EXPECT_EQ(ev.wire_length, kMessageBytes);
    EXPECT_EQ(record.Tail(offsetof(rl_ev_dns, bytes), 0, ev.length),
              std::string(ev.direction == RL_EGRESS ? kQuestion : kAnswer, kMessageBytes));
  }
  EXPECT_EQ(by_direction[RL_EGRESS], 3) << Story(records);
  EXPECT_EQ(by_direction[RL_INGRESS], 2) << Story(records);
  EXPECT_THAT(Of<rl_ev_connect>(records, RL_EV_CONNECT), SizeIs(1));  // connect() only
  EXPECT_THAT(Of<rl_ev_flow_end>(records, RL_EV_FLOW_END), SizeIs(1));
}

TEST_P(PacketTest, EndsAUdpAttemptWhenTheSocketConnectsElsewhere) {
  const auto records = Watch([] {
    RL_EXPECT_IN_BODY(EnterOwnNetwork());
    UniqueFd server = UdpServer(53);
    UniqueFd other = UdpServer(9999);
    UniqueFd fd(socket(AF_INET, SOCK_DGRAM, 0));
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(INADDR_LOOPBACK, 53)) == 0);
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(INADDR_LOOPBACK, 53)) == 0);
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(INADDR_LOOPBACK, 9999)) == 0);
    RL_EXPECT_IN_BODY(send(fd.get(), "not a dns message", 17, 0) == 17);
    return 0;
  });
  EXPECT_THAT(Of<rl_ev_connect>(records, RL_EV_CONNECT), SizeIs(2)) << Story(records);
  EXPECT_THAT(Of<rl_ev_flow_end>(records, RL_EV_FLOW_END), SizeIs(2)) << Story(records);
  EXPECT_THAT(Of<rl_ev_dns>(records, RL_EV_DNS), SizeIs(0));
}

TEST_P(PacketTest, CutsALargeDnsMessageAndTellsItsLength) {
  const auto records = Watch([] {
    RL_EXPECT_IN_BODY(EnterOwnNetwork());
    UniqueFd server = UdpServer(53);
    UniqueFd fd(socket(AF_INET, SOCK_DGRAM, 0));
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(INADDR_LOOPBACK, 53)) == 0);
    for (const size_t bytes : {1000, 3000, 9000})
      RL_EXPECT_IN_BODY(Send(fd.get(), std::string(bytes, 'd')));
    RL_EXPECT_IN_BODY(Send(fd.get(), "tiny"));
    return 0;
  });
  const auto messages = Of<rl_ev_dns>(records, RL_EV_DNS);
  ASSERT_THAT(messages, SizeIs(3)) << Story(records);
  EXPECT_EQ(messages[0].length, 1000);
  EXPECT_EQ(messages[1].length, 3000);
  EXPECT_EQ(messages[2].length, RL_DNS_MAX);
  EXPECT_EQ(messages[2].wire_length, 9000);
}

TEST_P(PacketTest, CopiesDnsOverTcpInBothDirections) {  // B16
  const auto records = Watch([] {
    RL_EXPECT_IN_BODY(EnterOwnNetwork());
    UniqueFd listener(socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in at = V4(INADDR_LOOPBACK, 53);
    RL_EXPECT_IN_BODY(bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)) ==
                      0);
    RL_EXPECT_IN_BODY(listen(listener.get(), 1) == 0);
    UniqueFd fd = Tcp();
    const int now = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now));
    RL_EXPECT_IN_BODY(Connect(fd.get(), at) == 0);
    UniqueFd server(accept(listener.get(), nullptr, nullptr));
    RL_EXPECT_IN_BODY(Send(fd.get(), std::string_view("\x00\x13", 2)));
    RL_EXPECT_IN_BODY(Send(fd.get(), {kQuestion, kMessageBytes}));
    RL_EXPECT_IN_BODY(!Receive(server.get()).empty());
    RL_EXPECT_IN_BODY(
        Send(server.get(), std::string("\x00\x13", 2) + std::string(kAnswer, kMessageBytes)));
    poll(nullptr, 0, 20);
    return 0;
  });
  EXPECT_EQ(Stream(records, RL_EGRESS),
            std::string("\x00\x13", 2) + std::string(kQuestion, kMessageBytes))
      << Story(records);
  EXPECT_EQ(Stream(records, RL_INGRESS),
            std::string("\x00\x13", 2) + std::string(kAnswer, kMessageBytes))
      << Story(records);
  for (const auto& part : Of<rl_ev_stream>(records, RL_EV_STREAM))
    EXPECT_EQ(part.protocol, RL_STREAM_DNS);
}

TEST_P(PacketTest, ReadsHeadsOverIpv6) {
  const auto records = Watch([] {
    uint16_t port = 0;
    UniqueFd listener = ListenV6(&port);
    const sockaddr_in6 to = V6Loopback(port);
    UniqueFd fd(socket(AF_INET6, SOCK_STREAM, 0));
    RL_EXPECT_IN_BODY(connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0);
    UniqueFd server(accept(listener.get(), nullptr, nullptr));
    RL_EXPECT_IN_BODY(Send(fd.get(), "GET /six HTTP/1.1\r\nHost: [::1]\r\n\r\n"));
    RL_EXPECT_IN_BODY(!Receive(server.get()).empty());
    RL_EXPECT_IN_BODY(Send(server.get(), "HTTP/1.1 404 No\r\n\r\n"));
    RL_EXPECT_IN_BODY(!Receive(fd.get()).empty());
    return 0;
  });
  EXPECT_THAT(Requests(records), ElementsAre(Request{"/six", "[::1]", RL_METHOD_GET}));
  EXPECT_THAT(Statuses(records), ElementsAre(404));
}

TEST_P(PacketTest, ReadsPastIpOptionsAndExtensionHeaders) {
  const auto records = Watch([] {
    uint16_t port = 0;
    UniqueFd listener = Listen(&port);
    UniqueFd fd = Tcp();
    const char no_operations[4] = {1, 1, 1, 1};  // RFC 791: option 1 does nothing
    RL_EXPECT_IN_BODY(
        setsockopt(fd.get(), IPPROTO_IP, IP_OPTIONS, no_operations, sizeof(no_operations)) == 0);
    RL_EXPECT_IN_BODY(Connect(fd.get(), V4(INADDR_LOOPBACK, port)) == 0);
    RL_EXPECT_IN_BODY(Send(fd.get(), "GET /options HTTP/1.1\r\nHost: h\r\n\r\n"));

    listener = ListenV6(&port);
    const sockaddr_in6 to = V6Loopback(port);
    UniqueFd six(socket(AF_INET6, SOCK_STREAM, 0));
    const char padding[8] = {0, 0, 1, 4, 0, 0, 0, 0};  // RFC 8200: destination options, PadN
    RL_EXPECT_IN_BODY(setsockopt(six.get(), IPPROTO_IPV6, IPV6_DSTOPTS, padding, sizeof(padding)) ==
                      0);
    RL_EXPECT_IN_BODY(connect(six.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0);
    RL_EXPECT_IN_BODY(Send(six.get(), "GET /extension HTTP/1.1\r\nHost: h\r\n\r\n"));
    return 0;
  });
  EXPECT_THAT(Requests(records), ElementsAre(Request{"/options", "h", RL_METHOD_GET},
                                             Request{"/extension", "h", RL_METHOD_GET}))
      << Story(records);
}

// nft acts in OUTPUT before the egress hook: the SYN of a connection it rejects is never seen.
TEST_P(PacketTest, SeesNoSynOfAConnectionThatTheFirewallRejects) {
  const auto records = Watch([] {
    RL_EXPECT_IN_BODY(EnterOwnNetwork());
    const int added = std::system(
        "nft 'add table ip t; add chain ip t o { type filter hook output priority 0; }; "
        "add rule ip t o tcp dport 81 reject with tcp reset' >/dev/null 2>&1");
    if (added != 0)
      return 77;
    uint16_t port = 0;
    UniqueFd listener = Listen(&port);
    UniqueFd open = Tcp();
    RL_EXPECT_IN_BODY(Connect(open.get(), V4(INADDR_LOOPBACK, port)) == 0);
    UniqueFd rejected = Tcp();
    RL_EXPECT_IN_BODY(Connect(rejected.get(), V4(INADDR_LOOPBACK, 81)) == -1);
    return 0;
  });
  const auto ends = Of<rl_ev_flow_end>(records, RL_EV_FLOW_END);
  ASSERT_THAT(ends, SizeIs(2)) << Story(records);
  const auto& failed = ends[0].cause == RL_END_FAILED ? ends[0] : ends[1];
  EXPECT_EQ(failed.cause, RL_END_FAILED);
  EXPECT_EQ(failed.error, ECONNREFUSED);
  EXPECT_FALSE(failed.flags & RL_END_SYN_SEEN);
  EXPECT_TRUE(failed.flags & RL_END_EGRESS_PROVEN);
}

TEST_P(PacketTest, ReadsARequestThatTravelsInAFastOpenSocket) {
  const auto records = Watch([] {
    uint16_t port = 0;
    UniqueFd listener = Listen(&port);
    UniqueFd fd = Tcp();
    const sockaddr_in to = V4(INADDR_LOOPBACK, port);
    constexpr std::string_view kRequest = "GET /fast HTTP/1.1\r\nHost: h\r\n\r\n";
    RL_EXPECT_IN_BODY(sendto(fd.get(), kRequest.data(), kRequest.size(), MSG_FASTOPEN,
                             reinterpret_cast<const sockaddr*>(&to), sizeof(to)) > 0);
    UniqueFd server(accept(listener.get(), nullptr, nullptr));
    RL_EXPECT_IN_BODY(!Receive(server.get()).empty());
    return 0;
  });
  EXPECT_THAT(Requests(records), ElementsAre(Request{"/fast", "h", RL_METHOD_GET}))
      << Story(records);
}

INSTANTIATE_TEST_SUITE_P(Variants, PacketTest, testing::Values(false, true),
                         [](const auto& variant) { return variant.param ? "Floor" : "Full"; });

}  // namespace

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "tests/support/story.h"

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <utility>

namespace routelens {

Policy PolicyWith(const std::vector<TestRoute>& routes) {
  std::string yaml = "version: 1\nnetwork_policies:\n  mcp:\n    name: mcp\n    endpoints:\n";
  for (const TestRoute& route : routes) {
    const bool is_v6 = route.host.find(':') != std::string::npos;
    yaml += "      - {host: " + (is_v6 ? "\"" + route.host + "\"" : route.host) +
            ", port: " + std::to_string(route.port) + ", protocol: mcp, path: \"" + route.path +
            "\", enforcement: enforce}\n";
  }
  yaml += "    binaries:\n      - {path: /usr/bin/agent}\n";
  absl::StatusOr<Policy> policy = ParsePolicy(yaml, "test policy");
  if (!policy.ok()) {
    std::cerr << policy.status().ToString() << '\n' << yaml;
    std::abort();
  }
  return *std::move(policy);
}

Story& Story::As(const Actor& actor) {
  actor_ = actor;
  return *this;
}

Story& Story::Wait(double ms) {
  now_ms_ += ms;
  return *this;
}

Story& Story::Add(EventBuilder event) {
  now_ms_ += 1;
  event.At(now_ms_);
  Event& added = events_.emplace_back(event);
  added.header.boundary = BoundaryIndex{boundary_};
  added.header.seq = next_seq_++;
  return *this;
}

Story& Story::Exec() {
  return Add(Ev().By(actor_).Process(ProcessOp::kExec));
}

Story& Story::Exit() {
  return Add(Ev().By(actor_).Process(ProcessOp::kExit));
}

uint64_t Story::Connect(std::string_view address, uint16_t port) {
  const uint64_t flow = next_flow_++ + uint64_t{boundary_} * 1'000'000;
  Add(Ev().By(actor_).Connects(flow, address, port));
  return flow;
}

Story& Story::Establish(uint64_t flow) {
  return Add(Ev().IsEstablished(flow));
}

uint64_t Story::Connected(std::string_view address, uint16_t port) {
  const uint64_t flow = Connect(address, port);
  Establish(flow);
  return flow;
}

Story& Story::FailAtOnce(uint64_t flow, int error) {
  Add(Ev().FailsAtOnce(flow, error));
  FlowEnd end;
  end.no_state_change = true;
  end.egress_proven = true;
  return End(flow, end);
}

Story& Story::Fail(uint64_t flow, int error) {
  FlowEnd end;
  end.cause = EndCause::kFailed;
  end.state = TcpState::kSynSent;
  end.error = error;
  end.syn_seen = true;
  end.egress_proven = true;
  end.reset_received = error == ECONNREFUSED;
  return End(flow, end);
}

Story& Story::GiveUp(uint64_t flow, uint32_t retransmits) {
  FlowEnd end;
  end.state = TcpState::kSynSent;
  end.syn_seen = true;
  end.egress_proven = true;
  end.retransmits = retransmits;
  return End(flow, end);
}

Story& Story::End(uint64_t flow, FlowEnd end) {
  end.flow = FlowId{flow};
  return Add(Ev().Ends(end));
}

namespace {

FlowEnd Usual(uint32_t sent, uint32_t received) {
  FlowEnd end;
  end.state = TcpState::kEstablished;
  end.established = true;
  end.syn_seen = true;
  end.egress_proven = true;
  end.bytes_acked = uint64_t{sent} + 1;
  end.bytes_received = received;
  return end;
}

}  // namespace

Story& Story::Close(uint64_t flow) {
  return End(flow, Usual(bytes_sent_[flow], bytes_received_[flow]));
}

Story& Story::PeerClose(uint64_t flow) {
  Add(Ev().PeerCloses(flow));
  FlowEnd end = Usual(bytes_sent_[flow], bytes_received_[flow]);
  end.peer_fin = true;
  end.state = TcpState::kCloseWait;
  return End(flow, end);
}

Story& Story::Reset(uint64_t flow) {
  FlowEnd end = Usual(bytes_sent_[flow], bytes_received_[flow]);
  end.cause = EndCause::kFailed;
  end.error = ECONNRESET;
  end.reset_received = true;
  return End(flow, end);
}

Story& Story::Ask(uint64_t flow, uint16_t id, std::string_view name, uint16_t type,
                  std::string_view server) {
  DnsDatagram datagram;
  datagram.flow = FlowId{flow};
  datagram.remote = {Ip(server), 53, 0};
  datagram.direction = Direction::kEgress;
  datagram.bytes = DnsQuery(id, name, type);
  return Add(Ev().By(actor_).Datagram(datagram));
}

Story& Story::Reply(uint64_t flow, uint16_t id, std::string_view name, uint16_t type, uint8_t rcode,
                    const std::vector<std::string>& addresses, bool truncated) {
  DnsDatagram datagram;
  datagram.flow = FlowId{flow};
  datagram.remote = {Ip("10.0.0.53"), 53, 0};
  datagram.direction = Direction::kIngress;
  datagram.bytes = DnsReply(id, name, type, rcode, addresses, truncated);
  return Add(Ev().By(actor_).Datagram(datagram));
}

Story& Story::Lookup(std::string_view name, const std::vector<std::string>& addresses,
                     uint8_t rcode, std::string_view server) {
  const uint64_t flow = 900'000 + next_flow_++ + uint64_t{boundary_} * 1'000'000;
  const uint16_t id = next_dns_id_;
  next_dns_id_ = static_cast<uint16_t>(next_dns_id_ + 2);
  const auto id6 = static_cast<uint16_t>(id + 1);
  Add(Ev().By(actor_).ConnectsUdp(flow, server, 53));
  Ask(flow, id, name, 1, server);
  Ask(flow, id6, name, 28, server);
  std::vector<std::string> v4;
  std::vector<std::string> v6;
  for (const std::string& address : addresses) (Ip(address).is_v4() ? v4 : v6).push_back(address);
  Reply(flow, id, name, 1, rcode, v4);
  Reply(flow, id6, name, 28, rcode, v6);
  FlowEnd end;
  end.no_state_change = true;
  return End(flow, end);
}

Story& Story::Resolve(std::string_view name, int result, const std::vector<std::string>& addresses,
                      double took_ms) {
  EventBuilder event;
  event.By(actor_).At(now_ms_ + 1);
  return Add(event.Resolves(name, result, addresses, took_ms));
}

Story& Story::FromClient(uint64_t flow, uint8_t type, uint16_t length) {
  TlsRecord record;
  record.flow = FlowId{flow};
  record.direction = Direction::kEgress;
  record.index = records_[{flow, 0}]++;
  record.content_type = type;
  record.version = 0x0303;
  record.length = length;
  record.in_tunnel = in_tunnel_[flow];
  bytes_sent_[flow] += length + 5U;
  return Add(Ev().Records(record));
}

Story& Story::FromServer(uint64_t flow, uint8_t type, uint16_t length) {
  TlsRecord record;
  record.flow = FlowId{flow};
  record.direction = Direction::kIngress;
  record.index = records_[{flow, 1}]++;
  record.content_type = type;
  record.version = 0x0303;
  record.length = length;
  record.in_tunnel = in_tunnel_[flow];
  bytes_received_[flow] += length + 5U;
  return Add(Ev().Records(record));
}

Story& Story::Alert(uint64_t flow, Direction direction, uint8_t level, uint8_t description) {
  TlsRecord record;
  record.flow = FlowId{flow};
  record.direction = direction;
  record.index = records_[{flow, direction == Direction::kEgress ? 0 : 1}]++;
  record.content_type = 21;
  record.version = 0x0303;
  record.length = 2;
  record.alert_level = level;
  record.alert_description = description;
  (direction == Direction::kEgress ? bytes_sent_ : bytes_received_)[flow] += 7;
  return Add(Ev().Records(record));
}

Story& Story::NotTls(uint64_t flow) {
  TlsRecord record;
  record.flow = FlowId{flow};
  record.direction = Direction::kIngress;
  record.content_type = 'H';
  bytes_received_[flow] += 100;
  return Add(Ev().Records(record));
}

Story& Story::Hello(uint64_t flow, const HelloOptions& options) {
  StreamBytes bytes;
  bytes.flow = FlowId{flow};
  bytes.bytes = ClientHelloRecord(options);
  bytes.in_tunnel = in_tunnel_[flow];
  const auto length = static_cast<uint16_t>(bytes.bytes.size() - 5);
  FromClient(flow, 22, length);
  return Add(Ev().Streams(bytes));
}

Story& Story::ServerFlight13(uint64_t flow, bool resumes) {
  StreamBytes bytes;
  bytes.flow = FlowId{flow};
  bytes.direction = Direction::kIngress;
  bytes.bytes = ServerHelloRecord(0x0304, resumes);
  FromServer(flow, 22, static_cast<uint16_t>(bytes.bytes.size() - 5));
  Add(Ev().Streams(bytes));
  FromServer(flow, 20, 1);
  FromServer(flow, 23, 32);  // EncryptedExtensions
  if (!resumes)
    FromServer(flow, 23, 900);  // Certificate
  return FromServer(flow, 23, 69);
}

Story& Story::ServerFlight12(uint64_t flow) {
  StreamBytes bytes;
  bytes.flow = FlowId{flow};
  bytes.direction = Direction::kIngress;
  bytes.bytes = ServerHelloRecord(0x0303);
  FromServer(flow, 22, static_cast<uint16_t>(bytes.bytes.size() - 5));
  Add(Ev().Streams(bytes));
  FromServer(flow, 22, 900);
  return FromServer(flow, 22, 4);
}

Story& Story::Finish13(uint64_t flow) {
  FromClient(flow, 20, 1);
  return FromClient(flow, 23, 69);
}

Story& Story::Finish12(uint64_t flow) {
  FromClient(flow, 22, 37);
  FromClient(flow, 20, 1);
  FromClient(flow, 22, 40);
  FromServer(flow, 20, 1);
  return FromServer(flow, 22, 40);
}

Story& Story::Handshake13(uint64_t flow, const HelloOptions& options) {
  return Hello(flow, options).ServerFlight13(flow).Finish13(flow);
}

Story& Story::Handshake12(uint64_t flow, const HelloOptions& options) {
  return Hello(flow, options).ServerFlight12(flow).Finish12(flow);
}

Story& Story::LibraryDraws(uint64_t ssl, std::byte random) {
  Library(ssl, LibraryOp::kStart);
  return Add(Ev().By(actor_).LibraryRandom(ssl, random));
}

Story& Story::Library(uint64_t ssl, LibraryOp op, int64_t value, int32_t detail) {
  return Add(Ev().By(actor_).Library(ssl, op, value, detail));
}

Story& Story::Request(uint64_t flow, HttpMethod method, std::string_view path,
                      std::string_view host, bool with_session) {
  HttpRequestHead head;
  head.flow = FlowId{flow};
  head.method = method;
  head.path = std::string(path);
  head.host = std::string(host);
  head.with_session = with_session;
  head.in_tunnel = in_tunnel_[flow];
  head.request_index = ++requests_[flow];
  bytes_sent_[flow] += 200;
  return Add(Ev().By(actor_).Requests(head));
}

Story& Story::Proxied(uint64_t flow, std::string_view authority) {
  HttpRequestHead head;
  head.flow = FlowId{flow};
  head.method = HttpMethod::kConnect;
  head.form = HttpForm::kAuthority;
  head.host = std::string(authority);
  head.request_index = ++requests_[flow];
  connect_open_[flow] = true;
  bytes_sent_[flow] += 200;
  return Add(Ev().By(actor_).Requests(head));
}

Story& Story::Answer(uint64_t flow, uint16_t status) {
  HttpResponseHead head;
  head.flow = FlowId{flow};
  head.status = status;
  head.in_tunnel = in_tunnel_[flow];
  const bool is_interim = status >= 100 && status < 200 && status != 101;
  head.request_index = answers_[flow] + 1;
  if (!is_interim)
    answers_[flow]++;
  if (connect_open_[flow] && status / 100 == 2) {
    in_tunnel_[flow] = true;
    records_.erase({flow, 0});
    records_.erase({flow, 1});
  }
  connect_open_[flow] = false;
  bytes_received_[flow] += 200;
  return Add(Ev().By(actor_).Answers(head));
}

Story& Story::Malformed(uint64_t flow) {
  HttpResponseHead head;
  head.flow = FlowId{flow};
  head.malformed = true;
  head.request_index = ++answers_[flow];
  bytes_received_[flow] += 20;
  return Add(Ev().By(actor_).Answers(head));
}

Story& Story::LibraryRequest(uint64_t ssl, HttpMethod method, std::string_view path,
                             std::string_view host) {
  HttpRequestHead head;
  head.witness = HttpWitness::kLibrary;
  head.session.ssl = ssl;
  head.method = method;
  head.path = std::string(path);
  head.host = std::string(host);
  head.request_index = ++requests_[ssl];
  return Add(Ev().By(actor_).Requests(head));
}

Story& Story::LibraryAnswer(uint64_t ssl, uint16_t status, bool unknown) {
  HttpResponseHead head;
  head.witness = HttpWitness::kLibrary;
  head.session.ssl = ssl;
  head.status = status;
  head.unknown = unknown;
  head.request_index = ++answers_[ssl];
  return Add(Ev().By(actor_).Answers(head));
}

Report RunEvents(const std::vector<Event>& events, const Policy& policy,
                 const PipelineLimits& limits, double after_ms) {
  Pipeline pipeline(policy, limits);
  BootTime last = kStoryBegins;
  for (const Event& event : events) {
    pipeline.Feed(EncodeRecord(event));
    last = std::max(last, event.header.time);
  }
  const BootTime end = last + Duration{static_cast<int64_t>(after_ms * 1e6)};
  pipeline.AdvanceTo(end);
  pipeline.Finish(end);
  return pipeline.MakeReport();
}

Report Story::Run(const Policy& policy, const PipelineLimits& limits) const {
  return RunEvents(events_, policy, limits);
}

const RouteCondition& ConditionOf(const Report& report, std::string_view host,
                                  std::string_view path) {
  for (const RouteCondition& condition : report.conditions) {
    if ((host.empty() || condition.route.host == host) &&
        (path.empty() || condition.route.path == path))
      return condition;
  }
  std::cerr << "no such route: " << host << path << '\n';
  std::abort();
}

Outcome OutcomeOf(const Report& report, std::string_view host, std::string_view path) {
  return ConditionOf(report, host, path).outcome;
}

}  // namespace routelens

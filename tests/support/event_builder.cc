// SPDX-License-Identifier: Apache-2.0
#include "tests/support/event_builder.h"

#include <cstdlib>
#include <iostream>
#include <utility>

namespace routelens {

Owner OwnerOf(const Actor& actor) {
  Owner owner;
  owner.process = {actor.pid, 900'000'000'000ULL + actor.pid};
  owner.tid = actor.pid;
  owner.cgroup_id = 77;
  owner.comm = std::string(actor.comm);
  return owner;
}

IpAddress Ip(std::string_view text) {
  const std::optional<IpAddress> address = ParseIpAddress(text);
  if (!address) {
    std::cerr << "not an address: " << text << '\n';
    std::abort();
  }
  return *address;
}

EventBuilder& EventBuilder::By(const Actor& actor) {
  actor_ = actor;
  return *this;
}

EventBuilder& EventBuilder::At(double ms) {
  event_.header.time = AtMs(ms);
  return *this;
}

EventBuilder& EventBuilder::InBoundary(uint32_t index) {
  event_.header.boundary = BoundaryIndex{index};
  return *this;
}

EventBuilder& EventBuilder::AsProxy() {
  event_.header.role = Role::kProxy;
  return *this;
}

EventBuilder& EventBuilder::Connects(uint64_t flow, std::string_view address, uint16_t port) {
  ConnectAttempt attempt;
  attempt.owner = OwnerOf(actor_);
  attempt.flow = FlowId{flow};
  attempt.netns = 4026531840;
  attempt.remote = {Ip(address), port, 0};
  event_.body = attempt;
  return *this;
}

EventBuilder& EventBuilder::ConnectsUdp(uint64_t flow, std::string_view address, uint16_t port) {
  Connects(flow, address, port);
  std::get<ConnectAttempt>(event_.body).transport = Transport::kUdp;
  return *this;
}

EventBuilder& EventBuilder::FailsAtOnce(uint64_t flow, int error, bool soft) {
  event_.body = ConnectError{FlowId{flow}, error, soft};
  return *this;
}

EventBuilder& EventBuilder::IsEstablished(uint64_t flow) {
  Established established;
  established.flow = FlowId{flow};
  established.local = {Ip("10.0.0.1"), 40000, 0};
  established.remote = {Ip("10.0.0.2"), 443, 0};
  event_.body = established;
  return *this;
}

EventBuilder& EventBuilder::PeerCloses(uint64_t flow) {
  event_.body = PeerFin{FlowId{flow}};
  return *this;
}

EventBuilder& EventBuilder::Ends(FlowEnd end) {
  event_.body = end;
  return *this;
}

EventBuilder& EventBuilder::Streams(StreamBytes bytes) {
  event_.body = std::move(bytes);
  return *this;
}

EventBuilder& EventBuilder::Records(TlsRecord record) {
  event_.body = record;
  return *this;
}

EventBuilder& EventBuilder::Requests(HttpRequestHead head) {
  if (head.witness == HttpWitness::kLibrary)
    head.session.process = OwnerOf(actor_).process;
  event_.body = std::move(head);
  return *this;
}

EventBuilder& EventBuilder::Answers(HttpResponseHead head) {
  if (head.witness == HttpWitness::kLibrary)
    head.session.process = OwnerOf(actor_).process;
  event_.body = std::move(head);
  return *this;
}

EventBuilder& EventBuilder::Datagram(DnsDatagram datagram) {
  datagram.owner = OwnerOf(actor_);
  event_.body = std::move(datagram);
  return *this;
}

EventBuilder& EventBuilder::Library(uint64_t ssl, LibraryOp op, int64_t value, int32_t detail) {
  LibraryCall call;
  call.owner = OwnerOf(actor_);
  call.session = {call.owner.process, ssl};
  call.op = op;
  call.value = value;
  call.detail = detail;
  event_.body = call;
  return *this;
}

EventBuilder& EventBuilder::LibraryRandom(uint64_t ssl, std::byte fill) {
  Library(ssl, LibraryOp::kHelloRandom);
  std::get<LibraryCall>(event_.body).data.fill(fill);
  return *this;
}

EventBuilder& EventBuilder::Resolves(std::string_view name, int result,
                                     const std::vector<std::string>& addresses, double took_ms) {
  ResolverResult resolved;
  resolved.owner = OwnerOf(actor_);
  resolved.started = BootTime{event_.header.time.ns - static_cast<uint64_t>(took_ms * 1e6)};
  resolved.result = result;
  resolved.name = std::string(name);
  for (const std::string& address : addresses) resolved.addresses.push_back(Ip(address));
  event_.body = std::move(resolved);
  return *this;
}

EventBuilder& EventBuilder::Process(ProcessOp op, uint32_t parent_pid) {
  event_.body = ProcessEvent{OwnerOf(actor_), parent_pid, op};
  return *this;
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/event_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "bpf/abi/events.h"
#include "tests/userspace/decode/bytes.h"

namespace routelens {
namespace {

using ::testing::ElementsAre;

template <typename Wire>
Wire Make(rl_event_kind kind) {
  Wire wire;
  std::memset(&wire, 0, sizeof wire);
  wire.header.boot_ns = 1000;
  wire.header.seq = 7;
  wire.header.dropped = 2;
  wire.header.boundary = 5;
  wire.header.kind = static_cast<__u16>(kind);
  wire.header.size = sizeof wire;
  wire.header.abi_version = RL_ABI_VERSION;
  wire.header.role = RL_ROLE_PROXY;
  return wire;
}

template <typename Wire>
Bytes RecordOf(Wire wire, const Bytes& data = {}, size_t head_bytes = sizeof(Wire)) {
  wire.header.size = static_cast<__u16>(head_bytes + data.size());
  Bytes record(head_bytes);
  std::memcpy(record.data(), &wire, head_bytes);
  return record + data;
}

rl_owner SomeOwner() {
  rl_owner owner;
  std::memset(&owner, 0, sizeof owner);
  owner.start_boot_ns = 99;
  owner.cgroup_id = 4;
  owner.tgid = 10;
  owner.tid = 11;
  std::strcpy(owner.comm, "curl");
  return owner;
}

const Owner kOwner{{10, 99}, 11, 4, "curl"};

rl_address SomeAddress() {
  rl_address address;
  std::memset(&address, 0, sizeof address);
  address.addr[10] = address.addr[11] = 0xff;
  address.addr[12] = 192;
  address.addr[15] = 1;
  address.port = 443;
  address.scope_id = 3;
  return address;
}

Endpoint SomeEndpoint() {
  Endpoint endpoint;
  endpoint.address.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 0, 1};
  endpoint.port = 443;
  endpoint.scope_id = 3;
  return endpoint;
}

template <typename Body>
Body Decoded(const Bytes& record) {
  const DecodedEvent decoded = DecodeEvent(record);
  const auto* event = std::get_if<Event>(&decoded);
  if (event == nullptr || !std::holds_alternative<Body>(event->body)) {
    ADD_FAILURE() << "not decoded: "
                  << (event != nullptr ? "another kind" : ToString(std::get<DecodeFault>(decoded)));
    return {};
  }
  EXPECT_EQ(event->header, (EventHeader{{1000}, 7, 2, BoundaryIndex{5}, Role::kProxy}));
  return std::get<Body>(event->body);
}

DecodeFault FaultOf(const Bytes& record) {
  const DecodedEvent decoded = DecodeEvent(record);
  if (const auto* fault = std::get_if<DecodeFault>(&decoded))
    return *fault;
  ADD_FAILURE() << "decoded";
  return {};
}

TEST(EventDecoder, DecodesAConnect) {
  auto wire = Make<rl_ev_connect>(RL_EV_CONNECT);
  wire.owner = SomeOwner();
  wire.cookie = 77;
  wire.netns_cookie = 5;
  wire.remote = SomeAddress();
  wire.protocol = 17;
  wire.flags = RL_CONNECT_PREEXISTING | RL_CONNECT_OWNER_GUESS;
  EXPECT_EQ(
      Decoded<ConnectAttempt>(RecordOf(wire)),
      (ConnectAttempt{kOwner, FlowId{77}, 5, SomeEndpoint(), Transport::kUdp, true, false, true}));
  wire.protocol = 6;
  wire.flags = RL_CONNECT_DENIED;
  EXPECT_TRUE(Decoded<ConnectAttempt>(RecordOf(wire)).denied_by_policy_hook);
  wire.protocol = 1;
  EXPECT_EQ(FaultOf(RecordOf(wire)), DecodeFault::kBadValue);
}

TEST(EventDecoder, TakesACommWithoutItsNulAsFifteenBytes) {
  auto wire = Make<rl_ev_process>(RL_EV_PROCESS);
  wire.owner = SomeOwner();
  std::memset(wire.owner.comm, 'x', sizeof wire.owner.comm);
  wire.parent_tgid = 1;
  wire.op = RL_PROCESS_EXEC;
  const auto decoded = Decoded<ProcessEvent>(RecordOf(wire));
  EXPECT_EQ(decoded.owner.comm, std::string(15, 'x'));
  EXPECT_EQ(decoded.parent_tgid, 1u);
  EXPECT_EQ(decoded.op, ProcessOp::kExec);
}

TEST(EventDecoder, DecodesWhatBecameOfAFlow) {
  auto error = Make<rl_ev_connect_error>(RL_EV_CONNECT_ERROR);
  error.cookie = 77;
  error.error = 111;
  EXPECT_EQ(Decoded<ConnectError>(RecordOf(error)), (ConnectError{FlowId{77}, 111}));
  error.error = 0;
  EXPECT_EQ(FaultOf(RecordOf(error)), DecodeFault::kBadValue);

  auto established = Make<rl_ev_established>(RL_EV_ESTABLISHED);
  established.cookie = 77;
  established.remote = SomeAddress();
  EXPECT_EQ(Decoded<Established>(RecordOf(established)),
            (Established{FlowId{77}, {}, SomeEndpoint()}));

  auto fin = Make<rl_ev_peer_fin>(RL_EV_PEER_FIN);
  fin.cookie = 77;
  EXPECT_EQ(Decoded<PeerFin>(RecordOf(fin)), (PeerFin{FlowId{77}}));

  auto end = Make<rl_ev_flow_end>(RL_EV_FLOW_END);
  end.cookie = 77;
  end.bytes_received = 1;
  end.bytes_acked = 2;
  end.last_receive_boot_ns = 3;
  end.retransmits = 4;
  end.error = 104;
  end.cause = RL_END_FAILED;
  end.state = 1;
  FlowEnd expected{FlowId{77}, EndCause::kFailed, TcpState::kEstablished, 104, 1, 2, {3}, 4};
  EXPECT_EQ(Decoded<FlowEnd>(RecordOf(end)), expected);
  bool FlowEnd::*const members[] = {
      &FlowEnd::syn_seen,        &FlowEnd::egress_proven, &FlowEnd::peer_fin,
      &FlowEnd::reset_received,  &FlowEnd::reset_sent,    &FlowEnd::hole,
      &FlowEnd::no_state_change, &FlowEnd::established,   &FlowEnd::served,
      &FlowEnd::request_open,    &FlowEnd::head_open};
  for (unsigned i = 0; i < std::size(members); ++i) {
    end.flags = 1u << i;
    FlowEnd with = expected;
    with.*members[i] = true;
    EXPECT_EQ(Decoded<FlowEnd>(RecordOf(end)), with) << "flag " << i;
  }
  end.state = 13;
  EXPECT_EQ(FaultOf(RecordOf(end)), DecodeFault::kBadValue);
  end.state = 0;
  EXPECT_EQ(FaultOf(RecordOf(end)), DecodeFault::kBadValue);
}

TEST(EventDecoder, DecodesBytesOfAStream) {
  auto wire = Make<rl_ev_stream>(RL_EV_STREAM);
  wire.cookie = 77;
  wire.offset = 9;
  wire.length = 3;
  wire.direction = RL_INGRESS;
  wire.protocol = RL_STREAM_DNS;
  wire.flags = RL_STREAM_TRUNCATED | RL_STREAM_IN_TUNNEL;
  EXPECT_EQ(Decoded<StreamBytes>(RecordOf(wire, BytesOf("abc"))),
            (StreamBytes{FlowId{77}, Direction::kIngress, StreamProtocol::kDns, 9, false, true,
                         true, BytesOf("abc")}));
  EXPECT_EQ(FaultOf(RecordOf(wire, BytesOf("ab"))), DecodeFault::kBadLength);
  wire.direction = 2;
  EXPECT_EQ(FaultOf(RecordOf(wire, BytesOf("abc"))), DecodeFault::kBadValue);
}

TEST(EventDecoder, NeverLooksBehindTheRecordsOwnSize) {
  auto wire = Make<rl_ev_stream>(RL_EV_STREAM);
  wire.length = 3;
  wire.protocol = RL_STREAM_TLS;
  Bytes record = RecordOf(wire, BytesOf("abc"));
  const Bytes roomy = record + BytesOf("left over from another record");
  EXPECT_EQ(Decoded<StreamBytes>(roomy).bytes, BytesOf("abc"));
  EXPECT_EQ(RecordBytes(roomy).size(), record.size());
  wire.length = 4;  // within the room, not within the record
  record = RecordOf(wire, BytesOf("abc")) + BytesOf("d");
  EXPECT_EQ(FaultOf(record), DecodeFault::kBadLength);
}

TEST(EventDecoder, DecodesTlsRecords) {
  auto wire = Make<rl_ev_tls_record>(RL_EV_TLS_RECORD);
  wire.cookie = 77;
  wire.index = 2;
  wire.length = 2;
  wire.version = 0x303;
  wire.direction = RL_INGRESS;
  wire.content_type = 21;
  wire.alert_level = 2;
  wire.alert_description = 48;
  wire.flags = RL_STREAM_IN_TUNNEL;
  EXPECT_EQ(Decoded<TlsRecord>(RecordOf(wire)),
            (TlsRecord{FlowId{77}, Direction::kIngress, 2, 21, 0x303, 2, 2, 48, true}));
}

TEST(EventDecoder, DecodesHttpHeadsOfBothWitnesses) {
  constexpr size_t kHead = offsetof(rl_ev_http_request, text);
  auto wire = Make<rl_ev_http_request>(RL_EV_HTTP_REQUEST);
  wire.owner = SomeOwner();
  wire.key = 77;
  wire.request_index = 3;
  wire.path_length = 4;
  wire.host_length = 2;
  wire.witness = RL_HTTP_WIRE;
  wire.method = RL_METHOD_DELETE;
  wire.form = RL_FORM_ABSOLUTE;
  wire.flags = RL_HTTP_WITH_SESSION | RL_HTTP_HOST_REPEATED;
  HttpRequestHead expected;
  expected.flow = FlowId{77};
  expected.request_index = 3;
  expected.method = HttpMethod::kDelete;
  expected.form = HttpForm::kAbsolute;
  expected.path = "/mcp";
  expected.host = "ex";
  expected.with_session = true;
  expected.host_repeated = true;
  EXPECT_EQ(Decoded<HttpRequestHead>(RecordOf(wire, BytesOf("/mcpex"), kHead)), expected);
  EXPECT_EQ(FaultOf(RecordOf(wire, BytesOf("/mcpe"), kHead)), DecodeFault::kBadLength);
  wire.witness = RL_HTTP_LIBRARY;
  expected.witness = HttpWitness::kLibrary;
  expected.flow = {};
  expected.session = {{10, 99}, 77};
  EXPECT_EQ(Decoded<HttpRequestHead>(RecordOf(wire, BytesOf("/mcpex"), kHead)), expected);
  wire.form = 0;
  EXPECT_EQ(FaultOf(RecordOf(wire, BytesOf("/mcpex"), kHead)), DecodeFault::kBadValue);

  auto response = Make<rl_ev_http_response>(RL_EV_HTTP_RESPONSE);
  response.key = 77;
  response.request_index = 3;
  response.status = 404;
  response.witness = RL_HTTP_WIRE;
  HttpResponseHead head;
  head.flow = FlowId{77};
  head.request_index = 3;
  head.status = 404;
  EXPECT_EQ(Decoded<HttpResponseHead>(RecordOf(response)), head);
  response.status = 0;
  EXPECT_EQ(FaultOf(RecordOf(response)), DecodeFault::kBadValue) << "no status without a reason";
  response.flags = RL_HTTP_MALFORMED;
  EXPECT_TRUE(Decoded<HttpResponseHead>(RecordOf(response)).malformed);
  response.status = 200;
  EXPECT_EQ(FaultOf(RecordOf(response)), DecodeFault::kBadValue);
  response.flags = 0;
  for (const int status : {1, 99, 1000}) {
    response.status = static_cast<__u16>(status);
    EXPECT_EQ(FaultOf(RecordOf(response)), DecodeFault::kBadValue);
  }
}

TEST(EventDecoder, DecodesDnsDatagrams) {
  auto wire = Make<rl_ev_dns>(RL_EV_DNS);
  wire.owner = SomeOwner();
  wire.cookie = 77;
  wire.netns_cookie = 5;
  wire.remote = SomeAddress();
  wire.local_port = 5353;
  wire.length = 4;
  wire.wire_length = 4;
  wire.direction = RL_INGRESS;
  DnsDatagram expected{kOwner, FlowId{77},          5,     SomeEndpoint(),
                       5353,   Direction::kIngress, false, BytesOf("dns!")};
  constexpr size_t kHead = offsetof(rl_ev_dns, bytes);
  EXPECT_EQ(Decoded<DnsDatagram>(RecordOf(wire, BytesOf("dns!"), kHead)), expected);
  wire.wire_length = 9000;
  expected.truncated = true;
  EXPECT_EQ(Decoded<DnsDatagram>(RecordOf(wire, BytesOf("dns!"), kHead)), expected);
  EXPECT_EQ(FaultOf(RecordOf(wire, BytesOf("dns"), kHead)), DecodeFault::kBadLength);
}

TEST(EventDecoder, DecodesLibraryAndResolverCalls) {
  auto wire = Make<rl_ev_library>(RL_EV_LIBRARY);
  wire.owner = SomeOwner();
  wire.ssl = 0x7f00;
  wire.value = -20;
  wire.detail = -1;
  wire.op = RL_LIB_VERIFY;
  wire.data[31] = 9;
  LibraryCall call;
  call.owner = kOwner;
  call.session = {{10, 99}, 0x7f00};
  call.op = LibraryOp::kVerify;
  call.value = -20;
  call.detail = -1;
  call.data[31] = std::byte{9};
  EXPECT_EQ(Decoded<LibraryCall>(RecordOf(wire)), call);
  wire.op = 8;
  EXPECT_EQ(FaultOf(RecordOf(wire)), DecodeFault::kBadValue);

  auto resolver = Make<rl_ev_resolver>(RL_EV_RESOLVER);
  resolver.owner = SomeOwner();
  resolver.started_boot_ns = 3;
  resolver.result = -2;
  resolver.name_length = 4;
  std::memcpy(resolver.name, "nameX", 5);
  resolver.address_count = 1;
  resolver.addresses[0][15] = 1;
  const auto decoded = Decoded<ResolverResult>(RecordOf(resolver));
  EXPECT_EQ(decoded.owner, kOwner);
  EXPECT_EQ(decoded.started, BootTime{3});
  EXPECT_EQ(decoded.result, -2);
  EXPECT_EQ(decoded.name, "name");
  IpAddress loopback;
  loopback.bytes[15] = 1;
  EXPECT_THAT(decoded.addresses, ElementsAre(loopback));
  resolver.address_count = RL_RESOLVED_MAX + 1;
  EXPECT_EQ(FaultOf(RecordOf(resolver)), DecodeFault::kBadLength);
  resolver.address_count = RL_RESOLVED_MAX;
  resolver.name_length = RL_NAME_MAX + 1;
  EXPECT_EQ(FaultOf(RecordOf(resolver)), DecodeFault::kBadLength);
}

TEST(EventDecoder, RefusesBadHeaders) {
  const auto good = Make<rl_ev_peer_fin>(RL_EV_PEER_FIN);
  const auto with = [&good](auto change) {
    auto wire = good;
    change(wire.header);
    Bytes record(sizeof wire);
    std::memcpy(record.data(), &wire, sizeof wire);
    return FaultOf(record);
  };
  EXPECT_EQ(with([](auto& h) { h.abi_version = RL_ABI_VERSION + 1; }),
            DecodeFault::kVersionMismatch);
  EXPECT_EQ(with([](auto& h) { h.kind = 0; }), DecodeFault::kUnknownKind);
  EXPECT_EQ(with([](auto& h) { h.kind = 99; }), DecodeFault::kUnknownKind);
  EXPECT_EQ(with([](auto& h) { h.size = 49; }), DecodeFault::kBadLength);
  EXPECT_EQ(with([](auto& h) { h.size = 39; }), DecodeFault::kBadLength);
  EXPECT_EQ(with([](auto& h) { h.size = 44; }), DecodeFault::kTooShort);
  EXPECT_EQ(with([](auto& h) { h.role = 0; }), DecodeFault::kBadValue);
  EXPECT_EQ(with([](auto& h) { h.role = 3; }), DecodeFault::kBadValue);
  EXPECT_EQ(with([](auto& h) { h.boundary = RL_MAX_BOUNDARIES; }), DecodeFault::kBadValue);
  EXPECT_EQ(with([](auto& h) { h.boot_ns = ~0ull; }), DecodeFault::kBadValue);
  EXPECT_EQ(FaultOf({}), DecodeFault::kTooShort);
}

TEST(EventDecoder, EveryPrefixOfEveryKindIsRefused) {
  const Bytes records[] = {RecordOf(Make<rl_ev_connect>(RL_EV_CONNECT)),
                           RecordOf(Make<rl_ev_connect_error>(RL_EV_CONNECT_ERROR)),
                           RecordOf(Make<rl_ev_established>(RL_EV_ESTABLISHED)),
                           RecordOf(Make<rl_ev_peer_fin>(RL_EV_PEER_FIN)),
                           RecordOf(Make<rl_ev_flow_end>(RL_EV_FLOW_END)),
                           RecordOf(Make<rl_ev_stream>(RL_EV_STREAM)),
                           RecordOf(Make<rl_ev_tls_record>(RL_EV_TLS_RECORD)),
                           RecordOf(Make<rl_ev_http_request>(RL_EV_HTTP_REQUEST)),
                           RecordOf(Make<rl_ev_http_response>(RL_EV_HTTP_RESPONSE)),
                           RecordOf(Make<rl_ev_dns>(RL_EV_DNS)),
                           RecordOf(Make<rl_ev_library>(RL_EV_LIBRARY)),
                           RecordOf(Make<rl_ev_resolver>(RL_EV_RESOLVER)),
                           RecordOf(Make<rl_ev_process>(RL_EV_PROCESS))};
  for (Bytes record : records) {
    for (size_t length = 0; length < record.size(); ++length) {
      const Bytes prefix(record.begin(), record.begin() + static_cast<ptrdiff_t>(length));
      EXPECT_EQ(FaultOf(prefix), length < sizeof(rl_event_header) ? DecodeFault::kTooShort
                                                                  : DecodeFault::kBadLength);
      if (length >= sizeof(rl_event_header)) {
        Bytes shorter = prefix;  // its own size agrees
        const auto size = static_cast<__u16>(length);
        std::memcpy(shorter.data() + offsetof(rl_event_header, size), &size, sizeof size);
        EXPECT_EQ(FaultOf(shorter), DecodeFault::kTooShort);
      }
    }
  }
}

TEST(EventDecoder, TellsTheTimeOfARecord) {
  EXPECT_EQ(TimeOf(RecordOf(Make<rl_ev_peer_fin>(RL_EV_PEER_FIN))), BootTime{1000});
  EXPECT_FALSE(TimeOf(BytesOf("short")).known());
}

}  // namespace
}  // namespace routelens

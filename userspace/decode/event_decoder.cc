// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/event_decoder.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "bpf/abi/events.h"

namespace routelens {
namespace {

using Body = std::variant<EventBody, DecodeFault>;

static_assert(kTlsRecordsDescribed == RL_TLS_RECORDS_MAX);

// The fixed struct of a kind, copied: ring memory promises no alignment.
template <typename Wire>
bool ReadFixed(std::span<const std::byte> record, Wire& wire) {
  if (record.size() < sizeof wire)
    return false;
  std::memcpy(&wire, record.data(), sizeof wire);
  return true;
}

// `length` bytes behind the fixed struct, whose data begins at `offset`.
std::optional<std::span<const std::byte>> Data(std::span<const std::byte> record, size_t offset,
                                               size_t length) {
  if (record.size() < offset || record.size() - offset < length)
    return std::nullopt;
  return record.subspan(offset, length);
}

std::string Text(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

template <typename Enum>
std::optional<Enum> InRange(unsigned value, Enum first, Enum last) {
  if (value < static_cast<unsigned>(first) || value > static_cast<unsigned>(last))
    return std::nullopt;
  return static_cast<Enum>(value);
}

std::optional<Direction> DirectionOf(unsigned value) {
  return InRange(value, Direction::kEgress, Direction::kIngress);
}

FlowId FlowOf(uint64_t cookie) {
  return FlowId{cookie};
}

bool Has(unsigned flags, unsigned flag) {
  return (flags & flag) != 0;
}

IpAddress AddressOf(const __u8 (&bytes)[16]) {
  IpAddress address;
  std::copy(std::begin(bytes), std::end(bytes), address.bytes.begin());
  return address;
}

Endpoint EndpointOf(const rl_address& wire) {
  return {AddressOf(wire.addr), wire.port, wire.scope_id};
}

Owner OwnerOf(const rl_owner& wire) {
  const char* end = std::find(std::begin(wire.comm), std::end(wire.comm) - 1, '\0');
  return {{wire.tgid, wire.start_boot_ns},
          wire.tid,
          wire.cgroup_id,
          std::string(std::begin(wire.comm), end)};
}

Body DecodeConnect(std::span<const std::byte> record) {
  rl_ev_connect wire;
  if (!ReadFixed(record, wire))
    return DecodeFault::kTooShort;
  if (wire.protocol != static_cast<unsigned>(Transport::kTcp) &&
      wire.protocol != static_cast<unsigned>(Transport::kUdp))
    return DecodeFault::kBadValue;
  return ConnectAttempt{OwnerOf(wire.owner),
                        FlowOf(wire.cookie),
                        wire.netns_cookie,
                        EndpointOf(wire.remote),
                        static_cast<Transport>(wire.protocol),
                        Has(wire.flags, RL_CONNECT_PREEXISTING),
                        Has(wire.flags, RL_CONNECT_DENIED),
                        Has(wire.flags, RL_CONNECT_OWNER_GUESS)};
}

Body DecodeConnectError(std::span<const std::byte> record) {
  rl_ev_connect_error wire;
  if (!ReadFixed(record, wire))
    return DecodeFault::kTooShort;
  if (wire.error <= 0)
    return DecodeFault::kBadValue;
  return ConnectError{FlowOf(wire.cookie), wire.error, wire.soft != 0};
}

Body DecodeEstablished(std::span<const std::byte> record) {
  rl_ev_established wire;
  if (!ReadFixed(record, wire))
    return DecodeFault::kTooShort;
  return Established{FlowOf(wire.cookie), EndpointOf(wire.local), EndpointOf(wire.remote)};
}

Body DecodePeerFin(std::span<const std::byte> record) {
  rl_ev_peer_fin wire;
  if (!ReadFixed(record, wire))
    return DecodeFault::kTooShort;
  return PeerFin{FlowOf(wire.cookie)};
}

Body DecodeFlowEnd(std::span<const std::byte> record) {
  rl_ev_flow_end wire;
  if (!ReadFixed(record, wire))
    return DecodeFault::kTooShort;
  const auto cause = InRange(wire.cause, EndCause::kReleased, EndCause::kFailed);
  const auto state = InRange(wire.state, TcpState::kEstablished, TcpState::kNewSynReceived);
  if (!cause || !state || wire.error < 0)
    return DecodeFault::kBadValue;
  FlowEnd end;
  end.flow = FlowOf(wire.cookie);
  end.cause = *cause;
  end.state = *state;
  end.error = wire.error;
  end.bytes_received = wire.bytes_received;
  end.bytes_acked = wire.bytes_acked;
  end.last_receive = {wire.last_receive_boot_ns};
  end.retransmits = wire.retransmits;
  end.syn_seen = Has(wire.flags, RL_END_SYN_SEEN);
  end.egress_proven = Has(wire.flags, RL_END_EGRESS_PROVEN);
  end.peer_fin = Has(wire.flags, RL_END_PEER_FIN);
  end.owner_fin = Has(wire.flags, RL_END_OWNER_FIN);
  end.reset_received = Has(wire.flags, RL_END_RESET_RECEIVED);
  end.reset_sent = Has(wire.flags, RL_END_RESET_SENT);
  end.hole = Has(wire.flags, RL_END_HOLE);
  end.no_state_change = Has(wire.flags, RL_END_NO_STATE_CHANGE);
  end.established = Has(wire.flags, RL_END_ESTABLISHED);
  end.served = Has(wire.flags, RL_END_SERVED);
  end.request_open = Has(wire.flags, RL_END_REQUEST_OPEN);
  end.head_open = Has(wire.flags, RL_END_HEAD_OPEN);
  return end;
}

Body DecodeStream(std::span<const std::byte> record) {
  rl_ev_stream wire;
  if (!ReadFixed(record, wire))
    return DecodeFault::kTooShort;
  const auto direction = DirectionOf(wire.direction);
  const auto protocol = InRange(wire.protocol, StreamProtocol::kTls, StreamProtocol::kDns);
  const auto data = Data(record, sizeof wire, wire.length);
  if (!data)
    return DecodeFault::kBadLength;
  if (!direction || !protocol)
    return DecodeFault::kBadValue;
  return StreamBytes{FlowOf(wire.cookie),
                     *direction,
                     *protocol,
                     wire.offset,
                     Has(wire.flags, RL_STREAM_HOLE),
                     Has(wire.flags, RL_STREAM_TRUNCATED),
                     Has(wire.flags, RL_STREAM_IN_TUNNEL),
                     {data->begin(), data->end()}};
}

Body DecodeTlsRecord(std::span<const std::byte> record) {
  rl_ev_tls_record wire;
  if (!ReadFixed(record, wire))
    return DecodeFault::kTooShort;
  const auto direction = DirectionOf(wire.direction);
  if (!direction)
    return DecodeFault::kBadValue;
  TlsRecord tls;
  tls.flow = FlowOf(wire.cookie);
  tls.direction = *direction;
  tls.index = wire.index;
  tls.content_type = wire.content_type;
  tls.version = wire.version;
  tls.length = wire.length;
  tls.alert_level = wire.alert_level;
  tls.alert_description = wire.alert_description;
  tls.in_tunnel = Has(wire.flags, RL_STREAM_IN_TUNNEL);
  return tls;
}

// The key is a flow's or a session's, by the witness.
template <typename Wire, typename Head>
void SetKey(const Wire& wire, Head& head) {
  if (head.witness == HttpWitness::kWire)
    head.flow = FlowOf(wire.key);
  else
    head.session = {OwnerOf(wire.owner).process, wire.key};
}

Body DecodeHttpRequest(std::span<const std::byte> record) {
  constexpr size_t kTextOffset = offsetof(rl_ev_http_request, text);
  rl_ev_http_request wire;
  if (!ReadFixed(record, wire))
    return DecodeFault::kTooShort;
  const auto witness = InRange(wire.witness, HttpWitness::kWire, HttpWitness::kLibrary);
  const auto method = InRange(wire.method, HttpMethod::kOther, HttpMethod::kPut);
  const auto form = InRange(wire.form, HttpForm::kOrigin, HttpForm::kH2);
  if (wire.path_length > RL_PATH_MAX || wire.host_length > RL_HOST_MAX)
    return DecodeFault::kBadLength;
  const auto path = Data(record, kTextOffset, wire.path_length);
  const auto host = Data(record, kTextOffset + wire.path_length, wire.host_length);
  if (!path || !host)
    return DecodeFault::kBadLength;
  if (!witness || !method || !form)
    return DecodeFault::kBadValue;
  HttpRequestHead head;
  head.witness = *witness;
  SetKey(wire, head);
  head.request_index = wire.request_index;
  head.method = *method;
  head.form = *form;
  head.path = Text(*path);
  head.host = Text(*host);
  head.path_truncated = Has(wire.flags, RL_HTTP_PATH_TRUNCATED);
  head.host_truncated = Has(wire.flags, RL_HTTP_HOST_TRUNCATED);
  head.host_repeated = Has(wire.flags, RL_HTTP_HOST_REPEATED);
  head.in_tunnel = Has(wire.flags, RL_HTTP_IN_TUNNEL);
  head.with_session = Has(wire.flags, RL_HTTP_WITH_SESSION);
  return head;
}

Body DecodeHttpResponse(std::span<const std::byte> record) {
  rl_ev_http_response wire;
  if (!ReadFixed(record, wire))
    return DecodeFault::kTooShort;
  const auto witness = InRange(wire.witness, HttpWitness::kWire, HttpWitness::kLibrary);
  if (!witness || (wire.status != 0 && (wire.status < 100 || wire.status > 999)))
    return DecodeFault::kBadValue;
  HttpResponseHead head;
  head.witness = *witness;
  SetKey(wire, head);
  head.request_index = wire.request_index;
  head.status = wire.status;
  head.malformed = Has(wire.flags, RL_HTTP_MALFORMED);
  head.unknown = Has(wire.flags, RL_HTTP_UNKNOWN);
  head.in_tunnel = Has(wire.flags, RL_HTTP_IN_TUNNEL);
  head.upgraded = Has(wire.flags, RL_HTTP_UPGRADED);
  // No status is only ever said together with why.
  if ((head.status == 0) != (head.malformed || head.unknown))
    return DecodeFault::kBadValue;
  return head;
}

Body DecodeDns(std::span<const std::byte> record) {
  constexpr size_t kBytesOffset = offsetof(rl_ev_dns, bytes);
  rl_ev_dns wire;
  if (!ReadFixed(record, wire))
    return DecodeFault::kTooShort;
  const auto direction = DirectionOf(wire.direction);
  const auto data = Data(record, kBytesOffset, wire.length);
  if (!data)
    return DecodeFault::kBadLength;
  if (!direction)
    return DecodeFault::kBadValue;
  return DnsDatagram{OwnerOf(wire.owner),
                     FlowOf(wire.cookie),
                     wire.netns_cookie,
                     EndpointOf(wire.remote),
                     wire.local_port,
                     *direction,
                     wire.wire_length > wire.length,
                     {data->begin(), data->end()}};
}

Body DecodeLibrary(std::span<const std::byte> record) {
  rl_ev_library wire;
  if (!ReadFixed(record, wire))
    return DecodeFault::kTooShort;
  const auto op = InRange(wire.op, LibraryOp::kHelloRandom, LibraryOp::kStart);
  if (!op)
    return DecodeFault::kBadValue;
  LibraryCall call;
  call.owner = OwnerOf(wire.owner);
  call.session = {call.owner.process, wire.ssl};
  call.op = *op;
  call.value = wire.value;
  call.detail = wire.detail;
  std::memcpy(call.data.data(), wire.data, call.data.size());
  return call;
}

Body DecodeResolver(std::span<const std::byte> record) {
  rl_ev_resolver wire;
  if (!ReadFixed(record, wire))
    return DecodeFault::kTooShort;
  if (wire.name_length > RL_NAME_MAX || wire.address_count > RL_RESOLVED_MAX)
    return DecodeFault::kBadLength;
  ResolverResult result;
  result.owner = OwnerOf(wire.owner);
  result.started = {wire.started_boot_ns};
  result.result = wire.result;
  result.name = Text(std::as_bytes(std::span(wire.name, wire.name_length)));
  for (size_t i = 0; i < wire.address_count; ++i)
    result.addresses.push_back(AddressOf(wire.addresses[i]));
  result.truncated = wire.truncated != 0;
  return result;
}

Body DecodeProcess(std::span<const std::byte> record) {
  rl_ev_process wire;
  if (!ReadFixed(record, wire))
    return DecodeFault::kTooShort;
  const auto op = InRange(wire.op, ProcessOp::kFork, ProcessOp::kExit);
  if (!op)
    return DecodeFault::kBadValue;
  return ProcessEvent{OwnerOf(wire.owner), wire.parent_tgid, *op};
}

Body DecodeBody(unsigned kind, std::span<const std::byte> record) {
  switch (kind) {
    case RL_EV_CONNECT:
      return DecodeConnect(record);
    case RL_EV_CONNECT_ERROR:
      return DecodeConnectError(record);
    case RL_EV_ESTABLISHED:
      return DecodeEstablished(record);
    case RL_EV_PEER_FIN:
      return DecodePeerFin(record);
    case RL_EV_FLOW_END:
      return DecodeFlowEnd(record);
    case RL_EV_STREAM:
      return DecodeStream(record);
    case RL_EV_TLS_RECORD:
      return DecodeTlsRecord(record);
    case RL_EV_HTTP_REQUEST:
      return DecodeHttpRequest(record);
    case RL_EV_HTTP_RESPONSE:
      return DecodeHttpResponse(record);
    case RL_EV_DNS:
      return DecodeDns(record);
    case RL_EV_LIBRARY:
      return DecodeLibrary(record);
    case RL_EV_RESOLVER:
      return DecodeResolver(record);
    case RL_EV_PROCESS:
      return DecodeProcess(record);
    default:
      return DecodeFault::kUnknownKind;
  }
}

}  // namespace

std::string_view ToString(DecodeFault fault) {
  switch (fault) {
    case DecodeFault::kTooShort:
      return "too_short";
    case DecodeFault::kVersionMismatch:
      return "version_mismatch";
    case DecodeFault::kUnknownKind:
      return "unknown_kind";
    case DecodeFault::kBadLength:
      return "bad_length";
    case DecodeFault::kBadValue:
      return "bad_value";
  }
  return "unknown";
}

DecodedEvent DecodeEvent(std::span<const std::byte> record) {
  rl_event_header header;
  if (!ReadFixed(record, header))
    return DecodeFault::kTooShort;
  if (header.abi_version != RL_ABI_VERSION)
    return DecodeFault::kVersionMismatch;
  if (header.size < sizeof header || header.size > record.size())
    return DecodeFault::kBadLength;
  const auto role = InRange(header.role, Role::kWorkload, Role::kProxy);
  if (!role || header.boundary >= RL_MAX_BOUNDARIES || header.boot_ns > INT64_MAX)
    return DecodeFault::kBadValue;

  Body body = DecodeBody(header.kind, record.first(header.size));
  if (const auto* fault = std::get_if<DecodeFault>(&body))
    return *fault;
  return Event{
      {{header.boot_ns}, header.seq, header.dropped, BoundaryIndex{header.boundary}, *role},
      std::get<EventBody>(std::move(body))};
}

std::span<const std::byte> RecordBytes(std::span<const std::byte> record) {
  rl_event_header header;
  if (!ReadFixed(record, header) || header.size < sizeof header || header.size > record.size())
    return record;
  return record.first(header.size);
}

BootTime TimeOf(std::span<const std::byte> record) {
  rl_event_header header;
  if (!ReadFixed(record, header) || header.boot_ns > INT64_MAX)
    return {};
  return {header.boot_ns};
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// The inverse of userspace/decode/event_decoder.cc, for tests: written from bpf/abi/events.h alone.
#include <algorithm>
#include <cstring>

#include "bpf/abi/events.h"
#include "tests/support/event_builder.h"

namespace routelens {
namespace {

class Encoder {
 public:
  explicit Encoder(const EventHeader& header) : header_(header) {}

  template <typename T>
  std::vector<std::byte> Finish(T record, uint16_t kind, const std::vector<std::byte>& tail = {},
                                size_t head_bytes = sizeof(T)) {
    record.header.boot_ns = header_.time.ns;
    record.header.seq = header_.seq;
    record.header.dropped = header_.dropped;
    record.header.boundary = static_cast<uint32_t>(header_.boundary);
    record.header.role = static_cast<uint8_t>(header_.role);
    record.header.kind = kind;
    record.header.abi_version = RL_ABI_VERSION;
    record.header.size = static_cast<uint16_t>(head_bytes + tail.size());
    std::vector<std::byte> bytes(head_bytes + tail.size());
    std::memcpy(bytes.data(), &record, head_bytes);
    std::copy(tail.begin(), tail.end(), bytes.begin() + static_cast<std::ptrdiff_t>(head_bytes));
    return bytes;
  }

 private:
  EventHeader header_;
};

rl_owner Raw(const Owner& owner) {
  rl_owner raw = {};
  raw.start_boot_ns = owner.process.start_boot_ns;
  raw.cgroup_id = owner.cgroup_id;
  raw.tgid = owner.process.tgid;
  raw.tid = owner.tid;
  std::copy_n(owner.comm.begin(), std::min<size_t>(owner.comm.size(), RL_COMM_BYTES - 1), raw.comm);
  return raw;
}

rl_address Raw(const Endpoint& endpoint) {
  rl_address raw = {};
  std::copy(endpoint.address.bytes.begin(), endpoint.address.bytes.end(), raw.addr);
  raw.port = endpoint.port;
  raw.scope_id = endpoint.scope_id;
  return raw;
}

void AppendText(std::string_view text, std::vector<std::byte>& to) {
  for (const char c : text) to.push_back(static_cast<std::byte>(c));
}

uint16_t Bit(bool set, int flag) {
  return static_cast<uint16_t>(set ? flag : 0);
}

struct EncodeBody {
  Encoder encoder;

  std::vector<std::byte> operator()(const ConnectAttempt& e) {
    rl_ev_connect raw = {};
    raw.owner = Raw(e.owner);
    raw.cookie = static_cast<uint64_t>(e.flow);
    raw.netns_cookie = e.netns;
    raw.remote = Raw(e.remote);
    raw.flags = Bit(e.preexisting, RL_CONNECT_PREEXISTING) |
                static_cast<uint32_t>(Bit(e.denied_by_policy_hook, RL_CONNECT_DENIED)) |
                Bit(e.owner_guessed, RL_CONNECT_OWNER_GUESS);
    raw.protocol = static_cast<uint8_t>(e.transport);
    raw.family = e.remote.address.is_v4() ? 2 : 10;
    return encoder.Finish(raw, RL_EV_CONNECT);
  }

  std::vector<std::byte> operator()(const ConnectError& e) {
    rl_ev_connect_error raw = {};
    raw.cookie = static_cast<uint64_t>(e.flow);
    raw.error = e.error;
    raw.via = RL_VIA_FEXIT;
    raw.soft = e.soft ? 1 : 0;
    return encoder.Finish(raw, RL_EV_CONNECT_ERROR);
  }

  std::vector<std::byte> operator()(const Established& e) {
    rl_ev_established raw = {};
    raw.cookie = static_cast<uint64_t>(e.flow);
    raw.local = Raw(e.local);
    raw.remote = Raw(e.remote);
    return encoder.Finish(raw, RL_EV_ESTABLISHED);
  }

  std::vector<std::byte> operator()(const PeerFin& e) {
    rl_ev_peer_fin raw = {};
    raw.cookie = static_cast<uint64_t>(e.flow);
    return encoder.Finish(raw, RL_EV_PEER_FIN);
  }

  std::vector<std::byte> operator()(const FlowEnd& e) {
    rl_ev_flow_end raw = {};
    raw.cookie = static_cast<uint64_t>(e.flow);
    raw.bytes_received = e.bytes_received;
    raw.bytes_acked = e.bytes_acked;
    raw.last_receive_boot_ns = e.last_receive.ns;
    raw.retransmits = e.retransmits;
    const std::pair<bool, int> flags[] = {{e.syn_seen, RL_END_SYN_SEEN},
                                          {e.egress_proven, RL_END_EGRESS_PROVEN},
                                          {e.peer_fin, RL_END_PEER_FIN},
                                          {e.owner_fin, RL_END_OWNER_FIN},
                                          {e.reset_received, RL_END_RESET_RECEIVED},
                                          {e.reset_sent, RL_END_RESET_SENT},
                                          {e.hole, RL_END_HOLE},
                                          {e.no_state_change, RL_END_NO_STATE_CHANGE},
                                          {e.established, RL_END_ESTABLISHED},
                                          {e.served, RL_END_SERVED},
                                          {e.request_open, RL_END_REQUEST_OPEN},
                                          {e.head_open, RL_END_HEAD_OPEN}};
    for (const auto& [set, flag] : flags) raw.flags |= Bit(set, flag);
    raw.error = e.error;
    raw.cause = static_cast<uint8_t>(e.cause);
    raw.state = static_cast<uint8_t>(e.state);
    return encoder.Finish(raw, RL_EV_FLOW_END);
  }

  std::vector<std::byte> operator()(const StreamBytes& e) {
    rl_ev_stream raw = {};
    raw.cookie = static_cast<uint64_t>(e.flow);
    raw.offset = e.offset;
    raw.length = static_cast<uint16_t>(e.bytes.size());
    raw.direction = static_cast<uint8_t>(e.direction);
    raw.protocol = static_cast<uint8_t>(e.protocol);
    raw.flags =
        static_cast<uint8_t>(Bit(e.hole, RL_STREAM_HOLE) | Bit(e.truncated, RL_STREAM_TRUNCATED) |
                             Bit(e.in_tunnel, RL_STREAM_IN_TUNNEL));
    return encoder.Finish(raw, RL_EV_STREAM, e.bytes);
  }

  std::vector<std::byte> operator()(const TlsRecord& e) {
    rl_ev_tls_record raw = {};
    raw.cookie = static_cast<uint64_t>(e.flow);
    raw.index = e.index;
    raw.length = e.length;
    raw.version = e.version;
    raw.direction = static_cast<uint8_t>(e.direction);
    raw.content_type = e.content_type;
    raw.alert_level = e.alert_level;
    raw.alert_description = e.alert_description;
    raw.flags = static_cast<uint8_t>(Bit(e.in_tunnel, RL_STREAM_IN_TUNNEL));
    return encoder.Finish(raw, RL_EV_TLS_RECORD);
  }

  std::vector<std::byte> operator()(const HttpRequestHead& e) {
    // The struct ends in a flexible array, which can be neither copied nor given back by value.
    struct Head {
      rl_event_header header;
      rl_owner owner;
      uint64_t key;
      uint32_t request_index;
      uint16_t path_length;
      uint16_t host_length;
      uint16_t flags;
      uint8_t witness;
      uint8_t method;
      uint8_t form;
      uint8_t pad[3];
    } raw = {};

    const bool wire = e.witness == HttpWitness::kWire;
    if (!wire)
      raw.owner = Raw(Owner{e.session.process, 0, 0, ""});
    raw.key = wire ? static_cast<uint64_t>(e.flow) : e.session.ssl;
    raw.request_index = e.request_index;
    raw.path_length = static_cast<uint16_t>(e.path.size());
    raw.host_length = static_cast<uint16_t>(e.host.size());
    raw.flags = static_cast<uint16_t>(
        Bit(e.path_truncated, RL_HTTP_PATH_TRUNCATED) |
        Bit(e.host_truncated, RL_HTTP_HOST_TRUNCATED) | Bit(e.in_tunnel, RL_HTTP_IN_TUNNEL) |
        Bit(e.with_session, RL_HTTP_WITH_SESSION) | Bit(e.host_repeated, RL_HTTP_HOST_REPEATED));
    raw.witness = static_cast<uint8_t>(e.witness);
    raw.method = static_cast<uint8_t>(e.method);
    raw.form = static_cast<uint8_t>(e.form);
    std::vector<std::byte> text;
    AppendText(e.path, text);
    AppendText(e.host, text);
    return encoder.Finish(raw, RL_EV_HTTP_REQUEST, text, 104);
  }

  std::vector<std::byte> operator()(const HttpResponseHead& e) {
    rl_ev_http_response raw = {};
    const bool wire = e.witness == HttpWitness::kWire;
    if (!wire)
      raw.owner = Raw(Owner{e.session.process, 0, 0, ""});
    raw.key = wire ? static_cast<uint64_t>(e.flow) : e.session.ssl;
    raw.request_index = e.request_index;
    raw.status = e.status;
    raw.flags = static_cast<uint16_t>(
        Bit(e.malformed, RL_HTTP_MALFORMED) | Bit(e.unknown, RL_HTTP_UNKNOWN) |
        Bit(e.in_tunnel, RL_HTTP_IN_TUNNEL) | Bit(e.upgraded, RL_HTTP_UPGRADED));
    raw.witness = static_cast<uint8_t>(e.witness);
    return encoder.Finish(raw, RL_EV_HTTP_RESPONSE);
  }

  std::vector<std::byte> operator()(const DnsDatagram& e) {
    struct Head {
      rl_event_header header;
      rl_owner owner;
      uint64_t cookie;
      uint64_t netns_cookie;
      rl_address remote;
      uint16_t local_port;
      uint16_t length;
      uint16_t wire_length;
      uint8_t direction;
      uint8_t pad;
    } raw = {};

    raw.owner = Raw(e.owner);
    raw.cookie = static_cast<uint64_t>(e.flow);
    raw.netns_cookie = e.netns;
    raw.remote = Raw(e.remote);
    raw.local_port = e.local_port;
    raw.length = static_cast<uint16_t>(e.bytes.size());
    raw.wire_length = static_cast<uint16_t>(e.bytes.size() + (e.truncated ? 1 : 0));
    raw.direction = static_cast<uint8_t>(e.direction);
    return encoder.Finish(raw, RL_EV_DNS, e.bytes, 128);
  }

  std::vector<std::byte> operator()(const LibraryCall& e) {
    rl_ev_library raw = {};
    raw.owner = Raw(e.owner);
    raw.ssl = e.session.ssl;
    raw.value = e.value;
    raw.detail = e.detail;
    raw.op = static_cast<uint8_t>(e.op);
    std::memcpy(raw.data, e.data.data(), e.data.size());
    return encoder.Finish(raw, RL_EV_LIBRARY);
  }

  std::vector<std::byte> operator()(const ResolverResult& e) {
    rl_ev_resolver raw = {};
    raw.owner = Raw(e.owner);
    raw.started_boot_ns = e.started.ns;
    raw.result = e.result;
    raw.name_length = static_cast<uint16_t>(e.name.size());
    raw.address_count = static_cast<uint8_t>(e.addresses.size());
    raw.truncated = e.truncated ? 1 : 0;
    for (size_t i = 0; i < e.addresses.size() && i < RL_RESOLVED_MAX; i++)
      std::memcpy(raw.addresses[i], e.addresses[i].bytes.data(), 16);
    std::memcpy(raw.name, e.name.data(), std::min<size_t>(e.name.size(), RL_NAME_MAX));
    return encoder.Finish(raw, RL_EV_RESOLVER);
  }

  std::vector<std::byte> operator()(const ProcessEvent& e) {
    rl_ev_process raw = {};
    raw.owner = Raw(e.owner);
    raw.parent_tgid = e.parent_tgid;
    raw.op = static_cast<uint8_t>(e.op);
    return encoder.Finish(raw, RL_EV_PROCESS);
  }
};

}  // namespace

std::vector<std::byte> EncodeRecord(const Event& event) {
  return std::visit(EncodeBody{Encoder(event.header)}, event.body);
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "bench/event_stream.h"

#include <netinet/in.h>

#include <cstring>

namespace routelens::bench {
namespace {

constexpr uint8_t kTcpEstablished = 1;
constexpr uint8_t kTcpSynSent = 2;
constexpr int kConnectionRefused = 111;
constexpr uint8_t kHandshake = 22;

rl_address Ipv4(uint32_t peer, uint16_t port) {
  rl_address address{};
  address.addr[10] = 0xff;
  address.addr[11] = 0xff;
  address.addr[12] = 10;
  address.addr[13] = static_cast<uint8_t>(peer >> 16);
  address.addr[14] = static_cast<uint8_t>(peer >> 8);
  address.addr[15] = static_cast<uint8_t>(peer);
  address.port = port;
  return address;
}

rl_owner Owner() {
  rl_owner owner{};
  owner.start_boot_ns = 1'000'000'000;
  owner.cgroup_id = 4242;
  owner.tgid = 4000;
  owner.tid = 4000;
  std::memcpy(owner.comm, "bench", 6);
  return owner;
}

void AppendBe16(std::vector<uint8_t>& out, size_t value) {
  out.push_back(static_cast<uint8_t>(value >> 8));
  out.push_back(static_cast<uint8_t>(value));
}

// The least that RFC 8446 section 4.1.2 allows, with a server name (RFC 6066 section 3). The
// random is the cookie repeated, so that no two hellos are alike.
std::vector<uint8_t> HelloRecord(uint64_t cookie, std::string_view host) {
  std::vector<uint8_t> name;
  AppendBe16(name, host.size() + 3);
  name.push_back(0);
  AppendBe16(name, host.size());
  name.insert(name.end(), host.begin(), host.end());

  std::vector<uint8_t> body{3, 3};
  for (int word = 0; word < 4; ++word) {
    for (int shift = 0; shift < 64; shift += 8)
      body.push_back(static_cast<uint8_t>(cookie >> shift));
  }
  body.push_back(0);                            // no session id
  body.insert(body.end(), {0, 2, 0x13, 0x01});  // one cipher suite
  body.insert(body.end(), {1, 0});              // no compression
  AppendBe16(body, name.size() + 4 + 7);        // extensions
  body.insert(body.end(), {0, 0});              // server_name
  AppendBe16(body, name.size());
  body.insert(body.end(), name.begin(), name.end());
  body.insert(body.end(), {0, 43, 0, 3, 2, 3, 4});  // supported_versions: 1.3

  std::vector<uint8_t> record{kHandshake, 3, 1};
  AppendBe16(record, body.size() + 4);
  record.insert(record.end(), {1, 0});
  AppendBe16(record, body.size());
  record.insert(record.end(), body.begin(), body.end());
  return record;
}

}  // namespace

std::byte* EventStream::Append(uint16_t kind, size_t bytes) {
  const size_t begin = bytes_.size();
  bytes_.resize(begin + bytes);
  rl_event_header header{};
  header.boot_ns = now_ns_;
  header.seq = ++seq_;
  header.kind = kind;
  header.size = static_cast<uint16_t>(bytes);
  header.abi_version = RL_ABI_VERSION;
  header.role = RL_ROLE_WORKLOAD;
  std::memcpy(&bytes_[begin], &header, sizeof header);
  ends_.push_back(bytes_.size());
  now_ns_ += step_ns_;
  return &bytes_[begin];
}

uint64_t EventStream::Connect(uint32_t peer, uint16_t port) {
  std::byte* to = Append(RL_EV_CONNECT, sizeof(rl_ev_connect));
  rl_ev_connect event{};
  std::memcpy(&event.header, to, sizeof event.header);
  event.owner = Owner();
  event.cookie = ++last_cookie_;
  event.netns_cookie = 1;
  event.remote = Ipv4(peer, port);
  event.protocol = IPPROTO_TCP;
  event.family = AF_INET;
  std::memcpy(to, &event, sizeof event);
  return event.cookie;
}

void EventStream::Established(uint64_t cookie, uint32_t peer, uint16_t port) {
  std::byte* to = Append(RL_EV_ESTABLISHED, sizeof(rl_ev_established));
  rl_ev_established event{};
  std::memcpy(&event.header, to, sizeof event.header);
  event.cookie = cookie;
  event.local = Ipv4(1, 40000);
  event.remote = Ipv4(peer, port);
  std::memcpy(to, &event, sizeof event);
}

void EventStream::Request(uint64_t cookie, uint32_t index, std::string_view path,
                          std::string_view host) {
  constexpr size_t kHead = offsetof(rl_ev_http_request, text);
  std::byte* to = Append(RL_EV_HTTP_REQUEST, kHead + path.size() + host.size());
  rl_ev_http_request event{};
  std::memcpy(&event.header, to, sizeof event.header);
  event.key = cookie;
  event.request_index = index;
  event.path_length = static_cast<uint16_t>(path.size());
  event.host_length = static_cast<uint16_t>(host.size());
  event.witness = RL_HTTP_WIRE;
  event.method = RL_METHOD_POST;
  event.form = RL_FORM_ORIGIN;
  std::memcpy(to, &event, kHead);
  std::memcpy(to + kHead, path.data(), path.size());
  std::memcpy(to + kHead + path.size(), host.data(), host.size());
}

void EventStream::Response(uint64_t cookie, uint32_t index, uint16_t status) {
  std::byte* to = Append(RL_EV_HTTP_RESPONSE, sizeof(rl_ev_http_response));
  rl_ev_http_response event{};
  std::memcpy(&event.header, to, sizeof event.header);
  event.key = cookie;
  event.request_index = index;
  event.status = status;
  event.witness = RL_HTTP_WIRE;
  std::memcpy(to, &event, sizeof event);
}

void EventStream::ClientHello(uint64_t cookie, std::string_view host) {
  const std::vector<uint8_t> record = HelloRecord(cookie, host);
  TlsRecordHead(cookie, 0, RL_EGRESS, kHandshake, static_cast<uint16_t>(record.size() - 5));
  std::byte* to = Append(RL_EV_STREAM, sizeof(rl_ev_stream) + record.size());
  rl_ev_stream event{};
  std::memcpy(&event.header, to, sizeof event.header);
  event.cookie = cookie;
  event.length = static_cast<uint16_t>(record.size());
  event.direction = RL_EGRESS;
  event.protocol = RL_STREAM_TLS;
  std::memcpy(to, &event, sizeof event);
  std::memcpy(to + sizeof event, record.data(), record.size());
}

void EventStream::TlsRecordHead(uint64_t cookie, uint16_t index, uint8_t direction,
                                uint8_t content_type, uint16_t length) {
  std::byte* to = Append(RL_EV_TLS_RECORD, sizeof(rl_ev_tls_record));
  rl_ev_tls_record event{};
  std::memcpy(&event.header, to, sizeof event.header);
  event.cookie = cookie;
  event.index = index;
  event.length = length;
  event.version = 0x0303;
  event.direction = direction;
  event.content_type = content_type;
  std::memcpy(to, &event, sizeof event);
}

void EventStream::Closed(uint64_t cookie) {
  std::byte* to = Append(RL_EV_FLOW_END, sizeof(rl_ev_flow_end));
  rl_ev_flow_end event{};
  std::memcpy(&event.header, to, sizeof event.header);
  event.cookie = cookie;
  event.bytes_received = 512;
  event.bytes_acked = 513;
  event.last_receive_boot_ns = event.header.boot_ns - step_ns_;
  event.flags = RL_END_SYN_SEEN | RL_END_EGRESS_PROVEN | RL_END_ESTABLISHED | RL_END_SERVED;
  event.cause = RL_END_RELEASED;
  event.state = kTcpEstablished;
  std::memcpy(to, &event, sizeof event);
}

void EventStream::Refused(uint64_t cookie) {
  std::byte* to = Append(RL_EV_FLOW_END, sizeof(rl_ev_flow_end));
  rl_ev_flow_end event{};
  std::memcpy(&event.header, to, sizeof event.header);
  event.cookie = cookie;
  event.flags = RL_END_SYN_SEEN | RL_END_EGRESS_PROVEN | RL_END_RESET_RECEIVED;
  event.error = kConnectionRefused;
  event.cause = RL_END_FAILED;
  event.state = kTcpSynSent;
  std::memcpy(to, &event, sizeof event);
}

void EventStream::Clear() {
  bytes_.clear();
  ends_.clear();
}

std::span<const std::byte> EventStream::record(size_t i) const {
  const size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::span(bytes_).subspan(begin, ends_[i] - begin);
}

}  // namespace routelens::bench

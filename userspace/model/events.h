// SPDX-License-Identifier: Apache-2.0
//
// What the kernel side saw, as values: one struct for each record of bpf/abi/events.h, decoded.
// The meaning of each member is said there. No I/O, no kernel type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "userspace/model/address.h"
#include "userspace/model/ids.h"
#include "userspace/model/time.h"

namespace routelens {

enum class Direction : uint8_t { kEgress = 0, kIngress = 1 };

enum class Transport : uint8_t { kTcp = 6, kUdp = 17 };

struct EventHeader {
  BootTime time;
  uint64_t seq = 0;  // 0: the kernel numbers nothing
  uint64_t dropped = 0;
  BoundaryIndex boundary{};
  Role role = Role::kWorkload;
  friend bool operator==(const EventHeader&, const EventHeader&) = default;
};

struct ConnectAttempt {
  Owner owner;
  FlowId flow{};
  uint64_t netns = 0;
  Endpoint remote;
  Transport transport = Transport::kTcp;
  bool preexisting = false;
  bool denied_by_policy_hook = false;
  bool owner_guessed = false;
  friend bool operator==(const ConnectAttempt&, const ConnectAttempt&) = default;
};

struct ConnectError {
  FlowId flow{};
  int error = 0;      // positive errno
  bool soft = false;  // an ICMP error that connect() has not returned
  friend bool operator==(const ConnectError&, const ConnectError&) = default;
};

struct Established {
  FlowId flow{};
  Endpoint local;
  Endpoint remote;
  friend bool operator==(const Established&, const Established&) = default;
};

struct PeerFin {
  FlowId flow{};
  friend bool operator==(const PeerFin&, const PeerFin&) = default;
};

enum class EndCause : uint8_t { kReleased = 1, kFailed = 2 };

// TCP states, include/net/tcp_states.h.
enum class TcpState : uint8_t {
  kEstablished = 1,
  kSynSent = 2,
  kSynReceived = 3,
  kFinWait1 = 4,
  kFinWait2 = 5,
  kTimeWait = 6,
  kClose = 7,
  kCloseWait = 8,
  kLastAck = 9,
  kListen = 10,
  kClosing = 11,
  kNewSynReceived = 12,
};

struct FlowEnd {
  FlowId flow{};
  EndCause cause = EndCause::kReleased;
  TcpState state = TcpState::kClose;
  int error = 0;
  uint64_t bytes_received = 0;
  uint64_t bytes_acked = 0;
  BootTime last_receive;
  uint32_t retransmits = 0;
  bool syn_seen = false;
  bool egress_proven = false;
  bool peer_fin = false;
  bool owner_fin = false;  // the owner had closed its half before the peer did
  bool reset_received = false;
  bool reset_sent = false;
  bool hole = false;
  bool no_state_change = false;
  bool established = false;
  bool served = false;
  bool request_open = false;
  bool head_open = false;
  friend bool operator==(const FlowEnd&, const FlowEnd&) = default;
};

enum class StreamProtocol : uint8_t { kTls = 1, kDns = 2 };

struct StreamBytes {
  FlowId flow{};
  Direction direction = Direction::kEgress;
  StreamProtocol protocol = StreamProtocol::kTls;
  uint32_t offset = 0;
  bool hole = false;
  bool truncated = false;
  bool in_tunnel = false;
  std::vector<std::byte> bytes;
  friend bool operator==(const StreamBytes&, const StreamBytes&) = default;
};

// Of each direction of a connection no more records are described (alerts in the clear apart).
constexpr uint16_t kTlsRecordsDescribed = 24;

struct TlsRecord {
  FlowId flow{};
  Direction direction = Direction::kEgress;
  uint16_t index = 0;
  uint8_t content_type = 0;
  uint16_t version = 0;  // 0: the first bytes were not a TLS record
  uint16_t length = 0;
  uint8_t alert_level = 0;  // 0: no alert in the clear
  uint8_t alert_description = 0;
  bool in_tunnel = false;
  friend bool operator==(const TlsRecord&, const TlsRecord&) = default;
};

enum class HttpWitness : uint8_t { kWire = 1, kLibrary = 2 };

enum class HttpMethod : uint8_t { kOther, kGet, kPost, kDelete, kHead, kConnect, kOptions, kPut };

enum class HttpForm : uint8_t { kOrigin = 1, kAbsolute, kAuthority, kAsterisk, kH2 };

struct HttpRequestHead {
  HttpWitness witness = HttpWitness::kWire;
  FlowId flow{};           // wire
  LibrarySession session;  // library
  uint32_t request_index = 0;
  HttpMethod method = HttpMethod::kOther;
  HttpForm form = HttpForm::kOrigin;
  std::string path;  // up to '?', as sent
  std::string host;  // Host value or authority, as sent, port included
  bool path_truncated = false;
  bool host_truncated = false;
  bool host_repeated = false;
  bool in_tunnel = false;
  bool with_session = false;
  friend bool operator==(const HttpRequestHead&, const HttpRequestHead&) = default;
};

struct HttpResponseHead {
  HttpWitness witness = HttpWitness::kWire;
  FlowId flow{};
  LibrarySession session;
  uint32_t request_index = 0;
  uint16_t status = 0;
  bool malformed = false;
  bool unknown = false;  // HTTP/2: a status we cannot read
  bool in_tunnel = false;
  bool upgraded = false;
  friend bool operator==(const HttpResponseHead&, const HttpResponseHead&) = default;
};

struct DnsDatagram {
  Owner owner;
  FlowId flow{};
  uint64_t netns = 0;
  Endpoint remote;
  uint16_t local_port = 0;
  Direction direction = Direction::kEgress;
  bool truncated = false;  // by us, not the TC bit
  std::vector<std::byte> bytes;
  friend bool operator==(const DnsDatagram&, const DnsDatagram&) = default;
};

enum class LibraryOp : uint8_t {
  kHelloRandom = 1,
  kVerify,
  kError,
  kResult,
  kVerifyAsked,
  kFree,
  kStart,
};

struct LibraryCall {
  Owner owner;
  LibrarySession session;
  LibraryOp op = LibraryOp::kStart;
  int64_t value = 0;
  int32_t detail = 0;
  std::array<std::byte, 32> data{};
  friend bool operator==(const LibraryCall&, const LibraryCall&) = default;
};

struct ResolverResult {
  Owner owner;
  BootTime started;
  int result = 0;
  std::string name;
  std::vector<IpAddress> addresses;
  bool truncated = false;
  friend bool operator==(const ResolverResult&, const ResolverResult&) = default;
};

enum class ProcessOp : uint8_t { kFork = 1, kExec, kExit };

struct ProcessEvent {
  Owner owner;
  uint32_t parent_tgid = 0;
  ProcessOp op = ProcessOp::kFork;
  friend bool operator==(const ProcessEvent&, const ProcessEvent&) = default;
};

using EventBody = std::variant<ConnectAttempt, ConnectError, Established, PeerFin, FlowEnd,
                               StreamBytes, TlsRecord, HttpRequestHead, HttpResponseHead,
                               DnsDatagram, LibraryCall, ResolverResult, ProcessEvent>;

struct Event {
  EventHeader header;
  EventBody body;
  friend bool operator==(const Event&, const Event&) = default;
};

}  // namespace routelens

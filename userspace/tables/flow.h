// SPDX-License-Identifier: Apache-2.0
//
// What is known of one connection attempt and of what it became. Plain facts in the order in which
// they came; what they mean is for correlate/ and classify/. Bytes of the wire are never kept here.
//
// Life of a flow:
//   kConnecting  --Established-->              kEstablished  --FlowEnd-->  erased *
//   kConnecting  --ConnectError or FlowEnd-->  erased; the attempt group keeps what is needed
// * After a reset a little later: its library may still tell what came before.
// A pre-existing flow starts as kEstablished.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "userspace/model/address.h"
#include "userspace/model/events.h"
#include "userspace/model/ids.h"
#include "userspace/model/time.h"

namespace routelens {

enum class FlowPhase : uint8_t { kConnecting, kEstablished };

// Names that DNS or getaddrinfo gave this flow's process for its address, when it connected.
struct AddressName {
  enum class Kind : uint8_t {
    kNone,     // no name is known to have been resolved to the address
    kOne,      // exactly one: `name`
    kSeveral,  // more than one fits
    kUnsure,   // events were lost: others may have been resolved unseen
  };
  Kind kind = Kind::kNone;
  std::string name;
};

// The TLS conversation, as far as record heads and the first flight tell. Times are of the record.
struct TlsFacts {
  BootTime client_hello;
  BootTime complete;  // from the client's side: its Finished sent, or the server's received
  BootTime last_server_record;
  BootTime first_client_data;      // of the running exchange: after the last answer
  uint16_t version = 0;            // 0x0303, 0x0304; 0 while unknown
  bool client_hello_read = false;  // its bytes were there and made sense
  bool encrypted_hello = false;
  bool server_hello = false;
  bool resumed = false;
  bool early_data = false;
  bool not_tls = false;
  bool fatal_alert_received = false;
  bool fatal_alert_sent = false;
  bool client_changed_cipher = false;
  bool server_changed_cipher = false;
  bool client_finished = false;
  bool server_finished = false;      // TLS 1.2: its record after ChangeCipherSpec
  bool server_protected = false;     // TLS 1.3: a protected record came before our Finished
  bool client_certificate = false;   // the client's flight had a Certificate message
  bool short_client_record = false;  // instead of the client's Finished: an alert nobody can read
  bool client_close_alert = false;   // after completion: close_notify, most likely
  bool short_server_record = false;  // after completion, in the size of an alert
  bool server_data = false;          // application data after the client's
  bool answered_again = false;       // `server_data` since `first_client_data`
  BootTime last_long_server_record;  // after completion, longer than an alert
  bool server_records_end = false;   // the kernel side describes no more of them
  bool hole = false;                 // records were missed: no claim by absence
};

// What the TLS library said of the session that was joined to this flow.
struct LibraryFacts {
  bool joined = false;
  bool spoke_http = false;   // its plaintext is being read: statuses will be seen
  int32_t verify_error = 0;  // X509_V_*, 0 is good
  int32_t error = 0;         // first reason that is not a consequence
};

// One request that waits for its final answer.
struct PendingRequest {
  BootTime start;
  uint32_t index = 0;
  HttpWitness witness = HttpWitness::kWire;
  HttpMethod method = HttpMethod::kOther;
  HttpForm form = HttpForm::kOrigin;
  bool with_session = false;
  bool in_tunnel = false;
  bool path_known = false;
  bool host_unusable = false;  // repeated or truncated: the request names nobody
  bool interim = false;        // a 1xx came
  std::string path;
  std::string host;
};

struct Flow {
  FlowId id{};
  BoundaryIndex boundary{};
  Role role = Role::kWorkload;
  FlowPhase phase = FlowPhase::kConnecting;
  Transport transport = Transport::kTcp;
  ProcessKey owner;
  Endpoint remote;  // as asked
  BootTime started;
  BootTime exchange_start;  // of the lookup that led here, if this flow was the first to use it
  BootTime established;
  BootTime peer_fin;
  uint64_t group = 0;  // attempt group; 0 for none
  bool preexisting = false;
  bool denied = false;
  bool is_dns = false;
  bool lossy = false;  // events were lost while it was open: nothing is concluded from absence
  int soft_error = 0;  // ICMP has answered the SYN: what the owner is told when it asks
  bool loser = false;  // another attempt of its group was first
  std::optional<FlowEnd> ended;  // it is over, and waits for what its library may still tell
  BootTime ended_at;
  bool judged = false;       // the connection itself (not a request on it) has had its outcome
  bool clock_set = false;    // a timer waits to report what cannot be read
  BootTime unread_reported;  // `tls.first_client_data` of the last exchange reported as unreadable
  AddressName address_name;
  std::string sni;  // as sent
  // Behind a CONNECT that was answered 2xx.
  bool in_tunnel = false;
  std::string tunnel_authority;
  TlsFacts tls;
  LibraryFacts library;
  uint32_t requests = 0;  // seen on this flow
  uint32_t answers = 0;   // final ones
  absl::InlinedVector<PendingRequest, 1> outstanding;
};

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Everything that the classifier may look at: the digest of one exchange, made by correlate/ when
// nothing more can come (or when something final has been seen). Plain values: no name, no address,
// no route, so that a rule cannot depend on them. Absence of a witness is a value of its own.
#pragma once

#include <cstdint>

#include "userspace/model/events.h"
#include "userspace/model/time.h"

namespace routelens {

// What kind of thing ended.
enum class ExchangeKind : uint8_t {
  kLookup,      // a name look-up that gave no address
  kAttempt,     // one connect() that never became a connection
  kConnection,  // a connection on which no request could be read
  kRequest,     // an HTTP request
};

// Who ended the connection.
enum class EndedBy : uint8_t {
  kNobody,   // it is still open
  kOwner,    // the process that had made it
  kPeer,     // the peer closed its half first
  kUnclear,  // both halves were closed, the order is not known
  kReset,    // by a reset from the peer
  kTimeout,  // the kernel gave up: bytes were not acknowledged
  kKernel,   // any other error of the kernel
};

// True of kUnclear as well: it may have been either.
constexpr bool ClosedFromAfar(EndedBy by) {
  return by == EndedBy::kPeer || by == EndedBy::kReset || by == EndedBy::kUnclear;
}

constexpr bool ClosedFromHere(EndedBy by) {
  return by == EndedBy::kOwner || by == EndedBy::kUnclear;
}

constexpr bool Ended(EndedBy by) {
  return by != EndedBy::kNobody;
}

enum class LookupResult : uint8_t {
  kNotSeen,    // no question on the wire
  kCancelled,  // asked and given up early
  kNxDomain,
  kServFail,
  kRefused,
  kOtherError,
  kEmpty,       // answered, without a usable address
  kNoAnswer,    // asked, and nobody answered for long
  kUnreadable,  // answered, but not to be read in full
};

struct LookupEvidence {
  LookupResult wire = LookupResult::kNotSeen;
  bool resolver_failed = false;  // getaddrinfo said so
  // No question was seen and getaddrinfo failed at once: it may only have been asked whether the
  // text is a number (AI_NUMERICHOST).
  bool resolver_may_not_have_asked = false;
  // The asker's connection to its name server was denied by a policy hook.
  bool denied_by_policy_hook = false;
};

struct ConnectEvidence {
  bool denied_by_policy_hook = false;
  bool failed = false;    // with an error, by the kernel
  bool at_once = false;   // within connect(): no packet was due
  bool given_up = false;  // by its owner, while it waited
  bool preexisting = false;
  bool syn_seen = false;
  bool egress_proven = false;
  int error = 0;
  uint32_t retransmits = 0;
  Duration lasted;
};

struct TlsEvidence {
  bool spoken = false;       // a ClientHello was sent
  bool hello_acked = false;  // the peer's TCP has it
  bool server_hello = false;
  bool complete = false;
  bool is_tls13 = false;
  bool resumed = false;
  bool not_tls = false;
  bool fatal_alert_received = false;
  bool fatal_alert_sent = false;
  bool short_client_record = false;
  bool client_certificate = false;
  bool short_server_record = false;
  bool client_close_alert = false;
  bool client_data = false;
  bool server_data = false;
  // The owner closed its half before the peer did; known where both are closed (kUnclear).
  bool owner_closed_first = false;
  Duration silence;         // from the last byte of the server (or the hello) to the end
  Duration after_complete;  // from completion to the end
  int32_t verify_error = 0;
  int32_t library_error = 0;
  bool peer_is_local = false;
};

enum class ProxyKnowledge : uint8_t {
  kNotKnown,        // a proxy answers, but none is under watch
  kUpstreamUsed,    // the watched proxy has connected upstream since
  kUpstreamUnused,  // it has not
};

struct RequestEvidence {
  bool answered = false;  // a final answer's head, or what stood for it
  bool malformed = false;
  bool unreadable = false;         // answered, but its status cannot be known
  bool head_open = false;          // the head had begun and was not whole
  bool one_of_several = false;     // more than one was outstanding at the end
  bool reused_connection = false;  // the connection had served before
  bool retried = false;            // the same owner asked again soon after
  bool via_proxy = false;          // in a tunnel, or in absolute form
  bool is_connect = false;
  bool with_session = false;
  ProxyKnowledge proxy = ProxyKnowledge::kNotKnown;
  HttpMethod method = HttpMethod::kOther;
  uint16_t status = 0;
  Duration waited;  // from the request to the end
};

struct ExchangeEvidence {
  ExchangeKind kind = ExchangeKind::kConnection;
  EndedBy ended_by = EndedBy::kNobody;
  bool lossy = false;       // events were lost, or bytes not seen in order: nothing by absence
  bool loser = false;       // another attempt of the same exchange came first
  bool owner_sent = false;  // any payload, as TCP counts it
  bool peer_sent = false;
  Duration connected_for;
  LookupEvidence lookup;
  ConnectEvidence connect;
  TlsEvidence tls;
  RequestEvidence request;
};

}  // namespace routelens

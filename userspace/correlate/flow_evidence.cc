// SPDX-License-Identifier: Apache-2.0
#include "userspace/correlate/flow_evidence.h"

#include <algorithm>
#include <cerrno>

#include "userspace/correlate/attempt_group.h"
#include "userspace/correlate/tls_progress.h"

namespace routelens {

EndedBy EndedByOf(const FlowEnd& end) {
  if (end.cause == EndCause::kFailed) {
    if (end.reset_received || end.error == ECONNRESET || end.error == EPIPE)
      return EndedBy::kReset;
    return end.error == ETIMEDOUT ? EndedBy::kTimeout : EndedBy::kKernel;
  }
  if (end.reset_received)
    return EndedBy::kReset;
  if (!end.peer_fin)
    return EndedBy::kOwner;
  switch (end.state) {
    case TcpState::kFinWait1:
    case TcpState::kFinWait2:
    case TcpState::kTimeWait:
    case TcpState::kClosing:
      return EndedBy::kOwner;
    case TcpState::kClose:
      return EndedBy::kUnclear;  // both have closed; which was first is gone
    default:
      return EndedBy::kPeer;
  }
}

ExchangeEvidence AttemptEvidence(const Flow& flow, const FlowEnd& end, int at_once_error,
                                 BootTime now) {
  ExchangeEvidence e;
  e.kind = ExchangeKind::kAttempt;
  e.lossy = flow.lossy;
  ConnectEvidence& c = e.connect;
  c.denied_by_policy_hook = flow.denied;
  c.preexisting = flow.preexisting;
  c.syn_seen = end.syn_seen;
  c.egress_proven = end.egress_proven;
  c.retransmits = end.retransmits;
  c.lasted = now - flow.started;
  c.error = end.error != 0 ? end.error : at_once_error;
  // Failed without an error and before the SYN left: inside connect(), for want of a route or a
  // port; only connect()'s own result tells which.
  c.at_once =
      end.no_state_change || (end.cause == EndCause::kFailed && end.error == 0 && !end.syn_seen);
  c.failed = end.cause == EndCause::kFailed || end.no_state_change;
  if (!c.failed && flow.soft_error != 0) {
    c.failed = true;
    c.error = flow.soft_error;
  }
  c.given_up = !c.failed;
  e.ended_by = c.given_up ? EndedBy::kOwner : EndedBy::kKernel;
  return e;
}

ExchangeEvidence AttemptEvidence(const Flow& flow, int at_once_error, BootTime now) {
  FlowEnd end;
  end.flow = flow.id;
  end.no_state_change = true;
  return AttemptEvidence(flow, end, at_once_error, now);
}

BootTime StartOf(const Flow& flow, BootTime asked) {
  if (flow.preexisting)
    return asked;
  const BootTime ready = std::max(flow.established, flow.tls.complete);
  return asked - ready <= kAttemptWindow ? flow.exchange_start : asked;
}

ExchangeEvidence ConnectionEvidence(const Flow& flow, const FlowEnd* end, BootTime now) {
  ExchangeEvidence e;
  e.kind = ExchangeKind::kConnection;
  e.lossy = flow.lossy || flow.preexisting || flow.tls.hole || (end && end->hole);
  e.loser = flow.loser;
  e.tls = TlsEvidenceOf(flow.tls, flow.library, now);
  e.tls.peer_is_local = flow.remote.address.is_loopback();
  e.connected_for = now - (flow.established.known() ? flow.established : flow.started);
  e.connect.preexisting = flow.preexisting;
  if (end) {
    e.ended_by = EndedByOf(*end);
    e.peer_sent = end->bytes_received > 0;
    e.owner_sent = end->bytes_acked > 1;  // the SYN counts as one
    e.tls.hello_acked = end->bytes_acked > 1;
    e.tls.owner_closed_first = end->owner_fin;
  }
  return e;
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/classify/tls_predicates.h"

#include "userspace/classify/library_reasons.h"
#include "userspace/classify/thresholds.h"

namespace routelens::rules {
namespace {

using E = ExchangeEvidence;

// TLS is the stage in question: spoken, and nothing that was said within it has been answered.
bool InTls(const E& e) {
  const bool may =
      e.kind == ExchangeKind::kConnection ||
      (e.kind == ExchangeKind::kRequest && !e.request.answered && !e.request.reused_connection);
  return may && e.tls.spoken && !e.tls.server_data;
}

bool InHandshake(const E& e) {
  return InTls(e) && !e.tls.complete;
}

// Absence counts only where nothing was lost.
bool InHandshakeForSure(const E& e) {
  return InHandshake(e) && !e.lossy;
}

}  // namespace

bool VerifyFailed(const E& e) {
  if (!InTls(e) || e.tls.verify_error == 0)
    return false;
  if (e.tls.library_error == kReasonCertificateVerifyFailed)
    return true;
  // The program may have chosen to go on (CERT_NONE, curl -k): then the peer's close is no verdict
  // of the client.
  return !e.tls.complete && !e.lossy && (ClosedFromHere(e.ended_by) || e.tls.fatal_alert_sent);
}

// Hostname checks that libssl makes leave the reason, and verify_error may have been asked late.
bool VerifyFailedByReason(const E& e) {
  return InTls(e) && e.tls.library_error == kReasonCertificateVerifyFailed;
}

bool AlertReceived(const E& e) {
  return InTls(e) && (e.tls.library_error > kReasonAlertBase ||
                      (e.tls.fatal_alert_received && !e.tls.complete));
}

bool AlertSent(const E& e) {
  return InHandshake(e) && e.tls.fatal_alert_sent;
}

bool NotTls(const E& e) {
  if (!InHandshake(e))
    return false;
  return e.tls.not_tls || e.tls.library_error == kReasonHttpRequest ||
         e.tls.library_error == kReasonHttpsProxyRequest ||
         e.tls.library_error == kReasonWrongVersionNumber;
}

bool LibraryError(const E& e) {
  return InHandshakeForSure(e) && e.tls.library_error != 0 &&
         e.tls.library_error < kReasonAlertBase && e.tls.library_error != kReasonUnexpectedEof &&
         e.tls.library_error != kReasonShutdownWhileInInit;
}

bool VerifiedThenAbandoned(const E& e) {
  return InTls(e) && !e.lossy && e.kind == ExchangeKind::kConnection && e.tls.complete &&
         !e.tls.resumed && e.tls.verify_error != 0 && !e.tls.client_data &&
         !e.tls.client_close_alert && ClosedFromHere(e.ended_by) &&
         e.tls.after_complete <= kAbandonedWithin;
}

bool ClientAuthRefused(const E& e) {
  return InTls(e) && !e.lossy && e.tls.complete && e.tls.is_tls13 && e.tls.client_certificate &&
         e.tls.short_server_record && Ended(e.ended_by) && e.ended_by != EndedBy::kTimeout;
}

// Without a Certificate in the client's flight the short record is a close_notify, or an alert
// about something else; and a reset may have overtaken the alert. Where the request can be read, a
// client that was asked for no certificate was not refused for it.
bool ClientAuthMayBeRefused(const E& e) {
  if (!InTls(e) || e.lossy || !e.tls.complete || !e.tls.is_tls13 || !ClosedFromAfar(e.ended_by))
    return false;
  if (e.tls.client_certificate)
    return true;
  return e.kind == ExchangeKind::kConnection && e.tls.short_server_record && e.tls.client_data;
}

bool ShortRecordThenClose(const E& e) {
  return InHandshakeForSure(e) && e.tls.short_client_record && Ended(e.ended_by);
}

bool ResetInHandshake(const E& e) {
  return InHandshakeForSure(e) && e.ended_by == EndedBy::kReset;
}

// Where both halves are closed and the server had said nothing, the server was first: a client has
// no reason to close its half behind its ClientHello.
bool ClosedInHandshake(const E& e) {
  return InHandshakeForSure(e) &&
         (e.ended_by == EndedBy::kPeer ||
          (e.ended_by == EndedBy::kUnclear && !e.tls.server_hello && !e.tls.owner_closed_first));
}

// Perhaps a forwarder whose own connection has failed. Which process listens there is not known, so
// no failing connection beside this one can be taken for its.
bool ClosedInHandshakeByLocal(const E& e) {
  return ClosedInHandshake(e) && e.tls.peer_is_local;
}

bool HandshakeHung(const E& e) {
  const bool by_owner = e.ended_by == EndedBy::kOwner ||
                        (e.ended_by == EndedBy::kUnclear && e.tls.owner_closed_first);
  return InHandshakeForSure(e) && by_owner && e.tls.hello_acked && e.tls.silence >= kGiveUpAfter;
}

bool ClientClosedInHandshake(const E& e) {
  return InHandshakeForSure(e) && e.tls.server_hello && ClosedFromHere(e.ended_by);
}

bool AbandonedAfterHandshake(const E& e) {
  return InTls(e) && !e.lossy && !e.loser && e.kind == ExchangeKind::kConnection &&
         e.tls.complete && !e.tls.resumed && !e.tls.client_data && ClosedFromHere(e.ended_by) &&
         e.tls.after_complete <= kAbandonedWithin;
}

}  // namespace routelens::rules

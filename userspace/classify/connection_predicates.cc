// SPDX-License-Identifier: Apache-2.0
#include "userspace/classify/connection_predicates.h"

#include "userspace/classify/thresholds.h"

namespace routelens::rules {
namespace {

using E = ExchangeEvidence;

bool IsConnection(const E& e) {
  return e.kind == ExchangeKind::kConnection;
}

bool AskedInTls(const E& e) {
  return IsConnection(e) && !e.lossy && e.tls.complete && e.tls.client_data && !e.tls.server_data;
}

bool SpokeInTheClearOnly(const E& e) {
  return IsConnection(e) && !e.lossy && !e.tls.spoken && e.owner_sent && !e.peer_sent;
}

}  // namespace

bool BothSpokeWithinTls(const E& e) {
  return IsConnection(e) && e.tls.client_data && e.tls.server_data;
}

bool BothSpokeInTheClear(const E& e) {
  return IsConnection(e) && !e.tls.spoken && e.owner_sent && e.peer_sent;
}

bool TlsConnectionReset(const E& e) {
  return AskedInTls(e) && e.ended_by == EndedBy::kReset;
}

bool TlsConnectionClosed(const E& e) {
  return AskedInTls(e) && (e.ended_by == EndedBy::kPeer || e.ended_by == EndedBy::kUnclear);
}

bool Tls12ConnectionReset(const E& e) {
  return TlsConnectionReset(e) && !e.tls.is_tls13;
}

bool Tls12ConnectionClosed(const E& e) {
  return TlsConnectionClosed(e) && !e.tls.is_tls13;
}

bool ResetAfterWords(const E& e) {
  return SpokeInTheClearOnly(e) && e.ended_by == EndedBy::kReset;
}

bool ClosedAfterWords(const E& e) {
  return SpokeInTheClearOnly(e) && e.ended_by == EndedBy::kPeer;
}

bool ResetRightAway(const E& e) {
  return IsConnection(e) && !e.lossy && !e.loser && !e.tls.spoken && !e.owner_sent &&
         !e.peer_sent && e.ended_by == EndedBy::kReset && e.connected_for <= kResetRightAway;
}

bool TimedOutWhenConnected(const E& e) {
  return e.kind != ExchangeKind::kAttempt && !e.lossy && !e.request.answered &&
         e.ended_by == EndedBy::kTimeout;
}

bool BrokenWhenConnected(const E& e) {
  return e.kind != ExchangeKind::kAttempt && !e.lossy && !e.request.answered &&
         e.ended_by == EndedBy::kKernel;
}

bool SilentLoser(const E& e) {
  return IsConnection(e) && e.loser;
}

bool WaitedInVain(const E& e) {
  return IsConnection(e) && e.ended_by == EndedBy::kOwner && e.owner_sent && e.tls.complete &&
         e.tls.client_data && e.tls.silence >= kGiveUpAfter;
}

bool LeftEarly(const E& e) {
  return IsConnection(e) && e.owner_sent && (e.ended_by == EndedBy::kOwner) &&
         (!e.tls.spoken || !e.tls.complete || e.tls.client_data);
}

bool WithoutAWord(const E& e) {
  return IsConnection(e);
}

}  // namespace routelens::rules

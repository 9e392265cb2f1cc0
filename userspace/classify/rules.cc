// SPDX-License-Identifier: Apache-2.0
#include "userspace/classify/rules.h"

#include <cerrno>

namespace routelens {
namespace {

using E = ExchangeEvidence;

// Reasons of libssl, include/openssl/sslerr.h. Above 1000: an alert that was received.
constexpr int32_t kReasonAlertBase = 1000;
constexpr int32_t kReasonCertificateVerifyFailed = 134;
constexpr int32_t kReasonHttpRequest = 156;
constexpr int32_t kReasonHttpsProxyRequest = 155;
constexpr int32_t kReasonWrongVersionNumber = 267;
constexpr int32_t kReasonUnexpectedEof = 294;
constexpr int32_t kReasonShutdownWhileInInit = 407;

// --- connect ---

bool IsAttempt(const E& e) {
  return e.kind == ExchangeKind::kAttempt && !e.connect.preexisting;
}

bool GaveUpInEarnest(const E& e) {
  return e.connect.given_up && e.connect.retransmits >= kGiveUpRetransmits &&
         e.connect.lasted >= kGiveUpAfter;
}

// The same errors after a SYN are a router's (ICMPv6 "administratively prohibited" is EACCES).
bool DeniedByHook(const E& e) {
  return IsAttempt(e) && (e.connect.denied_by_policy_hook ||
                          (e.connect.failed && e.connect.at_once &&
                           (e.connect.error == EPERM || e.connect.error == EACCES)));
}

bool LookupDeniedByHook(const E& e) {
  return e.kind == ExchangeKind::kLookup && !e.lossy && e.lookup.denied_by_policy_hook;
}

bool BlockedBeforeEgress(const E& e) {
  if (!IsAttempt(e) || e.lossy || !e.connect.egress_proven || e.connect.syn_seen ||
      e.connect.at_once)
    return false;
  return e.connect.failed || GaveUpInEarnest(e);
}

bool Failed(const E& e) {
  return IsAttempt(e) && e.connect.failed;
}

bool Refused(const E& e) {
  return Failed(e) && e.connect.error == ECONNREFUSED;
}

bool RefusedBySomebody(const E& e) {
  return Refused(e) && (e.connect.syn_seen || e.connect.at_once);
}

bool Unreachable(const E& e) {
  return Failed(e) && (e.connect.error == EHOSTUNREACH || e.connect.error == ENETUNREACH ||
                       e.connect.error == EHOSTDOWN || e.connect.error == ENETDOWN);
}

bool TimedOut(const E& e) {
  return Failed(e) && e.connect.error == ETIMEDOUT;
}

bool FailedOtherwise(const E& e) {
  return Failed(e) && e.connect.error != 0;
}

bool FailedWithoutCause(const E& e) {
  return Failed(e) && e.connect.error == 0;
}

bool GivenUp(const E& e) {
  return IsAttempt(e) && !e.lossy && GaveUpInEarnest(e);
}

bool Cancelled(const E& e) {
  return IsAttempt(e) && e.connect.given_up;
}

// --- requests that were answered ---

bool Answered(const E& e) {
  return e.kind == ExchangeKind::kRequest && e.request.answered;
}

bool ConnectAnswered(const E& e) {
  return Answered(e) && e.request.is_connect;
}

bool ProxyDenied(const E& e) {
  return ConnectAnswered(e) && e.request.status == 403 &&
         e.request.proxy == ProxyKnowledge::kUpstreamUnused;
}

bool ProxyIsWatched(const E& e) {
  return e.request.proxy != ProxyKnowledge::kNotKnown;
}

// The upstream leg is under watch and has its own exchange.
bool ProxyCouldNotReach(const E& e) {
  return ConnectAnswered(e) && ProxyIsWatched(e);
}

// 403: a local denial and a corporate proxy's look alike. 5xx: so do "cannot terminate TLS" and
// "no credential" of a sandbox's own proxy.
bool ProxyAnswerAmbiguous(const E& e) {
  return ConnectAnswered(e) && !e.request.malformed &&
         (e.request.status == 403 || e.request.status == 500 || e.request.status == 503);
}

bool Malformed(const E& e) {
  return Answered(e) && e.request.malformed;
}

bool StatusUnreadable(const E& e) {
  return Answered(e) && e.request.unreadable;
}

// A proxy makes these itself.
bool MayBeProxysOwn(const E& e) {
  if (!Answered(e) || !e.request.via_proxy || e.request.proxy == ProxyKnowledge::kUpstreamUsed)
    return false;
  if (e.request.proxy == ProxyKnowledge::kUpstreamUnused)
    return e.request.status >= 200;
  switch (e.request.status) {
    case 403:
    case 407:
    case 500:
    case 502:
    case 503:
    case 504:
      return true;
    default:
      return false;
  }
}

bool ProxysOwnRejection(const E& e) {
  return MayBeProxysOwn(e) && e.request.status >= 400;
}

bool ProxysOwnSuccess(const E& e) {
  return MayBeProxysOwn(e) && e.request.status < 400;
}

bool IsReachable(const E& e) {
  return Answered(e) &&
         (e.request.status == 101 || (e.request.status >= 200 && e.request.status <= 399));
}

bool IsRejected(const E& e) {
  return Answered(e) && e.request.status >= 400 && e.request.status <= 999;
}

bool ReachableThroughProxy(const E& e) {
  return IsReachable(e) && e.request.via_proxy;
}

bool RejectedThroughProxy(const E& e) {
  return IsRejected(e) && e.request.via_proxy;
}

bool Rejected405ToGet(const E& e) {
  return IsRejected(e) && e.request.status == 405 && e.request.method == HttpMethod::kGet;
}

bool Rejected405ToDelete(const E& e) {
  return IsRejected(e) && e.request.status == 405 && e.request.method == HttpMethod::kDelete;
}

bool Rejected404WithSession(const E& e) {
  return IsRejected(e) && e.request.status == 404 && e.request.with_session;
}

bool Rejected401(const E& e) {
  return IsRejected(e) && e.request.status == 401;
}

// A status line that is none: below 100, or nothing.
bool StatusOutOfRange(const E& e) {
  return Answered(e);
}

// --- TLS ---

bool ClosedFromAfar(const E& e) {
  return e.ended_by == EndedBy::kPeer || e.ended_by == EndedBy::kReset ||
         e.ended_by == EndedBy::kUnclear;
}

bool ClosedFromHere(const E& e) {
  return e.ended_by == EndedBy::kOwner || e.ended_by == EndedBy::kUnclear;
}

bool Ended(const E& e) {
  return e.ended_by != EndedBy::kNobody;
}

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

bool VerifyFailed(const E& e) {
  if (!InTls(e) || e.tls.verify_error == 0)
    return false;
  if (e.tls.library_error == kReasonCertificateVerifyFailed)
    return true;
  // The program may have chosen to go on (CERT_NONE, curl -k): then the peer's close is no verdict
  // of the client.
  return !e.tls.complete && !e.lossy && (ClosedFromHere(e) || e.tls.fatal_alert_sent);
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
         !e.tls.client_close_alert && ClosedFromHere(e) && e.tls.after_complete <= kAbandonedWithin;
}

bool ClientAuthRefused(const E& e) {
  return InTls(e) && !e.lossy && e.tls.complete && e.tls.is_tls13 && e.tls.client_certificate &&
         e.tls.short_server_record && (Ended(e) && e.ended_by != EndedBy::kTimeout);
}

// Without a Certificate in the client's flight the short record is a close_notify, or an alert
// about something else; and a reset may have overtaken the alert. Where the request can be read, a
// client that was asked for no certificate was not refused for it.
bool ClientAuthMayBeRefused(const E& e) {
  if (!InTls(e) || e.lossy || !e.tls.complete || !e.tls.is_tls13 || !ClosedFromAfar(e))
    return false;
  if (e.tls.client_certificate)
    return true;
  return e.kind == ExchangeKind::kConnection && e.tls.short_server_record && e.tls.client_data;
}

bool ShortRecordThenClose(const E& e) {
  return InHandshakeForSure(e) && e.tls.short_client_record && Ended(e);
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
  return InHandshakeForSure(e) && e.tls.server_hello && ClosedFromHere(e);
}

bool AbandonedAfterHandshake(const E& e) {
  return InTls(e) && !e.lossy && !e.loser && e.kind == ExchangeKind::kConnection &&
         e.tls.complete && !e.tls.resumed && !e.tls.client_data && ClosedFromHere(e) &&
         e.tls.after_complete <= kAbandonedWithin;
}

// --- connections that carried what cannot be read ---

bool IsConnection(const E& e) {
  return e.kind == ExchangeKind::kConnection;
}

bool BothSpokeWithinTls(const E& e) {
  return IsConnection(e) && e.tls.client_data && e.tls.server_data;
}

bool BothSpokeInTheClear(const E& e) {
  return IsConnection(e) && !e.tls.spoken && e.owner_sent && e.peer_sent;
}

bool AskedInTls(const E& e) {
  return IsConnection(e) && !e.lossy && e.tls.complete && e.tls.client_data && !e.tls.server_data;
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

bool SpokeInTheClearOnly(const E& e) {
  return IsConnection(e) && !e.lossy && !e.tls.spoken && e.owner_sent && !e.peer_sent;
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

// --- requests without an answer ---

bool Unanswered(const E& e) {
  return e.kind == ExchangeKind::kRequest && !e.request.answered;
}

bool UnansweredForSure(const E& e) {
  return Unanswered(e) && !e.lossy;
}

bool OneOfSeveral(const E& e) {
  return Unanswered(e) && e.request.one_of_several;
}

bool StaleKeepAlive(const E& e) {
  return UnansweredForSure(e) && e.request.reused_connection && e.request.retried &&
         ClosedFromAfar(e) && !e.request.head_open;
}

bool ProxyHungUp(const E& e) {
  return UnansweredForSure(e) && e.request.is_connect && ClosedFromAfar(e);
}

bool ProxyHungUpWatched(const E& e) {
  return ProxyHungUp(e) && ProxyIsWatched(e);
}

bool HeadCut(const E& e) {
  return UnansweredForSure(e) && e.request.head_open && ClosedFromAfar(e);
}

bool ResetBeforeAnswer(const E& e) {
  return UnansweredForSure(e) && e.ended_by == EndedBy::kReset;
}

bool ClosedBeforeAnswer(const E& e) {
  return UnansweredForSure(e) && (e.ended_by == EndedBy::kPeer || e.ended_by == EndedBy::kUnclear);
}

bool NoAnswerInTime(const E& e) {
  return Unanswered(e) && e.ended_by == EndedBy::kOwner && e.request.waited >= kGiveUpAfter;
}

bool RequestLeft(const E& e) {
  return Unanswered(e) && e.ended_by == EndedBy::kOwner;
}

// --- look-ups ---

bool IsLookup(const E& e) {
  return e.kind == ExchangeKind::kLookup && !e.lossy;
}

bool DnsSaidNo(const E& e) {
  return IsLookup(e) &&
         (e.lookup.wire == LookupResult::kNxDomain || e.lookup.wire == LookupResult::kServFail ||
          e.lookup.wire == LookupResult::kRefused || e.lookup.wire == LookupResult::kOtherError);
}

bool DnsEmpty(const E& e) {
  return IsLookup(e) && e.lookup.wire == LookupResult::kEmpty;
}

bool DnsSilentAndResolverSaysSo(const E& e) {
  return IsLookup(e) && e.lookup.wire == LookupResult::kNoAnswer && e.lookup.resolver_failed;
}

bool DnsSilent(const E& e) {
  return IsLookup(e) && e.lookup.wire == LookupResult::kNoAnswer;
}

bool ResolverMayNotHaveAsked(const E& e) {
  return IsLookup(e) && e.lookup.resolver_failed && e.lookup.resolver_may_not_have_asked;
}

bool ResolverFailed(const E& e) {
  return IsLookup(e) && e.lookup.resolver_failed;
}

bool LookupCancelled(const E& e) {
  return e.kind == ExchangeKind::kLookup;
}

constexpr Outcome kNothing = Outcome::kNoObservedExchange;
constexpr Outcome kDenied = Outcome::kPolicyDenied;
constexpr Outcome kTls = Outcome::kTlsFailed;
constexpr Outcome kTransport = Outcome::kTransportFailed;
constexpr Outcome kRejected = Outcome::kUpstreamRejected;
constexpr Outcome kReachable = Outcome::kReachable;
constexpr Confidence kNone = Confidence::kNone;
constexpr Confidence kWeak = Confidence::kWeak;
constexpr Confidence kInferred = Confidence::kInferred;
constexpr Confidence kObserved = Confidence::kObserved;
constexpr Hint kNoHint = Hint::kNone;

constexpr RuleRow kRules[] = {
    // Local policy.
    {Rule::kPolicyHookDenied, kDenied, kObserved, kNoHint, DeniedByHook},
    {Rule::kPolicyHookDenied, kDenied, kObserved, Hint::kDnsFailedInSandbox, LookupDeniedByHook},
    {Rule::kBlockedBeforeEgress, kDenied, kInferred, Hint::kBlockedLocally, BlockedBeforeEgress},
    {Rule::kProxyConnectDenied, kDenied, kInferred, kNoHint, ProxyDenied},

    // What a proxy said to CONNECT.
    {Rule::kProxyConnectFailed, kNothing, kNone, kNoHint, ProxyCouldNotReach},
    {Rule::kProxyConnectFailed, kTransport, kWeak, Hint::kCoverageIncomplete, ProxyAnswerAmbiguous},
    {Rule::kProxyConnectFailed, kTransport, kInferred, kNoHint, ConnectAnswered},

    // A status that was read.
    {Rule::kHttpMalformed, kTransport, kObserved, kNoHint, Malformed},
    {Rule::kStatusNotVisible, kNothing, kNone, Hint::kStatusNotVisible, StatusUnreadable},
    {Rule::kHttpStatusRejected, kRejected, kWeak, Hint::kCoverageIncomplete, ProxysOwnRejection},
    {Rule::kHttpStatusReachable, kReachable, kWeak, Hint::kCoverageIncomplete, ProxysOwnSuccess},
    {Rule::kHttpStatusReachable, kReachable, kInferred, kNoHint, ReachableThroughProxy},
    {Rule::kHttpStatusReachable, kReachable, kObserved, kNoHint, IsReachable},
    {Rule::kHttpStatusRejected, kRejected, kInferred, kNoHint, RejectedThroughProxy},
    {Rule::kHttpStatusRejected, kRejected, kObserved, Hint::kNoSseStream, Rejected405ToGet},
    {Rule::kHttpStatusRejected, kRejected, kObserved, Hint::kSessionDeleteRefused,
     Rejected405ToDelete},
    {Rule::kHttpStatusRejected, kRejected, kObserved, Hint::kSessionExpired,
     Rejected404WithSession},
    {Rule::kHttpStatusRejected, kRejected, kObserved, Hint::kCredentialMayHaveExpired, Rejected401},
    {Rule::kHttpStatusRejected, kRejected, kObserved, kNoHint, IsRejected},
    {Rule::kHttpMalformed, kTransport, kObserved, kNoHint, StatusOutOfRange},

    // TLS.
    {Rule::kTlsVerifyFailed, kTls, kObserved, kNoHint, VerifyFailed},
    {Rule::kTlsVerifyFailed, kTls, kObserved, kNoHint, VerifyFailedByReason},
    {Rule::kTlsAlertReceived, kTls, kObserved, kNoHint, AlertReceived},
    {Rule::kTlsAlertSent, kTls, kObserved, kNoHint, AlertSent},
    {Rule::kTlsNotTls, kTls, kObserved, kNoHint, NotTls},
    {Rule::kTlsLibraryError, kTls, kObserved, kNoHint, LibraryError},
    {Rule::kTlsVerifiedThenAbandoned, kTls, kObserved, kNoHint, VerifiedThenAbandoned},
    {Rule::kTlsClientAuthRefused, kTls, kInferred, kNoHint, ClientAuthRefused},
    {Rule::kTlsClientAuthRefused, kTls, kWeak, kNoHint, ClientAuthMayBeRefused},
    {Rule::kTlsShortClientRecordThenClose, kTls, kInferred, kNoHint, ShortRecordThenClose},
    {Rule::kTlsServerResetAfterHello, kTls, kInferred, Hint::kHandshakeReset, ResetInHandshake},
    {Rule::kTlsServerClosedAfterHello, kTls, kInferred, Hint::kForwarderMayHaveFailed,
     ClosedInHandshakeByLocal},
    {Rule::kTlsServerClosedAfterHello, kTls, kInferred, kNoHint, ClosedInHandshake},
    {Rule::kTlsHandshakeTimedOut, kTls, kInferred, kNoHint, HandshakeHung},
    {Rule::kTlsClientClosedInHandshake, kTls, kWeak, Hint::kClientClosedHandshake,
     ClientClosedInHandshake},
    {Rule::kTlsAbandonedAfterHandshake, kTls, kWeak, kNoHint, AbandonedAfterHandshake},

    // Connections.
    {Rule::kConnectRefused, kTransport, kObserved, kNoHint, RefusedBySomebody},
    {Rule::kConnectRefused, kTransport, kInferred, kNoHint, Refused},
    {Rule::kConnectTimedOut, kTransport, kObserved, kNoHint, TimedOut},
    {Rule::kConnectUnreachable, kTransport, kObserved, kNoHint, Unreachable},
    {Rule::kConnectFailed, kTransport, kObserved, kNoHint, FailedOtherwise},
    {Rule::kConnectFailed, kTransport, kWeak, Hint::kCoverageIncomplete, FailedWithoutCause},
    {Rule::kConnectGivenUp, kTransport, kInferred, kNoHint, GivenUp},
    {Rule::kCallerCancelled, kNothing, kNone, kNoHint, Cancelled},

    // Requests without an answer.
    {Rule::kClosedBeforeAnswer, kNothing, kNone, kNoHint, OneOfSeveral},
    {Rule::kStaleKeepAlive, kNothing, kNone, kNoHint, StaleKeepAlive},
    {Rule::kProxyConnectFailed, kNothing, kNone, kNoHint, ProxyHungUpWatched},
    {Rule::kProxyConnectFailed, kTransport, kInferred, kNoHint, ProxyHungUp},
    {Rule::kHttpHeadCut, kTransport, kObserved, kNoHint, HeadCut},
    {Rule::kResetBeforeAnswer, kTransport, kObserved, kNoHint, ResetBeforeAnswer},
    {Rule::kClosedBeforeAnswer, kTransport, kObserved, kNoHint, ClosedBeforeAnswer},
    {Rule::kConnectTimedOut, kTransport, kObserved, kNoHint, TimedOutWhenConnected},
    {Rule::kConnectFailed, kTransport, kObserved, kNoHint, BrokenWhenConnected},
    {Rule::kNoAnswerInTime, kNothing, kNone, Hint::kNoAnswer, NoAnswerInTime},
    {Rule::kCallerCancelled, kNothing, kNone, kNoHint, RequestLeft},

    // Connections on which nothing could be read.
    {Rule::kStatusNotVisible, kNothing, kNone, Hint::kStatusNotVisible, BothSpokeWithinTls},
    {Rule::kStatusNotVisible, kNothing, kNone, Hint::kStatusNotVisible, BothSpokeInTheClear},
    {Rule::kResetBeforeAnswer, kTransport, kInferred, kNoHint, Tls12ConnectionReset},
    {Rule::kClosedBeforeAnswer, kTransport, kInferred, kNoHint, Tls12ConnectionClosed},
    {Rule::kResetBeforeAnswer, kTransport, kWeak, kNoHint, TlsConnectionReset},
    {Rule::kClosedBeforeAnswer, kTransport, kWeak, kNoHint, TlsConnectionClosed},
    {Rule::kResetBeforeAnswer, kTransport, kInferred, kNoHint, ResetAfterWords},
    {Rule::kClosedBeforeAnswer, kTransport, kInferred, kNoHint, ClosedAfterWords},
    {Rule::kResetBeforeAnswer, kTransport, kInferred, kNoHint, ResetRightAway},
    {Rule::kHappyEyeballsLoser, kNothing, kNone, kNoHint, SilentLoser},
    {Rule::kNoAnswerInTime, kNothing, kNone, Hint::kNoAnswer, WaitedInVain},
    {Rule::kCallerCancelled, kNothing, kNone, kNoHint, LeftEarly},
    {Rule::kClosedWithoutAWord, kNothing, kNone, kNoHint, WithoutAWord},

    // Look-ups.
    {Rule::kDnsFailed, kTransport, kObserved, Hint::kDnsFailedInSandbox, DnsSaidNo},
    {Rule::kDnsNoAddress, kTransport, kObserved, Hint::kDnsFailedInSandbox, DnsEmpty},
    {Rule::kDnsNoAnswer, kTransport, kObserved, Hint::kDnsFailedInSandbox,
     DnsSilentAndResolverSaysSo},
    {Rule::kDnsNoAnswer, kTransport, kInferred, Hint::kDnsFailedInSandbox, DnsSilent},
    {Rule::kResolverFailed, kTransport, kWeak, kNoHint, ResolverMayNotHaveAsked},
    {Rule::kResolverFailed, kTransport, kObserved, Hint::kDnsFailedInSandbox, ResolverFailed},
    {Rule::kCallerCancelled, kNothing, kNone, kNoHint, LookupCancelled},
};

}  // namespace

std::span<const RuleRow> Rules() {
  return kRules;
}

}  // namespace routelens

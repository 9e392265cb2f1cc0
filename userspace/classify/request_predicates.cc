// SPDX-License-Identifier: Apache-2.0
#include "userspace/classify/request_predicates.h"

#include "userspace/classify/thresholds.h"

namespace routelens::rules {
namespace {

using E = ExchangeEvidence;

bool Answered(const E& e) {
  return e.kind == ExchangeKind::kRequest && e.request.answered;
}

bool ProxyIsWatched(const E& e) {
  return e.request.proxy != ProxyKnowledge::kNotKnown;
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

bool Unanswered(const E& e) {
  return e.kind == ExchangeKind::kRequest && !e.request.answered;
}

bool UnansweredForSure(const E& e) {
  return Unanswered(e) && !e.lossy;
}

}  // namespace

bool ConnectAnswered(const E& e) {
  return Answered(e) && e.request.is_connect;
}

bool ProxyDenied(const E& e) {
  return ConnectAnswered(e) && e.request.status == 403 &&
         e.request.proxy == ProxyKnowledge::kUpstreamUnused;
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

bool OneOfSeveral(const E& e) {
  return Unanswered(e) && e.request.one_of_several;
}

bool StaleKeepAlive(const E& e) {
  return UnansweredForSure(e) && e.request.reused_connection && e.request.retried &&
         ClosedFromAfar(e.ended_by) && !e.request.head_open;
}

bool ProxyHungUp(const E& e) {
  return UnansweredForSure(e) && e.request.is_connect && ClosedFromAfar(e.ended_by);
}

bool ProxyHungUpWatched(const E& e) {
  return ProxyHungUp(e) && ProxyIsWatched(e);
}

bool HeadCut(const E& e) {
  return UnansweredForSure(e) && e.request.head_open && ClosedFromAfar(e.ended_by);
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

}  // namespace routelens::rules

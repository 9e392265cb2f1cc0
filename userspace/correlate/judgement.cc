// SPDX-License-Identifier: Apache-2.0
#include "userspace/correlate/judgement.h"

namespace routelens {
namespace {

JudgedExchange Placed(const RouteMatcher& matcher, const EndedExchange& exchange) {
  JudgedExchange judged;
  judged.start = exchange.start;
  judged.end = exchange.end;
  judged.stage = StageOf(exchange.evidence);
  judged.host = exchange.peer.host;
  judged.port = exchange.peer.port;
  judged.attribution = exchange.evidence.kind == ExchangeKind::kLookup
                           ? AttributeLookup(matcher, exchange.peer)
                           : Attribute(matcher, exchange.peer, exchange.path);
  return judged;
}

}  // namespace

Stage StageOf(const ExchangeEvidence& e) {
  switch (e.kind) {
    case ExchangeKind::kLookup:
      return Stage::kLookup;
    case ExchangeKind::kAttempt:
      return Stage::kConnect;
    case ExchangeKind::kRequest:
      return e.request.answered ? Stage::kAnswered : Stage::kAsked;
    case ExchangeKind::kConnection:
      break;
  }
  const bool spoke = e.tls.spoken ? e.tls.client_data : e.owner_sent;
  const bool heard = e.tls.spoken ? e.tls.server_data : e.peer_sent;
  if (spoke && heard)
    return Stage::kAnswered;
  if (spoke)
    return Stage::kAsked;
  return e.tls.complete ? Stage::kHandshaken : Stage::kConnected;
}

JudgedExchange Judge(const RouteMatcher& matcher, const EndedExchange& exchange) {
  JudgedExchange judged = Placed(matcher, exchange);
  judged.said = Classify(exchange.evidence);
  return judged;
}

JudgedExchange JudgeLost(const RouteMatcher& matcher, const EndedExchange& exchange) {
  JudgedExchange judged = Placed(matcher, exchange);
  judged.said = {Outcome::kNoObservedExchange, Confidence::kNone, Rule::kEventsLost, Hint::kNone};
  return judged;
}

}  // namespace routelens

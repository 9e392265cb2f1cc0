// SPDX-License-Identifier: Apache-2.0
#include "userspace/pipeline/route_board.h"

#include <algorithm>
#include <tuple>

namespace routelens {
namespace {

bool IsFailure(Outcome outcome) {
  return outcome != Outcome::kNoObservedExchange && outcome != Outcome::kReachable;
}

bool Withdraws(const JudgedExchange& exchange, Outcome shown, Stage shown_stage) {
  if (!IsFailure(shown))
    return false;
  if (exchange.said.rule == Rule::kStatusNotVisible)
    return true;
  return exchange.said.rule == Rule::kEventsLost && exchange.stage > shown_stage;
}

// How far an exchange with this outcome has got: a failed handshake is no handshake.
Stage FailedStage(const JudgedExchange& exchange) {
  if (exchange.said.outcome == Outcome::kTlsFailed)
    return Stage::kConnected;
  return exchange.stage;
}

}  // namespace

RouteBoard::RouteBoard(const std::vector<Route>& routes) {
  entries_.reserve(routes.size());
  for (const Route& route : routes) entries_.emplace_back().shown.route = route;
}

bool RouteBoard::Take(size_t index, const JudgedExchange& exchange) {
  Entry& entry = entries_[index];
  RouteCondition& shown = entry.shown;
  const auto visible = [&shown] {
    return std::tuple(shown.outcome, shown.hint, shown.observed, shown.transition,
                      shown.last_attempt);
  };
  const auto before = visible();
  shown.last_attempt = std::max(shown.last_attempt, exchange.start);
  const bool is_latest = exchange.start >= entry.start;
  const Classification& said = exchange.said;
  if (is_latest && said.outcome != Outcome::kNoObservedExchange &&
      said.confidence >= Confidence::kInferred) {
    if (shown.outcome != said.outcome)
      shown.transition = exchange.end;
    shown.outcome = said.outcome;
    shown.hint = said.hint;
    shown.observed = exchange.end;
    entry.start = exchange.start;
    entry.stage = FailedStage(exchange);
  } else if (is_latest && said.outcome == Outcome::kNoObservedExchange &&
             Withdraws(exchange, shown.outcome, entry.stage)) {
    shown.outcome = Outcome::kNoObservedExchange;
    shown.hint = Hint::kStatusNotVisible;
    shown.observed = {};
    shown.transition = exchange.end;
    entry.start = exchange.start;
    entry.stage = exchange.stage;
  } else if (is_latest && shown.outcome == Outcome::kNoObservedExchange &&
             said.hint == Hint::kNoAnswer) {
    shown.hint = said.hint;
  }
  return visible() != before;
}

std::vector<RouteCondition> RouteBoard::Conditions() const {
  std::vector<RouteCondition> conditions;
  conditions.reserve(entries_.size());
  for (const Entry& entry : entries_) conditions.push_back(entry.shown);
  return conditions;
}

}  // namespace routelens

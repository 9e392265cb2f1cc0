// SPDX-License-Identifier: Apache-2.0
//
// The last two steps of an exchange, after its evidence is complete: which route (attribution) and
// what happened (classification).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "routes/match.h"
#include "userspace/classify/classifier.h"
#include "userspace/classify/evidence.h"
#include "userspace/correlate/attribution.h"
#include "userspace/correlate/name_resolution.h"
#include "userspace/model/ids.h"
#include "userspace/model/time.h"

namespace routelens {

// How far an exchange got. Later stages are greater.
enum class Stage : uint8_t { kLookup, kConnect, kConnected, kHandshaken, kAsked, kAnswered };

struct EndedExchange {
  BoundaryIndex boundary{};
  Role role = Role::kWorkload;
  BootTime start;
  BootTime end;
  NamedPeer peer;
  std::optional<std::string> path;  // as sent
  ExchangeEvidence evidence;
};

struct JudgedExchange {
  BootTime start;
  BootTime end;
  Classification said;
  Stage stage = Stage::kConnect;
  Attribution attribution;
  std::string host;
  uint16_t port = 0;
};

Stage StageOf(const ExchangeEvidence& evidence);

JudgedExchange Judge(const RouteMatcher& matcher, const EndedExchange& exchange);

// Events were lost while this was open: no outcome, but how far it had got is known.
JudgedExchange JudgeLost(const RouteMatcher& matcher, const EndedExchange& exchange);

}  // namespace routelens

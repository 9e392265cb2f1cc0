// SPDX-License-Identifier: Apache-2.0
//
// What the pipeline says: the latest observation of each route, each exchange that ended, and what
// could not be attributed. Plain values; rendering and JSON are in cli/render.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "routes/route.h"
#include "userspace/model/coverage.h"
#include "userspace/model/outcome.h"
#include "userspace/model/time.h"

namespace routelens {

// One ended exchange that was attributed to exactly one route. Times are boot-clock.
struct ExchangeRecord {
  BootTime start;
  BootTime end;
  RouteSubject subject;
  Outcome outcome = Outcome::kNoObservedExchange;
  Confidence confidence = Confidence::kNone;
  Rule rule = Rule::kNone;
  Hint hint = Hint::kNone;
  friend bool operator==(const ExchangeRecord&, const ExchangeRecord&) = default;
};

// An ended exchange with an outcome (or weak evidence) that belongs to no single route.
struct UnattributedRecord {
  BootTime start;
  BootTime end;
  UnattributedReason reason = UnattributedReason::kNameUnknown;
  Outcome outcome = Outcome::kNoObservedExchange;
  Confidence confidence = Confidence::kNone;
  Rule rule = Rule::kNone;
  Hint hint = Hint::kNone;
  std::string host;   // the authority's name or the address; "" if neither is known
  uint16_t port = 0;  // 0 if unknown (a DNS failure has none)
  friend bool operator==(const UnattributedRecord&, const UnattributedRecord&) = default;
};

// The latest valid observation of one route; there is one for every route of the policy.
struct RouteCondition {
  Route route;
  Outcome outcome = Outcome::kNoObservedExchange;
  Hint hint = Hint::kNone;
  BootTime observed;      // start-ordered latest evidence; unknown while kNoObservedExchange
  BootTime transition;    // last change of outcome; unknown if it never changed
  BootTime last_attempt;  // latest attempt of any kind; unknown if none
  friend bool operator==(const RouteCondition&, const RouteCondition&) = default;
};

struct Report {
  std::vector<RouteCondition> conditions;  // sorted by subject
  std::vector<ExchangeRecord> exchanges;   // by start; bounded, oldest dropped (see truncated)
  std::vector<UnattributedRecord> unattributed;
  uint64_t exchanges_truncated = 0;
  uint64_t unattributed_truncated = 0;
  Coverage coverage;
  Loss loss;
  friend bool operator==(const Report&, const Report&) = default;
};

}  // namespace routelens

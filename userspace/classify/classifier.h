// SPDX-License-Identifier: Apache-2.0
//
// Evidence of one exchange in, one classification out. Pure and total: what no row of the table
// covers is no outcome, with Rule::kNone.
#pragma once

#include "userspace/classify/evidence.h"
#include "userspace/model/outcome.h"

namespace routelens {

struct Classification {
  Outcome outcome = Outcome::kNoObservedExchange;
  Confidence confidence = Confidence::kNone;
  Rule rule = Rule::kNone;
  Hint hint = Hint::kNone;
  friend bool operator==(const Classification&, const Classification&) = default;
};

Classification Classify(const ExchangeEvidence& evidence);

// Of two attempts of one exchange that both failed, the one that speaks for it: the stronger
// confidence first, then the order of Outcome, then the earlier argument.
const Classification& Prevailing(const Classification& a, const Classification& b);

}  // namespace routelens

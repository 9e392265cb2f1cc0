// SPDX-License-Identifier: Apache-2.0
//
// The rules by which an exchange gets its outcome, as one ordered table: the first row that holds
// decides. The order is the order of precedence (design: evidence, Outcomes): local policy, a
// status that was read, TLS, transport, and last what is no outcome at all. A row without an
// outcome is as much an answer as one with: it says why nothing is claimed.
//
// Rows are values; their predicates are pure, and stand by stage in *_predicates.h. A new rule is a
// row here, a value of Rule in the model, and a test.
#pragma once

#include <span>

#include "userspace/classify/evidence.h"
#include "userspace/model/outcome.h"

namespace routelens {

struct RuleRow {
  Rule rule = Rule::kNone;
  Outcome outcome = Outcome::kNoObservedExchange;
  Confidence confidence = Confidence::kNone;
  Hint hint = Hint::kNone;
  bool (*holds)(const ExchangeEvidence&) = nullptr;
};

// The table, in order of precedence.
std::span<const RuleRow> Rules();

}  // namespace routelens

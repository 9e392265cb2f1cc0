// SPDX-License-Identifier: Apache-2.0
#include "userspace/classify/classifier.h"

#include "userspace/classify/rules.h"

namespace routelens {

Classification Classify(const ExchangeEvidence& evidence) {
  for (const RuleRow& row : Rules()) {
    if (row.holds(evidence))
      return {row.outcome, row.confidence, row.rule, row.hint};
  }
  return {};
}

const Classification& Prevailing(const Classification& a, const Classification& b) {
  const bool a_changes = a.confidence >= Confidence::kInferred;
  const bool b_changes = b.confidence >= Confidence::kInferred;
  if (a_changes != b_changes)
    return a_changes ? a : b;
  if ((a.confidence == Confidence::kNone) != (b.confidence == Confidence::kNone))
    return a.confidence == Confidence::kNone ? b : a;
  return b.outcome < a.outcome ? b : a;
}

}  // namespace routelens

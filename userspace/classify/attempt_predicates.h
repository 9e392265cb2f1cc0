// SPDX-License-Identifier: Apache-2.0
//
// What the rules ask about connect() calls that never became a connection.
//
// Pure. Each is the condition of one row of the table in rules.cc and may count on the rows above
// it not to hold.
#pragma once

#include "userspace/classify/evidence.h"

namespace routelens::rules {

// By a policy hook of this host.
bool DeniedByHook(const ExchangeEvidence& e);

// No packet left although every hook on the way out was watched.
bool BlockedBeforeEgress(const ExchangeEvidence& e);

// By its error.
bool RefusedBySomebody(const ExchangeEvidence& e);
bool Refused(const ExchangeEvidence& e);
bool TimedOut(const ExchangeEvidence& e);
bool Unreachable(const ExchangeEvidence& e);
bool FailedOtherwise(const ExchangeEvidence& e);
bool FailedWithoutCause(const ExchangeEvidence& e);

// By its owner: after SYNs that nobody answered, or at any other time.
bool GivenUp(const ExchangeEvidence& e);
bool Cancelled(const ExchangeEvidence& e);

}  // namespace routelens::rules

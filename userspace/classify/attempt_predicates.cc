// SPDX-License-Identifier: Apache-2.0
#include "userspace/classify/attempt_predicates.h"

#include <cerrno>

#include "userspace/classify/thresholds.h"

namespace routelens::rules {
namespace {

using E = ExchangeEvidence;

bool IsAttempt(const E& e) {
  return e.kind == ExchangeKind::kAttempt && !e.connect.preexisting;
}

bool GaveUpInEarnest(const E& e) {
  return e.connect.given_up && e.connect.retransmits >= kGiveUpRetransmits &&
         e.connect.lasted >= kGiveUpAfter;
}

bool Failed(const E& e) {
  return IsAttempt(e) && e.connect.failed;
}

}  // namespace

// The same errors after a SYN are a router's (ICMPv6 "administratively prohibited" is EACCES).
bool DeniedByHook(const E& e) {
  return IsAttempt(e) && (e.connect.denied_by_policy_hook ||
                          (e.connect.failed && e.connect.at_once &&
                           (e.connect.error == EPERM || e.connect.error == EACCES)));
}

bool BlockedBeforeEgress(const E& e) {
  if (!IsAttempt(e) || e.lossy || !e.connect.egress_proven || e.connect.syn_seen ||
      e.connect.at_once)
    return false;
  return e.connect.failed || GaveUpInEarnest(e);
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

}  // namespace routelens::rules

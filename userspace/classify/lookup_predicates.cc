// SPDX-License-Identifier: Apache-2.0
#include "userspace/classify/lookup_predicates.h"

namespace routelens::rules {
namespace {

using E = ExchangeEvidence;

bool IsLookup(const E& e) {
  return e.kind == ExchangeKind::kLookup && !e.lossy;
}

}  // namespace

bool LookupDeniedByHook(const E& e) {
  return e.kind == ExchangeKind::kLookup && !e.lossy && e.lookup.denied_by_policy_hook;
}

bool DnsSaidNo(const E& e) {
  return IsLookup(e) &&
         (e.lookup.wire == LookupResult::kNxDomain || e.lookup.wire == LookupResult::kServFail ||
          e.lookup.wire == LookupResult::kRefused || e.lookup.wire == LookupResult::kOtherError);
}

bool DnsEmpty(const E& e) {
  return IsLookup(e) && e.lookup.wire == LookupResult::kEmpty;
}

bool DnsSilentAndResolverSaysSo(const E& e) {
  return IsLookup(e) && e.lookup.wire == LookupResult::kNoAnswer && e.lookup.resolver_failed;
}

bool DnsSilent(const E& e) {
  return IsLookup(e) && e.lookup.wire == LookupResult::kNoAnswer;
}

bool ResolverMayNotHaveAsked(const E& e) {
  return IsLookup(e) && e.lookup.resolver_failed && e.lookup.resolver_may_not_have_asked;
}

bool ResolverFailed(const E& e) {
  return IsLookup(e) && e.lookup.resolver_failed;
}

bool LookupCancelled(const E& e) {
  return e.kind == ExchangeKind::kLookup;
}

}  // namespace routelens::rules

// SPDX-License-Identifier: Apache-2.0
//
// What the rules ask about names that gave no address.
//
// Pure. Each is the condition of one row of the table in rules.cc and may count on the rows above
// it not to hold.
#pragma once

#include "userspace/classify/evidence.h"

namespace routelens::rules {

// The asker was denied its name server.
bool LookupDeniedByHook(const ExchangeEvidence& e);

// What the wire said.
bool DnsSaidNo(const ExchangeEvidence& e);
bool DnsEmpty(const ExchangeEvidence& e);
bool DnsSilentAndResolverSaysSo(const ExchangeEvidence& e);
bool DnsSilent(const ExchangeEvidence& e);

// What getaddrinfo alone said.
bool ResolverMayNotHaveAsked(const ExchangeEvidence& e);
bool ResolverFailed(const ExchangeEvidence& e);

// Any look-up at all.
bool LookupCancelled(const ExchangeEvidence& e);

}  // namespace routelens::rules

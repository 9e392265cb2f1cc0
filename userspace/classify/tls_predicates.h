// SPDX-License-Identifier: Apache-2.0
//
// What the rules ask about TLS handshakes, and about what follows one before anything was answered.
//
// Pure. Each is the condition of one row of the table in rules.cc and may count on the rows above
// it not to hold.
#pragma once

#include "userspace/classify/evidence.h"

namespace routelens::rules {

// What a library or an alert in the clear said.
bool VerifyFailed(const ExchangeEvidence& e);
bool VerifyFailedByReason(const ExchangeEvidence& e);
bool AlertReceived(const ExchangeEvidence& e);
bool AlertSent(const ExchangeEvidence& e);
bool NotTls(const ExchangeEvidence& e);
bool LibraryError(const ExchangeEvidence& e);

// What the client did with a certificate that had failed its check.
bool VerifiedThenAbandoned(const ExchangeEvidence& e);

// What the sizes of protected records tell.
bool ClientAuthRefused(const ExchangeEvidence& e);
bool ClientAuthMayBeRefused(const ExchangeEvidence& e);
bool ShortRecordThenClose(const ExchangeEvidence& e);

// Who ended the handshake, or left it.
bool ResetInHandshake(const ExchangeEvidence& e);
bool ClosedInHandshakeByLocal(const ExchangeEvidence& e);
bool ClosedInHandshake(const ExchangeEvidence& e);
bool HandshakeHung(const ExchangeEvidence& e);
bool ClientClosedInHandshake(const ExchangeEvidence& e);
bool AbandonedAfterHandshake(const ExchangeEvidence& e);

}  // namespace routelens::rules

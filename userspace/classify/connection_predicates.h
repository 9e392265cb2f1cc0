// SPDX-License-Identifier: Apache-2.0
//
// What the rules ask about connections on which no request could be read.
//
// Pure. Each is the condition of one row of the table in rules.cc and may count on the rows above
// it not to hold.
#pragma once

#include "userspace/classify/evidence.h"

namespace routelens::rules {

// The kernel ended it; also with a request outstanding.
bool TimedOutWhenConnected(const ExchangeEvidence& e);
bool BrokenWhenConnected(const ExchangeEvidence& e);

// Both sides spoke: what they said is not known.
bool BothSpokeWithinTls(const ExchangeEvidence& e);
bool BothSpokeInTheClear(const ExchangeEvidence& e);

// Asked within TLS, and not answered.
bool Tls12ConnectionReset(const ExchangeEvidence& e);
bool Tls12ConnectionClosed(const ExchangeEvidence& e);
bool TlsConnectionReset(const ExchangeEvidence& e);
bool TlsConnectionClosed(const ExchangeEvidence& e);

// Asked in the clear, and not answered; or not even asked.
bool ResetAfterWords(const ExchangeEvidence& e);
bool ClosedAfterWords(const ExchangeEvidence& e);
bool ResetRightAway(const ExchangeEvidence& e);

// Nobody is to blame.
bool SilentLoser(const ExchangeEvidence& e);
bool WaitedInVain(const ExchangeEvidence& e);
bool LeftEarly(const ExchangeEvidence& e);
bool WithoutAWord(const ExchangeEvidence& e);

}  // namespace routelens::rules

// SPDX-License-Identifier: Apache-2.0
//
// What the rules ask about HTTP requests, answered and not.
//
// Pure. Each is the condition of one row of the table in rules.cc and may count on the rows above
// it not to hold.
#pragma once

#include "userspace/classify/evidence.h"

namespace routelens::rules {

// What a proxy said to CONNECT.
bool ProxyDenied(const ExchangeEvidence& e);
bool ProxyCouldNotReach(const ExchangeEvidence& e);
bool ProxyAnswerAmbiguous(const ExchangeEvidence& e);
bool ConnectAnswered(const ExchangeEvidence& e);

// What an answer said.
bool Malformed(const ExchangeEvidence& e);
bool StatusUnreadable(const ExchangeEvidence& e);
bool ProxysOwnRejection(const ExchangeEvidence& e);
bool ProxysOwnSuccess(const ExchangeEvidence& e);
bool ReachableThroughProxy(const ExchangeEvidence& e);
bool IsReachable(const ExchangeEvidence& e);
bool RejectedThroughProxy(const ExchangeEvidence& e);
bool Rejected405ToGet(const ExchangeEvidence& e);
bool Rejected405ToDelete(const ExchangeEvidence& e);
bool Rejected404WithSession(const ExchangeEvidence& e);
bool Rejected401(const ExchangeEvidence& e);
bool IsRejected(const ExchangeEvidence& e);
bool StatusOutOfRange(const ExchangeEvidence& e);

// How a request ended that had no answer.
bool OneOfSeveral(const ExchangeEvidence& e);
bool StaleKeepAlive(const ExchangeEvidence& e);
bool ProxyHungUpWatched(const ExchangeEvidence& e);
bool ProxyHungUp(const ExchangeEvidence& e);
bool HeadCut(const ExchangeEvidence& e);
bool ResetBeforeAnswer(const ExchangeEvidence& e);
bool ClosedBeforeAnswer(const ExchangeEvidence& e);
bool NoAnswerInTime(const ExchangeEvidence& e);
bool RequestLeft(const ExchangeEvidence& e);

}  // namespace routelens::rules

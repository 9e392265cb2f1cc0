// SPDX-License-Identifier: Apache-2.0
//
// The closed sets in which Routelens speaks: outcomes, confidences, hints, the reasons for which
// evidence stays unattributed, and the rule that decided. Names are public (JSON, conditions).
#pragma once

#include <cstdint>
#include <string_view>

namespace routelens {

// What happened to a request. The order is the order of precedence for the failures.
enum class Outcome : uint8_t {
  kNoObservedExchange = 0,  // unknown, or withdrawn
  kPolicyDenied,
  kCredentialUnavailable,
  kTlsFailed,
  kTransportFailed,
  kUpstreamRejected,
  kReachable,
};

// "Reachable", "PolicyDenied", ...
std::string_view ToString(Outcome outcome);

// "True" for kReachable, "Unknown" for kNoObservedExchange, else "False".
std::string_view StatusOf(Outcome outcome);

// One fixed sentence for each outcome; ends by saying that it is sandbox-level prior evidence.
std::string_view MessageOf(Outcome outcome);

enum class Confidence : uint8_t {
  kNone = 0,      // no outcome
  kWeak = 1,      // several readings: never changes a condition
  kInferred = 2,  // the sequence admits one reading
  kObserved = 3,  // a witness saw the cause
};

std::string_view ToString(Confidence confidence);

// Short fixed sentences (evidence.md, Hints). Never data from the network.
enum class Hint : uint8_t {
  kNone = 0,
  kStatusNotVisible,          // withdrawn: later exchanges went further, status unreadable
  kBlockedLocally,            // rulings 2
  kNoAnswer,                  // rulings 3: request sent, nothing answered
  kNoSseStream,               // 405 to GET
  kSessionDeleteRefused,      // 405 to DELETE
  kSessionExpired,            // 404 with a session
  kCredentialMayHaveExpired,  // 401 from upstream
  kDnsFailedInSandbox,        // client may be bypassing the proxy
  kOtherPort,                 // names exactly one route's host, another port
  kNearMissPath,
  kHostMatchesSeveral,
  kHandshakeReset,          // handshake reset by the network
  kForwarderMayHaveFailed,  // rulings 10
  kCoverageIncomplete,
  kClientClosedHandshake,
};

// The sentence, without a final dot; "" for kNone.
std::string_view SentenceOf(Hint hint);

// Why an event with an outcome stays without a route.
enum class UnattributedReason : uint8_t {
  kNoRoute = 0,    // the authority is no route of the policy
  kNameUnknown,    // no witness names the peer
  kNameAmbiguous,  // witnesses disagree, or several names fit
  kPathUnknown,    // several endpoints share host and port, the path was not seen
  kPathMatchesNone,
  kPathAmbiguous,  // equal specificity
  kPortMismatch,   // a route's host on another port
};

std::string_view ToString(UnattributedReason reason);  // "no_route", "name_unknown", ...

// The row of classify/rules.h that decided. The name is public: it is `rule` in the JSON.
enum class Rule : uint8_t {
  kNone = 0,
  kPolicyHookDenied,
  kBlockedBeforeEgress,
  kProxyConnectDenied,
  kTlsAlertReceived,
  kTlsAlertSent,
  kTlsVerifyFailed,
  kTlsLibraryError,
  kTlsNotTls,
  kTlsServerClosedAfterHello,
  kTlsServerResetAfterHello,
  kTlsHandshakeTimedOut,
  kTlsClientAuthRefused,
  kTlsVerifiedThenAbandoned,
  kTlsShortClientRecordThenClose,
  kTlsClientClosedInHandshake,
  kTlsAbandonedAfterHandshake,
  kDnsFailed,
  kResolverFailed,
  kDnsNoAnswer,
  kDnsNoAddress,
  kConnectRefused,
  kConnectUnreachable,
  kConnectTimedOut,
  kConnectFailed,
  kConnectGivenUp,
  kResetBeforeAnswer,
  kClosedBeforeAnswer,
  kProxyConnectFailed,
  kHttpMalformed,
  kHttpHeadCut,
  kHttpStatusReachable,
  kHttpStatusRejected,
  kCallerCancelled,
  kClosedWithoutAWord,
  kStaleKeepAlive,
  kNoAnswerInTime,
  kStatusNotVisible,
  kEventsLost,
  kHappyEyeballsLoser,
};

std::string_view ToString(Rule rule);  // snake_case

}  // namespace routelens

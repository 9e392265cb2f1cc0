// SPDX-License-Identifier: Apache-2.0
#include "userspace/classify/rules.h"

#include "userspace/classify/attempt_predicates.h"
#include "userspace/classify/connection_predicates.h"
#include "userspace/classify/lookup_predicates.h"
#include "userspace/classify/request_predicates.h"
#include "userspace/classify/tls_predicates.h"

namespace routelens {
namespace rules {
namespace {

constexpr Outcome kNothing = Outcome::kNoObservedExchange;
constexpr Outcome kDenied = Outcome::kPolicyDenied;
constexpr Outcome kTls = Outcome::kTlsFailed;
constexpr Outcome kTransport = Outcome::kTransportFailed;
constexpr Outcome kRejected = Outcome::kUpstreamRejected;
constexpr Outcome kReachable = Outcome::kReachable;
constexpr Confidence kNone = Confidence::kNone;
constexpr Confidence kWeak = Confidence::kWeak;
constexpr Confidence kInferred = Confidence::kInferred;
constexpr Confidence kObserved = Confidence::kObserved;
constexpr Hint kNoHint = Hint::kNone;

constexpr RuleRow kRules[] = {
    // Local policy.
    {Rule::kPolicyHookDenied, kDenied, kObserved, kNoHint, DeniedByHook},
    {Rule::kPolicyHookDenied, kDenied, kObserved, Hint::kDnsFailedInSandbox, LookupDeniedByHook},
    {Rule::kBlockedBeforeEgress, kDenied, kInferred, Hint::kBlockedLocally, BlockedBeforeEgress},
    {Rule::kProxyConnectDenied, kDenied, kInferred, kNoHint, ProxyDenied},

    // What a proxy said to CONNECT.
    {Rule::kProxyConnectFailed, kNothing, kNone, kNoHint, ProxyCouldNotReach},
    {Rule::kProxyConnectFailed, kTransport, kWeak, Hint::kCoverageIncomplete, ProxyAnswerAmbiguous},
    {Rule::kProxyConnectFailed, kTransport, kInferred, kNoHint, ConnectAnswered},

    // A status that was read.
    {Rule::kHttpMalformed, kTransport, kObserved, kNoHint, Malformed},
    {Rule::kStatusNotVisible, kNothing, kNone, Hint::kStatusNotVisible, StatusUnreadable},
    {Rule::kHttpStatusRejected, kRejected, kWeak, Hint::kCoverageIncomplete, ProxysOwnRejection},
    {Rule::kHttpStatusReachable, kReachable, kWeak, Hint::kCoverageIncomplete, ProxysOwnSuccess},
    {Rule::kHttpStatusReachable, kReachable, kInferred, kNoHint, ReachableThroughProxy},
    {Rule::kHttpStatusReachable, kReachable, kObserved, kNoHint, IsReachable},
    {Rule::kHttpStatusRejected, kRejected, kInferred, kNoHint, RejectedThroughProxy},
    {Rule::kHttpStatusRejected, kRejected, kObserved, Hint::kNoSseStream, Rejected405ToGet},
    {Rule::kHttpStatusRejected, kRejected, kObserved, Hint::kSessionDeleteRefused,
     Rejected405ToDelete},
    {Rule::kHttpStatusRejected, kRejected, kObserved, Hint::kSessionExpired,
     Rejected404WithSession},
    {Rule::kHttpStatusRejected, kRejected, kObserved, Hint::kCredentialMayHaveExpired, Rejected401},
    {Rule::kHttpStatusRejected, kRejected, kObserved, kNoHint, IsRejected},
    {Rule::kHttpMalformed, kTransport, kObserved, kNoHint, StatusOutOfRange},

    // TLS.
    {Rule::kTlsVerifyFailed, kTls, kObserved, kNoHint, VerifyFailed},
    {Rule::kTlsVerifyFailed, kTls, kObserved, kNoHint, VerifyFailedByReason},
    {Rule::kTlsAlertReceived, kTls, kObserved, kNoHint, AlertReceived},
    {Rule::kTlsAlertSent, kTls, kObserved, kNoHint, AlertSent},
    {Rule::kTlsNotTls, kTls, kObserved, kNoHint, NotTls},
    {Rule::kTlsLibraryError, kTls, kObserved, kNoHint, LibraryError},
    {Rule::kTlsVerifiedThenAbandoned, kTls, kObserved, kNoHint, VerifiedThenAbandoned},
    {Rule::kTlsClientAuthRefused, kTls, kInferred, kNoHint, ClientAuthRefused},
    {Rule::kTlsClientAuthRefused, kTls, kWeak, kNoHint, ClientAuthMayBeRefused},
    {Rule::kTlsShortClientRecordThenClose, kTls, kInferred, kNoHint, ShortRecordThenClose},
    {Rule::kTlsServerResetAfterHello, kTls, kInferred, Hint::kHandshakeReset, ResetInHandshake},
    {Rule::kTlsServerClosedAfterHello, kTls, kInferred, Hint::kForwarderMayHaveFailed,
     ClosedInHandshakeByLocal},
    {Rule::kTlsServerClosedAfterHello, kTls, kInferred, kNoHint, ClosedInHandshake},
    {Rule::kTlsHandshakeTimedOut, kTls, kInferred, kNoHint, HandshakeHung},
    {Rule::kTlsClientClosedInHandshake, kTls, kWeak, Hint::kClientClosedHandshake,
     ClientClosedInHandshake},
    {Rule::kTlsAbandonedAfterHandshake, kTls, kWeak, kNoHint, AbandonedAfterHandshake},

    // Connections.
    {Rule::kConnectRefused, kTransport, kObserved, kNoHint, RefusedBySomebody},
    {Rule::kConnectRefused, kTransport, kInferred, kNoHint, Refused},
    {Rule::kConnectTimedOut, kTransport, kObserved, kNoHint, TimedOut},
    {Rule::kConnectUnreachable, kTransport, kObserved, kNoHint, Unreachable},
    {Rule::kConnectFailed, kTransport, kObserved, kNoHint, FailedOtherwise},
    {Rule::kConnectFailed, kTransport, kWeak, Hint::kCoverageIncomplete, FailedWithoutCause},
    {Rule::kConnectGivenUp, kTransport, kInferred, kNoHint, GivenUp},
    {Rule::kCallerCancelled, kNothing, kNone, kNoHint, Cancelled},

    // Requests without an answer.
    {Rule::kClosedBeforeAnswer, kNothing, kNone, kNoHint, OneOfSeveral},
    {Rule::kStaleKeepAlive, kNothing, kNone, kNoHint, StaleKeepAlive},
    {Rule::kProxyConnectFailed, kNothing, kNone, kNoHint, ProxyHungUpWatched},
    {Rule::kProxyConnectFailed, kTransport, kInferred, kNoHint, ProxyHungUp},
    {Rule::kHttpHeadCut, kTransport, kObserved, kNoHint, HeadCut},
    {Rule::kResetBeforeAnswer, kTransport, kObserved, kNoHint, ResetBeforeAnswer},
    {Rule::kClosedBeforeAnswer, kTransport, kObserved, kNoHint, ClosedBeforeAnswer},
    {Rule::kConnectTimedOut, kTransport, kObserved, kNoHint, TimedOutWhenConnected},
    {Rule::kConnectFailed, kTransport, kObserved, kNoHint, BrokenWhenConnected},
    {Rule::kNoAnswerInTime, kNothing, kNone, Hint::kNoAnswer, NoAnswerInTime},
    {Rule::kCallerCancelled, kNothing, kNone, kNoHint, RequestLeft},

    // Connections on which nothing could be read.
    {Rule::kStatusNotVisible, kNothing, kNone, Hint::kStatusNotVisible, BothSpokeWithinTls},
    {Rule::kStatusNotVisible, kNothing, kNone, Hint::kStatusNotVisible, BothSpokeInTheClear},
    {Rule::kResetBeforeAnswer, kTransport, kInferred, kNoHint, Tls12ConnectionReset},
    {Rule::kClosedBeforeAnswer, kTransport, kInferred, kNoHint, Tls12ConnectionClosed},
    {Rule::kResetBeforeAnswer, kTransport, kWeak, kNoHint, TlsConnectionReset},
    {Rule::kClosedBeforeAnswer, kTransport, kWeak, kNoHint, TlsConnectionClosed},
    {Rule::kResetBeforeAnswer, kTransport, kInferred, kNoHint, ResetAfterWords},
    {Rule::kClosedBeforeAnswer, kTransport, kInferred, kNoHint, ClosedAfterWords},
    {Rule::kResetBeforeAnswer, kTransport, kInferred, kNoHint, ResetRightAway},
    {Rule::kHappyEyeballsLoser, kNothing, kNone, kNoHint, SilentLoser},
    {Rule::kNoAnswerInTime, kNothing, kNone, Hint::kNoAnswer, WaitedInVain},
    {Rule::kCallerCancelled, kNothing, kNone, kNoHint, LeftEarly},
    {Rule::kClosedWithoutAWord, kNothing, kNone, kNoHint, WithoutAWord},

    // Look-ups.
    {Rule::kDnsFailed, kTransport, kObserved, Hint::kDnsFailedInSandbox, DnsSaidNo},
    {Rule::kDnsNoAddress, kTransport, kObserved, Hint::kDnsFailedInSandbox, DnsEmpty},
    {Rule::kDnsNoAnswer, kTransport, kObserved, Hint::kDnsFailedInSandbox,
     DnsSilentAndResolverSaysSo},
    {Rule::kDnsNoAnswer, kTransport, kInferred, Hint::kDnsFailedInSandbox, DnsSilent},
    {Rule::kResolverFailed, kTransport, kWeak, kNoHint, ResolverMayNotHaveAsked},
    {Rule::kResolverFailed, kTransport, kObserved, Hint::kDnsFailedInSandbox, ResolverFailed},
    {Rule::kCallerCancelled, kNothing, kNone, kNoHint, LookupCancelled},
};

}  // namespace
}  // namespace rules

std::span<const RuleRow> Rules() {
  return rules::kRules;
}

}  // namespace routelens

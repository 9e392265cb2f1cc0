// SPDX-License-Identifier: Apache-2.0
//
// Every switch is without a default, so that the compiler names the table that a new member misses.
// The last return is for values outside the enumeration, which only a cast can make.
#include "userspace/model/outcome.h"

namespace routelens {

std::string_view ToString(Outcome outcome) {
  switch (outcome) {
    case Outcome::kNoObservedExchange:
      return "NoObservedExchange";
    case Outcome::kPolicyDenied:
      return "PolicyDenied";
    case Outcome::kCredentialUnavailable:
      return "CredentialUnavailable";
    case Outcome::kTlsFailed:
      return "TlsFailed";
    case Outcome::kTransportFailed:
      return "TransportFailed";
    case Outcome::kUpstreamRejected:
      return "UpstreamRejected";
    case Outcome::kReachable:
      return "Reachable";
  }
  return "NoObservedExchange";
}

std::string_view StatusOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kReachable:
      return "True";
    case Outcome::kPolicyDenied:
    case Outcome::kCredentialUnavailable:
    case Outcome::kTlsFailed:
    case Outcome::kTransportFailed:
    case Outcome::kUpstreamRejected:
      return "False";
    case Outcome::kNoObservedExchange:
      break;
  }
  return "Unknown";
}

std::string_view MessageOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPolicyDenied:
      return "The latest request was denied by local policy before it left the sandbox; "
             "this is sandbox-level prior evidence.";
    case Outcome::kCredentialUnavailable:
      return "The credential that the route needs could not be resolved or authorised; "
             "this is sandbox-level prior evidence.";
    case Outcome::kTlsFailed:
      return "TLS could not be established or verified for the latest request; "
             "this is sandbox-level prior evidence.";
    case Outcome::kTransportFailed:
      return "Name resolution or transport failed, or the HTTP response was malformed or "
             "incomplete; this is sandbox-level prior evidence.";
    case Outcome::kUpstreamRejected:
      return "HTTP response received: the upstream answered the latest request with an error "
             "status; this is sandbox-level prior evidence.";
    case Outcome::kReachable:
      return "HTTP response received from the upstream for the latest request; "
             "this is sandbox-level prior evidence.";
    case Outcome::kNoObservedExchange:
      break;
  }
  return "No exchange with a known outcome has been observed; "
         "this is sandbox-level prior evidence.";
}

std::string_view ToString(Confidence confidence) {
  switch (confidence) {
    case Confidence::kWeak:
      return "weak";
    case Confidence::kInferred:
      return "inferred";
    case Confidence::kObserved:
      return "observed";
    case Confidence::kNone:
      break;
  }
  return "none";
}

std::string_view SentenceOf(Hint hint) {
  switch (hint) {
    case Hint::kStatusNotVisible:
      return "status not visible: later exchanges went further, but their answers cannot be read";
    case Hint::kBlockedLocally:
      return "blocked before leaving the sandbox; the client may be ignoring its proxy";
    case Hint::kNoAnswer:
      return "request sent, no answer before the client gave up";
    case Hint::kNoSseStream:
      return "405 to GET: the server offers no SSE stream; tool calls may still work";
    case Hint::kSessionDeleteRefused:
      return "405 to DELETE: the server does not let clients end sessions; calls may still work";
    case Hint::kSessionExpired:
      return "404 with a session: the session may have expired";
    case Hint::kCredentialMayHaveExpired:
      return "401 from upstream: the credential may have expired";
    case Hint::kDnsFailedInSandbox:
      return "DNS failed inside the sandbox; the client may be bypassing the proxy";
    case Hint::kOtherPort:
      return "the host belongs to a route, but on another port";
    case Hint::kNearMissPath:
      return "host and port belong to a route, but its path is another";
    case Hint::kHostMatchesSeveral:
      return "several endpoints of the policy share this host";
    case Hint::kHandshakeReset:
      return "handshake reset by the network";
    case Hint::kForwarderMayHaveFailed:
      return "a local forwarder closed the connection; its own connection may have failed";
    case Hint::kCoverageIncomplete:
      return "sensor coverage incomplete";
    case Hint::kClientClosedHandshake:
      return "the client closed inside the handshake; it may not trust the server's certificate";
    case Hint::kNone:
      break;
  }
  return "";
}

std::string_view ToString(UnattributedReason reason) {
  switch (reason) {
    case UnattributedReason::kNoRoute:
      return "no_route";
    case UnattributedReason::kNameUnknown:
      return "name_unknown";
    case UnattributedReason::kNameAmbiguous:
      return "name_ambiguous";
    case UnattributedReason::kPathUnknown:
      return "path_unknown";
    case UnattributedReason::kPathMatchesNone:
      return "path_matches_none";
    case UnattributedReason::kPathAmbiguous:
      return "path_ambiguous";
    case UnattributedReason::kPortMismatch:
      return "port_mismatch";
  }
  return "no_route";
}

std::string_view ToString(Rule rule) {
  switch (rule) {
    case Rule::kPolicyHookDenied:
      return "policy_hook_denied";
    case Rule::kBlockedBeforeEgress:
      return "blocked_before_egress";
    case Rule::kProxyConnectDenied:
      return "proxy_connect_denied";
    case Rule::kTlsAlertReceived:
      return "tls_alert_received";
    case Rule::kTlsAlertSent:
      return "tls_alert_sent";
    case Rule::kTlsVerifyFailed:
      return "tls_verify_failed";
    case Rule::kTlsLibraryError:
      return "tls_library_error";
    case Rule::kTlsNotTls:
      return "tls_not_tls";
    case Rule::kTlsServerClosedAfterHello:
      return "tls_server_closed_after_hello";
    case Rule::kTlsServerResetAfterHello:
      return "tls_server_reset_after_hello";
    case Rule::kTlsHandshakeTimedOut:
      return "tls_handshake_timed_out";
    case Rule::kTlsClientAuthRefused:
      return "tls_client_auth_refused";
    case Rule::kTlsVerifiedThenAbandoned:
      return "tls_verified_then_abandoned";
    case Rule::kTlsShortClientRecordThenClose:
      return "tls_short_client_record_then_close";
    case Rule::kTlsClientClosedInHandshake:
      return "tls_client_closed_in_handshake";
    case Rule::kTlsAbandonedAfterHandshake:
      return "tls_abandoned_after_handshake";
    case Rule::kDnsFailed:
      return "dns_failed";
    case Rule::kResolverFailed:
      return "resolver_failed";
    case Rule::kDnsNoAnswer:
      return "dns_no_answer";
    case Rule::kDnsNoAddress:
      return "dns_no_address";
    case Rule::kConnectRefused:
      return "connect_refused";
    case Rule::kConnectUnreachable:
      return "connect_unreachable";
    case Rule::kConnectTimedOut:
      return "connect_timed_out";
    case Rule::kConnectFailed:
      return "connect_failed";
    case Rule::kConnectGivenUp:
      return "connect_given_up";
    case Rule::kResetBeforeAnswer:
      return "reset_before_answer";
    case Rule::kClosedBeforeAnswer:
      return "closed_before_answer";
    case Rule::kProxyConnectFailed:
      return "proxy_connect_failed";
    case Rule::kHttpMalformed:
      return "http_malformed";
    case Rule::kHttpHeadCut:
      return "http_head_cut";
    case Rule::kHttpStatusReachable:
      return "http_status_reachable";
    case Rule::kHttpStatusRejected:
      return "http_status_rejected";
    case Rule::kCallerCancelled:
      return "caller_cancelled";
    case Rule::kClosedWithoutAWord:
      return "closed_without_a_word";
    case Rule::kStaleKeepAlive:
      return "stale_keep_alive";
    case Rule::kNoAnswerInTime:
      return "no_answer_in_time";
    case Rule::kStatusNotVisible:
      return "status_not_visible";
    case Rule::kEventsLost:
      return "events_lost";
    case Rule::kHappyEyeballsLoser:
      return "happy_eyeballs_loser";
    case Rule::kNone:
      break;
  }
  return "none";
}

}  // namespace routelens

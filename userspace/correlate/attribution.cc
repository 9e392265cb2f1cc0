// SPDX-License-Identifier: Apache-2.0
#include "userspace/correlate/attribution.h"

#include "routes/request_path.h"

namespace routelens {
namespace {

Attribution FromMatch(const Match& match) {
  switch (match.verdict) {
    case MatchVerdict::kRoute:
      return {match.route, {}, Hint::kNone};
    case MatchVerdict::kNoRoute:
      return {std::nullopt, UnattributedReason::kNoRoute, Hint::kNone};
    case MatchVerdict::kPortMismatch:
      return {std::nullopt, UnattributedReason::kPortMismatch,
              match.only_near ? Hint::kOtherPort : Hint::kNone};
    case MatchVerdict::kPathUnknown:
      return {std::nullopt, UnattributedReason::kPathUnknown, Hint::kHostMatchesSeveral};
    case MatchVerdict::kPathMatchesNone:
      return {std::nullopt, UnattributedReason::kPathMatchesNone,
              match.only_near ? Hint::kNearMissPath : Hint::kNone};
    case MatchVerdict::kPathAmbiguous:
      return {std::nullopt, UnattributedReason::kPathAmbiguous, Hint::kNone};
    case MatchVerdict::kNameUnknown:
      break;
  }
  return {};
}

}  // namespace

Attribution Attribute(const RouteMatcher& matcher, const NamedPeer& peer,
                      const std::optional<std::string>& path) {
  const std::optional<std::string> normal = path ? NormalizeRequestPath(*path) : std::nullopt;
  switch (peer.kind) {
    case NamedPeer::Kind::kName:
      return FromMatch(matcher.MatchRequest(peer.host, peer.port, normal));
    case NamedPeer::Kind::kLiteral:
      return FromMatch(
          matcher.MatchAddress(peer.address.bytes, peer.port, normal, AddressSource::kLiteral));
    case NamedPeer::Kind::kDestination: {
      const Match match =
          matcher.MatchAddress(peer.address.bytes, peer.port, normal, AddressSource::kDestination);
      // No route by its address; by a name that nobody saw it could still be one.
      return match.verdict == MatchVerdict::kNoRoute ? Attribution{} : FromMatch(match);
    }
    case NamedPeer::Kind::kAmbiguous:
      return {std::nullopt, UnattributedReason::kNameAmbiguous, Hint::kNone};
    case NamedPeer::Kind::kUnknown:
      break;
  }
  return {};
}

Attribution AttributeLookup(const RouteMatcher& matcher, const NamedPeer& peer) {
  return FromMatch(matcher.MatchHost(peer.host));
}

}  // namespace routelens

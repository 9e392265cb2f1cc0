// SPDX-License-Identifier: Apache-2.0
#include "routes/match.h"

#include <algorithm>

namespace routelens {
namespace {

Match Matched(size_t route) {
  Match match;
  match.verdict = MatchVerdict::kRoute;
  match.route = route;
  return match;
}

Match Unmatched(MatchVerdict verdict, std::optional<size_t> only_near = std::nullopt) {
  Match match;
  match.verdict = verdict;
  match.only_near = only_near;
  return match;
}

// The one text of an address, for wildcard hosts that may cover it.
std::string AddressText(const std::array<uint8_t, 16>& address) {
  constexpr std::array<uint8_t, 12> kV4Mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};
  std::string text;
  if (std::equal(kV4Mapped.begin(), kV4Mapped.end(), address.begin())) {
    for (size_t i = kV4Mapped.size(); i < address.size(); ++i)
      text += (text.empty() ? "" : ".") + std::to_string(address[i]);
    return text;
  }
  // Wildcards separate by ".", which no other IPv6 text has: any one spelling serves.
  for (size_t i = 0; i < address.size(); i += 2) {
    if (i > 0)
      text += ':';
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (const uint8_t byte : {address[i], address[i + 1]}) {
      text += kDigits[byte >> 4];
      text += kDigits[byte & 0xF];
    }
  }
  return text;
}

}  // namespace

RouteMatcher::RouteMatcher(const Policy& policy) {
  StringMap<size_t> route_of_subject;
  for (size_t i = 0; i < policy.routes.size(); ++i)
    route_of_subject.emplace(policy.routes[i].subject.text, i);

  endpoints_.reserve(policy.endpoints.size());
  for (const PolicyEndpoint& from : policy.endpoints) {
    const auto index = static_cast<uint32_t>(endpoints_.size());
    CompiledEndpoint endpoint;
    endpoint.ports = CanonicalPorts(from.ports);
    endpoint.path = PathPattern(from.path);
    endpoint.dotted = !from.host.empty() && from.host.back() == '.';
    if (from.is_route) {
      const auto route = route_of_subject.find(SubjectOf(from.host, from.ports, from.path).text);
      if (route != route_of_subject.end())
        endpoint.route = route->second;
    }

    const std::string host = MatchableHost(from.host);
    const std::optional<std::array<uint8_t, 16>> address = HostAddress(host);
    if (from.host.empty()) {
      hostless_.push_back(index);
    } else if (address) {
      by_address_[*address].push_back(index);
    } else {
      named_ports_.insert(endpoint.ports.begin(), endpoint.ports.end());
    }
    if (IsWildcardHost(host)) {
      HostPattern pattern(host);
      wildcards_by_suffix_[pattern.literal_suffix()].push_back({pattern, index});
    } else if (!from.host.empty()) {
      by_host_[host].push_back(index);
    }
    endpoints_.push_back(std::move(endpoint));
  }
}

bool RouteMatcher::HasPort(uint32_t endpoint, uint16_t port) const {
  const std::vector<uint16_t>& ports = endpoints_[endpoint].ports;
  return std::binary_search(ports.begin(), ports.end(), port);
}

void RouteMatcher::AppendWildcards(std::string_view host, std::optional<uint16_t> port,
                                   Candidates& out) const {
  if (wildcards_by_suffix_.empty() || host.size() > kMaxHostBytes)
    return;
  std::string_view suffix = host;
  while (true) {
    const auto found = wildcards_by_suffix_.find(suffix);
    if (found != wildcards_by_suffix_.end()) {
      for (const WildcardHost& wildcard : found->second) {
        if ((!port || HasPort(wildcard.endpoint, *port)) && wildcard.pattern.Matches(host))
          out.push_back(wildcard.endpoint);
      }
    }
    if (suffix.empty())
      return;
    const size_t dot = suffix.find('.');
    suffix = dot == std::string_view::npos ? std::string_view() : suffix.substr(dot + 1);
  }
}

std::optional<size_t> RouteMatcher::OnlyRouteOf(const Candidates& candidates) const {
  std::optional<size_t> only;
  for (const uint32_t candidate : candidates) {
    const std::optional<size_t>& route = endpoints_[candidate].route;
    if (route && only && *route != *only)
      return std::nullopt;
    if (route)
      only = route;
  }
  return only;
}

// Chooses among the endpoints that host and port allow.
Match RouteMatcher::Decide(const Candidates& candidates,
                           const std::optional<std::string>& path) const {
  bool any_route = false;
  bool dotted = false;
  bool undotted = false;
  for (const uint32_t candidate : candidates) {
    const CompiledEndpoint& endpoint = endpoints_[candidate];
    any_route = any_route || endpoint.route.has_value();
    (endpoint.dotted ? dotted : undotted) = true;
  }
  if (!any_route)
    return {};
  if (dotted && undotted)
    return Unmatched(MatchVerdict::kPathAmbiguous);

  const std::optional<size_t> first_route = endpoints_[candidates.front()].route;
  const bool all_same = std::all_of(candidates.begin(), candidates.end(), [&](uint32_t candidate) {
    return endpoints_[candidate].route == first_route;
  });
  if (!path) {
    if (all_same)
      return Matched(*first_route);
    return Unmatched(MatchVerdict::kPathUnknown);
  }

  const CompiledEndpoint* best = nullptr;
  bool tie = false;
  for (const uint32_t candidate : candidates) {
    const CompiledEndpoint& endpoint = endpoints_[candidate];
    if ((best != nullptr && endpoint.path.specificity() < best->path.specificity()) ||
        !endpoint.path.Matches(*path)) {
      continue;
    }
    if (best == nullptr || endpoint.path.specificity() > best->path.specificity()) {
      best = &endpoint;
      tie = false;
    } else if (endpoint.route != best->route) {
      tie = true;
    }
  }
  if (best == nullptr)
    return Unmatched(MatchVerdict::kPathMatchesNone, OnlyRouteOf(candidates));
  if (tie)
    return Unmatched(MatchVerdict::kPathAmbiguous);
  if (!best->route)
    return {};
  return Matched(*best->route);
}

// Nothing listens for this host on the port; says whether a route has the host on another.
Match RouteMatcher::DecideOffPort(const std::vector<uint32_t>* same_host) const {
  if (same_host == nullptr)
    return {};
  const Candidates others(same_host->begin(), same_host->end());
  const bool any_route = std::any_of(others.begin(), others.end(), [&](uint32_t candidate) {
    return endpoints_[candidate].route.has_value();
  });
  if (!any_route)
    return {};
  return Unmatched(MatchVerdict::kPortMismatch, OnlyRouteOf(others));
}

Match RouteMatcher::MatchRequest(std::string_view host, uint16_t port,
                                 const std::optional<std::string>& path) const {
  const std::string name = MatchableHost(host);
  if (name.empty())
    return {};
  Candidates candidates;
  const auto exact = by_host_.find(name);
  const std::vector<uint32_t>* same_host = exact == by_host_.end() ? nullptr : &exact->second;
  if (same_host != nullptr) {
    for (const uint32_t endpoint : *same_host) {
      if (HasPort(endpoint, port))
        candidates.push_back(endpoint);
    }
  }
  AppendWildcards(name, port, candidates);
  for (const uint32_t endpoint : hostless_) {
    if (HasPort(endpoint, port))
      candidates.push_back(endpoint);
  }
  return candidates.empty() ? DecideOffPort(same_host) : Decide(candidates, path);
}

Match RouteMatcher::MatchHost(std::string_view host) const {
  const std::string name = MatchableHost(host);
  const auto exact = by_host_.find(name);
  if (name.empty() || exact == by_host_.end())
    return {};  // a wildcard or hostless endpoint is never a route
  Candidates candidates(exact->second.begin(), exact->second.end());
  AppendWildcards(name, std::nullopt, candidates);
  candidates.insert(candidates.end(), hostless_.begin(), hostless_.end());
  return Decide(candidates, std::nullopt);
}

Match RouteMatcher::MatchAddress(const std::array<uint8_t, 16>& address, uint16_t port,
                                 const std::optional<std::string>& path,
                                 AddressSource source) const {
  const auto exact = by_address_.find(address);
  if (exact == by_address_.end())
    return {};
  Candidates candidates;
  for (const uint32_t endpoint : exact->second) {
    if (HasPort(endpoint, port))
      candidates.push_back(endpoint);
  }
  if (candidates.empty())
    return DecideOffPort(&exact->second);
  if (source == AddressSource::kLiteral)
    AppendWildcards(AddressText(address), port, candidates);
  for (const uint32_t endpoint : hostless_) {
    if (HasPort(endpoint, port))
      candidates.push_back(endpoint);
  }
  const Match match = Decide(candidates, path);
  if (match.verdict == MatchVerdict::kRoute && source == AddressSource::kDestination &&
      named_ports_.contains(port)) {
    return Unmatched(MatchVerdict::kNameUnknown);
  }
  return match;
}

bool RouteMatcher::IsRouteHost(std::string_view host) const {
  const auto exact = by_host_.find(MatchableHost(host));
  return exact != by_host_.end() &&
         std::any_of(exact->second.begin(), exact->second.end(),
                     [&](uint32_t endpoint) { return endpoints_[endpoint].route.has_value(); });
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "routes/match.h"

#include <algorithm>
#include <cctype>

namespace routelens {
namespace {

constexpr size_t kMaxRequestPathBytes = 4096;

bool IsAlnum(unsigned char c) {
  return c < 0x80 && std::isalnum(c) != 0;
}

bool IsUnreserved(unsigned char c) {
  return IsAlnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

// What may stand in a path segment without an escape (RFC 3986 pchar).
bool IsSegmentCharacter(unsigned char c) {
  return IsUnreserved(c) ||
         std::string_view("!$&'()*+,;=:@").find(static_cast<char>(c)) != std::string_view::npos;
}

int HexDigit(unsigned char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

void AppendEscape(unsigned char c, std::string& out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  out += '%';
  out += kDigits[c >> 4];
  out += kDigits[c & 0xF];
}

// The path of a target in origin form ("/a?b") or absolute form ("http://h/a?b").
std::optional<std::string_view> RawPath(std::string_view target) {
  target = target.substr(0, target.find_first_of("?#"));
  if (!target.empty() && target.front() == '/')
    return target;
  const size_t scheme = target.find("://");
  if (scheme == 0 || scheme == std::string_view::npos || target.find('/') < scheme)
    return std::nullopt;
  const size_t slash = target.find('/', scheme + 3);
  return slash == std::string_view::npos ? "/" : target.substr(slash);
}

// Decodes the unreserved escapes and writes every other byte in the one form that it has.
std::optional<std::string> NormalizeEscapes(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (size_t i = 0; i < path.size(); ++i) {
    const auto c = static_cast<unsigned char>(path[i]);
    if (c < 0x20 || c >= 0x7F)
      return std::nullopt;
    if (c != '%') {
      if (c == '/' || IsSegmentCharacter(c))
        out += static_cast<char>(c);
      else
        AppendEscape(c, out);
      continue;
    }
    if (i + 2 >= path.size())
      return std::nullopt;
    const int high = HexDigit(static_cast<unsigned char>(path[i + 1]));
    const int low = HexDigit(static_cast<unsigned char>(path[i + 2]));
    if (high < 0 || low < 0)
      return std::nullopt;
    const auto decoded = static_cast<unsigned char>(high << 4 | low);
    if (decoded < 0x20 || decoded == 0x7F || decoded == '/')
      return std::nullopt;
    if (IsUnreserved(decoded))
      out += static_cast<char>(decoded);
    else
      AppendEscape(decoded, out);
    i += 2;
  }
  return out;
}

bool IsDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Digits after the colon; an empty port is as good as none (RFC 3986 section 3.2.3).
bool ReadPort(std::string_view text, std::optional<uint16_t>& port) {
  if (text.empty())
    return true;
  if (!IsDigits(text) || text.size() > 5)
    return false;
  unsigned value = 0;
  for (const char c : text) value = value * 10 + static_cast<unsigned>(c - '0');
  if (value == 0 || value > 65535)
    return false;
  port = static_cast<uint16_t>(value);
  return true;
}

// A name as it can stand in an authority or a DNS question: labels of printable ASCII.
bool IsRequestName(std::string_view name) {
  if (name.empty() || name.size() > kMaxHostBytes || name.front() == '.' || name.back() == '.' ||
      name.find("..") != std::string_view::npos) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return IsUnreserved(byte) || std::string_view("!$&'()*+,;=").find(c) != std::string_view::npos;
  });
}

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

std::optional<std::string> NormalizeRequestPath(std::string_view target) {
  const std::optional<std::string_view> raw = RawPath(target);
  if (!raw || raw->size() > kMaxRequestPathBytes)
    return std::nullopt;
  const std::optional<std::string> escaped = NormalizeEscapes(*raw);
  if (!escaped)
    return std::nullopt;

  std::vector<std::string_view> segments;
  std::string_view rest = std::string_view(*escaped).substr(1);
  while (true) {
    const size_t slash = rest.find('/');
    const bool last = slash == std::string_view::npos;
    std::string_view segment = rest.substr(0, slash);
    // Before dot segments are resolved: "..;x" must not come back as ".." later.
    segment = segment.substr(0, segment.find(';'));
    if (segment == "..") {
      if (segments.empty())
        return std::nullopt;
      segments.pop_back();
      segment = {};
    } else if (segment == ".") {
      segment = {};
    }
    if (!segment.empty() || last)  // an empty last segment is a trailing slash
      segments.push_back(segment);
    if (last)
      break;
    rest.remove_prefix(slash + 1);
  }
  std::string path;
  path.reserve(escaped->size());
  for (const std::string_view segment : segments) {
    path += '/';
    path += segment;
  }
  return path.size() <= kMaxRequestPathBytes ? std::optional(path) : std::nullopt;
}

std::optional<Authority> ParseAuthority(std::string_view text) {
  Authority authority;
  std::string_view host = text;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const size_t close = text.find(']');
    if (close == std::string_view::npos)
      return std::nullopt;
    host = text.substr(0, close + 1);
    port = text.substr(close + 1);
    if (!port.empty() && port.front() != ':')
      return std::nullopt;
  } else if (const size_t colon = text.find(':');
             colon != std::string_view::npos && colon == text.rfind(':')) {
    host = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (!port.empty() && !ReadPort(port.substr(1), authority.port))
    return std::nullopt;

  authority.host = MatchableHost(host);
  const std::optional<std::array<uint8_t, 16>> address = HostAddress(authority.host);
  const bool v6 = address && authority.host.find(':') != std::string::npos;
  if (v6)
    return authority;
  // Only an IPv6 literal has brackets, colons or a zone.
  if (host.find_first_of("[%:") != std::string_view::npos || !IsRequestName(authority.host)) {
    return std::nullopt;
  }
  return authority;
}

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

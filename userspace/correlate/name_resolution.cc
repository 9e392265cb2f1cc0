// SPDX-License-Identifier: Apache-2.0
#include "userspace/correlate/name_resolution.h"

#include <optional>

#include "routes/authority.h"

namespace routelens {
namespace {

constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;

using Kind = NamedPeer::Kind;

// One witness's authority, told apart into name and address.
struct Named {
  std::string host;
  std::optional<IpAddress> literal;
  std::optional<uint16_t> port;
};

std::optional<Named> Read(std::string_view text) {
  if (text.empty())
    return std::nullopt;
  std::optional<Authority> authority = ParseAuthority(text);
  if (!authority || authority->host.empty())
    return std::nullopt;
  return Named{authority->host, ParseIpAddress(authority->host), authority->port};
}

NamedPeer Unknown(const NameWitnesses& w, Kind kind) {
  if (w.in_tunnel)
    return {.kind = kind, .host = {}, .address = {}, .port = 0};
  return {.kind = kind, .host = ToString(w.remote.address), .address = {}, .port = w.remote.port};
}

NamedPeer Literal(const Named& named, uint16_t port) {
  return {Kind::kLiteral, ToString(*named.literal), *named.literal, port};
}

// The name within a tunnel or behind a proxy: `outer` said whom to reach.
NamedPeer ThroughProxy(const NameWitnesses& w, const Named& outer, uint16_t default_port,
                       const std::optional<Named>& host, const std::optional<Named>& sni) {
  const uint16_t port = outer.port.value_or(default_port);
  if (outer.literal) {
    // A client that resolved the name itself: what it says inside is its name.
    for (const auto* inner : {&host, &sni}) {
      if (!*inner)
        continue;
      if (!(*inner)->literal)
        return {Kind::kName, (*inner)->host, {}, port};
      if (*(*inner)->literal != *outer.literal)
        return Unknown(w, Kind::kAmbiguous);
    }
    return Literal(outer, port);
  }
  for (const auto* inner : {&host, &sni}) {
    if (!*inner)
      continue;
    if ((*inner)->host != outer.host)
      return Unknown(w, Kind::kAmbiguous);
    break;  // a Host that agrees decides for this request, whatever the SNI
  }
  return {Kind::kName, outer.host, {}, port};
}

NamedPeer Direct(const NameWitnesses& w, const std::optional<Named>& host,
                 const std::optional<Named>& sni) {
  const uint16_t port = w.remote.port;
  if (host) {
    if (host->port && *host->port != port)
      return Unknown(w, Kind::kAmbiguous);  // forwarded from elsewhere
    if (!host->literal)
      return {Kind::kName, host->host, {}, port};
    if (*host->literal != w.remote.address || (sni && !sni->literal))
      return Unknown(w, Kind::kAmbiguous);
    return Literal(*host, port);
  }
  if (sni) {
    if (!sni->literal)
      return {Kind::kName, sni->host, {}, port};
    if (*sni->literal != w.remote.address)
      return Unknown(w, Kind::kAmbiguous);
    return Literal(*sni, port);
  }
  switch (w.address_name->kind) {
    case AddressName::Kind::kOne:
      return {Kind::kName, w.address_name->name, {}, port};
    case AddressName::Kind::kSeveral:
      return Unknown(w, Kind::kAmbiguous);
    case AddressName::Kind::kUnsure:
      return Unknown(w, Kind::kUnknown);
    case AddressName::Kind::kNone:
      break;
  }
  const std::string text = ToString(w.remote.address);
  if (w.hello_read && !w.encrypted_hello)
    return {Kind::kLiteral, text, w.remote.address, port};
  if (w.address_name_is_all)
    return {Kind::kDestination, text, w.remote.address, port};
  return Unknown(w, Kind::kUnknown);
}

}  // namespace

NamedPeer ResolvePeer(const NameWitnesses& w) {
  if (w.host_unusable)
    return Unknown(w, Kind::kAmbiguous);
  const std::optional<Named> host = Read(w.host);
  if (!w.host.empty() && !host)
    return Unknown(w, Kind::kAmbiguous);  // a Host that no authority looks like
  const std::optional<Named> sni = w.encrypted_hello ? std::nullopt : Read(w.sni);
  if (w.in_tunnel) {
    const std::optional<Named> tunnel = Read(w.tunnel_authority);
    if (!tunnel)
      return Unknown(w, Kind::kUnknown);
    if (w.is_absolute)
      return ThroughProxy(w, *tunnel, kHttpsPort, host, std::nullopt);
    return ThroughProxy(w, *tunnel, kHttpsPort, host, sni);
  }
  if (w.is_absolute && host)
    return ThroughProxy(w, *host, kHttpPort, std::nullopt, std::nullopt);
  return Direct(w, host, sni);
}

NamedPeer PeerOfLookup(std::string_view name) {
  return {Kind::kName, std::string(name), {}, 0};
}

}  // namespace routelens

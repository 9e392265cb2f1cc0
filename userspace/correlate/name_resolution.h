// SPDX-License-Identifier: Apache-2.0
//
// Whom a client meant: from the names that witnesses gave to one peer. Order of trust (design:
// evidence, Attribution; rulings 15): CONNECT authority, absolute-form target, Host, SNI, then what
// the same process resolved. Witnesses that contradict each other give no name; DNS never
// contradicts the others; an address in an authority is not a name. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "userspace/model/address.h"
#include "userspace/tables/flow.h"

namespace routelens {

struct NameWitnesses {
  Endpoint remote;  // where the socket went
  // What its process had resolved to that; never null.
  const AddressName* address_name = nullptr;
  bool in_tunnel = false;
  std::string_view tunnel_authority;  // of the CONNECT, or of this CONNECT request itself
  bool is_absolute = false;
  std::string_view host;       // Host value, or the absolute form's authority
  bool host_unusable = false;  // repeated or truncated
  bool hello_read = false;     // a ClientHello was read
  bool encrypted_hello = false;
  std::string_view sni;
  // All that this process ever resolved was under watch: it had no name for the address.
  bool address_name_is_all = false;
};

struct NamedPeer {
  enum class Kind : uint8_t {
    kName,         // `host`, lower case, without trailing dot
    kLiteral,      // the client itself named the address
    kDestination,  // an address, and no name for it was ever resolved
    kUnknown,
    kAmbiguous,
  };
  Kind kind = Kind::kUnknown;
  std::string host;   // for people, too: the address as text when there is no name
  IpAddress address;  // kLiteral, kDestination
  uint16_t port = 0;
  friend bool operator==(const NamedPeer&, const NamedPeer&) = default;
};

NamedPeer ResolvePeer(const NameWitnesses& witnesses);

// A name that was looked up; it has no port.
NamedPeer PeerOfLookup(std::string_view name);

}  // namespace routelens

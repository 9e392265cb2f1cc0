// SPDX-License-Identifier: Apache-2.0
//
// Bytes as they stand on the wire, made by hand from the RFCs: DNS messages and TLS hellos in their
// records. For tests of what reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace routelens {

std::vector<std::byte> DnsQuery(uint16_t id, std::string_view name, uint16_t type);

// With `addresses` of the question's type (RFC 1035 section 4.1), TTL 60 s.
std::vector<std::byte> DnsReply(uint16_t id, std::string_view name, uint16_t type, uint8_t rcode,
                                const std::vector<std::string>& addresses, bool truncated = false);

struct HelloOptions {
  std::byte random{0x11};
  std::string sni = "mcp.example";
  bool offers_resumption = false;
};

// One record with a ClientHello that offers TLS 1.3 and 1.2.
std::vector<std::byte> ClientHelloRecord(const HelloOptions& options = {});

// One record with a ServerHello of 0x0303 or 0x0304.
std::vector<std::byte> ServerHelloRecord(uint16_t version, bool resumes = false);

}  // namespace routelens

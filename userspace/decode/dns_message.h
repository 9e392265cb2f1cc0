// SPDX-License-Identifier: Apache-2.0
//
// One DNS message (RFC 1035 section 4) as far as names and addresses go: header, questions, and of
// the answers A, AAAA and CNAME of class IN. Authority and additional sections (EDNS among them)
// are not read. Pure; any bytes are safe to give; no recursion, work bounded by the message's size.
//
// Names are canonical: ASCII lower case, without the trailing dot; the root is "". A dot, a
// backslash or an unprintable byte within a label is "\DDD" (RFC 1035 section 5.1), so that it
// matches no host name. Compression pointers must lead to ever smaller offsets; a name has at most
// 127 labels, 255 bytes and 127 pointers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "userspace/model/address.h"

namespace routelens {

constexpr uint16_t kDnsTypeA = 1;
constexpr uint16_t kDnsTypeCname = 5;
constexpr uint16_t kDnsTypeAaaa = 28;

constexpr uint8_t kDnsNoError = 0;
constexpr uint8_t kDnsServFail = 2;
constexpr uint8_t kDnsNxDomain = 3;
constexpr uint8_t kDnsRefused = 5;

struct DnsQuestion {
  std::string name;
  uint16_t type = 0;
  uint16_t dns_class = 0;
  friend bool operator==(const DnsQuestion&, const DnsQuestion&) = default;
};

struct DnsAddress {
  std::string name;
  IpAddress address;
  uint32_t ttl_s = 0;
  friend bool operator==(const DnsAddress&, const DnsAddress&) = default;
};

struct DnsAlias {
  std::string name;
  std::string target;
  uint32_t ttl_s = 0;
  friend bool operator==(const DnsAlias&, const DnsAlias&) = default;
};

struct DnsMessage {
  uint16_t id = 0;
  bool is_response = false;
  uint8_t opcode = 0;
  uint8_t rcode = 0;
  bool truncated = false;   // the TC bit: ask again over TCP
  bool incomplete = false;  // the bytes, or our bound, ended before the answers did
  std::vector<DnsQuestion> questions;
  std::vector<DnsAddress> addresses;
  std::vector<DnsAlias> aliases;
  friend bool operator==(const DnsMessage&, const DnsMessage&) = default;
};

enum class DnsFault : uint8_t {
  kTooShort,    // less than header and questions
  kBadPointer,  // a compression pointer that does not lead backwards, or too many of them
  kBadLabel,    // a label type that does not exist
  kNameTooLong,
  kBadLength,  // an address that is not 4 or 16 bytes, an alias that does not fill its data
};

std::string_view ToString(DnsFault fault);  // "too_short", ...

using ParsedDns = std::variant<DnsMessage, DnsFault>;

// `bytes` is one message, without the length prefix of TCP. Answers that the bytes cut off make
// the message `incomplete`; what stands before them is kept.
ParsedDns ParseDnsMessage(std::span<const std::byte> bytes);

// What a response says of its first question.
struct DnsAnswer {
  std::string name;                  // asked
  std::string canonical;             // the last name of the alias chain; `name` if there is none
  std::vector<IpAddress> addresses;  // of `canonical` only: others are not believed
  uint32_t ttl_s = 0;                // the smallest on the way; 0 without addresses
  friend bool operator==(const DnsAnswer&, const DnsAnswer&) = default;
};

// Follows at most 16 aliases. Empty names and addresses if there is no question.
DnsAnswer AnswerOf(const DnsMessage& message);

// A name in the canonical form that this file uses, from text: lower case, one trailing dot less.
std::string CanonicalDnsName(std::string_view text);

}  // namespace routelens

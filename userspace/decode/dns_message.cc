// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/dns_message.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#include "userspace/decode/byte_reader.h"

namespace routelens {
namespace {

constexpr size_t kMaxLabels = 127;
constexpr size_t kMaxNameBytes = 255;  // on the wire, length bytes and the root included
constexpr size_t kMaxPointers = 127;
constexpr size_t kMaxQuestions = 16;
constexpr size_t kMaxAnswers = 512;  // a real answer has a few; more of a hostile one is not kept
constexpr int kMaxAliases = 16;
constexpr uint16_t kClassIn = 1;

struct Name {
  std::string text;
  size_t end = 0;  // offset behind the name where it stands
};

using ReadName = std::variant<Name, DnsFault>;

void AppendLabel(std::span<const std::byte> label, std::string& text) {
  if (!text.empty())
    text += '.';
  for (const std::byte byte : label) {
    const auto c = std::to_integer<unsigned char>(byte);
    if (c >= 'A' && c <= 'Z') {
      text += static_cast<char>(c - 'A' + 'a');
    } else if (c > ' ' && c < 0x7f && c != '.' && c != '\\') {
      text += static_cast<char>(c);
    } else {
      std::array<char, 5> escaped;
      std::snprintf(escaped.data(), escaped.size(), "\\%03u", c);
      text += escaped.data();
    }
  }
}

// RFC 1035 section 4.1.4. `lowest` only falls, so the loop ends whatever the pointers say.
ReadName NameAt(std::span<const std::byte> message, size_t offset) {
  Name name;
  size_t at = offset;
  size_t lowest = offset;
  size_t labels = 0;
  size_t pointers = 0;
  size_t wire_bytes = 1;
  while (true) {
    if (at >= message.size())
      return DnsFault::kTooShort;
    const auto length = std::to_integer<size_t>(message[at]);
    if (length == 0) {
      if (pointers == 0)
        name.end = at + 1;
      return name;
    }
    if ((length & 0xc0) == 0xc0) {
      if (at + 1 >= message.size())
        return DnsFault::kTooShort;
      const size_t target = (length & 0x3f) << 8 | std::to_integer<size_t>(message[at + 1]);
      if (target >= lowest || ++pointers > kMaxPointers)
        return DnsFault::kBadPointer;
      if (pointers == 1)
        name.end = at + 2;
      lowest = target;
      at = target;
      continue;
    }
    if ((length & 0xc0) != 0)
      return DnsFault::kBadLabel;
    wire_bytes += length + 1;
    if (++labels > kMaxLabels || wire_bytes > kMaxNameBytes)
      return DnsFault::kNameTooLong;
    if (message.size() - at - 1 < length)
      return DnsFault::kTooShort;
    AppendLabel(message.subspan(at + 1, length), name.text);
    at += length + 1;
  }
}

// One record of the answer section into `out`; the offset behind it, or a fault.
std::variant<size_t, DnsFault> ReadAnswer(std::span<const std::byte> message, size_t offset,
                                          DnsMessage& out) {
  ReadName read = NameAt(message, offset);
  if (const auto* fault = std::get_if<DnsFault>(&read))
    return *fault;
  Name owner = std::get<Name>(std::move(read));
  ByteReader reader(message.subspan(owner.end));
  const uint16_t type = reader.U16();
  const uint16_t dns_class = reader.U16();
  const uint32_t ttl_s = reader.U32();
  const size_t data_bytes = reader.U16();
  const size_t data_offset = owner.end + reader.position();
  const std::span<const std::byte> data = reader.Take(data_bytes);
  if (!reader.ok())
    return DnsFault::kTooShort;
  const size_t end = data_offset + data_bytes;
  if (dns_class != kClassIn)
    return end;

  if (type == kDnsTypeA || type == kDnsTypeAaaa) {
    DnsAddress record{std::move(owner.text), {}, ttl_s};
    auto& bytes = record.address.bytes;
    if (type == kDnsTypeA && data.size() == 4) {
      bytes[10] = bytes[11] = 0xff;
    } else if (type != kDnsTypeAaaa || data.size() != 16) {
      return DnsFault::kBadLength;
    }
    std::transform(data.begin(), data.end(), bytes.end() - static_cast<ptrdiff_t>(data.size()),
                   [](std::byte byte) { return std::to_integer<uint8_t>(byte); });
    out.addresses.push_back(std::move(record));
  } else if (type == kDnsTypeCname) {
    ReadName target = NameAt(message.first(end), data_offset);
    if (const auto* fault = std::get_if<DnsFault>(&target))
      return *fault == DnsFault::kTooShort ? DnsFault::kBadLength : *fault;
    if (std::get<Name>(target).end != end)
      return DnsFault::kBadLength;
    out.aliases.push_back({std::move(owner.text), std::move(std::get<Name>(target).text), ttl_s});
  }
  return end;
}

}  // namespace

std::string_view ToString(DnsFault fault) {
  switch (fault) {
    case DnsFault::kTooShort:
      return "too_short";
    case DnsFault::kBadPointer:
      return "bad_pointer";
    case DnsFault::kBadLabel:
      return "bad_label";
    case DnsFault::kNameTooLong:
      return "name_too_long";
    case DnsFault::kBadLength:
      return "bad_length";
  }
  return "unknown";
}

ParsedDns ParseDnsMessage(std::span<const std::byte> bytes) {
  ByteReader header(bytes);
  DnsMessage message;
  message.id = header.U16();
  const uint16_t flags = header.U16();
  const size_t question_count = header.U16();
  const size_t answer_count = header.U16();
  header.Take(4);  // counts of the sections that are not read
  if (!header.ok())
    return DnsFault::kTooShort;
  message.is_response = (flags & 0x8000) != 0;
  message.opcode = static_cast<uint8_t>(flags >> 11 & 0xf);
  message.truncated = (flags & 0x0200) != 0;
  message.rcode = static_cast<uint8_t>(flags & 0xf);

  size_t at = header.position();
  for (size_t i = 0; i < question_count; ++i) {
    ReadName read = NameAt(bytes, at);
    if (const auto* fault = std::get_if<DnsFault>(&read))
      return *fault;
    Name& name = std::get<Name>(read);
    ByteReader rest(bytes.subspan(name.end));
    const uint16_t type = rest.U16();
    const uint16_t dns_class = rest.U16();
    if (!rest.ok())
      return DnsFault::kTooShort;
    at = name.end + rest.position();
    if (i >= kMaxQuestions) {
      message.incomplete = true;
      return message;
    }
    message.questions.push_back({std::move(name.text), type, dns_class});
  }

  for (size_t i = 0; i < answer_count; ++i) {
    if (i >= kMaxAnswers) {
      message.incomplete = true;
      break;
    }
    const std::variant<size_t, DnsFault> end = ReadAnswer(bytes, at, message);
    if (const auto* fault = std::get_if<DnsFault>(&end)) {
      if (*fault != DnsFault::kTooShort)
        return *fault;
      message.incomplete = true;
      break;
    }
    at = std::get<size_t>(end);
  }
  return message;
}

DnsAnswer AnswerOf(const DnsMessage& message) {
  DnsAnswer answer;
  if (message.questions.empty())
    return answer;
  answer.name = message.questions.front().name;
  answer.canonical = answer.name;
  uint32_t ttl_s = UINT32_MAX;
  for (int i = 0; i < kMaxAliases; ++i) {
    const auto alias = std::find_if(message.aliases.begin(), message.aliases.end(),
                                    [&](const DnsAlias& a) { return a.name == answer.canonical; });
    if (alias == message.aliases.end())
      break;
    answer.canonical = alias->target;
    ttl_s = std::min(ttl_s, alias->ttl_s);
  }
  for (const DnsAddress& record : message.addresses) {
    if (record.name != answer.canonical)
      continue;
    answer.addresses.push_back(record.address);
    ttl_s = std::min(ttl_s, record.ttl_s);
  }
  if (!answer.addresses.empty())
    answer.ttl_s = ttl_s;
  return answer;
}

std::string CanonicalDnsName(std::string_view text) {
  if (!text.empty() && text.back() == '.')
    text.remove_suffix(1);
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as one DNS message, and as a DNS stream over TCP cut in different places.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "tests/fuzz/require.h"
#include "userspace/decode/dns_message.h"
#include "userspace/decode/dns_stream.h"

namespace {

using routelens::AnswerOf;
using routelens::DnsAnswer;
using routelens::DnsMessage;
using routelens::DnsStream;

constexpr size_t kLongestName = 255 * 4;  // every byte escaped

void RequireSane(const DnsMessage& message) {
  for (const auto& question : message.questions) RL_REQUIRE(question.name.size() <= kLongestName);
  for (const auto& alias : message.aliases)
    RL_REQUIRE(alias.name.size() <= kLongestName && alias.target.size() <= kLongestName);
  const DnsAnswer answer = AnswerOf(message);
  RL_REQUIRE(answer.addresses.size() <= message.addresses.size());
  RL_REQUIRE(std::none_of(answer.name.begin(), answer.name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) < 0x21;
  }));
}

std::vector<std::vector<std::byte>> Messages(std::span<const std::byte> bytes, size_t piece) {
  std::vector<std::vector<std::byte>> messages;
  DnsStream stream;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    stream.Add(static_cast<uint32_t>(at), bytes.subspan(at, std::min(piece, bytes.size() - at)));
    while (auto message = stream.TakeMessage()) messages.push_back(*std::move(message));
  }
  RL_REQUIRE(!stream.broken());
  return messages;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const routelens::ParsedDns parsed = routelens::ParseDnsMessage(bytes);
  if (const auto* message = std::get_if<DnsMessage>(&parsed))
    RequireSane(*message);
  if (size <= 65535)
    RL_REQUIRE(Messages(bytes, 65536) == Messages(bytes, 7));
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// The conversation scanners over any script of two speakers. Input: pieces, each a head byte (bit 7
// the direction, bits 0..6 the length, 0 means 128) and its bytes; a first byte of 0xff makes it
// DNS. Whatever comes, the same script fed byte by byte must say the same, and every report must
// keep its own rules.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/bpf_pure/conversation_driver.h"
#include "tests/fuzz/require.h"

namespace {

using routelens::ConversationDriver;
using routelens::Said;

std::vector<Said> ScriptOf(const uint8_t* data, size_t size) {
  std::vector<Said> script;
  for (size_t at = 0; at < size;) {
    const uint8_t head = data[at++];
    const size_t wanted = (head & 0x7f) == 0 ? 128 : head & 0x7f;
    const size_t length = wanted < size - at ? wanted : size - at;
    script.push_back({static_cast<__u8>(head >> 7),
                      std::string(reinterpret_cast<const char*>(data + at), length)});
    at += length;
  }
  return script;
}

void RequireSane(const rl_conversation& c) {
  RL_REQUIRE(c.request.path_length <= RL_PATH_MAX);
  RL_REQUIRE(c.request.host_length <= RL_HOST_MAX);
  RL_REQUIRE(c.asked - c.answered <= RL_PIPELINE_MAX);
  RL_REQUIRE(!c.lost || c.settled);
  RL_REQUIRE(c.protocol <= RL_PROTOCOL_OPAQUE);
  const unsigned status = c.response.status;
  RL_REQUIRE(status == 0 || (status >= 100 && status <= 999));
  const bool without_status = (c.response.flags & (RL_HTTP_MALFORMED | RL_HTTP_UNKNOWN)) != 0;
  RL_REQUIRE(c.response.request_index == 0 || (status == 0) == without_status);
  for (const rl_scan_side& side : c.side) {
    RL_REQUIRE(side.taken <= RL_DNS_STREAM_MAX);
    RL_REQUIRE(c.protocol != RL_PROTOCOL_TLS || side.taken <= RL_FLIGHT_MAX);
  }
  if (c.settled) {
    for (const __u8 direction : {RL_EGRESS, RL_INGRESS}) {
      RL_REQUIRE(rl_conversation_skippable(&c, direction, 100) == 100);
      RL_REQUIRE(rl_conversation_take(&c, direction, 100) == 0);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ConversationDriver whole;
  ConversationDriver single;
  if (size > 0 && data[0] == 0xff) {
    rl_conversation_start_dns(&whole.conversation());
    rl_conversation_start_dns(&single.conversation());
  }
  for (const Said& said : ScriptOf(data, size)) {
    whole.Feed(said);
    single.FeedInPieces(said, 1);
    RequireSane(whole.conversation());
  }
  RL_REQUIRE(whole.lines() == single.lines());
  RL_REQUIRE(whole.Flags() == single.Flags());
  for (const __u8 direction : {RL_EGRESS, RL_INGRESS})
    RL_REQUIRE(whole.taken(direction) == single.taken(direction));
  return 0;
}

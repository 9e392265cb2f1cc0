// SPDX-License-Identifier: Apache-2.0
#include "tests/bpf_pure/conversation_driver.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

namespace routelens {
namespace {

std::string_view MethodName(unsigned method) {
  static constexpr std::string_view kNames[] = {"OTHER", "GET",     "POST",    "DELETE",
                                                "HEAD",  "CONNECT", "OPTIONS", "PUT"};
  return method < std::size(kNames) ? kNames[method] : "?";
}

std::string_view FormName(unsigned form) {
  static constexpr std::string_view kNames[] = {"none",      "origin",   "absolute",
                                                "authority", "asterisk", "h2"};
  return form < std::size(kNames) ? kNames[form] : "?";
}

std::string HttpFlagNames(unsigned flags) {
  static constexpr std::string_view kNames[] = {"path_truncated", "host_truncated", "in_tunnel",
                                                "malformed",      "upgraded",       "unknown",
                                                "session",        "host_repeated"};
  std::string text;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if ((flags >> i & 1u) != 0)
      text += " " + std::string(kNames[i]);
  }
  return text;
}

std::string Text(const __u8* bytes, unsigned length) {
  return std::string(reinterpret_cast<const char*>(bytes), length);
}

std::string RequestLine(const rl_scanned_request& r) {
  return "request " + std::to_string(r.index) + " " + std::string(MethodName(r.method)) + " " +
         std::string(FormName(r.form)) + " path=" + Text(r.path, r.path_length) +
         " host=" + Text(r.host, r.host_length) + HttpFlagNames(r.flags);
}

std::string RecordLine(const rl_scanned_record& r, unsigned direction, bool in_tunnel) {
  char text[96];
  std::snprintf(text, sizeof text, "%c record %u type=%u version=%04x length=%u",
                direction == RL_EGRESS ? '>' : '<', r.index, r.content_type, r.version, r.length);
  std::string line = text;
  if (r.alert_level != 0) {
    line += " alert=" + std::to_string(r.alert_level) + "/" + std::to_string(r.alert_description);
  }
  return in_tunnel ? line + " in_tunnel" : line;
}

}  // namespace

void ConversationDriver::Note(__u8 direction, __u32 events, char byte) {
  if ((events & RL_SCAN_STREAM_BYTE) != 0)
    taken_[direction] += byte;
  if ((events & RL_SCAN_REQUEST) != 0)
    lines_.push_back(RequestLine(conversation_.request));
  if ((events & RL_SCAN_RESPONSE) != 0) {
    const rl_scanned_response& r = conversation_.response;
    lines_.push_back("response " + std::to_string(r.request_index) + " " +
                     std::to_string(r.status) + HttpFlagNames(r.flags));
  }
  if ((events & RL_SCAN_TLS_RECORD) != 0) {
    lines_.push_back(RecordLine(conversation_.tls[direction], direction,
                                rl_conversation_in_tunnel(&conversation_) != 0));
  }
  if ((events & RL_SCAN_SETTLED) != 0)
    lines_.push_back("settled");
}

void ConversationDriver::Feed(const Said& said) {
  const __u8 direction = said.direction;
  size_t at = 0;
  while (at < said.bytes.size()) {
    const auto left = static_cast<__u32>(said.bytes.size() - at);
    const __u32 skip = rl_conversation_skippable(&conversation_, direction, left);
    if (skip > 0) {
      taken_[direction] +=
          said.bytes.substr(at, rl_conversation_take(&conversation_, direction, skip));
      rl_conversation_skip(&conversation_, direction, skip);
      at += skip;
    } else {
      const auto byte = static_cast<__u8>(said.bytes[at]);
      Note(direction, rl_conversation_byte(&conversation_, direction, byte), said.bytes[at]);
      ++at;
    }
  }
}

void ConversationDriver::FeedInPieces(const Said& said, size_t piece) {
  for (size_t at = 0; at < said.bytes.size(); at += piece)
    Feed({said.direction, said.bytes.substr(at, piece)});
}

std::string ConversationDriver::Flags() const {
  std::string text;
  const auto add = [&text](__u32 holds, std::string_view name) {
    if (holds != 0)
      text += (text.empty() ? "" : " ") + std::string(name);
  };
  add(rl_conversation_request_open(&conversation_), "open");
  add(rl_conversation_head_open(&conversation_), "head_open");
  add(rl_conversation_served(&conversation_), "served");
  add(rl_conversation_settled(&conversation_), "settled");
  add(rl_conversation_is_lost(&conversation_), "lost");
  add(rl_conversation_in_tunnel(&conversation_), "tunnel");
  return text;
}

}  // namespace routelens

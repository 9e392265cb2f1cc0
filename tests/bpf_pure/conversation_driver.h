// SPDX-License-Identifier: Apache-2.0
//
// Feeds a conversation as the packet programs do and writes down what it says, one line for each
// event, so that a test compares lists of lines. Segments may be cut anywhere: Segmentation says
// how many bytes are offered at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/pure/conversation.h"

namespace routelens {

// One side speaks.
struct Said {
  __u8 direction = RL_EGRESS;
  std::string bytes;
};

inline Said Client(std::string_view bytes) {
  return {RL_EGRESS, std::string(bytes)};
}

inline Said Server(std::string_view bytes) {
  return {RL_INGRESS, std::string(bytes)};
}

class ConversationDriver {
 public:
  // Offers `bytes` in one piece.
  void Feed(const Said& said);

  // The same in pieces of at most `piece` bytes.
  void FeedInPieces(const Said& said, size_t piece);

  const std::vector<std::string>& lines() const { return lines_; }

  // What was to be copied out of a direction.
  const std::string& taken(__u8 direction) const { return taken_[direction & 1]; }

  // "open head_open served settled lost tunnel", those that hold.
  std::string Flags() const;

  rl_conversation& conversation() { return conversation_; }

 private:
  void Note(__u8 direction, __u32 events, char byte);

  rl_conversation conversation_{};
  std::vector<std::string> lines_;
  std::string taken_[2];
};

}  // namespace routelens

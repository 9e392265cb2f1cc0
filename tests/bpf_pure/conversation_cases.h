// SPDX-License-Identifier: Apache-2.0
//
// A conversation as a test states it, and the check that it says the same however it is cut.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/bpf_pure/conversation_driver.h"

namespace routelens {

struct ConversationCase {
  std::string name;
  std::vector<Said> said;
  std::vector<std::string> lines;
  std::string flags;  // as ConversationDriver::Flags
};

// Feeds the case whole, byte by byte, and cut in two at every place of every part; each way must
// give the lines and flags of the case, and the same bytes to copy out.
void ExpectConversation(const ConversationCase& test);

}  // namespace routelens

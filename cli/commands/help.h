// SPDX-License-Identifier: Apache-2.0
//
// The help pages, one for each command, written as manual pages are. A test holds them against the
// parser: every option is in its page, and a page names no other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace routelens {

// By the words of the command, "run" or "policy check"; "" is the program itself. Empty if there is
// no such page.
std::string_view HelpPage(std::string_view command);

// All that have a page, the program itself first.
std::vector<std::string_view> HelpTopics();

}  // namespace routelens

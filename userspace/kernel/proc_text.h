// SPDX-License-Identifier: Apache-2.0
//
// Small text files of /proc and how to take them apart. Reads are bounded; a file that cannot be
// read is empty text, which every parser here takes for "nothing known".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace routelens {

std::string ReadProcText(const std::string& path, size_t limit_bytes = 1 << 20);

void ForEachLine(std::string_view text, const std::function<void(std::string_view)>& visit);

// The word at `index`, words being separated by runs of spaces; "" when there are fewer.
std::string_view Word(std::string_view line, size_t index);

// Start time of a process on the boot clock, floored to the clock tick as /proc tells it; 0 when
// `stat`, the text of /proc/PID/stat, does not hold it. A comm with spaces and parentheses is fine.
uint64_t StartBootNs(std::string_view stat);

}  // namespace routelens

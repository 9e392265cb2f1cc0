// SPDX-License-Identifier: Apache-2.0
//
// Live lines: an event as one JSON object, and any such line as text for a person. The second
// takes the line as it came over the watch socket: it may hold anything and is checked. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "userspace/model/events.h"

namespace routelens {

// Without a newline. Bytes of handshakes and DNS messages are given as a length only.
std::string EventLine(const Event& event, int64_t wall_offset_ns);

// {"event":"dropped","count":N}: a reader was too slow for this many lines.
std::string DroppedLine(uint64_t count);

// {"event":"end"}: the session is over.
std::string EndLine();

// One line of text without a newline, in 80 columns where its parts allow; "" for what is no line.
std::string LineForPerson(std::string_view json_line, bool colour);

}  // namespace routelens

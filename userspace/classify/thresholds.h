// SPDX-License-Identifier: Apache-2.0
//
// How long and how often, for the rules that judge by time (rulings 3, 9; design: evidence).
#pragma once

#include <cstdint>

#include "userspace/model/time.h"

namespace routelens {

// Who waited this long, and sent its SYN this many times more, has not just changed its mind.
constexpr Duration kGiveUpAfter = Seconds(3);
constexpr uint32_t kGiveUpRetransmits = 2;

// A client that leaves so soon after the handshake leaves because of it.
constexpr Duration kAbandonedWithin = Milliseconds(100);

// A reset that soon after the connection was made answers the connection.
constexpr Duration kResetRightAway = Milliseconds(300);

}  // namespace routelens

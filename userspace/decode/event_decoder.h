// SPDX-License-Identifier: Apache-2.0
//
// One raw record of the ring buffer (bpf/abi/events.h) to one value of userspace/model/events.h.
// The only reader of that layout. Pure: no state, no I/O, no exception; any bytes are safe to give.
//
// A record may lie in more room than it uses (the kernel reserves by classes); what is behind
// header.size is never looked at, and RecordBytes() is what of it may be kept. Strings come out as
// they are, bounded, not sanitised: they belong to whoever renders them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "userspace/model/events.h"

namespace routelens {

enum class DecodeFault : uint8_t {
  kTooShort,         // less than a header, or than its kind's struct
  kVersionMismatch,  // another RL_ABI_VERSION
  kUnknownKind,
  kBadLength,  // header.size, or the length of the data, is more than there is
  kBadValue,   // a member outside its closed set
};

std::string_view ToString(DecodeFault fault);  // "too_short", ...

using DecodedEvent = std::variant<Event, DecodeFault>;

DecodedEvent DecodeEvent(std::span<const std::byte> record);

// The used part of a record: the first header.size bytes. All of `record` if that cannot be told.
std::span<const std::byte> RecordBytes(std::span<const std::byte> record);

// CLOCK_BOOTTIME of a record, unknown if it is shorter than a header or beyond any clock.
BootTime TimeOf(std::span<const std::byte> record);

}  // namespace routelens

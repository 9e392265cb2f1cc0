// SPDX-License-Identifier: Apache-2.0
//
// Clocks, read only at the edges (programs, sources). Everything else gets time as an argument.
#pragma once

#include <cstdint>
#include <string>

namespace routelens {

uint64_t BootClockNs();  // CLOCK_BOOTTIME

// What CLOCK_REALTIME showed when CLOCK_BOOTTIME was 0, in ns since the epoch. Taken once per
// report, so that one report's times are consistent whatever the wall clock does meanwhile.
int64_t WallClockOffsetNs();

// RFC 3339 in UTC with milliseconds: "2026-01-02T03:04:05.678Z". `unix_ns` before 1970 or after
// 9999 is clamped.
std::string FormatRfc3339(int64_t unix_ns);

}  // namespace routelens

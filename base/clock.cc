// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <time.h>

#include <algorithm>
#include <cstdio>

namespace routelens {
namespace {

int64_t ReadNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

uint64_t BootClockNs() {
  return static_cast<uint64_t>(ReadNs(CLOCK_BOOTTIME));
}

int64_t WallClockOffsetNs() {
  return ReadNs(CLOCK_REALTIME) - ReadNs(CLOCK_BOOTTIME);
}

std::string FormatRfc3339(int64_t unix_ns) {
  constexpr int64_t kYear10000Seconds = 253'402'300'800;
  const int64_t ms_total =
      std::clamp<int64_t>(unix_ns / 1'000'000, 0, kYear10000Seconds * 1000 - 1);
  const time_t seconds = ms_total / 1000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[96];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(ms_total % 1000));
  return text;
}

}  // namespace routelens

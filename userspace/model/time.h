// SPDX-License-Identifier: Apache-2.0
//
// The one time of the event path: CLOCK_BOOTTIME in nanoseconds, as the kernel stamped it. It is
// a type of its own so that it cannot be mixed with wall-clock time, which exists only at the
// edges (see base/clock.h).
#pragma once

#include <compare>
#include <cstdint>

namespace routelens {

struct Duration {
  int64_t ns = 0;
  friend constexpr auto operator<=>(Duration, Duration) = default;
};

constexpr Duration Milliseconds(int64_t n) {
  return {n * 1'000'000};
}

constexpr Duration Seconds(int64_t n) {
  return {n * 1'000'000'000};
}

struct BootTime {
  uint64_t ns = 0;  // 0 is "never" or "unknown"

  constexpr bool known() const { return ns != 0; }

  friend constexpr auto operator<=>(BootTime, BootTime) = default;
};

constexpr Duration operator-(BootTime a, BootTime b) {
  return {static_cast<int64_t>(a.ns - b.ns)};  // defined for hostile times too
}

constexpr BootTime operator+(BootTime t, Duration d) {
  return {t.ns + static_cast<uint64_t>(d.ns)};
}

}  // namespace routelens

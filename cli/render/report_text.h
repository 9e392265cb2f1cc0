// SPDX-License-Identifier: Apache-2.0
//
// The human form of a report, in 80 columns. Pure: the same values give the same text.
#pragma once

#include <string>

#include "userspace/model/coverage.h"
#include "userspace/model/report.h"
#include "userspace/model/time.h"

namespace routelens {

struct TextOptions {
  bool colour = false;
  bool all_capabilities = false;  // doctor: also what is present
};

// Conditions, then what stayed without a route, gaps of coverage, losses. `now` is the moment that
// ages are counted from.
std::string RenderReportText(const Report& report, BootTime now, TextOptions options);

// A policy to start from, as YAML: one rule for each named authority that the report saw. Empty
// when it saw none.
std::string SuggestPolicy(const Report& report);

// What the sensor can see on this host: for each capability whether it is there, why not, what
// that costs and how to get it.
std::string RenderCoverageText(const Coverage& coverage, TextOptions options);

}  // namespace routelens

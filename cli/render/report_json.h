// SPDX-License-Identifier: Apache-2.0
//
// The JSON of `run`, `attach` and `replay`, as docs/json.md fixes it. Pure ASCII on output: text
// from the network is escaped, bytes that are no UTF-8 become U+FFFD.
#pragma once

#include <cstdint>
#include <string>

#include "userspace/model/outcome.h"
#include "userspace/model/report.h"

namespace routelens {

// The public message of an outcome with its hint; ends by saying that it is prior evidence.
std::string MessageWithHint(Outcome outcome, Hint hint);

// `wall_offset_ns` turns boot time into wall-clock time (base/clock.h). Ends with a newline.
std::string RenderReportJson(const Report& report, int64_t wall_offset_ns);

// One object on one line, without a newline: what `watch` shows of these.
std::string ConditionLine(const RouteCondition& condition, int64_t wall_offset_ns);
std::string ExchangeLine(const ExchangeRecord& exchange, int64_t wall_offset_ns);
std::string UnattributedLine(const UnattributedRecord& record, int64_t wall_offset_ns);

// The coverage object alone.
std::string RenderCoverageJson(const Coverage& coverage);

}  // namespace routelens

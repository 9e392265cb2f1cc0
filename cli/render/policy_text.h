// SPDX-License-Identifier: Apache-2.0
//
// What `policy routes`, `policy check` and `subject` show, as text and as JSON. Pure.
#pragma once

#include <string>

#include "routes/policy.h"
#include "routes/route.h"

namespace routelens {

std::string RenderRoutesText(const Policy& policy);
std::string RenderRoutesJson(const Policy& policy);

// One line for each warning and a closing line with the counts.
std::string RenderCheckText(const Policy& policy, const std::string& source);
std::string RenderCheckJson(const Policy& policy);

std::string RenderSubjectText(const Route& route);
std::string RenderSubjectJson(const Route& route);

}  // namespace routelens

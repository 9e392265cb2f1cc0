// SPDX-License-Identifier: Apache-2.0
//
// What `routelens doctor` found, as text and as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "userspace/model/coverage.h"

namespace routelens {

struct DoctorFindings {
  Coverage coverage;
  bool floor_met = false;
  std::string error;                               // why nothing could be loaded; "" if it could
  std::vector<std::string> attacher_capabilities;  // kept while a session runs
};

std::string RenderDoctorText(const DoctorFindings& findings, bool colour);
std::string RenderDoctorJson(const DoctorFindings& findings);

}  // namespace routelens

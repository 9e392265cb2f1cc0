// SPDX-License-Identifier: Apache-2.0
#include "cli/render/doctor.h"

#include <nlohmann/json.hpp>

#include "cli/render/report_json.h"
#include "cli/render/report_text.h"
#include "cli/render/text.h"

namespace routelens {

std::string RenderDoctorText(const DoctorFindings& findings, bool colour) {
  std::string out;
  if (!findings.error.empty()) {
    out += Paragraph("error: ", "       ", Printable(findings.error)) + "\n";
  }
  out += RenderCoverageText(findings.coverage, {colour, true});
  if (!findings.attacher_capabilities.empty()) {
    std::string names;
    for (const std::string& name : findings.attacher_capabilities) {
      names += (names.empty() ? "" : ", ") + name;
    }
    out += "\nPrivileges while a session runs:\n";
    out += Paragraph("  ", "    ", "the process that attaches keeps " + names);
    out += Paragraph("  ", "    ",
                     "the process that parses keeps none, and a seccomp filter of its own");
  }
  out += std::string("\n") + (findings.floor_met
                                  ? "The floor is met: `routelens run` works here.\n"
                                  : "The floor is not met: `routelens run` refuses to start.\n");
  return out;
}

std::string RenderDoctorJson(const DoctorFindings& findings) {
  using Json = nlohmann::ordered_json;
  Json out = {{"floor_met", findings.floor_met},
              {"error", findings.error.empty() ? Json(nullptr) : Json(findings.error)}};
  out.update(Json::parse(RenderCoverageJson(findings.coverage)));
  out["privileges"] = {{"attacher", findings.attacher_capabilities}, {"analyst", Json::array()}};
  return out.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace routelens

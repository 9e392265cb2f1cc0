// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/doctor.h"

#include <unistd.h>

#include <algorithm>

#include "base/status_util.h"
#include "cli/commands/live.h"
#include "cli/commands/output.h"
#include "cli/render/doctor.h"
#include "userspace/sensor/live_session.h"
#include "userspace/sensor/privileges.h"

namespace routelens {

int DoctorCommand(const DoctorFlags& flags) {
  Coverage coverage;
  std::string error;
  {
    const SlowLoadNotice notice;
    auto session = LiveSession::Load(KernelOptions{});
    if (session.ok()) {
      coverage = (*session)->coverage();
    } else {
      error = std::string(MessageOf(session.status()));
      coverage.blind_spots = BlindSpots();
    }
  }
  const bool floor_met =
      error.empty() && std::all_of(coverage.capabilities.begin(), coverage.capabilities.end(),
                                   [](const Capability& c) { return c.present || !c.floor; });
  const DoctorFindings findings{coverage, floor_met, error, AttacherCapabilities()};
  const int printed =
      PrintResult(flags.json ? RenderDoctorJson(findings)
                             : RenderDoctorText(findings, ColourAllowed(STDOUT_FILENO)));
  if (printed != kExitOk)
    return printed;
  return floor_met ? kExitOk : kExitNegative;
}

}  // namespace routelens

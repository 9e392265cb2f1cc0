// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/policy.h"

#include <optional>

#include "base/status_util.h"
#include "cli/commands/output.h"
#include "cli/render/policy_text.h"
#include "routes/policy.h"
#include "routes/route.h"

namespace routelens {
namespace {

std::optional<Policy> Load(const PolicyFlags& flags) {
  auto policy = LoadPolicyFile(flags.file, {flags.credentialed.begin(), flags.credentialed.end()});
  if (policy.ok())
    return *std::move(policy);
  PrintError(MessageOf(policy.status()));
  return std::nullopt;
}

}  // namespace

int PolicyRoutesCommand(const PolicyFlags& flags) {
  const std::optional<Policy> policy = Load(flags);
  if (!policy)
    return kExitNegative;
  return PrintResult(flags.json ? RenderRoutesJson(*policy) : RenderRoutesText(*policy));
}

int PolicyCheckCommand(const PolicyFlags& flags) {
  const std::optional<Policy> policy = Load(flags);
  if (!policy)
    return kExitNegative;
  const int printed =
      PrintResult(flags.json ? RenderCheckJson(*policy) : RenderCheckText(*policy, flags.file));
  if (printed != kExitOk)
    return printed;
  return flags.strict && !policy->warnings.empty() ? kExitNegative : kExitOk;
}

int SubjectCommand(const SubjectFlags& flags) {
  const Route route = MakeRoute(flags.host, flags.ports, flags.path, /*credentialed=*/false);
  return PrintResult(flags.json ? RenderSubjectJson(route) : RenderSubjectText(route));
}

}  // namespace routelens

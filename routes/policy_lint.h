// SPDX-License-Identifier: Apache-2.0
//
// What a policy says that its author may not mean: routes that no request can match, endpoints that
// share a request with equal rank. Words for `policy check`; nothing here changes matching.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "routes/policy.h"

namespace routelens {

// Where an endpoint of Policy::endpoints was read: "network_policies.github.endpoints[0]".
struct EndpointPlace {
  std::string where;
  int line = 0;
};

// Receives a warning about `field` of the endpoint ("" is the endpoint itself).
using EndpointWarning =
    std::function<void(size_t endpoint, std::string_view field, const std::string& what)>;

// Goes over `policy.endpoints`. Bounded work: after a fixed number of comparisons of overlapping
// paths it says that it stopped.
void LintEndpoints(const Policy& policy, const std::vector<EndpointPlace>& places,
                   const EndpointWarning& warn);

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// From a named peer (and a path, where one was seen) to exactly one route or none, with the reason
// why none. Pure over the compiled policy.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "routes/match.h"
#include "userspace/correlate/name_resolution.h"
#include "userspace/model/outcome.h"

namespace routelens {

struct Attribution {
  std::optional<size_t> route;                                   // index into Policy::routes
  UnattributedReason reason = UnattributedReason::kNameUnknown;  // without a route
  Hint hint = Hint::kNone;
};

// `path` is a request target as sent, up to '?', or nothing when it was not seen.
Attribution Attribute(const RouteMatcher& matcher, const NamedPeer& peer,
                      const std::optional<std::string>& path);

// A name that could not be resolved: no port (rulings 16).
Attribution AttributeLookup(const RouteMatcher& matcher, const NamedPeer& peer);

}  // namespace routelens

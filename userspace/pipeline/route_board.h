// SPDX-License-Identifier: Apache-2.0
//
// The latest valid observation of each route. Latest is by the start of the exchange (rulings 14):
// one that started earlier never replaces one that started later. Weak evidence changes nothing.
// An exchange whose outcome is not known, but that got further than the failure that is shown,
// withdraws it (rulings 1): a failure must not stand against calls that go through unseen.
//
// Not thread-safe; reads no clock.
#pragma once

#include <cstddef>
#include <vector>

#include "userspace/correlate/judgement.h"
#include "userspace/model/report.h"

namespace routelens {

class RouteBoard {
 public:
  explicit RouteBoard(const std::vector<Route>& routes);

  // Takes an exchange that is attributed to `routes[index]`. True if what is shown has changed.
  bool Take(size_t index, const JudgedExchange& exchange);

  const RouteCondition& At(size_t index) const { return entries_[index].shown; }

  // In the order of the policy's routes, which is by subject.
  std::vector<RouteCondition> Conditions() const;

 private:
  struct Entry {
    RouteCondition shown;
    BootTime start;  // of the exchange that is shown, or that withdrew it
    Stage stage = Stage::kLookup;
  };

  std::vector<Entry> entries_;
};

}  // namespace routelens

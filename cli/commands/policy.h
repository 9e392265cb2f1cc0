// SPDX-License-Identifier: Apache-2.0
//
// `routelens policy routes`, `policy check` and `subject`: they read a policy or name a route, need
// no privilege and touch nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace routelens {

struct PolicyFlags {
  std::string file;
  std::vector<std::string> credentialed;
  bool json = false;
  bool strict = false;  // check: warnings count as errors
};

int PolicyRoutesCommand(const PolicyFlags& flags);
int PolicyCheckCommand(const PolicyFlags& flags);

struct SubjectFlags {
  std::string host;
  std::vector<uint16_t> ports;
  std::string path;
  bool json = false;
};

int SubjectCommand(const SubjectFlags& flags);

}  // namespace routelens

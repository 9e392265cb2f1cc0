// SPDX-License-Identifier: Apache-2.0
//
// `routelens doctor`: what the sensor can see on this host, by loading everything once.
#pragma once

namespace routelens {

struct DoctorFlags {
  bool json = false;
};

int DoctorCommand(const DoctorFlags& flags);

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// The completion script for bash, made from what the parser knows.
#pragma once

#include <string>

namespace routelens {

std::string BashCompletion();

}  // namespace routelens

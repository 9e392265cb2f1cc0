// SPDX-License-Identifier: Apache-2.0
//
// Compares text with a file of tests/cli/golden. With UPDATE_GOLDEN=1 in the environment the file
// is written instead; what changed is then for the reader of the diff to judge.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace routelens {

inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(GOLDEN_DIR) + "/" + name;
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.good()) << "no " << path << "; UPDATE_GOLDEN=1 writes it";
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, expected) << "differs from " << path;
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "cli/commands/command_line.h"

int main(int argc, char** argv) {
  // Without even a name there are no words.
  return routelens::RunCommandLine(
      std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}

// SPDX-License-Identifier: Apache-2.0
//
// The command line: parser, help, completion, usage errors. Composition of the commands; what they
// do is in their own files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/commands/attach.h"
#include "cli/commands/doctor.h"
#include "cli/commands/policy.h"
#include "cli/commands/replay.h"
#include "cli/commands/run.h"
#include "cli/commands/watch.h"

namespace CLI {
class App;
}

namespace routelens {

// Everything that the command line can say, filled by parsing.
struct CommandLine {
  RunFlags run;
  AttachFlags attach;
  WatchFlags watch;
  ReplayFlags replay;
  DoctorFlags doctor;
  SubjectFlags subject;
  PolicyFlags routes;
  PolicyFlags check;
  std::string shell;
};

// What parsing came to.
struct Parsed {
  std::string command;  // "run", "policy check", ...; "" when nothing is to be run
  std::string output;   // help, version: goes to standard output
  std::string error;    // one line; exit status 2
};

// Parses the words after the program's name. Never exits, never throws.
Parsed Parse(const std::vector<std::string>& words, CommandLine& line);

// Long and short options of a command as the parser knows them ("--json", "-q"), for help and
// completion. The topics are those of help.h.
std::vector<std::string> OptionsOf(const std::string& command);

// Parses and runs. Returns the exit status.
int RunCommandLine(const std::vector<std::string>& words);

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Which images to probe before anything runs: the host's own TLS and C libraries, so that a program
// that lives for 50 ms is covered, and the program that a command names.
#pragma once

#include <string>
#include <vector>

namespace routelens {

// Paths of libssl, libcrypto and libc in the loader's usual folders; only those that exist.
std::vector<std::string> HostLibraries();

// What the kernel will execute for this command, itself first (found in `search_path`, the form of
// $PATH, when its name has no slash): of a script its interpreter, and of
// "#!/usr/bin/env NAME" also NAME as found there. At most four.
std::vector<std::string> ProgramsOf(const std::string& file, const std::string& search_path);

// Programs that are known to carry OpenSSL inside (Node), as found in `search_path`: a command
// often starts them. One that turns out to carry none costs its look.
std::vector<std::string> CarriersOf(const std::string& search_path);

// The first executable regular file of that name in `search_path`; "" if there is none. A name with
// a slash is a path.
std::string FindProgramFile(const std::string& name, const std::string& search_path);

}  // namespace routelens

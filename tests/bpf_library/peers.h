// SPDX-License-Identifier: Apache-2.0
//
// The servers of peers.py, running for as long as this object lives, and what the tests need to
// know of them.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace routelens {

class Peers {
 public:
  static absl::StatusOr<std::unique_ptr<Peers>> Start();
  ~Peers();

  // Of the server of this name, as text.
  std::string port(const std::string& name) const { return ports_.at(name); }

  const std::string& folder() const { return folder_; }

  std::string authority() const { return folder_ + "/ca.pem"; }

  // A free port of 127.0.0.1, as text.
  static std::string FreePort();

 private:
  Peers() = default;

  std::string folder_;
  std::map<std::string, std::string> ports_;
  pid_t pid_ = -1;
  int input_ = -1;
};

}  // namespace routelens

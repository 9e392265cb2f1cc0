// SPDX-License-Identifier: Apache-2.0
//
// Owns one file descriptor. No implicit conversion to int: say get().
#pragma once

#include <utility>

namespace routelens {

class UniqueFd {
 public:
  UniqueFd() = default;

  explicit UniqueFd(int fd) : fd_(fd) {}

  ~UniqueFd() { Reset(); }

  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}

  UniqueFd& operator=(UniqueFd&& other) noexcept {
    Reset(other.Release());
    return *this;
  }

  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;

  int get() const { return fd_; }

  explicit operator bool() const { return fd_ >= 0; }

  int Release() { return std::exchange(fd_, -1); }

  void Reset(int fd = -1);  // closes what it held, keeps errno

 private:
  int fd_ = -1;
};

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Identities. Each is born once and never reused while the machine is up: a flow is a socket
// cookie, a process is a pid with its start time, a TLS session is a pointer within a process
// from one SSL_clear to the next. Raw pids, file descriptors and ports are never keys.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

namespace routelens {

enum class FlowId : uint64_t {};  // socket cookie

struct ProcessKey {
  uint32_t tgid = 0;
  uint64_t start_boot_ns = 0;
  friend auto operator<=>(const ProcessKey&, const ProcessKey&) = default;

  template <typename H>
  friend H AbslHashValue(H h, const ProcessKey& key) {
    return H::combine(std::move(h), key.tgid, key.start_boot_ns);
  }
};

// Index of a boundary in the running sensor. Not stable across runs.
enum class BoundaryIndex : uint32_t {};

enum class Role : uint8_t { kWorkload = 1, kProxy = 2 };

// A process when something happened to it.
struct Owner {
  ProcessKey process;
  uint32_t tid = 0;
  uint64_t cgroup_id = 0;
  std::string comm;  // at most 15 bytes, as the process chose it: never trusted, never in a message
  friend bool operator==(const Owner&, const Owner&) = default;
};

// A TLS library session: valid from one kStart or first sight to kFree.
struct LibrarySession {
  ProcessKey process;
  uint64_t ssl = 0;  // user-space pointer
  friend auto operator<=>(const LibrarySession&, const LibrarySession&) = default;

  template <typename H>
  friend H AbslHashValue(H h, const LibrarySession& key) {
    return H::combine(std::move(h), key.process, key.ssl);
  }
};

}  // namespace routelens

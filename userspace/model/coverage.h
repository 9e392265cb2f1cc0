// SPDX-License-Identifier: Apache-2.0
//
// What the sensor could see and what it lost. Coverage is part of every answer: a witness that is
// missing widens "unknown" and never becomes a failure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace routelens {

// One capability of the sensor on this host, and the rung of its ladder that serves it.
struct Capability {
  std::string name;  // "connect", "connect_error", "tls_library", ... : see docs/coverage.md
  bool present = false;
  bool floor = false;  // without it Routelens refuses to run
  std::string via;     // the rung in use: "cgroup/connect4", "tp_btf/...", "uprobe libc", ""
  std::string reason;  // why absent, or why a lower rung serves; "" when first choice
  std::string costs;   // what is not known without it
  std::string remedy;  // how to get it
  friend bool operator==(const Capability&, const Capability&) = default;
};

// A program image whose TLS library calls are seen, or why not.
struct LibraryCoverage {
  std::string kind;   // "openssl_shared", "openssl_static", "libc", "unknown"
  std::string image;  // file name without folders
  uint32_t probes = 0;
  std::string reason;  // "" when all wanted probes are on
  friend bool operator==(const LibraryCoverage&, const LibraryCoverage&) = default;
};

struct Coverage {
  std::vector<Capability> capabilities;  // in the order of the feature table
  std::vector<LibraryCoverage> libraries;
  std::vector<std::string> blind_spots;  // fixed sentences: stdio servers, HTTP/3, SOCKS, ...
  friend bool operator==(const Coverage&, const Coverage&) = default;
};

// Everything that was lost, by place and cause. All zero is "nothing lost".
struct Loss {
  uint64_t kernel_ring_full = 0;
  uint64_t kernel_throttled = 0;
  uint64_t kernel_too_large = 0;
  uint64_t kernel_map_full = 0;
  uint64_t kernel_helper_failed = 0;
  uint64_t undecodable = 0;        // records refused by the decoder
  uint64_t sequence_gaps = 0;      // gaps unfilled after the reorder window
  uint64_t exchanges_dropped = 0;  // open while something was lost
  uint64_t table_full = 0;         // entries evicted from a full table
  uint64_t recording_truncated = 0;
  friend bool operator==(const Loss&, const Loss&) = default;

  uint64_t kernel_total() const {
    return kernel_ring_full + kernel_throttled + kernel_too_large + kernel_map_full +
           kernel_helper_failed;
  }
};

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// The ladder as data: each capability with its rungs in order of preference. A rung is a set of BPF
// programs that must all load; when one does not, the next rung is tried, and after the last the
// capability is absent. Names are fixed: they appear in `routelens doctor --json` and in coverage.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace routelens {

enum class ObjectVariant { kFull, kFloor };

struct Rung {
  std::string_view via;
  std::vector<std::string_view> programs;

  enum Condition {
    kAlways,
    kFullObject,  // needs what the floor object leaves out
    kUprobes,     // KernelOptions::library_probes, and a kernel that permits them
    kDataPath,    // the same, KernelOptions::data_path_probes, and the full object
    kOnDemand,    // KernelOptions::syscall_exit
  } condition = kAlways;
};

struct Feature {
  std::string_view name;
  bool floor = false;
  std::string_view costs;        // what is not known without it
  std::string_view remedy;       // how to get it
  std::vector<Rung> rungs = {};  // in order; none: served by user space alone
};

// In the order in which doctor lists them. Lives for ever.
std::span<const Feature> FeatureTable();

}  // namespace routelens

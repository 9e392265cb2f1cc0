// SPDX-License-Identifier: Apache-2.0
//
// A sink that writes down what it is told, and values to record.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bpf/abi/events.h"
#include "userspace/sources/recording_reader.h"

namespace routelens {

struct RecordedCalls : RecordingSink {
  RecordingHeader header;
  Policy policy;
  Coverage coverage;
  Loss loss;
  std::vector<std::string> calls;  // "start", "record <bytes>", "advance <ns>", ...

  void Start(const RecordingHeader& h, Policy p) override {
    header = h;
    policy = std::move(p);
    calls.push_back("start");
  }

  void Feed(std::span<const std::byte> record) override {
    calls.push_back("record " +
                    std::string(reinterpret_cast<const char*>(record.data()), record.size()));
  }

  void AdvanceTo(BootTime now) override { calls.push_back("advance " + std::to_string(now.ns)); }

  void SetKernelLoss(const Loss& kernel) override {
    loss = kernel;
    calls.push_back("loss");
  }

  void SetCoverage(Coverage c) override {
    coverage = std::move(c);
    calls.push_back("coverage");
  }

  void Finish(BootTime now) override { calls.push_back("finish " + std::to_string(now.ns)); }
};

inline std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// A whole record of the ring, with `slack` bytes of room that it does not use.
inline std::string SomeRecord(uint64_t boot_ns, const std::string& slack = "") {
  rl_ev_peer_fin wire;
  std::memset(&wire, 0, sizeof wire);
  wire.header.boot_ns = boot_ns;
  wire.header.kind = RL_EV_PEER_FIN;
  wire.header.size = sizeof wire;
  wire.header.abi_version = RL_ABI_VERSION;
  wire.header.role = RL_ROLE_WORKLOAD;
  return std::string(reinterpret_cast<const char*>(&wire), sizeof wire) + slack;
}

inline RecordingHeader SomeHeader() {
  return {RL_ABI_VERSION, 1'700'000'000'000'000'000, "0.1.0"};
}

inline Policy SomePolicy() {
  Policy policy;
  policy.endpoints = {
      {"github", "API.example.com", {443, 8443}, "/mcp", "mcp", true, true, true, true},
      {"rest", "*.example.com", {443}, "", "rest", false, false, true, false},
      {"ips", "", {}, "", "", false, false, false, true}};
  policy.routes = {MakeRoute("api.example.com", {443, 8443}, "/mcp", true)};
  return policy;
}

inline Coverage SomeCoverage() {
  Coverage coverage;
  coverage.capabilities = {{"connect", true, true, "cgroup/connect4", "", "", ""},
                           {"tls_library", false, false, "", "no uprobes", "causes", "load"}};
  coverage.libraries = {{"openssl_shared", "libssl.so.3", 7, ""}};
  coverage.blind_spots = {"HTTP/3"};
  return coverage;
}

}  // namespace routelens

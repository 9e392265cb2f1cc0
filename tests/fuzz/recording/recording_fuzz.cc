// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a recording: the sink gets Start first and Finish last, once each, or nothing.
// Checksums keep most changes out, so each value's decoder also gets the bytes directly.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "tests/fuzz/require.h"
#include "userspace/sources/recording_codec.h"
#include "userspace/sources/recording_reader.h"

namespace {

using routelens::BootTime;
using routelens::Coverage;
using routelens::Loss;
using routelens::Policy;
using routelens::RecordingHeader;

struct OrderSink : routelens::RecordingSink {
  int starts = 0;
  int finishes = 0;

  void RequireRunning() const { RL_REQUIRE(starts == 1 && finishes == 0); }

  void Start(const RecordingHeader&, Policy) override {
    RL_REQUIRE(starts == 0);
    ++starts;
  }

  void Feed(std::span<const std::byte>) override { RequireRunning(); }

  void AdvanceTo(BootTime) override { RequireRunning(); }

  void SetKernelLoss(const Loss&) override { RequireRunning(); }

  void SetCoverage(Coverage) override { RequireRunning(); }

  void Finish(BootTime) override {
    RequireRunning();
    ++finishes;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  OrderSink sink;
  const auto summary = routelens::ReplayRecording(bytes, "fuzz", sink);
  RL_REQUIRE(sink.starts == (summary.ok() ? 1 : 0));
  RL_REQUIRE(sink.finishes == sink.starts);
  if (summary.ok())
    RL_REQUIRE(summary->bytes <= size && summary->complete == summary->reason.empty());

  if (const std::optional<Policy> policy = routelens::DecodePolicy(bytes))
    RL_REQUIRE(routelens::DecodePolicy(routelens::EncodePolicy(*policy)) == policy);
  if (const std::optional<Coverage> coverage = routelens::DecodeCoverage(bytes))
    RL_REQUIRE(routelens::DecodeCoverage(routelens::EncodeCoverage(*coverage)) == coverage);
  routelens::DecodeLoss(bytes);
  routelens::DecodeTime(bytes);
  return 0;
}

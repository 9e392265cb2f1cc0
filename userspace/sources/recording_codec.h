// SPDX-License-Identifier: Apache-2.0
//
// The values of a recording to bytes and back. Decoding takes any bytes: lengths and counts are
// held against what is there before anything is reserved. What decodes may differ from what was
// encoded in one way: subjects and endpoint ids of routes are computed anew, never believed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "routes/policy.h"
#include "userspace/model/coverage.h"
#include "userspace/model/time.h"
#include "userspace/sources/recording_format.h"

namespace routelens {

// Appends big-endian numbers and counted strings.
class ByteWriter {
 public:
  void U8(uint64_t value) { Number(value, 1); }

  void U16(uint64_t value) { Number(value, 2); }

  void U32(uint64_t value) { Number(value, 4); }

  void U64(uint64_t value) { Number(value, 8); }

  void Bytes(std::span<const std::byte> bytes);
  void Text(std::string_view text);  // u32 length, then the bytes

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void Number(uint64_t value, int bytes);

  std::vector<std::byte> bytes_;
};

std::vector<std::byte> EncodeFileHeader(const RecordingHeader& header);

// Endpoints and routes; warnings are not kept.
std::vector<std::byte> EncodePolicy(const Policy& policy);
std::optional<Policy> DecodePolicy(std::span<const std::byte> bytes);

std::vector<std::byte> EncodeCoverage(const Coverage& coverage);
std::optional<Coverage> DecodeCoverage(std::span<const std::byte> bytes);

std::vector<std::byte> EncodeLoss(const Loss& loss);
std::optional<Loss> DecodeLoss(std::span<const std::byte> bytes);

std::vector<std::byte> EncodeTime(BootTime time);
std::optional<BootTime> DecodeTime(std::span<const std::byte> bytes);

}  // namespace routelens

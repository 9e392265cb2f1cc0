// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a recording: the only code that states them, shared by writer and reader.
// docs/recording-format.md says the same in words. Numbers are big-endian; raw records inside are
// in the recording machine's order, which the file header tells.
//
//   file   = file header, frame...
//   header = magic 8 | format u16 | abi u16 | order mark 4 | wall offset i64 | version 24 | crc u32
//   frame  = payload bytes u32 | kind u8 | crc u32 (of kind and payload) | payload
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace routelens {

constexpr char kRecordingMagic[9] = "RLRECORD";
constexpr uint16_t kRecordingFormat = 1;
constexpr size_t kRecordingHeaderBytes = 52;
constexpr size_t kRecordingVersionBytes = 24;
constexpr size_t kFrameHeadBytes = 9;
constexpr uint32_t kByteOrderMark = 0x01020304;  // as it lies in the recording machine's memory

enum class FrameKind : uint8_t {
  kPolicy = 1,   // first, exactly one
  kRecord = 2,   // one raw record of the ring buffer
  kAdvance = 3,  // boot time
  kKernelLoss = 4,
  kCoverage = 5,
  kFinish = 6,  // last, boot time; absent in a recording that was cut
};

// More than these is no frame of ours.
constexpr size_t kMaxPolicyFrameBytes = 64u << 20;
constexpr size_t kMaxCoverageFrameBytes = 1u << 20;
constexpr size_t kMaxRecordFrameBytes = 65535;
constexpr size_t kMaxNumberFrameBytes = 128;

struct RecordingHeader {
  uint16_t abi_version = 0;
  int64_t wall_clock_offset_ns = 0;  // CLOCK_REALTIME when CLOCK_BOOTTIME was 0
  std::string product_version;       // at most 24 bytes
  friend bool operator==(const RecordingHeader&, const RecordingHeader&) = default;
};

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/sources/recording_writer.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/status_util.h"
#include "userspace/decode/event_decoder.h"
#include "userspace/sources/crc32.h"
#include "userspace/sources/recording_codec.h"

namespace routelens {
namespace {

constexpr size_t kFlushBytes = 64u << 10;
constexpr Duration kFlushInterval = Seconds(1);

}  // namespace

RecordingWriter::RecordingWriter(UniqueFd fd, std::string name, const RecordingHeader& header,
                                 const Policy& policy)
    : fd_(std::move(fd)), name_(std::move(name)) {
  buffer_ = EncodeFileHeader(header);
  const std::vector<std::byte> encoded = EncodePolicy(policy);
  if (encoded.size() > kMaxPolicyFrameBytes) {
    status_ = absl::ResourceExhaustedError(name_ + ": the policy is too large to be recorded");
    return;
  }
  Frame(FrameKind::kPolicy, encoded);
  Flush();
}

RecordingWriter::~RecordingWriter() {
  Flush();
}

void RecordingWriter::Record(std::span<const std::byte> record) {
  Frame(FrameKind::kRecord, RecordBytes(record));
}

void RecordingWriter::AdvanceTo(BootTime now) {
  Frame(FrameKind::kAdvance, EncodeTime(now));
  if (now - last_flush_ >= kFlushInterval) {
    last_flush_ = now;
    Flush();
  }
}

void RecordingWriter::SetKernelLoss(const Loss& kernel) {
  Frame(FrameKind::kKernelLoss, EncodeLoss(kernel));
}

void RecordingWriter::SetCoverage(const Coverage& coverage) {
  const std::vector<std::byte> encoded = EncodeCoverage(coverage);
  if (encoded.size() > kMaxCoverageFrameBytes && status_.ok())
    status_ = absl::ResourceExhaustedError(name_ + ": the coverage is too large to be recorded");
  Frame(FrameKind::kCoverage, encoded);
}

absl::Status RecordingWriter::Finish(BootTime now) {
  Frame(FrameKind::kFinish, EncodeTime(now));
  Flush();
  finished_ = true;
  return status_;
}

void RecordingWriter::Frame(FrameKind kind, std::span<const std::byte> payload) {
  if (!status_.ok() || finished_ || payload.size() > kMaxPolicyFrameBytes) {
    ++frames_not_written_;
    return;
  }
  const auto kind_byte = static_cast<std::byte>(kind);
  ByteWriter head;
  head.U32(payload.size());
  head.U8(static_cast<uint64_t>(kind));
  head.U32(Crc32(payload, Crc32({&kind_byte, 1})));
  buffer_.insert(buffer_.end(), head.bytes().begin(), head.bytes().end());
  buffer_.insert(buffer_.end(), payload.begin(), payload.end());
  ++frames_buffered_;
  if (buffer_.size() >= kFlushBytes)
    Flush();
}

void RecordingWriter::Flush() {
  size_t done = 0;
  while (status_.ok() && done < buffer_.size()) {
    const ssize_t count = write(fd_.get(), buffer_.data() + done, buffer_.size() - done);
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (count == 0 || errno != EINTR) {
      status_ = ErrnoStatus(count == 0 ? ENOSPC : errno, "writing the recording " + name_);
    }
  }
  bytes_written_ += done;
  if (!status_.ok())
    frames_not_written_ += frames_buffered_;
  frames_buffered_ = 0;
  buffer_.clear();
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/sources/recording_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/status_util.h"
#include "base/unique_fd.h"
#include "bpf/abi/abi.h"
#include "userspace/decode/byte_reader.h"
#include "userspace/decode/event_decoder.h"
#include "userspace/sources/crc32.h"
#include "userspace/sources/recording_codec.h"

namespace routelens {
namespace {

constexpr size_t kReadStepBytes = 256u << 10;

// Where the bytes come from.
class Input {
 public:
  virtual ~Input() = default;
  // At most `most` bytes appended to `out`; 0 at the end.
  virtual absl::StatusOr<size_t> Read(size_t most, std::vector<std::byte>& out) = 0;
};

class SpanInput : public Input {
 public:
  explicit SpanInput(std::span<const std::byte> bytes) : bytes_(bytes) {}

  absl::StatusOr<size_t> Read(size_t most, std::vector<std::byte>& out) override {
    const size_t count = std::min(most, bytes_.size());
    out.insert(out.end(), bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(count));
    bytes_ = bytes_.subspan(count);
    return count;
  }

 private:
  std::span<const std::byte> bytes_;
};

class FileInput : public Input {
 public:
  FileInput(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

  absl::StatusOr<size_t> Read(size_t most, std::vector<std::byte>& out) override {
    const size_t old_size = out.size();
    out.resize(old_size + most);
    ssize_t count;
    do {
      count = read(fd_, out.data() + old_size, most);
    } while (count < 0 && errno == EINTR);
    const int error = errno;
    out.resize(old_size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0)
      return ErrnoStatus(error, "reading the recording " + name_);
    return static_cast<size_t>(count);
  }

 private:
  int fd_;
  std::string name_;
};

// Input with a look ahead.
class Buffered {
 public:
  explicit Buffered(Input& input) : input_(input) {}

  // True if `count` bytes are there now; false at the end or after an error.
  bool Fill(size_t count) {
    while (bytes_.size() - at_ < count) {
      if (at_ > 0) {
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(at_));
        at_ = 0;
      }
      const absl::StatusOr<size_t> got = input_.Read(kReadStepBytes, bytes_);
      if (!got.ok())
        status_ = got.status();
      if (!got.ok() || *got == 0)
        return false;
    }
    return true;
  }

  // Valid until the next Fill.
  std::span<const std::byte> Peek(size_t count) const {
    return std::span(bytes_).subspan(at_, count);
  }

  void Drop(size_t count) {
    at_ += count;
    position_ += count;
  }

  bool at_end() { return !Fill(1); }

  uint64_t position() const { return position_; }

  const absl::Status& status() const { return status_; }

 private:
  Input& input_;
  std::vector<std::byte> bytes_;
  size_t at_ = 0;
  uint64_t position_ = 0;
  absl::Status status_;
};

struct Frame {
  FrameKind kind{};
  std::vector<std::byte> payload;
};

size_t MaxBytes(unsigned kind) {
  switch (static_cast<FrameKind>(kind)) {
    case FrameKind::kPolicy:
      return kMaxPolicyFrameBytes;
    case FrameKind::kRecord:
      return kMaxRecordFrameBytes;
    case FrameKind::kCoverage:
      return kMaxCoverageFrameBytes;
    case FrameKind::kAdvance:
    case FrameKind::kKernelLoss:
    case FrameKind::kFinish:
      return kMaxNumberFrameBytes;
  }
  return 0;
}

std::string AtByte(uint64_t position) {
  return " at byte " + std::to_string(position);
}

// The next frame, or why there is none.
std::variant<Frame, std::string> ReadFrame(Buffered& in) {
  const std::string at = AtByte(in.position());
  if (!in.Fill(kFrameHeadBytes))
    return "cut" + at;
  ByteReader head(in.Peek(kFrameHeadBytes));
  const size_t payload_bytes = head.U32();
  const unsigned kind = head.U8();
  const uint32_t crc = head.U32();
  const size_t most = MaxBytes(kind);
  if (most == 0)
    return "unknown frame kind " + std::to_string(kind) + at;
  if (payload_bytes > most)
    return "damaged (impossible length)" + at;
  if (!in.Fill(kFrameHeadBytes + payload_bytes))
    return "cut" + at;
  const std::span<const std::byte> payload =
      in.Peek(kFrameHeadBytes + payload_bytes).subspan(kFrameHeadBytes);
  const auto kind_byte = static_cast<std::byte>(kind);
  if (Crc32(payload, Crc32({&kind_byte, 1})) != crc)
    return "damaged (checksum)" + at;
  Frame frame{static_cast<FrameKind>(kind), {payload.begin(), payload.end()}};
  in.Drop(kFrameHeadBytes + payload_bytes);
  return frame;
}

absl::StatusOr<RecordingHeader> ReadFileHeader(Buffered& in, const std::string& name) {
  if (!in.Fill(kRecordingHeaderBytes)) {
    if (!in.status().ok())
      return in.status();
    return absl::InvalidArgumentError(name + " is not a recording: it is too short");
  }
  const std::span<const std::byte> bytes = in.Peek(kRecordingHeaderBytes);
  ByteReader reader(bytes);
  if (std::memcmp(reader.Take(8).data(), kRecordingMagic, 8) != 0)
    return absl::InvalidArgumentError(name + " is not a recording");
  const uint16_t format = reader.U16();
  RecordingHeader header;
  header.abi_version = reader.U16();
  uint32_t order_mark = 0;
  std::memcpy(&order_mark, reader.Take(4).data(), 4);
  header.wall_clock_offset_ns = static_cast<int64_t>(reader.U64());
  const std::span<const std::byte> version = reader.Take(kRecordingVersionBytes);
  const auto* text = reinterpret_cast<const char*>(version.data());
  header.product_version = std::string(text, strnlen(text, version.size()));
  const uint32_t crc = reader.U32();
  if (Crc32(bytes.first(kRecordingHeaderBytes - 4)) != crc)
    return absl::InvalidArgumentError(name + ": the recording's header is damaged");
  const std::string remedy = "; replay it with the version that made it";
  if (format != kRecordingFormat) {
    return absl::FailedPreconditionError(name + ": recording of format " + std::to_string(format) +
                                         ", this version reads format " +
                                         std::to_string(kRecordingFormat) + remedy);
  }
  if (header.abi_version != RL_ABI_VERSION) {
    return absl::FailedPreconditionError(
        name + ": recording with kernel records of version " + std::to_string(header.abi_version) +
        ", this version reads " + std::to_string(RL_ABI_VERSION) + remedy);
  }
  if (order_mark != kByteOrderMark) {
    return absl::FailedPreconditionError(
        name + ": recorded on a machine of the other byte order; replay it on one like that");
  }
  in.Drop(kRecordingHeaderBytes);
  return header;
}

// Makes one frame's call. False if the payload is not what its kind says.
bool Apply(const Frame& frame, RecordingSink& sink, ReplaySummary& summary) {
  switch (frame.kind) {
    case FrameKind::kPolicy:
      return false;  // only the first frame is one
    case FrameKind::kRecord:
      ++summary.records;
      summary.end = std::max(summary.end, TimeOf(frame.payload));
      sink.Feed(frame.payload);
      return true;
    case FrameKind::kKernelLoss:
      if (const auto loss = DecodeLoss(frame.payload)) {
        sink.SetKernelLoss(*loss);
        return true;
      }
      return false;
    case FrameKind::kCoverage:
      if (auto coverage = DecodeCoverage(frame.payload)) {
        sink.SetCoverage(*std::move(coverage));
        return true;
      }
      return false;
    case FrameKind::kAdvance:
    case FrameKind::kFinish:
      if (const auto time = DecodeTime(frame.payload)) {
        if (frame.kind == FrameKind::kAdvance) {
          summary.end = std::max(summary.end, *time);
          sink.AdvanceTo(*time);
        } else {
          summary.end = *time;
          summary.complete = true;
        }
        return true;
      }
      return false;
  }
  return false;
}

absl::StatusOr<ReplaySummary> Replay(Input& input, const std::string& name, RecordingSink& sink) {
  Buffered in(input);
  absl::StatusOr<RecordingHeader> header = ReadFileHeader(in, name);
  if (!header.ok())
    return header.status();
  ReplaySummary summary;
  summary.header = *std::move(header);

  std::variant<Frame, std::string> first = ReadFrame(in);
  if (!in.status().ok())
    return in.status();
  const Frame* policy_frame = std::get_if<Frame>(&first);
  std::optional<Policy> policy;
  if (policy_frame != nullptr && policy_frame->kind == FrameKind::kPolicy)
    policy = DecodePolicy(policy_frame->payload);
  if (!policy) {
    const std::string* why = std::get_if<std::string>(&first);
    return absl::InvalidArgumentError(name + ": the recording has no whole policy" +
                                      (why != nullptr ? ": " + *why : ""));
  }
  sink.Start(summary.header, *std::move(policy));
  summary.frames = 1;
  summary.bytes = in.position();

  while (!summary.complete) {
    std::variant<Frame, std::string> next = ReadFrame(in);
    if (const auto* reason = std::get_if<std::string>(&next)) {
      summary.reason = *reason;
      break;
    }
    if (!Apply(std::get<Frame>(next), sink, summary)) {
      summary.reason = "damaged (content)" + AtByte(summary.bytes);
      break;
    }
    ++summary.frames;
    summary.bytes = in.position();
  }
  sink.Finish(summary.end);
  if (!in.status().ok())
    return in.status();
  if (summary.complete && !in.at_end()) {
    summary.complete = false;
    summary.reason = "more bytes behind its end" + AtByte(summary.bytes);
  }
  return summary;
}

}  // namespace

absl::StatusOr<ReplaySummary> ReplayRecording(std::span<const std::byte> recording,
                                              const std::string& name, RecordingSink& sink) {
  SpanInput input(recording);
  return Replay(input, name, sink);
}

absl::StatusOr<ReplaySummary> ReplayRecordingFile(const std::string& path, RecordingSink& sink) {
  if (path == "-") {
    FileInput input(STDIN_FILENO, "standard input");
    return Replay(input, "standard input", sink);
  }
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return ErrnoStatus(errno, "opening the recording " + path);
  FileInput input(fd.get(), path);
  return Replay(input, path, sink);
}

}  // namespace routelens

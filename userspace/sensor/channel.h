// SPDX-License-Identifier: Apache-2.0
//
// What the attacher and the analyst say to each other: whole messages over a socket pair of their
// own. Both ends decode with bounds; the attacher trusts nothing that the analyst says beyond the
// form of these messages. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "userspace/model/coverage.h"

namespace routelens {

constexpr size_t kMaxMessageBytes = 1u << 20;

// attacher -> analyst: what is covered now.
struct CoverageChanged {
  Coverage coverage;
};

// attacher -> analyst: everything has ended; drain, report and exit.
struct FinishRequest {};

// analyst -> attacher: the report is out. An empty error is success.
struct ReportDone {
  std::string error;
};

using Message = std::variant<CoverageChanged, FinishRequest, ReportDone>;

std::vector<std::byte> EncodeMessage(const Message& message);

// Empty if malformed.
std::optional<Message> DecodeMessage(std::span<const std::byte> bytes);

class Channel {
 public:
  explicit Channel(UniqueFd fd) : fd_(std::move(fd)) {}

  // Two ends.
  static absl::StatusOr<std::pair<Channel, Channel>> Make();

  int fd() const { return fd_.get(); }

  void Close() { fd_.Reset(); }

  // Waits for room at most `timeout_ms`. kUnavailable when the other end is gone,
  // kDeadlineExceeded when there was no room, kResourceExhausted when the message is too large.
  absl::Status Send(const Message& message, int timeout_ms);

  // One message if one waits. kUnavailable when the other end is gone.
  absl::StatusOr<std::optional<Message>> Receive();

 private:
  UniqueFd fd_;
  std::vector<std::byte> buffer_;
};

}  // namespace routelens

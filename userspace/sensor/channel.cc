// SPDX-License-Identifier: Apache-2.0
#include "userspace/sensor/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <type_traits>

#include "base/status_util.h"

namespace routelens {
namespace {

enum class Kind : uint8_t { kCoverage = 1, kFinish = 2, kDone = 3 };

class Encoder {
 public:
  void Number(uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes_.push_back(static_cast<std::byte>((value >> shift) & 0xff));
    }
  }

  void Text(std::string_view text) {
    Number(static_cast<uint32_t>(text.size()));
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint32_t Number() {
    if (bytes_.size() < 4)
      return Fail();
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value |= std::to_integer<uint32_t>(bytes_[i]) << (8 * i);
    bytes_ = bytes_.subspan(4);
    return value;
  }

  std::string Text() {
    const uint32_t size = Number();
    if (size > bytes_.size()) {
      Fail();
      return "";
    }
    std::string text(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return text;
  }

  // A count of things that take at least one byte each.
  uint32_t Count() {
    const uint32_t count = Number();
    return count <= bytes_.size() ? count : Fail();
  }

  bool WholeAndGood() const { return good_ && bytes_.empty(); }

 private:
  uint32_t Fail() {
    good_ = false;
    bytes_ = {};
    return 0;
  }

  std::span<const std::byte> bytes_;
  bool good_ = true;
};

void Encode(Encoder& out, const Coverage& coverage) {
  out.Number(static_cast<uint32_t>(coverage.capabilities.size()));
  for (const Capability& c : coverage.capabilities) {
    out.Number((c.present ? 1u : 0u) | (c.floor ? 2u : 0u));
    for (const std::string* text : {&c.name, &c.via, &c.reason, &c.costs, &c.remedy}) {
      out.Text(*text);
    }
  }
  out.Number(static_cast<uint32_t>(coverage.libraries.size()));
  for (const LibraryCoverage& library : coverage.libraries) {
    out.Text(library.kind);
    out.Text(library.image);
    out.Number(library.probes);
    out.Text(library.reason);
  }
  out.Number(static_cast<uint32_t>(coverage.blind_spots.size()));
  for (const std::string& text : coverage.blind_spots) out.Text(text);
}

Coverage DecodeCoverage(Decoder& in) {
  Coverage coverage;
  coverage.capabilities.resize(in.Count());
  for (Capability& c : coverage.capabilities) {
    const uint32_t flags = in.Number();
    c.present = (flags & 1u) != 0;
    c.floor = (flags & 2u) != 0;
    for (std::string* text : {&c.name, &c.via, &c.reason, &c.costs, &c.remedy}) *text = in.Text();
  }
  coverage.libraries.resize(in.Count());
  for (LibraryCoverage& library : coverage.libraries) {
    library.kind = in.Text();
    library.image = in.Text();
    library.probes = in.Number();
    library.reason = in.Text();
  }
  coverage.blind_spots.resize(in.Count());
  for (std::string& text : coverage.blind_spots) text = in.Text();
  return coverage;
}

}  // namespace

std::vector<std::byte> EncodeMessage(const Message& message) {
  Encoder out;
  std::visit(
      [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, CoverageChanged>) {
          out.Number(static_cast<uint32_t>(Kind::kCoverage));
          Encode(out, body.coverage);
        } else if constexpr (std::is_same_v<Body, FinishRequest>) {
          out.Number(static_cast<uint32_t>(Kind::kFinish));
        } else {
          out.Number(static_cast<uint32_t>(Kind::kDone));
          out.Text(body.error);
        }
      },
      message);
  return out.Take();
}

std::optional<Message> DecodeMessage(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  Message message = FinishRequest{};
  switch (static_cast<Kind>(in.Number())) {
    case Kind::kCoverage:
      message = CoverageChanged{DecodeCoverage(in)};
      break;
    case Kind::kFinish:
      break;
    case Kind::kDone:
      message = ReportDone{in.Text()};
      break;
    default:
      return std::nullopt;
  }
  if (!in.WholeAndGood())
    return std::nullopt;
  return message;
}

absl::StatusOr<std::pair<Channel, Channel>> Channel::Make() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0) {
    return ErrnoStatus(errno, "make a socket pair");
  }
  auto ends = std::make_pair(Channel(UniqueFd(fds[0])), Channel(UniqueFd(fds[1])));
  // A whole coverage must fit in one message: the default of 208 KiB can be too small for it.
  const int bytes = static_cast<int>(2 * kMaxMessageBytes);
  for (const int fd : {fds[0], fds[1]}) {
    if (::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0) {
      ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    }
  }
  return ends;
}

absl::Status Channel::Send(const Message& message, int timeout_ms) {
  const std::vector<std::byte> bytes = EncodeMessage(message);
  if (bytes.size() > kMaxMessageBytes)
    return absl::ResourceExhaustedError("message too large");
  for (;;) {
    if (::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0)
      return absl::OkStatus();
    if (errno == EINTR)
      continue;
    if (errno == EPIPE || errno == ECONNRESET)
      return absl::UnavailableError("the peer is gone");
    if (errno == EMSGSIZE)
      return absl::ResourceExhaustedError("message too large");
    if (errno != EAGAIN)
      return ErrnoStatus(errno, "send a message");
    pollfd wait{fd_.get(), POLLOUT, 0};
    const int ready = ::poll(&wait, 1, timeout_ms);
    if (ready == 0)
      return absl::DeadlineExceededError("the peer does not read");
    if (ready < 0 && errno != EINTR)
      return ErrnoStatus(errno, "wait for room");
  }
}

absl::StatusOr<std::optional<Message>> Channel::Receive() {
  buffer_.resize(kMaxMessageBytes);
  ssize_t got = 0;
  do {
    got = ::recv(fd_.get(), buffer_.data(), buffer_.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN)
    return std::optional<Message>();
  if (got <= 0)
    return absl::UnavailableError("the peer is gone");
  std::optional<Message> message =
      DecodeMessage(std::span(buffer_).first(static_cast<size_t>(got)));
  if (!message)
    return absl::DataLossError("malformed message");
  return message;
}

}  // namespace routelens

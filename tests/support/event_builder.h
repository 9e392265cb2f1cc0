// SPDX-License-Identifier: Apache-2.0
//
// Valid events in one line, so that tests read as stories:
//
//   Ev().By(kAgent).Connects(7, "10.0.0.7", 443).At(5)
//
// Times are milliseconds on the boot clock, counted from kStoryBegins. What is not said is a
// plausible default. EncodeRecord gives the same event as the kernel would write it to the ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "userspace/model/events.h"

namespace routelens {

constexpr BootTime kStoryBegins{1'000'000'000'000};

constexpr BootTime AtMs(double ms) {
  return BootTime{kStoryBegins.ns + static_cast<uint64_t>(ms * 1e6)};
}

struct Actor {
  uint32_t pid = 0;
  std::string_view comm;
};

constexpr Actor kAgent{100, "agent"};
constexpr Actor kOther{200, "other"};
constexpr Actor kResolver{300, "dnsmasq"};

Owner OwnerOf(const Actor& actor);
IpAddress Ip(std::string_view text);  // ends the test program if `text` is no address

class EventBuilder {
 public:
  EventBuilder& By(const Actor& actor);
  EventBuilder& At(double ms);
  EventBuilder& InBoundary(uint32_t index);
  EventBuilder& AsProxy();

  EventBuilder& Connects(uint64_t flow, std::string_view address, uint16_t port);
  EventBuilder& ConnectsUdp(uint64_t flow, std::string_view address, uint16_t port);
  EventBuilder& FailsAtOnce(uint64_t flow, int error, bool soft = false);
  EventBuilder& IsEstablished(uint64_t flow);
  EventBuilder& PeerCloses(uint64_t flow);
  EventBuilder& Ends(FlowEnd end);
  EventBuilder& Streams(StreamBytes bytes);
  EventBuilder& Records(TlsRecord record);
  EventBuilder& Requests(HttpRequestHead head);
  EventBuilder& Answers(HttpResponseHead head);
  EventBuilder& Datagram(DnsDatagram datagram);
  EventBuilder& Library(uint64_t ssl, LibraryOp op, int64_t value = 0, int32_t detail = 0);
  EventBuilder& LibraryRandom(uint64_t ssl, std::byte fill);
  EventBuilder& Resolves(std::string_view name, int result,
                         const std::vector<std::string>& addresses, double took_ms = 2);
  EventBuilder& Process(ProcessOp op, uint32_t parent_pid = 1);

  operator Event() const { return event_; }  // NOLINT(google-explicit-constructor): reads as one

  Event event_;

 private:
  Actor actor_ = kAgent;
};

inline EventBuilder Ev() {
  return {};
}

// The record of bpf/abi/events.h that decodes to this event.
std::vector<std::byte> EncodeRecord(const Event& event);

}  // namespace routelens

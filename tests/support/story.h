// SPDX-License-Identifier: Apache-2.0
//
// A sequence of events as the kernel side would tell it, written as what programs do:
//
//   Story s;
//   const uint64_t flow = s.Connect("10.0.0.7", 443);
//   s.Establish(flow).Handshake13(flow, {.sni = "mcp.example"});
//   s.Request(flow, "POST", "/mcp").Answer(flow, 200).Close(flow);
//   Report report = s.Run(PolicyWith({...}));
//
// Each step takes a millisecond; Wait passes more. Numbers of flows, sequence numbers and indices
// of requests and records are kept here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "routes/policy.h"
#include "tests/support/event_builder.h"
#include "tests/support/wire_bytes.h"
#include "userspace/model/report.h"
#include "userspace/pipeline/pipeline.h"

namespace routelens {

struct TestRoute {
  std::string host;
  uint16_t port = 443;
  std::string path = "/mcp";
};

// A policy with these routes and nothing else.
Policy PolicyWith(const std::vector<TestRoute>& routes);

class Story {
 public:
  explicit Story(uint32_t boundary = 0) : boundary_(boundary) {}

  // --- who and when ---
  Story& As(const Actor& actor);
  Story& Wait(double ms);

  double now() const { return now_ms_; }

  // The process was born under watch.
  Story& Exec();
  Story& Exit();

  // --- sockets ---
  uint64_t Connect(std::string_view address, uint16_t port);
  Story& Establish(uint64_t flow);
  uint64_t Connected(std::string_view address, uint16_t port);
  Story& FailAtOnce(uint64_t flow, int error);
  Story& Fail(uint64_t flow, int error);  // in SYN_SENT, by the kernel
  Story& GiveUp(uint64_t flow, uint32_t retransmits);
  Story& End(uint64_t flow, FlowEnd end);
  Story& Close(uint64_t flow);      // by its owner
  Story& PeerClose(uint64_t flow);  // and then by its owner
  Story& Reset(uint64_t flow);      // by the peer

  // --- names ---
  Story& Lookup(std::string_view name, const std::vector<std::string>& addresses, uint8_t rcode = 0,
                std::string_view server = "10.0.0.53");
  Story& Ask(uint64_t flow, uint16_t id, std::string_view name, uint16_t type,
             std::string_view server = "10.0.0.53");
  Story& Reply(uint64_t flow, uint16_t id, std::string_view name, uint16_t type, uint8_t rcode,
               const std::vector<std::string>& addresses, bool truncated = false);
  Story& Resolve(std::string_view name, int result, const std::vector<std::string>& addresses = {},
                 double took_ms = 2);

  // --- TLS on the wire ---
  Story& Hello(uint64_t flow, const HelloOptions& options = {});
  Story& ServerFlight13(uint64_t flow, bool resumes = false);
  Story& ServerFlight12(uint64_t flow);
  Story& Finish13(uint64_t flow);
  Story& Finish12(uint64_t flow);
  Story& Handshake13(uint64_t flow, const HelloOptions& options = {});
  Story& Handshake12(uint64_t flow, const HelloOptions& options = {});
  Story& FromClient(uint64_t flow, uint8_t type, uint16_t length);
  Story& FromServer(uint64_t flow, uint8_t type, uint16_t length);
  Story& Alert(uint64_t flow, Direction direction, uint8_t level, uint8_t description);
  Story& NotTls(uint64_t flow);

  // --- TLS library ---
  Story& LibraryDraws(uint64_t ssl, std::byte random);
  Story& Library(uint64_t ssl, LibraryOp op, int64_t value = 0, int32_t detail = 0);

  // --- HTTP ---
  Story& Request(uint64_t flow, HttpMethod method, std::string_view path, std::string_view host,
                 bool with_session = false);
  Story& Answer(uint64_t flow, uint16_t status);
  Story& Malformed(uint64_t flow);
  Story& Proxied(uint64_t flow, std::string_view authority);  // CONNECT
  Story& LibraryRequest(uint64_t ssl, HttpMethod method, std::string_view path,
                        std::string_view host);
  Story& LibraryAnswer(uint64_t ssl, uint16_t status, bool unknown = false);

  Story& Add(EventBuilder event);

  // --- telling it ---
  std::vector<Event>& events() { return events_; }

  Report Run(const Policy& policy, const PipelineLimits& limits = {}) const;

 private:
  Story& Http(HttpRequestHead head);

  uint32_t boundary_;
  Actor actor_ = kAgent;
  double now_ms_ = 1;
  uint64_t next_flow_ = 1;
  uint64_t next_seq_ = 1;
  uint16_t next_dns_id_ = 1;
  std::map<uint64_t, uint32_t> bytes_sent_;
  std::map<uint64_t, uint32_t> bytes_received_;
  std::map<std::pair<uint64_t, int>, uint16_t> records_;
  std::map<uint64_t, uint32_t> requests_;
  std::map<uint64_t, uint32_t> answers_;
  std::map<uint64_t, bool> in_tunnel_;
  std::map<uint64_t, bool> connect_open_;
  std::vector<Event> events_;
};

// Feeds events to a pipeline, one record each, and lets `after_ms` pass at the end.
Report RunEvents(const std::vector<Event>& events, const Policy& policy,
                 const PipelineLimits& limits = {}, double after_ms = 20'000);

// --- what a report says, for assertions ---

// "TlsFailed" of the only route, or of the route with this host and path.
Outcome OutcomeOf(const Report& report, std::string_view host = {}, std::string_view path = {});
const RouteCondition& ConditionOf(const Report& report, std::string_view host = {},
                                  std::string_view path = {});

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Joins the events of all boundaries, in the order of their times, into exchanges, and hands each
// to the sink when it has ended: attributed and classified. Knows what belongs together; what it
// means is decided in classify/.
//
//   look-up       (dns_lookup)     ends without an address           -> one exchange
//   connect()s    (attempt_group)  end without a connection          -> one exchange
//   connection    no request on it could be read                     -> one exchange
//   HTTP request  (http_exchanges) answered, or its connection ended -> one exchange each
//
// Deterministic: time comes with the events and with AdvanceTo, and timers fire at their own times
// in between, so that it does not matter how often AdvanceTo is called. Not thread-safe. Memory is
// bounded by the limits; what must make room is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "routes/match.h"
#include "userspace/correlate/attempt_group.h"
#include "userspace/correlate/denied_name_servers.h"
#include "userspace/correlate/dns_lookup.h"
#include "userspace/correlate/held_requests.h"
#include "userspace/correlate/judgement.h"
#include "userspace/correlate/timer_queue.h"
#include "userspace/decode/dns_stream.h"
#include "userspace/decode/tls_handshake.h"
#include "userspace/model/events.h"
#include "userspace/tables/flow_table.h"
#include "userspace/tables/library_sessions.h"
#include "userspace/tables/name_table.h"
#include "userspace/tables/process_table.h"

namespace routelens {

struct BuilderLimits {
  size_t max_flows = 16384;
  size_t max_names = 4096;  // of each boundary
  size_t max_processes = 16384;
  size_t max_library_sessions = 16384;
  size_t max_groups = 16384;
  size_t max_lookups = 4096;
  size_t max_held = 1024;
};

// How long a connection's answer may stay unread before it is reported as such.
constexpr Duration kUnreadableAfter = Seconds(5);

// How much later than the wire a library may tell of what came before a reset: the time that its
// program takes to read.
constexpr Duration kLibraryLagsBy = Milliseconds(100);

// After a loss, names may have been resolved unseen: for this long a name that only DNS tells of is
// not believed, unless its process began after the loss.
constexpr Duration kNamesUnsureAfterLoss = Seconds(60);

// What begins this soon after a loss may be the rest of what was lost: the AAAA of a look-up whose
// A is missing, the second address of a try whose first is missing.
constexpr Duration kTornAfterLoss = kAttemptWindowWithSlack;

class ExchangeBuilder {
 public:
  using Sink = std::function<void(const JudgedExchange&)>;

  // `matcher` must outlive this.
  ExchangeBuilder(const RouteMatcher& matcher, const BuilderLimits& limits, Sink sink);

  // One event; times never go back. Its strings may be taken.
  void Apply(Event&& event);

  // Lets timers fire that are due by `now`.
  void AdvanceTo(BootTime now);

  // Events of this boundary were lost at about this time: what is open there ends without an
  // outcome. Returns how many exchanges that were.
  size_t OnLoss(BoundaryIndex boundary, BootTime now);

  // The same for all boundaries.
  size_t OnLossAnywhere(BootTime now);

  // Reports what is decided although it still waits; everything else that is open says nothing.
  void Finish(BootTime now);

  // Entries that had to make room in a full table.
  uint64_t evicted() const;

 private:
  struct Boundary {
    explicit Boundary(size_t max_names) : names(max_names) {}

    NameTable names;
    BootTime last_loss;
    bool has_proxy = false;
  };

  // Pieces of a flow's bytes that are not whole yet.
  struct Readers {
    TlsHandshakeReader tls[2];  // by Direction
    DnsStream dns[2];
  };

  void On(const EventHeader& header, const ConnectAttempt& event);
  void On(const EventHeader& header, const ConnectError& event);
  void On(const EventHeader& header, const Established& event);
  void On(const EventHeader& header, const PeerFin& event);
  void On(const EventHeader& header, const FlowEnd& event);
  void On(const EventHeader& header, const StreamBytes& event);
  void On(const EventHeader& header, const TlsRecord& event);
  void On(const EventHeader& header, HttpRequestHead& event);
  void On(const EventHeader& header, const HttpResponseHead& event);
  void On(const EventHeader& header, const DnsDatagram& event);
  void On(const EventHeader& header, const LibraryCall& event);
  void On(const EventHeader& header, const ResolverResult& event);
  void On(const EventHeader& header, const ProcessEvent& event);

  Boundary& BoundaryOf(BoundaryIndex index);
  bool JustAfterLoss(BoundaryIndex index, BootTime now);
  Readers& ReadersOf(FlowId flow);
  Flow* FlowOf(HttpWitness witness, FlowId flow, const LibrarySession& session);
  void Fire(const TimerQueue::Timer& timer);

  void OnTlsBytes(Flow& flow, const StreamBytes& bytes);
  void OnDnsBytes(Flow& flow, const StreamBytes& bytes, BootTime now);
  void EndAttempt(Flow& flow, const ExchangeEvidence& evidence, BootTime now);
  void FinishConnection(Flow& flow);
  void EndConnection(Flow& flow, const FlowEnd& end, BootTime now);
  void CloseFlow(FlowId id);
  void EndOutstanding(Flow& flow, const FlowEnd& end, BootTime now);
  void OnAnswer(Flow& flow, const PendingRequest& request, const HttpResponseHead& answer,
                BootTime now);
  void OpenTunnel(Flow& flow, const PendingRequest& connect);
  void DecideEarly(Flow& flow, BootTime now);
  void ReportUnreadable(Flow& flow, BootTime now);
  void LoseFlow(Flow& flow, BootTime now);

  AddressName NameOf(const Flow& flow, BootTime now);
  NamedPeer PeerOf(const Flow& flow, const PendingRequest* request);
  bool KnowsAllNames(BoundaryIndex boundary, const ProcessKey& process);
  ProxyKnowledge ProxyKnowledgeOf(const Flow& flow, uint16_t port, BootTime since);
  static bool HasUnjudgedConnection(const Flow& flow);
  static bool HasOpenExchange(const Flow& flow);
  static bool HasUnreadAnswer(const Flow& flow);
  EndedExchange ExchangeOf(const Flow& flow, const PendingRequest* request, const FlowEnd* end,
                           BootTime now);
  EndedExchange ConnectionExchange(const Flow& flow, const FlowEnd* end, BootTime now);
  EndedExchange RequestExchange(const Flow& flow, const PendingRequest& request,
                                const HttpResponseHead* answer, const FlowEnd* end, BootTime now);
  void Emit(const EndedExchange& exchange);
  void EmitRetried(std::vector<EndedExchange> retried);
  void Emit(const FailedGroup& group);
  void Emit(const FailedLookup& lookup);

  const RouteMatcher& matcher_;
  BuilderLimits limits_;
  Sink sink_;
  TimerQueue timers_;
  FlowTable flows_;
  ProcessTable processes_;
  LibrarySessions sessions_;
  AttemptGroups groups_;
  DnsLookups lookups_;
  HeldRequests held_;
  absl::flat_hash_map<BoundaryIndex, std::unique_ptr<Boundary>> boundaries_;
  absl::flat_hash_map<FlowId, std::unique_ptr<Readers>> readers_;
  // When a watched proxy last connected to a port, by boundary and port.
  absl::flat_hash_map<std::pair<BoundaryIndex, uint16_t>, BootTime> proxy_connects_;
  DeniedNameServers name_servers_denied_;
};

}  // namespace routelens

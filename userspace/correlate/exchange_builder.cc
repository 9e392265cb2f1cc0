// SPDX-License-Identifier: Apache-2.0
//
// Events of sockets, libraries, resolvers and processes. HTTP and the end of connections are in
// exchange_ends.cc.
#include "userspace/correlate/exchange_builder.h"

#include <cerrno>
#include <utility>
#include <variant>

#include "userspace/classify/library_reasons.h"
#include "userspace/correlate/flow_evidence.h"
#include "userspace/correlate/http_exchanges.h"
#include "userspace/correlate/tls_progress.h"

namespace routelens {
namespace {

constexpr uint16_t kDnsPort = 53;

// A look-up older than this did not lead to the connection that first uses its answer.
constexpr Duration kLookupLeadsWithin = Seconds(30);

// Results of connect() that say nothing about the network.
bool IsCallersOwn(int error) {
  return error == EISCONN || error == EALREADY || error == EINPROGRESS || error == EINTR;
}

void Apply(const LibraryCall& call, LibraryFacts& facts) {
  switch (call.op) {
    case LibraryOp::kVerify:
      facts.verify_error = static_cast<int32_t>(call.value);
      return;
    case LibraryOp::kVerifyAsked:
      if (facts.verify_error == 0)
        facts.verify_error = static_cast<int32_t>(call.value);
      return;
    case LibraryOp::kError:
      // A shutdown during the handshake is the consequence of an earlier failure.
      if (facts.error == 0 && call.value != kReasonShutdownWhileInInit)
        facts.error = static_cast<int32_t>(call.value);
      return;
    case LibraryOp::kResult:
      facts.saw_result = true;
      return;
    case LibraryOp::kHelloRandom:
    case LibraryOp::kFree:
    case LibraryOp::kStart:
      return;
  }
}

}  // namespace

ExchangeBuilder::ExchangeBuilder(const RouteMatcher& matcher, const BuilderLimits& limits,
                                 Sink sink)
    : matcher_(matcher),
      limits_(limits),
      sink_(std::move(sink)),
      flows_(limits.max_flows),
      processes_(limits.max_processes),
      sessions_(limits.max_library_sessions),
      groups_(limits.max_groups, timers_),
      lookups_(limits.max_lookups, timers_),
      held_(limits.max_held, timers_) {}

void ExchangeBuilder::Apply(Event&& event) {
  AdvanceTo(event.header.time);
  if (event.header.role == Role::kProxy)
    BoundaryOf(event.header.boundary).has_proxy = true;
  std::visit([&](auto& body) { On(event.header, body); }, event.body);
}

void ExchangeBuilder::AdvanceTo(BootTime now) {
  while (const std::optional<TimerQueue::Timer> due = timers_.TakeDue(now)) Fire(*due);
}

void ExchangeBuilder::Fire(const TimerQueue::Timer& timer) {
  switch (timer.kind) {
    case TimerKind::kAttemptGroup:
      if (const auto failed = groups_.TakeFailed(timer.id, timer.deadline))
        Emit(*failed);
      return;
    case TimerKind::kLookup:
      if (const auto failed = lookups_.Take(timer.id, timer.deadline))
        Emit(*failed);
      return;
    case TimerKind::kHeldRequest:
      if (const auto expired = held_.TakeExpired(timer.id))
        Emit(*expired);
      return;
    case TimerKind::kEndedFlow:
      if (Flow* flow = flows_.Find(FlowId{timer.id}); flow && flow->ended)
        FinishConnection(*flow);
      return;
    case TimerKind::kUnreadableFlow: {
      Flow* flow = flows_.Find(FlowId{timer.id});
      if (!flow || !flow->clock_set)
        return;
      flow->clock_set = false;
      if (HasUnreadAnswer(*flow))
        ReportUnreadable(*flow, timer.deadline);
      return;
    }
  }
}

ExchangeBuilder::Boundary& ExchangeBuilder::BoundaryOf(BoundaryIndex index) {
  std::unique_ptr<Boundary>& boundary = boundaries_[index];
  if (!boundary)
    boundary = std::make_unique<Boundary>(limits_.max_names);
  return *boundary;
}

bool ExchangeBuilder::JustAfterLoss(BoundaryIndex index, BootTime now) {
  const BootTime loss = BoundaryOf(index).last_loss;
  return loss.known() && now - loss <= kTornAfterLoss;
}

ExchangeBuilder::Readers& ExchangeBuilder::ReadersOf(FlowId flow) {
  std::unique_ptr<Readers>& readers = readers_[flow];
  if (!readers)
    readers = std::make_unique<Readers>();
  return *readers;
}

void ExchangeBuilder::CloseFlow(FlowId id) {
  readers_.erase(id);
  flows_.Erase(id);
}

bool ExchangeBuilder::KnowsAllNames(BoundaryIndex boundary, const ProcessKey& process) {
  return processes_.WatchedThroughout(process, BoundaryOf(boundary).last_loss);
}

AddressName ExchangeBuilder::NameOf(const Flow& flow, BootTime now) {
  Boundary& boundary = BoundaryOf(flow.boundary);
  if (boundary.last_loss.known() && now - boundary.last_loss < kNamesUnsureAfterLoss &&
      !KnowsAllNames(flow.boundary, flow.owner))
    return {AddressName::Kind::kUnsure, {}};
  return boundary.names.Resolve(flow.owner, flow.remote.address, now);
}

// --- sockets ---

void ExchangeBuilder::On(const EventHeader& header, const ConnectAttempt& event) {
  const BootTime now = header.time;
  if (Flow* old = flows_.Find(event.flow)) {
    if (old->ended) {
      FinishConnection(*old);
    } else {  // its end was never told: whatever it was part of is not concluded
      groups_.Forget(old->group);
      CloseFlow(event.flow);
    }
  }
  Flow& flow = flows_.Open(event.flow, [this](const Flow& victim) {
    groups_.Forget(victim.group);
    readers_.erase(victim.id);
  });
  flow.boundary = header.boundary;
  flow.role = header.role;
  flow.transport = event.transport;
  flow.owner = event.owner.process;
  flow.remote = event.remote;
  flow.started = now;
  flow.exchange_start = now;
  flow.preexisting = event.preexisting;
  flow.denied = event.denied_by_policy_hook;
  flow.is_dns = event.transport == Transport::kUdp || event.remote.port == kDnsPort;
  if (flow.preexisting)
    flow.phase = FlowPhase::kEstablished;
  if (flow.is_dns && flow.denied) {
    name_servers_denied_.Note(flow.boundary, flow.owner, now);
    flow.group = groups_.Join(flow, now);
    EndAttempt(flow, AttemptEvidence(flow, EPERM, now), now);
    return;
  }
  if (flow.is_dns || flow.preexisting)
    return;
  flow.address_name = NameOf(flow, now);
  if (flow.address_name.kind == AddressName::Kind::kOne) {
    const BootTime lookup =
        BoundaryOf(flow.boundary)
            .names.TakeLookupStart(flow.owner, flow.remote.address, flow.address_name.name, now);
    if (lookup.known() && now - lookup < kLookupLeadsWithin)
      flow.exchange_start = lookup;
  }
  if (flow.role == Role::kProxy)
    proxy_connects_[{flow.boundary, flow.remote.port}] = now;
  EmitRetried(held_.NoteConnect(flow.owner, flow.remote, now));
  if (!JustAfterLoss(flow.boundary, now))
    flow.group = groups_.Join(flow, now);
  if (flow.denied)
    EndAttempt(flow, AttemptEvidence(flow, EPERM, now), now);
}

void ExchangeBuilder::On(const EventHeader& header, const ConnectError& event) {
  if (IsCallersOwn(event.error))
    return;
  Flow* flow = flows_.Find(event.flow);
  if (event.soft) {
    if (flow && flow->phase == FlowPhase::kConnecting)
      flow->soft_error = event.error;
  } else if (flow && flow->phase == FlowPhase::kConnecting && !flow->is_dns)
    EndAttempt(*flow, AttemptEvidence(*flow, event.error, header.time), header.time);
  else
    groups_.NoteError(event.flow, event.error);
}

void ExchangeBuilder::On(const EventHeader& header, const Established& event) {
  Flow* flow = flows_.Touch(event.flow);
  if (!flow || flow->phase == FlowPhase::kEstablished)
    return;
  flow->phase = FlowPhase::kEstablished;
  flow->established = header.time;
  if (flow->group != 0)
    flow->loser = !groups_.Won(flow->group, flow->id);
  flow->group = 0;
}

void ExchangeBuilder::On(const EventHeader& header, const PeerFin& event) {
  if (Flow* flow = flows_.Touch(event.flow))
    flow->peer_fin = header.time;
}

void ExchangeBuilder::EndAttempt(Flow& flow, const ExchangeEvidence& evidence, BootTime now) {
  if (flow.lossy || flow.preexisting)
    groups_.Forget(flow.group);
  else
    groups_.Ended(flow.group, flow.id, evidence, now);
  CloseFlow(flow.id);
}

// --- bytes and records ---

void ExchangeBuilder::On(const EventHeader& header, const StreamBytes& event) {
  Flow* flow = flows_.Touch(event.flow);
  if (!flow)
    return;
  if (event.protocol == StreamProtocol::kDns)
    OnDnsBytes(*flow, event, header.time);
  else if (!flow->is_dns && !flow->preexisting)
    OnTlsBytes(*flow, event);
}

void ExchangeBuilder::OnTlsBytes(Flow& flow, const StreamBytes& event) {
  if (flow.lossy || (flow.tls.client_hello_read && flow.tls.version != 0))
    return;  // what there was to read has been read
  Readers& readers = ReadersOf(flow.id);
  TlsHandshakeReader& reader = readers.tls[event.direction == Direction::kIngress ? 1 : 0];
  if (event.hole) {
    reader.Break();
    flow.tls.hole = true;
  }
  reader.Add(event.offset, event.bytes);
  if (event.truncated)
    reader.Break();
  const std::optional<ClientHello>& client = readers.tls[0].flight().client_hello;
  const std::optional<ServerHello>& server = readers.tls[1].flight().server_hello;
  if (client && !flow.tls.client_hello_read) {
    ApplyClientHello(*client, flow.tls);
    flow.sni = client->server_name;
    if (const auto said = sessions_.NoteHello(flow.id, client->random)) {
      flow.library = *said;
      flow.library.joined = true;
    }
  }
  if (server && client)
    ApplyServerHello(*server, IsResumption(*client, *server), flow.tls);
  if (client && server && flow.tls.version != 0)
    readers_.erase(flow.id);
}

void ExchangeBuilder::OnDnsBytes(Flow& flow, const StreamBytes& event, BootTime now) {
  const bool from_server = event.direction == Direction::kIngress;
  DnsStream& stream = ReadersOf(flow.id).dns[from_server ? 1 : 0];
  if (event.hole || event.truncated)
    stream.Break();
  else
    stream.Add(event.offset, event.bytes);
  while (const auto bytes = stream.TakeMessage()) {
    const ParsedDns parsed = ParseDnsMessage(*bytes);
    if (const auto* message = std::get_if<DnsMessage>(&parsed))
      lookups_.OnMessage(
          *message, from_server,
          {flow.boundary, flow.role, flow.owner, flow.id, JustAfterLoss(flow.boundary, now)},
          BoundaryOf(flow.boundary).names, now);
  }
}

void ExchangeBuilder::On(const EventHeader& header, const TlsRecord& event) {
  Flow* flow = flows_.Touch(event.flow);
  if (!flow || flow->is_dns || flow->lossy)
    return;
  const bool was_decisive = flow->tls.not_tls || flow->tls.fatal_alert_received;
  ApplyTlsRecord(event, header.time, flow->tls);
  const bool is_decisive = flow->tls.not_tls || flow->tls.fatal_alert_received;
  if (is_decisive && !was_decisive)
    DecideEarly(*flow, header.time);
  if (!flow->clock_set && HasUnreadAnswer(*flow)) {
    flow->clock_set = true;
    timers_.Set(header.time + kUnreadableAfter, TimerKind::kUnreadableFlow,
                static_cast<uint64_t>(flow->id));
  }
}

// --- names ---

void ExchangeBuilder::On(const EventHeader& header, const DnsDatagram& event) {
  flows_.Touch(event.flow);
  const ParsedDns parsed = ParseDnsMessage(event.bytes);
  const auto* message = std::get_if<DnsMessage>(&parsed);
  if (!message)
    return;
  DnsMessage cut;
  if (event.truncated && !message->incomplete) {
    cut = *message;
    cut.incomplete = true;
    message = &cut;
  }
  lookups_.OnMessage(*message, event.direction == Direction::kIngress,
                     {header.boundary, header.role, event.owner.process, event.flow,
                      JustAfterLoss(header.boundary, header.time)},
                     BoundaryOf(header.boundary).names, header.time);
}

void ExchangeBuilder::On(const EventHeader& header, const ResolverResult& event) {
  lookups_.OnResolver(event, header.boundary, header.role, BoundaryOf(header.boundary).names,
                      header.time);
}

// --- processes and libraries ---

void ExchangeBuilder::On(const EventHeader& header, const ProcessEvent& event) {
  processes_.Apply(event, header.time);
  if (event.op == ProcessOp::kExit)
    lookups_.OnProcessExit(event.owner.process, header.time);
}

void ExchangeBuilder::On(const EventHeader&, const LibraryCall& event) {
  switch (event.op) {
    case LibraryOp::kStart:
      sessions_.Start(event.session);
      return;
    case LibraryOp::kFree:
      if (const auto id = sessions_.FlowOf(event.session)) {
        if (Flow* flow = flows_.Find(*id); flow && flow->ended)
          FinishConnection(*flow);
      }
      sessions_.End(event.session);
      return;
    case LibraryOp::kHelloRandom:
      if (const auto id = sessions_.NoteRandom(event.session, event.data)) {
        if (Flow* flow = flows_.Find(*id)) {
          flow->library = sessions_.FactsOf(event.session);
          flow->library.joined = true;
        }
      }
      return;
    case LibraryOp::kVerify:
    case LibraryOp::kError:
    case LibraryOp::kResult:
    case LibraryOp::kVerifyAsked:
      break;
  }
  if (const auto id = sessions_.FlowOf(event.session)) {
    Flow* flow = flows_.Touch(*id);
    if (flow && !flow->lossy)
      routelens::Apply(event, flow->library);
    return;
  }
  if (LibraryFacts* facts = sessions_.Waiting(event.session))
    routelens::Apply(event, *facts);
}

uint64_t ExchangeBuilder::evicted() const {
  uint64_t total = flows_.evicted() + processes_.evicted() + sessions_.evicted() +
                   groups_.evicted() + lookups_.evicted() + held_.evicted();
  for (const auto& [index, boundary] : boundaries_) total += boundary->names.evicted();
  return total;
}

}  // namespace routelens

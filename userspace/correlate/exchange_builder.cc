// SPDX-License-Identifier: Apache-2.0
//
// The builder itself, and what sockets do. What is read of bytes, libraries and processes is in
// exchange_builder_witnesses.cc, HTTP in exchange_builder_http.cc, how connections end in
// exchange_builder_ends.cc, and the exchanges made of it in exchange_builder_exchanges.cc.
#include "userspace/correlate/exchange_builder.h"

#include <cerrno>
#include <utility>
#include <variant>

#include "userspace/correlate/flow_evidence.h"

namespace routelens {
namespace {

constexpr uint16_t kDnsPort = 53;

// A look-up older than this did not lead to the connection that first uses its answer.
constexpr Duration kLookupLeadsWithin = Seconds(30);

// Results of connect() that say nothing about the network.
bool IsCallersOwn(int error) {
  return error == EISCONN || error == EALREADY || error == EINPROGRESS || error == EINTR;
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

uint64_t ExchangeBuilder::evicted() const {
  uint64_t total = flows_.evicted() + processes_.evicted() + sessions_.evicted() +
                   groups_.evicted() + lookups_.evicted() + held_.evicted();
  for (const auto& [index, boundary] : boundaries_) total += boundary->names.evicted();
  return total;
}

}  // namespace routelens

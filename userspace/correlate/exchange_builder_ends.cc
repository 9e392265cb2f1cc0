// SPDX-License-Identifier: Apache-2.0
//
// ExchangeBuilder, continued: how connections end, and what is lost.
#include <algorithm>
#include <utility>

#include "userspace/correlate/exchange_builder.h"
#include "userspace/correlate/flow_evidence.h"

namespace routelens {
namespace {

// The library's plaintext was read for this request, but the wire shows that bytes came which the
// library witness did not see.
bool MayHaveBeenAnsweredUnseen(const Flow& flow, const PendingRequest& request,
                               const FlowEnd& end) {
  if (request.witness != HttpWitness::kLibrary)
    return false;
  const BootTime last =
      flow.tls.server_records_end ? end.last_receive : flow.tls.last_long_server_record;
  return last >= request.start && last.known();
}

}  // namespace

// --- the end of a connection ---

void ExchangeBuilder::On(const EventHeader& header, const FlowEnd& event) {
  Flow* flow = flows_.Find(event.flow);
  if (!flow || flow->ended)
    return;
  if (flow->is_dns) {
    lookups_.OnSocketClosed(flow->owner, flow->id, header.time);
    CloseFlow(event.flow);
    return;
  }
  if (flow->phase == FlowPhase::kConnecting && !event.established) {
    EndAttempt(*flow, AttemptEvidence(*flow, event, 0, header.time), header.time);
    return;
  }
  if (flow->phase == FlowPhase::kConnecting) {
    // How it became established was not told.
    groups_.Won(flow->group, flow->id);
    flow->lossy = true;
  }
  flow->ended = event;
  flow->ended_at = header.time;
  // What arrived before a reset may still be read, and the library tells of it only then.
  if (event.cause == EndCause::kFailed && flow->library.joined && !flow->lossy)
    timers_.Set(header.time + kLibraryLagsBy, TimerKind::kEndedFlow,
                static_cast<uint64_t>(flow->id));
  else
    FinishConnection(*flow);
}

void ExchangeBuilder::FinishConnection(Flow& flow) {
  EndConnection(flow, *flow.ended, flow.ended_at);
  CloseFlow(flow.id);
}

bool ExchangeBuilder::HasUnreadAnswer(const Flow& flow) {
  return flow.tls.answered_again && flow.tls.first_client_data.known() &&
         flow.tls.first_client_data != flow.unread_reported && !flow.library.spoke_http &&
         !flow.judged && !flow.preexisting;
}

// Nothing that was read on it has been, or will be, an exchange of its own.
bool ExchangeBuilder::HasUnjudgedConnection(const Flow& flow) {
  return !flow.judged && flow.requests == 0 && flow.answers == 0 && !flow.unread_reported.known();
}

bool ExchangeBuilder::HasOpenExchange(const Flow& flow) {
  if (flow.is_dns || flow.preexisting)
    return !flow.outstanding.empty();
  if (flow.phase == FlowPhase::kConnecting || !flow.outstanding.empty())
    return true;
  return HasUnjudgedConnection(flow);
}

void ExchangeBuilder::DecideEarly(Flow& flow, BootTime now) {
  if (flow.judged || flow.lossy)
    return;
  const EndedExchange exchange = ConnectionExchange(flow, nullptr, now);
  if (Classify(exchange.evidence).confidence != Confidence::kObserved)
    return;
  flow.judged = true;
  Emit(exchange);
}

void ExchangeBuilder::ReportUnreadable(Flow& flow, BootTime now) {
  EndedExchange exchange = ConnectionExchange(flow, nullptr, now);
  exchange.start = flow.unread_reported.known() ? flow.tls.first_client_data
                                                : StartOf(flow, flow.tls.first_client_data);
  flow.unread_reported = flow.tls.first_client_data;
  Emit(exchange);
}

void ExchangeBuilder::EndConnection(Flow& flow, const FlowEnd& end, BootTime now) {
  if (!flow.outstanding.empty()) {
    EndOutstanding(flow, end, now);
    return;
  }
  if (HasUnreadAnswer(flow)) {
    ReportUnreadable(flow, now);
    return;
  }
  if (HasUnjudgedConnection(flow))
    Emit(ConnectionExchange(flow, &end, now));
}

void ExchangeBuilder::EndOutstanding(Flow& flow, const FlowEnd& end, BootTime now) {
  const bool several = flow.outstanding.size() > 1;
  for (const PendingRequest& request : flow.outstanding) {
    EndedExchange exchange = RequestExchange(flow, request, nullptr, &end, now);
    RequestEvidence& e = exchange.evidence.request;
    e.one_of_several = several;
    e.head_open = end.head_open;
    if (MayHaveBeenAnsweredUnseen(flow, request, end)) {
      e.answered = true;
      e.unreadable = true;
    }
    const bool may_be_stale = e.reused_connection && !several && !e.answered && !e.head_open &&
                              !request.interim && ClosedFromAfar(exchange.evidence.ended_by);
    if (!may_be_stale) {
      Emit(exchange);
      continue;
    }
    const BootTime since = std::max(flow.peer_fin, request.start);
    if (held_.LastConnect(flow.owner, flow.remote) > since) {
      e.retried = true;
      Emit(exchange);
    } else {
      held_.Hold(std::move(exchange), flow.owner, flow.remote, RetryBy::kConnectOrRequest, now);
    }
  }
}

// --- loss and the end ---

void ExchangeBuilder::LoseFlow(Flow& flow, BootTime now) {
  if (flow.phase == FlowPhase::kEstablished && !flow.is_dns) {
    if (flow.outstanding.empty() && HasOpenExchange(flow))
      sink_(JudgeLost(matcher_, ConnectionExchange(flow, nullptr, now)));
    for (const PendingRequest& request : flow.outstanding)
      sink_(JudgeLost(matcher_, RequestExchange(flow, request, nullptr, nullptr, now)));
  }
  flow.outstanding.clear();
  flow.lossy = true;
  flow.judged = true;
  flow.group = 0;
  flow.tls.hole = true;
  readers_.erase(flow.id);
}

size_t ExchangeBuilder::OnLoss(BoundaryIndex boundary, BootTime now) {
  AdvanceTo(now);
  size_t dropped = groups_.DropBoundary(boundary) + lookups_.DropBoundary(boundary) +
                   held_.DropBoundary(boundary);
  flows_.ForEach([&](Flow& flow) {
    if (flow.boundary != boundary)
      return;
    if (HasOpenExchange(flow))
      dropped += std::max<size_t>(1, flow.outstanding.size());
    LoseFlow(flow, now);
  });
  BoundaryOf(boundary).last_loss = now;
  return dropped;
}

size_t ExchangeBuilder::OnLossAnywhere(BootTime now) {
  std::vector<BoundaryIndex> all;
  for (const auto& [index, boundary] : boundaries_) all.push_back(index);
  std::sort(all.begin(), all.end());
  size_t dropped = 0;
  for (const BoundaryIndex index : all) dropped += OnLoss(index, now);
  return dropped;
}

void ExchangeBuilder::Finish(BootTime now) {
  AdvanceTo(now);
  for (const FailedGroup& group : groups_.TakeAllFailed()) Emit(group);
  for (const FailedLookup& lookup : lookups_.TakeAllFailed(now)) Emit(lookup);
  for (const EndedExchange& exchange : held_.TakeAnswered()) Emit(exchange);
  flows_.ForEach([&](Flow& flow) {
    if (flow.ended)
      EndConnection(flow, *flow.ended, flow.ended_at);
    else if (HasUnreadAnswer(flow))
      ReportUnreadable(flow, now);
  });
}

}  // namespace routelens

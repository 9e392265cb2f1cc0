// SPDX-License-Identifier: Apache-2.0
#include "userspace/correlate/held_requests.h"

namespace routelens {

void HeldRequests::Hold(EndedExchange exchange, const ProcessKey& process, const Endpoint& remote,
                        RetryBy retry_by, BootTime now) {
  const uint64_t id = ++last_id_;
  Held& held = held_.Insert(id, [this](uint64_t, const Held&) { evicted_++; });
  held = {std::move(exchange), process, remote, retry_by};
  timers_.Set(now + kRetryWindow, TimerKind::kHeldRequest, id);
}

template <typename Is>
std::vector<EndedExchange> HeldRequests::TakeIf(Is&& is) {
  std::vector<EndedExchange> taken;
  if (held_.size() == 0)
    return taken;
  std::vector<uint64_t> ids;
  held_.ForEach([&](uint64_t id, Held& held) {
    if (!is(held))
      return;
    ids.push_back(id);
    taken.push_back(std::move(held.exchange));
  });
  for (const uint64_t id : ids) held_.Erase(id);
  return taken;
}

std::vector<EndedExchange> HeldRequests::NoteConnect(const ProcessKey& process,
                                                     const Endpoint& remote, BootTime now) {
  const Place place{process, remote};
  BootTime* last = recent_.Touch(place);
  if (!last)
    last = &recent_.Insert(place, [](const Place&, BootTime) {});  // a memory, not a record
  *last = now;
  return TakeIf([&](const Held& held) {
    return held.retry_by == RetryBy::kConnectOrRequest && held.process == process &&
           held.remote == remote;
  });
}

std::vector<EndedExchange> HeldRequests::NoteRequest(const ProcessKey& process,
                                                     const NamedPeer& peer) {
  return TakeIf([&](const Held& held) {
    return held.process == process && held.exchange.peer.kind == peer.kind &&
           held.exchange.peer.host == peer.host && held.exchange.peer.port == peer.port;
  });
}

BootTime HeldRequests::LastConnect(const ProcessKey& process, const Endpoint& remote) const {
  const BootTime* last = recent_.Find({process, remote});
  return last ? *last : BootTime{};
}

std::optional<EndedExchange> HeldRequests::TakeExpired(uint64_t id) {
  Held* held = held_.Find(id);
  if (!held)
    return std::nullopt;
  EndedExchange exchange = std::move(held->exchange);
  held_.Erase(id);
  return exchange;
}

std::vector<EndedExchange> HeldRequests::TakeAnswered() {
  return TakeIf([](const Held& held) { return held.exchange.evidence.request.answered; });
}

size_t HeldRequests::DropBoundary(BoundaryIndex boundary) {
  return TakeIf([&](const Held& held) { return held.exchange.boundary == boundary; }).size();
}

}  // namespace routelens

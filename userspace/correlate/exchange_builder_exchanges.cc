// SPDX-License-Identifier: Apache-2.0
//
// ExchangeBuilder, continued: exchanges made of what is known, and out with them.
#include <utility>

#include "userspace/correlate/exchange_builder.h"
#include "userspace/correlate/flow_evidence.h"
#include "userspace/correlate/http_exchanges.h"

namespace routelens {
NamedPeer ExchangeBuilder::PeerOf(const Flow& flow, const PendingRequest* request) {
  NameWitnesses w;
  w.remote = flow.remote;
  w.address_name = &flow.address_name;
  if (request && IsConnect(*request)) {
    w.in_tunnel = true;
    w.tunnel_authority = request->host;
    w.host_unusable = request->host_unusable;
    return ResolvePeer(w);
  }
  w.in_tunnel = flow.in_tunnel || (request && request->in_tunnel);
  w.tunnel_authority = flow.tunnel_authority;
  w.hello_read = flow.tls.client_hello_read;
  w.encrypted_hello = flow.tls.encrypted_hello;
  w.sni = flow.sni;
  w.address_name_is_all = !flow.preexisting && KnowsAllNames(flow.boundary, flow.owner);
  if (request) {
    w.is_absolute = request->form == HttpForm::kAbsolute;
    w.host = request->host;
    w.host_unusable = request->host_unusable;
  }
  return ResolvePeer(w);
}

ProxyKnowledge ExchangeBuilder::ProxyKnowledgeOf(const Flow& flow, uint16_t port, BootTime since) {
  if (flow.role != Role::kWorkload || !BoundaryOf(flow.boundary).has_proxy)
    return ProxyKnowledge::kNotKnown;
  auto last = proxy_connects_.find({flow.boundary, port});
  return last != proxy_connects_.end() && last->second >= since ? ProxyKnowledge::kUpstreamUsed
                                                                : ProxyKnowledge::kUpstreamUnused;
}

EndedExchange ExchangeBuilder::ExchangeOf(const Flow& flow, const PendingRequest* request,
                                          const FlowEnd* end, BootTime now) {
  EndedExchange exchange;
  exchange.boundary = flow.boundary;
  exchange.role = flow.role;
  exchange.start = flow.exchange_start;
  exchange.end = now;
  exchange.peer = PeerOf(flow, request);
  exchange.evidence = ConnectionEvidence(flow, end, now);
  return exchange;
}

EndedExchange ExchangeBuilder::ConnectionExchange(const Flow& flow, const FlowEnd* end,
                                                  BootTime now) {
  return ExchangeOf(flow, nullptr, end, now);
}

EndedExchange ExchangeBuilder::RequestExchange(const Flow& flow, const PendingRequest& request,
                                               const HttpResponseHead* answer, const FlowEnd* end,
                                               BootTime now) {
  EndedExchange exchange = ExchangeOf(flow, &request, end, now);
  exchange.start = request.start;
  if (request.path_known)
    exchange.path = request.path;
  ExchangeEvidence& e = exchange.evidence;
  e.kind = ExchangeKind::kRequest;
  e.lossy = flow.lossy || (end && end->hole);
  e.request = RequestEvidenceOf(request, answer, now);
  e.request.reused_connection = flow.preexisting || flow.answers > (answer ? 1U : 0U);
  if (e.request.is_connect || e.request.via_proxy)
    e.request.proxy = ProxyKnowledgeOf(flow, exchange.peer.port, request.start);
  return exchange;
}

void ExchangeBuilder::Emit(const EndedExchange& exchange) {
  sink_(Judge(matcher_, exchange));
}

void ExchangeBuilder::Emit(const FailedGroup& group) {
  NameWitnesses w;
  w.remote = group.remote;
  w.address_name = &group.name;
  w.address_name_is_all = KnowsAllNames(group.boundary, group.process);
  EndedExchange exchange{.boundary = group.boundary,
                         .role = group.role,
                         .start = group.start,
                         .end = group.end,
                         .peer = ResolvePeer(w),
                         .path = std::nullopt,
                         .evidence = group.evidence};
  Emit(exchange);
}

void ExchangeBuilder::Emit(const FailedLookup& lookup) {
  EndedExchange exchange{.boundary = lookup.boundary,
                         .role = lookup.role,
                         .start = lookup.start,
                         .end = lookup.end,
                         .peer = PeerOfLookup(lookup.name),
                         .path = std::nullopt,
                         .evidence = {}};
  exchange.evidence.kind = ExchangeKind::kLookup;
  exchange.evidence.lookup = lookup.evidence;
  exchange.evidence.lookup.denied_by_policy_hook =
      lookup.evidence.wire == LookupResult::kNotSeen &&
      name_servers_denied_.Within(lookup.boundary, lookup.process, lookup.start, lookup.end);
  Emit(exchange);
}

void ExchangeBuilder::EmitRetried(std::vector<EndedExchange> retried) {
  for (EndedExchange& exchange : retried) {
    // After 407 and 417 the next attempt speaks for both.
    if (exchange.evidence.request.answered)
      continue;
    exchange.evidence.request.retried = true;
    Emit(exchange);
  }
}

}  // namespace routelens

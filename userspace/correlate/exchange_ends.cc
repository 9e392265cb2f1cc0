// SPDX-License-Identifier: Apache-2.0
//
// ExchangeBuilder, continued: exchanges made of what is known, and HTTP.
#include <algorithm>
#include <utility>

#include "userspace/correlate/exchange_builder.h"
#include "userspace/correlate/flow_evidence.h"
#include "userspace/correlate/http_exchanges.h"
#include "userspace/correlate/tls_progress.h"

namespace routelens {
namespace {

constexpr uint16_t kProxyAuthenticationRequired = 407;
constexpr uint16_t kExpectationFailed = 417;

}  // namespace

NamedPeer ExchangeBuilder::PeerOf(const Flow& flow, const PendingRequest* request) {
  NameWitnesses w;
  w.remote = flow.remote;
  w.address_name = &flow.address_name;
  const bool is_connect =
      request && request->method == HttpMethod::kConnect && request->form == HttpForm::kAuthority;
  if (is_connect) {
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

// --- HTTP ---

Flow* ExchangeBuilder::FlowOf(HttpWitness witness, FlowId id, const LibrarySession& session) {
  if (witness == HttpWitness::kWire)
    return flows_.Touch(id);
  const std::optional<FlowId> joined = sessions_.FlowOf(session);
  return joined ? flows_.Touch(*joined) : nullptr;
}

void ExchangeBuilder::On(const EventHeader& header, HttpRequestHead& event) {
  Flow* flow = FlowOf(event.witness, event.flow, event.session);
  if (!flow || flow->is_dns)
    return;
  const BootTime now = header.time;
  if (event.witness == HttpWitness::kLibrary)
    flow->library.spoke_http = true;
  const bool is_first = flow->requests == 0 && flow->answers == 0;
  if (!AddRequest(std::move(event), is_first ? StartOf(*flow, now) : now, *flow)) {
    LoseFlow(*flow, now);
    return;
  }
  if (!held_.empty())
    EmitRetried(held_.NoteRequest(flow->owner, PeerOf(*flow, &flow->outstanding.back())));
}

void ExchangeBuilder::On(const EventHeader& header, const HttpResponseHead& event) {
  Flow* flow = FlowOf(event.witness, event.flow, event.session);
  if (!flow || flow->is_dns)
    return;
  if (event.witness == HttpWitness::kLibrary)
    flow->library.spoke_http = true;
  const std::optional<PendingRequest> request = TakeAnswered(event, header.time, *flow);
  if (!request)
    return;
  StartNextTlsExchange(flow->tls);
  OnAnswer(*flow, *request, event, header.time);
}

void ExchangeBuilder::OnAnswer(Flow& flow, const PendingRequest& request,
                               const HttpResponseHead& answer, BootTime now) {
  EndedExchange exchange = RequestExchange(flow, request, &answer, nullptr, now);
  const RequestEvidence& e = exchange.evidence.request;
  if (e.is_connect && !e.malformed && e.status >= 200 && e.status <= 299) {
    OpenTunnel(flow, request);
    return;
  }
  if (e.status == kProxyAuthenticationRequired || e.status == kExpectationFailed) {
    held_.Hold(std::move(exchange), flow.owner, flow.remote, RetryBy::kRequest, now);
    return;
  }
  Emit(exchange);
}

void ExchangeBuilder::OpenTunnel(Flow& flow, const PendingRequest& connect) {
  flow.in_tunnel = true;
  flow.tunnel_authority = connect.host;
  flow.exchange_start = connect.start;
  flow.outstanding.clear();
  flow.requests = 0;
  flow.answers = 0;
  flow.sni.clear();
  flow.tls = {};
  flow.library = {};
  readers_.erase(flow.id);
}

}  // namespace routelens

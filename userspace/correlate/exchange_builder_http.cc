// SPDX-License-Identifier: Apache-2.0
//
// ExchangeBuilder, continued: requests and answers of HTTP.
#include <optional>
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

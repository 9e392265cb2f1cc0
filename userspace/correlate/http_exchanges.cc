// SPDX-License-Identifier: Apache-2.0
#include "userspace/correlate/http_exchanges.h"

#include <algorithm>
#include <utility>

namespace routelens {

bool AddRequest(HttpRequestHead&& head, BootTime start, Flow& flow) {
  if (flow.outstanding.size() >= kMaxOutstanding)
    return false;
  PendingRequest& request = flow.outstanding.emplace_back();
  request.start = start;
  request.index = head.request_index;
  request.witness = head.witness;
  request.method = head.method;
  request.form = head.form;
  request.with_session = head.with_session;
  request.in_tunnel = head.in_tunnel;
  request.host_unusable = head.host_repeated || head.host_truncated;
  request.path_known = !head.path_truncated && !head.path.empty() &&
                       (head.form == HttpForm::kOrigin || head.form == HttpForm::kAbsolute);
  if (request.path_known)
    request.path = std::move(head.path);
  if (!request.host_unusable)
    request.host = std::move(head.host);
  flow.requests++;
  return true;
}

bool IsConnect(const PendingRequest& request) {
  return request.method == HttpMethod::kConnect && request.form == HttpForm::kAuthority;
}

bool IsInterim(const HttpResponseHead& head) {
  return !head.malformed && !head.unknown && head.status >= 100 && head.status < 200 &&
         head.status != 101;
}

std::optional<PendingRequest> TakeAnswered(const HttpResponseHead& head, BootTime now, Flow& flow) {
  auto found = std::find_if(flow.outstanding.begin(), flow.outstanding.end(),
                            [&](const PendingRequest& r) { return r.index == head.request_index; });
  if (IsInterim(head)) {
    if (found != flow.outstanding.end())
      found->interim = true;
    return std::nullopt;
  }
  if (found != flow.outstanding.end()) {
    PendingRequest request = std::move(*found);
    flow.outstanding.erase(found);
    flow.answers++;
    return request;
  }
  // The library's answers count without their request, whose write may not be probed; what was
  // asked is then not known.
  if (head.witness != HttpWitness::kLibrary || flow.lossy || flow.requests > 0)
    return std::nullopt;
  PendingRequest unseen;
  unseen.start = flow.answers == 0 ? flow.exchange_start : now;
  unseen.index = head.request_index;
  unseen.witness = head.witness;
  flow.answers++;
  return unseen;
}

RequestEvidence RequestEvidenceOf(const PendingRequest& request, const HttpResponseHead* answer,
                                  BootTime end) {
  RequestEvidence e;
  e.method = request.method;
  e.with_session = request.with_session;
  e.is_connect = IsConnect(request);
  e.via_proxy = !e.is_connect && (request.in_tunnel || request.form == HttpForm::kAbsolute);
  e.waited = end - request.start;
  if (answer) {
    e.answered = true;
    e.malformed = answer->malformed;
    e.unreadable = answer->unknown || (answer->status == 0 && !answer->malformed);
    e.status = answer->status;
  }
  return e;
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// Requests and answers of one flow: the queue of requests that wait, and the pairing of an answer
// with its request by the index that the kernel side gave both. Pure functions over Flow.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "userspace/classify/evidence.h"
#include "userspace/model/events.h"
#include "userspace/tables/flow.h"

namespace routelens {

// More than the kernel side ever has outstanding on one connection.
constexpr size_t kMaxOutstanding = 64;

// Puts the request into the flow's queue, strings and all. False if the queue is full: the flow
// makes no sense.
bool AddRequest(HttpRequestHead&& head, BootTime start, Flow& flow);

// A final answer takes its request out of the queue. Nothing for 1xx (noted with the request), for
// an answer without its request, and for one whose request was lost.
std::optional<PendingRequest> TakeAnswered(const HttpResponseHead& head, BootTime now, Flow& flow);

// True for a request that asks a proxy for a tunnel.
bool IsConnect(const PendingRequest& request);

// True for the answers that are not the last word: 100, 102, 103, ...
bool IsInterim(const HttpResponseHead& head);

// What the request and its answer (or nullptr) say; the rest is up to the caller.
RequestEvidence RequestEvidenceOf(const PendingRequest& request, const HttpResponseHead* answer,
                                  BootTime end);

}  // namespace routelens

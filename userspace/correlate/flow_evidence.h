// SPDX-License-Identifier: Apache-2.0
//
// From what is known of a flow, and from its end, to the evidence that the classifier judges. Pure.
#pragma once

#include "userspace/classify/evidence.h"
#include "userspace/model/events.h"
#include "userspace/model/time.h"
#include "userspace/tables/flow.h"

namespace routelens {

// Who ended an established connection.
EndedBy EndedByOf(const FlowEnd& end);

// A connect() that never became a connection. `at_once_error` is what connect() returned, 0 if
// nobody saw that.
ExchangeEvidence AttemptEvidence(const Flow& flow, const FlowEnd& end, int at_once_error,
                                 BootTime now);

// connect() failed at once, and nothing else has been said yet.
ExchangeEvidence AttemptEvidence(const Flow& flow, int at_once_error, BootTime now);

// The connection itself, when it ended; `end` is nullptr while it is open.
ExchangeEvidence ConnectionEvidence(const Flow& flow, const FlowEnd* end, BootTime now);

// When the exchange began whose first request is made at `asked`: with the connection, if that was
// made for it; with the request, if the connection had lain ready.
BootTime StartOf(const Flow& flow, BootTime asked);

}  // namespace routelens

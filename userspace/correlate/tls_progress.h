// SPDX-License-Identifier: Apache-2.0
//
// How far a TLS handshake got, from what is in the clear: hellos, heads of records, alerts. Sizes
// of protected records tell the messages of TLS 1.3 apart as measured with real clients (design:
// evidence): Finished is 53 or 69, an empty Certificate 25, an alert 19; Java adds 16 to each.
//
// Pure functions over TlsFacts and LibraryFacts; records of one direction come in order.
#pragma once

#include "userspace/classify/evidence.h"
#include "userspace/decode/tls_hello.h"
#include "userspace/model/events.h"
#include "userspace/model/time.h"
#include "userspace/tables/flow.h"

namespace routelens {

void ApplyClientHello(const ClientHello& hello, TlsFacts& facts);
void ApplyServerHello(const ServerHello& hello, bool resumes, TlsFacts& facts);

// One record's head, in either direction.
void ApplyTlsRecord(const TlsRecord& record, BootTime now, TlsFacts& facts);

// What the library said of the session; the first cause stays.
void ApplyLibraryCall(const LibraryCall& call, LibraryFacts& facts);

// An answer was read on this connection by other means: what the client sends next is a new
// request.
void StartNextTlsExchange(TlsFacts& facts);

// What the classifier may know, as of `end`.
TlsEvidence TlsEvidenceOf(const TlsFacts& facts, const LibraryFacts& library, BootTime end);

}  // namespace routelens

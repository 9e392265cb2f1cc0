// SPDX-License-Identifier: Apache-2.0
//
// ExchangeBuilder, continued: bytes and records of the wire, names, processes and libraries.
#include <optional>
#include <utility>
#include <variant>

#include "userspace/correlate/exchange_builder.h"
#include "userspace/correlate/tls_progress.h"

namespace routelens {

// --- bytes and records ---

void ExchangeBuilder::On(const EventHeader& header, const StreamBytes& event) {
  Flow* flow = flows_.Touch(event.flow);
  if (!flow)
    return;
  if (event.protocol == StreamProtocol::kDns)
    OnDnsBytes(*flow, event, header.time);
  else if (!flow->is_dns && !flow->preexisting)
    OnTlsBytes(*flow, event);
}

void ExchangeBuilder::OnTlsBytes(Flow& flow, const StreamBytes& event) {
  if (flow.lossy || (flow.tls.client_hello_read && flow.tls.version != 0))
    return;  // what there was to read has been read
  Readers& readers = ReadersOf(flow.id);
  TlsHandshakeReader& reader = readers.tls[event.direction == Direction::kIngress ? 1 : 0];
  if (event.hole) {
    reader.Break();
    flow.tls.hole = true;
  }
  reader.Add(event.offset, event.bytes);
  if (event.truncated)
    reader.Break();
  const std::optional<ClientHello>& client = readers.tls[0].flight().client_hello;
  const std::optional<ServerHello>& server = readers.tls[1].flight().server_hello;
  if (client && !flow.tls.client_hello_read) {
    ApplyClientHello(*client, flow.tls);
    flow.sni = client->server_name;
    if (const auto said = sessions_.NoteHello(flow.id, client->random)) {
      flow.library = *said;
      flow.library.joined = true;
    }
  }
  if (server && client)
    ApplyServerHello(*server, IsResumption(*client, *server), flow.tls);
  if (client && server && flow.tls.version != 0)
    readers_.erase(flow.id);
}

void ExchangeBuilder::OnDnsBytes(Flow& flow, const StreamBytes& event, BootTime now) {
  const bool from_server = event.direction == Direction::kIngress;
  DnsStream& stream = ReadersOf(flow.id).dns[from_server ? 1 : 0];
  if (event.hole || event.truncated)
    stream.Break();
  else
    stream.Add(event.offset, event.bytes);
  while (const auto bytes = stream.TakeMessage()) {
    const ParsedDns parsed = ParseDnsMessage(*bytes);
    if (const auto* message = std::get_if<DnsMessage>(&parsed))
      lookups_.OnMessage(
          *message, from_server,
          {flow.boundary, flow.role, flow.owner, flow.id, JustAfterLoss(flow.boundary, now)},
          BoundaryOf(flow.boundary).names, now);
  }
}

void ExchangeBuilder::On(const EventHeader& header, const TlsRecord& event) {
  Flow* flow = flows_.Touch(event.flow);
  if (!flow || flow->is_dns || flow->lossy)
    return;
  const bool was_decisive = flow->tls.not_tls || flow->tls.fatal_alert_received;
  ApplyTlsRecord(event, header.time, flow->tls);
  const bool is_decisive = flow->tls.not_tls || flow->tls.fatal_alert_received;
  if (is_decisive && !was_decisive)
    DecideEarly(*flow, header.time);
  if (!flow->clock_set && HasUnreadAnswer(*flow)) {
    flow->clock_set = true;
    timers_.Set(header.time + kUnreadableAfter, TimerKind::kUnreadableFlow,
                static_cast<uint64_t>(flow->id));
  }
}

// --- names ---

void ExchangeBuilder::On(const EventHeader& header, const DnsDatagram& event) {
  flows_.Touch(event.flow);
  const ParsedDns parsed = ParseDnsMessage(event.bytes);
  const auto* message = std::get_if<DnsMessage>(&parsed);
  if (!message)
    return;
  DnsMessage cut;
  if (event.truncated && !message->incomplete) {
    cut = *message;
    cut.incomplete = true;
    message = &cut;
  }
  lookups_.OnMessage(*message, event.direction == Direction::kIngress,
                     {header.boundary, header.role, event.owner.process, event.flow,
                      JustAfterLoss(header.boundary, header.time)},
                     BoundaryOf(header.boundary).names, header.time);
}

void ExchangeBuilder::On(const EventHeader& header, const ResolverResult& event) {
  lookups_.OnResolver(event, header.boundary, header.role, BoundaryOf(header.boundary).names,
                      header.time);
}

// --- processes and libraries ---

void ExchangeBuilder::On(const EventHeader& header, const ProcessEvent& event) {
  processes_.Apply(event, header.time);
  if (event.op == ProcessOp::kExit)
    lookups_.OnProcessExit(event.owner.process, header.time);
}

void ExchangeBuilder::On(const EventHeader&, const LibraryCall& event) {
  switch (event.op) {
    case LibraryOp::kStart:
      sessions_.Start(event.session);
      return;
    case LibraryOp::kFree:
      if (const auto id = sessions_.FlowOf(event.session)) {
        if (Flow* flow = flows_.Find(*id); flow && flow->ended)
          FinishConnection(*flow);
      }
      sessions_.End(event.session);
      return;
    case LibraryOp::kHelloRandom:
      if (const auto id = sessions_.NoteRandom(event.session, event.data)) {
        if (Flow* flow = flows_.Find(*id)) {
          flow->library = sessions_.FactsOf(event.session);
          flow->library.joined = true;
        }
      }
      return;
    case LibraryOp::kVerify:
    case LibraryOp::kError:
    case LibraryOp::kResult:
    case LibraryOp::kVerifyAsked:
      break;
  }
  if (const auto id = sessions_.FlowOf(event.session)) {
    Flow* flow = flows_.Touch(*id);
    if (flow && !flow->lossy)
      ApplyLibraryCall(event, flow->library);
    return;
  }
  if (LibraryFacts* facts = sessions_.Waiting(event.session))
    ApplyLibraryCall(event, *facts);
}

}  // namespace routelens

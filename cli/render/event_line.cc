// SPDX-License-Identifier: Apache-2.0
#include "cli/render/event_line.h"

#include <nlohmann/json.hpp>
#include <variant>

#include "base/clock.h"
#include "cli/render/json_text.h"
#include "cli/render/text.h"

namespace routelens {
namespace {

using Json = nlohmann::ordered_json;

uint64_t Number(FlowId flow) {
  return static_cast<uint64_t>(flow);
}

const char* Name(Direction direction) {
  return direction == Direction::kEgress ? "egress" : "ingress";
}

const char* Name(HttpWitness witness) {
  return witness == HttpWitness::kWire ? "wire" : "library";
}

const char* Name(HttpMethod method) {
  switch (method) {
    case HttpMethod::kGet:
      return "GET";
    case HttpMethod::kPost:
      return "POST";
    case HttpMethod::kDelete:
      return "DELETE";
    case HttpMethod::kHead:
      return "HEAD";
    case HttpMethod::kConnect:
      return "CONNECT";
    case HttpMethod::kOptions:
      return "OPTIONS";
    case HttpMethod::kPut:
      return "PUT";
    case HttpMethod::kOther:
      break;
  }
  return "other";
}

const char* Name(LibraryOp op) {
  switch (op) {
    case LibraryOp::kHelloRandom:
      return "hello_random";
    case LibraryOp::kVerify:
      return "verify";
    case LibraryOp::kError:
      return "error";
    case LibraryOp::kResult:
      return "result";
    case LibraryOp::kVerifyAsked:
      return "verify_asked";
    case LibraryOp::kFree:
      return "free";
    case LibraryOp::kStart:
      break;
  }
  return "start";
}

const char* Name(ProcessOp op) {
  switch (op) {
    case ProcessOp::kExec:
      return "exec";
    case ProcessOp::kExit:
      return "exit";
    case ProcessOp::kFork:
      break;
  }
  return "fork";
}

void AddOwner(Json& line, const Owner& owner) {
  line["pid"] = owner.process.tgid;
  line["comm"] = owner.comm;
}

// What kind of event, and its members.
struct Describe {
  Json& line;

  void operator()(const ConnectAttempt& e) const {
    line["event"] = "connect";
    AddOwner(line, e.owner);
    line["flow"] = Number(e.flow);
    line["remote"] = ToString(e.remote);
    line["transport"] = e.transport == Transport::kTcp ? "tcp" : "udp";
    line["preexisting"] = e.preexisting;
    line["denied"] = e.denied_by_policy_hook;
  }

  void operator()(const ConnectError& e) const {
    line["event"] = "connect_error";
    line["flow"] = Number(e.flow);
    line["errno"] = e.error;
    line["soft"] = e.soft;
  }

  void operator()(const Established& e) const {
    line["event"] = "established";
    line["flow"] = Number(e.flow);
    line["local"] = ToString(e.local);
    line["remote"] = ToString(e.remote);
  }

  void operator()(const PeerFin& e) const {
    line["event"] = "peer_fin";
    line["flow"] = Number(e.flow);
  }

  void operator()(const FlowEnd& e) const {
    line["event"] = "flow_end";
    line["flow"] = Number(e.flow);
    line["cause"] = e.cause == EndCause::kFailed ? "failed" : "released";
    line["tcp_state"] = static_cast<int>(e.state);
    line["errno"] = e.error;
    line["bytes_received"] = e.bytes_received;
    line["bytes_acked"] = e.bytes_acked;
    line["retransmits"] = e.retransmits;
  }

  void operator()(const StreamBytes& e) const {
    line["event"] = "stream";
    line["flow"] = Number(e.flow);
    line["direction"] = Name(e.direction);
    line["protocol"] = e.protocol == StreamProtocol::kTls ? "tls" : "dns";
    line["length"] = e.bytes.size();
  }

  void operator()(const TlsRecord& e) const {
    line["event"] = "tls_record";
    line["flow"] = Number(e.flow);
    line["direction"] = Name(e.direction);
    line["content_type"] = e.content_type;
    line["length"] = e.length;
    if (e.alert_level != 0) {
      line["alert_level"] = e.alert_level;
      line["alert_description"] = e.alert_description;
    }
  }

  void operator()(const HttpRequestHead& e) const {
    line["event"] = "http_request";
    line["witness"] = Name(e.witness);
    line["flow"] = Number(e.flow);
    line["method"] = Name(e.method);
    line["host"] = e.host;
    line["path"] = e.path;
  }

  void operator()(const HttpResponseHead& e) const {
    line["event"] = "http_response";
    line["witness"] = Name(e.witness);
    line["flow"] = Number(e.flow);
    line["status"] = e.status;
    line["malformed"] = e.malformed;
  }

  void operator()(const DnsDatagram& e) const {
    line["event"] = "dns";
    AddOwner(line, e.owner);
    line["remote"] = ToString(e.remote);
    line["direction"] = Name(e.direction);
    line["length"] = e.bytes.size();
  }

  void operator()(const LibraryCall& e) const {
    line["event"] = "library";
    AddOwner(line, e.owner);
    line["op"] = Name(e.op);
    line["value"] = e.value;
    line["detail"] = e.detail;
  }

  void operator()(const ResolverResult& e) const {
    line["event"] = "resolver";
    AddOwner(line, e.owner);
    line["name"] = e.name;
    line["result"] = e.result;
    line["addresses"] = e.addresses.size();
  }

  void operator()(const ProcessEvent& e) const {
    line["event"] = "process";
    AddOwner(line, e.owner);
    line["op"] = Name(e.op);
    line["parent"] = e.parent_tgid;
  }
};

std::string Scalar(const nlohmann::ordered_json& value) {
  if (value.is_string())
    return Printable(value.get<std::string>());
  if (value.is_number() || value.is_boolean())
    return Dump(value);
  return "";
}

std::string Member(const Json& line, const char* key) {
  const auto it = line.find(key);
  return it == line.end() ? "" : Scalar(*it);
}

// The clock part of an RFC 3339 time.
std::string ClockOf(const std::string& time) {
  constexpr size_t kClockStart = 11;
  constexpr size_t kClockSize = 12;
  return time.size() >= kClockStart + kClockSize ? time.substr(kClockStart, kClockSize)
                                                 : std::string(kClockSize, ' ');
}

std::string RouteOf(const Json& line) {
  const auto route = line.find("route");
  if (route == line.end())
    return "";
  if (!route->is_object())
    return Shorten(Scalar(*route), 26);
  std::string ports;
  const auto list = route->find("ports");
  if (list != route->end() && list->is_array()) {
    for (const Json& port : *list) ports += (ports.empty() ? "" : ",") + Scalar(port);
  }
  return Member(*route, "host") + ":" + ports + " " + Member(*route, "path");
}

std::string AuthorityOf(const Json& line) {
  const std::string host = Member(line, "host");
  const std::string port = Member(line, "port");
  return (host.empty() ? "?" : host) + (port.empty() ? "" : ":" + port);
}

Colour ColourOf(const std::string& status) {
  if (status == "True" || status == "Reachable")
    return Colour::kGreen;
  return status == "Unknown" || status == "NoObservedExchange" ? Colour::kYellow : Colour::kRed;
}

}  // namespace

std::string EventLine(const Event& event, int64_t wall_offset_ns) {
  Json line = {{"event", ""},
               {"time", FormatRfc3339(static_cast<int64_t>(event.header.time.ns) + wall_offset_ns)},
               {"boundary", static_cast<uint32_t>(event.header.boundary)},
               {"role", event.header.role == Role::kProxy ? "proxy" : "workload"}};
  std::visit(Describe{line}, event.body);
  return Dump(line);
}

std::string DroppedLine(uint64_t count) {
  return Dump({{"event", "dropped"}, {"count", count}});
}

std::string EndLine() {
  return Dump({{"event", "end"}});
}

std::string LineForPerson(std::string_view json_line, bool colour) {
  const Json line = Json::parse(json_line, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object())
    return "";
  const std::string event = Member(line, "event");
  if (event.empty())
    return "";
  if (event == "end")
    return "end of the session";
  if (event == "dropped")
    return Member(line, "count") + " lines dropped: this reader was too slow";
  if (event == "condition") {
    const std::string reason = Member(line, "reason");
    return ClockOf(Member(line, "observation_time")) + "  condition     " +
           Paint(reason, ColourOf(Member(line, "status")), colour) + "  " + RouteOf(line);
  }
  if (event == "exchange" || event == "unattributed") {
    const std::string outcome = Member(line, "outcome");
    std::string text = ClockOf(Member(line, "start")) + "  " + event +
                       std::string(event == "exchange" ? 6 : 2, ' ') +
                       Paint(outcome, ColourOf(outcome), colour) + "  " +
                       Member(line, "confidence") + "  " + Member(line, "rule") + "  ";
    text += event == "exchange" ? RouteOf(line) : AuthorityOf(line) + "  " + Member(line, "reason");
    return text;
  }
  std::string text = ClockOf(Member(line, "time")) + "  " + event + " ";
  for (const auto& [key, value] : line.items()) {
    if (key == "event" || key == "time" || key == "boundary" || key == "role")
      continue;
    text += " " + Printable(key) + "=" + Scalar(value);
  }
  return text;
}

}  // namespace routelens

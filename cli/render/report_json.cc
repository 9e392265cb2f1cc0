// SPDX-License-Identifier: Apache-2.0
#include "cli/render/report_json.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "cli/render/json_text.h"

namespace routelens {
namespace {

// Keys stay in the order of docs/json.md.
using Json = nlohmann::ordered_json;

Json TimeOrNull(BootTime time, int64_t wall_offset_ns) {
  if (!time.known())
    return nullptr;
  return FormatRfc3339(static_cast<int64_t>(time.ns) + wall_offset_ns);
}

Json TextOrNull(std::string_view text) {
  if (text.empty())
    return nullptr;
  return std::string(text);
}

Json ToJson(const RouteCondition& condition, int64_t wall_offset_ns) {
  const Route& route = condition.route;
  return {{"type", "McpRouteReady"},
          {"subject", route.subject.text},
          {"status", std::string(StatusOf(condition.outcome))},
          {"reason", std::string(ToString(condition.outcome))},
          {"message", MessageWithHint(condition.outcome, condition.hint)},
          {"observation_time", TimeOrNull(condition.observed, wall_offset_ns)},
          {"last_transition_time", TimeOrNull(condition.transition, wall_offset_ns)},
          {"last_attempt_time", TimeOrNull(condition.last_attempt, wall_offset_ns)},
          {"route",
           {{"host", route.host},
            {"ports", route.ports},
            {"path", route.path},
            {"credentialed", route.credentialed}}}};
}

Json ToJson(const ExchangeRecord& exchange, int64_t wall_offset_ns) {
  return {{"start", TimeOrNull(exchange.start, wall_offset_ns)},
          {"route", exchange.subject.text},
          {"outcome", std::string(ToString(exchange.outcome))},
          {"confidence", std::string(ToString(exchange.confidence))},
          {"rule", std::string(ToString(exchange.rule))},
          {"hint", TextOrNull(SentenceOf(exchange.hint))}};
}

Json ToJson(const UnattributedRecord& record, int64_t wall_offset_ns) {
  return {{"start", TimeOrNull(record.start, wall_offset_ns)},
          {"reason", std::string(ToString(record.reason))},
          {"outcome", std::string(ToString(record.outcome))},
          {"confidence", std::string(ToString(record.confidence))},
          {"rule", std::string(ToString(record.rule))},
          {"hint", TextOrNull(SentenceOf(record.hint))},
          {"host", TextOrNull(record.host)},
          {"port", record.port == 0 ? Json(nullptr) : Json(record.port)}};
}

Json ToJson(const Coverage& coverage) {
  Json capabilities = Json::array();
  for (const Capability& c : coverage.capabilities) {
    capabilities.push_back({{"name", c.name},
                            {"present", c.present},
                            {"floor", c.floor},
                            {"via", TextOrNull(c.via)},
                            {"reason", TextOrNull(c.reason)},
                            {"costs", TextOrNull(c.costs)},
                            {"remedy", TextOrNull(c.remedy)}});
  }
  Json libraries = Json::array();
  for (const LibraryCoverage& library : coverage.libraries) {
    libraries.push_back({{"kind", library.kind},
                         {"image", library.image},
                         {"probes", library.probes},
                         {"reason", TextOrNull(library.reason)}});
  }
  return {{"capabilities", std::move(capabilities)},
          {"libraries", std::move(libraries)},
          {"blind_spots", coverage.blind_spots}};
}

Json ToJson(const Report& report, const Loss& loss) {
  return {{"kernel_ring_full", loss.kernel_ring_full},
          {"kernel_throttled", loss.kernel_throttled},
          {"kernel_too_large", loss.kernel_too_large},
          {"kernel_map_full", loss.kernel_map_full},
          {"kernel_helper_failed", loss.kernel_helper_failed},
          {"undecodable", loss.undecodable},
          {"sequence_gaps", loss.sequence_gaps},
          {"exchanges_dropped", loss.exchanges_dropped},
          {"table_full", loss.table_full},
          {"recording_truncated", loss.recording_truncated},
          {"exchanges_truncated", report.exchanges_truncated},
          {"unattributed_truncated", report.unattributed_truncated}};
}

// One element for each line: a report of 100,000 exchanges is never held as one tree.
template <typename Elements>
void AppendList(std::string& out, std::string_view key, const Elements& elements,
                int64_t wall_offset_ns) {
  ((out += "  \"") += key) += "\": [";
  std::string_view separator = "\n    ";
  for (const auto& element : elements) {
    (out += separator) += Dump(ToJson(element, wall_offset_ns));
    separator = ",\n    ";
  }
  out += elements.empty() ? "],\n" : "\n  ],\n";
}

std::string Line(std::string_view event, Json body) {
  Json line = {{"event", std::string(event)}};
  line.update(body);
  return Dump(line);
}

}  // namespace

std::string MessageWithHint(Outcome outcome, Hint hint) {
  constexpr std::string_view kEnd = "; this is sandbox-level prior evidence.";
  std::string message(MessageOf(outcome));
  const std::string_view sentence = SentenceOf(hint);
  if (sentence.empty())
    return message;
  const size_t end = message.rfind(kEnd);
  const std::string in_brackets = " (" + std::string(sentence) + ")";
  return end == std::string::npos ? message + in_brackets : message.insert(end, in_brackets);
}

std::string RenderReportJson(const Report& report, int64_t wall_offset_ns) {
  std::string out = "{\n";
  AppendList(out, "conditions", report.conditions, wall_offset_ns);
  AppendList(out, "exchanges", report.exchanges, wall_offset_ns);
  AppendList(out, "unattributed", report.unattributed, wall_offset_ns);
  out += "  \"coverage\": " + Dump(ToJson(report.coverage)) + ",\n";
  out += "  \"loss\": " + Dump(ToJson(report, report.loss)) + "\n}\n";
  return out;
}

std::string ConditionLine(const RouteCondition& condition, int64_t wall_offset_ns) {
  return Line("condition", ToJson(condition, wall_offset_ns));
}

std::string ExchangeLine(const ExchangeRecord& exchange, int64_t wall_offset_ns) {
  return Line("exchange", ToJson(exchange, wall_offset_ns));
}

std::string UnattributedLine(const UnattributedRecord& record, int64_t wall_offset_ns) {
  return Line("unattributed", ToJson(record, wall_offset_ns));
}

std::string RenderCoverageJson(const Coverage& coverage) {
  return Dump(ToJson(coverage));
}

}  // namespace routelens

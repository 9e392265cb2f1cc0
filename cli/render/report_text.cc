// SPDX-License-Identifier: Apache-2.0
#include "cli/render/report_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/render/text.h"

namespace routelens {
namespace {

constexpr size_t kMaxUnattributedLines = 20;
constexpr size_t kMaxSuggestions = 100;

std::string Pad(std::string_view text, size_t width) {
  std::string out(text);
  if (out.size() < width)
    out.append(width - out.size(), ' ');
  return out;
}

std::string PadLeft(std::string_view text, size_t width) {
  std::string out(text);
  if (out.size() < width)
    out.insert(0, width - out.size(), ' ');
  return out;
}

std::string Count(uint64_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

Colour ColourOf(Outcome outcome) {
  if (outcome == Outcome::kReachable)
    return Colour::kGreen;
  return outcome == Outcome::kNoObservedExchange ? Colour::kYellow : Colour::kRed;
}

std::string RouteName(const Route& route) {
  std::string host = FormatAuthority(route.host, 0);
  return host + ":" + FormatPorts(route.ports) + " " + Printable(route.path);
}

void AppendConditions(std::string& out, const Report& report, BootTime now, bool colour) {
  if (report.conditions.empty())
    return;
  constexpr size_t kStatusWidth = 8;
  constexpr size_t kReasonWidth = 22;
  constexpr size_t kAgeWidth = 5;
  constexpr size_t kIndent = kStatusWidth + kReasonWidth + kAgeWidth + 2;
  out += Paint(Pad("STATUS", kStatusWidth) + Pad("REASON", kReasonWidth) +
                   PadLeft("AGE", kAgeWidth) + "  ROUTE",
               Colour::kBold, colour) +
         "\n";
  for (const RouteCondition& c : report.conditions) {
    const std::string head =
        Paint(Pad(StatusOf(c.outcome), kStatusWidth), ColourOf(c.outcome), colour) +
        Pad(ToString(c.outcome), kReasonWidth) +
        PadLeft(c.observed.known() ? FormatAge(now - c.observed) : "-", kAgeWidth) + "  ";
    const std::string indent(kIndent, ' ');
    bool first = true;
    for (const std::string& line : Wrap(RouteName(c.route), kTextWidth - kIndent)) {
      ((out += first ? head : indent) += line) += '\n';
      first = false;
    }
    const std::string_view hint = SentenceOf(c.hint);
    const std::string under(kStatusWidth, ' ');
    if (!hint.empty())
      out += Paragraph(under, under, "hint: " + std::string(hint));
    if (!c.observed.known() && c.last_attempt.known()) {
      out +=
          Paragraph(under, under,
                    "last attempt " + FormatAge(now - c.last_attempt) + " ago, without an outcome");
    }
  }
}

void AppendUnattributed(std::string& out, const Report& report) {
  if (report.unattributed.empty())
    return;
  // The same thing again and again is one line with a count.
  using Key = std::tuple<std::string, Outcome, UnattributedReason, Confidence, Hint>;
  std::vector<std::pair<Key, uint64_t>> lines;
  std::map<Key, size_t> index;
  for (const UnattributedRecord& record : report.unattributed) {
    Key key{FormatAuthority(record.host, record.port), record.outcome, record.reason,
            record.confidence, record.hint};
    const auto [it, added] = index.emplace(key, lines.size());
    if (added)
      lines.emplace_back(std::move(key), 0);
    ++lines[it->second].second;
  }
  out += "\nUnattributed (no condition changes by these):\n";
  for (size_t i = 0; i < lines.size() && i < kMaxUnattributedLines; ++i) {
    const auto& [authority, outcome, reason, confidence, hint] = lines[i].first;
    std::string text = authority + "  " + std::string(ToString(outcome)) + ", " +
                       std::string(ToString(reason)) + ", " + std::string(ToString(confidence));
    if (lines[i].second > 1)
      text += "  x" + std::to_string(lines[i].second);
    const std::string_view sentence = SentenceOf(hint);
    if (!sentence.empty())
      text += "; hint: " + std::string(sentence);
    out += Paragraph("  ", "    ", text);
  }
  if (lines.size() > kMaxUnattributedLines) {
    out += "  and " + Count(lines.size() - kMaxUnattributedLines, "more", "more") +
           " (all of them in the JSON)\n";
  }
  if (report.unattributed_truncated > 0) {
    out += "  and " + Count(report.unattributed_truncated, "older one", "older ones") +
           " no longer kept\n";
  }
}

void AppendGaps(std::string& out, const Coverage& coverage) {
  std::string gaps;
  for (const Capability& c : coverage.capabilities) {
    if (c.present)
      continue;
    std::string text = Printable(c.name) + ": " + Printable(c.reason);
    if (!c.costs.empty())
      text += "; not known without it: " + Printable(c.costs);
    gaps += Paragraph("  ", "    ", text);
  }
  for (const LibraryCoverage& library : coverage.libraries) {
    if (library.reason.empty())
      continue;
    gaps +=
        Paragraph("  ", "    ",
                  "TLS library in " + Printable(library.image) + ": " + Printable(library.reason));
  }
  if (!gaps.empty())
    out += "\nNot covered:\n" + gaps;
}

void AppendLoss(std::string& out, const Loss& loss) {
  const std::pair<uint64_t, std::string_view> kinds[] = {
      {loss.kernel_ring_full, "records lost: the ring was full"},
      {loss.kernel_throttled, "records lost: the sandbox made more than its share"},
      {loss.kernel_too_large, "records lost: too large"},
      {loss.kernel_map_full, "records lost: a kernel map was full"},
      {loss.kernel_helper_failed, "records lost: a kernel helper failed"},
      {loss.undecodable, "records refused by the decoder"},
      {loss.sequence_gaps, "gaps in the sequence of records"},
      {loss.exchanges_dropped, "exchanges dropped: something was lost while they were open"},
      {loss.table_full, "flows or names forgotten: a table was full"},
      {loss.recording_truncated, "records missing in the recording"},
  };
  std::string lost;
  for (const auto& [count, text] : kinds) {
    if (count > 0)
      lost += "  " + std::to_string(count) + " " + std::string(text) + "\n";
  }
  if (!lost.empty())
    out += "\nLost:\n" + lost;
}

bool AnythingLost(const Loss& loss) {
  return loss != Loss{};
}

// A name that a policy can hold. No address: a policy that lists addresses breaks with the next DNS
// answer.
bool IsHostName(std::string_view host) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kOthers = "0123456789.-_";
  return host.find_first_of(kLetters) != std::string_view::npos &&
         std::all_of(host.begin(), host.end(), [&](char c) {
           return kLetters.find(c) != std::string_view::npos ||
                  kOthers.find(c) != std::string_view::npos;
         });
}

std::string RuleName(std::string_view host) {
  std::string name;
  for (const char c : host) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    name += plain ? c : '_';
  }
  return name;
}

}  // namespace

std::string RenderReportText(const Report& report, BootTime now, TextOptions options) {
  std::string out;
  const uint64_t exchanges = report.exchanges.size() + report.exchanges_truncated;
  const uint64_t unattributed = report.unattributed.size() + report.unattributed_truncated;
  out += Paint("routelens", Colour::kBold, options.colour) + ": " +
         Count(report.conditions.size(), "route", "routes") + ", " +
         Count(exchanges, "exchange", "exchanges") + ", " + std::to_string(unattributed) +
         " unattributed, " + (AnythingLost(report.loss) ? "with losses" : "nothing lost") + "\n";
  AppendConditions(out, report, now, options.colour);
  AppendUnattributed(out, report);
  AppendGaps(out, report.coverage);
  AppendLoss(out, report.loss);
  return out;
}

std::string SuggestPolicy(const Report& report) {
  std::map<std::string, std::set<uint16_t>> seen;
  for (const UnattributedRecord& record : report.unattributed) {
    if (IsHostName(record.host) && record.port != 0 && seen.size() < kMaxSuggestions) {
      seen[record.host].insert(record.port);
    }
  }
  if (seen.empty())
    return "";
  std::string out = "network_policies:\n";
  for (const auto& [host, ports] : seen) {
    out += "  " + RuleName(host) + ":\n";
    out += "    endpoints:\n";
    out += "      - host: \"" + host + "\"\n";
    out += "        ports: [" + FormatPorts({ports.begin(), ports.end()}) + "]\n";
    out += "        protocol: mcp\n";
    out += "        path: /**\n";
    out += "    binaries:\n";
    out += "      - path: /usr/bin/NAME-OF-THE-CLIENT\n";
  }
  return out;
}

std::string RenderCoverageText(const Coverage& coverage, TextOptions options) {
  std::string out;
  for (const Capability& c : coverage.capabilities) {
    if (c.present && !options.all_capabilities)
      continue;
    const std::string mark = c.present ? "yes" : "no";
    const Colour colour = c.present ? Colour::kGreen : (c.floor ? Colour::kRed : Colour::kYellow);
    std::string head = Printable(c.name);
    if (!c.via.empty())
      head += " by " + Printable(c.via);
    if (c.floor)
      head += " (needed)";
    out += Paint(Pad(mark, 5), colour, options.colour) + Shorten(head, kTextWidth - 5) + "\n";
    const std::pair<std::string_view, const std::string&> parts[] = {
        {"why: ", c.reason}, {"costs: ", c.costs}, {"remedy: ", c.remedy}};
    for (const auto& [label, text] : parts) {
      if (text.empty() || (c.present && label != "why: "))
        continue;
      out += Paragraph("     ", "       ", std::string(label) + Printable(text));
    }
  }
  if (!coverage.libraries.empty())
    out += "\nTLS libraries and libc:\n";
  for (const LibraryCoverage& library : coverage.libraries) {
    std::string text = Printable(library.image) + " (" + Printable(library.kind) +
                       "): " + Count(library.probes, "probe", "probes");
    if (!library.reason.empty())
      text += "; " + Printable(library.reason);
    out += Paragraph("  ", "    ", text);
  }
  if (!coverage.blind_spots.empty())
    out += "\nNever seen:\n";
  for (const std::string& text : coverage.blind_spots) {
    out += Paragraph("  ", "    ", Printable(text));
  }
  return out;
}

}  // namespace routelens

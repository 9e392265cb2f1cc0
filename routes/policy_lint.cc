// SPDX-License-Identifier: Apache-2.0
#include "routes/policy_lint.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "routes/authority.h"
#include "routes/host_pattern.h"
#include "routes/path_pattern.h"
#include "routes/quoted.h"
#include "routes/request_path.h"

namespace routelens {
namespace {

// Pairs of endpoints, and cells of path comparison, that the search for overlaps may cost: well
// under a second.
constexpr size_t kOverlapPairs = 250'000;
constexpr size_t kOverlapCells = 50'000'000;

bool HasByte(std::string_view text, bool (*is)(unsigned char)) {
  return std::any_of(text.begin(), text.end(),
                     [is](char c) { return is(static_cast<unsigned char>(c)); });
}

bool IsNonAscii(unsigned char c) {
  return c >= 0x80;
}

// Why no request names this host, or what is odd about it; "" if nothing.
std::string HostComplaint(std::string_view host) {
  const std::string never = "no request can match host " + Quoted(host) + ": ";
  if (HasByte(host, IsNonAscii))
    return never + "requests carry names in ASCII; write its xn-- form";
  if (host.find("://") != std::string_view::npos || host.find('/') != std::string_view::npos)
    return never + "it is a URL; write the host alone, and the rest as port and path";
  const std::string matchable = MatchableHost(host);
  if (HostAddress(matchable)) {
    return host.front() == '['
               ? "OpenShell compares hosts without brackets; write " + Quoted(matchable)
               : "";
  }
  const std::optional<Authority> authority = ParseAuthority(host);
  if (!authority)
    return never + "it is not a host name; write a DNS name or an IP address";
  if (authority->port)
    return never + "it has a port in it; write the port in 'port' or 'ports'";
  return "";
}

// Literal parts of a glob can only match what a normalised path may hold.
bool IsPathFragment(std::string_view literal) {
  const std::string probe = "/x" + std::string(literal) + "x";
  return NormalizeRequestPath(probe) == probe;
}

std::string GlobComplaint(std::string_view path, std::string_view never) {
  std::string_view rest = path;
  while (!rest.empty()) {
    const size_t star = rest.find_first_of("*?[");
    if (!IsPathFragment(rest.substr(0, star)))
      return std::string(never) +
             "a request's path has no '//', '.' or '..' segment, ';', '#', "
             "'%2F' or non-ASCII byte when it is compared";
    if (star == std::string_view::npos)
      break;
    const size_t close = rest[star] == '[' ? rest.find(']', star + 2) : star;
    if (close == std::string_view::npos)
      break;
    rest.remove_prefix(close + 1);
  }
  return "";
}

// Why no request has this path, or not the one its author thinks of; "" if all is well.
std::string PathComplaint(std::string_view path) {
  const PathPattern pattern(path);
  const std::string never = "no request can match path " + Quoted(path) + ": ";
  if (pattern.kind() == PathPattern::Kind::kAll)
    return "";
  if (path.front() != '/' && path.front() != '*' && path.front() != '?' && path.front() != '[')
    return never + "it does not begin with '/'";
  if (path.find('?') != std::string_view::npos && pattern.kind() == PathPattern::Kind::kGlob) {
    return "'?' in path " + Quoted(path) +
           " stands for any one character: a request's query is not part of its path, so no "
           "request can match it as a query; remove it, or write '*'";
  }
  if (pattern.kind() == PathPattern::Kind::kInvalidGlob) {
    return "path " + Quoted(path) +
           " is not a valid pattern and matches only itself, byte for byte; '**' must be a whole "
           "segment, and '[' needs its ']'";
  }
  if (pattern.kind() == PathPattern::Kind::kGlob)
    return GlobComplaint(path, never);

  if (pattern.text().find_first_of("*?[") != std::string::npos) {
    return "in path " + Quoted(path) +
           " what stands before the last '/**' is compared as it is written: '*', '?' and '[' "
           "match only themselves there";
  }
  const std::string& text = pattern.text();
  const std::optional<std::string> normal = NormalizeRequestPath(text);
  if (!normal)
    return never + "it has '%2F', a broken escape, or bytes that a request's path cannot have";
  if (*normal != text)
    return never + "requests are compared as " + Quoted(*normal) + "; write that";
  return "";
}

std::string WildcardComplaint(const PolicyEndpoint& endpoint) {
  if (endpoint.protocol == "mcp") {
    return "a wildcard host is no route: its requests are not reported; write each MCP server's "
           "host";
  }
  const HostPattern pattern(MatchableHost(endpoint.host));
  const std::string& suffix = pattern.literal_suffix();
  if (!suffix.empty() && suffix.find('.') == std::string::npos) {
    return "wildcard " + Quoted(endpoint.host) +
           " stands directly under a top-level domain; OpenShell refuses it";
  }
  return "";
}

// Finds endpoints that can match the same request with equal rank, of which one is a route.
class OverlapSearch {
 public:
  OverlapSearch(const Policy& policy, const std::vector<EndpointPlace>& places,
                const EndpointWarning& warn)
      : policy_(policy), places_(places), warn_(warn) {
    for (size_t i = 0; i < policy.endpoints.size(); ++i) {
      const PolicyEndpoint& endpoint = policy.endpoints[i];
      paths_.emplace_back(endpoint.path);
      canonical_paths_.push_back(CanonicalPath(endpoint.path));
      canonical_hosts_.push_back(CanonicalHost(endpoint.host));
      ports_.push_back(CanonicalPorts(endpoint.ports));
      const std::string host = MatchableHost(endpoint.host);
      if (endpoint.host.empty())
        hostless_.push_back(i);
      else if (IsWildcardHost(host))
        wildcards_.emplace_back(HostPattern(host), i);
      else
        by_host_[host].push_back(i);
    }
  }

  void Run() {
    for (const auto& [host, members] : by_host_) {
      if (std::none_of(members.begin(), members.end(),
                       [&](size_t member) { return policy_.endpoints[member].is_route; })) {
        continue;
      }
      std::vector<size_t> others = hostless_;
      for (const auto& [pattern, endpoint] : wildcards_) {
        if (!Spend())
          return;
        if (pattern.Matches(host))
          others.push_back(endpoint);
      }
      for (size_t i = 0; i < members.size(); ++i) {
        if (!policy_.endpoints[members[i]].is_route)
          continue;
        for (size_t j = 0; j < members.size(); ++j) {
          // Of two routes the pair is looked at once; a route against a non-route always here.
          if (j == i || (j > i && policy_.endpoints[members[j]].is_route))
            continue;
          if (!Spend())
            return;
          Compare(members[i], members[j]);
        }
        for (const size_t other : others) {
          if (!Spend())
            return;
          Compare(members[i], other);
        }
      }
    }
    Report();
  }

 private:
  // False, after a word about it, when no work is left.
  bool Spend() {
    if (pairs_ > 0 && cells_ > 0) {
      --pairs_;
      return true;
    }
    Report();
    warn_(0, "",
          "the policy is too large to look for all endpoints that overlap; not all are named");
    return false;
  }

  bool SharePort(size_t a, size_t b) {
    cells_ -= std::min(cells_, ports_[a].size() + ports_[b].size());
    auto one = ports_[a].begin();
    auto other = ports_[b].begin();
    while (one != ports_[a].end() && other != ports_[b].end() && *one != *other)
      ++(*one < *other ? one : other);
    return one != ports_[a].end() && other != ports_[b].end();
  }

  void Compare(size_t route, size_t other) {
    const PolicyEndpoint& a = policy_.endpoints[route];
    const PolicyEndpoint& b = policy_.endpoints[other];
    if (!SharePort(route, other))
      return;
    const bool a_dotted = a.host.back() == '.';
    const bool b_named = !b.host.empty() && !IsWildcardHost(b.host);
    if (b_named && a_dotted != (b.host.back() == '.')) {
      findings_.emplace(route, other, true);
      return;
    }
    if (paths_[route].specificity() != paths_[other].specificity())
      return;
    const bool same_route = b.is_route && canonical_hosts_[route] == canonical_hosts_[other] &&
                            ports_[route] == ports_[other] &&
                            canonical_paths_[route] == canonical_paths_[other];
    if (!same_route && paths_[route].Overlaps(paths_[other], cells_))
      findings_.emplace(route, other, false);
  }

  void Report() const {
    for (const auto& [route, other, dotted] : findings_) {
      const std::string place =
          places_[other].where + " (line " + std::to_string(places_[other].line) + ")";
      if (dotted) {
        warn_(route, "host",
              "the same host with and without a trailing dot is declared at " + place +
                  ": requests to it are not attributed; keep one spelling");
      } else {
        warn_(route, "path",
              "overlaps " + place +
                  " with a path of equal rank: requests that match both are not "
                  "attributed; make one path longer");
      }
    }
  }

  const Policy& policy_;
  const std::vector<EndpointPlace>& places_;
  const EndpointWarning& warn_;
  std::vector<PathPattern> paths_;
  std::vector<std::string> canonical_paths_;
  std::vector<std::string> canonical_hosts_;
  std::vector<std::vector<uint16_t>> ports_;
  std::map<std::string, std::vector<size_t>> by_host_;  // ordered: the same words each time
  std::vector<std::pair<HostPattern, size_t>> wildcards_;
  std::vector<size_t> hostless_;
  std::set<std::tuple<size_t, size_t, bool>> findings_;  // in the order of the file
  size_t pairs_ = kOverlapPairs;
  size_t cells_ = kOverlapCells;
};

}  // namespace

void LintEndpoints(const Policy& policy, const std::vector<EndpointPlace>& places,
                   const EndpointWarning& warn) {
  for (size_t i = 0; i < policy.endpoints.size(); ++i) {
    const PolicyEndpoint& endpoint = policy.endpoints[i];
    if (IsWildcardHost(endpoint.host)) {
      if (const std::string what = WildcardComplaint(endpoint); !what.empty())
        warn(i, "host", what);
      continue;
    }
    if (!endpoint.is_route)
      continue;
    if (const std::string what = HostComplaint(endpoint.host); !what.empty())
      warn(i, "host", what);
    if (const std::string what = PathComplaint(endpoint.path); !what.empty())
      warn(i, "path", what);
  }
  OverlapSearch(policy, places, warn).Run();
}

}  // namespace routelens

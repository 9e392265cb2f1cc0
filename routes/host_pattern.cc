// SPDX-License-Identifier: Apache-2.0
#include "routes/host_pattern.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "routes/route.h"

namespace routelens {

std::string MatchableHost(std::string_view host) {
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  host = host.substr(0, host.find('%'));
  if (!host.empty() && host.back() == '.')
    host.remove_suffix(1);
  return CanonicalHost(host);
}

bool IsWildcardHost(std::string_view host) {
  return host.find('*') != std::string_view::npos;
}

std::optional<std::array<uint8_t, 16>> HostAddress(std::string_view host) {
  char text[INET6_ADDRSTRLEN];
  if (host.empty() || host.size() >= sizeof text || host.find('\0') != std::string_view::npos)
    return std::nullopt;
  std::memcpy(text, host.data(), host.size());
  text[host.size()] = '\0';
  std::array<uint8_t, 16> address{};
  if (inet_pton(AF_INET6, text, address.data()) == 1)
    return address;
  address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};
  if (inet_pton(AF_INET, text, address.data() + 12) == 1)
    return address;
  return std::nullopt;
}

HostPattern::HostPattern(std::string_view pattern) {
  for (size_t i = 0; i < pattern.size();) {
    if (pattern[i] != '*') {
      tokens_.push_back({Step::kLiteral, pattern[i]});
      ++i;
      continue;
    }
    const size_t begin = i;
    while (i < pattern.size() && pattern[i] == '*') ++i;
    if (i - begin > 1) {
      tokens_.push_back({Step::kAcrossLabels, 0});
      continue;
    }
    const bool whole_label =
        (begin == 0 || pattern[begin - 1] == '.') && (i == pattern.size() || pattern[i] == '.');
    if (whole_label)
      tokens_.push_back({Step::kOneInLabel, 0});
    tokens_.push_back({Step::kInLabel, 0});
  }
  shortest_ = static_cast<size_t>(std::count_if(tokens_.begin(), tokens_.end(), [](const Token& t) {
    return t.step == Step::kLiteral || t.step == Step::kOneInLabel;
  }));
  const size_t dot = pattern.find('.', pattern.rfind('*') + 1);
  if (dot != std::string_view::npos)
    literal_suffix_ = pattern.substr(dot + 1);
}

// Simulates the pattern over all positions at once, as PathPattern does.
bool HostPattern::Matches(std::string_view host) const {
  if (host.size() < shortest_ || host.size() > kMaxHostBytes)
    return false;
  std::array<bool, kMaxHostBytes + 1> at{};
  at[0] = true;
  for (const Token& token : tokens_) {
    switch (token.step) {
      case Step::kLiteral:
      case Step::kOneInLabel:
        for (size_t i = host.size(); i > 0; --i) {
          const bool fits =
              token.step == Step::kLiteral ? host[i - 1] == token.literal : host[i - 1] != '.';
          at[i] = at[i - 1] && fits;
        }
        at[0] = false;
        break;
      case Step::kInLabel:
        for (size_t i = 1; i <= host.size(); ++i)
          at[i] = at[i] || (at[i - 1] && host[i - 1] != '.');
        break;
      case Step::kAcrossLabels:
        for (size_t i = 1; i <= host.size(); ++i) at[i] = at[i] || at[i - 1];
        break;
    }
  }
  return at[host.size()];
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/tables/name_table.h"

#include <algorithm>
#include <utility>

namespace routelens {
namespace {

// Names of one process for one address that are kept; more than one already means "ambiguous".
constexpr size_t kMaxNamesPerAddress = 8;

bool ExtendsBy(std::string_view longer, std::string_view name) {
  return longer.size() > name.size() + 1 && longer.substr(0, name.size()) == name &&
         longer[name.size()] == '.';
}

}  // namespace

void NameTable::Add(const ProcessKey& process, std::string_view name,
                    std::span<const IpAddress> addresses, Duration ttl, NameSource source,
                    BootTime started, BootTime now) {
  if (name.empty() || ParseIpAddress(name))
    return;
  const BootTime expires = now + std::clamp(ttl, kShortestNameLife, kLongestNameLife);
  for (const IpAddress& address : addresses) {
    const Key key{process, address};
    Entries* entries = entries_.Touch(key);
    if (!entries)
      entries = &entries_.Insert(key, [this](const Key&, const Entries&) { evicted_++; });
    entries->erase(std::remove_if(entries->begin(), entries->end(),
                                  [now](const Entry& entry) { return entry.expires < now; }),
                   entries->end());
    auto same = std::find_if(entries->begin(), entries->end(),
                             [&](const Entry& e) { return e.name == name; });
    if (same == entries->end()) {
      if (entries->size() >= kMaxNamesPerAddress)
        continue;
      entries->push_back({std::string(name), expires, started, source});
      continue;
    }
    same->expires = std::max(same->expires, expires);
    same->lookup_start =
        same->lookup_start.known() ? std::min(same->lookup_start, started) : started;
    if (source == NameSource::kResolver)
      same->source = source;
  }
}

AddressName NameTable::Resolve(const ProcessKey& process, const IpAddress& address, BootTime now) {
  Entries* entries = entries_.Touch({process, address});
  if (!entries)
    return {};
  AddressName result;
  for (const Entry& entry : *entries) {
    if (entry.expires < now)
      continue;
    const bool is_search_name =
        entry.source == NameSource::kDns &&
        std::any_of(entries->begin(), entries->end(), [&](const Entry& other) {
          return other.source == NameSource::kResolver && other.expires >= now &&
                 ExtendsBy(entry.name, other.name);
        });
    if (is_search_name)
      continue;
    if (result.kind != AddressName::Kind::kNone)
      return {AddressName::Kind::kSeveral, {}};
    result = {AddressName::Kind::kOne, entry.name};
  }
  return result;
}

BootTime NameTable::TakeLookupStart(const ProcessKey& process, const IpAddress& address,
                                    std::string_view name, BootTime now) {
  Entries* entries = entries_.Find({process, address});
  if (!entries)
    return {};
  for (Entry& entry : *entries) {
    if (entry.name == name && entry.expires >= now)
      return std::exchange(entry.lookup_start, BootTime{});
  }
  return {};
}

}  // namespace routelens

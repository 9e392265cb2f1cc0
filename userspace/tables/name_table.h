// SPDX-License-Identifier: Apache-2.0
//
// Which names a process has resolved to an address, by DNS or by getaddrinfo, within one boundary.
// A name counts for the process that asked and for nobody else (rulings 15): not for its parent,
// its children or its siblings; threads are the same process. Entries last as long as the answer
// said, but at least 30 s and at most 1 h.
//
// Bounded: when full, the address that was asked about longest ago goes, and is counted.
// Not thread-safe; reads no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "userspace/model/address.h"
#include "userspace/model/ids.h"
#include "userspace/model/time.h"
#include "userspace/tables/bounded_table.h"
#include "userspace/tables/flow.h"

namespace routelens {

constexpr Duration kShortestNameLife = Seconds(30);
constexpr Duration kLongestNameLife = Seconds(3600);

enum class NameSource : uint8_t { kDns, kResolver };

class NameTable {
 public:
  explicit NameTable(size_t max_addresses) : entries_(max_addresses) {}

  // Notes that `process` got `addresses` for `name` (canonical: lower case, no trailing dot) in a
  // look-up that began at `started`. Names that are empty or IP literals are not names: ignored.
  void Add(const ProcessKey& process, std::string_view name, std::span<const IpAddress> addresses,
           Duration ttl, NameSource source, BootTime started, BootTime now);

  // The name for this address. A DNS name that only adds a search domain to a name that
  // getaddrinfo was given is that name.
  AddressName Resolve(const ProcessKey& process, const IpAddress& address, BootTime now);

  // The start of the look-up that gave this name, once: later callers get "unknown", because the
  // look-up belongs to the first connection made with it.
  BootTime TakeLookupStart(const ProcessKey& process, const IpAddress& address,
                           std::string_view name, BootTime now);

  // Addresses that had to make room.
  uint64_t evicted() const { return evicted_; }

  size_t size() const { return entries_.size(); }

 private:
  struct Key {
    ProcessKey process;
    IpAddress address;
    friend bool operator==(const Key&, const Key&) = default;

    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.process, key.address);
    }
  };

  struct Entry {
    std::string name;
    BootTime expires;
    BootTime lookup_start;  // unknown once taken
    NameSource source = NameSource::kDns;
  };

  using Entries = absl::InlinedVector<Entry, 1>;

  BoundedTable<Key, Entries> entries_;
  uint64_t evicted_ = 0;
};

}  // namespace routelens

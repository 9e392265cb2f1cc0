// SPDX-License-Identifier: Apache-2.0
//
// TLS sessions as the libraries tell of them, and their join to flows: by the 32 bytes of the
// ClientHello's random, which the library is seen to draw and the wire is seen to carry. Nothing
// else ever joins the two: no time, no thread, no file descriptor (design: evidence, Join).
//
// A session is a pointer within a process from one start to its end. Until it is joined its facts
// wait here; afterwards they go to the flow. Bounded, idlest first. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "userspace/model/events.h"
#include "userspace/model/ids.h"
#include "userspace/tables/bounded_table.h"
#include "userspace/tables/flow.h"

namespace routelens {

using HelloRandom = std::array<std::byte, 32>;

class LibrarySessions {
 public:
  explicit LibrarySessions(size_t max_sessions) : sessions_(max_sessions), randoms_(max_sessions) {}

  // The session begins (again) on this pointer: what was known of it is forgotten.
  void Start(const LibrarySession& session);
  void End(const LibrarySession& session);

  // The library has drawn this random. Returns the flow that carried it, if it was seen already.
  std::optional<FlowId> NoteRandom(const LibrarySession& session, const HelloRandom& random);

  // The wire has carried this random. Returns what the library has said so far, if it drew it.
  std::optional<LibraryFacts> NoteHello(FlowId flow, const HelloRandom& random);

  // Flow that the session is joined to, if any.
  std::optional<FlowId> FlowOf(const LibrarySession& session) const;

  // Facts of a session that is not joined yet; made if need be. nullptr if it is joined.
  LibraryFacts* Waiting(const LibrarySession& session);

  // Facts collected before the join, for the flow that NoteRandom named.
  LibraryFacts FactsOf(const LibrarySession& session) const;

  uint64_t evicted() const { return evicted_; }

  size_t size() const { return sessions_.size(); }

 private:
  struct Session {
    std::optional<FlowId> flow;
    LibraryFacts facts;
    HelloRandom random{};
    bool has_random = false;
  };

  // A random that one side has shown. Both at most.
  struct Sighting {
    std::optional<FlowId> flow;
    std::optional<LibrarySession> session;
  };

  Session& Get(const LibrarySession& session);
  Sighting& GetSighting(const HelloRandom& random);

  BoundedTable<LibrarySession, Session> sessions_;
  BoundedTable<HelloRandom, Sighting> randoms_;
  uint64_t evicted_ = 0;
};

}  // namespace routelens

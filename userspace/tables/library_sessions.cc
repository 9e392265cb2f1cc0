// SPDX-License-Identifier: Apache-2.0
#include "userspace/tables/library_sessions.h"

namespace routelens {

LibrarySessions::Session& LibrarySessions::Get(const LibrarySession& session) {
  if (Session* known = sessions_.Touch(session))
    return *known;
  return sessions_.Insert(session, [this](const LibrarySession&, const Session& old) {
    evicted_++;
    if (old.has_random)
      randoms_.Erase(old.random);
  });
}

LibrarySessions::Sighting& LibrarySessions::GetSighting(const HelloRandom& random) {
  if (Sighting* known = randoms_.Touch(random))
    return *known;
  // Sightings of the wire alone (programs whose library is not watched) push each other out: that
  // is no loss of anything that could still be joined.
  return randoms_.Insert(random, [](const HelloRandom&, const Sighting&) {});
}

void LibrarySessions::Start(const LibrarySession& session) {
  End(session);
  Get(session);
}

void LibrarySessions::End(const LibrarySession& session) {
  const Session* known = sessions_.Find(session);
  if (!known)
    return;
  if (known->has_random)
    randoms_.Erase(known->random);
  sessions_.Erase(session);
}

std::optional<FlowId> LibrarySessions::NoteRandom(const LibrarySession& session,
                                                  const HelloRandom& random) {
  Session& known = Get(session);
  if (known.has_random && known.random != random) {
    randoms_.Erase(known.random);
    known.flow.reset();
  }
  known.random = random;
  known.has_random = true;
  Sighting& sighting = GetSighting(random);
  if (sighting.session && *sighting.session != session)
    return std::nullopt;  // no two sessions draw the same: one of the two is not what it seems
  sighting.session = session;
  known.flow = sighting.flow;
  return known.flow;
}

std::optional<LibraryFacts> LibrarySessions::NoteHello(FlowId flow, const HelloRandom& random) {
  Sighting& sighting = GetSighting(random);
  if (sighting.flow && *sighting.flow != flow)
    return std::nullopt;
  sighting.flow = flow;
  if (!sighting.session)
    return std::nullopt;
  Session* session = sessions_.Touch(*sighting.session);
  if (!session)
    return std::nullopt;
  session->flow = flow;
  return session->facts;
}

std::optional<FlowId> LibrarySessions::FlowOf(const LibrarySession& session) const {
  const Session* known = sessions_.Find(session);
  return known ? known->flow : std::nullopt;
}

LibraryFacts* LibrarySessions::Waiting(const LibrarySession& session) {
  Session& known = Get(session);
  return known.flow ? nullptr : &known.facts;
}

LibraryFacts LibrarySessions::FactsOf(const LibrarySession& session) const {
  const Session* known = sessions_.Find(session);
  return known ? known->facts : LibraryFacts{};
}

}  // namespace routelens

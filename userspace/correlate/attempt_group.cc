// SPDX-License-Identifier: Apache-2.0
#include "userspace/correlate/attempt_group.h"

#include <algorithm>
#include <utility>

namespace routelens {
namespace {

// Tries of one process at one name that are under way at once and may still be joined. One that
// comes on top of so many stays by itself: it is a flood.
constexpr size_t kJoinableAtOnce = 64;

}  // namespace

AttemptGroups::Key AttemptGroups::KeyOf(const Flow& flow) {
  Key key{flow.boundary, flow.owner, flow.remote.port, {}, {}};
  if (flow.address_name.kind == AddressName::Kind::kOne)
    key.name = flow.address_name.name;
  else
    key.address = flow.remote.address;
  return key;
}

bool AttemptGroups::AllEnded(const Group& group) {
  return std::all_of(group.attempts.begin(), group.attempts.end(),
                     [](const Attempt& attempt) { return attempt.ended.known(); });
}

bool AttemptGroups::CanJoin(const Group& group, const Flow& flow, BootTime now) const {
  if (group.won)
    return false;
  const BootTime since = std::max(group.last_start, group.last_end);
  if (now - since > (AllEnded(group) ? kAttemptWindow : kAttemptWindowWithSlack))
    return false;
  return std::none_of(group.attempts.begin(), group.attempts.end(),
                      [&](const Attempt& attempt) { return attempt.remote == flow.remote; });
}

// The oldest first: tries side by side go on to their next address in the order in which they
// began.
AttemptGroups::Group* AttemptGroups::FindToJoin(const Key& key, const Flow& flow, BootTime now,
                                                uint64_t* id) {
  auto same_key = by_key_.find(key);
  if (same_key == by_key_.end())
    return nullptr;
  for (const uint64_t candidate : same_key->second) {
    Group* group = groups_.Find(candidate);
    if (!group || !CanJoin(*group, flow, now))
      continue;
    *id = candidate;
    return group;
  }
  return nullptr;
}

uint64_t AttemptGroups::Join(const Flow& flow, BootTime now) {
  const Key key = KeyOf(flow);
  uint64_t id = 0;
  Group* group = FindToJoin(key, flow, now, &id);
  if (!group) {
    if (groups_.size() >= groups_.capacity()) {
      Erase(*groups_.idlest());
      evicted_++;
    }
    id = ++last_id_;
    group = &groups_.Insert(id, [](uint64_t, const Group&) {});
    group->key = key;
    group->role = flow.role;
    group->name = flow.address_name;
    group->start = flow.exchange_start;
    auto& same_key = by_key_[key];
    if (same_key.size() < kJoinableAtOnce)
      same_key.push_back(id);
  }
  group->last_start = now;
  Attempt attempt;
  attempt.flow = flow.id;
  attempt.remote = flow.remote;
  group->attempts.push_back(std::move(attempt));
  by_flow_[flow.id] = id;
  return id;
}

bool AttemptGroups::Won(uint64_t id, FlowId flow) {
  Group* group = groups_.Find(id);
  if (!group)
    return true;
  const bool first = !group->won;
  group->won = true;
  for (Attempt& attempt : group->attempts) {
    if (attempt.flow == flow)
      attempt.ended = group->last_start;
  }
  if (AllEnded(*group))
    Erase(id);
  return first;
}

void AttemptGroups::Ended(uint64_t id, FlowId flow, const ExchangeEvidence& evidence,
                          BootTime now) {
  Group* group = groups_.Find(id);
  if (!group)
    return;
  for (Attempt& attempt : group->attempts) {
    if (attempt.flow == flow && !attempt.ended.known()) {
      attempt.ended = now;
      attempt.evidence = evidence;
    }
  }
  group->last_end = now;
  if (!AllEnded(*group))
    return;
  if (group->won) {
    Erase(id);
    return;
  }
  timers_.Set(now + kAttemptWindow, TimerKind::kAttemptGroup, id);
}

void AttemptGroups::NoteError(FlowId flow, int error) {
  auto found = by_flow_.find(flow);
  if (found == by_flow_.end())
    return;
  Group* group = groups_.Find(found->second);
  if (!group)
    return;
  for (Attempt& attempt : group->attempts) {
    ConnectEvidence& connect = attempt.evidence.connect;
    if (attempt.flow == flow && attempt.ended.known() && connect.failed && connect.error == 0)
      connect.error = error;
  }
}

void AttemptGroups::Forget(uint64_t id) {
  if (groups_.Find(id))
    Erase(id);
}

FailedGroup AttemptGroups::Summarise(const Group& group) const {
  FailedGroup failed{.boundary = group.key.boundary,
                     .role = group.role,
                     .process = group.key.process,
                     .name = group.name,
                     .remote = {},
                     .start = group.start,
                     .end = group.last_end,
                     .evidence = {}};
  const Attempt* speaker = nullptr;
  Classification said;
  for (const Attempt& attempt : group.attempts) {
    const Classification heard = Classify(attempt.evidence);
    // Of equals the last: a client reports the failure that ended its try.
    if (!speaker || Prevailing(heard, said) == heard) {
      speaker = &attempt;
      said = heard;
    }
  }
  if (speaker) {
    failed.remote = speaker->remote;
    failed.evidence = speaker->evidence;
  }
  return failed;
}

std::optional<FailedGroup> AttemptGroups::TakeFailed(uint64_t id, BootTime now) {
  Group* group = groups_.Find(id);
  if (!group || group->won || !AllEnded(*group) || now - group->last_end < kAttemptWindow)
    return std::nullopt;
  FailedGroup failed = Summarise(*group);
  Erase(id);
  return failed;
}

std::vector<FailedGroup> AttemptGroups::TakeAllFailed() {
  std::vector<uint64_t> ids;
  std::vector<FailedGroup> failed;
  groups_.ForEach([&](uint64_t id, const Group& group) {
    if (group.won || !AllEnded(group))
      return;
    ids.push_back(id);
    failed.push_back(Summarise(group));
  });
  for (const uint64_t id : ids) Erase(id);
  return failed;
}

size_t AttemptGroups::DropBoundary(BoundaryIndex boundary) {
  std::vector<uint64_t> ids;
  size_t open = 0;
  groups_.ForEach([&](uint64_t id, const Group& group) {
    if (group.key.boundary != boundary)
      return;
    ids.push_back(id);
    // Attempts that are still connecting are counted with their flows.
    if (!group.won && AllEnded(group))
      open++;
  });
  for (const uint64_t id : ids) Erase(id);
  return open;
}

void AttemptGroups::Erase(uint64_t id) {
  const Group* group = groups_.Find(id);
  if (!group)
    return;
  for (const Attempt& attempt : group->attempts) {
    auto found = by_flow_.find(attempt.flow);
    if (found != by_flow_.end() && found->second == id)
      by_flow_.erase(found);
  }
  ForgetKey(id, group->key);
  groups_.Erase(id);
}

void AttemptGroups::ForgetKey(uint64_t id, const Key& key) {
  auto same_key = by_key_.find(key);
  if (same_key == by_key_.end())
    return;
  auto& ids = same_key->second;
  ids.erase(std::remove(ids.begin(), ids.end(), id), ids.end());
  if (ids.empty())
    by_key_.erase(same_key);
}

}  // namespace routelens

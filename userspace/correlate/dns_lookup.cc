// SPDX-License-Identifier: Apache-2.0
#include "userspace/correlate/dns_lookup.h"

#include <algorithm>
#include <utility>

#include "userspace/correlate/attempt_group.h"

namespace routelens {
namespace {

// What one look-up may ask: two families, a search list, a few servers.
constexpr size_t kMaxQuestions = 32;
constexpr size_t kMaxTransmits = 8;

// getaddrinfo that fails faster than this has asked nobody, or only a file.
constexpr Duration kAskedNobody = {200'000};

// Life of a name that came from getaddrinfo alone, which tells no TTL.
constexpr Duration kResolverNameLife = Seconds(300);

// netdb.h of glibc; the other codes tell of the caller's mistakes or of memory.
constexpr int kEaiNoName = -2;
constexpr int kEaiAgain = -3;
constexpr int kEaiFail = -4;
constexpr int kEaiNoData = -5;
constexpr int kEaiAddressFamily = -9;

bool IsResolverFailure(int result) {
  switch (result) {
    case kEaiNoName:
    case kEaiAgain:
    case kEaiFail:
    case kEaiNoData:
    case kEaiAddressFamily:
      return true;
    default:
      return false;
  }
}

}  // namespace

LookupState* DnsLookups::Find(const ProcessKey& process, std::string_view name, BootTime now,
                              uint64_t* id) {
  auto own = by_process_.find(process);
  if (own == by_process_.end())
    return nullptr;
  for (const uint64_t candidate : own->second) {
    LookupState* lookup = lookups_.Find(candidate);
    if (!lookup || lookup->reported || lookup->deadline < now)
      continue;
    if (AsksFor(*lookup, name)) {
      *id = candidate;
      return lookup;
    }
  }
  return nullptr;
}

LookupState& DnsLookups::Open(const ProcessKey& process, BoundaryIndex boundary, Role role,
                              BootTime now, uint64_t* id) {
  if (lookups_.size() >= lookups_.capacity()) {
    Erase(*lookups_.idlest());
    evicted_++;
  }
  *id = ++last_id_;
  LookupState& lookup = lookups_.Insert(*id, [](uint64_t, const LookupState&) {});
  lookup.boundary = boundary;
  lookup.role = role;
  lookup.process = process;
  lookup.start = now;
  lookup.last = now;
  by_process_[process].push_back(*id);
  return lookup;
}

bool DnsLookups::AskedByAnother(const DnsContext& context, std::string_view name) {
  auto same_name = by_name_.find(name);
  if (same_name == by_name_.end())
    return false;
  for (const uint64_t id : same_name->second) {
    const LookupState* other = lookups_.Find(id);
    if (!other || other->boundary != context.boundary || other->process == context.process ||
        other->done || other->reported)
      continue;
    const bool waits =
        std::any_of(other->questions.begin(), other->questions.end(), [&](const AskedQuestion& q) {
          return q.state == QuestionState::kPending && q.name == name;
        });
    if (waits)
      return true;
  }
  return false;
}

void DnsLookups::OnMessage(const DnsMessage& message, bool from_server, const DnsContext& context,
                           NameTable& names, BootTime now) {
  if (message.is_response != from_server || message.opcode != 0 || message.questions.empty())
    return;
  const uint16_t type = message.questions.front().type;
  if (type != kDnsTypeA && type != kDnsTypeAaaa)
    return;
  if (from_server)
    OnAnswer(message, context, names, now);
  else
    OnQuestion(message, context, now);
}

void DnsLookups::OnQuestion(const DnsMessage& message, const DnsContext& context, BootTime now) {
  const DnsQuestion& asked = message.questions.front();
  uint64_t id = 0;
  LookupState* lookup = Find(context.process, asked.name, now, &id);
  if (!lookup) {
    const bool passes_on = AskedByAnother(context, asked.name);
    lookup = &Open(context.process, context.boundary, context.role, now, &id);
    lookup->context_only = passes_on || context.after_loss;
  }
  lookup->last = now;
  AskedQuestion* question = FindQuestion(*lookup, asked.name, asked.type);
  if (!question) {
    if (lookup->questions.size() >= kMaxQuestions)
      return;
    question = &lookup->questions.emplace_back();
    question->name = asked.name;
    question->type = asked.type;
    question->first_asked = now;
    auto& askers = by_name_[asked.name];
    if (std::find(askers.begin(), askers.end(), id) == askers.end())
      askers.push_back(id);
  } else if (question->state == QuestionState::kAddresses) {
    return;
  }
  question->state = QuestionState::kPending;
  question->asked = now;
  if (question->transmits.size() >= kMaxTransmits)
    question->transmits.erase(question->transmits.begin());
  question->transmits.push_back({context.flow, message.id, false});
  Settle(id, *lookup, now);
}

void DnsLookups::OnAnswer(const DnsMessage& message, const DnsContext& context, NameTable& names,
                          BootTime now) {
  const DnsQuestion& asked = message.questions.front();
  uint64_t id = 0;
  LookupState* lookup = Find(context.process, asked.name, now, &id);
  if (!lookup)
    return;  // late, or to a question that was not seen: an answer alone proves nothing
  AskedQuestion* question = FindQuestion(*lookup, asked.name, asked.type);
  if (!question)
    return;
  const bool expected = std::any_of(
      question->transmits.begin(), question->transmits.end(),
      [&](const DnsTransmit& t) { return t.flow == context.flow && t.id == message.id; });
  if (!expected || question->state == QuestionState::kAddresses)
    return;
  lookup->last = now;
  const DnsAnswer answer = AnswerOf(message);
  if (message.rcode == kDnsNoError && !answer.addresses.empty()) {
    names.Add(context.process, asked.name, answer.addresses, Seconds(answer.ttl_s),
              NameSource::kDns, lookup->start, now);
    // With TC too: the asker may be content with what it got.
    question->state = QuestionState::kAddresses;
    lookup->done = true;
  } else if (message.truncated) {
    return;  // to be asked again over TCP: still pending
  } else if (message.incomplete) {
    question->state = QuestionState::kUnreadable;
  } else if (message.rcode == kDnsNoError) {
    question->state = QuestionState::kEmpty;
  } else if (message.rcode == kDnsNxDomain) {
    question->state = QuestionState::kNxDomain;
  } else if (message.rcode == kDnsServFail) {
    question->state = QuestionState::kServFail;
  } else if (message.rcode == kDnsRefused) {
    question->state = QuestionState::kRefused;
  } else {
    question->state = QuestionState::kOtherError;
  }
  question->answered = now;
  Settle(id, *lookup, now);
}

void DnsLookups::OnResolver(const ResolverResult& result, BoundaryIndex boundary, Role role,
                            NameTable& names, BootTime now) {
  const std::string name = CanonicalDnsName(result.name);
  if (name.empty() || result.name.size() >= 255 || ParseIpAddress(name))
    return;
  const ProcessKey& process = result.owner.process;
  if (result.result == 0)
    names.Add(process, name, result.addresses, kResolverNameLife, NameSource::kResolver,
              result.started, now);
  else if (!IsResolverFailure(result.result))
    return;

  // All look-ups of this process for that name were this call's; the first one speaks.
  uint64_t first_id = 0;
  LookupState* first = nullptr;
  bool swallowed = false;
  auto own = by_process_.find(process);
  if (own != by_process_.end()) {
    for (const uint64_t candidate : own->second) {
      LookupState* lookup = lookups_.Find(candidate);
      if (!lookup)
        continue;
      const bool same = IsSameSearch(lookup->resolver_name, name) ||
                        std::any_of(lookup->questions.begin(), lookup->questions.end(),
                                    [&](const AskedQuestion& q) {
                                      return q.name == name || (q.name.size() > name.size() &&
                                                                IsSameSearch(q.name, name));
                                    });
      if (!same || lookup->last < result.started)
        continue;
      if (lookup->reported) {
        swallowed = true;
        continue;
      }
      lookup->last = now;
      lookup->given_up = true;
      if (result.result == 0 || first) {
        lookup->done = true;
        Settle(candidate, *lookup, now);
        continue;
      }
      first = lookup;
      first_id = candidate;
    }
  }
  if (result.result == 0 || (swallowed && !first))
    return;
  if (!first) {
    first = &Open(process, boundary, role, result.started, &first_id);
    first->last = now;
    first->given_up = true;
    first->resolver_was_quick = now - result.started < kAskedNobody;
  }
  first->resolver_name = name;
  first->resolver_failed = true;
  Settle(first_id, *first, now);
}

void DnsLookups::OnSocketClosed(const ProcessKey& process, FlowId flow, BootTime now) {
  auto own = by_process_.find(process);
  if (own == by_process_.end())
    return;
  for (const uint64_t id : own->second) {
    LookupState* lookup = lookups_.Find(id);
    if (!lookup || lookup->done || lookup->reported)
      continue;
    bool touched = false;
    bool open = false;
    for (AskedQuestion& question : lookup->questions) {
      for (DnsTransmit& transmit : question.transmits) {
        if (transmit.flow == flow && !transmit.closed) {
          transmit.closed = true;
          touched = true;
        }
        open = open || (question.state == QuestionState::kPending && !transmit.closed);
      }
    }
    if (!touched || open)
      continue;
    if (!HasPending(*lookup))
      continue;
    lookup->given_up = true;
    lookup->last = now;
    Settle(id, *lookup, now);
  }
}

void DnsLookups::OnProcessExit(const ProcessKey& process, BootTime now) {
  auto own = by_process_.find(process);
  if (own == by_process_.end())
    return;
  for (const uint64_t id : own->second) {
    LookupState* lookup = lookups_.Find(id);
    if (!lookup || lookup->done || lookup->reported || lookup->given_up)
      continue;
    lookup->given_up = true;
    lookup->last = now;
    Settle(id, *lookup, now);
  }
}

void DnsLookups::Settle(uint64_t id, LookupState& lookup, BootTime now) {
  const bool pending = HasPending(lookup);
  // A new question of an asker that seemed to have given up.
  if (pending && lookup.given_up && !lookup.resolver_failed && !lookup.done) {
    for (const AskedQuestion& question : lookup.questions) {
      for (const DnsTransmit& transmit : question.transmits) {
        if (question.state == QuestionState::kPending && !transmit.closed && question.asked == now)
          lookup.given_up = false;
      }
    }
  }
  const bool ends_soon = lookup.done || lookup.given_up || !pending;
  lookup.deadline = now + (ends_soon ? kAttemptWindow : kDnsGiveUp);
  if (lookup.armed.known() && lookup.armed <= lookup.deadline)
    return;
  lookup.armed = lookup.deadline;
  timers_.Set(lookup.deadline, TimerKind::kLookup, id);
}

std::optional<FailedLookup> DnsLookups::Take(uint64_t id, BootTime now) {
  LookupState* lookup = lookups_.Find(id);
  if (!lookup)
    return std::nullopt;
  if (lookup->deadline > now) {
    lookup->armed = lookup->deadline;
    timers_.Set(lookup->deadline, TimerKind::kLookup, id);
    return std::nullopt;
  }
  if (lookup->done || lookup->reported || lookup->context_only) {
    Erase(id);
    return std::nullopt;
  }
  FailedLookup failed = ReportOf(*lookup, now);
  // Kept for a while, so that getaddrinfo's word about the same is not taken for another failure.
  lookup->reported = true;
  lookup->deadline = now + kDnsGiveUp;
  lookup->armed = lookup->deadline;
  timers_.Set(lookup->deadline, TimerKind::kLookup, id);
  return failed;
}

std::vector<FailedLookup> DnsLookups::TakeAllFailed(BootTime now) {
  std::vector<FailedLookup> failed;
  lookups_.ForEach([&](uint64_t, LookupState& lookup) {
    if (lookup.done || lookup.reported || lookup.context_only ||
        (HasPending(lookup) && !lookup.given_up)) {
      return;
    }
    failed.push_back(ReportOf(lookup, now));
    lookup.reported = true;
  });
  return failed;
}

size_t DnsLookups::DropBoundary(BoundaryIndex boundary) {
  std::vector<uint64_t> ids;
  size_t open = 0;
  lookups_.ForEach([&](uint64_t id, const LookupState& lookup) {
    if (lookup.boundary != boundary)
      return;
    ids.push_back(id);
    if (!lookup.done && !lookup.reported)
      open++;
  });
  for (const uint64_t id : ids) Erase(id);
  return open;
}

void DnsLookups::Erase(uint64_t id) {
  const LookupState* lookup = lookups_.Find(id);
  if (!lookup)
    return;
  auto own = by_process_.find(lookup->process);
  if (own != by_process_.end()) {
    auto& ids = own->second;
    ids.erase(std::remove(ids.begin(), ids.end(), id), ids.end());
    if (ids.empty())
      by_process_.erase(own);
  }
  for (const AskedQuestion& question : lookup->questions) {
    auto same_name = by_name_.find(question.name);
    if (same_name == by_name_.end())
      continue;
    auto& askers = same_name->second;
    askers.erase(std::remove(askers.begin(), askers.end(), id), askers.end());
    if (askers.empty())
      by_name_.erase(same_name);
  }
  lookups_.Erase(id);
}

}  // namespace routelens

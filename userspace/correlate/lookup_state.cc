// SPDX-License-Identifier: Apache-2.0
#include "userspace/correlate/lookup_state.h"

#include <algorithm>

#include "userspace/classify/thresholds.h"

namespace routelens {
namespace {

LookupEvidence EvidenceOf(const LookupState& lookup, BootTime now) {
  LookupEvidence evidence;
  evidence.resolver_failed = lookup.resolver_failed;
  evidence.resolver_may_not_have_asked = lookup.resolver_was_quick && lookup.questions.empty();
  const AskedQuestion* unanswered = nullptr;
  const AskedQuestion* refused = nullptr;  // the last that was answered with an error
  bool empty = false;
  bool unreadable = false;
  for (const AskedQuestion& question : lookup.questions) {
    switch (question.state) {
      case QuestionState::kPending:
        if (!unanswered || question.first_asked < unanswered->first_asked)
          unanswered = &question;
        break;
      case QuestionState::kEmpty:
        empty = true;
        break;
      case QuestionState::kUnreadable:
      case QuestionState::kAddresses:
        unreadable = true;
        break;
      default:
        if (!refused || question.answered >= refused->answered)
          refused = &question;
        break;
    }
  }
  if (unanswered && (!refused || refused->name != unanswered->name)) {
    const BootTime until = lookup.given_up ? lookup.last : now;
    const bool in_earnest =
        lookup.resolver_failed || until - unanswered->first_asked >= kGiveUpAfter;
    evidence.wire = in_earnest ? LookupResult::kNoAnswer : LookupResult::kCancelled;
  } else if (unreadable) {
    evidence.wire = LookupResult::kUnreadable;
  } else if (refused) {
    evidence.wire = refused->state == QuestionState::kNxDomain   ? LookupResult::kNxDomain
                    : refused->state == QuestionState::kServFail ? LookupResult::kServFail
                    : refused->state == QuestionState::kRefused  ? LookupResult::kRefused
                                                                 : LookupResult::kOtherError;
  } else if (empty) {
    evidence.wire = LookupResult::kEmpty;
  }
  return evidence;
}

}  // namespace

bool IsSameSearch(std::string_view a, std::string_view b) {
  const std::string_view shorter = a.size() < b.size() ? a : b;
  const std::string_view longer = a.size() < b.size() ? b : a;
  if (shorter.empty() || longer.substr(0, shorter.size()) != shorter)
    return false;
  return longer.size() == shorter.size() || longer[shorter.size()] == '.';
}

bool AsksFor(const LookupState& lookup, std::string_view name) {
  return IsSameSearch(lookup.resolver_name, name) ||
         std::any_of(
             lookup.questions.begin(), lookup.questions.end(),
             [name](const AskedQuestion& question) { return IsSameSearch(question.name, name); });
}

bool HasPending(const LookupState& lookup) {
  return std::any_of(lookup.questions.begin(), lookup.questions.end(),
                     [](const AskedQuestion& q) { return q.state == QuestionState::kPending; });
}

AskedQuestion* FindQuestion(LookupState& lookup, std::string_view name, uint16_t type) {
  auto found =
      std::find_if(lookup.questions.begin(), lookup.questions.end(),
                   [&](const AskedQuestion& q) { return q.name == name && q.type == type; });
  return found == lookup.questions.end() ? nullptr : &*found;
}

FailedLookup ReportOf(const LookupState& lookup, BootTime now) {
  FailedLookup failed{.boundary = lookup.boundary,
                      .role = lookup.role,
                      .process = lookup.process,
                      .name = lookup.resolver_name,
                      .start = lookup.start,
                      .end = lookup.last,
                      .evidence = EvidenceOf(lookup, now)};
  if (failed.name.empty()) {
    for (const AskedQuestion& question : lookup.questions) {
      if (failed.name.empty() || question.name.size() < failed.name.size())
        failed.name = question.name;
    }
  }
  if (failed.evidence.wire == LookupResult::kNoAnswer && !lookup.given_up)
    failed.end = now;
  return failed;
}

}  // namespace routelens

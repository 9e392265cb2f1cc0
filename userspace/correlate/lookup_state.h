// SPDX-License-Identifier: Apache-2.0
//
// One look-up of a name while it runs, and what it says when it has failed. Plain values and pure
// functions; how a look-up gets from one state to the next is in dns_lookup.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "userspace/classify/evidence.h"
#include "userspace/model/events.h"
#include "userspace/model/ids.h"
#include "userspace/model/time.h"

namespace routelens {

// What has become of one question.
enum class QuestionState : uint8_t {
  kPending,
  kAddresses,
  kEmpty,
  kNxDomain,
  kServFail,
  kRefused,
  kOtherError,
  kUnreadable,
};

// One (re)transmission: an answer counts only for one of these.
struct DnsTransmit {
  FlowId flow{};
  uint16_t id = 0;      // of the DNS header
  bool closed = false;  // the socket that sent it is gone
};

struct AskedQuestion {
  std::string name;
  uint16_t type = 0;  // A or AAAA
  QuestionState state = QuestionState::kPending;
  BootTime first_asked;
  BootTime asked;  // the last time
  BootTime answered;
  absl::InlinedVector<DnsTransmit, 1> transmits;
};

struct LookupState {
  BoundaryIndex boundary{};
  Role role = Role::kWorkload;
  ProcessKey process;
  BootTime start;
  BootTime last;  // last thing that happened
  BootTime deadline;
  BootTime armed;             // the earliest timer that is set
  std::string resolver_name;  // as getaddrinfo was asked; "" until it has said so
  bool done = false;          // nothing is to be said of it
  bool reported = false;
  bool context_only = false;  // passed on for another, or known in part only
  bool given_up = false;      // by its asker
  bool resolver_failed = false;
  bool resolver_was_quick = false;  // too quick to have asked anybody
  absl::InlinedVector<AskedQuestion, 2> questions;
};

// A look-up that gave no address.
struct FailedLookup {
  BoundaryIndex boundary{};
  Role role = Role::kWorkload;
  ProcessKey process;
  std::string name;  // as the program asked, where that is known; else the shortest name asked
  BootTime start;
  BootTime end;
  LookupEvidence evidence;
};

// "api" and "api.corp.example" may be one search list; "api" and "apis" are not.
bool IsSameSearch(std::string_view a, std::string_view b);

// True if the look-up asks for this name, or for one of the same search list.
bool AsksFor(const LookupState& lookup, std::string_view name);

// True while a question waits for its answer.
bool HasPending(const LookupState& lookup);

// The question for exactly this name and type, or nullptr.
AskedQuestion* FindQuestion(LookupState& lookup, std::string_view name, uint16_t type);

// What the look-up says if it ends now, or ended when its asker gave up.
FailedLookup ReportOf(const LookupState& lookup, BootTime now);

}  // namespace routelens

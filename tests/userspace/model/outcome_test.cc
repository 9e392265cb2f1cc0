// SPDX-License-Identifier: Apache-2.0
//
// The names are public. A name that changes here breaks whoever reads the JSON.
#include "userspace/model/outcome.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace routelens {
namespace {

TEST(Outcome, HasThePublicNameAndStatus) {
  const std::tuple<Outcome, const char*, const char*> table[] = {
      {Outcome::kNoObservedExchange, "NoObservedExchange", "Unknown"},
      {Outcome::kPolicyDenied, "PolicyDenied", "False"},
      {Outcome::kCredentialUnavailable, "CredentialUnavailable", "False"},
      {Outcome::kTlsFailed, "TlsFailed", "False"},
      {Outcome::kTransportFailed, "TransportFailed", "False"},
      {Outcome::kUpstreamRejected, "UpstreamRejected", "False"},
      {Outcome::kReachable, "Reachable", "True"},
  };
  EXPECT_EQ(std::size(table), static_cast<size_t>(Outcome::kReachable) + 1);
  for (const auto& [outcome, name, status] : table) {
    EXPECT_EQ(ToString(outcome), name);
    EXPECT_EQ(StatusOf(outcome), status);
  }
}

TEST(Outcome, ExplainsItselfInOneFixedSentence) {
  constexpr std::string_view kEnd = "this is sandbox-level prior evidence.";
  std::set<std::string_view> seen;
  for (int i = 0; i <= static_cast<int>(Outcome::kReachable); ++i) {
    const std::string_view message = MessageOf(static_cast<Outcome>(i));
    ASSERT_GT(message.size(), kEnd.size());
    EXPECT_EQ(message.substr(message.size() - kEnd.size()), kEnd);
    EXPECT_EQ(std::count(message.begin(), message.end(), '.'), 1) << message;
    EXPECT_EQ(message.find("MCP"), std::string_view::npos) << message;
    EXPECT_TRUE(seen.insert(message).second) << message;
  }
  for (const Outcome answered : {Outcome::kReachable, Outcome::kUpstreamRejected})
    EXPECT_NE(MessageOf(answered).find("HTTP response received"), std::string_view::npos);
}

TEST(Outcome, ConfidenceHasThePublicNames) {
  EXPECT_EQ(ToString(Confidence::kNone), "none");
  EXPECT_EQ(ToString(Confidence::kWeak), "weak");
  EXPECT_EQ(ToString(Confidence::kInferred), "inferred");
  EXPECT_EQ(ToString(Confidence::kObserved), "observed");
}

TEST(Outcome, HintsAreShortSentencesWithoutAFinalDot) {
  EXPECT_EQ(SentenceOf(Hint::kNone), "");
  std::set<std::string_view> seen;
  for (int i = 1; i <= static_cast<int>(Hint::kClientClosedHandshake); ++i) {
    const std::string_view sentence = SentenceOf(static_cast<Hint>(i));
    ASSERT_FALSE(sentence.empty()) << "hint " << i;
    EXPECT_NE(sentence.back(), '.') << sentence;
    EXPECT_LE(sentence.size(), 100u) << sentence;
    EXPECT_TRUE(seen.insert(sentence).second) << sentence;
  }
}

TEST(Outcome, HintsSayWhatTheDesignWants) {
  const std::pair<Hint, const char*> words[] = {
      {Hint::kStatusNotVisible, "status not visible"},
      {Hint::kBlockedLocally,
       "blocked before leaving the sandbox; the client may be ignoring its proxy"},
      {Hint::kNoSseStream, "405 to GET"},
      {Hint::kSessionDeleteRefused, "405 to DELETE"},
      {Hint::kSessionExpired, "with a session"},
      {Hint::kCredentialMayHaveExpired, "401 from upstream"},
      {Hint::kDnsFailedInSandbox, "DNS failed inside the sandbox"},
      {Hint::kHandshakeReset, "handshake reset by the network"},
      {Hint::kCoverageIncomplete, "sensor coverage incomplete"},
  };
  for (const auto& [hint, word] : words)
    EXPECT_NE(SentenceOf(hint).find(word), std::string_view::npos) << SentenceOf(hint);
}

template <typename E>
void ExpectDistinctSnakeCase(E last) {
  std::set<std::string_view> seen;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const std::string_view name = ToString(static_cast<E>(i));
    ASSERT_FALSE(name.empty());
    for (const char c : name) EXPECT_TRUE((c >= 'a' && c <= 'z') || c == '_') << name;
    EXPECT_TRUE(seen.insert(name).second) << name;
  }
}

TEST(Outcome, ReasonsAndRulesHaveDistinctNames) {
  ExpectDistinctSnakeCase(UnattributedReason::kPortMismatch);
  ExpectDistinctSnakeCase(Rule::kHappyEyeballsLoser);
  EXPECT_EQ(ToString(UnattributedReason::kNameUnknown), "name_unknown");
  EXPECT_EQ(ToString(Rule::kTlsVerifiedThenAbandoned), "tls_verified_then_abandoned");
  EXPECT_EQ(ToString(Rule::kNone), "none");
}

}  // namespace
}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "tests/bpf_pure/conversation_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace routelens {
namespace {

using ::testing::ElementsAreArray;

// All parts whole but for `part`, which is cut after `cut` bytes.
ConversationDriver FeedCut(const std::vector<Said>& said, size_t part, size_t cut) {
  ConversationDriver driver;
  for (size_t i = 0; i < said.size(); ++i) {
    if (i != part) {
      driver.Feed(said[i]);
      continue;
    }
    driver.Feed({said[i].direction, said[i].bytes.substr(0, cut)});
    driver.Feed({said[i].direction, said[i].bytes.substr(cut)});
  }
  return driver;
}

}  // namespace

void ExpectConversation(const ConversationCase& test) {
  SCOPED_TRACE(test.name);
  ConversationDriver whole;
  ConversationDriver single;
  for (const Said& said : test.said) {
    whole.Feed(said);
    single.FeedInPieces(said, 1);
  }
  EXPECT_THAT(whole.lines(), ElementsAreArray(test.lines));
  EXPECT_EQ(whole.Flags(), test.flags);
  EXPECT_THAT(single.lines(), ElementsAreArray(test.lines)) << "byte by byte";
  EXPECT_EQ(single.Flags(), test.flags) << "byte by byte";
  EXPECT_EQ(single.taken(RL_EGRESS), whole.taken(RL_EGRESS));
  EXPECT_EQ(single.taken(RL_INGRESS), whole.taken(RL_INGRESS));
  for (size_t part = 0; part < test.said.size(); ++part) {
    for (size_t cut = 1; cut < test.said[part].bytes.size(); ++cut) {
      const ConversationDriver driver = FeedCut(test.said, part, cut);
      ASSERT_THAT(driver.lines(), ElementsAreArray(test.lines)) << "cut " << part << "@" << cut;
      ASSERT_EQ(driver.Flags(), test.flags) << "cut " << part << "@" << cut;
      ASSERT_EQ(driver.taken(RL_EGRESS), whole.taken(RL_EGRESS));
      ASSERT_EQ(driver.taken(RL_INGRESS), whole.taken(RL_INGRESS));
    }
  }
}

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/bpf_pure/conversation_driver.h"

namespace routelens {
namespace {

TEST(DnsConversation, CopiesEveryByteUpToTheLimitOfEachDirection) {
  for (const size_t piece : {size_t{1}, size_t{700}, size_t{100000}}) {
    ConversationDriver driver;
    rl_conversation_start_dns(&driver.conversation());
    const std::string question(30, 'q');
    const std::string answer = std::string(RL_DNS_STREAM_MAX, 'a') + "more";
    driver.FeedInPieces(Client(question), piece);
    driver.FeedInPieces(Server(answer), piece);
    EXPECT_EQ(driver.taken(RL_EGRESS), question);
    EXPECT_EQ(driver.taken(RL_INGRESS), std::string(RL_DNS_STREAM_MAX, 'a'));
    EXPECT_EQ(driver.Flags(), "");
    driver.FeedInPieces(Client(answer), piece);
    EXPECT_EQ(driver.taken(RL_EGRESS).size(), size_t{RL_DNS_STREAM_MAX});
    EXPECT_EQ(driver.Flags(), "settled");
  }
}

TEST(DnsConversation, AHoleEndsItsOwnDirectionOnly) {
  ConversationDriver driver;
  rl_conversation_start_dns(&driver.conversation());
  driver.Feed(Client("q1"));
  rl_conversation_lost(&driver.conversation(), RL_INGRESS);
  driver.Feed(Server("a1"));
  driver.Feed(Client("q2"));
  EXPECT_EQ(driver.taken(RL_EGRESS), "q1q2");
  EXPECT_EQ(driver.taken(RL_INGRESS), "");
}

}  // namespace
}  // namespace routelens

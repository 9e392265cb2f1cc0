// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/bpf_pure/conversation_cases.h"

namespace routelens {
namespace {

using ::testing::ElementsAre;

std::string Record(int type, size_t length, int version = 0x0303, char fill = 'x') {
  std::string record;
  record += static_cast<char>(type);
  record += static_cast<char>(version >> 8);
  record += static_cast<char>(version & 0xff);
  record += static_cast<char>(length >> 8);
  record += static_cast<char>(length & 0xff);
  return record + std::string(length, fill);
}

std::string Alert(int level, int description) {
  std::string record = Record(21, 2);
  record[5] = static_cast<char>(level);
  record[6] = static_cast<char>(description);
  return record;
}

const std::string kHello = Record(22, 512, 0x0301, 'c');
constexpr char kHelloLine[] = "> record 0 type=22 version=0301 length=512";

TEST(TlsConversation, DescribesTheRecordsOfBothFlights) {
  ExpectConversation(
      {"TLS 1.3",
       {Client(kHello), Server(Record(22, 90) + Record(20, 1) + Record(23, 800)),
        Client(Record(20, 1) + Record(23, 53)), Client(Record(23, 100))},
       {kHelloLine, "< record 0 type=22 version=0303 length=90",
        "< record 1 type=20 version=0303 length=1", "< record 2 type=23 version=0303 length=800",
        "> record 1 type=20 version=0303 length=1", "> record 2 type=23 version=0303 length=53",
        "> record 3 type=23 version=0303 length=100"},
       ""});
  ExpectConversation({"an empty record",
                      {Client(kHello), Server(Record(23, 0) + Record(23, 1))},
                      {kHelloLine, "< record 0 type=23 version=0303 length=0",
                       "< record 1 type=23 version=0303 length=1"},
                      ""});
}

TEST(TlsConversation, CopiesHandshakeRecordsUntilTheCipherChanges) {
  ConversationDriver driver;
  driver.Feed(Client(kHello));
  driver.Feed(Server(Record(22, 90, 0x0303, 's') + Record(22, 30, 0x0303, 't')));
  driver.Feed(Server(Record(20, 1) + Record(22, 40, 0x0303, 'F')));
  driver.Feed(Client(Record(22, 70, 0x0303, 'k') + Record(20, 1) + Record(22, 40, 0x0303, 'F')));
  driver.Feed(Client(Record(23, 99, 0x0303, 'D')));
  EXPECT_EQ(driver.taken(RL_EGRESS), kHello + Record(22, 70, 0x0303, 'k'));
  EXPECT_EQ(driver.taken(RL_INGRESS), Record(22, 90, 0x0303, 's') + Record(22, 30, 0x0303, 't'));
  EXPECT_EQ(rl_conversation_taken(&driver.conversation(), RL_EGRESS),
            driver.taken(RL_EGRESS).size());
}

TEST(TlsConversation, CopiesAtMostTheFlightLimit) {
  for (const size_t piece : {size_t{1}, size_t{1460}, size_t{100000}}) {
    ConversationDriver driver;
    driver.FeedInPieces(Client(Record(22, 16000, 0x0301, 'a') + Record(22, 16000)), piece);
    EXPECT_EQ(driver.taken(RL_EGRESS), Record(22, 16000, 0x0301, 'a').substr(0, RL_FLIGHT_MAX));
    EXPECT_EQ(driver.lines().size(), 2u);
  }
}

TEST(TlsConversation, C19_AlertsInTheClearComeWithLevelAndDescription) {
  ExpectConversation({"alert 112 before ServerHello",
                      {Client(kHello), Server(Alert(1, 112) + Record(22, 90))},
                      {kHelloLine, "< record 0 type=21 version=0303 length=2 alert=1/112",
                       "< record 1 type=22 version=0303 length=90"},
                      ""});
  ExpectConversation({"the client's alert",
                      {Client(kHello), Server(Record(22, 90)), Client(Alert(2, 48))},
                      {kHelloLine, "< record 0 type=22 version=0303 length=90",
                       "> record 1 type=21 version=0303 length=2 alert=2/48"},
                      ""});
  ExpectConversation({"an encrypted alert",
                      {Client(kHello), Server(Record(21, 26))},
                      {kHelloLine, "< record 0 type=21 version=0303 length=26"},
                      ""});
  ExpectConversation(
      {"half an alert", {Client(kHello), Server(Alert(2, 40).substr(0, 6))}, {kHelloLine}, ""});
}

TEST(TlsConversation, SaysWhenTheServerDoesNotSpeakTls) {
  ExpectConversation({"HTTP",
                      {Client(kHello), Server("HTTP/1.1 400 Bad Request\r\n\r\n")},
                      {kHelloLine, "< record 0 type=72 version=0000 length=0", "settled"},
                      "settled"});
  ExpectConversation({"type of a record, no version",
                      {Client(kHello), Server("\x16HI")},
                      {kHelloLine, "< record 0 type=22 version=0000 length=0", "settled"},
                      "settled"});
  for (const int type : {0, 19, 25, 255}) {
    ExpectConversation(
        {"no type of a record",
         {Client(kHello), Server(Record(type, 3))},
         {kHelloLine, "< record 0 type=" + std::to_string(type) + " version=0000 length=0",
          "settled"},
         "settled"});
  }
  ExpectConversation({"the largest record",
                      {Client(kHello), Server(Record(24, 18432, 0x0304))},
                      {kHelloLine, "< record 0 type=24 version=0304 length=18432"},
                      ""});
  ExpectConversation({"larger than the largest",
                      {Client(kHello), Server("\x16\x03\x03\x48\x01")},
                      {kHelloLine, "< record 0 type=22 version=0000 length=0", "settled"},
                      "settled"});
  ExpectConversation({"impossible length",
                      {Client(kHello), Server("\x16\x03\x03\xff\xff")},
                      {kHelloLine, "< record 0 type=22 version=0000 length=0", "settled"},
                      "settled"});
}

TEST(TlsConversation, ThingsThatOnlyStartLikeTlsAreOpaque) {
  for (const std::string& bytes : {std::string("\x16\x02\x00", 3), std::string("\x16\x03\x05", 3),
                                   std::string("\x16\x03\x01\xff\xff", 5)}) {
    ExpectConversation({"opaque", {Client(bytes), Server("x")}, {"settled"}, "settled"});
  }
  ExpectConversation(
      {"the server speaks first", {Client("\x16\x03"), Server(kHello)}, {"settled"}, "settled"});
}

TEST(TlsConversation, BytesThatAreNoRecordLaterLoseTheConnection) {
  ExpectConversation(
      {"client", {Client(kHello + "GET /")}, {kHelloLine, "settled"}, "settled lost"});
  ExpectConversation({"server",
                      {Client(kHello), Server(Record(22, 9) + "HTTP")},
                      {kHelloLine, "< record 0 type=22 version=0303 length=9", "settled"},
                      "settled lost"});
}

TEST(TlsConversation, C20_ThreeBytesOfAHelloThenSilenceClaimNothing) {
  ExpectConversation({"partial", {Client("\x16\x03\x01")}, {}, ""});
}

TEST(TlsConversation, SettlesWhenBothDirectionsHaveUsedUpTheirRecords) {
  ConversationDriver driver;
  driver.Feed(Client(kHello));
  for (int i = 0; i < RL_TLS_RECORDS_MAX; ++i) driver.Feed(Server(Record(22, 10)));
  EXPECT_EQ(driver.Flags(), "");
  driver.Feed(Server(Record(22, 10)));  // beyond the budget: passed, not described
  EXPECT_EQ(driver.lines().size(), 1u + RL_TLS_RECORDS_MAX);
  driver.Feed(Server(Alert(2, 80)));  // but for an alert in the clear
  EXPECT_EQ(driver.lines().back(), "< record 25 type=21 version=0303 length=2 alert=2/80");
  for (int i = 1; i < RL_TLS_RECORDS_MAX; ++i) driver.Feed(Client(Record(22, 10)));
  EXPECT_EQ(driver.Flags(), "settled");
  EXPECT_EQ(driver.lines().back(), "settled");
}

TEST(TlsConversation, ALongTransferOneWaySettlesOnceBothSidesHaveSentProtectedData) {
  ConversationDriver driver;
  driver.Feed(Client(kHello));
  driver.Feed(Server(Record(22, 90) + Record(20, 1)));
  for (int i = 0; i < 40; ++i) driver.Feed(Server(Record(23, 16384)));
  EXPECT_EQ(driver.Flags(), "");
  driver.Feed(Client(Record(20, 1) + Record(23, 53)));
  EXPECT_EQ(driver.Flags(), "settled");
  EXPECT_EQ(rl_conversation_skippable(&driver.conversation(), RL_INGRESS, 65536), 65536u);
  EXPECT_EQ(rl_conversation_take(&driver.conversation(), RL_INGRESS, 65536), 0u);
}

TEST(TlsConversation, OneUsedUpBudgetIsEnoughOnlyWithProtectedDataBothWays) {
  for (const __u8 busy : {RL_EGRESS, RL_INGRESS}) {
    ConversationDriver driver;
    driver.Feed(Client(kHello));
    driver.Feed(Server(Record(22, 90)));
    for (int i = 1; i < RL_TLS_RECORDS_MAX; ++i) driver.Feed({busy, Record(23, 10)});
    EXPECT_EQ(driver.Flags(), "");
    driver.Feed({static_cast<__u8>(busy ^ 1), Record(22, 10)});
    EXPECT_EQ(driver.Flags(), "");
    driver.Feed({static_cast<__u8>(busy ^ 1), Record(23, 10)});
    EXPECT_EQ(driver.Flags(), "settled");
  }
}

TEST(TlsConversation, AHoleStopsAllClaims) {
  ConversationDriver driver;
  driver.Feed(Client(kHello));
  rl_conversation_lost(&driver.conversation(), RL_INGRESS);
  driver.Feed(Server(Record(22, 90)));
  EXPECT_THAT(driver.lines(), ElementsAre(kHelloLine));
  EXPECT_EQ(driver.taken(RL_INGRESS), "");
}

}  // namespace
}  // namespace routelens

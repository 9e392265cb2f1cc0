// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/bpf_pure/conversation_cases.h"

namespace routelens {
namespace {

constexpr int kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPush = 5, kPing = 6,
              kContinuation = 9;
constexpr int kEndStream = 1, kEndHeaders = 4, kPadded = 8, kPriority = 32;

std::string Frame(int type, int flags, int stream, const std::string& payload) {
  std::string frame;
  const auto add = [&frame](size_t value) { frame += static_cast<char>(value & 0xff); };
  add(payload.size() >> 16);
  add(payload.size() >> 8);
  add(payload.size());
  add(static_cast<size_t>(type));
  add(static_cast<size_t>(flags));
  for (int shift = 24; shift >= 0; shift -= 8) add(static_cast<size_t>(stream >> shift));
  return frame + payload;
}

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}

const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, "");
const std::string kServerStart = Frame(kSettings, 0, 0, "abcdef") + Frame(kSettings, 1, 0, "");
const std::string kBlock = "\x82\x86\x84\x41\x01h";  // never read in the client's direction

std::string Ask(int stream, int flags = kEndStream | kEndHeaders) {
  return Frame(kHeaders, flags, stream, kBlock);
}

std::string Asked(int stream) {
  return "request " + std::to_string(stream) + " OTHER h2 path= host=";
}

std::string Answered(int stream, int status) {
  return "response " + std::to_string(stream) + " " + std::to_string(status);
}

std::string Unknown(int stream) {
  return Answered(stream, 0) + " unknown";
}

TEST(H2Conversation, ReportsEachStreamAndItsStatus) {
  ExpectConversation({"200 and 404",
                      {Client(kPreface + Ask(1)),
                       Server(kServerStart + Frame(kHeaders, kEndHeaders, 1, "\x88xyz")),
                       Server(Frame(kData, kEndStream, 1, "HTTP/1.1 500")), Client(Ask(3)),
                       Server(Frame(kHeaders, kEndHeaders | kEndStream, 3, "\x8d"))},
                      {Asked(1), Answered(1, 200), Asked(3), Answered(3, 404)},
                      "served"});
  ExpectConversation({"outstanding", {Client(kPreface + Ask(1))}, {Asked(1)}, "open"});
  ExpectConversation(
      {"a head without its end",
       {Client(kPreface + Ask(1)), Server(kServerStart + Frame(kHeaders, 0, 1, "\x88"))},
       {Asked(1)},
       "open"});
  ExpectConversation({"answers out of order",
                      {Client(kPreface + Ask(1) + Ask(3)),
                       Server(kServerStart + Frame(kHeaders, kEndHeaders, 3, "\x88") +
                              Frame(kHeaders, kEndHeaders, 1, "\x8e"))},
                      {Asked(1), Asked(3), Answered(3, 200), Answered(1, 500)},
                      "served"});
}

TEST(H2Conversation, ReadsEveryFormOfStatus) {
  struct Row {
    std::string name;
    std::string block;
    int status;  // 0: unknown
  };
  const Row rows[] = {
      {"static 200", Bytes({0x88}), 200},
      {"static 204", Bytes({0x89}), 204},
      {"static 206", Bytes({0x8a}), 206},
      {"static 304", Bytes({0x8b}), 304},
      {"static 400", Bytes({0x8c}), 400},
      {"static 404", Bytes({0x8d}), 404},
      {"static 500", Bytes({0x8e}), 500},
      {"static, not a status", Bytes({0x87}), 0},
      {"static, beyond", Bytes({0x8f}), 0},
      {"dynamic", Bytes({0xbe}), 0},
      {"index of several bytes", Bytes({0xff, 0x01}), 0},
      {"literal, indexed", Bytes({0x48, 0x03}) + "401", 401},
      {"literal by another name index", Bytes({0x4e, 0x03}) + "503", 503},
      {"literal, not indexed", Bytes({0x08, 0x03}) + "429", 429},
      {"literal, never indexed", Bytes({0x18, 0x03}) + "999", 999},
      {"literal of another name", Bytes({0x47, 0x03}) + "200", 0},
      {"literal with a new name", Bytes({0x40, 0x07}) + ":status" + Bytes({3}) + "200", 0},
      {"Huffman 200", Bytes({0x48, 0x82, 0x10, 0x01}), 200},        // 00010 00000 00000 1
      {"Huffman 401", Bytes({0x48, 0x82, 0x68, 0x01}), 401},        // 011010 00000 00001
      {"Huffman 503", Bytes({0x48, 0x83, 0x6c, 0x0c, 0xff}), 503},  // 011011 00000 011001 1..
      {"Huffman 999", Bytes({0x48, 0x83, 0x7d, 0xf7, 0xff}), 999},
      {"Huffman of two digits", Bytes({0x48, 0x82, 0x10, 0x7f}), 0},
      {"Huffman too long", Bytes({0x48, 0x84, 1, 2, 3, 4}), 0},
      {"no digits", Bytes({0x48, 0x03}) + "2x0", 0},
      {"below 100", Bytes({0x48, 0x03}) + "099", 0},
      {"two digits", Bytes({0x48, 0x02}) + "20", 0},
      {"four digits", Bytes({0x48, 0x04}) + "2000", 0},
      {"after a size update", Bytes({0x20, 0x88}), 200},
      {"after two long size updates", Bytes({0x3f, 0xe1, 0x1f, 0x3f, 0x00, 0x88}), 200},
      {"empty", "", 0},
  };
  for (const Row& row : rows) {
    ExpectConversation(
        {row.name,
         {Client(kPreface + Ask(1)),
          Server(kServerStart + Frame(kHeaders, kEndHeaders | kEndStream, 1, row.block))},
         {Asked(1), row.status == 0 ? Unknown(1) : Answered(1, row.status)},
         row.status == 0 ? "" : "served"});
  }
}

TEST(H2Conversation, PassesPaddingAndPriority) {
  const std::string priority(5, '\x88');
  ExpectConversation(
      {"both",
       {Client(kPreface + Ask(1)),
        Server(kServerStart + Frame(kHeaders, kEndHeaders | kPadded | kPriority, 1,
                                    Bytes({3}) + priority + "\x8d" + "\x88\x88\x88"))},
       {Asked(1), Answered(1, 404)},
       "served"});
  ExpectConversation(
      {"padding over an empty block",
       {Client(kPreface + Ask(1)), Server(kServerStart + Frame(kHeaders, kEndHeaders | kPadded, 1,
                                                               Bytes({3}) + "\x88\x88\x88"))},
       {Asked(1), Unknown(1)},
       ""});
  ExpectConversation(
      {"more padding than frame",
       {Client(kPreface + Ask(1)),
        Server(kServerStart + Frame(kHeaders, kEndHeaders | kPadded, 1, Bytes({9}) + "\x88"))},
       {Asked(1), "settled"},
       "settled lost"});
  ExpectConversation({"padded and empty",
                      {Client(kPreface + Ask(1)),
                       Server(kServerStart + Frame(kHeaders, kEndHeaders | kPadded, 1, ""))},
                      {Asked(1), "settled"},
                      "settled lost"});
}

TEST(H2Conversation, FollowsAHeadIntoItsContinuations) {
  ExpectConversation(
      {"status split over frames",
       {Client(kPreface + Frame(kHeaders, kEndStream, 1, kBlock) + Frame(kContinuation, 0, 1, "x") +
               Frame(kContinuation, kEndHeaders, 1, "")),
        Server(kServerStart +
               Frame(kHeaders, 0, 1,
                     "\x48\x03"
                     "5") +
               Frame(kContinuation, 0, 1, "0") + Frame(kContinuation, kEndHeaders, 1, "2rest"))},
       {Asked(1), Answered(1, 502)},
       "served"});
  ExpectConversation(
      {"something in between",
       {Client(kPreface + Ask(1)),
        Server(kServerStart + Frame(kHeaders, 0, 1, "\x88") + Frame(kPing, 0, 0, "12345678"))},
       {Asked(1), "settled"},
       "settled lost"});
  ExpectConversation(
      {"a continuation of nothing",
       {Client(kPreface + Ask(1)), Server(kServerStart + Frame(kContinuation, 4, 1, "\x88"))},
       {Asked(1), "settled"},
       "settled lost"});
}

TEST(H2Conversation, G1_InterimAnswersComeBeforeTheFinalOne) {
  ExpectConversation({"103, then 200",
                      {Client(kPreface + Ask(1)),
                       Server(kServerStart + Frame(kHeaders, kEndHeaders, 1,
                                                   "\x08\x03"
                                                   "103")),
                       Server(Frame(kHeaders, kEndHeaders, 1, "\x88"))},
                      {Asked(1), Answered(1, 103), Answered(1, 200)},
                      "served"});
  ExpectConversation(
      {"an unknown head that may be interim, then 200",
       {Client(kPreface + Ask(1)), Server(kServerStart + Frame(kHeaders, kEndHeaders, 1, "\xbe")),
        Server(Frame(kHeaders, kEndHeaders, 1, "\x88"))},
       {Asked(1), Unknown(1), Answered(1, 200)},
       "served"});
}

TEST(H2Conversation, TrailersAreNoAnswer) {
  ExpectConversation(
      {"after 200",
       {Client(kPreface + Ask(1)),
        Server(kServerStart + Frame(kHeaders, kEndHeaders, 1, "\x88") + Frame(kData, 0, 1, "d") +
               Frame(kHeaders, kEndHeaders | kEndStream, 1, "\xbe\xbf"))},
       {Asked(1), Answered(1, 200)},
       "served"});
  ExpectConversation(
      {"after an unknown one",
       {Client(kPreface + Ask(1)),
        Server(kServerStart + Frame(kHeaders, kEndHeaders, 1, "\xbe") + Frame(kData, 0, 1, "d") +
               Frame(kHeaders, kEndHeaders | kEndStream, 1, "\xbf"))},
       {Asked(1), Unknown(1)},
       ""});
  ExpectConversation(
      {"of the client",
       {Client(kPreface + Ask(1, kEndHeaders) + Frame(kData, 0, 1, "body") + Ask(1) + Ask(3))},
       {Asked(1), Asked(3)},
       "open"});
}

TEST(H2Conversation, AnswersToNothingNeverCount) {
  ExpectConversation(
      {"a stream that was not opened",
       {Client(kPreface + Ask(1)), Server(kServerStart + Frame(kHeaders, kEndHeaders, 5, "\x88") +
                                          Frame(kHeaders, kEndHeaders, 2, "\x88"))},
       {Asked(1)},
       "open"});
  ExpectConversation({"a push and its continuation",
                      {Client(kPreface + Ask(1)),
                       Server(kServerStart + Frame(kPush, 0, 1, Bytes({0, 0, 0, 2, 0x88})) +
                              Frame(kContinuation, kEndHeaders, 1, "\x88"))},
                      {Asked(1)},
                      "open"});
}

TEST(H2Conversation, AResetStreamIsNoLongerOutstanding) {
  ExpectConversation({"by the client",
                      {Client(kPreface + Ask(1) + Frame(kReset, 0, 1, "\0\0\0\x08"))},
                      {Asked(1)},
                      ""});
  ExpectConversation(
      {"by the server",
       {Client(kPreface + Ask(1)), Server(kServerStart + Frame(kReset, 0, 1, "abcd"))},
       {Asked(1)},
       ""});
}

TEST(H2Conversation, AServerThatDoesNotStartWithSettingsIsNeverMalformed) {
  ExpectConversation({"HTTP/1",
                      {Client(kPreface + Ask(1)), Server("HTTP/1.1 400 Bad Request\r\n\r\n")},
                      {Asked(1), "settled"},
                      "settled lost"});
}

TEST(H2Conversation, StreamsBeyondThoseRememberedMakeNoClaim) {
  ConversationDriver driver;
  driver.Feed(Client(kPreface));
  driver.Feed(Server(kServerStart));
  for (int i = 0; i < 2 * RL_H2_STREAMS_MAX; ++i) driver.Feed(Client(Ask(2 * i + 1)));
  const size_t lines = driver.lines().size();
  driver.Feed(Server(Frame(kHeaders, kEndHeaders | kEndStream, 1, "\xbe")));
  EXPECT_EQ(driver.lines().size(), lines) << "perhaps trailers";
  driver.Feed(Server(Frame(kHeaders, kEndHeaders | kEndStream, 1, "\x8d")));
  EXPECT_EQ(driver.lines().back(), Answered(1, 404)) << "a status is a status";
}

TEST(H2Conversation, ReadsHttp2InsideATunnel) {
  ExpectConversation(
      {"tunnel",
       {Client("CONNECT h:80 HTTP/1.1\r\n\r\n"), Server("HTTP/1.1 200 OK\r\n\r\n"),
        Client(kPreface + Ask(1)), Server(kServerStart + Frame(kHeaders, kEndHeaders, 1, "\x88"))},
       {"request 1 CONNECT authority path= host=h:80", Answered(1, 200), Asked(1) + " in_tunnel",
        Answered(1, 200) + " in_tunnel"},
       "served tunnel"});
}

}  // namespace
}  // namespace routelens

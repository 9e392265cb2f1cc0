// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/bpf_pure/conversation_cases.h"

namespace routelens {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kGet[] = "GET /mcp HTTP/1.1\r\nHost: example.com\r\n\r\n";
constexpr char kGetLine[] = "request 1 GET origin path=/mcp host=example.com";
constexpr char kPost[] = "POST /mcp HTTP/1.1\r\nHost: example.com\r\nContent-Length: 2\r\n\r\n{}";
constexpr char kHead[] = "HEAD /mcp HTTP/1.1\r\nHost: example.com\r\n\r\n";
constexpr char kConnect[] = "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n";
constexpr char kConnectLine[] = "request 1 CONNECT authority path= host=example.com:443";
constexpr char kOk[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
constexpr char kEmptyOk[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

std::string Get(int index) {
  return "request " + std::to_string(index) + " GET origin path=/mcp host=example.com";
}

std::string Answer(int index, int status) {
  return "response " + std::to_string(index) + " " + std::to_string(status);
}

TEST(HttpConversation, ReportsRequestAndAnswerOfEachExchange) {
  ExpectConversation({"get", {Client(kGet), Server(kOk)}, {kGetLine, "response 1 200"}, "served"});
  ExpectConversation({"keep-alive",
                      {Client(kGet), Server(kOk), Client(kGet), Server(kOk)},
                      {Get(1), Answer(1, 200), Get(2), Answer(2, 200)},
                      "served"});
  ExpectConversation({"post with a body",
                      {Client(kPost), Server(kOk)},
                      {"request 1 POST origin path=/mcp host=example.com", "response 1 200"},
                      "served"});
  ExpectConversation({"open until answered", {Client(kGet)}, {kGetLine}, "open"});
  ExpectConversation({"answer's head not whole",
                      {Client(kGet), Server("HTTP/1.1 200 OK\r\nDate: x\r\n")},
                      {kGetLine},
                      "open head_open"});
}

TEST(HttpConversation, KeepsTheTargetUpToTheQuery) {
  struct Row {
    std::string target;
    std::string line;
  };
  const Row rows[] = {
      {"/a/b?token=secret", "GET origin path=/a/b host=h"},
      {"/a#frag", "GET origin path=/a host=h"},
      {"/a;v=1/%2Fb", "GET origin path=/a;v=1/%2Fb host=h"},
      {"/?", "GET origin path=/ host=h"},
      {"*", "GET asterisk path=* host=h"},
      {"http://other:81/x?y", "GET absolute path=/x host=other:81"},
      {"http://other", "GET absolute path=/ host=other"},
      {"http://other?q=1", "GET absolute path=/ host=other"},
      {"https://user:pw@other/x", "GET absolute path=/x host=other"},
  };
  for (const Row& row : rows) {
    ExpectConversation({row.target,
                        {Client("GET " + row.target + " HTTP/1.1\r\nHost: h\r\n\r\n")},
                        {"request 1 " + row.line},
                        "open"});
  }
}

TEST(HttpConversation, LeavesNoSecretInItsMemory) {
  ConversationDriver driver;
  driver.Feed(
      Client("POST http://user:canary1@h/p?canary2=canary2 HTTP/1.1\r\n"
             "Host: canary3@h\r\nAuthorization: Bearer canary4\r\n"
             "Mcp-Session-Id: canary5\r\nContent-Length: 7\r\n\r\ncanary6"));
  driver.Feed(
      Server("HTTP/1.1 200 canary7\r\nSet-Cookie: canary8\r\nContent-Length: 7\r\n\r\n"
             "canary9"));
  driver.Feed(Client("GET /x HTTP/1.1\r\nHost: u:canary10@h\r\nCookie: canary11\r\n\r\n"));
  const std::string memory(reinterpret_cast<const char*>(&driver.conversation()),
                           sizeof(rl_conversation));
  EXPECT_THAT(memory, Not(HasSubstr("canary")));
  EXPECT_THAT(driver.lines(), ElementsAre("request 1 POST absolute path=/p host=h session",
                                          "response 1 200", "request 2 GET origin path=/x host="));
}

TEST(HttpConversation, CutsLongTargetsAndHostsAndSaysSo) {
  const std::string path = "/" + std::string(300, 'p');
  const std::string host(300, 'h');
  ExpectConversation({"long",
                      {Client("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n")},
                      {"request 1 GET origin path=" + path.substr(0, 256) +
                       " host=" + host.substr(0, 256) + " path_truncated host_truncated"},
                      "open"});
  const std::string full = "/" + std::string(255, 'p');
  ExpectConversation({"exactly full",
                      {Client("GET " + full + " HTTP/1.1\r\nHost: h\r\n\r\n")},
                      {"request 1 GET origin path=" + full + " host=h"},
                      "open"});
}

TEST(HttpConversation, ReadsFieldsInAnyLetterCaseAndLayout) {
  struct Row {
    std::string fields;
    std::string line;
  };
  const Row rows[] = {
      {"hOST:\t example.com \t\r\n", "host=example.com"},
      {"Host:example.com\r\nmcp-SESSION-id: 1\r\n", "host=example.com session"},
      {"Host: a\r\nHost: b\r\n", "host=a host_repeated"},
      {"X: Host: no\r\nHost: h\r\n", "host=h"},
      {"Hosts: no\r\nHost: h\r\n", "host=h"},
      {"Host: h\r\nAccept-Charset: x\r\nContent-Length: 0\r\n", "host=h"},
      {"Host: h\r\n next: line\r\n", "host="},  // obs-fold inside Host
      {"Host: h\r\n next\r\n", "host="},
      {"Host:\r\n h\r\n", "host=h"},  // fold before the value
      {"X: a\r\n Host: no\r\nHost: h\r\n", "host=h"},
      {"Host: a b\r\n", "host="},
      {"Host: u:p@h\r\n", "host="},
      {"Host: a\x01"
       "b\r\n",
       "host="},
      {"Host: a\x7f\r\n", "host="},
      {"Host: \r\n", "host="},
      {"", "host="},
      {"Host: h\n", "host=h"},  // LF alone ends a line (RFC 9112 section 2.2)
  };
  for (const Row& row : rows) {
    ExpectConversation({row.fields,
                        {Client("GET / HTTP/1.1\r\n" + row.fields + "\r\n")},
                        {"request 1 GET origin path=/ " + row.line},
                        "open"});
  }
}

TEST(HttpConversation, PassesOverBodiesThatLookLikeHeads) {
  const std::string fake = "HTTP/1.1 500 No\r\n\r\n";
  const std::string fake_request = "GET /evil HTTP/1.1\r\nHost: evil\r\n\r\n";
  const std::string length = std::to_string(fake.size());
  ExpectConversation(
      {"Content-Length",
       {Client(kGet), Server("HTTP/1.1 200 OK\r\nContent-Length: " + length + "\r\n\r\n" + fake),
        Client(kGet), Server(kOk)},
       {Get(1), Answer(1, 200), Get(2), Answer(2, 200)},
       "served"});
  ExpectConversation({"chunked",
                      {Client(kGet),
                       Server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n13;x=y\r\n" +
                              fake + "\r\n0\r\nX-Trailer: HTTP/1.1 500\r\n\r\n"),
                       Client(kGet), Server(kOk)},
                      {Get(1), Answer(1, 200), Get(2), Answer(2, 200)},
                      "served"});
  ExpectConversation({"until close",
                      {Client(kGet), Server("HTTP/1.1 200 OK\r\n\r\n" + fake + fake)},
                      {Get(1), Answer(1, 200)},
                      "served"});
  ExpectConversation(
      {"request body",
       {Client("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " +
               std::to_string(fake_request.size()) + "\r\n\r\n" + fake_request + kGet)},
       {"request 1 POST origin path=/ host=h", Get(2)},
       "open"});
  ExpectConversation(
      {"chunked request",
       {Client("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n"
               "00a\r\n0123456789\r\n0000\r\n\r\n" +
               std::string(kGet))},
       {"request 1 POST origin path=/ host=h", Get(2)},
       "open"});
}

TEST(HttpConversation, PassesOverAnEventStreamAndServesTheNextRequest) {
  std::string stream =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\ntransfer-encoding:chunked\r\n\r\n";
  for (int i = 0; i < 5; ++i) stream += "1F\r\nevent: message\ndata: HTTP/1.1 5\r\n";
  stream += "0\r\n\r\n";
  ExpectConversation({"sse",
                      {Client(kGet), Server(stream), Client(kGet),
                       Server("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")},
                      {Get(1), Answer(1, 200), Get(2), Answer(2, 404)},
                      "served"});
}

TEST(HttpConversation, KnowsAnswersWithoutABody) {
  for (const std::string status : {"204 No Content", "304 Not Modified"}) {
    ExpectConversation(
        {status,
         {Client(kGet), Server("HTTP/1.1 " + status + "\r\nContent-Length: 9\r\n\r\n"),
          Client(kGet), Server(kOk)},
         {Get(1), "response 1 " + status.substr(0, 3), Get(2), Answer(2, 200)},
         "served"});
  }
  ExpectConversation(
      {"HEAD",
       {Client(kHead), Server("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), Client(kGet),
        Server(kOk)},
       {"request 1 HEAD origin path=/mcp host=example.com", Answer(1, 200), Get(2), Answer(2, 200)},
       "served"});
}

TEST(HttpConversation, G1_InterimAnswersWaitForTheFinalOne) {
  ExpectConversation({"103 then 200",
                      {Client(kGet), Server("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"),
                       Server("HTTP/1.1 103 Early Hints\r\n\r\n"), Server(kOk)},
                      {Get(1), Answer(1, 103), Answer(1, 103), Answer(1, 200)},
                      "served"});
  ExpectConversation({"100 then 417",
                      {Client(kGet), Server("HTTP/1.1 100 Continue\r\n\r\n"),
                       Server("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n")},
                      {Get(1), Answer(1, 100), Answer(1, 417)},
                      "served"});
  ExpectConversation({"100 then close",
                      {Client(kGet), Server("HTTP/1.1 100 Continue\r\n\r\n")},
                      {Get(1), Answer(1, 100)},
                      "open"});
  ExpectConversation({"100 then half a head",
                      {Client(kGet), Server("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2")},
                      {Get(1), Answer(1, 100)},
                      "open head_open"});
}

TEST(HttpConversation, SettlesAfterSwitchingProtocols) {
  ExpectConversation({"101",
                      {Client(kGet), Server("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"),
                       Server("HTTP/1.1 500 No\r\n\r\n"), Client(kGet)},
                      {Get(1), Answer(1, 101) + " upgraded", "settled"},
                      "served settled"});
}

TEST(HttpConversation, G2_StatusLinesNoClientAcceptsAreMalformed) {
  const char* lines[] = {
      "HTTP/1.1 99 x\r\n\r\n",
      "HTTP/1.1 099 x\r\n\r\n",
      "HTTP/1.1 20\r\n\r\n",
      "HTTP/1.1 20 OK\r\n\r\n",
      "HTTP/1.1 4294967496 OK\r\n\r\n",
      "HTTP/1.1 2000 OK\r\n\r\n",
      "HTTP/1.1 200\tOK\r\n\r\n",
      "HTTP/1.1  200 OK\r\n\r\n",
      "HTTP/1.1 2x0 OK\r\n\r\n",
      "HTTP/1.1 -20 OK\r\n\r\n",
      "HTTP/1.1 \r\n\r\n",
      "HTTP/2 200\r\n\r\n",
      "HTTP/1.2 200 OK\r\n\r\n",
      "HTTP/0.9 200 OK\r\n\r\n",
      "http/1.1 200 OK\r\n\r\n",
      "ICY 200 OK\r\n\r\n",
      "HTTP/1.1 200 OK\rX\r\n\r\n",
      "HTTP/1.1 200\rOK\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: b\rC\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: b\r\n\rX",
      "<html>hello</html>",
      "SSH-2.0-OpenSSH_9.2\r\n",
  };
  for (const std::string line : lines) {
    ExpectConversation({line,
                        {Client(kGet), Server(line), Client(kGet)},
                        {Get(1), "response 1 0 malformed", "settled"},
                        "settled"});
  }
}

TEST(HttpConversation, AcceptsEveryStatusOfThreeDigitsFromAHundredUp) {
  for (const int status :
       {200, 206, 299, 301, 399, 400, 401, 404, 405, 429, 500, 503, 599, 600, 999}) {
    const std::string digits = std::to_string(status);
    ExpectConversation(
        {digits,
         {Client(kGet), Server("HTTP/1.1 " + digits + " \r\nContent-Length: 0\r\n\r\n")},
         {Get(1), Answer(1, status)},
         "served"});
    ExpectConversation({digits + " without its space, lines of LF alone",
                        {Client(kGet), Server("HTTP/1.0 " + digits + "\nContent-Length: 0\n\n")},
                        {Get(1), Answer(1, status)},
                        "served"});
  }
}

TEST(HttpConversation, PairsPipelinedRequestsInOrder) {
  ExpectConversation({"three",
                      {Client(std::string(kGet) + kHead + kGet),
                       Server(std::string(kOk) + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" +
                              "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")},
                      {Get(1), "request 2 HEAD origin path=/mcp host=example.com", Get(3),
                       Answer(1, 200), Answer(2, 200), Answer(3, 404)},
                      "served"});
}

TEST(HttpConversation, LosesTheConnectionWhenTooManyRequestsAreOutstanding) {
  ConversationDriver driver;
  for (int i = 0; i < RL_PIPELINE_MAX; ++i) driver.Feed(Client(kGet));
  EXPECT_EQ(driver.Flags(), "open");
  driver.Feed(Client(kGet));
  EXPECT_EQ(driver.Flags(), "settled lost");
  EXPECT_EQ(driver.lines().back(), "settled");
}

TEST(HttpConversation, KeepsPairingBeyondTheSizeOfTheQueue) {
  ConversationDriver driver;
  for (int i = 0; i < 5 * RL_PIPELINE_MAX; ++i) {
    driver.Feed(Client(i % 3 == 0 ? kHead : kGet));
    driver.Feed(Server(i % 3 == 0 ? "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" : kOk));
  }
  EXPECT_EQ(driver.lines().back(), "response 80 200");
  EXPECT_EQ(driver.Flags(), "served");
}

TEST(HttpConversation, AnswersWithoutARequestNeverCount) {
  ExpectConversation({"server speaks first", {Server(kOk), Client(kGet)}, {"settled"}, "settled"});
  ExpectConversation({"before the request is whole",
                      {Client("GET / HTTP/1.1\r\n"), Server(kOk)},
                      {"settled"},
                      "settled lost"});
  ExpectConversation({"one answer too many",
                      {Client(kGet), Server(kOk), Server(kOk)},
                      {Get(1), Answer(1, 200), "settled"},
                      "served settled lost"});
  ExpectConversation({"empty line between answers",
                      {Client(std::string(kGet) + kGet), Server(kOk), Server("\r\n"), Server(kOk)},
                      {Get(1), Get(2), Answer(1, 200), "settled"},
                      "served settled lost"});
}

TEST(HttpConversation, EmptyLinesBeforeALaterRequestAreNothing) {
  ExpectConversation({"crlf",
                      {Client(kGet), Server(kOk), Client("\r\n\r\n" + std::string(kGet))},
                      {Get(1), Answer(1, 200), Get(2)},
                      "open served"});
}

TEST(HttpConversation, OtherProtocolsAreOpaqueFromTheirFirstBytes) {
  for (const std::string& bytes : {std::string("\x00\x01", 2),
                                   std::string("*1\r\n$4\r\nPING\r\n"),
                                   std::string("SSH-2.0-x\r\n"),
                                   std::string("GET /\r\n"),
                                   std::string("GET / HTTP/1.2\r\n"),
                                   std::string("GET  / HTTP/1.1\r\n"),
                                   std::string("GET / HTTP/1.1 \r\n"),
                                   std::string("EHLO example.com\r\n"),
                                   std::string("CONNECT /x HTTP/1.1\r\n"),
                                   std::string("GET http:/x HTTP/1.1\r\n"),
                                   std::string("GET x HTTP/1.1\r\n"),
                                   std::string("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"),
                                   std::string("PRI /x HTTP/2.0\r\n"),
                                   std::string("GET * HTTP/2.0\r\n"),
                                   std::string("\r\nGET / HTTP/1.1\r\n"),
                                   std::string("ABCDEFGHIJKLMNOPQRSTUVWXY / HTTP/1.1\r\n"),
                                   std::string("GET \x7f"),
                                   std::string("GET /\x7f"),
                                   std::string("GET /a\tb"),
                                   std::string("GET http://\x01"),
                                   std::string("GET http://\x7f"),
                                   std::string("GET ht!p@"),
                                   std::string("CONNECT ?"),
                                   std::string("CONNECT @"),
                                   std::string("CONNECT h/"),
                                   std::string("GET HTTP/1.1\r\n"),
                                   std::string(" / HTTP/1.1\r\n"),
                                   std::string("\x80\x2e\x01\x03\x01", 5)}) {
    ExpectConversation({bytes, {Client(bytes), Server(kOk), Client(kGet)}, {"settled"}, "settled"});
  }
}

TEST(HttpConversation, RequestsWhoseEndIsUnknownAreTheLast) {
  const std::string start = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const std::string fields :
       {"Content-Length: 1\r\nContent-Length: 1\r\n", "Content-Length: 1, 1\r\n",
        "Content-Length: x\r\n", "Content-Length: -1\r\n", "Content-Length:\r\n",
        "Content-Length: 1 2\r\n", "Content-Length: 1\r\n 2\r\n",
        "Content-Length: 99999999999999999999\r\n", "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: chunked, gzip\r\n", "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding : chunked\r\n", "no colon\r\n", "Bad Name: x\r\n"}) {
    ExpectConversation({fields,
                        {Client(start + fields + "\r\n"), Client(kGet), Server(kOk)},
                        {"request 1 POST origin path=/ host=h", "settled"},
                        "settled lost"});
  }
  ExpectConversation({"fold under the request line",
                      {Client("GET / HTTP/1.1\r\n Host: h\r\n\r\n")},
                      {"request 1 GET origin path=/ host=", "settled"},
                      "settled lost"});
}

TEST(HttpConversation, AnAnswerCountsEvenWhereItsBodyCannotBeFollowed) {
  for (const std::string fields : {"Content-Length: 1\r\nContent-Length: 2\r\n",
                                   "Content-Length: x\r\n", "no colon\r\n", " folded\r\n"}) {
    ExpectConversation(
        {fields,
         {Client(kGet), Server("HTTP/1.1 503 No\r\n" + fields + "\r\nxx"), Client(kGet)},
         {Get(1), Answer(1, 503), "settled"},
         "served settled lost"});
  }
}

TEST(HttpConversation, BrokenChunksLoseTheConnection) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string chunk : {"x\r\n", "\r\n", ";x\r\n", "1\r\nabc", "1\rx", "0\r\n\rx",
                                  "0\r\nT\rx", "1111111111111111\r\n", "-1\r\n", "0x1\r\n"}) {
    ExpectConversation({chunk,
                        {Client(kGet), Server(head + chunk)},
                        {Get(1), Answer(1, 200), "settled"},
                        "served settled lost"});
  }
}

TEST(HttpConversation, OtherCodingsRunUntilTheConnectionCloses) {
  for (const std::string coding : {"deflate", "gzip", "chunked, gzip", "chunkedx", "xchunked"}) {
    ExpectConversation({coding,
                        {Client(kGet), Server("HTTP/1.1 200 OK\r\nTransfer-Encoding: " + coding +
                                              "\r\n\r\n0\r\n\r\nHTTP/1.1 500 No\r\n\r\n")},
                        {Get(1), Answer(1, 200)},
                        "served"});
  }
}

TEST(HttpConversation, ChunkedWinsOverContentLength) {
  ExpectConversation({"both",
                      {Client(kGet),
                       Server("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"),
                       Client(kGet), Server(kOk)},
                      {Get(1), Answer(1, 200), Get(2), Answer(2, 200)},
                      "served"});
}

TEST(HttpConversation, FieldsAreKnownByTheirWholeName) {
  // Each has the length, and some of the letters, of a field that is read.
  const std::string others =
      "Accept: 100\r\nCookie: 1\r\nContent-Lengtx: 9\r\nContent-Xength: 9\r\nXontent-Length: 9\r\n"
      "Transfer-Encodinx: chunked\r\nTransfer-Xncoding: chunked\r\nXransfer-Encoding: chunked\r\n"
      "Mcp-Session-Ix: 1\r\nXcp-Session-Id: 1\r\nHosx: no\r\nExpecx: 1\r\nExpec: 1\r\n"
      "X-Transfer-Encoding-Of-Nothing: chunked\r\nX_0.9!#$%&'*+^`|~Z: 1\r\n";
  ExpectConversation(
      {"others",
       {Client("POST / HTTP/1.1\r\n" + others +
               "CONTENT-LENGTH: 2\r\nHOST: h\r\nMCP-SESSION-ID: 1\r\n\r\n"),
        Server("HTTP/1.1 200 OK\r\n" + others +
               "TRANSFER-ENCODING: CHUNKED\r\n\r\n1\r\na\r\n0\r\n\r\n"),
        Client("{}" + std::string(kGet)), Server(kOk)},
       {"request 1 POST origin path=/ host=h session", Answer(1, 200), Get(2), Answer(2, 200)},
       "served"});
}

TEST(HttpConversation, EveryMethodOfInterestIsNamed) {
  for (const std::string method : {"GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT"}) {
    ExpectConversation({method,
                        {Client(method + " /x HTTP/1.0\r\n\r\n")},
                        {"request 1 " + method + " origin path=/x host="},
                        "open"});
  }
  for (const std::string method :
       {"PATCH", "get", "GETS", "XGET", "M-SEARCH", "ABCDEFGHIJKLMNOPQRSTUVWX"}) {
    ExpectConversation({method,
                        {Client(method + " /x HTTP/1.0\r\n\r\n")},
                        {"request 1 OTHER origin path=/x host="},
                        "open"});
  }
}

TEST(HttpConversation, TheLargestContentLengthIsFollowed) {
  ConversationDriver driver;
  driver.Feed(Client(kGet));
  driver.Feed(Server("HTTP/1.1 200 OK\r\nContent-Length: 999999999999999999\r\n\r\n"));
  EXPECT_EQ(driver.Flags(), "served");
  EXPECT_EQ(rl_conversation_skippable(&driver.conversation(), RL_INGRESS, 0xffffffff), 0xffffffffu);
  EXPECT_EQ(driver.conversation().side[RL_INGRESS].left, 999999999999999999ull);
}

TEST(HttpConversation, A417BeforeTheBodyEndsAllClaims) {
  const std::string expects =
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\nExpect: 100-continue\r\n\r\n";
  ExpectConversation({"417, then a request where the body was announced",
                      {Client(expects), Server("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n"),
                       Client(kGet), Server(kOk)},
                      {"request 1 POST origin path=/ host=h", Answer(1, 417), "settled"},
                      "served settled lost"});
  ExpectConversation({"417 alone",
                      {Client(expects), Server("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n")},
                      {"request 1 POST origin path=/ host=h", Answer(1, 417), "settled"},
                      "served settled lost"});
  const std::string expects_chunked =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n";
  ExpectConversation(
      {"417 before the first chunk",
       {Client(expects_chunked), Server("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n")},
       {"request 1 POST origin path=/ host=h", Answer(1, 417), "settled"},
       "served settled lost"});
  ExpectConversation(
      {"an early answer while the body goes on",
       {Client(expects_chunked + "1\r\na\r\n"), Server(kOk),
        Client("0\r\n\r\n" + std::string(kGet)), Server(kOk)},
       {"request 1 POST origin path=/ host=h", Answer(1, 200), Get(2), Answer(2, 200)},
       "served"});
  ExpectConversation(
      {"100, body, 200",
       {Client(expects), Server("HTTP/1.1 100 Continue\r\n\r\n"), Client(std::string(50, 'b')),
        Server(kOk), Client(kGet)},
       {"request 1 POST origin path=/ host=h", Answer(1, 100), Answer(1, 200), Get(2)},
       "open served"});
}

TEST(HttpConversation, FollowsTheInsideOfAConnectTunnel) {
  ExpectConversation(
      {"HTTP inside",
       {Client(kConnect), Server("HTTP/1.1 200 Connection established\r\n\r\n"), Client(kGet),
        Server(kOk)},
       {kConnectLine, Answer(1, 200), Get(2) + " in_tunnel", Answer(2, 200) + " in_tunnel"},
       "served tunnel"});
  ExpectConversation({"nothing inside yet",
                      {Client(kConnect), Server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")},
                      {kConnectLine, Answer(1, 200)},
                      "tunnel"});
  ExpectConversation(
      {"TLS inside",
       {Client(kConnect), Server("HTTP/1.0 200 OK\r\n\r\n"),
        Client(std::string("\x16\x03\x01\x00\x02hi", 7))},
       {kConnectLine, Answer(1, 200), "> record 0 type=22 version=0301 length=2 in_tunnel"},
       "tunnel"});
  ExpectConversation(
      {"opaque inside",
       {Client(kConnect), Server("HTTP/1.1 200 OK\r\n\r\n"), Client("SSH-2.0-x\r\n")},
       {kConnectLine, Answer(1, 200), "settled"},
       "settled tunnel"});
  ExpectConversation(
      {"refused, then another request",
       {Client(kConnect), Server("HTTP/1.1 407 Auth\r\nContent-Length: 2\r\n\r\nno"),
        Client(kConnect), Server("HTTP/1.1 200 OK\r\n\r\n"), Client(kGet)},
       {kConnectLine, Answer(1, 407), "request 2 CONNECT authority path= host=example.com:443",
        Answer(2, 200), Get(3) + " in_tunnel"},
       "open tunnel"});
  ExpectConversation(
      {"refused with 300",
       {Client(kConnect), Server("HTTP/1.1 300 No\r\nContent-Length: 0\r\n\r\n"), Client(kGet)},
       {kConnectLine, Answer(1, 300), Get(2)},
       "open served"});
  ExpectConversation({"opened with 299",
                      {Client(kConnect), Server("HTTP/1.1 299 Yes\r\n\r\n"), Client(kGet)},
                      {kConnectLine, Answer(1, 299), Get(2) + " in_tunnel"},
                      "open tunnel"});
  ExpectConversation({"answered by nothing",
                      {Client(kConnect), Server("HTTP/1.1 403 No\r\n")},
                      {kConnectLine},
                      "open head_open"});
}

TEST(HttpConversation, BytesBetweenConnectAndItsAnswerEndAllClaims) {
  ExpectConversation({"early",
                      {Client(std::string(kConnect) + "early"), Server("HTTP/1.1 200 OK\r\n\r\n")},
                      {kConnectLine, Answer(1, 200), "settled"},
                      "served settled lost"});
}

TEST(HttpConversation, CredentialsInAConnectAuthorityAreWiped) {
  ConversationDriver driver;
  driver.Feed(Client("CONNECT user:canary@example.com:443 HTTP/1.1\r\n\r\n"));
  EXPECT_THAT(driver.lines(), ElementsAre(kConnectLine));
  EXPECT_THAT(
      std::string(reinterpret_cast<const char*>(&driver.conversation()), sizeof(rl_conversation)),
      Not(HasSubstr("canary")));
}

TEST(HttpConversation, HeadsBeyondTheLimitAreLost) {
  ConversationDriver request;
  request.Feed(Client("GET / HTTP/1.1\r\nX: " + std::string(RL_HEAD_MAX, 'x')));
  EXPECT_EQ(request.Flags(), "settled lost");
  ConversationDriver answer;
  answer.Feed(Client(kGet));
  answer.Feed(Server("HTTP/1.1 200 OK\r\nX: " + std::string(RL_HEAD_MAX, 'x')));
  EXPECT_EQ(answer.Flags(), "settled lost");
  ConversationDriver fits;
  fits.Feed(Client(kGet));
  fits.Feed(Server("HTTP/1.1 200 OK\r\nX: " + std::string(RL_HEAD_MAX - 30, 'x') + "\r\n\r\n"));
  EXPECT_EQ(fits.Flags(), "served");
}

TEST(HttpConversation, AHoleStopsAllClaimsAndSkippedBytesDoNot) {
  ConversationDriver hole;
  hole.Feed(Client(kGet));
  rl_conversation_lost(&hole.conversation(), RL_INGRESS);
  hole.Feed(Server(kOk));
  EXPECT_THAT(hole.lines(), ElementsAre(kGetLine));
  EXPECT_EQ(hole.Flags(), "settled lost");

  ConversationDriver skipped;
  skipped.Feed(Client(kGet));
  skipped.Feed(Server("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"));
  ASSERT_EQ(rl_conversation_skippable(&skipped.conversation(), RL_INGRESS, 200000), 100000u);
  rl_conversation_skip(&skipped.conversation(), RL_INGRESS, 100000);
  skipped.Feed(Client(kGet));
  skipped.Feed(Server(kEmptyOk));
  EXPECT_EQ(skipped.lines().back(), "response 2 200");
}

}  // namespace
}  // namespace routelens

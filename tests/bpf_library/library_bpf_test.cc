// SPDX-License-Identifier: Apache-2.0
//
// Real clients against real servers on loopback, with the library programs on: what each shows of a
// handshake and of HTTP inside TLS, by each of the three ways to see a read, and by perf events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status_util.h"
#include "tests/bpf_library/library_fixture.h"
#include "tests/bpf_library/peers.h"

namespace routelens {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

const char* const kLibraries[] = {"/usr/lib/x86_64-linux-gnu/libssl.so.3",
                                  "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
                                  "/lib/x86_64-linux-gnu/libc.so.6"};
constexpr const char* kNode = "/usr/bin/node";

enum class Way { kSessions, kReturns, kExits, kPerf };

std::vector<std::string> TextsOf(const std::vector<Seen>& seen) {
  std::vector<std::string> texts;
  for (const Seen& one : seen) texts.push_back(one.text);
  return texts;
}

// HTTP and failures only: what does not depend on how often a client asks.
std::vector<std::string> HttpOf(const std::vector<Seen>& seen) {
  std::vector<std::string> texts;
  for (const Seen& one : seen) {
    const bool is_status = one.text.rfind("STATUS", 0) == 0 || one.text == "MALFORMED";
    if (is_status || one.text.find(" /") != std::string::npos || one.text.rfind("H2", 0) == 0)
      texts.push_back(one.text.substr(0, one.text.find(" localhost")));
  }
  return texts;
}

class LibraryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto peers = Peers::Start();
    ASSERT_TRUE(peers.ok()) << MessageOf(peers.status());
    peers_ = *std::move(peers);
  }

  static void TearDownTestSuite() { peers_.reset(); }

  // Loads and attaches; skips with the reason where this machine cannot.
  void Start(Way way) {
    auto fixture = LibraryFixture::Load(way == Way::kSessions, way != Way::kPerf);
    if (!fixture.ok())
      GTEST_SKIP() << MessageOf(fixture.status());
    fixture_ = *std::move(fixture);
    if (way == Way::kSessions && !fixture_->support().sessions)
      GTEST_SKIP() << "this kernel has no session probes";
    const ProbeChoice choice{true, way == Way::kSessions, way == Way::kReturns};
    for (const char* library : kLibraries) {
      auto plan = fixture_->Attach(library, choice);
      ASSERT_TRUE(plan.ok()) << library << ": " << MessageOf(plan.status());
    }
    has_node_ = fixture_->Attach(kNode, choice).ok();
  }

  static std::string Curl(const std::string& peer, const std::string& rest) {
    return "timeout 20 curl -sS --cacert " + peers_->authority() + " " + rest + Url(peer) + "404";
  }

  static std::string Url(const std::string& peer) {
    return " https://localhost:" + peers_->port(peer) + "/";
  }

  static std::string Python(const std::string& kind, const std::string& peer,
                            const std::string& paths) {
    return "timeout 20 /usr/bin/python3 " PEERS_FOLDER "/clients.py " + kind + " " +
           peers_->port(peer) + " " + peers_->authority() + " " + paths;
  }

  static std::string Node(const std::string& peer, const std::string& paths) {
    return "timeout 20 node " PEERS_FOLDER "/client.js " + peers_->port(peer) + " " +
           peers_->authority() + " " + paths;
  }

  static std::unique_ptr<Peers> peers_;
  std::unique_ptr<LibraryFixture> fixture_;
  bool has_node_ = false;
};

std::unique_ptr<Peers> LibraryTest::peers_;

// Of docs/tls-library.md: V = verify result, E = reason of an error, G = class.
struct Row {
  const char* peer;
  std::vector<std::string> curl, urllib, asyncio, node;
};

const Row kTable[] = {
    {"self",
     {"VERIFY 18", "ERROR 134", "RESULT 1"},
     {"VERIFY 18", "ERROR 134", "RESULT 1"},
     {"VERIFY 18", "ERROR 134", "RESULT 1"},
     {"VERIFY 18"}},
    {"expired",
     {"VERIFY 10", "ERROR 134", "RESULT 1"},
     {"VERIFY 10", "ERROR 134", "RESULT 1"},
     {"VERIFY 10", "ERROR 134", "RESULT 1"},
     {"VERIFY 10"}},
    {"name",
     {"VERIFY 0"},
     {"VERIFY 62", "ERROR 134", "RESULT 1"},
     {"VERIFY 62", "ERROR 134", "RESULT 1"},
     {"VERIFY 0"}},
    {"client12",
     {"VERIFY 0", "ERROR 1040", "RESULT 1"},
     {"VERIFY 0", "ERROR 1040", "RESULT 1"},
     {"VERIFY 0", "ERROR 1040", "RESULT 1"},
     {"VERIFY 0", "ERROR 1040", "RESULT 1"}},
    {"client13",
     {"VERIFY 0", "ERROR 1116", "RESULT 1"},
     {"VERIFY 0", "ERROR 1116", "RESULT 1"},
     {"VERIFY 0", "ERROR 1116", "RESULT 1"},
     {"VERIFY 0", "ERROR 1116", "RESULT 1"}},
    {"plain",
     {"ERROR 267", "RESULT 1"},
     {"ERROR 267", "RESULT 1"},
     {"ERROR 267", "RESULT 1"},
     {"ERROR 267", "RESULT 1"}},
    {"close", {"RESULT 5"}, {"RESULT 6"}, {}, {}},
    {"reset", {"RESULT 5"}, {"RESULT 5"}, {}, {}},
};

void ExpectInOrder(const std::vector<Seen>& seen, const std::vector<std::string>& expected,
                   const std::string& what) {
  const std::vector<std::string> texts = TextsOf(seen);
  auto at = texts.begin();
  for (const std::string& text : expected) {
    at = std::find(at, texts.end(), text);
    ASSERT_NE(at, texts.end()) << what << " lacks " << text << ": "
                               << ::testing::PrintToString(texts);
  }
  EXPECT_THAT(texts, Contains("RANDOM")) << what;
  EXPECT_THAT(texts, Contains("FREE")) << what;
  if (expected.empty()) {
    for (const std::string& text : texts)
      EXPECT_NE(text.rfind("RESULT", 0), 0u) << what << ": " << text;
  }
}

TEST_F(LibraryTest, ShowsOfEachFailureWhatEachClientShows) {
  Start(Way::kSessions);
  if (IsSkipped())
    return;
  for (const Row& row : kTable) {
    const std::string peer = row.peer;
    fixture_->Run(Curl(peer, ""));
    ExpectInOrder(fixture_->Take(), row.curl, "curl " + peer);
    fixture_->Run(Python("urllib", peer, "404"));
    ExpectInOrder(fixture_->Take(), row.urllib, "urllib " + peer);
    fixture_->Run(Python("asyncio", peer, "404"));
    ExpectInOrder(fixture_->Take(), row.asyncio, "asyncio " + peer);
    if (has_node_) {
      fixture_->Run(Node(peer, "404"));
      ExpectInOrder(fixture_->Take(), row.node, "node " + peer);
    }
  }
  EXPECT_EQ(fixture_->counters().dropped, 0u);
}

TEST_F(LibraryTest, C13_ReadsThePeersAlertOutOfTheReason) {
  Start(Way::kSessions);
  if (IsSkipped())
    return;
  fixture_->Run(Curl("client13", ""));
  EXPECT_THAT(TextsOf(fixture_->Take()), Contains("ERROR 1116"));  // 1000 + certificate_required
}

TEST_F(LibraryTest, ReportsTheRandomOfTheClientHello) {
  Start(Way::kSessions);
  if (IsSkipped())
    return;
  std::vector<std::string> commands = {Curl("reset", ""), Python("urllib", "reset", "404"),
                                       Python("asyncio", "reset", "404")};
  if (has_node_)
    commands.push_back(Node("reset", "404"));
  for (const std::string& command : commands) {
    std::remove((peers_->folder() + "/random").c_str());
    fixture_->Run(command);
    std::set<std::string> on_the_wire, in_the_library;
    std::ifstream in(peers_->folder() + "/random");
    for (std::string line; std::getline(in, line);) on_the_wire.insert(line);
    for (const Seen& seen : fixture_->Take()) {
      std::string hex;
      for (unsigned char byte : seen.random) {
        char digits[3];
        std::snprintf(digits, sizeof(digits), "%02x", byte);
        hex += digits;
      }
      if (!hex.empty())
        in_the_library.insert(hex);
    }
    EXPECT_THAT(on_the_wire, Not(IsEmpty())) << command;
    EXPECT_EQ(on_the_wire, in_the_library) << command;
  }
}

class LibraryReadTest : public LibraryTest, public ::testing::WithParamInterface<Way> {};

TEST_P(LibraryReadTest, C10_ReadsRequestAndStatusOfEachClient) {
  Start(GetParam());
  if (IsSkipped())
    return;
  fixture_->Run(Curl("good", "-d a=b" + Url("good") + "200?key=secret"));
  EXPECT_THAT(HttpOf(fixture_->Take()),
              ElementsAre("POST /200", "STATUS 200", "POST /404", "STATUS 404"));
  fixture_->Run(Python("urllib", "good", "503"));
  EXPECT_THAT(HttpOf(fixture_->Take()), ElementsAre("GET /503", "STATUS 503"));
  fixture_->Run(Python("asyncio", "good", "404 200"));
  EXPECT_THAT(HttpOf(fixture_->Take()),
              ElementsAre("GET /404", "STATUS 404", "GET /200", "STATUS 200"));
  if (has_node_) {
    fixture_->Run(Node("good", "405 200"));
    EXPECT_THAT(HttpOf(fixture_->Take()),
                ElementsAre("GET /405", "STATUS 405", "GET /200", "STATUS 200"));
  }
  EXPECT_EQ(fixture_->counters().dropped, 0u);
  EXPECT_EQ(fixture_->Entries("open_reads"), 0u);  // C4: cleared at every exit
}

TEST_P(LibraryReadTest, G1_WaitsForTheFinalStatusAndReadsNoBody) {
  Start(GetParam());
  if (IsSkipped())
    return;
  fixture_->Run(Curl("good", Url("good") + "early" + Url("good") + "chunks"));
  EXPECT_THAT(HttpOf(fixture_->Take()),
              ElementsAre("GET /early", "STATUS 103", "STATUS 200", "GET /chunks", "STATUS 200",
                          "GET /404", "STATUS 404"));
  fixture_->Run(Curl("good", "--http1.1 " + Url("good") + "mumble"));
  EXPECT_THAT(HttpOf(fixture_->Take()), Contains("MALFORMED"));
}

TEST_P(LibraryReadTest, FindsTheNextAnswerBehindALongBody) {
  Start(GetParam());
  if (IsSkipped())
    return;
  fixture_->Run(Curl("good", "-o /dev/null" + Url("good") + "big"));
  EXPECT_THAT(HttpOf(fixture_->Take()),
              ElementsAre("GET /big", "STATUS 200", "GET /404", "STATUS 404"));
}

std::string NameOf(const ::testing::TestParamInfo<Way>& info) {
  constexpr const char* kWays[] = {"Sessions", "Returns", "Exits", "Perf"};
  return kWays[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Ways, LibraryReadTest,
                         ::testing::Values(Way::kSessions, Way::kReturns, Way::kExits, Way::kPerf),
                         NameOf);

TEST_F(LibraryTest, HoldsARequestUntilItsWriteWasTaken) {
  Start(Way::kSessions);
  if (IsSkipped() || !has_node_)
    return;
  // Node writes its request before the handshake is through, and posts with a body that looks
  // like a request.
  fixture_->Run(Node("good", "post:404 200"));
  const std::vector<Seen> seen = fixture_->Take();
  EXPECT_THAT(HttpOf(seen), ElementsAre("POST /404", "STATUS 404", "GET /200", "STATUS 200"));
  ExpectInOrder(seen, {"VERIFY 0", "STATUS 404"}, "node");
}

TEST_F(LibraryTest, ReadsHttp2Statuses) {
  Start(Way::kSessions);
  if (IsSkipped())
    return;
  const std::string port = Peers::FreePort();
  const std::string& folder = peers_->folder();
  std::ofstream(folder + "/nginx.conf")
      << "daemon on; pid " << folder << "/nginx.pid; error_log " << folder
      << "/nginx.log;\nevents {}\nhttp {\n"
      << "access_log off; client_body_temp_path " << folder << "; proxy_temp_path " << folder
      << "; fastcgi_temp_path " << folder << "; uwsgi_temp_path " << folder << "; scgi_temp_path "
      << folder << ";\nserver { listen 127.0.0.1:" << port << " ssl http2; ssl_certificate "
      << folder << "/good.pem; ssl_certificate_key " << folder
      << "/good.key;\nlocation /404 { return 404; } location /200 { return 200; } } }\n";
  // A daemon that kept the output open would never let Run() return.
  const std::string nginx =
      "/usr/sbin/nginx -c " + folder + "/nginx.conf -p " + folder + " >/dev/null 2>&1";
  fixture_->Run(nginx, false);
  const std::string url = " https://localhost:" + port + "/";
  fixture_->Run("timeout 20 curl -sS --http2 --cacert " + peers_->authority() + url + "200" + url +
                "404");
  EXPECT_THAT(HttpOf(fixture_->Take()), ElementsAre("H2 1", "STATUS 200", "H2 3", "STATUS 404"));
  fixture_->Run("kill -QUIT $(cat " + folder + "/nginx.pid); for i in $(seq 100); do [ -e " +
                    folder + "/nginx.pid ] || break; sleep 0.05; done",
                false);
}

TEST_F(LibraryTest, C2_KeepsAHundredSessionsOfOneThreadApart) {
  Start(Way::kSessions);
  if (IsSkipped())
    return;
  std::string paths;
  for (int i = 0; i < 100; ++i) paths += std::to_string(400 + i) + " ";
  fixture_->Run(Python("parallel", "good", paths));
  std::map<uint64_t, std::string> asked;
  std::multiset<std::string> answered;
  for (const Seen& seen : fixture_->Take()) {
    if (seen.text.rfind("GET /", 0) == 0)
      asked[seen.key] = seen.text.substr(5, 3);
    if (seen.text.rfind("STATUS ", 0) == 0) {
      EXPECT_EQ(asked[seen.key], seen.text.substr(7));
      answered.insert(seen.text.substr(7));
    }
  }
  EXPECT_EQ(answered.size(), 100u);
  EXPECT_EQ(std::set<std::string>(answered.begin(), answered.end()).size(), 100u);
}

TEST_F(LibraryTest, SeesNothingOutsideTheBoundary) {
  Start(Way::kSessions);
  if (IsSkipped())
    return;
  fixture_->Run(Curl("good", ""), false);
  fixture_->Run(Python("urllib", "good", "404"), false);
  EXPECT_THAT(TextsOf(fixture_->Take()), IsEmpty());
  EXPECT_EQ(fixture_->Entries("library_sessions"), 0u);
}

TEST_F(LibraryTest, D5_C26_SeesEachOfManyShortProcessesAndKeepsNothing) {
  Start(Way::kSessions);
  if (IsSkipped())
    return;
  fixture_->Run("for i in $(seq 50); do " + Curl("good", "-o /dev/null") + "; done");
  const std::vector<std::string> http = HttpOf(fixture_->Take());
  EXPECT_EQ(std::count(http.begin(), http.end(), "STATUS 404"), 50);
  for (const char* map : {"library_sessions", "library_threads", "library_conversations",
                          "open_reads", "resolving_threads"})
    EXPECT_EQ(fixture_->Entries(map), 0u) << map;
}

TEST_F(LibraryTest, TakesNothingPrivateOutOfTheKernel) {
  Start(Way::kSessions);
  if (IsSkipped())
    return;
  fixture_->Run("CANARY=canary-env timeout 20 curl -sS --cacert " + peers_->authority() +
                " -H 'X-Canary: canary-header' -H 'Authorization: Bearer canary-token'"
                " -u canary-user:canary-password -d body=canary-body" +
                Url("good") + "200?query=canary-query");
  const std::vector<Seen> seen = fixture_->Take();
  ASSERT_THAT(HttpOf(seen), Contains("STATUS 200"));
  for (const Seen& one : seen) {
    const auto* text = reinterpret_cast<const char*>(one.record.data());
    EXPECT_EQ(std::string(text, one.record.size()).find("canary"), std::string::npos) << one.text;
  }
}

TEST_F(LibraryTest, ReportsWhatGetaddrinfoSays) {
  Start(Way::kSessions);
  if (IsSkipped())
    return;
  fixture_->Run(
      "/usr/bin/python3 -c 'import socket as s\n"
      "s.getaddrinfo(\"localhost\", 1)\n"
      "s.getaddrinfo(\"127.0.0.1\", 1)\n"
      "s.getaddrinfo(None, 1)\n"
      "try: s.getaddrinfo(\"no.such.name\", 1, flags=s.AI_NUMERICHOST)\n"
      "except OSError: pass'");
  const std::vector<std::string> texts = TextsOf(fixture_->Take());
  ASSERT_EQ(texts.size(), 3u) << ::testing::PrintToString(texts);
  EXPECT_THAT(texts[0], ::testing::StartsWith("RESOLVED 0 localhost "));
  EXPECT_EQ(texts[1], "RESOLVED 0 127.0.0.1 1");
  EXPECT_EQ(texts[2], "RESOLVED -2 no.such.name 0");  // EAI_NONAME
}

TEST_F(LibraryTest, D14_DetachesWithinTwoSeconds) {
  Start(Way::kSessions);
  if (IsSkipped())
    return;
  const auto before = std::chrono::steady_clock::now();
  fixture_->DetachAll();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(2));
}

}  // namespace
}  // namespace routelens

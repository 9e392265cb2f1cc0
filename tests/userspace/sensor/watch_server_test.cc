// SPDX-License-Identifier: Apache-2.0
#include "userspace/sensor/watch_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace routelens {
namespace {

class WatchServerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/watch.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    base_ = name;
    directory_ = base_ + "/routelens";
  }

  void TearDown() override { std::filesystem::remove_all(base_); }

  std::unique_ptr<WatchServer> Listen(WatchLimits limits = {}) {
    auto server = WatchServer::Listen(
        {directory_}, "abc", std::nullopt,
        [](uint64_t dropped) { return "dropped " + std::to_string(dropped); }, limits);
    EXPECT_TRUE(server.ok()) << server.status();
    return server.ok() ? *std::move(server) : nullptr;
  }

  UniqueFd Connect(const std::string& request) {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory_ + "/abc.sock";
    std::memcpy(address.sun_path, path.data(), path.size());
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      return UniqueFd();
    }
    EXPECT_EQ(::write(fd.get(), request.data(), request.size()),
              static_cast<ssize_t>(request.size()));
    return fd;
  }

  static std::string ReadWhatIsThere(int fd) {
    std::string text;
    char chunk[65536];
    for (ssize_t got; (got = ::recv(fd, chunk, sizeof chunk, MSG_DONTWAIT)) > 0;) {
      text.append(chunk, static_cast<size_t>(got));
    }
    return text;
  }

  // Enough turns to accept and to read a request.
  static void Settle(WatchServer& server) {
    for (int i = 0; i < 4; ++i) server.Turn();
  }

  std::string base_;
  std::string directory_;
};

TEST_F(WatchServerTest, SocketAndDirectoryAreForTheirOwnerAlone) {
  const auto server = Listen();

  struct stat info {};

  ASSERT_EQ(::stat((directory_ + "/abc.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat(directory_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
}

TEST_F(WatchServerTest, EachClientGetsWhatItAskedFor) {
  const auto server = Listen();
  EXPECT_FALSE(server->anyone_wants(WatchDetail::kSummary));
  const UniqueFd summary = Connect("summary\n");
  Settle(*server);
  EXPECT_TRUE(server->anyone_wants(WatchDetail::kSummary));
  EXPECT_FALSE(server->anyone_wants(WatchDetail::kAll));
  const UniqueFd all = Connect("all\n");
  Settle(*server);
  server->Publish("first", WatchDetail::kSummary);
  server->Publish("second", WatchDetail::kAll);
  EXPECT_EQ(ReadWhatIsThere(summary.get()), "first\n");
  EXPECT_EQ(ReadWhatIsThere(all.get()), "first\nsecond\n");
}

TEST_F(WatchServerTest, WhoAsksForNothingOrForNonsenseGetsNothing) {
  const auto server = Listen();
  const UniqueFd silent = Connect("");
  const UniqueFd nonsense = Connect("GET / HTTP/1.1\r\n\r\n");
  Settle(*server);
  server->Publish("line", WatchDetail::kSummary);
  EXPECT_EQ(ReadWhatIsThere(silent.get()), "");
  char byte = 0;
  EXPECT_EQ(::recv(nonsense.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST_F(WatchServerTest, ASlowReaderLosesLinesAndIsToldHowMany) {
  const auto server = Listen({16, 4096});
  const UniqueFd slow = Connect("summary\n");
  Settle(*server);
  const std::string line(999, 'x');
  constexpr int kLines = 2000;
  for (int i = 0; i < kLines; ++i) server->Publish(line, WatchDetail::kSummary);
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += ReadWhatIsThere(slow.get());
    server->Turn();
  }
  const auto whole = static_cast<int>(std::count(text.begin(), text.end(), '\n')) - 1;
  EXPECT_LT(whole, kLines);
  EXPECT_GT(whole, 0);
  EXPECT_THAT(text, testing::EndsWith("\ndropped " + std::to_string(kLines - whole) + "\n"));
  server->Publish("after", WatchDetail::kSummary);
  EXPECT_EQ(ReadWhatIsThere(slow.get()), "after\n");
}

TEST_F(WatchServerTest, AClientThatLeavesIsForgotten) {
  const auto server = Listen();
  UniqueFd client = Connect("all\n");
  Settle(*server);
  client.Reset();
  server->Publish("line", WatchDetail::kSummary);
  Settle(*server);
  EXPECT_FALSE(server->anyone_wants(WatchDetail::kSummary));
}

TEST_F(WatchServerTest, RefusesMoreClientsThanItsLimit) {
  const auto server = Listen({1, 4096});
  const UniqueFd first = Connect("summary\n");
  const UniqueFd second = Connect("summary\n");
  Settle(*server);
  server->Publish("line", WatchDetail::kSummary);
  EXPECT_EQ(ReadWhatIsThere(first.get()), "line\n");
  EXPECT_EQ(ReadWhatIsThere(second.get()), "");
}

TEST_F(WatchServerTest, RefusesADirectoryThatIsNotPrivate) {
  ASSERT_EQ(::mkdir(directory_.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  EXPECT_FALSE(WatchServer::Listen({directory_}, "abc", std::nullopt, nullptr).ok());
  ASSERT_EQ(::rmdir(directory_.c_str()), 0);
  ASSERT_EQ(::symlink("/tmp", directory_.c_str()), 0);
  EXPECT_FALSE(WatchServer::Listen({directory_}, "abc", std::nullopt, nullptr).ok());
}

TEST_F(WatchServerTest, TakesTheNextDirectoryWhenOneCannotBe) {
  const auto server =
      WatchServer::Listen({"/proc/nothing/routelens", directory_}, "abc", std::nullopt, nullptr);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->path(), directory_ + "/abc.sock");
}

TEST_F(WatchServerTest, ItsNameGoesWithIt) {
  Listen().reset();
  EXPECT_NE(::access((directory_ + "/abc.sock").c_str(), F_OK), 0);
}

TEST_F(WatchServerTest, SocketsOfDeadSessionsAreCleanedUp) {
  {
    const auto first = Listen();
    // As after SIGKILL: the name stays.
    ASSERT_EQ(::rename((directory_ + "/abc.sock").c_str(), (directory_ + "/dead.sock").c_str()), 0);
  }
  const auto second = Listen();
  EXPECT_NE(::access((directory_ + "/dead.sock").c_str(), F_OK), 0);
  EXPECT_EQ(::access((directory_ + "/abc.sock").c_str(), F_OK), 0);
}

TEST(WatchDirectories, StartWithThePrivateOne) {
  EXPECT_THAT(WatchDirectories(1000, "/run/user/1000"),
              testing::ElementsAre("/run/user/1000/routelens", "/tmp/routelens-1000"));
  EXPECT_THAT(WatchDirectories(0, ""),
              testing::ElementsAre("/run/user/0/routelens", "/run/routelens", "/tmp/routelens-0"));
  EXPECT_THAT(WatchDirectories(5, "relative"),
              testing::ElementsAre("/run/user/5/routelens", "/tmp/routelens-5"));
}

}  // namespace
}  // namespace routelens

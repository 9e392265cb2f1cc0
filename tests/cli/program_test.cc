// SPDX-License-Identifier: Apache-2.0
//
// The program itself where it needs no kernel side: exit statuses, bad input, what it writes where.
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace routelens {
namespace {

using testing::HasSubstr;

struct Result {
  int status = -1;
  std::string out;
  std::string err;
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Program : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/program.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    ASSERT_EQ(::chmod(name.c_str(), 0777), 0);
    directory_ = name;
  }

  void TearDown() override { std::filesystem::remove_all(directory_); }

  Result Run(
      std::vector<std::string> words, const std::function<void()>& before_exec = [] {}) {
    words.insert(words.begin(), ROUTELENS);
    const std::string out = directory_ + "/out";
    const std::string err = directory_ + "/err";
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), STDOUT_FILENO);
      ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), STDERR_FILENO);
      before_exec();
      std::vector<char*> pointers;
      for (std::string& word : words) pointers.push_back(word.data());
      pointers.push_back(nullptr);
      ::execv(pointers[0], pointers.data());
      ::_exit(99);
    }
    Result result;
    int status = 0;
    ::waitpid(pid, &status, 0);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = ReadFile(out);
    result.err = ReadFile(err);
    return result;
  }

  std::string Policy(const std::string& text) {
    const std::string path = directory_ + "/policy.yaml";
    std::ofstream(path) << text;
    return path;
  }

  std::string directory_;
};

constexpr char kGoodPolicy[] =
    "network_policies:\n"
    "  tools:\n"
    "    endpoints:\n"
    "      - {host: MCP.example.com, port: 443, protocol: mcp, path: /mcp}\n"
    "    binaries: [{path: /usr/bin/curl}]\n";

bool IsOneLine(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

TEST_F(Program, ListsTheRoutesOfAPolicy) {
  const Result result = Run({"policy", "routes", Policy(kGoodPolicy)});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("mcp.example.com:443 /mcp\n    mcp-route:v1:"));
  EXPECT_EQ(result.err, "");
}

TEST_F(Program, SubjectOfARouteIsTheSubjectInThePolicy) {
  const Result subject =
      Run({"subject", "--host", "mcp.example.com", "--port", "443", "--path", "/mcp"});
  EXPECT_EQ(subject.status, 0);
  EXPECT_THAT(Run({"policy", "routes", Policy(kGoodPolicy)}).out, HasSubstr(subject.out));
}

TEST_F(Program, PolicyCheckFailsOnErrorsAndOnWarningsWhenStrict) {
  EXPECT_EQ(Run({"policy", "check", Policy(kGoodPolicy)}).status, 0);
  const std::string odd = Policy(std::string(kGoodPolicy) + "unknown_field: 1\n");
  const Result warned = Run({"policy", "check", odd});
  EXPECT_EQ(warned.status, 0);
  EXPECT_THAT(warned.out, HasSubstr("unknown_field"));
  EXPECT_EQ(Run({"policy", "check", "--strict", odd}).status, 1);
}

TEST_F(Program, BadPoliciesAreOneClearErrorThatNamesTheFile) {
  const std::string deep(100000, '[');
  for (const std::string& text : std::vector<std::string>{
           "{", "- a", "network_policies: 5", std::string("a\0b", 3), deep,
           "network_policies: {a: {endpoints: [{host: h, ports: [0], protocol: mcp}]}}",
           "network_policies: {a: {endpoints: [{host: h, port: 70000, protocol: mcp}]}}",
           "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nnetwork_policies: *c"}) {
    const Result result = Run({"policy", "check", Policy(text)});
    EXPECT_EQ(result.status, 1) << text.substr(0, 80);
    EXPECT_TRUE(IsOneLine(result.err)) << result.err.substr(0, 300);
    EXPECT_THAT(result.err, HasSubstr("policy.yaml"));
    EXPECT_EQ(result.out, "");
  }
  const Result missing = Run({"policy", "check", directory_ + "/none.yaml"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("none.yaml"));
}

TEST_F(Program, HostileNamesNeverReachTheTerminalRaw) {
  const Result result = Run({"policy", "check", Policy("\"a\\e]0;x\\a\": 1\n")});
  EXPECT_EQ((result.out + result.err).find('\x1b'), std::string::npos);
  EXPECT_EQ(Run({"\x1b[31m"}).err.find('\x1b'), std::string::npos);
}

TEST_F(Program, UsageErrorsEndWithTwo) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{}, {"rnu"}, {"run"}, {"attach"}, {"replay"}}) {
    const Result result = Run(words);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(IsOneLine(result.err)) << result.err;
  }
}

TEST_F(Program, StandardOutputThatCannotBeWrittenIsAnError) {
  const Result full = Run({"subject", "--host", "h", "--port", "1"},
                          [] { ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO); });
  EXPECT_EQ(full.status, 125);
  EXPECT_TRUE(IsOneLine(full.err));
  const Result closed =
      Run({"subject", "--host", "h", "--port", "1"}, [] { ::close(STDOUT_FILENO); });
  EXPECT_EQ(closed.status, 125);
}

TEST_F(Program, RunStartsNothingWhenThePolicyIsWrong) {
  const std::string trace = directory_ + "/started";
  const Result result = Run({"run", "--policy", Policy("{"), "--", "touch", trace});
  EXPECT_EQ(result.status, 125);
  EXPECT_TRUE(IsOneLine(result.err)) << result.err;
  EXPECT_FALSE(std::filesystem::exists(trace));
}

TEST_F(Program, RunStartsNothingWhenAnOutputCannotBeMade) {
  const std::string trace = directory_ + "/started";
  for (const char* flag : {"--output", "--record"}) {
    const Result result = Run({"run", flag, directory_ + "/none/x", "--", "touch", trace});
    EXPECT_EQ(result.status, 125);
    EXPECT_THAT(result.err, HasSubstr("/none/x"));
    EXPECT_FALSE(std::filesystem::exists(trace));
  }
}

TEST_F(Program, WithoutPrivilegeRunNamesWhatIsMissingAndStartsNothing) {
  const std::string trace = directory_ + "/started";
  const auto become_nobody = [] {
    if (::geteuid() != 0)
      return;
    if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0)
      ::_exit(98);
  };
  const Result run = Run({"run", "--", "touch", trace}, become_nobody);
  EXPECT_EQ(run.status, 125);
  EXPECT_TRUE(IsOneLine(run.err)) << run.err;
  EXPECT_THAT(run.err, HasSubstr("cap_bpf"));
  EXPECT_THAT(run.err, HasSubstr("sudo"));
  EXPECT_FALSE(std::filesystem::exists(trace));
  const Result doctor = Run({"doctor", "--json"}, become_nobody);
  EXPECT_EQ(doctor.status, 1);
  EXPECT_THAT(doctor.out, HasSubstr("\"floor_met\": false"));
}

TEST_F(Program, ReplayOfNoRecordingSaysSo) {
  const std::string path = directory_ + "/no.rlrec";
  for (const std::string& text : {std::string(), std::string("hello"), std::string(4096, '\0')}) {
    std::ofstream(path) << text;
    const Result result = Run({"replay", path});
    EXPECT_EQ(result.status, 1);
    EXPECT_TRUE(IsOneLine(result.err)) << result.err;
    EXPECT_THAT(result.err, HasSubstr("no.rlrec"));
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(Run({"replay", directory_ + "/none"}).status, 1);
}

TEST_F(Program, WatchWithoutASessionSaysSo) {
  const Result result = Run({"watch", "no-such-id"});
  EXPECT_EQ(result.status, 125);
  EXPECT_TRUE(IsOneLine(result.err));
}

TEST_F(Program, AttachToNothingSaysSo) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "needs root to get as far as that";
  const Result pid = Run({"attach", "--pid", "4194303"});
  EXPECT_EQ(pid.status, 125);
  EXPECT_THAT(pid.err, HasSubstr("4194303"));
  const Result cgroup = Run({"attach", "--cgroup", "/no/such/cgroup"});
  EXPECT_EQ(cgroup.status, 125);
  EXPECT_THAT(cgroup.err, HasSubstr("/no/such/cgroup"));
  const Result root = Run({"attach", "--cgroup", "/"});
  EXPECT_EQ(root.status, 125);
  EXPECT_THAT(root.err, HasSubstr("--pid"));
}

}  // namespace
}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
//
// `run`, `attach` and `watch` with the real kernel side: what the command gets, what is left
// behind, and what happens when things break in the middle. What Routelens says of traffic is
// tested elsewhere; here it only has to say something.
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "userspace/boundary/cgroup.h"
#include "userspace/boundary/process.h"

namespace routelens {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr auto kPatience = std::chrono::seconds(60);  // loading takes seconds on a busy machine

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool Eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    if (condition())
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

class Session : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0)
      GTEST_SKIP() << "watching needs root";
    std::string name = testing::TempDir() + "/session.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    ASSERT_EQ(::chmod(name.c_str(), 0777), 0);
    directory_ = name;
  }

  void TearDown() override {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    if (!directory_.empty())
      std::filesystem::remove_all(directory_);
  }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  // Starts the program; its output goes to the files out and err.
  void Start(
      std::vector<std::string> words, const std::function<void()>& before_exec = [] {}) {
    words.insert(words.begin(), ROUTELENS);
    const std::string out = Path("out");
    const std::string err = Path("err");
    // What an earlier start wrote must not be taken for this one's.
    std::filesystem::remove(out);
    std::filesystem::remove(err);
    pid_ = ::fork();
    if (pid_ != 0)
      return;
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), STDERR_FILENO);
    before_exec();
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(pointers[0], pointers.data());
    ::_exit(99);
  }

  int Wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // Library probes are most of the time to load, and another test's business.
  static std::vector<std::string> Run(std::vector<std::string> flags,
                                      const std::vector<std::string>& command) {
    flags.insert(flags.begin(), {"run", "--no-library-probes"});
    flags.emplace_back("--");
    flags.insert(flags.end(), command.begin(), command.end());
    return flags;
  }

  static std::vector<std::string> Shell(const std::string& script) {
    return {"/bin/sh", "-c", script};
  }

  std::string Err() const { return ReadFile(Path("err")); }

  std::string Out() const { return ReadFile(Path("out")); }

  bool CommandIsReady() const {
    return Eventually([&] { return std::filesystem::exists(Path("ready")); });
  }

  // The child of the program that is not its command.
  pid_t AnalystPid(pid_t command) const {
    for (const ProcessInfo& info : ListProcesses()) {
      if (info.parent == pid_ && info.pid != command)
        return info.pid;
    }
    return -1;
  }

  pid_t CommandPid() const { return std::stoi(ReadFile(Path("ready"))); }

  std::string directory_;
  pid_t pid_ = -1;
};

int CountBpfDescriptors(pid_t pid) {
  int count = 0;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.find("bpf-") != std::string::npos || target.find("bpf_link") != std::string::npos)
      ++count;
  }
  return count;
}

int CountCgroupPrograms(const CgroupDirectory& cgroup) {
  int programs = 0;
  for (const bpf_attach_type type :
       {BPF_CGROUP_INET_INGRESS, BPF_CGROUP_INET_EGRESS, BPF_CGROUP_SOCK_OPS,
        BPF_CGROUP_INET4_CONNECT, BPF_CGROUP_INET6_CONNECT}) {
    __u32 attach_flags = 0;
    __u32 ids[16];
    __u32 count = 16;
    if (bpf_prog_query(cgroup.fd.get(), type, 0, &attach_flags, ids, &count) == 0)
      programs += static_cast<int>(count);
  }
  return programs;
}

TEST_F(Session, GivesTheCommandWhatItWouldHaveWithoutUs) {
  const auto surroundings = [] {
    ::umask(027);
    ::setenv("ODD", "a b", 1);
    ::unsetenv("SUDO_UID");
    ::unsetenv("SUDO_GID");
    ::signal(SIGUSR2, SIG_IGN);
    ::dup2(::open("/dev/zero", O_RDONLY), 37);
    const rlimit core{0, 1000};
    ::setrlimit(RLIMIT_CORE, &core);
  };
  const pid_t direct = ::fork();
  if (direct == 0) {
    ::dup2(::open(Path("direct").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666), STDOUT_FILENO);
    ::dup2(::open(Path("err").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666), STDERR_FILENO);
    surroundings();
    ::execl(SHOW_SELF, SHOW_SELF, "x", nullptr);
    ::_exit(99);
  }
  ::waitpid(direct, nullptr, 0);
  Start(Run({"--quiet"}, {SHOW_SELF, "x"}), surroundings);
  ASSERT_EQ(Wait(), 0) << Err();
  std::string expected = ReadFile(Path("direct"));
  std::string actual = Out();
  for (std::string* text : {&expected, &actual}) {
    // Standard output and error are other files each time.
    for (const char* own : {"fd 1 ", "fd 2 "}) {
      const size_t at = text->find(own);
      ASSERT_NE(at, std::string::npos);
      text->erase(at, text->find('\n', at) - at);
    }
  }
  EXPECT_EQ(actual, expected);
}

TEST_F(Session, ExitStatusIsTheCommands) {
  Start(Run({}, Shell("exit 7")));
  EXPECT_EQ(Wait(), 7);
  EXPECT_THAT(Err(), HasSubstr("routelens: 0 routes"));
  EXPECT_EQ(Out(), "");
  Start(Run({}, Shell("kill -TERM $$")));
  EXPECT_EQ(Wait(), 128 + SIGTERM);
  Start(Run({}, {"/nonexistent/program"}));
  EXPECT_EQ(Wait(), 127);
  EXPECT_THAT(Err(), HasSubstr("/nonexistent/program"));
  EXPECT_THAT(Err(), Not(HasSubstr("routes")));
  Start(Run({}, {"/etc/passwd"}));
  EXPECT_EQ(Wait(), 126);
}

// Without library probes libc's rung is gone: what is left is fexit, where the kernel permits it,
// or what the flag asks for.
TEST_F(Session, SyscallExitServesConnectError) {
  Start(Run({"--syscall-exit", "--quiet", "--output", Path("report.json")}, Shell("exit 0")));
  ASSERT_EQ(Wait(), 0) << Err();
  const json report = json::parse(ReadFile(Path("report.json")));
  for (const json& capability : report["coverage"]["capabilities"]) {
    if (capability["name"] != "connect_error")
      continue;
    EXPECT_EQ(capability["present"], true);
    EXPECT_THAT(capability["via"].get<std::string>(),
                testing::AnyOf("tp_btf/sys_exit", "fexit/inet_stream_connect"));
    return;
  }
  FAIL() << "the coverage lacks connect_error";
}

TEST_F(Session, ReportsASignalledCommandAndLeavesNoCgroup) {
  Start(Run({"--json"},
            Shell("cat /proc/self/cgroup >" + Path("cgroup") + "; echo $$ >" + Path("ready.tmp") +
                  "; mv " + Path("ready.tmp") + " " + Path("ready") + "; exec sleep 60")));
  ASSERT_TRUE(CommandIsReady()) << Err();
  const auto path = ParseUnifiedPath(ReadFile(Path("cgroup")));
  ASSERT_TRUE(path.has_value());
  EXPECT_THAT(*path, HasSubstr("/routelens-"));
  ::kill(pid_, SIGTERM);
  EXPECT_EQ(Wait(), 128 + SIGTERM);
  EXPECT_TRUE(json::accept(Err())) << Err();
  auto tree = CgroupTree::Open();
  ASSERT_TRUE(tree.ok());
  EXPECT_FALSE(tree->OpenDirectory(*path).ok());
}

TEST_F(Session, TheAnalystHoldsNothing) {
  Start(Run({}, Shell("echo $$ >" + Path("ready.tmp") + "; mv " + Path("ready.tmp") + " " +
                      Path("ready") + "; exec sleep 60")));
  ASSERT_TRUE(CommandIsReady()) << Err();
  const pid_t analyst = AnalystPid(CommandPid());
  ASSERT_GT(analyst, 0);
  const std::string status = ReadFile("/proc/" + std::to_string(analyst) + "/status");
  for (const char* line :
       {"CapInh:\t0000000000000000\n", "CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n",
        "CapAmb:\t0000000000000000\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n"}) {
    EXPECT_THAT(status, HasSubstr(line));
  }
  EXPECT_EQ(CountBpfDescriptors(analyst), 0);
  EXPECT_GT(CountBpfDescriptors(pid_), 0);
  const std::string attacher = ReadFile("/proc/" + std::to_string(pid_) + "/status");
  EXPECT_THAT(attacher, HasSubstr("NoNewPrivs:\t1\n"));
  EXPECT_THAT(attacher, Not(HasSubstr("CapEff:\t000001ffffffffff\n")));
  ::kill(CommandPid(), SIGKILL);
  EXPECT_EQ(Wait(), 128 + SIGKILL);
}

TEST_F(Session, KilledInTheMiddleLeavesTheCommandAndNothingElse) {
  Start(
      Run({}, Shell("cat /proc/self/cgroup >" + Path("cgroup") + "; echo $$ >" + Path("ready.tmp") +
                    "; mv " + Path("ready.tmp") + " " + Path("ready") + "; exec sleep 60")));
  ASSERT_TRUE(CommandIsReady()) << Err();
  const pid_t command = CommandPid();
  const pid_t analyst = AnalystPid(command);
  auto tree = CgroupTree::Open();
  ASSERT_TRUE(tree.ok());
  auto cgroup = tree->OpenDirectory(*ParseUnifiedPath(ReadFile(Path("cgroup"))));
  ASSERT_TRUE(cgroup.ok()) << cgroup.status();
  EXPECT_GT(CountCgroupPrograms(*cgroup), 0);
  ::kill(pid_, SIGKILL);
  EXPECT_EQ(Wait(), 128 + SIGKILL);
  EXPECT_EQ(::kill(command, 0), 0);
  EXPECT_TRUE(Eventually([&] { return CountCgroupPrograms(*cgroup) == 0; }));
  EXPECT_TRUE(Eventually([&] {
    const auto left = ReadProcess(analyst);
    return !left.ok() || left->parent != 1 ||
           ReadFile("/proc/" + std::to_string(analyst) + "/cmdline").empty();
  }));
  // What was known is not lost.
  EXPECT_TRUE(Eventually([&] { return Err().find("routelens: 0 routes") != std::string::npos; }));
  ::kill(command, SIGKILL);
  // The next start removes the cgroup.
  const std::string path = cgroup->path;
  EXPECT_TRUE(Eventually([&] {
    const auto populated = IsPopulated(*cgroup);
    return populated.ok() && !*populated;
  }));
  RemoveLeftoverCgroups(*tree);
  EXPECT_FALSE(tree->OpenDirectory(path).ok());
}

TEST_F(Session, WithoutItsAnalystGoesOnWithTheCommand) {
  Start(Run({}, Shell("echo $$ >" + Path("ready.tmp") + "; mv " + Path("ready.tmp") + " " +
                      Path("ready") + "; while [ ! -e " + Path("go") + " ]; do sleep 0.05; done")));
  ASSERT_TRUE(CommandIsReady()) << Err();
  ::kill(AnalystPid(CommandPid()), SIGKILL);
  EXPECT_TRUE(Eventually([&] { return Err().find("watching has ended") != std::string::npos; }));
  std::ofstream(Path("go")) << "go";
  EXPECT_EQ(Wait(), 125);
  EXPECT_THAT(Err(), HasSubstr("no complete report"));
}

TEST_F(Session, FullDisksAreSaidAndLoseNothingThatWasKnown) {
  Start(Run({"--output", "/dev/full"}, Shell("exit 0")));
  EXPECT_EQ(Wait(), 125);
  EXPECT_THAT(Err(), HasSubstr("/dev/full"));
  EXPECT_THAT(Err(), HasSubstr("routelens: 0 routes"));
  Start(Run({"--record", "/dev/full"}, Shell("exit 3")));
  EXPECT_EQ(Wait(), 3);
  EXPECT_THAT(Err(), HasSubstr("recording cut"));
  EXPECT_THAT(Err(), HasSubstr("missing in the recording"));
}

TEST_F(Session, ADescriptorLimitIsOneClearErrorAndStartsNothing) {
  Start(Run({}, {"touch", Path("started")}), [] {
    const rlimit few{12, 12};
    ::setrlimit(RLIMIT_NOFILE, &few);
  });
  EXPECT_EQ(Wait(), 125);
  EXPECT_FALSE(std::filesystem::exists(Path("started")));
  EXPECT_THAT(Err(), testing::MatchesRegex("routelens: [^\n]*\n"));
}

TEST_F(Session, UnderSudoFilesAndCommandAreTheUsers) {
  ASSERT_EQ(::mkdir(Path("mine").c_str(), 0755), 0);
  ASSERT_EQ(::chown(Path("mine").c_str(), 65534, 65534), 0);
  const std::string output = Path("mine/report.json");
  const std::string recording = Path("mine/events.rlrec");
  Start(Run({"--output", output, "--record", recording, "--quiet"}, {"id", "-u"}), [] {
    ::setenv("SUDO_UID", "65534", 1);
    ::setenv("SUDO_GID", "65534", 1);
  });
  EXPECT_EQ(Wait(), 0) << Err();
  EXPECT_EQ(Out(), "65534\n");
  for (const std::string& path : {output, recording}) {
    struct stat info {};

    ASSERT_EQ(::stat(path.c_str(), &info), 0) << path;
    EXPECT_EQ(info.st_uid, 65534u) << path;
  }
  EXPECT_TRUE(json::accept(ReadFile(output)));
  // And not more than the user's: a folder of root's is closed.
  ASSERT_EQ(::mkdir(Path("roots").c_str(), 0755), 0);
  Start(Run({"--output", Path("roots/x")}, {"touch", Path("started")}), [] {
    ::setenv("SUDO_UID", "65534", 1);
    ::setenv("SUDO_GID", "65534", 1);
  });
  EXPECT_EQ(Wait(), 125);
  EXPECT_FALSE(std::filesystem::exists(Path("roots/x")));
}

// A listener on loopback that accepts and forgets.
class Listener {
 public:
  Listener() {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_, 16), 0);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }

  ~Listener() { ::close(fd_); }

  uint16_t port() const { return port_; }

 private:
  int fd_ = -1;
  uint16_t port_ = 0;
};

TEST_F(Session, ReplaysToTheSameBytes) {
  // Nobody listens there: a port that was free a moment ago.
  const uint16_t port = Listener().port();
  std::ofstream(Path("policy.yaml"))
      << "network_policies: {a: {endpoints: [{host: 127.0.0.1, port: " << port
      << ", protocol: mcp}], binaries: [{path: /usr/bin/bash}]}}\n";
  Start(Run({"-q", "-p", Path("policy.yaml"), "-o", Path("live.json"), "--record", Path("rec")},
            {"/bin/bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(port)}));
  EXPECT_EQ(Wait(), 1);
  const json live = json::parse(ReadFile(Path("live.json")), nullptr, false);
  ASSERT_TRUE(live.is_object()) << Err();
  EXPECT_EQ(live["conditions"][0]["reason"], "TransportFailed") << live.dump(1);
  Start({"replay", Path("rec"), "-o", Path("again.json")});
  EXPECT_EQ(Wait(), 0) << Err();
  EXPECT_EQ(ReadFile(Path("again.json")), ReadFile(Path("live.json")));
}

TEST_F(Session, AttachEndsWithItsProcessAndReportsOnStandardOutput) {
  const pid_t sleeper = ::fork();
  if (sleeper == 0) {
    ::execlp("sleep", "sleep", "60", nullptr);
    ::_exit(99);
  }
  Start({"attach", "--no-library-probes", "--pid", std::to_string(sleeper), "--json"});
  EXPECT_TRUE(Eventually([&] { return Err().find("watching process") != std::string::npos; }))
      << Err();
  ::kill(sleeper, SIGKILL);
  ::waitpid(sleeper, nullptr, 0);
  EXPECT_EQ(Wait(), 0) << Err();
  EXPECT_TRUE(json::accept(Out())) << Out();
}

TEST_F(Session, AttachEndsAfterItsTimeAndAtASignal) {
  const std::string self = std::to_string(::getpid());
  Start({"attach", "--no-library-probes", "--pid", self, "--duration", "0.2"});
  EXPECT_EQ(Wait(), 0) << Err();
  EXPECT_THAT(Out(), HasSubstr("routelens: 0 routes"));
  Start({"attach", "--no-library-probes", "--pid", self});
  EXPECT_TRUE(Eventually([&] { return Err().find("watching") != std::string::npos; }));
  ::kill(pid_, SIGINT);
  EXPECT_EQ(Wait(), 0) << Err();
}

TEST_F(Session, WatchSeesWhatHappensAndTheEnd) {
  const Listener listener;
  const std::string run_dir = Path("run");
  ASSERT_EQ(::mkdir(run_dir.c_str(), 0700), 0);
  const auto in_run_dir = [&] { ::setenv("XDG_RUNTIME_DIR", run_dir.c_str(), 1); };
  Start(Run({"--quiet"}, {"/bin/bash", "-c",
                          "echo $$ >" + Path("ready") + "; while [ ! -e " + Path("go") +
                              " ]; do sleep 0.05; done; exec 3<>/dev/tcp/127.0.0.1/" +
                              std::to_string(listener.port())}),
        in_run_dir);
  ASSERT_TRUE(CommandIsReady()) << Err();
  // Other sessions may run on this host: this one by its name.
  const auto socket = std::filesystem::directory_iterator(run_dir + "/routelens");
  const std::string id = socket->path().stem().string();
  const pid_t watcher = ::fork();
  if (watcher == 0) {
    in_run_dir();
    ::dup2(::open(Path("lines").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666), STDOUT_FILENO);
    ::execl(ROUTELENS, ROUTELENS, "watch", "--all", "--json", id.c_str(), nullptr);
    ::_exit(99);
  }
  // It has nothing to read until something happens: give it the time to connect.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::ofstream(Path("go")) << "go";
  EXPECT_EQ(Wait(), 0) << Err();
  int status = -1;
  ::waitpid(watcher, &status, 0);
  EXPECT_EQ(status, 0);
  const std::string lines = ReadFile(Path("lines"));
  EXPECT_THAT(lines, HasSubstr("\"event\":\"connect\""));
  EXPECT_THAT(lines, HasSubstr("127.0.0.1:" + std::to_string(listener.port())));
  EXPECT_THAT(lines, testing::EndsWith("{\"event\":\"end\"}\n"));
  EXPECT_TRUE(std::filesystem::is_empty(run_dir + "/routelens"));
}

TEST_F(Session, StandardErrorThatNobodyReadsDoesNotHoldTheCommand) {
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  Start(Run({"--watch"}, Shell("exit 5")), [&] {
    ::dup2(fds[1], STDERR_FILENO);
    ::close(fds[0]);
    ::close(fds[1]);
  });
  ::close(fds[0]);
  ::close(fds[1]);
  EXPECT_EQ(Wait(), 5);
}

}  // namespace
}  // namespace routelens

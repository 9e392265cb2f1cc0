// SPDX-License-Identifier: Apache-2.0
//
// The command runner with real children and without a sensor: what a command gets when Routelens
// stands in front of it must be what it gets without.
#include "userspace/boundary/command.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace routelens {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Ended {
  int status = -1;  // as waitpid gives it
  std::string output;

  int exit_status() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
};

// A child with its standard output in a pipe.
class Child {
 public:
  Child(
      std::vector<std::string> argv, const std::function<void()>& before_exec = [] {}) {
    int fds[2];
    EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(fds[1], STDOUT_FILENO);
      before_exec();
      std::vector<char*> pointers;
      for (std::string& word : argv) pointers.push_back(word.data());
      pointers.push_back(nullptr);
      ::execvp(pointers[0], pointers.data());
      ::_exit(99);
    }
    ::close(fds[1]);
    output_ = fds[0];
  }

  pid_t pid() const { return pid_; }

  // Reads until `text` has come.
  bool WaitForOutput(const std::string& text) {
    char chunk[512];
    while (seen_.find(text) == std::string::npos) {
      const ssize_t got = ::read(output_, chunk, sizeof chunk);
      if (got <= 0)
        return false;
      seen_.append(chunk, static_cast<size_t>(got));
    }
    return true;
  }

  Ended Wait() {
    Ended ended;
    char chunk[4096];
    for (ssize_t got; (got = ::read(output_, chunk, sizeof chunk)) > 0;) {
      seen_.append(chunk, static_cast<size_t>(got));
    }
    ::close(output_);
    EXPECT_EQ(::waitpid(pid_, &ended.status, 0), pid_);
    ended.output = seen_;
    return ended;
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string seen_;
};

std::vector<std::string> Wrapped(std::vector<std::string> argv) {
  argv.insert(argv.begin(), BARE_RUN);
  return argv;
}

std::vector<std::string> Shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

TEST(Command, GetsExactlyWhatItGetsWithoutUs) {
  const auto odd_surroundings = [] {
    ::setpgid(0, 0);
    ::umask(027);
    (void)!::chdir("/usr");
    ::setenv("ODD", "a b\nc", 1);
    ::unsetenv("SUDO_UID");
    ::unsetenv("SUDO_GID");
    ::signal(SIGUSR2, SIG_IGN);
    ::signal(SIGCHLD, SIG_IGN);
    sigset_t blocked;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGWINCH);
    ::sigaddset(&blocked, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
    const int passed_on = ::open("/dev/zero", O_RDONLY);
    ::dup2(passed_on, 37);
    ::close(passed_on);
  };
  // Only the numbers of the process group differ, for the group is made anew each time.
  const auto clean = [](std::string text) {
    const size_t at = text.find("group ");
    const size_t end = text.find('\n', at);
    return text.replace(at, end - at, "");
  };
  Child direct({SHOW_SELF, "one", ""}, odd_surroundings);
  const Ended without = direct.Wait();
  Child wrapped(Wrapped({SHOW_SELF, "one", ""}), odd_surroundings);
  const Ended with = wrapped.Wait();
  ASSERT_EQ(without.exit_status(), 0);
  EXPECT_EQ(with.exit_status(), 0);
  std::string expected = clean(without.output);
  std::string actual = clean(with.output);
  // Its standard output is another pipe each time.
  for (std::string* text : {&expected, &actual}) {
    const size_t at = text->find("fd 1 ");
    ASSERT_NE(at, std::string::npos);
    text->erase(at, text->find('\n', at) - at);
  }
  EXPECT_EQ(actual, expected);
  EXPECT_THAT(actual, testing::HasSubstr("fd 37 "));
}

TEST(Command, StaysInOurProcessGroupAndSession) {
  Child wrapped(Wrapped({SHOW_SELF}), [] { ::setpgid(0, 0); });
  const std::string group = std::to_string(wrapped.pid());
  const Ended ended = wrapped.Wait();
  EXPECT_THAT(ended.output, testing::HasSubstr("group " + group + " "));
}

TEST(Command, KeepsItsStandardDescriptorsClosedWhereTheyWereClosed) {
  const auto closed = [] {
    ::close(STDIN_FILENO);
    ::close(STDERR_FILENO);
  };
  Child direct({SHOW_SELF}, closed);
  Child wrapped(Wrapped({SHOW_SELF}), closed);
  for (const Ended& ended : {direct.Wait(), wrapped.Wait()}) {
    EXPECT_EQ(ended.exit_status(), 0);
    EXPECT_THAT(ended.output, testing::Not(testing::HasSubstr("fd 0 ")));
    EXPECT_THAT(ended.output, testing::Not(testing::HasSubstr("fd 2 ")));
  }
}

TEST(Command, ExitStatusIsPassedOn) {
  for (const int status : {0, 1, 7, 125, 255}) {
    EXPECT_EQ(Child(Wrapped(Shell("exit " + std::to_string(status)))).Wait().exit_status(), status);
  }
}

TEST(Command, DeathBySignalIs128AndTheSignal) {
  EXPECT_EQ(Child(Wrapped(Shell("kill -KILL $$"))).Wait().exit_status(), 128 + SIGKILL);
  EXPECT_EQ(Child(Wrapped(Shell("kill -SEGV $$"))).Wait().exit_status(), 128 + SIGSEGV);
}

TEST(Command, NotThereIs127AndNotExecutableIs126) {
  EXPECT_EQ(Child(Wrapped({"/nonexistent/program"})).Wait().exit_status(), 127);
  EXPECT_EQ(Child(Wrapped({"routelens-no-such-command"})).Wait().exit_status(), 127);
  EXPECT_EQ(Child(Wrapped({"/etc/passwd/x"})).Wait().exit_status(), 127);
  EXPECT_EQ(Child(Wrapped({"/etc/passwd"})).Wait().exit_status(), 126);
  EXPECT_EQ(Child(Wrapped({"/"})).Wait().exit_status(), 126);
}

TEST(Command, ThatWasNeverReleasedLeavesNoTrace) {
  const std::string trace = testing::TempDir() + "/never_released";
  ::unlink(trace.c_str());
  Child child(Wrapped(Shell("touch " + trace)), [] { ::setenv("FAIL", "1", 1); });
  EXPECT_EQ(child.Wait().exit_status(), 125);
  EXPECT_NE(::access(trace.c_str(), F_OK), 0);
}

TEST(Command, EachRelayedSignalReachesItOnce) {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM}) {
    const std::string number = std::to_string(signal);
    // A shell runs its trap when the foreground command is over: short naps.
    Child child(Wrapped(Shell("n=0; trap 'n=$((n+1))' " + number +
                              "; echo ready; while [ $n -eq 0 ]; do sleep 0.01; done; sleep 0.05; "
                              "echo got $n; exit 3")));
    ASSERT_TRUE(child.WaitForOutput("ready"));
    ::kill(child.pid(), signal);
    const Ended ended = child.Wait();
    EXPECT_EQ(ended.exit_status(), 3) << signal;
    EXPECT_THAT(ended.output, testing::HasSubstr("got 1\n")) << signal;
  }
}

TEST(Command, ThatIgnoresASignalGoesOn) {
  Child child(Wrapped(Shell("trap '' TERM; echo ready; sleep 0.3; exit 4")));
  ASSERT_TRUE(child.WaitForOutput("ready"));
  ::kill(child.pid(), SIGTERM);
  EXPECT_EQ(child.Wait().exit_status(), 4);
}

TEST(Command, StopsUsWhenItStopsAndGoesOnWithUs) {
  Child child(Wrapped(Shell("echo ready; kill -STOP $$; echo on; exit 5")));
  ASSERT_TRUE(child.WaitForOutput("ready"));
  int status = 0;
  ASSERT_EQ(::waitpid(child.pid(), &status, WUNTRACED), child.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  ::kill(child.pid(), SIGCONT);
  const Ended ended = child.Wait();
  EXPECT_EQ(ended.exit_status(), 5);
  EXPECT_THAT(ended.output, testing::HasSubstr("on\n"));
}

// A child on a terminal of its own.
class OnTerminal {
 public:
  explicit OnTerminal(std::vector<std::string> argv) {
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (pid_ == 0) {
      std::vector<char*> pointers;
      for (std::string& word : argv) pointers.push_back(word.data());
      pointers.push_back(nullptr);
      ::execvp(pointers[0], pointers.data());
      ::_exit(99);
    }
  }

  ~OnTerminal() { ::close(terminal_); }

  pid_t pid() const { return pid_; }

  void Type(char key) const { EXPECT_EQ(::write(terminal_, &key, 1), 1); }

  // Reads until `text` has come or the terminal is closed.
  bool WaitFor(const std::string& text) {
    char chunk[512];
    while (seen_.find(text) == std::string::npos) {
      const ssize_t got = ::read(terminal_, chunk, sizeof chunk);
      if (got <= 0)
        return false;
      seen_.append(chunk, static_cast<size_t>(got));
    }
    return true;
  }

  const std::string& seen() const { return seen_; }

 private:
  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string seen_;
};

TEST(Command, GetsWhatIsTypedAtTheTerminalOnce) {
  OnTerminal child(
      Wrapped(Shell("n=0; trap 'n=$((n+1))' INT; echo ready; "
                    "while [ $n -eq 0 ]; do sleep 0.01; done; sleep 0.1; "
                    "echo \"got $n.\"; exit 8")));
  ASSERT_TRUE(child.WaitFor("ready"));
  child.Type('\x03');
  EXPECT_TRUE(child.WaitFor("got 1.")) << child.seen();
  int status = 0;
  ASSERT_EQ(::waitpid(child.pid(), &status, 0), child.pid());
  EXPECT_EQ(WEXITSTATUS(status), 8);
}

TEST(Command, KilledFromTheTerminalIs130) {
  OnTerminal child(Wrapped(Shell("echo ready; exec sleep 10")));
  ASSERT_TRUE(child.WaitFor("ready"));
  child.Type('\x03');
  int status = 0;
  ASSERT_EQ(::waitpid(child.pid(), &status, 0), child.pid());
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGINT);
}

TEST(Command, StoppedFromTheTerminalStopsTheWholeJob) {
  // A session leader's group is orphaned and cannot be stopped from the terminal: a shell with job
  // control in between, as in real life. The command starts nothing: a shell whose vfork()ed child
  // is stopped before its exec cannot stop itself.
  OnTerminal shell({"/bin/bash", "--norc", "-i"});
  const std::string run =
      std::string("PS1=; ") + BARE_RUN + " /bin/sh -c 'echo rea\"\"dy; read line; echo wo\"\"ke'\n";
  for (const char key : run) shell.Type(key);
  ASSERT_TRUE(shell.WaitFor("ready"));
  shell.Type('\x1a');
  ASSERT_TRUE(shell.WaitFor("Stopped")) << shell.seen();
  for (const char key : std::string("fg\ngo\n")) shell.Type(key);
  EXPECT_TRUE(shell.WaitFor("woke")) << shell.seen();
  for (const char key : std::string("exit 0\n")) shell.Type(key);
  int status = 0;
  ::waitpid(shell.pid(), &status, 0);
}

TEST(Command, LivesOnWhenWeAreKilled) {
  const std::string trace = testing::TempDir() + "/lived_on";
  ::unlink(trace.c_str());
  Child child(Wrapped(Shell("echo ready; sleep 0.2; touch " + trace)));
  ASSERT_TRUE(child.WaitForOutput("ready"));
  ::kill(child.pid(), SIGKILL);
  const Ended ended = child.Wait();
  EXPECT_TRUE(WIFSIGNALED(ended.status));
  for (int i = 0; i < 100 && ::access(trace.c_str(), F_OK) != 0; ++i) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_EQ(::access(trace.c_str(), F_OK), 0);
  ::unlink(trace.c_str());
}

TEST(Command, ThatLeavesChildrenBehindEndsAtOnce) {
  const auto start = steady_clock::now();
  // The child of the command holds no descriptor of ours.
  Child child(Wrapped(Shell("sleep 3 >/dev/null & exit 6")));
  EXPECT_EQ(child.Wait().exit_status(), 6);
  EXPECT_LT(steady_clock::now() - start, milliseconds(2000));
}

TEST(Command, UnderSudoRunsAsTheInvokingUserWithItsGroups) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "needs root to become another user";
  Child child(Wrapped({SHOW_SELF}), [] {
    // "nobody" and its group on every Debian.
    ::setenv("SUDO_UID", "65534", 1);
    ::setenv("SUDO_GID", "65534", 1);
    ::setenv("HOME", "/root", 1);
    ::setenv("USER", "root", 1);
  });
  const Ended ended = child.Wait();
  EXPECT_EQ(ended.exit_status(), 0);
  EXPECT_THAT(ended.output, testing::HasSubstr("Uid:\t65534\t65534\t65534\t65534\n"));
  EXPECT_THAT(ended.output, testing::HasSubstr("Gid:\t65534\t65534\t65534\t65534\n"));
  EXPECT_THAT(ended.output, testing::HasSubstr("Groups:\t65534 \n"));
  EXPECT_THAT(ended.output, testing::HasSubstr("CapEff:\t0000000000000000\n"));
  EXPECT_THAT(ended.output, testing::HasSubstr("CapPrm:\t0000000000000000\n"));
  EXPECT_THAT(ended.output, testing::HasSubstr("dumpable 1\n"));
  EXPECT_THAT(ended.output, testing::HasSubstr("environment HOME=/nonexistent\n"));
  EXPECT_THAT(ended.output, testing::HasSubstr("environment USER=nobody\n"));
}

}  // namespace
}  // namespace routelens

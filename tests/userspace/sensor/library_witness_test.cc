// SPDX-License-Identifier: Apache-2.0
//
// What the witness says of images, over a kernel side that takes every probe.
#include "userspace/sensor/library_witness.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/status_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace routelens {
namespace {

using testing::Contains;
using testing::Field;

constexpr int kPatienceMs = 5000;

class Attachment final : public ProbeAttachment {
 public:
  explicit Attachment(size_t count) : count_(static_cast<uint32_t>(count)) {}

  uint32_t count() const override { return count_; }

 private:
  uint32_t count_;
};

class WillingKernel final : public KernelSensor {
 public:
  const std::vector<CapabilityState>& capabilities() const override { return capabilities_; }

  absl::StatusOr<uint32_t> AddCgroupBoundary(const CgroupScope&, uint8_t) override { return 0; }

  absl::StatusOr<uint32_t> AddProcessBoundary(const CgroupScope&,
                                              const std::vector<rl_process_key>&,
                                              uint8_t) override {
    return 0;
  }

  absl::Status AddProcess(uint32_t, const rl_process_key&, uint8_t) override {
    return absl::OkStatus();
  }

  absl::Status RemoveBoundary(uint32_t) override { return absl::OkStatus(); }

  absl::Status SnapshotFlows(uint32_t) override { return absl::OkStatus(); }

  rl_boundary_counters Counters(uint32_t) const override { return {}; }

  size_t Drain(const Sink&) override { return 0; }

  int wake_fd() const override { return -1; }

  bool ReturnProbesSafe() const override { return false; }

  absl::StatusOr<std::unique_ptr<ProbeAttachment>> AttachProbes(
      int, const std::vector<ProbeRequest>& probes) override {
    return std::unique_ptr<ProbeAttachment>(new Attachment(probes.size()));
  }

 private:
  std::vector<CapabilityState> capabilities_;
};

// Runs it to its end and gives its pid, -1 when it failed. It maps libssl and libcrypto.
pid_t RunOpenssl() {
  char program[] = "openssl", argument[] = "version";
  char* const words[] = {program, argument, nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, program, &actions, nullptr, words, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  return error == 0 && ::waitpid(pid, &status, 0) == pid && status == 0 ? pid : -1;
}

// Turns until nothing has come for a while.
void TurnUntilQuiet(LibraryWitness& witness) {
  pollfd wait{witness.fd(), POLLIN, 0};
  for (int turn = 0; turn < 100 && ::poll(&wait, 1, turn == 0 ? kPatienceMs : 300) == 1; ++turn)
    witness.Turn();
}

TEST(LibraryWitness, AProcessThatHasEndedLeavesNoProbedLibraryUncovered) {
  WillingKernel kernel;
  LibraryWitness witness(kernel, true);
  witness.Prepare();
  for (const LibraryCoverage& missing : witness.coverage())
    GTEST_SKIP() << missing.image << ": " << missing.reason;
  witness.ProbeHost();
  ASSERT_THAT(witness.coverage(), Contains(Field(&LibraryCoverage::image, "libssl.so.3")));
  pid_t member = -1;
  witness.Watch({[&](pid_t pid) { return pid == member; }, [] { return std::vector<pid_t>(); }});
  ASSERT_TRUE(witness.Follow().ok());
  member = RunOpenssl();
  ASSERT_GT(member, 0);
  TurnUntilQuiet(witness);
  for (const LibraryCoverage& library : witness.coverage())
    EXPECT_GT(library.probes, 0u) << library.image << ": " << library.reason;
}

}  // namespace
}  // namespace routelens

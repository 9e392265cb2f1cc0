// SPDX-License-Identifier: Apache-2.0
#include "userspace/sources/recording_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/userspace/sources/recorded_calls.h"

namespace routelens {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

UniqueFd MemoryFile() {
  return UniqueFd(memfd_create("recording", MFD_ALLOW_SEALING));
}

std::string Contents(int fd) {
  std::string text;
  char buffer[4096];
  ssize_t count = 0;
  for (off_t at = 0; (count = pread(fd, buffer, sizeof buffer, at)) > 0; at += count)
    text.append(buffer, static_cast<size_t>(count));
  return text;
}

struct Replayed {
  RecordedCalls calls;
  ReplaySummary summary;
};

Replayed Replay(const std::string& recording) {
  Replayed replayed;
  auto summary = ReplayRecording(BytesOf(recording), "test", replayed.calls);
  EXPECT_TRUE(summary.ok()) << summary.status().ToString();
  if (summary.ok())
    replayed.summary = *std::move(summary);
  return replayed;
}

TEST(RecordingWriter, WhatIsRecordedReplays) {
  const UniqueFd file = MemoryFile();
  RecordingWriter writer(UniqueFd(dup(file.get())), "test", SomeHeader(), SomePolicy());
  writer.SetCoverage(SomeCoverage());
  writer.Record(BytesOf(SomeRecord(5)));
  writer.AdvanceTo({10});
  writer.Record(BytesOf("not a record"));
  writer.SetKernelLoss({1, 2, 3, 4, 5});
  ASSERT_TRUE(writer.Finish({20}).ok());
  EXPECT_EQ(writer.frames_not_written(), 0u);

  const std::string recording = Contents(file.get());
  EXPECT_EQ(writer.bytes_written(), recording.size());
  const Replayed replayed = Replay(recording);
  EXPECT_THAT(replayed.calls.calls,
              ElementsAre("start", "coverage", "record " + SomeRecord(5), "advance 10",
                          "record not a record", "loss", "finish 20"));
  EXPECT_EQ(replayed.calls.header, SomeHeader());
  EXPECT_EQ(replayed.calls.policy, SomePolicy());
  EXPECT_EQ(replayed.calls.coverage, SomeCoverage());
  EXPECT_EQ(replayed.calls.loss, (Loss{1, 2, 3, 4, 5}));
  EXPECT_TRUE(replayed.summary.complete);
  EXPECT_EQ(replayed.summary.reason, "");
  EXPECT_EQ(replayed.summary.frames, 7u);
  EXPECT_EQ(replayed.summary.records, 2u);
  EXPECT_EQ(replayed.summary.bytes, recording.size());
  EXPECT_EQ(replayed.summary.end, BootTime{20});
}

TEST(RecordingWriter, NeverKeepsTheUnusedRoomOfARecord) {
  const UniqueFd file = MemoryFile();
  RecordingWriter writer(UniqueFd(dup(file.get())), "test", SomeHeader(), SomePolicy());
  writer.Record(BytesOf(SomeRecord(5, "canary of an older record")));
  ASSERT_TRUE(writer.Finish({6}).ok());
  EXPECT_THAT(Contents(file.get()), Not(HasSubstr("canary")));
  EXPECT_THAT(Replay(Contents(file.get())).calls.calls,
              ElementsAre("start", "record " + SomeRecord(5), "finish 6"));
}

TEST(RecordingWriter, AFullDiskStopsTheRecordingAndSaysWhatIsMissing) {
  UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full) << "no /dev/full";
  RecordingWriter writer(std::move(full), "report.rec", SomeHeader(), SomePolicy());
  EXPECT_EQ(writer.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(writer.status().message()), HasSubstr("report.rec"));
  writer.Record(BytesOf(SomeRecord(5)));
  EXPECT_FALSE(writer.Finish({6}).ok());
  EXPECT_EQ(writer.frames_not_written(), 3u) << "policy, record, finish";
  EXPECT_EQ(writer.bytes_written(), 0u);
}

TEST(RecordingWriter, WhatWasWrittenBeforeAFailureStaysGood) {
  const UniqueFd file = MemoryFile();
  RecordingWriter writer(UniqueFd(dup(file.get())), "test", SomeHeader(), SomePolicy());
  constexpr int kRecords = 5000;
  constexpr off_t kRoom = 150000;  // ends within a frame
  ASSERT_EQ(ftruncate(file.get(), kRoom), 0);
  ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW), 0);
  for (uint64_t i = 1; i <= kRecords; ++i) writer.Record(BytesOf(SomeRecord(i)));
  EXPECT_FALSE(writer.Finish({kRecords + 1}).ok());
  EXPECT_GT(writer.frames_not_written(), 0u);
  EXPECT_LE(writer.bytes_written(), static_cast<uint64_t>(kRoom));

  const Replayed replayed = Replay(Contents(file.get()).substr(0, writer.bytes_written()));
  EXPECT_FALSE(replayed.summary.complete);
  EXPECT_GE(replayed.summary.records + writer.frames_not_written(), uint64_t{kRecords});
  EXPECT_EQ(replayed.calls.calls.back(), "finish " + std::to_string(replayed.summary.records))
      << "the latest time seen";
}

TEST(RecordingWriter, WritesOutEverySecondOfTheBootClock) {
  const UniqueFd file = MemoryFile();
  RecordingWriter writer(UniqueFd(dup(file.get())), "test", SomeHeader(), SomePolicy());
  writer.AdvanceTo({1'000'000'000});
  writer.Record(BytesOf(SomeRecord(1'500'000'000)));
  EXPECT_EQ(Replay(Contents(file.get())).summary.records, 0u);
  writer.AdvanceTo({2'000'000'000});
  EXPECT_EQ(Replay(Contents(file.get())).summary.records, 1u);
  EXPECT_EQ(Replay(Contents(file.get())).summary.reason.substr(0, 3), "cut");
}

TEST(RecordingWriter, FramesAfterTheEndAreCountedNotWritten) {
  const UniqueFd file = MemoryFile();
  RecordingWriter writer(UniqueFd(dup(file.get())), "test", SomeHeader(), SomePolicy());
  ASSERT_TRUE(writer.Finish({6}).ok());
  writer.AdvanceTo({7});
  EXPECT_EQ(writer.frames_not_written(), 1u);
  EXPECT_TRUE(Replay(Contents(file.get())).summary.complete);
}

}  // namespace
}  // namespace routelens

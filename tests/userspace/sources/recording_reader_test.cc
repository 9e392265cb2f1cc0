// SPDX-License-Identifier: Apache-2.0
#include "userspace/sources/recording_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "tests/userspace/sources/recorded_calls.h"
#include "userspace/sources/crc32.h"
#include "userspace/sources/recording_codec.h"

namespace routelens {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Text(const std::vector<std::byte>& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string FrameOf(int kind, const std::string& payload) {
  const auto kind_byte = static_cast<std::byte>(kind);
  ByteWriter writer;
  writer.U32(payload.size());
  writer.U8(static_cast<uint64_t>(kind));
  writer.U32(Crc32(BytesOf(payload), Crc32({&kind_byte, 1})));
  return Text(writer.bytes()) + payload;
}

std::string Start() {
  return Text(EncodeFileHeader(SomeHeader())) + FrameOf(1, Text(EncodePolicy(SomePolicy())));
}

std::string End(uint64_t ns) {
  return FrameOf(6, Text(EncodeTime({ns})));
}

std::string Whole() {
  return Start() + FrameOf(5, Text(EncodeCoverage(SomeCoverage()))) + FrameOf(2, SomeRecord(5)) +
         FrameOf(3, Text(EncodeTime({10}))) + FrameOf(2, SomeRecord(12)) + End(20);
}

struct Result {
  absl::Status status;
  ReplaySummary summary;
  std::vector<std::string> calls;
};

Result Replay(const std::string& recording) {
  RecordedCalls sink;
  auto summary = ReplayRecording(BytesOf(recording), "x.rec", sink);
  Result result{summary.status(), {}, sink.calls};
  if (summary.ok())
    result.summary = *std::move(summary);
  return result;
}

std::string Message(const Result& result) {
  return std::string(result.status.message());
}

TEST(RecordingReader, ReplaysTwiceToTheSameCalls) {
  const Result first = Replay(Whole());
  EXPECT_TRUE(first.summary.complete);
  EXPECT_EQ(first.calls, Replay(Whole()).calls);
}

TEST(RecordingReader, ACutRecordingReplaysWhatIsWholeAndSaysSo) {
  const std::string whole = Whole();
  const std::vector<std::string> all = Replay(whole).calls;
  for (size_t length = 0; length < whole.size(); ++length) {
    const Result result = Replay(whole.substr(0, length));
    if (length < Start().size()) {
      EXPECT_EQ(result.status.code(), absl::StatusCode::kInvalidArgument) << length;
      EXPECT_THAT(result.calls, IsEmpty());
      continue;
    }
    ASSERT_TRUE(result.status.ok()) << length;
    EXPECT_FALSE(result.summary.complete);
    EXPECT_THAT(result.summary.reason, HasSubstr("cut at byte "));
    ASSERT_EQ(result.calls.size(), result.summary.frames + 1);
    EXPECT_TRUE(std::equal(result.calls.begin(), result.calls.end() - 1, all.begin()));
    EXPECT_EQ(result.calls.back(), "finish " + std::to_string(result.summary.end.ns));
  }
}

TEST(RecordingReader, AnyFlippedByteIsFoundAndNothingBehindItReplays) {
  const std::string whole = Whole();
  const std::vector<std::string> all = Replay(whole).calls;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    const Result result = Replay(damaged);
    if (!result.status.ok())
      continue;
    EXPECT_FALSE(result.summary.complete) << at;
    EXPECT_LE(result.summary.bytes, at) << at;
    EXPECT_TRUE(std::equal(result.calls.begin(), result.calls.end() - 1, all.begin())) << at;
  }
}

TEST(RecordingReader, OtherVersionsAreRefusedByName) {
  const auto with = [](size_t offset, uint8_t value) {
    std::string text = Start();
    text[offset] = static_cast<char>(value);
    const uint32_t crc = Crc32(BytesOf(text).first(kRecordingHeaderBytes - 4));
    ByteWriter writer;
    writer.U32(crc);
    text.replace(kRecordingHeaderBytes - 4, 4, Text(writer.bytes()));
    return Replay(text);
  };
  const Result format = with(9, kRecordingFormat + 1);
  EXPECT_EQ(format.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(format),
              HasSubstr("x.rec: recording of format 2, this version reads format 1"));
  const Result abi = with(11, RL_ABI_VERSION + 1);
  EXPECT_EQ(abi.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(abi), HasSubstr("kernel records of version 2"));
  const Result order = with(12, 1);
  EXPECT_EQ(order.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(order), HasSubstr("byte order"));
  for (const Result& result : {format, abi, order}) EXPECT_THAT(result.calls, IsEmpty());
}

TEST(RecordingReader, OtherFilesAreNoRecordings) {
  for (const std::string& text : {std::string(), std::string("RLRECORD"), std::string(100, 'x'),
                                  std::string("network_policies:\n") + std::string(100, ' ')}) {
    const Result result = Replay(text);
    EXPECT_EQ(result.status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(result), HasSubstr("x.rec is not a recording"));
  }
}

TEST(RecordingReader, HostileLengthsAskForNoMemory) {
  ByteWriter head;
  head.U32(kMaxPolicyFrameBytes);
  head.U8(1);
  head.U32(0);
  const std::string huge_policy = Text(EncodeFileHeader(SomeHeader())) + Text(head.bytes());
  EXPECT_THAT(Message(Replay(huge_policy)), HasSubstr("no whole policy: cut"));
  for (const int kind : {2, 3, 4, 5, 6}) {
    ByteWriter writer;
    writer.U32(0xffffffff);
    writer.U8(static_cast<uint64_t>(kind));
    writer.U32(0);
    const Result result = Replay(Start() + Text(writer.bytes()));
    EXPECT_THAT(result.summary.reason, HasSubstr("impossible length")) << kind;
  }
}

TEST(RecordingReader, FramesThatMakeNoSenseEndTheReplay) {
  const std::string bad[] = {
      FrameOf(1, Text(EncodePolicy(SomePolicy()))),  // a second policy
      FrameOf(3, "short"),
      FrameOf(4, "short"),
      FrameOf(5, "short"),
      FrameOf(6, ""),
      FrameOf(3, std::string(8, '\xff')),  // a time no clock shows
  };
  for (const std::string& frame : bad) {
    const Result result = Replay(Start() + frame + End(20));
    EXPECT_FALSE(result.summary.complete);
    EXPECT_THAT(result.summary.reason, HasSubstr("damaged (content) at byte "));
    EXPECT_THAT(result.calls, ElementsAre("start", "finish 0"));
  }
  EXPECT_THAT(Replay(Start() + FrameOf(9, "")).summary.reason, HasSubstr("unknown frame kind 9"));
  EXPECT_THAT(Message(Replay(Text(EncodeFileHeader(SomeHeader())) + End(1))),
              HasSubstr("no whole policy"));
}

TEST(RecordingReader, BytesBehindTheEndAreSaid) {
  const Result result = Replay(Whole() + "x");
  EXPECT_FALSE(result.summary.complete);
  EXPECT_THAT(result.summary.reason, HasSubstr("more bytes behind its end"));
  EXPECT_EQ(result.calls.back(), "finish 20");
}

TEST(RecordingReader, ReadsFilesAndNamesThoseItCannot) {
  RecordedCalls sink;
  const auto missing = ReplayRecordingFile("/nonexistent/x.rec", sink);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("/nonexistent/x.rec"));
  const auto folder = ReplayRecordingFile("/", sink);
  EXPECT_FALSE(folder.ok());
  EXPECT_THAT(sink.calls, IsEmpty());

  std::string path = testing::TempDir() + "recording_XXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_GE(fd, 0);
  std::string many = Start();
  for (uint64_t i = 1; i <= 10000; ++i)  // more than one step of reading
    many += FrameOf(2, SomeRecord(i));
  many += End(20000);
  ASSERT_EQ(write(fd, many.data(), many.size()), static_cast<ssize_t>(many.size()));
  close(fd);
  const auto whole = ReplayRecordingFile(path, sink);
  unlink(path.c_str());
  ASSERT_TRUE(whole.ok());
  EXPECT_TRUE(whole->complete);
  EXPECT_EQ(whole->records, 10000u);
  EXPECT_EQ(whole->bytes, many.size());
}

}  // namespace
}  // namespace routelens

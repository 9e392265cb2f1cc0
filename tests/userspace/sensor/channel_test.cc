// SPDX-License-Identifier: Apache-2.0
#include "userspace/sensor/channel.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"

namespace routelens {
namespace {

Coverage SomeCoverage() {
  Coverage coverage;
  coverage.capabilities = {{"connect", true, true, "cgroup/connect4", "", "", ""},
                           {"tls_library", false, false, "", "no perf events", "cause", "remedy"}};
  coverage.libraries = {{"openssl_shared", "libssl.so.3", 11, ""}, {"libc", "libc.so.6", 0, "cut"}};
  coverage.blind_spots = {"one", std::string("two\0three", 9)};
  return coverage;
}

std::vector<Message> AllKinds() {
  return {CoverageChanged{SomeCoverage()}, CoverageChanged{}, FinishRequest{}, ReportDone{""},
          ReportDone{"no space left"}};
}

bool Same(const Message& a, const Message& b) {
  return EncodeMessage(a) == EncodeMessage(b);
}

TEST(Message, SurvivesTheWay) {
  for (const Message& message : AllKinds()) {
    const auto decoded = DecodeMessage(EncodeMessage(message));
    ASSERT_TRUE(decoded.has_value());
    EXPECT_EQ(decoded->index(), message.index());
    EXPECT_TRUE(Same(*decoded, message));
  }
  const auto decoded = DecodeMessage(EncodeMessage(CoverageChanged{SomeCoverage()}));
  EXPECT_EQ(std::get<CoverageChanged>(*decoded).coverage, SomeCoverage());
}

TEST(Message, ThatIsCutOrLongerIsRefused) {
  for (const Message& message : AllKinds()) {
    std::vector<std::byte> bytes = EncodeMessage(message);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(DecodeMessage(std::span(bytes).first(size)).has_value());
    }
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(DecodeMessage(bytes).has_value());
  }
}

TEST(Message, OfRandomBytesNeverCrashesAndNeverTakesMoreThanItHas) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes = EncodeMessage(AllKinds()[random() % AllKinds().size()]);
    for (int change = 0; change < 4; ++change) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    bytes.resize(std::min<size_t>(bytes.size(), 1 + random() % (bytes.size() + 4)));
    (void)DecodeMessage(bytes);
  }
}

TEST(Channel, CarriesWholeMessagesInOrder) {
  auto ends = Channel::Make();
  ASSERT_TRUE(ends.ok());
  ASSERT_TRUE(ends->first.Send(CoverageChanged{SomeCoverage()}, 0).ok());
  ASSERT_TRUE(ends->first.Send(FinishRequest{}, 0).ok());
  auto first = ends->second.Receive();
  ASSERT_TRUE(first.ok() && first->has_value());
  EXPECT_EQ(std::get<CoverageChanged>(**first).coverage, SomeCoverage());
  auto second = ends->second.Receive();
  ASSERT_TRUE(second.ok() && second->has_value());
  EXPECT_TRUE(std::holds_alternative<FinishRequest>(**second));
  auto none = ends->second.Receive();
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
}

TEST(Channel, TellsWhenTheOtherEndIsGone) {
  auto ends = Channel::Make();
  ASSERT_TRUE(ends.ok());
  ends->second.Close();
  EXPECT_EQ(ends->first.Send(FinishRequest{}, 0).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ends->first.Receive().status().code(), absl::StatusCode::kUnavailable);
}

TEST(Channel, NeverWaitsForAReaderThatDoesNotRead) {
  auto ends = Channel::Make();
  ASSERT_TRUE(ends.ok());
  const ReportDone note{std::string(1000, 'x')};
  absl::Status status;
  for (int i = 0; i < 100000 && status.ok(); ++i) status = ends->first.Send(note, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(Channel, RefusesWhatIsTooLarge) {
  auto ends = Channel::Make();
  ASSERT_TRUE(ends.ok());
  const ReportDone note{std::string(kMaxMessageBytes + 1, 'x')};
  EXPECT_EQ(ends->first.Send(note, 0).code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/dns_stream.h"

#include <gtest/gtest.h>

#include "tests/userspace/decode/bytes.h"

namespace routelens {
namespace {

TEST(DnsStream, B16_JoinsMessagesCutAnywhereTheLengthTooIsCut) {
  const Bytes stream = Counted16(BytesOf("first")) + Counted16(BytesOf("second"));
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    DnsStream reader;
    const auto at = stream.begin() + static_cast<ptrdiff_t>(cut);
    reader.Add(0, Bytes(stream.begin(), at));
    reader.Add(static_cast<uint32_t>(cut), Bytes(at, stream.end()));
    EXPECT_EQ(reader.TakeMessage(), BytesOf("first"));
    EXPECT_EQ(reader.TakeMessage(), BytesOf("second"));
    EXPECT_EQ(reader.TakeMessage(), std::nullopt);
    EXPECT_FALSE(reader.incomplete());
  }
}

TEST(DnsStream, B16_ALengthWithoutItsMessageIsIncomplete) {
  DnsStream reader;
  reader.Add(0, U16(5));
  EXPECT_EQ(reader.TakeMessage(), std::nullopt);
  EXPECT_TRUE(reader.incomplete());
  reader.Add(2, BytesOf("hello"));
  EXPECT_EQ(reader.TakeMessage(), BytesOf("hello"));
  EXPECT_FALSE(reader.incomplete());
}

TEST(DnsStream, AGapEndsTheStreamButNotWhatWasWhole) {
  DnsStream reader;
  reader.Add(0, Counted16(BytesOf("whole")) + U16(9));
  reader.Add(20, BytesOf("later"));
  EXPECT_TRUE(reader.broken());
  EXPECT_EQ(reader.TakeMessage(), BytesOf("whole"));
  reader.Add(9, Counted16(BytesOf("no")));
  EXPECT_EQ(reader.TakeMessage(), std::nullopt);
  EXPECT_TRUE(reader.incomplete());
}

TEST(DnsStream, HoldsABoundedNumberOfBytes) {
  DnsStream reader;
  const Bytes piece(60000);
  uint32_t offset = 0;
  for (int i = 0; i < 10; ++i) {
    reader.Add(offset, piece);
    offset += 60000;
  }
  EXPECT_TRUE(reader.broken());
}

}  // namespace
}  // namespace routelens

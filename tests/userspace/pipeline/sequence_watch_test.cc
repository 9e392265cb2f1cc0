// SPDX-License-Identifier: Apache-2.0
#include "userspace/pipeline/sequence_watch.h"

#include <gtest/gtest.h>

namespace routelens {
namespace {

EventHeader Header(uint64_t seq, uint64_t dropped = 0, uint32_t boundary = 0, uint64_t ns = 0) {
  EventHeader header;
  header.time = BootTime{ns == 0 ? 1000 + seq : ns};
  header.seq = seq;
  header.dropped = dropped;
  header.boundary = BoundaryIndex{boundary};
  return header;
}

TEST(SequenceWatch, NumbersInAnyOrderAreNoLoss) {
  SequenceWatch watch;
  for (const uint64_t seq : {3, 1, 2, 5, 4}) EXPECT_TRUE(watch.Arrived(Header(seq)));
  for (uint64_t seq = 1; seq <= 5; seq++) EXPECT_FALSE(watch.Released(Header(seq)));
  EXPECT_EQ(watch.gaps(), 0U);
}

TEST(SequenceWatch, AGapIsNoticedOnceByTheFirstRecordBehindIt) {
  SequenceWatch watch;
  for (const uint64_t seq : {1, 2, 5, 6}) watch.Arrived(Header(seq));
  EXPECT_FALSE(watch.Released(Header(1)));
  EXPECT_FALSE(watch.Released(Header(2)));
  EXPECT_TRUE(watch.Released(Header(5)));
  EXPECT_FALSE(watch.Released(Header(6)));
  EXPECT_EQ(watch.gaps(), 1U);
}

TEST(SequenceWatch, AGapMayBeFilledInPieces) {
  SequenceWatch watch;
  for (const uint64_t seq : {1, 6, 3, 2, 5}) EXPECT_TRUE(watch.Arrived(Header(seq)));
  for (const uint64_t seq : {1, 2, 3}) EXPECT_FALSE(watch.Released(Header(seq)));
  EXPECT_TRUE(watch.Released(Header(5))) << "4 is missing";
}

TEST(SequenceWatch, RecordsThatCameBeforeAreRefused) {
  SequenceWatch watch;
  EXPECT_TRUE(watch.Arrived(Header(1)));
  EXPECT_TRUE(watch.Arrived(Header(3)));
  EXPECT_FALSE(watch.Arrived(Header(1)));
  EXPECT_FALSE(watch.Arrived(Header(3)));
  EXPECT_TRUE(watch.Arrived(Header(2)));
  EXPECT_FALSE(watch.Arrived(Header(2)));
}

TEST(SequenceWatch, ThePeersOfABoundaryThatLostSomethingLostNothing) {
  SequenceWatch watch;
  watch.Arrived(Header(1, 0, 0));
  watch.Arrived(Header(9, 0, 1));
  EXPECT_FALSE(watch.Released(Header(1, 0, 0)));
  EXPECT_TRUE(watch.Released(Header(9, 0, 1)));
}

TEST(SequenceWatch, WithoutNumbersTheDropCounterTells) {
  SequenceWatch watch;
  EXPECT_TRUE(watch.Arrived(Header(0)));
  EXPECT_FALSE(watch.Released(Header(0, 0)));
  EXPECT_TRUE(watch.Released(Header(0, 3)));
  EXPECT_FALSE(watch.Released(Header(0, 3)));
  EXPECT_EQ(watch.dropped(), 3U);
  EXPECT_EQ(watch.gaps(), 0U);
}

TEST(SequenceWatch, AReusedIndexCountsFromOneAgain) {
  SequenceWatch watch;
  for (uint64_t seq = 1; seq <= 10; seq++) watch.Arrived(Header(seq, 4));
  EXPECT_TRUE(watch.Arrived(Header(1, 0, 0, 99999)));
  EXPECT_FALSE(watch.Released(Header(1, 0, 0, 99999)));
  EXPECT_TRUE(watch.Arrived(Header(2, 0, 0, 100000)));
}

}  // namespace
}  // namespace routelens

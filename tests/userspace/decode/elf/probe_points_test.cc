// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/elf/probe_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace routelens {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kStart = 0x1000;

std::vector<std::byte> Bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

X86Code Code(std::initializer_list<int> values) {
  return *X86Code::Decode(Bytes(values), kStart);
}

TEST(X86Code, KnowsWhatTheKernelEmulates) {
  EXPECT_TRUE(IsEmulated(Bytes({0x55})));                     // push %rbp
  EXPECT_TRUE(IsEmulated(Bytes({0x41, 0x57})));               // push %r15
  EXPECT_TRUE(IsEmulated(Bytes({0x90})));                     // nop
  EXPECT_TRUE(IsEmulated(Bytes({0x78, 0x10})));               // js
  EXPECT_TRUE(IsEmulated(Bytes({0x0f, 0x85, 0, 0, 0, 0})));   // jne
  EXPECT_TRUE(IsEmulated(Bytes({0xe8, 0, 0, 0, 0})));         // call
  EXPECT_TRUE(IsEmulated(Bytes({0xeb, 0})));                  // jmp
  EXPECT_FALSE(IsEmulated(Bytes({0xc3})));                    // ret
  EXPECT_FALSE(IsEmulated(Bytes({0xf3, 0x0f, 0x1e, 0xfa})));  // endbr64
  EXPECT_FALSE(IsEmulated(Bytes({0x48, 0x55})));              // push with a prefix
  EXPECT_FALSE(IsEmulated(Bytes({0xff, 0xd0})));              // call *%rax
  EXPECT_FALSE(IsEmulated(Bytes({0x31, 0xc0})));              // xor %eax,%eax
  EXPECT_FALSE(IsEmulated({}));
}

TEST(X86Code, RefusesBytesThatAreNoInstruction) {
  EXPECT_FALSE(X86Code::Decode(Bytes({0x55, 0x06}), kStart).ok());
  EXPECT_FALSE(X86Code::Decode(Bytes({0xe8, 0x00}), kStart).ok());  // cut
}

TEST(X86Code, RefusesAJumpIntoAnInstruction) {
  EXPECT_FALSE(X86Code::Decode(Bytes({0xeb, 0x01, 0xb8, 1, 0, 0, 0, 0xc3}), kStart).ok());
}

TEST(ProbePoints, TakesTheFirstCheapInstructionWithTheArguments) {
  // sub $8,%rsp; push %rbp; ret
  EXPECT_EQ(PlaceEntry(Code({0x48, 0x83, 0xec, 8, 0x55, 0xc3}), RegisterMask(kRdi)),
            (ProbePoint{kStart + 4, true}));
}

TEST(ProbePoints, StepsTheEntryWhenAnArgumentIsGoneBeforeThat) {
  // xor %edi,%edi; push %rbp; ret
  EXPECT_EQ(PlaceEntry(Code({0x31, 0xff, 0x55, 0xc3}), RegisterMask(kRdi)),
            (ProbePoint{kStart, false}));
  EXPECT_EQ(PlaceEntry(Code({0x31, 0xff, 0x55, 0xc3}), RegisterMask(kRsi)),
            (ProbePoint{kStart + 2, true}));
}

TEST(ProbePoints, StepsTheEntryWhenALoopWouldHitThePointAgain) {
  // xor %eax,%eax; push %rbp; jne back to the push; ret
  const X86Code code = Code({0x31, 0xc0, 0x55, 0x75, 0xfd, 0xc3});
  EXPECT_EQ(PlaceEntry(code, RegisterMask(kRdi)), (ProbePoint{kStart, false}));
}

TEST(ProbePoints, TrustsAJumpAsWayOutOnlyWhenItIsTheStackProtectors) {
  // sub %fs:0x28,%rdx; jne +1; ret; call .
  const X86Code guarded =
      Code({0x64, 0x48, 0x2b, 0x14, 0x25, 0x28, 0, 0, 0, 0x75, 1, 0xc3, 0xe8, 0, 0, 0, 0});
  EXPECT_THAT(PlaceExits(guarded).points, ElementsAre(ProbePoint{kStart + 9, true}));
  // test %eax,%eax; jne +1; ret; call .
  const X86Code plain = Code({0x85, 0xc0, 0x75, 1, 0xc3, 0xe8, 0, 0, 0, 0});
  EXPECT_THAT(PlaceExits(plain).points, ElementsAre(ProbePoint{kStart + 4, false}));
  // The same as the first, but the result moves to eax behind the jump.
  const X86Code late = Code(
      {0x64, 0x48, 0x2b, 0x14, 0x25, 0x28, 0, 0, 0, 0x75, 3, 0x89, 0xd8, 0xc3, 0xe8, 0, 0, 0, 0});
  EXPECT_THAT(PlaceExits(late).points, ElementsAre(ProbePoint{kStart + 13, false}));
}

TEST(ProbePoints, SaysWhenAWayOutCannotBeSeen) {
  EXPECT_FALSE(PlaceExits(Code({0xff, 0xe0})).complete);        // jmp *%rax
  EXPECT_FALSE(PlaceExits(Code({0xe9, 0, 1, 0, 0})).complete);  // jmp elsewhere
  EXPECT_TRUE(PlaceExits(Code({0x55, 0xc3})).complete);
}

TEST(ProbePoints, FindsTheResultBesideTheArgument) {
  // mov 8(%rdi),%eax; ret
  EXPECT_EQ(PlaceValue(Code({0x8b, 0x47, 8, 0xc3})), (ProbePoint{kStart + 3, false}));
  // mov 8(%rdi),%eax; push %rax; pop %rcx; ret
  EXPECT_EQ(PlaceValue(Code({0x8b, 0x47, 8, 0x50, 0x59, 0xc3})), (ProbePoint{kStart + 3, true}));
  // mov %rdi,%rcx; xor %edi,%edi; mov 8(%rcx),%eax; ret
  EXPECT_EQ(PlaceValue(Code({0x48, 0x89, 0xf9, 0x31, 0xff, 0x8b, 0x41, 8, 0xc3})), std::nullopt);
  EXPECT_EQ(PlaceValue(Code({0xc3})), std::nullopt);
}

TEST(ProbePoints, FindsTheJumpBehindASystemCall) {
  // syscall; cmp $-4095,%rax; ja +0; ret
  EXPECT_THAT(PlaceAfterSyscalls(Code({0x0f, 5, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff, 0x77, 0, 0xc3})),
              ElementsAre(ProbePoint{kStart + 8, true}));
  // syscall; mov %rdx,%rax; ja +0; ret
  EXPECT_THAT(PlaceAfterSyscalls(Code({0x0f, 5, 0x48, 0x89, 0xd0, 0x77, 0, 0xc3})), IsEmpty());
}

TEST(ProbePoints, KeepsHotClassesFreeOfPoints) {
  // mov $2,%eax; jmp +5; mov $5,%eax; ret
  const X86Code code = Code({0xb8, 2, 0, 0, 0, 0xeb, 5, 0xb8, 5, 0, 0, 0, 0xc3});
  const ClassPoints points = PlaceClasses(code, 1u << 5);
  EXPECT_THAT(points.always,
              IsEmpty());  // one return for both classes, none with a jump of its own
  const ClassPoints hot = PlaceClasses(code, 1u << 2);
  EXPECT_THAT(hot.always, ElementsAre(ProbePoint{kStart + 5, true}));
}

}  // namespace
}  // namespace routelens

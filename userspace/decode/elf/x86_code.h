// SPDX-License-Identifier: Apache-2.0
//
// One function's x86-64 machine code as a list of instructions with just what placing a probe
// needs: where control goes, which registers change, and whether the kernel emulates the
// instruction under a uprobe (0.5 us a hit) or has to single-step it (about 10 us).
//
// Linear sweep, and refused as a whole unless every byte decodes and every jump within the function
// lands on an instruction: a probe in the middle of an instruction would break its process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace routelens {

// Register numbers as in the instruction encoding; masks are 1 << number.
enum : uint8_t { kRax = 0, kRcx = 1, kRdx = 2, kRsp = 4, kRsi = 6, kRdi = 7 };

constexpr uint32_t RegisterMask(uint8_t number) {
  return uint32_t{1} << number;
}

struct Instruction {
  enum class Flow : uint8_t {
    kNext,
    kCall,      // direct or indirect
    kJump,      // direct
    kBranch,    // conditional
    kIndirect,  // jump to a register or memory
    kReturn,
    kStop,  // trap: nothing follows
  };
  enum class Condition : uint8_t { kNone, kEqual, kUnequal, kOther };

  uint64_t address = 0;
  uint8_t length = 0;
  Flow flow = Flow::kNext;
  Condition condition = Condition::kNone;
  bool cheap = false;
  bool reads_canary = false;  // of the stack protector, at %fs:0x28
  bool is_syscall = false;
  uint32_t writes = 0;              // mask of general registers; of a call, what it may clobber
  std::optional<uint64_t> target;   // of a direct call, jump or branch
  std::optional<int64_t> loads;     // constant put into rax
  std::optional<int64_t> compares;  // constant that rax is compared with
};

class X86Code {
 public:
  // kInvalidArgument when the bytes are not one function's code as described above.
  static absl::StatusOr<X86Code> Decode(std::span<const std::byte> code, uint64_t address);

  const std::vector<Instruction>& instructions() const { return instructions_; }

  const Instruction& at(size_t index) const { return instructions_[index]; }

  size_t size() const { return instructions_.size(); }

  // Index of the instruction at this address; empty when it lies elsewhere.
  std::optional<size_t> IndexOf(uint64_t address) const;
  // Whether some jump of the function goes to an instruction with an index in [first, last].
  bool IsJumpedInto(size_t first, size_t last) const;

 private:
  std::vector<Instruction> instructions_;
  std::vector<size_t> jump_targets_;  // sorted
};

// Whether the kernel emulates this instruction under a uprobe (arch/x86/kernel/uprobes.c):
// push of a register, one-byte nop, jmp, jcc and call with a relative target, without prefixes.
bool IsEmulated(std::span<const std::byte> instruction);

}  // namespace routelens

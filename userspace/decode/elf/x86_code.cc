// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/elf/x86_code.h"

#include <capstone/capstone.h>

#include <algorithm>

#include "absl/status/status.h"

namespace routelens {
namespace {

using Flow = Instruction::Flow;
using Condition = Instruction::Condition;

constexpr int64_t kCanaryOffset = 0x28;
// rax, rcx, rdx, rsi, rdi, r8 .. r11 (System V ABI).
constexpr uint32_t kClobberedByCall = 0x0fc7;

// A capstone handle for the span of one decoding.
class Disassembler {
 public:
  Disassembler() : status_(cs_open(CS_ARCH_X86, CS_MODE_64, &handle_)) {
    if (status_ == CS_ERR_OK) {
      cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
      instruction_ = cs_malloc(handle_);
    }
  }

  ~Disassembler() {
    if (instruction_ != nullptr)
      cs_free(instruction_, 1);
    if (status_ == CS_ERR_OK)
      cs_close(&handle_);
  }

  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  bool ok() const { return instruction_ != nullptr; }

  csh handle() const { return handle_; }

  cs_insn* instruction() const { return instruction_; }

 private:
  csh handle_ = 0;
  cs_err status_;
  cs_insn* instruction_ = nullptr;
};

// Number of the 64-bit register that a register of any width belongs to; empty for others.
std::optional<uint8_t> NumberOf(unsigned reg) {
  static constexpr unsigned kNames[16][5] = {
      {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
      {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
      {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
      {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
      {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL, X86_REG_SPL},
      {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL, X86_REG_BPL},
      {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL, X86_REG_SIL},
      {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL, X86_REG_DIL},
      {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B, X86_REG_R8B},
      {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B, X86_REG_R9B},
      {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B, X86_REG_R10B},
      {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B, X86_REG_R11B},
      {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B, X86_REG_R12B},
      {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B, X86_REG_R13B},
      {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B, X86_REG_R14B},
      {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B, X86_REG_R15B}};
  for (uint8_t number = 0; number < 16; ++number) {
    for (unsigned name : kNames[number]) {
      if (name == reg)
        return number;
    }
  }
  return std::nullopt;
}

bool IsRax(const cs_x86_op& operand) {
  return operand.type == X86_OP_REG && NumberOf(operand.reg) == kRax;
}

Condition ConditionOf(unsigned id) {
  if (id == X86_INS_JE)
    return Condition::kEqual;
  return id == X86_INS_JNE ? Condition::kUnequal : Condition::kOther;
}

void FillFlow(const cs_insn& raw, Instruction& out) {
  const cs_x86& x86 = raw.detail->x86;
  const bool is_direct = x86.op_count == 1 && x86.operands[0].type == X86_OP_IMM;
  switch (raw.id) {
    case X86_INS_RET:
    case X86_INS_RETF:
    case X86_INS_IRETQ:
      out.flow = Flow::kReturn;
      return;
    case X86_INS_HLT:
    case X86_INS_INT3:
    case X86_INS_UD2:
      out.flow = Flow::kStop;
      return;
    case X86_INS_CALL:
      out.flow = Flow::kCall;
      break;
    case X86_INS_JMP:
      out.flow = is_direct ? Flow::kJump : Flow::kIndirect;
      break;
    case X86_INS_LJMP:
    case X86_INS_LCALL:
      out.flow = Flow::kIndirect;
      return;
    case X86_INS_SYSCALL:
      out.is_syscall = true;
      return;
    default: {
      const uint8_t* groups = raw.detail->groups;
      const uint8_t* end = groups + raw.detail->groups_count;
      if (std::find(groups, end, X86_GRP_JUMP) == end)
        return;
      out.flow = Flow::kBranch;
      out.condition = ConditionOf(raw.id);
    }
  }
  if (is_direct)
    out.target = static_cast<uint64_t>(x86.operands[0].imm);
}

void FillValues(const cs_insn& raw, Instruction& out) {
  const cs_x86& x86 = raw.detail->x86;
  for (uint8_t i = 0; i < x86.op_count; ++i) {
    const cs_x86_op& operand = x86.operands[i];
    if (operand.type == X86_OP_MEM && operand.mem.segment == X86_REG_FS &&
        operand.mem.disp == kCanaryOffset)
      out.reads_canary = true;
  }
  if (x86.op_count != 2 || !IsRax(x86.operands[0]))
    return;
  const cs_x86_op& from = x86.operands[1];
  if (raw.id == X86_INS_XOR && IsRax(from) && from.size >= 4)
    out.loads = 0;
  if ((raw.id == X86_INS_MOV || raw.id == X86_INS_MOVABS) && from.type == X86_OP_IMM &&
      x86.operands[0].size >= 4)
    out.loads = from.imm;
  if (raw.id == X86_INS_CMP && from.type == X86_OP_IMM)
    out.compares = from.imm;
}

bool FillWrites(csh handle, const cs_insn& raw, Instruction& out) {
  cs_regs read, written;
  uint8_t read_count = 0, written_count = 0;
  if (cs_regs_access(handle, &raw, read, &read_count, written, &written_count) != 0)
    return false;
  for (uint8_t i = 0; i < written_count; ++i) {
    if (const std::optional<uint8_t> number = NumberOf(written[i]))
      out.writes |= RegisterMask(*number);
  }
  if (out.flow == Flow::kCall)
    out.writes |= kClobberedByCall;
  if (out.is_syscall)
    out.writes |= RegisterMask(kRax) | RegisterMask(kRcx) | RegisterMask(11);
  return true;
}

}  // namespace

bool IsEmulated(std::span<const std::byte> instruction) {
  const auto at = [&](size_t i) { return std::to_integer<unsigned>(instruction[i]); };
  const size_t length = instruction.size();
  if (length == 0)
    return false;
  const unsigned first = at(0);
  if (length == 1)
    return first == 0x90 || (first >= 0x50 && first <= 0x57);
  if (length == 2)
    return (first == 0x41 && at(1) >= 0x50 && at(1) <= 0x57) || first == 0xeb ||
           (first >= 0x70 && first <= 0x7f);
  if (length == 5)
    return first == 0xe8 || first == 0xe9;
  return length == 6 && first == 0x0f && at(1) >= 0x80 && at(1) <= 0x8f;
}

absl::StatusOr<X86Code> X86Code::Decode(std::span<const std::byte> code, uint64_t address) {
  const Disassembler disassembler;
  if (!disassembler.ok())
    return absl::ResourceExhaustedError("no memory for the disassembler");
  X86Code out;
  const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
  size_t left = code.size();
  uint64_t next = address;
  while (left > 0) {
    const uint64_t at = next;
    if (!cs_disasm_iter(disassembler.handle(), &bytes, &left, &next, disassembler.instruction()))
      return absl::InvalidArgumentError("bytes that are no instruction");
    const cs_insn& raw = *disassembler.instruction();
    Instruction instruction;
    instruction.address = at;
    instruction.length = static_cast<uint8_t>(raw.size);
    instruction.cheap = IsEmulated(code.subspan(at - address, raw.size));
    FillFlow(raw, instruction);
    FillValues(raw, instruction);
    if (!FillWrites(disassembler.handle(), raw, instruction))
      return absl::InvalidArgumentError("an instruction with unknown effects");
    out.instructions_.push_back(instruction);
  }
  for (const Instruction& instruction : out.instructions_) {
    if (!instruction.target || *instruction.target < address || *instruction.target >= next)
      continue;
    const std::optional<size_t> index = out.IndexOf(*instruction.target);
    if (!index)
      return absl::InvalidArgumentError("a jump into the middle of an instruction");
    out.jump_targets_.push_back(*index);
  }
  std::sort(out.jump_targets_.begin(), out.jump_targets_.end());
  return out;
}

std::optional<size_t> X86Code::IndexOf(uint64_t address) const {
  const auto found =
      std::lower_bound(instructions_.begin(), instructions_.end(), address,
                       [](const Instruction& i, uint64_t wanted) { return i.address < wanted; });
  if (found == instructions_.end() || found->address != address)
    return std::nullopt;
  return static_cast<size_t>(found - instructions_.begin());
}

bool X86Code::IsJumpedInto(size_t first, size_t last) const {
  const auto found = std::lower_bound(jump_targets_.begin(), jump_targets_.end(), first);
  return found != jump_targets_.end() && *found <= last;
}

}  // namespace routelens

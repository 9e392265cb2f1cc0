// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/elf/probe_points.h"

#include <algorithm>

namespace routelens {
namespace {

using Flow = Instruction::Flow;
using Condition = Instruction::Condition;

constexpr uint32_t kResult = RegisterMask(kRax);

ProbePoint PointAt(const Instruction& instruction) {
  return {instruction.address, instruction.cheap};
}

// The return that straight code from `first` leads to, without a jump into its middle; empty when
// anything else comes before it.
std::optional<size_t> ReturnBehind(const X86Code& code, size_t first) {
  for (size_t i = first; i < code.size(); ++i) {
    if (code.at(i).flow == Flow::kReturn)
      return i;
    if (code.at(i).flow != Flow::kNext)
      return std::nullopt;
  }
  return std::nullopt;
}

bool WritesResult(const X86Code& code, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) {
    if ((code.at(i).writes & kResult) != 0)
      return true;
  }
  return false;
}

bool IsStackProtector(const X86Code& code, size_t index) {
  const Instruction& branch = code.at(index);
  if (index == 0 || branch.condition != Condition::kUnequal || !branch.target ||
      !code.at(index - 1).reads_canary)
    return false;
  const std::optional<size_t> target = code.IndexOf(*branch.target);
  return target && code.at(*target).flow == Flow::kCall;
}

// The index of a function's jump to a place outside of it, or to a computed one.
bool LeavesByJump(const X86Code& code) {
  return std::any_of(code.instructions().begin(), code.instructions().end(),
                     [&](const Instruction& i) {
                       if (i.flow == Flow::kIndirect)
                         return true;
                       return (i.flow == Flow::kJump || i.flow == Flow::kBranch) &&
                              (!i.target || !code.IndexOf(*i.target));
                     });
}

// The constant that rax is sure to hold before instruction `index`: what was last loaded in the
// straight code before it.
std::optional<int64_t> ConstantBefore(const X86Code& code, size_t index) {
  for (size_t i = index; i > 0; --i) {
    if (code.IsJumpedInto(i, i))
      return std::nullopt;
    const Instruction& before = code.at(i - 1);
    if (before.loads)
      return before.loads;
    if ((before.writes & kResult) != 0)
      return std::nullopt;
    // A branch that was not taken changes nothing; everything else ends the straight code.
    if (before.flow != Flow::kNext && before.flow != Flow::kBranch)
      return std::nullopt;
  }
  return std::nullopt;
}

bool IsWanted(std::optional<int64_t> value, uint32_t wanted) {
  return !value || (*value >= 0 && *value < 32 && (wanted >> *value & 1) != 0);
}

// The constant that rax holds when the branch `index` is taken, if the comparison tells.
std::optional<int64_t> ConstantWhenTaken(const X86Code& code, size_t index) {
  const Instruction& branch = code.at(index);
  if (index > 0 && branch.condition == Condition::kEqual && code.at(index - 1).compares &&
      !code.IsJumpedInto(index, index))
    return code.at(index - 1).compares;
  return ConstantBefore(code, index);
}

// Whether going on at `first` leads straight to a return that changes nothing of rax.
bool ReturnsAsIs(const X86Code& code, size_t first) {
  const std::optional<size_t> end = ReturnBehind(code, first);
  return end && !WritesResult(code, first, *end);
}

}  // namespace

ProbePoint PlaceEntry(const X86Code& code, uint32_t needed) {
  for (size_t i = 0; i < code.size(); ++i) {
    const Instruction& instruction = code.at(i);
    if (code.IsJumpedInto(0, i))
      break;
    if (instruction.cheap)
      return PointAt(instruction);
    if (instruction.flow != Flow::kNext || (instruction.writes & needed) != 0)
      break;
  }
  return PointAt(code.at(0));
}

Exits PlaceExits(const X86Code& code) {
  Exits exits;
  exits.complete = !LeavesByJump(code);
  std::vector<size_t> covered;
  for (size_t i = 0; i < code.size(); ++i) {
    if (!code.at(i).cheap || !IsStackProtector(code, i))
      continue;
    const std::optional<size_t> end = ReturnBehind(code, i + 1);
    if (!end || WritesResult(code, i + 1, *end) || code.IsJumpedInto(i + 1, *end))
      continue;
    exits.points.push_back(PointAt(code.at(i)));
    covered.push_back(*end);
  }
  for (size_t i = 0; i < code.size(); ++i) {
    if (code.at(i).flow == Flow::kReturn &&
        std::find(covered.begin(), covered.end(), i) == covered.end())
      exits.points.push_back(PointAt(code.at(i)));
  }
  return exits;
}

std::optional<ProbePoint> PlaceValue(const X86Code& code) {
  std::optional<size_t> first;
  for (size_t i = 0; i < code.size(); ++i) {
    const Instruction& instruction = code.at(i);
    if (first && instruction.cheap)
      return PointAt(instruction);
    if (instruction.flow == Flow::kReturn)
      return first ? std::optional(PointAt(code.at(*first))) : std::nullopt;
    if (instruction.flow != Flow::kNext)
      return std::nullopt;
    if ((instruction.writes & kResult) != 0)
      first = i + 1;
    if ((instruction.writes & RegisterMask(kRdi)) != 0) {
      // What comes behind has lost the argument: it must leave the result alone.
      const std::optional<size_t> end = ReturnBehind(code, i);
      if (!first || *first > i || !end || WritesResult(code, i, *end))
        return std::nullopt;
      return PointAt(code.at(*first));
    }
  }
  return std::nullopt;
}

std::vector<ProbePoint> PlaceAfterSyscalls(const X86Code& code) {
  std::vector<ProbePoint> points;
  for (size_t i = 0; i < code.size(); ++i) {
    if (!code.at(i).is_syscall)
      continue;
    for (size_t next = i + 1; next < code.size(); ++next) {
      const Instruction& instruction = code.at(next);
      if (code.IsJumpedInto(next, next))
        break;
      if (instruction.flow == Flow::kBranch && instruction.cheap)
        points.push_back(PointAt(instruction));
      if (instruction.flow != Flow::kNext || (instruction.writes & kResult) != 0)
        break;
    }
  }
  return points;
}

ClassPoints PlaceClasses(const X86Code& code, uint32_t wanted) {
  ClassPoints points;
  for (size_t i = 0; i < code.size(); ++i) {
    const Instruction& instruction = code.at(i);
    if (instruction.flow == Flow::kReturn) {
      // A return of one wanted class only is cold: stepping it costs nobody.
      const std::optional<int64_t> value = ConstantBefore(code, i);
      if (value && IsWanted(value, wanted))
        points.always.push_back(PointAt(instruction));
      continue;
    }
    if (!instruction.cheap || !instruction.target ||
        (instruction.flow != Flow::kJump && instruction.flow != Flow::kBranch))
      continue;
    const std::optional<size_t> target = code.IndexOf(*instruction.target);
    if (target && ReturnsAsIs(code, *target)) {
      const std::optional<int64_t> value = ConstantWhenTaken(code, i);
      if (IsWanted(value, wanted)) {
        if (instruction.flow == Flow::kJump)
          points.always.push_back(PointAt(instruction));
        else if (instruction.condition == Condition::kEqual)
          points.if_equal.push_back(PointAt(instruction));
        else if (instruction.condition == Condition::kUnequal)
          points.if_unequal.push_back(PointAt(instruction));
      }
    }
    if (instruction.flow == Flow::kBranch && ReturnsAsIs(code, i + 1) &&
        IsWanted(ConstantBefore(code, i), wanted)) {
      if (instruction.condition == Condition::kEqual)
        points.if_unequal.push_back(PointAt(instruction));
      else if (instruction.condition == Condition::kUnequal)
        points.if_equal.push_back(PointAt(instruction));
    }
  }
  return points;
}

}  // namespace routelens

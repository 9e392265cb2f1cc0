// SPDX-License-Identifier: Apache-2.0
//
// Finds the instruction of a function at which a probe sees a value and costs least. Pure: code in,
// addresses out. Which kind of place each program needs is said in bpf/abi/library_probes.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "userspace/decode/elf/x86_code.h"

namespace routelens {

struct ProbePoint {
  uint64_t address = 0;
  bool cheap = false;  // emulated by the kernel, else single-stepped
  friend bool operator==(const ProbePoint&, const ProbePoint&) = default;
};

// The first cheap instruction that every call passes exactly once while the argument registers in
// `needed` still hold their arguments; without one the entry itself, stepped.
ProbePoint PlaceEntry(const X86Code& code, uint32_t needed);

// Points at which rax is the result, one on each way out: the stack protector's jump where nothing
// changes rax behind it, else the return instruction, stepped. Ways out by a jump to another
// function are not seen: `complete` is false then.
struct Exits {
  std::vector<ProbePoint> points;
  bool complete = true;
};

Exits PlaceExits(const X86Code& code);

// A point of a getter without branches at which rax is the result and rdi still the argument.
std::optional<ProbePoint> PlaceValue(const X86Code& code);

// The conditional jump behind each system call, with nothing but the comparison in between.
std::vector<ProbePoint> PlaceAfterSyscalls(const X86Code& code);

// Where a function that classifies (SSL_get_error) is sure to return one of the classes in
// `wanted` (a mask of 1 << class). Hot classes cost nothing: no point lies on their way out, but
// for jumps that they share. At every point rax is the class; `if_equal` and `if_unequal` count
// only with the zero flag set or clear.
struct ClassPoints {
  std::vector<ProbePoint> always;
  std::vector<ProbePoint> if_equal;
  std::vector<ProbePoint> if_unequal;
};

ClassPoints PlaceClasses(const X86Code& code, uint32_t wanted);

}  // namespace routelens

// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/elf/probe_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "base/status_util.h"
#include "bpf/abi/library_probes.h"
#include "userspace/decode/elf/elf_image.h"
#include "userspace/decode/elf/probe_points.h"

namespace routelens {
namespace {

struct Row {
  const char* program;
  const char* symbol;
  rl_probe_place place;
  uint32_t arguments;
  rl_probe_group group;
};

#define RL_ROW(program, symbol, place, arguments, group) \
  {#program, #symbol, place, arguments, group},
constexpr Row kRows[] = {RL_LIBRARY_PROBES(RL_ROW)};
#undef RL_ROW

// SSL_ERROR_SSL, SSL_ERROR_SYSCALL, SSL_ERROR_ZERO_RETURN of <openssl/ssl.h>. The others say that
// nothing failed, and WANT_READ is what every non-blocking client hears once for each record.
constexpr uint32_t kFailureClasses = 1u << 1 | 1u << 5 | 1u << 6;

constexpr uint64_t kFirstInstructionsBytes = 16;

// Functions by which an image's kind is told.
constexpr std::string_view kMarkers[] = {"freeaddrinfo"};

uint32_t RegistersOf(uint32_t arguments) {
  uint32_t mask = 0;
  if ((arguments & RL_ARG1) != 0)
    mask |= RegisterMask(kRdi);
  if ((arguments & RL_ARG2) != 0)
    mask |= RegisterMask(kRsi);
  if ((arguments & RL_ARG3) != 0)
    mask |= RegisterMask(kRdx);
  if ((arguments & RL_ARG4) != 0)
    mask |= RegisterMask(kRcx);
  return mask;
}

bool IsSslSymbol(std::string_view symbol) {
  return symbol.substr(0, 4) == "SSL_";
}

ImageKind KindOf(const StringMap<ElfFunction>& functions) {
  const bool ssl = functions.contains("SSL_clear") && functions.contains("SSL_free");
  const bool crypto = functions.contains("ERR_set_error") && functions.contains("RAND_bytes_ex");
  if (ssl && crypto)
    return ImageKind::kOpensslStatic;
  if (ssl || crypto)
    return ImageKind::kOpensslShared;
  if (functions.contains("getaddrinfo") && functions.contains("freeaddrinfo"))
    return ImageKind::kLibc;
  return ImageKind::kNothing;
}

// Whether an image of this kind should have the function: libssl has no RAND_bytes_ex.
bool Belongs(const Row& row, ImageKind kind, bool has_ssl) {
  if (kind == ImageKind::kLibc)
    return row.group == RL_GROUP_LIBC;
  if (row.group == RL_GROUP_LIBC)
    return false;
  return kind == ImageKind::kOpensslStatic || IsSslSymbol(row.symbol) == has_ssl;
}

// Plans one image; lives as long as PlanProbes.
class Planner {
 public:
  Planner(const ElfImage& image, const StringMap<ElfFunction>& functions, const ProbeChoice& choice,
          ProbePlan& plan)
      : image_(image), functions_(functions), choice_(choice), plan_(plan) {}

  void Plan(const Row& row) {
    if (row.group == RL_GROUP_DATA && !IsWayOfChoice(row))
      return;
    const X86Code* code = CodeOf(row.symbol);
    if (code == nullptr)
      return;
    switch (row.place) {
      case RL_PLACE_ENTRY:
        Add(row, PlaceEntry(*code, RegistersOf(row.arguments)));
        break;
      case RL_PLACE_EXIT:
        AddExits(row, *code);
        break;
      case RL_PLACE_VALUE:
        if (const std::optional<ProbePoint> point = PlaceValue(*code))
          Add(row, *point);
        else
          Miss(row.symbol, "no instruction has result and argument at once");
        break;
      case RL_PLACE_CLASS:
        AddAll(row, PlaceClasses(*code, kFailureClasses).always);
        break;
      case RL_PLACE_CLASS_EQUAL:
        AddAll(row, PlaceClasses(*code, kFailureClasses).if_equal);
        break;
      case RL_PLACE_CLASS_UNEQUAL:
        AddAll(row, PlaceClasses(*code, kFailureClasses).if_unequal);
        break;
      case RL_PLACE_AFTER_SYSCALL: {
        const std::vector<ProbePoint> points = PlaceAfterSyscalls(*code);
        if (points.empty())
          Miss(row.symbol, "no jump behind a system call");
        AddAll(row, points);
        break;
      }
      case RL_PLACE_SESSION:
      case RL_PLACE_RETURN:
        AddRead(row, *code);
        break;
    }
  }

 private:
  // A row of the data path is one of three ways to see the same.
  bool IsWayOfChoice(const Row& row) {
    if (!choice_.data_path)
      return false;
    if (std::string_view(row.symbol).substr(0, 9) == "SSL_write")
      return true;
    const bool wants_whole_calls = choice_.sessions || choice_.returns;
    return (row.place == RL_PLACE_SESSION) == (wants_whole_calls && HasPushedEntry(row.symbol));
  }

  const X86Code* CodeOf(std::string_view symbol) {
    const auto known = codes_.find(symbol);
    if (known != codes_.end())
      return known->second ? &*known->second : nullptr;
    std::optional<X86Code>& code = codes_[std::string(symbol)];
    const auto function = functions_.find(symbol);
    if (function == functions_.end()) {
      Miss(symbol, "not in the image");
      return nullptr;
    }
    absl::StatusOr<std::vector<std::byte>> bytes = image_.ReadCode(function->second);
    if (!bytes.ok()) {
      Miss(symbol, MessageOf(bytes.status()));
      return nullptr;
    }
    absl::StatusOr<X86Code> decoded = X86Code::Decode(*bytes, function->second.address);
    if (!decoded.ok()) {
      Miss(symbol, MessageOf(decoded.status()));
      return nullptr;
    }
    code = *std::move(decoded);
    return &*code;
  }

  // The address at which a whole call can be watched cheaply: the function's own first instruction
  // when that is a push, else the first instruction of the internal function that it hands its
  // arguments to (ssl_read_internal, which takes those of SSL_read_ex).
  std::optional<uint64_t> PushedEntry(std::string_view symbol) {
    const X86Code* code = CodeOf(symbol);
    if (code == nullptr)
      return std::nullopt;
    if (code->at(0).cheap && code->at(0).flow == Instruction::Flow::kNext)
      return code->at(0).address;
    const X86Code* outer = CodeOf("SSL_read_ex");
    if (outer == nullptr)
      return std::nullopt;
    const uint32_t arguments = RegistersOf(RL_ARG1 | RL_ARG2 | RL_ARG3 | RL_ARG4);
    const std::optional<size_t> at = outer->IndexOf(PlaceEntry(*outer, arguments).address);
    const Instruction& call = outer->at(*at);
    if (call.flow != Instruction::Flow::kCall || !call.target || !Calls(*code, *call.target) ||
        !StartsWithPush(*call.target))
      return std::nullopt;
    return call.target;
  }

  bool HasPushedEntry(std::string_view symbol) { return PushedEntry(symbol).has_value(); }

  static bool Calls(const X86Code& code, uint64_t target) {
    return std::any_of(code.instructions().begin(), code.instructions().end(),
                       [&](const Instruction& i) {
                         return i.flow == Instruction::Flow::kCall && i.target == target;
                       });
  }

  bool StartsWithPush(uint64_t address) {
    absl::StatusOr<std::vector<std::byte>> bytes =
        image_.ReadCode({address, kFirstInstructionsBytes});
    if (!bytes.ok())
      return false;
    const std::span<const std::byte> code(*bytes);
    const bool extended = code[0] == std::byte{0x41};
    const std::byte opcode = code[extended ? 1 : 0];
    return opcode >= std::byte{0x50} && opcode <= std::byte{0x57} &&
           IsEmulated(code.first(extended ? 2 : 1));
  }

  void AddRead(const Row& row, const X86Code& code) {
    const uint64_t address = *PushedEntry(row.symbol);
    // The internal function is one point for both of its callers; it reports like SSL_read_ex.
    const bool is_own = address == code.at(0).address;
    const bool extended = !is_own || std::string_view(row.symbol) == "SSL_read_ex";
    if (!is_own && std::string_view(row.symbol) != "SSL_read_ex")
      return;
    if (choice_.sessions) {
      AddAt(extended ? "on_ssl_read_ex" : "on_ssl_read", row, {address, true}, false);
      return;
    }
    AddAt(extended ? "on_ssl_read_ex_begin" : "on_ssl_read_begin", row, {address, true}, false);
    AddAt(extended ? "on_ssl_read_ex_end" : "on_ssl_read_end", row, {address, true}, true);
  }

  void AddExits(const Row& row, const X86Code& code) {
    const Exits exits = PlaceExits(code);
    if (!exits.complete)
      Miss(row.symbol, "some of its ways out cannot be seen");
    AddAll(row, exits.points);
  }

  void AddAll(const Row& row, const std::vector<ProbePoint>& points) {
    for (const ProbePoint& point : points) Add(row, point);
  }

  void Add(const Row& row, const ProbePoint& point) { AddAt(row.program, row, point, false); }

  void AddAt(const char* program, const Row& row, const ProbePoint& point, bool is_return) {
    absl::StatusOr<uint64_t> offset = image_.CodeOffset(point.address, 1);
    if (!offset.ok()) {
      Miss(row.symbol, MessageOf(offset.status()));
      return;
    }
    plan_.probes.push_back(
        {program, row.symbol, *offset, is_return, point.cheap, row.group == RL_GROUP_DATA});
  }

  void Miss(std::string_view symbol, std::string_view reason) {
    std::string text = std::string(symbol) + ": " + std::string(reason);
    if (std::find(plan_.missing.begin(), plan_.missing.end(), text) == plan_.missing.end())
      plan_.missing.push_back(std::move(text));
  }

  const ElfImage& image_;
  const StringMap<ElfFunction>& functions_;
  const ProbeChoice& choice_;
  ProbePlan& plan_;
  std::map<std::string, std::optional<X86Code>, std::less<>> codes_;  // pointers into it stay valid
};

}  // namespace

absl::StatusOr<ProbePlan> PlanProbes(const ByteSource& source, const ProbeChoice& choice) {
  absl::StatusOr<ElfImage> image = ElfImage::Open(source);
  if (!image.ok())
    return image.status();
  if (image->machine() != ElfMachine::kX86_64)
    return absl::UnimplementedError("library blind: probes are placed on x86-64 only");
  std::vector<std::string_view> names(std::begin(kMarkers), std::end(kMarkers));
  for (const Row& row : kRows) names.push_back(row.symbol);
  absl::StatusOr<StringMap<ElfFunction>> functions = image->FindFunctions(names);
  if (!functions.ok())
    return functions.status();

  ProbePlan plan;
  plan.kind = KindOf(*functions);
  plan.build_id = image->build_id();
  if (plan.kind == ImageKind::kNothing)
    return plan;
  const bool has_ssl = functions->contains("SSL_clear");
  Planner planner(*image, *functions, choice, plan);
  for (const Row& row : kRows) {
    if (Belongs(row, plan.kind, has_ssl))
      planner.Plan(row);
  }
  return plan;
}

}  // namespace routelens

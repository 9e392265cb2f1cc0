// SPDX-License-Identifier: Apache-2.0
//
// Reads what probes need from an ELF file: where the code of a named function lies in the file, its
// bytes, and the build id. The file is hostile input: only bounded reads through a ByteSource,
// nothing is executed, and every refusal is a status that names the reason.
//
// Reads 64-bit little-endian files with section headers. Limits (see kElfLimits): a file beyond
// them is refused, never read in part. Of several versions of a symbol the default one counts
// (.gnu.version); indirect functions (STT_GNU_IFUNC) are passed over: their address is a resolver.
//
// A value; not thread-safe for the source's sake, otherwise immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_util.h"
#include "base/string_map.h"
#include "userspace/decode/elf/byte_source.h"

namespace routelens {

struct ElfLimits {
  uint32_t program_headers = 128;
  uint32_t section_headers = 4096;
  uint64_t symbols = 4u << 20;               // per table
  uint64_t string_table_bytes = 128u << 20;  // a browser's .strtab is below 64 MiB
  uint64_t function_bytes = 64u << 10;
  uint32_t note_bytes = 4096;
};

inline constexpr ElfLimits kElfLimits;

enum class ElfMachine : uint8_t { kX86_64, kAarch64, kOther };

struct ElfFunction {
  uint64_t address = 0;  // virtual, as linked
  uint64_t bytes = 0;
  friend bool operator==(const ElfFunction&, const ElfFunction&) = default;
};

class ElfImage {
 public:
  // Reads the headers. kInvalidArgument: no ELF file, or damaged; kUnimplemented: another class or
  // byte order; kResourceExhausted: beyond a limit. `source` must outlive the image.
  static absl::StatusOr<ElfImage> Open(const ByteSource& source);

  ElfMachine machine() const { return machine_; }

  const std::string& build_id() const { return build_id_; }  // lower-case hex; "" if none

  // The defined functions of these names. What is not there is not in the map. .symtab is read
  // only for names that .dynsym lacks. `names` are without version ("SSL_read").
  absl::StatusOr<StringMap<ElfFunction>> FindFunctions(
      std::span<const std::string_view> names) const;

  // File offset of `bytes` bytes of code at this virtual address; kOutOfRange when they do not lie
  // within one executable segment of the file.
  absl::StatusOr<uint64_t> CodeOffset(uint64_t address, uint64_t bytes) const;

  absl::StatusOr<std::vector<std::byte>> ReadCode(const ElfFunction& function) const;

 private:
  struct Segment {
    uint64_t address, offset, file_bytes;
  };

  struct Section {
    uint32_t type, link;
    uint64_t offset, bytes, entry_bytes;
  };

  explicit ElfImage(const ByteSource& source) : source_(&source) {}

  absl::Status ReadSegments(uint64_t table, uint16_t entry_bytes, uint16_t count);
  absl::Status ReadSections(uint64_t table, uint16_t entry_bytes, uint16_t count);
  void ReadBuildId(uint64_t offset, uint64_t bytes);
  absl::Status SearchTable(const Section& table, StringMap<bool>& wanted,
                           StringMap<ElfFunction>& found) const;
  std::vector<uint16_t> ReadVersions(uint64_t count) const;

  const ByteSource* source_;
  ElfMachine machine_ = ElfMachine::kOther;
  std::string build_id_;
  std::vector<Segment> code_;
  std::vector<Section> sections_;
};

}  // namespace routelens

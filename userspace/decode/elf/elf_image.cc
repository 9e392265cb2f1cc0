// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/elf/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/status/status.h"

namespace routelens {
namespace {

constexpr size_t kSymbolsPerRead = 4096;
constexpr uint16_t kHiddenVersion = 0x8000;  // VERSYM_HIDDEN, not in <elf.h>

absl::Status Damaged(const std::string& what) {
  return absl::InvalidArgumentError("damaged ELF file: " + what);
}

absl::Status TooLarge(const std::string& what) {
  return absl::ResourceExhaustedError("ELF file beyond our limits: " + what);
}

template <typename T>
bool ReadStruct(const ByteSource& source, uint64_t offset, T& out) {
  return source.ReadAt(offset, std::as_writable_bytes(std::span<T, 1>(&out, 1)));
}

// Reads `count` entries that lie `entry_bytes` apart and are at least as large as T.
template <typename T>
bool ReadTable(const ByteSource& source, uint64_t offset, uint64_t entry_bytes, uint64_t count,
               std::vector<T>& out) {
  if (entry_bytes < sizeof(T) || entry_bytes > 4096)
    return false;
  std::vector<std::byte> raw(entry_bytes * count);
  if (!source.ReadAt(offset, raw))
    return false;
  out.resize(count);
  for (uint64_t i = 0; i < count; ++i)
    std::memcpy(&out[i], raw.data() + i * entry_bytes, sizeof(T));
  return true;
}

ElfMachine MachineOf(uint16_t machine) {
  if (machine == EM_X86_64)
    return ElfMachine::kX86_64;
  return machine == EM_AARCH64 ? ElfMachine::kAarch64 : ElfMachine::kOther;
}

bool IsDefinedFunction(const Elf64_Sym& symbol) {
  return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_value != 0;
}

// The name at `at`, without "@version"; empty when it is not terminated within the table.
std::string_view NameAt(std::string_view strings, uint64_t at) {
  if (at >= strings.size())
    return {};
  const std::string_view rest = strings.substr(at);
  const size_t end = rest.find('\0');
  if (end == std::string_view::npos)
    return {};
  const std::string_view name = rest.substr(0, end);
  return name.substr(0, name.find('@'));
}

}  // namespace

absl::StatusOr<ElfImage> ElfImage::Open(const ByteSource& source) {
  Elf64_Ehdr header;
  if (!ReadStruct(source, 0, header))
    return absl::InvalidArgumentError("not an ELF file: shorter than its header");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return absl::InvalidArgumentError("not an ELF file: no magic number");
  if (header.e_ident[EI_CLASS] != ELFCLASS64)
    return absl::UnimplementedError("not a 64-bit ELF file");
  if (header.e_ident[EI_DATA] != ELFDATA2LSB)
    return absl::UnimplementedError("not a little-endian ELF file");
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
    return absl::InvalidArgumentError("neither an executable nor a shared object");

  ElfImage image(source);
  image.machine_ = MachineOf(header.e_machine);
  RL_RETURN_IF_ERROR(image.ReadSegments(header.e_phoff, header.e_phentsize, header.e_phnum));
  RL_RETURN_IF_ERROR(image.ReadSections(header.e_shoff, header.e_shentsize, header.e_shnum));
  return image;
}

absl::Status ElfImage::ReadSegments(uint64_t table, uint16_t entry_bytes, uint16_t count) {
  if (count > kElfLimits.program_headers)
    return TooLarge(std::to_string(count) + " program headers");
  std::vector<Elf64_Phdr> headers;
  if (!ReadTable(*source_, table, entry_bytes, count, headers))
    return Damaged("program headers out of the file");
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0)
      code_.push_back({header.p_vaddr, header.p_offset, header.p_filesz});
    if (header.p_type == PT_NOTE && build_id_.empty())
      ReadBuildId(header.p_offset, header.p_filesz);
  }
  return absl::OkStatus();
}

absl::Status ElfImage::ReadSections(uint64_t table, uint16_t entry_bytes, uint16_t count) {
  if (count == 0)
    return absl::OkStatus();  // stripped of its sections: no symbol can be found
  if (count > kElfLimits.section_headers)
    return TooLarge(std::to_string(count) + " section headers");
  std::vector<Elf64_Shdr> headers;
  if (!ReadTable(*source_, table, entry_bytes, count, headers))
    return Damaged("section headers out of the file");
  for (const Elf64_Shdr& header : headers)
    sections_.push_back(
        {header.sh_type, header.sh_link, header.sh_offset, header.sh_size, header.sh_entsize});
  return absl::OkStatus();
}

// A build id is a label only: a damaged note leaves it empty.
void ElfImage::ReadBuildId(uint64_t offset, uint64_t bytes) {
  std::vector<std::byte> notes(std::min<uint64_t>(bytes, kElfLimits.note_bytes));
  if (!source_->ReadAt(offset, notes))
    return;
  size_t at = 0;
  Elf64_Nhdr note;
  while (notes.size() - at >= sizeof(note)) {
    std::memcpy(&note, notes.data() + at, sizeof(note));
    at += sizeof(note);
    const uint64_t name_bytes = (uint64_t{note.n_namesz} + 3) & ~uint64_t{3};
    const uint64_t value_bytes = (uint64_t{note.n_descsz} + 3) & ~uint64_t{3};
    if (name_bytes > notes.size() - at || value_bytes > notes.size() - at - name_bytes)
      return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= 64 &&
        std::memcmp(notes.data() + at, "GNU", 4) == 0) {
      constexpr char kHex[] = "0123456789abcdef";
      for (uint32_t i = 0; i < note.n_descsz; ++i) {
        const auto value = std::to_integer<unsigned>(notes[at + name_bytes + i]);
        build_id_ += kHex[value >> 4];
        build_id_ += kHex[value & 15];
      }
      return;
    }
    at += name_bytes + value_bytes;
  }
}

// .gnu.version runs beside .dynsym. Without it, or when it is damaged, no version is hidden.
std::vector<uint16_t> ElfImage::ReadVersions(uint64_t count) const {
  for (const Section& section : sections_) {
    if (section.type != SHT_GNU_versym || section.bytes / sizeof(uint16_t) < count)
      continue;
    std::vector<uint16_t> versions(count);
    if (source_->ReadAt(section.offset, std::as_writable_bytes(std::span(versions))))
      return versions;
  }
  return {};
}

absl::Status ElfImage::SearchTable(const Section& table, StringMap<bool>& wanted,
                                   StringMap<ElfFunction>& found) const {
  if (table.entry_bytes != sizeof(Elf64_Sym))
    return Damaged("symbols of an unknown size");
  const uint64_t count = table.bytes / sizeof(Elf64_Sym);
  if (count > kElfLimits.symbols)
    return TooLarge(std::to_string(count) + " symbols");
  if (table.link >= sections_.size() || sections_[table.link].type != SHT_STRTAB)
    return Damaged("symbols without their names");
  const Section& names = sections_[table.link];
  if (names.bytes > kElfLimits.string_table_bytes)
    return TooLarge("names of " + std::to_string(names.bytes) + " bytes");
  // Before the memory is asked for: the last byte must be there.
  std::byte last{};
  if (names.bytes > 0 && !source_->ReadAt(names.offset + names.bytes - 1, {&last, 1}))
    return Damaged("names out of the file");
  std::string strings(names.bytes, '\0');
  if (!source_->ReadAt(names.offset, std::as_writable_bytes(std::span(strings))))
    return Damaged("names out of the file");
  std::vector<uint16_t> versions;
  if (table.type == SHT_DYNSYM)
    versions = ReadVersions(count);

  std::vector<Elf64_Sym> symbols;
  for (uint64_t first = 0; first < count; first += symbols.size()) {
    symbols.resize(std::min<uint64_t>(kSymbolsPerRead, count - first));
    if (!source_->ReadAt(table.offset + first * sizeof(Elf64_Sym),
                         std::as_writable_bytes(std::span(symbols))))
      return Damaged("symbols out of the file");
    for (size_t i = 0; i < symbols.size(); ++i) {
      const Elf64_Sym& symbol = symbols[i];
      if (!IsDefinedFunction(symbol))
        continue;
      const std::string_view name = NameAt(strings, symbol.st_name);
      auto want = wanted.find(name);
      if (want == wanted.end())
        continue;
      const bool hidden = !versions.empty() && (versions[first + i] & kHiddenVersion) != 0;
      const bool is_new = !found.contains(name);
      if (is_new || (want->second && !hidden)) {
        found[std::string(name)] = {symbol.st_value, symbol.st_size};
        want->second = hidden;  // an old version gives way to the default one
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<StringMap<ElfFunction>> ElfImage::FindFunctions(
    std::span<const std::string_view> names) const {
  StringMap<ElfFunction> found;
  StringMap<bool> wanted;
  for (std::string_view name : names) wanted.emplace(std::string(name), false);
  for (uint32_t type : {uint32_t{SHT_DYNSYM}, uint32_t{SHT_SYMTAB}}) {
    if (type == SHT_SYMTAB) {
      for (const auto& [name, function] : found) wanted.erase(name);
      if (wanted.empty())
        break;
    }
    for (const Section& section : sections_) {
      if (section.type == type)
        RL_RETURN_IF_ERROR(SearchTable(section, wanted, found));
    }
  }
  return found;
}

absl::StatusOr<uint64_t> ElfImage::CodeOffset(uint64_t address, uint64_t bytes) const {
  for (const Segment& segment : code_) {
    if (address < segment.address || address - segment.address > segment.file_bytes)
      continue;
    const uint64_t into = address - segment.address;
    if (bytes > segment.file_bytes - into || segment.offset > UINT64_MAX - into)
      continue;
    return segment.offset + into;
  }
  return absl::OutOfRangeError("function outside the file's code");
}

absl::StatusOr<std::vector<std::byte>> ElfImage::ReadCode(const ElfFunction& function) const {
  if (function.bytes == 0)
    return Damaged("function without a size");
  if (function.bytes > kElfLimits.function_bytes)
    return TooLarge("function of " + std::to_string(function.bytes) + " bytes");
  absl::StatusOr<uint64_t> offset = CodeOffset(function.address, function.bytes);
  if (!offset.ok())
    return offset.status();
  std::vector<std::byte> code(function.bytes);
  if (!source_->ReadAt(*offset, code))
    return Damaged("code out of the file");
  return code;
}

}  // namespace routelens

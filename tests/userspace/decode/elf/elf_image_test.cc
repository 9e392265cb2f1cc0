// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/elf/elf_image.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/status_util.h"
#include "tests/userspace/decode/elf/memory_elf.h"

namespace routelens {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<StringMap<ElfFunction>> Find(const std::vector<std::byte>& bytes,
                                            std::vector<std::string_view> names) {
  const MemoryBytes source(bytes);
  absl::StatusOr<ElfImage> image = ElfImage::Open(source);
  if (!image.ok())
    return image.status();
  return image->FindFunctions(names);
}

std::string RefusalOf(const std::vector<std::byte>& bytes) {
  const auto found = Find(bytes, {"f"});
  return found.ok() ? "accepted" : std::string(MessageOf(found.status()));
}

TEST(ElfImage, FindsFunctionsOfBothTables) {
  MemoryElf elf;
  elf.symbols = {{"a", 0x1000, 16}, {"b", 0x1010, 32, false}};
  const auto found = Find(elf.Bytes(), {"a", "b", "c"});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->size(), 2u);
  EXPECT_EQ(found->at("a"), (ElfFunction{0x1000, 16}));
  EXPECT_EQ(found->at("b"), (ElfFunction{0x1010, 32}));
}

TEST(ElfImage, TakesTheDefaultVersionWhateverTheOrder) {
  MemoryElf elf;
  elf.symbols = {{"old_first", 0x1000, 1, true, true},
                 {"old_first", 0x1010, 1},
                 {"new_first", 0x1020, 1},
                 {"new_first", 0x1030, 1, true, true}};
  const auto found = Find(elf.Bytes(), {"old_first", "new_first"});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->at("old_first").address, 0x1010u);
  EXPECT_EQ(found->at("new_first").address, 0x1020u);
}

TEST(ElfImage, CutsAVersionOffAName) {
  MemoryElf elf;
  elf.symbols = {{"f@@V_1", 0x1000, 1, false}};
  const auto found = Find(elf.Bytes(), {"f"});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->contains("f"));
}

TEST(ElfImage, PassesOverWhatIsNoDefinedFunction) {
  MemoryElf elf;
  elf.symbols = {{"imported", 0x1000, 1, true, false, false},
                 {"data", 0x1000, 1, true, false, true, STT_OBJECT},
                 {"resolver", 0x1000, 1, true, false, true, STT_GNU_IFUNC}};
  const auto found = Find(elf.Bytes(), {"imported", "data", "resolver"});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->empty());
}

TEST(ElfImage, TellsWhereCodeLiesInTheFile) {
  MemoryElf elf;
  const std::vector<std::byte> bytes = elf.Bytes();
  const MemoryBytes source(bytes);
  const auto image = ElfImage::Open(source);
  ASSERT_TRUE(image.ok());
  const uint64_t text = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
  EXPECT_EQ(*image->CodeOffset(0x1010, 16), text + 16);
  EXPECT_EQ(*image->CodeOffset(0x1000, 256), text);
  EXPECT_FALSE(image->CodeOffset(0x1000, 257).ok());
  EXPECT_FALSE(image->CodeOffset(0xfff, 1).ok());
  EXPECT_FALSE(image->CodeOffset(UINT64_MAX, 1).ok());
}

TEST(ElfImage, RefusesCodeThatIsEmptyTooLongOrElsewhere) {
  MemoryElf elf;
  const std::vector<std::byte> bytes = elf.Bytes();
  const MemoryBytes source(bytes);
  const auto image = ElfImage::Open(source);
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->ReadCode({0x1000, 4})->size(), 4u);
  EXPECT_FALSE(image->ReadCode({0x1000, 0}).ok());
  EXPECT_FALSE(image->ReadCode({0x1000, kElfLimits.function_bytes + 1}).ok());
  EXPECT_FALSE(image->ReadCode({0x2000, 4}).ok());
}

TEST(ElfImage, NamesTheReasonOfARefusal) {
  EXPECT_THAT(RefusalOf({}), HasSubstr("shorter than its header"));
  MemoryElf elf;
  std::vector<std::byte> text = elf.Bytes();
  text[0] = std::byte{'#'};
  EXPECT_THAT(RefusalOf(text), HasSubstr("no magic number"));
  elf.header.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(RefusalOf(elf.Bytes()), HasSubstr("not a 64-bit"));
  elf = MemoryElf();
  elf.header.e_ident[EI_DATA] = ELFDATA2MSB;
  EXPECT_THAT(RefusalOf(elf.Bytes()), HasSubstr("not a little-endian"));
  elf = MemoryElf();
  elf.header.e_type = ET_REL;
  EXPECT_THAT(RefusalOf(elf.Bytes()), HasSubstr("neither an executable"));
  elf = MemoryElf();
  elf.header.e_phnum = 60000;
  EXPECT_THAT(RefusalOf(elf.Bytes()), HasSubstr("beyond our limits"));
  elf = MemoryElf();
  elf.header.e_shnum = 60000;
  EXPECT_THAT(RefusalOf(elf.Bytes()), HasSubstr("beyond our limits"));
  elf = MemoryElf();
  elf.header.e_shnum = 100;
  EXPECT_THAT(RefusalOf(elf.Bytes()), HasSubstr("section headers out of the file"));
}

// The section header of the first table with this type, to be damaged.
Elf64_Shdr SectionOf(const std::vector<std::byte>& bytes, uint32_t type, size_t& at) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  Elf64_Shdr section{};
  for (at = header.e_shoff; at < bytes.size(); at += sizeof(section)) {
    std::memcpy(&section, bytes.data() + at, sizeof(section));
    if (section.sh_type == type)
      break;
  }
  return section;
}

TEST(ElfImage, RefusesTablesThatLieOutsideTheFile) {
  MemoryElf elf;
  elf.symbols = {{"f", 0x1000, 1}};

  struct Damage {
    uint32_t type;
    uint64_t Elf64_Shdr::*member;
    uint64_t value;
    const char* reason;
  };

  const Damage damages[] = {
      {SHT_DYNSYM, &Elf64_Shdr::sh_offset, UINT64_MAX - 8, "symbols out of the file"},
      {SHT_DYNSYM, &Elf64_Shdr::sh_size, uint64_t{1} << 40, "beyond our limits"},
      {SHT_DYNSYM, &Elf64_Shdr::sh_entsize, 1, "symbols of an unknown size"},
      {SHT_STRTAB, &Elf64_Shdr::sh_offset, UINT64_MAX - 8, "names out of the file"},
      {SHT_STRTAB, &Elf64_Shdr::sh_size, uint64_t{1} << 26, "names out of the file"},
      {SHT_STRTAB, &Elf64_Shdr::sh_size, uint64_t{1} << 40, "beyond our limits"},
  };
  for (const Damage& damage : damages) {
    std::vector<std::byte> bytes = elf.Bytes();
    size_t at = 0;
    Elf64_Shdr section = SectionOf(bytes, damage.type, at);
    section.*damage.member = damage.value;
    std::memcpy(bytes.data() + at, &section, sizeof(section));
    EXPECT_THAT(RefusalOf(bytes), HasSubstr(damage.reason)) << damage.type;
  }
}

TEST(ElfImage, ReadsEveryPrefixOfAFileWithoutHarm) {
  MemoryElf elf;
  elf.symbols = {{"f", 0x1000, 1}, {"f", 0x1000, 1, false}};
  const std::vector<std::byte> bytes = elf.Bytes();
  ASSERT_TRUE(Find(bytes, {"f"}).ok());
  for (size_t length = 0; length + 1 < bytes.size(); ++length) {
    const std::vector<std::byte> prefix(bytes.begin(),
                                        bytes.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(Find(prefix, {"f"}).ok()) << length;
  }
}

}  // namespace
}  // namespace routelens

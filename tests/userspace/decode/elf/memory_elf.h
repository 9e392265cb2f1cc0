// SPDX-License-Identifier: Apache-2.0
//
// Small ELF files made in memory, whole or damaged on purpose, for the reader's tests.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace routelens {

// One code segment at 0x1000, one symbol table of each kind, and versions for the dynamic one.
class MemoryElf {
 public:
  struct Symbol {
    std::string name;
    uint64_t address;
    uint64_t bytes;
    bool dynamic = true;
    bool hidden = false;
    bool defined = true;
    unsigned char type = STT_FUNC;
  };

  Elf64_Ehdr header{};
  Elf64_Phdr code{};
  std::vector<Symbol> symbols;
  std::vector<std::byte> text = std::vector<std::byte>(256, std::byte{0x90});

  MemoryElf() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    header.e_shentsize = sizeof(Elf64_Shdr);
    code.p_type = PT_LOAD;
    code.p_flags = PF_R | PF_X;
    code.p_vaddr = 0x1000;
  }

  std::vector<std::byte> Bytes() const {
    std::string out(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), '\0');
    Elf64_Phdr segment = code;
    segment.p_offset = out.size();
    segment.p_filesz = text.size();
    out.append(reinterpret_cast<const char*>(text.data()), text.size());

    std::vector<Elf64_Shdr> sections(1);
    for (const bool dynamic : {true, false}) {
      std::string names(1, '\0');
      std::string table(sizeof(Elf64_Sym), '\0');
      std::string versions(2, '\0');
      for (const Symbol& symbol : symbols) {
        if (symbol.dynamic != dynamic)
          continue;
        Elf64_Sym entry{};
        entry.st_name = static_cast<Elf64_Word>(names.size());
        entry.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, symbol.type));
        entry.st_shndx = symbol.defined ? 1 : SHN_UNDEF;
        entry.st_value = symbol.address;
        entry.st_size = symbol.bytes;
        table.append(reinterpret_cast<const char*>(&entry), sizeof(entry));
        names += symbol.name + '\0';
        versions += symbol.hidden ? std::string("\2\x80", 2) : std::string("\2\0", 2);
      }
      const auto add = [&](uint32_t type, const std::string& content, uint32_t link,
                           uint64_t entry_bytes) {
        Elf64_Shdr section{};
        section.sh_type = type;
        section.sh_offset = out.size();
        section.sh_size = content.size();
        section.sh_link = link;
        section.sh_entsize = entry_bytes;
        sections.push_back(section);
        out += content;
      };
      const auto next = static_cast<uint32_t>(sections.size());
      add(dynamic ? SHT_DYNSYM : SHT_SYMTAB, table, next + 1, sizeof(Elf64_Sym));
      add(SHT_STRTAB, names, 0, 0);
      if (dynamic)
        add(SHT_GNU_versym, versions, next, 2);
    }
    Elf64_Ehdr head = header;
    head.e_phoff = sizeof(head);
    head.e_shoff = out.size();
    if (head.e_shnum == 0)
      head.e_shnum = static_cast<uint16_t>(sections.size());
    out.append(reinterpret_cast<const char*>(sections.data()),
               sections.size() * sizeof(Elf64_Shdr));
    std::memcpy(out.data(), &head, sizeof(head));
    std::memcpy(out.data() + sizeof(head), &segment, sizeof(segment));
    const auto* bytes = reinterpret_cast<const std::byte*>(out.data());
    return {bytes, bytes + out.size()};
  }
};

}  // namespace routelens

// Shared libraries for readers, with the tables that a test gives them: most of them forged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <string>
#include <string_view>
#include <vector>

#include "tests/core/plugin/support.hpp"

namespace tenon::core::test {

// Every address is the offset in the file. What is not given is there and in order: an empty symbol
// table, both kinds of hash table for it, strings, one note.
class ElfImage {
 public:
  ElfImage() {
    bytes_ = make_elf({plugin_payload()});
    note_ = bytes_.find("Tenon") - offsetof(tenon_facts_header, owner);
    note_size_ = bytes_.size() - note_;
    std::memcpy(&header_, bytes_.data(), sizeof header_);
    set_symbols({});
    set_strings(std::string(1, '\0'));
  }

  // Returns where the bytes are.
  uint64_t add(std::string_view part) {
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    bytes_ += part;
    return bytes_.size() - part.size();
  }
  template <class T>
  uint64_t add(const std::vector<T>& items) {
    return add({reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T)});
  }

  // An entry of the dynamic section, behind those that are there.
  void add_entry(int64_t tag, uint64_t value) { entries_.push_back(entry(tag, value)); }
  // The one with this tag.
  void set_entry(int64_t tag, uint64_t value) {
    std::erase_if(entries_, [&](const Elf64_Dyn& each) { return each.d_tag == tag; });
    add_entry(tag, value);
  }
  void set_strings(std::string_view strings) {
    set_entry(DT_STRTAB, add(strings));
    set_entry(DT_STRSZ, strings.size());
  }
  // Behind the symbol without a name that every table begins with. Both hash tables say how many
  // there are: the new kind by one chain of all but the first.
  void set_symbols(std::vector<Elf64_Sym> symbols) {
    symbols.insert(symbols.begin(), Elf64_Sym{});
    const auto count = static_cast<uint32_t>(symbols.size());
    set_entry(DT_SYMTAB, add(symbols));
    set_entry(DT_HASH, add(std::vector<uint32_t>{1, count, 0}));
    std::vector<uint32_t> table = {1, 1, 1, 0, 0, 0, count > 1 ? 1u : 0u};
    for (uint32_t i = 1; i < count; ++i) table.push_back(i + 1 == count ? 1 : 0);
    set_entry(DT_GNU_HASH, add(table));
  }
  void add_segment(uint32_t type, uint64_t offset, uint64_t address, uint64_t size) {
    Elf64_Phdr segment{};
    segment.p_type = type;
    segment.p_offset = offset;
    segment.p_vaddr = address;
    segment.p_filesz = segment.p_memsz = size;
    segment.p_align = 4;
    segments_.push_back(segment);
  }
  // A dynamic section with these entries alone, for a segment.
  uint64_t add_section(std::vector<Elf64_Dyn> entries) {
    entries.push_back(entry(DT_NULL, 0));
    return add(entries);
  }
  static Elf64_Dyn entry(int64_t tag, uint64_t value) {
    Elf64_Dyn result{};
    result.d_tag = tag;
    result.d_un.d_val = value;
    return result;
  }
  const std::vector<Elf64_Dyn>& entries() const { return entries_; }

  // The whole file. Its dynamic section is that of the entries, or those of the segments that were
  // added.
  std::string file() const {
    ElfImage whole = *this;
    const bool given =
        std::ranges::find(segments_, uint32_t{PT_DYNAMIC}, &Elf64_Phdr::p_type) != segments_.end();
    if (!given) {
      const uint64_t at = whole.add_section(entries_);
      whole.add_segment(PT_DYNAMIC, at, at, (entries_.size() + 1) * sizeof(Elf64_Dyn));
    }
    whole.add_segment(PT_NOTE, note_, note_, note_size_);
    const uint64_t table = whole.add(std::string());
    whole.add_segment(PT_LOAD, 0, 0, table);
    whole.add(whole.segments_);
    whole.header_.e_phoff = table;
    whole.header_.e_phnum = static_cast<uint16_t>(whole.segments_.size());
    std::memcpy(whole.bytes_.data(), &whole.header_, sizeof whole.header_);
    return whole.bytes_;
  }

 private:
  std::string bytes_;
  Elf64_Ehdr header_{};
  uint64_t note_ = 0, note_size_ = 0;
  std::vector<Elf64_Dyn> entries_;
  std::vector<Elf64_Phdr> segments_;
};

// An undefined one: of another library.
inline Elf64_Sym imported_symbol(uint32_t name) {
  Elf64_Sym symbol{};
  symbol.st_name = name;
  symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
  return symbol;
}
inline Elf64_Sym unique_symbol(uint32_t name) {
  Elf64_Sym symbol{};
  symbol.st_name = name;
  symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GNU_UNIQUE, STT_OBJECT));
  symbol.st_shndx = 1;
  return symbol;
}

}  // namespace tenon::core::test

// Bounded ELF64 reader: header, program headers, note segments; nothing else is believed.
#include "core/plugin/facts/elf_notes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <elf.h>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/plugin/failure.hpp"
#include "tenon/abi/facts.h"

namespace tenon::core {

namespace {

static_assert(std::endian::native == std::endian::little, "big-endian machines are not supported");

#if defined(__x86_64__)
constexpr uint16_t kThisMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kThisMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr uint16_t kThisMachine = EM_RISCV;
#elif defined(__powerpc64__)
constexpr uint16_t kThisMachine = EM_PPC64;
#else
#error "add this machine's ELF code here and its name below"
#endif

// Far above what linkers write; bounds the work that a forged count can cause.
constexpr uint16_t kMaxProgramHeaders = 1024;
constexpr uint64_t kMaxDynamic = 1u << 16;
constexpr uint32_t kMaxSectionNames = 1u << 20;
constexpr uint64_t kMaxSectionHeaders = 1u << 16;
constexpr uint32_t kMaxSymbols = 1u << 20;
// Libraries and folders: names of files are shorter, and many entries may name the same text.
constexpr size_t kMaxNames = 4096;
constexpr size_t kMaxString = 4096;

// Longest symbol name that is read: longer than any that matters here.
constexpr size_t kMaxSymbolName = 4096;
constexpr uint32_t kSymbolBlock = 1024;

// Bytes before the buckets of the two kinds of hash tables.
constexpr uint64_t kHashHead = 2 * sizeof(uint32_t);
constexpr uint64_t kGnuHashHead = 4 * sizeof(uint32_t);

// The start of a file, where linkers put headers and notes: one read serves them all.
constexpr size_t kHeadSize = 4096;

std::string machine_text(uint16_t machine) {
  static constexpr std::pair<uint16_t, const char*> kNames[] = {
      {EM_386, "x86"},     {EM_X86_64, "x86-64"}, {EM_ARM, "arm"},   {EM_AARCH64, "aarch64"},
      {EM_RISCV, "riscv"}, {EM_PPC64, "ppc64"},   {EM_S390, "s390"}, {EM_MIPS, "mips"}};
  const auto found = std::ranges::find(kNames, machine, [](const auto& one) { return one.first; });
  return found == std::end(kNames) ? format_text("machine code {}", machine) : found->second;
}

// Tables that the system's loader follows blindly: each has to be inside of what it maps. This catches
// damaged files; it does not make a malicious one harmless, for its code would run anyway.
struct DynamicTable {
  int64_t tag;
  int64_t size_tag;  // entry with its size; 0: `size` bytes
  uint64_t size;
  bool is_needed;
  const char* fault;
};
constexpr const char* kHashFault = "its hash table is outside of the file";
constexpr const char* kAddressFault = "an address is outside of the file";
constexpr DynamicTable kDynamicTables[] = {
    {DT_STRTAB, DT_STRSZ, 0, true, "it has no strings"},
    {DT_SYMTAB, 0, sizeof(Elf64_Sym), true, "it has no symbols"},
    {DT_HASH, 0, kHashHead, false, kHashFault},
    {DT_GNU_HASH, 0, kGnuHashHead, false, kHashFault},
    {DT_RELA, DT_RELASZ, 0, false, "its relocations are outside of the file"},
    {DT_JMPREL, DT_PLTRELSZ, 0, false, "its function relocations are outside of the file"},
    {DT_INIT_ARRAY, DT_INIT_ARRAYSZ, 0, false, "its constructors are outside of the file"},
    {DT_FINI_ARRAY, DT_FINI_ARRAYSZ, 0, false, "its destructors are outside of the file"},
    {DT_INIT, 0, 1, false, kAddressFault},
    {DT_FINI, 0, 1, false, kAddressFault},
    {DT_PLTGOT, 0, 1, false, kAddressFault},
    {DT_VERSYM, 0, 1, false, kAddressFault},
    {DT_VERNEED, 0, 1, false, kAddressFault},
    {DT_VERDEF, 0, 1, false, kAddressFault},
};

class ElfFile {
 public:
  ElfFile(const ByteSource& source, const std::string& path) : source_(source), path_(path) {
    head_size_ = static_cast<size_t>(std::min<uint64_t>(source.size(), kHeadSize));
    if (!source.read(0, head_.data(), head_size_)) refuse("it cannot be read", "copy it again");
    check_header();
    read_program_headers();
    read_dynamic_section();
    check_dynamic_section();
    // Linkers write the section table last, so a file that stops before its end was cut.
    if (header_.e_shoff != 0)
      require_inside("the section table", header_.e_shoff,
                     uint64_t{header_.e_shnum} * header_.e_shentsize);
  }

  void for_each_payload(const std::function<void(std::string_view)>& take);
  LinkedLibraries linked_libraries() const;
  bool stays_mapped() const { return (dynamic_value(DT_FLAGS_1).value_or(0) & DF_1_NODELETE) != 0; }
  void for_each_symbol(const std::function<void(const DynamicSymbol&)>& take) const;

 private:
  [[noreturn]] void refuse(std::string problem, std::string remedy, std::string expected = "",
                           std::string found = "") const {
    refuse_plugin(PluginStage::Read, "", path_, std::move(problem), std::move(remedy),
                  std::move(expected), std::move(found));
  }
  [[noreturn]] void damaged(std::string problem) const {
    refuse(std::move(problem), "copy or build it again");
  }
  [[noreturn]] void damaged_dynamic(const std::string& what) const {
    damaged(format_text("its dynamic section is damaged: {}", what));
  }
  [[noreturn]] void truncated(const std::string& what, uint64_t end) const {
    damaged(
        format_text("{} would end at byte {}, the file ends at byte {}: it is truncated or damaged",
                    what, end, source_.size()));
  }

  void check_header();
  void read_program_headers();
  void read_dynamic_section();
  void check_dynamic_section() const;

  // The segment that maps bytes of the file at this address and for this long; null where none does.
  const Elf64_Phdr* segment_of(uint64_t address, uint64_t count) const {
    const auto found = std::ranges::find_if(segments_, [&](const Elf64_Phdr& load) {
      return load.p_type == PT_LOAD && address >= load.p_vaddr &&
             address - load.p_vaddr <= load.p_filesz &&
             count <= load.p_filesz - (address - load.p_vaddr);
    });
    return found == segments_.end() ? nullptr : &*found;
  }
  // Offset in the file of the bytes that are mapped at an address.
  uint64_t offset_of(const char* what, uint64_t address, uint64_t count) const {
    const Elf64_Phdr* segment = segment_of(address, count);
    if (segment == nullptr) damaged_dynamic(format_text("{} is outside of the file", what));
    return segment->p_offset + (address - segment->p_vaddr);
  }
  // The last of several entries with one tag counts, as for the system's loader.
  std::optional<uint64_t> dynamic_value(int64_t tag) const {
    const auto found = std::find_if(dynamic_.rbegin(), dynamic_.rend(),
                                    [&](const Elf64_Dyn& entry) { return entry.d_tag == tag; });
    if (found == dynamic_.rend()) return std::nullopt;
    return found->d_un.d_val;
  }
  // Address of a table without which check_dynamic_section refuses the file.
  uint64_t table_address(int64_t tag) const { return dynamic_value(tag).value_or(0); }
  std::string dynamic_strings() const;
  uint32_t symbol_count() const;

  void require_inside(const std::string& what, uint64_t offset, uint64_t count) const {
    if (offset > source_.size() || count > source_.size() - offset)
      truncated(what, offset + std::min(count, UINT64_MAX - offset));
  }
  void read(const std::string& what, uint64_t offset, void* destination, size_t count) const {
    require_inside(what, offset, count);
    if (count == 0) return;
    if (offset + count <= head_size_) {
      std::memcpy(destination, head_.data() + offset, count);
    } else if (!source_.read(offset, destination, count)) {
      refuse(format_text("{} cannot be read", what), "copy it again");
    }
  }
  void walk_notes(std::string_view segment, uint64_t alignment,
                  const std::function<void(std::string_view)>& take);
  std::string_view check_note(std::string_view descriptor) const;
  bool section_table_has_facts() const;

  const ByteSource& source_;
  const std::string& path_;
  std::array<char, kHeadSize> head_;
  size_t head_size_ = 0;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Dyn> dynamic_;  // without the entry that ends it
  uint32_t note_count_ = 0;
};

void ElfFile::check_header() {
  const char* const name_one = "name a shared library built as a Tenon plugin";
  const char* const rebuild = "build it for this machine";
  const std::string here = format_text("this machine is {}", machine_text(kThisMachine));
  const auto require_sound = [&](bool sound) {
    if (!sound) refuse("its ELF header is damaged", "build it again");
  };
  if (head_size_ == 0) damaged("the file is empty");
  const std::string_view head(head_.data(), head_size_);
  if (!head.starts_with(std::string_view(ELFMAG, std::min<size_t>(SELFMAG, head_size_)))) {
    if (head.starts_with("#!")) refuse("it is a script, not a shared library", name_one);
    if (head.starts_with("!<arch>")) refuse("it is a static library, not a shared one", name_one);
    refuse("it is not an ELF file", name_one);
  }
  if (head_size_ < EI_NIDENT) truncated("the ELF header", sizeof header_);
  std::memcpy(&header_, head_.data(), EI_NIDENT);
  if (header_.e_ident[EI_CLASS] != ELFCLASS64) {
    require_sound(header_.e_ident[EI_CLASS] == ELFCLASS32);
    refuse(format_text("it is a 32-bit library, {}", here), rebuild);
  }
  if (header_.e_ident[EI_DATA] != ELFDATA2LSB) {
    require_sound(header_.e_ident[EI_DATA] == ELFDATA2MSB);
    refuse(format_text("it is built for a big-endian machine, {}", here), rebuild);
  }
  if (head_size_ < sizeof header_) truncated("the ELF header", sizeof header_);
  std::memcpy(&header_, head_.data(), sizeof header_);
  if (header_.e_machine != kThisMachine)
    refuse(format_text("built for {}, {}", machine_text(header_.e_machine), here), rebuild);
  require_sound(header_.e_ident[EI_VERSION] == EV_CURRENT && header_.e_version == EV_CURRENT);
  if (header_.e_type == ET_REL)
    refuse("it is an object file, not a shared library", "link it with -shared");
  if (header_.e_type == ET_EXEC) refuse("it is a program, not a shared library", name_one);
  if (header_.e_type == ET_CORE) refuse("it is a core dump, not a shared library", name_one);
  require_sound(header_.e_type == ET_DYN);
}

void ElfFile::read_program_headers() {
  if (header_.e_phnum == 0) refuse("it has no program headers", "build it again");
  if (header_.e_phnum > kMaxProgramHeaders || header_.e_phentsize != sizeof(Elf64_Phdr)) {
    refuse("its program headers are damaged", "copy or build it again",
           format_text("at most {} of {} bytes", kMaxProgramHeaders, sizeof(Elf64_Phdr)),
           format_text("{} of {}", header_.e_phnum, header_.e_phentsize));
  }
  segments_.resize(header_.e_phnum);
  read("the program header table", header_.e_phoff, segments_.data(),
       segments_.size() * sizeof(Elf64_Phdr));

  // The system's loader maps what these say and trusts the rest: past the end of the file it would
  // die of SIGBUS.
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type == PT_NULL || segment.p_type == PT_GNU_STACK) continue;
    require_inside("a segment", segment.p_offset, segment.p_filesz);
    if (segment.p_type == PT_LOAD && segment.p_memsz < segment.p_filesz)
      damaged("a segment has more bytes in the file than in memory: it is damaged");
    if (segment.p_type == PT_GNU_RELRO && segment_of(segment.p_vaddr, segment.p_filesz) == nullptr)
      damaged("its read-only data is outside of the loaded segments: it is damaged");
  }
}

// Read where the system's loader finds it, by its address; of several it would take one alone.
void ElfFile::read_dynamic_section() {
  const Elf64_Phdr* found = nullptr;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_DYNAMIC) continue;
    if (found != nullptr) damaged("it has more than one dynamic section: it is damaged");
    found = &segment;
  }
  if (found == nullptr || segment_of(found->p_vaddr, found->p_filesz) == nullptr)
    refuse("it has no dynamic section that gets loaded", "link it with -shared");
  if (found->p_filesz > kMaxDynamic) damaged_dynamic("it is too large");
  dynamic_.resize(found->p_filesz / sizeof(Elf64_Dyn));
  read("the dynamic section", offset_of("it", found->p_vaddr, found->p_filesz), dynamic_.data(),
       dynamic_.size() * sizeof(Elf64_Dyn));
  const auto end = std::ranges::find(dynamic_, int64_t{DT_NULL}, &Elf64_Dyn::d_tag);
  if (end == dynamic_.end()) damaged_dynamic("it has no end");
  dynamic_.erase(end, dynamic_.end());
}

void ElfFile::check_dynamic_section() const {
  for (const DynamicTable& table : kDynamicTables) {
    const auto address = dynamic_value(table.tag);
    const uint64_t size =
        table.size_tag == 0 ? table.size : dynamic_value(table.size_tag).value_or(0);
    if (address ? segment_of(*address, size) == nullptr : table.is_needed)
      damaged_dynamic(table.fault);
  }
  if (!dynamic_value(DT_HASH) && !dynamic_value(DT_GNU_HASH))
    damaged_dynamic("it has no hash table");
  if (dynamic_value(DT_AUDIT) || dynamic_value(DT_DEPAUDIT)) {
    refuse("it names an audit library, whose code would run before the file is judged",
           "link it without --audit and --depaudit");
  }
  for (const Elf64_Dyn& entry : dynamic_) {
    const bool is_string = entry.d_tag == DT_NEEDED || entry.d_tag == DT_SONAME ||
                           entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH;
    if (is_string && entry.d_un.d_val >= dynamic_value(DT_STRSZ).value_or(0))
      damaged_dynamic("a name is outside of its strings");
  }
}

std::string ElfFile::dynamic_strings() const {
  const uint64_t size = dynamic_value(DT_STRSZ).value_or(0);
  const uint64_t offset = offset_of("its string table", table_address(DT_STRTAB), size);
  std::string strings(size, '\0');
  read("the strings of its dynamic section", offset, strings.data(), strings.size());
  return strings;
}

// The text at a position that is inside of the strings, or its beginning where it is longer.
std::string_view text_at(const std::string& strings, uint64_t position, size_t most) {
  const std::string_view text = std::string_view(strings).substr(position, most);
  return text.substr(0, text.find('\0'));
}

// Only hash tables say it: the old one outright, the new one by the end of its last chain.
uint32_t ElfFile::symbol_count() const {
  const auto word = [&](uint64_t offset) {
    uint32_t number = 0;
    read("its hash table", offset, &number, sizeof number);
    return number;
  };
  if (const auto old = dynamic_value(DT_HASH)) {
    return word(offset_of("its hash table", *old, kHashHead) + sizeof(uint32_t));
  }
  const uint64_t table = offset_of("its hash table", table_address(DT_GNU_HASH), kGnuHashHead);
  const uint32_t bucket_count = word(table), first = word(table + 4), bloom_words = word(table + 8);
  if (bucket_count > kMaxSymbols || first > kMaxSymbols || bloom_words > kMaxSymbols)
    damaged_dynamic("its hash table is too large");
  const uint64_t buckets_at = table + kGnuHashHead + uint64_t{bloom_words} * 8;
  require_inside("its hash table", buckets_at, uint64_t{bucket_count} * sizeof(uint32_t));
  std::vector<uint32_t> buckets(bucket_count);
  read("its hash table", buckets_at, buckets.data(), buckets.size() * sizeof(uint32_t));
  uint32_t last = 0;
  for (const uint32_t bucket : buckets) last = std::max(last, bucket);
  if (last < first) return first;
  const uint64_t chains_at = buckets_at + buckets.size() * sizeof(uint32_t);
  while (last < kMaxSymbols && (word(chains_at + uint64_t{last - first} * 4) & 1u) == 0) ++last;
  return last + 1;
}

// Names are shown to `take` where they are and symbols are read in blocks: of a forged file each may
// name the same long text.
void ElfFile::for_each_symbol(const std::function<void(const DynamicSymbol&)>& take) const {
  const uint32_t count = symbol_count();
  if (count > kMaxSymbols) damaged_dynamic("it has too many symbols");
  const uint64_t begin =
      offset_of("its symbol table", table_address(DT_SYMTAB), uint64_t{count} * sizeof(Elf64_Sym));
  const std::string strings = dynamic_strings();
  std::vector<Elf64_Sym> block(std::min(count, kSymbolBlock));
  for (uint32_t at = 0; at < count; at += kSymbolBlock) {
    block.resize(std::min(count - at, kSymbolBlock));
    read("its symbols", begin + uint64_t{at} * sizeof(Elf64_Sym), block.data(),
         block.size() * sizeof(Elf64_Sym));
    for (const Elf64_Sym& symbol : block) {
      if (symbol.st_name == 0 || symbol.st_name >= strings.size()) continue;
      const bool imported = symbol.st_shndx == SHN_UNDEF;
      if (!imported && ELF64_ST_BIND(symbol.st_info) != STB_GNU_UNIQUE) continue;
      take({text_at(strings, symbol.st_name, kMaxSymbolName), imported});
    }
  }
}

LinkedLibraries ElfFile::linked_libraries() const {
  const std::string strings = dynamic_strings();
  size_t count = 0;
  uint64_t bytes = 0;
  const auto copy_of = [&](std::string_view name) {
    if (name.size() > kMaxString)
      damaged_dynamic(
          format_text("a library or folder has a name of more than {} bytes", kMaxString));
    bytes += name.size();
    if (++count > kMaxNames || bytes > 2 * source_.size()) {
      damaged_dynamic(format_text(
          "it names more than {} libraries and folders, or more text than twice the file",
          kMaxNames));
    }
    return std::string(name);
  };
  LinkedLibraries found;
  for (const Elf64_Dyn& entry : dynamic_) {
    if (entry.d_tag == DT_NEEDED) {
      found.needed.push_back(copy_of(text_at(strings, entry.d_un.d_val, kMaxString + 1)));
    }
    if (entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH) continue;
    for (std::string_view rest = text_at(strings, entry.d_un.d_val, strings.size());
         !rest.empty();) {
      const size_t colon = std::min(rest.find(':'), rest.size());
      found.run_path.push_back(copy_of(rest.substr(0, colon)));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  return found;
}

void ElfFile::for_each_payload(const std::function<void(std::string_view)>& take) {
  uint64_t total = 0;
  std::string buffer;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_NOTE || segment.p_filesz == 0) continue;
    // Counted over all segments: forged headers may show the same bytes many times.
    total += segment.p_filesz;
    if (segment.p_filesz > TENON_FACTS_MAX_BYTES || total > TENON_FACTS_MAX_BYTES) {
      refuse("its notes are too large", "declare less, or split the plugin",
             format_text("at most {} bytes", TENON_FACTS_MAX_BYTES), std::to_string(total));
    }
    buffer.resize(segment.p_filesz);
    read("a note segment", segment.p_offset, buffer.data(), buffer.size());
    walk_notes(buffer, segment.p_align == 8 ? 8 : 4, take);
  }
  if (note_count_ > 0) return;
  if (section_table_has_facts()) {
    refuse(
        format_text(
            "it has a section {} that no program header covers; a tool such as patchelf moved it",
            TENON_FACTS_SECTION),
        "build it again, or patch it with a tool that keeps note segments");
  }
  refuse(format_text("it declares nothing: it has no {} note, so it is not a Tenon plugin",
                     TENON_FACTS_SECTION),
         "build it with tenon_add_plugin, or state its facts with TENON_FACT");
}

void ElfFile::walk_notes(std::string_view segment, uint64_t alignment,
                         const std::function<void(std::string_view)>& take) {
  const uint64_t size = segment.size();
  const auto aligned = [&](uint64_t value) {
    return (value + alignment - 1) / alignment * alignment;
  };
  uint64_t at = 0;
  while (size - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, segment.data() + at, sizeof note);
    // There are zeros between notes where a compiler or sanitizer aligned them more than necessary.
    if (note.n_namesz == 0) {
      at += 4;
      continue;
    }
    const uint64_t name = at + sizeof note;
    const uint64_t descriptor = aligned(name + note.n_namesz);
    const uint64_t end = descriptor + note.n_descsz;
    if (end > size) damaged("one of its notes runs past the end of its segment: it is damaged");
    constexpr std::string_view owner(TENON_FACTS_OWNER, sizeof TENON_FACTS_OWNER);
    if (note.n_type == TENON_FACTS_TYPE && segment.substr(name, note.n_namesz) == owner) {
      // Counted to the end of the segment: the refusal says how many there are.
      if (++note_count_ <= TENON_FACTS_MAX_COUNT)
        take(check_note(segment.substr(descriptor, note.n_descsz)));
    }
    at = std::min(aligned(end), size);
  }
  if (note_count_ > TENON_FACTS_MAX_COUNT) {
    refuse("it declares too much", "split the plugin",
           format_text("at most {} facts", TENON_FACTS_MAX_COUNT), std::to_string(note_count_));
  }
}

std::string_view ElfFile::check_note(std::string_view descriptor) const {
  struct {
    uint32_t format, length, checksum;
  } head;
  if (descriptor.size() < sizeof head) damaged("one of its facts is too short: it is damaged");
  std::memcpy(&head, descriptor.data(), sizeof head);
  descriptor.remove_prefix(sizeof head);
  if (head.format != TENON_FACTS_FORMAT) {
    refuse("its facts are in another format", "build it with the SDK of this runtime",
           format_text("format {}", TENON_FACTS_FORMAT), std::to_string(head.format));
  }
  if (head.length > TENON_FACTS_MAX_PAYLOAD || head.length > descriptor.size()) {
    refuse("one of its facts has a wrong length: it is damaged", "copy or build it again",
           format_text("at most {} bytes",
                       std::min<size_t>(TENON_FACTS_MAX_PAYLOAD, descriptor.size())),
           std::to_string(head.length));
  }
  const std::string_view payload = descriptor.substr(0, head.length);
  if (head.checksum != 0) {
    uint32_t checksum = TENON_FNV1A_32;
    for (const char byte : payload) checksum = TENON_FNV1A_32_NEXT(checksum, byte);
    if (checksum != head.checksum)
      damaged("the checksum of one of its facts does not match: it is damaged");
  }
  return payload;
}

// Only to explain why there are no facts: nothing here is trusted for more than that.
bool ElfFile::section_table_has_facts() const {
  const uint64_t count = header_.e_shnum;
  if (header_.e_shoff == 0 || header_.e_shentsize != sizeof(Elf64_Shdr) ||
      count > kMaxSectionHeaders || header_.e_shstrndx >= count) {
    return false;
  }
  std::vector<Elf64_Shdr> sections(count);
  if (!source_.read(header_.e_shoff, sections.data(), count * sizeof(Elf64_Shdr))) return false;
  const Elf64_Shdr& table = sections[header_.e_shstrndx];
  if (table.sh_size > kMaxSectionNames) return false;
  std::string names(table.sh_size, '\0');
  if (!source_.read(table.sh_offset, names.data(), names.size())) return false;
  return std::any_of(sections.begin(), sections.end(), [&](const Elf64_Shdr& section) {
    return section.sh_name < names.size() &&
           text_at(names, section.sh_name, sizeof TENON_FACTS_SECTION) == TENON_FACTS_SECTION;
  });
}

}  // namespace

void read_fact_payloads(const ByteSource& source, const std::string& path,
                        const std::function<void(std::string_view)>& take) {
  ElfFile(source, path).for_each_payload(take);
}

bool stays_mapped(const ByteSource& source, const std::string& path) {
  return ElfFile(source, path).stays_mapped();
}

void read_dynamic_symbols(const ByteSource& source, const std::string& path,
                          const std::function<void(const DynamicSymbol&)>& take) {
  ElfFile(source, path).for_each_symbol(take);
}

LinkedLibraries read_linked_libraries(const ByteSource& source, const std::string& path) {
  return ElfFile(source, path).linked_libraries();
}

}  // namespace tenon::core

// Notes are found in good files, and nothing bad happens with any other.
#include "core/plugin/facts/elf_notes.hpp"

#include <algorithm>

#include "core/plugin/unload/unmap_verdict.hpp"
#include "tenon/abi/facts.h"
#include "tests/core/plugin/elf_image.hpp"
#include "tests/support/memory_source.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

std::vector<std::string> payloads_in(const std::string& bytes) {
  std::vector<std::string> payloads;
  read_fact_payloads(MemorySource(bytes), "/x/y.so",
                     [&](std::string_view payload) { payloads.emplace_back(payload); });
  return payloads;
}

PluginFailure refusal(const std::string& bytes) {
  PluginFailure failure = failure_of([&] { payloads_in(bytes); });
  CHECK(failure.stage == PluginStage::Read);
  CHECK(failure.path == "/x/y.so");
  CHECK(!failure.remedy.empty());
  return failure;
}

// The refusal of every reader of the dynamic section.
std::string dynamic_refusal(const ElfImage& image) {
  const std::string bytes = image.file();
  const MemorySource source(bytes);
  const std::string problem = refusal(bytes).problem;
  const auto same = [&](const std::function<void()>& read) {
    CHECK(failure_of(read).problem == problem);
  };
  same([&] { read_linked_libraries(source, "/x/y.so"); });
  same([&] { read_dynamic_symbols(source, "/x/y.so", [](const DynamicSymbol&) {}); });
  same([&] { judge_unmapping(source, "/x/y.so"); });
  return problem;
}

LinkedLibraries linked_by(const ElfImage& image) {
  const std::string bytes = image.file();
  return read_linked_libraries(MemorySource(bytes), "/x/y.so");
}
std::string linked_refusal(const ElfImage& image) {
  return failure_of([&] { linked_by(image); }).problem;
}

std::vector<std::string> symbols_of(const ElfImage& image) {
  const std::string bytes = image.file();
  std::vector<std::string> names;
  read_dynamic_symbols(MemorySource(bytes), "/x/y.so", [&](const DynamicSymbol& symbol) {
    names.push_back((symbol.imported ? "imported " : "unique ") + std::string(symbol.name));
  });
  return names;
}
std::string symbol_refusal(const ElfImage& image) {
  return failure_of([&] { symbols_of(image); }).problem;
}

constexpr uint64_t kNowhere = uint64_t{1} << 40;

template <class Value>
std::string patched(std::string bytes, size_t offset, Value value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

}  // namespace

TEST_SUITE("elf notes") {
  TEST_CASE("a file that names an audit library is refused before the loader sees it") {
    std::string bytes = read_file(fixture("plain"));
    const auto tag_text = [](uint64_t tag) {
      return std::string(reinterpret_cast<const char*>(&tag), sizeof tag);
    };
    const size_t at = bytes.find(tag_text(DT_RELACOUNT));
    REQUIRE(at != bytes.npos);
    bytes.replace(at, sizeof(uint64_t), tag_text(DT_DEPAUDIT));
    const PluginFailure failure = failure_of(
        [&] { read_fact_payloads(MemorySource(bytes), "/x/y.so", [](std::string_view) {}); });
    CHECK(contains(failure.problem, "audit library"));
    CHECK(!failure.remedy.empty());
  }

  TEST_CASE("zeros between notes, as sanitizers leave them, are passed over") {
    const std::string other = R"j({"op":{"schema":"f()"}})j";
    for (size_t padding : {4u, 8u, 12u, 20u, 60u}) {
      CHECK(payloads_in(make_elf({plugin_payload(), other}, padding)) ==
            std::vector<std::string>{plugin_payload(), other});
    }
  }

  TEST_CASE("a file with more facts than a plugin may declare is refused") {
    std::vector<std::string> payloads(TENON_FACTS_MAX_COUNT, "{}");
    CHECK(payloads_in(make_elf(payloads)).size() == TENON_FACTS_MAX_COUNT);
    for (int i = 0; i < 3; ++i) payloads.push_back("{}");
    const PluginFailure failure = refusal(make_elf(payloads));
    CHECK(failure.problem == "it declares too much");
    CHECK(failure.expected == "at most 16384 facts");
    CHECK(failure.found == "16387");
    CHECK(failure.remedy == "split the plugin");
  }

  TEST_CASE("a file that is cut at any byte is refused") {
    for (const std::string& whole : {read_file(fixture("plain")), make_elf({plugin_payload()})}) {
      CHECK_NOTHROW(payloads_in(whole));
      for (size_t size = 0; size < whole.size(); ++size) {
        CAPTURE(size);
        CHECK_THROWS_AS(payloads_in(whole.substr(0, size)), PluginError);
      }
    }
    CHECK(contains(refusal("").problem, "the file is empty"));
    CHECK(contains(refusal(read_file(fixture("plain")).substr(0, 3000)).problem, "truncated"));
  }

  TEST_CASE("a file with any byte changed is read or refused, no more") {
    const std::string whole = make_elf({plugin_payload(), R"j({"op":{"schema":"f(int x=1)"}})j"});
    int refused = 0;
    for (size_t offset = 0; offset < whole.size(); ++offset) {
      for (int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        try {
          payloads_in(patched(whole, offset, static_cast<char>(value)));
        } catch (const PluginError&) {
          ++refused;
        }
      }
    }
    CHECK(refused > 500);
  }

  TEST_CASE("files that are not a shared library for this machine each have a message") {
    const std::string good = make_elf({plugin_payload()});
    CHECK(contains(refusal("#!/bin/sh\nexit 0\n").problem, "a script"));
    CHECK(contains(refusal("!<arch>\n").problem, "a static library"));
    CHECK(contains(refusal("hello, this is a text file").problem, "not an ELF file"));
    CHECK(contains(refusal(patched(good, EI_CLASS, char{ELFCLASS32})).problem, "32-bit"));
    CHECK(contains(refusal(patched(good, EI_DATA, char{ELFDATA2MSB})).problem, "big-endian"));
    CHECK(contains(refusal(patched(good, EI_CLASS, char{9})).problem, "damaged"));
    const size_t type = offsetof(Elf64_Ehdr, e_type);
    CHECK(contains(refusal(patched(good, type, uint16_t{ET_REL})).problem, "an object file"));
    CHECK(contains(refusal(patched(good, type, uint16_t{ET_EXEC})).problem, "a program"));
    CHECK(contains(refusal(patched(good, type, uint16_t{ET_CORE})).problem, "a core dump"));
#if defined(__x86_64__)
    const auto other = uint16_t{EM_AARCH64};
    CHECK(refusal(patched(good, offsetof(Elf64_Ehdr, e_machine), other)).problem ==
          "built for aarch64, this machine is x86-64");
#endif
  }

  TEST_CASE("forged sizes and offsets are refused without being believed") {
    const std::string good = make_elf({plugin_payload()});
    constexpr uint64_t kHuge = UINT64_MAX - 8;
    const auto header = [&](size_t field, auto value) { return patched(good, field, value); };
    refusal(header(offsetof(Elf64_Ehdr, e_phoff), kHuge));
    refusal(header(offsetof(Elf64_Ehdr, e_phoff), uint64_t{good.size()}));
    refusal(header(offsetof(Elf64_Ehdr, e_phnum), uint16_t{0}));
    refusal(header(offsetof(Elf64_Ehdr, e_phnum), uint16_t{0xffff}));
    refusal(header(offsetof(Elf64_Ehdr, e_phentsize), uint16_t{1}));
    refusal(header(offsetof(Elf64_Ehdr, e_shoff), kHuge));
    for (size_t index = 0; index < 3; ++index) {
      const size_t segment = sizeof(Elf64_Ehdr) + index * sizeof(Elf64_Phdr);
      refusal(patched(good, segment + offsetof(Elf64_Phdr, p_offset), kHuge));
      refusal(patched(good, segment + offsetof(Elf64_Phdr, p_filesz), kHuge));
      refusal(patched(good, segment + offsetof(Elf64_Phdr, p_filesz), uint64_t{1} << 40));
    }
    const size_t note = good.find("Tenon") - offsetof(tenon_facts_header, owner);
    const auto fact = [&](size_t field, uint32_t value) {
      return patched(good, note + field, value);
    };
    CHECK(contains(refusal(fact(offsetof(tenon_facts_header, name_size), UINT32_MAX)).problem,
                   "past the end of its segment"));
    refusal(fact(offsetof(tenon_facts_header, descriptor_size), UINT32_MAX));
    refusal(fact(offsetof(tenon_facts_header, descriptor_size), 4));
    CHECK(contains(refusal(fact(offsetof(tenon_facts_header, payload_length), 1u << 20)).problem,
                   "wrong length"));
    CHECK(contains(refusal(fact(offsetof(tenon_facts_header, checksum), 1)).problem, "checksum"));
    const PluginFailure format = refusal(fact(offsetof(tenon_facts_header, format), 9));
    CHECK(format.expected == "format 1");
    CHECK(format.found == "9");
  }

  TEST_CASE("a library without facts differs from one that a tool took them from") {
    CHECK(contains(refusal(read_file(fixture("no_facts"))).problem, "not a Tenon plugin"));
    std::string moved = read_file(fixture("plain"));
    Elf64_Ehdr header;
    std::memcpy(&header, moved.data(), sizeof header);
    for (size_t i = 0; i < header.e_phnum; ++i) {
      const size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
      uint32_t type;
      std::memcpy(&type, moved.data() + at, sizeof type);
      if (type == PT_NOTE) moved = patched(moved, at, uint32_t{PT_NULL});
    }
    CHECK(contains(refusal(moved).problem, "patchelf"));
  }

  TEST_CASE("libraries, folders and as many symbols as the hash table says are read") {
    ElfImage image;
    image.set_strings(std::string_view("\0liba.so\0$ORIGIN:/lib\0pthread_create\0one", 41));
    image.add_entry(DT_NEEDED, 1);
    image.add_entry(DT_RUNPATH, 9);
    image.set_symbols({imported_symbol(22), unique_symbol(37)});
    CHECK(payloads_in(image.file()) == std::vector<std::string>{plugin_payload()});
    CHECK(linked_by(image).needed == std::vector<std::string>{"liba.so"});
    CHECK(linked_by(image).run_path == std::vector<std::string>{"$ORIGIN", "/lib"});
    const std::vector<std::string> symbols = {"imported pthread_create", "unique one"};
    CHECK(symbols_of(image) == symbols);
    image.set_entry(DT_HASH, image.add(std::vector<uint32_t>{1, 2, 0}));
    CHECK(symbols_of(image) == std::vector<std::string>{"imported pthread_create"});
  }

  TEST_CASE("each hash table must be inside of the file, also where there are both") {
    for (const int64_t table : {DT_HASH, DT_GNU_HASH}) {
      CAPTURE(table);
      ElfImage image;
      image.set_entry(table, kNowhere);
      CHECK(dynamic_refusal(image) ==
            "its dynamic section is damaged: its hash table is outside of the file");
    }
  }

  TEST_CASE("a file with two dynamic sections is refused, whichever is sound") {
    for (const bool last : {true, false}) {
      CAPTURE(last);
      ElfImage image;
      const size_t size = (image.entries().size() + 1) * sizeof(Elf64_Dyn);
      std::vector<Elf64_Dyn> forged = image.entries();
      for (Elf64_Dyn& entry : forged) entry.d_un.d_val = kNowhere;
      const uint64_t sound_at = image.add_section(image.entries());
      const uint64_t forged_at = image.add_section(forged);
      for (const uint64_t at : {last ? forged_at : sound_at, last ? sound_at : forged_at})
        image.add_segment(PT_DYNAMIC, at, at, size);
      CHECK(dynamic_refusal(image) == "it has more than one dynamic section: it is damaged");
    }
  }

  TEST_CASE("the dynamic section is checked where it gets loaded, not where its segment is") {
    ElfImage image;
    std::vector<Elf64_Dyn> forged = image.entries();
    for (Elf64_Dyn& entry : forged) entry.d_un.d_val = kNowhere;
    const uint64_t sound_at = image.add_section(image.entries());
    const uint64_t forged_at = image.add_section(forged);
    image.add_segment(PT_DYNAMIC, sound_at, forged_at, (forged.size() + 1) * sizeof(Elf64_Dyn));
    CHECK(dynamic_refusal(image) == "its dynamic section is damaged: it has no strings");
  }

  TEST_CASE("of two entries with a tag the last is checked, as the system's loader takes it") {
    ElfImage image;
    image.add_entry(DT_STRTAB, kNowhere);
    CHECK(dynamic_refusal(image) == "its dynamic section is damaged: it has no strings");
    ElfImage table;
    table.add_entry(DT_HASH, kNowhere);
    CHECK(dynamic_refusal(table) ==
          "its dynamic section is damaged: its hash table is outside of the file");
  }

  TEST_CASE("symbols beyond the file are refused before room is made for them") {
    ElfImage image;
    image.set_entry(DT_HASH, image.add(std::vector<uint32_t>{1, 1u << 20, 0}));
    CHECK(symbol_refusal(image) ==
          "its dynamic section is damaged: its symbol table is outside of the file");
    image.set_entry(DT_HASH, image.add(std::vector<uint32_t>{1, UINT32_MAX, 0}));
    CHECK(symbol_refusal(image) == "its dynamic section is damaged: it has too many symbols");
  }

  TEST_CASE("long names of libraries and folders are refused") {
    const std::string longest(4096, 'a');
    for (const int64_t tag : {DT_NEEDED, DT_RUNPATH, DT_RPATH}) {
      CAPTURE(tag);
      ElfImage image;
      image.set_strings(longest + '\0');
      image.add_entry(tag, 0);
      CHECK_NOTHROW(linked_by(image));
      image.set_strings(longest + "a" + '\0');
      CHECK(linked_refusal(image) ==
            "its dynamic section is damaged: a library or folder has a name of more than 4096 "
            "bytes");
    }
  }

  TEST_CASE("entries that name one text again and again are refused") {
    const std::string problem =
        "its dynamic section is damaged: it names more than 4096 libraries and folders, or more "
        "text than twice the file";
    ElfImage libraries;
    libraries.set_strings(std::string(4000, 'a') + '\0');
    for (int i = 0; i < 100; ++i) libraries.add_entry(DT_NEEDED, 0);
    CHECK(linked_refusal(libraries) == problem);
    ElfImage folders;
    folders.set_strings(std::string(4096, ':') + '\0');
    folders.add_entry(DT_RUNPATH, 0);
    CHECK(linked_by(folders).run_path.size() == 4096);
    folders.add_entry(DT_RUNPATH, 0);
    CHECK(linked_refusal(folders) == problem);
  }

  TEST_CASE("of a very long symbol the beginning is read") {
    ElfImage image;
    image.set_strings('\0' + std::string(10000, 'a') + '\0');
    image.set_symbols({imported_symbol(1), unique_symbol(6001)});
    CHECK(symbols_of(image) == std::vector<std::string>{"imported " + std::string(4096, 'a'),
                                                        "unique " + std::string(4000, 'a')});
  }
}

// Memory limits of readers of plugin files: twice the file, and 16 MiB.

#include "core/plugin/facts/elf_notes.hpp"
#include "core/plugin/facts/facts_reader.hpp"
#include "core/plugin/unload/unmap_verdict.hpp"
#include "tenon/abi/facts.h"
#include "tests/core/plugin/elf_image.hpp"
#include "tests/support/memory_growth.hpp"
#include "tests/support/memory_source.hpp"

using namespace tenon::core;
using namespace tenon::core::test;
using tenon_test::check_bound;
using tenon_test::kCanMeasureMemory;
using tenon_test::kMiB;
using tenon_test::Outcome;

namespace {

// All that listings, `tenon show` among them, read of a file.
void check_listing(const std::string& bytes, Outcome libraries) {
  const MemorySource source(bytes);
  check_bound(bytes.size(), Outcome::Taken, [&] { read_facts(source, "/x/y.so"); });
  check_bound(bytes.size(), Outcome::Taken, [&] { judge_unmapping(source, "/x/y.so"); });
  check_bound(bytes.size(), libraries, [&] { read_linked_libraries(source, "/x/y.so"); });
}

constexpr uint32_t kSymbols = 20000;
const std::string kLongName(32768, 'a');

}  // namespace

TEST_SUITE("reader memory") {
  TEST_CASE("symbols that all name one long text take no more") {
    if (!kCanMeasureMemory) return;
    for (const Elf64_Sym& symbol : {imported_symbol(1), unique_symbol(1)}) {
      ElfImage image;
      image.set_strings('\0' + kLongName + '\0');
      image.set_symbols(std::vector<Elf64_Sym>(kSymbols, symbol));
      check_listing(image.file(), Outcome::Taken);
    }
  }

  TEST_CASE("symbols with different reasons to stay mapped take no more") {
    if (!kCanMeasureMemory) return;
    std::string digits(1, '\0');
    for (int i = 0; digits.size() < 2 * kSymbols; ++i) digits += std::to_string(i);
    ElfImage image;
    std::vector<Elf64_Sym> symbols;
    for (uint32_t i = 1; i < kSymbols; ++i) symbols.push_back(unique_symbol(i));
    image.set_strings(digits + '\0');
    image.set_symbols(symbols);
    check_listing(image.file(), Outcome::Taken);
  }

  TEST_CASE("libraries and folders that all name one long text take no more") {
    if (!kCanMeasureMemory) return;
    for (const char letter : {'a', ':'}) {
      for (const int64_t tag : {DT_NEEDED, DT_RUNPATH}) {
        CAPTURE(letter);
        CAPTURE(tag);
        ElfImage image;
        image.set_strings(std::string(size_t{1} << 17, letter) + '\0');
        for (int i = 0; i < 2000; ++i) image.add_entry(tag, 0);
        check_listing(image.file(), Outcome::Refused);
      }
    }
  }

  TEST_CASE("very many facts take no more") {
    if (!kCanMeasureMemory) return;
    std::vector<std::string> payloads = {plugin_payload()};
    constexpr size_t ops = TENON_FACTS_MAX_COUNT - 1;
    for (size_t i = 0; i < ops; ++i)
      payloads.push_back(R"({"op":{"schema":"f)" + std::to_string(i) + "()\"}}");
    const std::string bytes = make_elf(payloads);
    const MemorySource source(bytes);
    CHECK(read_facts(source, "/x/y.so").ops.size() == ops);
    check_bound(bytes.size(), Outcome::Taken, [&] { read_facts(source, "/x/y.so"); });
  }
}

// Plugin facts as constants: the ELF notes that a plugin's ops and modules leave in its file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/host.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

// Writes JSON into a buffer, or only counts when there is none: the same code measures and fills.
struct FactsWriter {
  char* to = nullptr;
  size_t size = 0;
  constexpr void put(char c) {
    if (to != nullptr) to[size] = c;
    ++size;
  }
  constexpr void raw(std::string_view text) {
    for (const char c : text) put(c);
  }
  constexpr void string(std::string_view text) {
    put('"');
    for (const char c : text) {
      if (c == '"' || c == '\\') put('\\');
      if (c == '\n') {
        raw("\\n");
      } else {
        put(c);
      }
    }
    put('"');
  }
  constexpr void number(uint64_t value) {
    char digits[20] = {};
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count > 0) put(digits[--count]);
  }
};

template <size_t Size>
struct FactsNote {
  tenon_facts_header header;
  char payload[(Size + 3) / 4 * 4];
};

// `Fact` has `static constexpr void write(FactsWriter&)`.
template <class Fact>
constexpr size_t facts_size() {
  FactsWriter writer;
  Fact::write(writer);
  return writer.size;
}
template <class Fact>
constexpr auto make_facts() {
  constexpr size_t size = facts_size<Fact>();
  FactsNote<size> note{};
  FactsWriter writer{note.payload, 0};
  Fact::write(writer);
  uint32_t checksum = TENON_FNV1A_32;
  for (size_t i = 0; i < size; ++i)
    checksum = TENON_FNV1A_32_NEXT(checksum, static_cast<unsigned char>(note.payload[i]));
  note.header = {sizeof(TENON_FACTS_OWNER),
                 static_cast<uint32_t>(12 + sizeof(note.payload)),
                 TENON_FACTS_TYPE,
                 {'T', 'e', 'n', 'o', 'n', 0, 0, 0},
                 TENON_FACTS_FORMAT,
                 static_cast<uint32_t>(size),
                 checksum == 0 ? 1 : checksum};
  return note;
}

}  // namespace detail
TENON_NAMESPACE_END

#include "plugin_build.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <sstream>

#include <tenon/runtime.hpp>
#include <tenon/state/mapped_file.hpp>
#include <tenon/trust/sha256.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

using lib::format_text;
using lib::quote;

namespace {

// A copy of what is at a place of the file; false where it does not have it.
template <class T>
bool read_at(std::string_view file, uint64_t place, T& value) {
  if (place > file.size() || file.size() - place < sizeof(T)) return false;
  std::memcpy(&value, file.data() + place, sizeof(T));
  return true;
}
uint64_t in_words(uint64_t bytes) { return (bytes + 3) / 4 * 4; }

std::string find_note(std::string_view file, uint64_t place, uint64_t bytes) {
  const uint64_t end = place + bytes;
  for (Elf64_Nhdr note; place < end && read_at(file, place, note);) {
    const uint64_t name = place + sizeof(note), text = name + in_words(note.n_namesz);
    if (text > file.size() || note.n_descsz > file.size() - text) break;
    if (note.n_type == NT_GNU_BUILD_ID && file.substr(name, 4) == std::string_view("GNU\0", 4)) {
      std::string digits;
      for (const char byte : file.substr(text, note.n_descsz)) {
        constexpr std::string_view hexadecimal = "0123456789abcdef";
        const auto number = static_cast<unsigned char>(byte);
        digits += {hexadecimal[number / 16], hexadecimal[number % 16]};
      }
      return digits;
    }
    place = text + in_words(note.n_descsz);
  }
  return {};
}

// Words of the system that name instructions: "avx2", "asimd".
bool names_instructions(const std::string& word) {
  constexpr std::string_view begins[] = {"sse", "avx", "amx", "fma",  "f16c", "bf16",
                                         "fp",  "sve", "sme", "asim", "i8mm"};
  return std::any_of(std::begin(begins), std::end(begins), [&](std::string_view begin) {
    return word.compare(0, begin.size(), begin) == 0;
  });
}

}  // namespace

std::string build_id(std::string_view file) {
  Elf64_Ehdr header{};
  if (!read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return {};
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read_at(file, header.e_phoff + i * sizeof(segment), segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_offset > file.size() ||
        segment.p_filesz > file.size() - segment.p_offset)
      continue;
    if (std::string found = find_note(file, segment.p_offset, segment.p_filesz); !found.empty())
      return found;
  }
  return {};
}

std::vector<PluginBuild> find_builds(const std::vector<std::string>& ids) {
  const Json plugins = document(Document::plugins);
  std::vector<PluginBuild> builds;
  for (const std::string& id : ids) {
    Json used;
    for (int64_t i = 0; i < plugins.size() && !used.defined(); ++i) {
      const std::string state = plugins[i]["state"].text();
      if (plugins[i]["id"].text() == id && (state == "active" || state == "indexed"))
        used = plugins[i];
    }
    if (!used.defined())
      throw PluginError(format_text("plugin {} is not installed, or not used", quote(id)));
    const state::MappedFile file = state::map_file(used["path"].text());
    const std::string note = build_id(file.view());
    builds.push_back(
        {id, used["version"].text(),
         note.empty() ? "sha256:" + trust::sha256_text(file.view()) : "build-id:" + note});
  }
  return builds;
}

std::string processor_text() {
  std::string text = document(Document::runtime)["isa"].text();
  // The first processor of the list, which ends with an empty line.
  std::ifstream list("/proc/cpuinfo");
  for (std::string line; std::getline(list, line) && !line.empty();) {
    if (line.compare(0, 5, "flags") != 0 && line.compare(0, 8, "Features") != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::vector<std::string> names;
    for (std::string word; words >> word;) {
      if (names_instructions(word)) names.push_back(word);
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) text += " " + name;
    break;
  }
  return text;
}

}  // namespace prepared

TENON_NAMESPACE_END

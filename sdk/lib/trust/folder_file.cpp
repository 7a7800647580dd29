// Reading what another process may be writing.
#include "folder_file.hpp"

#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <tenon/abi/version.h>

#include "bounded_json.hpp"
#include "file.hpp"
#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

namespace {

constexpr size_t kMostFiles = 4096;  // most files that are read

}  // namespace

std::string read_small(int folder, const std::string& name, size_t limit) {
  const Descriptor file(
      ::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.number() < 0) return {};
  std::string text(limit, '\0');
  size_t length = 0;
  while (length < limit) {
    const ssize_t got = ::read(file.number(), text.data() + length, limit - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    length += static_cast<size_t>(got);
  }
  text.resize(length);
  return text;
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const list = copy < 0 ? nullptr : ::fdopendir(copy);
  if (list == nullptr) return names;
  while (const dirent* entry = ::readdir(list)) {
    if (names.size() == kMostFiles) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(list);
  return names;
}

std::optional<std::pair<int, int64_t>> numbers_of(std::string_view name, std::string_view prefix) {
  if (name.substr(0, prefix.size()) != prefix) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::pair<int, int64_t> numbers;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), end, numbers.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, numbers.second);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return numbers;
}

Json parse_object(const std::string& text) {
  try {
    Json document = parse_bounded(text);
    return document.is_object() ? document : Json();
  } catch (const Error&) {
    return {};
  }
}

std::string host_text() {
  return lib::format_text("{}.{}.{}", TENON_VERSION_MAJOR, TENON_VERSION_MINOR,
                          TENON_VERSION_PATCH);
}

}  // namespace trust

TENON_NAMESPACE_END

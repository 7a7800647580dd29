// Each library after those that it links, so that the loader finds these by name.
#include "core/plugin/load/origin_libraries.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/facts/elf_notes.hpp"
#include "core/plugin/facts/paths.hpp"
#include "core/plugin/failure.hpp"

namespace tenon::core {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, std::string problem, std::string remedy) {
  refuse_plugin(PluginStage::Open, "", path, std::move(problem), std::move(remedy));
}

// The library that is mapped under a name, or none: the system's loader's own record, and where it
// is from.
struct Mapped {
  const link_map* record = nullptr;
  std::string path;
};
Mapped mapped_by_handle(void* handle) {
  link_map* record = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&record)) != 0) return {};
  return {record, record->l_name};
}
Mapped mapped_as(const std::string& name) {
  void* const handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return {};
  Mapped mapped = mapped_by_handle(handle);
  ::dlclose(handle);
  return mapped;
}

void* open_file(const std::string& file) {
  if (void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* const text = ::dlerror();
  refuse(file, format_text("the system's loader says: {}", text == nullptr ? "nothing" : text),
         "fix the library, or what it needs");
}

// Copies that are mapped, which several plugins may link. Used under the lock of the loader.
std::vector<std::weak_ptr<const OpenedLibrary>>& known_copies() {
  static auto& copies = *new std::vector<std::weak_ptr<const OpenedLibrary>>;
  return copies;
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code fault;
  return fs::equivalent(a, b, fault) && !fault;
}

// Without links; empty where that is not known.
fs::path without_links(const fs::path& folder) {
  std::error_code fault;
  fs::path found = fs::weakly_canonical(folder, fault);
  return fault ? fs::path() : found;
}

bool is_below(const fs::path& folder, const fs::path& above) {
  return !above.empty() &&
         std::mismatch(above.begin(), above.end(), folder.begin(), folder.end()).first ==
             above.end();
}

// The libraries of a plugin whose libraries are pinned, opened in the order in which they need each
// other.
class PinnedClosure {
 public:
  PinnedClosure(const std::string& path, const GuardedPlugin& guarded)
      : path_(path), guarded_(guarded), pinned_(*guarded.pinned()) {}

  // Libraries that the file links, as if it were at `path`.
  OpenedLibraries open_needed(const ByteSource& file, const std::string& path) {
    const LinkedLibraries linked = read_linked_libraries(file, path);
    for (const std::string& folder : linked.run_path) {
      if (is_by_origin(folder)) origins_.push_back(without_links(expand_origin(folder, path)));
    }
    OpenedLibraries opened;
    for (const std::string& name : linked.needed) {
      if (auto one = open(name)) opened.push_back(std::move(one));
    }
    return opened;
  }

 private:
  // Null for one that stays mapped, or that the system's loader has to find.
  std::shared_ptr<const OpenedLibrary> open(const std::string& name) {
    const auto found = std::ranges::find(pinned_, name, &PinnedLibrary::name);
    const PinnedLibrary* const library = found == pinned_.end() ? nullptr : &*found;
    if (const Mapped mapped = mapped_as(name); mapped.record != nullptr)
      return share(name, mapped, library);
    if (library == nullptr) refuse_unpinned(name);
    // Its folder, not the library: that may be a link.
    const fs::path folder = without_links(fs::path(library->path).parent_path());
    if (std::ranges::none_of(origins_,
                             [&](const fs::path& above) { return is_below(folder, above); }))
      return nullptr;  // it finds it for the copy as it does for the file
    if (!started_.insert(name).second) {
      refuse(path_, format_text("its library {} links one that links it", quote(name)),
             "join these libraries: pinned libraries are opened one after the other");
    }
    auto copy = std::make_unique<const SealedFile>(library->path);
    guarded_.require_library(name, library, "", copy.get());
    OpenedLibraries needed = open_needed(*copy, library->path);
    auto opened = std::make_shared<const OpenedLibrary>(std::move(copy), std::move(needed));
    if (!opened->has_name(name)) {
      refuse(path_,
             format_text("its library {} does not have the SONAME by which a private copy is found",
                         quote(library->path)),
             format_text("link the library with -Wl,-soname,{}, and pin it again", name));
    }
    std::erase_if(known_copies(), [](const auto& one) { return one.expired(); });
    known_copies().push_back(opened);
    return opened;
  }

  // The library that is mapped under the name is the one that the plugin will get.
  std::shared_ptr<const OpenedLibrary> share(const std::string& name, const Mapped& mapped,
                                             const PinnedLibrary* library) const {
    for (const auto& known : known_copies()) {
      auto one = known.lock();
      if (one == nullptr || one->copy()->path() != mapped.path) continue;
      if (library == nullptr) break;
      guarded_.require_library(name, library, "", one->copy());
      return one;
    }
    // Some are pinned under the path by which they are linked, the loader itself for example.
    if (std::ranges::any_of(
            pinned_, [&](const PinnedLibrary& one) { return is_same_file(one.path, mapped.path); }))
      return nullptr;
    if (library == nullptr) refuse_unpinned(name);
    const SealedFile bytes(mapped.path);
    guarded_.require_library(name, library, mapped.path, &bytes);
    return nullptr;
  }

  // Does not return: of a library that is not pinned, the guard has nothing to accept.
  [[noreturn]] void refuse_unpinned(const std::string& name) const {
    guarded_.require_library(name, nullptr, "", nullptr);
    std::terminate();
  }

  const std::string& path_;
  const GuardedPlugin& guarded_;
  const std::vector<PinnedLibrary>& pinned_;
  std::vector<fs::path> origins_;  // folders that $ORIGIN has led to so far
  std::set<std::string> started_;
};

// The file that the system's loader finds as `name` for the file at `path` and not for a copy of it: in a
// folder by $ORIGIN, unless an earlier folder has it. Empty: nowhere.
std::string file_by_origin(const std::string& name, const LinkedLibraries& linked,
                           const std::string& path) {
  const auto has = [&](const fs::path& folder) {
    std::error_code fault;
    return fs::is_regular_file(folder / name, fault);
  };
  // Folders that the process was started with come before run paths, for a copy as well.
  const char* const given = environment("LD_LIBRARY_PATH");
  for (std::string_view rest = given == nullptr ? "" : given; !rest.empty();) {
    const size_t end = std::min(rest.find_first_of(":;"), rest.size());
    if (has(rest.substr(0, end))) return "";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const std::string& folder : linked.run_path) {
    const fs::path place = expand_origin(folder, path);
    if (!has(place)) continue;
    return is_by_origin(folder) ? (place / name).string() : "";
  }
  return "";
}

}  // namespace

OpenedLibrary::OpenedLibrary(const std::string& file) : handle_(open_file(file)) {}

OpenedLibrary::OpenedLibrary(std::unique_ptr<const SealedFile> copy, OpenedLibraries needed)
    : needed_(std::move(needed)), copy_(std::move(copy)), handle_(open_file(copy_->path())) {}

OpenedLibrary::~OpenedLibrary() {
  ::dlclose(handle_);
  // A copy that is mapped still keeps its name, by which the system's loader would find it again.
  if (copy_ != nullptr && mapped_as(copy_->path()).record != nullptr)
    static_cast<void>(copy_.release());
}

bool OpenedLibrary::has_name(const std::string& name) const {
  const Mapped mapped = mapped_as(name);
  return mapped.record != nullptr && mapped.record == mapped_by_handle(handle_).record;
}

bool is_by_origin(const std::string& folder) { return folder.find("ORIGIN") != folder.npos; }

std::string expand_origin(std::string folder, const std::string& path) {
  const std::string origin = fs::path(absolute_path(path)).parent_path();
  for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"}) {
    for (size_t at = 0; (at = folder.find(word, at)) != folder.npos; at += origin.size())
      folder.replace(at, word.size(), origin);
  }
  return folder;
}

OpenedLibraries open_libraries(const SealedFile& plugin, const std::string& path) {
  const LinkedLibraries linked = read_linked_libraries(plugin, path);
  OpenedLibraries opened;
  for (const std::string& name : linked.needed) {
    if (name.find('/') != name.npos || mapped_as(name).record != nullptr) continue;
    if (const std::string file = file_by_origin(name, linked, path); !file.empty())
      opened.push_back(std::make_shared<const OpenedLibrary>(file));
  }
  return opened;
}

OpenedLibraries open_pinned_libraries(const SealedFile& plugin, const std::string& path,
                                      const GuardedPlugin& guarded) {
  return PinnedClosure(path, guarded).open_needed(plugin, path);
}

}  // namespace tenon::core

// Each library after those that it links, so that the loader finds these by name.
#include "core/plugin/loader_libraries.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/elf_notes.hpp"
#include "core/plugin/failure.hpp"
#include "core/plugin/linked_files.hpp"

namespace tenon::core {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(PluginStage stage, const std::string& path, std::string problem,
                         std::string remedy, std::string expected = "", std::string found = "") {
  PluginFailure failure;
  failure.stage = stage;
  failure.path = path;
  failure.problem = std::move(problem);
  failure.expected = std::move(expected);
  failure.found = std::move(found);
  failure.remedy = std::move(remedy);
  throw PluginError(std::move(failure));
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
  refuse(PluginStage::Open, file,
         format_text("the system's loader says: {}", text == nullptr ? "nothing" : text),
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

class LockedClosure {
 public:
  LockedClosure(const std::string& path, const LockedPlugin& locked)
      : path_(path), locked_(locked) {}

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
    const auto found = std::ranges::find(locked_.libraries, name, &LockedLibrary::name);
    const LockedLibrary* const library = found == locked_.libraries.end() ? nullptr : &*found;
    if (const Mapped mapped = mapped_as(name); mapped.record != nullptr)
      return share(name, mapped, library);
    if (library == nullptr) refuse_unlocked(name);
    // Its folder, not the library: that may be a link.
    const fs::path folder = without_links(fs::path(library->path).parent_path());
    if (std::ranges::none_of(origins_,
                             [&](const fs::path& above) { return is_below(folder, above); }))
      return nullptr;  // it finds it for the copy as it does for the file
    if (!started_.insert(name).second) {
      refuse(PluginStage::Open, path_,
             format_text("its library {} links one that links it", quote(name)),
             "join these libraries: locked libraries are opened one after the other");
    }
    auto copy = std::make_unique<const SealedFile>(library->path);
    require_bytes(name, *library, copy->sha256());
    OpenedLibraries needed = open_needed(*copy, library->path);
    auto opened = std::make_shared<const OpenedLibrary>(std::move(copy), std::move(needed));
    if (!opened->has_name(name)) {
      refuse(PluginStage::Open, path_,
             format_text("its library {} does not have the SONAME by which a locked copy is found",
                         quote(library->path)),
             format_text("link the library with -Wl,-soname,{}, and lock again", name));
    }
    std::erase_if(known_copies(), [](const auto& one) { return one.expired(); });
    known_copies().push_back(opened);
    return opened;
  }

  // The library that is mapped under the name is the one that the plugin will get.
  std::shared_ptr<const OpenedLibrary> share(const std::string& name, const Mapped& mapped,
                                             const LockedLibrary* library) const {
    for (const auto& known : known_copies()) {
      auto one = known.lock();
      if (one == nullptr || one->copy()->path() != mapped.path) continue;
      if (library == nullptr) break;
      require_bytes(name, *library, one->copy()->sha256());
      return one;
    }
    // The lock has some under the path by which they are linked, the loader itself for example.
    if (std::ranges::any_of(locked_.libraries, [&](const LockedLibrary& one) {
          return is_same_file(one.path, mapped.path);
        }))
      return nullptr;
    if (library == nullptr) refuse_unlocked(name);
    require_bytes(name, *library, SealedFile(mapped.path).sha256(), mapped.path);
    return nullptr;
  }

  void require_bytes(const std::string& name, const LockedLibrary& library,
                     const std::string& sha256, const std::string& mapped = "") const {
    if (sha256 == library.sha256) return;
    const std::string expected = format_text("sha256 {}", library.sha256);
    const std::string found = format_text("sha256 {}", sha256);
    if (mapped.empty()) {
      refuse(PluginStage::Read, path_,
             format_text("its library {} has other bytes", quote(library.path)), kLockAgain,
             expected, found);
    }
    refuse(PluginStage::Read, path_,
           format_text("the process has mapped another library {} from {}", quote(name),
                       quote(mapped)),
           "start the process with the library that is locked, or lock again in it", expected,
           found);
  }

  [[noreturn]] void refuse_unlocked(const std::string& name) const {
    refuse(PluginStage::Read, path_,
           format_text("it links {}, which is not locked with it", quote(name)), kLockAgain);
  }

  static constexpr const char* kLockAgain =
      "restore what was locked, or look at the change and lock again";

  const std::string& path_;
  const LockedPlugin& locked_;
  std::vector<fs::path> origins_;  // folders that $ORIGIN has led to so far
  std::set<std::string> started_;
};

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

OpenedLibraries open_libraries(const SealedFile& plugin, const std::string& path) {
  const LinkedLibraries linked = read_linked_libraries(plugin, path);
  OpenedLibraries opened;
  if (std::ranges::none_of(linked.run_path, is_by_origin)) return opened;
  for (const LinkedFile& file : linked_files(plugin, path)) {
    if (std::ranges::find(linked.needed, file.name) != linked.needed.end())
      opened.push_back(std::make_shared<const OpenedLibrary>(file.path));
  }
  return opened;
}

OpenedLibraries open_locked_libraries(const SealedFile& plugin, const std::string& path,
                                      const LockedPlugin& locked) {
  return LockedClosure(path, locked).open_needed(plugin, path);
}

}  // namespace tenon::core

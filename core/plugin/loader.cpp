// The only home of Boost.DLL: open, symbol, entry, init.
#include "core/plugin/loader.hpp"

#include <cstddef>
#include <dlfcn.h>
#include <exception>
#include <link.h>
#include <memory>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/dll/shared_library.hpp>

#include "core/base/fork.hpp"
#include "core/base/format.hpp"
#include "core/base/growable.hpp"
#include "core/base/json.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/plugin/item_check.hpp"
#include "core/plugin/loader_libraries.hpp"

namespace tenon::core {

using boost::dll::shared_library;

// The library that stays open with a plugin, and the private copy that its code is mapped from.
struct OpenLibrary {
  shared_library library;
  std::unique_ptr<const SealedFile> sealed;
  OpenedLibraries needed;  // opened before it, under their own names
};

namespace {

std::string abi_text(uint32_t major, uint32_t minor) { return format_text("{}.{}", major, minor); }

// Libraries that are open. They stay so at the end of the process: closing one would run code of
// plugins after what it uses is gone.
struct OpenLibraries {
  std::mutex mutex;
  const HeldAcrossFork held{mutex};
  std::vector<std::unique_ptr<OpenLibrary>> list;
};
OpenLibraries& open_libraries() {
  static auto& libraries = *new OpenLibraries;
  return libraries;
}

OpenLibrary& keep_open(OpenLibrary library) {
  OpenLibraries& open = open_libraries();
  const std::lock_guard lock(open.mutex);
  return *open.list.emplace_back(std::make_unique<OpenLibrary>(std::move(library)));
}

// A mapped library as the system's loader knows it.
struct MappedLibrary {
  ElfW(Addr) base = 0;
  std::string name;
  const char* begin = nullptr;  // begin of its segments
  const char* end = nullptr;
};
// The one that the handle names; then the ends of its segments, or nothing once it is unmapped.
MappedLibrary mapped_library(const shared_library& library) {
  link_map* map = nullptr;
  if (::dlinfo(library.native(), RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return {};
  return {map->l_addr, map->l_name};
}
bool find_segments(MappedLibrary& library) {
  library.begin = library.end = nullptr;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* given) {
        auto& sought = *static_cast<MappedLibrary*>(given);
        if (info->dlpi_addr != sought.base || sought.name != info->dlpi_name) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          const auto* begin = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
          if (sought.begin == nullptr) sought.begin = begin;
          sought.end = begin + segment.p_memsz;
        }
        return 1;
      },
      &library);
  return library.begin != nullptr;
}

// One load in the making: what its failures have in common.
class Load {
 public:
  Load(const PluginFacts& facts, const std::string& path, const tenon_host& host)
      : facts_(facts), path_(path), host_(host) {}

  OpenLibrary& open(std::unique_ptr<const SealedFile> copy, const GuardedPlugin& guarded) const;
  OpenedLibraries open_needed(const SealedFile& copy, const GuardedPlugin& guarded) const;
  const tenon_plugin* enter(shared_library& library) const;
  const tenon_plugin* complete_table(const tenon_plugin& given) const;
  void check_table(const tenon_plugin& plugin) const;
  void initialize(const tenon_plugin& plugin, const tenon_json* options) const;
  void take_over(const tenon_plugin& before, const tenon_plugin& plugin) const;

 private:
  PluginFailure failure(PluginStage stage, std::string problem, std::string remedy) const {
    return make_failure(stage, facts_.id, path_, std::move(problem), std::move(remedy));
  }
  [[noreturn]] void fail(PluginStage stage, std::string problem, std::string remedy,
                         std::string expected = "", std::string found = "") const {
    PluginFailure reason = failure(stage, std::move(problem), std::move(remedy));
    reason.expected = std::move(expected);
    reason.found = std::move(found);
    throw PluginError(std::move(reason));
  }
  // Runs plugin code. Whatever it throws, of whichever runtime, ends here.
  template <class Call>
  void call(const char* what, Call&& body) const;

  const PluginFacts& facts_;
  const std::string& path_;
  const tenon_host& host_;
};

// Boost wraps the system loader's text; users are shown that text alone.
std::string loader_text(const std::exception& error) {
  const std::string_view text = error.what();
  constexpr std::string_view kMarker = "dlerror system message: ";
  const size_t begin = text.find(kMarker);
  const size_t end = text.rfind(')');
  if (begin == text.npos || end == text.npos || end < begin + kMarker.size()) return error.what();
  return std::string(text.substr(begin + kMarker.size(), end - begin - kMarker.size()));
}

// Opening and closing are not safe for concurrent use on every system, says Boost.DLL; recursive for
// plugins that load others from their static constructors.
std::recursive_mutex& loader_mutex() {
  static auto& mutex = *new std::recursive_mutex;
  static const auto& held = *new HeldAcrossFork(mutex);
  (void)held;
  return mutex;
}

OpenedLibraries Load::open_needed(const SealedFile& copy, const GuardedPlugin& guarded) const {
  try {
    return guarded.pinned() == nullptr ? open_libraries(copy, path_)
                                       : open_pinned_libraries(copy, path_, guarded);
  } catch (PluginError& error) {
    error.failure.plugin = facts_.id;
    throw PluginError(std::move(error.failure));
  }
}

OpenLibrary& Load::open(std::unique_ptr<const SealedFile> copy,
                        const GuardedPlugin& guarded) const {
  const std::lock_guard lock(loader_mutex());
  try {
    constexpr auto kNow = boost::dll::load_mode::rtld_now;
    if (copy == nullptr) return keep_open({shared_library(path_, kNow), nullptr, {}});
    OpenedLibraries needed = open_needed(*copy, guarded);
    shared_library library(copy->path(), kNow);
    return keep_open({std::move(library), std::move(copy), std::move(needed)});
  } catch (const boost::dll::fs::system_error& error) {
    const std::string text = loader_text(error);
    std::string remedy = "fix the file, or what it needs";
    if (text.find("undefined symbol") != text.npos) {
      remedy = "link what defines it, and link with -z defs so that the linker reports it";
    } else if (text.find("cannot open shared object file") != text.npos) {
      remedy = "install the library that it needs, or put its folder in the plugin's run path";
    }
    fail(PluginStage::Open, format_text("the system's loader says: {}", text), std::move(remedy));
  }
}

const tenon_plugin* Load::enter(shared_library& library) const {
  const std::string no_entry = format_text("it has no symbol {}", TENON_PLUGIN_ENTRY);
  const char* remedy = "define the entry, with default visibility, in this plugin";
  if (!library.has(TENON_PLUGIN_ENTRY)) fail(PluginStage::Symbol, no_entry, remedy);
  auto* entry =
      &library.get<std::remove_pointer_t<tenon_plugin_entry_function>>(TENON_PLUGIN_ENTRY);

  // A lookup continues in the libraries that the plugin links, where another plugin's entry may be.
  Dl_info place{};
  void* owner = nullptr;
  link_map* own = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(entry), &place, &owner, RTLD_DL_LINKMAP) != 0 &&
      ::dlinfo(library.native(), RTLD_DI_LINKMAP, static_cast<void*>(&own)) == 0 && owner != own) {
    fail(PluginStage::Symbol, format_text("{}, only that of a library that it links", no_entry),
         remedy, "", quote(place.dli_fname));
  }

  const tenon_plugin* plugin = nullptr;
  call("its entry", [&](tenon_error** error) { return entry(&host_, &plugin, error); });
  if (plugin == nullptr) {
    fail(PluginStage::Init, "its entry returned no table", "set *plugin in the entry");
  }
  return plugin;
}

template <class Call>
void Load::call(const char* what, Call&& body) const {
  tenon_error* error = nullptr;
  tenon_status status = TENON_OK;
  std::string thrown;
  try {
    status = body(&error);
  } catch (const std::exception& exception) {
    thrown = format_text(": {}", exception.what());
    status = TENON_ERROR_INTERNAL;
  } catch (...) {
    // Also reached by exceptions of another C++ runtime.
    thrown = " of unknown type";
    status = TENON_ERROR_INTERNAL;
  }
  if (status == TENON_OK && error == nullptr) return;

  const std::unique_ptr<tenon_error, void (*)(tenon_error*)> owned(error, [](tenon_error* given) {
    if (given != nullptr && !given->preallocated) delete given;
  });
  if (status == TENON_OK) {
    fail(PluginStage::Init, format_text("{} filled an error but returned success", what),
         "return the error's kind");
  }
  if (!thrown.empty()) {
    fail(PluginStage::Init, format_text("{} threw an exception{}", what, thrown),
         "catch exceptions in the plugin and return a status: none may cross the boundary");
  }
  if (error == nullptr) {
    fail(PluginStage::Init,
         format_text("{} failed with status {} ({}) and no message", what, status,
                     error_kind_text(status)),
         "fill the error before returning a status");
  }
  PluginError reason(failure(PluginStage::Init,
                             format_text("{} failed: {}", what, error->error.message),
                             "see the plugin's own message"));
  reason.cause = std::make_shared<const tenon_error>(tenon_error{error->error});
  throw reason;
}

// Members that a table of an older SDK lacks read as zero.
const tenon_plugin* Load::complete_table(const tenon_plugin& given) const {
  constexpr size_t kOldest = offsetof(tenon_plugin, types);
  if (given.size < kOldest) {
    fail(PluginStage::Version, "the table that its entry returned is too small",
         "set `size` to sizeof(tenon_plugin), and build it with a supported SDK",
         format_text("at least {} bytes", kOldest), std::to_string(given.size));
  }
  if (given.size >= sizeof(tenon_plugin)) return &given;
  static std::mutex mutex;
  static const HeldAcrossFork held(mutex);
  static auto& completed = *new std::vector<std::unique_ptr<tenon_plugin>>;  // as long as plugins
  const std::lock_guard lock(mutex);
  completed.push_back(std::make_unique<tenon_plugin>(copy_growable(given)));
  return completed.back().get();
}

void Load::check_table(const tenon_plugin& plugin) const {
  const char* rebuild = "build it again from one SDK, so that its facts and its code agree";
  if (auto reason = judge_abi(host_, facts_.id, path_, plugin.abi_major, plugin.abi_minor)) {
    throw PluginError(std::move(*reason));
  }
  if (plugin.abi_major != facts_.abi_major || plugin.abi_minor != facts_.abi_minor) {
    fail(PluginStage::Version, "its table names another ABI than its facts", rebuild,
         abi_text(facts_.abi_major, facts_.abi_minor),
         abi_text(plugin.abi_major, plugin.abi_minor));
  }
  const auto same = [&](const char* what, const std::string& declared, const char* returned) {
    if (returned != nullptr && declared == returned) return;
    fail(PluginStage::Init, format_text("its table names another {} than its facts", what), rebuild,
         quote(declared), returned == nullptr ? "none" : quote(returned));
  };
  same("id", facts_.id, plugin.id);
  same("version", facts_.version, plugin.version);
  const auto fits = [](const void* list, int64_t count) {
    return count == 0 || (count > 0 && list != nullptr);
  };
  if (!fits(plugin.ops, plugin.op_count) || !fits(plugin.modules, plugin.module_count) ||
      !fits(plugin.types, plugin.type_count) || !fits(plugin.overrides, plugin.override_count) ||
      !fits(plugin.services, plugin.service_count) || !fits(plugin.uses, plugin.use_count)) {
    fail(PluginStage::Register, "its table has counts that do not fit its arrays",
         "set ops, modules, types, overrides, services and uses with their counts");
  }
}

void Load::initialize(const tenon_plugin& plugin, const tenon_json* options) const {
  if (plugin.init == nullptr) {
    if (options == nullptr) return;
    fail(PluginStage::Init, "it takes no options, but the config gives some",
         "remove `options` from its config entry");
  }
  call("its init", [&](tenon_error** error) { return plugin.init(options, error); });
}

void Load::take_over(const tenon_plugin& before, const tenon_plugin& plugin) const {
  if (before.save_state != nullptr && plugin.restore_state != nullptr) {
    tenon_json* state = nullptr;
    call("the save_state of the code before",
         [&](tenon_error** error) { return before.save_state(&state, error); });
    const Json kept = Json::take(state);
    if (kept)
      call("its restore_state",
           [&](tenon_error** error) { return plugin.restore_state(kept.get(), error); });
  }
  if (plugin.self_test != nullptr)
    call("its self_test", [&](tenon_error** error) { return plugin.self_test(error); });
}

}  // namespace

std::optional<PluginFailure> judge_abi(const tenon_host& host, const std::string& id,
                                       const std::string& path, uint32_t major, uint32_t minor) {
  const uint32_t served = std::clamp<uint32_t>(minor, TENON_ABI_OLDEST_MINOR, host.abi_minor);
  if (major == host.abi_major && minor == served) return std::nullopt;
  PluginFailure failure;
  failure.stage = PluginStage::Version;
  failure.plugin = id;
  failure.path = path;
  failure.expected = format_text("ABI {}", abi_text(host.abi_major, TENON_ABI_OLDEST_MINOR));
  if (host.abi_minor > TENON_ABI_OLDEST_MINOR) {
    failure.expected += format_text(" to {}", abi_text(host.abi_major, host.abi_minor));
  }
  failure.found = format_text("ABI {}", abi_text(major, minor));
  const bool newer = major > host.abi_major || (major == host.abi_major && minor > host.abi_minor);
  failure.problem =
      format_text("it is built for a {} Tenon than this one serves", newer ? "newer" : "older");
  if (newer && major == host.abi_major) {
    failure.remedy =
        format_text("update Tenon, or build the plugin with TENON_TARGET_MINOR={}", host.abi_minor);
  } else if (newer) {
    failure.remedy = "update Tenon, or build the plugin with the SDK of this one";
  } else {
    failure.remedy = "build the plugin again with the SDK of this Tenon";
  }
  return failure;
}

bool is_mapped(const std::string& path) {
  const std::lock_guard lock(loader_mutex());
  void* const handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  ::dlclose(handle);
  return true;
}

std::string LoadedPlugin::shutdown() const {
  if (table == nullptr || table->shutdown == nullptr) return "";
  std::string fault = "its shutdown throws";
  try {
    table->shutdown();
    return "";
  } catch (const std::exception& error) {
    fault += format_text(": {}", error.what());
  } catch (...) {
    fault += " an object that is not a std::exception";
  }
  log(LogLevel::warning, table->id, fault);
  return fault;
}

bool LoadedPlugin::unmap() noexcept {
  const std::lock_guard lock(loader_mutex());
  MappedLibrary mapped = mapped_library(library->library);
  library->library.unload();
  const bool unmapped = !find_segments(mapped);
  // A copy that is mapped still keeps its name, by which the system's loader would find it again.
  if (unmapped) {
    OpenLibraries& open = open_libraries();
    const std::lock_guard listed(open.mutex);
    std::erase_if(open.list, [&](const auto& one) { return one.get() == library; });
  }
  delete code;
  *this = {};
  return unmapped;
}

void load_plugin(const PluginFacts& facts, uint64_t generation, const std::string& path,
                 std::unique_ptr<const SealedFile> copy, const GuardedPlugin& guarded,
                 GuardedPlugin::Phase& phase, const tenon_host& host, const tenon_json* options,
                 LoadedPlugin& loaded) {
  if (auto reason = judge_abi(host, facts.id, path, facts.abi_major, facts.abi_minor)) {
    throw PluginError(std::move(*reason));
  }
  auto services = std::make_shared<const HeldServices>(host, facts, path);
  const Load load(facts, path, host);
  loaded.services = services;
  loaded.library = &load.open(std::move(copy), guarded);
  loaded.code = new PluginCode(facts.id, generation);
  MappedLibrary mapped = mapped_library(loaded.library->library);
  if (find_segments(mapped)) loaded.code->set_range(mapped.begin, mapped.end);
  phase.entered();
  const tenon_plugin* plugin = load.complete_table(*load.enter(loaded.library->library));
  load.check_table(*plugin);
  compare_items(facts, path, *plugin);
  services->fill(*plugin);
  load.initialize(*plugin, options);
  loaded.table = plugin;
}

void take_over(const PluginFacts& facts, const std::string& path, const tenon_host& host,
               const LoadedPlugin& before, const LoadedPlugin& loaded) {
  Load(facts, path, host).take_over(*before.table, *loaded.table);
}

}  // namespace tenon::core

// Open, symbol, entry, init; later shutdown and unmapping.
#include "core/plugin/load/library.hpp"

#include <algorithm>
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
#include "core/base/json.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/plugin/load/origin_libraries.hpp"
#include "tenon/abi/host.h"

namespace tenon::core {

using boost::dll::shared_library;

// The library that stays open with a plugin, and the private copy that its code is mapped from.
struct OpenLibrary {
  shared_library library;
  std::unique_ptr<const SealedFile> sealed;
  OpenedLibraries needed;  // opened before it, under their own names
};

namespace {

// Opening and closing are not safe for concurrent use on every system, says Boost.DLL; recursive for
// plugins that load others from their static constructors.
std::recursive_mutex& loader_mutex() {
  static auto& mutex = *new std::recursive_mutex;
  static const auto& held = *new HeldAcrossFork(mutex);
  (void)held;
  return mutex;
}

// Libraries that are open, under the loader's mutex. They stay so at the end of the process: closing one
// would run code of plugins after what it uses is gone.
std::vector<std::unique_ptr<OpenLibrary>>& open_list() {
  static auto& list = *new std::vector<std::unique_ptr<OpenLibrary>>;
  return list;
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

// Boost wraps the system loader's text; users are shown that text alone.
std::string loader_text(const std::exception& error) {
  const std::string_view text = error.what();
  constexpr std::string_view kMarker = "dlerror system message: ";
  const size_t begin = text.find(kMarker);
  const size_t end = text.rfind(')');
  if (begin == text.npos || end == text.npos || end < begin + kMarker.size()) return error.what();
  return std::string(text.substr(begin + kMarker.size(), end - begin - kMarker.size()));
}

}  // namespace

void PluginCalls::open(std::unique_ptr<const SealedFile> copy, const GuardedPlugin& guarded,
                       uint64_t generation, LoadedPlugin& loaded) const {
  const std::lock_guard lock(loader_mutex());
  try {
    OpenedLibraries needed;
    if (copy != nullptr)
      needed = guarded.pinned() == nullptr ? open_libraries(*copy, path_)
                                           : open_pinned_libraries(*copy, path_, guarded);
    shared_library library(copy == nullptr ? path_ : copy->path(), boost::dll::load_mode::rtld_now);
    loaded.library = open_list()
                         .emplace_back(std::make_unique<OpenLibrary>(
                             OpenLibrary{std::move(library), std::move(copy), std::move(needed)}))
                         .get();
  } catch (PluginError& error) {
    error.failure.plugin = facts_.id;
    throw PluginError(std::move(error.failure));
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
  loaded.code = new PluginCode(facts_.id, generation);
  MappedLibrary mapped = mapped_library(loaded.library->library);
  if (find_segments(mapped)) loaded.code->set_range(mapped.begin, mapped.end);
}

template <class Call>
void PluginCalls::call(const char* what, Call&& body) const {
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
  PluginError reason(make_failure(PluginStage::Init, facts_.id, path_,
                                  format_text("{} failed: {}", what, error->error.message),
                                  "see the plugin's own message"));
  reason.cause = std::make_shared<const tenon_error>(tenon_error{error->error});
  throw reason;
}

const tenon_plugin& PluginCalls::enter(const LoadedPlugin& loaded) const {
  shared_library& library = loaded.library->library;
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
         remedy, quote(place.dli_fname));
  }

  const tenon_plugin* plugin = nullptr;
  call("its entry", [&](tenon_error** error) { return entry(&host_, &plugin, error); });
  if (plugin == nullptr)
    fail(PluginStage::Init, "its entry returned no table", "set *plugin in the entry");
  return *plugin;
}

void PluginCalls::initialize(const tenon_plugin& table, const tenon_json* options) const {
  if (table.init == nullptr) {
    if (options == nullptr) return;
    fail(PluginStage::Init, "it takes no options, but the config gives some",
         "remove `options` from its config entry");
  }
  call("its init", [&](tenon_error** error) { return table.init(options, error); });
}

void PluginCalls::take_over(const tenon_plugin& before, const tenon_plugin& table) const {
  if (before.save_state != nullptr && table.restore_state != nullptr) {
    tenon_json* state = nullptr;
    call("the save_state of the code before",
         [&](tenon_error** error) { return before.save_state(&state, error); });
    const Json kept = Json::take(state);
    if (kept)
      call("its restore_state",
           [&](tenon_error** error) { return table.restore_state(kept.get(), error); });
  }
  if (table.self_test != nullptr)
    call("its self_test", [&](tenon_error** error) { return table.self_test(error); });
}

// ---- services ----

HeldServices::HeldServices(const tenon_host& host, const PluginFacts& facts,
                           const std::string& path)
    : host_(host) {
  held_.reserve(facts.uses.size());
  for (const ServiceUse& use : facts.uses) {
    Held& held = held_.emplace_back(Held{use.service});
    tenon_error* error = nullptr;
    const tenon_status status =
        host.service(use.service.c_str(), use.version, &held.table, &held.lease, &error);
    if (status == TENON_OK) continue;
    release();
    try {
      throw_status(status, error);
    } catch (Error& cause) {
      PluginError failure(
          make_failure(PluginStage::Open, facts.id, path,
                       format_text("service {}, which it uses, is not available: {}",
                                   quote(use.service), cause.message),
                       "install or repair the plugin that provides it"));
      failure.cause = std::make_shared<const tenon_error>(tenon_error{std::move(cause)});
      throw failure;
    }
  }
}

HeldServices::~HeldServices() { release(); }

void HeldServices::release() const noexcept {
  for (const Held& held : held_) host_.service_release(held.lease);
}

void HeldServices::fill(const tenon_plugin& plugin) const {
  for (int64_t i = 0; i < plugin.use_count; ++i) {
    const tenon_use& use = *plugin.uses[i];
    const auto held = std::ranges::find(held_, std::string_view(use.name), &Held::service);
    *use.table = held->table;
  }
}

std::vector<std::string> HeldServices::provided_by(const PluginCode& code) const {
  std::vector<std::string> names;
  for (const Held& held : held_) {
    if (held.lease != nullptr && held.lease->provider == &code) names.push_back(held.service);
  }
  return names;
}

// ---- the end of code ----

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
  if (unmapped) std::erase_if(open_list(), [&](const auto& one) { return one.get() == library; });
  delete code;
  *this = {};
  return unmapped;
}

}  // namespace tenon::core

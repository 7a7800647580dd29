// The only home of Boost.DLL: open, symbol, entry, comparison with the facts, init.
#include "core/plugin/loader.hpp"

#include <algorithm>
#include <cstddef>
#include <dlfcn.h>
#include <link.h>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/dll/shared_library.hpp>

#include "core/base/fork.hpp"
#include "core/base/format.hpp"
#include "core/base/growable.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/op_check.hpp"
#include "core/nn/module_type.hpp"
#include "core/plugin/elf_notes.hpp"
#include "core/plugin/linked_files.hpp"
#include "core/plugin/quarantine.hpp"

namespace tenon::core {

using boost::dll::shared_library;

// What stays open with a plugin, and the private copy that its code is mapped from.
struct OpenLibrary {
  shared_library library;
  std::unique_ptr<const SealedFile> sealed;
  std::vector<shared_library> needed;  // opened before it, under their own names
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
  const char* begin = nullptr;  // where its segments are
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

// What the file links, where $ORIGIN may lead to it. Of a private copy that is another folder, so
// the libraries are opened first: the system's loader then has them under their names.
std::vector<std::string> libraries_by_origin(const SealedFile& sealed, const std::string& path) {
  const LinkedLibraries linked = read_linked_libraries(sealed, path);
  std::vector<std::string> files;
  if (std::ranges::none_of(linked.run_path, [](const std::string& folder) {
        return folder.find("ORIGIN") != folder.npos;
      }))
    return files;
  for (const LinkedFile& file : linked_files(path)) {
    if (std::ranges::find(linked.needed, file.name) != linked.needed.end())
      files.push_back(file.path);
  }
  return files;
}

// One load in the making: what its failures have in common.
class Load {
 public:
  Load(const PluginFacts& facts, const std::string& path, const tenon_host& host)
      : facts_(facts), path_(path), host_(host) {}

  OpenLibrary& open(std::unique_ptr<const SealedFile> sealed) const;
  const tenon_plugin* enter(shared_library& library) const;
  const tenon_plugin* complete_table(const tenon_plugin& given) const;
  void check_table(const tenon_plugin& plugin) const;
  void compare_items(const tenon_plugin& plugin) const;
  void initialize(const tenon_plugin& plugin, const tenon_json* options) const;
  void take_over(const tenon_plugin& before, const tenon_plugin& plugin) const;

 private:
  PluginFailure failure(PluginStage stage, std::string problem, std::string remedy) const {
    PluginFailure result;
    result.stage = stage;
    result.plugin = facts_.id;
    result.path = path_;
    result.problem = std::move(problem);
    result.remedy = std::move(remedy);
    return result;
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
  void check_op(const tenon_op_descriptor* op) const;
  void check_module(const tenon_module_descriptor* module) const;
  void check_type(const tenon_type_descriptor* type) const;
  void check_override(const tenon_override_descriptor* entry) const;

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

OpenLibrary& Load::open(std::unique_ptr<const SealedFile> sealed) const {
  const std::lock_guard lock(loader_mutex());
  try {
    constexpr auto kNow = boost::dll::load_mode::rtld_now;
    if (sealed == nullptr) return keep_open({shared_library(path_, kNow), nullptr, {}});
    std::vector<shared_library> needed;
    for (const std::string& file : libraries_by_origin(*sealed, path_))
      needed.emplace_back(file, kNow);
    shared_library library(sealed->path(), kNow);
    return keep_open({std::move(library), std::move(sealed), std::move(needed)});
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

// What a table of an older SDK lacks reads as zero.
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
      !fits(plugin.types, plugin.type_count) || !fits(plugin.overrides, plugin.override_count)) {
    fail(PluginStage::Register, "its table has counts that do not fit its arrays",
         "set ops, modules, types and overrides with their counts");
  }
}

void Load::check_op(const tenon_op_descriptor* op) const {
  if (op == nullptr || op->schema == nullptr) {
    fail(PluginStage::Register, "it registers an op without a descriptor or schema",
         "fill every entry of `ops`");
  }
  const std::string name = format_text("op {}", quote(schema_name(op->schema)));
  // Descriptors grow at their end: what plugins of the first SDK have is enough.
  constexpr size_t kOldest = offsetof(tenon_op_descriptor, vjp);
  if (op->size < kOldest) {
    fail(PluginStage::Register, format_text("the descriptor of {} is too small", name),
         "set `size` to sizeof(tenon_op_descriptor)", format_text("at least {} bytes", kOldest),
         std::to_string(op->size));
  }
  if (const auto fault = core::check_op(copy_growable(*op)))
    fail(PluginStage::Register, format_text("{} {}", name, fault->what), fault->remedy);
}

void Load::check_module(const tenon_module_descriptor* module) const {
  if (module == nullptr || module->schema == nullptr) {
    fail(PluginStage::Register, "it registers a module without a descriptor or schema",
         "fill every entry of `modules`");
  }
  const std::string name = format_text("module {}", quote(schema_name(module->schema)));
  constexpr size_t kOldest = sizeof(tenon_module_descriptor);
  if (module->size < kOldest) {
    fail(PluginStage::Register, format_text("the descriptor of {} is too small", name),
         "set `size` to sizeof(tenon_module_descriptor)", format_text("at least {} bytes", kOldest),
         std::to_string(module->size));
  }
  if (const auto fault = core::check_module(copy_growable(*module)))
    fail(PluginStage::Register, format_text("{} {}", name, fault->what), fault->remedy);
}

void Load::check_type(const tenon_type_descriptor* type) const {
  if (type == nullptr || type->name == nullptr) {
    fail(PluginStage::Register, "it registers a type without a descriptor or name",
         "fill every entry of `types`");
  }
  constexpr size_t kOldest = offsetof(tenon_type_descriptor, project_gradient);
  if (type->size < kOldest) {
    fail(PluginStage::Register,
         format_text("the descriptor of type {} is too small", quote(type->name)),
         "set `size` to sizeof(tenon_type_descriptor)", format_text("at least {} bytes", kOldest),
         std::to_string(type->size));
  }
}

void Load::check_override(const tenon_override_descriptor* entry) const {
  if (entry == nullptr || entry->schema == nullptr || entry->types == nullptr) {
    fail(PluginStage::Register, "it registers an override without a schema or types",
         "fill every entry of `overrides`");
  }
  constexpr size_t kOldest = offsetof(tenon_override_descriptor, rules);
  if (entry->size < kOldest) {
    fail(PluginStage::Register,
         format_text("the descriptor of override {} is too small",
                     override_key(entry->schema, entry->types)),
         "set `size` to sizeof(tenon_override_descriptor)",
         format_text("at least {} bytes", kOldest), std::to_string(entry->size));
  }
}

std::string item_name(const tenon_op_descriptor& op) { return std::string(schema_name(op.schema)); }
std::string item_name(const tenon_module_descriptor& module) {
  return std::string(schema_name(module.schema));
}
std::string item_name(const tenon_type_descriptor& type) { return type.name; }
std::string item_name(const tenon_override_descriptor& entry) {
  return override_key(entry.schema, entry.types);
}

std::string differentiable_text(uint32_t code) {
  switch (code) {
    case TENON_DIFFERENTIABLE_NONE:
      return "none";
    case TENON_DIFFERENTIABLE_FORMULA:
      return "formula";
    case TENON_DIFFERENTIABLE_COMPOSITE:
      return "composite";
    default:
      return format_text("code {}", code);
  }
}

std::string jvp_text(uint32_t code) {
  switch (code) {
    case TENON_JVP_NONE:
      return "none";
    case TENON_JVP_RULE:
      return "rule";
    case TENON_JVP_POINTWISE:
      return "pointwise";
    case TENON_JVP_LINEAR:
      return "linear";
    case TENON_JVP_MULTILINEAR:
      return "multilinear";
    default:
      return format_text("code {}", code);
  }
}

// Differences between what is declared and what is registered, as the message lists them.
struct Differences {
  std::vector<std::string> only_declared;
  std::vector<std::string> only_registered;
  std::vector<std::string> changed;

  void compare(const std::string& item, const char* part, const std::string& declared,
               const std::string& registered) {
    if (declared == registered) return;
    changed.push_back(format_text("{} ({} {} declared, {} registered)", item, part, quote(declared),
                                  quote(registered)));
  }
  std::string text() const {
    std::vector<std::string> parts;
    const auto add = [&](const char* title, const std::vector<std::string>& items) {
      constexpr size_t kShown = 10;
      if (items.empty()) return;
      std::string part = title;
      part += join(std::span(items).first(std::min(items.size(), kShown)), ", ");
      if (items.size() > kShown) part += format_text(" and {} more", items.size() - kShown);
      parts.push_back(std::move(part));
    };
    add("declared but not registered: ", only_declared);
    add("registered but not declared: ", only_registered);
    add("registered other than declared: ", changed);
    return join(parts, "; ");
  }
};

// Matches both lists by name; `compare` gets each pair. Names of facts are unique already.
template <class Facts, class Descriptor, class Compare>
void match(const char* kind, const std::vector<Facts>& declared,
           std::span<const Descriptor* const> registered, Differences& differences,
           Compare&& compare) {
  std::unordered_map<std::string, const Descriptor*> by_name;
  by_name.reserve(registered.size());
  for (const Descriptor* descriptor : registered) {
    const std::string name = item_name(*descriptor);
    if (!by_name.emplace(name, descriptor).second)
      differences.only_registered.push_back(format_text("{}{} for a second time", kind, name));
  }
  for (const Facts& facts : declared) {
    const auto found = by_name.find(std::string(facts.name()));
    if (found == by_name.end()) {
      differences.only_declared.push_back(kind + std::string(facts.name()));
    } else {
      compare(facts, *found->second);
      by_name.erase(found);
    }
  }
  // In the order of registration, not of the hash table.
  for (const Descriptor* descriptor : registered) {
    const std::string name = item_name(*descriptor);
    const auto found = by_name.find(name);
    if (found == by_name.end() || found->second != descriptor) continue;
    differences.only_registered.push_back(kind + name);
  }
}

void Load::compare_items(const tenon_plugin& plugin) const {
  const std::span ops(plugin.ops, static_cast<size_t>(plugin.op_count));
  const std::span modules(plugin.modules, static_cast<size_t>(plugin.module_count));
  for (const tenon_op_descriptor* op : ops) check_op(op);
  for (const tenon_module_descriptor* module : modules) check_module(module);
  const std::span types(plugin.types, static_cast<size_t>(plugin.type_count));
  const std::span overrides(plugin.overrides, static_cast<size_t>(plugin.override_count));
  for (const tenon_type_descriptor* type : types) check_type(type);
  for (const tenon_override_descriptor* entry : overrides) check_override(entry);

  Differences differences;
  match("", facts_.ops, ops, differences, [&](const OpFacts& facts, const tenon_op_descriptor& op) {
    const std::string name(facts.name());
    differences.compare(name, "schema", facts.schema, op.schema);
    differences.compare(name, "differentiable", facts.differentiable,
                        differentiable_text(op.differentiable));
    differences.compare(name, "jvp", facts.jvp, jvp_text(op.jvp_kind));
    differences.compare(name, "flags", std::to_string(facts.flags), std::to_string(op.flags));
    differences.compare(name, "not_overridable", facts.not_overridable,
                        op.not_overridable == nullptr ? "" : op.not_overridable);
  });
  match("module ", facts_.modules, modules, differences,
        [&](const ModuleFacts& facts, const tenon_module_descriptor& module) {
          const std::string name = format_text("module {}", facts.name());
          differences.compare(name, "schema", facts.schema, module.schema);
          differences.compare(name, "forward", facts.forward,
                              module.forward_schema == nullptr ? "" : module.forward_schema);
        });
  const auto or_empty = [](const char* text) { return std::string(text == nullptr ? "" : text); };
  match("type ", facts_.types, types, differences,
        [&](const TypeFacts& facts, const tenon_type_descriptor& type) {
          const std::string name = format_text("type {}", facts.type);
          differences.compare(name, "parent", facts.parent, or_empty(type.parent));
          differences.compare(name, "flags", std::to_string(facts.flags),
                              std::to_string(type.flags));
          differences.compare(name, "fallback", std::to_string(facts.fallback),
                              std::to_string(type.fallback));
          differences.compare(name, "metadata", std::to_string(facts.metadata),
                              std::to_string(type.metadata));
          differences.compare(name, "handler", facts.handler ? "yes" : "no",
                              type.handler != nullptr ? "yes" : "no");
          if (facts.payload == std::array<int64_t, 3>{}) return;  // plain C
          const auto layout = [](int64_t bytes, int64_t alignment, int64_t fingerprint) {
            return format_text("{} bytes aligned to {}, fingerprint {}", bytes, alignment,
                               fingerprint);
          };
          const bool has_layout = type.size >= sizeof(tenon_type_descriptor);
          differences.compare(name, "payload",
                              layout(facts.payload[0], facts.payload[1], facts.payload[2]),
                              layout(type.payload_size, has_layout ? type.payload_alignment : 0,
                                     has_layout ? int64_t{type.payload_fingerprint} : 0));
        });
  match("override ", facts_.overrides, overrides, differences,
        [&](const OverrideFacts& facts, const tenon_override_descriptor& entry) {
          const std::string name = format_text("override {}", facts.key);
          differences.compare(name, "schema", facts.schema, entry.schema);
          differences.compare(name, "accepts", facts.accepts, or_empty(entry.accepts));
        });
  const std::string text = differences.text();
  if (text.empty()) return;
  fail(PluginStage::Register, format_text("it registers other than it declares: {}", text),
       "make its facts and its table agree; TENON_OP, TENON_MODULE, TENON_TYPE and TENON_OVERRIDE "
       "write both");
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

void LoadedPlugin::shutdown() const noexcept {
  if (table == nullptr || table->shutdown == nullptr) return;
  try {
    table->shutdown();
  } catch (...) {
    // Nothing can be done for a plugin that throws in its shutdown.
  }
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
                 std::unique_ptr<const SealedFile> sealed, const tenon_host& host,
                 const tenon_json* options, LoadedPlugin& loaded) {
  if (auto reason = judge_abi(host, facts.id, path, facts.abi_major, facts.abi_minor)) {
    throw PluginError(std::move(*reason));
  }
  const Load load(facts, path, host);
  loaded.library = &load.open(std::move(sealed));
  loaded.code = new PluginCode(facts.id, generation);
  MappedLibrary mapped = mapped_library(loaded.library->library);
  if (find_segments(mapped)) loaded.code->set_range(mapped.begin, mapped.end);
  LoadMarker::enter_init();
  const tenon_plugin* plugin = load.complete_table(*load.enter(loaded.library->library));
  load.check_table(*plugin);
  load.compare_items(*plugin);
  load.initialize(*plugin, options);
  loaded.table = plugin;
}

void take_over(const PluginFacts& facts, const std::string& path, const tenon_host& host,
               const LoadedPlugin& before, const LoadedPlugin& loaded) {
  Load(facts, path, host).take_over(*before.table, *loaded.table);
}

}  // namespace tenon::core

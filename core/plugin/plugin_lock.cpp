// Lock files: made, written, read and compared.
#include "core/plugin/plugin_lock.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/input_file.hpp"
#include "core/base/json_bound.hpp"
#include "core/base/text.hpp"
#include "core/plugin/linked_files.hpp"
#include "core/plugin/sha256.hpp"

namespace tenon::core {

namespace {

constexpr int64_t kLockVersion = 1;
constexpr int64_t kMostBytes = int64_t{16} << 20;

PluginFailure difference(PluginStage stage, const LockedPlugin& plugin, std::string problem,
                         std::string expected = "", std::string found = "") {
  PluginFailure failure;
  failure.stage = stage;
  failure.plugin = plugin.id;
  failure.path = plugin.path;
  failure.problem = std::move(problem);
  failure.expected = std::move(expected);
  failure.found = std::move(found);
  failure.remedy = "restore what was locked, or look at the change and lock again";
  return failure;
}

void compare_libraries(const LockedPlugin& locked, const LockedPlugin& present,
                       std::vector<PluginFailure>& failures) {
  const auto add = [&](std::string problem, std::string expected = "", std::string found = "") {
    failures.push_back(difference(PluginStage::Read, present, std::move(problem),
                                  std::move(expected), std::move(found)));
  };
  const auto find = [](const LockedPlugin& plugin, const std::string& name) {
    const auto library = std::ranges::find(plugin.libraries, name, &LockedLibrary::name);
    return library == plugin.libraries.end() ? nullptr : &*library;
  };
  for (const LockedLibrary& library : locked.libraries) {
    const LockedLibrary* now = find(present, library.name);
    if (now == nullptr) {
      add(format_text("it does not link {}, which is locked with it", quote(library.name)));
    } else if (now->path != library.path) {
      add(format_text("its library {} is found elsewhere", quote(library.name)), library.path,
          now->path);
    } else if (now->sha256 != library.sha256) {
      add(format_text("its library {} has other bytes", quote(library.path)),
          format_text("sha256 {}", library.sha256), format_text("sha256 {}", now->sha256));
    }
  }
  for (const LockedLibrary& library : present.libraries) {
    if (find(locked, library.name) == nullptr)
      add(format_text("it links {}, which is not locked with it", quote(library.name)));
  }
}

void compare_providers(const char* kind, const LockedProviders& locked,
                       const LockedProviders& present, std::vector<PluginFailure>& failures) {
  for (const auto& [name, plugin] : locked) {
    const auto now = present.find(name);
    if (now != present.end() && now->second == plugin) continue;
    PluginFailure failure;
    failure.stage = PluginStage::Register;
    failure.plugin = plugin;
    failure.problem = format_text("{} {} is now provided by another plugin", kind, quote(name));
    failure.expected = format_text("plugin {}", quote(plugin));
    failure.found =
        now == present.end() ? "no single plugin" : format_text("plugin {}", quote(now->second));
    failure.remedy = "restore what was locked, or look at the change and lock again";
    failures.push_back(std::move(failure));
  }
}

std::string declarations_of(const PluginFacts& facts) {
  Sha256 hash;
  const auto add = [&](std::string_view text) {
    hash.update(text.data(), text.size());
    hash.update("\n", 1);
  };
  for (const OpFacts& op : facts.ops) {
    add(format_text("{} {} {} {}", op.schema, op.differentiable, op.jvp, op.flags));
  }
  for (const ModuleFacts& module : facts.modules)
    add(format_text("{} {}", module.schema, module.forward));
  for (const TypeFacts& type : facts.types) add(format_text("{} {}", type.type, type.parent));
  for (const OverrideFacts& entry : facts.overrides)
    add(format_text("{} {}", entry.key, entry.schema));
  return hash.finish();
}

// ---- the file ----

void put_providers(JsonBuilder& document, const char* key, const LockedProviders& providers) {
  document.key(key).begin_object();
  for (const auto& [name, plugin] : providers) document.member(name, plugin);
  document.end_object();
}

[[noreturn]] void refuse(const tenon_json& node, std::string_view expected) {
  const std::string place = place_of(node);
  throw Error(TENON_ERROR_CONFIG, "{}{}expected {}; write the lock file again with `tenon lock`",
              place, place.empty() ? "" : ": ", expected);
}

const tenon_json& member(const tenon_json& node, std::string_view key, JsonKind kind) {
  if (!node.is_object()) refuse(node, "an object");
  const tenon_json* found = node.find(key);
  if (found == nullptr) refuse(node, format_text("a member {}", quote(key)));
  if (found->kind() != kind) refuse(*found, kind_text(kind));
  return *found;
}

std::string text_of(const tenon_json& node, std::string_view key) {
  return std::string(member(node, key, JsonKind::String).as_string());
}

LockedProviders providers_of(const tenon_json& node, std::string_view key) {
  LockedProviders providers;
  for (const tenon_json& entry : member(node, key, JsonKind::Object).children()) {
    if (!entry.is_string()) refuse(entry, "the id of a plugin");
    providers.emplace(entry.key(), entry.as_string());
  }
  return providers;
}

}  // namespace

const LockedPlugin* PluginLock::find(std::string_view id) const {
  const auto found = std::ranges::find(plugins, id, &LockedPlugin::id);
  return found == plugins.end() ? nullptr : &*found;
}

LockedPlugin lock_plugin(const PluginFacts& facts, const std::string& path,
                         const SealedFile& copy) {
  return {facts.id, facts.version, path, copy.sha256(), declarations_of(facts), {}};
}

void lock_libraries(LockedPlugin& plugin, const SealedFile& copy, KnownHashes& known) {
  for (const LinkedFile& file : linked_files(copy, plugin.path)) {
    std::string& hash = known[file.path];
    if (hash.empty()) hash = sha256_file(file.path);
    plugin.libraries.push_back({file.name, file.path, hash});
  }
}

Json lock_document(const PluginLock& lock) {
  JsonBuilder document;
  document.begin_object().member("lock_version", kLockVersion).key("plugins").begin_array();
  for (const LockedPlugin& plugin : lock.plugins) {
    document.begin_object()
        .member("id", plugin.id)
        .member("version", plugin.version)
        .member("path", plugin.path)
        .member("sha256", plugin.sha256)
        .member("declarations", plugin.declarations)
        .key("libraries")
        .begin_array();
    for (const LockedLibrary& library : plugin.libraries) {
      document.begin_object()
          .member("name", library.name)
          .member("path", library.path)
          .member("sha256", library.sha256)
          .end_object();
    }
    document.end_array().end_object();
  }
  document.end_array();
  put_providers(document, "ops", lock.ops);
  put_providers(document, "modules", lock.modules);
  put_providers(document, "types", lock.types);
  return document.end_object().finish();
}

PluginLock read_lock(const std::string& file) {
  const InputFile input(file, "the lock file ");
  if (input.size() > kMostBytes) {
    throw Error(TENON_ERROR_CONFIG, "the lock file '{}' has {} bytes; there are at most {}", file,
                input.size(), kMostBytes);
  }
  std::string text(static_cast<size_t>(input.size()), '\0');
  input.read_at(text.data(), input.size(), 0);
  return parse_lock(text, file);
}

PluginLock parse_lock(std::string_view text, const std::string& file) {
  JsonOptions options;
  options.source = file;
  options.kind = TENON_ERROR_CONFIG;
  require_bounded(text, options, 200);  // for an entry of the lock
  const Json document = parse_json(text, options);
  const tenon_json& version = member(*document, "lock_version", JsonKind::Int);
  if (version.as_int() != kLockVersion) refuse(version, format_text("version {}", kLockVersion));
  PluginLock lock;
  lock.file = file;
  for (const tenon_json& entry : member(*document, "plugins", JsonKind::Array).children()) {
    LockedPlugin plugin{text_of(entry, "id"),           text_of(entry, "version"),
                        text_of(entry, "path"),         text_of(entry, "sha256"),
                        text_of(entry, "declarations"), {}};
    for (const tenon_json& library : member(entry, "libraries", JsonKind::Array).children()) {
      plugin.libraries.push_back(
          {text_of(library, "name"), text_of(library, "path"), text_of(library, "sha256")});
    }
    if (lock.find(plugin.id) != nullptr) refuse(entry, "every plugin once");
    lock.plugins.push_back(std::move(plugin));
  }
  lock.ops = providers_of(*document, "ops");
  lock.modules = providers_of(*document, "modules");
  lock.types = providers_of(*document, "types");
  return lock;
}

std::vector<PluginFailure> compare_locks(const PluginLock& locked, const PluginLock& present) {
  std::vector<PluginFailure> failures;
  for (const LockedPlugin& plugin : locked.plugins) {
    const LockedPlugin* now = present.find(plugin.id);
    if (now == nullptr) {
      failures.push_back(
          difference(PluginStage::Find, plugin, "it is locked, and not usable here"));
      continue;
    }
    if (now->sha256 != plugin.sha256) {
      std::string problem = "its bytes are not those that are locked";
      if (now->version != plugin.version)
        problem = format_text("it is version {} instead of {}", now->version, plugin.version);
      else if (now->declarations != plugin.declarations)
        problem = "its bytes and its declarations are not those that are locked";
      failures.push_back(difference(PluginStage::Read, *now, std::move(problem),
                                    format_text("sha256 {}", plugin.sha256),
                                    format_text("sha256 {}", now->sha256)));
    }
    compare_libraries(plugin, *now, failures);
  }
  compare_providers("op", locked.ops, present.ops, failures);
  compare_providers("module", locked.modules, present.modules, failures);
  compare_providers("type", locked.types, present.types, failures);
  return failures;
}

}  // namespace tenon::core

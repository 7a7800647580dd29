// Descriptors are looked at one by one, then compared with the facts by name.
#include "core/plugin/load/table_check.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/flags.hpp"
#include "core/base/fork.hpp"
#include "core/base/format.hpp"
#include "core/base/growable.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/table/op_check.hpp"
#include "core/nn/module_type.hpp"
#include "tenon/abi/host.h"

namespace tenon::core {

namespace {

std::string abi_text(uint32_t major, uint32_t minor) { return format_text("{}.{}", major, minor); }

// ---- the kinds of items ----

struct Kind {
  const char* missing;     // text for an entry that cannot be named
  const char* list;        // member of the plugin's table
  const char* descriptor;  // its struct, which grows at its end
  size_t oldest;           // size that plugins of the first SDK have
};
constexpr Kind kOp{"an op without a descriptor or schema", "ops", "tenon_op_descriptor",
                   offsetof(tenon_op_descriptor, vjp)};
constexpr Kind kModule{"a module without a descriptor or schema", "modules",
                       "tenon_module_descriptor",
                       offsetof(tenon_module_descriptor, clone) + sizeof(void*)};
constexpr Kind kType{"a type without a descriptor or name", "types", "tenon_type_descriptor",
                     offsetof(tenon_type_descriptor, project_gradient)};
constexpr Kind kOverride{"an override without a schema or types", "overrides",
                         "tenon_override_descriptor", offsetof(tenon_override_descriptor, rules)};
constexpr Kind kService{"a service without a descriptor or name", "services",
                        "tenon_service_descriptor",
                        offsetof(tenon_service_descriptor, table) + sizeof(void*)};
constexpr size_t kOldestUse = offsetof(tenon_use, table) + sizeof(void*);

// Flags that this host knows.
constexpr uint32_t kTypeFlags = flags_through(TENON_TYPE_OWN_MEMORY);
constexpr uint32_t kModuleFlags = flags_through(TENON_MODULE_OWN_FORWARD);
constexpr uint32_t kNoFlags = 0;  // plugins, overrides and services have none

std::optional<DescriptorFault> flag_fault(uint32_t flags, uint32_t known) {
  const std::string unknown = unknown_flags(flags, known);
  if (unknown.empty()) return std::nullopt;
  return DescriptorFault{"sets " + unknown, kUnknownFlagsRemedy};
}

// The name by which facts declare an item; none for an entry that is not filled.
using Name = std::optional<std::string>;
Name name_of_schema(const char* schema) {
  return schema == nullptr ? Name() : Name(schema_name(schema));
}
Name name_of_text(const char* name) { return name == nullptr ? Name() : Name(name); }
Name name_of(const tenon_op_descriptor& op) { return name_of_schema(op.schema); }
Name name_of(const tenon_module_descriptor& module) { return name_of_schema(module.schema); }
Name name_of(const tenon_type_descriptor& type) { return name_of_text(type.name); }
Name name_of(const tenon_service_descriptor& service) { return name_of_text(service.name); }
Name name_of(const tenon_override_descriptor& entry) {
  if (entry.schema == nullptr || entry.types == nullptr) return {};
  return override_key(entry.schema, entry.types);
}

template <class Descriptor>
std::span<const Descriptor* const> items(const Descriptor* const* list, int64_t count) {
  return {list, static_cast<size_t>(count)};
}

std::string or_empty(const char* text) { return text == nullptr ? "" : text; }

// The word of a code; "code 9" for one that is not known here.
std::string word_of(std::span<const char* const> words, uint32_t code) {
  return code < words.size() ? words[code] : format_text("code {}", code);
}
constexpr std::array kDifferentiable{"none", "formula", "composite"};  // by TENON_DIFFERENTIABLE_
constexpr std::array kJvp{"none", "rule", "pointwise", "linear", "multilinear"};  // by TENON_JVP_

// ---- differences ----

// Differences between what is declared and what is registered, as the message lists them.
class Differences {
 public:
  // Matches both lists by name; `compare` gets each pair. Names of facts are unique already.
  template <class Facts, class Descriptor, class Compare>
  void match(const char* prefix, const std::vector<Facts>& declared,
             std::span<const Descriptor* const> registered, Compare&& compare) {
    std::unordered_map<std::string, const Descriptor*> by_name;
    by_name.reserve(registered.size());
    for (const Descriptor* descriptor : registered) {
      const std::string name = *name_of(*descriptor);
      if (!by_name.emplace(name, descriptor).second)
        only_registered_.push_back(format_text("{}{} for a second time", prefix, name));
    }
    for (const Facts& facts : declared) {
      item_ = prefix + std::string(facts.name());
      const auto found = by_name.find(std::string(facts.name()));
      if (found == by_name.end()) {
        only_declared_.push_back(item_);
      } else {
        compare(facts, *found->second);
        by_name.erase(found);
      }
    }
    // In the order of registration, not of the hash table.
    for (const Descriptor* descriptor : registered) {
      const std::string name = *name_of(*descriptor);
      const auto found = by_name.find(name);
      if (found != by_name.end() && found->second == descriptor)
        only_registered_.push_back(prefix + name);
    }
  }

  // Notes a difference of the item that is compared.
  void compare(const char* part, const std::string& declared, const std::string& registered) {
    if (declared != registered)
      changed_.push_back(format_text("{} ({} {} declared, {} registered)", item_, part,
                                     quote(declared), quote(registered)));
  }
  void compare(const char* part, int64_t declared, int64_t registered) {
    if (declared != registered) compare(part, std::to_string(declared), std::to_string(registered));
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
    add("declared but not registered: ", only_declared_);
    add("registered but not declared: ", only_registered_);
    add("changed: ", changed_);
    return join(parts, "; ");
  }

 private:
  std::string item_;
  std::vector<std::string> only_declared_, only_registered_, changed_;
};

std::string layout_text(int64_t bytes, int64_t alignment, int64_t fingerprint) {
  return format_text("{} bytes aligned to {}, fingerprint {}", bytes, alignment, fingerprint);
}

std::string differences_text(const PluginFacts& facts, const tenon_plugin& plugin) {
  Differences found;
  found.match("", facts.ops, items(plugin.ops, plugin.op_count),
              [&](const OpFacts& declared, const tenon_op_descriptor& op) {
                found.compare("schema", declared.schema, op.schema);
                found.compare("differentiable", declared.differentiable,
                              word_of(kDifferentiable, op.differentiable));
                found.compare("jvp", declared.jvp, word_of(kJvp, op.jvp_kind));
                found.compare("flags", declared.flags, int64_t{op.flags});
                found.compare("not_overridable", declared.not_overridable,
                              or_empty(op.not_overridable));
              });
  found.match("module ", facts.modules, items(plugin.modules, plugin.module_count),
              [&](const ModuleFacts& declared, const tenon_module_descriptor& module) {
                found.compare("schema", declared.schema, module.schema);
                found.compare("forward", declared.forward, or_empty(module.forward_schema));
              });
  found.match("type ", facts.types, items(plugin.types, plugin.type_count),
              [&](const TypeFacts& declared, const tenon_type_descriptor& type) {
                found.compare("parent", declared.parent, or_empty(type.parent));
                found.compare("flags", declared.flags, int64_t{type.flags});
                found.compare("fallback", declared.fallback, int64_t{type.fallback});
                found.compare("metadata", declared.metadata, int64_t{type.metadata});
                found.compare("handler", declared.handler ? "yes" : "no",
                              type.handler != nullptr ? "yes" : "no");
                if (declared.payload == std::array<int64_t, 3>{}) return;  // plain C
                const tenon_type_descriptor whole = copy_growable(type);
                found.compare("payload", std::apply(layout_text, declared.payload),
                              layout_text(whole.payload_size, whole.payload_alignment,
                                          whole.payload_fingerprint));
              });
  found.match("override ", facts.overrides, items(plugin.overrides, plugin.override_count),
              [&](const OverrideFacts& declared, const tenon_override_descriptor& entry) {
                found.compare("schema", declared.schema, entry.schema);
                found.compare("accepts", declared.accepts, or_empty(entry.accepts));
              });
  found.match("service ", facts.services, items(plugin.services, plugin.service_count),
              [&](const ServiceFacts& declared, const tenon_service_descriptor& service) {
                found.compare("version", int64_t{declared.version},
                              int64_t{service.table->version});
              });
  return found.text();
}

// ---- one table ----

class TableCheck {
 public:
  TableCheck(const PluginFacts& facts, const std::string& path) : facts_(facts), path_(path) {}

  void check_head(const tenon_plugin& plugin, const tenon_host& host) const;
  void check_items(const tenon_plugin& plugin) const;
  [[noreturn]] void fail(PluginStage stage, std::string problem, std::string remedy,
                         std::string expected = "", std::string found = "") const {
    refuse_plugin(stage, facts_.id, path_, std::move(problem), std::move(remedy),
                  std::move(expected), std::move(found));
  }

 private:
  [[noreturn]] void fail_item(std::string problem, std::string remedy) const {
    fail(PluginStage::Register, std::move(problem), std::move(remedy));
  }
  // `shown` is the name in messages; `fault` finds what else is wrong with the descriptor.
  template <class Descriptor, class Shown, class Fault>
  void check_list(const Kind& kind, std::span<const Descriptor* const> list, Shown&& shown,
                  Fault&& fault) const;
  void check_uses(std::span<const tenon_use* const> uses) const;

  const PluginFacts& facts_;
  const std::string& path_;
};

void TableCheck::check_head(const tenon_plugin& plugin, const tenon_host& host) const {
  const char* rebuild = "build it again from one SDK, so that its facts and its code agree";
  if (auto reason = judge_abi(host, facts_.id, path_, plugin.abi_major, plugin.abi_minor))
    throw PluginError(std::move(*reason));
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
  if (const std::string unknown = unknown_flags(plugin.flags, kNoFlags); !unknown.empty())
    fail_item("its table sets " + unknown, kUnknownFlagsRemedy);
  const auto fits = [](const void* list, int64_t count) {
    return count == 0 || (count > 0 && list != nullptr);
  };
  if (!fits(plugin.ops, plugin.op_count) || !fits(plugin.modules, plugin.module_count) ||
      !fits(plugin.types, plugin.type_count) || !fits(plugin.overrides, plugin.override_count) ||
      !fits(plugin.services, plugin.service_count) || !fits(plugin.uses, plugin.use_count)) {
    fail_item("its table has counts that do not fit its arrays",
              "set ops, modules, types, overrides, services and uses with their counts");
  }
}

template <class Descriptor, class Shown, class Fault>
void TableCheck::check_list(const Kind& kind, std::span<const Descriptor* const> list,
                            Shown&& shown, Fault&& fault) const {
  for (const Descriptor* item : list) {
    const Name own = item == nullptr ? Name() : name_of(*item);
    if (!own)
      fail_item(format_text("it registers {}", kind.missing),
                format_text("fill every entry of `{}`", kind.list));
    const std::string name = shown(*own);
    if (item->size < kind.oldest) {
      fail(PluginStage::Register, format_text("the descriptor of {} is too small", name),
           format_text("set `size` to sizeof({})", kind.descriptor),
           format_text("at least {} bytes", kind.oldest), std::to_string(item->size));
    }
    if (const std::optional<DescriptorFault> found = fault(*item))
      fail_item(format_text("{} {}", name, found->what), found->remedy);
  }
}

// A use that the file does not declare was not judged before it was opened, and is not filled.
void TableCheck::check_uses(std::span<const tenon_use* const> uses) const {
  for (const tenon_use* use : uses) {
    if (use == nullptr || use->name == nullptr || use->table == nullptr || use->size < kOldestUse) {
      fail_item("it has a use without a name, a size or a place for the table",
                "write TENON_USES, which fills the entry");
    }
    const auto declared =
        std::ranges::find(facts_.uses, std::string_view(use->name), &ServiceUse::service);
    if (declared != facts_.uses.end() && declared->version >= use->version) continue;
    fail_item(format_text("it uses version {} of service {}, which its facts do not declare",
                          use->version, quote(use->name)),
              "write TENON_USES, which makes the fact and the entry");
  }
}

void TableCheck::check_items(const tenon_plugin& plugin) const {
  const auto shown_as = [](const char* kind) {
    return [kind](const std::string& name) { return format_text("{} {}", kind, quote(name)); };
  };
  check_list(kOp, items(plugin.ops, plugin.op_count), shown_as("op"),
             [](const tenon_op_descriptor& op) { return check_op(copy_growable(op)); });
  check_list(kModule, items(plugin.modules, plugin.module_count), shown_as("module"),
             [](const tenon_module_descriptor& module) {
               auto fault = flag_fault(module.flags, kModuleFlags);
               return fault ? fault : check_module(copy_growable(module));
             });
  check_list(kType, items(plugin.types, plugin.type_count), shown_as("type"),
             [](const tenon_type_descriptor& type) { return flag_fault(type.flags, kTypeFlags); });
  check_list(
      kOverride, items(plugin.overrides, plugin.override_count),
      [](const std::string& key) { return format_text("override {}", key); },
      [](const tenon_override_descriptor& given) {
        const tenon_op_descriptor* const rules = copy_growable(given).rules;
        auto fault = flag_fault(given.flags, kNoFlags);
        return fault || rules == nullptr ? fault : check_kinds(copy_growable(*rules));
      });
  check_list(kService, items(plugin.services, plugin.service_count), shown_as("service"),
             [](const tenon_service_descriptor& service) -> std::optional<DescriptorFault> {
               if (service.table != nullptr && service.table->size >= sizeof(tenon_service))
                 return flag_fault(service.flags, kNoFlags);
               return DescriptorFault{
                   "has no table",
                   "set `table` to one that begins with a tenon_service and its size"};
             });
  check_uses(items(plugin.uses, plugin.use_count));
  if (const std::string text = differences_text(facts_, plugin); !text.empty())
    fail_item(
        format_text("declared and registered items differ: {}", text),
        "make its facts and its table agree; TENON_OP, TENON_MODULE, TENON_TYPE, TENON_OVERRIDE "
        "and TENON_SERVICE write both");
}

}  // namespace

std::optional<PluginFailure> judge_abi(const tenon_host& host, const std::string& id,
                                       const std::string& path, uint32_t major, uint32_t minor) {
  const uint32_t served = std::clamp<uint32_t>(minor, TENON_ABI_OLDEST_MINOR, host.abi_minor);
  if (major == host.abi_major && minor == served) return std::nullopt;
  std::string expected = format_text("ABI {}", abi_text(host.abi_major, TENON_ABI_OLDEST_MINOR));
  if (host.abi_minor > TENON_ABI_OLDEST_MINOR)
    expected += format_text(" to {}", abi_text(host.abi_major, host.abi_minor));
  const bool newer = major > host.abi_major || (major == host.abi_major && minor > host.abi_minor);
  std::string remedy = "build the plugin again with the SDK of this Tenon";
  if (newer) {
    remedy = major == host.abi_major
                 ? format_text("update Tenon, or build the plugin with TENON_TARGET_MINOR={}",
                               host.abi_minor)
                 : "update Tenon, or build the plugin with the SDK of this one";
  }
  return make_failure(
      PluginStage::Version, id, path,
      format_text("it is built for a {} Tenon than this one serves", newer ? "newer" : "older"),
      std::move(remedy), std::move(expected), format_text("ABI {}", abi_text(major, minor)));
}

namespace {

// Flags in the facts: code of a plugin that sets an unknown one is not run.
std::optional<PluginFailure> judge_flags(const PluginFacts& facts, const std::string& path) {
  const auto judge = [&](const auto& items, const char* kind, uint32_t known) {
    std::optional<PluginFailure> failure;
    for (const auto& item : items) {
      const std::string unknown = unknown_flags(item.flags, known);
      if (unknown.empty()) continue;
      failure = make_failure(PluginStage::Version, facts.id, path,
                             format_text("{} {} sets {}", kind, quote(item.name()), unknown),
                             kUnknownFlagsRemedy);
      break;
    }
    return failure;
  };
  auto failure = judge(facts.ops, "op", kOpFlags);
  return failure ? failure : judge(facts.types, "type", kTypeFlags);
}

std::optional<PluginFailure> judge_services(const tenon_host& host, const PluginFacts& facts,
                                            const std::string& path) {
  for (const ServiceUse& use : facts.uses) {
    if (!is_host_service(use.service)) continue;
    const void* table = nullptr;
    const tenon_status status = host.service(use.service.c_str(), 1, &table, nullptr, nullptr);
    if (status != TENON_OK) {
      return make_failure(
          PluginStage::Version, facts.id, path,
          format_text("it uses service {}, which this Tenon does not have", quote(use.service)),
          "update Tenon, or build the plugin with the SDK of this one");
    }
    const uint32_t version = static_cast<const tenon_service*>(table)->version;
    if (version >= use.version) continue;
    return make_failure(
        PluginStage::Version, facts.id, path,
        format_text("it uses a newer service {} than this Tenon has", quote(use.service)),
        "update Tenon, or build the plugin for the older version of the service",
        format_text("version {} or older", version), format_text("version {}", use.version));
  }
  return std::nullopt;
}

}  // namespace

std::optional<PluginFailure> judge_facts(const tenon_host& host, const PluginFacts& facts,
                                         const std::string& path) {
  auto failure = judge_abi(host, facts.id, path, facts.abi_major, facts.abi_minor);
  if (!failure) failure = judge_services(host, facts, path);
  return failure ? failure : judge_flags(facts, path);
}

const tenon_plugin& checked_table(const tenon_plugin& given, const PluginFacts& facts,
                                  const std::string& path, const tenon_host& host) {
  const TableCheck check(facts, path);
  constexpr size_t kOldest = offsetof(tenon_plugin, types);
  if (given.size < kOldest) {
    check.fail(PluginStage::Version, "the table that its entry returned is too small",
               "set `size` to sizeof(tenon_plugin), and build it with a supported SDK",
               format_text("at least {} bytes", kOldest), std::to_string(given.size));
  }
  const tenon_plugin* table = &given;
  if (given.size < sizeof(tenon_plugin)) {
    static std::mutex mutex;
    static const HeldAcrossFork held(mutex);
    static auto& completed = *new std::vector<std::unique_ptr<tenon_plugin>>;  // as long as plugins
    const std::lock_guard lock(mutex);
    table = completed.emplace_back(std::make_unique<tenon_plugin>(copy_growable(given))).get();
  }
  check.check_head(*table, host);
  check.check_items(*table);
  return *table;
}

}  // namespace tenon::core

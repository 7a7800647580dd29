// Descriptors are looked at one by one, then held against the facts by name.
#include "core/plugin/item_check.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/base/growable.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/table/op_check.hpp"
#include "core/nn/module_type.hpp"
#include "core/plugin/failure.hpp"

namespace tenon::core {

namespace {

class ItemCheck {
 public:
  ItemCheck(const PluginFacts& facts, const std::string& path) : facts_(facts), path_(path) {}

  void run(const tenon_plugin& plugin) const;

 private:
  [[noreturn]] void fail(std::string problem, std::string remedy, std::string expected = "",
                         std::string found = "") const {
    PluginFailure failure = make_failure(PluginStage::Register, facts_.id, path_,
                                         std::move(problem), std::move(remedy));
    failure.expected = std::move(expected);
    failure.found = std::move(found);
    throw PluginError(std::move(failure));
  }
  void check_op(const tenon_op_descriptor* op) const;
  void check_module(const tenon_module_descriptor* module) const;
  void check_type(const tenon_type_descriptor* type) const;
  void check_override(const tenon_override_descriptor* entry) const;
  void check_service(const tenon_service_descriptor* service) const;
  void check_uses(std::span<const tenon_use* const> uses) const;

  const PluginFacts& facts_;
  const std::string& path_;
};

void ItemCheck::check_op(const tenon_op_descriptor* op) const {
  if (op == nullptr || op->schema == nullptr) {
    fail("it registers an op without a descriptor or schema", "fill every entry of `ops`");
  }
  const std::string name = format_text("op {}", quote(schema_name(op->schema)));
  // Descriptors grow at their end: what plugins of the first SDK have is enough.
  constexpr size_t kOldest = offsetof(tenon_op_descriptor, vjp);
  if (op->size < kOldest) {
    fail(format_text("the descriptor of {} is too small", name),
         "set `size` to sizeof(tenon_op_descriptor)", format_text("at least {} bytes", kOldest),
         std::to_string(op->size));
  }
  if (const auto fault = core::check_op(copy_growable(*op)))
    fail(format_text("{} {}", name, fault->what), fault->remedy);
}

void ItemCheck::check_module(const tenon_module_descriptor* module) const {
  if (module == nullptr || module->schema == nullptr) {
    fail("it registers a module without a descriptor or schema", "fill every entry of `modules`");
  }
  const std::string name = format_text("module {}", quote(schema_name(module->schema)));
  constexpr size_t kOldest = sizeof(tenon_module_descriptor);
  if (module->size < kOldest) {
    fail(format_text("the descriptor of {} is too small", name),
         "set `size` to sizeof(tenon_module_descriptor)", format_text("at least {} bytes", kOldest),
         std::to_string(module->size));
  }
  if (const auto fault = core::check_module(copy_growable(*module)))
    fail(format_text("{} {}", name, fault->what), fault->remedy);
}

void ItemCheck::check_type(const tenon_type_descriptor* type) const {
  if (type == nullptr || type->name == nullptr) {
    fail("it registers a type without a descriptor or name", "fill every entry of `types`");
  }
  constexpr size_t kOldest = offsetof(tenon_type_descriptor, project_gradient);
  if (type->size < kOldest) {
    fail(format_text("the descriptor of type {} is too small", quote(type->name)),
         "set `size` to sizeof(tenon_type_descriptor)", format_text("at least {} bytes", kOldest),
         std::to_string(type->size));
  }
}

void ItemCheck::check_override(const tenon_override_descriptor* entry) const {
  if (entry == nullptr || entry->schema == nullptr || entry->types == nullptr) {
    fail("it registers an override without a schema or types", "fill every entry of `overrides`");
  }
  constexpr size_t kOldest = offsetof(tenon_override_descriptor, rules);
  if (entry->size < kOldest) {
    fail(format_text("the descriptor of override {} is too small",
                     override_key(entry->schema, entry->types)),
         "set `size` to sizeof(tenon_override_descriptor)",
         format_text("at least {} bytes", kOldest), std::to_string(entry->size));
  }
}

void ItemCheck::check_service(const tenon_service_descriptor* service) const {
  if (service == nullptr || service->name == nullptr) {
    fail("it registers a service without a descriptor or name", "fill every entry of `services`");
  }
  constexpr size_t kOldest = sizeof(tenon_service_descriptor);
  if (service->size < kOldest) {
    fail(format_text("the descriptor of service {} is too small", quote(service->name)),
         "set `size` to sizeof(tenon_service_descriptor)",
         format_text("at least {} bytes", kOldest), std::to_string(service->size));
  }
  if (service->table == nullptr || service->table->size < sizeof(tenon_service)) {
    fail(format_text("service {} has no table", quote(service->name)),
         "set `table` to one that begins with a tenon_service and its size");
  }
}

// A use that the file does not declare was not judged before it was opened, and is not filled.
void ItemCheck::check_uses(std::span<const tenon_use* const> uses) const {
  for (const tenon_use* use : uses) {
    if (use == nullptr || use->name == nullptr || use->table == nullptr ||
        use->size < sizeof(tenon_use)) {
      fail("it has a use without a name, a size or a place for the table",
           "write TENON_USES, which fills the entry");
    }
    const auto declared =
        std::ranges::find(facts_.uses, std::string_view(use->name), &ServiceUse::service);
    if (declared != facts_.uses.end() && declared->version >= use->version) continue;
    fail(format_text("it uses version {} of service {}, which its facts do not declare",
                     use->version, quote(use->name)),
         "write TENON_USES, which makes the fact and the entry");
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

std::string item_name(const tenon_service_descriptor& service) { return service.name; }

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
    add("changed: ", changed);
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

void ItemCheck::run(const tenon_plugin& plugin) const {
  const std::span ops(plugin.ops, static_cast<size_t>(plugin.op_count));
  const std::span modules(plugin.modules, static_cast<size_t>(plugin.module_count));
  for (const tenon_op_descriptor* op : ops) check_op(op);
  for (const tenon_module_descriptor* module : modules) check_module(module);
  const std::span types(plugin.types, static_cast<size_t>(plugin.type_count));
  const std::span overrides(plugin.overrides, static_cast<size_t>(plugin.override_count));
  for (const tenon_type_descriptor* type : types) check_type(type);
  for (const tenon_override_descriptor* entry : overrides) check_override(entry);
  const std::span services(plugin.services, static_cast<size_t>(plugin.service_count));
  for (const tenon_service_descriptor* service : services) check_service(service);
  check_uses({plugin.uses, static_cast<size_t>(plugin.use_count)});

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
  match("service ", facts_.services, services, differences,
        [&](const ServiceFacts& facts, const tenon_service_descriptor& service) {
          differences.compare(format_text("service {}", facts.service), "version",
                              std::to_string(facts.version),
                              std::to_string(service.table->version));
        });
  const std::string text = differences.text();
  if (text.empty()) return;
  fail(format_text("declared and registered items differ: {}", text),
       "make its facts and its table agree; TENON_OP, TENON_MODULE, TENON_TYPE, TENON_OVERRIDE and "
       "TENON_SERVICE write both");
}

}  // namespace

void compare_items(const PluginFacts& facts, const std::string& path, const tenon_plugin& plugin) {
  ItemCheck(facts, path).run(plugin);
}

}  // namespace tenon::core

// The check of types and overrides that a plugin registers: all that can be wrong with them is
// found here, before TypeTable::commit, which cannot fail.
#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/characters.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/growable.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/types/override.hpp"
#include "core/dispatch/types/type_table.hpp"

namespace tenon::core {

namespace {

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

bool is_type_name(std::string_view name) {
  return !name.empty() && begins_name(name[0]) &&
         std::ranges::all_of(name, [](char c) { return is_of_name(c) || c == '.'; });
}

bool by_name(const TensorType* a, const TensorType* b) { return a->name < b->name; }

// How many operands of the op can have a type; a list has any number.
size_t operand_count(const Schema& op) {
  size_t count = 0;
  for (const Parameter& parameter : op.parameters) {
    const TypeKind kind = parameter.type.kind;
    if (kind != TypeKind::tensor && kind != TypeKind::tensor_or_scalar && kind != TypeKind::any)
      continue;
    if (parameter.type.list) return std::numeric_limits<size_t>::max();
    ++count;
  }
  return count;
}

}  // namespace

// Reads the table, whose lock the caller holds, and changes nothing in it. Every function throws
// ValueError for what is wrong in itself, PluginError for what contradicts another plugin.
class TypeCheck {
 public:
  TypeCheck(const TypeTable& table, const std::string& provider, const TypeTable::OpOf& op_of,
            TypeTable::Place place)
      : table_(table), provider_(provider), op_of_(op_of), place_(place) {}

  // `all`: the plugin's types, for messages.
  void add_type(const tenon_type_descriptor& given,
                std::span<const tenon_type_descriptor* const> all);
  void add_override(const tenon_override_descriptor& given);
  // Overrides that are allowed and seldom intended become a warning, or an error of a strict
  // config: overrides of foreign ops for foreign types, and overrides between which nothing
  // decides.
  TypeTable::Prepared finish(const TypeTable::RegistrationPolicy& policy);

 private:
  // ---- a type ----
  void check_name(const TensorType& type) const;
  void inherit(TensorType& type, std::span<const tenon_type_descriptor* const> all) const;
  void check_parts(const TensorType& type) const;
  void check_fallback(const TensorType& type) const;

  // ---- an override ----
  void read_rules(Override& entry) const;
  void read_types(Override& entry) const;
  std::vector<const TensorType*> types_in(std::string_view names, Override& entry) const;
  void compare_with_op(Override& entry) const;
  void check_conflict(const Override& entry, const Override& other) const;

  // ---- the plugin as a whole ----
  void warn_of_foreign();
  void warn_of_ambiguities(const TypeTable::RegistrationPolicy& policy);

  // The ValueError of the type or override that is being checked.
  template <class... Arguments>
  [[noreturn]] void fail(FormatString<Arguments...> pattern, Arguments&&... arguments) const {
    throw Error(TENON_ERROR_VALUE, "{}: {}", what_,
                format_text(pattern, std::forward<Arguments>(arguments)...));
  }
  const TensorType* find_type(std::string_view name) const;
  [[noreturn]] void fail_unknown_type(std::string_view name, const char* remedy) const;
  // The op's overrides that stay.
  TypeTable::Entries registered(std::string_view op) const;
  // Whether it is of the code that this takes the place of.
  bool is_replaced(const PluginCode* code) const {
    return code != nullptr && code == place_.replaced;
  }

  const TypeTable& table_;
  const std::string& provider_;
  const TypeTable::OpOf& op_of_;
  const TypeTable::Place place_;
  std::string what_;
  TypeTable::Prepared prepared_;
  std::unordered_map<std::string_view, const TensorType*> own_types_;
  std::map<std::pair<std::string_view, std::vector<const TensorType*>>, const Override*>
      own_overrides_;
};

const TensorType* TypeCheck::find_type(std::string_view name) const {
  if (const auto own = own_types_.find(name); own != own_types_.end()) return own->second;
  const auto found = table_.names_.find(name);
  if (found == table_.names_.end() || is_replaced(found->second->code)) return nullptr;
  return found->second;
}

void TypeCheck::fail_unknown_type(std::string_view name, const char* remedy) const {
  Words names;
  for (const auto* types : {&table_.types_, &prepared_.types}) {
    for (const auto& type : *types) names.push_back(type->name);
  }
  fail("no {} is named {}{}{}", *remedy == '\0' ? "tensor type" : "type", quote(name),
       suggestion(name, names), remedy);
}

TypeTable::Entries TypeCheck::registered(std::string_view op) const {
  TypeTable::Entries entries;
  const auto found = table_.overrides_.find(op);
  if (found == table_.overrides_.end()) return entries;
  for (const auto& entry : found->second) {
    if (!entry->withdrawn && !is_replaced(entry->code)) entries.push_back(entry.get());
  }
  return entries;
}

// ---- types ----

void TypeCheck::add_type(const tenon_type_descriptor& given,
                         std::span<const tenon_type_descriptor* const> all) {
  auto type = std::make_unique<TensorType>();
  type->descriptor = copy_growable(given);
  type->name = text_of(given.name);
  type->provider = provider_;
  type->code = place_.code;
  what_ = format_text("tensor type {} of '{}'", quote(type->name), provider_);
  check_name(*type);
  inherit(*type, all);
  check_parts(*type);
  if (const auto configured = table_.settings_.find(type->name);
      configured != table_.settings_.end())
    type->settings = configured->second.get();
  check_fallback(*type);
  if (type->descriptor.payload_size > 0) type->payload_owner = type.get();
  own_types_.emplace(type->name, type.get());
  prepared_.types.push_back(std::move(type));
}

void TypeCheck::check_name(const TensorType& type) const {
  if (!is_type_name(type.name)) fail("the name is not made of letters, digits and '_'");
  if (const TensorType* other = find_type(type.name)) {
    throw Error(TENON_ERROR_VALUE, "{} is registered already{}; rename one of them", what_,
                other->provider == provider_ ? " by the same plugin"
                                             : format_text(", by plugin '{}'", other->provider));
  }
}

void TypeCheck::inherit(TensorType& type, std::span<const tenon_type_descriptor* const> all) const {
  if (type.descriptor.parent == nullptr) return;
  const std::string_view parent = type.descriptor.parent;
  type.parent = find_type(parent);
  if (type.parent == nullptr) {
    // Parents were added before, but for those in a cycle.
    if (std::ranges::any_of(all, [&](const auto* other) { return text_of(other->name) == parent; }))
      fail("its parent {} descends from it; declare parents without cycles", quote(parent));
    fail_unknown_type(parent, "; load the plugin that provides its parent first");
  }
  type.is_tensor = type.parent->is_tensor;
  type.payload_owner = type.parent->payload_owner;
}

void TypeCheck::check_parts(const TensorType& type) const {
  const tenon_type_descriptor& given = type.descriptor;
  const struct {
    const char* name;
    int64_t value, most;
  } fields[] = {{"payload_size", given.payload_size, int64_t{1} << 20},
                {"fallback", given.fallback, TENON_FALLBACK_UNWRAP_REWRAP},
                {"metadata", given.metadata, TENON_METADATA_MERGE}};
  for (const auto& field : fields) {
    if (field.value < 0 || field.value > field.most)
      fail("its {} is {}, expected 0 to {}", field.name, field.value, field.most);
  }
  if (given.metadata == TENON_METADATA_MERGE && given.merge == nullptr)
    fail("its metadata is merge, but it has no merge");
  if (given.component_count < 0 ||
      (given.component_count > 0 &&
       (given.components == nullptr || given.component == nullptr || given.payload_size == 0)))
    fail("it has component tensors, but no payload, names or way to reach them");
  if ((given.attributes == nullptr) != (given.restore == nullptr))
    fail("it has only one of attributes and restore; set both or neither");
  for (int64_t i = 0; i < given.component_count; ++i) {
    if (given.components[i] == nullptr) fail("component {} has no name", i);
  }
  const TensorType* const inherited = type.payload_owner;
  if (inherited != nullptr && given.payload_size > 0 &&
      given.payload_size < inherited->descriptor.payload_size) {
    fail(
        "its payload of {} bytes does not begin with that of {}, which has {}; derive its struct "
        "from the parent's, or give it no members",
        given.payload_size, inherited->name, inherited->descriptor.payload_size);
  }
}

void TypeCheck::check_fallback(const TensorType& type) const {
  const tenon_type_descriptor& given = type.descriptor;
  const TypeSettings* settings = type.settings.load();
  const uint32_t fallback = settings == nullptr || settings->fallback == TENON_FALLBACK_INHERIT
                                ? given.fallback
                                : settings->fallback;
  const bool rewraps = fallback == TENON_FALLBACK_UNWRAP_REWRAP;
  if (type.is_tensor || (fallback != TENON_FALLBACK_TO_TENSOR && !rewraps)) return;
  const bool keeps_one = type.keeps_one_tensor();
  if (!keeps_one && given.to_tensor == nullptr)
    fail("its fallback converts to Tensor, but it has no to_tensor");
  const bool remakes =
      keeps_one &&
      (given.metadata == TENON_METADATA_KEEP ? given.copy != nullptr : given.merge != nullptr);
  if (rewraps && !remakes && given.from_tensor == nullptr) {
    fail("its fallback rewraps results, but it has no from_tensor{}",
         keeps_one ? " and its payload cannot be copied" : "");
  }
}

// ---- overrides ----

void TypeCheck::add_override(const tenon_override_descriptor& given) {
  auto entry = std::make_unique<Override>();
  entry->descriptor = copy_growable(given);
  entry->provider = provider_;
  entry->code = place_.code;
  if ((entry->descriptor.run == nullptr) == (entry->descriptor.rules == nullptr) ||
      entry->descriptor.schema == nullptr)
    throw Error(TENON_ERROR_VALUE, "an override of '{}' has no schema, or not one of run and rules",
                provider_);
  entry->schema = parse_schema(entry->descriptor.schema);
  const std::string& op = entry->schema.name;
  what_ = format_text("override of '{}' by '{}'", op, provider_);
  read_rules(*entry);
  read_types(*entry);
  compare_with_op(*entry);
  const auto [own, is_first] = own_overrides_.try_emplace({op, entry->types}, entry.get());
  if (!is_first) check_conflict(*entry, *own->second);
  for (const Override* other : registered(op)) check_conflict(*entry, *other);
  if (!entry->differences.empty()) {
    prepared_.notes.push_back(format_text("override {}: signature differs: {}", entry->key(),
                                          join(entry->differences, "; ")));
  }
  prepared_.overrides.push_back(std::move(entry));
}

void TypeCheck::read_rules(Override& entry) const {
  if (entry.descriptor.rules == nullptr || entry.is_gradient_override()) return;
  entry.rules = make_implementation(*entry.descriptor.rules, provider_);
  Implementation& rules = *entry.rules;
  if (rules.descriptor.declines != nullptr)
    fail("it has `declines`; an override declines by its result");
  rules.code = place_.code;
  rules.may_decline = true;
  rules.after_run = AfterRun::other;  // a run that has declined has changed nothing
  if (rules.schema.text != entry.schema.text)
    fail("its rules are of another schema, {}", rules.schema.text);
  entry.handle = std::make_unique<tenon_op>(entry.schema.name);
  entry.handle->implementation.store(&rules);
  rules.op = entry.handle.get();
}

std::vector<const TensorType*> TypeCheck::types_in(std::string_view names, Override& entry) const {
  std::vector<const TensorType*> types;
  for (const std::string_view name : comma_words(names)) {
    if (name == "*") {
      entry.accepts_any = true;
      continue;
    }
    const TensorType* type = find_type(name);
    if (type == nullptr) fail_unknown_type(name, "");
    types.push_back(type);
  }
  return types;
}

void TypeCheck::read_types(Override& entry) const {
  const char* const accepts = entry.descriptor.accepts;
  entry.types = types_in(text_of(entry.descriptor.types), entry);
  entry.accepts = types_in(accepts == nullptr ? "Tensor" : accepts, entry);
  // A set: the order of its types says nothing.
  std::ranges::sort(entry.types, by_name);
  entry.types.erase(std::unique(entry.types.begin(), entry.types.end()), entry.types.end());
  const bool has_plain = !entry.types.empty() && entry.types.front() == &table_.tensor();
  if (entry.is_gradient_override() && (!has_plain || entry.types.size() > 1)) {
    fail(
        "it has no forward, so it gives rules to an op of Tensor, and must be for type Tensor "
        "alone");
  }
  if (!entry.is_gradient_override() && (has_plain || entry.types.empty()))
    fail("it names no tensor type other than Tensor");
}

void TypeCheck::compare_with_op(Override& entry) const {
  const TypeTable::OpSource source = op_of_(entry.schema.name);
  if (source.schema.empty())
    fail("no op is named {}{}", quote(entry.schema.name), source.suggestion);
  const Schema op = parse_schema(source.schema);
  entry.operand_count = operand_count(op);
  if (entry.is_gradient_override()) {
    if (entry.schema.text != op.text) fail("rules are for the op's own signature, {}", op.text);
    // Tried on something with the op's signature that can be run, so that what does not fit is
    // refused now.
    tenon_op_descriptor tried{};
    tried.size = sizeof(tried);
    tried.schema = entry.descriptor.schema;
    tried.run = [](void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
      return tenon_status{TENON_OK};
    };
    make_implementation(with_rules(tried, *entry.descriptor.rules), provider_);
  } else if (!source.overridable || entry.operand_count == 0) {
    fail("the op cannot be overridden; `tenon ignored` says why, and names the others that cannot");
  }
  if (entry.rules != nullptr && entry.schema.returns.size() != op.returns.size())
    fail("with a backward it gives as many results as the op, {}", op.returns.size());
  entry.differences = signature_differences(entry.schema, op, bind_override(entry.schema, op));
}

void TypeCheck::check_conflict(const Override& entry, const Override& other) const {
  if (other.types != entry.types) return;
  if (other.provider == provider_)
    throw Error(TENON_ERROR_PLUGIN, "{}: it registers {} twice", what_, entry.key());
  const TypeTable::Preference& preference = table_.preference_;
  if (preference && !preference(entry, other.provider, provider_).empty()) return;
  throw Error(TENON_ERROR_PLUGIN,
              "override {} has two providers: '{}' and '{}'; rank them in the config, as in "
              "\"ops\": {{\"prefer\": {{\"{}\": \"{}\"}}}}",
              entry.key(), other.provider, provider_, entry.key(), provider_);
}

// ---- the plugin as a whole ----

TypeTable::Prepared TypeCheck::finish(const TypeTable::RegistrationPolicy& policy) {
  if (!policy.glue) warn_of_foreign();
  warn_of_ambiguities(policy);
  if (policy.strict && !prepared_.warnings.empty()) {
    throw Error(TENON_ERROR_PLUGIN, "{}\nthe config is strict: without it these are warnings",
                join(prepared_.warnings, "\n"));
  }
  return std::move(prepared_);
}

void TypeCheck::warn_of_foreign() {
  for (const auto& entry : prepared_.overrides) {
    const std::string owner = op_of_(entry->schema.name).provider;
    if (owner == provider_ ||
        std::ranges::find(entry->types, provider_, &TensorType::provider) != entry->types.end())
      continue;
    std::vector<std::string> types;
    for (const TensorType* type : entry->types)
      types.push_back(format_text("type {} of '{}'", type->name, type->provider));
    prepared_.warnings.push_back(format_text(
        "override {}: plugin '{}' owns neither the op, which is of '{}', nor any of the types: {}; "
        "if this is intended, set \"glue\": true for the plugin in the config",
        entry->key(), provider_, owner, join(types, ", ")));
  }
}

void TypeCheck::warn_of_ambiguities(const TypeTable::RegistrationPolicy& policy) {
  std::map<std::string_view, TypeTable::Entries> added;  // by op
  for (const auto& entry : prepared_.overrides) added[entry->schema.name].push_back(entry.get());
  for (const auto& [op, entries] : added) {
    TypeTable::Entries all = registered(op);
    all.insert(all.end(), entries.begin(), entries.end());
    for (const Ambiguity& ambiguity : find_ambiguities(table_.ranked(std::move(all)), entries)) {
      if (!policy.declared || !policy.declared(ambiguity.fix()))
        prepared_.warnings.push_back(ambiguity.text());
    }
  }
}

namespace {

// Each type after its parent; types that descend from themselves follow none.
std::vector<const tenon_type_descriptor*> parents_first(
    std::span<const tenon_type_descriptor* const> types) {
  std::unordered_map<std::string_view, const tenon_type_descriptor*> by_name;
  for (const tenon_type_descriptor* type : types) {
    if (type->name != nullptr) by_name.emplace(type->name, type);
  }
  const auto parent_of = [&](const tenon_type_descriptor* type) -> const tenon_type_descriptor* {
    if (type->parent == nullptr) return nullptr;
    const auto found = by_name.find(type->parent);
    return found == by_name.end() ? nullptr : found->second;
  };
  std::vector<const tenon_type_descriptor*> ordered, lineage;
  std::unordered_set<const tenon_type_descriptor*> placed;
  for (const tenon_type_descriptor* type : types) {
    lineage.clear();
    for (; type != nullptr && placed.insert(type).second; type = parent_of(type))
      lineage.push_back(type);
    ordered.insert(ordered.end(), lineage.rbegin(), lineage.rend());
  }
  return ordered;
}

}  // namespace

TypeTable::Prepared TypeTable::prepare(const std::string& provider,
                                       std::span<const tenon_type_descriptor* const> types,
                                       std::span<const tenon_override_descriptor* const> overrides,
                                       const OpOf& op_of, const RegistrationPolicy& policy,
                                       Place place) const {
  const std::lock_guard lock(mutex_);
  if (types_.size() + types.size() > kChunk * kChunks)
    throw Error(TENON_ERROR_VALUE, "there are too many tensor types");
  TypeCheck check(*this, provider, op_of, place);
  for (const tenon_type_descriptor* type : parents_first(types)) check.add_type(*type, types);
  for (const tenon_override_descriptor* entry : overrides) check.add_override(*entry);
  return check.finish(policy);
}

// ---- layouts of payloads ----

namespace {

// A payload's layout; what is 0 is not known.
struct Layout {
  int64_t bytes, alignment;
  uint32_t fingerprint;
  std::vector<std::string> components;  // "values at 8"

  bool contradicts(const Layout& other) const {
    const auto differ = [](int64_t a, int64_t b) { return a != 0 && b != 0 && a != b; };
    return bytes != other.bytes || differ(alignment, other.alignment) ||
           differ(fingerprint, other.fingerprint) || components != other.components;
  }
  std::string text() const {
    return format_text("{} bytes", bytes) +
           (alignment == 0 ? "" : format_text(" aligned to {}", alignment)) +
           (fingerprint == 0 ? "" : format_text(", members of fingerprint {}", fingerprint)) +
           (components.empty() ? "" : format_text(", components {}", join(components, ", ")));
  }
};

}  // namespace

void TypeTable::check_layout(const TensorType& type, const tenon_payload_layout& layout) const {
  const tenon_type_descriptor& own = type.descriptor;
  if (layout.payload_size == 0) return;  // the caller reads none
  Layout theirs{layout.payload_size, layout.payload_alignment, layout.fingerprint, {}};
  for (int64_t i = 0; i < layout.component_count; ++i)
    theirs.components.push_back(
        format_text("{} at {}", layout.components[i], layout.component_offsets[i]));
  Layout ours{own.payload_size, own.payload_alignment, own.payload_fingerprint, {}};
  if (own.payload_size > 0) {
    const PayloadRef probe(make_payload(type.id, own.payload_size));
    for (int64_t i = 0; i < own.component_count; ++i) {
      const auto* place = reinterpret_cast<const char*>(own.component(probe->data(), i));
      const int64_t offset =
          place == nullptr ? -1 : place - static_cast<const char*>(probe->data());
      ours.components.push_back(format_text("{} at {}", own.components[i], offset));
    }
  }
  if (!ours.contradicts(theirs)) return;
  throw Error(
      TENON_ERROR_TYPE,
      "type {} has two layouts: in plugin '{}' {}; in {} {}; build both with the same definition "
      "of its struct",
      type.name, type.provider, ours.text(),
      layout.user == nullptr ? "the application" : format_text("plugin '{}'", layout.user),
      theirs.text());
}

}  // namespace tenon::core

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
#include "core/dispatch/types/specificity.hpp"
#include "core/dispatch/types/type_table.hpp"

namespace tenon::core {

namespace {

bool is_type_name(std::string_view name) {
  if (name.empty() || !begins_name(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_of_name(c) || c == '.'; });
}

bool is_operand(const Parameter& parameter) {
  return parameter.type.kind == TypeKind::tensor ||
         parameter.type.kind == TypeKind::tensor_or_scalar || parameter.type.kind == TypeKind::any;
}

// How many operands of the op can have a type; a list has any number.
size_t operand_count(const Schema& op) {
  size_t count = 0;
  for (const Parameter& parameter : op.parameters) {
    if (!is_operand(parameter)) continue;
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
  // ---- a type; `what` names it in messages ----
  void check_name(const TensorType& type, const std::string& what) const;
  void inherit(TensorType& type, const std::string& what,
               std::span<const tenon_type_descriptor* const> all) const;
  static void check_parts(const TensorType& type, const std::string& what);
  static void check_fallback(const TensorType& type, const std::string& what);

  // ---- an override ----
  void read_rules(Override& entry, const std::string& what) const;
  void read_types(Override& entry, const std::string& what) const;
  void add_types(const char* names, std::vector<const TensorType*>& list, Override& entry,
                 const std::string& what) const;
  void compare_with_op(Override& entry, const std::string& what) const;
  void check_conflict(const Override& entry, const Override& other, const std::string& what) const;

  // ---- the plugin as a whole ----
  void warn_of_foreign();
  void warn_of_ambiguities(const TypeTable::RegistrationPolicy& policy);

  const TensorType* find_type(std::string_view name) const;
  // Whether it is of the code that this takes the place of.
  bool is_replaced(const PluginCode* code) const {
    return code != nullptr && code == place_.replaced;
  }
  Words known_types() const;

  const TypeTable& table_;
  const std::string& provider_;
  const TypeTable::OpOf& op_of_;
  const TypeTable::Place place_;
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

Words TypeCheck::known_types() const {
  Words names;
  for (const auto& type : table_.types_) names.push_back(type->name);
  for (const auto& type : prepared_.types) names.push_back(type->name);
  return names;
}

// ---- types ----

void TypeCheck::add_type(const tenon_type_descriptor& given,
                         std::span<const tenon_type_descriptor* const> all) {
  auto type = std::make_unique<TensorType>();
  type->descriptor = copy_growable(given);
  type->name = given.name == nullptr ? "" : given.name;
  type->provider = provider_;
  type->code = place_.code;
  type->doc = type->descriptor.doc == nullptr ? "" : type->descriptor.doc;
  const std::string what = format_text("tensor type {} of '{}'", quote(type->name), provider_);
  check_name(*type, what);
  inherit(*type, what, all);
  check_parts(*type, what);
  if (const auto configured = table_.settings_.find(type->name);
      configured != table_.settings_.end())
    type->settings = configured->second.get();
  check_fallback(*type, what);
  if (type->descriptor.payload_size > 0) type->payload_owner = type.get();
  own_types_.emplace(type->name, type.get());
  prepared_.types.push_back(std::move(type));
}

void TypeCheck::check_name(const TensorType& type, const std::string& what) const {
  if (!is_type_name(type.name))
    throw Error(TENON_ERROR_VALUE, "{}: the name is not made of letters, digits and '_'", what);
  if (const TensorType* other = find_type(type.name)) {
    throw Error(TENON_ERROR_VALUE, "{} is registered already{}; rename one of them", what,
                other->provider == provider_ ? " by the same plugin"
                                             : format_text(", by plugin '{}'", other->provider));
  }
}

void TypeCheck::inherit(TensorType& type, const std::string& what,
                        std::span<const tenon_type_descriptor* const> all) const {
  if (type.descriptor.parent == nullptr) return;
  type.parent = find_type(type.descriptor.parent);
  if (type.parent == nullptr) {
    const std::string_view parent = type.descriptor.parent;
    for (const tenon_type_descriptor* other : all) {
      if (other->name != nullptr && other->name == parent) {
        throw Error(TENON_ERROR_VALUE,
                    "{}: its parent {} descends from it; declare parents without cycles", what,
                    quote(parent));
      }
    }
    throw Error(TENON_ERROR_VALUE,
                "{}: no type is named {}{}; load the plugin that provides its parent first", what,
                quote(parent), suggestion(parent, known_types()));
  }
  type.is_tensor = type.parent->is_tensor;
  type.payload_owner = type.parent->payload_owner;
}

void TypeCheck::check_parts(const TensorType& type, const std::string& what) {
  struct Field {
    const char* name;
    int64_t value, most;
  };
  for (const Field& field :
       {Field{"payload_size", type.descriptor.payload_size, int64_t{1} << 20},
        Field{"fallback", type.descriptor.fallback, TENON_FALLBACK_UNWRAP_REWRAP},
        Field{"metadata", type.descriptor.metadata, TENON_METADATA_MERGE}}) {
    if (field.value < 0 || field.value > field.most)
      throw Error(TENON_ERROR_VALUE, "{}: its {} is {}, expected 0 to {}", what, field.name,
                  field.value, field.most);
  }
  if (type.descriptor.metadata == TENON_METADATA_MERGE && type.descriptor.merge == nullptr)
    throw Error(TENON_ERROR_VALUE, "{}: its metadata is merge, but it has no merge", what);
  if (type.descriptor.component_count < 0 ||
      (type.descriptor.component_count > 0 &&
       (type.descriptor.components == nullptr || type.descriptor.component == nullptr ||
        type.descriptor.payload_size == 0))) {
    throw Error(TENON_ERROR_VALUE,
                "{}: it has component tensors, but no payload, names or way to reach them", what);
  }
  if ((type.descriptor.attributes == nullptr) != (type.descriptor.restore == nullptr)) {
    throw Error(TENON_ERROR_VALUE,
                "{}: it has only one of attributes and restore; set both or neither", what);
  }
  for (int64_t i = 0; i < type.descriptor.component_count; ++i) {
    if (type.descriptor.components[i] == nullptr)
      throw Error(TENON_ERROR_VALUE, "{}: component {} has no name", what, i);
  }
  const TensorType* const inherited = type.payload_owner;
  if (inherited != nullptr && type.descriptor.payload_size > 0 &&
      type.descriptor.payload_size < inherited->descriptor.payload_size) {
    throw Error(TENON_ERROR_VALUE,
                "{}: its payload of {} bytes does not begin with that of {}, which has {}; derive "
                "its struct from the parent's, or give it no members",
                what, type.descriptor.payload_size, inherited->name,
                inherited->descriptor.payload_size);
  }
}

void TypeCheck::check_fallback(const TensorType& type, const std::string& what) {
  const TypeSettings* settings = type.settings.load();
  const uint32_t fallback = settings == nullptr || settings->fallback == TENON_FALLBACK_INHERIT
                                ? type.descriptor.fallback
                                : settings->fallback;
  const bool converts =
      fallback == TENON_FALLBACK_TO_TENSOR || fallback == TENON_FALLBACK_UNWRAP_REWRAP;
  const bool keeps_one = type.keeps_one_tensor();
  if (converts && !type.is_tensor && !keeps_one && type.descriptor.to_tensor == nullptr) {
    throw Error(TENON_ERROR_VALUE, "{}: its fallback converts to Tensor, but it has no to_tensor",
                what);
  }
  const bool remakes = keeps_one && (type.descriptor.metadata == TENON_METADATA_KEEP
                                         ? type.descriptor.copy != nullptr
                                         : type.descriptor.merge != nullptr);
  if (fallback == TENON_FALLBACK_UNWRAP_REWRAP && !type.is_tensor && !remakes &&
      type.descriptor.from_tensor == nullptr) {
    throw Error(TENON_ERROR_VALUE, "{}: its fallback rewraps results, but it has no from_tensor{}",
                what, keeps_one ? " and its payload cannot be copied" : "");
  }
}

// ---- overrides ----

void TypeCheck::add_override(const tenon_override_descriptor& given) {
  auto entry = std::make_unique<Override>();
  entry->descriptor = copy_growable(given);
  entry->provider = provider_;
  entry->code = place_.code;
  entry->doc = entry->descriptor.doc == nullptr ? "" : entry->descriptor.doc;
  if ((entry->descriptor.run == nullptr) == (entry->descriptor.rules == nullptr) ||
      entry->descriptor.schema == nullptr)
    throw Error(TENON_ERROR_VALUE, "an override of '{}' has no schema, or not one of run and rules",
                provider_);
  entry->schema = parse_schema(entry->descriptor.schema);
  const std::string what = format_text("override of '{}' by '{}'", entry->schema.name, provider_);
  read_rules(*entry, what);
  read_types(*entry, what);
  compare_with_op(*entry, what);
  const auto [own, is_first] =
      own_overrides_.try_emplace({entry->schema.name, entry->types}, entry.get());
  if (!is_first) check_conflict(*entry, *own->second, what);
  if (const auto found = table_.overrides_.find(entry->schema.name);
      found != table_.overrides_.end()) {
    for (const auto& other : found->second) {
      if (!other->withdrawn && !is_replaced(other->code)) check_conflict(*entry, *other, what);
    }
  }
  if (!entry->differences.empty()) {
    prepared_.notes.push_back(format_text("override {}: signature differs: {}", entry->key(),
                                          join(entry->differences, "; ")));
  }
  prepared_.overrides.push_back(std::move(entry));
}

void TypeCheck::read_rules(Override& entry, const std::string& what) const {
  if (entry.descriptor.rules != nullptr && !entry.is_gradient_override()) {
    entry.rules = make_implementation(*entry.descriptor.rules, provider_);
    if (entry.rules->descriptor.declines != nullptr)
      throw Error(TENON_ERROR_VALUE, "{}: it has `declines`; an override declines by its result",
                  what);
    entry.rules->code = place_.code;
    entry.rules->may_decline = true;
    entry.rules->after_run = AfterRun::other;  // a run that has declined has changed nothing
    if (entry.rules->schema.text != entry.schema.text)
      throw Error(TENON_ERROR_VALUE, "{}: its rules are of another schema, {}", what,
                  entry.rules->schema.text);
    entry.handle = std::make_unique<tenon_op>(entry.schema.name);
    entry.handle->implementation.store(entry.rules.get());
    entry.rules->op = entry.handle.get();
  }
}

void TypeCheck::add_types(const char* names, std::vector<const TensorType*>& list, Override& entry,
                          const std::string& what) const {
  for (const std::string_view name : comma_words(names == nullptr ? "" : names)) {
    if (name == "*") {
      entry.accepts_any = true;
      continue;
    }
    const TensorType* type = find_type(name);
    if (type == nullptr) {
      throw Error(TENON_ERROR_VALUE, "{}: no tensor type is named {}{}", what, quote(name),
                  suggestion(name, known_types()));
    }
    list.push_back(type);
  }
}

void TypeCheck::read_types(Override& entry, const std::string& what) const {
  add_types(entry.descriptor.types, entry.types, entry, what);
  add_types(entry.descriptor.accepts == nullptr ? "Tensor" : entry.descriptor.accepts,
            entry.accepts, entry, what);
  // A set: the order of its types says nothing.
  std::sort(entry.types.begin(), entry.types.end(),
            [](const TensorType* a, const TensorType* b) { return a->name < b->name; });
  entry.types.erase(std::unique(entry.types.begin(), entry.types.end()), entry.types.end());
  const bool plain = entry.types.size() == 1 && entry.types.front() == &table_.tensor();
  if (entry.is_gradient_override() ? !plain
                                   : entry.types.empty() || entry.types.front() == &table_.tensor())
    throw Error(TENON_ERROR_VALUE,
                what + (entry.is_gradient_override()
                            ? ": it has no forward, so it gives rules to an op of Tensor, and "
                              "must be for type Tensor alone"
                            : ": it names no tensor type other than Tensor"));
}

void TypeCheck::compare_with_op(Override& entry, const std::string& what) const {
  const TypeTable::OpSource source = op_of_(entry.schema.name);
  if (source.schema.empty()) {
    throw Error(TENON_ERROR_VALUE, "{}: no op is named {}{}", what, quote(entry.schema.name),
                source.suggestion);
  }
  const Schema op = parse_schema(source.schema);
  if (!entry.is_gradient_override() && (!source.overridable || operand_count(op) == 0)) {
    throw Error(TENON_ERROR_VALUE,
                "{}: the op cannot be overridden; `tenon ignored` says why, and names the others "
                "that cannot",
                what);
  }
  if (entry.is_gradient_override()) {
    if (entry.schema.text != op.text)
      throw Error(TENON_ERROR_VALUE, "{}: rules are for the op's own signature, {}", what, op.text);
    // Tried on something with the op's signature that can be run, so that what does not fit is
    // refused now.
    tenon_op_descriptor tried{};
    tried.size = sizeof(tried);
    tried.schema = entry.descriptor.schema;
    tried.run = [](void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
      return tenon_status{TENON_OK};
    };
    make_implementation(with_rules(tried, *entry.descriptor.rules), provider_);
  }
  if (entry.rules != nullptr && entry.schema.returns.size() != op.returns.size()) {
    throw Error(TENON_ERROR_VALUE, "{}: with a backward it gives as many results as the op, {}",
                what, op.returns.size());
  }
  entry.differences = signature_differences(entry.schema, op, bind_override(entry.schema, op));
  entry.operand_count = operand_count(op);
}

void TypeCheck::check_conflict(const Override& entry, const Override& other,
                               const std::string& what) const {
  if (other.types != entry.types) return;
  if (other.provider == provider_)
    throw Error(TENON_ERROR_PLUGIN, "{}: it registers {} twice", what, entry.key());
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
    const bool owns_type =
        std::any_of(entry->types.begin(), entry->types.end(),
                    [&](const TensorType* type) { return type->provider == provider_; });
    if (owns_type) continue;
    const std::string owner = op_of_(entry->schema.name).provider;
    if (owner == provider_) continue;
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
    TypeTable::Entries all;
    if (const auto found = table_.overrides_.find(op); found != table_.overrides_.end()) {
      for (const auto& entry : found->second) {
        if (!entry->withdrawn && !is_replaced(entry->code)) all.push_back(entry.get());
      }
    }
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

struct ComponentPlace {
  std::string name;
  int64_t offset;
  bool operator==(const ComponentPlace& other) const = default;
};
std::string layout_text(int64_t bytes, int64_t alignment, uint32_t fingerprint,
                        const std::vector<ComponentPlace>& components) {
  std::string text = format_text("{} bytes", bytes);
  if (alignment != 0) text += format_text(" aligned to {}", alignment);
  if (fingerprint != 0) text += format_text(", members of fingerprint {}", fingerprint);
  std::vector<std::string> places;
  places.reserve(components.size());
  for (const ComponentPlace& place : components)
    places.push_back(format_text("{} at {}", place.name, place.offset));
  return text + (places.empty() ? "" : format_text(", components {}", join(places, ", ")));
}

}  // namespace

void TypeTable::check_layout(const TensorType& type, const tenon_payload_layout& layout) const {
  const tenon_type_descriptor& own = type.descriptor;
  if (layout.payload_size == 0) return;  // the caller reads none
  std::vector<ComponentPlace> theirs, ours;
  for (int64_t i = 0; i < layout.component_count; ++i)
    theirs.push_back({layout.components[i], layout.component_offsets[i]});
  if (own.payload_size > 0) {
    const PayloadRef probe(make_payload(type.id, own.payload_size));
    for (int64_t i = 0; i < own.component_count; ++i) {
      const auto* place = reinterpret_cast<const char*>(own.component(probe->data(), i));
      ours.push_back({own.components[i],
                      place == nullptr ? -1 : place - static_cast<const char*>(probe->data())});
    }
  }
  const auto differ = [](int64_t a, int64_t b) { return a != 0 && b != 0 && a != b; };
  if (own.payload_size == layout.payload_size &&
      !differ(own.payload_alignment, layout.payload_alignment) &&
      !differ(own.payload_fingerprint, layout.fingerprint) && ours == theirs)
    return;
  const std::string user =
      layout.user == nullptr ? "the application" : format_text("plugin '{}'", layout.user);
  throw Error(
      TENON_ERROR_TYPE,
      "type {} has two layouts: in plugin '{}' {}; in {} {}; build both with the same definition "
      "of its struct",
      type.name, type.provider,
      layout_text(own.payload_size, own.payload_alignment, own.payload_fingerprint, ours), user,
      layout_text(layout.payload_size, layout.payload_alignment, layout.fingerprint, theirs));
}

}  // namespace tenon::core

// Registering types and overrides: all of a plugin's, or nothing.
#include "core/dispatch/types.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/specificity.hpp"

namespace tenon::core {

namespace {

constexpr int kAnyDistance = 1 << 16;

template <class Descriptor>
Descriptor copy_descriptor(const Descriptor& given) {
  Descriptor copy{};
  std::memcpy(&copy, &given, std::min<size_t>(given.size, sizeof(copy)));
  copy.size = sizeof(copy);
  return copy;
}

bool is_type_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !letter(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; });
}

bool is_operand(const Parameter& parameter) {
  return parameter.type.kind == TypeKind::tensor ||
         parameter.type.kind == TypeKind::tensor_or_scalar || parameter.type.kind == TypeKind::any;
}

// How many operands of the op can have a type of their own; a list has as many as one likes.
size_t operand_count(const Schema& op) {
  size_t count = 0;
  for (const Parameter& parameter : op.parameters) {
    if (!is_operand(parameter)) continue;
    if (parameter.type.list) return std::numeric_limits<size_t>::max();
    ++count;
  }
  return count;
}

// What an override leaves out of the op's signature, or adds to it, for listings.
std::vector<std::string> signature_differences(const Schema& own, const Schema& op,
                                               const OverrideBinding& binding) {
  std::vector<std::string> differences;
  Words lacking, added;
  for (const uint8_t parameter : binding.untaken) lacking.push_back(op.parameters[parameter].name);
  for (size_t i = 0; i < own.parameters.size(); ++i) {
    if (binding.source[i] < 0) added.push_back(own.parameters[i].name);
  }
  if (!lacking.empty()) differences.push_back("lacks " + join(lacking, ", "));
  if (!added.empty()) differences.push_back("adds " + join(added, ", "));
  return differences;
}

}  // namespace

int TensorType::distance(const TensorType& ancestor) const {
  int steps = 0;
  for (const TensorType* type = this; type != nullptr; type = type->parent, ++steps) {
    if (type == &ancestor) return steps;
  }
  return -1;
}

const char* fallback_text(int64_t fallback) {
  switch (fallback) {
    case TENON_FALLBACK_TO_TENSOR:
      return "to_tensor";
    case TENON_FALLBACK_UNWRAP_REWRAP:
      return "unwrap_rewrap";
    case TENON_FALLBACK_DECLINE:
      return "decline";
    default:
      return "inherit";
  }
}

uint32_t TensorType::fallback() const {
  for (const TensorType* type = this; type != nullptr; type = type->parent) {
    const TypeSettings* configured = type->settings.load(std::memory_order_acquire);
    if (configured != nullptr && configured->fallback != TENON_FALLBACK_INHERIT)
      return configured->fallback;
    if (type->descriptor.fallback != TENON_FALLBACK_INHERIT) return type->descriptor.fallback;
  }
  return TENON_FALLBACK_DECLINE;
}

bool TensorType::falls_back_for(std::string_view op) const {
  for (const TensorType* type = this; type != nullptr; type = type->parent) {
    const TypeSettings* configured = type->settings.load(std::memory_order_acquire);
    if (configured == nullptr ||
        (configured->fallback_allow.empty() && configured->fallback_deny.empty()))
      continue;
    return configured->lets_fall_back(op);
  }
  return true;
}

bool TensorType::has_handler() const {
  const TensorType* type = this;
  while (type != nullptr && type->descriptor.handler == nullptr) type = type->parent;
  return type != nullptr;
}

Tensor*& TensorType::component(Payload& payload, int64_t index) const {
  Tensor** place = descriptor.component(payload.data(), index);
  if (place != nullptr) return *place;
  throw Error(TENON_ERROR_TYPE, "type " + name + " of plugin '" + provider +
                                    "' does not tell where its component '" +
                                    descriptor.components[index] + "' is");
}

const TensorType* TensorType::converter() const {
  const TensorType* type = this;
  while (type != nullptr && type->descriptor.to_tensor == nullptr && !type->keeps_one_tensor())
    type = type->parent;
  return type;
}

const TensorType* component_owner(const Tensor& tensor) {
  const Payload* payload = tensor.payload();
  if (payload == nullptr) return nullptr;
  const TensorType& owner = TypeTable::process().at(payload->owner);
  return owner.descriptor.component_count > 0 ? &owner : nullptr;
}

bool TensorType::has_gradients() const {
  const TensorType* type = this;
  while (type != nullptr && type->descriptor.project_gradient == nullptr) type = type->parent;
  return type != nullptr || is_tensor || converter() != nullptr;
}

bool TensorType::dispatches() const {
  if (is_tensor || has_handler() || fallback() != TENON_FALLBACK_DECLINE) return true;
  const TensorType* type = this;
  while (type != nullptr && !type->has_overrides.load(std::memory_order_relaxed))
    type = type->parent;
  return type != nullptr;
}

std::string Override::key() const { return schema.name + type_names_text(types); }

int Override::distance(const TensorType& type) const {
  int nearest = accepts_any ? kAnyDistance : -1;
  for (const auto* list : {&types, &accepts}) {
    for (const TensorType* accepted : *list) {
      const int steps = type.distance(*accepted);
      if (steps >= 0 && (nearest < 0 || steps < nearest)) nearest = steps;
    }
  }
  return nearest;
}

bool Override::for_type(const TensorType& type) const {
  return std::find(types.begin(), types.end(), &type) != types.end();
}

OverrideBinding bind_override(const Schema& own, const Schema& op) {
  const auto fail = [&](const std::string& what) {
    throw Error(TENON_ERROR_VALUE, "override of '" + op.name + "': " + what + "; the op is " +
                                       op.name + signature_text(op) + ", the override " + own.name +
                                       signature_text(own));
  };
  OverrideBinding binding;
  std::vector<bool> taken(op.parameters.size());
  for (size_t i = 0; i < own.parameters.size(); ++i) {
    const Parameter& parameter = own.parameters[i];
    int64_t source = -1;
    // By position, as Python would pass it; by name where it is passed by name.
    if (!parameter.keyword_only && i < static_cast<size_t>(op.positional_count)) {
      source = static_cast<int64_t>(i);
    } else {
      source = op.find(parameter.name);
      if (source >= 0 && taken[static_cast<size_t>(source)]) source = -1;
    }
    if (source < 0 && !parameter.has_default) {
      fail("its parameter '" + parameter.name + "' is not one of the op's and has no default");
    }
    if (source >= 0) taken[static_cast<size_t>(source)] = true;
    binding.source.push_back(static_cast<int8_t>(source));
  }
  for (size_t i = 0; i < op.parameters.size(); ++i) {
    if (taken[i]) continue;
    if (!op.parameters[i].has_default)
      fail("it does not take '" + op.parameters[i].name + "', which every call passes");
    binding.untaken.push_back(static_cast<uint8_t>(i));
  }
  return binding;
}

TypeTable::TypeTable() {
  auto tensor = std::make_unique<TensorType>();
  tensor->name = "Tensor";
  tensor->provider = "tenon";
  tensor->is_tensor = true;
  publish(std::move(tensor));
}

TypeTable& TypeTable::process() {
  static TypeTable* const table = [] {
    auto* made = new TypeTable;  // outlives every static destructor
    set_tensor_type_name([](uint32_t type) { return process().at(type).name; });
    return made;
  }();
  return *table;
}

void TypeTable::publish(std::unique_ptr<TensorType> type) {
  const size_t id = types_.size();
  type->id = static_cast<uint32_t>(id);
  if (id % kChunk == 0) {
    chunk_memory_.push_back(std::make_unique<const TensorType*[]>(kChunk));
    chunks_[id / kChunk].store(chunk_memory_.back().get(), std::memory_order_release);
  }
  // Ids reach other threads after their registration only.
  chunk_memory_.back()[id % kChunk] = type.get();
  names_.emplace(type->name, type.get());
  types_.push_back(std::move(type));
  count_.store(types_.size(), std::memory_order_release);
}

const TensorType* TypeTable::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : found->second;
}

const TensorType& TypeTable::checked(uint32_t id) const {
  if (!known(id)) throw Error(TENON_ERROR_VALUE, "no tensor type has the id " + std::to_string(id));
  return at(id);
}

const TensorType& TypeTable::require(std::string_view name) const {
  if (const TensorType* type = find(name)) return *type;
  if (finder_) finder_(name);
  if (const TensorType* type = find(name)) return *type;
  throw Error(TENON_ERROR_VALUE, "no tensor type is named " + quote(name));
}

namespace {

struct ComponentPlace {
  std::string name;
  int64_t offset;
  bool operator==(const ComponentPlace& other) const = default;
};
std::string layout_text(int64_t bytes, int64_t alignment, uint32_t fingerprint,
                        const std::vector<ComponentPlace>& components) {
  std::string text = std::to_string(bytes) + " bytes";
  if (alignment != 0) text += " aligned to " + std::to_string(alignment);
  if (fingerprint != 0) text += ", members of fingerprint " + std::to_string(fingerprint);
  std::vector<std::string> places;
  for (const ComponentPlace& place : components)
    places.push_back(place.name + " at " + std::to_string(place.offset));
  return text + (places.empty() ? "" : ", components " + join(places, ", "));
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
      layout.user == nullptr ? "the application" : "plugin '" + std::string(layout.user) + "'";
  throw Error(
      TENON_ERROR_TYPE,
      "type " + type.name + " has two layouts: in plugin '" + type.provider + "' " +
          layout_text(own.payload_size, own.payload_alignment, own.payload_fingerprint, ours) +
          "; in " + user + " " +
          layout_text(layout.payload_size, layout.payload_alignment, layout.fingerprint, theirs) +
          "; build both with the same definition of its struct");
}

void TypeTable::set_finder(std::function<void(std::string_view)> finder) {
  finder_ = std::move(finder);
}

void TypeTable::complete(const TensorType& type) const {
  for (const TensorType* level = &type; level != nullptr; level = level->parent) {
    if (level->complete.load(std::memory_order_acquire)) continue;
    if (level->id == 0 || !completer_ || completer_(level->name))
      level->complete.store(true, std::memory_order_release);
  }
}

void TypeTable::set_completer(std::function<bool(std::string_view)> completer) {
  completer_ = std::move(completer);
}

void TypeTable::set_rule(Rule rule) { rule_ = std::move(rule); }

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
                                       const OpOf& op_of, const Conduct& conduct) const {
  const std::lock_guard lock(mutex_);
  Prepared prepared;
  std::unordered_map<std::string_view, const TensorType*> own_types;
  std::map<std::pair<std::string_view, std::vector<const TensorType*>>, const Override*>
      own_overrides;
  const auto find_type = [&](std::string_view name) -> const TensorType* {
    if (const auto own = own_types.find(name); own != own_types.end()) return own->second;
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : found->second;
  };
  const auto known_types = [&] {
    Words names;
    for (const auto& type : types_) names.push_back(type->name);
    for (const auto& type : prepared.types) names.push_back(type->name);
    return names;
  };
  if (types_.size() + types.size() > kChunk * kChunks)
    throw Error(TENON_ERROR_VALUE, "there are too many tensor types");

  for (const tenon_type_descriptor* given : parents_first(types)) {
    auto type = std::make_unique<TensorType>();
    type->descriptor = copy_descriptor(*given);
    const tenon_type_descriptor& descriptor = type->descriptor;
    type->name = descriptor.name == nullptr ? "" : descriptor.name;
    type->provider = provider;
    type->doc = descriptor.doc == nullptr ? "" : descriptor.doc;
    const std::string what = "tensor type " + quote(type->name) + " of '" + provider + "'";
    if (!is_type_name(type->name))
      throw Error(TENON_ERROR_VALUE, what + ": the name is not made of letters, digits and '_'");
    if (const TensorType* other = find_type(type->name)) {
      throw Error(TENON_ERROR_VALUE,
                  what + " is registered already" +
                      (other->provider == provider ? " by the same plugin"
                                                   : ", by plugin '" + other->provider + "'") +
                      "; rename one of them");
    }
    if (descriptor.parent != nullptr) {
      type->parent = find_type(descriptor.parent);
      if (type->parent == nullptr) {
        const std::string_view parent = descriptor.parent;
        for (const tenon_type_descriptor* other : types) {
          if (other->name != nullptr && other->name == parent) {
            throw Error(TENON_ERROR_VALUE, what + ": its parent " + quote(parent) +
                                               " descends from it; declare parents without cycles");
          }
        }
        throw Error(TENON_ERROR_VALUE, what + ": no type is named " + quote(parent) +
                                           suggestion(parent, known_types()) +
                                           "; load the plugin that brings its parent first");
      }
      type->is_tensor = type->parent->is_tensor;
      type->payload_owner = type->parent->payload_owner;
    }
    if (descriptor.payload_size < 0 || descriptor.payload_size > (int64_t{1} << 20) ||
        descriptor.fallback > TENON_FALLBACK_UNWRAP_REWRAP ||
        descriptor.metadata > TENON_METADATA_MERGE) {
      throw Error(TENON_ERROR_VALUE, what +
                                         ": its payload size, fallback or metadata rule is "
                                         "outside of what there is");
    }
    if (descriptor.metadata == TENON_METADATA_MERGE && descriptor.merge == nullptr)
      throw Error(TENON_ERROR_VALUE, what + ": its metadata rule is merge, but it has no merge");
    if (descriptor.component_count < 0 ||
        (descriptor.component_count > 0 &&
         (descriptor.components == nullptr || descriptor.component == nullptr ||
          descriptor.payload_size == 0))) {
      throw Error(TENON_ERROR_VALUE,
                  what + ": it has component tensors, but no payload, names or way to reach them");
    }
    if ((descriptor.attributes == nullptr) != (descriptor.restore == nullptr)) {
      throw Error(TENON_ERROR_VALUE,
                  what + ": it has only one of attributes and restore; set both or neither");
    }
    for (int64_t i = 0; i < descriptor.component_count; ++i) {
      if (descriptor.components[i] == nullptr)
        throw Error(TENON_ERROR_VALUE, what + ": component " + std::to_string(i) + " has no name");
    }
    const TensorType* const inherited = type->payload_owner;
    if (inherited != nullptr && descriptor.payload_size > 0 &&
        descriptor.payload_size < inherited->descriptor.payload_size) {
      throw Error(TENON_ERROR_VALUE,
                  what + ": its payload of " + std::to_string(descriptor.payload_size) +
                      " bytes does not begin with that of " + inherited->name + ", which has " +
                      std::to_string(inherited->descriptor.payload_size) +
                      "; derive its struct from the parent's, or give it no members");
    }
    if (const auto configured = settings_.find(type->name); configured != settings_.end())
      type->settings = configured->second.get();
    const TypeSettings* settings = type->settings.load();
    const uint32_t fallback = settings == nullptr || settings->fallback == TENON_FALLBACK_INHERIT
                                  ? descriptor.fallback
                                  : settings->fallback;
    const bool converts =
        fallback == TENON_FALLBACK_TO_TENSOR || fallback == TENON_FALLBACK_UNWRAP_REWRAP;
    const bool keeps_one = type->keeps_one_tensor();
    if (converts && !type->is_tensor && !keeps_one && descriptor.to_tensor == nullptr) {
      throw Error(TENON_ERROR_VALUE,
                  what + ": its fallback converts to Tensor, but it has no to_tensor");
    }
    const bool remakes =
        keeps_one && (descriptor.metadata == TENON_METADATA_KEEP ? descriptor.copy != nullptr
                                                                 : descriptor.merge != nullptr);
    if (fallback == TENON_FALLBACK_UNWRAP_REWRAP && !type->is_tensor && !remakes &&
        descriptor.from_tensor == nullptr) {
      throw Error(TENON_ERROR_VALUE,
                  what + ": its fallback rewraps results, but it has no from_tensor" +
                      (keeps_one ? " and its payload cannot be copied" : ""));
    }
    if (descriptor.payload_size > 0) type->payload_owner = type.get();
    own_types.emplace(type->name, type.get());
    prepared.types.push_back(std::move(type));
  }

  for (const tenon_override_descriptor* given : overrides) {
    auto entry = std::make_unique<Override>();
    entry->descriptor = copy_descriptor(*given);
    entry->provider = provider;
    entry->doc = entry->descriptor.doc == nullptr ? "" : entry->descriptor.doc;
    if ((entry->descriptor.run == nullptr) == (entry->descriptor.rules == nullptr) ||
        entry->descriptor.schema == nullptr)
      throw Error(TENON_ERROR_VALUE,
                  "an override of '" + provider + "' has no schema, or not one of run and rules");
    entry->schema = parse_schema(entry->descriptor.schema);
    const std::string what = "override of '" + entry->schema.name + "' by '" + provider + "'";
    if (entry->descriptor.rules != nullptr && !entry->rules_only()) {
      entry->rules = make_implementation(*entry->descriptor.rules, provider);
      entry->rules->may_decline = true;
      if (entry->rules->schema.text != entry->schema.text)
        throw Error(TENON_ERROR_VALUE,
                    what + ": its rules are of another schema, " + entry->rules->schema.text);
      entry->handle = std::make_unique<tenon_op>(entry->schema.name);
      entry->handle->implementation.store(entry->rules.get());
      entry->rules->op = entry->handle.get();
    }
    const auto types_of = [&](const char* names, std::vector<const TensorType*>& list) {
      for (const std::string_view name : comma_words(names == nullptr ? "" : names)) {
        if (name == "*") {
          entry->accepts_any = true;
          continue;
        }
        const TensorType* type = find_type(name);
        if (type == nullptr) {
          throw Error(TENON_ERROR_VALUE, what + ": no tensor type is named " + quote(name) +
                                             suggestion(name, known_types()));
        }
        list.push_back(type);
      }
    };
    types_of(entry->descriptor.types, entry->types);
    types_of(entry->descriptor.accepts == nullptr ? "Tensor" : entry->descriptor.accepts,
             entry->accepts);
    // A set: the order of its types says nothing.
    std::sort(entry->types.begin(), entry->types.end(),
              [](const TensorType* a, const TensorType* b) { return a->name < b->name; });
    entry->types.erase(std::unique(entry->types.begin(), entry->types.end()), entry->types.end());
    const bool plain = entry->types.size() == 1 && entry->types.front() == types_[0].get();
    if (entry->rules_only() ? !plain
                            : entry->types.empty() || entry->types.front() == types_[0].get())
      throw Error(TENON_ERROR_VALUE,
                  what + (entry->rules_only()
                              ? ": it has no forward, so it gives rules to an op of Tensor, and "
                                "must be for type Tensor alone"
                              : ": it names no tensor type other than Tensor"));

    const OpSource source = op_of(entry->schema.name);
    if (source.schema.empty()) {
      throw Error(TENON_ERROR_VALUE,
                  what + ": no op is named " + quote(entry->schema.name) + source.suggestion);
    }
    const Schema op = parse_schema(source.schema);
    if (!entry->rules_only() && (!source.overridable || operand_count(op) == 0)) {
      throw Error(TENON_ERROR_VALUE, what +
                                         ": the op cannot be overridden; `tenon ignored` says "
                                         "why, and names the others that cannot");
    }
    if (entry->rules_only()) {
      if (entry->schema.text != op.text)
        throw Error(TENON_ERROR_VALUE, what + ": rules are for the op's own signature, " + op.text);
      // Tried on something with the op's signature that can be run, so that what does not fit is
      // refused now.
      tenon_op_descriptor tried{};
      tried.size = sizeof(tried);
      tried.schema = entry->descriptor.schema;
      tried.run = [](void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
        return tenon_status{TENON_OK};
      };
      make_implementation(with_rules(tried, *entry->descriptor.rules), provider);
    }
    if (entry->rules != nullptr && entry->schema.returns.size() != op.returns.size()) {
      throw Error(TENON_ERROR_VALUE, what +
                                         ": with a backward it gives as many results as the op, " +
                                         std::to_string(op.returns.size()));
    }
    entry->differences = signature_differences(entry->schema, op, bind_override(entry->schema, op));
    entry->operand_count = operand_count(op);

    const auto check_rival = [&](const Override& other) {
      if (other.types != entry->types) return;
      if (other.provider == provider)
        throw Error(TENON_ERROR_PLUGIN, what + ": it registers " + entry->key() + " twice");
      if (!rule_ || rule_(*entry, other.provider, provider).empty()) {
        throw Error(TENON_ERROR_PLUGIN, "override " + entry->key() + " has two providers: '" +
                                            other.provider + "' and '" + provider +
                                            "'; rank them in the config, as in \"ops\": "
                                            "{\"prefer\": {\"" +
                                            entry->key() + "\": \"" + provider + "\"}}");
      }
    };
    const auto [own, is_first] =
        own_overrides.try_emplace({entry->schema.name, entry->types}, entry.get());
    if (!is_first) check_rival(*own->second);
    if (const auto found = overrides_.find(entry->schema.name); found != overrides_.end()) {
      for (const auto& other : found->second) check_rival(*other);
    }
    if (!entry->differences.empty()) {
      prepared.notes.push_back("override " + entry->key() +
                               ": signature differs: " + join(entry->differences, "; "));
    }
    prepared.overrides.push_back(std::move(entry));
  }
  check_conduct(prepared, provider, op_of, conduct);
  return prepared;
}

// What is allowed and seldom meant: overrides of the ops of others for the types of others, and
// overrides between which nothing decides.
void TypeTable::check_conduct(Prepared& prepared, const std::string& provider, const OpOf& op_of,
                              const Conduct& conduct) const {
  std::vector<std::string>& faults = prepared.warnings;
  std::map<std::string_view, Entries> added;  // by op
  for (const auto& entry : prepared.overrides) {
    added[entry->schema.name].push_back(entry.get());
    const bool owns_type =
        std::any_of(entry->types.begin(), entry->types.end(),
                    [&](const TensorType* type) { return type->provider == provider; });
    if (conduct.glue || owns_type) continue;
    const std::string owner = op_of(entry->schema.name).provider;
    if (owner == provider) continue;
    std::vector<std::string> types;
    for (const TensorType* type : entry->types)
      types.push_back("type " + type->name + " of '" + type->provider + "'");
    faults.push_back("override " + entry->key() + ": plugin '" + provider +
                     "' owns neither the op, which is of '" + owner +
                     "', nor any of the types: " + join(types, ", ") +
                     "; if it shall join them, say so at its entry in the config: \"glue\": true");
  }
  for (const auto& [op, entries] : added) {
    Entries all;
    if (const auto found = overrides_.find(op); found != overrides_.end()) {
      for (const auto& entry : found->second) all.push_back(entry.get());
    }
    all.insert(all.end(), entries.begin(), entries.end());
    for (const Ambiguity& ambiguity : find_ambiguities(ranked(std::move(all)), entries)) {
      if (!conduct.expected || !conduct.expected(ambiguity.fix()))
        faults.push_back(ambiguity.text());
    }
  }
  if (conduct.strict && !faults.empty()) {
    throw Error(TENON_ERROR_PLUGIN,
                join(faults, "\n") + "\nthe config is strict: without it these are warnings");
  }
}

// Without those that another provider is preferred to.
TypeTable::Entries TypeTable::ranked(Entries entries) const {
  std::map<std::vector<const TensorType*>, Entries> rivals;
  for (const Override* entry : entries) rivals[entry->types].push_back(entry);
  std::erase_if(entries, [&](const Override* entry) {
    const Entries& same = rivals[entry->types];
    return same.size() > 1 && std::any_of(same.begin(), same.end(), [&](const Override* other) {
             return other != entry && rule_ &&
                    rule_(*entry, entry->provider, other->provider) == other->provider;
           });
  });
  return entries;
}

void TypeTable::commit(Prepared prepared) {
  const std::lock_guard lock(mutex_);
  for (auto& type : prepared.types) publish(std::move(type));
  for (auto& entry : prepared.overrides) {
    for (const TensorType* type : entry->types)
      const_cast<TensorType*>(type)->has_overrides.store(true, std::memory_order_relaxed);
    // The key is the schema's name, which lives as long as the override.
    const std::string_view op = entry->schema.name;
    if (entry->rules_only() && std::find(ruled_.begin(), ruled_.end(), op) == ruled_.end())
      ruled_.emplace_back(op);
    auto& list = overrides_[op];
    list.push_back(std::move(entry));
  }
  note_change();
}

std::vector<const TensorType*> TypeTable::types() const {
  const std::lock_guard lock(mutex_);
  std::vector<const TensorType*> list;
  for (size_t i = 1; i < types_.size(); ++i) list.push_back(types_[i].get());
  return list;
}

std::vector<const Override*> TypeTable::overrides(std::string_view op) const {
  std::vector<std::pair<std::string, const Override*>> keyed;
  {
    const std::lock_guard lock(mutex_);
    const auto collect = [&](const std::vector<std::unique_ptr<Override>>& entries) {
      Entries all;
      for (const auto& entry : entries) {
        if (entry->enabled()) all.push_back(entry.get());
      }
      for (const Override* entry : ranked(std::move(all))) keyed.emplace_back(entry->key(), entry);
    };
    if (op.empty()) {
      for (const auto& [name, entries] : overrides_) collect(entries);
    } else if (const auto found = overrides_.find(op); found != overrides_.end()) {
      collect(found->second);
    }
  }
  std::sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->provider < b.second->provider;
  });
  std::vector<const Override*> list;
  list.reserve(keyed.size());
  for (const auto& [key, entry] : keyed) list.push_back(entry);
  return list;
}

std::vector<std::string> TypeTable::ruled_ops() const {
  const std::lock_guard lock(mutex_);
  return ruled_;
}

const Override* TypeTable::rules_of(std::string_view op) const {
  for (const Override* entry : overrides(op)) {
    if (entry->rules_only()) return entry;
  }
  return nullptr;
}

const Override* TypeTable::find_override(std::string_view key, std::string_view provider) const {
  const std::lock_guard lock(mutex_);
  const auto found = overrides_.find(key.substr(0, key.find('[')));
  if (found == overrides_.end()) return nullptr;
  Entries entries;
  for (const auto& entry : found->second) {
    if (entry->key() == key && (provider.empty() || entry->provider == provider))
      entries.push_back(entry.get());
  }
  entries = ranked(std::move(entries));
  return entries.empty() ? nullptr : entries.front();
}

void TypeTable::switch_off(const Override& entry) {
  entry.switched_off.fetch_add(1, std::memory_order_relaxed);
  note_switch(entry);
}

void TypeTable::switch_on(const Override& entry) {
  int32_t count = entry.switched_off.load(std::memory_order_relaxed);
  while (count > 0 &&
         !entry.switched_off.compare_exchange_weak(count, count - 1, std::memory_order_relaxed)) {
  }
  note_switch(entry);
}

// A type whose overrides are all off is asked as little as one that has none.
void TypeTable::note_switch(const Override& changed) {
  const std::lock_guard lock(mutex_);
  for (const TensorType* type : changed.types) {
    const bool any = std::any_of(overrides_.begin(), overrides_.end(), [&](const auto& of_op) {
      return std::any_of(of_op.second.begin(), of_op.second.end(), [&](const auto& entry) {
        return entry->enabled() && entry->for_type(*type);
      });
    });
    const_cast<TensorType*>(type)->has_overrides.store(any, std::memory_order_relaxed);
  }
  note_change();
}

std::vector<Ambiguity> TypeTable::ambiguities() const {
  const Entries all = overrides();
  std::map<std::string_view, Entries> by_op;
  for (const Override* entry : all) by_op[entry->schema.name].push_back(entry);
  std::vector<Ambiguity> list;
  for (const auto& [op, entries] : by_op) {
    std::vector<Ambiguity> found = find_ambiguities(entries, entries);
    std::move(found.begin(), found.end(), std::back_inserter(list));
  }
  return list;
}

void TypeTable::configure(const std::string& type, TypeSettings settings) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const TypeSettings>& slot = settings_[type];
  if (slot != nullptr) replaced_.push_back(std::move(slot));
  slot = std::make_unique<const TypeSettings>(std::move(settings));
  if (const auto found = names_.find(type); found != names_.end())
    const_cast<TensorType*>(found->second)->settings.store(slot.get(), std::memory_order_release);
  note_change();
}

const TypeSettings* TypeTable::settings(std::string_view type) const {
  const std::lock_guard lock(mutex_);
  const auto found = settings_.find(type);
  return found == settings_.end() ? nullptr : found->second.get();
}

}  // namespace tenon::core

// Service types: tensor types, their objects, and overrides.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/autograd/typed/typed.hpp"
#include "core/base/format.hpp"
#include "core/base/growable.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/dispatch/types/conversion.hpp"
#include "core/dispatch/types/plan.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/plugin/resolve/policy.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

const Override& find_override(TypeTable& types, std::string_view key, std::string_view provider) {
  const std::string pattern = canonical_pattern(std::string(key));
  const size_t bracket = pattern.find('[');
  if (bracket != pattern.npos) {
    for (const std::string& type :
         type_names(std::string_view(pattern).substr(bracket + 1, pattern.size() - bracket - 2)))
      static_cast<void>(types.require(type));
  }
  if (const Override* entry = types.find_override(pattern, provider)) return *entry;
  if (const Override* other = types.find_override(pattern, "")) {
    throw Error(TENON_ERROR_VALUE, "no override {} is registered by plugin {}; there is one by {}",
                quote(pattern), quote(provider), quote(other->provider));
  }
  std::vector<std::string> keys;
  for (const Override* entry : types.overrides()) keys.push_back(entry->key());
  throw Error(TENON_ERROR_VALUE,
              "no override {} is registered{}{}; `tenon types` and `tenon show TYPE` list them",
              quote(pattern), provider.empty() ? "" : format_text(" by plugin {}", quote(provider)),
              bracket == pattern.npos ? ": types belong to its name, as in 'add[A, B]'"
                                      : suggestion(pattern, Words(keys.begin(), keys.end())));
}

namespace {

// Without a payload argument, share the tensor's payload or create a default one.
PayloadRef inherited_payload(const TensorType& type, const Tensor& tensor) {
  Payload* present = tensor.payload();
  if (present != nullptr && present->owner == type.payload_owner->id) {
    present->retain();
    return PayloadRef(present);
  }
  PayloadRef made = new_payload(*type.payload_owner, {});
  if (made != nullptr) return made;
  throw Error(TENON_ERROR_TYPE,
              "{} has the payload of {}, which cannot be made from nothing; derive from it and "
              "give its members",
              type.name, type.payload_owner->name);
}

TensorRef make_typed(const TensorType& type, TensorRef tensor, void** payload) {
  const TensorType* owner = type.payload_owner;
  PayloadRef made;
  if (owner != nullptr && payload == nullptr) made = inherited_payload(type, *tensor);
  if (owner != nullptr && payload != nullptr)
    made.reset(make_payload(owner->id, owner->descriptor.payload_size));
  set_type(*tensor, type.id, made.get());
  // Ops that are made of ops get the object: one that reads memory makes it contiguous first, and
  // that is refused.
  if ((type.descriptor.flags & TENON_TYPE_DECOMPOSES) != 0)
    tensor->view.flags &= ~uint32_t{TENON_TENSOR_CONTIGUOUS};
  if (payload != nullptr) {
    // To be constructed by the caller at once, and then destroyed with the tensor.
    if (made != nullptr) made->destroy = owner->descriptor.destroy;
    *payload = made == nullptr ? nullptr : made->data();
  }
  return tensor;
}

// The tensor itself becomes one of the type: its memory is the type's from now on.
TensorRef make_in_own_memory(const TensorType& type, Tensor& tensor, void** payload) {
  const bool shared = tensor.references.load() != 1 || tensor.storage == nullptr ||
                      tensor.storage->references.load() != 1 || tensor.view_base != nullptr;
  if (shared || tensor.typed() || tensor.requires_grad())
    throw Error(TENON_ERROR_TYPE,
                "a {} is made of a plain tensor that nothing else uses: wrap other memory of {}",
                type.name, type.name);
  TensorRef made = make_typed(type, TensorRef(&tensor), payload);
  made->view.flags |= TENON_TENSOR_SHAPE_ONLY;
  return made;
}

const Override& override_of(const tenon_override* entry) {
  return *reinterpret_cast<const Override*>(entry);
}
// Switches an override on or off, and has the op go by the rules that remain.
void switch_override(const tenon_override* entry, void (TypeTable::*change)(const Override&)) {
  if (entry == nullptr) return;
  const Override& found = override_of(entry);
  (TypeTable::process().*change)(found);
  if (found.is_gradient_override())
    guarded(nullptr, [&] { refresh_active_rules(process_tables(), found.schema.name); });
}

}  // namespace

constinit const tenon_types_service types_service{
    .head = {},
    .find = slot([](const char* name) {
      require_not_null(name, "the name of the type");
      index_plugins();
      return TypeTable::process().require(name).id;
    }),
    .find_layout = slot([](const char* name, const tenon_payload_layout* layout) {
      require_not_null(name, "the name of the type");
      require_not_null(layout, "the layout of the type");
      index_plugins();
      const TensorType& found = TypeTable::process().require(name);
      TypeTable::process().check_layout(found, *layout);
      return found.id;
    }),
    .name = [](uint32_t type) -> const char* {
      const TypeTable& table = TypeTable::process();
      return table.known(type) ? table.at(type).name.c_str() : "";
    },
    .is = [](uint32_t type, uint32_t ancestor) -> int32_t {
      const TypeTable& table = TypeTable::process();
      if (!table.known(type) || !table.known(ancestor)) return 0;
      return table.at(type).is(table.at(ancestor)) ? 1 : 0;
    },
    .dispatches = [](uint32_t type) -> int32_t {
      const TypeTable& table = TypeTable::process();
      return type != 0 && table.known(type) && table.at(type).dispatches() ? 1 : 0;
    },
    .create = slot(
        [](uint32_t type, tenon_dtype dtype, int64_t rank, const int64_t* shape, void** payload) {
          const TensorType& made = TypeTable::process().checked(type);
          if (made.is_tensor) {
            throw Error(TENON_ERROR_TYPE,
                        "{} derives from Tensor, which has data; wrap a tensor instead", made.name);
          }
          if (rank > 0) require_not_null(shape, "the shape");
          return make_typed(made, make_dataless(dtype, shape_of(shape, rank), type), payload);
        }),
    .wrap = slot([](uint32_t type, tenon_tensor* tensor, void** payload) {
      require_data(tensor, "the tensor to wrap");
      const TensorType& made = TypeTable::process().checked(type);
      if (!made.is_tensor || made.id == 0) {
        throw Error(TENON_ERROR_TYPE,
                    "{} does not derive from Tensor and cannot share a tensor's data", made.name);
      }
      if (made.owns_memory()) return make_in_own_memory(made, *tensor, payload);
      return make_typed(made, share_with_history(*tensor), payload);
    }),
    .payload = [](const tenon_tensor* tensor) -> void* {
      Payload* payload = tensor == nullptr ? nullptr : tensor->payload();
      return payload == nullptr ? nullptr : payload->data();
    },
    .to_plain = slot([](tenon_tensor* tensor) { return to_plain(checked(tensor)); }),
    .call_parent = call_parent,
    .override_find = slot([](const char* key, const char* provider) {
      require_not_null(key, "the key of an override");
      index_plugins();
      return reinterpret_cast<const tenon_override*>(
          &find_override(TypeTable::process(), key, provider == nullptr ? "" : provider));
    }),
    .override_provider = [](const tenon_override* entry) -> const char* {
      return override_of(entry).provider.c_str();
    },
    .override_call = slot([](const tenon_override* entry, const tenon_value* arguments,
                             int64_t count, const tenon_string* keywords,
                             const tenon_value* keyword_values, int64_t keyword_count,
                             tenon_value* results) {
      require_not_null(entry, "the override");
      const OuterCall running;
      const Override& found = override_of(entry);
      if (found.withdrawn)
        throw Error(TENON_ERROR_PLUGIN,
                    "stale handle: override {} is provided by plugin '{}', which was unloaded or "
                    "reloaded; find the override again",
                    found.key(), found.provider);
      call_override(found,
                    {span_of(arguments, count), span_of(keywords, keyword_count),
                     span_of(keyword_values, keyword_count)},
                    results);
    }),
    .override_disable = [](const tenon_override* entry) -> void {
      switch_override(entry, &TypeTable::switch_off);
    },
    .override_enable = [](const tenon_override* entry) -> void {
      switch_override(entry, &TypeTable::switch_on);
    },
    .override_enabled = [](const tenon_override* entry) -> int32_t {
      return entry != nullptr && override_of(entry).enabled() ? 1 : 0;
    },
    .component = slot([](const tenon_tensor* tensor, const char* name, int64_t length) {
      const std::string_view asked(name, static_cast<size_t>(length));
      const TensorType* owner = component_owner(checked(tensor));
      const int64_t count = owner == nullptr ? 0 : owner->descriptor.component_count;
      for (int64_t i = 0; i < count; ++i) {
        if (owner->descriptor.components[i] == asked)
          return owner->component(*tensor->payload(), i);
      }
      throw Error(TENON_ERROR_INDEX, "a {} has no component {}",
                  TypeTable::process().at(tensor->view.type).name, quote(asked));
    }),
    .set_attributes = slot([](tenon_tensor* tensor, const char* text, int64_t length) {
      const std::string_view attributes(text, static_cast<size_t>(length));
      const PayloadRef payload = payload_with_attributes(checked(tensor), attributes);
      set_type(*tensor, tensor->view.type, payload.get());
    }),
    .parts = slot([](uint32_t type, tenon_type_parts* parts) {
      constexpr size_t kOldest = offsetof(tenon_type_parts, component_count) + sizeof(int64_t);
      if (parts->size < kOldest)
        throw Error(TENON_ERROR_ARGUMENT,
                    "a tenon_type_parts of {} bytes has no room; set `size` to its sizeof",
                    parts->size);
      fill_growable(parts_of(type), *parts);
    }),
    .attributes = slot([](const tenon_tensor* tensor) { return attributes_of(checked(tensor)); }),
    .compose = slot([](uint32_t type, tenon_tensor* data, tenon_dtype dtype, int64_t rank,
                       const int64_t* shape, const tenon_string* attributes,
                       const tenon_string* names, tenon_tensor* const* components, int64_t count) {
      const TensorType& made = TypeTable::process().checked(type);
      std::optional<std::string_view> text;
      if (attributes != nullptr) text.emplace(attributes->data, attributes->length);
      const PayloadRef payload =
          compose_payload(made, text, span_of(names, count), tensors_of(components, count));
      if (made.is_tensor) require_data(data, "the data of the object");
      TensorRef object =
          made.is_tensor ? make_detached(*data) : make_dataless(dtype, shape_of(shape, rank), type);
      set_type(*object, type, payload.get());
      return object;
    }),
    .from_plain = slot([](uint32_t type, tenon_tensor* plain, tenon_tensor* like) {
      return from_plain(TypeTable::process().checked(type), checked(plain), like);
    }),
};

}  // namespace tenon::core

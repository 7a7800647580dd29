// The host's slots on tensor types and their objects.
#include "core/autograd/typed/typed.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/types/chain.hpp"
#include "core/dispatch/types/components.hpp"
#include "core/dispatch/types/conversion.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

tenon_status type_component(const tenon_tensor* tensor, const char* name, int64_t length,
                            tenon_tensor** component, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(tensor, "the tensor");
    const std::string_view asked(name, static_cast<size_t>(length));
    const TensorType* owner = component_owner(*tensor);
    const int64_t count = owner == nullptr ? 0 : owner->descriptor.component_count;
    for (int64_t i = 0; i < count; ++i) {
      if (owner->descriptor.components[i] != asked) continue;
      *component = owner->component(*tensor->payload(), i);
      return;
    }
    throw Error(TENON_ERROR_INDEX, "a {} has no component {}",
                TypeTable::process().at(tensor->view.type).name, quote(asked));
  });
}
tenon_status type_set_attributes(tenon_tensor* tensor, const char* text, int64_t length,
                                 tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(tensor, "the tensor");
    const TensorType& type = TypeTable::process().at(tensor->view.type);
    if (tensor->payload() == nullptr || type.payload_owner->descriptor.restore == nullptr)
      throw Error(TENON_ERROR_TYPE, "a {} has no attributes", type.name);
    set_type(*tensor, type.id,
             payload_with_attributes(*tensor, {text, static_cast<size_t>(length)}).get());
  });
}
tenon_status type_find(const char* name, uint32_t* type, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(name, "the name of the type");
    plugin_manager();
    *type = TypeTable::process().require(name).id;
  });
}
tenon_status type_find_layout(const char* name, const tenon_payload_layout* layout, uint32_t* type,
                              tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(name, "the name of the type");
    require_not_null(layout, "the layout of the type");
    plugin_manager();
    const TensorType& found = TypeTable::process().require(name);
    TypeTable::process().check_layout(found, *layout);
    *type = found.id;
  });
}
const char* type_name(uint32_t type) {
  try {
    return TypeTable::process().checked(type).name.c_str();
  } catch (...) {
    return "";
  }
}
int32_t type_is(uint32_t type, uint32_t ancestor) {
  const TypeTable& table = TypeTable::process();
  if (!table.known(type) || !table.known(ancestor)) return 0;
  return table.at(type).is(table.at(ancestor)) ? 1 : 0;
}
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

void give_typed(const TensorType& type, TensorRef tensor, void** payload, tenon_tensor** result) {
  const TensorType* owner = type.payload_owner;
  PayloadRef made;
  if (owner != nullptr && payload == nullptr) made = inherited_payload(type, *tensor);
  if (owner != nullptr && payload != nullptr)
    made.reset(make_payload(owner->id, owner->descriptor.payload_size));
  set_type(*tensor, type.id, made.get());
  if (payload != nullptr) {
    // To be constructed by the caller at once, and then destroyed with the tensor.
    if (made != nullptr) made->destroy = owner->descriptor.destroy;
    *payload = made == nullptr ? nullptr : made->data();
  }
  *result = tensor.give();
}
tenon_status typed_create(uint32_t type, tenon_dtype dtype, int64_t rank, const int64_t* shape,
                          void** payload, tenon_tensor** result, tenon_error** error) {
  return guarded(error, [&] {
    const TensorType& made = TypeTable::process().checked(type);
    if (made.is_tensor) {
      throw Error(TENON_ERROR_TYPE, "{} derives from Tensor, which has data; wrap a tensor instead",
                  made.name);
    }
    if (rank > 0) require_not_null(shape, "the shape");
    give_typed(made, make_dataless(dtype, shape_of(shape, rank), type), payload, result);
  });
}
tenon_status typed_wrap(uint32_t type, tenon_tensor* tensor, void** payload, tenon_tensor** result,
                        tenon_error** error) {
  return guarded(error, [&] {
    require_data(tensor, "the tensor to wrap");
    const TensorType& made = TypeTable::process().checked(type);
    if (!made.is_tensor || made.id == 0) {
      throw Error(TENON_ERROR_TYPE,
                  "{} does not derive from Tensor and cannot share a tensor's data", made.name);
    }
    give_typed(made, share_with_history(*tensor), payload, result);
  });
}
void* typed_payload(const tenon_tensor* tensor) {
  Payload* payload = tensor == nullptr ? nullptr : tensor->payload();
  return payload == nullptr ? nullptr : payload->data();
}
tenon_status tensor_to_plain(tenon_tensor* tensor, tenon_tensor** result, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(tensor, "the tensor");
    *result = to_plain(*tensor).give();
  });
}

}  // namespace

void add_type_slots(Services& services) {
  services.types.find = type_find;
  services.types.name = type_name;
  services.types.is = type_is;
  services.types.create = typed_create;
  services.types.wrap = typed_wrap;
  services.types.payload = typed_payload;
  services.types.component = type_component;
  services.types.set_attributes = type_set_attributes;
  services.types.to_plain = tensor_to_plain;
  services.types.find_layout = type_find_layout;
  services.types.call_parent = call_parent;
}

}  // namespace tenon::core

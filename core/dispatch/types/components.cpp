// Tensors of other types as what they are made of.
#include "core/dispatch/types/components.hpp"

#include <algorithm>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/types/conversion.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

constexpr std::string_view kRestoreKey = "restore ";

// Whether its components are all that there is in a payload, and it can be made from nothing.
bool only_components(const tenon_type_descriptor& descriptor) {
  return descriptor.payload_size ==
             descriptor.component_count * static_cast<int64_t>(sizeof(Tensor*)) &&
         descriptor.merge != nullptr;
}

std::string attributes_of(const TensorType& owner, Payload& payload) {
  tenon_value text{};
  call_checked(owner.descriptor.attributes, owner.descriptor.self, payload.data(), &text);
  std::string result;
  if (text.tag == TENON_VALUE_STRING) result.assign(text.as.string, text.length);
  release_value(text);
  return result;
}

PayloadRef make_described(const TensorType& owner, std::string_view attributes) {
  const tenon_type_descriptor& descriptor = owner.descriptor;
  PayloadRef payload(make_payload(owner.id, descriptor.payload_size));
  call_checked(descriptor.restore, descriptor.self, attributes.data(),
               static_cast<int64_t>(attributes.size()), payload->data());
  payload->destroy = descriptor.destroy;
  return payload;
}

// The text that makes the object again, beside its tensors.
std::string restore_text(const TensorType& type, const Tensor& tensor) {
  const TensorType* owner = type.payload_owner;
  Payload* payload = tensor.payload();
  JsonBuilder document;
  document.begin_object().member("plugin", type.provider);
  document.member("dtype", dtype_text(tensor.view.dtype)).key("shape").begin_array();
  for (const int64_t size : tensor.shape()) document.value(size);
  document.end_array().key("components").begin_array();
  if (owner != nullptr && payload != nullptr) {
    for (int64_t i = 0; i < owner->descriptor.component_count; ++i) {
      if (owner->component(*payload, i) != nullptr) document.value(owner->descriptor.components[i]);
    }
  }
  document.end_array();
  if (payload != nullptr && owner->descriptor.attributes != nullptr)
    document.member("attributes", attributes_of(*owner, *payload));
  document.end_object();
  return dump(*document.finish());
}

}  // namespace

void StoredTensors::add(const std::string& name, const TensorRef& tensor, bool whole) {
  if (!tensor || !tensor->typed()) {
    tensors.push_back({name, tensor});
    return;
  }
  const TensorType& type = TypeTable::process().at(tensor->view.type);
  const TensorType* owner = type.payload_owner;
  Payload* payload = tensor->payload();
  const int64_t count =
      owner == nullptr || payload == nullptr ? 0 : owner->descriptor.component_count;
  const bool has_attributes = payload != nullptr && owner->descriptor.attributes != nullptr;
  if (count == 0 && !type.is_tensor && !(whole && has_attributes)) {
    throw Error(TENON_ERROR_TYPE,
                "{} is a {}, which has no component tensors to save; declare them in its type, or "
                "convert it to Tensor first",
                quote(name), type.name);
  }
  if (whole && payload != nullptr && !has_attributes && !only_components(owner->descriptor)) {
    throw Error(
        TENON_ERROR_TYPE,
        "{} is a {} (plugin '{}'), whose payload has members that a file does not keep; give the "
        "type attributes() and from_attributes(), or convert it with ensure_tensor first",
        quote(name), type.name, type.provider);
  }
  metadata.emplace_back(std::string(kTypeKey) + name, type.name);
  if (whole) {
    metadata.emplace_back(std::string(kRestoreKey) + name, restore_text(type, *tensor));
  } else if (has_attributes && owner->descriptor.restore != nullptr) {
    metadata.emplace_back(std::string(kAttributesKey) + name, attributes_of(*owner, *payload));
    described.push_back({name, tensor});
  }
  if (type.is_tensor) tensors.push_back({name, tensor});
  for (int64_t i = 0; i < count; ++i) {
    Tensor* component = owner->component(*payload, i);
    if (component != nullptr)
      add(format_text("{}.{}", name, owner->descriptor.components[i]), TensorRef(component), whole);
  }
}

PayloadRef payload_with_attributes(const Tensor& tensor, std::string_view attributes) {
  const TensorType& owner = *TypeTable::process().at(tensor.view.type).payload_owner;
  PayloadRef payload = make_described(owner, attributes);
  for (int64_t i = 0; i < owner.descriptor.component_count; ++i) {
    put(owner.component(*payload, i), TensorRef(owner.component(*tensor.payload(), i)));
  }
  return payload;
}

namespace {

// Restores one object from what was stored.
class Restoring {
 public:
  Restoring(std::vector<NamedTensor>& tensors, const std::string& source, std::string name,
            std::string_view text)
      : tensors_(tensors), source_(source), name_(std::move(name)) {
    try {
      said_ = parse_json(text);
    } catch (const Error& error) {
      fail("its \"restore\" metadata cannot be read: {}", error.message);
    }
    if (!said_->is_object()) fail("its \"restore\" metadata is not an object");
  }

  void run(std::string_view type_name) {
    const std::string_view plugin = text_of("plugin");
    const TensorType* type = nullptr;
    try {
      type = &TypeTable::process().require(type_name);
    } catch (const Error& error) {
      fail("it is of type {}{}, which is not available: {}; install that plugin, or {}",
           quote(type_name), plugin.empty() ? "" : format_text(" of plugin {}", quote(plugin)),
           error.message, plugin_folder_advice());
    }
    const PayloadRef payload = make_payload_of(*type);
    TensorRef made = type->is_tensor ? take(name_) : make_dataless(dtype(), shape(), type->id);
    set_type(*made, type->id, payload.get());
    tensors_.push_back({name_, std::move(made)});
  }

 private:
  template <class... Arguments>
  [[noreturn]] void fail(FormatString<Arguments...> pattern, Arguments&&... arguments) const {
    throw Error(TENON_ERROR_VALUE, "cannot restore tensor {} of '{}': {}", quote(name_), source_,
                format_text(pattern, std::forward<Arguments>(arguments)...));
  }

  // The member's text; empty where there is none.
  std::string_view text_of(std::string_view member) const {
    const tenon_json* said = said_->find(member);
    return said != nullptr && said->is_string() ? said->as_string() : std::string_view();
  }

  TensorRef take(const std::string& name) {
    const auto found = std::ranges::find(tensors_, name, &NamedTensor::name);
    if (found == tensors_.end()) fail("the file holds no tensor {}", quote(name));
    TensorRef tensor = std::move(found->tensor);
    tensors_.erase(found);
    return tensor;
  }

  PayloadRef make_payload_of(const TensorType& type) {
    const TensorType* owner = type.payload_owner;
    std::vector<std::string> names;
    if (const tenon_json* components = said_->find("components")) {
      for (const tenon_json& component : components->children()) {
        if (!component.is_string()) fail("a component's name is not a string");
        names.emplace_back(component.as_string());
      }
    }
    const tenon_json* attributes = said_->find("attributes");
    if (owner == nullptr) {
      if (!names.empty() || attributes != nullptr)
        fail("the file has a payload, but type {} has none", type.name);
      return nullptr;
    }
    const tenon_type_descriptor& descriptor = owner->descriptor;
    PayloadRef payload;
    if (attributes != nullptr && attributes->is_string() && descriptor.restore != nullptr)
      payload = make_described(*owner, attributes->as_string());
    else if (attributes == nullptr && descriptor.restore == nullptr && only_components(descriptor))
      payload = new_payload(*owner, {});
    else
      fail("the file and type {} of plugin '{}' do not agree on the attributes of its payload",
           type.name, owner->provider);
    for (const std::string& name : names) {
      int64_t i = 0;
      while (i < descriptor.component_count && name != descriptor.components[i]) ++i;
      if (i == descriptor.component_count)
        fail("type {} has no component {}", type.name, quote(name));
      put(owner->component(*payload, i), take(format_text("{}.{}", name_, name)));
    }
    return payload;
  }

  tenon_dtype dtype() const {
    const std::string_view text = text_of("dtype");
    const tenon_dtype dtype = dtype_find(text);
    if (dtype == TENON_DTYPE_NONE || text != dtype_text(dtype)) fail("its dtype is not known");
    return dtype;
  }
  Sizes shape() const {
    Sizes shape{};
    const tenon_json* said = said_->find("shape");
    bool sizes = said != nullptr && said->is_array() && said->size() <= TENON_MAX_RANK;
    for (int64_t i = 0; sizes && i < said->size(); ++i) {
      const tenon_json& size = said->children()[static_cast<size_t>(i)];
      sizes = size.is_int() && size.as_int() >= 0;
      if (sizes) shape.values[shape.rank++] = size.as_int();
    }
    if (!sizes) fail("its shape is not a list of sizes");
    return shape;
  }

  std::vector<NamedTensor>& tensors_;
  const std::string& source_;
  std::string name_;
  Json said_;
};

}  // namespace

void restore_types(std::vector<NamedTensor>& tensors, const tenon_json& metadata,
                   const std::string& source) {
  std::vector<std::pair<std::string, std::string_view>> whole;
  for (const tenon_json& member : metadata.children()) {
    if (member.is_string() && member.key().starts_with(kRestoreKey))
      whole.emplace_back(member.key().substr(kRestoreKey.size()), member.as_string());
  }
  // Components before what they are of.
  std::ranges::sort(whole, {}, [](const auto& entry) {
    return std::pair(-static_cast<int64_t>(entry.first.size()), entry.first);
  });
  for (const auto& [name, text] : whole) {
    const tenon_json* type = metadata.find(std::string(kTypeKey) + name);
    Restoring(tensors, source, name, text)
        .run(type != nullptr && type->is_string() ? type->as_string() : std::string_view());
  }
}

}  // namespace tenon::core

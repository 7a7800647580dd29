// Tensors of other types as what they are made of.
#include "core/dispatch/components.hpp"

#include <algorithm>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/tree.hpp"
#include "core/dispatch/payload.hpp"
#include "core/dispatch/types.hpp"
#include "core/dispatch/value.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

constexpr std::string_view kTypeKey = "tensor type of ";
constexpr std::string_view kRestoreKey = "restore ";

// Whether its components are all that there is in a payload, and it can be made from nothing.
bool only_components(const tenon_type_descriptor& rule) {
  return rule.payload_size == rule.component_count * static_cast<int64_t>(sizeof(Tensor*)) &&
         rule.merge != nullptr;
}

std::string attributes_of(const TensorType& owner, Payload& payload) {
  tenon_value text{};
  tenon_error* error = nullptr;
  const tenon_status status =
      owner.descriptor.attributes(owner.descriptor.self, payload.data(), &text, &error);
  if (status != TENON_OK) throw_status(status, error);
  std::string result;
  if (text.tag == TENON_VALUE_STRING) result.assign(text.as.string, text.length);
  release_value(text);
  return result;
}

// What makes the object again, beside its tensors.
std::string restore_text(const TensorType& type, const Tensor& tensor) {
  const TensorType* owner = type.payload_owner;
  Payload* payload = tensor.payload();
  TreeBuilder tree;
  tree.begin_object().member("plugin", type.provider);
  tree.member("dtype", dtype_text(tensor.view.dtype)).key("shape").begin_array();
  for (const int64_t size : tensor.shape()) tree.value(size);
  tree.end_array().key("components").begin_array();
  if (owner != nullptr && payload != nullptr) {
    for (int64_t i = 0; i < owner->descriptor.component_count; ++i) {
      if (owner->component(*payload, i) != nullptr) tree.value(owner->descriptor.components[i]);
    }
  }
  tree.end_array();
  if (payload != nullptr && owner->descriptor.attributes != nullptr)
    tree.member("attributes", attributes_of(*owner, *payload));
  tree.end_object();
  return json(*tree.finish());
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
  const bool described = payload != nullptr && owner->descriptor.attributes != nullptr;
  if (count == 0 && !type.is_tensor && !(whole && described)) {
    throw Error(TENON_ERROR_TYPE, quote(name) + " is a " + type.name +
                                      ", which has no component tensors to save; declare them in "
                                      "its type, or convert it to Tensor first");
  }
  if (whole && payload != nullptr && !described && !only_components(owner->descriptor)) {
    throw Error(TENON_ERROR_TYPE,
                quote(name) + " is a " + type.name + " (plugin '" + type.provider +
                    "'), whose payload has members that a file does not keep; give the type "
                    "attributes() and from_attributes(), or convert it with ensure_tensor first");
  }
  metadata.emplace_back(std::string(kTypeKey) + name, type.name);
  if (whole) metadata.emplace_back(std::string(kRestoreKey) + name, restore_text(type, *tensor));
  if (type.is_tensor) tensors.push_back({name, tensor});
  for (int64_t i = 0; i < count; ++i) {
    Tensor* component = owner->component(*payload, i);
    if (component != nullptr)
      add(name + "." + owner->descriptor.components[i], TensorRef(component), whole);
  }
}

std::string stored_type(const TensorFile& file, const std::string& name) {
  return file.metadata.find(std::string(kTypeKey) + name).value_or("");
}

namespace {

// One object out of a file.
class Restoring {
 public:
  Restoring(TensorFile& file, std::string name, const std::string& text)
      : file_(file), name_(std::move(name)) {
    try {
      said_ = parse_tree(text);
    } catch (const Error& error) {
      fail("its \"restore\" metadata cannot be read: " + error.message);
    }
    if (!said_->is_object()) fail("its \"restore\" metadata is not an object");
  }

  void run() {
    const std::string type_name = stored_type(file_, name_);
    const tenon_tree* plugin = said_->find("plugin");
    const TensorType* type = nullptr;
    try {
      type = &TypeTable::process().require(type_name);
    } catch (const Error& error) {
      fail("it is of type " + quote(type_name) +
           (plugin != nullptr && plugin->is_string() ? " of plugin " + quote(plugin->as_string())
                                                     : "") +
           ", which is not available: " + error.message + "; install that plugin, or " +
           plugin_folder_advice());
    }
    PayloadRef payload = make_payload_of(*type);
    TensorRef made = type->is_tensor ? take(name_) : make_dataless(dtype(), shape(), type->id);
    set_type(*made, type->id, payload.get());
    file_.tensors.push_back({name_, std::move(made)});
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(TENON_ERROR_VALUE,
                "cannot restore tensor " + quote(name_) + " of '" + file_.path + "': " + what);
  }

  TensorRef take(const std::string& name) {
    const auto found = std::find_if(file_.tensors.begin(), file_.tensors.end(),
                                    [&](const NamedTensor& entry) { return entry.name == name; });
    if (found == file_.tensors.end()) fail("the file holds no tensor " + quote(name));
    TensorRef tensor = std::move(found->tensor);
    file_.tensors.erase(found);
    return tensor;
  }

  PayloadRef make_payload_of(const TensorType& type) {
    const TensorType* owner = type.payload_owner;
    std::vector<std::string> names;
    if (const tenon_tree* components = said_->find("components")) {
      for (const tenon_tree& component : components->children()) {
        if (!component.is_string()) fail("a component's name is not a string");
        names.emplace_back(component.as_string());
      }
    }
    const tenon_tree* attributes = said_->find("attributes");
    if (owner == nullptr) {
      if (!names.empty() || attributes != nullptr)
        fail("the file has a payload, but type " + type.name + " has none");
      return nullptr;
    }
    const tenon_type_descriptor& rule = owner->descriptor;
    PayloadRef payload;
    if (attributes != nullptr && attributes->is_string() && rule.restore != nullptr) {
      payload.reset(make_payload(owner->id, rule.payload_size));
      const std::string_view text = attributes->as_string();
      tenon_error* error = nullptr;
      const tenon_status status = rule.restore(
          rule.self, text.data(), static_cast<int64_t>(text.size()), payload->data(), &error);
      if (status != TENON_OK) throw_status(status, error);
      payload->destroy = rule.destroy;
    } else if (attributes == nullptr && rule.restore == nullptr && only_components(rule)) {
      payload = new_payload(*owner, {});
    } else {
      fail("the file and type " + type.name + " of plugin '" + owner->provider +
           "' do not agree on the attributes of its payload");
    }
    for (const std::string& name : names) {
      int64_t i = 0;
      while (i < rule.component_count && name != rule.components[i]) ++i;
      if (i == rule.component_count) fail("type " + type.name + " has no component " + quote(name));
      Tensor*& place = owner->component(*payload, i);
      if (place != nullptr) place->release();
      place = take(name_ + "." + name).give();
    }
    return payload;
  }

  tenon_dtype dtype() const {
    const tenon_tree* said = said_->find("dtype");
    for (int32_t code = 0; said != nullptr && said->is_string() && code < 64; ++code) {
      const auto dtype = static_cast<tenon_dtype>(code);
      if (dtype_valid(dtype) && said->as_string() == dtype_text(dtype)) return dtype;
    }
    fail("its dtype is not known");
  }
  Sizes shape() const {
    Sizes shape{};
    const tenon_tree* said = said_->find("shape");
    if (said == nullptr || !said->is_array() || said->size() > TENON_MAX_RANK)
      fail("its shape is not a list of sizes");
    for (const tenon_tree& size : said->children()) {
      if (!size.is_int() || size.as_int() < 0) fail("its shape is not a list of sizes");
      shape.values[shape.rank++] = size.as_int();
    }
    return shape;
  }

  TensorFile& file_;
  std::string name_;
  Tree said_;
};

}  // namespace

void restore_types(TensorFile& file) {
  std::vector<std::pair<std::string, std::string>> whole;
  file.metadata.each([&](const std::string& key, std::string text) {
    if (key.starts_with(kRestoreKey))
      whole.emplace_back(key.substr(kRestoreKey.size()), std::move(text));
  });
  // Components before what they are of.
  std::sort(whole.begin(), whole.end(), [](const auto& a, const auto& b) {
    return std::pair(b.first.size(), a.first) < std::pair(a.first.size(), b.first);
  });
  for (const auto& [name, text] : whole) Restoring(file, name, text).run();
}

}  // namespace tenon::core

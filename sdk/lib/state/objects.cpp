// Objects of tensor types as plain tensors and metadata, and made again from them.
#include "objects.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/auxv.h>

#include <tenon/abi/type.h>
#include <tenon/typed_tensor.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

using lib::format_text;
using lib::quote;

namespace {

bool has_prefix(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

tenon_type_parts parts_of(uint32_t type) {
  tenon_type_parts parts{sizeof parts, 0, nullptr, nullptr, 0};
  detail::check(service::types().parts, type, &parts);
  return parts;
}

// Components of an object that are there, by name.
NamedTensors components_of(const Tensor& object, const tenon_type_parts& parts) {
  NamedTensors components;
  for (int64_t i = 0; i < parts.component_count; ++i) {
    const std::string_view name = parts.components[i];
    tenon_tensor* component = nullptr;
    detail::check(service::types().component, static_cast<const tenon_tensor*>(object.handle()),
                  name.data(), static_cast<int64_t>(name.size()), &component);
    if (component != nullptr) components.emplace_back(name, Tensor::borrow(component));
  }
  return components;
}

std::string attributes_of(const Tensor& object) {
  Value text;
  detail::check(service::types().attributes, static_cast<const tenon_tensor*>(object.handle()),
                text.slot());
  return text.get().tag == TENON_VALUE_STRING ? text.text() : std::string();
}

// ---- storing ----

class Storing {
 public:
  explicit Storing(Stored stored) : whole_(stored == Stored::Whole) {}

  void add(const std::string& name, const Tensor& tensor) {
    const tenon_tensor_view* const view =
        tensor.defined() ? tenon_tensor_get_view(tensor.handle()) : nullptr;
    if (view == nullptr || (view->flags & TENON_TENSOR_TYPED) == 0) {
      result_.tensors.emplace_back(name, tensor);
      return;
    }
    const std::string type = service::types().name(view->type);
    const tenon_type_parts parts = parts_of(view->type);
    if ((parts.flags & TENON_PARTS_OWN_MEMORY) != 0) {
      result_.tensors.emplace_back(name, ensure_tensor(tensor.detach()));  // files name no device
      return;
    }
    const bool has_payload = service::types().payload(tensor.handle()) != nullptr;
    const bool has_attributes = has_payload && (parts.flags & TENON_PARTS_WRITES) != 0;
    const bool has_data = (parts.flags & TENON_PARTS_DATA) != 0;
    const bool has_components = has_payload && parts.component_count > 0;
    if (!has_components && !has_data && !(whole_ && has_attributes)) {
      throw TypeError(
          format_text("{} is a {}, which has no component tensors to save; declare them in its "
                      "type, or convert it to Tensor first",
                      quote(name), type));
    }
    if (whole_ && has_payload && !has_attributes && (parts.flags & TENON_PARTS_COMPLETE) == 0) {
      throw TypeError(format_text(
          "{} is a {} (plugin '{}'), whose payload has members that a file does not keep; give the "
          "type attributes() and from_attributes(), or convert it with ensure_tensor first",
          quote(name), type, parts.provider));
    }
    const NamedTensors components = has_components ? components_of(tensor, parts) : NamedTensors();
    note(kTypeKey, name, type);
    if (whole_)
      note(kRestoreKey, name, restore_text(tensor, parts.provider, components, has_attributes));
    else if (has_attributes && (parts.flags & TENON_PARTS_READS) != 0)
      note(kAttributesKey, name, attributes_of(tensor));
    if (has_data) result_.tensors.emplace_back(name, tensor);
    for (const auto& [part, component] : components)
      add(format_text("{}.{}", name, part), component);
  }

  StoredTensors take() { return std::move(result_); }

 private:
  void note(std::string_view key, const std::string& name, std::string text) {
    result_.metadata.emplace_back(std::string(key) + name, std::move(text));
  }

  // The text that makes the object again, beside its tensors.
  static std::string restore_text(const Tensor& object, const char* provider,
                                  const NamedTensors& components, bool has_attributes) {
    JsonArray shape, names;
    for (const int64_t size : object.shape()) shape.add(size);
    for (const auto& entry : components) names.add(entry.first);
    JsonObject document;
    document.set("plugin", provider).set("dtype", dtype_text(object.dtype()));
    document.set("shape", shape.json()).set("components", names.json());
    if (has_attributes) document.set("attributes", attributes_of(object));
    return document.json().dump();
  }

  bool whole_;
  StoredTensors result_;
};

// ---- restoring ----

const char* plugin_folder_advice() {
  return ::getauxval(AT_SECURE) == 0 ? "name its folder in TENON_PLUGIN_PATH"
                                     : "add its folder with add_plugin_path()";
}

// Restores one object from its metadata and the tensors of the file.
class Restoring {
 public:
  Restoring(NamedTensors& tensors, const std::string& source, std::string name,
            const std::string& text)
      : tensors_(tensors), source_(source), name_(std::move(name)) {
    try {
      said_ = Json::parse(text);
    } catch (const Error& error) {
      fail(format_text("its \"restore\" metadata cannot be read: {}", error.what()));
    }
    if (!said_.is_object()) fail("its \"restore\" metadata is not an object");
  }

  void run(const std::string& type_name) {
    const std::string plugin = said_["plugin"].text();
    uint32_t type = 0;
    try {
      detail::check(service::types().find, type_name.c_str(), &type);
    } catch (const Error& error) {
      fail(format_text("it is of type {}{}, which is not available: {}; install that plugin, or {}",
                       quote(type_name),
                       plugin.empty() ? "" : format_text(" of plugin {}", quote(plugin)),
                       error.what(), plugin_folder_advice()));
    }
    Tensor made = object(type, service::types().name(type), parts_of(type));
    tensors_.emplace_back(name_, std::move(made));
  }

 private:
  [[noreturn]] void fail(const std::string& fault) const {
    throw ValueError(
        format_text("cannot restore tensor {} of '{}': {}", quote(name_), source_, fault));
  }

  Tensor take(const std::string& name) {
    const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    if (found == tensors_.end()) fail(format_text("the file holds no tensor {}", quote(name)));
    Tensor tensor = std::move(found->second);
    tensors_.erase(found);
    return tensor;
  }

  Tensor object(uint32_t type, const std::string& type_name, const tenon_type_parts& parts) {
    const std::vector<std::string> names = component_names();
    const Json attributes = said_["attributes"];
    check_parts(type_name, parts, names, attributes);
    const std::string text = attributes.text();
    const tenon_string written = detail::string_of(text);
    NamedTensors components;
    for (const std::string& name : names)
      components.emplace_back(name, take(format_text("{}.{}", name_, name)));
    std::vector<tenon_string> keys;
    std::vector<tenon_tensor*> handles;
    for (const auto& [name, component] : components) {
      keys.push_back(detail::string_of(name));
      handles.push_back(component.handle());
    }
    const bool has_data = (parts.flags & TENON_PARTS_DATA) != 0;
    const Tensor data = has_data ? take(name_) : Tensor();
    const std::vector<int64_t> sizes = has_data ? std::vector<int64_t>() : shape();
    tenon_tensor* made = nullptr;
    detail::check(service::types().compose, type, data.handle(),
                  has_data ? tenon_dtype{TENON_DTYPE_NONE} : dtype(),
                  static_cast<int64_t>(sizes.size()), sizes.data(),
                  attributes.defined() ? &written : nullptr, keys.data(), handles.data(),
                  static_cast<int64_t>(keys.size()), &made);
    return Tensor::take(made);
  }

  void check_parts(const std::string& type, const tenon_type_parts& parts,
                   const std::vector<std::string>& names, const Json& attributes) const {
    if ((parts.flags & TENON_PARTS_PAYLOAD) == 0) {
      if (!names.empty() || attributes.defined())
        fail(format_text("the file has a payload, but type {} has none", type));
      return;
    }
    const bool reads = (parts.flags & TENON_PARTS_READS) != 0;
    if (attributes.defined() ? !attributes.is_text() || !reads
                             : reads || (parts.flags & TENON_PARTS_COMPLETE) == 0)
      fail(
          format_text("the file and type {} of plugin '{}' do not agree on the attributes of its "
                      "payload",
                      type, parts.provider));
    const auto* const end = parts.components + parts.component_count;
    for (const std::string& name : names) {
      if (std::find(parts.components, end, name) == end)
        fail(format_text("type {} has no component {}", type, quote(name)));
    }
  }

  std::vector<std::string> component_names() const {
    std::vector<std::string> names;
    const Json components = said_["components"];
    for (int64_t i = 0; i < components.size(); ++i) {
      if (!components[i].is_text()) fail("a component's name is not a string");
      names.push_back(components[i].text());
    }
    return names;
  }

  tenon_dtype dtype() const {
    const std::string text = said_["dtype"].text();
#define TENON_STATE_DTYPE(name, code, bytes, type, short_name, ...) \
  if (text == (short_name)) return code;
    TENON_ALL_DTYPES(TENON_STATE_DTYPE)
#undef TENON_STATE_DTYPE
    fail("its dtype is not known");
  }

  std::vector<int64_t> shape() const {
    const Json said = said_["shape"];
    std::vector<int64_t> shape;
    bool sizes = said.is_array() && said.size() <= TENON_MAX_RANK;
    for (int64_t i = 0; sizes && i < said.size(); ++i) {
      sizes = said[i].is_integer() && said[i].integer() >= 0;
      if (sizes) shape.push_back(said[i].integer());
    }
    if (!sizes) fail("its shape is not a list of sizes");
    return shape;
  }

  NamedTensors& tensors_;
  const std::string& source_;
  std::string name_;
  Json said_;
};

}  // namespace

StoredTensors store_objects(const NamedTensors& tensors, Stored stored) {
  Storing storing(stored);
  for (const auto& [name, tensor] : tensors) storing.add(name, tensor);
  return storing.take();
}

bool has_objects(const Metadata& metadata) {
  return std::any_of(metadata.begin(), metadata.end(),
                     [](const auto& pair) { return has_prefix(pair.first, kRestoreKey); });
}

NamedTensors make_objects(NamedTensors tensors, const Metadata& metadata,
                          const std::string& source) {
  std::unordered_map<std::string_view, const std::string*> texts;
  std::vector<std::pair<std::string, const std::string*>> whole;
  for (const auto& [key, text] : metadata) {
    texts.emplace(key, &text);
    if (has_prefix(key, kRestoreKey)) whole.emplace_back(key.substr(kRestoreKey.size()), &text);
  }
  // Components before what they are of.
  std::sort(whole.begin(), whole.end(), [](const auto& a, const auto& b) {
    return a.first.size() != b.first.size() ? a.first.size() > b.first.size() : a.first < b.first;
  });
  for (const auto& [name, text] : whole) {
    const auto type = texts.find(std::string(kTypeKey) + name);
    Restoring(tensors, source, name, *text).run(type == texts.end() ? "" : *type->second);
  }
  return tensors;
}

}  // namespace state

TENON_NAMESPACE_END

// Modules: parameters with a forward. Defining them in plugins, and using them anywhere.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenon/define.hpp"
#include "tenon/hookable.hpp"
#include "tenon/type.hpp"

TENON_NAMESPACE_BEGIN

// A counted reference to a module. Any thread may read; changing it needs outside ordering.
class Module : public Hookable<Module> {
 public:
  Module() = default;
  static Module take(tenon_module* handle) noexcept {
    Module module;
    module.handle_ = handle;
    return module;
  }
  static Module borrow(tenon_module* handle) noexcept {
    if (handle != nullptr) host().module_retain(handle);
    return take(handle);
  }
  // By type name and attributes: Module::create("Linear", arg("in_features") = 64,
  // arg("out_features") = 10).
  template <class... Keywords>
  static Module create(const std::string& type, const Keywords&... keywords) {
    constexpr size_t count = sizeof...(Keywords);
    std::array<tenon_string, count + 1> names{
        tenon_string{keywords.name.data(), static_cast<int64_t>(keywords.name.size())}...};
    std::array<tenon_value, count + 1> values{keywords.value.value()...};
    tenon_module* handle = nullptr;
    detail::check(host().module_create, type.c_str(), static_cast<const tenon_value*>(nullptr),
                  int64_t{0}, names.data(), values.data(), static_cast<int64_t>(count), &handle);
    return take(handle);
  }
  Module(const Module& other) noexcept : handle_(other.handle_) {
    if (handle_ != nullptr) host().module_retain(handle_);
  }
  Module(Module&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Module& operator=(Module other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Module() {
    if (handle_ != nullptr) host().module_release(handle_);
  }
  bool defined() const { return handle_ != nullptr; }
  tenon_module* hook_target() const { return required(); }
  tenon_module* handle() const { return handle_; }
  tenon_module* give() noexcept { return std::exchange(handle_, nullptr); }

  std::string type() const { return host().module_type(required()); }
  // An attribute by name, as one of the types of sdk/README.md; text and lists are the module's.
  // IndexError when the type has none of the name, TypeError when it is of another type. For code
  // that knows the type at compile time ModuleOf has the attributes by name.
  template <class T>
  T attribute(std::string_view name) const {
    const tenon_value* value = nullptr;
    detail::check(host().module_attribute, required(), name.data(),
                  static_cast<int64_t>(name.size()), &value);
    if (!detail::holds<T>(*value)) {
      detail::throw_kind((type() + ": the attribute '" + std::string(name) + "'").c_str(), *value,
                         "of the type that it is read as");
    }
    return detail::from_value<T>(*value);
  }
  // Registration, in a definition's create. Undefined: a known name without a value.
  // As PyTorch's Parameter(tensor): the parameter requires grad and shares the tensor's memory, the
  // tensor itself is not changed. A tensor that requires grad is registered as it is, so
  // `b.register_parameter("weight", a.tensor("weight"))` shares one parameter.
  void register_parameter(const char* name, const Tensor& tensor) {
    detail::check(host().module_register_parameter, required(), name, tensor.handle());
  }
  void register_buffer(const char* name, const Tensor& tensor, bool persistent = true) {
    detail::check(host().module_register_buffer, required(), name, tensor.handle(),
                  persistent ? 1 : 0);
  }
  void register_child(const char* name, const Module& child) {
    detail::check(host().module_register_child, required(), name, child.handle());
  }
  // A parameter or buffer by (dotted) name; undefined when it has no value.
  Tensor tensor(const char* name) const {
    tenon_tensor* tensor = nullptr;
    detail::check(host().module_tensor, required(), name, &tensor);
    return Tensor::borrow(tensor);
  }
  Module child(const char* name) const {
    tenon_module* child = nullptr;
    detail::check(host().module_child, required(), name, &child);
    return borrow(child);
  }
  Tensor operator()(const Tensor& input) const {
    Value result;
    detail::check(host().module_call, required(), &Argument(input).value(), int64_t{1},
                  result.slot());
    if (!result.is_tensor() && !result.is_none())
      detail::throw_kind((type() + "(): the result").c_str(), result.get(), "Tensor");
    return result.tensor();
  }
  bool training() const { return host().module_training(required()) != 0; }
  void train(bool training = true) { host().module_train(required(), training ? 1 : 0); }
  void eval() { train(false); }

  // What is registered several times, a shared weight for example, comes once, under its first
  // name, unless remove_duplicate is false.
  std::vector<std::pair<std::string, Tensor>> named_parameters(bool recurse = true,
                                                               bool remove_duplicate = true) const {
    return named<Tensor>(0, recurse, remove_duplicate);
  }
  std::vector<std::pair<std::string, Tensor>> named_buffers(bool recurse = true,
                                                            bool remove_duplicate = true) const {
    return named<Tensor>(1, recurse, remove_duplicate);
  }
  std::vector<std::pair<std::string, Module>> named_children() const {
    return named<Module>(2, false, true);
  }
  // This module first, under the name "".
  std::vector<std::pair<std::string, Module>> named_modules(bool remove_duplicate = true) const {
    return named<Module>(3, true, remove_duplicate);
  }
  std::vector<Tensor> parameters(bool recurse = true) const {
    return listed<Tensor>(0, recurse, true);
  }
  std::vector<Tensor> buffers(bool recurse = true) const {
    return listed<Tensor>(1, recurse, true);
  }
  std::vector<Module> children(bool remove_duplicate = true) const {
    return listed<Module>(2, false, remove_duplicate);
  }
  std::vector<Module> modules() const { return listed<Module>(3, true, true); }
  // Drops every parameter's gradient.
  void zero_grad() const {
    for (const Tensor& parameter : parameters()) Tensor(parameter).set_grad({});
  }
  // Converts floating point parameters, their gradients and buffers where they are: handles of them
  // stay good.
  void to(DType dtype) {
    detail::check(host().module_to, required(), static_cast<tenon_dtype>(dtype));
  }
  std::string text() const {
    Value text;
    detail::check(host().module_text, required(), text.slot());
    return text.text();
  }
  void save(const std::string& path) const {
    detail::check(host().module_save, required(), path.c_str());
  }
  void load(const std::string& path, bool strict = true) {
    detail::check(host().module_load, required(), path.c_str(), strict ? 1 : 0);
  }

 protected:
  tenon_module* required() const {
    if (handle_ == nullptr) throw TypeError("the module is undefined: assign one before using it");
    return handle_;
  }

 private:
  static Tensor borrow_item(const tenon_value& items, size_t i, const Tensor*) {
    return Tensor::borrow(items.as.tensors[i]);
  }
  static Module borrow_item(const tenon_value& items, size_t i, const Module*) {
    return borrow(items.as.modules[i]);
  }
  int64_t walk(int32_t what, bool recurse, bool remove_duplicate, tenon_value* names,
               tenon_value* items) const {
    int64_t count = 0;
    detail::check(host().module_walk, required(),
                  remove_duplicate ? what : what | TENON_WALK_DUPLICATES, recurse ? 1 : 0, &count,
                  names, items);
    return count;
  }
  template <class Item>
  std::vector<Item> listed(int32_t what, bool recurse, bool remove_duplicate) const {
    Value items;
    const int64_t count = walk(what, recurse, remove_duplicate, nullptr, items.slot());
    std::vector<Item> list;
    list.reserve(static_cast<size_t>(count));
    for (size_t i = 0; i < static_cast<size_t>(count); ++i)
      list.push_back(borrow_item(items.get(), i, static_cast<const Item*>(nullptr)));
    return list;
  }
  template <class Item>
  std::vector<std::pair<std::string, Item>> named(int32_t what, bool recurse,
                                                  bool remove_duplicate) const {
    Value names, items;
    walk(what, recurse, remove_duplicate, names.slot(), items.slot());
    std::vector<std::string> texts = names.strings();
    std::vector<std::pair<std::string, Item>> list;
    list.reserve(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      list.emplace_back(std::move(texts[i]),
                        borrow_item(items.get(), i, static_cast<const Item*>(nullptr)));
    }
    return list;
  }
  tenon_module* handle_ = nullptr;
};

// A module of one type, whose attributes have names: `self["stride"_arg]` in a definition's
// functions, of the type that the schema says.
template <class Definition>
class ModuleOf : public Module {
 public:
  explicit ModuleOf(Module module) : Module(std::move(module)) {}
  template <char... name>
  decltype(auto) operator[](ArgumentName<name...>) const {
    using Attribute = detail::ParameterOf<Definition, name...>;
    static_assert(Attribute::known, "the schema has no attribute of this name");
    if constexpr (Attribute::known)
      return detail::from_value<typename Attribute::Type>(
          host().module_attributes(required())[Attribute::place.index]);
    else
      return detail::Unknown();
  }
};

namespace detail {

// A module definition is a struct:
//   static constexpr auto schema = "Linear(int in_features, int out_features, bool bias=True)";
//   static void create(Module& self, int64_t in_features, int64_t out_features, bool bias);
//   static Tensor forward(const ModuleOf<Linear>& self, const Tensor& input);
// forward, extra_repr and tenon_function may take a plain const Module& as well. A mode that a
// plugin ships is one, too, entered by a ModeScope (mode.hpp), with or without forward:
//   static Results tenon_function(const Module& self, const Call& call);
template <class D, class R, class... P, size_t... I>
void call_create(R (*create)(Module&, P...), Module& self, const tenon_value* attributes,
                 std::index_sequence<I...>) {
  static_assert(sizeof...(P) == static_cast<size_t>(count_schema(D::schema).parameters),
                "create must take the module and exactly the schema's attributes");
  static_assert((takes<P>(count_schema(D::schema).types[I]) && ...),
                "a parameter of create has a type that the schema's does not arrive as; "
                "sdk/README.md has the table");
  create(self, from_value<P>(attributes[I])...);
}
template <class D, class R, class... P>
void call_create(R (*create)(Module&, P...), Module& self, const tenon_value* attributes) {
  call_create<D>(create, self, attributes, std::index_sequence_for<P...>{});
}
template <class D>
tenon_status run_create(void*, tenon_module* handle, const tenon_value* attributes, void**,
                        tenon_error** error) {
  return guarded(error, [&] {
    Module self = Module::borrow(handle);
    if constexpr (Has_create<D>::value) call_create<D>(&D::create, self, attributes);
  });
}
template <class Self, class R, class Taken, class... P, size_t... I>
R call_module(R (*forward)(const Taken&, P...), const Self& self, const tenon_value* inputs,
              int64_t count, std::index_sequence<I...>) {
  if (count != static_cast<int64_t>(sizeof...(P))) {
    throw TypeError(self.type() + "() takes " + std::to_string(sizeof...(P)) + " inputs but " +
                    std::to_string(count) + " were given");
  }
  return forward(self, from_value<P>(inputs[I])...);
}
template <class Self, class R, class Taken, class... P>
R call_module(R (*forward)(const Taken&, P...), const Self& self, const tenon_value* inputs,
              int64_t count) {
  return call_module(forward, self, inputs, count, std::index_sequence_for<P...>{});
}
template <class D>
tenon_status run_module(void*, void*, tenon_module* handle, const tenon_value* inputs,
                        int64_t count, tenon_value* result, tenon_error** error) {
  return guarded(error, [&] {
    const ModuleOf<D> self(Module::borrow(handle));
    give_result(call_module(&D::forward, self, inputs, count), result);
  });
}
template <class D>
tenon_status run_extra_repr(void*, void*, tenon_module* handle, tenon_value* text,
                            tenon_error** error) {
  return guarded(error, [&] {
    give_result(std::string(D::extra_repr(ModuleOf<D>(Module::borrow(handle)))), text);
  });
}
template <class D>
tenon_status run_module_as_mode(void*, void*, tenon_module* handle, const tenon_call* call,
                                tenon_value* results, tenon_error** error) {
  return answer(call, results, error,
                [&] { return D::tenon_function(ModuleOf<D>(Module::borrow(handle)), Call(call)); });
}
template <class D>
constexpr tenon_module_descriptor make_module() {
  check_schema_text<D, false>();
  tenon_module_descriptor module{};
  module.size = sizeof(tenon_module_descriptor);
  module.schema = D::schema;
  module.doc = doc_of<D>();
  module.create = run_create<D>;
  static_assert(Has_forward<D>::value || TypeHas_tenon_function<D>::value,
                "a module has a forward, or is a mode and has a tenon_function");
  if constexpr (Has_forward<D>::value) module.forward = run_module<D>;
  if constexpr (TypeHas_tenon_function<D>::value) module.tenon_function = run_module_as_mode<D>;
  if constexpr (Has_extra_repr<D>::value) module.extra_repr = run_extra_repr<D>;
  return module;
}
template <class D>
struct ModuleFact {
  static constexpr void write(FactsWriter& writer) {
    writer.raw("{\"module\":{\"schema\":");
    writer.string(D::schema);
    writer.raw(",\"doc\":");
    writer.string(doc_of<D>());
    write_samples<D>(writer);
    if constexpr (TypeHas_tenon_function<D>::value) writer.raw(",\"mode\":true");
    writer.raw("}}");
  }
};

}  // namespace detail
TENON_NAMESPACE_END

// Defines and registers a module. At global scope, once for a definition; in any file of the
// plugin.
#define TENON_MODULE(Definition) TENON_REGISTER(module, Definition, ModuleFact, make_module)

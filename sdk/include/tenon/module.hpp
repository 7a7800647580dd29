// Modules: parameters, buffers and children by name around a forward. Using them anywhere;
// module_definition.hpp has what defines them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenon/detail/hookable.hpp"
#include "tenon/detail/parameters.hpp"
#include "tenon/op.hpp"

TENON_NAMESPACE_BEGIN

// A counted reference to a module. Any thread may read and call it; changing it needs outside
// ordering.
class Module : public Hookable<Module> {
 public:
  Module() = default;
  static Module take(tenon_module* handle) noexcept {  // takes the reference
    Module module;
    module.handle_ = handle;
    return module;
  }
  static Module borrow(tenon_module* handle) noexcept {  // adds a reference
    if (handle != nullptr) service::modules().retain(handle);
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
    detail::check(service::modules().create, type.c_str(), static_cast<const tenon_value*>(nullptr),
                  int64_t{0}, names.data(), values.data(), static_cast<int64_t>(count), &handle);
    return take(handle);
  }
  Module(const Module& other) noexcept : handle_(other.handle_) {
    if (handle_ != nullptr) service::modules().retain(handle_);
  }
  Module(Module&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Module& operator=(Module other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Module() {
    if (handle_ != nullptr) service::modules().release(handle_);
  }
  bool defined() const { return handle_ != nullptr; }                        // false: none
  tenon_module* hook_target() const { return required(); }                   // for module_hooks.hpp
  tenon_module* handle() const { return handle_; }                           // borrowed
  tenon_module* give() noexcept { return std::exchange(handle_, nullptr); }  // to the caller
  bool is_same(const Module& other) const { return handle_ == other.handle_; }  // one module
  // A number of this instance in the process, which nodes keep (Node::module); 0 for an undefined one.
  uint64_t number() const { return service::modules().number(handle_); }

  // Full name: "nn.Linear".
  std::string type() const { return service::modules().type(required()); }
  // The schema that calls are bound to: "forward(Tensor input) -> Tensor".
  std::string forward_schema() const {
    tenon_string text{};
    detail::check(service::modules().forward, required(), &text, static_cast<int64_t*>(nullptr));
    return std::string(text.data, static_cast<size_t>(text.length));
  }
  // An attribute by name, as one of the types in sdk/docs/reference/schema_types.md; text and lists
  // are the module's. IndexError when the type has none of the name, TypeError when it is of another type.
  template <class T>
  T attribute(std::string_view name) const {
    const tenon_value* value = nullptr;
    detail::check(service::modules().attribute, required(), name.data(),
                  static_cast<int64_t>(name.size()), &value);
    if (!detail::holds<T>(*value)) {
      detail::throw_kind((type() + ": the attribute '" + std::string(name) + "'").c_str(), *value,
                         "of the type that it is read as");
    }
    return detail::from_value<T>(*value);
  }

  // ---- calls ----
  // Runs forward, whose arguments are bound as an op's: positional ones, then keywords,
  // lstm(input, arg("hidden") = h). For modules with one result.
  template <class... Arguments>
  Tensor operator()(const Arguments&... arguments) const {
    return call<Tensor>(arguments...);
  }
  // With the result type named: Tensor, Value, std::tuple<Tensor, Tensor>, void.
  template <class Result, class... Arguments>
  Result call(const Arguments&... arguments) const {
    return call_by<Result>(
        [this](const Given& given, tenon_value* results, int64_t result_count) {
          detail::check(service::modules().call, required(), given.values, given.count,
                        given.keywords, given.keyword_values, given.keyword_count, results,
                        result_count);
        },
        arguments...);
  }
  bool training() const { return service::modules().training(required()) != 0; }  // false: eval
  // Itself and all below.
  void train(bool training = true) const { service::modules().train(required(), training ? 1 : 0); }
  void eval() const { train(false); }  // itself and all below

  // ---- members ----
  // As PyTorch's Parameter(tensor): the parameter requires grad and shares the tensor's memory, the
  // tensor itself is not changed. A tensor that requires grad is registered as it is, so
  // `b.register_parameter("weight", a.tensor("weight"))` shares one parameter. Undefined: a known
  // name without a value.
  void register_parameter(const char* name, const Tensor& tensor) {
    detail::check(service::modules().register_parameter, required(), name, tensor.handle());
  }
  // A tensor without gradients, in state files unless it is not persistent.
  void register_buffer(const char* name, const Tensor& tensor, bool persistent = true) {
    detail::check(service::modules().register_buffer, required(), name, tensor.handle(),
                  persistent ? 1 : 0);
  }
  void register_child(const char* name, const Module& child) {  // replaces a child of this name
    detail::check(service::modules().register_child, required(), name, child.handle());
  }
  // Another value for a registered name; undefined for none. A parameter is a leaf that requires
  // grad.
  void assign(std::string_view name, const Tensor& tensor) {
    assign(name, tensor.handle(), TENON_VALUE_TENSOR, 0);
  }
  void assign(std::string_view name, const Module& child) {  // a child, of an attribute's name
    assign(name, child.handle(), TENON_VALUE_MODULE, 0);
  }
  // A parameter or buffer by (dotted) name; undefined when it has no value.
  Tensor tensor(const char* name) const {
    tenon_tensor* tensor = nullptr;
    detail::check(service::modules().tensor, required(), name, &tensor);
    return Tensor::borrow(tensor);
  }
  Module child(const char* name) const {  // undefined without one
    tenon_module* child = nullptr;
    detail::check(service::modules().child, required(), name, &child);
    return borrow(child);
  }

  // ---- walks ----
  // What is registered several times, a shared weight for example, comes once, under its first
  // name, unless remove_duplicate is false.
  std::vector<std::pair<std::string, Tensor>> named_parameters(bool recurse = true,
                                                               bool remove_duplicate = true) const {
    return named<Tensor>(0, recurse, remove_duplicate);
  }
  // With the path of each.
  std::vector<std::pair<std::string, Tensor>> named_buffers(bool recurse = true,
                                                            bool remove_duplicate = true) const {
    return named<Tensor>(1, recurse, remove_duplicate);
  }
  std::vector<std::pair<std::string, Module>> named_children() const {  // direct ones
    return named<Module>(2, false, true);
  }
  // This module first, under the name `prefix`; those below are "prefix.child", or "child" where
  // there is no prefix.
  std::vector<std::pair<std::string, Module>> named_modules(bool remove_duplicate = true,
                                                            const std::string& prefix = "") const {
    auto list = named<Module>(3, true, remove_duplicate);
    if (prefix.empty()) return list;
    for (auto& item : list) item.first = item.first.empty() ? prefix : prefix + "." + item.first;
    return list;
  }
  std::vector<Tensor> parameters(bool recurse = true) const {  // in order of names
    return listed<Tensor>(0, recurse, true);
  }
  std::vector<Tensor> buffers(bool recurse = true) const {  // with those of children
    return listed<Tensor>(1, recurse, true);
  }
  std::vector<Module> children(bool remove_duplicate = true) const {  // direct ones
    return listed<Module>(2, false, remove_duplicate);
  }
  std::vector<Module> modules(bool include_self = true) const {  // itself and all below
    return listed<Module>(3, true, true, include_self ? 0 : 1);
  }
  // Calls `function(module)` for each module, children before their parents.
  template <class Function>
  const Module& apply(Function&& function) const {
    const std::vector<Module> all = modules();
    for (auto module = all.rbegin(); module != all.rend(); ++module) function(*module);
    return *this;
  }
  // Drops every parameter's gradient.
  void zero_grad() const {
    for (const Tensor& parameter : parameters()) Tensor(parameter).set_grad({});
  }
  // Whether parameters get gradients, of all below.
  void requires_grad_(bool requires_grad = true) const {
    for (const Tensor& parameter : parameters()) Tensor(parameter).requires_grad_(requires_grad);
  }
  // Converts floating point parameters, their gradients and buffers where they are: handles of them
  // stay good.
  void to(DType dtype) const {
    detail::check(service::modules().to, required(), static_cast<tenon_dtype>(dtype));
  }
  // A copy with its own tensors and hooks; what is shared stays shared. Gradients are not copied.
  // RuntimeError for a type that cannot copy the state of its instances.
  Module clone() const {
    tenon_module* copy = nullptr;
    detail::check(service::modules().clone, required(), &copy);
    return take(copy);
  }
  // The tree, a line for each module below, indented: module_text.hpp.
  std::string text() const;

 protected:
  // The arguments of a call, as the boundary has them: by position, then by keyword.
  struct Given {
    const tenon_value* values;          // by position
    int64_t count;                      // entries of `values`
    const tenon_string* keywords;       // names of values by name
    const tenon_value* keyword_values;  // values by name
    int64_t keyword_count;              // entries of `keywords`
  };
  // A call by `run(given, results, result_count)`, which is modules.call or does the same.
  template <class Result, class Run, class... Arguments>
  Result call_by(Run&& run, const Arguments&... arguments) const {
    constexpr size_t keywords = (size_t{0} + ... + (std::is_same_v<Arguments, Keyword> ? 1 : 0));
    std::array<tenon_value, sizeof...(Arguments) + 1> values{};
    std::array<tenon_string, keywords + 1> names{};
    std::array<tenon_value, keywords + 1> named{};
    size_t v = 0, k = 0;
    (place(arguments, values.data(), v, names.data(), named.data(), k), ...);
    tenon_value results[detail::max_results];
    run(Given{values.data(), static_cast<int64_t>(v), names.data(), named.data(),
              static_cast<int64_t>(k)},
        results, int64_t{detail::count_results<Result>()});
    return take_results<Result>(results);
  }
  // RuntimeError where undefined.
  tenon_module* required() const {
    if (handle_ == nullptr) throw TypeError("the module is undefined: assign one before using it");
    return handle_;
  }
  // A value of the attribute; null: none.
  template <class Handle>
  void assign(std::string_view name, Handle* handle, uint32_t tag, uint32_t flags) {
    tenon_value value{};
    if (handle != nullptr) {
      value.tag = tag;
      value.as.pointer = handle;
    }
    detail::check(service::modules().assign, required(), name.data(),
                  static_cast<int64_t>(name.size()), &value, flags);
  }

 private:
  static void place(const Keyword& keyword, tenon_value*, size_t&, tenon_string* names,
                    tenon_value* named, size_t& k) {
    names[k] = detail::string_of(keyword.name);
    named[k++] = keyword.value.value();
  }
  static void place(const Argument& argument, tenon_value* values, size_t& v, tenon_string*,
                    tenon_value*, size_t&) {
    values[v++] = argument.value();
  }
  template <class Result>
  Result take_results(tenon_value* results) const {
    if constexpr (detail::IsTuple<Result>::value)
      return take_tuple<Result>(results, std::make_index_sequence<std::tuple_size_v<Result>>{});
    else if constexpr (!std::is_void_v<Result>)
      return take_result<Result>(results[0]);
  }
  template <class Result, size_t... I>
  Result take_tuple(tenon_value* results, std::index_sequence<I...>) const {
    std::array<Value, sizeof...(I)> owned{Value(results[I])...};
    return Result{take_result<std::tuple_element_t<I, Result>>(*owned[I].slot())...};
  }
  template <class Result>
  Result take_result(tenon_value& result) const {
    Value value(std::exchange(result, tenon_value{}));
    if constexpr (std::is_same_v<Result, Value>) {
      return value;
    } else if constexpr (std::is_same_v<Result, Tensor>) {
      if (!value.is_tensor() && !value.is_none())
        detail::throw_kind((type() + "(): the result").c_str(), value.get(), "Tensor");
      return value.tensor();
    } else {
      return value.to<Result>();
    }
  }
  static Tensor borrow_item(const tenon_value& items, size_t i, const Tensor*) {
    return Tensor::borrow(items.as.tensors[i]);
  }
  static Module borrow_item(const tenon_value& items, size_t i, const Module*) {
    return borrow(items.as.modules[i]);
  }
  int64_t walk(int32_t what, bool recurse, bool remove_duplicate, tenon_value* names,
               tenon_value* items) const {
    int64_t count = 0;
    detail::check(service::modules().walk, required(),
                  remove_duplicate ? what : what | TENON_WALK_DUPLICATES, recurse ? 1 : 0, &count,
                  names, items);
    return count;
  }
  template <class Item>
  std::vector<Item> listed(int32_t what, bool recurse, bool remove_duplicate,
                           size_t from = 0) const {
    Value items;
    const int64_t count = walk(what, recurse, remove_duplicate, nullptr, items.slot());
    std::vector<Item> list(static_cast<size_t>(count) - from);
    for (Item& item : list)
      item = borrow_item(items.get(), from++, static_cast<const Item*>(nullptr));
    return list;
  }
  template <class Item>
  std::vector<std::pair<std::string, Item>> named(int32_t what, bool recurse,
                                                  bool remove_duplicate) const {
    Value names, items;
    walk(what, recurse, remove_duplicate, names.slot(), items.slot());
    std::vector<std::string> texts = names.strings();
    std::vector<std::pair<std::string, Item>> list(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      list[i] = {std::move(texts[i]),
                 borrow_item(items.get(), i, static_cast<const Item*>(nullptr))};
    }
    return list;
  }
  tenon_module* handle_ = nullptr;
};

// Modules by name, in the order of insertion: what an attribute of type Module{} is.
class ModuleDict {
 public:
  ModuleDict() = default;
  // Modules by name, in this order.
  ModuleDict(std::initializer_list<std::pair<std::string, Module>> items) : items_(items) {}
  void insert(std::string name, Module module) {  // at the end
    items_.emplace_back(std::move(name), std::move(module));
  }
  auto begin() const { return items_.begin(); }  // in order
  auto end() const { return items_.end(); }      // in order
  size_t size() const { return items_.size(); }  // entries
  // As the boundary has them; valid until the next insert.
  const tenon_named_module* entries() const {
    entries_.resize(items_.size());
    for (size_t i = 0; i < items_.size(); ++i)
      entries_[i] = {detail::string_of(items_[i].first), items_[i].second.handle()};
    return entries_.data();
  }

 private:
  std::vector<std::pair<std::string, Module>> items_;
  mutable std::vector<tenon_named_module> entries_;
};

inline Argument::Argument(const Module& module) : value_{} {
  if (!module.defined()) return;
  value_.tag = TENON_VALUE_MODULE;
  value_.as.module = module.handle();
}
// A Module is its handle.
inline Argument::Argument(const std::vector<Module>& modules)
    : value_{TENON_VALUE_MODULE_LIST, static_cast<uint32_t>(modules.size()), {0}} {
  static_assert(sizeof(Module) == sizeof(tenon_module*));
  value_.as.modules = reinterpret_cast<tenon_module* const*>(modules.data());
}
inline Argument::Argument(const ModuleDict& modules)
    : value_{TENON_VALUE_MODULE_DICT, static_cast<uint32_t>(modules.size()), {0}} {
  value_.as.named_modules = modules.entries();
}

namespace detail {

template <>
struct HandleParameter<Module> {
  static constexpr std::string_view type = "Module";
  static constexpr uint32_t tag = TENON_VALUE_MODULE;
  static Module read(const tenon_value& value) {
    return value.tag == TENON_VALUE_NONE ? Module() : Module::borrow(value.as.module);
  }
};
template <>
struct HandleParameter<std::vector<Module>> {
  static constexpr std::string_view type = "Module[]";
  static constexpr uint32_t tag = TENON_VALUE_MODULE_LIST;
  static std::vector<Module> read(const tenon_value& value) {
    std::vector<Module> modules(value.length);
    for (uint32_t i = 0; i < value.length; ++i) modules[i] = Module::borrow(value.as.modules[i]);
    return modules;
  }
};
template <>
struct HandleParameter<ModuleDict> {
  static constexpr std::string_view type = "Module{}";
  static constexpr uint32_t tag = TENON_VALUE_MODULE_DICT;
  static ModuleDict read(const tenon_value& value) {
    ModuleDict modules;
    for (uint32_t i = 0; i < value.length; ++i) {
      const tenon_named_module& entry = value.as.named_modules[i];
      modules.insert(std::string(entry.name.data, static_cast<size_t>(entry.name.length)),
                     Module::borrow(entry.module));
    }
    return modules;
  }
};

}  // namespace detail

TENON_NAMESPACE_END

#include "tenon/module_text.hpp"  // IWYU pragma: export

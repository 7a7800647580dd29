// Defining modules: a class with members becomes a descriptor and its facts.
//
//   struct Linear : ModuleOf<Linear> {
//     static constexpr auto schema = "Linear(int in_features, int out_features, bool bias=True)";
//     static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
//
//     Parameter weight{*this, "weight"}, bias{*this, "bias"};
//
//     Linear(int64_t in_features, int64_t out_features, bool with_bias) {
//       weight = rand({out_features, in_features});
//       if (with_bias) bias = zeros({out_features});
//     }
//     Tensor forward(const Tensor& input) const { return linear(input, weight, bias); }
//   };
//   TENON_MODULE(Linear)
//
// The host owns the tensors and children and knows them by name: it converts, saves, loads, clones
// and prints them without the definition's help, and the members follow. What else an instance
// needs are ordinary members. The constructor takes the attributes in the schema's order (a
// definition whose forward reads them by name, (*this)["stride"_arg], needs none); forward takes
// the forward schema's parameters, is const, and may run on several threads at once.
//
// Members of a module definition:
//   schema, doc      the type's name and attributes, without `->`; a sentence for listings
//   forward_schema   `forward(...) -> ...`: calls are bound to it as an op's are, with defaults,
//                    keywords, several results, checks
//   a constructor    takes the attributes and gives members their values. A definition that only
//                    reads attributes by name needs none
//   forward          const function of the forward schema's parameters; a std::tuple for several
//                    results. Gradients come from the ops that it calls
//   extra_repr       const, () -> std::string: the text between the parentheses of the printed form;
//                    default: `name=value` of each attribute
//   tenon_function   const, (const Call&) -> Results: makes the module a mode (mode.hpp); forward is
//                    optional then
//   samples          JSON text: attributes and inputs that `tenon check` tries the module with
//   own_forward_schema   true, in place of forward_schema: the constructor calls
//                    set_forward_schema(text), and forward is const,
//                    (const tenon_value* arguments) -> std::vector<Value>
//   a copy constructor   needed by clone; most definitions have one without writing it
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenon/call.hpp"
#include "tenon/define.hpp"
#include "tenon/json.hpp"
#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

// The module whose definition is made or copied on this thread.
struct ModuleInMaking {
  tenon_module* module = nullptr;
  bool copying = false;
};
inline ModuleInMaking& module_in_making() {
  static thread_local ModuleInMaking making;
  return making;
}
class MakingScope {
 public:
  MakingScope(tenon_module* module, bool copying)
      : before_(std::exchange(module_in_making(), ModuleInMaking{module, copying})) {}
  MakingScope(const MakingScope&) = delete;
  MakingScope& operator=(const MakingScope&) = delete;
  ~MakingScope() { module_in_making() = before_; }

 private:
  ModuleInMaking before_;
};

class Parameter;
class Buffer;
class Child;

// Base of module definitions: registers members and finds names.
class ModuleBase {
 public:
  using Parameter = detail::Parameter;
  using Buffer = detail::Buffer;
  using Child = detail::Child;
  ModuleBase& operator=(const ModuleBase&) = delete;
  tenon_module* handle() const { return handle_; }

 protected:
  ModuleBase() : handle_(module_in_making().module) {}
  ModuleBase(const ModuleBase&) : ModuleBase() {}
  ~ModuleBase() = default;

 private:
  tenon_module* handle_;  // it owns this object
};

// A Tensor or Module that follows what the host has under a name.
template <class Handle>
class Member : public Handle {
 public:
  // Copies a member: bound to the copy when its instance is cloned, else the value alone.
  Member(const Member& other) : Handle() {
    const ModuleInMaking& making = module_in_making();
    if (other.owner_ != nullptr && making.copying)
      bind(making.module, other.name_);
    else
      Handle::operator=(other);
  }
  ~Member() {
    if (owner_ != nullptr) service::modules().unbind(owner_, name_.data(), length());
  }

 protected:
  Member() = default;
  void bind(tenon_module* owner, const std::string& name) {
    static_assert(sizeof(Handle) == sizeof(void*), "a handle is one pointer");
    name_ = name;
    check(service::modules().bind, owner, name_.data(), length(),
          reinterpret_cast<void**>(static_cast<Handle*>(this)));
    owner_ = owner;
  }
  void assign(const Handle& value, uint32_t tag) {
    if (owner_ == nullptr) {
      Handle::operator=(value);
      return;
    }
    tenon_value given{};
    if (value.defined()) {
      given.tag = tag;
      given.as.pointer = value.handle();
    }
    check(service::modules().assign, owner_, name_.data(), length(), &given,
          uint32_t{TENON_ASSIGN_MAKE_PARAMETER});
  }

 private:
  int64_t length() const { return static_cast<int64_t>(name_.size()); }
  tenon_module* owner_ = nullptr;
  std::string name_;
};

// The members of a definition. Each registers its name where it is declared, in that order, without
// a value; an assignment gives it one.
class Parameter : public Member<Tensor> {
 public:
  Parameter(ModuleBase& owner, const std::string& name) {
    check(service::modules().register_parameter, owner.handle(), name.c_str(),
          static_cast<tenon_tensor*>(nullptr));
    bind(owner.handle(), name);
  }
  Parameter(const Parameter&) = default;
  // See Module::register_parameter.
  Parameter& operator=(const Tensor& tensor) {
    assign(tensor, TENON_VALUE_TENSOR);
    return *this;
  }
  Parameter& operator=(const Parameter& other) { return *this = static_cast<const Tensor&>(other); }
};

class Buffer : public Member<Tensor> {
 public:
  // Not persistent: it is not part of the state.
  Buffer(ModuleBase& owner, const std::string& name, bool persistent = true) {
    check(service::modules().register_buffer, owner.handle(), name.c_str(),
          static_cast<tenon_tensor*>(nullptr), persistent ? 1 : 0);
    bind(owner.handle(), name);
  }
  Buffer(const Buffer&) = default;
  Buffer& operator=(const Tensor& tensor) {
    assign(tensor, TENON_VALUE_TENSOR);
    return *this;
  }
  Buffer& operator=(const Buffer& other) { return *this = static_cast<const Tensor&>(other); }
};

class Child : public Member<Module> {
 public:
  Child(ModuleBase& owner, const std::string& name) {
    check(service::modules().register_child, owner.handle(), name.c_str(),
          static_cast<tenon_module*>(nullptr));
    bind(owner.handle(), name);
  }
  Child(const Child&) = default;
  Child& operator=(const Module& module) {
    assign(module, TENON_VALUE_MODULE);
    return *this;
  }
  Child& operator=(const Child& other) { return *this = static_cast<const Module&>(other); }
};

}  // namespace detail

// The base of a module's definition.
template <class Definition>
class ModuleOf : public detail::ModuleBase {
 public:
  Module module() const { return Module::borrow(handle()); }                    // itself
  bool training() const { return service::modules().training(handle()) != 0; }  // false: eval
  // An attribute by name, of the type that the schema says; text and lists are the module's.
  template <char... name>
  decltype(auto) operator[](ArgumentName<name...>) const {
    using Attribute = detail::ParameterOf<Definition, name...>;
    static_assert(Attribute::known, "the schema has no attribute of this name");
    if constexpr (Attribute::known)
      return detail::from_value<typename Attribute::Type>(
          service::modules().attributes(handle())[Attribute::place.index]);
    else
      return detail::Unknown();
  }

 protected:
  // For names that only the attributes say.
  void register_parameter(const std::string& name, const Tensor& tensor) {
    module().register_parameter(name.c_str(), tensor);
  }
  // A tensor without gradients, in state files unless it is not persistent.
  void register_buffer(const std::string& name, const Tensor& tensor, bool persistent = true) {
    module().register_buffer(name.c_str(), tensor, persistent);
  }
  // Part of walks and state files.
  void register_child(const std::string& name, const Module& child) {
    module().register_child(name.c_str(), child);
  }
  // In the constructor of a definition with `own_forward_schema`.
  void set_forward_schema(const std::string& schema) {
    detail::check(service::modules().set_forward, handle(), schema.data(),
                  static_cast<int64_t>(schema.size()));
  }
};

namespace detail {

template <>
struct HandleParameter<Json> {
  static constexpr std::string_view type = "json";
  static constexpr uint32_t tag = TENON_VALUE_JSON;
  static Json read(const tenon_value& value) {
    return value.tag == TENON_VALUE_NONE ? Json() : Json::borrow(value.as.json);
  }
};

// Reads an attribute as the type that the constructor gets it as.
template <class D, size_t I>
auto read_attribute(const tenon_value* attributes) {
  constexpr std::string_view type = count_schema(D::schema, false).types[I];
  const tenon_value& value = attributes[I];
  if constexpr (base_type(type) == "Module") {
    if constexpr (type.find('{') != std::string_view::npos)
      return from_value<ModuleDict>(value);
    else if constexpr (type.find('[') != std::string_view::npos)
      return from_value<std::vector<Module>>(value);
    else
      return from_value<Module>(value);
  } else if constexpr (base_type(type) == "json") {
    return from_value<Json>(value);
  } else {
    using One = TypeOf<kind_of(type)>;
    using Read = std::conditional_t<reads_as_optional(type), std::optional<One>, One>;
    return std::decay_t<Read>(from_value<Read>(value));
  }
}
template <class D, size_t... I>
D* make_definition(const tenon_value* attributes, std::index_sequence<I...>) {
  (void)attributes;
  constexpr bool takes_attributes =
      std::is_constructible_v<D, decltype(read_attribute<D, I>(attributes))...>;
  static_assert(takes_attributes || std::is_default_constructible_v<D>,
                "the constructor of a module takes the schema's attributes, in their order, as the "
                "types of the table in sdk/docs/reference/schema_types.md");
  if constexpr (takes_attributes)
    return new D(read_attribute<D, I>(attributes)...);
  else
    return new D();
}
template <class D>
tenon_status run_create(void*, tenon_module* handle, const tenon_value* attributes, void** state,
                        tenon_error** error) {
  return guarded(error, [&] {
    constexpr auto count = static_cast<size_t>(count_schema(D::schema, false).parameters);
    const MakingScope scope(handle, false);
    *state = make_definition<D>(attributes, std::make_index_sequence<count>{});
  });
}
template <class D>
tenon_status run_clone(void*, void* state, tenon_module* copy, void** copy_state,
                       tenon_error** error) {
  return guarded(error, [&] {
    const MakingScope scope(copy, true);
    *copy_state = new D(*static_cast<const D*>(state));
  });
}
template <class D>
void run_destroy(void*, void* state) {
  delete static_cast<D*>(state);
}

// `Owner`: the definition, or what it inherits forward from.
template <class Owner, class R, class... P, size_t... I>
void call_forward(R (Owner::*forward)(P...) const, const Owner& self,
                  [[maybe_unused]] const tenon_value* arguments,
                  [[maybe_unused]] tenon_value* results, std::index_sequence<I...>) {
  if constexpr (std::is_void_v<R>)
    (self.*forward)(from_value<P>(arguments[I])...);
  else
    give_results((self.*forward)(from_value<P>(arguments[I])...), results);
}
template <class D, class Owner, class R, class... P>
void call_forward(R (Owner::*forward)(P...) const, const D& self, const tenon_value* arguments,
                  tenon_value* results) {
  call_forward<Owner>(forward, self, arguments, results, std::index_sequence_for<P...>{});
}
// Calls forward of a definition whose instances have their own forward schemas.
template <class D>
void call_own_forward(const D& self, const tenon_value* arguments, tenon_value* results) {
  tenon_string schema{};
  int64_t count = 0;
  check(service::modules().forward, self.handle(), &schema, &count);
  std::vector<Value> given = self.forward(arguments);
  if (given.size() != static_cast<size_t>(count)) {
    throw_message(TENON_ERROR_TYPE, {self.module().type(), "(): forward gave ", given.size(),
                                     " results, its schema has ", count});
  }
  for (size_t i = 0; i < given.size(); ++i) results[i] = given[i].give();
}
template <class D>
tenon_status run_module(void*, void* state, tenon_module*, const tenon_value* arguments,
                        tenon_value* results, tenon_error** error) {
  return guarded(error, [&] {
    const D& self = *static_cast<const D*>(state);
    if constexpr (Declares_own_forward_schema<D>::value)
      call_own_forward(self, arguments, results);
    else
      call_forward(&D::forward, self, arguments, results);
  });
}
template <class D>
tenon_status run_extra_repr(void*, void* state, tenon_module*, tenon_value* text,
                            tenon_error** error) {
  return guarded(
      error, [&] { give_result(std::string(static_cast<const D*>(state)->extra_repr()), text); });
}
template <class D>
tenon_status run_module_as_mode(void*, void* state, tenon_module*, const tenon_call* call,
                                tenon_value* results, tenon_error** error) {
  return answer(call, results, error,
                [&] { return static_cast<const D*>(state)->tenon_function(Call(call)); });
}

// Checks parameters and results of forward against its schema.
template <class... P, size_t... I>
constexpr bool parameters_fit(const SchemaCounts& schema, std::index_sequence<I...>) {
  return (takes<P>(schema.types[I]) && ...);
}
template <class D, class Owner, class R, class... P>
constexpr bool forward_fits(R (Owner::*)(P...) const) {
  constexpr SchemaCounts schema = count_schema(D::forward_schema);
  static_assert(sizeof...(P) == static_cast<size_t>(schema.parameters),
                "forward takes the parameters of forward_schema, no more and no fewer");
  static_assert(parameters_fit<P...>(schema, std::index_sequence_for<P...>{}),
                "the type of a parameter of forward does not match its schema type; "
                "sdk/docs/reference/schema_types.md has the table");
  static_assert(count_results<R>() == schema.returns,
                "forward returns as many results as forward_schema: a std::tuple for several");
  static_assert(ResultsFit<R>::fit(schema),
                "forward returns a type that is not its schema's result; "
                "sdk/docs/reference/schema_types.md has the "
                "table");
  return true;
}
template <class D, class Owner, class R, class... P>
constexpr bool forward_fits(R (Owner::*)(P...)) {
  static_assert(!sizeof(D), "forward is a const member: it may run on several threads at once");
  return false;
}
template <class D>
constexpr void check_forward() {
  if constexpr (!Declares_own_forward_schema<D>::value) {
    static_assert(Has_forward_schema<D>::value,
                  "a module with a forward has a forward_schema: static constexpr auto "
                  "forward_schema = \"forward(Tensor input) -> Tensor\"");
    if constexpr (Has_forward_schema<D>::value) forward_fits<D>(&D::forward);
  }
}

template <class D>
constexpr tenon_module_descriptor make_module() {
  static_assert(std::is_base_of_v<ModuleBase, D>,
                "a module's definition derives from ModuleOf of itself: struct Linear : "
                "tenon::ModuleOf<Linear>");
  check_schema_text<D, false>();
  tenon_module_descriptor module{};
  module.size = sizeof(tenon_module_descriptor);
  module.schema = D::schema;
  module.doc = doc_of<D>();
  module.create = run_create<D>;
  module.destroy = run_destroy<D>;
  static_assert(Has_forward<D>::value || Has_tenon_function<D>::value,
                "a module has a forward, or is a mode and has a tenon_function");
  if constexpr (Has_forward<D>::value) {
    check_forward<D>();
    module.forward = run_module<D>;
  }
  if constexpr (Has_forward_schema<D>::value) module.forward_schema = D::forward_schema;
  if constexpr (Declares_own_forward_schema<D>::value) module.flags = TENON_MODULE_OWN_FORWARD;
  if constexpr (Has_tenon_function<D>::value) module.tenon_function = run_module_as_mode<D>;
  if constexpr (Has_extra_repr<D>::value) module.extra_repr = run_extra_repr<D>;
  if constexpr (std::is_copy_constructible_v<D>) module.clone = run_clone<D>;
  return module;
}
template <class D>
struct ModuleFact {
  static constexpr void write(FactsWriter& writer) {
    writer.raw(R"({"module":{"schema":)");
    writer.string(D::schema);
    if constexpr (Has_forward_schema<D>::value) {
      writer.raw(R"(,"forward":)");
      writer.string(D::forward_schema);
    }
    writer.raw(R"(,"doc":)");
    writer.string(doc_of<D>());
    write_samples<D>(writer);
    if constexpr (Has_tenon_function<D>::value) writer.raw(R"(,"mode":true)");
    writer.raw("}}");
  }
};

}  // namespace detail
TENON_NAMESPACE_END

#undef TENON_MODULE  // plugin.hpp has one that asks for this header

// Defines and registers a module. At global scope, once for a definition; in any file of the
// plugin.
#define TENON_MODULE(Definition) TENON_REGISTER(module, Definition, ModuleFact, make_module)

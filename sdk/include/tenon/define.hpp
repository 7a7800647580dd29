// Defining ops and Functions: a struct of static members becomes a descriptor and its facts.
//
//   struct Square {
//     static constexpr auto schema = "hello.square(Tensor input) -> Tensor";
//     static constexpr auto doc = "The square of each element.";
//     static Tensor forward(const Tensor& input) { return input * input; }   // or `element`, see
//     below
//   };
//   TENON_OP(Square)
//
// Members, all static; one of `element` and `forward` is required:
//   schema, doc      the signature (see sdk/README.md) and a sentence for listings
//   element          constexpr lambda over scalars: the op is elementwise. With `promotion`,
//   `dtypes`, and
//                    `costly` (default: of promote_float ops) where an element outweighs moving a
//                    few
//   forward          plain C++ function of the schema's parameters. A first parameter `Context&`
//   makes it a
//                    Function, which saves by itself what backward needs.
//   backward (or vjp) (Context&, const Tensor& gradient of each result...) -> one gradient for each
//   input
//                    slot: a Tensor, a std::tuple or std::array of them, or Gradients
//   jvp              (Context&, const Tensor& tangent of each slot...) -> tangents of the results;
//   or one of
//                    tenon::pointwise, linear, multilinear
//   saves            what the host keeps for the rules: "input, other", "result", "shape(input)"
//   composite        true: no rule; gradients flow through the ops that forward calls
//   once_differentiable, jvp_once_differentiable, zero_gradient   true to declare so
//   not_overridable  the reason, for ops that must not be overridden
//   samples          JSON text: arguments that `tenon check` tries the op with (tools/README.md)
#pragma once

#include <array>
#include <optional>
#include <tuple>

#include "tenon/context.hpp"
#include "tenon/elementwise.hpp"
#include "tenon/facts.hpp"
#include "tenon/schema.hpp"

TENON_NAMESPACE_BEGIN

enum class JvpKind : uint32_t {};
inline constexpr JvpKind pointwise{TENON_JVP_POINTWISE}, linear{TENON_JVP_LINEAR},
    multilinear{TENON_JVP_MULTILINEAR};

namespace detail {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class T>
struct IsArray : std::false_type {};
template <class T, size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};

// Reads a bound value as a C++ parameter. The host has checked the tag against the schema.
template <class P>
decltype(auto) from_value(const tenon_value& value) {
  using T = std::remove_cv_t<std::remove_reference_t<P>>;
  if constexpr (std::is_same_v<T, Tensor>) {
    return reinterpret_cast<const Tensor&>(value.as.tensor);
  } else if constexpr (std::is_same_v<T, Argument>) {
    return Argument(value);
  } else if constexpr (std::is_same_v<T, Scalar>) {
    return Scalar(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value.as.integer != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value.as.integer);
  } else if constexpr (std::is_floating_point_v<T>) {
    return Scalar(value).to<T>();
  } else if constexpr (std::is_same_v<T, DType>) {
    return value.tag == TENON_VALUE_NONE ? DType::none : static_cast<DType>(value.as.integer);
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return std::string_view(value.as.string, value.length);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return std::string(value.as.string, value.length);
  } else if constexpr (std::is_same_v<T, IntList>) {
    return IntList(value.as.integers, value.length);
  } else if constexpr (std::is_same_v<T, FloatList>) {
    return FloatList(value.as.numbers, value.length);
  } else if constexpr (std::is_same_v<T, TensorList>) {
    return TensorList(reinterpret_cast<const Tensor*>(value.as.tensors), value.length);
  } else if constexpr (IsOptional<T>::value) {
    using Inner = typename T::value_type;
    return value.tag == TENON_VALUE_NONE ? T() : T(from_value<Inner>(value));
  } else {
    static_assert(!sizeof(T), "no schema type crosses the boundary as this parameter type");
  }
}

// Whether a C++ parameter can stand for a schema type.
template <class P>
constexpr bool takes(std::string_view type) {
  using T = std::remove_cv_t<std::remove_reference_t<P>>;
  const bool optional = !type.empty() && type.back() == '?';
  const bool list = type.find('[') != std::string_view::npos;
  const bool either = type.find('|') != std::string_view::npos;
  const std::string_view base = type.substr(0, type.find_first_of("([?|"));
  if constexpr (std::is_same_v<T, Argument>)
    return true;
  else if constexpr (IsOptional<T>::value)
    return optional && takes<typename T::value_type>(type.substr(0, type.size() - 1));
  else if constexpr (std::is_same_v<T, Tensor>)
    return base == "Tensor" && !list && !either;
  else if constexpr (std::is_same_v<T, TensorList>)
    return base == "Tensor" && list;
  else if constexpr (std::is_same_v<T, IntList>)
    return base == "int" && list;
  else if constexpr (std::is_same_v<T, FloatList>)
    return base == "float" && list;
  else if constexpr (std::is_same_v<T, DType>)
    return base == "dtype" && !list;
  else if constexpr (std::is_same_v<T, std::string_view> || std::is_same_v<T, std::string>)
    return base == "str" && !list;
  else if constexpr (std::is_same_v<T, bool>)
    return base == "bool" && !list && !optional;
  else if constexpr (std::is_integral_v<T>)
    return base == "int" && !list && !optional;
  else if constexpr (std::is_floating_point_v<T>)
    return (base == "float" || base == "Scalar") && !list && !optional && !either;
  else if constexpr (std::is_same_v<T, Scalar>)
    return (base == "Scalar" || base == "int" || base == "float" || base == "bool") && !list &&
           !optional && !either;
  else
    return false;
}
template <class... P, size_t... I>
constexpr bool takes_all(const SchemaCounts& counts, std::index_sequence<I...>) {
  return (takes<P>(counts.types[I]) && ...);
}

template <class R>
constexpr int count_results() {
  if constexpr (std::is_void_v<R>)
    return 0;
  else if constexpr (IsTuple<R>::value)
    return static_cast<int>(std::tuple_size_v<R>);
  else
    return 1;
}

// Writes one C++ result into a result slot, giving it away.
template <class R>
void give_result(R&& result, tenon_value* slot) {
  using T = std::remove_cv_t<std::remove_reference_t<R>>;
  *slot = tenon_value{};
  if constexpr (std::is_same_v<T, Tensor>) {
    Tensor tensor = std::forward<R>(result);
    if (tensor.defined()) {
      slot->tag = TENON_VALUE_TENSOR;
      slot->as.tensor = tensor.give();
    }
  } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
    const auto count = static_cast<int64_t>(result.size());
    void* memory = host().allocate(count == 0 ? 1 : count * static_cast<int64_t>(sizeof(void*)));
    if (memory == nullptr) throw std::bad_alloc();
    auto** tensors = static_cast<tenon_tensor**>(memory);
    for (int64_t i = 0; i < count; ++i) tensors[i] = Tensor(result[static_cast<size_t>(i)]).give();
    slot->tag = TENON_VALUE_TENSOR_LIST;
    slot->length = static_cast<uint32_t>(count);
    slot->as.tensors = tensors;
  } else if constexpr (std::is_same_v<T, std::string>) {
    check(host().string_create, result.data(), static_cast<int64_t>(result.size()), slot);
  } else if constexpr (std::is_same_v<T, Value>) {
    *slot = result.give();
  } else {
    *slot = Argument(result).value();
  }
}
template <class R>
void give_results(R&& result, tenon_value* slots) {
  if constexpr (IsTuple<std::remove_cv_t<std::remove_reference_t<R>>>::value) {
    std::apply(
        [slots](auto&&... parts) {
          size_t i = 0;
          (give_result(std::forward<decltype(parts)>(parts), slots + i++), ...);
        },
        std::forward<R>(result));
  } else {
    give_result(std::forward<R>(result), slots);
  }
}

template <class Function>
struct Signature;
template <class R, class... P>
struct Signature<R (*)(P...)> {
  using Result = R;
  static constexpr size_t arity = sizeof...(P);
  static constexpr bool fits(const SchemaCounts& counts) {
    return takes_all<P...>(counts, std::index_sequence_for<P...>{});
  }
  static constexpr bool with_context = false;
  template <class F, size_t... I>
  static R call(F function, Context&, const tenon_value* values, std::index_sequence<I...>) {
    return function(from_value<P>(values[I])...);
  }
};
template <class R, class... P>
struct Signature<R (*)(Context&, P...)> {
  using Result = R;
  static constexpr size_t arity = sizeof...(P);
  static constexpr bool fits(const SchemaCounts& counts) {
    return takes_all<P...>(counts, std::index_sequence_for<P...>{});
  }
  static constexpr bool with_context = true;
  template <class F, size_t... I>
  static R call(F function, Context& context, const tenon_value* values,
                std::index_sequence<I...>) {
    return function(context, from_value<P>(values[I])...);
  }
};

template <class Definition>
tenon_status run_forward(void*, tenon_context* handle, const tenon_value* arguments,
                         tenon_value* results, tenon_error** error) {
  try {
    using S = Signature<decltype(&Definition::forward)>;
    Context context(handle);
    constexpr auto indices = std::make_index_sequence<S::arity>{};
    if constexpr (std::is_void_v<typename S::Result>) {
      S::call(&Definition::forward, context, arguments, indices);
    } else {
      give_results(S::call(&Definition::forward, context, arguments, indices), results);
    }
    return TENON_OK;
  } catch (...) {
    return report_exception(error);
  }
}

// Hands the tensors that a rule returned to the host.
template <class R>
void give_rule(Context& context, R&& result) {
  using T = std::remove_cv_t<std::remove_reference_t<R>>;
  if constexpr (std::is_same_v<T, Tensor>) {
    tenon_tensor* given = result.give();
    check(host().context_give, context.handle(), &given, int64_t{1});
  } else if constexpr (IsTuple<T>::value) {
    std::apply(
        [&](auto&... parts) {
          tenon_tensor* given[] = {Tensor(std::move(parts)).give()...};
          check(host().context_give, context.handle(), given,
                static_cast<int64_t>(sizeof...(parts)));
        },
        result);
  } else if constexpr (IsArray<T>::value) {
    tenon_tensor* given[std::tuple_size_v<T>];
    for (size_t i = 0; i < result.size(); ++i) given[i] = result[i].give();
    check(host().context_give, context.handle(), given, static_cast<int64_t>(result.size()));
  } else {
    std::vector<tenon_tensor*> given;
    given.reserve(result.size());
    for (Tensor& tensor : result) given.push_back(tensor.give());
    check(host().context_give, context.handle(), given.data(), static_cast<int64_t>(given.size()));
  }
}

template <class R, class... P, size_t... I>
R call_rule(R (*rule)(Context&, P...), Context& context, const Tensor* given, int64_t count,
            std::index_sequence<I...>) {
  if constexpr (sizeof...(P) == 1 &&
                (std::is_same_v<std::remove_cv_t<std::remove_reference_t<P>>, TensorList> && ...)) {
    return rule(context, TensorList(given, count));
  } else {
    if (count != static_cast<int64_t>(sizeof...(P))) {
      throw RuntimeError("the rule takes " + std::to_string(sizeof...(P)) +
                         " tensors, but the call has " + std::to_string(count));
    }
    return rule(context, given[I]...);
  }
}
template <auto Rule, class R, class... P>
tenon_status run_rule_of(R (*)(Context&, P...), tenon_context* handle, tenon_tensor* const* given,
                         int64_t count, tenon_error** error) {
  try {
    Context context(handle);
    give_rule(context, call_rule(Rule, context, reinterpret_cast<const Tensor*>(given), count,
                                 std::index_sequence_for<P...>{}));
    return TENON_OK;
  } catch (...) {
    return report_exception(error);
  }
}
template <auto Rule>
tenon_status run_rule(void*, tenon_context* handle, tenon_tensor* const* given, int64_t count,
                      tenon_error** error) {
  return run_rule_of<Rule>(Rule, handle, given, count, error);
}

// ---- which members a definition has ----
#define TENON_DETECT(name)                \
  template <class D, class = void>        \
  struct Has_##name : std::false_type {}; \
  template <class D>                      \
  struct Has_##name<D, std::void_t<decltype(&D::name)>> : std::true_type {};
TENON_DETECT(element)
TENON_DETECT(forward)
TENON_DETECT(backward)
TENON_DETECT(vjp)
TENON_DETECT(jvp)
TENON_DETECT(saves)
TENON_DETECT(doc)
TENON_DETECT(composite)
TENON_DETECT(once_differentiable)
TENON_DETECT(jvp_once_differentiable)
TENON_DETECT(zero_gradient)
TENON_DETECT(not_overridable)
TENON_DETECT(samples)
TENON_DETECT(create)
TENON_DETECT(destroy)
TENON_DETECT(extra_repr)
#undef TENON_DETECT

template <class D>
constexpr const char* doc_of() {
  if constexpr (Has_doc<D>::value)
    return D::doc;
  else
    return "";
}
template <class D>
constexpr uint32_t differentiable_of() {
  if constexpr (Has_backward<D>::value || Has_vjp<D>::value)
    return TENON_DIFFERENTIABLE_FORMULA;
  else if constexpr (Has_composite<D>::value)
    return TENON_DIFFERENTIABLE_COMPOSITE;
  else
    return TENON_DIFFERENTIABLE_NONE;
}
template <class D>
constexpr JvpKind jvp_kind_of() {
  if constexpr (Has_jvp<D>::value) {
    if constexpr (std::is_same_v<std::remove_cv_t<decltype(D::jvp)>, JvpKind>)
      return D::jvp;
    else
      return JvpKind{TENON_JVP_RULE};
  } else {
    return JvpKind{TENON_JVP_NONE};
  }
}
template <class D>
constexpr uint32_t flags_of() {
  uint32_t flags = 0;
  if constexpr (Has_once_differentiable<D>::value) flags |= TENON_OP_ONCE_DIFFERENTIABLE;
  if constexpr (Has_jvp_once_differentiable<D>::value) flags |= TENON_OP_JVP_ONCE;
  if constexpr (Has_zero_gradient<D>::value) flags |= TENON_OP_ZERO_GRADIENT;
  if constexpr (Has_not_overridable<D>::value) flags |= TENON_OP_NOT_OVERRIDABLE;
  if constexpr (Has_forward<D>::value) {
    if constexpr (Signature<decltype(&D::forward)>::with_context) flags |= TENON_OP_FUNCTION;
  }
  return flags;
}

template <class D>
constexpr tenon_op_descriptor make_op() {
  static_assert(count_schema(D::schema).well_formed, "the schema has no closed parameter list");
  static_assert(Has_element<D>::value != Has_forward<D>::value,
                "an op has one of `element` and `forward`");
  static_assert(!(Has_backward<D>::value && Has_vjp<D>::value),
                "both 'backward' and 'vjp' are given: they are the same rule, keep only one");
  tenon_op_descriptor op{};
  op.size = sizeof(tenon_op_descriptor);
  op.flags = flags_of<D>();
  op.schema = D::schema;
  op.doc = doc_of<D>();
  op.differentiable = differentiable_of<D>();
  op.jvp_kind = static_cast<uint32_t>(jvp_kind_of<D>());
  if constexpr (Has_element<D>::value) {
    op.elementwise = &ElementwiseOf<D>::value;
  } else {
    static_assert(Signature<decltype(&D::forward)>::arity ==
                      static_cast<size_t>(count_schema(D::schema).parameters),
                  "forward must take exactly the schema's parameters (after the Context&, if any)");
    static_assert(Signature<decltype(&D::forward)>::fits(count_schema(D::schema)),
                  "a parameter of forward has a type that the schema's does not arrive as; "
                  "sdk/README.md has the table");
    static_assert(count_results<typename Signature<decltype(&D::forward)>::Result>() ==
                      count_schema(D::schema).returns,
                  "forward must return as many results as the schema: a std::tuple for several");
    op.run = run_forward<D>;
  }
  if constexpr (Has_backward<D>::value) op.backward = run_rule<&D::backward>;
  if constexpr (Has_vjp<D>::value) op.backward = run_rule<&D::vjp>;
  if constexpr (jvp_kind_of<D>() == JvpKind{TENON_JVP_RULE}) op.jvp = run_rule<&D::jvp>;
  if constexpr (Has_saves<D>::value) op.saves = D::saves;
  if constexpr (Has_not_overridable<D>::value) op.not_overridable = D::not_overridable;
  return op;
}

template <class D>
constexpr void write_samples(FactsWriter& writer) {
  if constexpr (Has_samples<D>::value) {
    writer.raw(",\"samples\":");
    writer.string(D::samples);
  }
}
template <class D>
struct OpFact {
  static constexpr void write(FactsWriter& writer) {
    constexpr const char* differentiable[] = {"none", "formula", "composite"};
    constexpr const char* jvp[] = {"none", "rule", "pointwise", "linear", "multilinear"};
    writer.raw("{\"op\":{\"schema\":");
    writer.string(D::schema);
    writer.raw(",\"doc\":");
    writer.string(doc_of<D>());
    writer.raw(",\"differentiable\":");
    writer.string(differentiable[differentiable_of<D>()]);
    writer.raw(",\"jvp\":");
    writer.string(jvp[static_cast<uint32_t>(jvp_kind_of<D>())]);
    writer.raw(",\"flags\":");
    writer.number(flags_of<D>());
    if constexpr (Has_not_overridable<D>::value) {
      writer.raw(",\"not_overridable\":");
      writer.string(D::not_overridable);
    }
    write_samples<D>(writer);
    writer.raw("}}");
  }
};

}  // namespace detail
TENON_NAMESPACE_END

// Turns a definition into a descriptor and its facts. At global scope, once in the plugin; the name
// is what TENON_PLUGIN's list says.
#define TENON_OP(Definition)                                              \
  TENON_FACTS_PLACE static constexpr auto tenon_fact_##Definition =       \
      ::tenon::detail::make_facts<::tenon::detail::OpFact<Definition>>(); \
  extern "C" __attribute__((visibility("hidden")))                        \
  const tenon_op_descriptor tenon_op_##Definition;                        \
  const tenon_op_descriptor tenon_op_##Definition = ::tenon::detail::make_op<Definition>();

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
// Members; one of `element` and `forward` is required:
//   schema, doc      the signature (see sdk/README.md) and a sentence for listings
//   element          constexpr lambda over scalars: the op is elementwise. With `promotion`,
//                    `dtypes`, and `costly` (default: of promote_float ops) where an element
//                    outweighs moving a few
//   forward          function of the schema's parameters. A first parameter `Context&` makes it a
//                    Function, which saves by itself what backward needs; forms.hpp has the other
//                    forms: setup_context, a residual, an instance
//   backward (or vjp) (Context&, const Tensor& gradient of each result...) -> one gradient for each
//                    input slot: a Tensor, a std::tuple or std::array of them, or Gradients
//   jvp              (Context&, const Tensor& tangent of each slot...) -> tangents of the results;
//                    or one of tenon::pointwise, linear, multilinear
//   saves            what the host keeps for the rules: "input, other", "result", "shape(input)"
//   not_overridable  the reason, for ops that must not be overridden
//   samples          JSON text: arguments that `tenon check` tries the op with (tools/README.md)
// True to declare:
//   composite        no rule; gradients flow through the ops that forward calls
//   twice_differentiable, once_differentiable   whether backward may be differentiated
//   jvp_once_differentiable   differentiating the jvp is an error
//   clear_saved_tensors_on_access   each saved tensor can be read once, and is freed by its reader
//   zero_gradient    piecewise constant: results carry no history
#pragma once

#include "tenon/elementwise.hpp"
#include "tenon/facts.hpp"
#include "tenon/forms.hpp"

TENON_NAMESPACE_BEGIN

enum class JvpKind : uint32_t {};
inline constexpr JvpKind pointwise{TENON_JVP_POINTWISE}, linear{TENON_JVP_LINEAR},
    multilinear{TENON_JVP_MULTILINEAR};

namespace detail {

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
  else if constexpr (Declares_composite<D>::value)
    return TENON_DIFFERENTIABLE_COMPOSITE;
  else
    return TENON_DIFFERENTIABLE_NONE;
}
template <class D>
constexpr JvpKind jvp_kind_of() {
  if constexpr (Has_jvp<D>::value) {
    if constexpr (std::is_same_v<decltype(&D::jvp), const JvpKind*>)
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
  const auto set = [&flags](bool declared, uint32_t flag) { flags |= declared ? flag : 0; };
  set(Declares_once_differentiable<D>::value, TENON_OP_ONCE_DIFFERENTIABLE);
  set(Declares_twice_differentiable<D>::value, TENON_OP_TWICE_DIFFERENTIABLE);
  set(Declares_jvp_once_differentiable<D>::value, TENON_OP_JVP_ONCE);
  set(Declares_clear_saved_tensors_on_access<D>::value, TENON_OP_CLEAR_SAVED);
  set(Declares_zero_gradient<D>::value, TENON_OP_ZERO_GRADIENT);
  set(Has_not_overridable<D>::value, TENON_OP_NOT_OVERRIDABLE);
  if constexpr (Has_forward<D>::value) {
    using F = Form<D>;
    set(F::with_context || F::residual || Has_setup_context<D>::value, TENON_OP_FUNCTION);
    set(F::instance, TENON_OP_INSTANCE);
    set(F::residual, TENON_OP_RESIDUAL);
    set(Has_setup_context<D>::value, TENON_OP_SETUP);
  }
  return flags;
}

// The results of forward, without what it keeps.
template <class Result>
struct ResultOf {
  using Type = Result;
};
template <class Output, class Residual>
struct ResultOf<std::pair<Output, Residual>> {
  using Type = Output;
};

// What a definition's own types tell to be wrong. Overrides may decline.
template <class D, bool Override = false>
constexpr void check_definition() {
  static_assert(count_schema(D::schema).well_formed, "the schema has no closed parameter list");
  static_assert(Has_element<D>::value != Has_forward<D>::value,
                "an op has one of `element` and `forward`: you must implement forward");
  static_assert(!(Has_backward<D>::value && Has_vjp<D>::value),
                "both 'backward' and 'vjp' are given: they are the same rule, keep only one");
  static_assert(!Has_parameters<D>::value,
                "a Function holds no trainable parameters: state belongs to a Module, see "
                "tenon/module.hpp");
  static_assert(
      !(Declares_once_differentiable<D>::value && Declares_twice_differentiable<D>::value),
      "once_differentiable and twice_differentiable contradict each other");
  if constexpr (Has_forward<D>::value) {
    using F = Form<D>;
    static_assert(F::schema.parameters <= 32, "a schema has at most 32 parameters");
    static_assert(!(F::with_context && Has_setup_context<D>::value),
                  "forward takes a Context& and setup_context is given as well: do the set-up in "
                  "one of them");
    static_assert(!(F::residual && (F::with_context || Has_setup_context<D>::value)),
                  "forward returns a residual, so it takes no Context& and needs no set-up");
    static_assert(F::Inputs::count == F::inputs,
                  "forward must take exactly the schema's parameters (after the Context&, if any; "
                  "as a member of an instance, those before '*')");
    static_assert(inputs_fit(F::schema, typename F::Inputs{},
                             std::make_index_sequence<static_cast<size_t>(
                                 F::Inputs::count < F::inputs ? F::Inputs::count : F::inputs)>{}),
                  "a parameter of forward has a type that the schema's does not arrive as; "
                  "sdk/README.md has the table");
    using Output = typename ResultOf<typename F::Result>::Type;
    static_assert(
        (Override && MayDecline<Output>::value) || count_results<Output>() == F::schema.returns,
        "forward must return as many results as the schema: a std::tuple for several");
    if constexpr (Has_backward<D>::value) check_rule<D, &D::backward, true>();
    if constexpr (Has_vjp<D>::value) check_rule<D, &D::vjp, true>();
    if constexpr (jvp_kind_of<D>() == JvpKind{TENON_JVP_RULE}) check_rule<D, &D::jvp, false>();
  }
}

template <class D, bool Override = false>
constexpr tenon_op_descriptor make_op() {
  check_definition<D, Override>();
  tenon_op_descriptor op{};
  op.size = sizeof(tenon_op_descriptor);
  op.flags = flags_of<D>();
  op.schema = D::schema;
  op.doc = doc_of<D>();
  op.differentiable = differentiable_of<D>();
  op.jvp_kind = static_cast<uint32_t>(jvp_kind_of<D>());
  if constexpr (Has_element<D>::value)
    op.elementwise = &ElementwiseOf<D>::value;
  else
    op.run = run_forward<D>;
  if constexpr (Has_backward<D>::value) op.backward = run_rule<D, &D::backward>;
  if constexpr (Has_vjp<D>::value) op.vjp = run_rule<D, &D::vjp>;
  if constexpr (jvp_kind_of<D>() == JvpKind{TENON_JVP_RULE}) op.jvp = run_rule<D, &D::jvp>;
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

// A plain function as the forward of an op that is made of ops.
template <auto function, class Signature = decltype(function)>
struct WrappedFunction;
template <auto function, class R, class... P>
struct WrappedFunction<function, R (*)(P...)> {
  static constexpr bool composite = true;
  static R forward(P... arguments) { return function(std::forward<P>(arguments)...); }
};

}  // namespace detail

// Makes a function of one's own overridable: all of its definition but the schema.
//
//   Tensor scaled_sum(const Tensor& input, double scale) { return sum(input) * scale; }
//   struct ScaledSum : wrap_tenon_function<scaled_sum> {
//     static constexpr auto schema = "my.scaled_sum(Tensor input, float scale=1.0) -> Tensor";
//   };
//   TENON_OP(ScaledSum)
//
// Called as Op("my.scaled_sum")(x, 2.0) it asks modes, overrides and handlers like any op; for
// plain tensors it runs the function, and is differentiated through what that calls.
template <auto function>
using wrap_tenon_function = detail::WrappedFunction<function>;

TENON_NAMESPACE_END

// Turns a definition into a descriptor and its facts. At global scope, once in the plugin; the name
// is what TENON_PLUGIN's list says.
#define TENON_OP(Definition)                                              \
  TENON_FACTS_PLACE static constexpr auto tenon_fact_##Definition =       \
      ::tenon::detail::make_facts<::tenon::detail::OpFact<Definition>>(); \
  extern "C" __attribute__((visibility("hidden")))                        \
  const tenon_op_descriptor tenon_op_##Definition;                        \
  const tenon_op_descriptor tenon_op_##Definition = ::tenon::detail::make_op<Definition>();

// Defining overrides: implementations of an op for a set of tensor types.
//
//   struct AddDiagonals {
//     static constexpr auto schema = "add(Tensor input, Tensor other) -> Tensor";
//     static constexpr auto types = "Diagonal";
//     static Results forward(const Tensor& input, const Tensor& other) { ... }
//   };
//   TENON_OVERRIDE(AddDiagonals)
//
// Members of an override:
//   schema, doc      its own signature, under the op's full name; a sentence for listings
//   types            "A", or "A, B": a call has an operand of each
//   accepts          other types that operands may have: default "Tensor"; "*": any
//   forward          function of the own signature's parameters, before which it may take a
//                    `const Call&`. It returns values of any kind; one that may decline returns
//                    Results, and Results(not_implemented) to decline
//   backward, jvp, saves, ...   with a backward the override is defined, recorded and differentiated
//                    as an op is (define.hpp); without one the history of its result is that of the
//                    ops that computed it
// An override without a forward, and with types = "Tensor", gives an op of any plugin another
// backward, jvp or both; rules that it lacks stay the op's own, and a jvp declared `pointwise`
// follows the backward.
#pragma once

#include <type_traits>
#include <utility>

#include "tenon/call.hpp"
#include "tenon/define.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

template <class D, class = void>
struct HasAccepts : std::false_type {};
template <class D>
struct HasAccepts<D, std::void_t<decltype(&D::accepts)>> : std::true_type {};

// The forward of an override takes the parameters of the override's schema, after the Call if it
// needs it.
template <class Function>
struct OverrideSignature;
template <class R, class... P>
struct OverrideSignature<R (*)(P...)> {
  using Result = R;
  static constexpr size_t arity = sizeof...(P);
  static constexpr bool fits(const SchemaCounts& counts) {
    return inputs_fit(counts, Types<P...>{}, std::index_sequence_for<P...>{});
  }
  template <class F, size_t... I>
  static R run(F function, const tenon_call* call, std::index_sequence<I...>) {
    return function(from_value<P>(call->arguments[I])...);
  }
};
template <class R, class... P>
struct OverrideSignature<R (*)(const Call&, P...)> : OverrideSignature<R (*)(P...)> {
  template <class F, size_t... I>
  static R run(F function, const tenon_call* call, std::index_sequence<I...>) {
    return function(Call(call), from_value<P>(call->arguments[I])...);
  }
};

template <class D>
tenon_status run_override(void*, const tenon_call* call, tenon_value* results,
                          tenon_error** error) {
  try {
    using S = OverrideSignature<decltype(&D::forward)>;
    constexpr auto indices = std::make_index_sequence<S::arity>{};
    if constexpr (std::is_same_v<typename S::Result, Results>) {
      return answer(call, results, error, [&] { return S::run(&D::forward, call, indices); });
    } else {
      give_results(S::run(&D::forward, call, indices), results);
    }
    return TENON_OK;
  } catch (...) {
    return report_exception(error);
  }
}

// Without a forward: rules for an op of another plugin.
template <class D>
constexpr tenon_op_descriptor make_rules() {
  tenon_op_descriptor rules{};
  if constexpr (check_schema_text<D>() && check_members<D>() && check_rules<D>()) {
    rules.size = sizeof(tenon_op_descriptor);
    rules.flags = flags_of<D>();
    rules.schema = D::schema;
    rules.differentiable = differentiable_of<D>();
    rules.jvp_kind = static_cast<uint32_t>(jvp_kind_of<D>());
    if constexpr (Has_backward<D>::value) rules.backward = run_rule<D, &D::backward>;
    if constexpr (Has_vjp<D>::value) rules.vjp = run_rule<D, &D::vjp>;
    if constexpr (jvp_kind_of<D>() == JvpKind::rule) rules.jvp = run_rule<D, &D::jvp>;
    if constexpr (Has_saves<D>::value) rules.saves = D::saves;
  }
  return rules;
}
template <class D>
struct OverrideRules {
  static constexpr tenon_op_descriptor make() {
    if constexpr (Has_forward<D>::value)
      return make_op<D, true>();
    else
      return make_rules<D>();
  }
  static constexpr tenon_op_descriptor value = make();
};

template <class D>
constexpr void check_override() {
  using S = OverrideSignature<decltype(&D::forward)>;
  constexpr SchemaCounts counts = count_schema(D::schema);
  check_schema_text<D, false>();
  static_assert(S::arity == static_cast<size_t>(counts.parameters),
                "forward must take exactly the parameters of the override's schema");
  static_assert(S::fits(counts),
                "the type of a parameter of forward does not match its schema type; "
                "sdk/docs/reference/schema_types.md has the table");
}

template <class D>
constexpr tenon_override_descriptor make_override() {
  tenon_override_descriptor entry{};
  entry.size = sizeof(tenon_override_descriptor);
  entry.schema = D::schema;
  entry.doc = doc_of<D>();
  entry.types = D::types;
  if constexpr (HasAccepts<D>::value) entry.accepts = D::accepts;
  if constexpr (!Has_forward<D>::value || Has_backward<D>::value || Has_vjp<D>::value ||
                Has_jvp<D>::value) {
    entry.rules = &OverrideRules<D>::value;
  } else {
    check_override<D>();
    entry.run = run_override<D>;
  }
  return entry;
}

template <class D>
struct OverrideFact {
  static constexpr void write(FactsWriter& writer) {
    writer.raw(R"({"override":{"schema":)");
    writer.string(D::schema);
    writer.raw(R"(,"doc":)");
    writer.string(doc_of<D>());
    writer.raw(R"(,"types":)");
    writer.string(D::types);
    if constexpr (HasAccepts<D>::value) {
      writer.raw(R"(,"accepts":)");
      writer.string(D::accepts);
    }
    writer.raw("}}");
  }
};

}  // namespace detail
TENON_NAMESPACE_END

#undef TENON_OVERRIDE  // plugin.hpp has one that asks for this header

// Defines and registers an override, or rules for another plugin's op. At global scope, once for a
// definition; in any file of the plugin and in any order.
#define TENON_OVERRIDE(Definition) TENON_REGISTER(override, Definition, OverrideFact, make_override)

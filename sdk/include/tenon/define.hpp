// Defining ops and Functions: a struct of static members becomes a descriptor and its facts.
//
//   struct Square {
//     static constexpr auto schema = "hello.square(Tensor input) -> Tensor";
//     static constexpr auto doc = "The square of each element.";
//     static Tensor forward(const Tensor& input) { return input * input; }   // or `element`
//   };
//   TENON_OP(Square)
//
// Members of an op definition; one of `element` and `forward` is required:
//   schema, doc      the signature (schema.hpp has its types) and a sentence for listings
//   element          constexpr lambda over scalars: the op is elementwise. With `promotion`,
//                    `dtypes`, and `costly` (default: of promote_float ops) where an element
//                    outweighs moving a few
//   forward          function of the schema's parameters. A first parameter `Context&` makes it a
//                    Function, which saves what backward needs; calling_style.hpp has the other
//                    forms: setup_context, a residual, an instance. It may leave out a last `out`:
//                    then the SDK writes the result there, once it has checked shape and dtype
//   backward, vjp    one rule, by either name: (ContextOf<Op>& c, const Tensor& gradient of each
//                    result...) -> one gradient for each input slot: a Tensor, a std::tuple or
//                    std::array of them, or Gradients. c["dim"_arg] is an argument by name, see
//                    arguments.hpp; a rule that reads none may take Context&
//   jvp              (ContextOf<Op>& c, const Tensor& tangent of each slot...) -> tangents of the
//                    results; or one of JvpKind::pointwise, linear, multilinear
//   saves            what the host keeps for the rules: "input, other", "result", "shape(input)"
//   not_overridable  the reason, for ops that must not be overridden
//   shape_rule       function of forward's parameters, without its Context&: results of the shapes
//                    and dtypes of forward's, whose elements do not matter. Without it an op that is
//                    not elementwise runs on zeros where shapes alone are needed (shapes_only.hpp)
//   multiply_adds    function of the same parameters: how many one call takes, an int64_t
//   declines         function of the same parameters, of an op that other plugins provide too:
//                    `static const char* declines(...)`. Null takes the call; a text says why the
//                    next ranked provider runs it ("one input channel"). It reads shapes, strides
//                    and dtypes; an exception declines. See sdk/docs/how_to/provider.md
//   samples          JSON text: arguments that `tenon check` tries the op with
//                    (sdk/docs/how_to/check_samples.md)
//   accuracy         the largest errors in units in the last place, "f32 0.6, f64 1; gradient f32
//                    2, f64 2.5", or "exact"; `tenon show` prints it
// Members of an op definition that declare a property when they are true:
//   composite        no rule; gradients flow through the ops that forward calls
//   twice_differentiable, once_differentiable   whether backward may be differentiated
//   jvp_once_differentiable   differentiating the jvp is an error
//   clear_saved_tensors_on_access   each saved tensor can be read once, and is freed by its reader
//   zero_gradient    piecewise constant: results carry no history
//   may_copy         a `Tensor(a)` result is a copy where no view is possible
//   data_dependent_shape   the shape of a result depends on elements, as that of nonzero
//   any_dtype        forward and the rules take f16 and bf16 as they are; else they get f32
//   reads_elements   true: forward reads elements by pointers, not by ops alone, so that it gets tensors
//                    on devices as copies, which are written back
#pragma once

#include "tenon/detail/calling_style.hpp"
#include "tenon/detail/registration.hpp"
#include "tenon/elementwise.hpp"

TENON_NAMESPACE_BEGIN

enum class JvpKind : uint32_t {  // how forward mode follows
  undeclared = TENON_JVP_NONE,
  rule = TENON_JVP_RULE,
  pointwise = TENON_JVP_POINTWISE,
  linear = TENON_JVP_LINEAR,
  multilinear = TENON_JVP_MULTILINEAR
};
// Short names of JvpKind. Not `linear`, which is an op: the tests see that no constant here has the name of
// one.
inline constexpr JvpKind pointwise = JvpKind::pointwise;      // jvp = tenon::pointwise
inline constexpr JvpKind multilinear = JvpKind::multilinear;  // jvp = tenon::multilinear

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
      return JvpKind::rule;
  } else {
    return JvpKind::undeclared;
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
  set(Declares_may_copy<D>::value, TENON_OP_MAY_COPY);
  set(Declares_any_dtype<D>::value, TENON_OP_ANY_DTYPE);
  set(Declares_reads_elements<D>::value, TENON_OP_READS_ELEMENTS);
  set(Declares_data_dependent_shape<D>::value, TENON_OP_DATA_DEPENDENT_SHAPE);
  set(Has_not_overridable<D>::value, TENON_OP_NOT_OVERRIDABLE);
  set(Has_declines<D>::value, TENON_OP_MAY_DECLINE);
  if constexpr (Has_forward<D>::value) {
    using F = CallingStyle<D>;
    set(F::with_context || F::residual || Has_setup_context<D>::value, TENON_OP_FUNCTION);
    set(F::instance, TENON_OP_INSTANCE);
    set(F::residual, TENON_OP_RESIDUAL);
    set(Has_setup_context<D>::value, TENON_OP_SETUP);
  }
  return flags;
}

// Whether `element` takes the types that its first dtype calls it with.
template <class D, class T, size_t... I, size_t... P>
constexpr bool element_takes(std::index_sequence<I...>, std::index_sequence<P...>) {
  using First = std::conditional_t<PromotionOf<D>::value == TENON_PROMOTE_CONDITION, bool, T>;
  return std::is_invocable_v<decltype(D::element), std::conditional_t<I == 0, First, T>...,
                             std::conditional_t<(P >= 0), T, void>...>;
}
template <class D>
constexpr bool check_element() {
  bool fits = true;
  constexpr SchemaCounts schema = count_schema(D::schema);
  TENON_REQUIRE(schema.operands >= 1 && schema.operands <= 3,
                "elementwise ops take one to three operands");
  TENON_REQUIRE(schema.plain_parameters,
                "what elementwise ops take beside operands is Scalar, int, float or bool");
  TENON_REQUIRE(
      schema.returns == 1 && base_type(schema.return_types[0]) == "Tensor" && !schema.list_returns,
      "elementwise ops return one Tensor");
  if constexpr (schema.operands >= 1 && schema.plain_parameters) {
    constexpr int taken = schema.parameters - schema.has_out;
    using First =
        std::conditional_t<(DTypesOf<D>::value & floating_dtypes) != 0, double,
                           std::conditional_t<DTypesOf<D>::value == bool_dtype, bool, int64_t>>;
    constexpr bool callable = element_takes<D, First>(
        std::make_index_sequence<static_cast<size_t>(schema.operands)>{},
        std::make_index_sequence<static_cast<size_t>(taken - schema.operands)>{});
    TENON_REQUIRE(callable || taken != 1, "element must take 1 argument, for the schema input");
    TENON_REQUIRE(callable || taken != 2,
                  "element must take 2 arguments, one for each schema input");
    TENON_REQUIRE(callable || taken != 3,
                  "element must take 3 arguments, one for each schema input");
    TENON_REQUIRE(callable || taken != 4,
                  "element must take 4 arguments, one for each schema input");
    TENON_REQUIRE(callable || taken < 5, "element must take one argument for each schema input");
  }
  return fits;
}

// Members that say the same thing in different ways, or of which one would never be read.
template <class D>
constexpr bool check_members() {
  bool fits = true;
  constexpr bool rule = Has_backward<D>::value || Has_vjp<D>::value;
  constexpr bool composite = Declares_composite<D>::value;
  constexpr bool once = Declares_once_differentiable<D>::value,
                 twice = Declares_twice_differentiable<D>::value;
  TENON_REQUIRE(!(Has_backward<D>::value && Has_vjp<D>::value),
                "both 'backward' and 'vjp' are given: they are the same rule, keep only one");
  TENON_REQUIRE(!(composite && rule),
                "a composite op is differentiated through the ops that forward calls: drop "
                "composite, or the backward");
  TENON_REQUIRE(!(composite && Has_jvp<D>::value),
                "a composite op is differentiated through the ops that forward calls: drop "
                "composite, or the jvp");
  TENON_REQUIRE(
      !(composite && (Has_element<D>::value || Has_saves<D>::value || Has_setup_context<D>::value)),
      "a composite op has a forward made of ops, without element, saves or setup_context");
  TENON_REQUIRE(!(composite && (once || Declares_zero_gradient<D>::value ||
                                Declares_clear_saved_tensors_on_access<D>::value)),
                "composite contradicts once_differentiable, zero_gradient and "
                "clear_saved_tensors_on_access: the ops that forward calls say how they are "
                "differentiated");
  TENON_REQUIRE(!(once && twice),
                "once_differentiable and twice_differentiable contradict each other");
  TENON_REQUIRE(!(rule && Declares_zero_gradient<D>::value),
                "zero_gradient says that there is no gradient: drop it, or the backward");
  TENON_REQUIRE(rule || composite || !(once || twice),
                "once_differentiable and twice_differentiable need a backward; none is defined");
  TENON_REQUIRE(rule || !Declares_clear_saved_tensors_on_access<D>::value,
                "clear_saved_tensors_on_access needs a backward; none is defined");
  TENON_REQUIRE(jvp_kind_of<D>() == JvpKind::rule || !Declares_jvp_once_differentiable<D>::value,
                "jvp_once_differentiable needs a jvp; none is defined");
  TENON_REQUIRE(rule || jvp_kind_of<D>() != JvpKind::pointwise,
                "jvp = pointwise needs a backward; none is defined");
  TENON_REQUIRE(rule || Has_jvp<D>::value || !Has_saves<D>::value,
                "saves keeps tensors for a backward or a jvp, and there is neither");
  TENON_REQUIRE(!Has_forward<D>::value ||
                    (!Has_promotion<D>::value && !Has_dtypes<D>::value && !Has_costly<D>::value),
                "promotion, dtypes and costly are about element: forward chooses its dtypes");
  TENON_REQUIRE(Has_forward<D>::value || !Has_setup_context<D>::value,
                "setup_context needs a forward; none is defined");
  TENON_REQUIRE(Has_forward<D>::value || !Has_shape_rule<D>::value,
                "the shape of an elementwise op follows from its operands: drop shape_rule");
  TENON_REQUIRE(!(Has_shape_rule<D>::value && Declares_data_dependent_shape<D>::value),
                "data_dependent_shape says that no rule knows the shape: drop it, or shape_rule");
  TENON_REQUIRE(!Has_parameters<D>::value,
                "a Function holds no trainable parameters: state belongs to a Module, see "
                "tenon/module.hpp");
  return fits;
}
template <class D>
constexpr bool check_rules() {
  bool fits = true;
  if constexpr (Has_backward<D>::value) fits = check_rule<D, &D::backward, true>() && fits;
  if constexpr (Has_vjp<D>::value) fits = check_rule<D, &D::vjp, true>() && fits;
  if constexpr (jvp_kind_of<D>() == JvpKind::rule) fits = check_rule<D, &D::jvp, false>() && fits;
  return fits;
}

template <class D, bool Override>
constexpr bool check_types() {
  bool fits = check_members<D>();
  TENON_REQUIRE(Has_element<D>::value != Has_forward<D>::value,
                "an op has one of `element` and `forward`: you must implement forward");
  if constexpr (Has_forward<D>::value) {
    using F = CallingStyle<D>;
    TENON_REQUIRE(F::schema.parameters <= 32, "a schema has at most 32 parameters");
    TENON_REQUIRE(!(F::with_context && Has_setup_context<D>::value),
                  "forward takes a Context& and setup_context is given as well: do the set-up in "
                  "one of them");
    TENON_REQUIRE(!(F::residual && (F::with_context || Has_setup_context<D>::value)),
                  "forward returns a residual, so it takes no Context& and needs no set-up");
    TENON_REQUIRE(F::Inputs::count == F::inputs,
                  "forward must take exactly the schema's parameters (after the Context&, if any; "
                  "as a member of an instance, those before '*'); it may leave out a last 'out'");
    using Returned = std::decay_t<typename ResultOf<typename F::Result>::Type>;
    TENON_REQUIRE(!F::leaves_out || Writable<Returned>::value,
                  "forward leaves 'out' to the SDK, which writes results that are all Tensor: take "
                  "'out' as the last parameter, or return Tensors");
    TENON_REQUIRE(inputs_fit(F::schema, typename F::Inputs{},
                             std::make_index_sequence<static_cast<size_t>(
                                 F::Inputs::count < F::inputs ? F::Inputs::count : F::inputs)>{}),
                  "the type of a parameter of forward does not match its schema type; "
                  "sdk/docs/reference/schema_types.md has the table");
    fits = check_results<D, typename F::Result, Override>() && fits;
    if constexpr (Has_shape_rule<D>::value)
      fits = check_beside_forward<D, &D::shape_rule>() && fits;
  } else if constexpr (Has_element<D>::value) {
    fits = check_element<D>() && fits;
  }
  TENON_REQUIRE(!(Override && Has_declines<D>::value),
                "an override declines by returning not_implemented: drop declines");
  if constexpr (Has_declines<D>::value) fits = check_declines<D>() && fits;
  return check_rules<D>() && fits;
}
// Explains faults that a definition's own types show; such a definition is used no further.
// Overrides may decline.
template <class D, bool Override = false>
constexpr bool check_definition() {
  if constexpr (check_schema_text<D>())
    return check_types<D, Override>();
  else
    return false;
}

template <class D>
constexpr tenon_op_descriptor describe_op() {
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
  if constexpr (jvp_kind_of<D>() == JvpKind::rule) op.jvp = run_rule<D, &D::jvp>;
  if constexpr (Has_saves<D>::value) op.saves = D::saves;
  if constexpr (Has_not_overridable<D>::value) op.not_overridable = D::not_overridable;
  if constexpr (Has_shape_rule<D>::value) op.shape_rule = run_shape_rule<D>;
  if constexpr (Has_multiply_adds<D>::value) op.multiply_adds = run_multiply_adds<D>;
  if constexpr (Has_declines<D>::value) op.declines = run_declines<D>;
  return op;
}
template <class D, bool Override = false>
constexpr tenon_op_descriptor make_op() {
  if constexpr (check_definition<D, Override>())
    return describe_op<D>();
  else
    return tenon_op_descriptor{};
}

template <class D>
constexpr void write_samples(FactsWriter& writer) {
  if constexpr (Has_samples<D>::value) {
    writer.raw(R"(,"samples":)");
    writer.string(D::samples);
  }
}
template <class D>
struct OpFact {
  static constexpr void write(FactsWriter& writer) {
    constexpr const char* differentiable[] = {"none", "formula", "composite"};
    constexpr const char* jvp[] = {"none", "rule", "pointwise", "linear", "multilinear"};
    writer.raw(R"({"op":{"schema":)");
    writer.string(D::schema);
    writer.raw(R"(,"doc":)");
    writer.string(doc_of<D>());
    writer.raw(R"(,"differentiable":)");
    writer.string(differentiable[differentiable_of<D>()]);
    writer.raw(R"(,"jvp":)");
    writer.string(jvp[static_cast<uint32_t>(jvp_kind_of<D>())]);
    writer.raw(R"(,"flags":)");
    writer.number(flags_of<D>());
    if constexpr (Has_not_overridable<D>::value) {
      writer.raw(R"(,"not_overridable":)");
      writer.string(D::not_overridable);
    }
    write_samples<D>(writer);
    if constexpr (Has_accuracy<D>::value) {
      writer.raw(R"(,"accuracy":)");
      writer.string(D::accuracy);
    }
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

// Defines and registers an op. At global scope, once for a definition; in any file of the plugin.
#define TENON_OP(Definition) TENON_REGISTER(op, Definition, OpFact, make_op)

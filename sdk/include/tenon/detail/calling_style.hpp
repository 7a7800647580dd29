// The forms of forward and its rules, converted to the one form that crosses the boundary.
//
//   static      forward(Context&, inputs...), backward(Context&, gradients...); a ContextOf<Op>&
//               in place of any Context& has the arguments by name
//   setup       forward(inputs...) and setup_context(Context&, inputs..., const Result& output)
//   residual    forward(inputs...) -> std::pair<Result, std::tuple<kept...>>, and
//               backward(const std::tuple<kept...>&, gradients...)
//   instance    any of these as const members of a struct that is made from the keyword-only
//               parameters, again for forward and for each rule
#pragma once

#include "tenon/detail/arguments.hpp"
#include "tenon/detail/members.hpp"
#include "tenon/detail/parameters.hpp"
#include "tenon/detail/written_result.hpp"
#include "tenon/schema.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

template <class... T>
struct Types {
  static constexpr int count = sizeof...(T);
};
template <class T>
struct IsPair : std::false_type {};
template <class Output, class Residual>
struct IsPair<std::pair<Output, Residual>> : std::true_type {};

template <class Function>
struct Callable {
  static_assert(!sizeof(Function),
                "forward and rules are static, or const members of an instance "
                "whose attributes do not change");
};
template <class R, class... P>
struct Callable<R (*)(P...)> {
  using Result = R;
  using Parameters = Types<P...>;
  static constexpr bool member = false;
};
template <class D, class R, class... P>
struct Callable<R (D::*)(P...) const> {
  using Result = R;
  using Parameters = Types<P...>;
  static constexpr bool member = true;
};

// The parameters after the first.
template <class List>
struct Tail;
template <class First, class... Rest>
struct Tail<Types<First, Rest...>> {
  using Head = First;
  using Parameters = Types<Rest...>;
};
template <>
struct Tail<Types<>> {
  using Head = void;
  using Parameters = Types<>;
};

// A first parameter Context&, or ContextOf<B>& where B is D, or what D derives its rules from.
template <class First>
struct ContextParameter : std::false_type {
  template <class D>
  static constexpr bool fits = false;
};
template <>
struct ContextParameter<Context&> : std::true_type {
  using Type = Context;
  template <class D>
  static constexpr bool fits = true;
};
template <class B>
struct ContextParameter<ContextOf<B>&> : std::true_type {
  using Type = ContextOf<B>;
  template <class D>
  static constexpr bool fits = std::is_same_v<B, D> ||
                               (std::is_base_of_v<B, D> && reads_calls_of(B::schema, D::schema));
};

template <class D>
struct CallingStyle {
  using Forward = Callable<decltype(&D::forward)>;
  using Result = typename Forward::Result;
  using First = Tail<typename Forward::Parameters>;
  static constexpr bool with_context = ContextParameter<typename First::Head>::value;
  using Inputs =
      std::conditional_t<with_context, typename First::Parameters, typename Forward::Parameters>;
  static constexpr bool instance = Forward::member;
  static constexpr bool residual = IsPair<Result>::value;
  static constexpr SchemaCounts schema = count_schema(D::schema);
  // Whether forward takes all but `out`, and what it returns is written there.
  static constexpr bool leaves_out =
      !instance && schema.ends_with_out && Inputs::count == schema.parameters - 1;
  // How many of the schema's parameters forward takes: an instance has the others.
  static constexpr int inputs =
      instance ? schema.positional : schema.parameters - (leaves_out ? 1 : 0);
};

// One keyword-only parameter, as whatever type the constructor takes it.
template <class D, int Index>
struct AttributeArgument {
  const tenon_value& value;
  template <class T, std::enable_if_t<!std::is_same_v<std::remove_cv_t<T>, D>, int> = 0>
  operator T() const {
    static_assert(takes<T>(count_schema(D::schema).types[Index]),
                  "the type of a constructor parameter or member does not match its keyword-only "
                  "parameter of the schema; sdk/docs/reference/schema_types.md has the table");
    return from_value<T>(value);
  }
};
template <class D, size_t... I>
D make_instance(const tenon_value* arguments, std::index_sequence<I...>) {
  constexpr int first = CallingStyle<D>::schema.positional;
  if constexpr (sizeof...(I) == 0)
    return D{};
  else if constexpr (std::is_constructible_v<D, AttributeArgument<D, first + int{I}>...>)
    return D(AttributeArgument<D, first + int{I}>{arguments[first + int{I}]}...);
  else
    return D{AttributeArgument<D, first + int{I}>{arguments[first + int{I}]}...};
}
template <class D>
D make_instance(const tenon_value* arguments) {
  constexpr int count = CallingStyle<D>::schema.parameters - CallingStyle<D>::schema.positional;
  return make_instance<D>(arguments, std::make_index_sequence<static_cast<size_t>(count)>{});
}

// The context as what a function takes for its first parameter.
template <class Function>
using ContextFor = typename ContextParameter<
    typename Tail<typename Callable<std::remove_cv_t<Function>>::Parameters>::Head>::Type;

// Calls a static function, or a member on an instance made for this call.
template <class D, auto Function, class... Arguments>
decltype(auto) invoke(const tenon_value* arguments, Arguments&&... given) {
  if constexpr (Callable<decltype(Function)>::member) {
    const D self = make_instance<D>(arguments);
    return (self.*Function)(std::forward<Arguments>(given)...);
  } else {
    (void)arguments;
    return Function(std::forward<Arguments>(given)...);
  }
}

// ---- residuals: tensors are saved, the rest goes on the context ----

template <class... T>
void keep_residual(Context& context, std::tuple<T...>&& residual) {
  std::vector<Tensor> tensors;
  const auto move_tensor = [&](auto& part) {
    if constexpr (std::is_same_v<std::remove_reference_t<decltype(part)>, Tensor>)
      tensors.push_back(std::move(part));
  };
  with_parts(residual, [&](T&... parts) { (move_tensor(parts), ...); });
  context.save_for_backward(tensors);
  context.save_for_forward(tensors);
  if constexpr (!(std::is_same_v<T, Tensor> && ...)) context.stash(std::move(residual));
}
template <class Residual>
struct ResidualOf;
template <class... T>
struct ResidualOf<std::tuple<T...>> {
  static std::tuple<T...> read(const Context& context) {
    constexpr bool tensors_only = (std::is_same_v<T, Tensor> && ...);
    std::tuple<T...> residual = [&] {
      if constexpr (tensors_only)
        return std::tuple<T...>();
      else
        return context.stash<std::tuple<T...>>();
    }();
    int64_t index = 0;
    const auto read_tensor = [&](auto& part) {
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(part)>, Tensor>)
        part = context.saved(index++);
    };
    with_parts(residual, [&](T&... parts) { (read_tensor(parts), ...); });
    return residual;
  }
};

// ---- forward ----

template <class D, class R>
void give_forward(R&& result, const tenon_value* arguments, tenon_value* results) {
  using F = CallingStyle<D>;
  if constexpr (MayDecline<std::decay_t<R>>::value) {
    result.give(results, F::schema.returns == 0 ? 1 : F::schema.returns);
  } else if constexpr (F::leaves_out) {
    std::decay_t<R> written = std::forward<R>(result);
    write_into(D::schema, written, arguments[F::inputs]);
    give_results(std::move(written), results);
  } else {
    give_results(std::forward<R>(result), results);
  }
}
template <class R>
bool declined(const R& result) {
  if constexpr (MayDecline<R>::value)
    return result.declined();
  else
    return (void)result, false;
}

template <class... P, size_t... I>
constexpr bool inputs_fit(const SchemaCounts& schema, Types<P...>, std::index_sequence<I...>) {
  return (takes<P>(schema.types[I]) && ...);
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
template <class Result>
struct ResultsFit {
  static constexpr bool fit(const SchemaCounts& schema) {
    return gives<Result>(schema.return_types[0]);
  }
};
template <>
struct ResultsFit<void> {
  static constexpr bool fit(const SchemaCounts&) { return true; }
};
template <class... Parts>
struct ResultsFit<std::tuple<Parts...>> {
  static constexpr bool fit(const SchemaCounts& schema) {
    [[maybe_unused]] int i = 0;
    return (gives<Parts>(schema.return_types[i++]) && ...);
  }
};
// Whether forward returns what the schema says.
template <class D, class Returned, bool Override>
constexpr bool check_results() {
  bool fits = true;
  using Result = std::remove_cv_t<std::remove_reference_t<typename ResultOf<Returned>::Type>>;
  if constexpr (!(Override && MayDecline<Result>::value)) {
    constexpr SchemaCounts schema = count_schema(D::schema);
    TENON_REQUIRE(count_results<Result>() == schema.returns,
                  "forward must return as many results as the schema: a std::tuple for several");
    if constexpr (count_results<Result>() == schema.returns) {
      TENON_REQUIRE(
          schema.returns != 1 || !schema.tuple || IsTuple<Result>::value,
          "the schema's result is a tuple of one: forward returns a std::tuple<Tensor>, or "
          "the schema drops the parentheses");
      TENON_REQUIRE(
          schema.returns != 1 || schema.tuple || !IsTuple<Result>::value,
          "the schema's result is not a tuple: forward returns it bare, or the schema puts "
          "it in parentheses");
      TENON_REQUIRE(ResultsFit<Result>::fit(schema),
                    "forward returns a type that is not the schema's result; "
                    "sdk/docs/reference/schema_types.md has the "
                    "table");
    }
  }
  return fits;
}

template <class D, class... P, size_t... I>
void forward_into(Context& context, const tenon_value* arguments, tenon_value* results, Types<P...>,
                  std::index_sequence<I...>) {
  using F = CallingStyle<D>;
  constexpr auto function = &D::forward;
  if constexpr (F::with_context) {
    ContextFor<decltype(function)> own(context.handle());
    if constexpr (std::is_void_v<typename F::Result>)
      invoke<D, function>(arguments, own, from_value<P>(arguments[I])...);
    else
      give_forward<D>(invoke<D, function>(arguments, own, from_value<P>(arguments[I])...),
                      arguments, results);
  } else if constexpr (Has_setup_context<D>::value) {
    auto result = invoke<D, function>(arguments, from_value<P>(arguments[I])...);
    if (!declined(result)) {
      ContextFor<decltype(&D::setup_context)> own(context.handle());
      invoke<D, &D::setup_context>(arguments, own, from_value<P>(arguments[I])...,
                                   std::as_const(result));
    }
    give_forward<D>(std::move(result), arguments, results);
  } else if constexpr (F::residual) {
    auto made = invoke<D, function>(arguments, from_value<P>(arguments[I])...);
    if (!declined(made.first)) keep_residual(context, std::move(made.second));
    give_forward<D>(std::move(made.first), arguments, results);
  } else if constexpr (std::is_void_v<typename F::Result>) {
    invoke<D, function>(arguments, from_value<P>(arguments[I])...);
  } else {
    give_forward<D>(invoke<D, function>(arguments, from_value<P>(arguments[I])...), arguments,
                    results);
  }
}

template <class D>
tenon_status run_forward(void*, tenon_context* handle, const tenon_value* arguments,
                         tenon_value* results, tenon_error** error) {
  try {
    using Inputs = typename CallingStyle<D>::Inputs;
    Context context(handle);
    forward_into<D>(context, arguments, results, Inputs{},
                    std::make_index_sequence<static_cast<size_t>(Inputs::count)>{});
    return TENON_OK;
  } catch (...) {
    return report_exception(error, schema_name(D::schema));
  }
}

// ---- beside forward: shape_rule, multiply_adds and declines, functions of its parameters ----

template <class D, auto Function, class... P, size_t... I>
auto call_beside_forward(const tenon_value* arguments, Types<P...>, std::index_sequence<I...>) {
  return invoke<D, Function>(arguments, from_value<P>(arguments[I])...);
}
template <class D, auto Function>
auto call_beside_forward(const tenon_value* arguments) {
  using Inputs = typename Callable<decltype(Function)>::Parameters;
  return call_beside_forward<D, Function>(
      arguments, Inputs{}, std::make_index_sequence<static_cast<size_t>(Inputs::count)>{});
}
template <class D>
tenon_status run_shape_rule(void*, tenon_context*, const tenon_value* arguments,
                            tenon_value* results, tenon_error** error) {
  try {
    give_results(call_beside_forward<D, &D::shape_rule>(arguments), results);
    return TENON_OK;
  } catch (...) {
    return report_exception(error, schema_name(D::schema));
  }
}
// A call that cannot be counted counts as 0: its op has refused it, or will.
template <class D>
int64_t run_multiply_adds(void*, const tenon_value* arguments) {
  try {
    return call_beside_forward<D, &D::multiply_adds>(arguments);
  } catch (...) {
    return 0;
  }
}
// A call that `declines` cannot judge goes to a provider that takes every call.
template <class D>
const char* run_declines(void*, const tenon_value* arguments) {
  try {
    return call_beside_forward<D, &D::declines>(arguments);
  } catch (...) {
    return "its declines() threw an exception";
  }
}
template <class D>
constexpr int forward_inputs() {
  if constexpr (Has_forward<D>::value)
    return CallingStyle<D>::inputs;
  else
    return count_schema(D::schema).parameters;
}
template <class D>
constexpr bool check_declines() {
  bool fits = true;
  using Asked = Callable<decltype(&D::declines)>;
  constexpr SchemaCounts schema = count_schema(D::schema);
  constexpr int inputs = Asked::member ? schema.positional : schema.parameters;
  constexpr int count = Asked::Parameters::count;
  TENON_REQUIRE((std::is_same_v<typename Asked::Result, const char*>),
                "declines returns a const char*: null takes the call, a text says why not");
  TENON_REQUIRE(count == inputs || count == forward_inputs<D>(),
                "declines takes forward's parameters, without its Context&");
  TENON_REQUIRE(
      inputs_fit(schema, typename Asked::Parameters{},
                 std::make_index_sequence<static_cast<size_t>(count < inputs ? count : inputs)>{}),
      "the type of a parameter of declines does not match its schema type; "
      "sdk/docs/reference/schema_types.md has the table");
  return fits;
}
template <class D, auto Function>
constexpr bool check_beside_forward() {
  bool fits = true;
  using F = CallingStyle<D>;
  using Rule = Callable<decltype(Function)>;
  TENON_REQUIRE(Rule::Parameters::count == F::inputs,
                "shape_rule takes forward's parameters, without its Context&");
  TENON_REQUIRE(
      (std::is_same_v<typename Rule::Result, typename ResultOf<typename F::Result>::Type>),
      "shape_rule returns what forward returns");
  return fits;
}

// ---- rules ----

// Hands the tensors that a rule returned to the host.
template <class R>
void give_rule(Context& context, R&& result) {
  using T = std::remove_cv_t<std::remove_reference_t<R>>;
  if constexpr (std::is_same_v<T, Tensor>) {
    tenon_tensor* given = result.give();
    check(service::contexts().give, context.handle(), &given, int64_t{1});
  } else if constexpr (IsTuple<T>::value) {
    with_parts(result, [&](auto&... parts) {
      tenon_tensor* given[] = {Tensor(std::move(parts)).give()...};
      check(service::contexts().give, context.handle(), given,
            static_cast<int64_t>(sizeof...(parts)));
    });
  } else if constexpr (IsArray<T>::value) {
    tenon_tensor* given[std::tuple_size_v<T>];
    for (size_t i = 0; i < result.size(); ++i) given[i] = result[i].give();
    check(service::contexts().give, context.handle(), given, static_cast<int64_t>(result.size()));
  } else {
    std::vector<tenon_tensor*> given;
    given.reserve(result.size());
    for (Tensor& tensor : result) given.push_back(tensor.give());
    check(service::contexts().give, context.handle(), given.data(),
          static_cast<int64_t>(given.size()));
  }
}

// How many tensors a rule returns, where its type says so; else -1.
template <class R>
constexpr int returned_tensors() {
  using T = std::remove_cv_t<std::remove_reference_t<R>>;
  if constexpr (std::is_same_v<T, Tensor>)
    return 1;
  else if constexpr (IsTuple<T>::value || IsArray<T>::value)
    return static_cast<int>(std::tuple_size_v<T>);
  else
    return -1;
}

// A rule that takes its tensors as one list; the others take them one by one.
template <class Parameters>
struct TakesList : std::false_type {};
template <class P>
struct TakesList<Types<P>> : std::bool_constant<std::is_same_v<std::decay_t<P>, TensorList> ||
                                                std::is_same_v<std::decay_t<P>, OwnedGradients>> {};

template <class P>
P list_of(Context& context, const Tensor* given, int64_t count) {
  if constexpr (std::is_same_v<P, OwnedGradients>) {
    std::vector<Tensor> gradients(static_cast<size_t>(count));
    check(service::contexts().take_gradients, context.handle(), count,
          reinterpret_cast<tenon_tensor**>(gradients.data()));
    return OwnedGradients(std::move(gradients));
  } else {
    return TensorList(given, count);
  }
}

template <class D, auto Rule, class First, class... P, size_t... I>
auto call_rule(First&& first, Context& context, const Tensor* given, int64_t count, Types<P...>,
               std::index_sequence<I...>) {
  const tenon_value* arguments = service::contexts().arguments(context.handle());
  if constexpr (TakesList<Types<P...>>::value) {
    return invoke<D, Rule>(arguments, first, list_of<std::decay_t<P>>(context, given, count)...);
  } else {
    if (count != static_cast<int64_t>(sizeof...(P))) {
      throw_message(TENON_ERROR_RUNTIME,
                    {"the rule takes ", sizeof...(P), " tensors, but the call has ", count});
    }
    return invoke<D, Rule>(arguments, first, given[I]...);
  }
}

template <class D, auto Rule>
tenon_status run_rule(void*, tenon_context* handle, tenon_tensor* const* given, int64_t count,
                      tenon_error** error) {
  try {
    Context context(handle);
    using Parameters = Tail<typename Callable<decltype(Rule)>::Parameters>;
    constexpr auto indices =
        std::make_index_sequence<static_cast<size_t>(Parameters::Parameters::count)>{};
    const auto* tensors = reinterpret_cast<const Tensor*>(given);
    if constexpr (ContextParameter<typename Parameters::Head>::value) {
      ContextFor<decltype(Rule)> own(handle);
      give_rule(context, call_rule<D, Rule>(own, context, tensors, count,
                                            typename Parameters::Parameters{}, indices));
    } else {
      const auto residual = ResidualOf<std::decay_t<typename Parameters::Head>>::read(context);
      give_rule(context, call_rule<D, Rule>(residual, context, tensors, count,
                                            typename Parameters::Parameters{}, indices));
    }
    return TENON_OK;
  } catch (...) {
    return report_exception(error, schema_name(D::schema));
  }
}

// Whether a definition has instances, also one without a forward: elementwise ops, and rules for
// another plugin's op.
template <class D>
constexpr bool is_instance() {
  if constexpr (Has_forward<D>::value)
    return CallingStyle<D>::instance;
  else
    return false;
}
template <class D>
constexpr bool has_residual() {
  if constexpr (Has_forward<D>::value)
    return CallingStyle<D>::residual;
  else
    return false;
}

// Whether a rule's own type fits the schema.
template <class D, auto Rule, bool Backward>
constexpr bool check_rule() {
  bool fits = true;
  using R = Callable<decltype(Rule)>;
  using First = Tail<typename R::Parameters>;
  constexpr SchemaCounts schema = count_schema(D::schema);
  constexpr int returned = returned_tensors<typename R::Result>();
  constexpr bool list = TakesList<typename First::Parameters>::value;
  TENON_REQUIRE(!R::member || is_instance<D>(),
                "a rule is a member of an instance, so forward has to be one as well");
  if constexpr (has_residual<D>()) {
    TENON_REQUIRE((std::is_same_v<std::decay_t<typename First::Head>,
                                  typename CallingStyle<D>::Result::second_type>),
                  "forward returns a residual, so the rule's first parameter is "
                  "`const Residual&` of just that type");
  } else {
    using Head = ContextParameter<typename First::Head>;
    TENON_REQUIRE(Head::value,
                  "the first parameter of a rule is Context& or ContextOf<Op>&, or the residual "
                  "that forward returns beside its result");
    TENON_REQUIRE(!Head::value || Head::template fits<D>,
                  "a rule takes the ContextOf of another op, whose parameters differ");
  }
  if constexpr (Backward) {
    TENON_REQUIRE(list || schema.list_returns || First::Parameters::count == schema.returns,
                  "backward takes one gradient for each result of the schema (undefined for one "
                  "that is not a tensor), or a TensorList or OwnedGradients");
    TENON_REQUIRE(returned < 0 || schema.list_operands || returned >= schema.slots,
                  "backward returns fewer gradients than the schema has inputs: one for each "
                  "parameter up to the last tensor, Tensor() where there is none");
  } else {
    TENON_REQUIRE(list || schema.list_operands || First::Parameters::count == schema.slots,
                  "jvp takes one tangent for each parameter up to the last tensor, or a "
                  "TensorList");
    TENON_REQUIRE(returned < 0 || schema.list_returns || returned == schema.returns,
                  "jvp returns one tangent for each result of the schema, Tensor() for one that is "
                  "not a tensor");
  }
  return fits;
}

}  // namespace detail
TENON_NAMESPACE_END

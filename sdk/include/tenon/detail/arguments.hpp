// Arguments by name: a rule's reads are looked up in the schema at compile time.
//
//   static Tensor backward(ContextOf<Narrow>& c, const Tensor& g) {
//     const int64_t dim = c["dim"_arg];          // the type follows from the schema
//     return pad(g, c["input"_arg].shape(), dim);
//   }
//
// A read costs what an index costs: the name is part of the type of "dim"_arg. The table of types
// is in sdk/docs/reference/schema_types.md.
#pragma once

#include "tenon/detail/parameters.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

template <char... characters>
struct NameText {
  static constexpr char characters_with_end[] = {characters..., '\0'};
  static constexpr std::string_view text{characters_with_end, sizeof...(characters)};
};

template <class Build, char... name>
struct NamedGradient {
  const Build& build;
};

}  // namespace detail

// Names as types: of a parameter or attribute ("dim"_arg), and of a result ("indices"_result).
template <char... characters>
struct ArgumentName : detail::NameText<characters...> {
  // A gradient and its input, for needed_gradients(): "input"_arg = [&] { return g * 2; }
  template <class Build>
  constexpr detail::NamedGradient<Build, characters...> operator=(const Build& build) const {
    return {build};
  }
};
template <char... characters>
struct ResultName : detail::NameText<characters...> {};

// `using namespace tenon::literals;` where the namespace tenon is not used as a whole.
inline namespace literals {
// GCC and Clang have string literals as template arguments before C++20, as an extension.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Wgnu-string-literal-operator-template"
#endif
template <class Character, Character... characters>
constexpr ArgumentName<characters...> operator""_arg() {
  return {};
}
template <class Character, Character... characters>
constexpr ResultName<characters...> operator""_result() {
  return {};
}
#pragma GCC diagnostic pop
}  // namespace literals

namespace detail {

// The C++ type of each schema type; `?` makes it a std::optional, except where there is a value
// for none: an undefined tensor, DType::none, an Argument that is none.
enum class Kind {
  tensor,
  tensors,
  argument,
  scalar,
  scalars,
  integer,
  integers,
  number,
  numbers,
  truth,
  truths,
  text,
  texts,
  dtype,
};
constexpr Kind kind_of(std::string_view type) {
  const std::string_view base = base_type(type);
  const bool list = find_text(type, "[") != std::string_view::npos;
  if (find_text(type, "|") != std::string_view::npos) return Kind::argument;
  if (base == "Tensor") return list ? Kind::tensors : Kind::tensor;
  if (base == "int") return list ? Kind::integers : Kind::integer;
  if (base == "float") return list ? Kind::numbers : Kind::number;
  if (base == "Scalar") return list ? Kind::scalars : Kind::scalar;
  if (base == "bool") return list ? Kind::truths : Kind::truth;
  if (base == "str") return list ? Kind::texts : Kind::text;
  return base == "dtype" ? Kind::dtype : Kind::argument;
}
template <size_t at, class First, class... Rest>
struct TypeAt : TypeAt<at - 1, Rest...> {};
template <class First, class... Rest>
struct TypeAt<0, First, Rest...> {
  using Type = First;
};
// The C++ type of a parameter of each Kind, in their order.
template <Kind kind>
using TypeOf = typename TypeAt<static_cast<size_t>(kind), const Tensor&, TensorList, Argument,
                               Scalar, std::vector<Scalar>, int64_t, IntList, double, FloatList,
                               bool, std::vector<bool>, std::string_view,
                               std::vector<std::string_view>, DType>::Type;
constexpr bool reads_as_optional(std::string_view type) {
  const Kind kind = kind_of(type);
  return !type.empty() && type.back() == '?' && kind != Kind::tensor && kind != Kind::dtype &&
         kind != Kind::argument;
}

// Calls `visit(index, type, name)` for each parameter, or each of a list of results.
template <class Visit>
constexpr void each_item(std::string_view schema, size_t list, Visit&& visit) {
  int index = 0;
  read_list(schema, list, [&](std::string_view item) {
    if (item.empty() || item == "*") return;
    const size_t space = find_text(item, " ");
    const std::string_view named =
        space == std::string_view::npos ? std::string_view() : trim(item.substr(space));
    visit(index++, item.substr(0, space), trim(named.substr(0, find_text(named, "="))));
  });
}

// Place of a named parameter or result in a schema; index -1: nowhere.
struct Place {
  int index = -1;
  std::string_view type;
};
constexpr Place find_item(std::string_view schema, size_t list, std::string_view name) {
  Place found;
  each_item(schema, list, [&](int index, std::string_view type, std::string_view item) {
    if (item == name) found = {index, type};
  });
  return found;
}
constexpr Place find_parameter(std::string_view schema, std::string_view name) {
  return find_item(schema, find_text(schema, "("), name);
}
constexpr Place find_result(std::string_view schema, std::string_view name) {
  const size_t end = read_list(schema, find_text(schema, "("), [](std::string_view) {});
  const size_t results = find_text(schema, "(", find_text(schema, "->", end));
  return results == std::string_view::npos ? Place{} : find_item(schema, results, name);
}
// Whether a rule written for one schema reads the calls of another: each parameter but `out` is at
// the same place, and of a type that is read alike.
constexpr bool reads_calls_of(std::string_view written, std::string_view called) {
  bool fits = true;
  each_item(written, find_text(written, "("),
            [&](int i, std::string_view type, std::string_view name) {
              const Place place = find_parameter(called, name);
              const Kind kind = kind_of(type);
              const bool alike = kind == Kind::argument || kind == kind_of(place.type);
              if (name != "out") fits = fits && place.index == i && alike;
            });
  return fits;
}
// How many parameters before `index` may take more input slots than one.
constexpr int lists_before(std::string_view schema, int index) {
  int lists = 0;
  each_item(schema, find_text(schema, "("), [&](int i, std::string_view type, std::string_view) {
    const bool list = find_text(type, "[") != std::string_view::npos || starts_with(type, "any");
    if (i < index && may_hold_tensor(type) && list) ++lists;
  });
  return lists;
}

// The result of reading an unknown name, so that the compiler reports one error for it.
struct Unknown : Tensor {
  template <class T, std::enable_if_t<!std::is_base_of_v<T, Unknown>, int> = 0>
  operator T() const;
};

// A parameter or attribute of a definition, and one of its results.
template <class Definition, char... name>
struct ParameterOf {
  static constexpr Place place = find_parameter(Definition::schema, NameText<name...>::text);
  static constexpr bool known = place.index >= 0;
  using One = TypeOf<kind_of(place.type)>;
  using Type = std::conditional_t<reads_as_optional(place.type), std::optional<One>, One>;
};
template <class Definition, char... name>
struct ResultOfName {
  static constexpr Place place = find_result(Definition::schema, NameText<name...>::text);
  static constexpr bool known = place.index >= 0;
  static constexpr bool is_tensor = kind_of(place.type) == Kind::tensor;
};

}  // namespace detail

// The context of a call of one op, whose arguments have names. For forward and rules of
// `Definition`: valid during the callback only; this thread only.
template <class Definition>
class ContextOf : public Context {
 public:
  using Context::Context;

  // The argument as bound, defaults filled in. A tensor is undefined where the call had none, or
  // where `saves` keeps it for another input only. RuntimeError in rules for a tensor that neither
  // the op's `saves` nor forward kept.
  template <char... name>
  decltype(auto) operator[](ArgumentName<name...>) const {
    using Parameter = detail::ParameterOf<Definition, name...>;
    static_assert(Parameter::known, "the schema has no parameter of this name");
    if constexpr (Parameter::known)
      return detail::from_value<typename Parameter::Type>(value(Parameter::place.index));
    else
      return detail::Unknown();
  }
  // In rules: a tensor that is a result, where `saves` keeps it.
  template <char... name>
  Tensor operator[](ResultName<name...>) const {
    using Result = detail::ResultOfName<Definition, name...>;
    static_assert(Result::known, "the schema has no result of this name");
    static_assert(!Result::known || Result::is_tensor, "rules read results that are tensors");
    return Context::result(Result::place.index);
  }

  using Context::needs_input_grad;
  // In forward whether the input requires grad; in backward whether this run asks for its
  // gradient. Of a tensor list `i` says which.
  template <char... name>
  bool needs_input_grad(ArgumentName<name...>, int64_t i = 0) const {
    using Parameter = detail::ParameterOf<Definition, name...>;
    static_assert(Parameter::known, "the schema has no parameter of this name");
    static_assert(!Parameter::known || detail::may_hold_tensor(Parameter::place.type),
                  "only a parameter that takes tensors has a gradient");
    constexpr int slots = detail::count_schema(Definition::schema, false).slots;
    constexpr int lists = detail::lists_before(Definition::schema, Parameter::place.index);
    static_assert(lists == 0 || detail::lists_before(Definition::schema, slots) == 1,
                  "behind one of several tensor lists a slot has no fixed place: count it, "
                  "needs_input_grad(slot)");
    int64_t slot = Parameter::place.index + i;
    if constexpr (lists != 0) slot += slot_count() - slots;  // slots of the list beyond one
    return Context::needs_input_grad(slot);
  }
};

TENON_NAMESPACE_END

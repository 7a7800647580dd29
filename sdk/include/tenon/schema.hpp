// Schema texts as constants: how many parameters, operands and returns, read at compile time.
//
// C++ types of schema parameters, in forward and where an argument is read by name:
//   Tensor, Tensor?   const Tensor&   undefined where none was given
//   Tensor|Scalar, Tensor|Scalar?   tenon::Argument   a tensor or a number; ops take it as it is
//   Tensor[]         tenon::TensorList   lists of optional values do not exist
//   Scalar           tenon::Scalar   bool, int or float; `.to<double>()`
//   int, float, bool   int64_t, double, bool
//   str              std::string_view
//   dtype, dtype?    tenon::DType    `DType::none` where none was given
//   int[], int[2]    tenon::IntList   a fixed length takes one int for all
//   float[]          tenon::FloatList
//   bool[], str[], Scalar[]   std::vector<bool>, std::vector<std::string_view>, std::vector<Scalar>
//   any, json        tenon::Argument   a `json` attribute reaches a module's constructor as
//                    `tenon::Json`
//   Module, Module?   tenon::Module   attributes of modules only; undefined where none was given
//   Module[]         std::vector<Module>   attributes of modules only
//   Module{}         tenon::ModuleDict   modules by name; attributes of modules only
//   int?, str?, Scalar?, ...   std::optional of the type   every other type with `?`
//   Tensor(a)        const Tensor&   the result shares its memory
//   Tensor(a!)       const Tensor&   the op changes it in place and returns it. A call that fails
//                    counts as a change: a backward of what has saved it before raises
//   *                                parameters after it are passed by name
// C++ types of schema results, copied into memory of the host:
//   Tensor, Tensor?   Tensor, std::optional<Tensor>
//   Tensor[], int[], float[], bool[], str[]   std::vector, std::array, tenon::Span of the element
//   int, float, bool, dtype, Scalar   int64_t, double, bool, tenon::DType, any number
//   str              std::string, std::string_view, const char*
//   (Tensor values, int count)   std::tuple<Tensor, int64_t>   names are optional; include <tuple>
//   (Tensor y)       std::tuple<Tensor>   a tuple of one; `Tensor` is not a tuple
//   ()               void
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "tenon/host.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

// The fault of a schema text; check_schema_text() has the messages.
enum class SchemaProblem {
  none,
  missing_name,
  missing_parameters,
  unclosed_parameters,
  unknown_type,
  unnamed_parameter,
  missing_arrow,
  missing_result,
};

struct SchemaCounts {
  int parameters = 0;
  int positional = 0;  // before '*'
  int slots = 0;       // up to the last that may hold a tensor, `out` aside
  int operands = 0;    // Tensor or Tensor|Scalar parameters other than `out`
  int returns = 0;
  bool tuple = false;  // the results are written in parentheses: "(Tensor values, Tensor indices)"
  bool has_out = false;
  bool ends_with_out = false;           // `out` is the last parameter
  bool list_operands = false;           // some Tensor[]: as many slots as a call has tensors
  bool list_returns = false;            // likewise
  bool plain_parameters = true;         // all but the operands are Scalar, int, float or bool
  std::string_view types[32]{};         // types of the parameters: "Tensor(a!)?", "int[2]"
  std::string_view return_types[32]{};  // "Tensor(a)", "float"
  SchemaProblem problem = SchemaProblem::none;
  int column = 0;         // column of the problem, from 1
  std::string_view word;  // text at the problem
};

constexpr bool starts_with(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && text.substr(0, prefix.size()) == prefix;
}
// Its own find() compares a pointer with null: with -fsanitize=undefined GCC does not accept that as
// a constant expression where the text is built at compile time.
constexpr size_t find_text(std::string_view text, std::string_view piece, size_t from = 0) {
  for (size_t at = from; at < text.size() && at + piece.size() <= text.size(); ++at) {
    if (text[at] == piece[0] && text.substr(at, piece.size()) == piece) return at;
  }
  return std::string_view::npos;
}
constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

// "nn.relu" of "nn.relu(Tensor input) -> Tensor".
constexpr std::string_view schema_name(std::string_view schema) {
  return schema.substr(0, find_text(schema, "("));
}

// "Tensor" of "Tensor(a!)?".
constexpr std::string_view base_type(std::string_view type) {
  return type.substr(0, type.find_first_of("([{?|"));
}
constexpr bool known_type(std::string_view type) {
  constexpr std::string_view names[] = {"Tensor", "Scalar", "int",  "float",  "bool",
                                        "str",    "dtype",  "json", "Module", "any"};
  for (const std::string_view name : names) {
    if (base_type(type) == name) return true;
  }
  return false;
}
constexpr bool may_hold_tensor(std::string_view type) {
  return find_text(type, "Tensor") != std::string_view::npos || starts_with(type, "any");
}

// Position after the ')' of the list that begins at `at`. Calls `item(text)` for what its commas
// outside of brackets and quotes separate; npos where it is never closed.
template <class Item>
constexpr size_t read_list(std::string_view text, size_t at, Item&& item) {
  int depth = 0;
  char quote = 0;
  size_t start = at + 1;
  for (size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0 || c == '\'' || c == '"') {
      if (quote != 0 && c == '\\') ++i;  // an escaped quote closes nothing
      quote = quote == 0 ? c : quote == c ? '\0' : quote;
      continue;
    }
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    const bool end = depth == 0;
    if ((depth != 1 || c != ',') && !end) continue;
    item(trim(text.substr(start, i - start)));
    start = i + 1;
    if (end) return start;
  }
  return std::string_view::npos;
}

// Counts of a schema, for definitions; the host checks the text in full. `with_results`: those of
// ops have results, those of modules have none.
constexpr SchemaCounts count_schema(std::string_view schema, bool with_results = true) {
  SchemaCounts counts;
  const auto found = [&](SchemaProblem problem, std::string_view at) {
    if (counts.problem != SchemaProblem::none) return;
    counts.problem = problem;
    counts.column = static_cast<int>(at.data() - schema.data()) + 1;
    counts.word = at.substr(0, at.find_first_of(" (,)[?|="));
  };
  const size_t open = find_text(schema, "(");
  if (trim(schema).empty() || open == 0) found(SchemaProblem::missing_name, schema.substr(0, 1));
  if (open == std::string_view::npos) {
    found(SchemaProblem::missing_parameters, schema.substr(schema.size()));
    return counts;
  }
  bool keywords = false;
  const auto parameter = [&](std::string_view part) {
    if (part == "*") keywords = true;
    if (part.empty() || part == "*") return;
    const size_t space = find_text(part, " ");
    const std::string_view type = part.substr(0, space);
    if (counts.parameters < 32) counts.types[counts.parameters] = type;
    ++counts.parameters;
    if (!known_type(type)) found(SchemaProblem::unknown_type, part);
    if (space == std::string_view::npos) found(SchemaProblem::unnamed_parameter, part);
    const std::string_view rest = space == std::string_view::npos ? part : trim(part.substr(space));
    const bool out = starts_with(rest, "out=") || rest == "out";
    if (out) counts.has_out = true;
    counts.ends_with_out = out;
    if (!keywords) ++counts.positional;
    if (may_hold_tensor(type) && !out) {
      counts.slots = counts.parameters;
      if (find_text(type, "[") != std::string_view::npos) counts.list_operands = true;
    }
    const bool tensor = find_text(type, "Tensor") != std::string_view::npos;
    if (tensor && !out) ++counts.operands;
    if (!tensor && type != "Scalar" && type != "int" && type != "float" && type != "bool")
      counts.plain_parameters = false;
  };
  const size_t end = read_list(schema, open, parameter);
  if (end == std::string_view::npos) {
    found(SchemaProblem::unclosed_parameters, schema.substr(open));
    return counts;
  }
  if (!with_results) return counts;
  const size_t arrow = schema.find_first_not_of(" \n", end);
  if (arrow == std::string_view::npos || schema.substr(arrow, 2) != "->") {
    found(SchemaProblem::missing_arrow,
          schema.substr(arrow == std::string_view::npos ? schema.size() : arrow));
    return counts;
  }
  const auto result = [&](std::string_view part) {
    const std::string_view type = part.substr(0, find_text(part, " "));
    if (counts.returns < 32) counts.return_types[counts.returns] = type;
    ++counts.returns;
    if (type.empty())
      found(SchemaProblem::missing_result, part);
    else if (!known_type(type))
      found(SchemaProblem::unknown_type, part);
    if (base_type(type) == "Tensor" && find_text(type, "[") != std::string_view::npos)
      counts.list_returns = true;
  };
  const std::string_view returns = trim(schema.substr(arrow + 2));
  if (returns == "()") return counts;
  counts.tuple = !returns.empty() && returns.front() == '(';
  if (!counts.tuple)
    result(returns);
  else if (read_list(returns, 0, result) == std::string_view::npos)
    found(SchemaProblem::unclosed_parameters, returns);
  return counts;
}

// The compiler's note of the call names the definition, the column and the word.
template <class Definition, SchemaProblem problem, int column, char... word>
constexpr void schema_is_wrong() {
  using P = SchemaProblem;
  static_assert(problem != P::missing_name,
                "the schema begins with the name: \"my.op(Tensor x) -> Tensor\"");
  static_assert(problem != P::missing_parameters,
                "the schema has no parameter list: \"my.op(Tensor x) -> Tensor\"");
  static_assert(problem != P::unclosed_parameters, "a '(' of the schema is never closed");
  static_assert(problem != P::unknown_type,
                "the schema has an unknown type at this column; the types are Tensor, Scalar, int, "
                "float, bool, str, dtype, json, Module, any");
  static_assert(problem != P::unnamed_parameter,
                "a parameter of the schema has no name: write its type, a space and its name");
  static_assert(
      problem != P::missing_arrow,
      "the schema has no '->' behind its parameters: write '-> Tensor', or '-> ()' for an "
      "op without results");
  static_assert(problem != P::missing_result,
                "a result of the schema has no type: write '-> Tensor', or '-> ()' for an op "
                "without results");
}
template <class Definition, bool with_results, size_t... I>
constexpr bool check_schema_text(std::index_sequence<I...>) {
  constexpr SchemaCounts counts = count_schema(Definition::schema, with_results);
  if constexpr (counts.problem != SchemaProblem::none)
    schema_is_wrong<Definition, counts.problem, counts.column, counts.word[I]...>();
  return counts.problem == SchemaProblem::none;
}
// Whether the SDK can make something of the text; explains where it cannot.
template <class Definition, bool with_results = true>
constexpr bool check_schema_text() {
  return check_schema_text<Definition, with_results>(
      std::make_index_sequence<count_schema(Definition::schema, with_results).word.size()>{});
}

}  // namespace detail
TENON_NAMESPACE_END

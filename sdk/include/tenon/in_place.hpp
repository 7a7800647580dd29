// In-place forms of ops: exp_ of exp.
//
//   TENON_OP(Exp)            // exp(Tensor input, *, Tensor(a!)? out=None) -> Tensor
//   TENON_IN_PLACE_OP(Exp)   // exp_(Tensor(a!) input) -> Tensor(a!)
//
// The form follows from the op's definition, whose first parameter it changes and returns: its
// schema has the other parameters, without `out`. Where the op is elementwise it has the same loops
// and rules, without a temporary; any other op runs, and its result is copied into the operand. A
// result of another shape, or of a kind that the operand's dtype does not have, is refused.
#pragma once

#include "tenon/define.hpp"
#include "tenon/grad_mode.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

template <size_t Capacity>
struct BuiltText {
  char text[Capacity + 1]{};
  size_t size = 0;
  constexpr void add(std::string_view piece) {
    for (const char c : piece) text[size++] = c;
  }
};

template <class Definition>
constexpr auto in_place_schema() {
  constexpr std::string_view schema = Definition::schema;
  constexpr SchemaCounts counts = count_schema(schema);
  static_assert(counts.positional > 0 && base_type(counts.types[0]) == "Tensor" &&
                    counts.types[0].find_first_of("[?(") == std::string_view::npos,
                "the in-place form of an op changes its first parameter, a Tensor or a "
                "Tensor|Scalar");
  static_assert(counts.returns == 1 && counts.return_types[0] == "Tensor" && !counts.tuple,
                "the in-place form of an op returns its one result, a new Tensor");
  BuiltText<schema.size() + 24> built;
  built.add(schema_name(schema));
  built.add("_(Tensor(a!) ");
  bool first = true, keywords = false;
  read_list(schema, find_text(schema, "("), [&](std::string_view item) {
    if (item == "*") {
      keywords = true;
      return;
    }
    const std::string_view name = trim(item.substr(find_text(item, " ")));
    if (starts_with(name, "out=")) return;
    if (first) {
      built.add(name);
    } else {
      built.add(keywords ? ", *, " : ", ");
      built.add(item);
      keywords = false;
    }
    first = false;
  });
  built.add(") -> Tensor(a!)");
  return built;
}
template <class Definition>
constexpr auto in_place_doc() {
  constexpr std::string_view name = schema_name(Definition::schema);
  BuiltText<name.size() + 16> built;
  built.add(name);
  built.add(", in place.");
  return built;
}
template <class Definition>
struct InPlaceText {
  static constexpr auto built_schema = in_place_schema<Definition>();
  static constexpr auto built_doc = in_place_doc<Definition>();
  static constexpr const char* schema = built_schema.text;
  static constexpr const char* doc = built_doc.text;
};

template <class Definition, bool Given>
struct SamplesOf {};
template <class Definition>
struct SamplesOf<Definition, true> {
  static constexpr auto samples = Definition::samples;
};

template <class Definition, bool Given>
struct AccuracyOf {};
template <class Definition>
struct AccuracyOf<Definition, true> {
  static constexpr auto accuracy = Definition::accuracy;
};

// Whether a call on the argument is recorded, as far as the argument decides it.
inline bool is_recorded(const tenon_value& value) {
  return value.tag == TENON_VALUE_TENSOR && from_value<const Tensor&>(value).requires_grad();
}

// The result of the op, copied; every argument but the first travels as it is.
template <class Definition, class Others>
struct InPlaceByCopy;
template <class Definition, size_t... I>
struct InPlaceByCopy<Definition, std::index_sequence<I...>> {
  static constexpr bool composite = true;

  template <size_t>
  using Other = Argument;
  static Tensor forward(const Tensor& input, const Other<I>&... others) {
    static const Op op(schema_name(Definition::schema)), copy("copy_");
    // Tensors that the op saves for its gradient stay as they were.
    const bool recorded =
        GradMode::enabled() && (input.requires_grad() || (is_recorded(others.value()) || ...));
    static const Op clone("clone");
    const Tensor before = recorded ? clone.call<Tensor>(input) : input;
    const auto result = op.call<Tensor>(before, others...);
    if (result.is_same(input)) return input;
    check_written(InPlaceText<Definition>::schema, "the tensor changed in place", input, result);
    copy.call<Tensor>(input, result);
    return input;
  }
};
template <class Definition>
using OthersOf = std::make_index_sequence<static_cast<size_t>(
    count_schema(InPlaceText<Definition>::schema).parameters - 1)>;

}  // namespace detail

// All of the in-place form; a definition that derives from it may have other samples, for example.
template <class Definition, class = void>
struct InPlace : Definition, private detail::InPlaceText<Definition> {
  using Kernel = Definition;  // the op that computes
  using detail::InPlaceText<Definition>::schema;
  using detail::InPlaceText<Definition>::doc;
};
template <class Definition>
struct InPlace<Definition, std::enable_if_t<detail::Has_forward<Definition>::value>>
    : detail::InPlaceText<Definition>,
      detail::InPlaceByCopy<Definition, detail::OthersOf<Definition>>,
      detail::SamplesOf<Definition, detail::Has_samples<Definition>::value>,
      detail::AccuracyOf<Definition, detail::Has_accuracy<Definition>::value> {};

TENON_NAMESPACE_END

// Registers the in-place form of a definition, as `Definition##_`: at global scope, once.
#define TENON_IN_PLACE_OP(Definition)                 \
  using Definition##_ = ::tenon::InPlace<Definition>; \
  TENON_OP(Definition##_)

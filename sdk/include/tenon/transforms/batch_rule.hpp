// Rules by which ops run under vmap, as functions; batch_rules.hpp has rules as data.
//
//   struct Sort {                                        // an op of this plugin, or of any other
//     static constexpr auto schema = "acme.sort(Tensor input, int dim) -> (Tensor, Tensor)";
//     ...
//     // One dimension for each tensor in the order of the parameters, -1 where it is not batched.
//     static transforms::BatchResults batch(const transforms::BatchInfo& info, IntList in_dims,
//                                           const Tensor& input, int64_t dim);
//   };
//   TENON_OP(Sort)
//   TENON_BATCH_RULE(Sort)
//
// A Function whose forward, backward and jvp call other ops only, and read no elements, needs no such function:
// with `static constexpr bool generate_batch_rule = true` in place of it they run on batched tensors. Derivatives
// are those of that backward and jvp.
#pragma once

#include <tuple>

#include "tenon/override_definition.hpp"
#include "tenon/runtime.hpp"
#include "tenon/transforms/batch_rules.hpp"
#include "tenon/transforms/batched.hpp"

TENON_NAMESPACE_BEGIN
namespace transforms {

// The vmap that a rule is asked for.
struct BatchInfo {
  int64_t size;           // samples of the batch
  Randomness randomness;  // mode of vmap
};

// Results of a rule with the dimension that has the batch in each of them; -1: not batched.
struct BatchResults {
  std::vector<Tensor> results;  // owned
  std::vector<int64_t> dims;    // batch dimension of each; -1: none
};

namespace rule {

// The plugin whose rule the op has.
inline std::string provider_of(std::string_view op) {
  const Json overrides = document(Document::registrations)["overrides"];
  const std::string key = std::string(op) + "[Batched]";
  for (int64_t i = 0; i < overrides.size(); ++i) {
    if (overrides[i]["key"].text() == key) return overrides[i]["provider"].text();
  }
  return "";
}
// Refuses a rule.
[[noreturn, gnu::cold]] inline void throw_wrong(const char* schema, const char* what, int64_t a,
                                                const char* then, int64_t b) {
  const std::string_view op = detail::schema_name(schema);
  detail::throw_message(TENON_ERROR_VALUE, {"the batch rule of ", op, " (plugin '", provider_of(op),
                                            "') ", what, a, then, b, "; fix the rule"});
}

template <class D, class Function>
struct BatchRule;
template <class D, class... P>
struct BatchRule<D, BatchResults (*)(const BatchInfo&, IntList, P...)> {
  static constexpr auto schema = D::schema;
  static constexpr auto types = "Batched";

  // The innermost level among the operands.
  static void look(const Tensor& tensor, Level& level) {
    const Batched* const payload = tensor.defined() ? try_as<Batched>(tensor) : nullptr;
    if (payload != nullptr && (!level.defined() || payload->level->depth > level->depth))
      level = payload->level;
  }
  template <class T>
  static void look_at(const T& argument, Level& level) {
    if constexpr (std::is_same_v<T, Tensor>) {
      look(argument, level);
    } else if constexpr (std::is_same_v<T, TensorList>) {
      for (const Tensor& tensor : argument) look(tensor, level);
    } else if constexpr (std::is_same_v<T, Argument>) {
      if (argument.value().tag == TENON_VALUE_TENSOR)
        look(Tensor::borrow(argument.value().as.tensor), level);
    }
  }
  // One operand without its level; notes where the batch is.
  static Tensor opened(const Tensor& tensor, const Level& level, std::vector<int64_t>& dims) {
    const Batched* const payload = tensor.defined() ? batched_by(tensor, level) : nullptr;
    dims.push_back(payload == nullptr ? -1 : 0);
    if (payload != nullptr) return payload->value;
    const Batched* const outer = tensor.defined() ? try_as<Batched>(tensor) : nullptr;
    return outer == nullptr ? tensor : make<Batched>(outer->value, outer->level);
  }
  struct Open {
    const Level& level;
    std::vector<int64_t>& dims;
    std::vector<std::vector<Tensor>>& lists;
    std::vector<Tensor>& kept;

    Tensor operator()(const Tensor& tensor) const { return opened(tensor, level, dims); }
    TensorList operator()(const TensorList& list) const {
      std::vector<Tensor>& open = lists.emplace_back();
      for (const Tensor& tensor : list) open.push_back(opened(tensor, level, dims));
      return {open.data(), static_cast<int64_t>(open.size())};
    }
    Argument operator()(const Argument& argument) const {
      if (argument.value().tag != TENON_VALUE_TENSOR) return argument;
      kept.push_back(opened(Tensor::borrow(argument.value().as.tensor), level, dims));
      return Argument(kept.back());
    }
    template <class T>
    const T& operator()(const T& argument) const {
      return argument;
    }
  };

  static Results forward(P... arguments) {
    Level level;
    (look_at<std::decay_t<P>>(arguments, level), ...);
    if (!level.alive())
      detail::throw_message(TENON_ERROR_RUNTIME,
                            {detail::schema_name(D::schema),
                             "(): a batched tensor is used after its vmap has returned"});
    std::vector<int64_t> dims;
    std::vector<std::vector<Tensor>> lists;
    std::vector<Tensor> kept;
    lists.reserve(sizeof...(P));
    kept.reserve(sizeof...(P));
    const Open open{level, dims, lists, kept};
    // In order: braces evaluate from left to right.
    std::tuple<std::decay_t<P>...> opened_arguments{open(arguments)...};
    const BatchInfo info{level->size, static_cast<Randomness>(level->randomness)};
    BatchResults given = std::apply(
        [&](const auto&... each) {
          return D::batch(info, {dims.data(), static_cast<int64_t>(dims.size())}, each...);
        },
        opened_arguments);
    return wrapped(given, level);
  }

  static Results wrapped(const BatchResults& given, const Level& level) {
    constexpr int64_t expected = detail::count_schema(D::schema).returns;
    const auto count = static_cast<int64_t>(given.results.size());
    if (count != expected) throw_wrong(D::schema, "gives ", count, " results, expected ", expected);
    if (static_cast<int64_t>(given.dims.size()) != count)
      throw_wrong(D::schema, "gives ", static_cast<int64_t>(given.dims.size()),
                  " dimensions for results, expected ", count);
    Results results = Results::of_count(expected);
    for (int64_t i = 0; i < count; ++i) {
      const Tensor& result = given.results[static_cast<size_t>(i)];
      const int64_t dim = given.dims[static_cast<size_t>(i)];
      if (dim < -1 || dim >= result.dim())
        throw_wrong(D::schema, "gives a result of ", result.dim(),
                    " dimensions, with the batch at dimension ", dim);
      if (dim >= 0 && result.size(dim) != level->size)
        throw_wrong(D::schema, "gives a result of size ", result.size(dim),
                    " at its batch dimension, expected ", level->size);
      Tensor made = dim < 0 ? result : transforms::batch(result, level, dim);
      results.slots()[i] = tenon_value{TENON_VALUE_TENSOR, 0, {0}};
      results.slots()[i].as.tensor = made.give();
    }
    return results;
  }
};

// ---- generated rules ----

template <class D, class = void>
struct HasBatch : std::false_type {};
template <class D>
struct HasBatch<D, std::void_t<decltype(&D::batch)>> : std::true_type {};
template <class D, class = void>
struct Generates : std::false_type {};
template <class D>
struct Generates<D, std::void_t<decltype(&D::generate_batch_rule)>>
    : std::bool_constant<D::generate_batch_rule> {};

// The definition itself, for operands that the plugin `transforms` makes of those of a batched call.
template <class D>
struct GeneratedRule : D {
  static_assert(!detail::Declares_composite<D>::value && !detail::Has_element<D>::value,
                "ops that are composite or elementwise run without a loop under vmap: drop "
                "generate_batch_rule and TENON_BATCH_RULE");
  static_assert(std::string_view(D::schema).find('!') == std::string_view::npos,
                "generate_batch_rule is for ops that change no operand and have no 'out': write "
                "batch");
  static_assert(detail::Has_backward<D>::value || detail::Has_vjp<D>::value ||
                    detail::Has_jvp<D>::value,
                "generate_batch_rule is for Functions, which have a backward or a jvp: an op made "
                "of ops without one is composite");
  static_assert(!detail::is_instance<D>(),
                "generate_batch_rule is for static methods: write batch for an op of instances");
  static constexpr auto types = "BatchedOperand";  // operands that it is for
};

template <class D>
constexpr auto rule_of() {  // makes the override
  constexpr bool written = HasBatch<D>::value, generated = Generates<D>::value;
  static_assert(!(written && generated),
                "both batch and generate_batch_rule are given: keep one of them");
  static_assert(written || generated,
                "TENON_BATCH_RULE needs a definition with batch, or with generate_batch_rule = "
                "true");
  if constexpr (written)
    return BatchRule<D, decltype(&D::batch)>{};
  else if constexpr (generated)
    return GeneratedRule<D>{};
}

}  // namespace rule
}  // namespace transforms
TENON_NAMESPACE_END

// At global scope: registers the rule that the definition has for the op of its schema, as `batch` or by
// generate_batch_rule.
#define TENON_BATCH_RULE(Definition)                                                            \
  struct Definition##BatchRule : decltype(::tenon::transforms::rule::rule_of<Definition>()) {}; \
  TENON_OVERRIDE(Definition##BatchRule)

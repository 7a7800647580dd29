// A sort as a Function, with everything that one can have: backward, jvp, and a rule for batches.
#include <tuple>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>
#include <tenon/transforms/batch_rule.hpp>

namespace {

using tenon::Context;
using tenon::ContextOf;
using tenon::IntList;
using tenon::Tensor;
using tenon::operator""_arg;

struct Sort {
  static constexpr auto schema =
      "examples.sort(Tensor input, int dim) -> (Tensor values, Tensor order, Tensor inverse)";
  static constexpr auto doc =
      "Elements in ascending order along a dimension, the places that they come from, and those "
      "that "
      "they go to.";
  static constexpr auto twice_differentiable = true;
  static constexpr auto samples = R"([{"input": {"shape": [4, 3]}, "dim": 0},
                                      {"input": {"shape": [2, 5]}, "dim": -1}])";

  static std::tuple<Tensor, Tensor, Tensor> forward(Context& context, const Tensor& input,
                                                    int64_t dim) {
    const Tensor order = argsort(input, dim), inverse = argsort(order, dim);
    context.save_for_backward({inverse});
    context.save_for_forward({order});
    return {gather(input, dim, order), order, inverse};
  }
  static Tensor backward(ContextOf<Sort>& context, const Tensor& gradient, const Tensor&,
                         const Tensor&) {
    return gather(gradient, context["dim"_arg], context.saved(0));
  }
  static std::tuple<Tensor, Tensor, Tensor> jvp(ContextOf<Sort>& context, const Tensor& tangent) {
    return {gather(tangent, context["dim"_arg], context.saved(0)), {}, {}};
  }
  // The batch goes to the front, and the op runs once for all samples.
  static tenon::transforms::BatchResults batch(const tenon::transforms::BatchInfo&, IntList in_dims,
                                               const Tensor& input, int64_t dim) {
    static const tenon::Op sort("examples.sort");
    const Tensor whole = movedim(input, in_dims[0], 0);
    const auto [values, order, inverse] =
        sort.call<std::tuple<Tensor, Tensor, Tensor>>(whole, dim < 0 ? dim : dim + 1);
    return {{values, order, inverse}, {0, 0, 0}};
  }
};

}  // namespace

TENON_OP(Sort)
TENON_BATCH_RULE(Sort)

TENON_PLUGIN(batched_sort, "1.0.0")

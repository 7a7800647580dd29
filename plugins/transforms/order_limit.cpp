// Zeros of which a limited number of derivatives may be taken: what solvers add to results that are right up to an
// order.
#include <string>
#include <string_view>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>
#include <tenon/transforms/batch_rules.hpp>

namespace {

using namespace tenon;

struct OrderLimit {
  static constexpr auto schema =
      "transforms.order_limit(Tensor input, int left, int order, str who) -> Tensor";
  static constexpr auto doc =
      "Zeros of the input's shape, with zeros as derivatives up to the order `left`; a further one "
      "is "
      "an error, as `who` is right up to `order`.";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "left": 3, "order": 3, "who": "fixed_point"}])";
  static constexpr auto saves = "input";

  static Tensor forward(const Tensor& input, int64_t, int64_t, std::string_view) {
    return zeros(input.shape(), input.dtype());
  }
  // Zeros for gradients that are not finite, too.
  static Tensor backward(ContextOf<OrderLimit>& c, const Tensor& g) {
    return nan_to_num(g, 0.0, 0.0, 0.0) * slope(c);
  }
  static Tensor jvp(ContextOf<OrderLimit>& c, const Tensor& tangent) { return tangent * slope(c); }

 private:
  static Tensor slope(ContextOf<OrderLimit>& c) {
    static const Op limit("transforms.order_limit");
    const int64_t left = c["left"_arg], order = c["order"_arg];
    const std::string_view who = c["who"_arg];
    if (left == 0)
      throw NotImplementedError(std::string(who) + ": a derivative of order " +
                                std::to_string(order + 1) +
                                " is taken of the solution, which has " + std::to_string(order) +
                                "; give SolverOptions::order");
    return limit.call<Tensor>(c["input"_arg], left - 1, order, who);
  }
};

}  // namespace

TENON_OP(OrderLimit)

TENON_BATCH_RULES(limits, R"(
transforms.order_limit: elementwise
)")

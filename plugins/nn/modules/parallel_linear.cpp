// ColumnParallelLinear and RowParallelLinear: Linear layers of which each rank of a job may have a part.
#include <tenon/autograd.hpp>
#include <tenon/hooks.hpp>

#include "modules/initialize.hpp"

namespace {

using namespace nn;
using tenon::arg, tenon::Op, tenon::detail::Parameter;

// The pairs of Megatron-LM (Shoeybi et al., 2019): all ranks have copies of one loss.

// The input itself. Its gradient is the sum of what the ranks' parts contribute.
Tensor shared_input(const Tensor& input) {
  if (!input.requires_grad()) return input;
  const Tensor alias = input.view(input.shape());
  alias.register_hook([](const Tensor& gradient) {
    static const Op all_reduce("distributed.all_reduce");
    return all_reduce.call<Tensor>(gradient);
  });
  return alias;
}
// The sum of the ranks' addends, whose gradient is that of the sum.
Tensor sum_of_ranks(const Tensor& addend) {
  static const Op all_reduce("distributed.all_reduce");
  return all_reduce.call<Tensor>(addend, arg("gradient") = "identity");
}
// The ranks' features side by side; of the gradient each rank takes its own.
Tensor features_of_ranks(const Tensor& features) {
  static const Op all_gather("distributed.all_gather");
  return all_gather.call<Tensor>(features, arg("dim") = features.dim() - 1,
                                 arg("gradient") = "identity");
}
Tensor own_features(const Tensor& input, int64_t count) {
  static const Op rank("distributed.rank");
  return narrow(shared_input(input), input.dim() - 1, rank.call<int64_t>() * count, count);
}

// The members of both modules: the parameters of Linear, drawn alike. A training on several ranks
// replaces them by this rank's parts.
template <class Definition>
struct ParallelLinear : ModuleOf<Definition> {
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{"in_features": 3, "out_features": 2}])";

  Parameter weight{*this, "weight"}, bias{*this, "bias"};

  ParallelLinear(int64_t in_features, int64_t out_features, bool with_bias, bool) {
    check_size(Definition::name, "in_features", in_features, 1);
    check_size(Definition::name, "out_features", out_features, 1);
    weight = uniform_parameter(tenon::empty_tensor({out_features, in_features}), in_features);
    if (with_bias) bias = uniform_parameter(tenon::empty_tensor({out_features}), in_features);
  }
  // Whether the weight is one rank's part.
  bool divided() const {
    const auto& self = static_cast<const Definition&>(*this);
    return weight.size(0) != int64_t{self["out_features"_arg]} ||
           weight.size(1) != int64_t{self["in_features"_arg]};
  }
  // The features of a whole input.
  void check_input(const Tensor& input) const {
    const int64_t expected = static_cast<const Definition&>(*this)["in_features"_arg];
    if (input.dim() > 0 && input.size(-1) == expected) return;
    throw tenon::ValueError(std::string(Definition::name) + ": 'input' of shape " +
                            shape_text(input) + " has not " + std::to_string(expected) +
                            " features, in_features");
  }
};

struct ColumnParallelLinear : ParallelLinear<ColumnParallelLinear> {
  static constexpr auto name = "ColumnParallelLinear";
  static constexpr auto schema =
      "ColumnParallelLinear(int in_features, int out_features, bool bias=True, bool "
      "gather_output=True)";
  static constexpr auto doc =
      "Linear of which each of several ranks computes some output features. gather_output=False "
      "leaves each rank its own, for a RowParallelLinear with input_is_parallel=True.";
  using ParallelLinear<ColumnParallelLinear>::ParallelLinear;

  Tensor forward(const Tensor& input) const {
    if (!divided()) return tenon::nn::functional::linear(input, weight, bias);
    check_input(input);
    const Tensor own = tenon::nn::functional::linear(shared_input(input), weight, bias);
    return (*this)["gather_output"_arg] ? features_of_ranks(own) : own;
  }
};

struct RowParallelLinear : ParallelLinear<RowParallelLinear> {
  static constexpr auto name = "RowParallelLinear";
  static constexpr auto schema =
      "RowParallelLinear(int in_features, int out_features, bool bias=True, bool "
      "input_is_parallel=False)";
  static constexpr auto doc =
      "Linear of which each of several ranks reads some input features; the results are summed. "
      "With input_is_parallel=True the input has this rank's features alone, as a "
      "ColumnParallelLinear with gather_output=False gives them.";
  using ParallelLinear<RowParallelLinear>::ParallelLinear;

  Tensor forward(const Tensor& input) const {
    if (!divided()) return tenon::nn::functional::linear(input, weight, bias);
    const bool is_parallel = (*this)["input_is_parallel"_arg];
    if (!is_parallel) check_input(input);
    const Tensor own = is_parallel ? input : own_features(input, weight.size(1));
    const Tensor sum = sum_of_ranks(tenon::nn::functional::linear(own, weight, Tensor()));
    return bias.defined() ? sum + bias : sum;
  }
};

}  // namespace
TENON_MODULE(ColumnParallelLinear)
TENON_MODULE(RowParallelLinear)

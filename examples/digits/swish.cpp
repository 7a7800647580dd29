// The example's plugin: the Swish activation as a Function with a hand-written gradient,
// and the module that puts it into a model.
#include <tenon/plugin.hpp>
#include <tenon/module_definition.hpp>
#include <tenon/ops.hpp>

using tenon::Context, tenon::ModuleOf, tenon::Tensor;

// x * sigmoid(x) (Ramachandran, Zoph and Le, 2017). Keeps x alone for backward, where the
// composition of the two ops would keep three tensors.
struct Swish {
  static constexpr auto schema = "digits.swish(Tensor input) -> Tensor";
  static constexpr auto doc = "x * sigmoid(x), element by element.";

  static Tensor forward(Context& context, const Tensor& input) {
    context.save_for_backward({input});
    return input * input.sigmoid();
  }
  static Tensor backward(Context& context, const Tensor& gradient) {
    const Tensor input = context.saved(0);
    const Tensor gate = input.sigmoid();
    return gradient * (gate + input * gate * (1 - gate));
  }
};
TENON_OP(Swish)

struct SwishModule : ModuleOf<SwishModule> {
  static constexpr auto schema = "Swish()";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc = "Applies digits.swish.";

  Tensor forward(const Tensor& input) const {
    static const tenon::Op swish("digits.swish");
    return swish.call<Tensor>(input);
  }
};
TENON_MODULE(SwishModule)

TENON_PLUGIN(digits, "1.0.0")

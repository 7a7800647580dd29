#include <tenon/plugin.hpp>
#include <tenon/transforms/batch_rule.hpp>

namespace {

struct Both {
  static constexpr auto schema = "messages.both(Tensor input) -> Tensor";
  static constexpr bool generate_batch_rule = true;
  static tenon::Tensor forward(const tenon::Tensor& input) { return input; }
  static tenon::Tensor backward(tenon::Context&, const tenon::Tensor& gradient) { return gradient; }
  static tenon::transforms::BatchResults batch(const tenon::transforms::BatchInfo&, tenon::IntList,
                                               const tenon::Tensor& input) {
    return {{input}, {0}};
  }
};
struct NotDifferentiable {
  static constexpr auto schema = "messages.plain(Tensor input) -> Tensor";
  static constexpr bool generate_batch_rule = true;
  static tenon::Tensor forward(const tenon::Tensor& input) { return input; }
};

}  // namespace

// expect: both batch and generate_batch_rule are given: keep one of them
TENON_BATCH_RULE(Both)
// expect: generate_batch_rule is for Functions, which have a backward or a jvp
TENON_BATCH_RULE(NotDifferentiable)

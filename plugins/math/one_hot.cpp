// one_hot: class indices as vectors of zeros with a one.
#include "index_places.hpp"

using namespace tenon;
using namespace math;

namespace {

struct OneHot {
  static constexpr auto schema = "one_hot(Tensor input, int num_classes) -> Tensor";
  static constexpr auto doc =
      "For each class index a vector of zeros with a one in its place, as i64.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, int64_t num_classes) {
    if (num_classes < 1) {
      throw ValueError("one_hot(): num_classes must be at least 1, but it is " +
                       std::to_string(num_classes));
    }
    kernel::check_rank("one_hot", input.dim() + 1);
    check_index_dtype("one_hot", input);
    const Tensor classes = contiguous_as(input, i64);
    const int64_t* from = classes.data<int64_t>();
    for (int64_t i = 0; i < classes.numel(); ++i) {
      if (from[i] < 0 || from[i] >= num_classes) {
        throw IndexError("one_hot(): class " + std::to_string(from[i]) + " is out of range for " +
                         std::to_string(num_classes) + " classes");
      }
    }
    Shape shape(input.shape());
    shape.push(num_classes);
    const Tensor result = empty_tensor(shape, i64);
    fill_elements(result, 0);
    auto* to = result.data<int64_t>();
    for (int64_t i = 0; i < classes.numel(); ++i) to[i * num_classes + from[i]] = 1;
    return result;
  }
};

}  // namespace

TENON_OP(OneHot)

// Shared code of the ops of this plugin: refusals, reductions by name, shapes.
#include "common.hpp"

#include <algorithm>
#include <mutex>
#include <set>

namespace nn {

Reduction parse_reduction(const char* op, std::string_view text) {
  if (text == "mean") return Reduction::mean;
  if (text == "sum") return Reduction::sum;
  if (text == "none") return Reduction::none;
  throw tenon::ValueError(std::string(op) + "(): '" + std::string(text) +
                          "' is not a valid reduction; choose none, mean or sum");
}

Shape broadcast_shape(const char* op, const char* a_name, const Tensor& a, const char* b_name,
                      const Tensor& b) {
  const IntList a_shape = a.shape(), b_shape = b.shape();
  const int64_t rank = std::max(a_shape.size(), b_shape.size());
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t from_a = i - (rank - a_shape.size()), from_b = i - (rank - b_shape.size());
    const int64_t a_size = from_a < 0 ? 1 : a_shape[from_a],
                  b_size = from_b < 0 ? 1 : b_shape[from_b];
    if (a_size != b_size && a_size != 1 && b_size != 1) {
      throw tenon::ValueError(std::string(op) + "(): '" + a_name + "' of shape " + shape_text(a) +
                              " and '" + b_name + "' of shape " + shape_text(b) +
                              " cannot be broadcast together");
    }
    shape.push(a_size == 1 ? b_size : a_size);
  }
  return shape;
}

void warn_of_broadcast(const char* op, const Tensor& input, const Tensor& target, IntList shape) {
  if (kernel::same_shape(input.shape(), target.shape())) return;
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!warned.insert(op).second) return;
  const std::string text = std::string(op) + "(): 'input' of shape " + shape_text(input) +
                           " and 'target' of shape " + shape_text(target) + " are broadcast to " +
                           shape_text(shape) +
                           ", which is likely to give a wrong loss; reshape one of them";
  tenon::service::threads().log(3, "nn", text.data(), static_cast<int64_t>(text.size()));
}

Tensor product_or_zero(const Tensor& factor, const Tensor& x) {
  const Tensor nothing = factor.eq(0).logical_and(x.isinf());
  return factor * x.masked_fill(nothing, 0);
}

}  // namespace nn

// What the ops of this plugin share: refusals, reductions by name, shapes.
#include "common.hpp"

namespace nn {

std::string shape_text(IntList shape) {
  std::string text = "[";
  for (int64_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

void throw_floating(const char* op, const char* name, DType dtype) {
  throw tenon::TypeError(std::string(op) + "(): '" + name + "' must be f32 or f64, got " +
                         tenon::dtype_text(dtype) + "; convert it with to()");
}

void throw_same_dtype(const char* op, const char* a_name, DType a, const char* b_name, DType b) {
  throw tenon::TypeError(std::string(op) + "(): '" + a_name + "' is " + tenon::dtype_text(a) +
                         " but '" + b_name + "' is " + tenon::dtype_text(b) +
                         "; convert one with to()");
}

void throw_setting(const char* op, const char* name, int64_t value, int64_t least) {
  throw tenon::ValueError(std::string(op) + "(): " + name + " must be from " +
                          std::to_string(least) + " to " + std::to_string(largest_setting) +
                          ", got " + std::to_string(value));
}

Reduction parse_reduction(const char* op, std::string_view text) {
  if (text == "mean") return Reduction::mean;
  if (text == "sum") return Reduction::sum;
  if (text == "none") return Reduction::none;
  throw tenon::ValueError(std::string(op) + "(): '" + std::string(text) +
                          "' is not a valid reduction; choose none, mean or sum");
}

}  // namespace nn

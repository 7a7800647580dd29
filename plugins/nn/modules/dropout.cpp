// Dropout, of elements and of whole channels.
#include "modules/initialize.hpp"

namespace {

using namespace nn;

void check_probability(const char* module, double p) {
  if (p >= 0 && p <= 1) return;
  throw tenon::ValueError(std::string(module) + ": p must be a probability, between 0 and 1, got " +
                          std::to_string(p));
}

struct Dropout : ModuleOf<Dropout> {
  static constexpr auto schema = "Dropout(float p=0.5)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto doc =
      "During training, zeroes each element with probability p; otherwise returns its input.";

  explicit Dropout(double p) { check_probability("Dropout", p); }
  Tensor forward(const Tensor& input) const {
    return training() ? tenon::nn::functional::dropout(input, (*this)["p"_arg], true) : input;
  }
};

struct Dropout2d : ModuleOf<Dropout2d> {
  static constexpr auto schema = "Dropout2d(float p=0.5)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{"p": 0.0}])";
  static constexpr auto doc =
      "During training, zeroes each channel of each sample with probability p, of [N, C, H, W] or "
      "[C, H, W].";

  explicit Dropout2d(double p) { check_probability("Dropout2d", p); }
  Tensor forward(const Tensor& input) const {
    if (!training()) return input;
    if (input.dim() != 3 && input.dim() != 4) {
      throw tenon::ValueError("Dropout2d: expected an input of 3 or 4 dimensions, got " +
                              std::to_string(input.dim()));
    }
    std::vector<int64_t> shape = input.sizes();
    shape[shape.size() - 1] = shape[shape.size() - 2] = 1;
    const Tensor ones = tenon::empty_tensor(list_of(shape), input.dtype());
    tenon::fill_elements(ones, 1);
    return input * tenon::nn::functional::dropout(ones, (*this)["p"_arg], true);
  }
};

}  // namespace
TENON_MODULE(Dropout)
TENON_MODULE(Dropout2d)

// f8, f6 and f4 through the skin: kept, shown and converted; whatever computes names to(float32).
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {

constexpr DType kNarrow[] = {f8_e4m3, f8_e5m2, f8_e8m0, f6_e2m3, f6_e3m2, f4_e2m1};

template <class Action>
std::string type_error(Action&& action) {
  try {
    action();
  } catch (const TypeError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_SUITE("sdk/narrow") {
  TEST_CASE("they are converted, shaped, viewed and shown as other dtypes") {
    for (const DType dtype : kNarrow) {
      CAPTURE(dtype_text(dtype));
      const Tensor tensor = full({2, 3}, 2).to(f32).to(dtype);
      CHECK(tensor.dtype() == dtype);
      CHECK(tensor.t().contiguous().to(f32).to_vector<float>() == std::vector<float>(6, 2.0F));
      CHECK(tensor.to(bf16).to(f64).to_vector<double>() == std::vector<double>(6, 2.0));
      CHECK(tensor.select(0, 1).select(0, 2).item() == 2);
      CHECK(tensor.select(0, 1).text() ==
            "tensor([2., 2., 2.], dtype=" + std::string(dtype_text(dtype)) + ")");
      CHECK_FALSE(is_differentiable(dtype));
    }
  }

  TEST_CASE("a computation with one is a TypeError that names to(float32)") {
    for (const DType dtype : kNarrow) {
      CAPTURE(dtype_text(dtype));
      const Tensor tensor = ones({2, 2}).to(dtype);
      const Tensor other = ones({2, 2});
      for (const auto& message :
           {type_error([&] { tensor + tensor; }), type_error([&] { tensor * 2; }),
            type_error([&] { exp(tensor); }), type_error([&] { tensor + other; }),
            type_error([&] { tensor.sum(); }), type_error([&] { matmul(tensor, tensor); }),
            type_error([&] { matmul(other, tensor); })}) {
        CHECK(message.find("to(float32)") != std::string::npos);
      }
    }
  }

  TEST_CASE("a gradient stops at a conversion to one") {
    const Tensor tensor = ones({2}).requires_grad_();
    CHECK_FALSE(tensor.to(f8_e4m3).requires_grad());
    CHECK_THROWS_AS(ones({2}).to(f8_e4m3).requires_grad_(), RuntimeError);
  }
}

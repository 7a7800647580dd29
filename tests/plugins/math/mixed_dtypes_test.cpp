// Forward mode where operands have different dtypes: a tangent has the dtype of its result, and an
// operand without a tangent is a constant, whatever its dtype.
#include "../compare.hpp"

using compare::check_values;
using tenon::f32;
using tenon::f64;
using tenon::tensor;
using tenon::Tensor;

namespace {

Tensor tangent_of(const Tensor& result) {
  const Tensor tangent = unpack_dual(result).tangent;
  REQUIRE(tangent.defined());
  CHECK(tangent.dtype() == result.dtype());
  return tangent;
}

}  // namespace

TEST_SUITE("plugins/math/mixed_dtypes") {
  TEST_CASE("an integer operand is a constant of the linear ops, not its own tangent") {
    const tenon::DualLevel level;
    const Tensor x = make_dual(tensor({1.0, 2.0, 3.0}), tensor({1.0, 1.0, 1.0}));
    check_values(tangent_of(select_scatter(x, tenon::full({}, 7), 0, 1)), {3}, {1, 0, 1});
    check_values(tangent_of(slice_scatter(x, tensor({5, 6}), 0, 1)), {3}, {1, 0, 0});
    check_values(tangent_of(tenon::cat({x, tensor({5, 6})})), {5}, {1, 1, 1, 0, 0});
    check_values(tangent_of(tenon::stack({tensor({5, 6, 7}), x})), {2, 3}, {0, 0, 0, 1, 1, 1});
  }

  TEST_CASE("tangents are cast to the dtype of the result") {
    const tenon::DualLevel level;
    const Tensor x = make_dual(tensor({2.0, 3.0}, f32), tensor({1.0, 10.0}, f32));
    const Tensor y = tensor({4.0, 1.0}, f64);
    const Tensor z = make_dual(tensor({4.0, 1.0}, f64), tensor({1.0, 1.0}, f64));
    check_values(tangent_of(x + y), {2}, {1, 10});
    check_values(tangent_of(x - z), {2}, {0, 9});
    check_values(tangent_of(y - x), {2}, {-1, -10});
    check_values(tangent_of(x * z), {2}, {6, 13});
    check_values(tangent_of(x / y), {2}, {0.25, 10});
    check_values(tangent_of(atan2(x, y)), {2}, {0.2, 1});
    check_values(tangent_of(pow(x, tensor({2.0, 2.0}, f64))), {2}, {4, 60});
    check_values(tangent_of(maximum(x, y)), {2}, {0, 10});
    check_values(tangent_of(where(tensor({true, false}), x, y)), {2}, {1, 0});
    check_values(tangent_of(x.prod(tenon::none, false, f64)), {}, {23});
    check_values(tangent_of(x.sum(tenon::none, false, f64)), {}, {11});
    check_values(tangent_of(tenon::nn::functional::l1_loss(x, y)), {}, {4.5});
    check_values(tangent_of(tenon::nn::functional::mse_loss(x, y)), {}, {18});
    check_values(tangent_of(x * tensor({3, 4})), {2}, {3, 40});
    check_values(
        tangent_of(select_scatter(x, make_dual(tenon::ones({}, f64), tenon::ones({}, f64)), 0, 0)),
        {2}, {1, 10});
  }

  TEST_CASE("an integer result of a dual has no tangent") {
    const tenon::DualLevel level;
    const Tensor x = make_dual(tensor({2.0, 3.0}), tensor({1.0, 10.0}));
    Tensor copied = tensor({0, 0});
    copied.copy_(x);
    check_values(copied, {2}, {2, 3});
    Tensor part = tensor({0, 0, 0});
    part.slice(0, 0, 2).copy_(x);
    for (const Tensor& result : {copied, part, tenon::prod(x, tenon::none, false, tenon::i64),
                                 as_strided_scatter(tensor({0, 0, 0}), x, std::vector<int64_t>{2},
                                                    std::vector<int64_t>{1}, 1)}) {
      CHECK(result.dtype() == tenon::i64);
      CHECK_FALSE(unpack_dual(result).tangent.defined());
    }
  }

  TEST_CASE("in-place forms keep the dtype of the tensor that they change") {
    const tenon::DualLevel level;
    const Tensor z = make_dual(tensor({4.0, 1.0}, f64), tensor({1.0, 1.0}, f64));
    Tensor x = make_dual(tensor({2.0, 3.0}, f32), tensor({1.0, 10.0}, f32));
    check_values(tangent_of(x.add_(z)), {2}, {2, 11});
    check_values(tangent_of(x.mul_(z)), {2}, {14, 15});
    x = tensor({2.0, 3.0}, f32);
    check_values(tangent_of(x.sub_(z)), {2}, {-1, -1});
  }
}

// Numbers beside tensors: what a dtype cannot hold is refused, never wrapped; result dtypes; ends
// of ranges.
#include <cmath>
#include <limits>

#include "../compare.hpp"

using compare::check_values;
using compare::refusal;
using tenon::boolean;
using tenon::f32;
using tenon::f64;
using tenon::i16;
using tenon::i32;
using tenon::i64;
using tenon::i8;
using tenon::Scalar;
using tenon::tensor;
using tenon::Tensor;
using tenon::u8;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string misfit(const std::string& op, const std::string& number, const std::string& dtype) {
  return op + "(): the number " + number + " does not fit " + dtype;
}
void check_refused(const std::function<void()>& call, const std::string& start) {
  const std::string text = refusal(call);
  CHECK_MESSAGE(text.find(start) != std::string::npos, text);
}

}  // namespace

TEST_SUITE("plugins/math/numbers") {
  TEST_CASE("a number that an integer dtype cannot hold is refused") {
    const Tensor bytes = tensor({1, 2}, u8), small = tensor({1, 2}, i8);
    const Tensor mask = tensor({true, false});
    check_refused([&] { add(bytes, 300); }, misfit("add", "300", "u8, which holds 0 to 255"));
    check_refused([&] { add(300, bytes); }, misfit("add", "300", "u8"));
    check_refused([&] { sub(bytes, -1); }, misfit("sub", "-1", "u8"));
    check_refused([&] { small * 128; }, misfit("mul", "128", "i8"));
    check_refused([&] { add(bytes, bytes, 256); }, misfit("add", "256", "u8"));
    check_refused([&] { maximum(bytes, -1); }, misfit("maximum", "-1", "u8"));
    check_refused([&] { remainder(small, 200); }, misfit("remainder", "200", "i8"));
    check_refused([&] { floor_divide(small, 256); }, misfit("floor_divide", "256", "i8"));
    check_refused([&] { bitwise_and(small, 511); }, misfit("bitwise_and", "511", "i8"));
    check_refused([&] { pow(small, 300); }, misfit("pow", "300", "i8"));
    check_refused([&] { where(mask, bytes, 300); }, misfit("where", "300", "u8"));
    check_refused([&] { small.clone().add_(1000); }, misfit("add_", "1000", "i8"));
    check_refused([&] { fill_(small.clone(), 1000); }, "the number 1000 does not fit i8");
    check_refused([&] { fill_(tensor({1}), kNan); }, "the number nan does not fit i64");
    check_refused([&] { fill_(tensor({1}), 9223372036854775808.0); }, "does not fit i64");
    check_refused([&] { tenon::full({1}, 300, u8); }, "the number 300 does not fit u8");
    check_refused([&] { full_like(bytes, -1); }, "the number -1 does not fit u8");
    check_refused([&] { masked_fill(bytes, mask, 300); }, "masked_fill(): value 300 does not fit");
    check_refused([&] { tenon::randint(-2, 6, {4}, u8); }, "do not fit u8");
    check_refused([&] { tenon::arange(300, tenon::none, 1, u8); },
                  "the number 299 does not fit u8");
    check_refused([&] { tenon::arange(-1, 3, 1, u8); }, "the number -1 does not fit u8");
    check_refused([&] { tenon::linspace(0, 1000, 3, i8); }, "does not fit i8");
    check_refused([&] { tenon::randperm(257, u8); }, "do not fit u8");
    check_refused([&] { tenon::randperm(2, boolean); }, "randperm()");
    check_refused([&] { tensor({1, 300}, u8); }, "the number 300 does not fit");
    check_refused([&] { tensor({kNan}, i32); }, "does not fit");
    check_refused([&] { tensor({300}).item<int8_t>(); }, "the number 300 does not fit");
    check_refused([&] { tensor({1e300}, f64).item<int64_t>(); }, "does not fit");
    check_refused([&] { Scalar{std::numeric_limits<uint64_t>::max()}; }, "does not fit i64");
  }

  TEST_CASE("numbers at the ends of the range, fractions and truth are taken") {
    CHECK(tenon::full({1}, 255, u8).item<int64_t>() == 255);
    CHECK(tenon::full({1}, INT64_MIN, i64).item<int64_t>() == INT64_MIN);
    CHECK(tenon::full({1}, -0x1p63, i64).item<int64_t>() == INT64_MIN);
    CHECK(tenon::full({1}, 1.9, i8).item<int64_t>() == 1);
    CHECK(tenon::full({1}, 300, boolean).item<bool>());
    CHECK(tenon::full({1}, 1e300, f32).item() == kInf);
    CHECK(tenon::arange(256, tenon::none, 1, u8).size(0) == 256);
    CHECK(tenon::randint(0, 256, {9}, u8).dtype() == u8);
    CHECK(tenon::randint(0, 2, {9}, boolean).dtype() == boolean);
    CHECK(Scalar(255).fits(u8));
    CHECK_FALSE(Scalar(256).fits(u8));
    CHECK(Scalar(-0.5).fits(u8));
    CHECK_FALSE(Scalar(kNan).fits(i64));
    CHECK(Scalar(kNan).fits(f32));
  }

  TEST_CASE("integers are compared as they are, with any number") {
    const Tensor bytes = tensor({0, 44, 255}, u8);
    CHECK(eq(bytes, 300).to_vector<bool>() == std::vector<bool>{false, false, false});
    CHECK(lt(bytes, 300).to_vector<bool>() == std::vector<bool>{true, true, true});
    CHECK(ge(bytes, -1).to_vector<bool>() == std::vector<bool>{true, true, true});
    CHECK(gt(-1, bytes).to_vector<bool>() == std::vector<bool>{false, false, false});
    CHECK(eq(bytes, tenon::full({}, 300)).to_vector<bool>() ==
          std::vector<bool>{false, false, false});
    CHECK(logical_and(bytes, 256).to_vector<bool>() == std::vector<bool>{false, true, true});
  }

  TEST_CASE("clamp cuts its bounds to the dtype, and takes floating ones with f32") {
    const Tensor small = tensor({-128, 3, 127}, i8), bytes = tensor({0, 1, 255}, u8);
    check_values(small.clamp(-200, 200), {3}, {-128, 3, 127});
    CHECK(small.clamp(-200, 200).dtype() == i8);
    check_values(bytes.clamp(-1, 300), {3}, {0, 1, 255});
    check_values(bytes.clamp(-1, 0.75), {3}, {0, 0.75, 0.75});
    CHECK(bytes.clamp(-1, 0.75).dtype() == f32);
    check_refused([&] { bytes.clamp(300); }, "clamp(): min 300 does not fit u8");
    check_refused([&] { bytes.clamp(tenon::none, -1); }, "clamp(): max -1 does not fit u8");
    check_values(tensor({1.0, 2.0}).clamp(tenon::none, kNan), {2}, {kNan, kNan});
    const Tensor x = tensor({1.0, 2.0}).requires_grad_();
    x.clamp(tenon::none, kNan).sum().backward();
    check_values(x.grad(), {2}, {0, 0});
  }

  TEST_CASE("result dtypes") {
    const Tensor mask = tensor({true, false});
    const Tensor truth = masked_fill(tensor({false, false}), mask, -2);
    CHECK(truth.dtype() == boolean);
    CHECK(truth.to_vector<bool>() == std::vector<bool>{true, false});
    const Tensor whole = masked_fill(tensor({7, 8}), mask, 0.5);
    CHECK(whole.dtype() == i64);
    check_values(whole, {2}, {0, 8});
    const Tensor large = tenon::full({4}, 2000000000, i32);
    CHECK(large.sum_to_size({1}).dtype() == i64);
    CHECK(large.sum_to_size({1}).item<int64_t>() == 8000000000);
    CHECK(large.sum_to_size({4}).dtype() == i32);
    CHECK(mask.square().dtype() == i64);
    check_values(mask.square(), {2}, {1, 0});
    CHECK(mask.sign().dtype() == boolean);
    CHECK(mask.sign().to_vector<bool>() == std::vector<bool>{true, false});
    const Tensor half = tensor({0.5, -0.5, 0.0});
    CHECK(half.sum(tenon::none, false, boolean).item<bool>());
    CHECK_FALSE(half.prod(tenon::none, false, boolean).item<bool>());
    CHECK(tensor({0.5, 2.0}).prod(tenon::none, false, boolean).item<bool>());
    CHECK(tensor({1, -1}).sum(tenon::none, false, boolean).item<bool>());
    CHECK(tensor({256}).prod(tenon::none, false, boolean).item<bool>());
  }

  TEST_CASE("var and std of f32 neither overflow nor vanish, along any dimension") {
    for (const double scale : {1e20, 1e-24, 1.0}) {
      const Tensor x = compare::numbers({40, 50}, f64, 3) * scale;
      const Tensor narrow = x.to(f32);
      for (const int64_t dim : {0, 1}) {
        CAPTURE(scale);
        CAPTURE(dim);
        compare::check_close(narrow.std({dim}).to(f64) / scale, x.std({dim}) / scale, 1e-5);
        compare::check_close(narrow.t().std({dim}).to(f64) / scale, x.t().std({dim}) / scale, 1e-5);
      }
    }
  }

  TEST_CASE(
      "where no degrees of freedom are left, var is NaN or infinite, and so is its gradient") {
    const Tensor one = tensor({3.0}).requires_grad_();
    const Tensor none = one.var();
    CHECK(std::isnan(none.item()));
    none.backward();
    CHECK(std::isnan(one.grad().item()));
    const Tensor two = tensor({1.0, 2.0}).requires_grad_();
    const Tensor spread = two.var(tenon::none, false, 2);
    CHECK(spread.item() == kInf);
    spread.backward();
    check_values(two.grad(), {2}, {-kInf, kInf});
  }

  TEST_CASE("rules do not calculate with integer operands: pow, atan2") {
    const Tensor x = tensor({0.0, 2.0, 3.0}).requires_grad_();
    pow(x, tensor({0, 0, 2}, u8)).sum().backward();
    check_values(x.grad(), {3}, {0, 0, 6});
    const Tensor y = tensor({1.0}).requires_grad_();
    atan2(y, tensor({100000}, i32)).sum().backward();
    CHECK(y.grad().item() == doctest::Approx(1e-5));
  }

  TEST_CASE("the derivative of pow by its base can be differentiated by a zero exponent") {
    const Tensor x = tensor({2.0, 4.0}, tenon::f64).requires_grad_();
    const Tensor e = tensor({0.0, 0.0}, tenon::f64).requires_grad_();
    tenon::GradientOptions recorded;
    recorded.create_graph = true;
    const Tensor by_base = tenon::gradients({sum(pow(x, e))}, {x}, recorded)[0];
    check_values(tenon::gradients({sum(by_base)}, {e})[0], {2}, {0.5, 0.25});
  }

  TEST_CASE("piecewise constant ops give zeros with a history") {
    using tenon::floor_divide;
    const std::vector<std::function<Tensor(const Tensor&)>> ops = {
        [](const Tensor& x) { return x.floor(); },
        [](const Tensor& x) { return x.ceil(); },
        [](const Tensor& x) { return x.round(); },
        [](const Tensor& x) { return x.trunc(); },
        [](const Tensor& x) { return x.sign(); },
        [](const Tensor& x) { return floor_divide(x, 2); },
        [](const Tensor& x) { return floor_divide(2, x); }};
    for (const auto& op : ops) {
      const Tensor x = tensor({0.25, -1.5, kInf}).requires_grad_();
      (op(x) + x).sum().backward();
      check_values(x.grad(), {3}, {1, 1, 1});
      const tenon::DualLevel level;
      const Tensor dual = make_dual(tensor({0.25, -1.5}), tensor({1.0, 1.0}));
      check_values(unpack_dual(op(dual)).tangent, {2}, {0, 0});
    }
    CHECK_FALSE(tensor({1, 2}).floor().requires_grad());
  }

  TEST_CASE("a 0-dim input of index_add takes exactly one index") {
    const Tensor zero = tenon::zeros({});
    check_refused([&] { index_add(zero, 0, tenon::zeros({0}, i64), zero); },
                  "index_add(): a 0-dim input takes one index, not 0");
    check_refused(
        [&] {
          index_add(zero, 0, tensor({0, 0}), zero);
        },
        "index_add(): a 0-dim input takes one index, not 2");
    CHECK(index_add(zero, 0, tensor({0}), tenon::ones({})).item() == 1);
  }

  TEST_CASE("expanded tensors can be filled: every place has one value") {
    const Tensor base = tenon::ones({2, 1});
    base.expand({2, 3}).zero_();
    check_values(base, {2, 1}, {0, 0});
    base.expand({2, 3}).select(0, 1).fill_(5);
    check_values(base, {2, 1}, {0, 5});
    check_refused([&] { base.expand({2, 3}).copy_(tenon::ones({2, 3})); }, "expanded tensor");
  }

  TEST_CASE("sizes that add up to more than can be addressed are refused") {
    const int64_t huge = int64_t{1} << 62;
    const Tensor wide = tenon::ones({1}).expand({huge});
    check_refused([&] { tenon::cat({wide, wide, wide, wide}); }, "cat(): the sizes");
    check_refused([&] { split(tenon::ones({0}), {huge, huge, huge, huge}); }, "split(): the sizes");
    check_refused([&] { chunk(tenon::ones({0}), huge); }, "chunk()");
    check_refused([&] { tenon::eye(huge); }, "more elements than can be addressed");
    check_refused([&] { tenon::linspace(0, 1, huge); }, "more bytes than can be addressed");
  }
}

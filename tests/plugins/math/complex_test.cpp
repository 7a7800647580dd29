// Complex tensors: values, promotion, views, refusals and gradients.
#include <complex>
#include <limits>

#include <tenon/gradcheck.hpp>

#include "../compare.hpp"
#include "gradient_cases.hpp"

using compare::refusal;
using tenon::c128;
using tenon::c64;
using tenon::DType;
using tenon::Error;
using tenon::f32;
using tenon::f64;
using tenon::Tensor;

namespace {

using C = std::complex<double>;

// Repeatable complex numbers with parts in (-1, 1), away from 0.
Tensor numbers(const std::vector<int64_t>& shape, DType dtype = c128, uint64_t seed = 1) {
  const Tensor like =
      tenon::empty_tensor(tenon::IntList(shape.data(), static_cast<int64_t>(shape.size())), dtype);
  return tenon::detail::arbitrary_like(like, seed);
}
void check_values(const Tensor& found, const std::vector<C>& expected, double tolerance = 1e-12) {
  const auto values = found.to_vector<C>();
  REQUIRE(values.size() == expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(values[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])));
  }
}
DType result(const Tensor& a, const Tensor& b) { return (a * b).dtype(); }
Tensor leaf(const Tensor& tensor) { return tensor.detach().clone().requires_grad_(); }

template <class F>
void check_gradients(F function, std::vector<Tensor> inputs) {
  for (Tensor& input : inputs) input = leaf(input);
  tenon::GradcheckOptions options;
  options.check_forward_ad = true;
  CHECK(gradcheck(function, inputs, options));
  options.check_forward_ad = false;
  CHECK(gradgradcheck(function, inputs, options));
}

}  // namespace

// Ops that only complex numbers have.
std::set<std::string> complex_gradient_ops() {
  return {"conj", "conj_physical", "imag", "real", "sgn", "view_as_complex", "view_as_real"};
}

TEST_SUITE("plugins/math/complex") {
  TEST_CASE("tensors are made of std::complex, of numbers, and read again") {
    const Tensor x = tenon::tensor({C(1, 2), C(3, -4)});
    CHECK(x.dtype() == c64);
    CHECK(x.text() == "tensor([1.+2.j, 3.-4.j])");
    CHECK(tenon::tensor({{C(1, 2)}, {C(0.5, -1)}}, c128).text() ==
          "tensor([[1.0000+2.j],\n        [0.5000-1.j]], dtype=c128)");
    CHECK(x.to_vector<C>() == std::vector<C>{{1, 2}, {3, -4}});
    const std::vector<C> range{{1, 2}, {3, 4}};
    CHECK(tenon::from_range(range.begin(), range.end()).to_vector<C>() == range);
    CHECK(tenon::full({2}, 3, c64).to_vector<C>() == std::vector<C>{3, 3});
    CHECK(tenon::zeros({2}, c128).to_vector<C>() == std::vector<C>{0, 0});
    CHECK(tenon::ones({1}, c64).item<C>() == C(1));
    CHECK(x.data<std::complex<float>>()[1] == std::complex<float>(3, -4));
    CHECK(tenon::tensor({true, false}).to(c64).to_vector<C>() == std::vector<C>{1, 0});
    CHECK(tenon::tensor({1.5}, f64).to(c128).item<C>() == C(1.5));
    CHECK(x.to(tenon::boolean).to_vector<bool>() == std::vector<bool>{true, true});
    CHECK(tenon::tensor({C(0, 1), C(0, 0)}).to(tenon::boolean).to_vector<bool>() ==
          std::vector<bool>{true, false});
  }

  TEST_CASE("complex elements are not cut to real ones") {
    const Tensor x = tenon::tensor({C(1, 2)});
    for (const DType dtype : {f32, f64, tenon::i64, tenon::f16, tenon::u64}) {
      CHECK(refusal([&] { x.to(dtype); }) ==
            std::string("to(): c64 elements cannot be converted to ") + dtype_text(dtype) +
                ", which would drop their imaginary parts: take real(), imag() or abs() of the "
                "tensor first");
    }
    CHECK_THROWS_AS(x.to(f32), tenon::TypeError);
    CHECK_THROWS_AS(x.item<double>(), tenon::TypeError);
    CHECK_THROWS_AS(tenon::tensor({C(1, 2)}, f32), tenon::TypeError);
    CHECK_THROWS_AS(tenon::zeros({1}).copy_(x), tenon::TypeError);
    CHECK_THROWS_AS(tenon::zeros({1}).add_(x), tenon::TypeError);
  }

  TEST_CASE("promotion follows PyTorch") {
    const Tensor real32 = tenon::ones({2}, f32), real64 = tenon::ones({2}, f64);
    const Tensor z64 = tenon::ones({2}, c64), z128 = tenon::ones({2}, c128);
    CHECK(result(real32, z64) == c64);
    CHECK(result(real64, z64) == c128);
    CHECK(result(real32, z128) == c128);
    CHECK(result(z64, z128) == c128);
    CHECK(result(tenon::ones({2}, tenon::i64), z64) == c64);
    CHECK(result(tenon::ones({2}, tenon::boolean), z64) == c64);
    CHECK(result(tenon::ones({2}, tenon::f16), z64) == c64);
    CHECK(result(tenon::ones({2}, tenon::u64), z64) == c64);
    // Without dimensions they raise the kind alone, and numbers do, too.
    CHECK(result(real32, tenon::ones({}, c128)) == c64);
    CHECK(result(real64, tenon::ones({}, c64)) == c128);
    CHECK((z64 * 2.5).dtype() == c64);
    CHECK(tenon::common_dtype(f64, c64) == c128);
  }

  TEST_CASE("arithmetic and functions") {
    const C a(1.5, -0.5), b(-0.25, 2);
    const Tensor x = tenon::tensor({a}, c128), y = tenon::tensor({b}, c128);
    check_values(x + y, {a + b});
    check_values(x - y, {a - b});
    check_values(add(x, y, 3), {a + 3. * b});
    check_values(x * y, {a * b});
    check_values(x / y, {a / b});
    check_values(-x, {-a});
    check_values(x.reciprocal(), {1. / a});
    check_values(x.square(), {a * a});
    check_values(x.exp(), {std::exp(a)});
    check_values(x.log(), {std::log(a)});
    check_values(x.sqrt(), {std::sqrt(a)});
    check_values(x.rsqrt(), {1. / std::sqrt(a)});
    check_values(x.sin(), {std::sin(a)});
    check_values(x.cos(), {std::cos(a)});
    check_values(x.pow(y), {std::pow(a, b)});
    check_values(x.pow(3), {a * a * a});
    check_values(x.pow(-2), {1. / (a * a)});
    check_values(tenon::zeros({1}, c128).pow(0), {1});
    check_values(tenon::zeros({1}, c128).pow(y.real().abs()), {0});
    check_values(x.conj(), {std::conj(a)});
    check_values(x.sgn(), {a / std::abs(a)});
    check_values(tenon::zeros({1}, c128).sgn(), {0});
    CHECK(x.abs().dtype() == f64);
    CHECK(x.abs().item() == doctest::Approx(std::abs(a)));
    CHECK(x.angle().item() == doctest::Approx(std::arg(a)));
    CHECK(tenon::tensor({C(3, 4)}).abs().dtype() == f32);
    CHECK(x.to(c64).sqrt().dtype() == c64);
    // A part that is infinite leaves the other one alone.
    const double inf = std::numeric_limits<double>::infinity();
    CHECK((tenon::tensor({C(inf, 1)}, c128) + 1).item<C>() == C(inf, 1));
    const Tensor into = tenon::zeros({1}, c128);
    check_values(mul(x, y, into), {a * b});
    check_values(x.clone().mul_(y), {a * b});
    check_values(tenon::where(tenon::tensor({true, false}), x, y), {a, b});
  }

  TEST_CASE("elementary functions are inverse to each other, and those of real numbers there") {
    const Tensor x = numbers({3, 4}) * 0.9, r = x.real().abs().contiguous();
    using Function = Tensor (*)(const Tensor&);
    const auto inverse = [&](Function f, Function g) {
      check_values(f(g(x)), x.to_vector<C>(), 1e-13);
      const Tensor narrow = x.to(c64);
      check_values(f(g(narrow)), narrow.to_vector<C>(), 2e-6);
    };
    inverse([](const Tensor& a) { return a.tan(); }, [](const Tensor& a) { return a.atan(); });
    inverse([](const Tensor& a) { return a.sin(); }, [](const Tensor& a) { return a.asin(); });
    inverse([](const Tensor& a) { return a.cos(); }, [](const Tensor& a) { return a.acos(); });
    inverse([](const Tensor& a) { return a.sinh(); }, [](const Tensor& a) { return a.asinh(); });
    inverse([](const Tensor& a) { return a.cosh(); }, [](const Tensor& a) { return a.acosh(); });
    inverse([](const Tensor& a) { return a.tanh(); }, [](const Tensor& a) { return a.atanh(); });
    inverse([](const Tensor& a) { return a.exp2(); }, [](const Tensor& a) { return a.log2(); });
    inverse([](const Tensor& a) { return a.expm1(); }, [](const Tensor& a) { return a.log1p(); });
    for (const char* name : {"tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
                             "atanh", "exp2", "expm1", "log2", "log10", "log1p", "sigmoid"}) {
      CAPTURE(name);
      const tenon::Op op(name);
      check_values(op.call<Tensor>(r.to(c128)), op.call<Tensor>(r).to(c128).to_vector<C>(), 1e-14);
    }
    // Small numbers keep their digits.
    const Tensor small = tenon::tensor({C(1e-20, 2e-20)}, c128);
    check_values(small.expm1() * 1e20, {C(1, 2)});
    check_values(small.log1p() * 1e20, {C(1, 2)});
    check_values(tenon::tensor({C(-800, 1), C(800, 1)}, c128).sigmoid(), {C(0, 0), C(1, 0)});
    check_values(tenon::tensor({C(1, 2), C(0, 0)}, c128).logical_not().to(c128), {0, 1});
  }

  TEST_CASE("accumulated sums and products, and the variance") {
    const Tensor x = numbers({2, 3});
    const auto v = x.to_vector<C>();
    check_values(x.cumsum(1),
                 {v[0], v[0] + v[1], v[0] + v[1] + v[2], v[3], v[3] + v[4], v[3] + v[4] + v[5]});
    check_values(x.cumprod(0), {v[0], v[1], v[2], v[0] * v[3], v[1] * v[4], v[2] * v[5]});
    const Tensor variance = x.var();
    CHECK(variance.dtype() == f64);
    const Tensor apart = (x - x.mean()).abs();
    CHECK(variance.item<double>() == doctest::Approx(apart.square().sum().item<double>() / 5));
    CHECK(x.std().item<double>() == doctest::Approx(std::sqrt(variance.item<double>())));
    const Tensor holes = tenon::tensor({C(0, 0), C(0, 1), C(2, 0)}, c64);
    CHECK(holes.count_nonzero().item<int64_t>() == 2);
    CHECK(holes.any().item<bool>());
    CHECK_FALSE(holes.all().item<bool>());
    CHECK(holes.nonzero().to_vector<int64_t>() == std::vector<int64_t>{1, 2});
  }

  TEST_CASE("sinc, logaddexp, logsumexp and logcumsumexp are what their exponentials say") {
    const Tensor x = numbers({3, 4}), y = numbers({3, 4}, c128, 2);
    const double pi = 3.14159265358979323846;
    // Relative to the sine, which is as large as its imaginary angle's exponential.
    check_values((x * 3).sinc() * (x * (3 * pi)) - (x * (3 * pi)).sin(), std::vector<C>(12, 0),
                 1e-10);
    check_values(tenon::tensor({C(0, 0), C(2, 0)}, c128).sinc(), {1, 0});
    check_values(logaddexp(x, y).exp() - (x.exp() + y.exp()), std::vector<C>(12, 0));
    check_values(logaddexp2(x, y).exp2() - (x.exp2() + y.exp2()), std::vector<C>(12, 0));
    check_values(x.logsumexp({1}).exp() - x.exp().sum({1}), std::vector<C>(3, 0));
    check_values(x.logcumsumexp(1).exp() - x.exp().cumsum(1), std::vector<C>(12, 0));
    for (const DType dtype : {c64, c128}) {
      CHECK(x.to(dtype).sinc().dtype() == dtype);
      CHECK(logaddexp(x.to(dtype), 1).dtype() == dtype);
      CHECK(x.to(dtype).logsumexp().dtype() == dtype);
      CHECK(x.to(dtype).logcumsumexp(0).dtype() == dtype);
    }
    // Out of reach of the exponentials themselves.
    const Tensor large = x + 900;
    check_values(large.logsumexp({1}) - x.logsumexp({1}), std::vector<C>(3, 900), 1e-10);
    check_values(large.logcumsumexp(1) - x.logcumsumexp(1), std::vector<C>(12, 900), 1e-10);
    check_values(logaddexp(large, y + 900) - logaddexp(x, y), std::vector<C>(12, 900), 1e-10);
    // Infinite elements, and an empty tensor.
    const double inf = std::numeric_limits<double>::infinity();
    const Tensor ends = tenon::tensor({C(-inf, 0), C(1, 2), C(-inf, 1), C(inf, 3)}, c128);
    const auto sums = ends.logcumsumexp(0).to_vector<C>();
    CHECK(sums[0] == C(-inf, 0));
    CHECK(std::abs(sums[2] - C(1, 2)) < 1e-15);
    CHECK(sums[3].real() == inf);
    CHECK(tenon::zeros({0}, c128).logsumexp().item<C>().real() == -inf);
  }

  TEST_CASE("nan_to_num replaces what is not finite in both parts") {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    const Tensor x = tenon::tensor({C(nan, 1), C(2, -inf), C(inf, nan), C(3, 4)}, c128);
    check_values(x.nan_to_num(7, 8, 9), {C(7, 1), C(2, 9), C(8, 7), C(3, 4)});
    CHECK(x.to(c64).nan_to_num().dtype() == c64);
    const Tensor z = leaf(x);
    z.nan_to_num().real().sum().backward();
    check_values(z.grad(), {0, 1, 0, 1});
  }

  TEST_CASE("gradients of sinc, logaddexp, logsumexp and logcumsumexp") {
    const Tensor x = numbers({2, 3}), y = numbers({2, 3}, c128, 2);
    check_gradients([](const Tensor& a) { return a.sinc(); }, {x * 2});
    check_gradients([](const Tensor& a) { return a.sinc(); }, {x * 0.1});
    check_gradients([](const Tensor& a, const Tensor& b) { return logaddexp(a, b); }, {x, y});
    check_gradients([](const Tensor& a, const Tensor& b) { return logaddexp2(a, b); }, {x, y});
    check_gradients([](const Tensor& a) { return a.logsumexp({1}); }, {x});
    check_gradients([](const Tensor& a) { return a.logcumsumexp(1); }, {x});
  }

  TEST_CASE("angle of real numbers, and NaN") {
    const Tensor x = tenon::tensor({-1.0, 0.0, 2.0, std::nan("")}, f64);
    const auto angles = x.angle().to_vector<double>();
    CHECK(angles[0] == doctest::Approx(3.141592653589793));
    CHECK(angles[1] == 0);
    CHECK(angles[2] == 0);
    CHECK(std::isnan(angles[3]));
    CHECK(tenon::tensor({-1, 2}).angle().dtype() == f32);
  }

  TEST_CASE("questions about elements") {
    const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
    const Tensor x = tenon::tensor({C(1, 2), C(nan, 0), C(0, inf), C(inf, nan)}, c128);
    const auto truth = [](const Tensor& tensor) { return tensor.to_vector<bool>(); };
    CHECK(truth(x.isnan()) == std::vector<bool>{false, true, false, true});
    CHECK(truth(x.isinf()) == std::vector<bool>{false, false, true, true});
    CHECK(truth(x.isfinite()) == std::vector<bool>{true, false, false, false});
    CHECK(truth(x.eq(x)) == std::vector<bool>{true, false, true, false});
    CHECK(truth(x.ne(tenon::tensor({C(1, 3)}, c128)))[0]);
    CHECK(allclose(numbers({3}), numbers({3}) + 1e-9));
    CHECK_FALSE(allclose(numbers({3}), numbers({3}) + 1e-2));
    CHECK(equal(numbers({3}), numbers({3})));
  }

  TEST_CASE("sums, means and products, strided ones among them") {
    const Tensor x = numbers({3, 4, 2}), strided = x.permute({2, 0, 1});
    const auto values = strided.to_vector<C>();
    C total = 0, product = 1;
    for (const C& value : values) {
      total += value;
      product *= value;
    }
    check_values(strided.sum(), {total});
    check_values(strided.mean(), {total / 24.});
    check_values(strided.prod(), {product});
    CHECK(strided.sum({1, -1}).sizes() == std::vector<int64_t>{2});
    CHECK(strided.sum({0}, true).sizes() == std::vector<int64_t>{1, 3, 4});
    check_values(strided.sum({1, 2}),
                 {x.select(2, 0).sum().item<C>(), x.select(2, 1).sum().item<C>()});
    check_values(strided.prod(1).select(0, 0).select(0, 0), {values[0] * values[4] * values[8]});
    check_values(tenon::ones({3}).sum(std::nullopt, false, c64), {3});
    check_values(tenon::zeros({0}, c128).sum(), {0});
    check_values(tenon::zeros({0}, c128).prod(), {1});
    check_values(x.vector_norm(), {std::sqrt((x.abs() * x.abs()).sum().item())});
    CHECK(x.vector_norm().dtype() == f64);
    CHECK(refusal([&] { x.sum(std::nullopt, false, f32); }).find("sum()") == 0);
  }

  TEST_CASE("products of matrices") {
    const Tensor a = numbers({3, 4}), b = numbers({4, 2}, c128, 2);
    const auto expect = [](const Tensor& x, const Tensor& y) {
      return complex(x.real().mm(y.real()) - x.imag().mm(y.imag()),
                     x.real().mm(y.imag()) + x.imag().mm(y.real()))
          .to_vector<C>();
    };
    check_values(a.mm(b), expect(a, b));
    check_values(a.t().contiguous().t().mm(b), expect(a, b));
    check_values(a.matmul(b.select(1, 0)), expect(a, b.narrow(1, 0, 1)));
    check_values(a.select(0, 1).dot(b.select(1, 1)), expect(a.narrow(0, 1, 1), b.narrow(1, 1, 1)));
    check_values(a.to(c64).mm(b.to(c64)), expect(a, b), 1e-6);
    check_values(a.unsqueeze(0).bmm(b.unsqueeze(0)), expect(a, b));
    check_values(addmm(tenon::ones({3, 2}, c128), a, b), (a.mm(b) + 1).to_vector<C>());
    check_values(tenon::einsum("ij,jk->ik", {a, b}), expect(a, b));
    CHECK(refusal([&] { a.mm(tenon::ones({4, 2}, f64)); }).find("mm()") == 0);
  }

  TEST_CASE("real, imag and view_as_real are views, complex and polar make numbers") {
    const Tensor x = tenon::tensor({{C(1, 2), C(3, 4)}, {C(5, 6), C(7, 8)}}, c128);
    const Tensor real = x.t().real();
    CHECK(real.to_vector<double>() == std::vector<double>{1, 5, 3, 7});
    real.fill_(0);
    CHECK(x.real().abs().sum().item() == 0);
    CHECK(x.imag().to_vector<double>() == std::vector<double>{2, 4, 6, 8});
    const Tensor pairs = view_as_real(x);
    CHECK(pairs.sizes() == std::vector<int64_t>{2, 2, 2});
    CHECK(equal(view_as_complex(pairs), x));
    CHECK(tenon::service::tensors().shares_storage(view_as_complex(pairs).handle(), x.handle()) !=
          0);
    CHECK(equal(complex(x.real(), x.imag()), x));
    CHECK(complex(tenon::ones({2, 1}), tenon::ones({3})).sizes() == std::vector<int64_t>{2, 3});
    CHECK(complex(tenon::ones({1}), tenon::ones({1})).dtype() == c64);
    check_values(polar(tenon::tensor({2.}, f64), tenon::tensor({0.5}, f64)), {std::polar(2., 0.5)});
    const Tensor plain = tenon::ones({2});
    CHECK(plain.real().is_same(plain));
    CHECK(plain.conj().is_same(plain));
    CHECK(std::signbit(complex(tenon::tensor({1.}, f64), tenon::tensor({-0.}, f64)).imag().item()));
  }

  TEST_CASE("elements move as they are") {
    const Tensor x = numbers({3, 4}), y = numbers({3, 4}, c128, 2);
    const auto parts_agree = [](const auto& move, const std::vector<Tensor>& given) {
      std::vector<Tensor> reals, imags;
      for (const Tensor& tensor : given) {
        reals.push_back(tensor.real().contiguous());
        imags.push_back(tensor.imag().contiguous());
      }
      const Tensor whole = move(given);
      CHECK(equal(whole.real(), move(reals)));
      CHECK(equal(whole.imag(), move(imags)));
    };
    const Tensor index = tenon::tensor({2, 0, 1}), mask = x.real().gt(0);
    using List = const std::vector<Tensor>&;
    parts_agree([](List t) { return tenon::cat(t, 1); }, {x, y});
    parts_agree([](List t) { return tenon::stack(t, 1); }, {x, y});
    parts_agree([&](List t) { return t[0].index_select(1, index); }, {x});
    parts_agree([&](List t) { return t[0].gather(0, index.unsqueeze(1).expand({3, 4})); }, {x});
    parts_agree([&](List t) { return t[0][{index, index}]; }, {x});
    parts_agree([](List t) { return t[0].flip({0, 1}); }, {x});
    parts_agree([](List t) { return t[0].roll({1}, {0}); }, {x});
    parts_agree([](List t) { return t[0].tril(); }, {x});
    parts_agree([](List t) { return t[0].repeat({2, 1}); }, {x});
    parts_agree([](List t) { return t[0].transpose(0, 1).reshape({2, 6}); }, {x});
    parts_agree([](List t) { return t[0].diagonal(); }, {x});
    parts_agree([&](List t) { return t[0].masked_select(mask); }, {x});
    parts_agree([&](List t) { return t[0].masked_fill(mask, 0); }, {x});
    parts_agree([](List t) { return t[0].unfold(1, 2, 1); }, {x});
    parts_agree([](List t) { return constant_pad_nd(t[0], {1, -1}, 0); }, {x});
    parts_agree([](List t) { return t[0].expand({2, 3, 4}); }, {x});
    parts_agree([&](List t) { return t[0].index_add(0, index, t[1]); }, {x, y});
    parts_agree([&](List t) { return t[0].clone().copy_(t[1]); }, {x, y});
  }

  TEST_CASE("what has a meaning for real numbers alone refuses complex ones by name") {
    const Tensor x = numbers({2, 2});
    for (const char* op : {"lt", "maximum", "floor_divide", "atan2"}) {
      CAPTURE(op);
      const std::string text = refusal([&] { tenon::Op(op).call<Tensor>(x, x); });
      CHECK(text == std::string(op) +
                        "() is not implemented for c128 operands: take real(), imag() or abs() of "
                        "them");
    }
    for (const char* op : {"argsort", "amax", "argmax", "sign", "floor", "erf", "histc"}) {
      CAPTURE(op);
      const std::string text = refusal([&] { tenon::Op(op).call<Tensor>(x); });
      CHECK(text.rfind(std::string(op) + "()", 0) == 0);
      CHECK(text.find("c128") != std::string::npos);
    }
    CHECK(refusal([&] { imag(tenon::ones({2})); }) ==
          "imag(): 'input' must be c64 or c128, got f32; the imaginary parts of real numbers are "
          "zeros_like() of them");
    CHECK(refusal([&] {
            view_as_complex(tenon::ones({2, 3}));
          }) ==
          "view_as_complex(): the last dimension of 'input' must have size 2, got shape [2, 3]");
    CHECK(refusal([&] {
            view_as_complex(tenon::ones({2, 3}).t().narrow(1, 0, 2));
          }).find("make it contiguous() first") != std::string::npos);
    CHECK_THROWS_AS(view_as_complex(tenon::ones({2}, tenon::i64)), tenon::TypeError);
    CHECK(refusal([&] { complex(tenon::ones({2}, f32), tenon::ones({2}, f64)); }) ==
          "complex(): 'real' is f32 but 'imag' is f64; convert one with to()");
  }

  TEST_CASE("the gradient of a real loss is dL/d(real) + i dL/d(imag), as in PyTorch") {
    const Tensor z = leaf(tenon::tensor({C(3, 4)}, c128));
    z.abs().square().sum().backward();  // a^2 + b^2
    check_values(z.grad(), {C(6, 8)});
    const Tensor w = leaf(tenon::tensor({C(1, 2)}, c128));
    (w * tenon::tensor({C(0, 1)}, c128)).real().sum().backward();  // -imag
    check_values(w.grad(), {C(0, -1)});
    w.square().imag().sum().backward();  // 2 a b, added to what is there
    check_values(w.grad(), {C(4, 1)});
    // A real input of a complex result gets the real part of the gradient.
    const Tensor x = leaf(tenon::tensor({2.0}, f64));
    (x * tenon::tensor({C(3, 5)}, c128)).abs().sum().backward();
    CHECK(x.grad().dtype() == f64);
    CHECK(x.grad().item() == doctest::Approx(std::abs(C(3, 5))));
    const Tensor y = leaf(tenon::tensor({2.0}, f32));
    y.to(c128).imag().sum().backward();
    CHECK(y.grad().item() == 0);
    CHECK(refusal([&] {
            leaf(numbers({1})).square().backward();
          }).find("grad can be implicitly created only for real scalar outputs") !=
          std::string::npos);
    const Tensor root = leaf(tenon::tensor({C(1, 1)}, c128));
    (root * root).backward(tenon::tensor({C(0, 1)}, c128));
    check_values(root.grad(), {C(0, 1) * std::conj(2. * C(1, 1))});
  }

  TEST_CASE("gradients of both orders and tangents are those of differences") {
    const Tensor x = numbers({2, 3}), y = numbers({3}, c128, 2), r = x.real().clone();
    using Pair = Tensor (*)(const Tensor&, const Tensor&);
    using One = Tensor (*)(const Tensor&);
    const auto pair = [&](Pair f, const Tensor& a, const Tensor& b) { check_gradients(f, {a, b}); };
    const auto one = [&](One f, const Tensor& a) { check_gradients(f, {a}); };
    pair([](const Tensor& a, const Tensor& b) { return add(a, b, 2); }, x, y);
    pair([](const Tensor& a, const Tensor& b) { return a - b; }, x, y);
    pair([](const Tensor& a, const Tensor& b) { return a * b; }, x, y);
    pair([](const Tensor& a, const Tensor& b) { return a * b; }, r, y);
    pair([](const Tensor& a, const Tensor& b) { return a / b; }, x, y);
    pair([](const Tensor& a, const Tensor& b) { return a / b; }, r, y);
    pair([](const Tensor& a, const Tensor& b) { return pow(a, b); }, x, y);
    pair([](const Tensor& a, const Tensor& b) { return a.mm(b.t()); }, x, x * 2);
    pair([](const Tensor& a, const Tensor& b) { return a.mv(b); }, x, y);
    pair([](const Tensor& a, const Tensor& b) { return a.dot(b); }, y, y + 1);
    pair([](const Tensor& a, const Tensor& b) { return where(a.real().gt(0), a, b); }, x, y);
    pair([](const Tensor& a, const Tensor& b) { return tenon::cat({a, b.unsqueeze(0)}, 0); }, x, y);
    pair([](const Tensor& a, const Tensor& b) { return complex(a, b); }, r, r.select(0, 1));
    pair([](const Tensor& a, const Tensor& b) { return polar(a, b); }, r, r.select(0, 1));
    one([](const Tensor& a) { return -a; }, x);
    one([](const Tensor& a) { return a.reciprocal(); }, x);
    one([](const Tensor& a) { return a.square(); }, x);
    one([](const Tensor& a) { return a.exp(); }, x);
    one([](const Tensor& a) { return a.log(); }, x);
    one([](const Tensor& a) { return a.sqrt(); }, x);
    one([](const Tensor& a) { return a.rsqrt(); }, x);
    one([](const Tensor& a) { return a.sin(); }, x);
    one([](const Tensor& a) { return a.cos(); }, x);
    one([](const Tensor& a) { return a.pow(3); }, x);
    for (const char* name :
         {"tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp2",
          "expm1", "log2", "log10", "log1p", "sigmoid"}) {
      CAPTURE(name);
      const tenon::Op op(name);
      check_gradients([op](const Tensor& a) { return op.call<Tensor>(a); }, {x});
    }
    const auto three = [&](Tensor (*f)(const Tensor&, const Tensor&, const Tensor&)) {
      check_gradients(f, {x, y, y * 2 + 1});
    };
    three([](const Tensor& a, const Tensor& b, const Tensor& c) { return addcmul(a, b, c, 2); });
    three([](const Tensor& a, const Tensor& b, const Tensor& c) { return addcdiv(a, b, c, 2); });
    three([](const Tensor& a, const Tensor& b, const Tensor& c) { return lerp(a, b, c); });
    one([](const Tensor& a) { return a.cumsum(1); }, x);
    one([](const Tensor& a) { return a.cumprod(1); }, x);
    one([](const Tensor& a) { return a.var(); }, x);
    one([](const Tensor& a) { return a.std(1); }, x);
    one([](const Tensor& a) { return a.abs(); }, x);
    one([](const Tensor& a) { return a.angle(); }, x);
    one([](const Tensor& a) { return a.sgn(); }, x);
    one([](const Tensor& a) { return a.conj(); }, x);
    one([](const Tensor& a) { return conj_physical(a); }, x);
    one([](const Tensor& a) { return a.real(); }, x);
    one([](const Tensor& a) { return a.imag(); }, x);
    one([](const Tensor& a) { return view_as_real(a); }, x);
    one([](const Tensor& a) { return view_as_complex(a); }, r.narrow(1, 0, 2).contiguous());
    one([](const Tensor& a) { return a.sum({1}); }, x);
    one([](const Tensor& a) { return a.mean(); }, x);
    one([](const Tensor& a) { return a.prod(1); }, x);
    one([](const Tensor& a) { return a.to(c128); }, r);
    one([](const Tensor& a) { return a.t().reshape({6}).flip({0}); }, x);
    one([](const Tensor& a) { return a.vector_norm(); }, x);
    one([](const Tensor& a) { return a.unsqueeze(0).bmm(a.t().unsqueeze(0)); }, x);
  }

  TEST_CASE("at 0 the gradients of abs and sgn are 0") {
    const Tensor z = leaf(tenon::zeros({2}, c128));
    z.abs().sum().backward();
    check_values(z.grad(), {0, 0});
    const Tensor w = leaf(tenon::zeros({2}, c128));
    w.sgn().real().sum().backward();
    check_values(w.grad(), {0, 0});
  }

  TEST_CASE(
      "in-place changes through a view of another dtype are refused where they would be lost") {
    const Tensor x = leaf(tenon::ones({2}, f64)), z = tenon::zeros({2}, c128);
    CHECK(refusal([&] {
            z.real().copy_(x);
          }).find("not recorded through a f64 view of a c128 base") != std::string::npos);
    z.real().copy_(x.detach());
    check_values(z, {1, 1});
    // Changes of the whole are recorded as ever.
    const Tensor w = leaf(numbers({2}));
    w.clone().mul_(w).real().sum().backward();
    check_values(w.grad(), (2 * w.detach().conj()).to_vector<C>());
  }

  TEST_CASE("complex parameters are trained, saved and loaded") {
    const Tensor target = numbers({4}, c64, 3);
    Tensor z = leaf(tenon::zeros({4}, c64));
    for (int step = 0; step < 60; ++step) {
      z.set_grad({});
      (z - target).abs().square().sum().backward();
      const tenon::NoGrad scope;
      z.sub_(z.grad(), 0.2);
    }
    CHECK(allclose(z.detach(), target, 1e-4, 1e-4));
  }
}

// Transforms against sums of exponentials, their arguments, refusals and gradients. NumPy compares
// random calls of each op: numpy_oracle_test.cpp.
#include <atomic>
#include <complex>
#include <thread>

#include <tenon/gradcheck.hpp>
#include <tenon/runtime.hpp>

#include "../compare.hpp"

using compare::refusal;
using tenon::c128;
using tenon::c64;
using tenon::DType;
using tenon::f32;
using tenon::f64;
using tenon::Op;
using tenon::Tensor;

namespace {

using C = std::complex<double>;
constexpr double kPi = 3.14159265358979323846;

Tensor numbers(const std::vector<int64_t>& shape, DType dtype = c128, uint64_t seed = 1) {
  const Tensor like =
      tenon::empty_tensor(tenon::IntList(shape.data(), static_cast<int64_t>(shape.size())), dtype);
  return tenon::detail::arbitrary_like(like, seed);
}
// By the definition, along the last dimension.
std::vector<C> reference(const Tensor& input, bool forward) {
  const auto values = input.to(c128).to_vector<C>();
  const auto n = static_cast<size_t>(input.size(-1));
  std::vector<C> result(values.size());
  for (size_t row = 0; row < values.size(); row += n) {
    for (size_t k = 0; k < n; ++k) {
      for (size_t j = 0; j < n; ++j) {
        const double turn = 2 * kPi * static_cast<double>(j * k % n) / static_cast<double>(n);
        result[row + k] += values[row + j] * std::polar(1., forward ? -turn : turn);
      }
    }
  }
  return result;
}
void check_values(const Tensor& found, const std::vector<C>& expected, double tolerance = 1e-12) {
  const auto values = found.to(c128).to_vector<C>();
  REQUIRE(values.size() == expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(values[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])));
  }
}
void check_close(const Tensor& a, const Tensor& b, double tolerance = 1e-12) {
  CHECK(a.sizes() == b.sizes());
  CHECK(a.dtype() == b.dtype());
  check_values(a, b.to(c128).to_vector<C>(), tolerance);
}
template <class... A>
Tensor call(const char* op, const A&... arguments) {
  return Op(op).call<Tensor>(arguments...);
}
const auto n_of = [](int64_t n) { return tenon::arg("n") = n; };
const auto dim_of = [](int64_t dim) { return tenon::arg("dim") = dim; };

template <class F>
void check_gradients(F function, Tensor input) {
  input = input.detach().clone().requires_grad_();
  tenon::GradcheckOptions options;
  options.check_forward_ad = true;
  CHECK(gradcheck(function, {input}, options));
  options.check_forward_ad = false;
  CHECK(gradgradcheck(function, {input}, options));
}

}  // namespace

TEST_SUITE("plugins/fft") {
  TEST_CASE("one dimension: the definition, for sizes of all kinds of factors") {
    for (const int64_t n : {1, 2, 3, 4, 5, 7, 8, 12, 13, 30, 49, 64, 97}) {
      CAPTURE(n);
      const Tensor z = numbers({3, n}), x = numbers({3, n}, f64);
      check_values(call("fft.fft", z), reference(z, true));
      check_values(call("fft.ifft", z) * n, reference(z, false));
      check_values(call("fft.fft", x), reference(x, true));
      check_close(call("fft.rfft", x), call("fft.fft", x).narrow(1, 0, n / 2 + 1));
      check_close(call("fft.irfft", call("fft.rfft", x), n), x);
      check_close(call("fft.fft", z.to(c64)), call("fft.fft", z).to(c64), 1e-5);
    }
  }

  TEST_CASE("dtypes of results") {
    const auto dtype = [](const char* op, DType of) {
      return call(op, tenon::ones({4}, of)).dtype();
    };
    for (const DType real : {f32, tenon::i64, tenon::boolean, tenon::u8, tenon::f16, tenon::bf16}) {
      CAPTURE(dtype_text(real));
      CHECK(dtype("fft.fft", real) == c64);
      CHECK(dtype("fft.rfft", real) == c64);
      CHECK(dtype("fft.irfft", real) == f32);
    }
    CHECK(dtype("fft.fft", f64) == c128);
    CHECK(dtype("fft.fft", c128) == c128);
    CHECK(dtype("fft.irfft", c128) == f64);
    CHECK(dtype("fft.rfftn", f64) == c128);
  }

  TEST_CASE("n cuts the input or adds zeros; dims and layouts are any") {
    const Tensor z = numbers({4, 3, 5});
    const Tensor turned = z.permute({2, 0, 1}), every_other = numbers({6, 8}).slice(1, 0, 8, 2);
    check_close(call("fft.fft", turned, dim_of(0)),
                call("fft.fft", z, dim_of(-1)).permute({2, 0, 1}));
    check_close(call("fft.fft", every_other), call("fft.fft", every_other.contiguous()));
    check_close(call("fft.fft", z.flip({2})), call("fft.fft", z.flip({2}).contiguous()));
    check_close(call("fft.fft", numbers({5}).expand({3, 5})),
                call("fft.fft", numbers({5}).expand({3, 5}).contiguous()));
    check_close(call("fft.fft", z, 3), call("fft.fft", z.narrow(2, 0, 3)));
    check_close(call("fft.fft", z, 7), call("fft.fft", constant_pad_nd(z, {0, 2}, 0)));
    check_close(call("fft.fft", z, 6, 1),
                call("fft.fft", constant_pad_nd(z, {0, 0, 0, 3}, 0), n_of(6), dim_of(1)));
    check_close(call("fft.irfft", z), call("fft.irfft", z, 8));
    check_close(call("fft.irfft", z, 4), call("fft.irfft", z.narrow(2, 0, 3), 4));
    CHECK(call("fft.rfft", numbers({2, 5}, f64), 8).sizes() == std::vector<int64_t>{2, 5});
    CHECK(call("fft.fft", tenon::zeros({0, 4}, c64)).sizes() == std::vector<int64_t>{0, 4});
    CHECK(call("fft.fft", tenon::zeros({2, 0}, c64), 3).sizes() == std::vector<int64_t>{2, 3});
  }

  TEST_CASE("norm says which direction is scaled") {
    const Tensor z = numbers({6});
    const auto with = [&](const char* op, const char* norm) {
      return call(op, z, tenon::arg("norm") = norm);
    };
    check_close(with("fft.fft", "backward"), call("fft.fft", z));
    check_close(with("fft.fft", "forward") * 6, call("fft.fft", z));
    check_close(with("fft.fft", "ortho") * std::sqrt(6.), call("fft.fft", z));
    check_close(with("fft.ifft", "forward"), call("fft.ifft", z) * 6);
    check_close(call("fft.ifft", with("fft.fft", "ortho"), tenon::arg("norm") = "ortho"), z);
    CHECK(refusal([&] { with("fft.fft", "both"); }) ==
          "fft.fft(): norm is 'both'; choose backward, ortho or forward");
  }

  TEST_CASE("several dimensions are one after the other") {
    const Tensor z = numbers({3, 4, 5}), x = numbers({3, 4, 5}, f64);
    const Tensor along_two = call("fft.fft", call("fft.fft", z, dim_of(2)), dim_of(0));
    const std::vector<int64_t> dims{0, 2}, sizes{2, 6};
    check_close(call("fft.fftn", z, tenon::arg("dim") = dims), along_two);
    check_close(call("fft.ifftn", along_two, tenon::arg("dim") = dims), z);
    check_close(call("fft.fft2", z),
                call("fft.fftn", z, tenon::arg("dim") = std::vector<int64_t>{1, 2}));
    check_close(call("fft.fftn", z, tenon::arg("s") = sizes),
                call("fft.fft", call("fft.fft", z, 6, 2), 2, 1));
    check_close(call("fft.rfftn", x), call("fft.fftn", x).narrow(2, 0, 3));
    check_close(call("fft.irfftn", call("fft.rfftn", x), std::vector<int64_t>{3, 4, 5}), x);
    check_close(call("fft.irfft2", call("fft.rfft2", x), std::vector<int64_t>{4, 5}), x);
    check_close(call("fft.ifft2", call("fft.fft2", z)), z);
    check_close(call("fft.rfftn", x, tenon::arg("dim") = std::vector<int64_t>{2, 0}),
                call("fft.fft", call("fft.rfft", x, dim_of(0)), dim_of(2)));
    // The points that are not there are conjugates along the last dimension alone.
    const Tensor half = numbers({3, 3});
    check_close(call("fft.irfftn", half), call("fft.irfft", call("fft.ifft", half, dim_of(0))));
  }

  TEST_CASE("dimensions whose points are far apart") {
    for (const DType dtype : {c64, c128}) {
      const Tensor z = numbers({96, 2, 640}, dtype);
      const double tolerance = dtype == c64 ? 1e-4 : 1e-11;
      const Tensor turned = z.permute({1, 2, 0}).contiguous();
      const Tensor along_first = call("fft.fft", turned).permute({2, 0, 1});
      check_close(call("fft.fft", z, dim_of(0)), along_first, tolerance);
      check_close(
          call("fft.ifft", call("fft.fftn", z, tenon::arg("dim") = std::vector<int64_t>{0, 2})),
          along_first, tolerance);
      check_close(call("fft.fft", z.flip({0}), dim_of(0)),
                  call("fft.fft", turned.flip({2})).permute({2, 0, 1}), tolerance);
    }
    const Tensor x = numbers({96, 700}, f64);
    check_close(call("fft.irfft2", call("fft.rfft2", x)), x);
  }

  TEST_CASE("frequencies and shifts") {
    CHECK(call("fft.fftfreq", 5, 0.5).to_vector<double>() ==
          tenon::tensor({0., 0.4, 0.8, -0.8, -0.4}).to_vector<double>());
    CHECK(call("fft.fftfreq", 4, 1.0, tenon::arg("dtype") = f64).to_vector<double>() ==
          std::vector<double>{0, 0.25, -0.5, -0.25});
    CHECK(call("fft.rfftfreq", 5, 1.0, tenon::arg("dtype") = f64).to_vector<double>() ==
          std::vector<double>{0, 0.2, 0.4});
    CHECK(call("fft.fftshift", tenon::arange(5)).to_vector<int64_t>() ==
          std::vector<int64_t>{3, 4, 0, 1, 2});
    CHECK(call("fft.ifftshift", call("fft.fftshift", tenon::arange(5))).to_vector<int64_t>() ==
          std::vector<int64_t>{0, 1, 2, 3, 4});
    const Tensor z = numbers({3, 4});
    check_close(call("fft.fftshift", z, std::vector<int64_t>{1}), z.roll({2}, {1}));
  }

  TEST_CASE("bad arguments are refused by name") {
    const Tensor z = numbers({2, 3}), x = numbers({2, 3}, f64);
    CHECK(refusal([&] { call("fft.fft", z, 0); }) ==
          "fft.fft(): a transform of 0 points is asked for: a transform has at least 1 point");
    CHECK(refusal([&] {
            call("fft.rfft", tenon::zeros({2, 0}));
          }) == "fft.rfft(): dimension -1 of 'input' has size 0: a transform has at least 1 point");
    CHECK(refusal([&] { call("fft.irfft", tenon::zeros({1}, c64)); }) ==
          "fft.irfft(): a transform of 0 points is asked for: a transform has at least 1 point");
    CHECK(refusal([&] { call("fft.rfft", z); }) ==
          "fft.rfft(): 'input' must be real, got c128; use fft.fft()");
    CHECK(refusal([&] { call("fft.rfftn", z); }) ==
          "fft.rfftn(): 'input' must be real, got c128; use fft.fftn()");
    CHECK(refusal([&] { call("fft.fft", tenon::tensor(1.0)); }) ==
          "fft.fft(): 'input' must have at least one dimension");
    CHECK_THROWS_AS(call("fft.fft", z, dim_of(2)), tenon::IndexError);
    CHECK(refusal([&] {
            call("fft.fftn", z, tenon::arg("dim") = std::vector<int64_t>{1, -1});
          }) == "fft.fftn(): dimension -1 is named twice in [1, -1]");
    CHECK(refusal([&] {
            call("fft.fftn", z, std::vector<int64_t>{1, 2, 3});
          }) == "fft.fftn(): s [1, 2, 3] has 3 sizes, but 'input' has only 2 dimensions");
    CHECK(refusal([&] {
            call("fft.fft2", x, std::vector<int64_t>{1}, std::vector<int64_t>{0, 1});
          }) == "fft.fft2(): s [1] and dim [0, 1] have different lengths");
    CHECK(refusal([&] {
            call("fft.fftn", z, std::vector<int64_t>{-2, 3});
          }).find("a transform of -2 points") != std::string::npos);
    CHECK(refusal([&] { call("fft.fftfreq", 0); }).find("fft.fftfreq(): a transform of 0 points") ==
          0);
    CHECK(refusal([&] { call("fft.fftfreq", 3, 0.0); }).find("must be a number other than 0") !=
          std::string::npos);
    CHECK_THROWS_AS(call("fft.fft", z, int64_t{1} << 62), tenon::ValueError);
  }

  TEST_CASE("gradients of both orders and tangents are those of differences") {
    const std::vector<int64_t> swapped{1, 0};
    for (const int64_t n : {4, 5}) {
      CAPTURE(n);
      const Tensor z = numbers({2, n}), x = numbers({2, n}, f64);
      check_gradients([](const Tensor& a) { return call("fft.fft", a); }, z);
      check_gradients([](const Tensor& a) { return call("fft.fft", a, 3, 0); }, x);
      check_gradients(
          [](const Tensor& a) { return call("fft.ifft", a, tenon::arg("norm") = "ortho"); }, z);
      check_gradients([](const Tensor& a) { return call("fft.rfft", a); }, x);
      check_gradients([](const Tensor& a) { return call("fft.rfft", a, 6); }, x);
      check_gradients([](const Tensor& a) { return call("fft.irfft", a); }, z);
      check_gradients([](const Tensor& a) { return call("fft.irfft", a, 5); }, z);
      check_gradients([](const Tensor& a) { return call("fft.fftn", a); }, z);
      check_gradients(
          [&](const Tensor& a) { return call("fft.rfftn", a, tenon::arg("dim") = swapped); }, x);
      check_gradients(
          [&](const Tensor& a) { return call("fft.irfftn", a, tenon::arg("dim") = swapped); }, z);
      check_gradients([](const Tensor& a) { return call("fft.fftshift", a); }, z);
    }
    // Convolution by transforms, the usual way to train a filter.
    check_gradients(
        [](const Tensor& a) {
          return call("fft.irfft", call("fft.rfft", a, 8) * call("fft.rfft", a.flip({0}), 8), 8);
        },
        numbers({5}, f64));
  }

  TEST_CASE("plans of shapes alone: what a call would give") {
    const tenon::ShapesOnly scope;
    CHECK(call("fft.rfftn", tenon::zeros({3, 4, 6})).sizes() == std::vector<int64_t>{3, 4, 4});
    CHECK(call("fft.irfft", tenon::zeros({3, 4}, c64)).sizes() == std::vector<int64_t>{3, 6});
    CHECK(call("fft.fft2", tenon::zeros({2, 4, 6})).dtype() == c64);
  }

  TEST_CASE("large batches give the bits of their rows, whatever the pieces") {
    const Tensor z = numbers({64, 4096}, c64);
    const Tensor whole = call("fft.fft", z);
    for (const int64_t row : {0, 17, 63}) {
      const Tensor one = call("fft.fft", z.narrow(0, row, 1)).select(0, 0);
      check_close(whole.select(0, row), one, 1e-5);
    }
    CHECK(equal(whole, call("fft.fft", z)));
  }

  TEST_CASE("threads share plans, and more shapes than are kept") {
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&wrong, t] {
        for (int64_t i = 0; i < 200; ++i) {
          const int64_t n = 2 + (i * 7 + t) % 90;
          const Tensor z = numbers({n}, c128, static_cast<uint64_t>(i));
          const Tensor back = call("fft.ifft", call("fft.fft", z));
          if (!allclose(back, z)) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }

  // The shutdown of the old generation comes after the new one has made plans.
  TEST_CASE("plans of a reloaded plugin outlive the generation before") {
    const auto transform_all = [] {
      for (int64_t n = 5; n < 120; n += 3) call("fft.fft", numbers({n}, c64));
    };
    for (int round = 0; round < 10; ++round) {
      transform_all();
      Tensor held =
          call("fft.fft", numbers({64}, c64).requires_grad_());  // its node is of the old one
      tenon::reload("fft");
      transform_all();
      held = {};
      transform_all();
    }
    const Tensor z = numbers({40});
    check_close(call("fft.ifft", call("fft.fft", z)), z, 1e-9);
  }

  TEST_CASE("threads transform while the plugin is reloaded") {
    std::atomic<bool> stops{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (int64_t i = 0; !stops; ++i) {
          const Tensor z = numbers({2 + (i * 7 + t) % 90}, c128, static_cast<uint64_t>(i));
          if (!allclose(call("fft.ifft", call("fft.fft", z)), z)) ++wrong;
        }
      });
    }
    for (int round = 0; round < 10; ++round) tenon::reload("fft");
    stops = true;
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }
}

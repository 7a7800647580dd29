// linalg of complex matrices: factors by what defines them, of random sizes, batches and layouts;
// gradients of both orders and forward mode; vectors whose phases are not determined.
#include <complex>

#include <tenon/gradcheck.hpp>

#include "../compare.hpp"

using compare::refusal;
using tenon::c128;
using tenon::c64;
using tenon::DType;
using tenon::Tensor;
namespace linalg = tenon::linalg;

namespace {

using Shape = std::vector<int64_t>;
using C = std::complex<double>;
using List = const std::vector<Tensor>&;

double tolerance(DType dtype) { return dtype == c64 ? 2e-4 : 1e-11; }

Tensor numbers(const Shape& shape, DType dtype = c128, uint64_t seed = 1) {
  const Tensor like =
      tenon::empty_tensor(tenon::IntList(shape.data(), static_cast<int64_t>(shape.size())), dtype);
  return tenon::detail::arbitrary_like(like, seed);
}
Tensor adjoint(const Tensor& a) { return a.transpose(-2, -1).conj(); }
Tensor hermitian(const Tensor& a) { return (a + adjoint(a)) * 0.5; }
Tensor identity(const Tensor& like) {
  return tenon::eye(like.size(-1)).to(like.dtype()).expand(like.sizes());
}
// Far from singular.
Tensor regular(const Shape& shape, DType dtype = c128, uint64_t seed = 1) {
  const Tensor x = numbers(shape, dtype, seed);
  return x + identity(x) * 2.5;
}
Tensor positive(const Shape& shape, DType dtype = c128, uint64_t seed = 1) {
  const Tensor x = numbers(shape, dtype, seed);
  return x.matmul(adjoint(x)) + identity(x);
}
void check_same(const Tensor& found, const Tensor& expected, double bound) {
  REQUIRE(found.sizes() == expected.sizes());
  if (found.numel() == 0) return;
  CHECK((found - expected).abs().amax().item<double>() <=
        bound * (1 + expected.abs().amax().item<double>()));
}
Tensor hermitian_pinv(const Tensor& a, double rtol) {
  static const tenon::Op op("linalg.pinv");
  return op.call<Tensor>(a, tenon::arg("rtol") = rtol, tenon::arg("hermitian") = true);
}
void check_orthonormal_columns(const Tensor& q) {
  const Tensor product = adjoint(q).matmul(q);
  check_same(product, identity(product), tolerance(q.dtype()));
}

// Matrices of all sizes up to 4 and of every other layout.
template <class Body>
void each_matrix(const Body& body) {
  uint64_t seed = 1;
  for (const DType dtype : {c64, c128}) {
    for (const int64_t rows : {0, 1, 2, 4}) {
      for (const int64_t columns : {0, 1, 3, 4}) {
        for (const Shape& batch : {Shape{}, Shape{3}, Shape{2, 1, 2}, Shape{0}}) {
          Shape shape = batch;
          shape.insert(shape.end(), {rows, columns});
          CAPTURE(shape);
          if (++seed % 2 == 1) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
          const Tensor a = numbers(shape, dtype, seed);
          body(seed % 2 == 1 ? a.transpose(-2, -1) : a);
        }
      }
    }
  }
}
template <class Body>
void each_square(const Body& body) {
  each_matrix([&](const Tensor& a) {
    if (a.size(-1) == a.size(-2)) body(a);
  });
}

Tensor leaf(const Tensor& tensor) { return tensor.detach().clone().requires_grad_(); }
template <class F>
void check_gradients(F function, std::vector<Tensor> inputs) {
  for (Tensor& input : inputs) input = leaf(input);
  tenon::GradcheckOptions options;
  options.check_forward_ad = true;
  CHECK(tenon::gradcheck(function, inputs, options));
  options.check_forward_ad = false;
  CHECK(tenon::gradgradcheck(function, inputs, options));
}

}  // namespace

TEST_SUITE("blas complex") {
  TEST_CASE("solve, inv, det and slogdet agree with their definitions") {
    each_square([](const Tensor& any) {
      const Tensor a = any + identity(any) * 2.5;
      const double bound = tolerance(a.dtype());
      check_same(a.matmul(linalg::inv(a)), identity(a), bound);
      const Tensor b = numbers(a.sizes(), a.dtype(), 9);
      check_same(a.matmul(linalg::solve(a, b)), b, bound);
      check_same(linalg::solve(a, b, false).matmul(a), b, bound);
      const Tensor det = linalg::det(a), both = linalg::det(a.matmul(b));
      check_same(det * linalg::det(b), both, bound);
      check_same(linalg::det(adjoint(a)), det.conj(), bound);
      const auto [sign, log] = linalg::slogdet(a);
      CHECK(log.dtype() == tenon::real_dtype(a.dtype()));
      check_same(sign * log.exp(), det, bound);
    });
  }

  TEST_CASE("determinants: of a triangle, huge, singular") {
    const Tensor a = tenon::tensor({{C(0, 2), C(1, 1)}, {C(0, 0), C(3, 1)}}, c128);
    CHECK(linalg::det(a).item<C>() == C(-2, 6));
    const Tensor huge = std::get<1>(linalg::slogdet(a * 1e200));
    CHECK(huge.item<double>() == doctest::Approx(std::log(std::sqrt(40.)) + 400 * std::log(10.)));
    const Tensor singular = tenon::tensor({{C(0, 1), C(0, 2)}, {C(1, 0), C(2, 0)}}, c128);
    CHECK(linalg::det(singular).item<C>() == C(0, 0));
    CHECK(std::get<0>(linalg::slogdet(singular)).item<C>() == C(0, 0));
    CHECK(refusal([&] { linalg::inv(singular); }) ==
          "inv(): the matrix is singular: pivot 2 of 2 is 0");
  }

  TEST_CASE("cholesky gives a triangle whose square is the Hermitian half") {
    each_square([](const Tensor& any) {
      const Tensor a = any.matmul(adjoint(any)) + identity(any);
      const Tensor lower = linalg::cholesky(a), upper = linalg::cholesky(a, true);
      check_same(lower.matmul(adjoint(lower)), a, tolerance(a.dtype()));
      check_same(upper, adjoint(lower), 0);
      check_same(lower.tril(), lower, 0);
    });
    CHECK(refusal([] {
            linalg::cholesky(tenon::tensor({{C(1, 0), C(0, 2)}, {C(0, -2), C(1, 0)}}, c128));
          }) == "cholesky(): the matrix is not positive definite: pivot 2 of 2 is not above 0");
  }

  TEST_CASE("qr and svd give orthonormal vectors whose product is the matrix") {
    each_matrix([](const Tensor& a) {
      const double bound = tolerance(a.dtype());
      for (const char* mode : {"reduced", "complete"}) {
        const auto [q, r] = linalg::qr(a, mode);
        check_orthonormal_columns(q);
        check_same(q.matmul(r), a, bound);
        check_same(r.triu(), r, 0);
        check_same(r.diagonal(0, -2, -1).imag(), r.diagonal(0, -2, -1).imag() * 0, 0);
      }
      const auto [u, s, vh] = linalg::svd(a, false);
      CHECK(s.dtype() == tenon::real_dtype(a.dtype()));
      check_orthonormal_columns(u);
      check_orthonormal_columns(adjoint(vh));
      check_same((u * s.unsqueeze(-2)).matmul(vh), a, bound);
      check_same(linalg::svdvals(a), s, bound);
      const auto full = linalg::svd(a);
      check_orthonormal_columns(std::get<0>(full));
      check_orthonormal_columns(adjoint(std::get<2>(full)));
    });
  }

  TEST_CASE("eigh gives vectors that a Hermitian matrix scales by real values") {
    each_square([](const Tensor& any) {
      const auto [values, vectors] = linalg::eigh(any);
      CHECK(values.dtype() == tenon::real_dtype(any.dtype()));
      check_orthonormal_columns(vectors);
      check_same(hermitian(any).matmul(vectors), vectors * values.unsqueeze(-2),
                 tolerance(any.dtype()));
      check_same(linalg::eigvalsh(any), values, tolerance(any.dtype()));
    });
  }

  TEST_CASE("pinv fulfils the four conditions, lstsq leaves what is orthogonal to the columns") {
    each_matrix([](const Tensor& a) {
      const double bound = tolerance(a.dtype()) * 10;
      const Tensor p = linalg::pinv(a), ap = a.matmul(p), pa = p.matmul(a);
      check_same(ap.matmul(a), a, bound);
      check_same(pa.matmul(p), p, bound);
      check_same(adjoint(ap), ap, bound);
      check_same(adjoint(pa), pa, bound);
      const Tensor b = a.sum(-1, true) + numbers(ap.sizes(), a.dtype(), 3).sum(-1, true);
      const auto [x, residuals, rank, s] = linalg::lstsq(a, b);
      check_same(x, p.matmul(b), bound);
      const Tensor rest = b - a.matmul(x);
      if (residuals.numel() != 0) {
        CHECK(residuals.dtype() == tenon::real_dtype(a.dtype()));
        check_same(residuals, rest.abs().square().sum(-2), bound);
      }
      check_same(linalg::svdvals(a), s, bound);
      CHECK(tenon::equal(linalg::matrix_rank(a), rank));
    });
  }

  TEST_CASE(
      "hermitian: the pseudoinverse and the rank by eigenvalues, of complex and real numbers") {
    for (const DType dtype : {c64, c128, tenon::f32, tenon::f64}) {
      const Tensor x =
          tenon::is_complex(dtype) ? numbers({3, 4, 2}, dtype) : compare::numbers({3, 4, 2}, dtype);
      const Tensor a = x.matmul(tenon::conjugate(x.transpose(-2, -1))) * -1;  // a matrix of rank 2
      check_same(hermitian_pinv(a, 1e-3), linalg::pinv(a, tenon::none, 1e-3),
                 tenon::real_dtype(dtype) == tenon::f32 ? 1e-2 : 1e-9);
      const Tensor rank =
          tenon::Op("linalg.matrix_rank")
              .call<Tensor>(a, tenon::arg("rtol") = 1e-3, tenon::arg("hermitian") = true);
      CHECK(rank.to_vector<int64_t>() == std::vector<int64_t>{2, 2, 2});
    }
    CHECK(refusal([] {
            hermitian_pinv(tenon::ones({2, 3}), 1e-3);
          }) == "pinv(): 'A' must be a square matrix or a batch of them, got shape [2, 3]");
  }

  TEST_CASE("norms and vecdot") {
    const Tensor a = tenon::tensor({{C(3, 4), C(0, 0)}, {C(0, 0), C(0, 2)}}, c128);
    CHECK(linalg::matrix_norm(a).item<double>() == doctest::Approx(std::sqrt(29.)));
    CHECK(linalg::matrix_norm(a, "nuc").item<double>() == doctest::Approx(7));
    CHECK(linalg::matrix_norm(a, 1).item<double>() == doctest::Approx(5));
    CHECK(linalg::matrix_norm(a, -2).item<double>() == doctest::Approx(2));
    CHECK(linalg::cond(a).item<double>() == doctest::Approx(2.5));
    CHECK(linalg::cond(a, "fro").item<double>() ==
          doctest::Approx(std::sqrt(29. * (1. / 25 + 1. / 4))));
    const Tensor x = tenon::tensor({C(1, 2), C(0, 1)}, c128),
                 y = tenon::tensor({C(1, 0), C(3, 1)}, c128);
    CHECK(linalg::vecdot(x, y).item<C>() == C(2, -5));
  }

  TEST_CASE("gradients of both orders and tangents are those of differences") {
    const auto one = [](Tensor (*f)(const Tensor&), const Tensor& a) { check_gradients(f, {a}); };
    const Tensor square = regular({2, 2, 2}), tall = numbers({3, 2}), wide = numbers({2, 3});
    check_gradients([](const Tensor& a, const Tensor& b) { return linalg::solve(a, b); },
                    {square, numbers({2, 3}, c128, 2)});
    check_gradients([](const Tensor& a, const Tensor& b) { return linalg::solve(a, b, false); },
                    {square, numbers({3, 2}, c128, 2)});
    one([](const Tensor& a) { return linalg::inv(a); }, square);
    one([](const Tensor& a) { return linalg::det(a); }, regular({3, 3}));
    one([](const Tensor& a) { return linalg::det(a); },
        tenon::tensor({{C(0, 1), C(0, 2)}, {C(1, 0), C(2, 0)}}, c128));
    one([](const Tensor& a) { return std::get<0>(linalg::slogdet(a)); }, square);
    one([](const Tensor& a) { return std::get<1>(linalg::slogdet(a)); }, square);
    one([](const Tensor& a) { return linalg::cholesky(a); }, positive({2, 3, 3}));
    one([](const Tensor& a) { return linalg::cholesky(a, true); }, positive({2, 2}));
    for (const Tensor& a : {tall, regular({2, 3, 3}), wide}) {
      one([](const Tensor& x) { return std::get<0>(linalg::qr(x)); }, a);
      one([](const Tensor& x) { return std::get<1>(linalg::qr(x)); }, a);
      one([](const Tensor& x) { return linalg::svdvals(x); }, a);
      one([](const Tensor& x) { return linalg::pinv(x); }, a);
    }
    one([](const Tensor& a) { return linalg::eigvalsh(a); }, numbers({2, 3, 3}));
    one([](const Tensor& a) { return hermitian_pinv(a, 1e-9); }, positive({2, 3, 3}));
    one([](const Tensor& a) { return linalg::matrix_power(a, -2); }, regular({2, 2}));
    one([](const Tensor& a) { return linalg::matrix_norm(a, "nuc"); }, tall);
    const auto lstsq = [](const Tensor& a, const Tensor& b) {
      const auto [x, residuals, rank, s] = linalg::lstsq(a, b);
      return x.abs().square().sum() + residuals.sum() + s.square().sum() + x.real().sum();
    };
    check_gradients(lstsq, {numbers({4, 2}), numbers({4, 2}, c128, 2)});
    check_gradients(lstsq, {wide, numbers({2}, c128, 2)});
    check_gradients([](const Tensor& x, const Tensor& y) { return linalg::vecdot(x, y); },
                    {tall, numbers({2}, c128, 3)});
  }

  TEST_CASE(
      "vectors of svd and eigh have gradients where the loss does not depend on their phases") {
    const auto weigh = [](const Tensor& x, uint64_t seed) {
      return (x * compare::numbers(x.sizes(), tenon::f64, seed)).sum();
    };
    const auto svd = [&](const Tensor& a) {
      const auto [u, s, vh] = linalg::svd(a, false);
      return weigh(u.abs().square(), 3) + weigh(vh.abs().square(), 4) + s.sum() +
             weigh((u * s.square().unsqueeze(-2)).matmul(vh).real(), 5);
    };
    for (const Tensor& a : {numbers({3, 2}), numbers({2, 3, 3}), numbers({2, 4})})
      check_gradients(svd, {a});
    check_gradients(
        [&](const Tensor& a) {
          const auto [values, vectors] = linalg::eigh(a);
          return values.square().sum() + weigh(vectors.abs().square(), 6);
        },
        {numbers({2, 3, 3})});
    // Gradients of one factor alone.
    check_gradients(
        [&](const Tensor& a) { return weigh(std::get<0>(linalg::svd(a, false)).abs(), 7); },
        {numbers({3, 2})});
    const Tensor a = leaf(numbers({3, 3}));
    for (const Tensor& vectors :
         {std::get<0>(linalg::svd(a)), std::get<2>(linalg::svd(a)), std::get<1>(linalg::eigh(a))}) {
      CHECK(refusal([&] { vectors.real().sum().backward(); })
                .find("complex vectors are determined up to their phases, and the gradient depends "
                      "on them") != std::string::npos);
    }
  }

  TEST_CASE("elements that are not finite are refused with their place") {
    const Tensor holes = tenon::tensor({{C(1, 0), C(2, 0)}, {C(0, std::nan("")), C(4, 0)}}, c128);
    CHECK(refusal([&] { linalg::svd(holes); }) ==
          "svd(): 'A' has an element with the part nan at row 1, column 0: replace what is not "
          "finite, for example with where()");
  }
}

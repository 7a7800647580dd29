// linalg: qr, svd, eigh, lstsq, pinv, matrix_norm, matrix_rank and cond by what defines them, of random
// sizes, batches and layouts; refusals.
#include <algorithm>
#include <limits>

#include "../compare.hpp"

using namespace compare;
namespace linalg = tenon::linalg;

namespace {

using Shape = std::vector<int64_t>;
constexpr double inf = std::numeric_limits<double>::infinity();

double tolerance(DType dtype) { return dtype == tenon::f32 ? 1e-4 : 1e-11; }
Tensor transposed(const Tensor& a) { return a.transpose(-2, -1); }
Tensor identity(int64_t n, const Tensor& like) {
  Shape shape = like.sizes();
  shape[shape.size() - 2] = shape[shape.size() - 1] = n;
  return tenon::eye(n).to(like.dtype()).expand(shape).contiguous();
}
void check_orthonormal_columns(const Tensor& q) {
  check_close(transposed(q).matmul(q), identity(q.size(-1), q), tolerance(q.dtype()));
}

// Matrices of all sizes up to 5 and of every other layout.
template <class Body>
void each_matrix(const Body& body) {
  uint64_t seed = 1;
  for (const DType dtype : {tenon::f32, tenon::f64}) {
    for (const int64_t rows : {0, 1, 2, 3, 5}) {
      for (const int64_t columns : {0, 1, 2, 4, 5}) {
        for (const Shape& batch : {Shape{}, Shape{3}, Shape{2, 1, 2}, Shape{0}}) {
          Shape shape = batch;
          shape.insert(shape.end(), {rows, columns});
          CAPTURE(shape);
          if (++seed % 2 == 0) {
            body(numbers(shape, dtype, seed));
          } else {
            std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
            body(transposed(numbers(shape, dtype, seed)));
          }
        }
      }
    }
  }
}
Tensor matrix(const std::vector<std::vector<double>>& rows) {
  const auto columns = static_cast<int64_t>(rows[0].size());
  const Tensor result =
      tenon::empty_tensor({static_cast<int64_t>(rows.size()), columns}, tenon::f64);
  auto* to = result.data<double>();
  for (const auto& row : rows) to = std::copy(row.begin(), row.end(), to);
  return result;
}

}  // namespace

TEST_SUITE("blas") {
  TEST_CASE("qr gives orthonormal columns and a triangle whose product is the matrix") {
    each_matrix([](const Tensor& a) {
      const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
      for (const char* mode : {"reduced", "complete"}) {
        const auto [q, r] = linalg::qr(a, mode);
        CHECK(q.size(-2) == m);
        CHECK(q.size(-1) == (std::string(mode) == "complete" ? m : k));
        CHECK(r.size(-1) == n);
        check_orthonormal_columns(q);
        check_close(r.triu(), r, 0);
        check_close(q.matmul(r), a, tolerance(a.dtype()));
      }
      const auto [none, r] = linalg::qr(a, "r");
      CHECK(none.sizes() == Shape{0});
      check_close(r, std::get<1>(linalg::qr(a)), tolerance(a.dtype()));
    });
  }

  TEST_CASE("qr and eigh of matrices beyond a tile") {
    for (const DType dtype : {tenon::f64, tenon::c128}) {
      for (const Shape& shape : {Shape{70, 70}, Shape{33, 90}, Shape{90, 33}, Shape{2, 64, 65}}) {
        Shape with_parts = shape;
        with_parts.push_back(2);
        const Tensor parts = numbers(with_parts, tenon::f64, 7);
        const Tensor a =
            tenon::is_complex(dtype) ? tenon::view_as_complex(parts) : parts.select(-1, 0);
        for (const char* mode : {"reduced", "complete", "r"}) {
          const auto [q, r] = linalg::qr(a, mode);
          CHECK(r.tril(-1).abs().amax().item() == 0);
          if (std::string(mode) != "r") CHECK((q.matmul(r) - a).abs().amax().item() < 1e-12 * 90);
        }
        const int64_t n = std::min(a.size(-1), a.size(-2));
        const Tensor square = transposed(a.narrow(-1, 0, n).narrow(-2, 0, n));  // not symmetric
        const auto [values, vectors] = linalg::eigh(square);
        const Tensor half = (square + tenon::conjugate(transposed(square))) * 0.5;
        const Tensor product =
            (vectors * values.unsqueeze(-2)).matmul(tenon::conjugate(transposed(vectors)));
        CHECK((product - half).abs().amax().item() < 1e-11);
        CHECK((linalg::eigvalsh(square) - values).abs().amax().item() < 1e-11);
      }
    }
  }

  TEST_CASE("svd gives orthonormal vectors and descending values whose product is the matrix") {
    each_matrix([](const Tensor& a) {
      const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
      for (const bool full : {false, true}) {
        const auto [u, s, vh] = linalg::svd(a, full);
        CHECK(u.size(-1) == (full ? m : k));
        CHECK(vh.size(-2) == (full ? n : k));
        check_orthonormal_columns(u);
        check_orthonormal_columns(transposed(vh));
        const Tensor scaled = u.narrow(-1, 0, k) * s.unsqueeze(-2);
        check_close(scaled.matmul(vh.narrow(-2, 0, k)), a, tolerance(a.dtype()));
        check_close(linalg::svdvals(a), s, tolerance(a.dtype()));
        for (int64_t i = 1; i < k; ++i)
          CHECK((s.select(-1, i - 1) >= s.select(-1, i)).all().item<bool>());
        CHECK((s >= 0).all().item<bool>());
      }
    });
  }

  TEST_CASE("eigh gives orthonormal vectors that a symmetric matrix scales by ascending values") {
    each_matrix([](const Tensor& x) {
      const Tensor a = x.matmul(transposed(x)) - 0.5;
      const auto [values, vectors] = linalg::eigh(a);
      check_orthonormal_columns(vectors);
      check_close(a.matmul(vectors), vectors * values.unsqueeze(-2), tolerance(a.dtype()));
      check_close(linalg::eigvalsh(a), values, tolerance(a.dtype()));
      for (int64_t i = 1; i < a.size(-1); ++i)
        CHECK((values.select(-1, i - 1) <= values.select(-1, i)).all().item<bool>());
    });
    // The symmetric half counts in a matrix that is not symmetric.
    check_values(linalg::eigvalsh(matrix({{2, 3}, {-1, 2}})), {2}, {1, 3});
  }

  TEST_CASE("pinv fulfils the four conditions of Moore and Penrose, of any rank") {
    each_matrix([](const Tensor& x) {
      const Tensor cube = x.matmul(transposed(x)).matmul(x);  // equal rank, mostly not full
      for (const Tensor& a : {x, cube}) {
        if (a.is_same(cube) && x.dtype() == tenon::f32) continue;  // its condition is too much
        const double room = (a.is_same(cube) ? 1e4 : 20) * tolerance(x.dtype());
        const double rtol = x.dtype() == tenon::f32 ? 1e-4 : 1e-9;
        const Tensor p = linalg::pinv(a, tenon::none, rtol);
        CHECK(p.size(-2) == a.size(-1));
        const Tensor ap = a.matmul(p), pa = p.matmul(a);
        const Tensor scale = p.numel() == 0 ? tenon::ones({}, p.dtype()) : p.abs().amax() + 1;
        check_close(ap.matmul(a) / scale, a / scale, room);
        check_close(pa.matmul(p) / scale, p / scale, room);
        check_close(ap / scale, transposed(ap) / scale, room);
        check_close(pa / scale, transposed(pa) / scale, room);
      }
    });
  }

  TEST_CASE("lstsq leaves what is orthogonal to the columns, and has no part that A ignores") {
    each_matrix([](const Tensor& a) {
      for (const int64_t k : {0, 1, 3}) {
        Shape shape = a.sizes();
        shape.back() = k;
        const Tensor b = numbers(shape, a.dtype(), 77);
        const auto [x, residuals, rank, s] = linalg::lstsq(a, b);
        check_close(x, linalg::pinv(a).matmul(b), 300 * tolerance(a.dtype()));
        check_close(s, linalg::svdvals(a), tolerance(a.dtype()));
        CHECK(rank.dtype() == tenon::i64);
        CHECK(rank.eq(linalg::matrix_rank(a)).all().item<bool>());
        const bool least = a.size(-2) > a.size(-1) && rank.eq(a.size(-1)).all().item<bool>();
        if (least) {
          const Tensor rest = b - a.matmul(x);
          check_close(residuals, rest.square().sum(-2), tolerance(a.dtype()));
          check_close(transposed(a).matmul(rest), tenon::zeros_like(transposed(a).matmul(rest)),
                      tolerance(a.dtype()));
        } else {
          CHECK(residuals.sizes() == Shape{0});
        }
      }
    });
  }

  TEST_CASE("lstsq takes vectors, broadcasts batches, and ignores small singular values") {
    const Tensor a = numbers({2, 4, 3}, tenon::f64, 3), b = numbers({4}, tenon::f64, 4);
    const auto [x, residuals, rank, s] = linalg::lstsq(a, b);
    CHECK(x.sizes() == Shape{2, 3});
    CHECK(residuals.sizes() == Shape{2});
    const auto [one, rest, full, values] = linalg::lstsq(a.select(0, 1), b.unsqueeze(1));
    check_close(x.select(0, 1), one.squeeze(1), 1e-12);
    check_close(residuals.select(0, 1).unsqueeze(0), rest, 1e-12);
    const Tensor narrow = matrix({{1, 0}, {0, 1e-6}});
    const Tensor right = matrix({{1}, {1}});
    check_values(std::get<0>(linalg::lstsq(narrow, right)), {2, 1}, {1, 1e6}, 1e-9);
    check_values(std::get<0>(linalg::lstsq(narrow, right, 1e-3)), {2, 1}, {1, 0});
    CHECK(std::get<2>(linalg::lstsq(narrow, right, 1e-3)).item<int64_t>() == 1);
  }

  TEST_CASE("matrix norms are what their definitions say") {
    const Tensor a = matrix({{1, -2, 3}, {4, 5, -6}});
    const auto norm = [&](const tenon::Argument& ord) {
      return linalg::matrix_norm(a, ord).item<double>();
    };
    CHECK(norm("fro") == doctest::Approx(std::sqrt(91.0)));
    CHECK(norm(1) == 9);
    CHECK(norm(-1) == 5);
    CHECK(norm(inf) == 15);
    CHECK(norm(-inf) == 6);
    const std::vector<double> s = linalg::svdvals(a).to_vector<double>();
    CHECK(norm(2) == doctest::Approx(s[0]));
    CHECK(norm(-2.0) == doctest::Approx(s[1]));
    CHECK(norm("nuc") == doctest::Approx(s[0] + s[1]));
    const Tensor many = numbers({2, 3, 4}, tenon::f32, 5);
    for (const char* ord : {"fro", "nuc"}) {
      const Tensor found = linalg::matrix_norm(many, ord, {2, 0}, true);
      CHECK(found.sizes() == Shape{1, 3, 1});
      check_close(found.select(1, 2).reshape({}), linalg::matrix_norm(many.select(1, 2).t(), ord),
                  1e-5);
    }
    CHECK(linalg::matrix_norm(many, 1, {-2, -1}, false, tenon::f64).dtype() == tenon::f64);
    CHECK(linalg::matrix_norm(tenon::ones({0, 3}), "nuc").item() == 0);
    CHECK_THROWS_AS(linalg::matrix_norm(tenon::ones({0, 3}), 2), tenon::ValueError);
  }

  TEST_CASE("rank and condition count what is not 0") {
    const Tensor singular = matrix({{1, 2}, {2, 4}}), small = matrix({{1, 0}, {0, 1e-6}});
    CHECK(linalg::matrix_rank(singular).item<int64_t>() == 1);
    CHECK(linalg::matrix_rank(small).item<int64_t>() == 2);
    CHECK(linalg::matrix_rank(small, 1e-3).item<int64_t>() == 1);
    CHECK(linalg::matrix_rank(small, tenon::none, 1e-3).item<int64_t>() == 1);
    CHECK(linalg::matrix_rank(tenon::zeros({2, 3, 0})).sizes() == Shape{2});
    CHECK(linalg::cond(small).item<double>() == doctest::Approx(1e6));
    CHECK(linalg::cond(small, -2).item<double>() == doctest::Approx(1e-6));
    CHECK(linalg::cond(small, 1).item<double>() == doctest::Approx(1e6));
    CHECK(linalg::cond(singular, "fro").item<double>() == inf);
    const Tensor both = linalg::cond(tenon::stack({singular, small}), inf);
    check_values(both, {2}, {inf, 1e6}, 1e-9);
  }

  TEST_CASE("equal singular values and eigenvalues have gradients, their vectors have not") {
    Tensor a = tenon::eye(3).to(tenon::f64).requires_grad_();
    const auto [values, vectors] = linalg::eigh(a);
    values.sum().backward({}, true);
    check_values(a.grad(), {3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
    (vectors * numbers({3, 3}, tenon::f64)).sum().backward();
    CHECK_FALSE(a.grad().isfinite().all().item<bool>());
    Tensor b = tenon::eye(2).to(tenon::f64).requires_grad_();
    linalg::matrix_norm(b, "nuc").backward();
    check_values(b.grad(), {2, 2}, {1, 0, 0, 1});
    Tensor c = tenon::eye(2).to(tenon::f64).requires_grad_();
    linalg::pinv(c).sum().backward();
    check_values(c.grad(), {2, 2}, {-1, -1, -1, -1});
  }

  TEST_CASE("singular values that are not 0 but count as 0 have no derivative") {
    const Tensor a = matrix({{1, 0}, {0, 0.1}}).requires_grad_();
    const Tensor p = linalg::pinv(a, 0.5);
    check_values(p, {2, 2}, {1, 0, 0, 0});
    CHECK(refusal([&] {
            p.sum().backward();
          }).find("pinv(): singular values that are not 0 count as 0") != std::string::npos);
  }

  TEST_CASE("gradients of the further vectors of svd are refused, unless they are 0") {
    const Tensor a = numbers({3, 2}, tenon::f64).requires_grad_();
    const auto [u, s, vh] = linalg::svd(a);
    (u.narrow(-1, 0, 2).sum() + s.sum()).backward({}, true);
    CHECK(refusal([&, u = u] { u.sum().backward(); })
              .find("singular vectors beyond the first min(m, n) have no derivative, in U of shape "
                    "[3, 3] and Vh of shape [2, 2]; use full_matrices=False") != std::string::npos);
  }

  TEST_CASE("decompositions refuse what they cannot do, and say where") {
    const double nan = std::nan("");
    const Tensor holes = tenon::stack({matrix({{1, 2}, {2, 4}}), matrix({{1, 2}, {nan, 4}})});
    CHECK(refusal([&] { linalg::svd(holes); }) ==
          "svd(): 'A' has the element nan at row 1, column 0 (matrix 1 of the batch, from 0): "
          "replace what is not finite, for example with nan_to_num()");
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { linalg::svdvals(holes * inf); }, [&] { linalg::eigh(holes); },
             [&] { linalg::eigvalsh(holes); }, [&] { linalg::pinv(holes); },
             [&] { linalg::matrix_rank(holes); }, [&] { linalg::cond(holes); },
             [&] {
               linalg::lstsq(holes, tenon::ones({2, 1}, tenon::f64));
             }}) {
      CHECK(refusal(call).find("replace what is not finite") != std::string::npos);
    }
    CHECK(refusal([] {
            linalg::qr(tenon::ones({2, 2}), "full");
          }) == "qr(): mode is 'full', expected 'reduced', 'complete' or 'r'");
    CHECK(refusal([] { linalg::svd(tenon::ones({3})); }) ==
          "svd(): 'A' must be a matrix or a batch of them, [..., rows, columns], got shape [3]");
    CHECK_THROWS_AS(linalg::eigh(tenon::ones({2, 3})), tenon::ValueError);
    CHECK_THROWS_AS(linalg::svd(tenon::ones({2, 2}, tenon::i64)), tenon::TypeError);
    CHECK(refusal([] {
            linalg::matrix_norm(tenon::ones({2, 2}), 3);
          }) == "matrix_norm(): 'ord' is 3, expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf");
    CHECK(refusal([] {
            linalg::matrix_norm(tenon::ones({2, 2}), 1, {0, -2});
          }) == "matrix_norm(): dim names dimension 0 twice; name two dimensions");
    CHECK(refusal([] {
            linalg::lstsq(tenon::ones({2, 2}), tenon::ones({3, 2}));
          }) == "lstsq(): 'A' of shape [2, 2] does not fit 'B' of shape [3, 2]");
    CHECK_THROWS_AS(linalg::cond(tenon::ones({2, 3}), 1), tenon::ValueError);
    const Tensor tall = numbers({3, 2}, tenon::f64).requires_grad_();
    CHECK(refusal([&] { std::get<1>(linalg::qr(tall, "complete")).sum().backward(); })
              .find("qr(): mode 'complete' has no derivative for matrices of shape [3, 2]; use "
                    "mode='reduced'") != std::string::npos);
  }

  TEST_CASE("decompositions of halves compute in f32") {
    const Tensor a = numbers({3, 2}, tenon::f32).to(tenon::f16);
    const auto [q, r] = linalg::qr(a);
    CHECK(q.dtype() == tenon::f16);
    check_close(q.to(tenon::f32).matmul(r.to(tenon::f32)), a.to(tenon::f32), 2e-3);
    CHECK(linalg::matrix_norm(a, "nuc").dtype() == tenon::f16);
  }
}

// linalg where shapes alone are computed: what a call gives, for matrices that a call refuses.
#include <tenon/shapes_only.hpp>

#include "../compare.hpp"
#include "tests/support/emulation.hpp"

using namespace compare;
namespace linalg = tenon::linalg;

namespace {

using Shape = std::vector<int64_t>;

// Square matrices that every op takes, and zeros of their shape and dtype.
Tensor regular(Shape batch, int64_t n, DType dtype) {
  batch.insert(batch.end(), {n, n});
  return (tenon::eye(n) * 3).to(dtype).expand(batch).contiguous();
}

std::vector<Tensor> tensors_of(const Tensor& tensor) { return {tensor}; }
template <class... Tensors>
std::vector<Tensor> tensors_of(const std::tuple<Tensors...>& results) {
  return std::apply([](const auto&... each) { return std::vector<Tensor>{each...}; }, results);
}

// The op on these operands, and on zeros in their place.
template <class Op>
void check_shapes(const Op& op, const Tensor& a, const Tensor& b) {
  const std::vector<Tensor> expected = tensors_of(op(a, b));
  const Tensor x = tenon::zeros_like(a), y = tenon::zeros_like(b);
  const tenon::ShapesOnly shapes;
  const std::vector<Tensor> found = tensors_of(op(x, y));
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i].sizes() == expected[i].sizes());
    CHECK(found[i].dtype() == expected[i].dtype());
    CHECK_FALSE(found[i].requires_grad());
  }
}

}  // namespace

TEST_SUITE("blas shapes") {
  TEST_CASE("F-243 ops that refuse zeros, or are expensive, have the shapes of their calls") {
    for (const DType dtype : {tenon::f32, tenon::f64}) {
      for (const int64_t n : {0, 1, 3}) {
        for (const Shape& batch : {Shape{}, Shape{2}, Shape{2, 1, 3}, Shape{0}}) {
          CAPTURE(n);
          CAPTURE(batch);
          const Tensor a = regular(batch, n, dtype).requires_grad_();
          Shape wide = batch, vector = batch;
          wide.insert(wide.end(), {n, 2});
          vector.push_back(n);
          const Tensor b = tenon::ones(wide, dtype), v = tenon::ones(vector, dtype);
          const auto each = [&](const auto& op) { check_shapes(op, a, b); };
          each([](const Tensor& x, const Tensor&) { return linalg::cholesky(x); });
          each([](const Tensor& x, const Tensor&) { return linalg::cholesky(x, true); });
          each([](const Tensor& x, const Tensor&) { return linalg::inv(x); });
          each([](const Tensor& x, const Tensor&) { return linalg::det(x); });
          each([](const Tensor& x, const Tensor&) { return linalg::slogdet(x); });
          each([](const Tensor& x, const Tensor&) { return linalg::eigh(x); });
          each([](const Tensor& x, const Tensor&) { return linalg::eigvalsh(x); });
          each([](const Tensor& x, const Tensor&) { return linalg::matrix_power(x, -3); });
          each([](const Tensor& x, const Tensor& y) { return linalg::solve(x, y); });
          each([](const Tensor& x, const Tensor& y) {
            return linalg::solve(x, y.transpose(-2, -1), false);
          });
          check_shapes([](const Tensor& x, const Tensor& y) { return linalg::solve(x, y); }, a, v);
          check_shapes([](const Tensor& x, const Tensor& y) { return linalg::solve(x, y); }, a,
                       tenon::ones({n}, dtype));
          if (n > 0) each([](const Tensor& x, const Tensor&) { return linalg::cond(x, 1); });
          // Ops of matrices that need not be square.
          for (const Tensor& m : {b, b.transpose(-2, -1)}) {
            const auto of = [&](const auto& op) { check_shapes(op, m, m); };
            of([](const Tensor& x, const Tensor&) { return linalg::svd(x); });
            of([](const Tensor& x, const Tensor&) { return linalg::svd(x, false); });
            of([](const Tensor& x, const Tensor&) { return linalg::svdvals(x); });
            of([](const Tensor& x, const Tensor&) { return linalg::pinv(x); });
            of([](const Tensor& x, const Tensor&) { return linalg::matrix_rank(x); });
            for (const char* mode : {"reduced", "complete", "r"})
              of([&](const Tensor& x, const Tensor&) { return linalg::qr(x, mode); });
          }
        }
      }
    }
  }

  TEST_CASE("shapes and dtypes that do not fit are refused as a call refuses them") {
    const Tensor wide = tenon::ones({2, 3}), whole = tenon::ones({2, 2}, tenon::i64);
    const Tensor square = regular({}, 2, tenon::f32), right = tenon::ones({3, 1});
    const auto refusals = [&] {
      std::vector<std::string> texts;
      for (const Tensor& x : {wide, whole}) {
        texts.push_back(refusal([&] { linalg::cholesky(x); }));
        texts.push_back(refusal([&] { linalg::inv(x); }));
        texts.push_back(refusal([&] { linalg::det(x); }));
        texts.push_back(refusal([&] { linalg::eigh(x); }));
        texts.push_back(refusal([&] { linalg::solve(x, right); }));
      }
      texts.push_back(refusal([&] { linalg::svd(whole); }));
      texts.push_back(refusal([&] { linalg::qr(wide, "some"); }));
      texts.push_back(refusal([&] { linalg::solve(square, right); }));
      return texts;
    };
    const std::vector<std::string> called = refusals();
    const tenon::ShapesOnly shapes;
    CHECK(refusals() == called);
    for (const std::string& text : called) CHECK_FALSE(text.empty());
  }

#if !defined(__SANITIZE_THREAD__)  // which has no room for such a mapping
  TEST_CASE("matrices larger than the memory") {
    if (tenon_test::cannot_emulate(tenon_test::kPageRecords)) return;
    const tenon::ShapesOnly shapes;
    const Tensor large = tenon::zeros({1 << 20, 1 << 20}, tenon::f64);
    CHECK(linalg::inv(large).size(1) == 1 << 20);
    CHECK(linalg::solve(linalg::cholesky(large), large).size(0) == 1 << 20);
    CHECK(std::get<1>(linalg::svd(large)).sizes() == Shape{1 << 20});
  }
#endif
}

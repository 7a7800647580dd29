// Every differentiable product against central differences: first order, second order, forward
// mode.
#include <tenon/gradcheck.hpp>

#include "../compare.hpp"

using namespace compare;
namespace linalg = tenon::linalg;

namespace {

struct Case {
  const char* op;
  std::function<Tensor(const std::vector<Tensor>&)> call;
  std::vector<Tensor> inputs;
};

// Far from singular.
Tensor regular(const std::vector<int64_t>& shape) {
  const Tensor x = numbers(shape, tenon::f64) + tenon::eye(shape.back()).to(tenon::f64) * 2.5;
  return x.detach().clone().requires_grad_();
}

using List = const std::vector<Tensor>&;

// The square of an element, so that a vector's sign does not matter.
Tensor squares(const Tensor& a, const Tensor& b) {
  return (a.square() * numbers(a.sizes(), tenon::f64, 7)).sum() +
         (b.square() * numbers(b.sizes(), tenon::f64, 8)).sum();
}

std::vector<Case> decompositions() {
  const auto qr = [](List in) {
    const auto [q, r] = linalg::qr(in[0]);
    return q.sum(-2).sum(-1) + (r * numbers(r.sizes(), tenon::f64, 5)).sum({-2, -1});
  };
  const auto svd = [](List in) {
    const auto [u, s, vh] = linalg::svd(in[0], false);
    return squares(u, vh) + s.sum();
  };
  const auto lstsq = [](List in) {
    const auto [x, residuals, rank, s] = linalg::lstsq(in[0], in[1]);
    return x.sum() + residuals.square().sum() + s.square().sum();
  };
  const auto lu = [](List in) {
    const auto [p, l, u] = linalg::lu(in[0]);
    return squares(l, u) + (l * numbers(l.sizes(), tenon::f64, 5)).sum();
  };
  // The squared magnitudes of vectors, whose phase is free.
  const auto eig = [](List in) {
    const auto [values, vectors] = linalg::eig(in[0]);
    return squares(tenon::view_as_real(values), vectors.abs());
  };
  return {
      {"linalg.lu", lu, {regular({2, 3, 3})}},
      {"linalg.lu", lu, {leaf({4, 2})}},
      {"linalg.lu", lu, {leaf({2, 4})}},
      {"linalg.eig", eig, {leaf({3, 3})}},
      {"linalg.eig", eig, {leaf({2, 2, 2}, 5)}},
      {"linalg.eigvals",
       [](List in) { return tenon::view_as_real(linalg::eigvals(in[0])).square(); },
       {leaf({3, 3})}},
      {"linalg.qr", qr, {leaf({4, 2})}},
      {"linalg.qr", qr, {leaf({2, 3, 3})}},
      {"linalg.qr", qr, {leaf({2, 4})}},
      {"linalg.svd", svd, {leaf({3, 2})}},
      {"linalg.svd", svd, {leaf({2, 2, 2})}},
      {"linalg.svd", svd, {leaf({2, 4})}},
      {"linalg.svdvals", [](List in) { return linalg::svdvals(in[0]); }, {leaf({2, 2, 3})}},
      {"linalg.eigh",
       [](List in) {
         const auto [values, vectors] = linalg::eigh(in[0]);
         return squares(values, vectors);
       },
       {leaf({2, 3, 3})}},
      {"linalg.eigvalsh", [](List in) { return linalg::eigvalsh(in[0]); }, {leaf({3, 3})}},
      {"linalg.pinv", [](List in) { return linalg::pinv(in[0]); }, {leaf({2, 3, 2})}},
      {"linalg.pinv", [](List in) { return linalg::pinv(in[0]); }, {leaf({2, 3})}},
      {"linalg.pinv",
       [](List in) { return linalg::pinv(in[0].outer(in[1])); },
       {leaf({3}), leaf({2}, 2)}},
      {"linalg.lstsq", lstsq, {leaf({4, 2}), leaf({4, 2}, 2)}},
      {"linalg.lstsq", lstsq, {leaf({2, 2, 3}), leaf({2}, 2)}},
      {"linalg.lstsq", lstsq, {leaf({3, 2}), leaf({2, 3, 1}, 2)}},
  };
}

std::vector<Case> products() {
  return {
      {"mm", [](List in) { return in[0].mm(in[1]); }, {leaf({3, 2}), leaf({2, 4}, 2)}},
      {"mm", [](List in) { return in[0].t().mm(in[1].t()); }, {leaf({2, 3}), leaf({4, 2}, 2)}},
      {"mm", [](List in) { return in[0].mm(in[0]); }, {leaf({3, 3})}},
      {"mm", [](List in) { return in[0].mm(in[1]); }, {leaf({2, 0}), leaf({0, 2}, 2)}},
      {"mv", [](List in) { return in[0].mv(in[1]); }, {leaf({3, 2}), leaf({2}, 2)}},
      {"dot", [](List in) { return in[0].dot(in[1]); }, {leaf({4}), leaf({4}, 2)}},
      {"outer", [](List in) { return in[0].outer(in[1]); }, {leaf({3}), leaf({2}, 2)}},
      {"bmm", [](List in) { return in[0].bmm(in[1]); }, {leaf({2, 3, 2}), leaf({2, 2, 3}, 2)}},
      {"addmm",
       [](List in) { return in[0].addmm(in[1], in[2]); },
       {leaf({3}, 3), leaf({2, 2}), leaf({2, 3}, 2)}},
      {"addmm",
       [](List in) { return in[0].addmm(in[1], in[2], 0.5, -2); },
       {leaf({2, 1}, 3), leaf({2, 2}), leaf({2, 3}, 2)}},
      {"matmul",
       [](List in) { return in[0].matmul(in[1]); },
       {leaf({2, 1, 2, 3}), leaf({2, 3, 2}, 2)}},
      {"matmul", [](List in) { return in[0].matmul(in[1]); }, {leaf({2, 2, 3}), leaf({3}, 2)}},
      {"matmul", [](List in) { return in[0].matmul(in[1]); }, {leaf({3}), leaf({2, 3, 2}, 2)}},
      {"linalg.solve",
       [](List in) { return linalg::solve(in[0], in[1]); },
       {regular({3, 3}), leaf({3, 2}, 2)}},
      {"linalg.solve",
       [](List in) { return linalg::solve(in[0], in[1]); },
       {regular({2, 2, 2}), leaf({2}, 2)}},
      {"linalg.solve",
       [](List in) { return linalg::solve(in[0], in[1], false); },
       {regular({2, 2}), leaf({2, 3, 2}, 2)}},
      {"linalg.inv", [](List in) { return linalg::inv(in[0]); }, {regular({2, 3, 3})}},
      {"linalg.det", [](List in) { return linalg::det(in[0]); }, {regular({2, 3, 3})}},
      {"linalg.det",
       [](List in) { return linalg::det(in[0]); },
       {tenon::tensor({{1.0, 2.0, 3.0}, {2.0, 4.0, 6.0}, {1.0, 0.0, 1.0}}, tenon::f64)
            .requires_grad_()}},
      {"linalg.slogdet",
       [](List in) { return std::get<1>(linalg::slogdet(in[0])); },
       {regular({2, 3, 3})}},
      {"linalg.cholesky", [](List in) { return linalg::cholesky(in[0]); }, {regular({2, 3, 3})}},
      {"linalg.cholesky", [](List in) { return linalg::cholesky(in[0], true); }, {regular({3, 3})}},
      {"linalg.matrix_power",
       [](List in) { return linalg::matrix_power(in[0], 5); },
       {leaf({2, 2})}},
      {"linalg.matrix_power",
       [](List in) { return linalg::matrix_power(in[0], -2); },
       {regular({2, 2})}},
      {"linalg.cross",
       [](List in) { return linalg::cross(in[0], in[1], 0); },
       {leaf({3, 2}), leaf({3, 1}, 2)}},
      {"linalg.vecdot",
       [](List in) { return linalg::vecdot(in[0], in[1]); },
       {leaf({2, 3}), leaf({3}, 2)}},
      {"trace", [](List in) { return tenon::trace(in[0]); }, {leaf({3, 2})}},
      {"kron", [](List in) { return tenon::kron(in[0], in[1]); }, {leaf({2, 3}), leaf({2}, 2)}},
      {"tensordot",
       [](List in) { return tenon::tensordot(in[0], in[1]); },
       {leaf({2, 3, 2}), leaf({3, 2, 2}, 2)}},
      {"einsum",
       [](List in) { return tenon::einsum("aab,b...,c->...a", in); },
       {leaf({2, 2, 3}), leaf({3, 2}, 2), leaf({2}, 3)}},
  };
}

}  // namespace

TEST_SUITE("blas") {
  TEST_CASE("gradients of every product are right, of first and second order and in forward mode") {
    std::set<std::string> checked;
    std::vector<Case> cases = products();
    for (Case& c : decompositions()) cases.push_back(std::move(c));
    for (const Case& c : cases) {
      CAPTURE(std::string(c.op));
      tenon::GradcheckOptions options;
      options.check_forward_ad = true;
      CHECK(tenon::gradcheck(c.call, c.inputs, options));
      CHECK(tenon::gradgradcheck(c.call, c.inputs));
      CHECK_NOTHROW(check_mixed_order(c.call, c.inputs));
      checked.insert(c.op);
    }
    CHECK(unchecked_formulas("blas", checked) == std::set<std::string>());
  }
}

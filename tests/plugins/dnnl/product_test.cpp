// Matrix products by oneDNN against f64 ones of blas, of random sizes and layouts; what they decline.
#include <tenon/listing/listing.hpp>

#include "against_f64.hpp"

using namespace dnnl_tests;
using compare::numbers;
using random_inputs::Draw;
using Sizes = std::vector<int64_t>;
using tenon::f32;
using tenon::f64;

namespace {

// Row-major, column-major, with gaps between rows, or with gaps between elements.
Tensor matrix(Draw& draw, int64_t rows, int64_t columns) {
  const auto seed = static_cast<uint64_t>(draw.below(1 << 20)) + 1;
  switch (draw.below(5)) {
    case 0:
      return numbers({columns, rows}, f32, seed).t();
    case 1:
      return numbers({rows, columns + 3}, f32, seed).narrow(1, 2, columns);
    case 2:
      return numbers({rows, columns, 2}, f32, seed).select(2, 1);
    default:
      return numbers({rows, columns}, f32, seed);
  }
}
Tensor wide(const Tensor& x) { return x.to(f64); }
Tensor magnitude(const Tensor& x) { return x.to(f64).abs(); }

}  // namespace

TEST_SUITE("dnnl/product") {
  TEST_CASE("mm, addmm, bmm and linear agree with f64, whatever the layouts") {
    namespace functional = tenon::nn::functional;
    Draw draw(3);
    int64_t taken = 0;
    for (int round = 0; round < 60; ++round) {
      const int64_t m = draw.between(60, 300), k = draw.between(60, 300), n = draw.between(60, 300);
      const Tensor a = matrix(draw, m, k), b = matrix(draw, k, n), c = matrix(draw, m, n);
      CAPTURE(m);
      CAPTURE(k);
      CAPTURE(n);
      Tensor y;
      taken += runs_in("dnnl", "mm", [&] { y = a.mm(b); });
      check_sums(y, wide(a).mm(wide(b)), magnitude(a).mm(magnitude(b)), k);
      const Tensor out = tenon::empty_tensor({n, m}).t();
      tenon::mm(a, b, out);
      check_sums(out, wide(a).mm(wide(b)), magnitude(a).mm(magnitude(b)), k);
      const auto add = [](const Tensor& x, const Tensor& p, const Tensor& q, double alpha) {
        return tenon::addmm(x, p, q, 0.5, alpha);
      };
      for (const Tensor& x : {c, numbers({n}), numbers({m, 1}), numbers({})}) {
        check_sums(add(x, a, b, -2), add(wide(x), wide(a), wide(b), -2),
                   add(magnitude(x), magnitude(a), magnitude(b), 2), k + 3);
      }
      check_sums(functional::linear(a, b.t(), numbers({n})),
                 functional::linear(wide(a), wide(b.t()), wide(numbers({n}))),
                 functional::linear(magnitude(a), magnitude(b.t()), magnitude(numbers({n}))),
                 k + 1);
      const Tensor left = tenon::stack({a, a * 2, a * 3}), right = tenon::stack({b, b * 3, b * 2});
      check_sums(left.bmm(right), wide(left).bmm(wide(right)),
                 magnitude(left).bmm(magnitude(right)), k);
    }
    CHECK(taken > 30);
  }

  TEST_CASE(
      "both providers declare the same of products, but for who they are and what they decline") {
    const tenon::Json ops = tenon::listing::ops();
    const auto declared = [&](const std::string& plugin, const std::string& name) {
      std::string text;
      for (int64_t i = 0; i < ops.size(); ++i) {
        if (ops[i]["name"].text() != name || ops[i]["provider"].text() != plugin) continue;
        for (int64_t k = 0; k < ops[i].size(); ++k) {
          if (ops[i].key(k) != "provider") text += ops[i].key(k) + ": " + ops[i][k].dump() + "\n";
        }
      }
      return text;
    };
    const auto check_same = [&](const std::string& name, const std::string& other) {
      CAPTURE(name);
      CHECK(declared("dnnl", name).find("doc: ") != std::string::npos);
      CHECK(declared("dnnl", name) == declared(other, name));
    };
    for (const std::string name : {"mm", "bmm", "addmm"}) check_same(name, "blas");
    check_same("nn.functional.linear", "nn");
  }

  TEST_CASE("gradients of both orders and tangents agree with f64") {
    const auto all = [](tenon::DType dtype) {
      Tensor x = numbers({120}, f32, 1).to(dtype).requires_grad_(),
             a = numbers({110, 130}, f32, 2).to(dtype).requires_grad_(),
             b = numbers({130, 120}, f32, 3).to(dtype).requires_grad_();
      tenon::GradientOptions first;
      first.create_graph = true;
      const auto call = [](const Tensors& in) {
        const Tensor y = tenon::addmm(in[0], in[1], in[2], 1, 0.5);
        return y * y + in[1].mm(in[2]) + in[1].unsqueeze(0).bmm(in[2].unsqueeze(0)).select(0, 0);
      };
      Tensors found = tenon::gradients({call({x, a, b}).sum()}, {x, a, b}, first);
      const Tensor sum = (found[1] * found[1]).mean() + (found[2] * found[2]).mean();
      const Tensors second = tenon::gradients({sum}, {a, b});
      found.insert(found.end(), second.begin(), second.end());
      found.push_back(tangent(call, {x, a, b}, {x, a, b}));
      return found;
    };
    const Tensors narrow = all(f32), exact = all(f64);
    check_relative(narrow, exact, 2e-5);
  }

  TEST_CASE("small products, other dtypes and layouts, and an out in use are declined") {
    const auto reason = [](const Tensor& a, const Tensor& b, const Tensor& out = {}) {
      return traced("mm", [&] { tenon::mm(a, b, out); });
    };
    const Tensor a = numbers({128, 128});
    CHECK(reason(a, a) == "kernel mm (plugin dnnl)\n");
    const std::string by_blas = " (plugin dnnl)\nkernel mm (plugin blas)\n";
    CHECK(reason(a.to(f64), a.to(f64)) == "declined: a dtype other than f32" + by_blas);
    CHECK(reason(a.narrow(0, 0, 3), a) == "declined: fewer than 524,288 multiplications" + by_blas);
    CHECK(reason(numbers({128, 128, 2}).select(2, 0), a) ==
          "declined: strides that gemm cannot read" + by_blas);
    CHECK(reason(a, a, a) == "declined: an 'out' that gemm cannot write" + by_blas);
    CHECK(compare::refusal([&] {
            reason(a, numbers({127, 130}));
          }).find("inner sizes differ") != std::string::npos);
  }

  TEST_CASE("one, two and three threads give the same bits") {
    const int32_t threads = tenon::thread_count();
    Draw draw(6);
    for (int round = 0; round < 20; ++round) {
      const int64_t m = draw.between(60, 1100), k = draw.between(60, 400),
                    n = draw.between(60, 1100);
      const Tensor a = matrix(draw, m, k), b = matrix(draw, k, n);
      std::string expected;
      for (const int32_t count : {1, 2, 3}) {
        tenon::set_thread_count(count);
        const std::string found = bits(a.mm(b));
        if (count == 1) expected = found;
        CHECK((found == expected));
      }
    }
    tenon::set_thread_count(threads);
  }
}

// Matrix products: values for every layout and dtype, refusals, threads.
#include <limits>

#include "../compare.hpp"

using namespace compare;
using tenon::f32;
using tenon::f64;

namespace {

Tensor naive(const Tensor& a, const Tensor& b) {
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  const Tensor result = tenon::empty_tensor({m, n}, f64);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += x[static_cast<size_t>(i * k + l)] * y[static_cast<size_t>(l * n + j)];
      result.data<double>()[i * n + j] = sum;
    }
  }
  return result;
}

struct Layout {
  std::string name;
  Tensor matrix;
};

// The matrix in other memory layouts.
std::vector<Layout> layouts(const Tensor& matrix) {
  const int64_t rows = matrix.size(0), columns = matrix.size(1);
  std::vector<Layout> list = {{"row-major", matrix}};
  list.push_back({"column-major", matrix.t().clone().t()});
  const Tensor wide = tenon::zeros({rows, columns + 3}, matrix.dtype());
  wide.narrow(1, 2, columns).copy_(matrix);
  list.push_back({"rows with gaps", wide.narrow(1, 2, columns)});
  const Tensor tall = tenon::zeros({columns + 2, rows}, matrix.dtype());
  tall.narrow(0, 1, columns).copy_(matrix.t());
  list.push_back({"columns inside of more", tall.narrow(0, 1, columns).t()});
  const Tensor sparse = tenon::zeros({rows * 2, columns * 2}, matrix.dtype());
  const Tensor every_other =
      sparse.slice(0, tenon::none, tenon::none, 2).slice(1, tenon::none, tenon::none, 2);
  every_other.copy_(matrix);
  list.push_back({"every other element", every_other});
  return list;
}

}  // namespace

TEST_SUITE("blas") {
  TEST_CASE("mm agrees with a naive product for every layout, dtype and size") {
    for (const DType dtype : {f32, f64, tenon::i64, tenon::i32, tenon::i16}) {
      for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{{1, 1, 1},
                                                                       {2, 3, 4},
                                                                       {1, 7, 5},
                                                                       {5, 7, 1},
                                                                       {8, 8, 8},
                                                                       {16, 16, 16},
                                                                       {33, 17, 20},
                                                                       {65, 70, 80}}) {
        const Tensor a = numbers({m, k}, dtype, 1), b = numbers({k, n}, dtype, 2);
        const Tensor expected = naive(a, b);
        for (const Layout& left : layouts(a)) {
          for (const Layout& right : layouts(b)) {
            CAPTURE(left.name);
            CAPTURE(right.name);
            const Tensor found = left.matrix.mm(right.matrix);
            CHECK(found.dtype() == dtype);
            check_close(found, expected, dtype == f32 ? 1e-5 : 1e-12);
          }
        }
      }
    }
  }

  TEST_CASE("mm reads expanded and reversed operands") {
    const Tensor row = numbers({1, 5}, f32), square = numbers({5, 5}, f32, 2);
    check_close(row.expand({4, 5}).mm(square), naive(row.expand({4, 5}), square));
    check_close(square.mm(row.t().expand({5, 3})), naive(square, row.t().expand({5, 3})));
  }

  TEST_CASE("mm of nothing is empty, and a product without terms is zero") {
    CHECK(tenon::zeros({0, 3}).mm(tenon::zeros({3, 4})).sizes() == std::vector<int64_t>{0, 4});
    CHECK(tenon::zeros({2, 3}).mm(tenon::zeros({3, 0})).sizes() == std::vector<int64_t>{2, 0});
    check_values(tenon::zeros({2, 0}).mm(tenon::zeros({0, 2})), {2, 2}, {0, 0, 0, 0});
    check_values(tenon::zeros({2, 0}, tenon::i64).mm(tenon::zeros({0, 2}, tenon::i64)), {2, 2},
                 {0, 0, 0, 0});
  }

  TEST_CASE("mm writes into a given output of any layout, even one of its operands") {
    const Tensor a = numbers({6, 6}, f32), b = numbers({6, 6}, f32, 2), expected = naive(a, b);
    for (const Layout& out :
         layouts(tenon::full({6, 6}, std::numeric_limits<float>::quiet_NaN()))) {
      CAPTURE(out.name);
      CHECK(a.mm(b, out.matrix).is_same(out.matrix));
      check_close(out.matrix, expected);
    }
    const Tensor same = a.clone();
    same.mm(b, same);
    check_close(same, expected);
    const Tensor flipped = b.clone();
    a.mm(flipped, flipped.t());
    check_close(flipped.t(), expected);
  }

  TEST_CASE("mm refuses what does not fit") {
    CHECK(refusal([] {
            tenon::zeros({3, 4}).mm(tenon::zeros({5, 2}));
          }) == "mm(): inner sizes differ: [3, 4] and [5, 2]");
    CHECK(refusal([] {
            tenon::zeros({3}).mm(tenon::zeros({3, 2}));
          }) == "mm(): 'input' must have 2 dimensions, got shape [3]; matmul() takes any number");
    CHECK(refusal([] {
            tenon::zeros({2, 3}).mm(tenon::zeros({3, 2}, f64));
          }) == "mm(): 'input' is f32 but 'mat2' is f64; convert one with to()");
    CHECK_THROWS_AS(tenon::zeros({2, 3}).mm(tenon::zeros({3, 2}, tenon::i64)), tenon::TypeError);
    CHECK_THROWS_AS(tenon::zeros({2, 3}, tenon::boolean).mm(tenon::zeros({3, 2}, tenon::boolean)),
                    tenon::TypeError);
    CHECK(refusal([] {
            tenon::zeros({2, 3}).mm(tenon::zeros({3, 2}), tenon::zeros({2, 3}));
          }) == "mm(): 'out' must be f32 of shape [2, 2], got f32 of shape [2, 3]");
  }

  TEST_CASE("mv, dot and outer agree with products of matrices") {
    for (const DType dtype : {f32, f64, tenon::i64}) {
      const Tensor a = numbers({7, 5}, dtype), x = numbers({5}, dtype, 2),
                   y = numbers({7}, dtype, 3);
      for (const Layout& layout : layouts(a)) {
        CAPTURE(layout.name);
        check_close(layout.matrix.mv(x), naive(a, x.unsqueeze(1)).squeeze(1));
      }
      const Tensor spaced = numbers({10}, dtype, 4).slice(0, tenon::none, tenon::none, 2);
      check_close(a.mv(spaced), naive(a, spaced.unsqueeze(1)).squeeze(1));
      const Tensor one = numbers({1}, dtype, 5).expand({5});
      check_close(a.mv(one), naive(a, one.unsqueeze(1)).squeeze(1));
      check_close(x.dot(spaced), naive(x.unsqueeze(0), spaced.unsqueeze(1)).squeeze());
      check_close(x.outer(y), naive(x.unsqueeze(1), y.unsqueeze(0)));
    }
    check_values(tenon::zeros({3, 0}).mv(tenon::zeros({0})), {3}, {0, 0, 0});
    check_values(tenon::zeros({0}).dot(tenon::zeros({0})), {}, {0});
    CHECK(refusal([] {
            tenon::zeros({2, 3}).mv(tenon::zeros({2}));
          }) == "mv(): inner sizes differ: [2, 3] and [2]");
    CHECK(refusal([] { tenon::zeros({2}).dot(tenon::zeros({3})); }) ==
          "dot(): inner sizes differ: [2] and [3]");
    CHECK_THROWS_AS(tenon::zeros({2, 1}).outer(tenon::zeros({3})), tenon::ValueError);
  }

  TEST_CASE("bmm with one operand in common multiplies each pair") {
    for (const int64_t rows : {1, 3, 40}) {
      for (const int64_t columns : {1, 2, 40}) {
        const Tensor left = numbers({rows, 50}, f64), right = numbers({50, columns}, f64, 2);
        const Tensor lefts = numbers({5, rows, 50}, f64, 3),
                     rights = numbers({5, 50, columns}, f64, 4);
        const Tensor turned = rights.transpose(1, 2).clone().transpose(1, 2);
        const Tensor by_left = left.expand({5, rows, 50}).bmm(rights),
                     by_turned = left.expand({5, rows, 50}).bmm(turned),
                     by_right = lefts.bmm(right.expand({5, 50, columns})),
                     by_both = left.expand({5, rows, 50}).bmm(right.expand({5, 50, columns}));
        for (int64_t i = 0; i < 5; ++i) {
          check_close(by_left.select(0, i), naive(left, rights.select(0, i)));
          check_close(by_turned.select(0, i), naive(left, rights.select(0, i)));
          check_close(by_right.select(0, i), naive(lefts.select(0, i), right));
          check_close(by_both.select(0, i), naive(left, right));
        }
      }
    }
  }

  TEST_CASE("bmm multiplies each pair, whatever the layout") {
    for (const int64_t batch : {0, 1, 3, 64}) {
      const Tensor a = numbers({batch, 8, 9}, f32), b = numbers({batch, 9, 7}, f32, 2);
      const Tensor found = a.bmm(b), turned = a.transpose(1, 2).clone().transpose(1, 2).bmm(b);
      CHECK(found.sizes() == std::vector<int64_t>{batch, 8, 7});
      for (int64_t i = 0; i < batch; ++i) {
        check_close(found.select(0, i), naive(a.select(0, i), b.select(0, i)));
        check_close(turned.select(0, i), naive(a.select(0, i), b.select(0, i)));
      }
    }
    const Tensor shared = numbers({1, 4, 5}, f64), many = numbers({6, 5, 3}, f64, 2);
    const Tensor found = shared.expand({6, 4, 5}).bmm(many);
    for (int64_t i = 0; i < 6; ++i)
      check_close(found.select(0, i), naive(shared.select(0, 0), many.select(0, i)));
    const Tensor whole = numbers({2, 3, 4}, tenon::i64), other = numbers({2, 4, 2}, tenon::i64, 2);
    check_close(whole.bmm(other).select(0, 1), naive(whole.select(0, 1), other.select(0, 1)));
    CHECK(refusal([] {
            tenon::zeros({2, 3, 4}).bmm(tenon::zeros({3, 4, 5}));
          }) == "bmm(): batch sizes differ: [2, 3, 4] and [3, 4, 5]");
    CHECK(refusal([] {
            tenon::zeros({2, 3, 4}).bmm(tenon::zeros({2, 5, 5}));
          }) == "bmm(): inner sizes differ: [2, 3, 4] and [2, 5, 5]");
  }

  TEST_CASE("addmm adds a broadcast input, and does not read it with beta 0") {
    const Tensor a = numbers({4, 3}, f64), b = numbers({3, 5}, f64, 2), product = naive(a, b);
    for (const std::vector<int64_t>& shape :
         std::vector<std::vector<int64_t>>{{}, {1}, {5}, {4, 1}, {1, 5}, {4, 5}}) {
      const Tensor input = numbers(shape, f64, 3);
      check_close(input.addmm(a, b), product + input);
      check_close(input.addmm(a, b, 2, -3), product * -3 + input * 2);
    }
    const Tensor spoiled = tenon::full({5}, std::numeric_limits<double>::quiet_NaN(), f64);
    check_close(spoiled.addmm(a, b, 0), product);
    const Tensor whole = numbers({4, 3}, tenon::i64), other = numbers({3, 5}, tenon::i64, 2);
    const Tensor shift = numbers({5}, tenon::i64, 3);
    check_close(shift.addmm(whole, other, 2, 3), naive(whole, other) * 3 + shift.to(f64) * 2);
    CHECK_THROWS_AS(shift.addmm(whole, other, 0.5), tenon::TypeError);
    CHECK_THROWS_AS(shift.addmm(whole, other, 1, 0.5), tenon::TypeError);
    check_values(tenon::ones({2}).addmm(tenon::zeros({2, 0}), tenon::zeros({0, 2}), 3), {2, 2},
                 {3, 3, 3, 3});
    CHECK(refusal([&] { numbers({4}, f64).addmm(a, b); }) ==
          "addmm(): 'input' of shape [4] cannot be broadcast to the product's shape [4, 5]");
    CHECK_THROWS_AS(numbers({5}, f32).addmm(a, b), tenon::TypeError);
  }

  TEST_CASE("matmul broadcasts batches and takes vectors on either side") {
    const auto shape = [](const Tensor& a, const Tensor& b) { return a.matmul(b).sizes(); };
    using Sizes = std::vector<int64_t>;
    const auto n = [](const Sizes& sizes) { return numbers(sizes, f64); };
    CHECK(shape(n({3}), n({3})) == Sizes{});
    CHECK(shape(n({2, 3}), n({3})) == Sizes{2});
    CHECK(shape(n({3}), n({3, 4})) == Sizes{4});
    CHECK(shape(n({2, 3}), n({3, 4})) == Sizes{2, 4});
    CHECK(shape(n({5, 2, 3}), n({3, 4})) == Sizes{5, 2, 4});
    CHECK(shape(n({5, 2, 3}), n({3})) == Sizes{5, 2});
    CHECK(shape(n({3}), n({5, 3, 4})) == Sizes{5, 4});
    CHECK(shape(n({2, 3}), n({5, 3, 4})) == Sizes{5, 2, 4});
    CHECK(shape(n({7, 1, 2, 3}), n({5, 3, 4})) == Sizes{7, 5, 2, 4});
    CHECK(shape(n({0, 2, 3}), n({3, 4})) == Sizes{0, 2, 4});
    const Tensor a = numbers({7, 1, 2, 3}, f64), b = numbers({5, 3, 4}, f64, 2),
                 found = a.matmul(b);
    for (int64_t i = 0; i < 7; ++i) {
      for (int64_t j = 0; j < 5; ++j) {
        check_close(found.select(0, i).select(0, j),
                    naive(a.select(0, i).select(0, 0), b.select(0, j)));
      }
    }
    const Tensor v = numbers({3}, f64, 3);
    check_close(v.matmul(b), (v.unsqueeze(1) * b).sum({-2}));
    CHECK(refusal([] {
            tenon::zeros({2, 3}).matmul(tenon::zeros({2}));
          }) == "matmul(): inner sizes differ: [2, 3] and [2]");
    CHECK(refusal([] {
            tenon::zeros({2, 2, 3}).matmul(tenon::zeros({3, 3, 4}));
          }) == "matmul(): batch dimensions cannot be broadcast: [2, 2, 3] and [3, 3, 4]");
    CHECK_THROWS_AS(tenon::zeros({}).matmul(tenon::zeros({2})), tenon::ValueError);
  }

  TEST_CASE("products that are shared out agree with those of one thread, whatever the layout") {
    const auto with_threads = [](int32_t count, const auto& compute) {
      const int32_t before = tenon::thread_count();
      tenon::set_thread_count(count);
      const Tensor result = compute();
      tenon::set_thread_count(before);
      return result;
    };
    const auto check = [&](const auto& compute) {
      const Tensor expected = with_threads(1, compute);
      for (const int32_t count : {2, 7})
        CHECK((with_threads(count, compute) - expected).abs().amax().item() < 1e-9);
    };
    for (const auto& [m, k, n] :
         std::vector<std::array<int64_t, 3>>{{301, 120, 213}, {90, 150, 777}}) {
      const Tensor a = numbers({m, k}, f64, 1), b = numbers({k, n}, f64, 2);
      for (const Layout& left : layouts(a)) {
        for (const Layout& right : layouts(b)) {
          CAPTURE(left.name);
          CAPTURE(right.name);
          check([&] { return tenon::mm(left.matrix, right.matrix); });
        }
      }
      for (const Layout& out : layouts(tenon::zeros({m, n}, f64))) {
        CAPTURE(out.name);
        check([&] { return tenon::mm(a, b, out.matrix).clone(); });
      }
    }
    const Tensor batch = numbers({5, 200, 100}, f64, 3);
    check([&] { return tenon::bmm(batch, batch.transpose(1, 2)); });
    const Tensor tall = numbers({3000, 1500}, f64, 4), x = numbers({1500}, f64, 5);
    for (const Layout& layout : layouts(tall)) {
      CAPTURE(layout.name);
      check([&] { return tenon::mv(layout.matrix, x); });
    }
    const Tensor longer = numbers({3000000}, f64, 6);
    check([&] { return tenon::dot(longer, longer); });
  }

  TEST_CASE("integer products wrap") {
    const Tensor large = tenon::full({1, 2}, 2000000000, tenon::i32);
    const auto expected = static_cast<int32_t>(2u * (2000000000u * 2000000000u));
    CHECK(large.mm(large.t()).item<int32_t>() == expected);
  }

  TEST_CASE(
      "products inside of parallel loops, and thread counts that change, give the same results") {
    const Tensor a = numbers({150, 160}, f64), b = numbers({160, 170}, f64, 2),
                 expected = naive(a, b);
    const int32_t before = tenon::thread_count();
    for (const int32_t threads : {1, 2, 4}) {
      tenon::set_thread_count(threads);
      check_close(a.mm(b), expected, 1e-12);
      std::vector<Tensor> results(8);
      tenon::parallel_for(0, 8, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) results[static_cast<size_t>(i)] = a.mm(b);
      });
      for (const Tensor& result : results) check_close(result, expected, 1e-12);
    }
    tenon::set_thread_count(before);
  }
}

// Collectives between ranks: mpirun starts this suite 1 to 4 times, and each rank runs every case.
#include <functional>
#include <limits>

#include <tenon/device.hpp>
#include <tenon/mpi_ops.hpp>

#include "../compare.hpp"

using namespace compare;
using tenon::arg;

namespace {

int64_t own_rank() {
  static const int64_t rank = tenon::distributed::rank();
  return rank;
}
int64_t rank_count() {
  static const int64_t size = [] {
    tenon::distributed::configure(60, "always");
    return tenon::distributed::size();
  }();
  return size;
}

// The input of a rank.
Tensor input_of(int64_t rank, const std::vector<int64_t>& shape, DType dtype = tenon::f64,
                uint64_t seed = 1) {
  const DType made = tenon::compute_dtype(dtype);
  return numbers(shape, made, seed * 100 + static_cast<uint64_t>(rank)).to(dtype);
}

// The reduction one element at a time, from all inputs.
std::vector<double> reduced(const std::string& reduce, const std::vector<Tensor>& inputs) {
  std::vector<double> total = inputs[0].to(tenon::f64).to_vector<double>();
  for (size_t rank = 1; rank < inputs.size(); ++rank) {
    const std::vector<double> values = inputs[rank].to(tenon::f64).to_vector<double>();
    for (size_t i = 0; i < total.size(); ++i) {
      if (reduce == "prod")
        total[i] *= values[i];
      else if (reduce == "max")
        total[i] = std::isnan(total[i]) || total[i] > values[i] ? total[i] : values[i];
      else if (reduce == "min")
        total[i] = std::isnan(total[i]) || total[i] < values[i] ? total[i] : values[i];
      else
        total[i] += values[i];
    }
  }
  if (reduce == "mean")
    for (double& value : total) value /= static_cast<double>(inputs.size());
  return total;
}

std::vector<Tensor> inputs_of_all(const std::vector<int64_t>& shape, DType dtype = tenon::f64,
                                  uint64_t seed = 1) {
  std::vector<Tensor> all;
  for (int64_t rank = 0; rank < rank_count(); ++rank)
    all.push_back(input_of(rank, shape, dtype, seed));
  return all;
}

using Call = std::function<Tensor(const Tensor&)>;

// The gradient of the sum over ranks of weighted results, by every rank's input, against
// differences: each rank moves each of its elements in turn, and all ranks compute the sum.
void check_joint_gradient(const Call& call, const std::vector<int64_t>& shape, uint64_t seed = 1) {
  const auto loss_at = [&](const Tensor& x) {
    const Tensor y = call(x);
    return (y * numbers(y.sizes(), tenon::f64, 70 + static_cast<uint64_t>(own_rank()))).sum();
  };
  const Tensor x = input_of(own_rank(), shape, tenon::f64, seed).requires_grad_();
  const std::vector<double> found = tenon::gradients({loss_at(x)}, {x})[0].to_vector<double>();
  const tenon::NoGrad no_grad;
  constexpr double step = 1e-5;
  for (int64_t rank = 0; rank < rank_count(); ++rank) {
    for (int64_t i = 0; i < x.numel(); ++i) {
      double difference = 0;
      for (const double sign : {1.0, -1.0}) {
        const Tensor moved = x.detach().clone();
        if (rank == own_rank()) moved.data<double>()[i] += sign * step;
        difference += sign * tenon::distributed::all_reduce(loss_at(moved)).item();
      }
      if (rank != own_rank()) continue;
      CAPTURE(i);
      CHECK(found[static_cast<size_t>(i)] ==
            doctest::Approx(difference / (2 * step)).epsilon(1e-6));
    }
  }
}

// The tangent of every rank's result, when all inputs move at once, against differences.
void check_joint_tangent(const Call& call, const std::vector<int64_t>& shape) {
  const Tensor x = input_of(own_rank(), shape),
               direction = input_of(own_rank(), shape, tenon::f64, 9);
  Tensor tangent;
  {
    const tenon::DualLevel level;
    tangent = unpack_dual(call(make_dual(x, direction))).tangent;
  }
  constexpr double step = 1e-5;
  const Tensor expected = (call(x + direction * step) - call(x - direction * step)) / (2 * step);
  check_close(tangent, expected, 1e-6);
}

}  // namespace

TEST_SUITE("mpi") {
  TEST_CASE("all_reduce puts the elements of all ranks together, in every dtype it computes in") {
    for (const char* reduce : {"sum", "mean", "max", "min", "prod"}) {
      for (const DType dtype :
           {tenon::f64, tenon::f32, tenon::i64, tenon::i32, tenon::i16, tenon::i8, tenon::f16}) {
        if (std::string(reduce) == "mean" && !tenon::is_floating(dtype)) continue;
        for (const std::vector<int64_t>& shape :
             std::vector<std::vector<int64_t>>{{}, {0}, {3, 4}, {2, 1, 5}, {100000}}) {
          if (std::string(reduce) == "prod" && !tenon::is_floating(dtype)) continue;
          INFO(reduce, " of ", tenon::dtype_text(dtype));
          const std::vector<Tensor> all = inputs_of_all(shape, dtype);
          const Tensor& own = all[static_cast<size_t>(own_rank())];
          const Tensor found = tenon::distributed::all_reduce(own, reduce);
          CHECK(found.dtype() == dtype);
          CHECK(found.sizes() == shape);
          CHECK_FALSE(found.is_same(own));
          const double tolerance = dtype == tenon::f16 ? 4e-3 : dtype == tenon::f32 ? 1e-6 : 1e-12;
          check_close(found.to(tenon::f64).to_vector<double>(), reduced(reduce, all), tolerance);
          const Tensor changed = own.clone();
          CHECK(tenon::distributed::all_reduce_(changed, reduce).is_same(changed));
          CHECK(changed.to(tenon::f64).to_vector<double>() ==
                found.to(tenon::f64).to_vector<double>());
        }
      }
    }
  }

  TEST_CASE("all_reduce takes strided inputs, bools by max and min, and NaN wins") {
    const Tensor own = input_of(own_rank(), {4, 3});
    check_close(tenon::distributed::all_reduce(own.t()), tenon::distributed::all_reduce(own).t(),
                0);
    const Tensor only_first =
        tenon::tensor({own_rank() == 0, true, own_rank() == rank_count() - 1});
    CHECK(tenon::distributed::all_reduce(only_first, "max").to_vector<bool>() ==
          std::vector<bool>{true, true, true});
    CHECK(tenon::distributed::all_reduce(only_first, "min").to_vector<bool>() ==
          std::vector<bool>{rank_count() == 1, true, rank_count() == 1});
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const char* reduce : {"max", "min"}) {
      const Tensor with_nan = tenon::tensor({own_rank() == 0 ? nan : 1.0, 2.0});
      const std::vector<double> found =
          tenon::distributed::all_reduce(with_nan, reduce).to(tenon::f64).to_vector<double>();
      CHECK(std::isnan(found[0]));
      CHECK(found[1] == 2);
    }
  }

  TEST_CASE("all_gather, reduce_scatter and broadcast move elements along any dimension") {
    for (int64_t dim = -3; dim < 3; ++dim) {
      CAPTURE(dim);
      const std::vector<Tensor> all = inputs_of_all({2, 3, 4});
      const Tensor& own = all[static_cast<size_t>(own_rank())];
      check_close(tenon::distributed::all_gather(own, dim), tenon::concatenate(all, dim), 0);
      const std::vector<int64_t> wide = {12, 12, 12};
      const std::vector<Tensor> whole = inputs_of_all(wide, tenon::f64, 2);
      Tensor sum = whole[0];
      for (size_t rank = 1; rank < whole.size(); ++rank) sum = sum + whole[rank];
      const int64_t part = 12 / rank_count();
      check_close(tenon::distributed::reduce_scatter(whole[static_cast<size_t>(own_rank())], dim),
                  narrow(sum, dim, own_rank() * part, part), 1e-12);
    }
    for (int64_t root = 0; root < rank_count(); ++root) {
      const std::vector<Tensor> all = inputs_of_all({3, 2});
      const Tensor own = all[static_cast<size_t>(own_rank())].clone();
      const Tensor& expected = all[static_cast<size_t>(root)];
      check_close(tenon::distributed::broadcast(own, root), expected, 0);
      tenon::distributed::broadcast_(own.t(), root);
      check_close(own, expected, 0);
    }
  }

  TEST_CASE("tensors on a device are reduced, gathered and broadcast as those of the CPU") {
    namespace distributed = tenon::distributed;
    const auto there = [](const Tensor& tensor) { return tenon::device::to(tensor, "sim:1"); };
    const Tensor own = input_of(own_rank(), {12, 3});
    const auto check = [&](const std::function<Tensor(const Tensor&)>& call) {
      const Tensor found = call(there(own));
      CHECK(tenon::device::name_of(found) == "sim:1");
      check_close(tenon::device::to(found, "cpu"), call(own.clone()), 0);
    };
    check([](const Tensor& x) { return distributed::all_reduce(x); });
    check([](const Tensor& x) { return distributed::all_reduce_(x, "max"); });
    check([](const Tensor& x) { return distributed::all_gather(x, 1); });
    check([](const Tensor& x) { return distributed::reduce_scatter(x); });
    check([](const Tensor& x) { return distributed::broadcast(x); });
    check([](const Tensor& x) { return distributed::broadcast_(x.t()).t(); });
    check([](const Tensor& x) {
      distributed::wait(distributed::begin_all_reduce_(x));
      return x;
    });
    check([&](const Tensor& x) {
      const Tensor part = tenon::narrow(x, 0, 0, 12 / rank_count()).clone();
      distributed::wait(distributed::begin_reduce_scatter(x, part));
      return part;
    });
    check([](const Tensor& x) {
      const Tensor leaf = x.detach().requires_grad_();
      return tenon::gradients({distributed::all_reduce(leaf, "max").sum()}, {leaf})[0];
    });
  }

  TEST_CASE("unsigned integers are reduced as they are") {
    for (const DType dtype : {tenon::u8, tenon::u16, tenon::u32, tenon::u64}) {
      CAPTURE(tenon::dtype_text(dtype));
      const Tensor own = tenon::full({2 * rank_count()}, own_rank() + 1).to(dtype);
      const double n = static_cast<double>(rank_count()), sum = n * (n + 1) / 2;
      const auto all_are = [&](const Tensor& found, double expected) {
        CHECK(found.dtype() == dtype);
        for (const double value : found.to(tenon::f64).to_vector<double>())
          CHECK(value == expected);
      };
      all_are(tenon::distributed::all_reduce(own), sum);
      all_are(tenon::distributed::all_reduce(own, "max"), n);
      all_are(tenon::distributed::all_reduce(own, "min"), 1);
      all_are(tenon::distributed::reduce_scatter(own), sum);
      const Tensor begun = own.clone();
      tenon::distributed::wait(tenon::distributed::begin_all_reduce_(begun));
      all_are(begun, sum);
    }
    // Beyond what an f64 counts.
    const Tensor large = tenon::full({1}, int64_t{1} << 62).to(tenon::u64);
    CHECK(tenon::distributed::all_reduce(large, "max").to(tenon::i64).item<int64_t>() == int64_t{1}
                                                                                             << 62);
  }

  TEST_CASE("out receives the result, whatever its layout, and is refused when it does not fit") {
    namespace distributed = tenon::distributed;
    const int64_t n = rank_count();
    for (const int64_t dim : {0, 1}) {
      CAPTURE(dim);
      const Tensor own = input_of(own_rank(), {12, 12});
      std::vector<int64_t> wide = {12, 12}, part = {12, 12};
      wide[static_cast<size_t>(dim)] *= n;
      part[static_cast<size_t>(dim)] /= n;
      const auto check = [&](const std::vector<int64_t>& shape, const Tensor& expected,
                             const auto& call) {
        const Tensor plain = tenon::zeros(shape, tenon::f64),
                     turned = tenon::zeros({shape[1], shape[0]}, tenon::f64).t();
        for (const Tensor& out : {plain, turned}) {
          CHECK(call(out).is_same(out));
          check_close(out, expected, 0);
        }
        CHECK(refusal([&] { call(tenon::zeros({5}, tenon::f64)); }).find("'out'") !=
              std::string::npos);
        CHECK(refusal([&] { call(tenon::zeros(shape, tenon::f32)); }) != "");
      };
      check({12, 12}, distributed::all_reduce(own),
            [&](const Tensor& out) { return distributed::all_reduce(own, "sum", "sum", out); });
      check(wide, distributed::all_gather(own, dim),
            [&](const Tensor& out) { return distributed::all_gather(own, dim, "sum", out); });
      check(part, distributed::reduce_scatter(own, dim),
            [&](const Tensor& out) { return distributed::reduce_scatter(own, dim, out); });
      check({12, 12}, distributed::broadcast(own, n - 1),
            [&](const Tensor& out) { return distributed::broadcast(own, n - 1, out); });
      // The input itself.
      const Tensor same = own.clone();
      distributed::all_reduce(same, "sum", "sum", same);
      check_close(same, distributed::all_reduce(own), 0);
    }
  }

  TEST_CASE("ops that only move elements take every dtype") {
    for (const DType dtype :
         {tenon::boolean, tenon::u8, tenon::f16, tenon::bf16, tenon::u16, tenon::u32, tenon::u64}) {
      CAPTURE(tenon::dtype_text(dtype));
      const Tensor own = tenon::full({2}, own_rank()).to(dtype);
      const Tensor all = tenon::distributed::all_gather(own);
      CHECK(all.dtype() == dtype);
      CHECK(all.numel() == 2 * rank_count());
      CHECK(all.to(tenon::f64).to_vector<double>().back() ==
            (dtype == tenon::boolean ? rank_count() > 1 : rank_count() - 1));
      const Tensor last = tenon::distributed::broadcast(own, rank_count() - 1);
      CHECK(last.to(tenon::f64).to_vector<double>() ==
            narrow(all, 0, 2 * rank_count() - 2, 2).to(tenon::f64).to_vector<double>());
    }
  }

  TEST_CASE("gradients and tangents are those of the joint function of all ranks' inputs") {
    for (const char* reduce : {"sum", "mean", "max", "min", "prod"}) {
      CAPTURE(reduce);
      const Call call = [&](const Tensor& x) { return tenon::distributed::all_reduce(x, reduce); };
      check_joint_gradient(call, {2, 3});
      check_joint_tangent(call, {2, 3});
      const Call cubed = [&](const Tensor& x) {
        const Tensor y = tenon::distributed::all_reduce(x, reduce);
        return y * y * y;
      };
      check_joint_gradient(cubed, {3});
    }
    for (const int64_t dim : {0, 1}) {
      const Call gathered = [&](const Tensor& x) {
        const Tensor y = tenon::distributed::all_gather(x, dim);
        return y * y;
      };
      const Call scattered = [&](const Tensor& x) {
        const Tensor y = tenon::distributed::reduce_scatter(x, dim);
        return y * y;
      };
      check_joint_gradient(gathered, {2, 2});
      check_joint_tangent(gathered, {2, 2});
      check_joint_gradient(scattered, dim == 0 ? std::vector<int64_t>{rank_count(), 2}
                                               : std::vector<int64_t>{2, rank_count()});
    }
    const Call cast = [&](const Tensor& x) {
      const Tensor y = tenon::distributed::broadcast(x, rank_count() - 1);
      return y * y;
    };
    check_joint_gradient(cast, {3});
    check_joint_tangent(cast, {3});
  }

  TEST_CASE("a product with zeros has the gradient of the other ranks' product") {
    const Tensor x =
        tenon::tensor({own_rank() == 0 ? 0.0 : 2.0, 0.0}).to(tenon::f64).requires_grad_();
    tenon::distributed::all_reduce(x, "prod").sum().backward();
    const double n = static_cast<double>(rank_count());
    const std::vector<double> found = x.grad().to_vector<double>();
    CHECK(found[0] == doctest::Approx(own_rank() == 0 ? n * std::pow(2, n - 1) : 0));
    CHECK(found[1] == (rank_count() == 1 ? 1 : 0));
  }

  TEST_CASE("with gradient=identity the ranks' losses are copies of one") {
    const Tensor x = input_of(own_rank(), {3}).requires_grad_();
    tenon::distributed::all_reduce(x, "mean", "identity").sum().backward();
    const double share = 1.0 / static_cast<double>(rank_count());
    check_values(x.grad(), {3}, {share, share, share});
    const Tensor y = input_of(own_rank(), {3}).requires_grad_();
    tenon::distributed::all_reduce(y).sum().backward();
    const double n = static_cast<double>(rank_count());
    check_values(y.grad(), {3}, {n, n, n});
    // Each rank takes its part of equal gradients.
    const Tensor z = input_of(own_rank(), {2, 2}).requires_grad_();
    const Tensor all = tenon::distributed::all_gather(z, 1, "identity");
    const Tensor weight = numbers({2, 2 * rank_count()}, tenon::f64, 9);
    (all * weight).sum().backward();
    check_close(z.grad(), narrow(weight, 1, 2 * own_rank(), 2), 0);
    CHECK(refusal([&] { tenon::distributed::all_gather(z, 0, "mean"); }) ==
          "all_gather(): gradient must be sum or identity, got 'mean'");
  }

  TEST_CASE("second derivatives of a collective are those of the joint function") {
    const Tensor x = input_of(own_rank(), {2}).requires_grad_();
    const Tensor y = tenon::distributed::all_reduce(x, "prod");
    tenon::GradientOptions graph;
    graph.create_graph = true;
    const Tensor first = tenon::gradients({(y * y).sum()}, {x}, graph)[0];
    const std::vector<double> second = tenon::gradients({first.sum()}, {x})[0].to_vector<double>();
    // Gradients of n * prod(x_r^2) summed over its own derivatives by all ranks' elements.
    const std::vector<Tensor> all = inputs_of_all({2});
    const double n = static_cast<double>(rank_count());
    for (size_t i = 0; i < 2; ++i) {
      std::vector<double> values;
      for (const Tensor& tensor : all) values.push_back(tensor.to_vector<double>()[i]);
      const double own = values[static_cast<size_t>(own_rank())];
      double product = 1;
      for (const double value : values) product *= value * value;
      double expected = 2 * product / (own * own);
      for (size_t rank = 0; rank < values.size(); ++rank)
        if (static_cast<int64_t>(rank) != own_rank())
          expected += 4 * product / (own * values[rank]);
      CHECK(second[i] == doctest::Approx(n * expected));
    }
  }

  TEST_CASE("begun reductions end in any order, on a thread or not, and their handles once") {
    rank_count();
    for (const bool overlap : {false, true}) {
      tenon::distributed::configure(60, "first");
      tenon::distributed::overlap(overlap);
      std::vector<Tensor> tensors;
      std::vector<int64_t> handles;
      std::vector<std::vector<double>> expected;
      for (uint64_t k = 0; k < 5; ++k) {
        const std::vector<Tensor> all =
            inputs_of_all({1000 + static_cast<int64_t>(k)}, tenon::f64, k + 3);
        tensors.push_back(all[static_cast<size_t>(own_rank())].clone());
        expected.push_back(reduced(k % 2 == 0 ? "mean" : "max", all));
        handles.push_back(
            tenon::distributed::begin_all_reduce_(tensors.back(), k % 2 == 0 ? "mean" : "max"));
      }
      // Another collective waits for those that were begun.
      const double n = static_cast<double>(rank_count());
      CHECK(tenon::distributed::all_reduce(tenon::full({}, 1.0)).item() == n);
      for (const size_t k : {3u, 0u, 4u, 2u, 1u}) {
        tenon::distributed::wait(handles[k]);
        check_close(tensors[k].to_vector<double>(), expected[k], 1e-12);
      }
      CHECK(refusal([&] {
              tenon::distributed::wait(handles[0]);
            }).find("no all_reduce runs under handle") != std::string::npos);
    }
    tenon::distributed::configure(60, "always");
  }

  TEST_CASE("random calls on all ranks give what one process computes from all inputs") {
    for (uint64_t round = 0; round < 60; ++round) {
      const tenon::Draws draws{round + 1, 0};
      const auto draw = [&](int64_t k, int64_t below) {
        return static_cast<int64_t>(draws.uniform(k) * static_cast<double>(below));
      };
      std::vector<int64_t> shape;
      for (int64_t k = 0; k < draw(0, 4) + 1; ++k)
        shape.push_back(draw(k + 1, 4) * (k == 0 ? 12 : 1));
      const int64_t dim = draw(7, static_cast<int64_t>(shape.size()));
      const std::vector<Tensor> all = inputs_of_all(shape, tenon::f64, round + 11);
      const Tensor& own = all[static_cast<size_t>(own_rank())];
      CAPTURE(round);
      check_close(tenon::distributed::all_gather(own, dim), tenon::concatenate(all, dim), 0);
      const char* const kinds[] = {"sum", "mean", "max", "min", "prod"};
      const std::string reduce = kinds[draw(8, 5)];
      check_close(tenon::distributed::all_reduce(own, reduce).to_vector<double>(),
                  reduced(reduce, all), 1e-12);
      const Tensor sum =
          tenon::distributed::all_gather(tenon::distributed::reduce_scatter(own, 0), 0);
      check_close(sum.to_vector<double>(), reduced("sum", all), 1e-12);
    }
  }

  TEST_CASE("what cannot be done is refused on each rank alike, before anything is sent") {
    const Tensor x = input_of(own_rank(), {5});
    CHECK(refusal([&] { tenon::distributed::all_reduce(x, "median"); }) ==
          "all_reduce(): reduce must be sum, mean, max, min or prod, got 'median'");
    CHECK(refusal([&] { tenon::distributed::all_reduce(x.to(tenon::i32), "mean"); }) ==
          "all_reduce(): the mean of i32 elements is not defined; convert with to()");
    CHECK(refusal([&] { tenon::distributed::all_reduce(x, "sum", "none"); }) ==
          "all_reduce(): gradient must be sum or identity, got 'none'");
    CHECK(refusal([&] { tenon::distributed::all_gather(x, 1); }) ==
          "all_gather(): dimension 1 is out of range for a tensor of 1 dimensions (expected -1 to "
          "0)");
    CHECK(refusal([&] { tenon::distributed::all_gather(x.sum()); }) ==
          "all_gather(): 'input' must have a dimension, got shape []; reshape it to [1]");
    CHECK(refusal([&] { tenon::distributed::broadcast(x, -1); }).find("root -1 is out of range") !=
          std::string::npos);
    CHECK(refusal([&] { tenon::distributed::configure(0); }) ==
          "configure(): timeout must be above 0 seconds, got 0.000000");
    if (rank_count() > 1 && 5 % rank_count() != 0) {
      CHECK(refusal([&] { tenon::distributed::reduce_scatter(x); }) ==
            "reduce_scatter(): dimension 0 of shape [5] is not divisible by the " +
                std::to_string(rank_count()) + " ranks; pad it");
    }
    tenon::distributed::barrier();
  }
}

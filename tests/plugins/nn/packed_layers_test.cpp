// Layers by packed weights against sums in f64, of random sizes; refusals; the rewrites that make them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <tenon/prepare/prepare.hpp>

#include "../random_inputs.hpp"

using namespace compare;
using random_inputs::Draw;
using tenon::Json;
using tenon::Module;

namespace {

const tenon::Op& pack() {
  static const tenon::Op op("nn.functional.pack_features");
  return op;
}
Tensor linear_packed(const Tensor& x, const Tensor& w, const Tensor& b, bool relu) {
  static const tenon::Op op("nn.functional.linear_packed");
  return op.call<Tensor>(x, pack().call<Tensor>(w), w.size(0), b, relu);
}

// relu(x w^T + b), each sum in f64.
std::vector<double> sums(const Tensor& x, const Tensor& w, const Tensor& b, bool relu) {
  const auto xs = x.to_vector<double>(), ws = w.to_vector<double>(),
             bs = b.defined() ? b.to_vector<double>() : std::vector<double>();
  const auto depth = static_cast<size_t>(w.size(1)), features = static_cast<size_t>(w.size(0));
  std::vector<double> all;
  for (size_t r = 0; r < xs.size() / depth; ++r) {
    for (size_t f = 0; f < features; ++f) {
      double sum = bs.empty() ? 0 : bs[f];
      for (size_t i = 0; i < depth; ++i) sum += xs[r * depth + i] * ws[f * depth + i];
      all.push_back(relu && sum < 0 ? 0 : sum);
    }
  }
  return all;
}

}  // namespace

TEST_SUITE("nn/packed_layers") {
  TEST_CASE("packed linear layers give the sums of their rows") {
    Draw draw(5);
    for (int round = 0; round < 120; ++round) {
      const DType dtype = draw.chance(60) ? tenon::f32 : tenon::f64;
      const int64_t rows = draw.between(1, draw.chance(10) ? 400 : 30),
                    depth = draw.between(1, draw.chance(20) ? 2500 : 70),
                    features = draw.between(1, 100);
      const auto seed = static_cast<uint64_t>(round);
      const Tensor x = numbers({rows, depth}, dtype, seed),
                   w = numbers({features, depth}, dtype, seed + 1),
                   b = draw.chance(50) ? numbers({features}, dtype, seed + 2) : Tensor();
      const bool relu = draw.chance(50);
      CAPTURE(rows);
      CAPTURE(depth);
      CAPTURE(features);
      check_values(linear_packed(x, w, b, relu), {rows, features}, sums(x, w, b, relu),
                   dtype == tenon::f32 ? 5e-5 : 1e-12);
    }
    CHECK(linear_packed(numbers({0, 3}), numbers({5, 3}), {}, true).sizes() ==
          std::vector<int64_t>{0, 5});
    check_values(linear_packed(tenon::zeros({2, 0}), tenon::zeros({3, 0}), tenon::ones({3}), false),
                 {2, 3}, {1, 1, 1, 1, 1, 1});
  }

  TEST_CASE("one row has the sums of its terms, for any number of features and terms") {
    for (const DType dtype : {tenon::f32, tenon::f64}) {
      for (const int64_t features :
           {1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 48, 64, 65, 96, 127, 128, 129, 160, 200, 300}) {
        for (const int64_t depth : {1, 2, 3, 5, 8, 9, 64, 70}) {
          CAPTURE(features);
          CAPTURE(depth);
          const auto seed = static_cast<uint64_t>(features * 100 + depth);
          const bool biased = features % 3 != 0, relu = depth % 2 == 0;
          const Tensor x = numbers({1, depth}, dtype, seed),
                       w = numbers({features, depth}, dtype, seed + 1),
                       b = biased ? numbers({features}, dtype, seed + 2) : Tensor();
          check_values(linear_packed(x, w, b, relu), {1, features}, sums(x, w, b, relu),
                       dtype == tenon::f32 ? 5e-5 : 1e-12);
        }
      }
    }
  }

  TEST_CASE(
      "rows whose distance is a multiple of a page have the sums of their terms, and threads "
      "change no bit") {
    for (const DType dtype : {tenon::f32, tenon::f64}) {
      for (const int64_t rows : {7, 8, 140, 300}) {
        CAPTURE(rows);
        const Tensor x = numbers({rows, 1024}, dtype), w = numbers({70, 1024}, dtype, 2),
                     b = numbers({70}, dtype, 3);
        tenon::set_thread_count(1);
        const Tensor found = linear_packed(x, w, b, true);
        check_values(found, {rows, 70}, sums(x, w, b, true), dtype == tenon::f32 ? 1e-4 : 1e-12);
        tenon::set_thread_count(3);
        CHECK(linear_packed(x, w, b, true).to_vector<double>() == found.to_vector<double>());
      }
    }
    tenon::set_thread_count(0);
  }

  TEST_CASE("operands of a packed layer may have any strides") {
    const Tensor x = numbers({20, 5}).transpose(0, 1), w = numbers({40, 20}),
                 b = numbers({40, 2}).select(1, 0);
    REQUIRE(!x.is_contiguous());
    REQUIRE(!b.is_contiguous());
    check_values(linear_packed(x, w, b, false), {5, 40}, sums(x, w, b, false), 5e-5);
  }

  TEST_CASE("packed conv1d is conv1d of the weight as it is") {
    static const tenon::Op packed("nn.functional.conv1d_packed"), plain("nn.functional.conv1d");
    Draw draw(6);
    for (int round = 0; round < 120; ++round) {
      const int64_t channels = draw.between(1, 20), features = draw.between(1, 70),
                    kernel = draw.between(1, 5), padding = draw.between(0, 3),
                    stride = draw.between(1, 4), length = kernel + draw.between(0, 40),
                    batch = draw.between(0, 3);
      const auto seed = static_cast<uint64_t>(round);
      const Tensor x = numbers({batch, channels, length}, tenon::f64, seed),
                   w = numbers({features, channels, kernel}, tenon::f64, seed + 1),
                   b = draw.chance(50) ? numbers({features}, tenon::f64, seed + 2) : Tensor();
      const bool relu = draw.chance(50);
      Tensor expected = plain.call<Tensor>(x, w, b, stride, padding);
      if (relu) expected = expected.relu();
      check_close(packed.call<Tensor>(x, pack().call<Tensor>(w), features, kernel, b, relu, stride,
                                      padding),
                  expected, 1e-12);
      if (batch == 0) continue;
      check_close(packed.call<Tensor>(x.select(0, 0), pack().call<Tensor>(w), features, kernel, b,
                                      relu, stride, padding),
                  expected.select(0, 0), 1e-12);
    }
  }

  TEST_CASE("taps that are zeros for every feature are left out, but for the NaN that they make") {
    static const tenon::Op packed("nn.functional.conv1d_packed"), plain("nn.functional.conv1d"),
        pack_taps("nn.functional.pack_taps");
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Draw draw(8);
    for (int round = 0; round < 150; ++round) {
      const DType dtype = draw.chance(50) ? tenon::f32 : tenon::f64;
      const int64_t channels = draw.between(1, 3), features = draw.between(1, 40),
                    kernel = draw.between(1, 60), before = draw.between(0, kernel),
                    after = draw.between(0, kernel - before), padding = draw.between(0, 2),
                    stride = draw.between(1, 9), length = kernel + draw.between(0, 60);
      CAPTURE(kernel);
      CAPTURE(before);
      CAPTURE(after);
      const auto seed = static_cast<uint64_t>(round);
      const Tensor x = numbers({2, channels, length}, dtype, seed),
                   w = numbers({features, channels, kernel}, dtype, seed + 1) + 10,
                   b = draw.chance(50) ? numbers({features}, dtype, seed + 2) : Tensor();
      narrow(w, 2, 0, before).fill_(0);
      narrow(w, 2, kernel - after, after).fill_(0);
      if (draw.chance(60))
        x.select(2, draw.between(0, length - 1)).fill_(draw.chance(50) ? infinity : std::nan(""));
      const auto [panels, taps] = pack_taps.call<std::tuple<Tensor, Tensor>>(w);
      const int64_t count = kernel - before - after;
      CHECK(taps.to_vector<int64_t>() == std::vector<int64_t>{count == 0 ? 0 : before, count});
      CHECK(panels.size(1) == count * channels);
      const bool relu = draw.chance(30);
      Tensor expected = plain.call<Tensor>(x, w, b, stride, padding);
      if (relu) expected = expected.relu();
      check_values(packed.call<Tensor>(x, panels, features, kernel, b, relu, stride, padding,
                                       tenon::arg("taps") = taps),
                   expected.sizes(), expected.to_vector<double>(),
                   dtype == tenon::f32 ? 2e-4 : 1e-11);
    }
    CHECK(refusal_of("conv1d_packed",
                     [&] {
                       packed.call<Tensor>(numbers({1, 1, 9}), numbers({1, 3, 32}), int64_t{2},
                                           int64_t{5},
                                           tenon::arg("taps") = tenon::tensor({3, 3}, tenon::i64));
                     }) ==
          "'taps' are [3, 3], which is not what pack_taps returns for a kernel of 5 and panels of "
          "3 terms");
  }

  TEST_CASE("packed lstm is lstm of the weights as they are") {
    static const tenon::Op packed("nn.functional.lstm_packed");
    Draw draw(7);
    for (int round = 0; round < 60; ++round) {
      const DType dtype = draw.chance(50) ? tenon::f32 : tenon::f64;
      const int64_t steps = draw.between(1, draw.chance(20) ? 120 : 9), batch = draw.between(0, 5),
                    features = draw.between(1, 9), n = draw.between(1, 40);
      const auto seed = static_cast<uint64_t>(round);
      const auto drawn = [&](const std::vector<int64_t>& shape, uint64_t which) {
        return numbers(shape, dtype, 10 * seed + which) * 0.3;
      };
      const Tensor x = drawn({steps, batch, features}, 0), h = drawn({batch, n}, 1),
                   c = drawn({batch, n}, 2), u = drawn({4 * n, features}, 3),
                   w = drawn({4 * n, n}, 4), a = drawn({4 * n}, 5), b = drawn({4 * n}, 6);
      const bool reverse = draw.chance(50), biased = draw.chance(70);
      CAPTURE(steps);
      CAPTURE(batch);
      CAPTURE(n);
      using Three = std::tuple<Tensor, Tensor, Tensor>;
      const auto [output, hidden, cell] =
          packed.call<Three>(x, h, c, pack().call<Tensor>(u), pack().call<Tensor>(w),
                             biased ? a + b : Tensor(), reverse);
      const auto [y, last, next] = tenon::nn::functional::lstm(x, h, c, u, w, biased ? a : Tensor(),
                                                               biased ? b : Tensor(), reverse);
      const double tolerance = dtype == tenon::f32 ? 1e-5 : 1e-12;
      check_close(output, y, tolerance);
      check_close(hidden, last, tolerance);
      check_close(cell, next, tolerance);
    }
  }

  TEST_CASE("relu of a packed layer keeps NaN, and threads change no bit") {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const Tensor x = tenon::tensor({{nan, 1.0F}, {-1.0F, 1.0F}}, tenon::f32),
                 w = tenon::tensor({{1, 0}, {0, 1}}, tenon::f32);
    check_values(linear_packed(x, w, {}, true), {2, 2}, {nan, nan, 0, 1});
    const Tensor spoilt = numbers({1, 40});
    spoilt.select(1, 7).fill_(nan);
    for (const float one : linear_packed(spoilt, numbers({150, 40}), {}, true).to_vector<float>())
      CHECK(std::isnan(one));
    const Tensor many = numbers({301, 200}), weight = numbers({333, 200}, tenon::f32, 2);
    const Tensor row = numbers({1, 33000}), wide = numbers({300, 33000}, tenon::f32, 2);
    const std::vector<float> expected = linear_packed(many, weight, {}, false).to_vector<float>(),
                             of_row = linear_packed(row, wide, {}, false).to_vector<float>();
    for (const int threads : {1, 2, 3, 8}) {
      tenon::set_thread_count(threads);
      CHECK(linear_packed(many, weight, {}, false).to_vector<float>() == expected);
      CHECK(linear_packed(row, wide, {}, false).to_vector<float>() == of_row);
    }
    tenon::set_thread_count(0);
  }

  TEST_CASE("panels of other sizes are refused") {
    static const tenon::Op op("nn.functional.linear_packed");
    const Tensor panels = pack().call<Tensor>(numbers({33, 4}));
    CHECK(panels.sizes() == std::vector<int64_t>{2, 4, 32});
    CHECK(refusal_of("linear_packed",
                     [&] {
                       op.call<Tensor>(numbers({2, 4}), panels, int64_t{32});
                     }) ==
          "'panels' of shape [2, 4, 32] is not what pack_features returns for 32 features of 4 "
          "terms");
    CHECK(refusal_of("linear_packed", [&] {
            op.call<Tensor>(numbers({2, 4}), panels, int64_t{33}, numbers({1}));
          }) == "'bias' must have shape [33], got [1]");
    static const tenon::Op lstm("nn.functional.lstm_packed");
    CHECK(refusal_of("lstm_packed",
                     [&] {
                       lstm.call<std::tuple<Tensor, Tensor, Tensor>>(
                           numbers({3, 2, 4}), numbers({2, 8}), numbers({2, 8}),
                           numbers({1, 4, 32}), numbers({1, 7, 32}));
                     }) ==
          "'panels_hh' of shape [1, 7, 32] is not what pack_features returns for 32 features "
          "of 8 terms");
    CHECK(refusal_of("lstm_packed",
                     [&] {
                       lstm.call<std::tuple<Tensor, Tensor, Tensor>>(
                           numbers({3, 2, 4}), numbers({1, 8}), numbers({1, 8}),
                           numbers({1, 4, 32}), numbers({1, 8, 32}));
                     }) ==
          "'hidden' and 'cell' must have shape [batch, n] with the batch of 'input', got shapes "
          "[1, 8] and [1, 8]");
  }

  TEST_CASE("a prepared model packs the weights of its layers once") {
    if (runs_on_device()) return;  // a mode: models run as they are
    Module model = tenon::create_module(Json::parse(
        R"({"type": "Sequential", "layers": [{"type": "Linear", "in_features": 20, "out_features": 40}, {"type": "ReLU"},
            {"type": "Linear", "in_features": 40, "out_features": 10}]})"));
    model.eval();
    const tenon::NoGrad no_grad;
    const Tensor x = numbers({5, 20});
    const tenon::Prepared prepared = tenon::prepare(model, {{x}});
    check_close(prepared(x), model(x));
    std::vector<std::string> ops;
    const tenon::PreparedList list = prepared.lists().front();
    for (const tenon::PreparedCall& call : list.calls) ops.push_back(call.op);
    CHECK(ops == std::vector<std::string>(2, "nn.functional.linear_packed"));
  }
}

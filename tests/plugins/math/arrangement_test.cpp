// Ops that arrange elements, and indexing with tensors, against references that compute where each
// element comes from, over random shapes, layouts and dtypes.
#include <algorithm>

#include "../random_inputs.hpp"

using namespace compare;
using namespace random_inputs;
using tenon::f32;
using tenon::f64;
using tenon::i64;
using tenon::none;

namespace {

// Calls body(position) for each position of a shape, in row-major order.
template <class Body>
void each_position(const Sizes& shape, const Body& body) {
  Sizes at(shape.size());
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t d = shape.size(); d-- > 0;) {
      at[d] = rest % shape[d];
      rest /= shape[d];
    }
    body(at);
  }
}
double element(const Tensor& tensor, const Sizes& at) {
  Tensor part = tensor;
  for (const int64_t i : at) part = part.select(0, i);
  return part.to(f64).item<double>();
}
// The result has this shape, and each of its elements comes from where `source` says: a position of
// the input, or a number where that has another rank.
template <class Source>
void check_sources(const Tensor& result, const Tensor& input, const Sizes& shape,
                   const Source& source) {
  REQUIRE(result.sizes() == shape);
  CHECK(result.dtype() == input.dtype());
  const std::vector<double> found = result.to_vector<double>();
  size_t i = 0;
  each_position(shape, [&](const Sizes& at) {
    Sizes from = at;
    const bool inside = source(from);
    REQUIRE(same_number(found[i++], inside ? element(input, from) : 0));
  });
}

int64_t wrapped(int64_t i, int64_t size) { return (i % size + size) % size; }

}  // namespace

TEST_SUITE("math arrangement") {
  TEST_CASE("roll, flip by rot90, repeat and tile take each element from where they say") {
    Draw draw(1);
    for (int round = 0; round < 150; ++round) {
      const Sizes shape = draw.shape(1, 3);
      const Tensor input = draw.tensor(shape, draw.dtype());
      const auto rank = static_cast<int64_t>(shape.size());
      CAPTURE(input.text());
      const int64_t dim = draw.between(-rank, rank - 1), shift = draw.between(-9, 9);
      const auto at_dim = static_cast<size_t>(dim < 0 ? dim + rank : dim);
      check_sources(roll(input, {shift}, {dim}), input, shape, [&](Sizes& at) {
        at[at_dim] = wrapped(at[at_dim] - shift, shape[at_dim]);
        return true;
      });
      Sizes repeats, large;
      for (const int64_t size : shape) {
        repeats.push_back(draw.between(0, 3));
        large.push_back(size * repeats.back());
      }
      const auto folded = [&](Sizes& at) {
        for (size_t d = 0; d < shape.size(); ++d) at[d] %= shape[d];
        return true;
      };
      check_sources(repeat(input, repeats), input, large, folded);
      check_sources(tile(input, repeats), input, large, folded);
    }
    const Tensor x = tenon::tensor({{1, 2, 3}, {4, 5, 6}});
    check_values(roll(x, {1}), {2, 3}, {6, 1, 2, 3, 4, 5});
    check_values(roll(x, {INT64_MIN}, {1}), {2, 3}, {3, 1, 2, 6, 4, 5});
    check_values(rot90(x), {3, 2}, {3, 6, 2, 5, 1, 4});
    check_values(rot90(x, 2), {2, 3}, {6, 5, 4, 3, 2, 1});
    check_values(rot90(x, -1), {3, 2}, {4, 1, 5, 2, 6, 3});
    check_values(rot90(x, 4), {2, 3}, {1, 2, 3, 4, 5, 6});
    check_values(repeat(tenon::tensor({1, 2}), {2, 1, 2}), {2, 1, 4}, {1, 2, 1, 2, 1, 2, 1, 2});
    check_values(tile(x, {}), {2, 3}, {1, 2, 3, 4, 5, 6});
    CHECK(repeat(tenon::zeros({0, 2}), {INT64_MAX, 0}).sizes() == Sizes{0, 0});
    // Repeating a dimension of stride 0 makes a copy, never a view.
    const Tensor row = tenon::ones({1, 3}).expand({2, 3});
    repeat(row, {2, 1}).fill_(7);
    tile(row, {2, 1}).fill_(7);
    check_values(row, {2, 3}, {1, 1, 1, 1, 1, 1});
    CHECK(refusal_of("repeat", [&] { repeat(x, {2}); }) ==
          "[2] has 1 counts, but shape [2, 3] has 2 dimensions: give one for each, or use tile");
    CHECK(refusal_of("tile", [&] { tile(x, {-1}); }) == "-1 repetitions are negative in [1, -1]");
    CHECK(refusal_of("repeat",
                     [&] {
                       repeat(x, {INT64_MAX, 2});
                     }) ==
          "shape [2, 3] repeated by [9223372036854775807, 2] has more elements than can be "
          "addressed");
    CHECK(refusal_of("roll",
                     [&] {
                       roll(x, {1, 2}, {0});
                     }) ==
          "shifts [1, 2] and dims [0] must have one length, or shifts one number and dims none");
    CHECK(refusal_of("rot90", [&] { rot90(tenon::zeros({2})); }) ==
          "shape [2] has no plane: at least 2 dimensions are needed");
  }

  TEST_CASE("repeat_interleave repeats elements in place") {
    const Tensor x = tenon::tensor({{1, 2}, {3, 4}});
    check_values(repeat_interleave(x, 2), {8}, {1, 1, 2, 2, 3, 3, 4, 4});
    check_values(repeat_interleave(x, tenon::tensor({2, 0}), 0), {2, 2}, {1, 2, 1, 2});
    check_values(repeat_interleave(x, tenon::tensor({1, 3}, tenon::i32), -1), {2, 4},
                 {1, 2, 2, 2, 3, 4, 4, 4});
    CHECK(repeat_interleave(tenon::zeros({0, 2}), 3, 0).sizes() == Sizes{0, 2});
    CHECK(refusal_of("repeat_interleave", [&] { repeat_interleave(x, -1); }) ==
          "-1 repetitions are negative");
    CHECK(refusal_of("repeat_interleave", [&] {
            repeat_interleave(x, tenon::tensor({1, 2, 3}), 0);
          }) == "repeats of shape [3] must be a number or a vector of 2");
    CHECK(refusal_of("repeat_interleave", [&] { repeat_interleave(x, 1.5); }) ==
          "repeats must be i64 or i32, got f32; convert it with to()");
  }

  TEST_CASE("pad takes elements from the input, or the value") {
    Draw draw(2);
    for (int round = 0; round < 200; ++round) {
      const Sizes shape = draw.shape(1, 3);
      const Tensor input = draw.tensor(shape, draw.dtype());
      const std::string mode =
          draw.of(std::vector<std::string>{"constant", "reflect", "replicate", "circular"});
      Sizes pads, large = shape;
      bool allowed = true;
      for (size_t d = shape.size(); d-- > 0 && draw.chance(80);) {
        const int64_t before = draw.between(-2, 3), after = draw.between(-2, 3), size = shape[d];
        pads.push_back(before);
        pads.push_back(after);
        large[d] += before + after;
        const int64_t most = std::max(before, after);
        allowed = allowed && large[d] >= 0 && std::min(before, after) >= -size &&
                  (mode == "constant" || most <= 0 ||
                   (mode == "reflect"    ? most < size
                    : mode == "circular" ? most <= size
                                         : size > 0));
      }
      CAPTURE(input.text());
      CAPTURE(mode);
      const tenon::Op op("pad");
      if (!allowed) {
        CHECK_THROWS_AS(op(input, pads, mode), tenon::ValueError);
        continue;
      }
      check_sources(op.call<Tensor>(input, pads, mode), input, large, [&](Sizes& at) {
        for (size_t k = 0; k < pads.size() / 2; ++k) {
          int64_t& i = at[shape.size() - 1 - k];
          const int64_t size = shape[shape.size() - 1 - k];
          i -= pads[2 * k];
          if (i >= 0 && i < size) continue;
          if (mode == "constant") return false;
          if (mode == "replicate") i = i < 0 ? 0 : size - 1;
          if (mode == "circular") i = wrapped(i, size);
          if (mode == "reflect") i = i < 0 ? -i : 2 * size - 2 - i;
        }
        return true;
      });
    }
    const Tensor x = tenon::tensor({1, 2, 3});
    check_values(pad(x, {1, 2}, "constant", 9), {6}, {9, 1, 2, 3, 9, 9});
    check_values(pad(x, {2, 2}, "reflect"), {7}, {3, 2, 1, 2, 3, 2, 1});
    check_values(pad(x, {-1, 1}, "circular"), {3}, {2, 3, 1});
    CHECK(refusal_of("pad", [&] {
            pad(x, {3, 0}, "reflect");
          }) == "mode reflect pads dimension 0 with size 3 by at most 2, not 3");
    CHECK(refusal_of("pad", [&] {
            pad(x, {1, 1}, "mirror");
          }) == "mode is 'mirror'; choose constant, reflect, replicate or circular");
    CHECK(refusal_of("pad", [&] {
            pad(x, {1, 1}, "reflect", 2);
          }) == "mode reflect takes no value: leave it out");
    CHECK(
        refusal_of("pad", [&] {
          pad(x, {-2, -2}, "replicate");
        }) == "dimension 0 with size 3, padded by -2 and -2, would lose more elements than it has");
    CHECK(refusal_of("constant_pad_nd", [&] { constant_pad_nd(x, {1}); }) ==
          "pad [1] must have a pair for each of at most 1 dimensions, the last one first");
    CHECK(
        refusal_of("constant_pad_nd",
                   [&] {
                     constant_pad_nd(x, {INT64_MAX, 1});
                   }) ==
        "dimension 0 with size 3, padded by 9223372036854775807 and 1, has more elements than can "
        "be addressed");
  }

  TEST_CASE("diagonal and unfold are views, diag copies; movedim and meshgrid") {
    Draw draw(3);
    for (int round = 0; round < 150; ++round) {
      const Sizes shape = draw.shape(2, 4);
      const Tensor input = draw.tensor(shape, draw.dtype());
      const auto rank = static_cast<int64_t>(shape.size());
      const int64_t row = draw.below(rank), column = (row + draw.between(1, rank - 1)) % rank;
      const int64_t offset = draw.between(-6, 6);
      const int64_t rows = shape[static_cast<size_t>(row)],
                    columns = shape[static_cast<size_t>(column)];
      Sizes expected;
      for (int64_t d = 0; d < rank; ++d) {
        if (d != row && d != column) expected.push_back(shape[static_cast<size_t>(d)]);
      }
      int64_t length = 0;
      for (int64_t i = 0; i < rows; ++i) length += i + offset >= 0 && i + offset < columns ? 1 : 0;
      expected.push_back(length);
      check_sources(input.diagonal(offset, row - rank, column), input, expected, [&](Sizes& at) {
        const int64_t i = at.back();
        at.pop_back();
        for (const int64_t d : {std::min(row, column), std::max(row, column)})
          at.insert(at.begin() + d,
                    i + (d == row ? std::max<int64_t>(0, -offset) : std::max<int64_t>(0, offset)));
        return true;
      });
    }
    const Tensor x = tenon::zeros({3, 3});
    x.diagonal(1).fill_(2);
    x.unfold(0, 2, 1).select(0, 1).select(1, 1).fill_(5);
    check_values(x, {3, 3}, {0, 2, 0, 0, 0, 2, 5, 5, 5}, 0);
  }

  TEST_CASE("indexing with tensors follows NumPy") {
    const Tensor x = tenon::arange(24).reshape({2, 3, 4});
    const Tensor rows = tenon::tensor({1, 0}), columns = tenon::tensor({{2}, {-1}, {0}});
    CHECK(index(x, {rows}).sizes() == Sizes{2, 3, 4});
    check_values(index(x, {rows, columns}).select(-1, 0), {3, 2}, {20, 8, 20, 8, 12, 0});
    check_values(index(x, {x > 20}), {3}, {21, 22, 23});
    check_values(index(x, {tenon::tensor({false, true}, tenon::boolean), tenon::tensor({1})}),
                 {1, 4}, {16, 17, 18, 19});
    check_values(
        index_put(tenon::zeros({3}), {tenon::tensor({0, 2, 0})}, tenon::tensor({1.0, 2.0, 3.0})),
        {3}, {3, 0, 2});
    check_values(index_put(tenon::zeros({3}), {tenon::tensor({0, 2, 0})}, tenon::tensor(1.0), true),
                 {3}, {2, 0, 1});
    check_values(index_put(tenon::zeros({2, 2}), {tenon::tensor({true, false}, tenon::boolean)},
                           tenon::tensor({7.0, 8.0})),
                 {2, 2}, {7, 8, 0, 0});
    CHECK(index(tenon::zeros({0, 3}), {tenon::zeros({0}, i64)}).sizes() == Sizes{0, 3});
    CHECK(refusal_of("index", [&] { index(x, {tenon::tensor({2})}); }) ==
          "index 2 is out of range for dimension 0 with size 2");
    CHECK(refusal_of("index", [&] { index(x, {tenon::tensor({1.0})}); }) ==
          "index 0 must be i64, i32 or bool, got f32; convert it with to()");
    CHECK(refusal_of("index", [&] {
            index(x, {rows, rows, rows, rows});
          }) == "4 dimensions are indexed, but shape [2, 3, 4] has 3");
    CHECK(refusal_of("index", [&] { index(x, {tenon::zeros({3}, tenon::boolean)}); }) ==
          "the mask of shape [3] does not fit dimension 0 of shape [2, 3, 4]");
  }

  TEST_CASE("nonzero, masked_select and take_along_dim walk in row-major order") {
    Draw draw(4);
    for (int round = 0; round < 100; ++round) {
      const Sizes shape = draw.shape();
      const Tensor input = draw.tensor(shape, draw.dtype());
      CAPTURE(input.text());
      std::vector<double> places, chosen;
      int64_t count = 0;
      each_position(shape, [&](const Sizes& at) {
        const double x = element(input, at);
        if (x == 0) return;
        ++count;
        chosen.push_back(x);
        places.insert(places.end(), at.begin(), at.end());
      });
      check_values(nonzero(input), {count, static_cast<int64_t>(shape.size())}, places, 0);
      const Tensor mask = tenon::ne(input, 0);
      const std::vector<double> selected = masked_select(input, mask).to_vector<double>();
      REQUIRE(selected.size() == chosen.size());
      for (size_t i = 0; i < chosen.size(); ++i) CHECK(same_number(selected[i], chosen[i]));
      if (shape.empty()) continue;
      const auto rank = static_cast<int64_t>(shape.size());
      const int64_t dim = draw.between(-rank, rank - 1);
      const Tensor order = argsort(input, dim);
      const auto sorted = std::get<0>(sort(input, dim)).to_vector<double>(),
                 taken = take_along_dim(input, order, dim).to_vector<double>();
      for (size_t i = 0; i < sorted.size(); ++i) CHECK(same_number(sorted[i], taken[i]));
    }
    const Tensor many = tenon::remainder(tenon::arange(300000), 3);
    CHECK(nonzero(many).sizes() == Sizes{200000, 1});
    CHECK(nonzero(many).select(0, 199999).item<int64_t>() == 299999);
    check_values(
        masked_select(tenon::tensor({1, 2}), tenon::tensor({{true}, {false}}, tenon::boolean)), {2},
        {1, 2});
    check_values(take_along_dim(tenon::tensor({{1, 2}, {3, 4}}), tenon::tensor({{1}}), 1), {2, 1},
                 {2, 4});
    check_values(take_along_dim(tenon::tensor({{1, 2}, {3, 4}}), tenon::tensor({3})), {1}, {4});
    CHECK(refusal_of("masked_select", [] { masked_select(tenon::ones({2}), tenon::ones({2})); }) ==
          "'mask' must be bool, got f32; convert it with to()");
    CHECK(refusal_of("masked_select", [] {
            masked_select(tenon::ones({2}), tenon::zeros({3}, tenon::boolean));
          }) == "shapes [2] and [3] do not broadcast together");
    CHECK(refusal_of("take_along_dim", [] {
            take_along_dim(tenon::ones({2}), tenon::tensor({{1}}), 0);
          }) == "indices have 2 dimensions, but input has 1");
  }

  TEST_CASE("scatter writes where the index says, the last of several") {
    Draw draw(5);
    for (int round = 0; round < 100; ++round) {
      const Sizes shape = draw.shape(1, 3);
      Sizes places = shape;
      const int64_t dim = draw.below(static_cast<int64_t>(shape.size()));
      const int64_t size = shape[static_cast<size_t>(dim)];
      for (size_t d = 0; d < places.size(); ++d)
        places[d] = static_cast<int64_t>(d) == dim ? (size == 0 ? 0 : draw.between(0, 4))
                                                   : draw.between(0, shape[d]);
      const DType dtype = draw.dtype();
      const Tensor input = draw.tensor(shape, dtype), src = draw.tensor(places, dtype);
      const Tensor index = draw.tensor(places, i64).abs();
      const Tensor at = size == 0 ? index : tenon::remainder(index, size);
      std::vector<double> expected;
      each_position(shape, [&](const Sizes& position) {
        double value = element(input, position);
        each_position(places, [&](const Sizes& p) {
          Sizes to = p;
          to[static_cast<size_t>(dim)] = static_cast<int64_t>(element(at, p));
          if (to == position) value = element(src, p);
        });
        expected.push_back(value);
      });
      const std::vector<double> found = scatter(input, dim, at, src).to_vector<double>();
      REQUIRE(found.size() == expected.size());
      for (size_t i = 0; i < found.size(); ++i) CHECK(same_number(found[i], expected[i]));
    }
    check_values(scatter(tenon::zeros({3}), 0, tenon::tensor({2}), 0.5), {3}, {0, 0, 0.5});
    CHECK(refusal_of("scatter", [] {
            scatter(tenon::zeros({3}, tenon::u8), 0, tenon::tensor({2}), 300);
          }) == "src 300 does not fit the u8 input: convert it to a wider dtype with to()");
    CHECK(refusal_of("scatter", [] { scatter(tenon::zeros({3}), 0, tenon::tensor({3}), 1); }) ==
          "index 3 is out of range for dimension 0 with size 3");
  }

  TEST_CASE("scatter_reduce reduces what meets at a place") {
    const Tensor x = tenon::tensor({1.0, 5.0, 3.0}, f64), places = tenon::tensor({0, 2, 0, 2}),
                 src = tenon::tensor({2.0, 3.0, 4.0, 1.0}, f64);
    const auto reduced = [&](const char* how, bool include_self) {
      return scatter_reduce(x, 0, places, src, how, include_self);
    };
    check_values(reduced("sum", true), {3}, {7, 5, 7});
    check_values(reduced("sum", false), {3}, {6, 5, 4});
    check_values(reduced("mean", true), {3}, {7. / 3, 5, 7. / 3});
    check_values(reduced("mean", false), {3}, {3, 5, 2});
    check_values(reduced("prod", true), {3}, {8, 5, 9});
    check_values(reduced("prod", false), {3}, {8, 5, 3});
    check_values(reduced("amax", true), {3}, {4, 5, 3});
    check_values(reduced("amin", false), {3}, {2, 5, 1});
    const Tensor small = tenon::tensor({200, 1}, tenon::u8);
    check_values(scatter_reduce(small, 0, tenon::tensor({0}), small, "mean"), {2}, {200, 1});
    const Tensor ties = tenon::tensor({4.0, 0.0}, f64).requires_grad_();
    scatter_reduce(ties, 0, tenon::tensor({0}), tenon::tensor({4.0}, f64), "amax").sum().backward();
    check_values(ties.grad(), {2}, {0.5, 1});
    CHECK(refusal_of("scatter_reduce", [&] { reduced("max", true); }) ==
          "reduce is 'max'; choose sum, mean, prod, amax or amin");
  }

  TEST_CASE("shapes of views: movedim, meshgrid, unfold, diag") {
    CHECK(movedim(tenon::zeros({2, 3, 4}), {0, 2}, {-1, 0}).sizes() == Sizes{4, 3, 2});
    CHECK(movedim(tenon::zeros({}), {}, {}).sizes() == Sizes{});
    CHECK(refusal_of("movedim", [] {
            movedim(tenon::zeros({2, 3}), {0}, {0, 1});
          }) == "source [0] and destination [0, 1] have different lengths");
    const auto grids = tenon::meshgrid({tenon::tensor({1, 2}), tenon::tensor({3, 4, 5})}, "xy");
    check_values(grids[0], {3, 2}, {1, 2, 1, 2, 1, 2});
    check_values(grids[1], {3, 2}, {3, 3, 4, 4, 5, 5});
    CHECK(tenon::meshgrid({tenon::tensor(1), tenon::zeros({0})})[0].sizes() == Sizes{1, 0});
    CHECK(refusal_of("meshgrid", [] {
            tenon::meshgrid({tenon::zeros({2, 2})});
          }) == "takes vectors, but tensor 0 has shape [2, 2]");
    CHECK(refusal_of("meshgrid", [] { tenon::meshgrid({tenon::zeros({2})}, "yx"); }) ==
          "indexing is 'yx'; choose ij or xy");
    check_values(tenon::arange(5).unfold(0, 3, 2), {2, 3}, {0, 1, 2, 2, 3, 4});
    CHECK(tenon::zeros({2, 5}).unfold(1, 0, 3).sizes() == Sizes{2, 2, 0});
    CHECK(tenon::tensor(3).unfold(0, 1, 1).sizes() == Sizes{1});
    CHECK(refusal([] { tenon::zeros({3}).unfold(0, 4, 1); }) ==
          "unfold(): size must be from 0 to 3, the size of dimension 0, but it is 4");
    check_values(diag(tenon::tensor({1, 2}), 1), {3, 3}, {0, 1, 0, 0, 0, 2, 0, 0, 0});
    check_values(diag(tenon::tensor({{1, 2}, {3, 4}}), -1), {1}, {3});
    CHECK(refusal_of("diag", [] {
            diag(tenon::zeros({2, 2, 2}));
          }) == "takes a vector or a matrix, but the shape is [2, 2, 2]: use diagonal");
    CHECK(refusal_of("diag", [] { diag(tenon::zeros({2}), INT64_MAX); }) ==
          "a matrix with diagonal 9223372036854775807 has more elements than can be addressed");
    CHECK(refusal_of("diagonal", [] {
            tenon::zeros({2, 2}).diagonal(0, 1, -1);
          }) == "dim1 and dim2 are both dimension 1: choose two dimensions");
  }
}

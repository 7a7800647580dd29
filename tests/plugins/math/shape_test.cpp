// Shape ops of the math plugin: views and copies, values, aliasing, bounds and refusals.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

namespace {

using namespace tenon;
using Dims = std::vector<int64_t>;
using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

// 0, 1, 2, ... under a shape.
Tensor counted(const Dims& shape) {
  Tensor result = empty_tensor(IntList(shape.data(), static_cast<int64_t>(shape.size())), f32);
  for (int64_t i = 0; i < result.numel(); ++i) result.data<float>()[i] = static_cast<float>(i);
  return result;
}
Floats values(const Tensor& tensor) { return tensor.to_vector<float>(); }
bool shares(const Tensor& a, const Tensor& b) {
  return service::tensors().shares_storage(a.handle(), b.handle()) != 0;
}

}  // namespace

TEST_SUITE("math shape") {
  TEST_CASE("reshape is a view where strides allow it and a copy where not") {
    const Tensor input = counted({2, 3, 4});
    const Tensor seen = input.reshape({6, -1});
    CHECK(seen.sizes() == Dims{6, 4});
    CHECK(shares(seen, input));
    CHECK(values(seen) == values(input));
    const Tensor turned = input.transpose(1, 2);
    const Tensor copied = turned.reshape({2, 12});
    CHECK_FALSE(shares(copied, input));
    CHECK(values(copied) == values(turned));
    // Adjacent dimensions may be split and joined, whatever is between.
    const Tensor part = counted({4, 6, 5}).slice(1, 0, 3);
    CHECK(shares(part.reshape({2, 2, 3, 5}), part));
    CHECK(shares(part.reshape({4, 15}), part));
    CHECK_FALSE(shares(part.reshape({12, 5}).reshape({60}), part));
    CHECK(values(part.reshape({2, 2, 15})) == values(part));
    CHECK(shares(turned.reshape({2, 2, 2, 3, 1}), input));
    CHECK(values(turned.reshape({2, 2, 2, 1, 3})) == values(turned));
    const Tensor repeated = counted({1, 3}).expand({4, 3});
    CHECK(shares(repeated.reshape({2, 2, 3}), repeated));
    CHECK(values(repeated.reshape({12})) == values(repeated));
    CHECK(counted({0, 3}).reshape({3, 0, 7}).sizes() == Dims{3, 0, 7});
    CHECK(counted({1}).reshape(Dims{}).dim() == 0);
    CHECK(counted({}).reshape({1, -1}).sizes() == Dims{1, 1});
  }

  TEST_CASE("sizes that do not fit are refused") {
    const Tensor input = counted({2, 3});
    CHECK_THROWS_WITH_AS(
        input.reshape({4, 2}),
        doctest::Contains("reshape(): shape [4, 2] does not fit the 6 elements of shape [2, 3]"),
        ValueError);
    CHECK_THROWS_WITH_AS(input.reshape({-1, 4}),
                         doctest::Contains("reshape(): shape [-1, 4] does not fit"), ValueError);
    CHECK_THROWS_WITH_AS(input.reshape({-1, -1}),
                         doctest::Contains("reshape(): only one size may be -1"), ValueError);
    CHECK_THROWS_WITH_AS(input.reshape({-2, 3}),
                         doctest::Contains("size -2 at dimension 0 of [-2, 3] is negative"),
                         ValueError);
    CHECK_THROWS_WITH_AS(counted({0}).reshape({0, -1}), doctest::Contains("not determined"),
                         ValueError);
    CHECK_THROWS_AS(input.reshape({int64_t{1} << 62, 8}), ValueError);
    CHECK_THROWS_AS(input.reshape(Dims(17, 1)), ValueError);
    CHECK_THROWS_WITH_AS(input.t().view({6}),
                         doctest::Contains("view(): a tensor of shape [3, 2] and strides [1, 3] "
                                           "cannot be seen as [6] without copying"),
                         ValueError);
    CHECK(shares(input.view({3, 2}), input));
  }

  TEST_CASE("flatten joins a range of dimensions") {
    const Tensor input = counted({2, 3, 4});
    CHECK(input.flatten().sizes() == Dims{24});
    CHECK(input.flatten(1).sizes() == Dims{2, 12});
    CHECK(input.flatten(0, 1).sizes() == Dims{6, 4});
    CHECK(input.flatten(-1).is_same(input));
    CHECK(counted({}).flatten().sizes() == Dims{1});
    CHECK_THROWS_WITH_AS(input.flatten(2, 1),
                         doctest::Contains("flatten(): start_dim 2 comes after end_dim 1"),
                         ValueError);
    CHECK_THROWS_WITH_AS(input.flatten(3),
                         doctest::Contains("flatten(): dimension 3 is out of range"), IndexError);
  }

  TEST_CASE("transpose, t and permute change the order of dimensions") {
    const Tensor input = counted({2, 3, 4});
    const Tensor swapped = input.transpose(0, -1);
    CHECK(swapped.sizes() == Dims{4, 3, 2});
    CHECK(shares(swapped, input));
    CHECK(values(swapped)[1] == 12);
    CHECK(values(counted({2, 3}).t()) == Floats{0, 3, 1, 4, 2, 5});
    const Tensor line = counted({3});
    CHECK(line.t().is_same(line));
    CHECK_THROWS_WITH_AS(
        input.t(), doctest::Contains("t(): takes at most 2 dimensions, but the shape is [2, 3, 4]"),
        ValueError);
    CHECK_THROWS_WITH_AS(input.transpose(0, 3),
                         doctest::Contains("transpose(): dimension 3 is out of range for a tensor "
                                           "of 3 dimensions (expected -3 to 2)"),
                         IndexError);
    const Tensor order = input.permute({2, 0, -2});
    CHECK(order.sizes() == Dims{4, 2, 3});
    CHECK(values(order) == values(input.transpose(1, 2).transpose(0, 1)));
    CHECK(counted({}).permute(Dims{}).dim() == 0);
    CHECK_THROWS_WITH_AS(
        input.permute({0, 1}),
        doctest::Contains("permute(): [0, 1] names 2 dimensions, but shape [2, 3, 4] has 3"),
        ValueError);
    CHECK_THROWS_WITH_AS(input.permute({0, 1, 1}), doctest::Contains("appears more than once"),
                         ValueError);
  }

  TEST_CASE("squeeze and unsqueeze drop and add dimensions of size 1") {
    const Tensor input = counted({1, 3, 1});
    CHECK(input.squeeze().sizes() == Dims{3});
    CHECK(input.squeeze(0).sizes() == Dims{3, 1});
    CHECK(input.squeeze(-1).sizes() == Dims{1, 3});
    CHECK(input.squeeze(1).sizes() == Dims{1, 3, 1});
    CHECK(input.unsqueeze(0).sizes() == Dims{1, 1, 3, 1});
    CHECK(input.unsqueeze(-1).sizes() == Dims{1, 3, 1, 1});
    CHECK(counted({3}).unsqueeze(1).is_contiguous());
    CHECK(counted({}).unsqueeze(-1).sizes() == Dims{1});
    CHECK_THROWS_WITH_AS(input.unsqueeze(4),
                         doctest::Contains("unsqueeze(): dimension 4 is out of range for a result "
                                           "of 4 dimensions (expected -4 to 3)"),
                         IndexError);
    CHECK_THROWS_WITH_AS(input.squeeze(3), doctest::Contains("squeeze(): dimension 3"), IndexError);
    CHECK_THROWS_AS(counted(Dims(16, 1)).unsqueeze(0), ValueError);
  }

  TEST_CASE("expand repeats without copying") {
    const Tensor input = counted({3, 1});
    const Tensor wide = input.expand({2, -1, 4});
    CHECK(wide.sizes() == Dims{2, 3, 4});
    CHECK(shares(wide, input));
    CHECK(values(wide) ==
          Floats{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2});
    CHECK(input.expand_as(zeros({3, 2})).sizes() == Dims{3, 2});
    CHECK(counted({1}).expand({0}).sizes() == Dims{0});
    CHECK_THROWS_WITH_AS(
        input.expand({2, 4}),
        doctest::Contains(
            "expand(): size 3 at dimension 0 of shape [3, 1] does not expand to 2 in [2, 4]"),
        ValueError);
    CHECK_THROWS_WITH_AS(input.expand({3}), doctest::Contains("has more dimensions than [3]"),
                         ValueError);
    CHECK_THROWS_WITH_AS(input.expand({-1, 3, 1}),
                         doctest::Contains("not allowed for a dimension that is new"), ValueError);
    CHECK_THROWS_WITH_AS(input.expand({3, -2}), doctest::Contains("is negative"), ValueError);
  }

  TEST_CASE("slice reads its bounds as Python does") {
    const Tensor input = counted({10});
    const auto cut = [&](const Argument& start, const Argument& end, int64_t step) {
      return values(input.slice(0, start, end, step));
    };
    CHECK(cut(2, 5, 1) == Floats{2, 3, 4});
    CHECK(cut(none, none, 3) == Floats{0, 3, 6, 9});
    CHECK(cut(-3, none, 1) == Floats{7, 8, 9});
    CHECK(cut(none, -7, 1) == Floats{0, 1, 2});
    CHECK(cut(-100, 2, 1) == Floats{0, 1});
    CHECK(cut(8, 100, 1) == Floats{8, 9});
    CHECK(cut(5, 2, 1).empty());
    CHECK(cut(20, 30, 1).empty());
    CHECK(cut(1, 8, 4) == Floats{1, 5});
    CHECK(cut(0, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()) ==
          Floats{0});
    CHECK(shares(input.slice(0, 2, 5), input));
    CHECK(values(counted({2, 3}).slice(1, 1)) == Floats{1, 2, 4, 5});
    CHECK_THROWS_WITH_AS(input.slice(0, 0, 5, 0),
                         doctest::Contains("slice(): step must be greater than 0, but it is 0"),
                         ValueError);
    CHECK_THROWS_AS(input.slice(0, 0, 5, -1), ValueError);
    CHECK_THROWS_WITH_AS(input.slice(1), doctest::Contains("slice(): dimension 1"), IndexError);
    CHECK_THROWS_WITH_AS(counted({}).slice(0), doctest::Contains("0-dim"), IndexError);
  }

  TEST_CASE("select and narrow check their indices") {
    const Tensor input = counted({3, 4});
    CHECK(values(input.select(0, 1)) == Floats{4, 5, 6, 7});
    CHECK(values(input.select(1, -1)) == Floats{3, 7, 11});
    CHECK_THROWS_WITH_AS(
        input.select(0, 5),
        doctest::Contains("select(): index 5 is out of range for dimension 0 with size 3"),
        IndexError);
    CHECK_THROWS_WITH_AS(
        input.select(-1, -5),
        doctest::Contains("select(): index -5 is out of range for dimension 1 with size 4"),
        IndexError);
    CHECK_THROWS_AS(counted({}).select(0, 0), IndexError);
    CHECK(values(input.narrow(1, 1, 2)) == Floats{1, 2, 5, 6, 9, 10});
    CHECK(values(input.narrow(0, -1, 1)) == Floats{8, 9, 10, 11});
    CHECK(input.narrow(0, 3, 0).sizes() == Dims{0, 4});
    CHECK_THROWS_WITH_AS(
        input.narrow(0, 2, 2),
        doctest::Contains("narrow(): start 2 and length 2 reach beyond dimension 0 with size 3"),
        IndexError);
    CHECK_THROWS_WITH_AS(input.narrow(0, 4, 0),
                         doctest::Contains("narrow(): start 4 is out of range"), IndexError);
    CHECK_THROWS_WITH_AS(input.narrow(0, 0, -1),
                         doctest::Contains("narrow(): length -1 is negative"), ValueError);
    CHECK_THROWS_AS(input.narrow(0, 1, std::numeric_limits<int64_t>::max()), IndexError);
  }

  TEST_CASE("as_strided makes any view inside of the storage") {
    const Tensor input = counted({10});
    CHECK(values(input.as_strided({3, 2}, {2, 1}, 1)) == Floats{1, 2, 3, 4, 5, 6});
    CHECK(values(input.as_strided({3}, {-2}, 9)) == Floats{9, 7, 5});
    CHECK(values(input.slice(0, 4).as_strided({2}, {1})) == Floats{4, 5});
    CHECK(values(input.as_strided({2, 2}, {0, 1})) == Floats{0, 1, 0, 1});
    CHECK_THROWS_WITH_AS(input.as_strided({3}, {5}), doctest::Contains("outside"), ValueError);
    CHECK_THROWS_WITH_AS(input.as_strided({3}, {1, 1}),
                         doctest::Contains("size [3] and stride [1, 1] have different lengths"),
                         ValueError);
    const Tensor written = as_strided_scatter(input, tensor({-1.0, -2.0}), {2}, {3}, 2);
    CHECK(values(written) == Floats{0, 1, -1, 3, 4, -2, 6, 7, 8, 9});
    CHECK(values(input)[2] == 2);
    const Tensor turned = counted({2, 3}).t();
    CHECK(values(as_strided_scatter(turned, tensor({-1.0, -2.0, -3.0}), {3}, {1}).t()) ==
          Floats{-1, -2, -3, 3, 4, 5});
    CHECK_THROWS_WITH_AS(as_strided_scatter(input, zeros({3}), {2}, {3}),
                         doctest::Contains("src has shape [3], but the part to write has [2]"),
                         ValueError);
    CHECK_THROWS_WITH_AS(as_strided_scatter(input.slice(0, 0, 5), zeros({2}), {2}, {9}),
                         doctest::Contains("outside"), ValueError);
  }

  TEST_CASE("scattering writes a part of a copy") {
    const Tensor input = zeros({3, 4});
    CHECK(values(slice_scatter(input, ones({3, 2}), 1, 0, none, 2)) ==
          Floats{1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0});
    CHECK(values(select_scatter(input, counted({4}), 0, -1)) ==
          Floats{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3});
    CHECK(values(input) == Floats(12, 0));
    CHECK(values(slice_backward(ones({1, 2}), {2, 2}, 0, 1)) == Floats{0, 0, 1, 1});
    CHECK(values(select_backward(tensor({5.0, 6.0}), {2, 2}, 1, 0)) == Floats{5, 0, 6, 0});
    CHECK_THROWS_WITH_AS(
        slice_scatter(input, ones({3, 3}), 1, 0, 2),
        doctest::Contains(
            "slice_scatter(): src has shape [3, 3], but the part to write has [3, 2]"),
        ValueError);
    CHECK_THROWS_AS(select_scatter(input, ones({4}), 0, 3), IndexError);
  }

  TEST_CASE("clone copies; contiguous and to copy when they must") {
    const Tensor input = counted({2, 3});
    CHECK_FALSE(shares(input.clone(), input));
    CHECK(values(input.clone()) == values(input));
    CHECK(input.contiguous().is_same(input));
    CHECK(input.t().contiguous().is_contiguous());
    CHECK(values(input.t().contiguous()) == values(input.t()));
    CHECK(input.to(f32).is_same(input));
    CHECK(input.to(i32).to_vector<int32_t>() == std::vector<int32_t>{0, 1, 2, 3, 4, 5});
    CHECK(input.to(boolean).dtype() == boolean);
    CHECK(tensor({-1.9, 2.9}).to(i64).to_vector<int64_t>() == Ints{-1, 2});
  }

  TEST_CASE("cat joins along a dimension and promotes dtypes") {
    const Tensor a = counted({2, 2}), b = counted({1, 2}) + 10;
    CHECK(values(cat({a, b})) == Floats{0, 1, 2, 3, 10, 11});
    CHECK(values(cat({a, a.t()}, -1)) == Floats{0, 1, 0, 2, 2, 3, 1, 3});
    CHECK(cat({tensor({1, 2}), tensor({1.5})}).dtype() == f32);
    CHECK(values(cat({zeros({0}), a})) == values(a));
    CHECK(cat({zeros({0}), zeros({0})}).sizes() == Dims{0});
    CHECK(cat({zeros({0, 2}), a}).sizes() == Dims{2, 2});
    CHECK_THROWS_WITH_AS(cat(std::vector<Tensor>{}),
                         doctest::Contains("cat(): the list of tensors is empty"), ValueError);
    CHECK_THROWS_WITH_AS(cat({a, counted({2, 3})}),
                         doctest::Contains("cat(): tensor 1 has shape [2, 3], which differs from "
                                           "[2, 2] in more than the size of dimension 0"),
                         ValueError);
    CHECK_THROWS_WITH_AS(cat({a, counted({2})}), doctest::Contains("tensor 1 has shape [2]"),
                         ValueError);
    CHECK_THROWS_WITH_AS(cat({counted({}), counted({})}), doctest::Contains("use stack"),
                         ValueError);
    CHECK_THROWS_WITH_AS(cat({a, b}, 2), doctest::Contains("cat(): dimension 2"), IndexError);
  }

  TEST_CASE("stack joins along a new dimension") {
    const Tensor a = counted({2}), b = counted({2}) + 10;
    CHECK(values(stack({a, b})) == Floats{0, 1, 10, 11});
    CHECK(values(stack({a, b}, -1)) == Floats{0, 10, 1, 11});
    CHECK(stack({counted({}), counted({})}).sizes() == Dims{2});
    CHECK(stack({zeros({0}), zeros({0})}, 1).sizes() == Dims{0, 2});
    CHECK_THROWS_WITH_AS(stack({a, counted({3})}),
                         doctest::Contains("stack(): tensor 1 has shape [3], but tensor 0 has [2]"),
                         ValueError);
    CHECK_THROWS_AS(stack(std::vector<Tensor>{}), ValueError);
    CHECK_THROWS_WITH_AS(stack({a, b}, 2), doctest::Contains("stack(): dimension 2"), IndexError);
  }

  TEST_CASE("split, chunk and unbind are views of parts") {
    const Tensor input = counted({5, 2});
    const std::vector<Tensor> parts = input.split(2);
    REQUIRE(parts.size() == 3);
    CHECK(parts[2].sizes() == Dims{1, 2});
    CHECK(shares(parts[1], input));
    CHECK(values(parts[1]) == Floats{4, 5, 6, 7});
    const std::vector<Tensor> sized = input.split(Dims{1, 4});
    CHECK(values(sized[1]) == Floats{2, 3, 4, 5, 6, 7, 8, 9});
    CHECK(input.split(10).size() == 1);
    CHECK(input.split(Dims{0, 5}).front().sizes() == Dims{0, 2});
    CHECK(zeros({0}).split(3).size() == 1);
    CHECK_THROWS_WITH_AS(
        input.split(Dims{1, 3}),
        doctest::Contains("split(): the sizes [1, 3] add up to 4, but dimension 0 has size 5"),
        ValueError);
    CHECK_THROWS_WITH_AS(input.split(0), doctest::Contains("split(): size 0"), ValueError);
    CHECK_THROWS_WITH_AS(input.split(-1), doctest::Contains("split(): size -1 is negative"),
                         ValueError);
    CHECK(input.chunk(2).size() == 2);
    CHECK(input.chunk(4).size() == 3);
    CHECK(input.chunk(2)[0].sizes() == Dims{3, 2});
    CHECK(zeros({0}).chunk(3).size() == 3);
    CHECK_THROWS_WITH_AS(input.chunk(0),
                         doctest::Contains("chunk(): chunks must be at least 1, but it is 0"),
                         ValueError);
    const std::vector<Tensor> columns = input.unbind(1);
    REQUIRE(columns.size() == 2);
    CHECK(values(columns[1]) == Floats{1, 3, 5, 7, 9});
    CHECK(zeros({0, 2}).unbind().empty());
    CHECK_THROWS_AS(counted({}).unbind(), ValueError);
  }

  TEST_CASE("index_select of many lines reads each by its index, for any size of an entry") {
    const int64_t rows = 700, size = 37, count = 53;
    const Tensor index = randint(0, size, {count});
    const std::vector<int64_t> places = index.to_vector<int64_t>();
    for (const int64_t inner : {1, 2, 3}) {
      CAPTURE(inner);
      const Tensor x = arange(rows * size * inner).reshape({rows, size, inner}).to(f32);
      const std::vector<float> found = x.index_select(1, index).to_vector<float>();
      REQUIRE(found.size() == static_cast<size_t>(rows * count * inner));
      size_t wrong = 0;
      for (int64_t i = 0; i < rows * count * inner; ++i) {
        const int64_t line = i / inner, row = line / count;
        const int64_t from =
            (row * size + places[static_cast<size_t>(line % count)]) * inner + i % inner;
        wrong += found[static_cast<size_t>(i)] == static_cast<float>(from) ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("index_select and gather read by index") {
    const Tensor input = counted({3, 4});
    CHECK(values(input.index_select(0, tensor({2, 0, 2}))) ==
          Floats{8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11});
    CHECK(values(input.t().index_select(-1, tensor({1}, i32))) == Floats{4, 5, 6, 7});
    CHECK(values(input.index_select(1, tensor(3))) == Floats{3, 7, 11});
    CHECK(input.index_select(0, zeros({0}, i64)).sizes() == Dims{0, 4});
    CHECK(input.to(u8).index_select(1, tensor({1, 1})).to_vector<uint8_t>() ==
          std::vector<uint8_t>{1, 1, 5, 5, 9, 9});
    CHECK_THROWS_WITH_AS(
        input.index_select(0, tensor({3})),
        doctest::Contains("index_select(): index 3 is out of range for dimension 0 with size 3"),
        IndexError);
    CHECK_THROWS_WITH_AS(
        input.index_select(1, tensor({0, -1})),
        doctest::Contains("index_select(): index -1 is out of range for dimension 1 with size 4"),
        IndexError);
    CHECK_THROWS_WITH_AS(input.index_select(0, tensor({1.0})),
                         doctest::Contains("index_select(): the index must be i64 or i32, not f32"),
                         TypeError);
    CHECK_THROWS_WITH_AS(input.index_select(0, tensor({{0}})),
                         doctest::Contains("must be a vector"), IndexError);

    CHECK(values(input.gather(1, tensor({{0, 3}, {1, 1}, {2, 0}}))) == Floats{0, 3, 5, 5, 10, 8});
    CHECK(values(input.gather(0, tensor({{2, 0, 1, 2}}))) == Floats{8, 1, 6, 11});
    CHECK(values(input.t().gather(0, tensor({{3}}, i32))) == Floats{3});
    CHECK(input.gather(0, zeros({0, 4}, i64)).sizes() == Dims{0, 4});
    CHECK(counted({}).gather(0, tensor(0)).item() == 0);
    CHECK(values(counted({2, 2, 2}).gather(1, tensor({{{1, 0}}, {{0, 1}}}))) == Floats{2, 1, 4, 7});
    CHECK_THROWS_WITH_AS(
        input.gather(1, tensor({{4}})),
        doctest::Contains("gather(): index 4 is out of range for dimension 1 with size 4"),
        IndexError);
    CHECK_THROWS_WITH_AS(
        input.gather(1, tensor({{0}, {0}, {0}, {0}})),
        doctest::Contains("gather(): the index has shape [4, 1], which does not fit within input "
                          "of shape [3, 4] outside of dimension 1"),
        ValueError);
    CHECK_THROWS_AS(input.gather(1, tensor({0})), ValueError);
  }

  TEST_CASE("index_add and scatter_add add by index, equal indices too") {
    const Tensor input = ones({3, 2});
    CHECK(values(input.index_add(0, tensor({2, 0, 2}), counted({3, 2}))) ==
          Floats{3, 4, 1, 1, 5, 7});
    CHECK(values(input.index_add(1, tensor({1}), counted({3, 1}))) == Floats{1, 1, 1, 2, 1, 3});
    CHECK(values(input) == Floats(6, 1));
    CHECK(
        zeros({2}, boolean).index_add(0, tensor({1, 1}), ones({2}, boolean)).to_vector<int64_t>() ==
        Ints{0, 1});
    CHECK(zeros({1}, u8).index_add(0, tensor({0, 0}), full({2}, 200, u8)).to_vector<int64_t>() ==
          Ints{144});
    CHECK_THROWS_WITH_AS(
        input.index_add(0, tensor({3}), counted({1, 2})),
        doctest::Contains("index_add(): index 3 is out of range for dimension 0 with size 3"),
        IndexError);
    CHECK_THROWS_WITH_AS(input.index_add(0, tensor({1}), counted({2, 2})),
                         doctest::Contains("source has shape [2, 2], but input of shape [3, 2] and "
                                           "1 indices along dimension 0 take [1, 2]"),
                         ValueError);
    CHECK_THROWS_WITH_AS(
        input.index_add(0, tensor({1}), ones({1, 2}, f64)),
        doctest::Contains("'input' is f32 but 'source' is f64; convert one with to()"), TypeError);

    CHECK(values(scatter_add(input, 0, tensor({{0, 2}, {0, 1}}), counted({2, 2}))) ==
          Floats{3, 1, 1, 4, 1, 2});
    CHECK(values(scatter_add(input, 1, tensor({{1}}), counted({3, 2}) + 5)) ==
          Floats{1, 6, 1, 1, 1, 1});
    CHECK_THROWS_WITH_AS(
        scatter_add(input, 0, tensor({{3}}), ones({1, 1})),
        doctest::Contains("scatter_add(): index 3 is out of range for dimension 0 with size 3"),
        IndexError);
    CHECK_THROWS_WITH_AS(scatter_add(input, 0, tensor({{0, 0}}), ones({1, 1})),
                         doctest::Contains("does not fit within src of shape [1, 1]"), ValueError);
    const Tensor many =
        zeros({7, 1000}).index_add(0, arange(5000).remainder(7), ones({5000, 1000}));
    CHECK(many.sum().item() == 5e6);
    CHECK(many.select(0, 0).amin().item() == 715);
  }

  TEST_CASE("flip reverses, tril and triu clear") {
    const Tensor input = counted({2, 3});
    CHECK(values(input.flip({1})) == Floats{2, 1, 0, 5, 4, 3});
    CHECK(values(input.flip({0, -1})) == Floats{5, 4, 3, 2, 1, 0});
    CHECK(values(input.flip(Dims{})) == values(input));
    CHECK(values(input.expand({2, 2, 3}).flip({0, 2})) ==
          Floats{2, 1, 0, 5, 4, 3, 2, 1, 0, 5, 4, 3});
    CHECK_THROWS_AS(input.flip({0, 0}), ValueError);
    CHECK_THROWS_AS(input.flip({2}), IndexError);

    const Tensor square = counted({3, 3}) + 1;
    CHECK(values(square.tril()) == Floats{1, 0, 0, 4, 5, 0, 7, 8, 9});
    CHECK(values(square.triu()) == Floats{1, 2, 3, 0, 5, 6, 0, 0, 9});
    CHECK(values(square.tril(-1)) == Floats{0, 0, 0, 4, 0, 0, 7, 8, 0});
    CHECK(values(square.triu(2)) == Floats{0, 0, 3, 0, 0, 0, 0, 0, 0});
    CHECK(values(square.t().tril()) == Floats{1, 0, 0, 2, 5, 0, 3, 6, 9});
    CHECK(values(square.tril(std::numeric_limits<int64_t>::max())) == values(square));
    CHECK(values(square.tril(std::numeric_limits<int64_t>::min())) == Floats(9, 0));
    CHECK(values((counted({2, 2, 3}) + 1).triu(1)) == Floats{0, 2, 3, 0, 0, 6, 0, 8, 9, 0, 0, 12});
    CHECK(ones({200, 300}).tril().sum().item() == 200.0 * 201 / 2);
    CHECK_THROWS_WITH_AS(
        counted({3}).tril(),
        doctest::Contains("tril(): takes matrices, at least 2 dimensions, but the shape is [3]"),
        ValueError);
  }

  TEST_CASE("one_hot marks the class of each entry") {
    CHECK(one_hot(tensor({2, 0}), 3).to_vector<int64_t>() == Ints{0, 0, 1, 1, 0, 0});
    CHECK(one_hot(tensor(1, i32), 2).to_vector<int64_t>() == Ints{0, 1});
    CHECK(one_hot(zeros({0}, i64), 4).sizes() == Dims{0, 4});
    CHECK_THROWS_WITH_AS(one_hot(tensor({3}), 3),
                         doctest::Contains("one_hot(): class 3 is out of range for 3 classes"),
                         IndexError);
    CHECK_THROWS_AS(one_hot(tensor({-1}), 3), IndexError);
    CHECK_THROWS_WITH_AS(one_hot(tensor({0}), 0),
                         doctest::Contains("num_classes must be at least 1, but it is 0"),
                         ValueError);
    CHECK_THROWS_AS(one_hot(tensor({1.0}), 3), TypeError);
  }
}

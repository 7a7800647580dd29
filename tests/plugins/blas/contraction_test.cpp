// einsum against a sum over all values of its labels, of random equations; tensordot, kron, trace,
// cross and vecdot against sums written out here; refusals.
#include <map>
#include <random>

#include "../compare.hpp"

using namespace compare;
namespace linalg = tenon::linalg;

namespace {

using Shape = std::vector<int64_t>;

class Random {
 public:
  int64_t below(int64_t count) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(count));
  }
  bool chance(int64_t of) { return below(of) == 0; }

 private:
  std::mt19937_64 engine_{11};
};

double element(const std::vector<double>& values, const Shape& shape, const std::string& labels,
               const std::map<char, int64_t>& at) {
  int64_t offset = 0;
  for (size_t i = 0; i < labels.size(); ++i)
    offset = offset * shape[i] + (shape[i] == 1 ? 0 : at.at(labels[i]));
  return values[static_cast<size_t>(offset)];
}

// Steps through all values of the labels.
bool next(std::map<char, int64_t>& at, const std::map<char, int64_t>& sizes) {
  for (auto& [label, value] : at) {
    if (++value < sizes.at(label)) return true;
    value = 0;
  }
  return false;
}

std::vector<double> slow_einsum(const std::vector<std::string>& inputs, const std::string& output,
                                const std::vector<Tensor>& operands,
                                const std::map<char, int64_t>& sizes) {
  int64_t count = 1;
  bool empty = false;
  Shape shape;
  for (const char c : output) {
    shape.push_back(sizes.at(c));
    count *= sizes.at(c);
  }
  for (const auto& [label, size] : sizes) empty = empty || size == 0;
  std::vector<double> result(static_cast<size_t>(count));
  if (empty) return result;
  std::vector<std::vector<double>> values;
  for (const Tensor& operand : operands) values.push_back(operand.to_vector<double>());
  std::map<char, int64_t> at;
  for (const auto& [label, size] : sizes) at[label] = 0;
  do {
    double term = 1;
    for (size_t i = 0; i < inputs.size(); ++i)
      term *= element(values[i], operands[i].sizes(), inputs[i], at);
    int64_t offset = 0;
    for (size_t i = 0; i < output.size(); ++i) offset = offset * shape[i] + at[output[i]];
    result[static_cast<size_t>(offset)] += term;
  } while (next(at, sizes));
  return result;
}

Tensor strided(const Tensor& x) {
  if (x.dim() == 0) return x;
  return tenon::stack({x, x}, -1).select(-1, 1);
}

}  // namespace

TEST_SUITE("blas") {
  TEST_CASE("einsum of random equations is the sum over all values of the labels") {
    Random random;
    for (int round = 0; round < 300; ++round) {
      std::map<char, int64_t> sizes;
      for (const char c : std::string("abcdE"))
        sizes[c] = random.chance(12) ? 0 : 1 + random.below(3);
      const std::string letters = "abcdE";
      const DType dtype = round % 3 == 0 ? tenon::f32 : round % 3 == 1 ? tenon::f64 : tenon::i32;
      std::vector<std::string> inputs;
      std::vector<Tensor> operands;
      std::string equation, present;
      for (int64_t i = random.below(3); i >= 0; --i) {
        std::string labels;
        Shape shape;
        for (int64_t k = random.below(4); k > 0; --k) {
          const char c = letters[static_cast<size_t>(random.below(5))];
          const size_t before = labels.find(c);
          // A size of 1 is broadcast.
          shape.push_back(before != std::string::npos ? shape[before]
                          : random.chance(6)          ? 1
                                                      : sizes[c]);
          labels += c;
          if (present.find(c) == std::string::npos) present += c;
        }
        inputs.push_back(labels);
        const Tensor x = numbers(shape, dtype, static_cast<uint64_t>(round * 7 + i));
        operands.push_back(random.chance(2) ? strided(x) : x);
        equation += (equation.empty() && inputs.size() == 1 ? "" : ",") + labels;
      }
      std::map<char, int64_t> used;
      for (size_t i = 0; i < inputs.size(); ++i) {
        for (size_t k = 0; k < inputs[i].size(); ++k) {
          int64_t& size = used.emplace(inputs[i][k], 1).first->second;
          if (operands[i].size(static_cast<int64_t>(k)) != 1)
            size = operands[i].size(static_cast<int64_t>(k));
        }
      }
      std::string output;
      for (const char c : present) {
        if (random.chance(2))
          output.insert(output.begin() + random.below(static_cast<int64_t>(output.size()) + 1), c);
      }
      equation += "->" + output;
      CAPTURE(equation);
      const Tensor found = tenon::einsum(equation, operands);
      CHECK(found.dtype() == dtype);
      Shape shape;
      for (const char c : output) shape.push_back(used[c]);
      CHECK(found.sizes() == shape);
      check_close(found.to_vector<double>(), slow_einsum(inputs, output, operands, used), 1e-5);
    }
  }

  TEST_CASE("einsum: ellipses, implicit outputs, spaces, diagonals") {
    const Tensor a = numbers({2, 1, 3, 4}, tenon::f64), b = numbers({5, 4, 2}, tenon::f64, 2);
    check_close(tenon::einsum("...ij,...jk", std::vector<Tensor>{a, b}), a.matmul(b), 1e-14);
    check_close(tenon::einsum("...ij , ...jk -> ik...", std::vector<Tensor>{a, b}),
                a.matmul(b).permute({2, 3, 0, 1}), 1e-14);
    check_close(tenon::einsum("...ij->...", std::vector<Tensor>{a}), a.sum({2, 3}), 1e-14);
    check_close(tenon::einsum("...ij->", std::vector<Tensor>{a}), a.sum(), 1e-14);
    check_close(tenon::einsum("ba", std::vector<Tensor>{numbers({2, 3}, tenon::f64)}),
                numbers({2, 3}, tenon::f64).t(), 0);
    check_close(tenon::einsum("aB", std::vector<Tensor>{numbers({2, 3}, tenon::f64)}),
                numbers({2, 3}, tenon::f64).t(), 0);
    const Tensor square = numbers({3, 3}, tenon::f64);
    check_close(tenon::einsum("ii", std::vector<Tensor>{square}), tenon::trace(square), 1e-15);
    check_close(tenon::einsum(",", std::vector<Tensor>{tenon::tensor(2.0), tenon::tensor(3.0)}),
                tenon::tensor(6.0), 0);
    Tensor same = tenon::einsum("ij", std::vector<Tensor>{square});
    same.add_(1);
    CHECK(square.to_vector<double>() == numbers({3, 3}, tenon::f64).to_vector<double>());
  }

  TEST_CASE("tensordot sums over pairs of dimensions") {
    const Tensor a = numbers({2, 3, 4}, tenon::f64), b = numbers({4, 3, 5}, tenon::f64, 2);
    const Tensor found = tenon::tensordot(a, b, 2, {1, 2}, {1, -3});
    std::vector<double> expected;
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t l = 0; l < 5; ++l) {
        double sum = 0;
        for (int64_t j = 0; j < 3; ++j) {
          for (int64_t k = 0; k < 4; ++k)
            sum += a.to_vector<double>()[static_cast<size_t>((i * 3 + j) * 4 + k)] *
                   b.to_vector<double>()[static_cast<size_t>((k * 3 + j) * 5 + l)];
        }
        expected.push_back(sum);
      }
    }
    check_values(found, {2, 5}, expected, 1e-13);
    check_close(tenon::tensordot(a, b.transpose(0, 1)), found, 1e-14);
    CHECK(tenon::tensordot(a, b, 0).sizes() == Shape{2, 3, 4, 4, 3, 5});
    CHECK(refusal_of("tensordot", [&] {
            tenon::tensordot(a, b);
          }).find("sizes differ along dimension 1") == 0);
    CHECK_THROWS_AS(tenon::tensordot(a, b, 4), tenon::ValueError);
    CHECK_THROWS_AS(tenon::tensordot(a, b, 2, {0}, {0, 1}), tenon::ValueError);
    CHECK_THROWS_AS(tenon::tensordot(a, b, 2, {0, 0}, {0, 1}), tenon::ValueError);
    CHECK_THROWS_AS(tenon::tensordot(a, b, 2, {3}, {0}), tenon::IndexError);
  }

  TEST_CASE("kron puts the second tensor in place of each element of the first") {
    for (const DType dtype : {tenon::f32, tenon::f64, tenon::i32}) {
      const Tensor a = numbers({2, 3}, dtype), b = numbers({3, 2}, dtype, 2);
      const Tensor found = tenon::kron(a.t().contiguous().t(), b);
      CHECK(found.dtype() == dtype);
      const auto x = a.to_vector<double>(), y = b.to_vector<double>();
      std::vector<double> expected;
      for (int64_t i = 0; i < 6; ++i) {
        for (int64_t k = 0; k < 6; ++k)
          expected.push_back(x[static_cast<size_t>(i / 3 * 3 + k / 2)] *
                             y[static_cast<size_t>(i % 3 * 2 + k % 2)]);
      }
      check_values(found, {6, 6}, expected, 1e-6);
    }
    CHECK(tenon::kron(tenon::ones({2}), tenon::ones({3, 4})).sizes() == Shape{3, 8});
    CHECK(tenon::kron(tenon::tensor(2.0), tenon::ones({0})).sizes() == Shape{0});
  }

  TEST_CASE("trace, cross and vecdot") {
    const Tensor x = numbers({3, 5}, tenon::f64);
    const auto v = x.to_vector<double>();
    CHECK(tenon::trace(x).item<double>() == doctest::Approx(v[0] + v[6] + v[12]));
    CHECK(tenon::trace(x.t()).item<double>() == doctest::Approx(v[0] + v[6] + v[12]));
    CHECK(tenon::trace(tenon::ones({2, 2}, tenon::u8)).dtype() == tenon::i64);
    CHECK(tenon::trace(tenon::ones({0, 2})).item<double>() == 0);
    CHECK_THROWS_AS(tenon::trace(tenon::ones({2})), tenon::ValueError);
    const Tensor a = tenon::tensor({{1, 2, 3}, {0, 1, 0}}), b = tenon::tensor({4, 5, 6});
    check_values(linalg::cross(a, b), {2, 3}, {-3, 6, -3, 6, 0, -4});
    check_values(tenon::cross(a.t(), b.unsqueeze(1)), {3, 2}, {-3, 6, 6, 0, -3, -4});
    check_values(tenon::cross(a, a, 1), {2, 3}, std::vector<double>(6, 0));
    CHECK(refusal([&] { linalg::cross(a, b, 0); }) ==
          "cross(): dimension 0 must have 3 elements in both, got shapes [2, 3] and [3]");
    CHECK_THROWS_AS(tenon::cross(tenon::ones({2}), tenon::ones({2})), tenon::ValueError);
    CHECK_THROWS_AS(linalg::cross(a, b, 2), tenon::IndexError);
    check_values(linalg::vecdot(a, b), {2}, {32, 5});
    check_values(linalg::vecdot(a, a, 0), {3}, {1, 5, 9});
    CHECK(linalg::vecdot(a.to(tenon::i32), b.to(tenon::i32)).dtype() == tenon::i32);
    CHECK_THROWS_AS(linalg::vecdot(a.to(tenon::boolean), b), tenon::TypeError);
  }

  TEST_CASE("einsum refuses equations that do not fit their operands") {
    const Tensor a = tenon::ones({2, 3}), b = tenon::ones({4, 5});
    const auto refused = [&](const char* equation, const std::vector<Tensor>& operands) {
      return refusal_of("einsum", [&] { tenon::einsum(equation, operands); });
    };
    CHECK(refused("ij,jk->ik", {a, b}) == "label 'j' has size 3, but 4 in operand 1");
    CHECK(refused("ij,jk->ik", {a}) == "the equation 'ij,jk->ik' is of 2 operands, got 1");
    CHECK(refused("ijk->i", {a}) == "operand 0 has 3 labels but shape [2, 3]");
    CHECK(refused("ij->k", {a}) == "label 'k' of the output is in no operand");
    CHECK(refused("ij->ii", {a}) == "label 'i' is twice in the output");
    CHECK(refused("ii->i", {a}) == "label 'i' is there twice, for sizes 2 and 3 of operand 0");
    CHECK(refused("i1->i", {a}).find("'1' cannot be there in the equation 'i1->i'") == 0);
    CHECK_THROWS_AS(tenon::einsum("ij,ij", std::vector<Tensor>{a, a.to(tenon::f64)}),
                    tenon::TypeError);
    CHECK_THROWS_AS(tenon::einsum("ij", std::vector<Tensor>{a.to(tenon::boolean)}),
                    tenon::TypeError);
  }
}

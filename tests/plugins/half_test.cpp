// f16, bf16, u16, u32 and u64: ops in half precision, and what integers that are only stored can do.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <tenon/state/module_file.hpp>

#include "compare.hpp"
#include "random_inputs.hpp"

using namespace compare;
using namespace tenon;

namespace {

constexpr DType kHalves[] = {f16, bf16};

// Numbers that both dtypes hold, as f32.
Tensor exact(const std::vector<int64_t>& shape, DType half, uint64_t seed = 1) {
  return numbers(shape, f32, seed).to(half).to(f32);
}
Tensor half_leaf(const std::vector<int64_t>& shape, DType half, uint64_t seed = 1) {
  return exact(shape, half, seed).to(half).requires_grad_();
}

// The half result is the f32 one, rounded.
void check_rounded(const Tensor& found, const Tensor& expected, DType half) {
  CHECK(found.dtype() == half);
  check_close(found, expected.to(half), 0);
}

}  // namespace

TEST_SUITE("plugins/half") {
  TEST_CASE("gradients have the operands' dtype and are those of f32, rounded") {
    for (const DType half : kHalves) {
      const double tolerance = half == f16 ? 2e-3 : 1.6e-2;
      Tensor x = half_leaf({4, 6}, half, 1), w = half_leaf({5, 6}, half, 2);
      Tensor b = half_leaf({5}, half, 3);
      const Tensor y = nn::functional::layer_norm(nn::functional::linear(x, w, b), {5}).relu();
      CHECK(y.dtype() == half);
      (y * y).sum().backward();
      Tensor x32 = x.detach().to(f32).requires_grad_(), w32 = w.detach().to(f32).requires_grad_();
      Tensor b32 = b.detach().to(f32).requires_grad_();
      const Tensor y32 =
          nn::functional::layer_norm(nn::functional::linear(x32, w32, b32), {5}).relu();
      (y32 * y32).sum().backward();
      check_close(y, y32, tolerance);
      for (const auto& [found, expected] :
           {std::pair(x, x32), std::pair(w, w32), std::pair(b, b32)}) {
        CHECK(found.grad().dtype() == half);
        check_close(found.grad(), expected.grad(), 6 * tolerance);
      }
      // One kernel, one rounding.
      const Tensor m = half_leaf({3, 4}, half, 4), n = half_leaf({4, 2}, half, 5);
      const Tensor seed = exact({3, 2}, half, 6);
      const Tensor product = mm(m, n);
      product.backward(seed.to(half));
      check_rounded(product.detach(), mm(m.detach().to(f32), n.detach().to(f32)), half);
      check_rounded(m.grad(), mm(seed, n.detach().to(f32).t()), half);
    }
  }

  TEST_CASE("second derivatives and tangents go through f32 as well") {
    for (const DType half : kHalves) {
      Tensor x = half_leaf({3, 3}, half);
      GradientOptions options;
      options.create_graph = true;
      const Tensor first = gradients({mm(x, x).sum()}, {x}, options)[0];
      CHECK(first.dtype() == half);
      CHECK(first.requires_grad());
      CHECK(gradients({(first * first).sum()}, {x})[0].dtype() == half);
      const DualLevel level;
      const Tensor direction = exact({3, 3}, half, 2).to(half);
      const Tensor dual = nn::functional::softmax(make_dual(x.detach(), direction), 1);
      const Tensor tangent = unpack_dual(dual).tangent;
      CHECK(tangent.dtype() == half);
      const Tensor dual32 =
          nn::functional::softmax(make_dual(x.detach().to(f32), direction.to(f32)), 1);
      check_rounded(tangent, unpack_dual(dual32).tangent, half);
    }
  }

  TEST_CASE("operands are changed in place and out= is written, in their own dtype") {
    for (const DType half : kHalves) {
      const Tensor a = exact({3, 3}, half, 1), b = exact({3, 3}, half, 2);
      Tensor x = a.to(half);
      const auto version = x.version();
      CHECK(add_(x, b.to(half)).is_same(x));
      CHECK(x.version() == version + 1);
      check_rounded(x, a + b, half);
      const Tensor out = empty_tensor({3, 3}, half);
      CHECK(mm(a.to(half), b.to(half), out).is_same(out));
      check_rounded(out, mm(a, b), half);
      CHECK(sub(a.to(half), b.to(half), 1, out).is_same(out));
      check_rounded(out, a - b, half);
      // A view of a tensor that requires grad.
      Tensor leaf = half_leaf({2, 3}, half, 3);
      const Tensor whole = leaf * 1;
      uniform_(whole.select(0, 0));
      whole.sum().backward();
      check_values(leaf.grad(), {2, 3}, {0, 0, 0, 1, 1, 1}, 0);
      CHECK(refusal([&] { add_(leaf, 1); }).find("leaf") != std::string::npos);
      const Tensor drawn = rand({20000}, half);
      CHECK(drawn.dtype() == half);
      CHECK(amax(drawn).item() < 1);
    }
  }

  TEST_CASE("a dtype that a call asks for is that of its result") {
    const Tensor x = exact({5, 7}, f16);
    CHECK(sum(x.to(f16), none, false, f32).dtype() == f32);
    check_close(sum(x.to(f16), none, false, f32), sum(x), 1e-6);
    for (const DType half : kHalves) {
      check_rounded(sum(x, none, false, half), sum(x), half);
      check_rounded(mean(x.to(f16), {1}, false, half), mean(x, {1}), half);
      check_rounded(prod(x, 1, false, half), prod(x, 1), half);
      CHECK(full({2}, 3, half).dtype() == half);
      CHECK(arange(4, none, 1, half).to_vector<float>() == std::vector<float>{0, 1, 2, 3});
    }
    CHECK(argmax(x.to(f16), 1).dtype() == i64);
    CHECK((x.to(f16) > 0).dtype() == boolean);
    CHECK(x.to(f16).to(f16).dtype() == f16);
  }

  TEST_CASE("mixed dtypes promote, numbers do not") {
    const Tensor h = exact({3}, f16).to(f16), b = exact({3}, bf16).to(bf16);
    CHECK((h + b).dtype() == f32);
    CHECK((h + numbers({3})).dtype() == f32);
    CHECK((h + numbers({3}, f64)).dtype() == f64);
    CHECK((h * 2).dtype() == f16);
    CHECK((h * 0.5).dtype() == f16);
    CHECK((h + numbers({3}, i64)).dtype() == f16);
    CHECK((h + numbers({}, f32)).dtype() == f16);
    CHECK(cat({h, b}).dtype() == f32);
    CHECK(mm(h.reshape({1, 3}), numbers({3, 1})).dtype() == f32);
    CHECK(mm(h.reshape({1, 3}), b.reshape({3, 1})).dtype() == f32);
    CHECK_THROWS_AS(mm(h.reshape({1, 3}), numbers({3, 1}, f64)), TypeError);
    CHECK((full({2}, 60000.0, f16) * 2).to_vector<float>() ==
          std::vector<float>(2, std::numeric_limits<float>::infinity()));
  }

  TEST_CASE("unsigned integers are stored, converted, moved and compared") {
    for (const DType dtype : {u16, u32, u64}) {
      const Tensor x = tensor({{3, 0, 7}, {7, 9, 1}}, dtype);
      CHECK(x.dtype() == dtype);
      CHECK(x.to(i64).to_vector<int64_t>() == std::vector<int64_t>{3, 0, 7, 7, 9, 1});
      CHECK(x.t().contiguous().to_vector<int64_t>() == std::vector<int64_t>{3, 7, 0, 9, 7, 1});
      CHECK(x.index_select(1, tensor({2, 0})).to_vector<int64_t>() ==
            std::vector<int64_t>{7, 3, 1, 7});
      CHECK(x.gather(1, tensor({{1}, {2}})).to_vector<int64_t>() == std::vector<int64_t>{0, 1});
      CHECK(cat({x, x.flip({1})}, 1).sizes() == std::vector<int64_t>{2, 6});
      CHECK(eq(x, 7).to_vector<bool>() ==
            std::vector<bool>{false, false, true, true, false, false});
      CHECK(ne(x, x.clone()).any().item<bool>() == false);
      CHECK(gt(x, tensor({{2, 0, 8}, {7, 1, 0}}, dtype)).to_vector<bool>() ==
            std::vector<bool>{true, false, false, false, true, true});
      const Tensor chosen = where(gt(x, 2), x, x.flip({0}));
      CHECK(chosen.dtype() == dtype);
      CHECK(chosen.to_vector<int64_t>() == std::vector<int64_t>{3, 9, 7, 7, 9, 7});
      CHECK(masked_fill(x, eq(x, 7), 5).to_vector<int64_t>() ==
            std::vector<int64_t>{3, 0, 5, 5, 9, 1});
      CHECK(refusal([&] { where(eq(x, 7), x, -1); }).find("does not fit") != std::string::npos);
      CHECK((x + 0.5).dtype() == f32);
      const std::string text = refusal([&] { x + x; });
      CHECK_MESSAGE(text == std::string("add() is not implemented for ") + dtype_text(dtype) +
                                " operands: convert them to i64 or f32 with to()",
                    text);
      CHECK(refusal([&] { sum(x); }).find("convert the tensor with to()") != std::string::npos);
      CHECK(refusal([&] {
              x + numbers({2, 3}, i32);
            }).find("no common dtype") != std::string::npos);
    }
    const Tensor large = tensor({-1, 0, 1}).to(u64);
    CHECK(equal(where(eq(large, 0), 0, large), large));
    CHECK(gt(large, 5).to_vector<bool>() == std::vector<bool>{true, false, false});
    CHECK(lt(large, large.flip({0})).to_vector<bool>() == std::vector<bool>{false, false, true});
    CHECK(refusal([&] { eq(large, -1); }).find("does not fit u64") != std::string::npos);
    CHECK(lt(tensor({1}, u16), -1).item<bool>() == false);
    CHECK(refusal([] { tensor({70000}, u16); }) == "the number 70000 does not fit u16");
    CHECK(tensor({1.0, 1e6}, f16).to_vector<float>()[1] == std::numeric_limits<float>::infinity());
  }

  TEST_CASE("modules convert to half precision; states of either kind load into the other") {
    const auto make = [] {
      seed_generator(3);
      return Module::create("Linear", arg("in_features") = 3, arg("out_features") = 2);
    };
    const std::string path = "half_test.safetensors";
    const Tensor x = exact({4, 3}, f16);
    for (const DType half : kHalves) {
      Module small = make(), large = make();
      small.to(half);
      CHECK(small.tensor("weight").dtype() == half);
      CHECK(small.tensor("weight").requires_grad());
      const Tensor y = small(x.to(half));
      CHECK(y.dtype() == half);
      y.sum().backward();
      CHECK(small.tensor("bias").grad().dtype() == half);
      state::save(small, path);
      state::load(large, path);
      CHECK(large.tensor("weight").dtype() == f32);
      check_close(large.tensor("weight").detach(), small.tensor("weight").detach(), 0);
      state::save(make(), path);
      state::load(small, path);
      CHECK(small.tensor("weight").dtype() == half);
      check_rounded(small.tensor("weight").detach(), make().tensor("weight").detach(), half);
    }
    std::filesystem::remove(path);
  }

  TEST_CASE("a checkpoint of bf16 that another program wrote loads into an f32 model") {
    std::string header = R"({"bias":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                         R"("weight":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]}})";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::string file(8, '\0');
    file[0] = static_cast<char>(header.size());
    // 0.5, -1; 1, 2, 3; -0.25, 0, 0.1 (0x3dcd: 0.10009765625)
    file += header +
            std::string("\x00\x3f\x80\xbf\x80\x3f\x00\x40\x40\x40\x80\xbe\x00\x00\xcd\x3d", 16);
    const std::string path = "half_test_bf16.safetensors";
    std::ofstream(path, std::ios::binary) << file;
    Module linear = Module::create("Linear", arg("in_features") = 3, arg("out_features") = 2);
    state::load(linear, path);
    CHECK(linear.tensor("weight").dtype() == f32);
    check_values(linear.tensor("weight").detach(), {2, 3}, {1, 2, 3, -0.25, 0, 0.10009765625}, 0);
    check_values(linear.tensor("bias").detach(), {2}, {0.5, -1}, 0);
    check_values(linear(tensor({{1, 1, 1}}, f32)).detach(), {1, 2}, {6.5, -1.14990234375}, 1e-6);
    std::filesystem::remove(path);
  }

  TEST_CASE("optimizers step parameters in half precision") {
    for (const DType half : kHalves) {
      const Tensor p = exact({5}, half, 1), g = exact({5}, half, 2);
      Tensor parameter = p.to(half);
      add_(parameter, g.to(half), -0.5);
      check_rounded(parameter, p - g * 0.5, half);
    }
  }

  TEST_CASE("elements of C++ types: buffers, data and vectors") {
    const Half halves[] = {{0x3c00}, {0xc000}};
    const int64_t shape[] = {2};
    const Tensor x = from_buffer(halves, {shape, 1});
    CHECK(x.dtype() == f16);
    CHECK(to_float(x.data<Half>()[1]) == -2);
    CHECK(x.to_vector<double>() == std::vector<double>{1, -2});
    CHECK(x.select(0, 1).item() == -2);
    CHECK(x.to(bf16).to_vector<BFloat16>()[0].bits == 0x3f80);
    const std::vector<uint32_t> words{1, UINT32_MAX};
    CHECK(from_range(words.begin(), words.end()).to_vector<uint32_t>() == words);
    CHECK_THROWS_AS(x.data<float>(), TypeError);
  }
}

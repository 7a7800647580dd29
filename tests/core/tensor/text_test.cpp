// The printed form of tensors: golden texts.
#include "core/tensor/text.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/core_tensors.hpp"

using namespace tenon::core;
using tenon::test::tensor_of;
using tenon::test::Values;

namespace {

template <class T>
std::string text_of(const Values& shape, const std::vector<T>& values) {
  return tensor_text(tensor_of<T>(shape, values).get());
}

template <class T>
TensorRef counting(const Values& shape) {
  TensorRef tensor = make_empty(dtype_of<T>(), shape);
  for (int64_t i = 0; i < tensor->view.count; ++i)
    static_cast<T*>(tensor->view.data)[i] = static_cast<T>(i);
  return tensor;
}

const double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_SUITE("text form of tensors") {
  TEST_CASE("F-174: the texts of the seeds") {
    std::vector<float> diagonal(25);
    for (size_t i = 0; i < 5; ++i) diagonal[i * 6] = 2;
    CHECK(text_of<float>({5, 5}, diagonal) ==
          "tensor([[2., 0., 0., 0., 0.],\n"
          "        [0., 2., 0., 0., 0.],\n"
          "        [0., 0., 2., 0., 0.],\n"
          "        [0., 0., 0., 2., 0.],\n"
          "        [0., 0., 0., 0., 2.]])");
    CHECK(text_of<float>({2, 2}, {3, 1, 1, 3}) == "tensor([[3., 1.],\n        [1., 3.]])");
    CHECK(text_of<float>({2, 2}, {4, 0, 0, 4}) == "tensor([[4., 0.],\n        [0., 4.]])");
    CHECK(text_of<int64_t>({2, 2}, {2, 4, 2, 4}) == "tensor([[2, 4],\n        [2, 4]])");
    CHECK(text_of<int64_t>({2, 2}, {1, 4, 1, 4}) == "tensor([[1, 4],\n        [1, 4]])");
  }

  TEST_CASE("whole floats have a trailing point, others four decimals") {
    CHECK(text_of<float>({2}, {0.1F, 2.5F}) == "tensor([0.1000, 2.5000])");
    CHECK(text_of<float>({3}, {-1, 10, 0}) == "tensor([-1., 10.,  0.])");
    CHECK(text_of<float>({2}, {-0.5F, 100.25F}) == "tensor([ -0.5000, 100.2500])");
    CHECK(text_of<float>({}, {3}) == "tensor(3.)");
    CHECK(text_of<float>({}, {0.4F}) == "tensor(0.4000)");
    CHECK(text_of<float>({2}, {0, 0}) == "tensor([0., 0.])");
    CHECK(text_of<float>({1}, {-0.F}) == "tensor([-0.])");
  }

  TEST_CASE("scientific form when the numbers span too much") {
    CHECK(text_of<float>({2}, {1, 1000}) == "tensor([   1., 1000.])");
    CHECK(text_of<float>({2}, {1, 1001}) == "tensor([1.0000e+00, 1.0010e+03])");
    CHECK(text_of<float>({1}, {1e-5F}) == "tensor([1.0000e-05])");
    CHECK(text_of<float>({1}, {1e9F}) == "tensor([1.0000e+09])");
    CHECK(text_of<float>({2}, {0.001F, 2}) == "tensor([1.0000e-03, 2.0000e+00])");
    CHECK(text_of<float>({3}, {0, -1e-5F, 1e-5F}) ==
          "tensor([ 0.0000e+00, -1.0000e-05,  1.0000e-05])");
    CHECK(text_of<double>({1}, {1e300}) == "tensor([1.0000e+300], dtype=f64)");
    CHECK(text_of<float>({1}, {99999.5F}) == "tensor([99999.5000])");
  }

  TEST_CASE("infinities and NaN") {
    const auto infinity = static_cast<float>(kInfinity);
    CHECK(text_of<float>({4}, {1, infinity, -infinity, std::nanf("")}) ==
          "tensor([1., inf, -inf, nan])");
    CHECK(text_of<float>({3}, {1.5F, infinity, -std::nanf("")}) ==
          "tensor([1.5000,    inf,    nan])");
    CHECK(text_of<float>({1}, {infinity}) == "tensor([inf])");
  }

  TEST_CASE("integers are bare and right-aligned, booleans are words") {
    CHECK(text_of<int64_t>({3}, {1, -20, 300}) == "tensor([  1, -20, 300])");
    CHECK(text_of<int64_t>({}, {INT64_MIN}) == "tensor(-9223372036854775808)");
    CHECK(text_of<bool>({2}, {true, false}) == "tensor([ True, False])");
    CHECK(text_of<bool>({2}, {true, true}) == "tensor([True, True])");
  }

  TEST_CASE("dtypes that are not the usual ones are named") {
    CHECK(text_of<double>({2}, {1, 2}) == "tensor([1., 2.], dtype=f64)");
    CHECK(text_of<uint8_t>({2}, {1, 255}) == "tensor([  1, 255], dtype=u8)");
    CHECK(text_of<int8_t>({1}, {-1}) == "tensor([-1], dtype=i8)");
    CHECK(text_of<int16_t>({1}, {1}) == "tensor([1], dtype=i16)");
    CHECK(text_of<int32_t>({1}, {1}) == "tensor([1], dtype=i32)");
    CHECK(text_of<uint64_t>({1}, {UINT64_MAX}) == "tensor([18446744073709551615], dtype=u64)");
    CHECK(text_of<tenon_f16>({3}, {{0x3c00}, {0x3555}, {0x7c00}}) ==
          "tensor([1.0000, 0.3333,    inf], dtype=f16)");
    CHECK(text_of<tenon_bf16>({2}, {{0x3f80}, {0xc000}}) == "tensor([ 1., -2.], dtype=bf16)");
  }

  TEST_CASE("tensors without elements show what cannot be seen") {
    CHECK(tensor_text(make_empty(TENON_F32, Values{0}).get()) == "tensor([])");
    CHECK(tensor_text(make_empty(TENON_F32, Values{0, 3}).get()) == "tensor([], size=(0, 3))");
    CHECK(tensor_text(make_empty(TENON_I64, Values{0}).get()) == "tensor([], dtype=i64)");
    CHECK(tensor_text(make_empty(TENON_BOOL, Values{2, 0}).get()) ==
          "tensor([], size=(2, 0), dtype=bool)");
  }

  TEST_CASE("F-231: grad_fn or requires_grad comes last") {
    const TensorRef tensor = tensor_of<float>({2}, {1, 2});
    tensor->view.flags |= TENON_TENSOR_REQUIRES_GRAD;
    CHECK(tensor_text(tensor.get()) == "tensor([1., 2.], requires_grad=True)");
    CHECK(tensor_text(tensor.get(), "AddBackward0") == "tensor([1., 2.], grad_fn=<AddBackward0>)");
    const TensorRef wide = tensor_of<double>({}, {1});
    wide->view.flags |= TENON_TENSOR_REQUIRES_GRAD;
    CHECK(tensor_text(wide.get()) == "tensor(1., dtype=f64, requires_grad=True)");
  }

  TEST_CASE("F-327: every tensor has a text, an undefined one too") {
    CHECK(tensor_text(nullptr) == "tensor(<undefined>)");
    const TensorRef shape = make_shape_only(*make_empty(TENON_F64, Values{2, 3}));
    CHECK(tensor_text(shape.get()) == "tensor(..., size=(2, 3), dtype=f64)");
    CHECK(tensor_text(make_shape_only(*make_empty(TENON_F32, Values{4})).get()) ==
          "tensor(..., size=(4,))");
    CHECK(tensor_text(make_shape_only(*make_empty(TENON_F32, {})).get()) == "tensor(..., size=())");
  }

  TEST_CASE("lines end before 80 characters, and continue under the first element") {
    CHECK(tensor_text(counting<float>({30}).get()) ==
          "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
          "        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,\n"
          "        28., 29.])");
    const TensorRef tensor = counting<float>({14});
    tensor->view.flags |= TENON_TENSOR_REQUIRES_GRAD;
    CHECK(tensor_text(tensor.get()) ==
          "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.],\n"
          "       requires_grad=True)");
  }

  TEST_CASE("complex numbers show both parts, each in the style of its kind") {
    const TensorRef parts = tensor_of<float>({2, 4}, {1, 2, -3, 4.5, 0, -1, 100, 0});
    const Values shape{2, 2}, strides{2, 1};
    CHECK(tensor_text(make_alias_as(*parts, TENON_C64, shape, strides, 0).get()) ==
          "tensor([[  1.+2.0000j,  -3.+4.5000j],\n"
          "        [  0.-1.0000j, 100.+0.0000j]])");
    CHECK(tensor_text(make_empty(TENON_C128, Values{0}).get()) == "tensor([], dtype=c128)");
  }

  TEST_CASE("higher ranks part their blocks with empty lines") {
    CHECK(tensor_text(counting<int64_t>({2, 2, 2}).get()) ==
          "tensor([[[0, 1],\n"
          "         [2, 3]],\n"
          "\n"
          "        [[4, 5],\n"
          "         [6, 7]]])");
    CHECK(tensor_text(counting<int64_t>({1, 2, 1, 1}).get()) ==
          "tensor([[[[0]],\n"
          "\n"
          "         [[1]]]])");
  }

  TEST_CASE("more than 1000 elements are summarized to three at each edge") {
    CHECK(tensor_text(counting<int64_t>({1001}).get()) ==
          "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
    CHECK(tensor_text(counting<float>({2000}).get()) ==
          "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n"
          "        1.9990e+03])");
    CHECK(tensor_text(counting<int64_t>({100, 100}).get()) ==
          "tensor([[   0,    1,    2,  ...,   97,   98,   99],\n"
          "        [ 100,  101,  102,  ...,  197,  198,  199],\n"
          "        [ 200,  201,  202,  ...,  297,  298,  299],\n"
          "        ...,\n"
          "        [9700, 9701, 9702,  ..., 9797, 9798, 9799],\n"
          "        [9800, 9801, 9802,  ..., 9897, 9898, 9899],\n"
          "        [9900, 9901, 9902,  ..., 9997, 9998, 9999]])");
    // Few of a dimension are all shown.
    CHECK(tensor_text(counting<int64_t>({2, 600}).get()) ==
          "tensor([[   0,    1,    2,  ...,  597,  598,  599],\n"
          "        [ 600,  601,  602,  ..., 1197, 1198, 1199]])");
  }

  TEST_CASE("views print their own elements") {
    const TensorRef base = counting<int64_t>({2, 3});
    CHECK(tensor_text(make_alias(*base, Values{3, 2}, Values{1, 3}, 0).get()) ==
          "tensor([[0, 3],\n        [1, 4],\n        [2, 5]])");
    CHECK(tensor_text(make_alias(*base, Values{3}, Values{-1}, 5).get()) == "tensor([5, 4, 3])");
    CHECK(tensor_text(make_alias(*base, Values{2, 2}, Values{0, 1}, 0).get()) ==
          "tensor([[0, 1],\n        [0, 1]])");
  }
}

// Copies, fills and single elements.
#include "core/tensor/copy.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/tensor/convert.hpp"
#include "core/tensor/dtype.hpp"
#include "tests/support/core_tensors.hpp"

using namespace tenon::core;
using tenon::test::tensor_of;
using tenon::test::Values;
using tenon::test::values_of;

namespace {

#define TENON_CODE(name, code, ...) code,
constexpr tenon_dtype kReal[] = {TENON_COMPUTED_DTYPES(TENON_CODE) TENON_STORED_DTYPES(TENON_CODE)};
#undef TENON_CODE

std::string fault(auto&& body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.kind == TENON_ERROR_VALUE);
    return error.message;
  }
  return "";
}

template <class T>
TensorRef counting(const Values& shape) {
  TensorRef tensor = make_empty(dtype_of<T>(), shape);
  for (int64_t i = 0; i < tensor->view.count; ++i)
    static_cast<T*>(tensor->view.data)[i] = static_cast<T>(i);
  return tensor;
}

tenon_value integer(int64_t number) {
  tenon_value value{};
  value.tag = TENON_VALUE_INT;
  value.as.integer = number;
  return value;
}
tenon_value real(double number) {
  tenon_value value{};
  value.tag = TENON_VALUE_FLOAT;
  value.as.number = number;
  return value;
}

// The base's dimensions in another order.
TensorRef permuted(const Tensor& base, const std::vector<size_t>& order) {
  Values shape;
  Values strides;
  for (const size_t i : order) {
    shape.push_back(base.view.shape[i]);
    strides.push_back(base.view.strides[i]);
  }
  return make_alias(base, shape, strides, 0);
}

}  // namespace

TEST_SUITE("copy") {
  TEST_CASE("every real dtype copies to every other") {
    for (const tenon_dtype from : kReal) {
      const TensorRef source = make_empty(from, Values{37});
      for (const tenon_dtype to : kReal) {
        const TensorRef start = tensor_of<int64_t>({37}, [] {
          std::vector<int64_t> numbers(37);
          std::iota(numbers.begin(), numbers.end(), 0);
          return numbers;
        }());
        copy(*source, *start);
        const TensorRef destination = make_empty(to, Values{37});
        copy(*destination, *source);
        const TensorRef back = contiguous_copy(*destination, TENON_I64);
        const std::vector<int64_t> numbers = values_of<int64_t>(*back);
        const bool boolean = from == TENON_BOOL || to == TENON_BOOL;
        for (int64_t i = 0; i < 37; ++i) {
          CHECK(numbers[static_cast<size_t>(i)] == (boolean ? int64_t{i != 0} : i));
        }
      }
    }
  }

  TEST_CASE("real elements become complex ones, and complex ones keep both parts") {
    for (const tenon_dtype from : kReal) {
      const TensorRef source = make_empty(from, Values{2});
      copy(*source, *tensor_of<int64_t>({2}, {0, 1}));
      const TensorRef wide = contiguous_copy(*contiguous_copy(*source, TENON_C64), TENON_C128);
      const auto* elements = static_cast<const tenon_c128*>(wide->view.data);
      CHECK(elements[0].real == 0);
      CHECK(elements[1].real == 1);
      CHECK(elements[1].imag == 0);
    }
    const TensorRef parts = tensor_of<double>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    const Values shape{3, 2}, strides{2, 1}, turned{2, 3}, across{1, 2};
    const TensorRef whole = make_alias_as(*parts, TENON_C128, shape, strides, 0);
    // Transposed, narrowed and widened again.
    const TensorRef back = contiguous_copy(
        *contiguous_copy(*make_alias(*whole, turned, across, 0), TENON_C64), TENON_C128);
    const auto* elements = static_cast<const tenon_c128*>(back->view.data);
    CHECK(elements[1].real == 5);
    CHECK(elements[1].imag == 6);
    CHECK(elements[5].imag == 12);
    const TensorRef imag = make_alias_as(*whole, TENON_F64, shape, Values{4, 2}, 1);
    CHECK(values_of<double>(*contiguous_copy(*imag)) == std::vector<double>{2, 4, 6, 8, 10, 12});
    const TensorRef filled = make_zeros(TENON_C128, Values{2});
    fill(*filled, real(2.5));
    CHECK(static_cast<const tenon_c128*>(filled->view.data)[1].real == 2.5);
    CHECK(static_cast<const tenon_c128*>(filled->view.data)[1].imag == 0);
  }

  TEST_CASE("complex elements become bools, and no other real ones") {
    const TensorRef parts = tensor_of<float>({4}, {0, 1, 0, 0});
    const TensorRef source = make_alias_as(*parts, TENON_C64, Values{2}, Values{1}, 0);
    CHECK(values_of<bool>(*contiguous_copy(*source, TENON_BOOL)) == std::vector<bool>{true, false});
    for (const tenon_dtype to : kReal) {
      if (to == TENON_BOOL) continue;
      CAPTURE(dtype_text(to));
      CHECK_THROWS_AS(contiguous_copy(*source, to), Error);
    }
    try {
      contiguous_copy(*make_empty(TENON_C64, Values{0}), TENON_F32);
      FAIL("converted");
    } catch (const Error& error) {
      CHECK(error.kind == TENON_ERROR_TYPE);
      CHECK(error.message ==
            "c64 elements cannot be converted to f32, which would drop their imaginary parts: take "
            "real(), imag() or abs() of the tensor first");
    }
    CHECK_THROWS_AS(item(*make_zeros(TENON_C64, {})), Error);
    CHECK_THROWS_AS(make_alias_as(*parts, TENON_C128, Values{1}, Values{1}, 0), Error);
    CHECK_THROWS_AS(make_alias_as(*parts, TENON_C64, Values{3}, Values{1}, 0), Error);
  }

  TEST_CASE("floats become integers by truncation, stop at the ends, and NaN is 0") {
    const double infinity = std::numeric_limits<double>::infinity();
    const TensorRef source =
        tensor_of<double>({12}, {1.9, -1.9, 300, -300, 1e30, -1e30, infinity, -infinity,
                                 std::nan(""), 2147483647.0, 9.3e18, -0.5});
    CHECK(values_of<int8_t>(*contiguous_copy(*source, TENON_I8)) ==
          std::vector<int8_t>{1, -1, 127, -128, 127, -128, 127, -128, 0, 127, 127, 0});
    CHECK(values_of<uint8_t>(*contiguous_copy(*source, TENON_U8)) ==
          std::vector<uint8_t>{1, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 0});
    CHECK(values_of<int32_t>(*contiguous_copy(*source, TENON_I32)) ==
          std::vector<int32_t>{1, -1, 300, -300, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0,
                               INT32_MAX, INT32_MAX, 0});
    CHECK(values_of<int64_t>(*contiguous_copy(*source, TENON_I64)) ==
          std::vector<int64_t>{1, -1, 300, -300, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 0,
                               2147483647, INT64_MAX, 0});
    const TensorRef single = contiguous_copy(*source, TENON_F32);
    CHECK(values_of<int32_t>(*contiguous_copy(*single, TENON_I32)) ==
          std::vector<int32_t>{1, -1, 300, -300, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0,
                               INT32_MAX, INT32_MAX, 0});
    CHECK(values_of<int16_t>(*contiguous_copy(*single, TENON_I16))[4] == INT16_MAX);
    CHECK(values_of<bool>(*contiguous_copy(*source, TENON_BOOL)) == std::vector<bool>(12, true));
  }

  TEST_CASE("integers wrap, and any non-zero byte is true") {
    const TensorRef source = tensor_of<int32_t>({3}, {256, -1, 128});
    CHECK(values_of<uint8_t>(*contiguous_copy(*source, TENON_U8)) ==
          std::vector<uint8_t>{0, 255, 128});
    CHECK(values_of<int8_t>(*contiguous_copy(*source, TENON_I8)) ==
          std::vector<int8_t>{0, -1, -128});
    const TensorRef truth = make_empty(TENON_BOOL, Values{2});
    std::memcpy(truth->view.data, "\x02\x00", 2);
    CHECK(values_of<float>(*contiguous_copy(*truth, TENON_F32)) == std::vector<float>{1, 0});
  }

  TEST_CASE("the source is broadcast to the destination") {
    const TensorRef row = tensor_of<float>({3}, {1, 2, 3});
    const TensorRef column = tensor_of<int32_t>({2, 1}, {10, 20});
    const TensorRef destination = make_empty(TENON_F32, Values{2, 3});
    copy(*destination, *row);
    CHECK(values_of<float>(*destination) == std::vector<float>{1, 2, 3, 1, 2, 3});
    copy(*destination, *column);
    CHECK(values_of<float>(*destination) == std::vector<float>{10, 10, 10, 20, 20, 20});
    copy(*destination, *tensor_of<float>({}, {7}));
    CHECK(values_of<float>(*destination) == std::vector<float>(6, 7));
    CHECK(fault([&] {
            copy(*destination, *tensor_of<float>({2}, {1, 2}));
          }) ==
          "cannot copy: the source's shape [2] cannot be expanded to [2, 3]: sizes 2 and 3 differ "
          "at dimension 1");
    CHECK(fault([&] { copy(*row, *destination); }) != "");
  }

  TEST_CASE("random layouts give what a plain loop gives") {
    std::mt19937 random(1);
    const int32_t threads = thread_count();
    set_thread_count(3);
    for (int round = 0; round < 300; ++round) {
      const size_t rank = random() % 4 + 1;
      Values shape(rank);
      const int64_t most = rank == 1 ? 200 : rank == 2 ? 90 : 20;
      for (int64_t& size : shape) size = static_cast<int64_t>(random()) % most + 1;
      const tenon_dtype from = kReal[random() % std::size(kReal)];
      const tenon_dtype to = kReal[random() % std::size(kReal)];

      // Both sides: permuted, with a gap of every second element, or backwards.
      const auto make = [&](tenon_dtype dtype) {
        std::vector<size_t> order(rank);
        std::iota(order.begin(), order.end(), size_t{0});
        std::shuffle(order.begin(), order.end(), random);
        Values outer(rank);
        for (size_t i = 0; i < rank; ++i) outer[order[i]] = shape[order[i]];
        Values memory;
        for (const size_t i : order) memory.push_back(shape[i]);
        const bool gaps = random() % 4 == 0;
        if (gaps) memory.back() *= 2;
        TensorRef base = make_empty(dtype, memory);
        Values strides(rank);
        for (size_t i = 0; i < rank; ++i) strides[order[i]] = base->view.strides[i];
        if (gaps) strides[order.back()] = 2;
        int64_t offset = 0;
        if (random() % 4 == 0) {
          const size_t i = random() % rank;
          offset = (shape[i] - 1) * strides[i];
          strides[i] = -strides[i];
        }
        return make_alias(*base, shape, strides, offset);
      };
      const TensorRef source = make(from);
      const TensorRef destination = make(to);
      int64_t count = source->view.count;
      std::vector<int64_t> numbers(static_cast<size_t>(count));
      for (int64_t& number : numbers) number = static_cast<int64_t>(random() % 100);
      copy(*source, *tensor_of<int64_t>(shape, numbers));
      copy(*destination, *source);
      for (int64_t& number : numbers) {
        if (from == TENON_BOOL || to == TENON_BOOL) number = number != 0;
      }
      REQUIRE(values_of<int64_t>(*contiguous_copy(*destination, TENON_I64)) == numbers);
      visit_dtype(to, [&](auto type) {
        using T = typename decltype(type)::type;
        const std::vector<T> values = values_of<T>(*destination);
        if constexpr (!is_complex<T>) {
          for (size_t i = 0; i < numbers.size(); ++i)
            REQUIRE(convert<int64_t, T>(static_cast<Stored<T>>(values[i])) == numbers[i]);
        }
      });
    }
    set_thread_count(threads);
  }

  TEST_CASE("large transposes are exact for every width, also where tiles do not fit") {
    for (const tenon_dtype dtype : {TENON_U8, TENON_I16, TENON_F32, TENON_F64, TENON_C128}) {
      for (const Values& shape : {Values{1024, 2048}, Values{1030, 2051}}) {
        const TensorRef base = make_empty(dtype, shape);
        copy(*base, *counting<int64_t>(shape));
        const TensorRef result = contiguous_copy(*permuted(*base, {1, 0}));
        bool right = true;
        visit_dtype(dtype, [&](auto type) {
          using T = typename decltype(type)::type;
          const auto* from = static_cast<const Stored<T>*>(base->view.data);
          const auto* to = static_cast<const Stored<T>*>(result->view.data);
          for (int64_t i = 0; i < shape[0]; ++i) {
            for (int64_t j = 0; j < shape[1]; ++j)
              right = right &&
                      std::memcmp(&to[j * shape[0] + i], &from[i * shape[1] + j], sizeof(*to)) == 0;
          }
        });
        CHECK(right);
      }
    }
  }

  TEST_CASE("batches of transposes, and narrow ones") {
    const TensorRef batch = counting<float>({3, 20, 30});
    const TensorRef swapped = contiguous_copy(*permuted(*batch, {0, 2, 1}));
    CHECK(values_of<float>(*swapped) == values_of<float>(*permuted(*batch, {0, 2, 1})));
    const TensorRef narrow = counting<float>({3, 1000});
    CHECK(values_of<float>(*contiguous_copy(*permuted(*narrow, {1, 0}))) ==
          values_of<float>(*permuted(*narrow, {1, 0})));
  }

  TEST_CASE("memory that both sides share is copied as if it were apart") {
    const TensorRef memory = counting<float>({10});
    const TensorRef low = make_alias(*memory, Values{8}, Values{1}, 0);
    const TensorRef high = make_alias(*memory, Values{8}, Values{1}, 2);
    copy(*high, *low);
    CHECK(values_of<float>(*memory) == std::vector<float>{0, 1, 0, 1, 2, 3, 4, 5, 6, 7});

    const TensorRef square = counting<float>({40, 40});
    const std::vector<float> expected = values_of<float>(*permuted(*square, {1, 0}));
    copy(*square, *permuted(*square, {1, 0}));
    CHECK(values_of<float>(*square) == expected);
    copy(*square, *square);
    CHECK(values_of<float>(*square) == expected);

    const TensorRef row = make_alias(*memory, Values{1}, Values{1}, 3);
    copy(*memory, *row);
    CHECK(values_of<float>(*memory) == std::vector<float>(10, 1));
  }

  TEST_CASE("a copy raises the destination's version, a contiguous copy starts at 0") {
    const TensorRef a = counting<float>({4});
    const TensorRef b = counting<float>({4});
    copy(*a, *b);
    CHECK(a->version() == 1);
    CHECK(b->version() == 0);
    fill(*a, integer(1));
    CHECK(a->version() == 2);
    CHECK(contiguous_copy(*a)->version() == 0);
  }

  TEST_CASE("tensors without elements copy and fill") {
    const TensorRef empty = make_empty(TENON_F32, Values{0, 3});
    copy(*empty, *make_empty(TENON_I64, Values{1, 3}));
    fill(*empty, real(1));
    CHECK(contiguous_copy(*empty, TENON_U8)->view.count == 0);
    CHECK(fault([&] { copy(*empty, *make_empty(TENON_F32, Values{2, 3})); }) != "");
  }

  TEST_CASE("destinations that cannot be written to are refused") {
    const TensorRef tensor = counting<float>({2, 3});
    const TensorRef expanded = make_alias(*tensor, Values{4, 3}, Values{0, 1}, 0);
    CHECK(fault([&] { copy(*expanded, *tensor_of<float>({}, {1})); }) ==
          "cannot copy into an expanded tensor of shape [4, 3]: dimension 0 holds one element in "
          "several places; "
          "copy it first");
    const TensorRef shape = make_shape_only(*tensor);
    CHECK(fault([&] { fill(*shape, real(1)); }) ==
          "cannot fill a tensor that has a shape but no data: [2, 3]");
    CHECK(fault([&] { copy(*tensor, *shape); }) != "");
    CHECK(fault([&] { contiguous_copy(*shape); }) != "");
    tensor->view.flags |= TENON_TENSOR_READ_ONLY;
    CHECK(fault([&] { fill(*tensor, real(1)); }) ==
          "cannot fill a read-only tensor of shape [2, 3]: copy it first");
    CHECK(tensor->version() == 0);
  }

  TEST_CASE("fills write each element of an expanded tensor") {
    const TensorRef tensor = counting<float>({2, 3});
    fill(*make_alias(*tensor, Values{4, 2}, Values{0, 2}, 1), real(7));
    CHECK(values_of<float>(*tensor) == std::vector<float>{0, 7, 2, 7, 4, 5});
  }

  TEST_CASE("fills convert the number, and reach every element of a view") {
    const TensorRef integers = counting<int8_t>({6});
    fill(*make_alias(*integers, Values{3}, Values{2}, 0), real(-3.7));
    CHECK(values_of<int8_t>(*integers) == std::vector<int8_t>{-3, 1, -3, 3, -3, 5});
    fill(*integers, real(127.9));
    CHECK(values_of<int8_t>(*integers) == std::vector<int8_t>(6, 127));
    CHECK(fault([&] {
            fill(*integers, real(1e9));
          }).find("does not fit i8, which holds -128 to 127") != std::string::npos);
    const TensorRef truth = make_empty(TENON_BOOL, Values{3});
    fill(*truth, integer(256));
    CHECK(values_of<bool>(*truth) == std::vector<bool>(3, true));
    const TensorRef wide = make_empty(TENON_I64, Values{2});
    fill(*wide, integer(INT64_MAX));
    CHECK(values_of<int64_t>(*wide) == std::vector<int64_t>(2, INT64_MAX));
    const TensorRef large = make_empty(TENON_F32, Values{1000, 1001});
    fill(*permuted(*large, {1, 0}), real(0.5));
    CHECK(values_of<float>(*large) == std::vector<float>(1001000, 0.5F));
    tenon_value text{};
    text.tag = TENON_VALUE_STRING;
    CHECK_THROWS_AS(fill(*large, text), Error);
  }

  TEST_CASE("fills refuse what unsigned integers do not hold") {
    const TensorRef small = make_empty(TENON_U16, Values{2});
    CHECK(fault([&] { fill(*small, integer(-1)); }) ==
          "the number -1 does not fit u16, which holds 0 to 65535");
    CHECK(fault([&] { fill(*small, real(65536)); }) ==
          "the number 65536.0 does not fit u16, which holds 0 to 65535");
    fill(*small, integer(65535));
    CHECK(values_of<uint16_t>(*small) == std::vector<uint16_t>{65535, 65535});
    const TensorRef half = make_empty(TENON_BF16, Values{1});
    fill(*half, real(1e300));
    CHECK(values_of<float>(*contiguous_copy(*half, TENON_F32))[0] ==
          std::numeric_limits<float>::infinity());
  }

  TEST_CASE("a single element is read as its kind of number") {
    CHECK(item(*tensor_of<float>({1, 1}, {2.5F})).as.number == 2.5);
    CHECK(item(*tensor_of<float>({}, {2.5F})).tag == TENON_VALUE_FLOAT);
    CHECK(item(*tensor_of<uint8_t>({}, {200})).as.integer == 200);
    CHECK(item(*tensor_of<int64_t>({}, {INT64_MIN})).tag == TENON_VALUE_INT);
    CHECK(item(*tensor_of<tenon_f16>({}, {{0x3555}})).as.number == 0.333251953125);
    CHECK(item(*tensor_of<uint64_t>({}, {INT64_MAX})).as.integer == INT64_MAX);
    CHECK(fault([] { item(*tensor_of<uint64_t>({}, {UINT64_MAX})); }) ==
          "item(): the number 18446744073709551615 does not fit i64; convert the tensor with to(), "
          "to f64 for example");
    CHECK(item(*tensor_of<bool>({}, {true})).tag == TENON_VALUE_BOOL);
    CHECK(item(*tensor_of<bool>({}, {true})).as.integer == 1);
    CHECK(fault([] {
            item(*counting<float>({2, 3}));
          }) == "item() needs a tensor of one element, this one has shape [2, 3]");
    CHECK(fault([] { item(*make_empty(TENON_F32, Values{0})); }) != "");
    CHECK(fault([] { item(*make_shape_only(*make_empty(TENON_F32, Values{1}))); }) != "");
  }
}

// The loops that the kernel kit makes from one lambda, called as the host calls them.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/in_place.hpp>

namespace {

using namespace tenon;

struct Add {
  static constexpr auto schema =
      "add(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha=1, Tensor(a!)? out=None) -> "
      "Tensor";
  static constexpr auto element = [](auto a, auto b, auto alpha) { return a + alpha * b; };
};
using Add_ = InPlace<Add>;
struct Costly {
  static constexpr auto schema = "costly(Tensor input) -> Tensor";
  static constexpr auto promotion = promote_float;
  static constexpr auto element = [](auto x) { return x * x + 1; };
};
struct Less {
  static constexpr auto schema = "less(Tensor|Scalar input, Tensor|Scalar other) -> Tensor";
  static constexpr auto promotion = promote_compare;
  static constexpr auto element = [](auto a, auto b) { return a < b; };
};
struct Choose {
  static constexpr auto schema =
      "choose(Tensor condition, Tensor|Scalar input, Tensor|Scalar other) -> Tensor";
  static constexpr auto promotion = promote_condition;
  static constexpr auto element = [](bool condition, auto a, auto b) { return condition ? a : b; };
};

bool machine_has(uint32_t isa) { return isa <= kernel::machine_isa(); }

template <class Kernel, class T>
tenon_loop loop_of(uint32_t isa) {
  return detail::ElementwiseOf<Kernel>::value
      .loops[detail::loop_index(isa, static_cast<size_t>(dtype_of<T>()))];
}

// Memory for one row of `count` elements `stride` elements apart, in either direction.
template <class T>
struct TestRow {
  TestRow(int64_t count, int64_t elements_apart)
      : stride(elements_apart),
        memory(static_cast<size_t>(std::abs(stride) * (count - 1) + 1) * sizeof(T), '\x55') {
    first =
        memory.data() + (stride < 0 ? (count - 1) * -stride * static_cast<int64_t>(sizeof(T)) : 0);
  }
  T get(int64_t i) const {
    T value;
    std::memcpy(&value, first + i * bytes(), sizeof(T));
    return value;
  }
  void set(int64_t i, T value) { std::memcpy(first + i * bytes(), &value, sizeof(T)); }
  int64_t bytes() const { return stride * static_cast<int64_t>(sizeof(T)); }
  int64_t stride;
  std::vector<char> memory;
  char* first;
};

constexpr int64_t counts[] = {1, 2, 15, 16, 17, 63, 64, 65, 511, 512, 513, 1500};
constexpr int64_t input_strides[] = {1, 0, 3, -1, -2};
constexpr int64_t output_strides[] = {1, 2, -1};

// Runs every loop of `Kernel` for `T` over rows of all strides, against `expected(a, b)`.
template <class Kernel, class T, class Out, class Expected>
void check_binary(const std::vector<tenon_value>& parameters, const Expected& expected) {
  for (uint32_t isa = 0; isa < TENON_ISA_COUNT; ++isa) {
    const tenon_loop loop = loop_of<Kernel, T>(isa);
    if (loop == nullptr || !machine_has(isa)) continue;
    for (const int64_t count : counts) {
      for (const int64_t a_stride : input_strides) {
        for (const int64_t b_stride : input_strides) {
          for (const int64_t out_stride : output_strides) {
            TestRow<T> a(count, a_stride), b(count, b_stride);
            TestRow<Out> out(count, out_stride);
            for (int64_t i = 0; i < count; ++i) {
              a.set(i, static_cast<T>(i % 50));
              b.set(i, static_cast<T>((i * 7) % 41));
            }
            char* data[] = {out.first, a.first, b.first};
            const int64_t strides[] = {out.bytes(), a.bytes(), b.bytes()};
            loop(data, strides, count, parameters.data());
            int64_t wrong = 0;
            for (int64_t i = 0; i < count; ++i) wrong += out.get(i) != expected(a.get(i), b.get(i));
            INFO("isa ", isa, ", ", count, " elements, strides ", out_stride, " ", a_stride, " ",
                 b_stride);
            CHECK(wrong == 0);
          }
        }
      }
    }
  }
}

}  // namespace

TEST_SUITE("elementwise") {
  TEST_CASE("rows of any strides give what the lambda gives, for every dtype and instruction set") {
    const std::vector<tenon_value> alpha = {Scalar(2).value()};
    check_binary<Add, float, float>(alpha, [](float a, float b) { return a + 2 * b; });
    check_binary<Add, double, double>(alpha, [](double a, double b) { return a + 2 * b; });
    check_binary<Add, int64_t, int64_t>(alpha, [](int64_t a, int64_t b) { return a + 2 * b; });
    check_binary<Add, int32_t, int32_t>(alpha, [](int32_t a, int32_t b) { return a + 2 * b; });
    check_binary<Add, int16_t, int16_t>(
        alpha, [](int a, int b) { return static_cast<int16_t>(a + 2 * b); });
    check_binary<Add, uint8_t, uint8_t>(
        alpha, [](int a, int b) { return static_cast<uint8_t>(a + 2 * b); });
  }

  TEST_CASE("comparisons write bools whatever they compare") {
    check_binary<Less, float, bool>({Scalar(0).value()}, [](float a, float b) { return a < b; });
    check_binary<Less, double, bool>({Scalar(0).value()}, [](double a, double b) { return a < b; });
    check_binary<Less, int8_t, bool>({Scalar(0).value()}, [](int8_t a, int8_t b) { return a < b; });
  }

  TEST_CASE("the in-place form shares the loops of the other") {
    CHECK(detail::ElementwiseOf<Add>::value.loops == detail::ElementwiseOf<Add_>::value.loops);
    CHECK(detail::count_schema(Add_::schema).operands == 2);
    std::vector<float> a(100, 1), b(100, 3);
    char* data[] = {reinterpret_cast<char*>(a.data()), reinterpret_cast<char*>(a.data()),
                    reinterpret_cast<char*>(b.data())};
    const int64_t strides[] = {4, 4, 4};
    const tenon_value alpha = Scalar(0.5).value();
    loop_of<Add_, float>(TENON_ISA_BASELINE)(data, strides, 100, &alpha);
    CHECK(a == std::vector<float>(100, 2.5f));
  }

  TEST_CASE("costly elements run in full registers and never write past the row") {
    for (uint32_t isa = 0; isa < TENON_ISA_COUNT; ++isa) {
      if (!machine_has(isa)) continue;
      const tenon_loop loop = loop_of<Costly, float>(isa);
      REQUIRE((loop != nullptr));
      for (int64_t count = 1; count < 70; ++count) {
        std::vector<float> in(static_cast<size_t>(count), 3),
            out(static_cast<size_t>(count) + 1, -1);
        char* data[] = {reinterpret_cast<char*>(out.data()), reinterpret_cast<char*>(in.data())};
        const int64_t strides[] = {4, 4};
        loop(data, strides, count, nullptr);
        std::vector<float> expected(static_cast<size_t>(count), 10);
        expected.push_back(-1);
        CHECK(out == expected);
      }
    }
  }

  TEST_CASE("the condition is any byte that is not 0, beside numbers of any width") {
    const std::vector<uint8_t> condition = {0, 1, 2, 0x80, 0xff, 0};
    const std::vector<double> a = {1, 2, 3, 4, 5, 6};
    const double b = -1;
    std::vector<double> out(6);
    for (uint32_t isa = 0; isa < TENON_ISA_COUNT; ++isa) {
      if (!machine_has(isa)) continue;
      char* data[] = {reinterpret_cast<char*>(out.data()),
                      const_cast<char*>(reinterpret_cast<const char*>(condition.data())),
                      const_cast<char*>(reinterpret_cast<const char*>(a.data())),
                      const_cast<char*>(reinterpret_cast<const char*>(&b))};
      const int64_t strides[] = {8, 1, 8, 0};
      loop_of<Choose, double>(isa)(data, strides, 6, nullptr);
      CHECK(out == std::vector<double>{-1, 2, 3, 4, 5, -1});
    }
  }

  TEST_CASE("ops of promote_float have loops for floating dtypes alone") {
    CHECK((loop_of<Costly, int64_t>(TENON_ISA_BASELINE) == nullptr));
    CHECK((loop_of<Costly, double>(TENON_ISA_BASELINE) != nullptr));
    CHECK((loop_of<Add, bool>(TENON_ISA_BASELINE) != nullptr));
  }
}

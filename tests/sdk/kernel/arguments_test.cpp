// Kernels and their arguments: shapes, dtypes, checks, views and rows.
#include <atomic>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/kernel/check.hpp>
#include <tenon/kernel/rows.hpp>
#include <tenon/kernel/shape.hpp>
#include <tenon/kernel/view.hpp>
#include <tenon/kernel/visit.hpp>
#include <tenon/tenon.hpp>

namespace {

using namespace tenon;
using kernel::Shape;

Shape shape_of(std::initializer_list<int64_t> sizes) {
  return Shape(IntList(sizes.begin(), static_cast<int64_t>(sizes.size())));
}

}  // namespace

TEST_SUITE("kernel/arguments") {
  TEST_CASE("a shape grows, shrinks and prints without the heap") {
    Shape shape = shape_of({2, 3});
    shape.push(4);
    shape.insert(1, 7);
    CHECK(kernel::shape_text(shape) == "[2, 7, 3, 4]");
    shape.erase(0);
    CHECK(kernel::same_shape(shape, shape_of({7, 3, 4})));
    CHECK(!kernel::same_shape(shape, shape_of({7, 3})));
    CHECK(kernel::count_elements(shape) == 84);
    CHECK(kernel::shape_text(kernel::row_major_strides(shape_of({2, 0, 3}))) == "[3, 3, 1]");
    CHECK(kernel::shape_text(Shape()) == "[]");
  }

  TEST_CASE("dimensions count from both ends") {
    CHECK(kernel::wrap_dimension("op", -1, 3) == 2);
    CHECK(kernel::wrap_dimension("op", -1, 0) == 0);
    CHECK(kernel::dimension_mask("op", shape_of({0, -1}), 3) == 5);
    CHECK_THROWS_WITH_AS(kernel::wrap_dimension("op", 3, 3),
                         "op(): dimension 3 is out of range for a tensor of 3 dimensions "
                         "(expected -3 to 2)",
                         IndexError);
  }

  TEST_CASE("visit compiles a body for a set of dtypes and refuses the others") {
    std::string seen;
    for (const DType dtype : {boolean, u8, i8, i16, i32, i64, f32, f64}) {
      kernel::visit<computed_dtypes>(dtype, [&](auto zero) {
        seen += std::to_string(sizeof(zero)) + (std::is_same_v<decltype(zero), bool> ? "!" : "");
      });
    }
    CHECK(seen == "11124848");
    // The body does not compile for integers.
    const auto floating = [](auto zero) {
      static_assert(std::is_floating_point_v<decltype(zero)>);
    };
    kernel::visit<floating_dtypes>(f64, floating);
    CHECK_THROWS_WITH_AS(kernel::visit<floating_dtypes>(i32, floating),
                         "the elements must be f32 or f64, got i32; convert the tensor with to()",
                         TypeError);
    CHECK_THROWS_AS(kernel::visit<computed_dtypes>(DType::none, [](auto) {}), TypeError);
    CHECK(kernel::dtypes_text(integer_dtypes) == "u8, i8, i16, i32 or i64");
  }

  TEST_CASE("checks name op, arguments, what was found and what was expected") {
    const Tensor a = empty_tensor({2, 3}), b = empty_tensor({3}, i64);
    kernel::check_floating("op", "a", a);
    kernel::check_same_shape("op", "a", a, "a", a);
    CHECK_THROWS_WITH_AS(kernel::check_floating("op", "b", b),
                         "op(): 'b' must be f32 or f64, got i64; convert it with to()", TypeError);
    CHECK_THROWS_WITH_AS(kernel::check_same_dtype("op", "a", a, "b", b),
                         "op(): 'a' is f32 but 'b' is i64; convert one with to()", TypeError);
    CHECK_THROWS_WITH_AS(kernel::check_shape("op", "a", a, shape_of({3, 2})),
                         "op(): 'a' must have shape [3, 2], got [2, 3]", ValueError);
    CHECK_THROWS_WITH_AS(kernel::check_same_shape("op", "a", a, "b", b),
                         "op(): 'a' of shape [2, 3] does not fit 'b' of shape [3]", ValueError);
    CHECK_THROWS_WITH_AS(kernel::check_rank("op", TENON_MAX_RANK + 1),
                         "op(): the result would have 17 dimensions, at most 16 are possible",
                         ValueError);
  }

  TEST_CASE("a view reads and writes elements of any strides") {
    const Tensor base = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
    const Tensor turned = alias_tensor(base, shape_of({3, 2}), shape_of({-1, 3}), 2);
    const kernel::View<float> view(turned);
    CHECK(view(0, 0) == 3);
    CHECK(view(2, 1) == 4);
    view(1, 1) = 50;
    CHECK(kernel::View<const float>(base)(1, 1) == 50);
    CHECK(view.size(0) == 3);
    CHECK(view.stride(0) == -1);
    CHECK(view.numel() == 6);
    CHECK_THROWS_WITH_AS(kernel::View<double>{base},
                         doctest::Contains("a view of f32 elements has another element type"),
                         TypeError);
    kernel::View<uint8_t>{empty_tensor({2}, boolean)};
  }

  TEST_CASE("rows are shared among threads, each once") {
    for (const int64_t elements : {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{1} << 40}) {
      std::vector<std::atomic<int>> seen(1000);
      kernel::for_rows(1000, elements, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      int wrong = 0;
      for (const auto& count : seen) wrong += count != 1;
      CHECK(wrong == 0);
      CHECK(kernel::row_grain(elements) >= 1);
    }
    const kernel::Lines lines(shape_of({2, 3, 5}), 1);
    CHECK(lines.outer == 2);
    CHECK(lines.size == 3);
    CHECK(lines.inner == 5);
  }
}

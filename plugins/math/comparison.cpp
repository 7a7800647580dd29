// Comparisons and questions about each element; the answers are bools without history.
#include <cmath>

#include <tenon/plugin.hpp>
#include <tenon/kernel/complex.hpp>
#include <tenon/ops.hpp>

namespace {

using namespace tenon;

// Whether `test` holds for a number, or for a part of a complex one.
template <class T, class Test>
auto any_part(const T& x, const Test& test) {
  if constexpr (is_complex_number<T>)
    return test(x.real()) || test(x.imag());
  else
    return test(x);
}

struct Comparison {
  static constexpr auto promotion = promote_compare;
  static constexpr bool zero_gradient = true;
};

struct Eq : Comparison {
  static constexpr auto schema =
      "eq(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Whether input equals other.";
  static constexpr uint32_t dtypes = computed_dtypes | complex_dtypes;
  static constexpr auto element = [](auto input, auto other) { return input == other; };
};

struct Ne : Comparison {
  static constexpr auto schema =
      "ne(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Whether input differs from other.";
  static constexpr uint32_t dtypes = computed_dtypes | complex_dtypes;
  static constexpr auto element = [](auto input, auto other) { return input != other; };
};

struct Lt : Comparison {
  static constexpr auto schema =
      "lt(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Whether input is below other.";
  static constexpr auto element = [](auto input, auto other) { return input < other; };
};

struct Le : Comparison {
  static constexpr auto schema =
      "le(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Whether input is at most other.";
  static constexpr auto element = [](auto input, auto other) { return input <= other; };
};

struct Gt : Comparison {
  static constexpr auto schema =
      "gt(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Whether input is above other.";
  static constexpr auto element = [](auto input, auto other) { return input > other; };
};

struct Ge : Comparison {
  static constexpr auto schema =
      "ge(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Whether input is at least other.";
  static constexpr auto element = [](auto input, auto other) { return input >= other; };
};

struct Isnan : Comparison {
  static constexpr auto schema = "isnan(Tensor input) -> Tensor";
  static constexpr auto doc = "Whether an element, or a part of a complex one, is not a number.";
  static constexpr uint32_t dtypes = computed_dtypes | complex_dtypes;
  static constexpr auto element = [](auto x) { return x != x; };
};

// inf - inf is NaN, all else minus itself is 0.
struct Isinf : Comparison {
  static constexpr auto schema = "isinf(Tensor input) -> Tensor";
  static constexpr auto doc = "Whether an element, or a part of a complex one, is infinite.";
  static constexpr uint32_t dtypes = computed_dtypes | complex_dtypes;
  static constexpr auto element = [](auto x) {
    return any_part(x, [](auto part) { return part == part && part - part != 0; });
  };
};

struct Isfinite : Comparison {
  static constexpr auto schema = "isfinite(Tensor input) -> Tensor";
  static constexpr auto doc =
      "Whether an element is neither infinite nor NaN; of a complex one both parts.";
  static constexpr uint32_t dtypes = computed_dtypes | complex_dtypes;
  static constexpr auto element = [](auto x) {
    return !any_part(x, [](auto part) { return part - part != 0; });
  };
};

}  // namespace

TENON_OPS(Isnan, Isinf, Isfinite)
TENON_OPS_WITH_IN_PLACE(Eq, Ne, Lt, Le, Gt, Ge)

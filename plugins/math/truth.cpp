// all, any and count_nonzero: NaN counts as true.
#include "reduction.hpp"

using namespace tenon;
using namespace math;

namespace {

template <size_t Size>
using Signed = std::conditional_t<
    Size == 1, int8_t,
    std::conditional_t<Size == 2, int16_t, std::conditional_t<Size == 4, int32_t, int64_t>>>;

// Integers of one width are zero alike, whatever their sign.
template <class T>
using Pattern = std::conditional_t<sizeof(T) == 1, uint8_t, T>;

// Whether some element is (Nonzero) or is not (otherwise) different from 0.
template <class T, bool Nonzero>
struct FindPolicy {
  using In = T;
  using Lane = Signed<sizeof(T)>;
  struct Total {
    bool found = false;
  };
  static constexpr int64_t block_elements = 1 << 16;
  static constexpr bool separates_nan = false;
  static constexpr Lane identity() { return 0; }
  template <class V, class X>
  TENON_INLINE static void step(V& lanes, const X& elements) {
    V found;
    if constexpr (Nonzero)
      kernel::convert(found, elements != 0);
    else
      kernel::convert(found, elements == 0);
    lanes |= found;
  }
  template <class V>
  TENON_INLINE static void join(V& lanes, const V& others) {
    lanes |= others;
  }
  TENON_INLINE static void add(Total& total, Lane lane) { total.found |= lane != 0; }
  static void merge(Total& total, const Total& other) { total.found |= other.found; }
};

template <class T>
struct CountPolicy {
  using In = T;
  using Lane = Signed<(sizeof(T) < 4 ? 4 : sizeof(T))>;
  using Total = int64_t;
  static constexpr int64_t block_elements = 1 << 16;
  static constexpr bool separates_nan = false;
  static constexpr Lane identity() { return 0; }
  template <class V, class X>
  TENON_INLINE static void step(V& lanes, const X& elements) {
    if constexpr (std::is_arithmetic_v<V>) {
      lanes += elements != 0;
    } else if constexpr (sizeof(T) < sizeof(Lane)) {
      V wide;
      kernel::convert(wide, elements);
      lanes -= wide != 0;
    } else {
      V mask;  // -1 where true
      kernel::convert(mask, elements != 0);
      lanes -= mask;
    }
  }
  template <class V>
  TENON_INLINE static void join(V& lanes, const V& others) {
    lanes += others;
  }
  TENON_INLINE static void add(Total& total, Lane lane) { total += lane; }
  static void merge(Total& total, const Total& other) { total += other; }
};

// Complex numbers as whether they are not 0.
Tensor truth_of(const Tensor& input) { return is_complex(input.dtype()) ? ne(input, 0) : input; }

template <bool Nonzero>
Tensor find(const char* op, const Tensor& given, std::optional<IntList> dim, bool keepdim) {
  const Tensor input = truth_of(given);
  const Reduction plan = plan_reduction(op, input, dim, keepdim);
  const Tensor result = empty_tensor(plan.shape, boolean);
  bool* to = result.data<bool>();
  kernel::visit<computed_dtypes>(input.dtype(), [&](auto zero) {
    using Kernel = kernel::LaneKernel<FindPolicy<Pattern<decltype(zero)>, Nonzero>>;
    kernel::reduce<Kernel>(input, plan, [=](int64_t at, const typename Kernel::Total& total) {
      to[at] = total.found == Nonzero;
    });
  });
  return result;
}

struct All {
  static constexpr auto schema =
      "all(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Whether every element is true (not 0); true where there is none.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
    return find<false>("all", input, dim, keepdim);
  }
};

struct Any {
  static constexpr auto schema =
      "any(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Whether some element is true (not 0); false where there is none.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
    return find<true>("any", input, dim, keepdim);
  }
};

struct CountNonzero {
  static constexpr auto schema =
      "count_nonzero(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor";
  static constexpr auto doc =
      "The number of elements that are not 0, over the given dimensions or over all: i64.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Tensor& given, std::optional<IntList> dim, bool keepdim) {
    const Tensor input = truth_of(given);
    const Reduction plan = plan_reduction("count_nonzero", input, dim, keepdim);
    const Tensor result = empty_tensor(plan.shape, i64);
    auto* to = result.data<int64_t>();
    kernel::visit<computed_dtypes>(input.dtype(), [&](auto zero) {
      using Kernel = kernel::LaneKernel<CountPolicy<Pattern<decltype(zero)>>>;
      kernel::reduce<Kernel>(input, plan, [=](int64_t at, int64_t total) { to[at] = total; });
    });
    return result;
  }
};

}  // namespace

TENON_OPS(All, Any, CountNonzero)

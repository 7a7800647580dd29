// Logic of truth values (anything that is not 0 is true) and of the bits of integers.
#include <tenon/plugin.hpp>
#include <tenon/kernel/complex.hpp>
#include <tenon/ops.hpp>

namespace {

using namespace tenon;

template <class T>
bool is_true(T x) {
  return x != T{};
}

struct Logical {
  static constexpr auto promotion = promote_compare;
  static constexpr uint32_t dtypes = computed_dtypes | complex_dtypes;
  static constexpr bool zero_gradient = true;
};

struct LogicalAnd : Logical {
  static constexpr auto schema =
      "logical_and(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Whether both input and other are true.";
  static constexpr auto element = [](auto input, auto other) {
    const bool a = is_true(input), b = is_true(other);
    return a & b;
  };
};

struct LogicalOr : Logical {
  static constexpr auto schema =
      "logical_or(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Whether input or other is true, or both.";
  static constexpr auto element = [](auto input, auto other) {
    const bool a = is_true(input), b = is_true(other);
    return a | b;
  };
};

struct LogicalXor : Logical {
  static constexpr auto schema =
      "logical_xor(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Whether exactly one of input and other is true.";
  static constexpr auto element = [](auto input, auto other) {
    return is_true(input) != is_true(other);
  };
};

struct LogicalNot : Logical {
  static constexpr auto schema = "logical_not(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "Whether an element is 0.";
  static constexpr auto element = [](auto x) { return !is_true(x); };
};

struct Bitwise {
  static constexpr uint32_t dtypes = integer_dtypes | bool_dtype;
  static constexpr bool zero_gradient = true;
};

struct BitwiseAnd : Bitwise {
  static constexpr auto schema =
      "bitwise_and(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The bits that both input and other have.";
  static constexpr auto element = [](auto input, auto other) { return input & other; };
};

struct BitwiseOr : Bitwise {
  static constexpr auto schema =
      "bitwise_or(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The bits that input or other has.";
  static constexpr auto element = [](auto input, auto other) { return input | other; };
};

struct BitwiseXor : Bitwise {
  static constexpr auto schema =
      "bitwise_xor(Tensor|Scalar input, Tensor|Scalar other, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "The bits in which input and other differ.";
  static constexpr auto element = [](auto input, auto other) { return input ^ other; };
};

struct BitwiseNot : Bitwise {
  static constexpr auto schema = "bitwise_not(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc = "All bits turned over; of a bool, its opposite.";
  static constexpr auto element = [](auto x) {
    if constexpr (std::is_same_v<decltype(x), bool>)
      return !x;
    else
      return ~x;
  };
};

}  // namespace

TENON_OPS_WITH_IN_PLACE(LogicalAnd, LogicalOr, LogicalXor, LogicalNot, BitwiseAnd, BitwiseOr,
                        BitwiseXor, BitwiseNot)

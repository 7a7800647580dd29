// Elementwise ops: functions of one and two operands, comparisons, changes in place, where, fills. Every
// op of the tables runs in one kernel for each number of operands, which selects it for each run of
// elements; chains.cpp compiles those that are called often.
#include "opencl/elementwise.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "opencl/chains.hpp"
#include "opencl/operands.hpp"

namespace tenon_opencl {

namespace {

using tenon::Argument;
using tenon::Results;
using tenon::Scalar;

// ---- the source ----

// The rows of all tables.
enum Row {
#define ROW(kernel, ...) row_##kernel,
  OPENCL_UNARY_OPS(ROW) OPENCL_UNARY_NUMBER_OPS(ROW) OPENCL_UNARY_NUMBERS_OPS(ROW)
      OPENCL_TEST_OPS(ROW) OPENCL_TEST_ELEMENT_OPS(ROW) OPENCL_BINARY_OPS(ROW)
          OPENCL_BINARY_NUMBER_OPS(ROW) OPENCL_SCALED_OPS(ROW) OPENCL_COMPARE_OPS(ROW)
#undef ROW
              row_count
};

struct Text {
  const char* name;
  const char* expression;
};
constexpr Text kRows[] = {
#define ROW_OF_OP(kernel, in_place, op, expression) {#kernel, expression},
#define ROW_OF_TEST(kernel, op, expression) {#kernel, expression},
#define ROW_OF_OPERANDS(kernel, in_place, op, operands, expression) {#kernel, expression},
#define ROW_OF_NUMBERS(kernel, op, numbers, expression) {#kernel, expression},
    OPENCL_UNARY_OPS(ROW_OF_OP) OPENCL_UNARY_NUMBER_OPS(ROW_OF_OP)
        OPENCL_UNARY_NUMBERS_OPS(ROW_OF_NUMBERS) OPENCL_TEST_OPS(ROW_OF_TEST)
            OPENCL_TEST_ELEMENT_OPS(ROW_OF_TEST) OPENCL_BINARY_OPS(ROW_OF_OPERANDS)
                OPENCL_BINARY_NUMBER_OPS(ROW_OF_OPERANDS) OPENCL_SCALED_OPS(ROW_OF_OPERANDS)
                    OPENCL_COMPARE_OPS(ROW_OF_TEST)
#undef ROW_OF_OP
#undef ROW_OF_TEST
#undef ROW_OF_OPERANDS
#undef ROW_OF_NUMBERS
};

bool floats(DType type) { return type == tenon::f32 || type == tenon::f64; }

// Functions that expressions call.
const char* helpers(DType type) {
  return floats(type) ? R"(
#define LARGER(x, y) ((isnan(x) | isnan(y)) ? (VT)(NAN) : fmax(x, y))
#define SMALLER(x, y) ((isnan(x) | isnan(y)) ? (VT)(NAN) : fmin(x, y))
static VT sigmoid_slope(VT g, VT decay) {
  const VT share = decay / (K(1.0) + decay);
  return g * (share * (K(1.0) - share));
}
static VT gelu_slope(VT x) {
  const VT near = clamp(x, K(-40.0), K(40.0));
  return K(0.5) * erfc(x * K(-0.70710678118654752)) + near * (K(0.39894228040143268) * exp(K(-0.5) * near * near));
}
// PoCL 3.1 has another sine for a tiny number where a large one is in the same vector.
#define EACH_BY(f)                                                      \
  static VT each_##f(VT x) {                                            \
    const VI near = fabs(x) < K(10000.0);                               \
    const VT small = f(near ? x : K(0.0));                              \
    if (all(near)) return small;                                        \
    return near ? small : f(x);                     \
  }
EACH_BY(sin)
EACH_BY(cos)
EACH_BY(tan)
// PoCL 3.1 takes exponents from other lanes of an f64 vector where one has 0, a subnormal number, infinity or NaN.
static VT each_pow(VT x, VT y) {
  const VI plain = isnormal(x);
  if (sizeof(T) < 8 || all(plain)) return pow(x, y);
  T a[V], b[V], r[V];
  STORE(x, 0, a);
  STORE(y, 0, b);
  for (int k = 0; k < V; ++k) r[k] = pow(a[k], b[k]);
  return LOAD(0, r);
}
// The rest without the difference from 1; 1 where it is infinity times 0.
static VT silu_slope(VT x, VT power) {
  const VT s = K(1.0) / (K(1.0) + power), product = power * s;
  return s * (K(1.0) + x * (product < K(1.0) ? product : K(1.0)));
}
)"
                      : R"(
#define LARGER(x, y) max(x, y)
#define SMALLER(x, y) min(x, y)
)";
}

// How work items walk over rows: count elements from `first` on, operand k at at[k].
constexpr const char* kWalk = R"(
static void place(const Dims* d, ulong row, long* at) {
  at[0] = at[1] = at[2] = at[3] = 0;
  for (uint k = d->rank; k-- > 0;) {
    const long i = row % d->size[k];
    row /= d->size[k];
    for (int o = 0; o < 4; ++o) at[o] += i * d->step[o][k];
  }
}
static VT fetch(__global const T* a, long by, int count) {
  if (by == 1 && count == V) return LOAD(0, a);
  if (by == 0) return (VT)(*a);
  T t[V];
  for (int k = 0; k < V; ++k) t[k] = a[(k < count ? k : count - 1) * by];
  return LOAD(0, t);
}
static void put(__global T* r, long by, int count, VT x) {
  if (by == 1 && count == V) {
    STORE(x, 0, r);
    return;
  }
  T t[V];
  STORE(x, 0, t);
  for (int k = 0; k < count; ++k) r[k * by] = t[k];
}
static void put_bytes(__global uchar* r, long by, int count, BYTES x) {
  if (by == 1 && count == V) {
    STORE(x, 0, r);
    return;
  }
  uchar t[V];
  STORE(x, 0, t);
  for (int k = 0; k < count; ++k) r[k * by] = t[k];
}
static BYTES fetch_bytes(__global const uchar* a, long by, int count) {
  if (by == 1 && count == V) return LOAD(0, a);
  if (by == 0) return (BYTES)(*a);
  uchar t[V];
  for (int k = 0; k < V; ++k) t[k] = a[(k < count ? k : count - 1) * by];
  return LOAD(0, t);
}
// body for each vector of the work item's run, by the dimensions g.d.
#define EACH_VECTOR(body)                                                        \
  const ulong id = get_global_id(0), row = g.d.outer == 1 ? 0 : id / g.d.runs;   \
  const ulong first = (g.d.outer == 1 ? id : id % g.d.runs) * (V * VECTORS);     \
  if (row >= g.d.outer || first >= g.d.inner) return;                            \
  long at[4];                                                                    \
  place(&g.d, row, at);                                                          \
  for (int n = 0; n < VECTORS; ++n) {                                            \
    const ulong i = first + n * V;                                               \
    if (i >= g.d.inner) break;                                                   \
    const int count = g.d.inner - i < V ? (int)(g.d.inner - i) : V;              \
    body                                                                         \
  }
#define OPERAND(a, o) fetch(a + at[o] + (long)i * g.d.by[o], g.d.by[o], count)
#define RESULT(r) r + at[0] + (long)i * g.d.by[0], g.d.by[0], count
)";

// Arguments but memory, as one: each argument costs the driver an allocation. p and q are the numbers of
// operands that are numbers, which are not read, s is alpha.
constexpr const char* kGiven = R"(
typedef struct {
  Dims d;
  T p, q, s;
  int op, x_is_number, y_is_number;
} Given;
#define X (g.x_is_number ? (VT)(g.p) : OPERAND(a, 1))
#define Y (g.y_is_number ? (VT)(g.q) : OPERAND(b, 2))
)";
template <class T>
struct Given {
  Dims dims;
  T p{}, q{}, s{};
  cl_int op = 0, x_is_number = 0, y_is_number = 0;
};

void add_case(std::string& source, int row) {
  source += "    case " + std::to_string(row) + ": return " + kRows[row].expression + ";\n";
}

std::string unary_source(DType type) {
  std::string source = std::string(helpers(type)) + kWalk + kGiven;
  source += "static VT apply(int op, VT x, T p, T q, T s) {\n  switch (op) {\n";
#define CASE(kernel, ...) add_case(source, row_##kernel);
  OPENCL_UNARY_NUMBER_OPS(CASE)
  if (floats(type)) {
    OPENCL_UNARY_OPS(CASE)
    OPENCL_UNARY_NUMBERS_OPS(CASE)
  }
  source += "  }\n  return x;\n}\nstatic VI test(int op, VT x) {\n  switch (op) {\n";
  OPENCL_TEST_ELEMENT_OPS(CASE)
  if (floats(type)) {
    OPENCL_TEST_OPS(CASE)
  }
#undef CASE
  return source + R"(  }
  return (VI)(0);
}
__kernel void unary(__global const T* a, __global T* r, Given g) {
  EACH_VECTOR(put(RESULT(r), apply(g.op, OPERAND(a, 1), g.p, g.q, g.s));)
}
__kernel void unary_test(__global const T* a, __global uchar* r, Given g) {
  EACH_VECTOR(put_bytes(RESULT(r), TO_BYTES(test(g.op, OPERAND(a, 1))) & (BYTES)(1));)
}
)";
}

std::string binary_source(DType type) {
  std::string source = std::string(helpers(type)) + kWalk + kGiven;
  source += "static VT apply(int op, VT x, VT y, T alpha) {\n  switch (op) {\n";
#define CASE(kernel, ...) add_case(source, row_##kernel);
  OPENCL_BINARY_NUMBER_OPS(CASE)
  OPENCL_SCALED_OPS(CASE)
  if (floats(type)) {
    OPENCL_BINARY_OPS(CASE)
  }
  return source + R"(  }
  return x;
}
__kernel void binary(__global const T* a, __global const T* b, __global T* r, Given g) {
  EACH_VECTOR(put(RESULT(r), apply(g.op, X, Y, g.s));)
}
)";
}

std::string compare_source(DType type) {
  std::string source = std::string(helpers(type)) + kWalk + kGiven;
  source += "static VI apply(int op, VT x, VT y) {\n  switch (op) {\n";
  OPENCL_COMPARE_OPS(CASE)
#undef CASE
  return source + R"(  }
  return (VI)(0);
}
__kernel void compare(__global const T* a, __global const T* b, __global uchar* r, Given g) {
  EACH_VECTOR(put_bytes(RESULT(r), TO_BYTES(apply(g.op, X, Y)) & (BYTES)(1));)
}
)";
}

std::string select_source(DType type) {
  return std::string(helpers(type)) + kWalk + kGiven + R"(
__kernel void where(__global const uchar* c, __global const T* a, __global const T* b, __global T* r, Given g) {
  EACH_VECTOR(
    const BYTES yes = fetch_bytes(c + at[3] + (long)i * g.d.by[3], g.d.by[3], count);
    const VT x = X;
    const VT y = Y;
    put(RESULT(r), TO_CONDITION(yes) != (VI)(0) ? x : y);
  )
}
__kernel void fill(__global T* r, Given g) { EACH_VECTOR(put(RESULT(r), (VT)(g.p));) }
// x + p * y * z, x + p * y / z.
__kernel void ternary(__global const T* a, __global const T* b, __global const T* c, __global T* r, Given g) {
  EACH_VECTOR(
    const VT x = OPERAND(a, 1);
    const VT y = OPERAND(b, 2);
    const VT z = OPERAND(c, 3);
    put(RESULT(r), g.op == 0 ? x + g.p * y * z : x + g.p * y / z);
  )
}
// min(max(x, p), q), where NaN stays; x_is_number: there is p, y_is_number: there is q.
__kernel void clamp_numbers(__global const T* a, __global T* r, Given g) {
  EACH_VECTOR(
    VT x = OPERAND(a, 1);
    if (g.x_is_number) x = x < (VT)(g.p) ? (VT)(g.p) : x;
    if (g.y_is_number) x = x > (VT)(g.q) ? (VT)(g.q) : x;
    put(RESULT(r), x);
  )
}
)";
}

constexpr Source kUnary{"unary", unary_source}, kBinary{"binary", binary_source},
    kCompare{"compare", compare_source}, kSelect{"select", select_source};

// ---- operands ----

// bool's elements are bytes.
DType kernel_type(DType type) { return type == tenon::boolean ? tenon::u8 : type; }

bool steps_apart(const Tensor& into) {
  for (int64_t d = 0; d < into.dim(); ++d)
    if (into.shape()[d] > 1 && into.strides()[d] == 0) return false;
  return true;
}

// An operand of a call: a tensor of the device, or a number.
struct Operand {
  Tensor tensor;  // undefined: a number
  Scalar number;
  DType number_type = DType::none;  // dtype of a tensor of rank 0 that the number was

  // None where it is neither.
  static std::optional<Operand> of(const Argument& argument) {
    const tenon_value& value = argument.value();
    Operand operand;
    if (value.tag != TENON_VALUE_TENSOR) {
      operand.number = Scalar(value);
      return operand;
    }
    operand.tensor = Tensor::borrow(value.as.tensor);
    if (is_element(operand.tensor)) return operand;
    if (is_there(operand.tensor) || operand.tensor.dim() != 0 || !floats(operand.tensor.dtype()))
      return std::nullopt;
    operand.number_type = operand.tensor.dtype();
    operand.number = Scalar(operand.tensor.item<double>());
    operand.tensor = Tensor();
    return operand;
  }
  bool is_number() const { return !tensor.defined(); }
  // Whether it is of the type, or a number that is.
  bool fits(DType type) const {
    if (!is_number()) return tensor.dtype() == type;
    if (floats(type)) return true;
    if (number.is_floating() || (type == tenon::boolean) != number.is_bool()) return false;
    const auto whole = number.to<int64_t>();
    return type == tenon::i64   ? true
           : type == tenon::i32 ? whole == static_cast<int32_t>(whole)
                                : whole >= 0 && whole <= 255;
  }
};

// Two operands of one type, and the shape of their result.
struct Pair {
  Operand x, y;
  DType type = DType::none;
  std::vector<int64_t> shape;
  Tensor like;

  static std::optional<Pair> of(const Argument& left, const Argument& right) {
    const std::optional<Operand> a = Operand::of(left), b = Operand::of(right);
    if (!a || !b || (a->is_number() && b->is_number())) return std::nullopt;
    Pair pair{*a, *b, DType::none, {}, a->is_number() ? b->tensor : a->tensor};
    pair.type = pair.like.dtype();
    if (!a->fits(pair.type) || !b->fits(pair.type)) return std::nullopt;
    // The wider dtype decides between two tensors of rank 0.
    const DType other = a->is_number() ? a->number_type : b->number_type;
    if (pair.like.dim() == 0 && other != DType::none && other != pair.type) return std::nullopt;
    if (a->is_number() || b->is_number()) {
      pair.shape = pair.like.sizes();
      return pair;
    }
    if (!together(a->tensor, b->tensor)) return std::nullopt;
    std::optional<std::vector<int64_t>> shape = broadcast(a->tensor.shape(), b->tensor.shape());
    if (!shape) return std::nullopt;
    pair.shape = std::move(*shape);
    return pair;
  }
};

// Dimensions of the result, then of operands, of which numbers are undefined; they have its shape, or are broadcast to it.
std::optional<Dims> dims_over(const Tensor& result, std::initializer_list<const Tensor*> operands) {
  const auto is_flat = [&](const Tensor* operand) {
    return !operand->defined() || (operand->is_contiguous() && operand->numel() == result.numel());
  };
  if (result.is_contiguous() && std::all_of(operands.begin(), operands.end(), is_flat)) {
    Dims dims;
    dims.inner = number(result.numel());
    size_t place = 0;
    dims.by[place++] = 1;
    for (const Tensor* operand : operands) dims.by[place++] = operand->defined() ? 1 : 0;
    return dims;
  }
  const IntList shape = result.shape();
  std::vector<std::vector<int64_t>> steps{steps_in(result, shape)};
  for (const Tensor* operand : operands) {
    steps.push_back(operand->defined() ? steps_in(*operand, shape)
                                       : std::vector<int64_t>(static_cast<size_t>(shape.size())));
  }
  return dims_of(shape, steps);
}

// Whether a kernel may write into it: nothing, or a tensor of the result's kind that no operand overlaps.
bool is_writable(const Tensor& into, IntList shape, DType type, const Tensor& x, const Tensor& y) {
  if (!into.defined()) return true;
  return is_there(into) && into.dtype() == type &&
         into.sizes() == std::vector<int64_t>(shape.begin(), shape.end()) && steps_apart(into) &&
         !overlaps(into, x) && !overlaps(into, y);
}

int64_t run_of(Instance& device, DType type) { return device.lanes(type) * device.vectors(); }

bool is_flat(const Operand& operand, int64_t count) {
  return operand.is_number() || (operand.tensor.is_contiguous() && operand.tensor.numel() == count);
}
ChainOperand chain_operand(const Operand& operand) {
  if (operand.is_number()) return {nullptr, operand.number.to<double>()};
  return {tenon::device::elements(operand.tensor), 0};
}

// ---- calls ----

Results unary(int row, const Tensor& input, const Tensor& into, bool every_number, double p = 0,
              double q = 0, double s = 0) {
  if (!(every_number ? is_number(input) : is_floating(input))) return tenon::not_implemented;
  if (!is_writable(into, input.shape(), input.dtype(), input, Tensor()))
    return tenon::not_implemented;
  const Tensor result = into.defined() ? into : empty_like(input, input.shape());
  const int64_t count = input.numel();
  if (count == 0) return result;
  Instance& device = instance_of(input);
  if (floats(input.dtype()) && input.is_contiguous() && result.is_contiguous()) {
    device.chains().add({row,
                         input.dtype(),
                         count,
                         1,
                         {tenon::device::elements(input), 0},
                         {},
                         {p, q, s},
                         tenon::device::elements(result)});
    return result;
  }
  std::optional<Dims> dims = dims_over(result, {&input});
  if (!dims) return tenon::not_implemented;
  const size_t items = row_items(*dims, run_of(device, input.dtype()));
  with_number(input.dtype(), 0, 0, [&](auto zero) {
    using N = decltype(zero);
    const Given<N> given{*dims, static_cast<N>(p), static_cast<N>(q), static_cast<N>(s), row};
    device.run({&kUnary, "unary", input.dtype()}, items, kGroup, memory_of(input),
               memory_of(result), given);
  });
  return result;
}

Results test(int row, const Tensor& input, bool every_element) {
  if (!(every_element ? is_element(input) : is_floating(input))) return tenon::not_implemented;
  const Tensor result = empty_like(input, input.shape(), tenon::boolean);
  if (input.numel() == 0) return result;
  std::optional<Dims> dims = dims_over(result, {&input});
  if (!dims) return tenon::not_implemented;
  Instance& device = instance_of(input);
  const DType type = kernel_type(input.dtype());
  const size_t items = row_items(*dims, run_of(device, type));
  with_number(type, 0, 0, [&](auto zero) {
    device.run({&kUnary, "unary_test", type}, items, kGroup, memory_of(input), memory_of(result),
               Given<decltype(zero)>{*dims, zero, zero, zero, row});
  });
  return result;
}

// A number of an operand as an argument of a kernel, 0 for a tensor.
template <class N>
N number_of(const Operand& operand) {
  return operand.is_number() ? operand.number.to<N>() : N{};
}
template <class N>
Given<N> given_of(const Dims& dims, const Pair& pair, int row, N alpha = {}) {
  return {dims, number_of<N>(pair.x), number_of<N>(pair.y), alpha,
          row,  pair.x.is_number(),   pair.y.is_number()};
}
Memory memory_or(const Operand& operand, const Tensor& other) {
  return memory_of(operand.is_number() ? other : operand.tensor);
}

// Into `into`, or a new tensor where that is undefined.
Results binary(int row, const Argument& left, const Argument& right, const Scalar& alpha,
               const Tensor& into, bool every_number) {
  const std::optional<Pair> pair = Pair::of(left, right);
  if (!pair || !(every_number ? is_number(pair->like) : is_floating(pair->like)))
    return tenon::not_implemented;
  const DType type = pair->type;
  if (!floats(type) && alpha.is_floating()) return tenon::not_implemented;
  const IntList shape = list_of(pair->shape);
  if (!is_writable(into, shape, type, pair->x.tensor, pair->y.tensor))
    return tenon::not_implemented;
  const Tensor result = into.defined() ? into : empty_like(pair->like, shape);
  const int64_t count = result.numel();
  if (count == 0) return result;
  Instance& device = instance_of(pair->like);
  if (floats(type) && result.is_contiguous() && is_flat(pair->x, count) &&
      is_flat(pair->y, count)) {
    device.chains().add({row,
                         type,
                         count,
                         2,
                         chain_operand(pair->x),
                         chain_operand(pair->y),
                         {alpha.to<double>(), 0, 0},
                         tenon::device::elements(result)});
    return result;
  }
  std::optional<Dims> dims = dims_over(result, {&pair->x.tensor, &pair->y.tensor});
  if (!dims) return tenon::not_implemented;
  const size_t items = row_items(*dims, run_of(device, type));
  with_number(type, 0, 0, [&](auto zero) {
    using N = decltype(zero);
    device.run({&kBinary, "binary", type}, items, kGroup, memory_or(pair->x, result),
               memory_or(pair->y, result), memory_of(result),
               given_of<N>(*dims, *pair, row, alpha.to<N>()));
  });
  return result;
}

Results compare(int row, const Argument& left, const Argument& right) {
  const std::optional<Pair> pair = Pair::of(left, right);
  if (!pair || !is_element(pair->like)) return tenon::not_implemented;
  const IntList shape = list_of(pair->shape);
  const Tensor result = empty_like(pair->like, shape, tenon::boolean);
  if (result.numel() == 0) return result;
  const DType type = kernel_type(pair->type);
  // A number that the type rounds would compare otherwise.
  for (const Operand* operand : {&pair->x, &pair->y}) {
    if (type != tenon::f32 || !operand->is_number()) continue;
    const auto exact = operand->number.to<double>();
    if (static_cast<double>(static_cast<float>(exact)) != exact && exact == exact)
      return tenon::not_implemented;
  }
  std::optional<Dims> dims = dims_over(result, {&pair->x.tensor, &pair->y.tensor});
  if (!dims) return tenon::not_implemented;
  Instance& device = instance_of(pair->like);
  const size_t items = row_items(*dims, run_of(device, type));
  with_number(type, 0, 0, [&](auto zero) {
    using N = decltype(zero);
    device.run({&kCompare, "compare", type}, items, kGroup, memory_or(pair->x, result),
               memory_or(pair->y, result), memory_of(result), given_of<N>(*dims, *pair, row));
  });
  return result;
}

struct Where {
  static constexpr auto schema =
      "where(Tensor condition, Tensor|Scalar input, Tensor|Scalar other) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& condition, Argument input, Argument other) {
    if (!is_there(condition) || condition.dtype() != tenon::boolean) return tenon::not_implemented;
    const std::optional<Pair> pair = Pair::of(input, other);
    if (!pair || !together(condition, pair->like)) return tenon::not_implemented;
    std::optional<std::vector<int64_t>> sizes = broadcast(condition.shape(), list_of(pair->shape));
    if (!sizes) return tenon::not_implemented;
    const IntList shape = list_of(*sizes);
    const Tensor result = empty_like(pair->like, shape);
    if (result.numel() == 0) return result;
    std::optional<Dims> dims = dims_over(result, {&pair->x.tensor, &pair->y.tensor, &condition});
    if (!dims) return tenon::not_implemented;
    Instance& device = instance_of(result);
    const DType type = kernel_type(pair->type);
    const size_t items = row_items(*dims, run_of(device, type));
    with_number(type, 0, 0, [&](auto zero) {
      using N = decltype(zero);
      device.run({&kSelect, "where", type}, items, kGroup, memory_of(condition),
                 memory_or(pair->x, result), memory_or(pair->y, result), memory_of(result),
                 given_of<N>(*dims, *pair, 0));
    });
    return result;
  }
};

Results fill(const Tensor& input, const Scalar& value) {
  if (!is_element(input) || !steps_apart(input)) return tenon::not_implemented;
  Operand number;
  number.number = value;
  if (!number.fits(input.dtype())) return tenon::not_implemented;
  if (input.numel() == 0) return input;
  std::optional<Dims> dims = dims_over(input, {});
  if (!dims) return tenon::not_implemented;
  Instance& device = instance_of(input);
  const DType type = kernel_type(input.dtype());
  const size_t items = row_items(*dims, run_of(device, type));
  with_number(type, 0, 0, [&](auto zero) {
    using N = decltype(zero);
    device.run({&kSelect, "fill", type}, items, kGroup, memory_of(input),
               Given<N>{*dims, value.to<N>()});
  });
  return input;
}
struct Fill {
  static constexpr auto schema = "fill_(Tensor(a!) input, Scalar value) -> Tensor(a!)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, Scalar value) { return fill(input, value); }
};
struct Zero {
  static constexpr auto schema = "zero_(Tensor(a!) input) -> Tensor(a!)";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input) {
    return fill(input, input.dtype() == tenon::boolean ? Scalar(false) : Scalar(0));
  }
};

Results ternary(int op, const Tensor& x, const Tensor& y, const Tensor& z, const Scalar& value) {
  for (const Tensor* tensor : {&x, &y, &z}) {
    if (!is_floating(*tensor) || tensor->dtype() != x.dtype() || !together(*tensor, x))
      return tenon::not_implemented;
  }
  std::optional<std::vector<int64_t>> sizes = broadcast(y.shape(), z.shape());
  if (sizes) sizes = broadcast(x.shape(), list_of(*sizes));
  if (!sizes) return tenon::not_implemented;
  const IntList shape = list_of(*sizes);
  const Tensor result = empty_like(x, shape);
  if (result.numel() == 0) return result;
  std::optional<Dims> dims = dims_over(result, {&x, &y, &z});
  if (!dims) return tenon::not_implemented;
  Instance& device = instance_of(x);
  const size_t items = row_items(*dims, run_of(device, x.dtype()));
  with_floating(x.dtype(), [&](auto zero) {
    device.run({&kSelect, "ternary", x.dtype()}, items, kGroup, memory_of(x), memory_of(y),
               memory_of(z), memory_of(result),
               Given<decltype(zero)>{*dims, value.to<decltype(zero)>(), zero, zero, op});
  });
  return result;
}
struct Addcmul {
  static constexpr auto schema =
      "addcmul(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& x, const Tensor& y, const Tensor& z, Scalar value) {
    return ternary(0, x, y, z, value);
  }
};
struct Addcdiv {
  static constexpr auto schema =
      "addcdiv(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& x, const Tensor& y, const Tensor& z, Scalar value) {
    return ternary(1, x, y, z, value);
  }
};

Results clamp(const Tensor& input, std::optional<double> least, std::optional<double> most) {
  const bool ordered = !least || !most || *least <= *most;  // and neither is NaN
  if (!is_floating(input) || !ordered || (least && *least != *least) || (most && *most != *most))
    return tenon::not_implemented;
  const Tensor result = empty_like(input, input.shape());
  if (input.numel() == 0) return result;
  std::optional<Dims> dims = dims_over(result, {&input});
  if (!dims) return tenon::not_implemented;
  Instance& device = instance_of(input);
  const size_t items = row_items(*dims, run_of(device, input.dtype()));
  with_floating(input.dtype(), [&](auto zero) {
    using N = decltype(zero);
    device.run({&kSelect, "clamp_numbers", input.dtype()}, items, kGroup, memory_of(input),
               memory_of(result),
               Given<N>{*dims, static_cast<N>(least.value_or(0)), static_cast<N>(most.value_or(0)),
                        0, 0, least.has_value(), most.has_value()});
  });
  return result;
}
struct Clamp {
  static constexpr auto schema =
      "clamp(Tensor input, Scalar? min=None, Scalar? max=None) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, std::optional<Scalar> min,
                         std::optional<Scalar> max) {
    const auto number = [](const std::optional<Scalar>& bound) {
      return bound ? std::optional<double>(bound->to<double>()) : std::nullopt;
    };
    return clamp(input, number(min), number(max));
  }
};
struct Relu6 {
  static constexpr auto schema = "nn.functional.relu6(Tensor input) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input) { return clamp(input, 0, 6); }
};
struct Hardtanh {
  static constexpr auto schema =
      "nn.functional.hardtanh(Tensor input, Scalar min_val=-1, Scalar max_val=1) -> Tensor";
  static constexpr auto types = "opencl";
  static Results forward(const Tensor& input, Scalar least, Scalar most) {
    return clamp(input, least.to<double>(), most.to<double>());
  }
};

// ---- the overrides of the tables ----

#define UNARY_IN_PLACE_yes(kernel, op, every)                              \
  struct InPlace_##kernel {                                                \
    static constexpr auto schema = op "_(Tensor(a!) input) -> Tensor(a!)"; \
    static constexpr auto types = "opencl";                                \
    static Results forward(const Tensor& input) {                          \
      return unary(row_##kernel, input, input, every);                     \
    }                                                                      \
  };
#define UNARY_IN_PLACE_no(kernel, op, every)
#define UNARY(kernel, in_place, op, every)                        \
  struct Op_##kernel {                                            \
    static constexpr auto schema = op "(Tensor input) -> Tensor"; \
    static constexpr auto types = "opencl";                       \
    static Results forward(const Tensor& input) {                 \
      return unary(row_##kernel, input, Tensor(), every);         \
    }                                                             \
  };                                                              \
  UNARY_IN_PLACE_##in_place(kernel, op, every)
#define UNARY_FLOATING(kernel, in_place, op, expression) UNARY(kernel, in_place, op, false)
#define UNARY_NUMBER(kernel, in_place, op, expression) UNARY(kernel, in_place, op, true)
OPENCL_UNARY_OPS(UNARY_FLOATING)
OPENCL_UNARY_NUMBER_OPS(UNARY_NUMBER)

#define TEST(kernel, op, every)                                                              \
  struct Op_##kernel {                                                                       \
    static constexpr auto schema = op "(Tensor input) -> Tensor";                            \
    static constexpr auto types = "opencl";                                                  \
    static Results forward(const Tensor& input) { return test(row_##kernel, input, every); } \
  };
#define TEST_FLOATING(kernel, op, expression) TEST(kernel, op, false)
#define TEST_ELEMENT(kernel, op, expression) TEST(kernel, op, true)
OPENCL_TEST_OPS(TEST_FLOATING)
OPENCL_TEST_ELEMENT_OPS(TEST_ELEMENT)

// Numbers of their op, as p, q and s.
#define UNARY_NUMBERS(kernel, op, numbers, expression)                           \
  struct Op_##kernel {                                                           \
    static constexpr auto schema = op "(Tensor input, " numbers ") -> Tensor";   \
    static constexpr auto types = "opencl";                                      \
    static Results forward(const tenon::Call& call, const Tensor& input,         \
                           OPENCL_NUMBERS_##kernel) {                            \
      static_cast<void>(call);                                                   \
      return unary(row_##kernel, input, Tensor(), false, OPENCL_GIVEN_##kernel); \
    }                                                                            \
  };
#define OPENCL_NUMBERS_leaky_relu double p
#define OPENCL_GIVEN_leaky_relu p
#define OPENCL_NUMBERS_softplus double p, double q
#define OPENCL_GIVEN_softplus p, q
#define OPENCL_NUMBERS_elu double p, double q, double s
#define OPENCL_GIVEN_elu p, q, s
OPENCL_UNARY_NUMBERS_OPS(UNARY_NUMBERS)

#define BINARY_IN_PLACE_yes(kernel, op, every)                                                  \
  struct InPlace_##kernel {                                                                     \
    static constexpr auto schema = op "_(Tensor(a!) input, Tensor|Scalar other) -> Tensor(a!)"; \
    static constexpr auto types = "opencl";                                                     \
    static Results forward(const Tensor& input, Argument other) {                               \
      return binary(row_##kernel, Argument(input), other, 1, input, every);                     \
    }                                                                                           \
  };
#define BINARY_IN_PLACE_no(kernel, op, every)
#define BINARY(kernel, in_place, op, operands, every)             \
  struct Op_##kernel {                                            \
    static constexpr auto schema = op "(" operands ") -> Tensor"; \
    static constexpr auto types = "opencl";                       \
    static Results forward(Argument x, Argument y) {              \
      return binary(row_##kernel, x, y, 1, Tensor(), every);      \
    }                                                             \
  };                                                              \
  BINARY_IN_PLACE_##in_place(kernel, op, every)
#define BINARY_FLOATING(kernel, in_place, op, operands, expression) \
  BINARY(kernel, in_place, op, operands, false)
#define BINARY_NUMBER(kernel, in_place, op, operands, expression) \
  BINARY(kernel, in_place, op, operands, true)
OPENCL_BINARY_OPS(BINARY_FLOATING)
OPENCL_BINARY_NUMBER_OPS(BINARY_NUMBER)

#define SCALED(kernel, in_place, op, operands, expression)                              \
  struct Op_##kernel {                                                                  \
    static constexpr auto schema = op "(" operands ", *, Scalar alpha=1) -> Tensor";    \
    static constexpr auto types = "opencl";                                             \
    static Results forward(Argument x, Argument y, Scalar alpha) {                      \
      return binary(row_##kernel, x, y, alpha, Tensor(), true);                         \
    }                                                                                   \
  };                                                                                    \
  struct InPlace_##kernel {                                                             \
    static constexpr auto schema =                                                      \
        op "_(Tensor(a!) input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor(a!)"; \
    static constexpr auto types = "opencl";                                             \
    static Results forward(const Tensor& input, Argument other, Scalar alpha) {         \
      return binary(row_##kernel, Argument(input), other, alpha, input, true);          \
    }                                                                                   \
  };
OPENCL_SCALED_OPS(SCALED)

#define COMPARE(kernel, op, expression)                                                       \
  struct Op_##kernel {                                                                        \
    static constexpr auto schema = op "(Tensor|Scalar input, Tensor|Scalar other) -> Tensor"; \
    static constexpr auto types = "opencl";                                                   \
    static Results forward(Argument x, Argument y) { return compare(row_##kernel, x, y); }    \
  };
OPENCL_COMPARE_OPS(COMPARE)

}  // namespace

// ---- one call, for chains ----

std::string function_name(int op) { return std::string("f_") + kRows[op].name; }

int numbers_of(int op) {
  return op >= row_leaky_relu && op <= row_elu ? 3 : op == row_add || op == row_sub ? 1 : 0;
}
std::string function_text(int op) {
  return std::string("static VT ") + function_name(op) +
         (op >= row_div ? "(VT x, VT y, T alpha)" : "(VT x, T p, T q, T s)") + " { return " +
         kRows[op].expression + "; }\n";
}
std::string chain_helpers(DType type) { return std::string(helpers(type)) + kWalk; }

void queue_call(Instance& device, const ChainCall& call) {
  Dims dims;
  dims.inner = number(call.count);
  for (cl_long& by : dims.by) by = 1;
  const size_t items = row_items(dims, run_of(device, call.type));
  const auto memory = [&](const ChainOperand& operand) {
    return Memory{operand.data == nullptr ? call.result : operand.data};
  };
  with_floating(call.type, [&](auto zero) {
    using N = decltype(zero);
    const auto n = [](double given) { return static_cast<N>(given); };
    if (call.operands == 1) {
      device.run_behind(
          {&kUnary, "unary", call.type}, items, kGroup, memory(call.x), Memory{call.result},
          Given<N>{dims, n(call.numbers[0]), n(call.numbers[1]), n(call.numbers[2]), call.op});
    } else {
      device.run_behind({&kBinary, "binary", call.type}, items, kGroup, memory(call.x),
                        memory(call.y), Memory{call.result},
                        Given<N>{dims, n(call.x.number), n(call.y.number), n(call.numbers[0]),
                                 call.op, call.x.data == nullptr, call.y.data == nullptr});
    }
  });
}

}  // namespace tenon_opencl

using namespace tenon_opencl;

#define REGISTER_IN_PLACE_yes(kernel) TENON_OVERRIDE(InPlace_##kernel)
#define REGISTER_IN_PLACE_no(kernel)
#define REGISTER_OP(kernel, in_place, ...) \
  TENON_OVERRIDE(Op_##kernel)              \
  REGISTER_IN_PLACE_##in_place(kernel)
#define REGISTER_TEST(kernel, ...) TENON_OVERRIDE(Op_##kernel)
OPENCL_UNARY_OPS(REGISTER_OP)
OPENCL_UNARY_NUMBER_OPS(REGISTER_OP)
OPENCL_UNARY_NUMBERS_OPS(REGISTER_TEST)
OPENCL_TEST_OPS(REGISTER_TEST)
OPENCL_TEST_ELEMENT_OPS(REGISTER_TEST)
OPENCL_BINARY_OPS(REGISTER_OP)
OPENCL_BINARY_NUMBER_OPS(REGISTER_OP)
OPENCL_SCALED_OPS(REGISTER_OP)
OPENCL_COMPARE_OPS(REGISTER_TEST)
TENON_OVERRIDE(Where)
TENON_OVERRIDE(Fill)
TENON_OVERRIDE(Zero)
TENON_OVERRIDE(Addcmul)
TENON_OVERRIDE(Addcdiv)
TENON_OVERRIDE(Clamp)
TENON_OVERRIDE(Relu6)
TENON_OVERRIDE(Hardtanh)

// Elementwise kernels: layouts, overlaps, dtypes, targets.
#include "core/kernel/elementwise.hpp"

#include <numeric>

#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

template <class T>
void subtract(char* const* data, const int64_t* strides, int64_t count, const tenon_value*) {
  for (int64_t i = 0; i < count; ++i) {
    const T a = *reinterpret_cast<const T*>(data[1] + i * strides[1]),
            b = *reinterpret_cast<const T*>(data[2] + i * strides[2]);
    *reinterpret_cast<T*>(data[0] + i * strides[0]) = static_cast<T>(a - b);
  }
}
template <class T>
void less(char* const* data, const int64_t* strides, int64_t count, const tenon_value*) {
  for (int64_t i = 0; i < count; ++i) {
    *reinterpret_cast<uint8_t*>(data[0] + i * strides[0]) =
        *reinterpret_cast<const T*>(data[1] + i * strides[1]) <
        *reinterpret_cast<const T*>(data[2] + i * strides[2]);
  }
}

struct Ops {
  Ops() {
    static const auto subtractions = [] {
      std::vector<tenon_loop> loops(size_t{TENON_ISA_COUNT} * TENON_COMPUTED_DTYPE_COUNT);
      loops[TENON_F32] = subtract<float>;
      loops[TENON_F64] = subtract<double>;
      loops[TENON_I64] = subtract<int64_t>;
      return loops;
    }();
    static const auto comparisons = [] {
      std::vector<tenon_loop> loops(size_t{TENON_ISA_COUNT} * TENON_COMPUTED_DTYPE_COUNT);
      loops[TENON_F32] = less<float>;
      loops[TENON_I64] = less<int64_t>;
      return loops;
    }();
    static const tenon_elementwise common{sizeof(tenon_elementwise), TENON_PROMOTE_COMMON,
                                          subtractions.data(), nullptr};
    static const tenon_elementwise compare{sizeof(tenon_elementwise), TENON_PROMOTE_COMPARE,
                                           comparisons.data(), nullptr};
    tenon_op_descriptor ops[] = {
        descriptor("t.sub(Tensor|Scalar a, Tensor|Scalar b, *, Tensor(a!)? out=None) -> Tensor"),
        descriptor("t.sub_(Tensor(a!) a, Tensor|Scalar b) -> Tensor(a!)"),
        descriptor("t.less(Tensor|Scalar a, Tensor|Scalar b) -> Tensor"),
    };
    ops[0].elementwise = ops[1].elementwise = &common;
    ops[2].elementwise = &compare;
    const tenon_op_descriptor* pointers[] = {&ops[0], &ops[1], &ops[2]};
    registry.commit("provider", pointers);
  }
  const tenon_op* operator[](const char* name) const { return registry.find(name); }
  Registry registry;
};

TensorRef view_of(const TensorRef& base, std::vector<int64_t> shape, std::vector<int64_t> strides,
                  int64_t offset = 0) {
  return make_alias(*base, shape, strides, offset);
}
std::vector<float> subtracted(const Ops& ops, const tenon_value& a, const tenon_value& b) {
  Outcome outcome;
  call(outcome, ops["t.sub"], {a, b});
  return read(*outcome.tensor());
}
using Floats = std::vector<float>;

}  // namespace

TEST_SUITE("kernel/elementwise") {
  TEST_CASE("every layout of the operands gives the same numbers") {
    const Ops ops;
    // Large enough for panels of transposed operands and for several threads.
    const int64_t rows = 65, columns = 70;
    TensorRef a = make_empty(TENON_F32, std::vector<int64_t>{rows, columns}),
              b = make_empty(TENON_F32, std::vector<int64_t>{columns, rows});
    auto* pa = static_cast<float*>(a->view.data);
    auto* pb = static_cast<float*>(b->view.data);
    std::iota(pa, pa + rows * columns, 0.0f);
    std::iota(pb, pb + rows * columns, 5.0f);
    const TensorRef transposed = view_of(b, {rows, columns}, {1, rows});
    const TensorRef reversed = view_of(a, {rows, columns}, {-columns, -1}, rows * columns - 1);
    const TensorRef expanded = view_of(a, {rows, columns}, {0, 1});
    const std::vector<const Tensor*> operands = {a.get(), transposed.get(), reversed.get(),
                                                 expanded.get()};
    for (const Tensor* left : operands) {
      for (const Tensor* right : operands) {
        const Floats x = read(*left), y = read(*right);
        const Floats got = subtracted(ops, tensor_value(const_cast<Tensor*>(left)),
                                      tensor_value(const_cast<Tensor*>(right)));
        bool same = got.size() == x.size();
        for (size_t i = 0; same && i < got.size(); ++i) same = got[i] == x[i] - y[i];
        CHECK(same);
      }
    }
  }

  TEST_CASE("numbers, 0-dim and empty tensors") {
    const Ops ops;
    const TensorRef x = floats({5, 7}), zero_dim = make_empty(TENON_F32, {}),
                    empty = make_empty(TENON_F32, std::vector<int64_t>{0, 2});
    fill(*zero_dim, integer(2));
    CHECK(subtracted(ops, tensor_value(x.get()), number(1.5)) == Floats{3.5, 5.5});
    CHECK(subtracted(ops, integer(10), tensor_value(x.get())) == Floats{5, 3});
    CHECK(subtracted(ops, tensor_value(x.get()), tensor_value(zero_dim.get())) == Floats{3, 5});
    CHECK(subtracted(ops, integer(3), integer(1)) == Floats{2});
    CHECK(subtracted(ops, tensor_value(empty.get()), tensor_value(x.get())).empty());
  }

  TEST_CASE("a target that overlaps an operand is written as if it did not") {
    const Ops ops;
    const TensorRef memory = floats({1, 2, 4, 8, 16});
    const TensorRef low = view_of(memory, {4}, {1}), high = view_of(memory, {4}, {1}, 1);
    Outcome outcome;
    call(outcome, ops["t.sub_"], {tensor_value(high.get()), tensor_value(low.get())});
    CHECK(outcome.tensor() == high.get());
    CHECK(read(*memory) == Floats{1, 1, 2, 4, 8});
    CHECK(memory->version() == 1);
    Outcome own;
    call(own, ops["t.sub_"], {tensor_value(memory.get()), tensor_value(memory.get())});
    CHECK(read(*memory) == Floats{0, 0, 0, 0, 0});
    const TensorRef square = floats({1, 2, 3, 4}, {2, 2}), across = view_of(square, {2, 2}, {1, 2});
    Outcome crossed;
    call(crossed, ops["t.sub_"], {tensor_value(square.get()), tensor_value(across.get())});
    CHECK(read(*square) == Floats{0, -1, 1, 0});
  }

  TEST_CASE("targets are checked for shape and dtype") {
    const Ops ops;
    const TensorRef x = floats({1, 2}), wrong = floats({0, 0, 0}),
                    integers = make_empty(TENON_I64, std::vector<int64_t>{2});
    const TensorRef wide = make_empty(TENON_F64, std::vector<int64_t>{2});
    const auto run = [&](const TensorRef& out, Outcome& outcome) {
      call(outcome, ops["t.sub"], {tensor_value(x.get()), number(1), tensor_value(out.get())});
    };
    Outcome shape, dtype, right;
    run(wrong, shape);
    CHECK(shape.status == TENON_ERROR_VALUE);
    CHECK(has(shape.message, "'out' has shape [3] but the result has shape [2]"));
    run(integers, dtype);
    CHECK(dtype.status == TENON_ERROR_TYPE);
    CHECK(has(dtype.message, "f32, which cannot be written into i64"));
    run(wide, right);
    CHECK(right.tensor() == wide.get());
    CHECK(read(*wide) == Floats{0, 1});
    CHECK(wide->version() == 1);
  }

  TEST_CASE("comparisons give bool, and a dtype without a loop is an error") {
    const Ops ops;
    const TensorRef x = floats({1, 2}), wide = make_empty(TENON_F64, std::vector<int64_t>{2});
    Outcome outcome, refused;
    call(outcome, ops["t.less"], {tensor_value(x.get()), number(1.5)});
    CHECK(outcome.tensor()->view.dtype == TENON_BOOL);
    CHECK(read(*outcome.tensor()) == Floats{1, 0});
    call(refused, ops["t.less"], {tensor_value(wide.get()), number(1.5)});
    CHECK(refused.status == TENON_ERROR_TYPE);
    CHECK(refused.message == "less() is not implemented for f64 operands");
  }

  TEST_CASE("a tensor without data is refused") {
    const Ops ops;
    const TensorRef x = floats({1, 2}), shape = make_shape_only(*x);
    Outcome operand;
    call(operand, ops["t.sub"], {tensor_value(shape.get()), number(1)});
    CHECK(operand.status == TENON_ERROR_RUNTIME);
    CHECK(has(operand.message, "a shape but no data"));
    Outcome target;
    call(target, ops["t.sub"], {tensor_value(x.get()), number(1), tensor_value(shape.get())});
    CHECK(target.status != TENON_OK);
    Outcome changed;
    call(changed, ops["t.sub_"], {tensor_value(shape.get()), number(1)});
    CHECK(changed.status != TENON_OK);
  }
}

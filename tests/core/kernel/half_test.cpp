// Ops that take f16 and bf16 as they are; the others are tested with the shipped plugins, in
// tests/plugins/half_test.cpp.
#include "core/dispatch/table/op.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

bool takes(const char* schema, uint32_t flags = 0,
           uint32_t differentiable = TENON_DIFFERENTIABLE_NONE) {
  tenon_op_descriptor made =
      descriptor(schema, [](void*, tenon_context*, const tenon_value*, tenon_value*,
                            tenon_error**) { return tenon_status{TENON_OK}; });
  made.flags = flags;
  made.differentiable = differentiable;
  return make_implementation(made, "p")->takes_half;
}

}  // namespace

TEST_SUITE("kernel/half") {
  TEST_CASE("views, composites and ops of any dtype take f16 and bf16, kernels do not") {
    CHECK_FALSE(takes("x(Tensor input) -> Tensor"));
    CHECK_FALSE(takes("x_(Tensor(a!) input) -> Tensor(a!)"));
    CHECK(takes("x(Tensor(a) input) -> Tensor(a)"));
    CHECK(takes("x(Tensor(a) input) -> Tensor(a)[]"));
    CHECK(takes("x(Tensor input) -> Tensor", TENON_OP_ANY_DTYPE));
    CHECK(takes("x(Tensor input) -> Tensor", 0, TENON_DIFFERENTIABLE_COMPOSITE));
  }

  TEST_CASE("tensors carry what leads to the layer: new ones, views, and where data is replaced") {
    const int64_t shape[] = {2, 3}, strides[] = {1, 2};
    for (const tenon_dtype dtype : {TENON_F16, TENON_BF16}) {
      const TensorRef half = make_empty(dtype, shape);
      CHECK(half->has_flag(TENON_TENSOR_HALF));
      CHECK(make_alias(*half, shape, strides, 0)->has_flag(TENON_TENSOR_HALF));
      CHECK(make_detached(*half)->has_flag(TENON_TENSOR_HALF));
      const TensorRef single = make_empty(TENON_F32, shape);
      CHECK_FALSE(single->has_flag(TENON_TENSOR_HALF));
      replace_data(*single, *half);
      CHECK(single->has_flag(TENON_TENSOR_HALF));
      replace_data(*half, *make_empty(TENON_F32, shape));
      CHECK_FALSE(half->has_flag(TENON_TENSOR_HALF));
    }
  }
}

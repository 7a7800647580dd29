// Nodes of ops: what they copy, save and release.
#include "core/autograd/graph/op_node.hpp"

#include <string>
#include <vector>

#include "core/autograd/engine/grad.hpp"
#include "core/autograd/graph/history.hpp"
#include "tests/core/dispatch/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status run(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}
// Arguments that the rule of the last backward found.
std::vector<int64_t> seen_sizes;
std::string seen_mode;
tenon_status rule(void*, tenon_context* context, tenon_tensor* const* gradients, int64_t,
                  tenon_error**) {
  const tenon_value* arguments = context->arguments;
  seen_sizes.assign(arguments[1].as.integers, arguments[1].as.integers + arguments[1].length);
  seen_mode.assign(arguments[2].as.string, arguments[2].length);
  context->rule->answer->emplace_back(gradients[0]);
  context->rule->answered = true;
  return TENON_OK;
}

std::unique_ptr<Implementation> implementation() {
  tenon_op_descriptor op = descriptor(
      "t.scale(Tensor input, int[] sizes, str mode, *, Tensor(a!)? out=None) -> Tensor", run);
  op.differentiable = TENON_DIFFERENTIABLE_FORMULA;
  op.backward = rule;
  op.saves = "input";
  auto made = make_implementation(op, "test");
  static tenon_op handle("t.scale");
  made->op = &handle;
  return made;
}

}  // namespace

TEST_SUITE("op_node") {
  TEST_CASE("lists and strings are copied, tensors saved, edges owned") {
    const auto op = implementation();
    const TensorRef input = floats({1, 2});
    set_requires_grad(*input, true);
    const TensorRef result = floats({3, 4});
    Tensor* const output = result.get();
    std::vector<int64_t> sizes{7, 8, 9};
    std::string mode = "mean";
    tenon_value mode_value{};
    mode_value.tag = TENON_VALUE_STRING;
    mode_value.length = static_cast<uint32_t>(mode.size());
    mode_value.as.string = mode.data();
    const tenon_value arguments[] = {tensor_value(input.get()), int_list_value(sizes), mode_value,
                                     tenon_value{}};
    IntrusivePtr<OpNode> node = OpNode::create(*op, arguments, 1, {&output, 1}, 1);
    node->connect(0, *input);
    node->set_tensor_slots(1);
    node->save(SavedTensor::Kind::Argument, 0, input.get());
    sizes.assign(3, 0);
    mode.assign("sums");
    CHECK(node->name() == std::string("ScaleBackward0"));
    CHECK(node->report().saved_tensors == 1);
    CHECK(node->report().saved_bytes == 8);
    CHECK(node->outputs()[0].dtype == TENON_F32);

    std::vector<TensorRef> answer;
    node->apply({&output, 1}, answer, {});
    CHECK(seen_sizes == std::vector<int64_t>{7, 8, 9});
    CHECK(seen_mode == "mean");
    REQUIRE(answer.size() == 1);
    CHECK(answer[0].get() == output);

    CHECK_FALSE(node->released());
    node->release_saved();
    CHECK(node->released());
    CHECK(node->report().saved_tensors == 0);
    CHECK(has(refusal(
                  [&] {
                    node->apply({&output, 1}, answer, {});
                  },
                  TENON_ERROR_GRAPH),
              "a second time"));
    const int32_t before = input->references;
    node = {};
    CHECK(input->references == before - 1);
  }

  TEST_CASE("a saved tensor that changed is refused with its versions") {
    const auto op = implementation();
    const TensorRef input = floats({1, 2});
    const TensorRef result = floats({3, 4});
    Tensor* const output = result.get();
    const tenon_value arguments[] = {tensor_value(input.get()), int_list_value({}), tenon_value{},
                                     tenon_value{}};
    const IntrusivePtr<OpNode> node = OpNode::create(*op, arguments, 1, {&output, 1}, 1);
    node->save(SavedTensor::Kind::Argument, 0, input.get());
    fill(*input, int_value(5));
    std::vector<TensorRef> answer;
    const std::string text = refusal(
        [&] {
          node->apply({&output, 1}, answer, {});
        },
        TENON_ERROR_INPLACE);
    CHECK(has(text, "[f32 [2]]"));
    CHECK(has(text, "is at version 1; expected version 0"));
  }
}

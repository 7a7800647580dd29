// Graphs made by hand, and the ops that autograd itself calls, for the tests of autograd.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/autograd/engine/grad.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/node_block.hpp"
#include "tests/core/dispatch/support.hpp"

namespace tenon::core::test {

using Answer = std::vector<TensorRef>;

// A node whose rule is the test's: the gradients of its outputs in, those of its edges out.
class RuleNode final : public Node {
 public:
  using Rule = std::function<Answer(std::span<Tensor* const>)>;
  RuleNode(const NodeBlock& block, Rule rule) : Node(block), rule_(std::move(rule)) {}
  const char* name() const override { return "RuleBackward0"; }
  void apply(std::span<Tensor* const> gradients, Answer& answer, const BackwardCall&) override {
    answer = rule_(gradients);
  }
  void release_saved() override { released_ = true; }
  bool released() const override { return released_; }

 private:
  Rule rule_;
  bool released_ = false;
};

// The node of a call with one result and an edge for each input.
inline IntrusivePtr<RuleNode> rule_node(const Tensor& result, std::span<Tensor* const> inputs,
                                        RuleNode::Rule rule) {
  const Tensor* const output = &result;
  NodeBlock block(sizeof(RuleNode), inputs.size(), {&output, 1});
  IntrusivePtr<RuleNode> node = block.make<RuleNode>(std::move(rule));
  for (size_t i = 0; i < inputs.size(); ++i) node->edges()[i] = gradient_edge(*inputs[i]);
  return node;
}

// Makes the tensor the result of such a call.
inline Node& compute(Tensor& result, std::initializer_list<Tensor*> inputs, RuleNode::Rule rule) {
  IntrusivePtr<RuleNode> node = rule_node(result, {inputs.begin(), inputs.size()}, std::move(rule));
  Node& raw = *node;
  set_history(result, {std::move(node), 0});
  return raw;
}

inline TensorRef leaf(std::initializer_list<float> values) {
  TensorRef tensor = floats(values);
  set_requires_grad(*tensor, true);
  return tensor;
}

inline TensorRef scaled(const Tensor& tensor, float factor) {
  TensorRef made = contiguous_copy(tensor);
  auto* data = static_cast<float*>(made->view.data);
  for (int64_t i = 0; i < made->view.count; ++i) data[i] *= factor;
  return made;
}

namespace core_op_kernels {

inline float* data(Tensor& tensor) { return static_cast<float*>(tensor.view.data); }
inline Shape sizes(const tenon_value& value) { return {value.as.integers, value.length}; }

inline void add_to(Tensor& into, const Tensor& more) {
  const TensorRef dense = contiguous_copy(more, TENON_F32);
  for (int64_t i = 0; i < into.view.count; ++i) data(into)[i] += data(*dense)[i];
}

inline tenon_status add(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                        tenon_error**) {
  TensorRef sum = contiguous_copy(*arguments[0].as.tensor);
  add_to(*sum, *arguments[1].as.tensor);
  results[0] = tensor_value(sum.give());
  return TENON_OK;
}
inline tenon_status add_in_place(void*, tenon_context*, const tenon_value* arguments,
                                 tenon_value* results, tenon_error**) {
  add_to(*arguments[0].as.tensor, *arguments[1].as.tensor);
  results[0] = tensor_value(TensorRef(arguments[0].as.tensor).give());
  return TENON_OK;
}
inline tenon_status as_strided(void*, tenon_context*, const tenon_value* arguments,
                               tenon_value* results, tenon_error**) {
  results[0] = tensor_value(make_alias(*arguments[0].as.tensor, sizes(arguments[1]),
                                       sizes(arguments[2]), arguments[3].as.integer)
                                .give());
  return TENON_OK;
}
inline tenon_status as_strided_scatter(void*, tenon_context*, const tenon_value* arguments,
                                       tenon_value* results, tenon_error**) {
  TensorRef whole = contiguous_copy(*arguments[0].as.tensor);
  copy(*make_alias(*whole, sizes(arguments[2]), sizes(arguments[3]), arguments[4].as.integer),
       *arguments[1].as.tensor);
  results[0] = tensor_value(whole.give());
  return TENON_OK;
}
inline tenon_status dense(void*, tenon_context*, const tenon_value* arguments, tenon_value* results,
                          tenon_error**) {
  results[0] = tensor_value(contiguous_copy(*arguments[0].as.tensor).give());
  return TENON_OK;
}
inline tenon_status reshape(void*, tenon_context*, const tenon_value* arguments,
                            tenon_value* results, tenon_error**) {
  const TensorRef dense = contiguous_copy(*arguments[0].as.tensor);
  TensorRef made = make_empty(TENON_F32, sizes(arguments[1]));
  std::copy(data(*dense), data(*dense) + dense->view.count, data(*made));
  results[0] = tensor_value(made.give());
  return TENON_OK;
}
inline tenon_status index_add(void*, tenon_context*, const tenon_value* arguments,
                              tenon_value* results, tenon_error**) {
  TensorRef sum = contiguous_copy(*arguments[0].as.tensor);
  const auto* index = static_cast<const int64_t*>(arguments[2].as.tensor->view.data);
  const TensorRef source = contiguous_copy(*arguments[3].as.tensor);
  for (int64_t i = 0; i < source->view.count; ++i) data(*sum)[index[i]] += data(*source)[i];
  results[0] = tensor_value(sum.give());
  return TENON_OK;
}

}  // namespace core_op_kernels

// Registers what these tests need of the ops that autograd calls, for f32, in the process's table:
// core_ops looks there.
inline void provide_core_ops() {
  namespace kernels = core_op_kernels;
  static const bool provided = [] {
    const tenon_op_descriptor ops[] = {
        descriptor("add(Tensor input, Tensor other) -> Tensor", kernels::add),
        descriptor("add_(Tensor(a!) input, Tensor other) -> Tensor(a!)", kernels::add_in_place),
        descriptor("as_strided(Tensor(a) input, int[] size, int[] stride, int storage_offset) -> "
                   "Tensor(a)",
                   kernels::as_strided),
        descriptor("as_strided_scatter(Tensor input, Tensor src, int[] size, int[] stride, int "
                   "storage_offset) -> Tensor",
                   kernels::as_strided_scatter),
        descriptor("clone(Tensor input) -> Tensor", kernels::dense),
        descriptor("contiguous(Tensor input) -> Tensor", kernels::dense),
        descriptor("reshape(Tensor input, int[] shape) -> Tensor", kernels::reshape),
        descriptor("index_add(Tensor input, int dim, Tensor index, Tensor source) -> Tensor",
                   kernels::index_add),
    };
    std::vector<const tenon_op_descriptor*> pointers;
    for (const tenon_op_descriptor& op : ops) pointers.push_back(&op);
    Registry::process().commit("core_tests", pointers);
    return true;
  }();
  static_cast<void>(provided);
}

}  // namespace tenon::core::test

// Gradients of views, against sums over the places of their elements.
#include <random>

#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/op_node.hpp"
#include "core/autograd/record/inplace.hpp"
#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// A view of a base of `count` elements, and the place of each of its elements in the base.
struct Drawn {
  std::vector<int64_t> shape, strides;
  int64_t offset = 0;
  std::vector<int64_t> places;
};
Drawn draw(std::mt19937& random, int64_t count) {
  Drawn drawn;
  const size_t rank = 1 + random() % 3;
  drawn.offset = static_cast<int64_t>(random() % 4);
  drawn.places = {drawn.offset};
  int64_t last = drawn.offset;
  for (size_t d = 0; d < rank; ++d) {
    const auto stride = static_cast<int64_t>(random() % 6);
    int64_t size = 1 + static_cast<int64_t>(random() % 4);
    while (last + (size - 1) * stride >= count) --size;
    last += (size - 1) * stride;
    drawn.shape.push_back(size);
    drawn.strides.push_back(stride);
    std::vector<int64_t> places;
    for (const int64_t place : drawn.places) {
      for (int64_t i = 0; i < size; ++i) places.push_back(place + i * stride);
    }
    drawn.places = places;
  }
  return drawn;
}

TensorRef numbered(std::mt19937& random, std::vector<int64_t> shape) {
  TensorRef tensor = make_empty(TENON_F32, shape);
  auto* data = static_cast<float*>(tensor->view.data);
  for (int64_t i = 0; i < tensor->view.count; ++i) data[i] = static_cast<float>(random() % 100);
  return tensor;
}

// Triples the gradient of the one tensor that it changes.
tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}
bool answers = true;
tenon_status triple(void*, tenon_context* context, tenon_tensor* const* gradients, int64_t,
                    tenon_error**) {
  context->rule->answer->push_back(answers ? scaled(*gradients[0], 3) : TensorRef());
  context->rule->answered = true;
  return TENON_OK;
}
const Implementation& tripling() {
  static const auto made = [] {
    tenon_op_descriptor op = descriptor("t.triple_(Tensor(a!) input) -> Tensor(a!)", nothing);
    op.differentiable = TENON_DIFFERENTIABLE_FORMULA;
    op.backward = triple;
    auto implementation = make_implementation(op, "test");
    static tenon_op handle("t.triple_");
    implementation->op = &handle;
    return implementation;
  }();
  return *made;
}

}  // namespace

TEST_SUITE("autograd/view_node") {
  TEST_CASE("an element's gradient goes to its place in the base, shared places are summed") {
    provide_core_ops();
    std::mt19937 random(5);
    int overlapping = 0;
    for (int round = 0; round < 300; ++round) {
      constexpr int64_t kCount = 24;
      const TensorRef base = numbered(random, {4, 6});
      set_requires_grad(*base, true);
      const Drawn drawn = draw(random, kCount);
      const TensorRef view = make_alias(*base, drawn.shape, drawn.strides, drawn.offset);
      overlapping += may_overlap(drawn.shape, drawn.strides) ? 1 : 0;
      const NodeRef node = make_view_node(*view, *base);
      const TensorRef gradient = numbered(random, drawn.shape);
      Tensor* const gradients[] = {gradient.get()};
      Answer answer;
      node->apply(gradients, answer, {});
      std::vector<float> expected(kCount);
      const std::vector<float> values = read(*gradient);
      for (size_t i = 0; i < values.size(); ++i)
        expected[static_cast<size_t>(drawn.places[i])] += values[i];
      REQUIRE(answer.size() == 1);
      CHECK(same_shape(answer[0]->shape(), base->shape()));
      CHECK(read(*answer[0]) == expected);
      CHECK(node->edges()[0].node.get() == gradient_edge(*base).node.get());
    }
    CHECK(overlapping > 30);
    CHECK(overlapping < 270);
  }

  TEST_CASE("no gradient of the view is none of the base") {
    const TensorRef base = leaf({1, 2});
    const NodeRef node = make_view_node(*make_alias(*base, {}, {}, 1), *base);
    Tensor* const gradients[] = {nullptr};
    Answer answer;
    node->apply(gradients, answer, {});
    REQUIRE(answer.size() == 1);
    CHECK_FALSE(answer[0]);
  }

  TEST_CASE("after a change of a view its part of the gradient goes through the change") {
    provide_core_ops();
    std::mt19937 random(6);
    int tried = 0;
    for (int round = 0; round < 300; ++round) {
      constexpr int64_t kCount = 24;
      const Drawn drawn = draw(random, kCount);
      if (may_overlap(drawn.shape, drawn.strides)) continue;
      ++tried;
      answers = round % 5 != 0;
      const TensorRef base = numbered(random, {kCount});
      set_requires_grad(*base, true);
      const TensorRef view = make_alias(*base, drawn.shape, drawn.strides, drawn.offset);
      const tenon_value arguments[] = {tensor_value(view.get())};
      Tensor* const changed = view.get();
      IntrusivePtr<OpNode> change = OpNode::create(tripling(), arguments, 1, {&changed, 1}, 0);
      change->set_tensor_slots(1);
      const NodeRef node = make_copy_slices_node({change, 0, 0}, *view, *base);
      CHECK(node->name() == std::string("CopySlices"));
      const TensorRef gradient = numbered(random, {kCount});
      Tensor* const gradients[] = {gradient.get()};
      Answer answer;
      node->apply(gradients, answer, {});
      std::vector<float> expected = read(*gradient);
      for (const int64_t place : drawn.places)
        expected[static_cast<size_t>(place)] *= answers ? 3.0f : 0.0f;
      REQUIRE(answer.size() ==
              2);  // for the base, and for the change's own slot, which is the base's
      CHECK(read(*answer[0]) == expected);
      CHECK_FALSE(answer[1]);
    }
    CHECK(tried > 50);
    answers = true;
  }
}

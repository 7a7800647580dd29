// Counts of the nodes that are alive.
#include "core/autograd/graph/leak_tracking.hpp"

#include "core/autograd/graph/op_node.hpp"
#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

tenon_status nothing(void*, tenon_context*, const tenon_value*, tenon_value*, tenon_error**) {
  return TENON_OK;
}
tenon_status rule(void*, tenon_context*, tenon_tensor* const*, int64_t, tenon_error**) {
  return TENON_OK;
}

std::unique_ptr<Implementation> op(const char* schema, const char* provider) {
  tenon_op_descriptor made = descriptor(schema, nothing);
  made.differentiable = TENON_DIFFERENTIABLE_FORMULA;
  made.backward = rule;
  return make_implementation(made, provider);
}

IntrusivePtr<OpNode> record(const Implementation& implementation, const TensorRef& input) {
  const tenon_value arguments[] = {tensor_value(input.get())};
  Tensor* const result = input.get();
  auto node = OpNode::create(implementation, arguments, 1, {&result, 1}, 1);
  node->save(SavedTensor::Kind::Argument, 0, input.get());
  return node;
}

// Live objects of the provider: "nodes saved_tensors saved_bytes op=nodes...".
std::string alive(std::string_view provider) {
  const Json all = describe_live();
  for (const tenon_json& one : all->children()) {
    if (one.find("provider")->as_string() != provider) continue;
    std::string text = std::to_string(one.find("nodes")->as_int()) + " " +
                       std::to_string(one.find("saved_tensors")->as_int()) + " " +
                       std::to_string(one.find("saved_bytes")->as_int());
    for (const tenon_json& each : one.find("ops")->children()) {
      text += " " + std::string(each.find("op")->as_string()) + "=" +
              std::to_string(each.find("nodes")->as_int());
    }
    return text;
  }
  return "";
}

}  // namespace

TEST_SUITE("autograd/live") {
  TEST_CASE("nodes are counted by provider and op until they end") {
    const auto one = op("t.one(Tensor input) -> Tensor", "live_a");
    const auto two = op("t.two(Tensor input) -> Tensor", "live_a");
    const auto other = op("t.other(Tensor input) -> Tensor", "live_b");
    const TensorRef input = floats({1, 2});
    const auto untracked = record(*one, input);
    CHECK_FALSE(track_live(true));
    {
      const auto a = record(*one, input), b = record(*one, input), c = record(*two, input);
      const auto d = record(*other, input);
      CHECK(alive("live_a") == "3 3 24 t.one=2 t.two=1");
      CHECK(alive("live_b") == "1 1 8 t.other=1");
      a->release_saved();
      CHECK(alive("live_a") == "3 2 16 t.one=2 t.two=1");
    }
    CHECK(alive("live_a") == "");
    CHECK(track_live(false));
    const auto late = record(*one, input);
    CHECK(alive("live_a") == "");
  }

  TEST_CASE("a node that is counted is forgotten also when tracking has been switched off") {
    const auto one = op("t.one(Tensor input) -> Tensor", "live_c");
    track_live(true);
    auto node = record(*one, floats({1}));
    track_live(false);
    CHECK(alive("live_c") == "1 1 4 t.one=1");
    node = {};
    CHECK(alive("live_c") == "");
  }
}

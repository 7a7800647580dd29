// Reports of graphs.
#include "core/autograd/graph/graph.hpp"

#include "tests/core/autograd/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("autograd/graph") {
  TEST_CASE("nodes are listed once, in the order of a walk from the roots") {
    const TensorRef x = leaf({1}), a = floats({0}), b = floats({0});
    compute(*a, {x.get()}, {});
    compute(*b, {x.get(), a.get()}, {});
    const TensorRef constant = floats({3});
    Tensor* const roots[] = {b.get(), constant.get(), a.get()};
    const Json report = describe_graph(roots);
    CHECK(report->find("roots")->children().size() == 2);
    CHECK(dump(*report->find("roots")) == R"([{"node":0,"output":0},{"node":1,"output":0}])");
    const auto nodes = report->find("nodes")->children();
    REQUIRE(nodes.size() == 3);
    CHECK(nodes[0].find("name")->as_string() == "RuleBackward0");
    CHECK(dump(*nodes[0].find("edges")) ==
          R"([{"input":0,"node":2,"output":0},{"input":1,"node":1,"output":0}])");
    CHECK(dump(*nodes[1].find("edges")) == R"([{"input":0,"node":2,"output":0}])");
    CHECK(nodes[2].find("name")->as_string() == "AccumulateGrad");
    CHECK(nodes[2].find("sequence") == nullptr);
    CHECK(nodes[0].find("sequence") != nullptr);
    CHECK(nodes[0].find("op") == nullptr);
  }

  TEST_CASE("a root that is undefined is refused") {
    Tensor* const roots[] = {nullptr};
    CHECK(has(refusal([&] { describe_graph(roots); }, TENON_ERROR_ARGUMENT), "is undefined"));
  }
}

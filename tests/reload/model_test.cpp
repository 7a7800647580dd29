// Random sequences of loads, unloads, reloads, calls and graphs, against a model of a few lines.
#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tests/reload/generation.hpp"

using namespace generation;
using tenon::Op, tenon::Tensor, tenon::Unload;

namespace {

class Sequence {
 public:
  // The first build is active.
  explicit Sequence(uint32_t seed) : random_(seed) {}

  void step() {
    switch (random_() % 8) {
      case 0:
        return reload();
      case 1:
        return unload();
      case 2:
        tenon::load_plugin("generation");
        if (active_ == 0) active_ = installed_;
        return;
      case 3:
      case 4:
        return call();
      case 5:
        return record();
      case 6:
        return run_backward();
      default:
        if (!graphs_.empty())
          graphs_.erase(graphs_.begin() + static_cast<int64_t>(random_() % graphs_.size()));
    }
  }

  void end() {
    graphs_.clear();
    if (active_ != 0)
      CHECK(tenon::unload("generation", Unload::wait)["state"].text() == "unmapped");
    CHECK(retired() == 0);
  }

 private:
  struct Graph {
    int64_t number;  // number of the code that recorded it
    Tensor x, y;
  };

  void reload() {
    installed_ = 1 + static_cast<int64_t>(random_() % 3);
    install(std::to_string(installed_));
    tenon::reload("generation");
    active_ = installed_;
  }
  void unload() {
    const bool force = random_() % 2 == 0;
    const bool held = std::any_of(graphs_.begin(), graphs_.end(),
                                  [&](const Graph& graph) { return graph.number == active_; });
    const auto body = [&] { tenon::unload("generation", force ? Unload::force : Unload::refuse); };
    const std::string error = error_of(body);
    if (error == "no PluginError") {
      CHECK(active_ != 0);
      active_ = 0;
    } else if (active_ == 0) {
      CHECK(has(error, "it is not loaded"));
    } else {
      // A build may have been loaded twice: graphs of the first do not hold the second.
      CHECK(held);
      CHECK(!force);
      CHECK(has(error, "node of a graph"));
    }
  }
  void call() {
    if (active_ != 0) {
      CHECK(number_.call<int64_t>() == active_);
    } else {
      CHECK(has(error_of([&] { number_.call<int64_t>(); }), "stale handle"));
    }
  }
  void record() {
    if (active_ == 0) return;
    const Tensor x = tenon::tensor({1.0}).requires_grad_();
    graphs_.push_back({active_, x, scale_.call<Tensor>(x)});
    CHECK(graphs_.back().y.item<double>() == static_cast<double>(active_));
  }
  void run_backward() {
    if (graphs_.empty()) return;
    Graph& graph = graphs_[random_() % graphs_.size()];
    graph.x.set_grad({});
    graph.y.backward({}, true);
    CHECK(graph.x.grad().item<double>() == static_cast<double>(graph.number));
  }

  std::mt19937 random_;
  const Op number_{"generation.number"}, scale_{"generation.scale"};
  int64_t installed_ = 1, active_ = 1;  // 0: unloaded
  std::vector<Graph> graphs_;
};

}  // namespace

TEST_SUITE("reload against a model") {
  TEST_CASE(
      "any sequence of loads, unloads, reloads, calls and backwards does what the model does") {
    for (uint32_t seed = 0; seed < 12; ++seed) {
      CAPTURE(seed);
      start("1");
      Sequence sequence(seed);
      for (int i = 0; i < 60; ++i) sequence.step();
      sequence.end();
    }
  }
}

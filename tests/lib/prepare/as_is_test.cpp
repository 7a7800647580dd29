// Prepared models that run as they are, and what makes a list stale.
#include <random>

#include <tenon/trace.hpp>

#include "tests/lib/prepare/support.hpp"
#include "tests/reload/generation.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace preparing;

namespace {

Module fixture_model(const std::string& type) {
  static const bool found = (add_plugin_path(TENON_FIXTURES "/prepared"), true);
  (void)found;
  Module module = Module::create("prepared." + type);
  module.eval();
  return module;
}

Module linear() {
  return model_of(R"({"type": "Sequential", "layers": [
      {"type": "Linear", "in_features": 3, "out_features": 3}, "ReLU"]})");
}

// A call without a list, for the reason.
void check_as_is(const Prepared& prepared, const std::string& reason, const Tensor& input) {
  const int64_t before = prepared.runs_as_is();
  prepared(input);
  CHECK(prepared.runs_as_is() == before + 1);
  CHECK(has(prepared.reasons(), reason));
}
void check_listed(const Prepared& prepared, const Module& model, const Tensor& input) {
  const int64_t before = prepared.listed_runs();
  CHECK(agrees(prepared, model, {input}));
  CHECK(prepared.listed_runs() == before + 1);
}

// A small network whose parameters and layers change in ways that results show.
class ChangingModel {
 public:
  explicit ChangingModel(std::mt19937& random) : random_(random) {}

  const Module model = model_of(R"({"type": "Sequential", "layers": [
      {"type": "Linear", "in_features": 3, "out_features": 3}, {"type": "BatchNorm1d", "num_features": 3},
      "ReLU", {"type": "Linear", "in_features": 3, "out_features": 3}, "Tanh"]})");

  Tensor input() {
    // Also none, and a layout that the last list is not for.
    return randn({pick(4), 3}).to(dtype_);
  }
  // Does something, and says what.
  std::string change() {
    const std::string layer = pick(2) == 0 ? "0" : "3", name = layer + ".weight";
    const Module place = model.child(layer.c_str());
    Tensor weight = place.tensor("weight");
    switch (pick(12)) {
      case 0:
        weight.mul_(1.5);
        return name + " in place";
      case 1:
        narrow(weight, 0, pick(3), 1).add_(1);
        return name + " by a view";
      case 2:
        Module(place).assign("weight", randn({3, 3}).to(dtype_).requires_grad_());
        return name + " replaced";
      case 3:
        Module(place).assign("weight", randn({3, 3}).to(dtype_).transpose(0, 1).requires_grad_());
        return name + " replaced by a view";
      case 4:
        model.requires_grad_(pick(2) == 0);
        return "frozen or not";
      case 5:
        dtype_ = dtype_ == f32 ? f64 : f32;
        model.to(dtype_);
        return "converted";
      case 6:
        model.requires_grad_(true);  // parameters alone can be assigned
        Module(model.child("3")).assign("weight", model.child("0").tensor("weight"));
        return "moved from one layer to another";
      case 7:
        Tensor(model.tensor("1.running_mean")).add_(0.5);
        return "statistics in place";
      case 8:
        Module(model).assign("4", model_of(pick(2) == 0 ? R"({"type": "Tanh"})" : R"("ReLU")"));
        return "a layer replaced";
      case 9:
        weight.copy_(randn({3, 3}));
        return name + " copied into";
      case 10:
        model.train();
        model(randn({4, 3}).to(dtype_));
        model.eval();
        return "statistics by a step of training";
      default:
        return "nothing";
    }
  }

 private:
  int64_t pick(int64_t count) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(count));
  }
  std::mt19937& random_;
  DType dtype_ = f32;
};

}  // namespace

TEST_SUITE("lib/prepare/as_is") {
  TEST_CASE("gradients, training mode, modes, traces, watches and hooks see the model itself") {
    const Module model = linear();
    const Prepared prepared = prepare(model);
    const Tensor input = randn({2, 3});
    check_as_is(prepared, "grad mode is on: call it under NoGrad", input);
    prepared(input).sum().backward();
    CHECK(model.tensor("0.weight").grad().defined());
    const NoGrad no_grad;
    check_listed(prepared, model, input);
    model.child("0").train();
    check_as_is(prepared, "Linear is in training mode: call eval() of the model", input);
    model.eval();
    check_listed(prepared, model, input);
    {
      CountMode count;
      const ModeScope scope(count);
      check_as_is(prepared, "see the calls of this thread", input);
      CHECK(count.calls()["relu"] == 1);
    }
    {
      const TraceScope trace;
      check_as_is(prepared, "see the calls of this thread", input);
      CHECK_FALSE(trace.lines().empty());
    }
    check_listed(prepared, model, input);
    int calls = 0;
    {
      struct Counting : ModuleWatch {
        explicit Counting(int& number) : begun(number) {}
        void begins(const Module&, const HookValues&) override { ++begun; }
        int& begun;
      } counting(calls);
      const ModuleWatchScope scope(counting);
      check_as_is(prepared, "a watch sees the modules of this thread", input);
      CHECK(calls == 3);
    }
    calls = 0;
    check_listed(prepared, model, input);
    Hook hook = model.child("1").register_forward_hook(
        [&](const Module&, const auto&, const auto&) { ++calls; });
    check_as_is(prepared, "hooks see the calls of ReLU", input);
    CHECK(calls == 1);
    hook.remove();
    check_listed(prepared, model, input);
    CHECK(calls == 1);
  }

  TEST_CASE("a run in inference mode gives inference tensors") {
    const Module model = model_of(R"({"type": "Sequential", "layers": ["Tanh", "ReLU", "Tanh"]})");
    const Prepared prepared = prepare(model);
    const Tensor input = randn({4});
    const auto run = [&] {
      const Tensor output = prepared(input);
      CHECK(same_bits(output, model(input)));
      return output.is_inference();
    };
    for (int i = 0; i < 2; ++i) {
      {
        const InferenceMode inference;
        CHECK(run());
      }
      const NoGrad no_grad;
      CHECK_FALSE(run());
    }
    CHECK(prepared.runs_as_is() == 0);
  }

  TEST_CASE("parameters that are changed, replaced, frozen or converted take effect") {
    const Module model = linear();
    const Prepared prepared = prepare(model);
    const NoGrad no_grad;
    const Tensor input = randn({2, 3});
    check_listed(prepared, model, input);
    Tensor(model.tensor("0.weight")).mul_(2);
    CHECK(agrees(prepared, model, {input}));
    CHECK(has(prepared.reasons(), "'0.weight' has changed; the next run makes a new list"));
    check_listed(prepared, model, input);
    Module(model.child("0")).assign("weight", randn({3, 3}).requires_grad_());
    check_listed(prepared, model, input);
    model.requires_grad_(false);
    check_listed(prepared, model, input);
    model.to(f64);
    CHECK(agrees(prepared, model, {input.to(f64)}));
    check_listed(prepared, model, input.to(f64));
    Module(model).assign("1", model_of(R"({"type": "Tanh"})"));
    check_listed(prepared, model, input.to(f64));
  }

  TEST_CASE("random changes of parameters and layers take effect at once, in clones as well") {
    const NoGrad no_grad;
    int64_t listed = 0, runs = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
      CAPTURE(seed);
      std::mt19937 random(seed);
      ChangingModel changing(random);
      const Prepared prepared = prepare(changing.model, {{changing.input()}});
      const Prepared clone = prepared.clone();
      std::string changes;
      for (int i = 0; i < 8; ++i) {
        changes += changing.change() + "; ";
        CAPTURE(changes);
        const Tensor input = changing.input();
        // The model itself last: its batch norm counts as a change of its statistics.
        std::vector<std::pair<Tensor, double>> results;
        for (uint64_t k = random() % 3; k < 3; ++k) {
          for (const Prepared& one : {prepared, clone}) {
            if (random() % 4 == 0) continue;
            const Tensor found = one(input);
            results.emplace_back(found, allowed(one));
          }
        }
        const Tensor expected = changing.model(input);
        for (const auto& [found, bound] : results) REQUIRE(is_near(expected, found, bound));
      }
      listed += prepared.listed_runs() + clone.listed_runs();
      runs += prepared.runs_as_is() + clone.runs_as_is();
    }
    CHECK(2 * listed > runs);
  }

  TEST_CASE("one parameter in two places may become two") {
    const Module model = linear();
    Module twice = Module::create("Sequential");
    twice.register_child("0", model.child("0"));
    twice.register_child("1",
                         model_of(R"({"type": "Linear", "in_features": 3, "out_features": 3})"));
    Module(twice.child("1")).assign("weight", model.tensor("0.weight"));
    twice.eval();
    const Prepared prepared = prepare(twice);
    const NoGrad no_grad;
    check_listed(prepared, twice, randn({2, 3}));
    Module(twice.child("1"))
        .assign("weight", twice.child("1")
                              .tensor("bias")
                              .reshape({3, 1})
                              .expand({3, 3})
                              .clone()
                              .requires_grad_());
    check_listed(prepared, twice, randn({2, 3}));
  }

  TEST_CASE("arguments of tensor types and without a list go to the model") {
    const Module model = linear();
    const Prepared prepared = prepare(model);
    const NoGrad no_grad;
    CHECK_THROWS_AS(prepared(Tensor()), TypeError);
    CHECK_THROWS_AS(prepared(3), TypeError);
    ShapesOnly shapes;
    CHECK(prepared(randn({2, 3})).sizes() == std::vector<int64_t>{2, 3});
    CHECK(prepared.listed_runs() == 0);
  }

  TEST_CASE("models that read elements, draw, or change run as they are") {
    const std::vector<std::pair<std::string, std::string>> models{
        {"Branches", "on tensors without data it raises"},
        {"Counts", "two runs on the same arguments"},
        {"Makes", "a tensor that it keeps or makes without an op"}};
    for (const auto& [type, reason] : models) {
      CAPTURE(type);
      const Module model = fixture_model(type);
      const Prepared prepared = prepare(model);
      const NoGrad no_grad;
      for (const double sign : {1.0, -1.0}) {
        prepared(full({2}, sign));
        if (type != "Counts") CHECK(agrees(prepared, model, {full({2}, sign)}));
      }
      CHECK(prepared.listed_runs() == 0);
      CHECK(has(prepared.reasons(), reason));
    }
  }

  TEST_CASE("a buffer that the model changes is changed once in each run") {
    const NoGrad no_grad;
    const Module model = fixture_model("Accumulates");
    const Prepared prepared = prepare(model, {{zeros({1})}});
    for (int i = 1; i <= 4; ++i) {
      CHECK(prepared(zeros({1})).item() == i);
      CHECK(model.tensor("total").item() == i);
    }
    CHECK(prepared.listed_runs() == 1);
    CHECK(has(prepared.reasons(), "'total' has changed; the next run makes a new list"));
  }

  TEST_CASE("batch norm in eval mode leaves its statistics and their versions") {
    const Module model = model_of(R"({"type": "BatchNorm1d", "num_features": 3})");
    const Prepared prepared = prepare(model);
    const NoGrad no_grad;
    const Tensor input = randn({2, 3}), expected = model(input);
    const int64_t version = model.tensor("running_mean").version();
    for (int i = 0; i < 3; ++i) CHECK(same_bits(prepared(input), expected));
    CHECK(prepared.listed_runs() == 3);
    CHECK(model.tensor("running_mean").version() == version);
  }

  TEST_CASE("a run as it is that leaves statistics as they were makes no list stale") {
    const Module model = model_of(R"({"type": "BatchNorm1d", "num_features": 3})");
    const Tensor input = randn({2, 3});
    const Prepared prepared = prepare(model, {{input}});
    const NoGrad no_grad;
    const Tensor expected = model(input);  // which counts as a change of them
    for (int i = 0; i < 3; ++i) CHECK(same_bits(prepared(input), expected));
    CHECK(prepared.listed_runs() == 2);
    CHECK(prepared.runs_as_is() == 1);
  }

  TEST_CASE("a model that draws random numbers draws what it would have drawn") {
    const Module model = fixture_model("Draws");
    const NoGrad no_grad;
    seed_generator(7);
    const Tensor first = model(zeros({1})), second = model(zeros({1}));
    seed_generator(7);
    const Prepared prepared = prepare(model, {{zeros({1})}});
    CHECK(same_bits(prepared(zeros({1})), first));
    CHECK(same_bits(prepared(zeros({1})), second));
    CHECK(has(prepared.reasons(), "rand draws random numbers"));
  }

  TEST_CASE("arguments that are returned, or changed in place, are those of the caller") {
    const NoGrad no_grad;
    const Prepared returns = prepare(fixture_model("Returns"));
    const Prepared writes = prepare(fixture_model("Writes"));
    for (int i = 0; i < 2; ++i) {
      const Tensor input = randn({2, 3});
      const auto [same, view] = returns.call<std::tuple<Tensor, Tensor>>(input);
      CHECK(same.is_same(input));
      CHECK(view.data<float>() == input.data<float>());
      const Tensor changed = ones({4});
      CHECK(writes(changed).to_vector<float>() == std::vector<float>(4, 4));
      CHECK(changed.to_vector<float>() == std::vector<float>(4, 2));
    }
    CHECK(returns.listed_runs() == 2);
    CHECK(writes.listed_runs() == 2);
    Tensor leaf = ones({4});
    leaf.requires_grad_();
    CHECK(agrees(writes, fixture_model("Writes"), {leaf}));
  }

  TEST_CASE("tensors that a model keeps or refills are what they are at each use") {
    const NoGrad no_grad;
    const Module refills = fixture_model("Refills");
    const Prepared filled = prepare(refills);
    CHECK(filled(ones({1})).item() == 15);
    check_listed(filled, refills, ones({1}));

    const Module keeps = fixture_model("Keeps");
    const Prepared prepared = prepare(keeps);
    for (int i = 0; i < 2; ++i) CHECK(prepared(zeros({1})).item() == 1);
    keeps(zeros({1}), 5.0);
    CHECK(prepared(zeros({1})).item() == 5);
    CHECK(prepared(zeros({1})).item() == 5);
    CHECK(prepared.runs_as_is() == 0);
  }

  TEST_CASE("a parameter that a model reads outside of ops is watched, too") {
    const NoGrad no_grad;
    const Module model = fixture_model("Reads");
    const Prepared prepared = prepare(model);
    CHECK(prepared(ones({1})).item() == 2);
    Tensor(model.tensor("weight")).add_(1);
    for (int i = 0; i < 3; ++i) CHECK(prepared(ones({1})).item() == 3);
    CHECK(prepared.listed_runs() == 3);
  }

  TEST_CASE("shapes that depend on elements end the list") {
    const NoGrad no_grad;
    const Module model = fixture_model("Selects");
    const Prepared prepared = prepare(model);
    const std::vector<float> two{1, 0, 2, 0}, other{0, 3, 0, 4}, three{1, 1, 1, 0};
    const auto tensor_of = [](const std::vector<float>& list) {
      return from_range(list.begin(), list.end());
    };
    check_listed(prepared, model, tensor_of(two));
    check_listed(prepared, model, tensor_of(other));
    CHECK(agrees(prepared, model, {tensor_of(three)}));
    CHECK(has(prepared.reasons(), "shapes of results depend on elements"));
    CHECK(agrees(prepared, model, {tensor_of(two)}));
  }

  TEST_CASE("an error of a call is the model's own") {
    const NoGrad no_grad;
    const Module model = fixture_model("Raises");
    const Prepared prepared = prepare(model);
    const Tensor input = randn({3, 2}), good = full({2}, 1, i64), bad = full({2}, 9, i64);
    CHECK(agrees(prepared, model, {input, good}));
    CHECK(agrees(prepared, model, {input, bad}));
    CHECK(agrees(prepared, model, {input, good}));
    CHECK(prepared.listed_runs() == 2);
    CHECK(has(prepared.reasons(), "a call raised"));
  }

  TEST_CASE("a call that raises behind a change of an argument has changed it once") {
    const NoGrad no_grad;
    const Module model = model_of(R"({"type": "Graph", "inputs": ["x", "places"], "nodes": {
        "doubled": {"op": "add_", "inputs": ["x", "x"]},
        "chosen": {"op": "index_select", "inputs": ["doubled", 0, "places"]}}})");
    const Prepared prepared = prepare(model);
    const Tensor good = full({2}, 1, i64), bad = full({2}, 9, i64);
    const auto kind_of = [&](const auto& called) -> std::string {
      const Tensor x = ones({3});
      std::string kind;
      try {
        called.template call<Tensor>(x, bad);
      } catch (const Error& error) {
        kind = error.kind_name();
      }
      CHECK(x.to_vector<float>() == std::vector<float>(3, 2));
      return kind;
    };
    const std::string expected = kind_of(model);
    CHECK_FALSE(expected.empty());
    for (int i = 0; i < 2; ++i) {
      CHECK(agrees(prepared, model, {ones({3}), good}));
      CHECK(kind_of(prepared) == expected);
    }
    CHECK(prepared.listed_runs() == 2);
  }

  TEST_CASE("a rule whose op is missing is not used, and one whose op goes is not any more") {
    const auto with_rule = [](const std::string& rule) {
      PrepareOptions options;
      options.rewrites.declared = false;
      options.rewrites.rules.push_back(rewrites::read_rule("", rule));
      return options;
    };
    const Module model =
        model_of(R"({"type": "Graph", "nodes": {"a": {"op": "abs"}, "b": {"op": "neg"}}})");
    const NoGrad no_grad;
    const Tensor input = ones({1});
    const Prepared missing =
        prepare(model, {{input}}, with_rule("t.missing: abs(x) => no.such_op(x)"));
    check_listed(missing, model, input);
    CHECK(missing.lists().front().rewrites.empty());

    generation::start("1");
    const Prepared prepared =
        prepare(model, {{input}}, with_rule("t.scaled: abs(x) => generation.scale(x)"));
    check_listed(prepared, model, input);
    CHECK(prepared.lists().front().calls.front().op == "generation.scale");
    unload("generation", Unload::wait);
    check_listed(prepared, model, input);
    CHECK(prepared.lists().front().calls.front().op == "abs");
    generation::start("2");  // which doubles: the rule is wrong now, and used
    CHECK(prepared(input).item() == -2);
  }

  TEST_CASE("a plugin that is reloaded or unloaded between two runs is not called any more") {
    generation::start("1");
    const Module model = model_of(R"({"type": "Graph", "nodes": {
        "scaled": {"op": "generation.scale"}, "shown": {"op": "neg"}}})");
    const Prepared prepared = prepare(model);
    const NoGrad no_grad;
    const Tensor input = ones({1});
    CHECK(prepared(input).item() == -1);
    generation::start("2");
    CHECK(prepared(input).item() == -2);
    check_listed(prepared, model, input);
    CHECK(unload("generation", Unload::wait)["state"].text() == "unmapped");
    CHECK(agrees(prepared, model, {input}));
    CHECK_THROWS_AS(prepared(input), PluginError);
    generation::start("1");
    CHECK(prepared(input).item() == -1);
    check_listed(prepared, model, input);
  }

  TEST_CASE("an opened model calls a plugin that is reloaded as it was, and no other build of it") {
    generation::start("1");
    const tenon_test::TemporaryFolder folder;
    const std::string path = folder / "model.tenon";
    const Tensor input = ones({1});
    prepare(model_of(R"({"type": "Graph", "nodes": {
        "scaled": {"op": "generation.scale"}, "shown": {"op": "neg"}}})"),
            {{input}})
        .save(path);
    const Prepared opened = open_prepared(path);
    const NoGrad no_grad;
    CHECK(opened(input).item() == -1);
    generation::start("2");
    CHECK_THROWS_AS(opened(input), PluginError);
    CHECK_THROWS_AS(open_prepared(path), PluginError);
    generation::start("1");
    CHECK(opened(input).item() == -1);
    unload("generation", Unload::wait);
    CHECK_THROWS_AS(opened(input), PluginError);
  }
}

// Profiles against what modes, traces and calls of shapes alone say of the same calls.
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <tuple>

#include <doctest/doctest.h>

#include <tenon/mode.hpp>
#include <tenon/parallel.hpp>
#include <tenon/profile/profile.hpp>
#include <tenon/shapes_only.hpp>
#include <tenon/tenon.hpp>
#include <tenon/trace.hpp>
#include <tenon/transforms/checkpoint.hpp>

using namespace tenon;
using profile::Profile;
using profile::Profiler;

namespace {

Module network() {
  return create_module(Json::parse(R"({"type": "Sequential", "layers": [
    {"type": "Linear", "in_features": 3, "out_features": 4}, {"type": "ReLU"},
    {"type": "Sequential", "layers": [{"type": "Linear", "in_features": 4, "out_features": 2}]}]})"));
}

// A program of some ops on tensors of random shapes, some recorded and run backward.
void random_calls(uint32_t seed, const Module& model) {
  std::mt19937 random(seed);
  const auto draw = [&](int64_t most) { return static_cast<int64_t>(random() % most) + 1; };
  for (int i = 0; i < 12; ++i) {
    const int64_t rows = draw(4), columns = draw(4);
    const Tensor a = ones({rows, columns}), b = ones({columns, rows});
    switch (random() % 6) {
      case 0:
        add(a, a);
        break;
      case 1:
        mm(a, b);
        break;
      case 2:
        mm(transpose(b, 0, 1), transpose(a, 0, 1));
        break;
      case 3:
        a.add_(a);
        break;
      case 4:
        cat({a, a, a}, 0);
        break;
      default:
        sum(model(ones({rows, 3}))).backward();
    }
  }
}

std::map<std::string, int64_t> calls_by_op(const Profile& profile) {
  std::map<std::string, int64_t> calls;
  for (const profile::CallRow& row : profile.calls) calls[row.op] += row.calls;
  return calls;
}

// By module and direction.
using Calls = std::map<std::pair<int64_t, bool>, int64_t>;
Calls calls_by_module(const Profile& profile, const std::set<std::string>& ops) {
  Calls calls;
  for (const profile::CallRow& row : profile.calls) {
    if (ops.count(row.op) != 0) calls[{row.module, row.backward}] += row.calls;
  }
  return calls;
}

const profile::Entry& entry_of(const std::vector<profile::Entry>& entries,
                               const std::string& name) {
  for (const profile::Entry& entry : entries) {
    if (entry.name == name) return entry;
  }
  FAIL("no entry is named " << name);
  return entries.front();
}

}  // namespace

TEST_SUITE("lib/profile/profile") {
  TEST_CASE("random programs: calls of each op are those that a mode below autograd counts") {
    const Module model = network();
    for (uint32_t seed = 0; seed < 40; ++seed) {
      CountMode count;
      Profiler profiler;
      profiler.watch(model);
      {
        const ModeScope counting(count, Level::below_autograd);
        random_calls(seed, model);
      }
      CHECK_MESSAGE(calls_by_op(profiler.stop()) == count.calls(), "seed " << seed);
    }
  }

  TEST_CASE("random programs: providers are those of the kernels that a trace shows") {
    const Module model = network();
    for (uint32_t seed = 0; seed < 20; ++seed) {
      std::map<std::pair<std::string, std::string>, int64_t> traced, profiled;
      {
        Profiler profiler;
        std::vector<std::string> lines;
        {
          const TraceScope trace(TraceFormat::json,
                                 [&](std::string_view line) { lines.emplace_back(line); });
          random_calls(seed, model);
        }
        for (const profile::CallRow& row : profiler.stop().calls)
          profiled[{row.op, row.provider}] += row.calls;
        for (const std::string& line : lines) {
          const Json event = Json::parse(line);
          if (event["event"].text() == "kernel" && event["what"].text().rfind("kernel ", 0) == 0)
            ++traced[{event["op"].text(), event["provider"].text()}];
        }
      }
      for (const auto& [key, calls] : profiled)
        CHECK_MESSAGE(traced[key] >= calls,
                      "seed " << seed << " " << key.first << " of " << key.second);
    }
  }

  TEST_CASE("multiply-adds and bytes are those of all calls, whatever their shapes") {
    std::mt19937 random(7);
    int64_t multiply_adds = 0, bytes = 0;
    Profiler profiler;
    for (int i = 0; i < 30; ++i) {
      const auto n = static_cast<int64_t>(random() % 3 + 1),
                 k = static_cast<int64_t>(random() % 3 + 1);
      mm(ones({n, k}), ones({k, 2}));
      multiply_adds += n * k * 2;
      bytes += 4 * (n * k + k * 2 + n * 2);
    }
    const profile::Entry entry = entry_of(by_op(profiler.stop()), "mm");
    CHECK(entry.calls == 30);
    CHECK(entry.multiply_adds == multiply_adds);
    CHECK(entry.bytes == bytes);
  }

  TEST_CASE("an op that declares no multiply-adds has none, and a view moves no bytes") {
    const Tensor a = ones({2, 3});
    Profiler profiler;
    transpose(a, 0, 1);
    add(a, a);
    const std::vector<profile::Entry> entries = by_op(profiler.stop());
    CHECK(entry_of(entries, "transpose").bytes == 0);
    CHECK(entry_of(entries, "add").bytes == 4 * 6 * 3);
    CHECK(entry_of(entries, "add").multiply_adds == -1);
  }

  TEST_CASE("calls belong to the innermost module whose forward runs") {
    const Module model = network();
    const NoGrad no_grad;
    Profiler profiler;
    profiler.watch(model);
    const Tensor x = ones({5, 3});
    model(x);
    model(x);
    const Profile profile = profiler.stop();
    const std::vector<profile::Entry> entries = by_module(profile);
    CHECK(entry_of(entries, "0 (Linear)").calls == 2);
    CHECK(entry_of(entries, "1 (ReLU)").calls == 2);
    CHECK(entry_of(entries, "2.0 (Linear)").calls == 2);
    CHECK(entry_of(entries, "(outside of modules)").calls >= 1);
    REQUIRE(profile.modules.size() == 5);
    for (const profile::ModuleRow& module : profile.modules) {
      CHECK(module.calls == 2);
      CHECK(module.own_nanoseconds <= module.nanoseconds);
    }
    int64_t own = 0;
    for (const profile::ModuleRow& module : profile.modules) own += module.own_nanoseconds;
    // Each is rounded down.
    CHECK(own <= profile.modules.front().nanoseconds);
    CHECK(own >= profile.modules.front().nanoseconds - 5);
    CHECK(profile.modules.front().nanoseconds <= profile.nanoseconds);
  }

  TEST_CASE("ops of backward count for the module whose forward recorded their node") {
    const Module model = network();
    Profiler profiler;
    profiler.watch(model);
    for (int i = 0; i < 2; ++i) mean(model(ones({5, 3})) * 3).backward();
    const Profile profile = profiler.stop();
    std::map<std::string, int64_t> counted;
    int64_t backward = 0, of_modules = 0;
    for (const profile::CallRow& row : profile.calls) backward += row.backward ? row.calls : 0;
    for (const profile::Entry& entry : by_module(profile)) counted[entry.name] = entry.calls;
    for (const char* name :
         {"0 (Linear), backward", "1 (ReLU), backward", "2.0 (Linear), backward"}) {
      CAPTURE(name);
      CHECK(counted[name] >= 2);
      CHECK(counted[name] % 2 == 0);
      of_modules += counted[name];
    }
    CHECK(counted["(backward)"] >= 2);
    CHECK(of_modules + counted["(backward)"] == backward);
  }

  TEST_CASE("ops of a module between modules that it calls count for it in backward, too") {
    const Module model = create_module(Json::parse(R"({"type": "Graph", "nodes": {
      "first": {"module": {"type": "Linear", "in_features": 3, "out_features": 4}},
      "middle": {"op": "exp"},
      "last": {"module": {"type": "Linear", "in_features": 4, "out_features": 2}}}})"));
    Profiler profiler;
    profiler.watch(model);
    sum(model(ones({5, 3}))).backward();
    const std::vector<profile::Entry> entries = by_module(profiler.stop());
    CHECK(entry_of(entries, "(Graph), backward").calls == 1);
    CHECK(entry_of(entries, "first (Linear), backward").calls >= 1);
    CHECK(entry_of(entries, "last (Linear), backward").calls >= 1);
  }

  TEST_CASE("behind a backward that runs within a node, or fails there, the node has its module") {
    const Module model = network();
    for (const bool fails : {false, true}) {
      CAPTURE(fails);
      Profiler profiler;
      profiler.watch(model);
      const Tensor outer = model(ones({5, 3})), inner = model(ones({5, 3}));
      const Tensor total = sum(inner);
      if (fails)
        inner.grad_fn().register_pre_hook(
            [](const std::vector<Tensor>&) { throw ValueError("not today"); });
      const Node relu = outer.grad_fn().next_edges()[0].node;
      relu.register_pre_hook([&](const std::vector<Tensor>&) {
        try {
          total.backward();
        } catch (const ValueError&) {
        }
      });
      sum(outer).backward();
      const Profile profile = profiler.stop();
      int64_t calls = 0;
      for (const profile::CallRow& row : profile.calls) {
        if (row.op != "relu_backward") continue;
        REQUIRE(row.module >= 0);
        CHECK(profile.modules[static_cast<size_t>(row.module)].type == "ReLU");
        calls += row.calls;
      }
      CHECK(calls == (fails ? 1 : 2));
    }
  }

  TEST_CASE("two profilers: each names the modules that it watches, in forward and in backward") {
    const Module model = network(), rest = network();
    Profiler first;
    first.watch(model);
    Profiler second;
    second.watch(model);
    second.watch(rest);
    sum(model(ones({5, 3}))).backward();
    sum(rest(ones({5, 3}))).backward();
    const auto modules_of = [](const Profile& profile, const char* op) {
      std::vector<int64_t> modules;
      for (const profile::CallRow& row : profile.calls) {
        if (row.op == op) modules.push_back(row.module);
      }
      return modules;
    };
    const Profile both = second.stop(), one = first.stop();
    for (const char* op : {"relu", "relu_backward"}) {
      CAPTURE(op);
      CHECK(modules_of(one, op) == std::vector<int64_t>{2, -1});
      CHECK(modules_of(both, op) == std::vector<int64_t>{2, 7});
    }
    CHECK(modules_of(both, "sum") == std::vector<int64_t>{-1});
  }

  TEST_CASE("what the gradients of a module record counts for it when it is differentiated") {
    const Module model = create_module(Json::parse(R"({"type": "Graph", "nodes": {
      "squash": {"module": {"type": "Sigmoid"}}, "last": {"op": "exp"}}})"));
    const Tensor x = ones({3}).requires_grad_();
    Profiler profiler;
    profiler.watch(model);
    GradientOptions recorded;
    recorded.create_graph = true;
    const Tensor slope = gradients({sum(model(x))}, {x}, recorded)[0];
    sum(slope).backward();
    const Profile profile = profiler.stop();
    int64_t calls = 0;
    for (const profile::CallRow& row : profile.calls) {
      if (row.op != "tanh") continue;  // only the second derivative calls it
      CHECK(row.backward);
      REQUIRE(row.module >= 0);
      CHECK(profile.modules[static_cast<size_t>(row.module)].name == "squash");
      calls += row.calls;
    }
    CHECK(calls == 1);
  }

  TEST_CASE("a module that the model calls and does not contain counts for the one that calls it") {
    const Module model = network(), other = network();
    const Hook hook = model.named_modules()[1].second.register_forward_pre_hook(
        [&](const Module&, HookValues& inputs) {
          inputs.set(0, cat({other(inputs.tensor(0)), ones({5, 1})}, 1));
        });
    Profiler profiler;
    profiler.watch(model);
    sum(model(ones({5, 3}))).backward();
    const Profile profile = profiler.stop();
    std::map<int64_t, int64_t> forward, backward;
    for (const profile::CallRow& row : profile.calls) {
      if (row.op == "relu") forward[row.module] += row.calls;
      if (row.op == "relu_backward") backward[row.module] += row.calls;
    }
    const std::map<int64_t, int64_t> expected{{1, 1}, {2, 1}};
    CHECK(forward == expected);
    CHECK(backward == expected);
  }

  TEST_CASE(
      "a clone of a watched module is watched when it is asked for, and outlives the profiler") {
    const Module model = network();
    Module clone;
    {
      Profiler profiler;
      profiler.watch(model);
      clone = model.clone();
      clone(ones({5, 3}));
      profiler.watch(clone);
      sum(clone(ones({5, 3}))).backward();
      CHECK(calls_by_module(profiler.stop(), {"relu", "relu_backward"}) ==
            Calls{{{-1, false}, 1}, {{7, false}, 1}, {{7, true}, 1}});
    }
    CHECK(clone(ones({5, 3})).sizes()[1] == 2);
    Profiler other;
    clone(ones({5, 3}));
    for (const profile::CallRow& row : other.stop().calls) CHECK(row.module == -1);
  }

  TEST_CASE("a module that a backward runs again counts for the one that called it") {
    const Module model = create_module(Json::parse(R"({"type": "Sequential", "layers": [
      {"type": "Tanh"}, {"type": "Sigmoid"}]})"));
    const Module other = network();
    const Hook hook =
        model.child("1").register_forward_pre_hook([&](const Module&, const Tensor& input) {
          return transforms::checkpoint([&](const Tensor& x) { return other(x); }, input);
        });
    Profiler profiler;
    profiler.watch(model);
    sum(model(ones({5, 3}).requires_grad_())).backward();
    CHECK(calls_by_module(profiler.stop(), {"relu", "relu_backward"}) ==
          Calls{{{2, false}, 1}, {{2, true}, 2}});
  }

  TEST_CASE("a module that two others call counts for the one that a backward runs again") {
    const Module model = create_module(Json::parse(R"({"type": "Sequential", "layers": [
      "Tanh", "Sigmoid"]})"));
    const Module other = create_module(Json::parse(R"({"type": "ReLU"})"));
    std::vector<Hook> hooks;
    for (const char* name : {"0", "1"})
      hooks.push_back(model.child(name).register_forward_hook(
          [&](const Module&, const Tensor&, const Tensor& output) { return other(output); }));
    for (const char* name : {"0", "1"}) transforms::recompute::recompute_calls(model.child(name));
    Profiler profiler;
    profiler.watch(model);
    sum(model(ones({5, 3}).requires_grad_())).backward();
    const Calls calls = calls_by_module(profiler.stop(), {"relu"});
    const Calls once{{{1, false}, 1}, {{1, true}, 1}, {{2, false}, 1}, {{2, true}, 1}};
    CHECK(calls == once);
  }

  TEST_CASE("a module is watched once, from then on, by the thread of the profiler") {
    const Module model = create_module(Json::parse(R"({"type": "Graph", "nodes": {
      "first": {"module": "ReLU"}, "middle": {"op": "exp"}, "last": {"module": "Tanh"},
      "end": {"op": "sin"}}})"));
    Profiler profiler;
    std::atomic<bool> refused{false};
    std::thread([&] {
      try {
        profiler.watch(model);
      } catch (const RuntimeError&) {
        refused = true;
      }
    }).join();
    CHECK(refused);
    const Hook hook = model.child("first").register_forward_pre_hook(
        [&](const Module&, const Tensor&) { profiler.watch(model); });
    const NoGrad no_grad;
    model(ones({5, 3}));
    model(ones({5, 3}));
    const Profile profile = profiler.stop();
    REQUIRE(profile.modules.size() == 3);
    CHECK(profile.modules[0].calls == 1);
    CHECK(profile.modules[1].calls == 1);
    CHECK(profile.modules[2].calls == 2);
    std::map<std::pair<std::string, int64_t>, int64_t> calls;
    for (const profile::CallRow& row : profile.calls) {
      if (row.op != "ones") calls[{row.op, row.module}] += row.calls;
    }
    const std::map<std::pair<std::string, int64_t>, int64_t> expected{
        {{"relu", 1}, 2}, {{"exp", 0}, 2}, {{"tanh", 2}, 2}, {{"sin", 0}, 2}};
    CHECK(calls == expected);
  }

  TEST_CASE(
      "a module that two watched ones call and neither contains counts for each in its turn") {
    const Module model = create_module(Json::parse(R"({"type": "Sequential", "layers": [
      {"type": "Tanh"}, {"type": "Sigmoid"}]})"));
    const Module other = network();
    std::vector<Hook> hooks;
    for (const auto& [name, module] : model.named_modules(false))
      if (!name.empty())
        hooks.push_back(module.register_forward_pre_hook([&](const Module&, HookValues&) {
          other(ones({5, 3}));
        }));
    const NoGrad no_grad;
    Profiler profiler;
    profiler.watch(model);
    model(ones({5, 3}));
    CHECK(calls_by_module(profiler.stop(), {"relu"}) == Calls{{{1, false}, 1}, {{2, false}, 1}});
  }

  TEST_CASE("a profiler that is stopped, or destroyed, within a module ends there") {
    for (const bool stops : {false, true}) {
      CAPTURE(stops);
      const Module model = network();
      auto profiler = std::make_unique<Profiler>();
      profiler->watch(model);
      const Hook hook = model.named_modules()[2].second.register_forward_pre_hook(
          [&](const Module&, HookValues&) { stops ? void(profiler->stop()) : profiler.reset(); });
      sum(model(ones({5, 3}))).backward();
      CHECK(service::calls().watched() == 0);
    }
  }

  TEST_CASE(
      "a backward behind the profile, and one within a second profile, are not counted in the "
      "first") {
    const Module model = network();
    Tensor loss;
    {
      Profiler profiler;
      profiler.watch(model);
      loss = sum(model(ones({5, 3})));
      CHECK(calls_by_op(profiler.stop()).count("sum") == 1);
    }
    Profiler second;
    loss.backward();
    const Profile profile = second.stop();
    for (const profile::CallRow& row : profile.calls) CHECK(row.module == -1);
    CHECK(!profile.calls.empty());
  }

  TEST_CASE("calls of an op with the schema of optimizers are the optimizer's") {
    Profiler profiler;
    const Tensor parameter = ones({3});
    Op("optim.sgd_step_")(parameter, ones({3}), none, arg("learning_rate") = 0.5);
    const Profile profile = profiler.stop();
    CHECK(entry_of(by_module(profile), "(optimizer)").calls == 1);
  }

  TEST_CASE("calls of an op for lists of parameters are the optimizer's, those of copy_ are not") {
    const Tensor p = ones({3}), g = ones({3});
    Profiler profiler;
    Op("optim.sgd_steps_")
        .call<void>(std::vector<Tensor>{p, p.clone()}, std::vector<Tensor>{g, g}, none,
                    arg("learning_rate") = 0.5);
    copy_(p, g);
    const Profile profile = profiler.stop();
    for (const profile::CallRow& row : profile.calls) {
      CAPTURE(row.op);
      CHECK(row.optimizer == (row.op == "optim.sgd_steps_"));
    }
    CHECK(entry_of(by_module(profile), "(optimizer)").calls == 1);
  }

  TEST_CASE("shares add up to one, and the slowest comes first") {
    Profiler profiler;
    random_calls(3, network());
    const Profile profile = profiler.stop();
    for (const auto& entries : {by_op(profile), by_provider(profile), by_module(profile)}) {
      double sum = 0;
      int64_t last = INT64_MAX;
      for (const profile::Entry& entry : entries) {
        sum += entry.share;
        CHECK(entry.nanoseconds <= last);
        last = entry.nanoseconds;
      }
      CHECK(sum == doctest::Approx(1));
    }
  }

  TEST_CASE("a module that fails is left") {
    const Module model = network();
    Profiler profiler;
    profiler.watch(model);
    CHECK_THROWS_AS(model(ones({5, 7})), Error);
    add(ones({1}), ones({1}));
    const Profile profile = profiler.stop();
    for (const profile::CallRow& row : profile.calls) {
      if (row.op == "add") CHECK(row.module == -1);
    }
    CHECK(profile.modules.front().calls == 1);
  }

  TEST_CASE("results and gradients are those without a profiler") {
    const Module model = network();
    const Tensor x = ones({5, 3});
    const std::vector<double> expected = model(x).to_vector<double>();
    Profiler profiler;
    profiler.watch(model);
    CHECK(model(x).to_vector<double>() == expected);
  }

  TEST_CASE("calls of a parallel loop's threads count for the module that began it") {
    const Tensor a = ones({4});
    const Module model = network();
    const auto loop = [&] {
      parallel_for(0, 64, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) exp(a);
      });
    };
    const Hook hook = model.named_modules()[2].second.register_forward_pre_hook(
        [&](const Module&, HookValues&) { loop(); });
    Profiler profiler;
    profiler.watch(model);
    loop();
    const Tensor result = model(ones({5, 3}));
    result.grad_fn().next_edges()[0].node.register_hook(
        [&](const std::vector<Tensor>&, const std::vector<Tensor>&) { loop(); });
    sum(result).backward();
    std::map<std::pair<int64_t, bool>, int64_t> calls;
    for (const profile::CallRow& row : profiler.stop().calls) {
      if (row.op == "exp") calls[{row.module, row.backward}] += row.calls;
    }
    const std::map<std::pair<int64_t, bool>, int64_t> expected{
        {{-1, false}, 64}, {{2, false}, 64}, {{2, true}, 64}};
    CHECK(calls == expected);
  }

  TEST_CASE("nothing sees calls after stop, or after the profiler is gone") {
    CHECK(service::calls().watched() == 0);
    {
      Profiler profiler;
      CHECK(service::calls().watched() == 1);
      profiler.stop();
      CHECK(service::calls().watched() == 0);
      add(ones({1}), ones({1}));
      CHECK(profiler.stop().calls.empty());
    }
    {
      const Profiler profiler;
      CHECK(service::calls().watched() == 1);
    }
    CHECK(service::calls().watched() == 0);
  }

  TEST_CASE("it is stopped on the thread that made it") {
    const Module model = network();
    Profiler profiler;
    profiler.watch(model);
    std::atomic<bool> refused{false};
    std::thread([&] {
      try {
        profiler.stop();
      } catch (const RuntimeError&) {
        refused = true;
      }
    }).join();
    CHECK(refused);
    CHECK(service::modes().watches() == 0);
    // The mode is inactive, and this thread passes it over.
    CHECK(profiler.stop().calls.empty());
  }

  TEST_CASE("the document has the sums, and null where no multiply-adds are declared") {
    Profiler profiler;
    mm(ones({2, 3}), ones({3, 2}));
    add(ones({2}), ones({2}));
    const Json document = profile::document(profiler.stop());
    CHECK(document["seconds"].number() >= document["seconds_in_calls"].number());
    bool product = false, sum = false;
    for (int64_t i = 0; i < document["ops"].size(); ++i) {
      const Json op = document["ops"][i];
      if (op["op"].text() == "mm") {
        product = op["multiply_adds"].integer() == 12 && op["provider"].text() == "blas";
      } else if (op["op"].text() == "add") {
        sum = op["multiply_adds"].defined() && op["multiply_adds"].is_null();
      }
    }
    CHECK(product);
    CHECK(sum);
  }

  TEST_CASE("the part of the limit is that of multiply-adds or bytes, whichever is more") {
    Profile profile;
    profile::CallRow products, moves, neither;
    products.op = "products";
    products.nanoseconds = 1000000000;
    products.multiply_adds = 50;
    products.bytes = 100;
    moves.op = "moves";
    moves.nanoseconds = 500000000;
    moves.bytes = 300;
    neither.op = "neither";
    neither.nanoseconds = 1000;
    profile.calls = {products, moves, neither};
    CHECK(entry_of(by_op(profile), "products").of_limit == -1);
    profile.limits = {100, 1000};
    CHECK(entry_of(by_op(profile), "products").of_limit == doctest::Approx(0.5));
    CHECK(entry_of(by_op(profile), "moves").of_limit == doctest::Approx(0.6));
    CHECK(entry_of(by_op(profile), "neither").of_limit == -1);
    CHECK(profile::document(profile)["ops"][0]["of_limit"].number() == doctest::Approx(0.5));
    const profile::Limits limits = profile::measure_limits();
    CHECK(limits.multiply_adds > 1e6);
    CHECK(limits.bytes > 1e6);
  }
}

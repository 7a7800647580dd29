// Convolutions that Graph and Sequential run together with what follows them: where they do, that the
// results are those of the modules one by one, and where they must not.
#include <tenon/trace.hpp>

#include "../random_inputs.hpp"

using namespace compare;
using random_inputs::Draw;
using namespace tenon;

namespace {

Module made(const std::string& text) {
  Module module = create_module(Json::parse(text));
  for (const auto& [name, tensor] : module.named_buffers()) {
    if (name.find("running") != std::string::npos) tensor.uniform_(0.5, 2);
  }
  for (Tensor parameter : module.parameters()) {
    const NoGrad no_grad;
    parameter.uniform_(-1, 1);
  }
  module.eval();
  return module;
}
Module graph(const std::string& nodes) {
  return made(R"({"type": "Graph", "nodes": {)" + nodes + "}}");
}
// How often a call runs an op.
int64_t count(const std::string& op, const std::function<void()>& call) {
  TraceScope trace;
  call();
  int64_t found = 0;
  for (const std::string& line : trace.lines())
    found += line.find("call nn.functional." + op + "(") != std::string::npos ? 1 : 0;
  return found;
}
int64_t joints(const Module& module, const Tensor& x) {
  const NoGrad no_grad;
  return count("conv2d_tail", [&] { module(x); });
}
Tensor without_gradients(const Module& module, const Tensor& x) {
  const NoGrad no_grad;
  return module(x);
}

constexpr auto convolution =
    R"({"type": "Conv2d", "in_channels": 2, "out_channels": 2, "kernel_size": 3, "padding": 1})";
std::string node(const std::string& name, const std::string& module, const std::string& rest = "") {
  return "\"" + name + R"(": {"module": )" + module + rest + "}";
}
const std::string batch_norm_2d = R"({"type": "BatchNorm2d", "num_features": 2})";
const std::string sequence = std::string(R"({"type": "Sequential", "layers": [)") + convolution +
                             ", " + batch_norm_2d + R"(, "ReLU", )" + convolution + R"(, "ReLU"]})";

const std::string pooling =
    R"({"type": "Sequential", "layers": [{"type": "Conv2d", "in_channels": 2, "out_channels": 16,
    "kernel_size": 3}, {"type": "BatchNorm2d", "num_features": 16}, "ReLU", {"type": "MaxPool2d",
    "kernel_size": 2}]})";

}  // namespace

TEST_SUITE("nn/joined_convolution") {
  TEST_CASE("Sequential joins a convolution, batch norm and ReLU where gradients are off") {
    const Module module = made(sequence);
    const Tensor x = rand({2, 2, 5, 6});
    CHECK(joints(module, x) == 2);
    CHECK(count("conv2d_tail", [&] { module(x); }) == 0);  // recorded
    check_close(without_gradients(module, x), module(x).detach(), 1e-5);
    const NoGrad no_grad;
    CHECK(count("conv2d", [&] { module(x); }) == 0);
  }

  TEST_CASE("it does not where a hook, a watch, a mode, training, a type or a dtype would see it") {
    const Module module = made(sequence);
    const Tensor x = rand({2, 2, 5, 6});
    {
      const Tensor seen = rand({1});
      Hook hook = module.child("1").register_forward_hook(
          [&](const Module&, const Tensor&, const Tensor& output) { seen.copy_(output.amax()); });
      CHECK(joints(module, x) == 1);
      hook.remove();
      CHECK(joints(module, x) == 2);
    }
    {
      ModuleWatch watch;
      const ModuleWatchScope scope(watch);
      CHECK(joints(module, x) == 0);
    }
    CHECK(joints(module, x) == 2);
    {
      CountMode counting;
      const ModeScope scope(counting);
      CHECK(joints(module, x) == 0);
    }
    module.child("1").train();
    CHECK(joints(module, x) == 1);
    module.child("1").eval();
    {
      const DualLevel level;
      CHECK(joints(module, make_dual(x, x)) == 0);
    }
    CHECK_THROWS_AS(joints(module, x.select(0, 0)), ValueError);  // by batch norm
    Module half = made(sequence);
    half.to(f16);
    CHECK(joints(half, x.to(f16)) == 0);
  }

  TEST_CASE("Sequential runs a large batch in blocks through convolutions and pools") {
    Draw draw(3);
    for (int round = 0; round < 12; ++round) {
      CAPTURE(round);
      const int64_t features = draw.between(1, 20);
      const std::string text = std::to_string(features);
      const Module module = made(
          R"({"type": "Sequential", "layers": [{"type": "Conv2d", "in_channels": 2, "kernel_size": 3,
          "out_channels": )" +
          text + (draw.chance(50) ? R"(}, {"type": "BatchNorm2d", "num_features": )" + text : "") +
          R"(}, "ReLU", {"type": "MaxPool2d", "kernel_size": 2}, {"type": "Conv2d", "in_channels": )" +
          text + R"(, "out_channels": 3, "kernel_size": 2}, "ReLU", {"type": "Conv2d",
          "in_channels": 3, "out_channels": 2, "kernel_size": 1}, "Flatten"]})");
      const Tensor x = rand({draw.between(70, 110), 2, 40, 37});
      check_close(without_gradients(module, x), module(x).detach(), 1e-4);
      const NoGrad no_grad;
      const int64_t calls = count("conv2d_tail", [&] { module(x); });
      CHECK((calls == 2 || calls >= 4));  // once, or in two blocks or more
      CHECK((features < 8 || calls >= 4));
      Hook hook = module.child("2").register_forward_hook(
          [](const Module&, const Tensor&, const Tensor&) {});
      const int64_t seen = count("max_pool2d", [&] { module(x); });
      hook.remove();
      CHECK(seen == 1);  // whole
    }
  }

  TEST_CASE("a Graph joins additions, and keeps what others read") {
    const Module block = graph(
        node("a", convolution) + ", " + node("n", batch_norm_2d) + R"(, "r": {"op": "relu_"}, )" +
        node("b", convolution) + ", " + node("m", batch_norm_2d) +
        R"(, "sum": {"op": "add_", "inputs": ["m", "r"]}, "out": {"op": "relu_"})");
    const Tensor x = rand({1, 2, 6, 5});
    CHECK(joints(block, x) == 2);
    check_close(without_gradients(block, x), block(x).detach(), 1e-5);
    // The input is changed in place, so the addition stays; the convolution's value is read twice.
    const Module changing =
        graph(node("a", convolution) + R"(, "sum": {"op": "add_", "inputs": ["input", "a"]})");
    const Tensor changed = x.clone();
    CHECK(joints(changing, changed) == 0);
    CHECK((changed - x).abs().amax().item() > 0);
    const Module twice =
        graph(node("a", convolution) +
              R"(, "r": {"op": "relu"}, "s": {"op": "add", "inputs": ["r", "a"]})");
    CHECK(joints(twice, x) == 0);
    // An addend of another shape is broadcast by the op.
    const Module broadcast =
        graph(node("a", convolution) + R"(, "p": {"op": "sum", "inputs": ["a"]},
        )" + node("b", convolution, R"(, "inputs": ["input"])") +
              R"(, "s": {"op": "add", "inputs": ["b", "p"]})");
    CHECK(joints(broadcast, x) == 0);
    check_close(without_gradients(broadcast, x), broadcast(x).detach(), 1e-5);
  }

  TEST_CASE("random graphs give the same with gradients off and on, and change no input") {
    Draw draw(7);
    int64_t joined = 0;
    for (int round = 0; round < 80; ++round) {
      CAPTURE(round);
      std::string nodes;
      std::vector<std::string> names{"input"};
      const int64_t length = draw.between(2, 9);
      for (int64_t i = 0; i < length; ++i) {
        const std::string
            name = "n" + std::to_string(i),
            before = names.back(),
            any = names[static_cast<size_t>(draw.below(static_cast<int64_t>(names.size())))];
        const std::string from = R"(, "inputs": [")" + (draw.chance(80) ? before : any) + "\"]";
        if (!nodes.empty()) nodes += ", ";
        switch (draw.below(6)) {
          case 0:
          case 1:
            nodes += node(name, convolution, from);
            break;
          case 2:
            nodes += node(name, batch_norm_2d, from);
            break;
          case 3:
            nodes += draw.chance(50) ? node(name, "\"ReLU\"", from)
                                     : "\"" + name + R"(": {"op": "relu")" + from + "}";
            break;
          default:
            // In place only what no recorded backward needs and no input is.
            nodes += "\"" + name + R"(": {"op": "add", "inputs": [")" +
                     (draw.chance(50) ? before + "\", \"" + any : any + "\", \"" + before) + "\"]}";
        }
        names.push_back(name);
      }
      const Module module = graph(nodes);
      const Tensor x = rand({2, 2, 5, 4}), before = x.clone();
      joined += joints(module, x);
      check_close(without_gradients(module, x), module(x).detach(), 1e-4);
      CHECK((x - before).abs().amax().item() == 0);
    }
    CHECK(joined > 20);
  }

  TEST_CASE("an error has the module's words") {
    const Module module = made(sequence);
    const NoGrad no_grad;
    const std::string text = refusal([&] { module(rand({1, 3, 5, 5})); });
    CHECK_MESSAGE(text.find("conv2d(): ") != std::string::npos, text);
    CHECK_MESSAGE(text.find("in Conv2d at ") != std::string::npos, text);
  }

  TEST_CASE("a Graph runs the children that it has now") {
    const std::string nodes =
        node("a", convolution) + ", " + node("n", batch_norm_2d) + ", " + node("r", "\"ReLU\"");
    const Tensor x = rand({1, 2, 6, 5});
    Module sigmoid = graph(nodes);
    sigmoid.assign("r", made("\"Sigmoid\""));
    CHECK(joints(sigmoid, x) == 0);
    check_close(without_gradients(sigmoid, x), sigmoid(x).detach(), 1e-6);
    Module identity = graph(nodes);
    identity.assign("n", made("\"Identity\""));
    CHECK(joints(identity, x) == 0);
    check_close(without_gradients(identity, x), identity(x).detach(), 1e-6);
    for (const char* child : {"a", "n", "r"}) {
      CAPTURE(child);
      Module less = graph(nodes);
      less.assign(child, Module());
      const NoGrad no_grad;
      CHECK_THROWS_AS(less(x), Error);
    }
    // A change by add_ is seen in another module's result.
    Module changing =
        graph(node("m", convolution) + ", " + node("b", convolution, R"(, "inputs": ["input"])") +
              R"(, "sum": {"op": "add_", "inputs": ["m", "b"]})");
    CHECK(joints(changing, x) == 1);
    changing.assign("m", made("\"Identity\""));
    const Tensor changed = x.clone();
    CHECK(joints(changing, changed) == 0);
    CHECK((changed - x).abs().amax().item() > 0);
    changing.assign("m", graph(nodes).child("a"));
    CHECK(joints(changing, x) == 1);
  }

  TEST_CASE("add_ changes what a hook has kept of its addend") {
    const Module module =
        graph(node("m", convolution) + ", " + node("b", convolution, R"(, "inputs": ["input"])") +
              R"(, "sum": {"op": "add_", "inputs": ["m", "b"]})");
    Tensor kept;
    Hook hook = module.child("m").register_forward_hook(
        [&](const Module&, const Tensor&, const Tensor& output) { kept = output; });
    const Tensor result = without_gradients(module, rand({1, 2, 6, 5}));
    hook.remove();
    CHECK((result - kept).abs().amax().item() == 0);
  }

  TEST_CASE("a batch is not cut where statistics have tangents") {
    const Module module = made(pooling);
    const Tensor x = rand({96, 2, 40, 37});
    const NoGrad no_grad;
    const auto pools = [&] { return count("max_pool2d", [&] { module(x); }); };
    CHECK(pools() > 1);
    Module norm = module.child("1");
    for (const char* name : {"running_mean", "running_var"}) {
      CAPTURE(name);
      const DualLevel level;
      const Tensor before = norm.tensor(name);
      norm.assign(name, make_dual(before, before));
      CHECK(pools() == 1);
      norm.assign(name, before);
      CHECK(pools() > 1);
    }
  }

  TEST_CASE("the blocks of a batch are even, whatever the thread count") {
    const int32_t threads = thread_count();
    const Module module = made(pooling);
    const NoGrad no_grad;
    const Tensor x = rand({101, 2, 40, 37});
    std::vector<Tensor> results;
    for (const int32_t count_now : {1, 3}) {
      set_thread_count(count_now);
      results.push_back(module(x));
      std::vector<int64_t> blocks;
      TraceScope trace;
      module(x);
      for (const std::string& line : trace.lines()) {
        const size_t at = line.find("call nn.functional.max_pool2d(");
        if (at != std::string::npos)
          blocks.push_back(std::stoll(line.substr(line.find('[', at) + 1)));
      }
      REQUIRE(blocks.size() > 1);
      const auto last = static_cast<int64_t>(blocks.size()) - 1;
      CHECK(blocks.front() == (101 + last) / (last + 1));
      CHECK(blocks.back() == 101 - last * blocks.front());
    }
    set_thread_count(threads);
    CHECK((results[0] - results[1]).abs().amax().item() == 0);
  }

  TEST_CASE("an error about a batch in blocks names the batch") {
    const Module module = made(pooling);
    const Tensor x = rand({256, 3, 40, 37});
    const NoGrad no_grad;
    const std::string text = refusal([&] { module(x); });
    CHECK_MESSAGE(text.find("[256, 3, 40, 37]") != std::string::npos, text);
  }

  TEST_CASE("random modules give what their parts give one by one") {
    Draw draw(11);
    int64_t joined = 0, cut = 0;
    for (int round = 0; round < 60; ++round) {
      CAPTURE(round);
      const bool sequential = draw.chance(75), large = draw.chance(50);
      std::string layers;
      int64_t channels = 2, given_pools = 0;
      for (int64_t i = 0, length = draw.between(2, 7); i < length; ++i) {
        std::string layer = "\"ReLU\"";
        const int64_t kind = i == 0 ? 0 : draw.below(8);
        if (kind < 3) {
          const int64_t features = draw.of(std::vector<int64_t>{3, 12, 16, 16});
          layer = R"({"type": "Conv2d", "kernel_size": 3, "padding": 1, "in_channels": )" +
                  std::to_string(channels) + R"(, "out_channels": )" + std::to_string(features) +
                  "}";
          channels = features;
        } else if (kind < 4) {
          layer = R"({"type": "BatchNorm2d", "num_features": )" + std::to_string(channels) + "}";
        } else if (kind < 6) {
          layer = R"({"type": "MaxPool2d", "kernel_size": 3, "stride": 1, "padding": 1})";
          ++given_pools;
        }
        layers += layers.empty() ? "" : ", ";
        layers += sequential ? layer : node(std::to_string(i), layer);
      }
      Module module = sequential ? made(R"({"type": "Sequential", "layers": [)" + layers + "]}")
                                 : graph(layers);
      const DType dtype = draw.of(std::vector<DType>{f32, f32, f64, f16});
      module.to(dtype);
      const std::vector<Module> parts = module.children(false);
      int64_t seen = 0;
      std::vector<Hook> hooks;
      for (Module part : parts) {
        if (draw.chance(8)) part.train();
        if (!draw.chance(8)) continue;
        hooks.push_back(part.register_forward_hook(
            [&](const Module&, const Tensor&, const Tensor&) { ++seen; }));
      }
      const Tensor x = rand({large ? draw.between(36, 60) : draw.between(1, 4), 2, large ? 40 : 5,
                             large ? 37 : 6})
                           .to(dtype);
      const NoGrad no_grad;
      Tensor expected = x;
      for (const Module& part : parts) expected = part(expected);
      const auto hooked = static_cast<int64_t>(hooks.size());
      CHECK(seen == hooked);
      int64_t calls = 0, pools = 0;
      Tensor result;
      {
        TraceScope trace;
        result = module(x);
        for (const std::string& line : trace.lines()) {
          calls += line.find("call nn.functional.conv2d_tail(") != std::string::npos ? 1 : 0;
          pools += line.find("call nn.functional.max_pool2d(") != std::string::npos ? 1 : 0;
        }
      }
      CHECK(seen == 2 * hooked);
      const double size = 1 + expected.to(f64).abs().amax().item<double>();
      const double apart = (result.to(f64) - expected.to(f64)).abs().amax().item<double>();
      CHECK(apart <= size * (dtype == f16 ? 1e-2 : 1e-5));
      joined += calls > 0 ? 1 : 0;
      cut += pools > given_pools ? 1 : 0;
      for (Hook& hook : hooks) hook.remove();
    }
    CHECK(joined > 10);
    CHECK(cut > 2);
  }
}

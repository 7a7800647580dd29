// usage: tenon_scenarios NAME
//
// Programs that end, or fork, while threads are in the middle of calls, and programs that each need
// another config. What each is expected to end with is in scenarios_test.cpp.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include <tenon/parallel.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

// Threads that still run at the end, or that a fork has left behind, keep what they use.
#if defined(__SANITIZE_ADDRESS__)
extern "C" int __lsan_is_turned_off() { return 1; }
#endif

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::_Exit(99);
}

// A graph of some depth, and the right answer.
void run_backward(int depth = 60) {
  const Tensor x = tensor({1.0, 2.0}).requires_grad_();
  Tensor y = x;
  for (int i = 0; i < depth; ++i) y = y * 1.0 + 1.0;
  y.sum().backward();
  require(x.grad().to_vector<double>() == std::vector<double>{1, 1}, "a gradient is wrong");
}

void run_loop() {
  std::atomic<int64_t> sum{0};
  parallel_for(0, 10000, 10, [&](int64_t begin, int64_t end) { sum += end - begin; });
  require(sum == 10000, "a loop is wrong");
}

void use_module() {
  Module linear = Module::create("Linear", arg("in_features") = 2, arg("out_features") = 1);
  linear(ones({3, 2})).sum().backward();
  require(linear.tensor("bias").grad().item<float>() == 3, "a module's gradient is wrong");
}

// Threads that call for ever.
std::vector<std::thread> busy_threads(int count) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([i] {
      for (;;) {
        if (i % 3 == 2)
          run_loop();
        else
          run_backward();
      }
    });
  }
  return threads;
}
void detach(std::vector<std::thread> threads) {
  for (std::thread& thread : threads) thread.detach();
}
void pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

void load_generation() { load_plugin(TENON_FIXTURES "/generations/generation_1.so"); }

// ---- the end ----

int return_from_main() {
  detach(busy_threads(4));
  pause(20);
  return 7;
}
int exit_in_thread() {
  detach(busy_threads(3));
  std::thread([] {
    pause(20);
    std::exit(7);
  }).detach();
  for (;;) run_backward();
}
int exit_in_hook() {
  const Tensor x = tensor({1.0}).requires_grad_();
  const Tensor y = (x * 2.0).sum();
  const Hook hook = x.register_hook([](const Tensor& gradient) -> Tensor {
    std::exit(7);
    return gradient;
  });
  y.backward();
  return 1;
}
int exit_in_loop() {
  parallel_for(0, 100, 1, [](int64_t, int64_t) { std::exit(7); });
  return 1;
}
int exit_while_reloading() {
  load_generation();
  detach(busy_threads(2));
  std::thread([] {
    for (;;) reload("generation");
  }).detach();
  std::thread([] {
    const Op number("generation.number");
    for (;;) require(number.call<int64_t>() == 1, "another build");
  }).detach();
  pause(40);
  return 7;
}
// Objects with static storage end after main has: graphs, modules and hooks among them.
int static_objects() {
  static Tensor kept = (tensor({1.0}).requires_grad_() * 2.0).sum();
  static Module linear = Module::create("Linear", arg("in_features") = 2, arg("out_features") = 1);
  static const Hook hook = kept.register_hook([](const Tensor& gradient) { return gradient; });
  static const struct Last {
    ~Last() { run_backward(); }
  } last;
  load_generation();
  static Tensor scaled = Op("generation.scale").call<Tensor>(tensor({1.0}).requires_grad_());
  return 7;
}
int uncaught_in_thread() {
  std::set_terminate([] { std::_Exit(7); });
  std::thread([] { tensor({1.0}).backward(); }).join();  // raises TensorError
  return 1;
}

// ---- fork ----

// The state that a child ended with.
int in_child(const std::function<void()>& body, bool runs_destructors) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // ends a child that hangs
    body();
    runs_destructors ? std::exit(0) : std::_Exit(0);
  }
  int status = -1;
  require(waitpid(child, &status, 0) == child, "no child");
  return status;
}
int fork_among_threads() {
  load_generation();
  run_backward();
  detach(busy_threads(2));
  std::thread([] {
    for (;;) reload("generation");
  }).detach();
  const Tensor x = tensor({3.0}).requires_grad_();
  Tensor before = (x * x).sum();  // recorded before the fork
  for (int round = 0; round < 6; ++round) {
    const int status = in_child(
        [&] {
          run_backward();
          run_loop();
          use_module();
          before.backward();
          require(x.grad().item<double>() == 6, "a graph of the parent's is wrong");
          require(Op("generation.number").call<int64_t>() == 1, "another build");
          std::thread(run_backward, 10).join();
          detach(busy_threads(1));
          require(rand({2}).numel() == 2, "no random numbers");
        },
        round % 2 == 0);
    if (status != 0) {
      std::fprintf(stderr, "child %d ended with status %d\n", round, status);
      return 1;
    }
  }
  return 7;
}
// A child that loads, reloads and unloads what the parent does not have, or has.
int fork_and_load() {
  load_generation();
  run_backward();  // loads what the threads use: a child has no thread to end that
  detach(busy_threads(2));
  for (int round = 0; round < 5; ++round) {
    const int status = in_child(
        [] {
          use_module();  // loads nn
          require(reload("generation") == 2, "another generation");
          require(unload("generation", Unload::wait, 20000)["state"].text() == "unmapped",
                  "it stays mapped");
        },
        true);
    if (status != 0) return 1;
  }
  require(Op("generation.number").call<int64_t>() == 1, "the parent has another build");
  return 7;
}
int fork_in_a_call() {
  const Tensor x = tensor({1.0}).requires_grad_();
  const Tensor y = (x * 2.0).sum();
  int status = -1;
  const Hook hook = x.register_hook([&](const Tensor& gradient) {
    if (status == -1)
      status = in_child(
          [] {
            const EnableGrad scope;  // hooks run without
            run_backward();
            run_loop();
          },
          true);
    return gradient;
  });
  y.backward();
  return status == 0 ? 7 : 1;
}

// ---- convolutions that are joined with what follows them ----

// The error of a Conv2d with a sum and a ReLU after it under a config.
std::string refusal_of_joined(const std::string& config) {
  apply_policy(Json::parse(R"({"search_paths": [")" TENON_FIXTURES
                           R"(/own_layers", ")" TENON_FIXTURES
                           R"(/second"], "plugins": [{"name": "math"}, {"name": "nn"}], )" +
                           config + "}"));
  const Module module = create_module(Json::parse(R"({"type": "Graph", "nodes": {
      "convolution": {"module": {"type": "Conv2d", "in_channels": 2, "out_channels": 2,
                                 "kernel_size": 1}},
      "sum": {"op": "add", "inputs": ["convolution", "input"]},
      "relu": {"module": "ReLU"}}})"));
  const NoGrad no_grad;
  try {
    module(ones({1, 2, 3, 3}));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
int joined_as_shipped() {
  const std::string text = refusal_of_joined(R"("ops": {"prefer": {}})");
  require(text.empty(), text.c_str());
  return 7;
}
// Whether the preferred plugin is asked, which refuses.
int joined_where_others_are_preferred(const std::string& preferences) {
  const std::string text = refusal_of_joined(R"("ops": {"prefer": {)" + preferences + "}}");
  require(text.find("a fixture") != std::string::npos, text.c_str());
  return 7;
}
int joined_own_module() { return joined_where_others_are_preferred(R"("ReLU": "own_layers")"); }
int joined_own_op() { return joined_where_others_are_preferred(R"("add": "second")"); }
int joined_own_shapes() {
  return joined_where_others_are_preferred(
      R"("nn.functional.conv2d": [{"plugin": "own_layers", "when": {"input": "[1, 2, 3, 3]"}}],
         "nn.functional.conv2d_tail": [{"plugin": "own_layers", "when": {"input": "[9]"}}])");
}
int joined_disabled_op() {
  const std::string text = refusal_of_joined(R"("ops": {"disable": [{"op": "relu"}]})");
  require(text.find("relu") != std::string::npos, text.c_str());
  return 7;
}

const std::map<std::string, int (*)()> kScenarios = {{"return_from_main", return_from_main},
                                                     {"exit_in_thread", exit_in_thread},
                                                     {"exit_in_hook", exit_in_hook},
                                                     {"exit_in_loop", exit_in_loop},
                                                     {"exit_while_reloading", exit_while_reloading},
                                                     {"static_objects", static_objects},
                                                     {"uncaught_in_thread", uncaught_in_thread},
                                                     {"fork_among_threads", fork_among_threads},
                                                     {"fork_and_load", fork_and_load},
                                                     {"fork_in_a_call", fork_in_a_call},
                                                     {"joined_as_shipped", joined_as_shipped},
                                                     {"joined_own_module", joined_own_module},
                                                     {"joined_own_op", joined_own_op},
                                                     {"joined_own_shapes", joined_own_shapes},
                                                     {"joined_disabled_op", joined_disabled_op}};

}  // namespace

int main(int count, char** arguments) {
  const auto scenario = kScenarios.find(count == 2 ? arguments[1] : "");
  if (scenario == kScenarios.end()) return 2;
  return scenario->second();
}

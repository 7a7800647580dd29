// Traces of results: what differs is found, whatever the program, and nothing else.
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include <doctest/doctest.h>

#include <tenon/mode.hpp>
#include <tenon/record/trace.hpp>
#include <tenon/state/numpy_file.hpp>
#include <tenon/tenon.hpp>
#include <tenon/transforms/checkpoint.hpp>

#include "tests/support/temporary_folder.hpp"

using namespace tenon;
using record::Comparison;
using record::Outcome;
using record::TraceRecorder;

namespace {

Tensor random_tensor(std::mt19937& random, std::initializer_list<int64_t> shape) {
  Tensor tensor = empty_tensor(shape);
  std::uniform_real_distribution<float> numbers(-1, 1);
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.data<float>()[i] = numbers(random);
  return tensor;
}

// A program of some ops on tensors of random shapes, the last of them recorded and run backward.
void random_program(uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int64_t most) { return static_cast<int64_t>(random() % most) + 1; };
  for (int i = 0; i < 10; ++i) {
    const int64_t rows = draw(9), columns = draw(9);
    Tensor a = random_tensor(random, {rows, columns});
    const Tensor b = random_tensor(random, {columns, rows});
    switch (random() % 6) {
      case 0:
        add(a, a);
        break;
      case 1:
        mm(a, b);
        break;
      case 2:
        a.mul_(a);
        break;
      case 3:
        max(a, 0);
        break;
      case 4:
        cat({a, transpose(b, 0, 1)}, 0);
        break;
      default:
        a.requires_grad_();
        sum(exp(a)).backward();
    }
  }
}

// Changes one element of the first result of a call, as another provider of its op might.
class Perturb : public Mode {
 public:
  Perturb(int64_t at, float by) : Mode("perturb"), at_(at), by_(by) {}
  Results tenon_function(const Call& call) override {
    Results results = call.call_parent();
    if (next_++ != at_) return results;
    op = call.name();
    Tensor changed = Tensor::borrow(results.slots()[0].as.tensor);
    if (!changed.defined() || changed.numel() == 0 || changed.dtype() != f32) return results;
    const int64_t place = changed.numel() - 1;
    int64_t offset = 0, rest = place;
    for (int64_t d = changed.dim(); d-- > 0;) {
      offset += rest % changed.size(d) * changed.stride(d);
      rest /= changed.size(d);
    }
    static_cast<float*>(changed.view_record().data)[offset] += by_;
    done = true;
    return results;
  }

  std::string op;
  bool done = false;

 private:
  const int64_t at_;
  const float by_;
  int64_t next_ = 0;
};

struct Traces {
  tenon_test::TemporaryFolder folder;
  std::string path(const std::string& name) const { return folder / name; }
  template <class Program>
  record::Trace record(const std::string& name, const Program& program,
                       record::RecorderOptions options = {}) const {
    TraceRecorder recorder(path(name), "program", options);
    program();
    recorder.stop();
    return record::read_trace(path(name));
  }
};

}  // namespace

TEST_SUITE("lib/record/trace") {
  TEST_CASE("random programs: two runs have equal traces") {
    const Traces traces;
    for (uint32_t seed = 0; seed < 20; ++seed) {
      const auto program = [&] { random_program(seed); };
      const Comparison found =
          record::compare(traces.record("a", program), traces.record("b", program));
      CHECK_MESSAGE(found.outcome == Outcome::equal, "seed " << seed);
      CHECK(found.compared > 0);
      CHECK(found.different_bits == 0);
    }
  }

  TEST_CASE("random programs: a result that one provider gives differently is found, with its op") {
    const Traces traces;
    int64_t perturbed = 0;
    for (uint32_t seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      const auto program = [&] { random_program(seed); };
      const record::Trace plain = traces.record("a", program);
      const auto at = static_cast<int64_t>(seed * 7 % plain.calls.size());
      Perturb perturb(at, 0.25F);
      record::Trace other;
      {
        // Outside of the recorder, which sees what it returns.
        const ModeScope scope(perturb, Level::below_autograd);
        other = traces.record("b", program);
      }
      if (!perturb.done) continue;
      ++perturbed;
      const Comparison found = record::compare(plain, other);
      CHECK(found.outcome == Outcome::differ);
      REQUIRE(found.first.size() == 1);
      const record::Difference& first = found.first.front();
      CHECK(first.one.index == at);
      CHECK(first.one.op == perturb.op);
      CHECK(first.one.provider == other.calls[static_cast<size_t>(at)].provider);
      CHECK_FALSE(first.operands_differ);
      if (first.kept) CHECK(std::abs(first.worst.one - first.worst.other) == doctest::Approx(0.25));
      // A tolerance above the difference finds none in that call.
      const Comparison tolerant = record::compare(plain, other, 1e6);
      CHECK((tolerant.first.empty() || tolerant.first.front().one.index != at));
      CHECK(tolerant.different_bits > 0);
    }
    CHECK(perturbed > 10);
  }

  TEST_CASE("what differs before the first call is said to be in the operands") {
    const Traces traces;
    const auto program = [](float number) {
      return [number] { add(full({3}, number), ones({3})); };
    };
    const auto a = traces.record("a", program(1)), b = traces.record("b", program(2));
    const Comparison found = record::compare(a, b);
    REQUIRE(found.first.size() == 1);
    CHECK(found.first.front().one.op == "full");
    const Tensor x = ones({3}), y = full({3}, 2.0F);
    const auto c = traces.record("c", [&] { exp(x); });
    const auto d = traces.record("d", [&] { exp(y); });
    REQUIRE(record::compare(c, d).first.size() == 1);
    CHECK(record::compare(c, d).first.front().operands_differ);
  }

  TEST_CASE("the worst element has its place and both numbers") {
    const Traces traces;
    const Tensor x = zeros({2, 3}), y = zeros({2, 3});
    x.data<float>()[4] = 2;
    y.data<float>()[4] = 2.5F;
    y.data<float>()[1] = 0.125F;
    const auto a = traces.record("a", [&] { neg(x); }), b = traces.record("b", [&] { neg(y); });
    const Comparison found = record::compare(a, b);
    REQUIRE(found.first.size() == 1);
    const record::Worst& worst = found.first.front().worst;
    CHECK(worst.place == std::vector<int64_t>{1, 1});
    CHECK(worst.one == -2);
    CHECK(worst.other == -2.5);
    CHECK(worst.difference == doctest::Approx(0.2));
  }

  TEST_CASE("a nan or an infinity on one side is an infinite difference, on both none") {
    const Traces traces;
    const float inf = std::numeric_limits<float>::infinity();
    for (const float number : {std::nanf(""), inf, -inf}) {
      const auto a = traces.record("a", [&] { full({4}, number); });
      const auto b = traces.record("b", [&] { full({4}, 1.0F); });
      const auto c = traces.record("c", [&] { full({4}, number); });
      CHECK(record::compare(a, c).outcome == Outcome::equal);
      const Comparison found = record::compare(a, b, 0.5);
      REQUIRE(found.first.size() == 1);
      CHECK(std::isinf(found.first.front().worst.difference));
      CHECK_NOTHROW(record::document(found).dump());
    }
  }

  TEST_CASE("sequences that part are shown on both sides, from there on") {
    const Traces traces;
    const Tensor x = ones({2});
    const auto a = traces.record("a", [&] { exp(x), neg(x), abs(x); });
    const auto b = traces.record("b", [&] { exp(x), neg(x), sqrt(x), abs(x); });
    const Comparison found = record::compare(a, b);
    CHECK(found.outcome == Outcome::not_comparable);
    CHECK(found.reason == "call 2: abs and sqrt are called");
    CHECK(found.compared == 2);
    CHECK(found.one.back().op == "abs");
    CHECK(found.other[2].op == "sqrt");
    const auto c = traces.record("c", [&] { exp(x), neg(x); });
    CHECK(record::compare(c, a).reason ==
          "call 2: the first run has no more calls, the other continues with abs");
    const auto d = traces.record("d", [&] { exp(ones({3})); });
    const auto e = traces.record("e", [&] { exp(ones({4})); });
    CHECK(record::compare(d, e).reason == "call 0: ones returns f32[3] and f32[4]");
  }

  TEST_CASE("a run that was cut is compared as far as it came") {
    const Traces traces;
    const Tensor x = ones({2});
    const auto program = [&] { exp(x), neg(x), abs(x); };
    const auto whole = traces.record("a", program);
    record::RecorderOptions two;
    two.most_calls = 2;
    const auto limited = traces.record("b", program, two);
    CHECK(limited.end["left_out"].integer() == 1);
    Comparison found = record::compare(whole, limited);
    CHECK(found.outcome == Outcome::equal);
    CHECK(found.notes.back() == "the second trace leaves out the last 1 call");
    std::ifstream file(traces.path("a"));
    std::string text((std::istreambuf_iterator<char>(file)), {});
    text.resize(text.size() - 20);  // in the last line
    std::ofstream(traces.path("c")) << text;
    found = record::compare(record::read_trace(traces.path("c")), whole);
    CHECK(found.outcome == Outcome::equal);
    CHECK(found.notes.back() == "the first run did not come to its end: its trace has 3 calls");
  }

  TEST_CASE("other configs, thread counts and plugins are noted") {
    const Traces traces;
    const auto record = [&](const std::string& name, const char* about) {
      TraceRecorder recorder(traces.path(name), "run", {}, Json::parse(about));
      ones({1});
      recorder.stop();
      return record::read_trace(traces.path(name));
    };
    const Comparison found = record::compare(record("a", R"({"config": "01", "seed": 1})"),
                                             record("b", R"({"config": "02", "seed": 1})"));
    CHECK(found.outcome == Outcome::equal);
    CHECK(found.notes == std::vector<std::string>{"config: 01 and 02"});
  }

  TEST_CASE("changed operands are among the results, and modules and backward are named") {
    const Traces traces;
    Tensor x = ones({2}).requires_grad_();
    const Module model =
        create_module(Json::parse(R"({"type": "Linear", "in_features": 2, "out_features": 1})"));
    TraceRecorder recorder(traces.path("a"), "run");
    recorder.watch(model);
    Tensor y = model(ones({3, 2}));
    sum(y).backward();
    {
      const NoGrad no_grad;
      add(ones({2}), ones({2}), 1, x.detach());
    }
    recorder.stop();
    const record::Trace trace = record::read_trace(traces.path("a"));
    bool in_module = false, backward = false;
    for (const record::TracedCall& call : trace.calls) {
      in_module = in_module || call.module == "(Linear)";
      backward = backward || call.backward;
      CHECK_FALSE(call.provider.empty());
    }
    CHECK(in_module);
    CHECK(backward);
    REQUIRE(trace.calls.back().op == "add");
    CHECK(trace.calls.back().results.size() == 1);
  }

  TEST_CASE("calls of a backward have the module whose forward recorded their node") {
    const Traces traces;
    const Module model = create_module(Json::parse(R"({"type": "Sequential", "layers": [
      {"type": "Linear", "in_features": 3, "out_features": 3}, "Sigmoid"]})"));
    const Module other = create_module(Json::parse(R"({"type": "ReLU"})"));
    const Hook hook = model.child("0").register_forward_hook(
        [&](const Module&, const Tensor&, const Tensor& output) { return other(output); });
    TraceRecorder recorder(traces.path("a"), "run");
    recorder.watch(model);
    sum(model(ones({2, 3}))).backward();
    recorder.stop();
    std::map<std::string, std::string> modules;
    for (const record::TracedCall& call : record::read_trace(traces.path("a")).calls)
      modules[call.op + (call.backward ? ", backward" : "")] = call.module;
    CHECK(modules["relu"] == "0 (Linear)");
    CHECK(modules["relu_backward, backward"] == "0 (Linear)");
    CHECK(modules["sigmoid"] == "1 (Sigmoid)");
    CHECK(modules["sum"].empty());
    int in_sigmoid = 0;
    for (const auto& [call, module] : modules)
      in_sigmoid += call.find("backward") != std::string::npos && module == "1 (Sigmoid)" ? 1 : 0;
    CHECK(in_sigmoid > 0);
  }

  TEST_CASE("what an engine does with the gradients of a node belongs to the node's module") {
    const Traces traces;
    const Module model = create_module(Json::parse(R"({"type": "Sequential", "layers": [
      {"type": "BatchNorm2d", "num_features": 2}]})"));
    TraceRecorder recorder(traces.path("a"), "run");
    recorder.watch(model);
    sum(model(rand({2, 2, 3, 3}).requires_grad_())).backward();
    recorder.stop();
    int sums = 0;
    for (const record::TracedCall& call : record::read_trace(traces.path("a")).calls) {
      if (call.op != "sum_to_size") continue;
      CHECK(call.module == "0 (BatchNorm2d)");
      ++sums;
    }
    CHECK(sums > 0);
  }

  TEST_CASE("a module that a backward runs again has the label of the one that called it") {
    const Traces traces;
    const Module model =
        create_module(Json::parse(R"({"type": "Sequential", "layers": ["Tanh"]})"));
    const Module other = create_module(Json::parse(R"({"type": "ReLU"})"));
    const Hook hook =
        model.child("0").register_forward_pre_hook([&](const Module&, const Tensor& input) {
          return transforms::checkpoint([&](const Tensor& x) { return other(x); }, input);
        });
    TraceRecorder recorder(traces.path("a"), "run");
    recorder.watch(model);
    sum(model(ones({2, 3}).requires_grad_())).backward();
    recorder.stop();
    int relus = 0;
    for (const record::TracedCall& call : record::read_trace(traces.path("a")).calls) {
      if (call.op != "relu" && call.op != "relu_backward") continue;
      CHECK(call.module == "0 (Tanh)");
      ++relus;
    }
    CHECK(relus == 3);
  }

  TEST_CASE("calls that a model would join are recorded apart, each in its module") {
    const Traces traces;
    const Module model = create_module(Json::parse(R"({"type": "Sequential", "layers": [
      {"type": "Conv2d", "in_channels": 1, "out_channels": 4, "kernel_size": 3},
      {"type": "BatchNorm2d", "num_features": 4}, {"type": "ReLU"}]})"));
    model.eval();
    TraceRecorder recorder(traces.path("a"), "run");
    recorder.watch(model);
    {
      const NoGrad no_grad;
      model(ones({1, 1, 8, 8}));
    }
    recorder.stop();
    std::set<std::string> modules;
    for (const record::TracedCall& call : record::read_trace(traces.path("a")).calls)
      modules.insert(call.module);
    for (const char* module : {"0 (Conv2d)", "1 (BatchNorm2d)", "2 (ReLU)"}) {
      CAPTURE(module);
      CHECK(modules.count(module) == 1);
    }
  }

  TEST_CASE("every dtype has a summary") {
    const Traces traces;
    for (const DType dtype : {f64, f32, f16, bf16, i64, i32, u8, boolean, c64, c128}) {
      CAPTURE(dtype_text(dtype));
      const Tensor x = contiguous_as(ones({3, 2}), dtype);
      const auto trace = traces.record("a", [&] { reshape(x, {6}); });
      REQUIRE(trace.calls.size() == 1);
      const record::Summary& summary = trace.calls.front().results.front();
      CHECK(summary.dtype == dtype_text(dtype));
      CHECK(summary.maximum == 1);
      CHECK(summary.elements.size() == (is_complex(dtype) ? 12U : 6U));
      CHECK(summary.hash != 0);
    }
  }

  TEST_CASE("kept places of any count are in order, in range, and without repetition") {
    for (int64_t count = 0; count < 400; ++count) {
      for (const int64_t most : {0, 1, 3, 64}) {
        const std::vector<int64_t> places = record::kept_places(count, most);
        CHECK(static_cast<int64_t>(places.size()) == std::min(count, most));
        for (size_t i = 0; i < places.size(); ++i) {
          CHECK(places[i] < count);
          if (i > 0) CHECK(places[i] > places[i - 1]);
        }
      }
    }
  }

  TEST_CASE("tensors by name are found among the results, and the wrong one is named") {
    const Traces traces;
    std::mt19937 random(5);
    for (int round = 0; round < 10; ++round) {
      const Tensor x = random_tensor(random, {4, 3}), w = random_tensor(random, {3, 5});
      Tensor hidden, active, scores;
      const auto trace = traces.record("a", [&] {
        hidden = mm(x, w);
        active = exp(hidden);
        scores = sum(active, 1);
      });
      state::save_npz(traces.path("v.npz"),
                      {{"hidden", hidden}, {"active", active}, {"scores", scores}});
      const Comparison same =
          record::compare_tensors(trace, record::read_tensors(traces.path("v.npz")), 1e-6);
      CHECK(same.outcome == Outcome::equal);
      CHECK(same.compared == 3);
      const Tensor wrong = mul(active, 1.5);
      state::save_npz(traces.path("w.npz"),
                      {{"hidden", hidden}, {"active", wrong}, {"scores", sum(wrong, 1)}});
      const Comparison found =
          record::compare_tensors(trace, record::read_tensors(traces.path("w.npz")), 1e-6);
      CHECK(found.outcome == Outcome::differ);
      REQUIRE(found.first.size() == 1);
      CHECK(found.first.front().one.op == "exp");
      CHECK(found.first.front().other.op == "active");
    }
    // One that no call returns is within another call where the last one is as expected.
    const Tensor x = ones({2, 2});
    Tensor y;
    const auto trace = traces.record("a", [&] { y = exp(x); });
    state::save_npz(traces.path("v.npz"), {{"inner", zeros({2, 2})}, {"y", y}});
    const Comparison within =
        record::compare_tensors(trace, record::read_tensors(traces.path("v.npz")), 1e-6);
    CHECK(within.outcome == Outcome::equal);
    CHECK(within.missing == std::vector<std::string>{"inner"});
  }

  TEST_CASE("a file that is not a trace, or has a fault, is refused with its line") {
    const Traces traces;
    traces.record("a", [] { ones({2}); });
    std::ifstream file(traces.path("a"));
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto read = [&](const std::string& content) {
      std::ofstream(traces.path("b"), std::ios::trunc) << content;
      try {
        record::read_trace(traces.path("b"));
      } catch (const ValueError& error) {
        return std::string(error.what());
      }
      return std::string();
    };
    CHECK(read(text).empty());
    CHECK(read("{}\n").find("this is not a trace of results") != std::string::npos);
    // Any byte of a line may be another one: the file is refused or read, and nothing else.
    std::mt19937 random(1);
    for (int i = 0; i < 400; ++i) {
      std::string changed = text;
      changed[20 + random() % (text.size() - 20)] = static_cast<char>(random() % 256);
      CHECK_NOTHROW(read(changed));
    }
    std::string wrong = text;
    wrong.replace(wrong.find("\"hash\":\"") + 8, 1, "x");
    CHECK(read(wrong).find(":2: a checksum must be hexadecimal") != std::string::npos);
    wrong = text;
    const std::string left_out = "\"left_out\":0";
    wrong.replace(wrong.find(left_out), left_out.size(), "\"left_out\":\"x\"");
    CHECK(read(wrong).find("'left_out' must be a number") != std::string::npos);
    CHECK_THROWS_AS(record::read_trace(traces.path("none")), IOError);
  }

  TEST_CASE("a model that other threads call is attributed on the thread of the recorder") {
    const Traces traces;
    const Module model =
        create_module(Json::parse(R"({"type": "Linear", "in_features": 3, "out_features": 3})"));
    std::atomic<bool> done{false};
    TraceRecorder recorder(traces.path("b"), "threads");
    recorder.watch(model);
    std::thread other([&] {
      while (!done) model(ones({2, 3}));
    });
    for (int i = 0; i < 200; ++i) {
      model(ones({2, 3}));
      exp(ones({2}));
    }
    done = true;
    other.join();
    recorder.stop();
    for (const record::TracedCall& call : record::read_trace(traces.path("b")).calls) {
      if (call.op == "linear") CHECK(call.module == "(Linear)");
      if (call.op == "exp") CHECK(call.module.empty());
    }
  }

  TEST_CASE("a full disk ends the trace, not the calls") {
    if (!std::filesystem::exists("/dev/full")) return;
    TraceRecorder recorder("/dev/full", "run");
    for (int i = 0; i < 200; ++i) CHECK(sum(ones({40})).item<float>() == 40);
    CHECK_THROWS_AS(recorder.stop(), IOError);
  }
}

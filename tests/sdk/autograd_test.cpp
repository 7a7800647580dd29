// The engine through the skin: accumulation, seeds, captures, in-place changes, views, depth,
// threads.
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <thread>

#include "tests/sdk/functions.hpp"

namespace {

using namespace functions;

struct Expression {
  Tensor x = tensor({{1, 2}, {3, 4}}, f64).requires_grad_();
  Tensor y = tensor({{5, 6}, {7, 8}}, f64).requires_grad_();
  Tensor r = x + y * 2 + x * y;
};

}  // namespace

TEST_SUITE("sdk/autograd") {
  TEST_CASE("AG-01 two inputs and a scalar root") {
    Expression e;
    sum(e.r).backward();
    CHECK(numbers(e.x.grad()) == Numbers{6, 7, 8, 9});
    CHECK(numbers(e.y.grad()) == Numbers{3, 4, 5, 6});
    CHECK(e.x.grad().sizes() == std::vector<int64_t>{2, 2});
  }

  TEST_CASE("AG-02 a retained graph accumulates, then is freed") {
    Expression e;
    const Tensor ones = ones_like(e.r);
    e.r.backward(ones, true);
    e.r.backward(ones);
    CHECK(numbers(e.x.grad()) == Numbers{12, 14, 16, 18});
    CHECK(numbers(e.y.grad()) == Numbers{6, 8, 10, 12});
    const Refusal third = refusal([&] { e.r.backward(ones); });
    CHECK(third.kind == TENON_ERROR_GRAPH);
    CHECK(has(third.text, "second time"));
    CHECK(has(third.text, "retain_graph=true"));
    CHECK(numbers(e.x.grad()) == Numbers{12, 14, 16, 18});
    CHECK(numbers(e.y.grad()) == Numbers{6, 8, 10, 12});
  }

  TEST_CASE("AG-04 gradients never touches .grad") {
    Expression e;
    const std::vector<Tensor> g = gradients({sum(e.r)}, {e.x, e.y});
    CHECK(numbers(g[0]) == Numbers{6, 7, 8, 9});
    CHECK(numbers(g[1]) == Numbers{3, 4, 5, 6});
    CHECK_FALSE(e.x.grad().defined());
    CHECK_FALSE(e.y.grad().defined());
  }

  TEST_CASE("AG-07 an unreachable input gives none where that is allowed") {
    const Tensor x = leaf({1}), y = leaf({1}), z = leaf({1});
    GradientOptions allow;
    allow.allow_unused = true;
    const std::vector<Tensor> g = gradients({x * 2}, {x, y, z}, allow);
    CHECK(numbers(g[0]) == Numbers{2});
    CHECK_FALSE(g[1].defined());
    CHECK_FALSE(g[2].defined());
    const Refusal refused = refusal([&] { gradients({x * 2}, {x, y}); });
    CHECK(refused.kind == TENON_ERROR_GRAPH);
    CHECK(has(refused.text, "not have been used"));
    CHECK(has(refused.text, "allow_unused"));
  }

  TEST_CASE("AG-09 an explicit empty list of inputs is refused") {
    Expression e;
    const std::vector<Tensor> nothing;
    CHECK(refusal([&] { backward({sum(e.r)}, {}, &nothing); }).kind == TENON_ERROR_ARGUMENT);
    CHECK(refusal([&] { gradients({sum(e.r)}, nothing); }).kind == TENON_ERROR_ARGUMENT);
    CHECK(refusal([&] { backward({}); }).kind == TENON_ERROR_ARGUMENT);
    CHECK_FALSE(e.x.grad().defined());
  }

  TEST_CASE("AG-10 seeds have the root's shape, and only scalars may do without") {
    const Tensor x = leaf({1, 2}), v = x * 2;
    CHECK(has(refusal([&] { v.backward(); }).text, "only for scalar outputs"));
    for (const int64_t size : {3, 1}) {
      GradientOptions options;
      options.seeds = {ones({size}, f64)};
      options.retain_graph = true;
      const Refusal refused = refusal([&] { gradients({v}, {x}, options); });
      CHECK(has(refused.text, "[" + std::to_string(size) + "]"));
      CHECK(has(refused.text, "[2]"));
    }
    const Tensor plain = scalar(1);
    CHECK(has(refusal([&] { plain.backward(); }).text, "does not require grad"));
    const Refusal second = refusal([&] { backward({sum(v), plain}); });
    CHECK(has(second.text, "does not require grad"));
    CHECK(has(second.text, "root 1"));
    CHECK_FALSE(x.grad().defined());
  }

  TEST_CASE("a seed of another floating dtype is converted, one of integers refused") {
    const Tensor x = leaf({1, 2});
    x.backward(ones({2}, f32));
    CHECK(x.grad().dtype() == f64);
    CHECK(refusal([&] { x.backward(ones({2}, i64)); }).kind == TENON_ERROR_GRAPH);
  }

  TEST_CASE("backward with inputs accumulates in them alone, computed ones too") {
    Expression e;
    const Tensor h = e.x * 3, r = sum(h * h + e.y);
    const std::vector<Tensor> inputs = {h, e.x, e.x};
    backward({r}, {}, &inputs);
    CHECK(numbers(e.x.grad()) == Numbers{18, 36, 54, 72});
    CHECK(numbers(h.grad()) == Numbers{6, 12, 18, 24});
    CHECK_FALSE(e.y.grad().defined());
  }

  TEST_CASE("AG-12 retain_grad") {
    const Tensor i = tensor({{1, 2, 3}}, f64).requires_grad_();
    Tensor h = i * 3;
    const Tensor out = sum(h * h), h0 = h.clone().detach();
    CHECK_FALSE(h.grad().defined());
    h.retain_grad();
    h.retain_grad();
    out.backward({}, true);
    CHECK(numbers(h.grad()) == numbers(h0 * 2));
    out.backward({}, true);
    CHECK(numbers(h.grad()) == numbers(h0 * 4));
    Tensor(i).set_grad({});
    Tensor(i).retain_grad();
    out.backward();
    CHECK(numbers(i.grad()) == Numbers{18, 36, 54});
    CHECK(refusal([] { row({1}).retain_grad(); }).kind == TENON_ERROR_RUNTIME);
  }

  TEST_CASE("a retained gradient follows its tensor through an in-place change") {
    const Tensor x = leaf({1, 2});
    Tensor y = x * 2;
    y.retain_grad();
    y.mul_(3);
    sum(y * y).backward();
    CHECK(numbers(y.grad()) == Numbers{12, 24});
    CHECK(numbers(x.grad()) == Numbers{72, 144});
  }

  TEST_CASE("AG-19 only floating leaves may require grad") {
    for (const DType dtype : {i64, i32, boolean}) {
      Tensor whole = zeros({2}, dtype);
      CHECK(has(refusal([&] { whole.requires_grad_(); }).text, "floating point"));
      whole.requires_grad_(false);
    }
    Tensor x = leaf({3, 1, 2});
    Tensor y = x * 1;
    CHECK(has(refusal([&] { y.requires_grad_(false); }).text, "leaf"));
    y.requires_grad_();
    CHECK_FALSE(y.is_leaf());
    for (const Tensor& result : {argmax(x), argmin(x), count_nonzero(x), gt(x, 1), eq(x, x)}) {
      CHECK_FALSE(result.requires_grad());
      CHECK_FALSE(result.grad_fn().defined());
    }
  }

  TEST_CASE("AG-65 leaves that require grad change in place only where nothing is recorded") {
    Tensor l = leaf({1, 2, 3});
    CHECK(refusal([&] { l.add_(1); }).kind == TENON_ERROR_INPLACE);
    CHECK(refusal([&] { l.slice(0, 0, 1).add_(1); }).kind == TENON_ERROR_INPLACE);
    CHECK(numbers(l) == Numbers{1, 2, 3});
    {
      const NoGrad off;
      l.add_(1);
      l.slice(0, 0, 1).add_(1);
    }
    CHECK(numbers(l) == Numbers{3, 3, 4});
    CHECK(l.is_leaf());
    sum(l * l).backward();
    CHECK(numbers(l.grad()) == Numbers{6, 6, 8});
    Tensor early = row({1, 2});
    early.add_(1);
    early.requires_grad_();
    sum(early).backward();
    CHECK(numbers(early.grad()) == Numbers{1, 1});
  }

  TEST_CASE(
      "AG-71 grad mode scopes nest in both orders, restore after exceptions and belong to a "
      "thread") {
    std::vector<bool> expected;
    const std::function<void(int)> nest = [&](int depth) {
      if (depth == 0) throw 1;
      const bool before = GradMode::enabled();
      try {
        const GradMode scope(depth % 2 == 0);
        CHECK(GradMode::enabled() == (depth % 2 == 0));
        nest(depth - 1);
      } catch (int) {
        CHECK(GradMode::enabled() == before);
        throw;
      }
    };
    for (const int depth : {10, 9}) CHECK_THROWS_AS(nest(depth), int);
    CHECK(GradMode::enabled());
    const NoGrad off;
    bool elsewhere = false;
    std::thread([&] { elsewhere = GradMode::enabled(); }).join();
    CHECK(elsewhere);
    CHECK_FALSE(GradMode::enabled());
  }

  TEST_CASE("AG-72 detach") {
    const Tensor x = leaf({1, 2}), doubled = x * 2, y = doubled.detach();
    CHECK_FALSE(y.requires_grad());
    CHECK_FALSE(y.grad_fn().defined());
    CHECK(y.data<double>() == doubled.data<double>());
    sum(x + y).backward();
    CHECK(numbers(x.grad()) == Numbers{1, 1});
    // A change through the detached handle shows in the version of the other.
    const Tensor z = doubled * doubled;
    y.add_(1);
    CHECK(refusal([&] { sum(z).backward(); }).kind == TENON_ERROR_INPLACE);
  }

  TEST_CASE(
      "an in-place change of a view goes through its base, and of the base through its views") {
    const Tensor x = leaf({1, 2, 3, 4}), k = leaf({10, 20});
    Tensor base = x * 1;
    const Tensor view = base.slice(0, 1, 3), other = base.slice(0, 2, 4);
    view.mul_(k);
    CHECK(numbers(base) == Numbers{1, 20, 60, 4});
    sum(base * base).backward({}, true);
    CHECK(numbers(x.grad()) == Numbers{2, 400, 2400, 8});
    CHECK(numbers(k.grad()) == Numbers{80, 360});
    Tensor(x).set_grad({});
    Tensor(k).set_grad({});
    sum(other).backward({}, true);  // a view from before the change
    CHECK(numbers(x.grad()) == Numbers{0, 0, 20, 1});
    CHECK(numbers(k.grad()) == Numbers{0, 3});
    Tensor(x).set_grad({});
    base.mul_(3);
    sum(view).backward();
    CHECK(numbers(x.grad()) == Numbers{0, 30, 60, 0});
  }

  TEST_CASE("a base and its view in one in-place call") {
    const Tensor x = leaf({1, 2, 3});
    const Tensor base = x * 1, view = base.slice(0, 0, 1);
    base.add_(view);  // 1+1, 2+1, 3+1: the view changes too
    CHECK(numbers(base) == Numbers{2, 3, 4});
    sum(view * 5).backward({}, true);
    CHECK(numbers(x.grad()) == Numbers{10, 0, 0});
    Tensor(x).set_grad({});
    sum(base).backward();
    CHECK(numbers(x.grad()) == Numbers{4, 1, 1});
  }

  TEST_CASE("a constant base changed by something recorded makes its older views require grad") {
    const Tensor base = row({1, 2, 3, 4}), first = base.slice(0, 0, 2), last = base.slice(0, 2, 4);
    const Tensor w = leaf({10, 20});
    last.mul_(w);
    CHECK(numbers(base) == Numbers{1, 2, 30, 80});
    const Tensor again = base.slice(0, 1, 3);
    const Tensor r = sum(first * first) + sum(again * 2) + sum(base.view({2, 2}).select(0, 1));
    CHECK(r.requires_grad());
    r.backward();
    CHECK(numbers(w.grad()) == Numbers{9, 4});
    CHECK((first * 2).requires_grad());
  }

  TEST_CASE("in-place rules that read what they change are right twice over") {
    const Tensor x = leaf({2}), k = leaf({3});
    GradientOptions create;
    create.create_graph = true;
    Tensor y = x * x;
    y.mul_(k);  // d/dk = x^2, and d/dx of that 2x
    const Tensor dk = gradients({y}, {k}, create)[0];
    CHECK(numbers(dk) == Numbers{4});
    CHECK(numbers(gradients({dk}, {x})[0]) == Numbers{4});
  }

  TEST_CASE("double backward through saved results and operands") {
    const Tensor x = leaf({0.5});
    GradientOptions create;
    create.create_graph = true;
    const Tensor first = gradients({exp(x)}, {x}, create)[0];
    const Tensor second = gradients({first}, {x}, create)[0];
    CHECK(second.item() == doctest::Approx(std::exp(0.5)));
    const Tensor y = x * x * x;
    const Tensor g1 = gradients({y}, {x}, create)[0], g2 = gradients({g1}, {x}, create)[0];
    CHECK(g2.item() == doctest::Approx(3));
    CHECK(gradients({g2}, {x})[0].item() == doctest::Approx(6));
  }

  TEST_CASE("gradients are summed over what was broadcast and cast to the operand's dtype") {
    const Tensor bias = leaf({1, 2}), single = tensor({3.0}).requires_grad_();
    const Tensor y = ones({3, 2}, f64) * bias * single;
    sum(y).backward();
    CHECK(numbers(bias.grad()) == Numbers{9, 9});
    CHECK(single.grad().dtype() == f32);
    CHECK(numbers(single.grad()) == Numbers{9});
    const Tensor nothing = empty_tensor({0}, f64).requires_grad_();
    sum(nothing * 2).backward();
    CHECK(nothing.grad().sizes() == std::vector<int64_t>{0});
    const Tensor zero_dim = scalar(3).requires_grad_();
    (zero_dim * zero_dim).backward();
    CHECK(zero_dim.grad().item() == 6);
    CHECK(zero_dim.grad().dim() == 0);
  }

  TEST_CASE("a gradient kept in .grad shares no memory") {
    const Tensor x = leaf({1, 2}), seed = ones({2}, f64);
    x.backward(seed);
    x.backward(seed);
    CHECK(numbers(seed) == Numbers{1, 1});
    CHECK(numbers(x.grad()) == Numbers{2, 2});
    x.backward(seed, false, true);
    CHECK(numbers(seed) == Numbers{1, 1});
    // Not one element in two places either.
    Tensor wide = leaf({1, 2, 3});
    wide.set_grad(ones({1}, f64).expand({3}));
    sum(wide).backward();
    CHECK(numbers(wide.grad()) == Numbers{2, 2, 2});
  }

  TEST_CASE("chains of 100,000 calls are built, run and freed on a small stack") {
    const Tensor x = leaf({1}), zero = row({0});
    Numbers gradient;
    std::thread worker([&] {
      Tensor y = x;
      for (int i = 0; i < 100000; ++i) y = y + zero;
      y.backward();
      gradient = numbers(x.grad());
      Tensor z = x;
      for (int i = 0; i < 100000; ++i) z = z + zero;
    });
    worker.join();
    CHECK(gradient == Numbers{1});
    Tensor cubes = x;
    for (int i = 0; i < 100000; ++i) cubes = apply("scaled", cubes, 1.0);
    cubes.backward();
    CHECK(numbers(x.grad()) == Numbers{2});
  }

  TEST_CASE(
      "a chain of 1,000,000 calls and a graph of 150,000 with skip links on a default stack") {
    const Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < 1000000; ++i) y = neg(y);
    y.backward();
    CHECK(numbers(x.grad()) == Numbers{1});
    y = {};
    Tensor(x).set_grad({});
    Tensor two_before = x, before = x;
    for (int i = 0; i < 150000; ++i) {
      const Tensor next = (before + two_before) * 0.5;  // the weights of the two sum to 1
      two_before = std::exchange(before, next);
    }
    before.backward();
    CHECK(x.grad().item() == doctest::Approx(1));
  }

  TEST_CASE("backward nested 8,000 deep runs on a default stack, and errors come all the way up") {
#if defined(__SANITIZE_THREAD__)
    constexpr int depth = 500;  // it copies the whole call stack at every allocation
#else
    constexpr int depth = 8000;
#endif
    const Tensor x = leaf({1});
    std::vector<Tensor> levels;
    const DualLevel level;  // a level that is open goes along into every thread that the run takes
    bool fail = false;
    int ran = 0;
    Tensor carried;
    bool modes_kept = true;
    for (int i = 0; i < depth; ++i) {
      levels.push_back(x * 1);
      levels.back().register_hook([&, i](const Tensor&) {
        modes_kept &= !GradMode::enabled() && AnomalyMode::enabled();
        if (i > 0) levels[static_cast<size_t>(i) - 1].backward({}, true);
        if (i == 0 && fail) throw IndexError("from the bottom");
        if (i == 0) carried = unpack_dual(exp(make_dual(row({0}), row({7})))).tangent;
        ++ran;
      });
    }
    const AnomalyMode watch;
    levels.back().backward({}, true);
    CHECK(ran == depth);
    CHECK(modes_kept);
    CHECK(numbers(x.grad()) == Numbers{depth});
    CHECK(carried.item() == 7);
    fail = true;
    const Refusal refused = refusal([&] { levels.back().backward(); });
    CHECK(refused.kind == TENON_ERROR_INDEX);
    CHECK(has(refused.text, "from the bottom"));
    CHECK(numbers(x.grad()) == Numbers{depth});
    CHECK(ran == depth);
  }

  TEST_CASE("unused inputs give zeros where they are asked to be there") {
    const Tensor x = leaf({1, 2}), unused = tensor({{1, 2}}, f32).requires_grad_();
    GradientOptions zeros;
    zeros.materialize_grads = true;
    const std::vector<Tensor> g = gradients({sum(x * 2)}, {x, unused}, zeros);
    CHECK(numbers(g[0]) == Numbers{2, 2});
    CHECK(numbers(g[1]) == Numbers{0, 0});
    CHECK(g[1].dtype() == f32);
    CHECK(g[1].sizes() == std::vector<int64_t>{1, 2});
  }

  TEST_CASE("zeros for unused inputs require grad where the gradients do") {
    const Tensor x = leaf({1, 2}), unused = leaf({1});
    GradientOptions zeros = recorded();
    zeros.materialize_grads = true;
    const std::vector<Tensor> g = gradients({sum(x * x)}, {x, unused}, zeros);
    CHECK(g[0].requires_grad());
    CHECK(g[1].requires_grad());
    CHECK(g[1].is_leaf());
    zeros.create_graph = false;
    CHECK_FALSE(gradients({sum(x * x)}, {x, unused}, zeros)[1].requires_grad());
  }

  // In a new process, where nothing has been reported yet.
  TEST_CASE("a gradient that keeps its leaf's graph alive is warned of once") {
    if (std::getenv("TENON_TEST_CYCLE") != nullptr) {
      const Tensor x = leaf({1, 2});
      (x * 2).backward(row({1, 1}), false, true);  // a constant keeps nothing
      gradients({sum(x * x)}, {x}, recorded());
      for (int i = 0; i < 2; ++i) {
        Tensor(x).set_grad({});
        std::fputs("backward\n", stderr);
        sum(x * x).backward({}, false, true);
      }
      Tensor(x).set_grad({});
      return;
    }
    const std::string command = "TENON_TEST_CYCLE=1 " +
                                std::filesystem::read_symlink("/proc/self/exe").string() +
                                " --test-case='a gradient that keeps its leaf*' 2>&1";
    std::string text;
    FILE* output = popen(command.c_str(), "r");
    for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) text += static_cast<char>(c);
    CHECK(pclose(output) == 0);
    const size_t first = text.find("leaves a reference cycle");
    CHECK(first != std::string::npos);
    CHECK(first > text.find("backward\n"));
    CHECK(text.find("leaves a reference cycle", first + 1) == std::string::npos);
  }

  TEST_CASE("a graph that keeps no tensor runs as often as it is asked to") {
    const Tensor x = leaf({1, 2}), y = leaf({3, 4});
    Tensor kept = x * 1;
    kept.slice(0, 0, 1).add_(y.slice(0, 0, 1));
    for (const Tensor& r : {sum(x + y), sum(x.slice(0, 0, 1) - y), sum(neg(x).view({2, 1}))}) {
      r.backward();
      r.backward();
    }
    CHECK(numbers(x.grad()) == Numbers{4, 0});
    const Tensor attribute = sum(apply("attribute", x));
    for (int i = 0; i < 2; ++i) CHECK(numbers(gradients({attribute}, {x})[0]) == Numbers{3, 3});
    const Tensor saved = sum(x * y);
    saved.backward();
    CHECK(refusal([&] { saved.backward(); }).kind == TENON_ERROR_GRAPH);
  }

  TEST_CASE("an error in the middle of a backward leaves every .grad as it was") {
    const Tensor x = leaf({1}), other = leaf({2});
    sum(other * 3).backward();
    // `other` has all of its gradient before the failing rule runs.
    const Tensor late = apply("throw_in_backward", x, "value"), r = late + other * 5;
    CHECK(refusal([&] { r.backward(); }).kind == TENON_ERROR_VALUE);
    CHECK(numbers(other.grad()) == Numbers{3});
    CHECK_FALSE(x.grad().defined());
  }

  TEST_CASE("threads that are the first to use one view of a changed base agree") {
    for (int round = 0; round < 20; ++round) {
      const Tensor w = leaf({10, 20}), base = row({1, 2, 3, 4}), view = base.slice(0, 0, 2);
      Tensor(base.slice(0, 0, 2)).mul_(w);
      std::atomic<int> right{0};
      std::vector<std::thread> workers;
      for (int t = 0; t < 4; ++t) {
        workers.emplace_back([&] {
          const Tensor g = gradients({sum(view * 2)}, {w}, [] {
            GradientOptions keep;
            keep.retain_graph = true;
            return keep;
          }())[0];
          right += numbers(g) == Numbers{2, 4} ? 1 : 0;
        });
      }
      for (std::thread& worker : workers) worker.join();
      CHECK(right == 4);
    }
  }

  TEST_CASE(
      "a graph may outlive its thread, and a tensor with static storage the thread's own objects") {
    static Tensor kept;
    const Tensor x = leaf({2});
    std::thread([&] { kept = x * x * x; }).join();
    kept.backward({}, true);
    CHECK(numbers(x.grad()) == Numbers{12});
  }

  TEST_CASE("backward from eight threads on shared leaves adds exactly") {
    const Tensor x = leaf({1, 2, 3}), y = leaf({1, 1, 1});
    const Tensor shared = x * y;
    constexpr int threads = 8, rounds = 200;
    std::atomic<int> failures{0};
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&] {
        try {
          const std::vector<Tensor> only = {y};
          for (int i = 0; i < rounds; ++i) {
            sum(x * 2 + y).backward();
            sum(shared).backward({}, true);
            backward({sum(y * 3)}, {}, &only);
          }
        } catch (...) {
          ++failures;
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    CHECK(failures == 0);
    CHECK(numbers(x.grad()) ==
          Numbers{3.0 * threads * rounds, 3.0 * threads * rounds, 3.0 * threads * rounds});
    CHECK(numbers(y.grad()) ==
          Numbers{5.0 * threads * rounds, 6.0 * threads * rounds, 7.0 * threads * rounds});
  }

  TEST_CASE("threads that free one graph meet an error, never freed memory") {
    for (int round = 0; round < 50; ++round) {
      const Tensor x = leaf({1, 2, 3}), r = sum(exp(x * x) * x);
      std::atomic<int> done{0}, refused{0};
      std::vector<std::thread> workers;
      for (int t = 0; t < 4; ++t) {
        workers.emplace_back([&] {
          const Refusal result = refusal([&] { r.backward(); });
          ++(result.kind == TENON_OK ? done : result.kind == TENON_ERROR_GRAPH ? refused : done);
        });
      }
      for (std::thread& worker : workers) worker.join();
      CHECK(done >= 1);
      CHECK(done + refused == 4);
    }
  }
}

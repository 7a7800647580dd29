// Watches of modules through the skin, on modules of plugins that know nothing of them.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include <tenon/hooked.hpp>
#include <tenon/parallel.hpp>

#include "tests/sdk/functions.hpp"
#include "tests/support/small_stack.hpp"

namespace {

using namespace functions;

Module linear_of(int64_t in, int64_t out) {
  return Module::create("Linear", arg("in_features") = in, arg("out_features") = out);
}
Module chain(const std::vector<Module>& layers) {
  Module outer = Module::create("Sequential");
  for (size_t i = 0; i < layers.size(); ++i)
    outer.register_child(std::to_string(i).c_str(), layers[i]);
  return outer;
}

constexpr size_t deep = 2000;
Module nested(Module inner) {
  for (size_t i = 1; i < deep; ++i) inner = chain({inner});
  return inner;
}

// A tree of chains, in which a layer may refuse its input.
Module random_tree(std::mt19937& random, int depth) {
  std::vector<Module> layers;
  for (auto count = random() % 3 + 1; count > 0; --count) {
    const auto draw = random() % 8;
    if (draw == 0 && depth < 2)
      layers.push_back(linear_of(4, 3));
    else if (draw < 4 && depth > 0)
      layers.push_back(random_tree(random, depth - 1));
    else
      layers.push_back(draw % 2 == 0 ? linear_of(3, 3) : Module::create("ReLU"));
  }
  return chain(layers);
}

using Events = std::vector<std::string>;
std::string event(const char* what, const Module& module, int64_t values) {
  return std::string(what) + " " + std::to_string(module.number()) + " " + std::to_string(values);
}

struct Recorded : ModuleWatch {
  void begins(const Module& module, const HookValues& arguments) override {
    events.push_back(event("begins", module, arguments.size()));
  }
  void ended(const Module& module, const HookValues& results) override {
    events.push_back(event("ended", module, results.size()));
  }
  void failed(const Module& module) override { events.push_back(event("failed", module, 0)); }
  Events events;
};

// The oracle: hooks of all modules.
struct Hooked {
  Events events;
  const Hook before = all_modules.register_forward_pre_hook(
      [this](const Module& module, HookValues& inputs) {
        events.push_back(event("begins", module, inputs.size()));
      },
      {true, false});
  const Hook behind = all_modules.register_forward_hook(
      [this](const Module& module, const HookValues&, HookValues& outputs) {
        const bool fails = outputs[0].value().tag == TENON_VALUE_NONE;
        events.push_back(event(fails ? "failed" : "ended", module, fails ? 0 : outputs.size()));
      },
      {false, true});
  Hooked() = default;
  Hooked(const Hooked&) = delete;
  Hooked& operator=(const Hooked&) = delete;
  ~Hooked() {
    before.remove();
    behind.remove();
  }
};

// Does something at the n-th event.
struct Acting : Recorded {
  std::function<void()> act;
  size_t when = 0;
  void begins(const Module& module, const HookValues& arguments) override {
    Recorded::begins(module, arguments);
    check();
  }
  void ended(const Module& module, const HookValues& results) override {
    Recorded::ended(module, results);
    check();
  }
  void failed(const Module& module) override {
    Recorded::failed(module);
    check();
  }
  void check() const {
    if (events.size() == when) act();
  }
};

// A watch by the slots.
struct Raw {
  explicit Raw(uint32_t flags) {
    detail::check(
        service::modes().watch_enter,
        [](void* self, const tenon_module_event* happened, tenon_error** error) {
          return detail::guarded(error, [&] { static_cast<Raw*>(self)->act(*happened); });
        },
        static_cast<void*>(this), flags, &watch);
  }
  void leave() const { detail::check(service::modes().watch_leave, watch); }
  std::function<void(const tenon_module_event&)> act;
  tenon_watch* watch = nullptr;
};

// A loop of 8 parts, which wait, for a time, until two threads have begun. Returns how many ran elsewhere.
int in_two_threads(const std::function<void()>& part) {
  const auto here = std::this_thread::get_id();
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> elsewhere{0};
  parallel_for(0, 8, 1, [&](int64_t begin, int64_t end) {
    const auto begun = [&] {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
      return threads.size();
    };
    for (int turn = 0; turn < 5000 && thread_count() > 1 && begun() < 2; ++turn)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (int64_t i = begin; i < end; ++i) {
      elsewhere += std::this_thread::get_id() == here ? 0 : 1;
      part();
    }
  });
  return elsewhere;
}

}  // namespace

TEST_SUITE("sdk/module_watch") {
  TEST_CASE("random trees, some of which fail: a watch hears what hooks of all modules hear") {
    std::mt19937 random(5);
    int failed = 0;
    for (int i = 0; i < 200; ++i) {
      const Module model = random_tree(random, 3);
      Recorded outer, inner;
      const Hooked hooked;
      const ModuleWatchScope outer_scope(outer), inner_scope(inner);
      failed += refusal([&] { model(ones({2, 3})); }).kind != TENON_OK ? 1 : 0;
      CHECK(outer.events == hooked.events);
      CHECK(inner.events == hooked.events);
    }
    CHECK(failed > 20);
    CHECK(failed < 180);
  }

  TEST_CASE(
      "random trees: a watch that refuses an event fails the call, and each begin has its end") {
    std::mt19937 random(6);
    for (int i = 0; i < 200; ++i) {
      const Module model = random_tree(random, 3);
      Recorded before, behind;
      Acting acting;
      acting.when = random() % 12 + 1;
      acting.act = [] { throw ValueError("not this one"); };
      std::string text;
      {
        const ModuleWatchScope inside(before), refusing(acting), outside(behind);
        text = refusal([&] { model(ones({2, 3})); }).text;
      }
      if (acting.events.size() >= acting.when && acting.events[acting.when - 1].front() != 'f')
        CHECK(text.find("not this one") != std::string::npos);
      for (const Events* events : {&before.events, &behind.events}) {
        std::vector<std::string> open;
        for (const std::string& now : *events) {
          const size_t number = now.find(' ');
          const std::string module = now.substr(number, now.rfind(' ') - number);
          if (now.front() == 'b') {
            open.push_back(module);
          } else {
            REQUIRE_FALSE(open.empty());
            CHECK(open.back() == module);
            open.pop_back();
          }
        }
        CHECK(open.empty());
      }
    }
  }

  TEST_CASE("the watch that was entered last hears of the begin first, and of the end last") {
    std::vector<int> order;
    struct Noting : ModuleWatch {
      Noting(std::vector<int>& list, int own) : notes(list), number(own) {}
      void begins(const Module&, const HookValues&) override { notes.push_back(number); }
      void ended(const Module&, const HookValues&) override { notes.push_back(-number); }
      std::vector<int>& notes;
      const int number;
    } first(order, 1), second(order, 2);
    const ModuleWatchScope one(first), two(second);
    linear_of(3, 2)(ones({1, 3}));
    CHECK(order == std::vector<int>{2, 1, -1, -2});
  }

  TEST_CASE("arguments are those of the call, results those that hooks left") {
    const Module linear = linear_of(3, 2);
    const Tensor x = ones({4, 3}), replaced = ones({1, 3});
    const Hook before =
        linear.register_forward_pre_hook([&](const Module&, const Tensor&) { return replaced; });
    const Hook behind = linear.register_forward_hook(
        [](const Module&, const Tensor&, const Tensor& output) { return output * 0; });
    struct Looking : ModuleWatch {
      void begins(const Module&, const HookValues& arguments) override {
        input = arguments.tensor(0);
      }
      void ended(const Module&, const HookValues& results) override { output = results.tensor(0); }
      Tensor input, output;
    } looking;
    const ModuleWatchScope scope(looking);
    const Tensor y = linear(x);
    CHECK(looking.input.is_same(x));
    CHECK(looking.output.is_same(y));
    CHECK(y.detach().to_vector<float>() == std::vector<float>{0, 0});
  }

  TEST_CASE("watches that are left within a module, in any order, hear no more of it") {
    for (const bool both : {false, true}) {
      const Module inner = linear_of(3, 2), outer = chain({inner});
      Recorded first, second, third;
      auto one = std::make_unique<ModuleWatchScope>(first);
      auto two = std::make_unique<ModuleWatchScope>(second);
      auto three = std::make_unique<ModuleWatchScope>(third);
      const Hook hook = inner.register_forward_pre_hook([&](const Module&, const Tensor&) {
        one.reset();
        if (both) three.reset();
      });
      outer(ones({1, 3}));
      CHECK(first.events.size() == 2);
      CHECK(second.events.size() == 4);
      CHECK(third.events.size() == (both ? 2 : 4));
      two.reset();
      three.reset();
      CHECK(service::modes().watches() == 0);
    }
  }

  TEST_CASE("a watch that is left in its own begin, with those inside of it, ends there") {
    const Module model = chain({linear_of(3, 2)});
    Recorded first, second;
    Acting acting;
    auto one = std::make_unique<ModuleWatchScope>(first);
    auto two = std::make_unique<ModuleWatchScope>(second);
    auto three = std::make_unique<ModuleWatchScope>(acting);
    acting.when = 1;
    acting.act = [&] {
      three.reset();
      two.reset();
      one.reset();
    };
    CHECK(model(ones({1, 3})).sizes()[1] == 2);
    CHECK(acting.events.size() == 1);
    CHECK(first.events.empty());
    CHECK(second.events.empty());
    CHECK(service::modes().watches() == 0);
  }

  TEST_CASE("a watch that is left within a backward is gone behind it") {
    const Module model = linear_of(3, 2);
    Recorded recorded;
    auto scope = std::make_unique<ModuleWatchScope>(recorded);
    Tensor y = model(ones({1, 3}));
    y.register_hook([&](const Tensor&) { scope.reset(); });
    sum(y).backward();
    model(ones({1, 3}));
    CHECK(recorded.events.size() == 2);
    CHECK(service::modes().watches() == 0);
  }

  TEST_CASE("other threads of a parallel loop are heard of with the flag, and only so") {
    const Module model = linear_of(3, 2);
    const Tensor x = ones({1, 3});
    const auto here = std::this_thread::get_id();
    for (const bool in_loops : {false, true}) {
      CAPTURE(in_loops);
      Raw raw(in_loops ? TENON_WATCH_IN_LOOPS : 0);
      std::atomic<int> mine{0}, others{0};
      raw.act = [&](const tenon_module_event& happened) {
        if (happened.kind == TENON_WATCH_BEGINS)
          ++(std::this_thread::get_id() == here ? mine : others);
      };
      const int seen = in_two_threads([&] { model(x); });
      std::thread([&] { model(x); }).join();
      raw.leave();
      in_two_threads([&] { model(x); });
      if (thread_count() < 2) MESSAGE("one thread alone: loops run on it");
      CHECK(mine == 8 - seen);
      CHECK(others == (in_loops ? seen : 0));
      if (thread_count() > 1) CHECK(seen > 0);
    }
  }

  TEST_CASE("a watch that is left elsewhere or within a loop is inactive, and goes behind it") {
    const Module model = linear_of(3, 2);
    const Tensor x = ones({1, 3});
    constexpr const char* refused =
        "a watch of modules is left on another thread than it was entered on";
    for (const bool within : {false, true}) {
      CAPTURE(within);
      Recorded around, inside;
      const ModuleWatchScope scope(around);
      Raw raw(TENON_WATCH_IN_LOOPS);
      std::atomic<int> heard{0}, refusals{0};
      raw.act = [&](const tenon_module_event&) { ++heard; };
      const ModuleWatchScope inner(inside);
      const auto leave = [&] {
        const std::string text = refusal([&] { raw.leave(); }).text;
        refusals += text.find(refused) != std::string::npos ? 1 : 0;
      };
      if (!within) {
        std::thread(leave).join();
        CHECK(refusals == 1);
        in_two_threads([&] { model(x); });
        CHECK(heard == 0);
      } else {
        std::atomic<bool> first{true};
        in_two_threads([&] {
          model(x);
          if (first.exchange(false)) leave();
          model(x);
        });
        CHECK(refusals == 1);
      }
      CHECK(service::modes().watches() == 2);
      const size_t before = around.events.size();
      model(x);
      CHECK(around.events.size() == before + 2);
      CHECK(inside.events.size() == before + 2);
    }
    CHECK(service::modes().watches() == 0);
  }

  TEST_CASE("arguments are known by the names of forward's parameters") {
    const Module linear = linear_of(3, 2);
    struct Named : ModuleWatch {
      void begins(const Module&, const HookValues& arguments) override {
        name = arguments.name(0);
        input = arguments.tensor("input");
      }
      std::string name;
      Tensor input;
    } named;
    const ModuleWatchScope scope(named);
    const Tensor x = ones({1, 3});
    linear(x);
    CHECK(named.name == "input");
    CHECK(named.input.is_same(x));
  }

  TEST_CASE("a module whose last reference ends in its call is there until the call ends") {
    for (const bool hooked : {false, true}) {
      Module module = linear_of(3, 2);
      tenon_module* const handle = module.handle();
      const Tensor x = ones({1, 3});
      struct Dropping : Recorded {
        void begins(const Module& begun, const HookValues& arguments) override {
          Recorded::begins(begun, arguments);
          drop();
        }
        std::function<void()> drop;
      } dropping;
      dropping.drop = [&] {
        if (!hooked) module = Module();
      };
      if (hooked)
        module.register_forward_hook(
            [&](const Module&, const Tensor&, const Tensor&) { module = Module(); });
      const ModuleWatchScope scope(dropping);
      tenon_value input = Argument(x).value(), results[detail::max_results]{};
      detail::check(service::modules().call, handle, static_cast<const tenon_value*>(&input),
                    int64_t{1}, static_cast<const tenon_string*>(nullptr),
                    static_cast<const tenon_value*>(nullptr), int64_t{0},
                    static_cast<tenon_value*>(results), int64_t{-1});
      CHECK(Value(results[0]).tensor().sizes()[1] == 2);
      CHECK_FALSE(module.defined());
      CHECK(dropping.events.size() == 2);
    }
  }

  TEST_CASE("is_watched: hooks and watches of this thread, while they are there") {
    const Module module = linear_of(3, 2);
    CHECK_FALSE(is_watched(module));
    {
      Recorded recorded;
      const ModuleWatchScope scope(recorded);
      CHECK(is_watched(module));
      bool there = true;
      std::thread([&] { there = is_watched(module); }).join();
      CHECK_FALSE(there);
    }
    CHECK_FALSE(is_watched(module));
    const Hook hook = module.register_forward_pre_hook([](const Module&, const Tensor&) {});
    CHECK(is_watched(module));
    hook.remove();
    CHECK_FALSE(is_watched(module));
  }

  TEST_CASE("a watch that was entered or is left on a grown stack is as any other") {
    Recorded first, second;
    tenon_test::on_small_stack([&] {
      const Module inner = Module::create("ReLU"), model = nested(inner);
      auto one = std::make_unique<ModuleWatchScope>(first);
      std::unique_ptr<ModuleWatchScope> two;
      const Hook hook = inner.register_forward_pre_hook([&](const Module&, const Tensor&) {
        one.reset();
        if (two == nullptr) two = std::make_unique<ModuleWatchScope>(second);
      });
      const NoGrad no_grad;
      model(ones({1}));
      CHECK(second.events.empty());
      CHECK(service::modes().watches() == 1);
      inner(ones({1}));
      two.reset();
      CHECK(service::modes().watches() == 0);
    });
    CHECK(first.events.size() == deep);
    CHECK(second.events.size() == 2);
  }

  TEST_CASE("modules deeper than the stack are heard of, and end in their order") {
    Recorded recorded;
    tenon_test::on_small_stack([&] {
      const Module model = nested(Module::create("ReLU"));
      const ModuleWatchScope scope(recorded);
      const NoGrad no_grad;
      model(ones({1}));
      CHECK(service::modes().watches() == 1);
    });
    REQUIRE(recorded.events.size() == 2 * deep);
    CHECK(recorded.events.front().front() == 'b');
    CHECK(recorded.events[deep - 1].front() == 'b');
    CHECK(recorded.events[deep].front() == 'e');
  }
}

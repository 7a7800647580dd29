// A plugin that is unloaded: what its handles say, what keeps its code, and that it goes.
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/autograd.hpp>
#include <tenon/listing/listing.hpp>

#include "tests/reload/generation.hpp"

using namespace generation;
using tenon::Op, tenon::Tensor, tenon::tensor, tenon::Unload;

namespace {

// Lines of the process's map that are copies of plugins, or the file.
int mapped(const std::string& file = "generation.so") {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    count += has(line, file) || has(line, "tenon-plugin");
  return count;
}

}  // namespace

TEST_SUITE("unload") {
  TEST_CASE("handles are stale until the plugin is loaded again") {
    start("1");
    const Op number("generation.number");
    CHECK(number.call<int64_t>() == 1);
    CHECK(mapped() > 0);
    const tenon::Json report = tenon::unload("generation");
    CHECK(report["state"].text() == "unmapped");
    CHECK(report["kept_by"].size() == 0);
    CHECK(mapped() == 0);
    const std::string error = error_of([&] { number.call<int64_t>(); });
    CHECK(has(error,
              "stale handle: op 'generation.number' is provided by plugin 'generation', "
              "which was unloaded"));
    CHECK(has(error_of([] { tenon::unload("generation"); }), "it is not loaded"));
    CHECK(tenon::listing::plugin("generation")["reason"].text() == "it was unloaded");
    tenon::load_plugin("generation");
    CHECK(number.call<int64_t>() == 1);
  }

  TEST_CASE("while a graph holds it, it is refused, waited for, or withdrawn by force") {
    start("2");
    const Op scale("generation.scale");
    const Tensor x = tensor({1.0}).requires_grad_();
    Tensor y = scale.call<Tensor>(x);
    const std::string error = error_of([] { tenon::unload("generation"); });
    CHECK(has(error, "it is held by 1 x node of a graph"));
    CHECK(has(error, "not listed by op and place: set TENON_LIVE=1, or call track_live(true)"));
    CHECK(number() == 2);
    tenon::Json report = tenon::unload("generation", Unload::wait, 10);
    CHECK(report["state"].text() == "draining");
    CHECK(report["holders"]["node of a graph"].integer() == 1);
    CHECK(report["recorded"].size() == 0);  // nodes are not tracked
    y.backward();
    CHECK(x.grad().text() == "tensor([2.])");
    CHECK(retired() == 1);
    y = Tensor();
    CHECK(retired() == 0);
    CHECK(mapped() == 0);
    tenon::load_plugin("generation");
    y = scale.call<Tensor>(x);
    CHECK(tenon::unload("generation", Unload::force)["state"].text() == "draining");
    y = Tensor();
    CHECK(retired() == 0);
  }

  TEST_CASE("memory, hooks and open modes keep the code by force, and let it drain") {
    const auto load = [] { tenon::load_plugin(std::string(TENON_FIXTURES) + "/leaving.so"); };
    const auto call = [](const char* op, const auto&... arguments) {
      return Op(op).call<int64_t>(arguments...);
    };
    // Makes a holder; what it gives uses the holder, and lets it go.
    const std::vector<std::pair<const char*, std::function<std::function<void()>()>>> kinds = {
        {"memory that a tensor uses",
         [] {
           auto numbers = Op("leaving.memory").call<Tensor>();
           return [view = numbers.select(0, 1)]() mutable {
             CHECK(view.item<double>() == 2);
             view = Tensor();
           };
         }},
        {"hook",
         [&] {
           Tensor x = tensor({1.0}).requires_grad_();
           call("leaving.watch", x);
           return [x]() mutable {
             (x * 3.0).sum().backward();
             CHECK(x.grad().text() == "tensor([6.])");
             x = Tensor();
           };
         }},
        {"open scope",
         [&] {
           auto* const mode = reinterpret_cast<tenon_mode*>(call("leaving.enter"));
           return [mode] {
             CHECK((tensor({1.0}) * 2.0).text() == "tensor([2.])");
             CHECK(tenon::service::modes().leave(mode, nullptr) == TENON_OK);
           };
         }},
    };
    const auto still_there = [] { return tenon::listing::plugin("leaving")["retired"].size(); };
    for (const auto& one : kinds) {
      const auto& kind = one.first;
      const auto& hold = one.second;
      CAPTURE(kind);
      const int before = mapped("leaving.so");
      load();
      const Op stale("leaving.memory");
      std::function<void()> use_and_release = hold();
      CHECK(tenon::listing::plugin("leaving")["holders"][kind].integer() == 1);
      CHECK(has(error_of([] { tenon::unload("leaving"); }),
                std::string("it is held by 1 x ") + kind));
      const tenon::Json report = tenon::unload("leaving", Unload::force);
      CHECK(report["state"].text() == "draining");
      CHECK(report["holders"][kind].integer() == 1);
      CHECK(has(error_of([&] { stale.call<Tensor>(); }), "stale handle: op 'leaving.memory'"));
      CHECK(still_there() == 1);
      use_and_release();
      use_and_release = nullptr;
      CHECK(still_there() == 0);
      CHECK(mapped("leaving.so") <= before);
    }
  }

  TEST_CASE("of nodes that are tracked it is said where they were recorded") {
    start("3");
    const bool tracked = tenon::track_live(true);
    const Op scale("generation.scale");
    const Tensor x = tensor({1.0}).requires_grad_();
    std::vector<Tensor> held = {scale.call<Tensor>(x)};
    {
      const tenon::AnomalyMode anomaly;
      held.push_back(scale.call<Tensor>(x));
    }
    const std::string error = error_of([] { tenon::unload("generation"); });
    CHECK(has(error, " x node of a graph"));
    const std::string of_op = "\n  node of op 'generation.scale' of plugin 'generation'";
    CHECK(has(error, of_op + " (where is not known: anomaly mode was off"));
    CHECK(has(error, of_op + ", called from "));
    CHECK(!has(error, "not listed by op and place"));
    for (int i = 0; i < 20; ++i) held.push_back(scale.call<Tensor>(x));
    CHECK(has(error_of([] { tenon::unload("generation"); }), "\n  node of 14 more calls"));
    const tenon::Json report = tenon::unload("generation", Unload::force);
    CHECK(report["recorded"].size() == 9);
    CHECK(report["recorded"][8].text() == "14 more calls");
    held.clear();
    tenon::track_live(tracked);
    CHECK(retired() == 0);
  }

  TEST_CASE("what cannot be unmapped says why") {
    tenon::load_plugin("math");
    const tenon::Json math = tenon::listing::plugin("math");
    CHECK(math["unmap"]["possible"].as_bool());
    CHECK(math["unmap"]["reasons"].size() == 0);
  }

  TEST_CASE("misuse is refused") {
    CHECK(has(error_of([] { tenon::unload("no_such_plugin"); }), "it is not loaded"));
    tenon_error* error = nullptr;
    CHECK(tenon::service::plugins().unload("generation", 9, 0, nullptr, &error) ==
          TENON_ERROR_ARGUMENT);
    tenon::service::values().error_release(error);
  }
}

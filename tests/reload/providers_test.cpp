// Providers that decline, as applications see them: loaded when they are needed, reloaded and unloaded
// while calls run.
#include <atomic>
#include <filesystem>
#include <random>
#include <stdlib.h>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/listing/listing.hpp>
#include <tenon/listing/why.hpp>
#include <tenon/tenon.hpp>

using tenon::Op, tenon::Tensor;

namespace {

namespace fs = std::filesystem;

constexpr const char* kPlugins[] = {"ranked_small", "ranked_flat", "ranked_general"};

std::string state(const std::string& plugin) {
  const tenon::Json plugins = tenon::listing::plugins();
  for (int64_t i = 0; i < plugins.size(); ++i) {
    if (plugins[i]["id"].text() == plugin) return plugins[i]["state"].text();
  }
  return "absent";
}

// The plugins in their folder, for one case; afterwards they are unloaded and gone. The first
// is loaded: handles that are stale lead to nothing else.
class Installed {
 public:
  explicit Installed(const std::vector<std::string>& plugins, bool loads = true) {
    std::string pattern = (fs::temp_directory_path() / "tenon-ranked-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    for (const std::string& plugin : plugins)
      fs::copy_file(std::string(TENON_FIXTURES) + "/ranked/" + plugin + ".so",
                    folder_ + "/" + plugin + ".so");
    tenon::add_plugin_path(folder_);
    if (loads) tenon::load_plugin(plugins.front());
  }
  ~Installed() {
    for (const char* plugin : kPlugins) {
      if (state(plugin) == "active") tenon::unload(plugin, tenon::Unload::force);
    }
    fs::remove_all(folder_);
  }
  Installed(const Installed&) = delete;
  Installed& operator=(const Installed&) = delete;

 private:
  std::string folder_;
};

Tensor ones(const std::vector<int64_t>& shape) { return Op("ones").call<Tensor>(shape); }
std::string who(const Tensor& x) { return Op("ranked.who").call<std::string>(x); }

template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return "no error";
}
bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != text.npos;
  if (!found) MESSAGE("'" << part << "' is not in: " << text);
  return found;
}

}  // namespace

TEST_SUITE("providers") {
  // The first case: nothing is stale yet.
  TEST_CASE("two that may decline are contested until something ranks them") {
    const Installed plugins({"ranked_small", "ranked_flat", "ranked_general"}, false);
    CHECK(
        has(error_of([] { who(ones({1})); }), "op 'ranked.who' has 2 providers and nothing ranks"));
    tenon::load_plugin("ranked_flat");
    CHECK(who(ones({9})) == "ranked_flat");
    CHECK(who(ones({1, 4})) == "ranked_small");
    CHECK(who(ones({1, 5})) == "ranked_general");
  }

  TEST_CASE("the plugin that runs what another declines is loaded then, and not before") {
    const Installed plugins({"ranked_small", "ranked_general"});
    CHECK(who(ones({4})) == "ranked_small");
    CHECK(state("ranked_general") == "indexed");
    CHECK(who(ones({5})) == "ranked_general");
    CHECK(state("ranked_general") == "active");
    CHECK(who(ones({4})) == "ranked_small");
  }

  TEST_CASE(
      "a plugin that is loaded for another op does not take calls from one that ranks above") {
    const Installed plugins({"ranked_small", "ranked_general"});
    tenon::load_plugin("ranked_general");
    CHECK(who(ones({4})) == "ranked_small");
    CHECK(who(ones({5})) == "ranked_general");
  }

  TEST_CASE("gradients are those of the provider that ran") {
    const Installed plugins({"ranked_small", "ranked_general"});
    const Op scale("ranked.scale");
    for (const int64_t size : {4, 5}) {
      const Tensor x = ones({size}).requires_grad_();
      const Tensor y = scale.call<Tensor>(x);
      CHECK(y.to_vector<float>() == std::vector<float>(static_cast<size_t>(size), 2));
      Op("sum").call<Tensor>(y).backward();
      CHECK(x.grad().to_vector<float>() ==
            std::vector<float>(static_cast<size_t>(size), size == 4 ? 20 : 2));
    }
  }

  TEST_CASE("operands are changed in place by the provider that takes them") {
    const Installed plugins({"ranked_small", "ranked_general"});
    const Op scale("ranked.scale_");
    for (const int64_t size : {4, 5}) {
      const Tensor x = ones({size});
      const Tensor same = scale.call<Tensor>(x, tenon::arg("factor") = 3);
      CHECK(same.handle() == x.handle());
      CHECK(x.to_vector<float>() ==
            std::vector<float>(static_cast<size_t>(size), size == 4 ? 30 : 3));
    }
  }

  TEST_CASE("declines sees f16 and bf16 as they are given") {
    const Installed plugins({"ranked_small", "ranked_general"});
    const Op scale("ranked.scale");
    for (const tenon::DType dtype : {tenon::f16, tenon::bf16}) {
      const Tensor x = Op("to").call<Tensor>(ones({2}), dtype);
      const tenon::TraceScope trace;
      CHECK(scale.call<Tensor>(x).dtype() == dtype);
      CHECK((trace.text().find("declined: bf16 (plugin ranked_small)") != std::string::npos) ==
            (dtype == tenon::bf16));
    }
  }

  TEST_CASE("what throws while it is asked declines") {
    const Installed plugins({"ranked_small", "ranked_general"});
    const tenon::TraceScope trace;
    CHECK(Op("ranked.unjudged").call<std::string>(ones({1})) == "ranked_general");
    CHECK(has(trace.text(), "declined: its declines() threw an exception (plugin ranked_small)"));
  }

  TEST_CASE("when all decline the error says who did, why, and what to do") {
    const Installed plugins({"ranked_small"});
    CHECK(Op("ranked.alone").call<std::string>(ones({4})) == "ranked_small");
    try {
      Op("ranked.alone").call<std::string>(ones({5}));
      FAIL("nothing was thrown");
    } catch (const tenon::NotImplementedError& error) {
      CHECK(has(error.what(),
                "alone(): every provider of op 'ranked.alone' declined these arguments (plugin "
                "'ranked_small': more than 4 elements); pass others, or install or enable a plugin "
                "whose 'ranked.alone' takes them; `tenon show ranked.alone` lists its providers"));
    }
  }

  TEST_CASE("a provider in plain C, and one that cannot be loaded does not count") {
    const Installed plugins({"ranked_flat"});
    CHECK(who(ones({9})) == "ranked_flat");
    CHECK(has(error_of([] { who(ones({1, 1})); }), "plugin 'ranked_flat': not of one dimension"));
  }

  TEST_CASE("traces, listings and explanations say who declined, and why") {
    const Installed plugins({"ranked_small", "ranked_general"});
    const tenon::Json before = tenon::listing::op("ranked.who")["providers"];
    CHECK(before[0]["plugin"].text() == "ranked_general");
    CHECK(before[0]["standing"].text() == "next");
    CHECK(has(before[0]["reason"].text(), "runs what 'ranked_small' ("));
    CHECK(before[1]["standing"].text() == "chosen");
    CHECK(before[1]["may_decline"].as_bool());
    CHECK(before[1]["declined"].is_null());
    const Tensor x = ones({5});
    tenon::TraceScope trace;
    who(x);
    CHECK(has(trace.text(),
              "call ranked.who(Tensor f32[5])\n"
              "  declined: more than 4 elements (plugin ranked_small)\n"
              "  kernel ranked.who (plugin ranked_general)\n"));
    CHECK(tenon::listing::op("ranked.who")["providers"][1]["declined"].text() ==
          "more than 4 elements");
    const tenon::Json why = tenon::listing::explain(Op("ranked.who"), x);
    CHECK(why["provider"].text() == "ranked_small");
    CHECK(why["declined"].dump() ==
          R"([{"plugin":"ranked_small","reason":"more than 4 elements"}])");
    CHECK(why["answer"]["provider"].text() == "ranked_general");
    CHECK(has(tenon::listing::explain_text(why),
              "  ranked     plugin ranked_small, asked first, since it may decline\n"
              "  declined   plugin ranked_small: more than 4 elements\n"
              "  runs       kernel, plugin ranked_general 1.0.0\n"));
    const tenon::Json taken = tenon::listing::explain(Op("ranked.who"), ones({4}));
    CHECK(taken["declined"].size() == 0);
    CHECK(taken["next"].dump() == R"(["ranked_general"])");
    CHECK(has(tenon::listing::explain_text(taken),
              "  runs       kernel, plugin ranked_small 1.0.0\n"
              "  next       ranked_general, where that declines\n"));
    const tenon::Json refused = tenon::listing::explain(Op("ranked.alone"), x);
    CHECK(refused["kind"].text() == "NotImplementedError");
    CHECK(has(refused["error"].text(), "more than 4 elements"));
  }

  TEST_CASE(
      "unloading the first leads calls to the next, and loading it again gives it its place") {
    const Installed plugins({"ranked_small", "ranked_general"});
    CHECK(who(ones({5})) == "ranked_general");
    const Op op("ranked.who");
    tenon::unload("ranked_small");
    CHECK(op.call<std::string>(ones({4})) == "ranked_general");
    tenon::load_plugin("ranked_small");
    CHECK(op.call<std::string>(ones({4})) == "ranked_small");
    CHECK(op.call<std::string>(ones({5})) == "ranked_general");
    tenon::unload("ranked_general");
    CHECK(op.call<std::string>(ones({4})) == "ranked_small");
    CHECK(has(error_of([&] { op.call<std::string>(ones({5})); }), "more than 4 elements"));
    tenon::reload("ranked_small");
    tenon::load_plugin("ranked_general");
    CHECK(op.call<std::string>(ones({5})) == "ranked_general");
    tenon::reload("ranked_general");
    CHECK(op.call<std::string>(ones({5})) == "ranked_general");
    CHECK(op.call<std::string>(ones({4})) == "ranked_small");
  }

  TEST_CASE("unloading the first before the next was needed loads the next") {
    const Installed plugins({"ranked_small", "ranked_general"});
    const Op op("ranked.who");
    CHECK(op.call<std::string>(ones({4})) == "ranked_small");
    tenon::unload("ranked_small");
    CHECK(op.call<std::string>(ones({4})) == "ranked_general");
  }

  TEST_CASE("a graph keeps the provider that it was recorded with") {
    const Installed plugins({"ranked_small", "ranked_general"});
    const Tensor x = ones({2}).requires_grad_();
    Tensor y = Op("ranked.scale").call<Tensor>(x);
    CHECK(
        has(error_of([] { tenon::unload("ranked_small"); }), "it is held by 1 x node of a graph"));
    tenon::unload("ranked_small", tenon::Unload::force);
    Op("sum").call<Tensor>(y).backward();
    CHECK(x.grad().to_vector<float>() == std::vector<float>{20, 20});
  }

  TEST_CASE("shapes alone name the provider that would run") {
    const Installed plugins({"ranked_small", "ranked_general"});
    const tenon::ShapesOnly shapes;
    const tenon::TraceScope trace;
    CHECK(Op("ranked.scale").call<Tensor>(ones({3, 3})).sizes() == std::vector<int64_t>{3, 3});
    CHECK(has(trace.text(),
              "  declined: more than 4 elements (plugin ranked_small)\n"
              "  shapes of ranked.scale (plugin ranked_general)\n"));
  }

  TEST_CASE("any shapes, in any order of loading: who runs a call follows from the shape alone") {
    std::mt19937 random(5);
    for (int round = 0; round < 20; ++round) {
      const Installed plugins({"ranked_small", "ranked_general"});
      for (int step = 0; step < 30; ++step) {
        const char* plugin = random() % 2 == 0 ? "ranked_small" : "ranked_general";
        if (random() % 4 == 0 && state(plugin) == "active") tenon::reload(plugin);
        if (random() % 6 == 0) tenon::load_plugin(plugin);
        std::vector<int64_t> shape(random() % 3);
        int64_t count = 1;
        for (int64_t& size : shape) count *= size = static_cast<int64_t>(random() % 4);
        CHECK(who(ones(shape)) == (count > 4 ? "ranked_general" : "ranked_small"));
      }
    }
  }

  TEST_CASE("threads call while providers are loaded, reloaded and unloaded") {
    const Installed plugins({"ranked_small", "ranked_general"});
    tenon::load_plugin("ranked_small");
    std::atomic<bool> done{false};
    std::atomic<int64_t> calls{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const Op op("ranked.who"), scale("ranked.scale");
        const Tensor small = ones({4}), large = ones({5 + i});
        const Tensor leaf = ones({4}).requires_grad_();
        while (!done) {
          try {
            if (op.call<std::string>(small) != "ranked_small") ++wrong;
            if (op.call<std::string>(large) != "ranked_general") ++wrong;
          } catch (const tenon::Error& error) {
            // The next provider is unloaded.
            if (std::string(error.what()).find("more than 4 elements") == std::string::npos &&
                std::string(error.what()).find("it was unloaded") == std::string::npos)
              ++wrong;
          }
          scale.call<Tensor>(leaf);
          ++calls;
        }
      });
    }
    for (int round = 0; round < 20; ++round) {
      tenon::load_plugin("ranked_general");
      tenon::reload("ranked_small");
      tenon::reload("ranked_general");
      tenon::unload("ranked_general", tenon::Unload::force);
    }
    done = true;
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(calls > 0);
  }

  // Policies stay: the last case.
  TEST_CASE("a config ranks the general one first, which takes every call") {
    const Installed plugins({"ranked_small", "ranked_general"}, false);
    tenon::apply_policy(
        tenon::Json::parse(R"({"ops": {"prefer": {"ranked.who": "ranked_general"}}})"));
    tenon::load_plugin("ranked_small");
    tenon::load_plugin("ranked_general");
    CHECK(who(ones({4})) == "ranked_general");
    CHECK(tenon::listing::op("ranked.who")["providers"][1]["standing"].text() == "outranked");
  }
}

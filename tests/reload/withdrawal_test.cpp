// Modules, overrides and tensor types of a plugin that is unloaded, and of one that builds on it.
#include <functional>

#include <tenon/listing/listing.hpp>
#include <tenon/override_entry.hpp>

#include "tests/reload/generation.hpp"

using namespace generation;
using tenon::Module, tenon::Op, tenon::Tensor, tenon::tensor, tenon::Unload;

namespace {

// Loads a plugin of the fixtures; the path of a build is searched once.
void load(const std::string& plugin, const std::string& folder = "") {
  tenon::load_plugin(std::string(TENON_FIXTURES) + "/" + folder + plugin + ".so");
}

bool is_type_error(const std::function<void()>& body) {
  try {
    body();
  } catch (const tenon::TypeError&) {
    return true;
  }
  return false;
}

}  // namespace

TEST_SUITE("withdrawal") {
  TEST_CASE("modules that exist keep their code, and no more are made until it is loaded again") {
    load("leaving");
    const auto make = [] { return Module::create("leaving.Block", tenon::arg("factor") = 3.0); };
    Module block = make();
    const Tensor x = tensor({1.0, 2.0});
    CHECK(has(error_of([] { tenon::unload("leaving"); }), "it is held by 1 x module"));
    const tenon::Json report = tenon::unload("leaving", Unload::force);
    CHECK(report["state"].text() == "draining");
    CHECK(report["holders"]["module"].integer() == 1);
    CHECK(block(x).text() == "tensor([3., 6.])");
    CHECK(has(error_of([&] { make(); }), "it was unloaded; load it again by its name"));
    block = Module();
    CHECK(tenon::listing::plugin("leaving")["retired"].size() == 0);
    tenon::load_plugin("leaving");
    CHECK(make()(x).text() == "tensor([3., 6.])");
    CHECK(tenon::unload("leaving", Unload::wait)["state"].text() == "unmapped");
  }

  TEST_CASE("overrides for types of another plugin go with theirs, and handles say so") {
    load("types", "types/");
    load("more_overrides", "more_overrides/");
    const Tensor scalar = Op("tx.scalar").call<Tensor>(int64_t{2}, 5.0);
    const Op mul("mul");
    const auto product = [&] { return mul.call<int64_t>(scalar, int64_t{3}); };
    CHECK(product() == 42);
    const tenon::OverrideEntry entry("mul[ScalarTensor]");
    CHECK(entry.provider() == "more_overrides");
    // While it builds on the types, these stay.
    CHECK(has(error_of([] { tenon::unload("types", Unload::force); }),
              "plugins build on its tensor types: more_overrides"));
    CHECK(product() == 42);
    CHECK(tenon::unload("more_overrides", Unload::wait)["state"].text() == "unmapped");
    CHECK(is_type_error([&] { product(); }));
    CHECK(has(error_of([&] { entry(scalar, int64_t{3}); }),
              "stale handle: override mul[ScalarTensor] is provided by plugin 'more_overrides'"));
    tenon::load_plugin("more_overrides");
    CHECK(product() == 42);
    tenon::unload("more_overrides");
  }

  TEST_CASE("a type that was withdrawn serves the tensors that have it; its name is free again") {
    load("types", "types/");
    const auto make = [] { return Op("tx.scalar").call<Tensor>(int64_t{2}, 5.0); };
    const Tensor before = make();
    const auto last = [](const tenon::Json& reasons) { return reasons[reasons.size() - 1].text(); };
    const std::string stays = "it has tensor types, which stay as long as the process";
    const tenon::Json verdict = tenon::listing::plugin("types")["unmap"];
    CHECK_FALSE(verdict["possible"].as_bool());
    CHECK(last(verdict["reasons"]) == stays);
    const tenon::Json report = tenon::unload("types", Unload::wait, 1000);
    CHECK(report["state"].text() == "draining");  // types stay mapped, which ends the wait
    CHECK(report["holders"]["tensor type"].integer() > 0);
    CHECK(last(report["kept_by"]) == stays);
    CHECK(before.text() == "ScalarTensor(N=2, value=5)");
    CHECK(has(error_of([&] { make(); }), "it was unloaded; load it again by its name"));
    CHECK(has(error_of([] { tenon::OverrideEntry("mean[ScalarTensor]"); }), "it was unloaded"));
    tenon::load_plugin("types");
    const Tensor after = make();
    CHECK(after.text() == "ScalarTensor(N=2, value=5)");
    CHECK(Op("mean").call<double>(after) == 2.5);
    const auto type_of = [](const Tensor& of) { return of.view_record().type; };
    CHECK(type_of(before) != type_of(after));
    CHECK(std::string(tenon::service::types().name(type_of(before))) ==
          tenon::service::types().name(type_of(after)));
  }
}

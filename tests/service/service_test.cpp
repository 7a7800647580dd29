// Services of plugins: loaded at the first need, held by leases, judged from files.
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <tenon/listing/listing.hpp>
#include <tenon/service.hpp>
#include <tenon/tenon.hpp>

#include "tests/fixtures/services/counter.h"

using tenon::Op, tenon::Service, tenon::Unload;

namespace {

namespace fs = std::filesystem;

// A copy of the fixtures, which tests change.
const std::string& folder() {
  static const std::string path = [] {
    std::string pattern = (fs::temp_directory_path() / "tenon-services-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    for (const auto& file : fs::directory_iterator(TENON_FIXTURES)) {
      if (file.path().extension() == ".so")
        fs::copy_file(file.path(), pattern + "/" + file.path().filename().string());
    }
    tenon::add_plugin_path(pattern);
    return pattern;
  }();
  static const struct Removal {
    ~Removal() { fs::remove_all(path); }
    const std::string& path;
  } removal{path};
  return path;
}

Service<counter_service> counter() {
  folder();
  return {"counter", 1};
}
int64_t count_of_user() { return Op("plain_user.value").call<int64_t>(); }

template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const tenon::PluginError& error) {
    return error.what();
  }
  return "no PluginError";
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

std::string state_of(const char* plugin) { return tenon::listing::plugin(plugin)["state"].text(); }
void unload_if_active(const char* plugin) {
  folder();
  if (state_of(plugin) == "active") tenon::unload(plugin, Unload::force);
}
// A new load of the counter, and a user of it.
void start_again() {
  for (const char* plugin : {"user", "plain_user", "counter"}) unload_if_active(plugin);
  for (const char* plugin : {"counter", "plain_user"}) tenon::load_plugin(plugin);
}

}  // namespace

TEST_SUITE("service") {
  TEST_CASE("the first use of a plugin loads the provider of what it needs, in C++ and in C") {
    folder();
    CHECK(state_of("counter") == "indexed");
    CHECK(Op("user.add").call<int64_t>(int64_t{2}) == 3);
    CHECK(state_of("counter") == "active");
    CHECK(count_of_user() == 3);
  }

  TEST_CASE("an application uses the same service, twice and from another thread") {
    const Service<counter_service> one = counter();
    const Service<counter_service> two = counter();
    CHECK(&*one == &*two);
    const int64_t before = one->value();
    std::thread([&] {
      const Service<counter_service> other = counter();
      CHECK(&*other == &*one);
      tenon::call_slot(other->add, int64_t{1});
    }).join();
    CHECK(one->value() == before + 1);
    CHECK(count_of_user() == before + 1);
    CHECK_THROWS_AS(tenon::call_slot(one->add, int64_t{-1}), tenon::ValueError);
  }

  TEST_CASE("a provider that is used is not unloaded, and the message names its users") {
    count_of_user();
    std::string error = error_of([] { tenon::unload("counter"); });
    CHECK(has(error, "it is held by"));
    CHECK(has(error, "use of its services"));
    CHECK(has(error, "service 'counter' is used by plugin 'plain_user'"));
    unload_if_active("user");
    unload_if_active("plain_user");
    {
      const Service<counter_service> held = counter();
      error = error_of([] { tenon::unload("counter"); });
      CHECK(has(error, "it is held by 1 x use of its services"));
    }
    CHECK(tenon::unload("counter")["state"].text() == "unmapped");
    error = error_of([] { counter(); });
    CHECK(has(error, "service 'counter' is provided by plugin 'counter'"));
    CHECK(has(error, "not available: it was unloaded; load it again by its name"));
    error = error_of([] { tenon::load_plugin("plain_user"); });
    CHECK(has(error, "service 'counter', which it uses, is not available"));
    CHECK(has(error, "it was unloaded"));
    tenon::load_plugin("counter");
    tenon::load_plugin("plain_user");
    CHECK(count_of_user() == 1);
  }

  TEST_CASE("unloaded by force, a provider continues for those that hold it") {
    tenon::load_plugin("counter");
    Service<counter_service> held = counter();
    const int64_t value = held->value();
    CHECK(count_of_user() == value);
    CHECK(tenon::unload("counter", Unload::force)["state"].text() == "draining");
    CHECK(has(error_of([] { counter(); }), "it was unloaded"));
    CHECK(held->value() == value);
    CHECK(count_of_user() == value);
    tenon::unload("plain_user", Unload::force);
    tenon::load_plugin("counter");
    CHECK(held->value() == value);
    CHECK(&*counter() != &*held);
    held = counter();
    CHECK(tenon::listing::plugin("counter")["retired"].size() == 0);
    tenon::load_plugin("plain_user");
  }

  TEST_CASE("after a reload of the provider, users have the old code until they are reloaded") {
    start_again();
    CHECK(count_of_user() == 1);
    fs::copy_file(std::string(TENON_FIXTURES) + "/builds/next_counter.so", folder() + "/next");
    fs::rename(folder() + "/next", folder() + "/counter.so");
    CHECK(tenon::reload("counter") > 1);
    CHECK(counter()->value() == 5);
    CHECK(count_of_user() == 1);
    tenon::reload("plain_user");
    CHECK(count_of_user() == 5);
    CHECK(tenon::listing::plugin("counter")["retired"].size() == 0);
  }

  TEST_CASE("files that need what is not there are refused before they are opened") {
    start_again();
    const auto refused = [](const char* plugin) {
      return error_of([&] { tenon::load_plugin(plugin); });
    };
    std::string error = refused("newer_host");
    CHECK(has(error, "it uses a newer service 'tenon.ops' than this Tenon has"));
    CHECK(has(error, "expected version 1 or older, found version 9"));
    CHECK(has(error, "update Tenon, or build the plugin for the older version"));
    CHECK(state_of("newer_host") == "failed");
    error = refused("unknown_host");
    CHECK(has(error, "it uses service 'tenon.op', which this Tenon does not have; "));
    error = refused("reserved");
    CHECK(has(error, "it provides the service 'tenon.counter', and namespace 'tenon' is reserved"));
    error = refused("newer_user");
    CHECK(has(error, "version 2 of service 'counter' is needed, and plugin 'counter' ("));
    CHECK(has(error, ") provides version 1; update the plugin that provides it"));
    error = refused("alone");
    CHECK(has(error, "service 'not.provided', which it uses, is not available"));
    CHECK(has(error, "no service is named 'not.provided'"));
    CHECK(has(error, "install or repair the plugin that provides it"));
    error = refused("failing_user");
    CHECK(has(error, "service 'failing', which it uses, is not available"));
    CHECK(has(error, "cannot reach the device"));
    error = refused("left");
    CHECK(has(error, "it is needed while it is being loaded"));
  }

  TEST_CASE("what an application asks for in vain is an error that names the remedy") {
    start_again();
    const auto refused = [](const char* name, uint32_t version) {
      return error_of([&] { Service<counter_service>(name, version); });
    };
    CHECK(has(refused("countr", 1), "no service is named 'countr' (did you mean 'counter'?)"));
    CHECK(has(refused("counter", 3), "version 3 of service 'counter' is needed"));
    CHECK(has(refused("tenon.tensor", 1), "has no service 'tenon.tensor' (did you mean "));
    CHECK(has(refused("tenon.tensors", 2),
              "version 2 of service 'tenon.tensors' is needed, and this Tenon has version 1"));
    const std::string error = refused("twin", 1);
    CHECK(has(error, "service 'twin' has 2 providers and nothing ranks them: 'twin_one' ("));
    CHECK(has(error, "'twin_two' ("));
    tenon::apply_policy(tenon::Json::parse(R"({"ops": {"prefer": {"twin": "twin_two"}}})"));
    CHECK(Service<counter_service>("twin", 1)->value() == 2);
  }
}

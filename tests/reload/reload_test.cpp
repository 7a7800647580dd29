// New code takes the place of old code, which what it has recorded keeps.
#include <tenon/listing/listing.hpp>

#include "tests/reload/generation.hpp"

using namespace generation;
using tenon::Op, tenon::Tensor, tenon::tensor;

TEST_SUITE("reload") {
  TEST_CASE("handles that were found before call the new code") {
    start("1");
    const Op number("generation.number");
    CHECK(number.call<int64_t>() == 1);
    install("2");
    CHECK(number.call<int64_t>() == 1);
    const uint64_t generation = tenon::reload("generation");
    CHECK(number.call<int64_t>() == 2);
    install("3");
    CHECK(tenon::reload("generation") == generation + 1);
    CHECK(number.call<int64_t>() == 3);
    CHECK(tenon::listing::plugin("generation")["generation"].integer() ==
          static_cast<int64_t>(generation + 1));
  }

  TEST_CASE("a graph runs the code that recorded it, which goes with it") {
    start("2");
    const Op scale("generation.scale");
    const Tensor x = tensor({1.0, 2.0}).requires_grad_();
    Tensor before = scale.call<Tensor>(x).sum();
    start("3");
    Tensor after = scale.call<Tensor>(x).sum();
    const tenon::Json retired = tenon::listing::plugin("generation")["retired"];
    REQUIRE(retired.size() == 1);
    CHECK(retired[0]["state"].text() == "draining");
    CHECK(retired[0]["holders"]["node of a graph"].integer() == 1);
    before.backward();
    CHECK(x.grad().text() == "tensor([2., 2.])");
    after.backward();
    CHECK(x.grad().text() == "tensor([5., 5.])");
    before = Tensor();
    CHECK(generation::retired() == 0);
  }

  TEST_CASE("an op that the new build lacks is stale, and is back with a build that has it") {
    start("1");
    const Op extra("generation.extra");
    CHECK(extra.call<int64_t>() == 1);
    start("2");
    const std::string error = error_of([&] { extra.call<int64_t>(); });
    CHECK(has(error, "stale handle: op 'generation.extra' is provided by plugin 'generation'"));
    start("3");
    CHECK(extra.call<int64_t>() == 3);
  }

  TEST_CASE("state goes from the old code to the new one") {
    start("1");
    const Op count("generation.count");
    const int64_t before = count.call<int64_t>();
    CHECK(count.call<int64_t>() == before + 1);
    start("2");
    CHECK(count.call<int64_t>() == before + 2);
  }

  TEST_CASE("a build whose init fails is refused, and the old one continues") {
    start("1");
    const Op number("generation.number"), count("generation.count");
    const int64_t counted = count.call<int64_t>();
    install("init_fails");
    const std::string error = error_of([] { tenon::reload("generation"); });
    CHECK(has(error, "cannot load plugin 'generation' at stage init"));
    CHECK(has(error, "its init failed: the device is busy"));
    CHECK(number.call<int64_t>() == 1);
    CHECK(generation::number() == 1);
    CHECK(count.call<int64_t>() == counted + 1);
    CHECK(tenon::listing::plugin("generation")["state"].text() == "active");
    CHECK(retired() == 0);  // the refused code is gone
    start("2");
    CHECK(number.call<int64_t>() == 2);
  }

  TEST_CASE("a build that fails its own test is refused, and the old one continues") {
    start("1");
    const Op number("generation.number"), count("generation.count");
    const int64_t counted = count.call<int64_t>();
    install("broken");
    const std::string error = error_of([] { tenon::reload("generation"); });
    CHECK(has(error, "its self_test failed"));
    CHECK(has(error, "one and one are three"));
    CHECK(number.call<int64_t>() == 1);
    CHECK(count.call<int64_t>() == counted + 1);
    CHECK(tenon::listing::plugin("generation")["state"].text() == "active");
    CHECK(retired() == 0);  // the refused code is gone
    start("2");
    CHECK(number.call<int64_t>() == 2);
  }

  TEST_CASE("a build that refuses the state leaves every handle to the old one") {
    start("1");
    const Op number("generation.number"), scale("generation.scale"), extra("generation.extra");
    const Tensor x = tensor({1.0}).requires_grad_();
    const Tensor before = scale.call<Tensor>(x);
    install("refuses");
    const std::string error = error_of([] { tenon::reload("generation"); });
    CHECK(has(error, "its restore_state failed"));
    CHECK(has(error, "the state is of an older build"));
    CHECK(retired() == 0);  // unmapped: a handle that led there would end the process
    CHECK(number.call<int64_t>() == 1);
    CHECK(extra.call<int64_t>() == 1);
    CHECK(generation::number() == 1);
    before.backward();
    CHECK(x.grad().text() == "tensor([1.])");
    start("3");
    CHECK(number.call<int64_t>() == 3);
  }

  TEST_CASE("a file at a path that was opened before is not taken for the one of then") {
    start("1");
    const Tensor x = tensor({1.0}).requires_grad_();
    const Tensor held = Op("generation.scale").call<Tensor>(x);
    const std::string path = tenon::listing::plugin("generation")["path"].text();
    tenon::unload("generation", tenon::Unload::force);
    // Its record goes with the file, its code stays mapped for the graph.
    std::filesystem::remove(path);
    for (int i = 0; i < 2; ++i)
      CHECK(error_of([] { tenon::load_plugin("generation"); }) != "no PluginError");
    install("3");
    tenon::load_plugin("generation");
    CHECK(number() == 3);
    held.backward();
    CHECK(x.grad().text() == "tensor([1.])");
  }

  TEST_CASE("a damaged file is refused, and the old code continues") {
    start("1");
    const std::string path = tenon::listing::plugin("generation")["path"].text();
    std::filesystem::resize_file(path, 512);
    CHECK(error_of([] { tenon::reload("generation"); }) != "no PluginError");
    CHECK(number() == 1);
    start("2");
    CHECK(number() == 2);
  }
}

// Two versions of one plugin in one process, as a config names them.
#include <tenon/listing/listing.hpp>

#include "tests/reload/generation.hpp"

using generation::error_of, generation::has;
using tenon::Json, tenon::Module, tenon::Op, tenon::Tensor, tenon::tensor, tenon::Unload;

TEST_SUITE("versions") {
  TEST_CASE("both are loaded, and each op is that of the version that the config says") {
    tenon::apply_policy(Json::parse(R"({
        "search_paths": [")" TENON_FIXTURES R"(/versions"],
        "plugins": [{"name": "versions@2.0.0"}, {"name": "versions@1.0.0"}],
        "ops": {"prefer": {"versions.scale": "versions@1.0.0"}}})"));
    CHECK(Op("versions.number").call<int64_t>() == 2);
    CHECK(Op("versions.old").call<int64_t>() == 1);  // the second version lacks it
    const Tensor x = tensor({1.0}).requires_grad_();
    Tensor y = Op("versions.scale").call<Tensor>(x);
    CHECK(y.text() == "tensor([1.], grad_fn=<ScaleBackward>)");
    y.backward();
    CHECK(x.grad().text() == "tensor([1.])");
    CHECK(Module::create("versions.Block")(tensor({1.0})).text() == "tensor([2.])");
    for (const char* id : {"versions", "versions@1.0.0"}) {
      CAPTURE(id);
      CHECK(tenon::listing::plugin(id)["state"].text() == "active");
      CHECK(tenon::listing::plugin(id)["generation"].integer() == 1);
    }
    // They come and go apart.
    CHECK(tenon::reload("versions@1.0.0") == 2);
    CHECK(Op("versions.old").call<int64_t>() == 1);
    CHECK(tenon::listing::plugin("versions")["generation"].integer() == 1);
    y = Tensor();
    CHECK(tenon::unload("versions@1.0.0")["id"].text() == "versions@1.0.0");
    CHECK(Op("versions.number").call<int64_t>() == 2);
    CHECK(Op("versions.scale").call<Tensor>(tensor({1.0})).text() == "tensor([2.])");
    CHECK(has(error_of([] { Op("versions.old").call<int64_t>(); }),
              "it was unloaded; load it again by its name"));
  }
}

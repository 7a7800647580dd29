// Inheritance of types, and changes of them by a config.
#include "core/dispatch/types/tensor_type.hpp"

#include <doctest/doctest.h>

using namespace tenon::core;

namespace {

tenon_status convert(void*, tenon_tensor*, tenon_tensor**, tenon_error**) { return TENON_OK; }

}  // namespace

TEST_SUITE("tensor_type") {
  TEST_CASE("the nearest in line says the fallback, a config before the type") {
    TensorType base, derived;
    derived.parent = &base;
    CHECK(derived.fallback() == TENON_FALLBACK_DECLINE);
    base.descriptor.fallback = TENON_FALLBACK_TO_TENSOR;
    CHECK(derived.fallback() == TENON_FALLBACK_TO_TENSOR);
    TypeSettings settings;
    settings.fallback = TENON_FALLBACK_DECLINE;
    base.settings.store(&settings);
    CHECK(derived.fallback() == TENON_FALLBACK_DECLINE);
    derived.descriptor.fallback = TENON_FALLBACK_UNWRAP_REWRAP;
    CHECK(derived.fallback() == TENON_FALLBACK_UNWRAP_REWRAP);
  }

  TEST_CASE("a config chooses the ops that fall back, for descendants too") {
    TensorType base, derived;
    derived.parent = &base;
    CHECK(derived.falls_back_for("add"));
    TypeSettings settings;
    settings.fallback_allow = {"nn.*", "add"};
    settings.fallback_deny = {"nn.relu"};
    base.settings.store(&settings);
    CHECK(derived.falls_back_for("add"));
    CHECK(derived.falls_back_for("nn.linear"));
    CHECK_FALSE(derived.falls_back_for("nn.relu"));
    CHECK_FALSE(derived.falls_back_for("mul"));
  }

  TEST_CASE("conversion and descent go up the line") {
    TensorType base, derived, stranger;
    derived.parent = &base;
    CHECK(derived.converter() == nullptr);
    base.descriptor.to_tensor = convert;
    CHECK(derived.converter() == &base);
    CHECK(derived.is(base));
    CHECK_FALSE(base.is(derived));
    CHECK(derived.distance(base) == 1);
    CHECK(derived.distance(stranger) == -1);
    CHECK(fallback_text(TENON_FALLBACK_TO_TENSOR) == std::string("to_tensor"));
  }
}

// Clipping of gradients.
#include <limits>

#include "../compare.hpp"

using namespace compare;

TEST_SUITE("optim") {
  TEST_CASE("clip_norm_ scales all gradients together, and returns the norm before") {
    const Tensor a = tenon::tensor({3.0, 0.0}), b = tenon::tensor({0.0, 4.0, 0.0});
    CHECK(tenon::optim::clip_norm_({a, b}, 10) == doctest::Approx(5));
    check_values(a, {2}, {3, 0});
    CHECK(tenon::optim::clip_norm_({a, b}, 1) == doctest::Approx(5));
    check_values(a, {2}, {0.6, 0}, 1e-6);
    check_values(b, {3}, {0, 0.8, 0}, 1e-6);
    CHECK(tenon::optim::clip_norm_({a, b}, 10, std::numeric_limits<double>::infinity()) ==
          doctest::Approx(0.8));
    const Tensor turned = tenon::tensor({3.0, 0.0, 0.0, 4.0}).reshape({2, 2}).t();
    tenon::optim::clip_norm_({turned}, 2.5);
    check_values(turned, {2, 2}, {1.5, 0, 0, 2}, 1e-6);
  }

  TEST_CASE("clip_value_ limits each element") {
    const Tensor a = tenon::tensor({3.0, -0.25, -7.0});
    tenon::optim::clip_value_({a}, 0.5);
    check_values(a, {3}, {0.5, -0.25, -0.5});
    CHECK(refusal([&] { tenon::optim::clip_value_({a}, -1); }) ==
          "clip_value_(): maximum must be zero or more, got -1.000000");
  }
}

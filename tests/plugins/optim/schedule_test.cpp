// Learning-rate schedules: their ends, and PyTorch's values between.
#include "../compare.hpp"

using doctest::Approx;
namespace schedule = tenon::schedule;

TEST_SUITE("optim") {
  TEST_CASE("each schedule starts, moves and ends as it says") {
    CHECK(schedule::constant(7) == 1);
    CHECK(schedule::constant(7, 0.25) == 0.25);
    CHECK(schedule::cosine(0, 10) == 1);
    CHECK(schedule::cosine(5, 10) == Approx(0.5));
    CHECK(schedule::cosine(5, 10, 0.2) == Approx(0.6));
    CHECK(schedule::linear(0, 4) == 1);
    CHECK(schedule::linear(3, 4) == Approx(0.25));
    CHECK(schedule::linear(2, 4, 0, 2) == Approx(1));
    CHECK(schedule::step(19, 10, 2, 0.5) == 1);
    CHECK(schedule::step(20, 10, 2, 0.5) == 0.5);
    CHECK(schedule::step(45, 10, 2, 0.5) == 0.25);
    CHECK(schedule::warmup(0, 4) == Approx(0.25));
    CHECK(schedule::warmup(3, 4) == 1);
    CHECK(schedule::warmup(1, 4, 0.5) == Approx(0.75));
    CHECK(schedule::warmup(9, 0) == 1);
    CHECK_THROWS_AS(schedule::cosine(10, 10), tenon::ValueError);
    CHECK_THROWS_AS(schedule::step(1, 10, 0), tenon::ValueError);
  }

  // torch.optim.lr_scheduler.OneCycleLR(max_lr=1, total_steps=10).get_last_lr() after each step.
  TEST_CASE("one_cycle has PyTorch's values") {
    const double expected[] = {0.04,       0.52,       1,          0.95048463,  0.81174565,
                               0.61126202, 0.38874198, 0.18825835, 0.049519368, 4e-06};
    for (int64_t step = 0; step < 10; ++step) {
      CAPTURE(step);
      CHECK(schedule::one_cycle(step, 10) == Approx(expected[step]).epsilon(1e-5));
    }
  }
}

// Learning-rate schedules: the factor of the learning rate at a step of a training.
#include <algorithm>
#include <cmath>
#include <string>

#include <tenon/plugin.hpp>

namespace {

constexpr double pi = 3.14159265358979323846;

void check_step(const char* op, int64_t step, int64_t steps) {
  if (step < 0 || steps < 1 || step >= steps)
    throw tenon::ValueError(std::string(op) + "(): step " + std::to_string(step) +
                            " is not one of " + std::to_string(steps) + " steps");
}
void check(const char* op, bool fine, const char* what) {
  if (!fine) throw tenon::ValueError(std::string(op) + "(): " + what);
}

// How much of the training is done, from 0 at its first step to below 1.
double part(int64_t step, int64_t steps) {
  return static_cast<double>(step) / static_cast<double>(steps);
}
// From 1 down to 0 along half a wave.
double half_wave(double at) { return 0.5 * (1 + std::cos(pi * at)); }

struct Constant {
  static constexpr auto schema = "schedule.constant(int step, *, float factor=1) -> float";
  static constexpr auto samples = R"([{"step": 3, "factor": 0.5}])";
  static constexpr auto doc = "The same factor for every step.";
  static double forward(int64_t, double factor) { return factor; }
};

struct Cosine {
  static constexpr auto schema =
      "schedule.cosine(int step, int steps, *, float minimum=0) -> float";
  static constexpr auto samples = R"([{"step": 3, "steps": 10, "minimum": 0.1}])";
  static constexpr auto doc = "From 1 to minimum along half a cosine wave.";
  static double forward(int64_t step, int64_t steps, double minimum) {
    check_step("cosine", step, steps);
    return minimum + (1 - minimum) * half_wave(part(step, steps));
  }
};

struct Linear {
  static constexpr auto schema =
      "schedule.linear(int step, int steps, *, float start=1, float end=0) -> float";
  static constexpr auto samples = R"([{"step": 3, "steps": 10}])";
  static constexpr auto doc = "From start to end along a line.";
  static double forward(int64_t step, int64_t steps, double start, double end) {
    check_step("linear", step, steps);
    return start + (end - start) * part(step, steps);
  }
};

struct Step {
  static constexpr auto schema =
      "schedule.step(int step, int steps_per_epoch, *, int every, float gamma=0.1) -> float";
  static constexpr auto samples =
      R"([{"step": 30, "steps_per_epoch": 10, "every": 2, "gamma": 0.5}])";
  static constexpr auto doc = "Multiplied by gamma after every so many epochs.";
  static double forward(int64_t step, int64_t steps_per_epoch, int64_t every, double gamma) {
    check("step", step >= 0 && steps_per_epoch >= 1, "step or steps_per_epoch is out of range");
    check("step", every >= 1, "every must be at least 1");
    const int64_t times = step / steps_per_epoch / every;
    return std::pow(gamma, static_cast<double>(times));
  }
};

// PyTorch's OneCycleLR with cosine annealing, as a factor of the highest rate.
struct OneCycle {
  static constexpr auto schema =
      "schedule.one_cycle(int step, int steps, *, float warmup=0.3, float start_divisor=25, float "
      "end_divisor=10000) -> float";
  static constexpr auto samples = R"([{"step": 3, "steps": 10}])";
  static constexpr auto doc =
      "Up from 1 / start_divisor to 1 in the first part of the steps, then down to 1 / "
      "(start_divisor * end_divisor).";
  static double forward(int64_t step, int64_t steps, double warmup, double start_divisor,
                        double end_divisor) {
    check_step("one_cycle", step, steps);
    check("one_cycle", warmup >= 0 && warmup <= 1, "warmup must be from 0 to 1");
    check("one_cycle", start_divisor > 0 && end_divisor > 0, "the divisors must be above 0");
    const double top = warmup * static_cast<double>(steps) - 1;
    const double last = static_cast<double>(steps) - 1;
    const double start = 1 / start_divisor, end = start / end_divisor;
    const auto at = static_cast<double>(step);
    if (at <= top) return 1 + (start - 1) * half_wave(top == 0 ? 1 : at / top);
    return end + (1 - end) * half_wave(last == top ? 1 : (at - top) / (last - top));
  }
};

struct Warmup {
  static constexpr auto schema =
      "schedule.warmup(int step, *, int warmup_steps, float start=0) -> float";
  static constexpr auto samples = R"([{"step": 3, "warmup_steps": 10}])";
  static constexpr auto doc =
      "From start to 1 along a line, in the first steps; 1 from then on. For use beside another "
      "schedule.";
  static double forward(int64_t step, int64_t warmup_steps, double start) {
    check("warmup", warmup_steps >= 0, "warmup_steps must be zero or more");
    if (step >= warmup_steps) return 1;
    return start + (1 - start) * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  }
};

}  // namespace
TENON_OPS(Constant, Cosine, Linear, Step, OneCycle, Warmup)

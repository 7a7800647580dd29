// Rates that the machine reaches in calls that do little else.
#include <algorithm>
#include <chrono>

#include <tenon/grad_mode.hpp>
#include <tenon/op.hpp>
#include <tenon/profile/profile.hpp>

TENON_NAMESPACE_BEGIN

namespace profile {

namespace {

constexpr int kRounds = 5;
constexpr int64_t kSide = 512;                   // rows and columns of the matrices
constexpr int64_t kElements = int64_t{1} << 23;  // copied: 32 MiB

// Least seconds of a few rounds, after one that takes pages and caches.
template <class Run>
double least_seconds(const Run& run) {
  using Clock = std::chrono::steady_clock;
  run();
  double least = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    run();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    least = round == 0 ? seconds : std::min(least, seconds);
  }
  return least;
}

Tensor filled(std::initializer_list<int64_t> shape) {
  Tensor tensor = empty_tensor(shape);
  fill_elements(tensor, 0.5);
  return tensor;
}

}  // namespace

Limits measure_limits() {
  const NoGrad no_grad;
  Limits limits;
  try {
    const Op product("mm");
    const Tensor a = filled({kSide, kSide}), b = filled({kSide, kSide});
    const double seconds = least_seconds([&] { product.call<Tensor>(a, b); });
    limits.multiply_adds = static_cast<double>(kSide * kSide * kSide) / std::max(seconds, 1e-9);
  } catch (const Error&) {  // no plugin has one
  }
  const Tensor from = filled({kElements}), to = filled({kElements});
  const double seconds = least_seconds([&] { copy_elements(to, from); });
  limits.bytes = static_cast<double>(2 * kElements * element_size(f32)) / std::max(seconds, 1e-9);
  return limits;
}

}  // namespace profile

TENON_NAMESPACE_END

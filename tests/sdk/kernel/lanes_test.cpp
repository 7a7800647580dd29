// Sums, products and maxima of rows of any length, in each instruction set.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/kernel/lanes.hpp>

namespace {

using namespace tenon;

template <class T>
struct Results {
  T sum, dot, largest, smallest, strided;
};
template <class T>
struct Gather {
  TENON_INLINE static void run(const T* x, const T* y, int64_t count, Results<T>* to) {
    to->sum = kernel::sum(x, count);
    to->dot = kernel::dot(x, y, count);
    to->largest = kernel::largest_number(x, count);
    to->smallest = kernel::gather_run<kernel::ExtremumLanes<T, false>, 32>(x, count);
    to->strided = kernel::gather_strided<kernel::SumLanes<T>>(x, (count + 2) / 3, 3);
  }
};

template <class T>
void check_rows() {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<T> number(-1, 1);
  for (int64_t count = 0; count < 300; ++count) {
    std::vector<T> x(static_cast<size_t>(count)), y(x);
    long double sum = 0, dot = 0, strided = 0, size = 0;
    T largest = -std::numeric_limits<T>::infinity(), smallest = -largest;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = number(random);
      y[i] = number(random);
      sum += x[i];
      dot += static_cast<long double>(x[i]) * y[i];
      if (i % 3 == 0) strided += x[i];
      size += std::abs(x[i]);
      largest = std::max(largest, x[i]);
      smallest = std::min(smallest, x[i]);
    }
    // An addition in each of at least eight lanes rounds once in eight elements, and once for each
    // lane at the end.
    const long double bound =
        static_cast<long double>(std::numeric_limits<T>::epsilon()) * size * (32 + count / 8.0L);
    Results<T> found{};
    kernel::run<Gather<T>>(x.data(), y.data(), count, &found);
    INFO(count, " elements");
    CHECK(std::abs(found.sum - sum) <= bound);
    CHECK(std::abs(found.dot - dot) <= bound);
    CHECK(std::abs(found.strided - strided) <= bound);
    CHECK(found.largest == largest);
    CHECK(found.smallest == smallest);
    if (count == 0) continue;
    // NaN at any place: passed over as a number, kept as an extremum.
    x[random() % x.size()] = std::numeric_limits<T>::quiet_NaN();
    kernel::run<Gather<T>>(x.data(), y.data(), count, &found);
    CHECK(std::isnan(found.smallest));
    CHECK(!std::isnan(found.largest));
  }
}

}  // namespace

TEST_SUITE("kernel/lanes") {
  TEST_CASE("rows of any length give sums, products and extrema") {
    check_rows<float>();
    check_rows<double>();
  }
}

// Prints the largest error of elementwise ops over many operands. usage: tenon_measure_accuracy
// [--f32 COUNT] [--f64 COUNT] [OP...] | --list; all ops if none is named.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "measure.hpp"

namespace {

void print(const std::string& op, const char* kind, const accuracy::Error& error) {
  std::printf("%-28s %-13s %10.4f", op.c_str(), kind, error.units);
  if (!error.operands.empty()) {
    std::printf("  at");
    for (const double operand : error.operands) std::printf(" %.17g", operand);
    std::printf(": %.17g, exact %.17g", error.found, error.exact);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  int64_t f32_count = 10'000'000, f64_count = 1'000'000;
  std::vector<std::string_view> ops;
  bool list = false;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--f32" && i + 1 < count)
      f32_count = std::atoll(arguments[++i]);
    else if (argument == "--f64" && i + 1 < count)
      f64_count = std::atoll(arguments[++i]);
    else if (argument == "--list")
      list = true;
    else
      ops.push_back(argument);
  }
  try {
    for (const accuracy::Function& function : accuracy::functions()) {
      if (list) {
        std::printf("%s\n", function.op.c_str());
        continue;
      }
      if (!ops.empty() && std::find(ops.begin(), ops.end(), function.op) == ops.end()) continue;
      const accuracy::Errors f32 = measure(function, tenon::f32, f32_count);
      print(function.op, "f32", f32.result);
      print(function.op, "gradient f32", f32.gradient);
      const accuracy::Errors f64 = measure(function, tenon::f64, f64_count);
      print(function.op, "f64", f64.result);
      print(function.op, "gradient f64", f64.gradient);
      std::printf("%-28s operands f32 %lld (by MPFR %lld), f64 %lld (%lld)\n", function.op.c_str(),
                  static_cast<long long>(f32.count), static_cast<long long>(f32.by_mpfr),
                  static_cast<long long>(f64.count), static_cast<long long>(f64.by_mpfr));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tenon_measure_accuracy: %s\n", error.what());
    return 1;
  }
  return 0;
}

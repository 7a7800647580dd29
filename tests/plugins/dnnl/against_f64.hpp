// Calls that oneDNN takes, beside the same calls in f64, which it declines.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <tenon/trace.hpp>

#include "../compare.hpp"
#include "../random_inputs.hpp"

// Sanitizers keep what was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DNNL_TESTS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DNNL_TESTS_SANITIZED 1
#endif
#endif

namespace dnnl_tests {

#if defined(DNNL_TESTS_SANITIZED)
inline constexpr bool kCanMeasureMemory = false;
#else
inline constexpr bool kCanMeasureMemory = true;
#endif

using tenon::Tensor;
using Tensors = std::vector<Tensor>;

// The plugin whose kernel a call of `op` ran, and the reasons for which others declined it; the calls
// that the kernel makes are left out.
inline std::string traced(const std::string& op, const std::function<void()>& call) {
  const int32_t threads = tenon::thread_count();
  tenon::set_thread_count(1);  // a trace is one thread's
  tenon::TraceScope trace;
  call();
  tenon::set_thread_count(threads);
  std::string found;
  for (const std::string& line : trace.lines()) {
    const bool declined = line.find("declined: ") != std::string::npos;
    const size_t depth = line.find_first_not_of(' ');
    if (depth <= 2 && (declined || line.find("kernel " + op + " ") != std::string::npos))
      found += line.substr(depth) + "\n";
  }
  return found;
}
inline bool runs_in(const std::string& plugin, const std::string& op,
                    const std::function<void()>& call) {
  return traced(op, call).find("kernel " + op + " (plugin " + plugin + ")") != std::string::npos;
}

// A result of `terms` rounded products each: |found - expected| <= terms * u * (the sum of the
// products' magnitudes), what summing in any order guarantees. `magnitude` has those sums.
inline void check_sums(const Tensor& found, const Tensor& expected, const Tensor& magnitude,
                       int64_t terms) {
  REQUIRE(found.sizes() == expected.sizes());
  CHECK(found.dtype() == tenon::f32);
  const auto values = found.to_vector<double>(), exact = expected.to_vector<double>(),
             sums = magnitude.to_vector<double>();
  const double unit = static_cast<double>(terms + 2) * 0x1p-24;
  size_t wrong = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(std::abs(values[i] - exact[i]) <= unit * sums[i] + 1e-30)) ++wrong;
  }
  CHECK(wrong == 0);
}

// Each result within `tolerance` times its largest element of what f64 gives.
inline void check_relative(const Tensors& found, const Tensors& exact, double tolerance) {
  REQUIRE(found.size() == exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    CAPTURE(i);
    const double scale = exact[i].abs().amax().item<double>();
    CHECK((found[i].to(tenon::f64) - exact[i]).abs().amax().item<double>() <= tolerance * scale);
  }
}

// The tangent of a call whose inputs change as `tangents` say.
inline Tensor tangent(const std::function<Tensor(const Tensors&)>& call, const Tensors& inputs,
                      const Tensors& tangents) {
  const tenon::DualLevel level;
  Tensors duals;
  for (size_t i = 0; i < inputs.size(); ++i)
    duals.push_back(tenon::make_dual(inputs[i].detach(), tangents[i].detach()));
  return tenon::unpack_dual(call(duals)).tangent;
}

inline std::string bits(const Tensor& tensor) {
  const Tensor whole = tensor.detach().contiguous();
  return {static_cast<const char*>(whole.view_record().data),
          static_cast<size_t>(whole.numel() * tenon::element_size(whole.dtype()))};
}

}  // namespace dnnl_tests

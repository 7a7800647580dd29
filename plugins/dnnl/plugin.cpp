// The dnnl plugin: convolutions, products, recurrent layers and pools on oneDNN, which no other plugin
// uses.
#include <cstdlib>

#include <tenon/plugin.hpp>
#include <tenon/json.hpp>
#include <tenon/kernel/isa.hpp>

#include "packed_weights.hpp"

namespace {

// TENON_ISA limits oneDNN as well, unless its own variable says otherwise. Before any other call of oneDNN.
void limit_instructions() {
  if (secure_getenv("TENON_ISA") == nullptr || secure_getenv("ONEDNN_MAX_CPU_ISA") != nullptr ||
      secure_getenv("DNNL_MAX_CPU_ISA") != nullptr)
    return;
  const uint32_t isa = tenon::kernel::machine_isa();
  if (isa == TENON_ISA_V3) dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
  if (isa == TENON_ISA_BASELINE) dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
}

// {"packed_weights": 104857600}: bytes of packed weights that are kept.
tenon_status init(const tenon_json* given, tenon_error** error) {
#if defined(__aarch64__)
  // On this processor oneDNN writes a file for perf into /tmp in each process, unless it is given flags.
  if (secure_getenv("ONEDNN_JIT_PROFILE") == nullptr &&
      secure_getenv("DNNL_JIT_PROFILE") == nullptr)
    dnnl_set_jit_profiling_flags(DNNL_JIT_PROFILE_NONE);
#endif
  return tenon::detail::guarded(error, [&] {
    limit_instructions();
    if (given == nullptr) return;
    const tenon::Json options = tenon::Json::borrow(given);
    for (int64_t i = 0; i < options.size(); ++i) {
      if (options.key(i) == "packed_weights") continue;
      throw tenon::ValueError("dnnl has no option '" + options.key(i) +
                              "', only packed_weights, a number of bytes");
    }
    const int64_t bytes = options["packed_weights"].integer(onednn::kKeptBytes);
    if (bytes < 0) {
      throw tenon::ValueError("packed_weights must be 0 or more bytes, got " +
                              std::to_string(bytes));
    }
    onednn::set_kept_bytes(bytes);
  });
}

}  // namespace

TENON_PLUGIN(dnnl, "1.0.0", init)

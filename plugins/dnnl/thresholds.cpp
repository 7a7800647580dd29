// Thresholds below which nn and blas are faster than oneDNN.
#include "thresholds.hpp"

#include <algorithm>

#include <oneapi/dnnl/dnnl.hpp>

namespace onednn {

bool has_wide_registers() {
  static const bool wide = [] {
    constexpr auto avx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & avx512) == avx512;
  }();
  return wide;
}

const char* declined_convolution(const nn::Convolution& k, Task task) {
  const int64_t products = k.multiply_adds();
  if (products == 0) return "nothing to compute";
  if (products < kLeastConvolution) return "fewer than 131,072 multiplications";
  const int64_t channels = k.group_channels(), features = k.group_features();
  const int64_t* kernel = k.patches.kernel;
  if (kernel[0] * kernel[1] * kernel[2] == 1) return "a kernel of one element";
  if (k.batch * k.positions() < kLeastPositions) return "fewer than 32 positions";
  // There are kernels for one channel in each group.
  if (k.groups > 1 && channels == 1 && features == 1) return nullptr;
  if (k.groups == 1 && channels == 1) return "one input channel";
  if (k.groups == 1 && task == Task::output) {
    if (channels < kLeastChannelsForward) return "fewer than 3 channels";
  } else if (channels < kLeastInGroup) {
    return "fewer than 8 channels in a group";
  }
  if (features < kLeastInGroup && task != Task::input) return "fewer than 8 features in a group";
  if (task == Task::weight && channels >= kMostChannelsNarrow && !has_wide_registers())
    return "the gradient of weights of many channels without AVX-512";
  return nullptr;
}

const char* declined_product(const tenon::kernel::Matrices& a, const tenon::kernel::Matrices& b,
                             int64_t batch) {
  const double each =
      static_cast<double>(a.rows) * static_cast<double>(a.columns) * static_cast<double>(b.columns);
  if (each * static_cast<double>(batch) == 0) return "nothing to compute";
  if (each < kLeastProduct) return "fewer than 524,288 multiplications";
  if (!a.has_gemm_layout() || !b.has_gemm_layout()) return "strides that gemm cannot read";
  if (has_wide_registers()) return nullptr;
  if (each < kLeastProductNarrow) return "fewer than 1,048,576 multiplications without AVX-512";
  if (each > kMostProductNarrow) return "a large product without AVX-512";
  for (const auto* matrix : {&a, &b}) {
    if (tenon::kernel::GemmLayout(*matrix).leading % kSlowLeadingNarrow == 0)
      return "rows a multiple of 2 KiB apart without AVX-512";
  }
  return nullptr;
}

const char* declined_linear(int64_t elements, int64_t inputs, int64_t outputs, bool trained) {
  const double products = static_cast<double>(elements) * static_cast<double>(outputs);
  if (products == 0) return "nothing to compute";
  if (!has_wide_registers()) return "weights to pack without AVX-512";
  const int64_t rows = elements / inputs;
  if (products < kLeastLinear) return "fewer than 262,144 multiplications";
  if (rows < kLeastRows) return "fewer than 4 rows";
  if (rows > kMostRows && outputs > kMostWeights / inputs)
    return "more than 128 rows, by more than 262,144 weights";
  if (rows < kLeastRowsPacked && trained) return "fewer than 512 rows, by weights that are trained";
  return nullptr;
}
int64_t linear_pieces(int64_t rows, int64_t inputs, int64_t outputs) {
  const double products = static_cast<double>(rows) * static_cast<double>(inputs * outputs);
  const auto worthwhile = static_cast<int64_t>(products / kPieceProducts);
  return std::max<int64_t>(1, std::min((rows - 1) / kRowsAtOnce + 1, worthwhile));
}

const char* declined_recurrence(const nn::Recurrence& r) {
  const int64_t products = r.multiply_adds();
  if (products == 0) return "nothing to compute";
  if (products < kLeastRecurrence) return "fewer than 131,072 multiplications";
  // nn's product of one row reads the weights as they are.
  if (r.batch() == 1) return "one sample";
  if (r.width() < kLeastWidth && r.width() % kWholeWidth != 0)
    return "fewer than 64 hidden features, and not a multiple of 16";
  return nullptr;
}

const char* declined_average(const nn::AveragePool& pool, tenon::IntList input_size) {
  const nn::Windows& w = pool.windows;
  const int64_t planes = nn::Planes(input_size, w.dimensions).planes;
  if (planes == 0) return "nothing to compute";
  if (!has_wide_registers()) return "planes without AVX-512";
  if (w.dimensions == 1) return "one dimension";
  if (planes < kPlanesAtOnce) return "fewer than 16 planes";
  if (w.work() < (kLeastTaps + planes - 1) / planes) return "windows of fewer than 8,192 elements";
  if (pool.divisor) return "divisor_override is given";
  for (int d = 0; d < 3; ++d) {
    const int64_t beyond = (w.out[d] - 1) * w.stride[d] + w.kernel[d] - w.in[d] - w.padding[d];
    if (pool.count_include_pad && beyond > w.padding[d])
      return "a window beyond the padding, which oneDNN counts";
  }
  return nullptr;
}

}  // namespace onednn

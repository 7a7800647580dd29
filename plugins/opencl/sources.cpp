// The source of the kernels, in OpenCL C 1.2. Loops go over their elements in steps of all work items, so that
// one group size serves every count.
#include "opencl/elementwise.hpp"
#include "opencl/runtime.hpp"

namespace tenon_opencl {

namespace {

constexpr const char* kLoop = "for (ulong i = get_global_id(0); i < n; i += get_global_size(0))";

void add_unary(std::string& source, const char* kernel, const char* expression) {
  source += std::string("__kernel void unary_") + kernel +
            "(__global const float* a, __global float* r, ulong n) {\n  " + kLoop +
            " { const float x = a[i]; r[i] = " + expression + "; }\n}\n";
}

// Operands of n elements, or of fewer that repeat: a row, or one number.
void add_binary(std::string& source, const char* kernel, const char* expression) {
  const std::string name = kernel;
  const auto add = [&](const char* suffix, const char* parameters, const char* x, const char* y) {
    source += "__kernel void binary_" + name + suffix + "(" + parameters +
              ", __global float* r, ulong n, float alpha) {\n  " + kLoop +
              " { const float x = " + x + ", y = " + y + "; r[i] = " + expression + "; }\n}\n";
  };
  add("", "__global const float* a, __global const float* b", "a[i]", "b[i]");
  add("_number", "__global const float* a, float b", "a[i]", "b");
  add("_of_number", "float a, __global const float* b", "a", "b[i]");
  add("_repeated", "__global const float* a, __global const float* b, ulong na, ulong nb",
      "a[i % na]", "b[i % nb]");
}

constexpr const char* kOthers = R"(
__kernel void fill(__global float* r, ulong n, float value) {
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) r[i] = value;
}

__kernel void relu_gradient(__global const float* g, __global const float* y, __global float* r, ulong n) {
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) r[i] = y[i] > 0.0f ? g[i] : 0.0f;
}

__kernel void sgd(__global float* p, __global const float* g, ulong n, float rate, float decay) {
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) p[i] -= rate * (g[i] + decay * p[i]);
}

// r[m, n] = a[m, k] b[k, n] + bias[n], by strides; tiles of 16 x 16 in local memory.
__kernel void product(__global const float* a, ulong a_row, ulong a_column, __global const float* b, ulong b_row,
                      ulong b_column, __global const float* bias, int has_bias, __global float* r, ulong m,
                      ulong n, ulong k) {
  __local float left[16][17], right[16][17];
  const size_t x = get_local_id(0), y = get_local_id(1);
  const ulong column = get_global_id(0), row = get_global_id(1);
  float sum = 0.0f;
  for (ulong at = 0; at < k; at += 16) {
    left[y][x] = row < m && at + x < k ? a[row * a_row + (at + x) * a_column] : 0.0f;
    right[y][x] = column < n && at + y < k ? b[(at + y) * b_row + column * b_column] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < m && column < n) r[row * n + column] = has_bias ? sum + bias[column] : sum;
}

// One work item for each sum of `length` elements, which are `step` apart, those of the next one `next_step` on;
// compensated.
__kernel void sum(__global const float* a, __global float* r, ulong count, ulong length, ulong next_step, ulong step,
                  float factor) {
  for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
    float total = 0.0f, lost = 0.0f;
    for (ulong k = 0; k < length; ++k) {
      const float next = a[i * next_step + k * step] - lost, more = total + next;
      lost = isinf(more) ? 0.0f : (more - total) - next;
      total = more;
    }
    r[i] = total * factor;
  }
}

__kernel void softmax_rows(__global const float* a, __global float* r, ulong rows, ulong length, int as_log) {
  for (ulong i = get_global_id(0); i < rows; i += get_global_size(0)) {
    __global const float* x = a + i * length;
    __global float* y = r + i * length;
    float most = -INFINITY;
    for (ulong k = 0; k < length; ++k) most = isnan(x[k]) || isnan(most) ? NAN : fmax(most, x[k]);
    float sum = 0.0f;
    for (ulong k = 0; k < length; ++k) sum += exp(x[k] - most);
    const float log_sum = log(sum);
    for (ulong k = 0; k < length; ++k) y[k] = as_log ? (x[k] - most) - log_sum : exp(x[k] - most) / sum;
  }
}
)";

std::string make_source() {
  std::string source;
#define OPENCL_SOURCE(kernel, op, expression) add_unary(source, #kernel, expression);
  OPENCL_UNARY_OPS(OPENCL_SOURCE)
#undef OPENCL_SOURCE
#define OPENCL_SOURCE(kernel, op, expression) add_binary(source, #kernel, expression);
  OPENCL_BINARY_OPS(OPENCL_SOURCE)
#undef OPENCL_SOURCE
  add_binary(source, "add", "x + alpha * y");
  add_binary(source, "sub", "x - alpha * y");
  return source + kOthers;
}

}  // namespace

const std::string& kernel_source() {
  static const auto* const source = new std::string(make_source());
  return *source;
}

}  // namespace tenon_opencl

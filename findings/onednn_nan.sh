#!/usr/bin/env bash
# oneDNN 2.6.3 (Debian 12): NaN becomes a number, and -inf another one, in pools of maxima and in exp.
#
# Expected: the maximum of a window of -inf is -inf, and NaN is kept, or at least treated alike by all primitives.
# Seen: max pooling drops NaN, and gives -3.40282e+38 for a window of -inf alone and for one of NaN alone;
# exp(NaN) is inf, relu(NaN) 0, clip(NaN, -1, 1) -1, while tanh and elu keep NaN; gelu(-inf) is NaN.
# Hit: models that mask by -inf before a pool, and checks that look for NaN in outputs to notice a training that
# went wrong. Remedy here: the plugin on oneDNN has no pools of maxima and no activations.
set -euo pipefail
version=2.6.3-1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq 2>/dev/null "libdnnl2=$version" "libdnnl-dev=$version"
for package in *.deb; do dpkg-deb -x "$package" root; done
libraries=$PWD/root/usr/lib/x86_64-linux-gnu
cat >nan.cpp <<'SOURCE'
#include <cmath>
#include <cstdio>
#include <vector>

#include <dnnl.hpp>

using namespace dnnl;

namespace {

const engine cpu(engine::kind::cpu, 0);
const auto f32 = memory::data_type::f32;

// The maximum of one window that holds all of `elements`.
float pooled(std::vector<float> elements) {
  stream run(cpu);
  const auto width = static_cast<memory::dim>(elements.size());
  const memory::desc from({1, 1, 1, width}, f32, memory::format_tag::nchw);
  const memory::desc to({1, 1, 1, 1}, f32, memory::format_tag::nchw);
  const pooling_forward::desc pool(prop_kind::forward_inference, algorithm::pooling_max, from, to,
                                   {1, width}, {1, width}, {0, 0}, {0, 0});
  float result = 0;
  memory source(from, cpu, elements.data()), target(to, cpu, &result);
  pooling_forward(pooling_forward::primitive_desc(pool, cpu))
      .execute(run, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, target}});
  run.wait();
  return result;
}

float of(algorithm function, float x, float alpha = 0, float beta = 0) {
  stream run(cpu);
  std::vector<float> input(16, x), output(16);
  const memory::desc form({16}, f32, memory::format_tag::a);
  const eltwise_forward::desc each(prop_kind::forward_inference, function, form, alpha, beta);
  memory source(form, cpu, input.data()), target(form, cpu, output.data());
  eltwise_forward(eltwise_forward::primitive_desc(each, cpu))
      .execute(run, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, target}});
  run.wait();
  return output[0];
}

const char* text(float x) {
  static char digits[32];
  std::snprintf(digits, sizeof digits, "%g", static_cast<double>(x));
  return std::isnan(x) ? "nan" : digits;  // a NaN has either sign
}

}  // namespace

int main() {
  const dnnl_version_t* version = dnnl_version();
  std::printf("oneDNN %d.%d.%d\n", version->major, version->minor, version->patch);
  std::printf("max(1, nan) %s\n", text(pooled({1, NAN})));
  std::printf("max(nan, nan) %s\n", text(pooled({NAN, NAN})));
  std::printf("max(-inf, -inf) %s\n", text(pooled({-INFINITY, -INFINITY})));
  std::printf("exp(nan) %s\n", text(of(algorithm::eltwise_exp, NAN)));
  std::printf("relu(nan) %s\n", text(of(algorithm::eltwise_relu, NAN)));
  std::printf("clip(nan) %s\n", text(of(algorithm::eltwise_clip, NAN, -1, 1)));
  std::printf("tanh(nan) %s\n", text(of(algorithm::eltwise_tanh, NAN)));
  std::printf("elu(nan) %s\n", text(of(algorithm::eltwise_elu, NAN, 1)));
  std::printf("gelu(-inf) %s\n", text(of(algorithm::eltwise_gelu_erf, -INFINITY)));
}
SOURCE
g++ -O1 -std=c++17 -Iroot/usr/include -Iroot/usr/include/x86_64-linux-gnu nan.cpp -o nan \
  -L"$libraries" -l:libdnnl.so.2 -Wl,-rpath-link,"$libraries"
# The same kernels on every machine that has them.
export ONEDNN_MAX_CPU_ISA=AVX2 OMP_NUM_THREADS=1
LD_LIBRARY_PATH=$libraries ./nan | tee seen
cat >expected <<'EXPECTED'
oneDNN 2.6.3
max(1, nan) 1
max(nan, nan) -3.40282e+38
max(-inf, -inf) -3.40282e+38
exp(nan) inf
relu(nan) 0
clip(nan) -1
tanh(nan) nan
elu(nan) nan
gelu(-inf) nan
EXPECTED
diff expected seen

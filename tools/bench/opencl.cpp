// Devices of OpenCL beside direct calls of their driver, for the same device: one kernel, a queue of empty
// ones, CLBlast's product. Rows are skipped with a message where no driver has a device.
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CL/cl.h>
#ifdef BENCH_CLBLAST
#include <clblast_c.h>
#endif

#include <tenon/device.hpp>

#include "bench.hpp"
#include "child.hpp"

namespace {

using bench::keep;
using bench::numbers;
using bench::State;
using tenon::NoGrad;
using tenon::Op;
using tenon::Tensor;
namespace device = tenon::device;

// Runs the body on the first device; without one the row is skipped.
template <class Body>
void on_device(State& state, const Body& body) {
  try {
    const NoGrad no_grad;
    body(device::Device("opencl"));
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}

void check(cl_int status) {
  if (status != CL_SUCCESS)
    throw std::runtime_error("OpenCL fails with code " + std::to_string(status));
}

// The first device, used directly.
struct ByHand {
  cl_device_id id = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;

  ByHand() {
    cl_platform_id platform = nullptr;
    check(clGetPlatformIDs(1, &platform, nullptr));
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, nullptr));
    cl_int status = CL_SUCCESS;
    context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &status);
    check(status);
    queue = clCreateCommandQueueWithProperties(context, id, nullptr, &status);
    check(status);
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;
  ~ByHand() {
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
  }
  cl_kernel kernel(const char* source, const char* name) const {
    cl_int status = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &status);
    check(status);
    check(clBuildProgram(program, 1, &id, nullptr, nullptr, nullptr));
    cl_kernel made = clCreateKernel(program, name, &status);
    check(status);
    clReleaseProgram(program);
    return made;
  }
  cl_mem memory(const Tensor& elements) const {
    cl_int status = CL_SUCCESS;
    const auto bytes = static_cast<size_t>(elements.numel()) * sizeof(float);
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &status);
    check(status);
    check(clEnqueueWriteBuffer(queue, made, CL_TRUE, 0, bytes, elements.data<const float>(), 0,
                               nullptr, nullptr));
    return made;
  }
  void run(cl_kernel kernel, size_t items, size_t group) const {
    check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr));
  }
};

// A row by hand; without a device it is skipped.
template <class Body>
void by_hand(State& state, const Body& body) {
  try {
    body(ByHand());
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}

// ---- exp(x) * 2 + 1 of 16 M elements ----

constexpr int64_t kElements = int64_t{1} << 24;

void opencl_exp_chain(State& state) {
  on_device(state, [&](const device::Device& there) {
    const Tensor x = device::to(numbers({kElements}), there);
    const auto run = [&] {
      const Tensor y = tenon::exp(x) * 2 + 1;
      device::synchronize(there);  // before it is freed: nothing writes a result that is gone
      keep(y);
    };
    for (int i = 0; i < 40; ++i) run();  // until the chain is compiled
    for (auto _ : state) run();
  });
}
void opencl_exp_chain_by_hand(State& state) {
  by_hand(state, [&](const ByHand& there) {
    cl_kernel kernel = there.kernel(
        "__kernel void f(__global const float* a, __global float* r) {"
        "  const size_t i = get_global_id(0); r[i] = exp(a[i]) * 2 + 1; }",
        "f");
    cl_mem x = there.memory(numbers({kElements})), y = there.memory(numbers({kElements}));
    check(clSetKernelArg(kernel, 0, sizeof(void*), &x));
    check(clSetKernelArg(kernel, 1, sizeof(void*), &y));
    const auto run = [&] {
      there.run(kernel, kElements, 256);
      check(clFinish(there.queue));
    };
    for (int i = 0; i < 5; ++i) run();
    for (auto _ : state) run();
    clReleaseMemObject(x);
    clReleaseMemObject(y);
    clReleaseKernel(kernel);
  });
}
BENCHMARK(opencl_exp_chain)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(opencl_exp_chain_by_hand)->UseRealTime()->Unit(benchmark::kMillisecond);

// ---- 1,000 small ops ----

// `next` makes the operand of the next call. Calls that follow each other are one pass of 16 once they have been
// seen often enough; those of an op that is queued alone never are.
template <class Next>
void small_ops(State& state, int before, const Next& next) {
  on_device(state, [&](const device::Device& there) {
    const Tensor x = device::to(numbers({64}), there), y = device::to(numbers({64}), there);
    const auto run = [&] {
      Tensor z = x;
      for (int i = 0; i < 1000; ++i) z = next(z, y, i);
      device::synchronize(there);
      keep(z);
    };
    for (int i = 0; i < before; ++i) run();
    for (auto _ : state) run();
  });
}
void opencl_small_ops(State& state) {
  small_ops(state, 100,
            [](const Tensor& z, const Tensor& y, int i) { return i % 2 == 0 ? z + y : z - y; });
}
void opencl_small_ops_each(State& state) {
  small_ops(state, 5, [](const Tensor& z, const Tensor&, int) { return tenon::clamp(z, -1, 1); });
}
void opencl_empty_kernels(State& state) {
  by_hand(state, [&](const ByHand& there) {
    cl_kernel kernel = there.kernel("__kernel void f() {}", "f");
    const auto run = [&] {
      for (int i = 0; i < 1000; ++i) there.run(kernel, 64, 64);
      check(clFinish(there.queue));
    };
    for (int i = 0; i < 5; ++i) run();
    for (auto _ : state) run();
    clReleaseKernel(kernel);
  });
}
BENCHMARK(opencl_small_ops)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(opencl_small_ops_each)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(opencl_empty_kernels)->UseRealTime()->Unit(benchmark::kMicrosecond);

// ---- a product of 1,024 x 1,024 ----

void opencl_mm(State& state) {
  on_device(state, [&](const device::Device& there) {
    const Tensor a = device::to(numbers({1024, 1024}), there),
                 b = device::to(numbers({1024, 1024}), there);
    const auto run = [&] {
      keep(tenon::mm(a, b));
      device::synchronize(there);
    };
    for (int i = 0; i < 3; ++i) run();
    for (auto _ : state) run();
  });
}
BENCHMARK(opencl_mm)->UseRealTime()->Unit(benchmark::kMillisecond);

#ifdef BENCH_CLBLAST
void opencl_mm_clblast(State& state) {
  by_hand(state, [&](ByHand&& there) {
    cl_mem a = there.memory(numbers({1024, 1024})), b = there.memory(numbers({1024, 1024})),
           c = there.memory(numbers({1024, 1024}));
    const auto run = [&] {
      const CLBlastStatusCode status =
          CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, 1024, 1024,
                       1024, 1, a, 0, 1024, b, 0, 1024, 0, c, 0, 1024, &there.queue, nullptr);
      if (status != CLBlastSuccess)
        throw std::runtime_error("CLBlast fails with code " + std::to_string(status));
      check(clFinish(there.queue));
    };
    for (int i = 0; i < 3; ++i) run();
    for (auto _ : state) run();
    for (cl_mem memory : {a, b, c}) clReleaseMemObject(memory);
  });
}
BENCHMARK(opencl_mm_clblast)->UseRealTime()->Unit(benchmark::kMillisecond);
#endif

// ---- a process ----

// From its start to its end: it adds two tensors there, whose kernels were compiled before.
void opencl_start(State& state) {
  on_device(state, [&](const device::Device&) {
    bench::run_child({BENCH_START, "device", "opencl"});
    for (auto _ : state)
      state.SetIterationTime(bench::run_child({BENCH_START, "device", "opencl"}).seconds);
  });
}
void opencl_start_without(State& state) {
  for (auto _ : state)
    state.SetIterationTime(bench::run_child({BENCH_START, "device", "cpu"}).seconds);
}
BENCHMARK(opencl_start)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(opencl_start_without)->UseManualTime()->Unit(benchmark::kMillisecond);

// ---- a step of the digits' MLP: 64 samples, 64 to 64 to 10, Adam ----

struct Mlp {
  std::vector<Tensor> parameters, first, second;
  int64_t steps = 0;

  explicit Mlp(const device::Device& there) {
    for (const Tensor& start :
         {numbers({64, 64}), numbers({64}), numbers({10, 64}), numbers({10})}) {
      parameters.push_back(device::to(start * 0.1, there).requires_grad_());
      first.push_back(device::to(tenon::zeros_like(start), there));
      second.push_back(device::to(tenon::zeros_like(start), there));
    }
  }
  void step(const Tensor& inputs, const Tensor& labels) {
    static const Op linear("nn.functional.linear"), cross_entropy("nn.functional.cross_entropy"),
        adam("optim.adam_steps_");
    const Tensor hidden = tenon::relu(linear.call<Tensor>(inputs, parameters[0], parameters[1]));
    const auto scores = linear.call<Tensor>(hidden, parameters[2], parameters[3]);
    cross_entropy.call<Tensor>(scores, labels).backward();
    const NoGrad no_grad;
    std::vector<Tensor> gradients;
    gradients.reserve(parameters.size());
    for (const Tensor& parameter : parameters) gradients.push_back(parameter.grad());
    adam.call<void>(parameters, gradients, first, second, tenon::arg("step") = ++steps,
                    tenon::arg("learning_rate") = 0.001);
    for (Tensor& parameter : parameters) parameter.set_grad({});
  }
};

void mlp_step(State& state, const char* name) {
  try {
    const device::Device there(name);
    Mlp model(there);
    const Tensor inputs = device::to(numbers({64, 64}), there);
    std::vector<int64_t> classes(64);
    for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<int64_t>(i) % 10;
    const Tensor labels = device::to(tenon::from_range(classes.begin(), classes.end()), there);
    for (int i = 0; i < 20; ++i) model.step(inputs, labels);
    device::synchronize(there);
    for (auto _ : state) {
      for (int i = 0; i < 20; ++i) model.step(inputs, labels);
      device::synchronize(there);
    }
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}
void opencl_mlp_20_steps(State& state) { mlp_step(state, "opencl"); }
// By two threads, as a driver of two cores has them.
void opencl_mlp_20_steps_cpu(State& state) {
  const int32_t threads = tenon::thread_count();
  tenon::set_thread_count(2);
  mlp_step(state, "cpu");
  tenon::set_thread_count(threads);
}
BENCHMARK(opencl_mlp_20_steps)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(opencl_mlp_20_steps_cpu)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace

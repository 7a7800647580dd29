// One of the small calls, a number of times, for call_instructions.
// usage: small_calls NAME COUNT; without arguments the names are printed.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <tenon/tenon.hpp>

namespace {

using tenon::Op;
using tenon::Tensor;

Tensor one(bool requires_grad = false) {
  Tensor tensor = tenon::full({1}, 0.5);
  if (requires_grad) tensor.requires_grad_();
  return tensor;
}

void no_op(int64_t count) {
  const Op op("bench.first");
  const Tensor a = one(), b = one();
  for (int64_t i = 0; i < count; ++i) op.call<Tensor>(a, b);
}
void plain_add(int64_t count) {
  const Tensor a = one(), b = one();
  for (int64_t i = 0; i < count; ++i) tenon::add(a, b);
}
void add_number(int64_t count) {
  const Tensor a = one();
  for (int64_t i = 0; i < count; ++i) tenon::add(a, 2.0);
}
void recorded_add(int64_t count) {
  const Tensor a = one(true), b = one(true);
  for (int64_t i = 0; i < count; ++i) tenon::add(a, b);
}
void sum(int64_t count) {
  const Tensor a = one();
  for (int64_t i = 0; i < count; ++i) tenon::sum(a);
}
void transpose(int64_t count) {
  const Tensor a = tenon::full({2, 3}, 0.5);
  for (int64_t i = 0; i < count; ++i) tenon::transpose(a, 0, 1);
}
void function_forward(int64_t count) {
  const Op op("bench.mul_constant");
  const Tensor x = one(true);
  for (int64_t i = 0; i < count; ++i) op.call<Tensor>(x, 5.0);
}
void function_forward_backward(int64_t count) {
  const Op op("bench.mul_constant");
  const Tensor seed = one();
  Tensor x = one(true);
  for (int64_t i = 0; i < count; ++i) {
    op.call<Tensor>(x, 5.0).backward(seed);
    x.set_grad({});
  }
}

struct Named {
  const char* name;
  void (*run)(int64_t count);
};
constexpr Named kCalls[] = {
    {"no_op", no_op},
    {"plain_add", plain_add},
    {"add_number", add_number},
    {"recorded_add", recorded_add},
    {"sum", sum},
    {"transpose", transpose},
    {"function_forward", function_forward},
    {"function_forward_backward", function_forward_backward},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) {
    for (const Named& call : kCalls) std::puts(call.name);
    return 0;
  }
  for (const Named& call : kCalls) {
    if (argc != 3 || std::strcmp(argv[1], call.name) != 0) continue;
    call.run(std::strtoll(argv[2], nullptr, 10));
    return 0;
  }
  std::fputs("usage: small_calls [NAME COUNT]\n", stderr);
  return 2;
}

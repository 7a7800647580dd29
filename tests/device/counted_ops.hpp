// How many of the shipped ops with samples run kernels of a device.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/tenon.hpp>

#include "tests/support/sample_calls.hpp"

namespace counted_ops {

using namespace sample_calls;

inline const std::set<std::string> plugins{"math", "blas", "nn", "fft", "optim"};

inline std::vector<Tensor> copies(const std::vector<Tensor>& operands, const std::string& where) {
  const device::Device place(where);
  std::vector<Tensor> list;
  for (const Tensor& operand : operands)
    list.push_back(place.is_cpu() ? operand.clone() : device::to(operand, place));
  return list;
}

// How many ops run kernels of the device, whose number so far `kernels` returns.
inline size_t count_ops(const std::string& where, const std::function<int64_t()>& kernels) {
  std::set<std::string> ops;
  for_each_op(plugins, 2, [&](const std::string& op, const std::vector<Case>& cases) {
    for (const Case& one : cases) {
      const int64_t before = kernels();
      try {
        const std::vector<Tensor> operands = copies(operands_of(one), where);
        called(one, operands);
        device::synchronize(device::Device(where));
      } catch (const std::exception&) {
        continue;  // `check` has what a device refuses
      }
      if (kernels() > before) ops.insert(op);
    }
  });
  MESSAGE(ops.size(), " ops on ", where);
  return ops.size();
}

}  // namespace counted_ops

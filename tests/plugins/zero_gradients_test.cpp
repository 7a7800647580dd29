// Ops that declare zero_gradient, called as their samples write them: their results carry no history and no
// tangent, whatever ops their kernels call.
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <tenon/listing/listing.hpp>

#include "tests/support/sample_calls.hpp"

namespace {

using namespace tenon;

std::set<std::string> constant_ops(const std::set<std::string>& plugins) {
  std::set<std::string> names;
  for (const std::string& plugin : plugins) {
    const Json ops = listing::declarations(plugin)["ops"];
    for (int64_t i = 0; i < ops.size(); ++i)
      if (ops[i]["zero_gradient"].as_bool()) names.insert(ops[i]["name"].text());
  }
  return names;
}

}  // namespace

TEST_SUITE("plugins/zero_gradients") {
  TEST_CASE("results without gradient have no tangents and no history") {
    const std::set<std::string> plugins{"math", "blas", "nn", "data", "metric"};
    const std::set<std::string> constant = constant_ops(plugins);
    CHECK(constant.count("dynamic_quantize") == 1);
    int floating = 0;
    const auto compare = [&](const std::string& name, std::vector<sample_calls::Case>& cases) {
      if (constant.count(name) == 0) return;
      for (const sample_calls::Case& one : cases) {
        CAPTURE(name);
        const DualLevel outer, level;
        std::vector<Tensor> operands = sample_calls::operands_of(one);
        bool given = false;
        for (Tensor& operand : operands) {
          if (!operand.defined() || !(is_floating(operand.dtype()) || is_complex(operand.dtype())))
            continue;
          operand = make_dual(operand.clone().requires_grad_(), ones_like(operand));
          given = true;
        }
        if (!given || name.back() == '_') continue;
        for (const Tensor& result : sample_calls::called(one, operands)) {
          if (!result.defined()) continue;
          CHECK_FALSE(result.requires_grad());
          CHECK_FALSE(unpack_dual(result).tangent.defined());
          floating += is_floating(result.dtype()) ? 1 : 0;
        }
      }
    };
    sample_calls::for_each_op(plugins, 4, compare);
    CHECK(floating > 3);
  }
}

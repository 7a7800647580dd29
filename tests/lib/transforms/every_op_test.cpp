// Every shipped op with samples under vmap, against a loop over samples: each choice of batched operands,
// batch dimensions in front and at the end, sizes of none, one and several, nested, and with gradients, second
// gradients and tangents, of shared operands, too.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include <tenon/transforms/jacobian.hpp>

#include "tests/lib/transforms/support.hpp"
#include "tests/support/sample_calls.hpp"

using namespace batching;
using namespace sample_calls;

namespace {

// A batch of tensors like one: copies whose order of elements differs.
Tensor batch_like(const Tensor& one, int64_t size) {
  if (size == 0) return narrow(unsqueeze(one, 0), 0, 0, 0).clone();
  std::vector<Tensor> samples;
  for (int64_t i = 0; i < size; ++i)
    samples.push_back(one.dim() == 0 ? one.clone() : roll(one, {i}, {0}));
  return stack(samples, 0);
}

// Refusals that do not depend on the rule: of draws, of shapes that depend on elements, and of tensors
// that are changed and not batched.
std::set<std::string> refused;
// Ops that ran once for each sample with some choice of operands.
std::set<std::string> looped;
bool is_refusal(const std::string& text) {
  for (const char* part : {"draws random numbers", "differs between samples",
                           "a batch of no samples", "the length of the result",
                           "the lengths of the parts", "is changed in place and is not batched"}) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

std::vector<std::string> problems;
void report(const Case& one, const std::string& what) {
  const std::string line = one.op + ": " + what;
  if (problems.size() < 400) problems.push_back(line);
}

// One choice of batched operands.
void compare(const Case& one, const std::vector<Tensor>& operands, uint64_t mask, int64_t size,
             bool strided, int& compared) {
  std::vector<Tensor> batches;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool batched = (mask >> i & 1) != 0;
    Tensor batch = batched ? batch_like(operands[i], size) : operands[i];
    if (batched && strided) batch = movedim(batch, {0}, {-1}).contiguous();
    batches.push_back(batch);
  }
  std::vector<std::vector<Tensor>> expected;  // by result, then by sample
  try {
    for (int64_t i = 0; i < std::max<int64_t>(size, 1); ++i) {
      std::vector<Tensor> sample;
      for (size_t k = 0; k < batches.size(); ++k) {
        const bool batched = (mask >> k & 1) != 0;
        sample.push_back(size == 0 ? operands[k].clone()
                         : batched ? select(batches[k], strided ? -1 : 0, i).clone()
                                   : batches[k].clone());
      }
      const std::vector<Tensor> results = called(one, sample);
      expected.resize(results.size());
      for (size_t r = 0; r < results.size(); ++r) expected[r].push_back(results[r]);
    }
    for (const std::vector<Tensor>& samples : expected) static_cast<void>(stack(samples, 0));
  } catch (const std::exception&) {
    return;  // not for such values
  }
  try {
    std::vector<Tensor> copies;
    for (const Tensor& batch : batches) copies.push_back(batch.clone());
    const transforms::vmapped::LevelScope scope(size, Randomness::error);
    std::vector<Tensor> inner;
    for (size_t k = 0; k < copies.size(); ++k) {
      const bool batched = (mask >> k & 1) != 0;
      inner.push_back(batched ? transforms::batch(copies[k], scope.level(), strided ? -1 : 0)
                              : copies[k]);
    }
    const char *how = nullptr, *rule = nullptr, *provider = nullptr;
    transforms::service_table().take_last(&how, &rule, &provider);
    const std::vector<Tensor> results = called(one, inner);
    transforms::service_table().take_last(&how, &rule, &provider);
    if (how != nullptr && std::string_view(how) == "loop" && size > 0) looped.insert(one.op);
    ++compared;
    for (size_t r = 0; r < results.size(); ++r) {
      const Tensor whole = transforms::unbatch(results[r], scope.level());
      const Tensor right = narrow(stack(expected[r], 0), 0, 0, size);
      const double off = difference(whole, right);
      if (!(off <= (right.dtype() == f64 || right.dtype() == c128 ? 1e-10 : 1e-4)))
        report(one, "size " + std::to_string(size) + " mask " + std::to_string(mask) + " result " +
                        std::to_string(r) + " differs by " + std::to_string(off));
    }
  } catch (const std::exception& error) {
    if (is_refusal(error.what())) {
      if (one.op.back() != '_') refused.insert(one.op);
      return;
    }
    report(one,
           "mask " + std::to_string(mask) + " size " + std::to_string(size) + ": " + error.what());
  }
}

// A number that all elements of the results decide.
Tensor weighed(const std::vector<Tensor>& results) {
  Tensor total;
  for (const Tensor& result : results) {
    if (!is_floating(result.dtype()) || !result.requires_grad()) continue;
    const Tensor weights =
        reshape(cos(arange(result.numel(), none, 1, result.dtype())), result.sizes());
    const Tensor part = sum(result * weights);
    total = total.defined() ? total + part : part;
  }
  return total;
}

using Run = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

std::vector<Tensor> filled(std::vector<Tensor> tensors, const std::vector<Tensor>& like) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined()) tensors[i] = zeros_like(like[i]);
  }
  return tensors;
}
std::vector<Tensor> gradients_of(const Tensor& loss, const std::vector<Tensor>& leaves,
                                 bool graph) {
  if (!loss.defined() || !loss.requires_grad())
    return filled(std::vector<Tensor>(leaves.size()), leaves);
  GradientOptions options;
  options.allow_unused = true;
  options.create_graph = graph;
  return filled(gradients({loss}, leaves, options), leaves);
}
// `run` gives results of whole batches for operands of whole batches.
std::vector<Tensor> first_gradients(const Run& run, const std::vector<Tensor>& batches,
                                    bool again) {
  std::vector<Tensor> given, leaves;
  for (const Tensor& batch : batches) {
    given.push_back(batch.clone());
    if (!is_floating(batch.dtype())) continue;
    given.back().requires_grad_();
    leaves.push_back(given.back());
  }
  const std::vector<Tensor> first = gradients_of(weighed(run(given)), leaves, again);
  return again ? gradients_of(weighed(first), leaves, false) : first;
}
std::vector<Tensor> tangents_of(const Run& run, const std::vector<Tensor>& batches) {
  const DualLevel level;
  std::vector<Tensor> given, tangents;
  for (const Tensor& batch : batches) {
    const bool floating = is_floating(batch.dtype());
    given.push_back(floating ? make_dual(batch.clone(), cos(batch * 3)) : batch.clone());
  }
  for (const Tensor& result : run(given)) {
    if (!is_floating(result.dtype())) continue;
    const Dual dual = unpack_dual(result);
    tangents.push_back(dual.tangent.defined() ? dual.tangent : zeros_like(dual.primal));
  }
  return tangents;
}

// Derivatives of a call on a batch, by vmap and by the loop; `shared`: an operand that all samples share,
// past the last one: none.
void compare_derivative(const Case& one, size_t shared, const char* what,
                        const std::function<std::vector<Tensor>(const Run&)>& of, int& compared) {
  constexpr int64_t size = 2;
  const Run by_loop = [&](const std::vector<Tensor>& given) {
    std::vector<std::vector<Tensor>> samples;
    for (int64_t i = 0; i < size; ++i) {
      std::vector<Tensor> sample;
      for (size_t k = 0; k < given.size(); ++k)
        sample.push_back(k == shared ? given[k] : select(given[k], 0, i));
      const std::vector<Tensor> results = called(one, sample);
      samples.resize(results.size());
      for (size_t r = 0; r < results.size(); ++r) samples[r].push_back(results[r]);
    }
    std::vector<Tensor> whole;
    for (const std::vector<Tensor>& list : samples) whole.push_back(stack(list, 0));
    return whole;
  };
  const Run by_vmap = [&](const std::vector<Tensor>& given) {
    const transforms::vmapped::LevelScope scope(size, Randomness::error);
    std::vector<Tensor> inner;
    for (size_t k = 0; k < given.size(); ++k)
      inner.push_back(k == shared ? given[k] : transforms::batch(given[k], scope.level()));
    std::vector<Tensor> whole = called(one, inner);
    for (Tensor& result : whole) result = transforms::unbatch(result, scope.level());
    return whole;
  };
  std::vector<Tensor> expected;
  try {
    expected = of(by_loop);
  } catch (const std::exception&) {
    return;  // not differentiable so often, or not for such values
  }
  try {
    const std::vector<Tensor> found = of(by_vmap);
    ++compared;
    if (found.size() != expected.size())
      report(one, std::string(what) + ": " + std::to_string(found.size()) + " in place of " +
                      std::to_string(expected.size()));
    for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
      const double off = difference(found[i], expected[i]);
      if (!(off <= (expected[i].dtype() == f64 ? 1e-9 : 1e-3)))
        report(one, std::string(what) + " " + std::to_string(i) + " of operands where " +
                        std::to_string(shared) + " is shared differs by " + std::to_string(off));
    }
  } catch (const std::exception& error) {
    if (!is_refusal(error.what())) report(one, std::string(what) + ": " + error.what());
  }
}

struct Counts {
  int gradients = 0, second = 0, tangents = 0;
};
void compare_derivatives(const Case& one, const std::vector<Tensor>& operands, Counts& counts) {
  for (size_t shared = 0; shared <= operands.size(); ++shared) {
    if (operands.size() == 1 && shared == 0) continue;  // nothing would be batched
    std::vector<Tensor> batches;
    for (size_t k = 0; k < operands.size(); ++k)
      batches.push_back(k == shared ? operands[k] : batch_like(operands[k], 2));
    compare_derivative(
        one, shared, "gradient",
        [&](const Run& run) { return first_gradients(run, batches, false); }, counts.gradients);
    compare_derivative(
        one, shared, "second gradient",
        [&](const Run& run) { return first_gradients(run, batches, true); }, counts.second);
    compare_derivative(
        one, shared, "tangent", [&](const Run& run) { return tangents_of(run, batches); },
        counts.tangents);
  }
}
void compare_nested(const Case& one, const std::vector<Tensor>& operands, int& compared) {
  std::vector<std::vector<Tensor>> expected;  // by result, then by sample
  std::vector<Tensor> batches;
  for (const Tensor& operand : operands) {
    const Tensor batch = batch_like(operand, 6);
    std::vector<int64_t> shape{2, 3};
    for (const int64_t each : operand.shape()) shape.push_back(each);
    batches.push_back(reshape(batch, shape));
  }
  try {
    for (int64_t i = 0; i < 6; ++i) {
      std::vector<Tensor> sample;
      for (const Tensor& batch : batches)
        sample.push_back(select(select(batch, 0, i / 3), 0, i % 3).clone());
      const std::vector<Tensor> results = called(one, sample);
      expected.resize(results.size());
      for (size_t r = 0; r < results.size(); ++r) expected[r].push_back(results[r]);
    }
    for (const std::vector<Tensor>& samples : expected) static_cast<void>(stack(samples, 0));
  } catch (const std::exception&) {
    return;
  }
  try {
    const transforms::vmapped::LevelScope outer(2, Randomness::error), inner(3, Randomness::error);
    std::vector<Tensor> nested;
    for (const Tensor& batch : batches)
      nested.push_back(
          transforms::batch(transforms::batch(batch.clone(), outer.level()), inner.level()));
    const std::vector<Tensor> results = called(one, nested);
    ++compared;
    for (size_t r = 0; r < results.size(); ++r) {
      const Tensor whole =
          transforms::unbatch(transforms::unbatch(results[r], inner.level()), outer.level());
      const Tensor right = reshape(stack(expected[r], 0), whole.sizes());
      const double off = difference(whole, right);
      if (!(off <= (right.dtype() == f64 || right.dtype() == c128 ? 1e-10 : 1e-4)))
        report(one, "nested result " + std::to_string(r) + " differs by " + std::to_string(off));
    }
  } catch (const std::exception& error) {
    if (!is_refusal(error.what())) report(one, std::string("nested: ") + error.what());
  }
}

// Rows of the Jacobian of all results by one vmap, and one at a time; columns the same.
void compare_jacobians(const Case& one, const std::vector<Tensor>& operands, int& compared) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!is_floating(operands[i].dtype()) || operands[i].numel() > 64) continue;
    const auto f = [&](const Tensor& x) {
      seed_generator(1);
      std::vector<Tensor> given, real;
      for (const Tensor& operand : operands) given.push_back(operand.clone());
      given[i] = x;
      for (const Tensor& result : called(one, given)) {
        if (is_floating(result.dtype())) real.push_back(result);
      }
      return real;
    };
    const auto check = [&](const char* way, const auto& jacobian) {
      std::vector<Tensor> by_loop;
      try {
        by_loop = jacobian(1);
      } catch (const std::exception&) {
        return;  // not differentiable, or not for such values
      }
      try {
        const std::vector<Tensor> found = jacobian(0);
        for (size_t r = 0; r < found.size(); ++r) {
          ++compared;
          const double off = difference(found[r], by_loop[r]);
          if (!(off <= (by_loop[r].dtype() == f64 ? 1e-9 : 1e-3)))
            report(one, std::string(way) + " " + std::to_string(i) + " differs by " +
                            std::to_string(off));
        }
      } catch (const std::exception& error) {
        report(one, std::string(way) + ": " + error.what());
      }
    };
    const Tensor x = operands[i].clone();
    using transforms::argnums;
    check("jacrev", [&](int64_t chunk) { return transforms::jacrev(f, argnums<0>, {chunk})(x); });
    check("jacfwd", [&](int64_t chunk) { return transforms::jacfwd(f, argnums<0>, {chunk})(x); });
  }
}

}  // namespace

TEST_SUITE("lib/transforms/every_op") {
  TEST_CASE("every op with samples gives under vmap what a loop gives") {
    int compared = 0, nested = 0, jacobians = 0;
    std::set<std::string> ops, untried;
    Counts counts;
    // Ops of dnnl are those of nn and blas again, or take results of other ops: `tenon check` compares them.
    const std::set<std::string> plugins{"math",  "blas", "nn",     "fft",
                                        "optim", "onnx", "metric", "data"};
    for_each_op(plugins, 6, [&](const std::string& name, const std::vector<Case>& cases) {
      for (const Case& one : cases) {
        const std::vector<Tensor> operands = operands_of(one);
        if (operands.empty() || operands.size() > 6) continue;
        const uint64_t all = (uint64_t{1} << operands.size()) - 1;
        for (uint64_t mask = 1; mask <= all; ++mask) {
          if (mask != all && (mask & (mask - 1)) != 0) continue;  // each one, and all
          compare(one, operands, mask, 3, false, compared);
        }
        // They go by strides, of which a sample has others than a tensor of its shape.
        static const std::set<std::string> by_strides{"as_strided", "as_strided_scatter",
                                                      "view_as_complex"};
        if (by_strides.count(name) == 0) compare(one, operands, all, 2, true, compared);
        compare(one, operands, all, 1, false, compared);
        // Elements decide about the shapes of these, and there are none.
        static const std::set<std::string> shaped_by_elements{
            "compress", "repeat_interleave", "nn.functional.nms", "nn.functional.nms_per_class",
            "nn.functional.pack_taps"};
        if (shaped_by_elements.count(name) == 0) compare(one, operands, all, 0, false, compared);
        compare_nested(one, operands, nested);
        if (name.back() != '_') compare_derivatives(one, operands, counts);
        if (name.back() != '_') compare_jacobians(one, operands, jacobians);
        ops.insert(name);
      }
      if (ops.count(name) == 0) untried.insert(name);
    });
    for (const std::string& problem : problems) MESSAGE(problem);
    CHECK(problems.empty());
    MESSAGE(ops.size(), " ops, ", compared, " comparisons, ", nested, " nested, ", counts.gradients,
            " of gradients, ", counts.second, " of second gradients, ", counts.tangents,
            " of tangents, ", jacobians, " of Jacobians");
    for (const std::string& op : looped) MESSAGE("in a loop: ", op);
    // Ops whose samples are not compared here; `tenon check` compares those with tensors.
    const std::map<std::string, std::set<std::string>> left_out{
        {"no tensor among the operands",
         {"blackman_window", "data.split", "empty", "fft.fftfreq", "fft.rfftfreq", "hamming_window",
          "hann_window", "logspace", "mel_weight_matrix", "nn.init.calculate_gain",
          "onnx.constant_of_shape", "onnx.random", "schedule.constant", "schedule.cosine",
          "schedule.linear", "schedule.one_cycle", "schedule.step", "schedule.warmup"}},
        {"a file",
         {"data.csv", "data.images", "data.npy", "data.npz", "data.read_csv", "data.read_npy",
          "data.read_npz", "data.read_png", "data.read_safetensors", "data.safetensors",
          "data.write_npy", "data.write_npz", "data.write_safetensors", "onnx.inputs",
          "onnx.read_tensor", "onnx.read_weights", "onnx.write_tensor"}},
        {"results of other ops, other dtypes, or more than six operands",
         {"block_dequantize", "nn.functional.lstm", "onnx.changes", "onnx.has_element",
          "onnx.qlinear_conv", "onnx.qlinear_matmul", "optim.adam_steps_", "optim.adamw_steps_"}}};
    for (const std::string& op : untried) {
      CAPTURE(op);
      CHECK(std::any_of(left_out.begin(), left_out.end(),
                        [&](const auto& reason) { return reason.second.count(op) == 1; }));
    }
    CHECK(jacobians > 500);
    CHECK(nested > 300);
    CHECK(counts.gradients > 400);
    CHECK(counts.second > 400);
    CHECK(counts.tangents > 400);
    const std::set<std::string> by_elements{"bernoulli",
                                            "bincount",
                                            "compress",
                                            "data.balanced_weights",
                                            "data.split_by_parts",
                                            "data.stratified_split",
                                            "index",
                                            "masked_select",
                                            "multinomial",
                                            "nn.functional.batch_norm",
                                            "nn.functional.ctc_loss",
                                            "nn.functional.conv1d_packed",
                                            "nn.functional.dropout",
                                            "nn.functional.embedding_bag",
                                            "nn.functional.gumbel_softmax",
                                            "nn.functional.instance_norm",
                                            "nn.functional.nms",
                                            "nn.functional.nms_per_class",
                                            "nn.functional.pack_taps",
                                            "nonzero",
                                            "onnx.compress",
                                            "onnx.multinomial",
                                            "onnx.non_max_suppression",
                                            "onnx.range",
                                            "unique"};
    for (const std::string& op : refused) {
      CAPTURE(op);
      CHECK(by_elements.count(op) == 1);
    }
    CHECK(ops.size() > 100);
    CHECK(compared > 1000);
  }
}

// Stage "forward mode": jvp against differences, and for several tangents at once.
#include <tenon/gradcheck.hpp>

#include "format.hpp"
#include "op_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

void check_jvp(OpCheck& check, const Sample& sample) {
  Differentiable given = check.differentiable(sample);
  if (given.inputs.empty()) return;
  check.listener.trying(sample);
  const auto function = check.function_of(sample, given);
  tenon::GradcheckOptions options = check.gradcheck_options(sample);
  if (!options.check_forward_ad) return;
  options.check_backward_ad = false;
  try {
    tenon::gradcheck(function, given.leaves, options);
  } catch (const tenon::GradcheckError& error) {
    check.find("wrong-jvp", error.what(), &sample);
  } catch (const tenon::NotImplementedError& error) {
    if (check.op.differentiable == "composite")
      check.listener.note(format_text("no forward mode: {}", error.what()));
    else
      check.find("failing-jvp", error.what(), &sample);
  } catch (const tenon::Error& error) {
    check.find_failing_rule("failing-jvp", error, sample);
  }
}

// Tangents of the results for some of the inputs' tangents; absent results are undefined.
std::vector<Tensor> tangents_of(const Differentiable& given, const std::vector<Tensor>& tangents) {
  const tenon::DualLevel level;
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : given.call.tensors)
    tensors.push_back(tensor.defined() ? tensor.detach() : tensor);
  for (size_t i = 0; i < given.inputs.size(); ++i) {
    if (tangents[i].defined())
      tensors[given.inputs[i]] = tenon::make_dual(tensors[given.inputs[i]], tangents[i]);
  }
  std::vector<Tensor> results;
  for (const Tensor& result : readable(tensors_of(given.call(tensors)))) {
    if (!result.defined() || !tenon::is_differentiable(result.dtype())) continue;
    const Tensor tangent = tenon::unpack_dual(result).tangent;
    if (tangent.defined()) {
      results.push_back(copied(tangent));
    } else {
      results.push_back(tenon::empty_tensor(result.shape(), result.dtype()));
      tenon::fill_elements(results.back(), 0);
    }
  }
  return results;
}

// The tangent for all inputs is the sum of those for each; other strides change nothing.
void check_tangents(OpCheck& check, const Sample& sample) {
  Differentiable given = check.differentiable(sample);
  if (given.inputs.empty()) return;
  std::vector<Tensor> all, strided;
  for (const Tensor& leaf : given.leaves) {
    all.push_back(tenon::detail::arbitrary_like(leaf, all.size() + 1));
    strided.push_back(kLayouts[0].make(all.back()));
  }
  const std::vector<Tensor> expected = tangents_of(given, all);
  std::string found = difference(expected, tangents_of(given, strided), kExact);
  if (!found.empty())
    return check.find("tangents",
                      format_text("for contiguous tangents and for those with other strides, the "
                                  "tangent of result{}",
                                  found),
                      &sample);
  if (given.inputs.size() < 2) return;
  std::vector<Tensor> sums;
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<Tensor> one(all.size());
    one[i] = all[i];
    const std::vector<Tensor> parts = tangents_of(given, one);
    for (size_t r = 0; r < parts.size(); ++r) {
      if (i == 0)
        sums.push_back(parts[r]);
      else
        sums[r] = tenon::Op("add").call<Tensor>(sums[r], parts[r]);
    }
  }
  found = difference(sums, expected, kExact);
  if (!found.empty())
    check.find("tangents",
               format_text("as the sum for one input at a time and for all inputs at once, the "
                           "tangent of result{}",
                           found),
               &sample);
}

}  // namespace

void check_forward_mode(OpCheck& check) {
  for (const Sample& sample : check.samples) check_jvp(check, sample);
  if (!check.found.empty() || check.random) return;
  for (const Sample& sample : check.samples) {
    if (!sample.gradcheck.check_forward_ad || !sample.deterministic || check.mutates(sample))
      continue;
    check.listener.trying(sample);
    try {
      check_tangents(check, sample);
    } catch (const tenon::NotImplementedError&) {  // noted above
    } catch (const tenon::Error& error) {
      check.find_failing_rule("failing-jvp", error, sample);
    }
  }
}

}  // namespace cli

// Stage "forward mode": jvp against differences, and for several tangents at once.
#include <tenon/gradcheck.hpp>

#include "format.hpp"
#include "op_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr Tolerance kTangentsOfSingles{1e-4, 1e-3, true};

void check_jvp(OpCheck& check, const Sample& sample) {
  Differentiable given = check.differentiable(sample);
  if (given.inputs.empty()) return;
  check.listener.trying(sample);
  const auto function = check.function_of(sample, given);
  tenon::GradcheckOptions options = check.gradcheck_options(sample);
  if (!options.check_forward_ad) return;
  options.check_backward_ad = false;
  try {
    if (too_coarse(function, given.leaves)) return;
    tenon::gradcheck(function, given.leaves, options);
  } catch (const tenon::GradcheckError& error) {
    check.find("wrong-jvp", error.what(), &sample);
  } catch (const tenon::NotImplementedError& error) {
    if (check.op.differentiable == "composite")
      check.listener.note(
          format_text("forward mode is not checked, the op does not support it: {}", error.what()));
    else
      check.find("failing-jvp", error.what(), &sample);
  } catch (const tenon::Error& error) {
    check.find_failing_rule("failing-jvp", error, sample);
  }
}

// The tangents of the results of one call, for tangents of its differentiable operands.
class DualCall {
 public:
  DualCall(OpCheck& check, const Sample& sample)
      : check_(check), sample_(sample), given_(check.differentiable(sample)) {
    for (const Tensor& leaf : given_.leaves)
      all_.push_back(tenon::detail::arbitrary_like(leaf, all_.size() + 1));
  }

  void run() {
    if (given_.inputs.empty()) return;
    expected_ = tangents_of(given_.call.tensors, all_);
    using Look = std::string (DualCall::*)() const;
    for (const Look look : {&DualCall::of_layouts, &DualCall::of_sum, &DualCall::of_singles,
                            &DualCall::of_copies, &DualCall::beside_values}) {
      const std::string breach = (this->*look)();
      if (breach.empty()) continue;
      check_.find("tangents", breach, &sample_);
      return;
    }
  }

 private:
  // Undefined tangents are left out; absent results are zeros.
  std::vector<Tensor> tangents_of(const std::vector<Tensor>& values,
                                  const std::vector<Tensor>& tangents) const {
    std::vector<Tensor> results;
    for (const auto& [primal, tangent] : duals_of(values, tangents)) {
      if (tangent.defined()) {
        results.push_back(copied(tangent));
      } else {
        results.push_back(tenon::empty_tensor(primal.shape(), primal.dtype()));
        tenon::fill_elements(results.back(), 0);
      }
    }
    return results;
  }
  std::vector<tenon::Dual> duals_of(const std::vector<Tensor>& values,
                                    const std::vector<Tensor>& tangents) const {
    const tenon::DualLevel level;
    std::vector<Tensor> tensors;
    tensors.reserve(values.size());
    for (const Tensor& tensor : values)
      tensors.push_back(tensor.defined() ? tensor.detach() : tensor);
    for (size_t i = 0; i < given_.inputs.size(); ++i) {
      if (tangents[i].defined())
        tensors[given_.inputs[i]] = tenon::make_dual(tensors[given_.inputs[i]], tangents[i]);
    }
    std::vector<tenon::Dual> results;
    for (const Tensor& result : readable(tensors_of(given_.call(tensors)))) {
      if (result.defined() && tenon::is_differentiable(result.dtype()))
        results.push_back(tenon::unpack_dual(result));
    }
    return results;
  }

  // Other strides change nothing; those of 0 are compared with the same numbers in full.
  std::string of_layouts() const {
    for (const Layout& layout : kLayouts) {
      std::vector<Tensor> changed;
      for (const Tensor& tangent : all_) changed.push_back(layout.make(tangent));
      const std::vector<Tensor> plain = copied(changed);
      const auto before = bytes_of(changed);
      const std::string found = difference(tangents_of(given_.call.tensors, plain),
                                           tangents_of(given_.call.tensors, changed), kExact);
      if (!found.empty())
        return format_text(
            "once for contiguous tangents and once for those with {}, the tangent "
            "of result{}",
            layout.name, found);
      if (bytes_of(changed) != before) return "the jvp changes the tangents that it is handed";
    }
    return "";
  }

  // The tangent for all inputs is the sum of those for each.
  std::string of_sum() const {
    if (given_.inputs.size() < 2) return "";
    std::vector<Tensor> sums;
    for (size_t i = 0; i < all_.size(); ++i) {
      std::vector<Tensor> one(all_.size());
      one[i] = all_[i];
      const std::vector<Tensor> parts = tangents_of(given_.call.tensors, one);
      for (size_t r = 0; r < parts.size(); ++r) {
        if (i == 0)
          sums.push_back(parts[r]);
        else
          sums[r] = tenon::Op("add").call<Tensor>(sums[r], parts[r]);
      }
    }
    const std::string found = difference(sums, expected_, kExact);
    return found.empty() ? ""
                         : format_text(
                               "once as the sum for one input at a time and once for all "
                               "inputs, the tangent of result{}",
                               found);
  }

  std::string of_singles() const {
    if (!sample_.precision) return "";
    std::vector<Tensor> found;
    try {
      found = tangents_of(in_single(copied(given_.call.tensors)), in_single(all_));
    } catch (const tenon::Error&) {  // as stages before have seen
      return "";
    }
    const std::string breach = difference(expected_, found, kTangentsOfSingles);
    return breach.empty()
               ? ""
               : format_text("once in f64 and once in f32, the tangent of result{}", breach);
  }

  // Copies of the inputs that give copies of the results must give copies of the tangents.
  std::string of_copies() const {
    for (const Tensor& tensor : given_.call.tensors) {
      if (!tensor.defined() || tensor.dim() == 0) return "";
    }
    for (const int64_t count : {2, 3, 23, 400}) {
      std::vector<Tensor> values, tangents, expected;
      for (const Tensor& tensor : given_.call.tensors) values.push_back(tiled(tensor, 0, count));
      for (const Tensor& tangent : all_) tangents.push_back(tiled(tangent, 0, count));
      for (const Tensor& tangent : expected_) {
        if (tangent.dim() == 0) return "";
        expected.push_back(tiled(tangent, 0, count));
      }
      std::vector<Tensor> found;
      try {
        found = tangents_of(values, tangents);
      } catch (const tenon::Error&) {
        return "";
      }
      if (found.size() != expected.size()) return "";  // pieces of a given size
      const std::string breach = difference(expected, found, kExact);
      if (breach.empty()) continue;
      if (count <= 3) return "";  // it does not grow so
      return format_text(
          "once as {0} copies of a small call and once in one call of {0} copies, "
          "the tangent of result{1}",
          count, breach);
    }
    return "";
  }

  // The results themselves.
  std::string beside_values() const {
    std::vector<Tensor> plain, primals;
    for (const Tensor& result : readable(tensors_of(given_.call(copied(given_.call.tensors))))) {
      if (result.defined() && tenon::is_differentiable(result.dtype()))
        plain.push_back(result.detach());
    }
    for (const tenon::Dual& dual : duals_of(given_.call.tensors, all_))
      primals.push_back(dual.primal.detach());
    const std::string found = difference(plain, primals, kExact);
    return found.empty() ? ""
                         : format_text("once without and once with tangents, the result{}", found);
  }

  OpCheck& check_;
  const Sample& sample_;
  const Differentiable given_;
  std::vector<Tensor> all_, expected_;
};

}  // namespace

void check_forward_mode(OpCheck& check) {
  for (const Sample& sample : check.samples) check_jvp(check, sample);
  if (!check.found.empty() || check.random) return;
  for (const Sample& sample : check.samples) {
    if (!sample.gradcheck.check_forward_ad || !sample.deterministic || check.mutates(sample))
      continue;
    check.listener.trying(sample);
    try {
      DualCall(check, sample).run();
    } catch (const tenon::NotImplementedError&) {  // noted above
    } catch (const tenon::Error& error) {
      check.find_failing_rule("failing-jvp", error, sample);
    }
  }
}

}  // namespace cli

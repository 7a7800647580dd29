// A call that is recorded, for stages that look at graphs.
#pragma once

#include <cstdint>
#include <vector>

#include <tenon/gradcheck_numbers.hpp>
#include <tenon/graph.hpp>

#include "op_check.hpp"

namespace cli {

// One call that is recorded, and what it is differentiated by.
class RecordedCall {
 public:
  static constexpr uint64_t kAll = ~uint64_t{0};
  // Leaves are those of `values` that require grad and whose bit, by number, is in `subset`. Their
  // layout stays. With `between` the op gets copies of them, which nothing else holds.
  RecordedCall(const SampleCall& call, const std::vector<tenon::Tensor>& values,
               uint64_t subset = kAll, bool between = false) {
    std::vector<tenon::Tensor> given;
    uint64_t number = 0;
    for (size_t t = 0; t < values.size(); ++t) {
      tenon::Tensor value = values[t];
      if (value.defined()) value = value.detach();
      if (value.defined() && call.places[t].requires_grad) {
        if (number > 63 || (subset >> number & 1) != 0) {
          value.requires_grad_();
          leaves_.push_back(value);
          if (between) value = copies_.emplace_back(tenon::Op("clone").call<tenon::Tensor>(value));
        }
        ++number;
      }
      given.push_back(value);
    }
    const std::vector<tenon::Tensor> results = readable(tensors_of(call(given)));
    for (size_t r = 0; r < results.size(); ++r) {
      if (!results[r].defined() || !results[r].requires_grad()) continue;
      roots_.push_back(results[r]);
      places_.push_back(r);
    }
  }
  const std::vector<tenon::Tensor>& roots() const { return roots_; }
  std::vector<tenon::Tensor> results() const {
    std::vector<tenon::Tensor> list;
    for (const tenon::Tensor& root : roots_) list.push_back(root.detach());
    return list;
  }
  std::vector<tenon::Tensor> seeds() const {
    std::vector<tenon::Tensor> list;
    for (size_t r = 0; r < roots_.size(); ++r)
      list.push_back(tenon::detail::arbitrary_like(roots_[r], places_[r] + 1));
    return list;
  }
  std::vector<tenon::Tensor> gradients() const { return gradients(seeds()); }
  // Roots with an undefined seed are left out.
  std::vector<tenon::Tensor> gradients(const std::vector<tenon::Tensor>& seeds) const {
    std::vector<tenon::Tensor> roots;
    tenon::GradientOptions options;
    for (size_t r = 0; r < roots_.size(); ++r) {
      if (!seeds[r].defined()) continue;
      roots.push_back(roots_[r]);
      options.seeds.push_back(seeds[r]);
    }
    if (roots.empty() || leaves_.empty()) return {};
    options.allow_unused = true;
    options.retain_graph = true;
    return tenon::gradients(roots, leaves_, options);
  }
  // The gradient of all gradients, each times other numbers.
  std::vector<tenon::Tensor> second_gradients() const {
    if (roots_.empty() || leaves_.empty()) return {};
    tenon::GradientOptions options, again;
    options.seeds = seeds();
    options.allow_unused = options.create_graph = true;
    std::vector<tenon::Tensor> first;
    for (const tenon::Tensor& gradient : tenon::gradients(roots_, leaves_, options)) {
      if (!gradient.defined() || !gradient.requires_grad()) continue;
      first.push_back(gradient);
      again.seeds.push_back(tenon::detail::arbitrary_like(gradient, roots_.size() + first.size()));
    }
    if (first.empty()) return {};
    again.allow_unused = true;
    return tenon::gradients(first, leaves_, again);
  }
  // The tensors that the op was given, with `between`.
  std::vector<tenon::Tensor>& copies() { return copies_; }

 private:
  std::vector<tenon::Tensor> leaves_, roots_, copies_;
  std::vector<size_t> places_;  // places of the roots among the results
};

// Calls body(sample) with each sample whose graph is the same each time. What a rule throws is a
// finding.
template <class Body>
void for_each_graph_sample(OpCheck& check, const Body& body) {
  if (check.random) return;
  for (const Sample& sample : check.samples) {
    if (!sample.deterministic || !sample.gradcheck.check_backward_ad || check.mutates(sample))
      continue;
    check.listener.trying(sample);
    try {
      body(sample);
    } catch (const tenon::Error& error) {
      check.find_failing_rule("failing-gradient", error, sample);
    }
  }
}

}  // namespace cli

// Stage "graphs": the gradient of one call in other layouts, sizes and shapes, beside other graphs, and
// after its inputs are gone or changed.
#include <algorithm>
#include <array>
#include <exception>
#include <thread>

#include "format.hpp"
#include "op_check.hpp"
#include "recorded_call.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr Tolerance kGradientOfSingles{1e-4, 1e-3, true};

class GraphCheck {
 public:
  GraphCheck(OpCheck& check, const Sample& sample)
      : check_(check), sample_(sample), call_(check.call_of(sample)) {
    const RecordedCall graph(call_, copied(call_.tensors));
    expected_ = graph.gradients();
  }

  void run() {
    if (expected_.empty()) return;
    attempt("gradient-layout", [&] { return of_layouts(); });
    attempt("gradient-layout", [&] { return of_seed_layouts(); });
    if (sample_.precision) attempt("gradient-precision", [&] { return of_singles(); });
    attempt("gradient-graphs", [&] { return beside_another(); });
    attempt("gradient-graphs", [&] { return without_inputs(); });
    attempt("gradient-graphs", [&] { return in_another_thread(); });
    attempt("gradient-graphs", [&] { return after_change(); });
    attempt("gradient-size", [&] { return of_copies(); });
    attempt("gradient-rank", [&] { return of_shapes(); });
    attempt("gradient-broadcast", [&] { return of_broadcast(); });
    attempt("gradient-mode", [&] { return without_recording(); });
    attempt("gradient-size", [&] { return of_nothing(); });
  }

 private:
  template <class Look>
  void attempt(const char* kind, const Look& look) {
    try {
      const std::string breach = look();
      if (!breach.empty()) check_.find(kind, breach, &sample_);
    } catch (const tenon::Error& error) {
      check_.find_failing_rule("failing-gradient", error, sample_);
    }
  }
  static std::string gradient_differs(const std::string& how, const std::string& found) {
    return found.empty() ? "" : format_text("{}, the gradient of input{}", how, found);
  }
  // A graph; nullopt where the op refuses the values.
  std::optional<RecordedCall> made(const std::vector<Tensor>& values, bool between = false) const {
    try {
      return RecordedCall(call_, values, RecordedCall::kAll, between);
    } catch (const tenon::Error&) {
      return std::nullopt;
    }
  }

  std::string of_layouts() const {
    if (!sample_.layouts || !check_.aliased.empty()) return "";  // views speak of the storage
    for (const Layout& layout : kLayouts) {
      std::vector<Tensor> values;
      for (const Tensor& tensor : call_.tensors)
        values.push_back(tensor.defined() ? layout.make(tensor) : tensor);
      const auto plain = made(copied(values)), changed = made(values);
      if (!plain || !changed) continue;
      std::vector<Tensor> expected;
      try {
        expected = plain->gradients();
      } catch (const tenon::Error&) {  // equal rows may have no gradient
        continue;
      }
      const std::string found = difference(expected, changed->gradients(), kExact);
      if (!found.empty())
        return gradient_differs(format_text("once contiguous and once with {}", layout.name),
                                found);
    }
    return "";
  }

  // Layouts of the arriving gradient: the gradient from a sum has strides of 0, in all or some
  // dimensions.
  std::string of_seed_layouts() const {
    const auto graph = made(copied(call_.tensors));
    for (const Layout& layout : kLayouts) {
      const std::string found = of_seeds(*graph, layout.name, layout.make);
      if (!found.empty()) return found;
    }
    return of_seeds(*graph, "strides of 0", [](const Tensor& seed) {
      if (seed.numel() == 0) return seed;
      const std::vector<int64_t> strides(static_cast<size_t>(seed.dim()), 0);
      const Tensor one = tenon::empty_tensor({1}, seed.dtype());
      tenon::fill_elements(one, 0.7);
      return tenon::alias_tensor(one, seed.shape(), tenon::IntList(strides.data(), seed.dim()), 0);
    });
  }
  static std::string of_seeds(const RecordedCall& graph, const char* name,
                              Tensor (*make)(const Tensor&)) {
    std::vector<Tensor> plain, changed;
    for (const Tensor& seed : graph.seeds()) {
      changed.push_back(make(seed));
      plain.push_back(copied(changed.back()));
    }
    return gradient_differs(
        format_text("once for a contiguous gradient and once for one with {}", name),
        difference(graph.gradients(plain), graph.gradients(changed), kExact));
  }

  std::string of_singles() const {
    const auto graph = made(in_single(copied(call_.tensors)));
    if (!graph || graph->roots().empty()) return "";
    // The seeds of the f64 graph, converted to f32.
    const auto plain = made(copied(call_.tensors));
    std::vector<Tensor> seeds = plain->seeds();
    if (seeds.size() != graph->roots().size()) return "";
    for (size_t r = 0; r < seeds.size(); ++r) {
      if (graph->roots()[r].sizes() != seeds[r].sizes()) return "";
      seeds[r] = converted(seeds[r], graph->roots()[r].dtype());
    }
    return gradient_differs("once in f64 and once in f32",
                            difference(expected_, graph->gradients(seeds), kGradientOfSingles));
  }

  std::vector<Tensor> other_values() const {
    std::vector<Tensor> values;
    for (const Tensor& tensor : call_.tensors) {
      if (!tensor.defined() || !tenon::is_differentiable(tensor.dtype()) || tensor.numel() == 0) {
        values.push_back(copied(tensor));
        continue;
      }
      std::vector<double> numbers = numbers_of(tensor);
      for (double& number : numbers) number *= 0.75;
      values.push_back(with_elements(tensor, numbers));
    }
    return values;
  }

  std::string beside_another() const {
    const auto alone = made(other_values());
    if (!alone || alone->roots().empty()) return "";
    const std::vector<Tensor> of_other = alone->gradients();
    const auto first = made(copied(call_.tensors)), second = made(other_values());
    std::string found = difference(expected_, first->gradients(), kExact);
    if (found.empty() && second) found = difference(of_other, second->gradients(), kExact);
    return gradient_differs("once alone and once beside a second graph of this op", found);
  }

  // Fills memory of the same size that was just freed.
  void overwrite_freed() const {
    std::vector<Tensor> garbage;
    for (const Tensor& tensor : call_.tensors) {
      for (int i = 0; tensor.defined() && i < 8; ++i) {
        garbage.push_back(tenon::empty_tensor(tensor.shape(), tensor.dtype()));
        tenon::fill_elements(garbage.back(), 100);
      }
    }
  }

  std::string without_inputs() const {
    auto graph = made(copied(call_.tensors), true);
    if (!graph || graph->roots().empty()) return "";
    graph->copies().clear();
    overwrite_freed();
    return gradient_differs("once while its inputs are alive and once after they are gone",
                            difference(expected_, graph->gradients(), kExact));
  }

  // A graph that one thread has made and another runs.
  std::string in_another_thread() const {
    const auto graph = made(copied(call_.tensors));
    if (!graph || graph->roots().empty()) return "";
    std::vector<Tensor> gradients;
    std::exception_ptr fault;
    std::thread([&] {
      try {
        gradients = graph->gradients();
      } catch (...) {
        fault = std::current_exception();
      }
    }).join();
    if (fault) std::rethrow_exception(fault);
    return gradient_differs("once in the thread of the call and once in another one",
                            difference(expected_, gradients, kExact));
  }

  std::string after_change() const {
    auto graph = made(copied(call_.tensors), true);
    if (!graph || graph->roots().empty()) return "";
    {
      const tenon::NoGrad scope;
      for (const Tensor& copy : graph->copies()) tenon::Op("mul_").call<Tensor>(copy, 0.5);
    }
    std::vector<Tensor> gradients;
    try {
      gradients = graph->gradients();
    } catch (const tenon::Error&) {  // a saved tensor was changed: as it has to be
      return "";
    }
    return gradient_differs("once, and once after its inputs were changed in place",
                            difference(expected_, gradients, kExact));
  }

  std::string of_copies() const {
    const std::string found = of_copies_of(call_.tensors, expected_, kExact);
    if (!found.empty() || !sample_.precision) return found;
    const std::vector<Tensor> singles = in_single(copied(call_.tensors));
    const auto graph = made(singles);
    return graph ? of_copies_of(singles, graph->gradients(), kSingle) : "";
  }
  std::string of_copies_of(const std::vector<Tensor>& tensors, const std::vector<Tensor>& gradients,
                           const Tolerance& tolerance) const {
    for (const Tensor& tensor : tensors) {
      if (!tensor.defined() || tensor.dim() == 0) return "";
    }
    const std::vector<Tensor> seeds = made(copied(tensors))->seeds();
    for (const int64_t count : {2, 3, 23, 400}) {
      std::vector<Tensor> values, many_seeds, expected;
      for (const Tensor& tensor : tensors) values.push_back(tiled(tensor, 0, count));
      const auto graph = made(values);
      if (!graph || graph->roots().size() != seeds.size()) return "";
      for (size_t r = 0; r < seeds.size(); ++r) {
        if (seeds[r].dim() == 0) return "";
        many_seeds.push_back(tiled(seeds[r], 0, count));
        if (many_seeds[r].sizes() != graph->roots()[r].sizes()) return "";
      }
      for (const Tensor& gradient : gradients)
        expected.push_back(gradient.defined() ? tiled(gradient, 0, count) : gradient);
      const std::string found = difference(expected, graph->gradients(many_seeds), tolerance);
      if (found.empty()) continue;
      if (count <= 3) return "";  // it does not grow so
      return gradient_differs(format_text("once as {0} copies of a small call and once in one call "
                                          "of {0} copies",
                                          count),
                              found);
    }
    return "";
  }

  std::string of_shapes() const {
    const auto plain = made(copied(call_.tensors));
    const std::vector<Tensor> seeds = plain->seeds();
    const int64_t n = call_.tensors[0].numel();
    const auto fits = [&](const Tensor& tensor) {
      return tensor.defined() && tensor.sizes() == call_.tensors[0].sizes();
    };
    if (n < 2 || !std::all_of(call_.tensors.begin(), call_.tensors.end(), fits) ||
        !std::all_of(seeds.begin(), seeds.end(), fits) ||
        !std::all_of(expected_.begin(), expected_.end(), fits))
      return "";
    int known = 0;  // shapes that show whether it works by element
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{n},
                                              {n, 1},
                                              {1, n},
                                              {n - 1},
                                              {1, 1, n, 1, 1},
                                              {1, 1, 1, 1, 1, n},
                                              {},
                                              {1}}) {
      const auto under = [&](const Tensor& tensor) {
        int64_t count = 1;
        for (const int64_t size : shape) count *= size;
        if (count == tensor.numel()) return reshaped(tensor, shape);
        std::vector<double> numbers = numbers_of(tensor);
        return with_elements(
            tenon::empty_tensor(tenon::IntList(shape.data(), static_cast<int64_t>(shape.size())),
                                tensor.dtype()),
            numbers);
      };
      std::vector<Tensor> values, other_seeds, expected;
      for (const Tensor& tensor : call_.tensors) values.push_back(under(tensor));
      for (const Tensor& seed : seeds) other_seeds.push_back(under(seed));
      for (const Tensor& gradient : expected_) expected.push_back(under(gradient));
      const auto graph = made(values);
      std::string found = "refused";
      if (graph && graph->roots().size() == seeds.size() &&
          graph->roots()[0].sizes() == other_seeds[0].sizes())
        found = difference(expected, graph->gradients(other_seeds), kExact);
      else if (known >= 4)
        continue;
      if (known++ < 4 && !found.empty()) return "";
      if (!found.empty())
        return gradient_differs(
            format_text("once as a row and once under {} dimensions", shape.size()), found);
    }
    return "";
  }

  // The gradient of an operand that is broadcast is that of its expansion, summed.
  std::string of_broadcast() const {
    const std::vector<Tensor>& all = call_.tensors;
    if (all.size() < 2 || !all[0].defined() || !all[1].defined() || all[0].dim() < 1 ||
        all[0].sizes() != all[1].sizes() || !tenon::is_differentiable(all[0].dtype()) ||
        all[0].dtype() != all[1].dtype())
      return "";
    for (const size_t t : {size_t{0}, size_t{1}}) {
      if (!call_.places[t].requires_grad) continue;
      for (const bool scalar : {true, false}) {
        std::vector<int64_t> sizes;
        if (!scalar) sizes = {all[t].shape()[all[t].dim() - 1]};
        if (sizes == all[t].sizes()) continue;
        const std::string found = of_narrow(t, sizes);
        if (!found.empty()) return found;
      }
    }
    return "";
  }
  std::string of_narrow(size_t t, const std::vector<int64_t>& sizes) const {
    const std::vector<double> numbers = numbers_of(call_.tensors[t]);
    const Tensor small = with_elements(
        tenon::empty_tensor(tenon::IntList(sizes.data(), static_cast<int64_t>(sizes.size())),
                            call_.tensors[t].dtype()),
        numbers);
    std::vector<Tensor> narrow = copied(call_.tensors), whole = copied(call_.tensors);
    narrow[t] = small;
    tenon::copy_elements(whole[t], small);
    const auto direct = made(narrow), expanded = made(whole);
    if (!direct || !expanded || direct->roots().empty() ||
        !difference(direct->results(), expanded->results(), kExact).empty())
      return "";
    const std::vector<Tensor> seeds = expanded->seeds();
    size_t number = 0;
    for (size_t i = 0; i < t; ++i) number += call_.places[i].requires_grad ? 1 : 0;
    const Tensor found = direct->gradients(seeds)[number],
                 full = expanded->gradients(seeds)[number];
    if (!found.defined() || !full.defined()) return "";
    std::vector<double> sums(static_cast<size_t>(number_count(small)));
    const std::vector<double> parts = numbers_of(full);
    for (size_t i = 0; i < parts.size(); ++i) sums[i % sums.size()] += parts[i];
    return gradient_differs(
        "once for an operand that is broadcast and once for the sum over its "
        "elements in full",
        difference(with_elements(small, sums), found, kExact));
  }

  std::string without_recording() const {
    const auto recorded = made(copied(call_.tensors));
    std::vector<Tensor> plain;
    {
      const tenon::NoGrad scope;
      for (const Tensor& result : readable(tensors_of(call_(copied(call_.tensors)))))
        if (result.defined() && tenon::is_differentiable(result.dtype())) plain.push_back(result);
    }
    const std::vector<Tensor> results = recorded->results();
    if (plain.size() != results.size()) return "";
    const std::string found = difference(results, plain, kExact);
    return found.empty() ? ""
                         : format_text(
                               "once where an input requires grad and once where none does, the "
                               "result{}",
                               found);
  }

  // A backward of empty inputs may be refused, but must not crash.
  std::string of_nothing() const {
    std::vector<Tensor> values;
    for (const Tensor& tensor : call_.tensors) {
      if (!tensor.defined() || tensor.dim() == 0) return "";
      std::vector<int64_t> sizes = tensor.sizes();
      sizes[0] = 0;
      values.push_back(
          tenon::empty_tensor(tenon::IntList(sizes.data(), tensor.dim()), tensor.dtype()));
    }
    const auto graph = made(values);
    if (!graph) return "";
    try {
      graph->gradients();
    } catch (const tenon::Error& error) {  // refused in words
      if (error.kind() == TENON_ERROR_INTERNAL) throw;
    }
    return "";
  }

  OpCheck& check_;
  const Sample& sample_;
  const SampleCall call_;
  std::vector<Tensor> expected_;
};

}  // namespace

void check_graphs(OpCheck& check) {
  for_each_graph_sample(check, [&](const Sample& sample) { GraphCheck(check, sample).run(); });
}

}  // namespace cli

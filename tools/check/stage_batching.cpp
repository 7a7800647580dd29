// Stage "batching": what vmap makes of the op beside a loop over samples, by the rule that some plugin has for
// it, through the ops that it is made of, or as a loop over elements.
#include <algorithm>
#include <cmath>

#include <tenon/gradcheck_numbers.hpp>
#include <tenon/graph.hpp>
#include <tenon/kernel/shape.hpp>
#include <tenon/ops.hpp>

#include "batching.hpp"
#include "format.hpp"
#include "text.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr int64_t kSamples = 3;
// Each subset of so many operands is batched; of more each alone, and all but each.
constexpr size_t kMostInFull = 3;

// Relative to the largest element.
double room_of(tenon::DType dtype) {
  const tenon::DType real = tenon::real_dtype(dtype);
  if (!tenon::is_differentiable(dtype)) return 0;
  return real == tenon::f64 ? 1e-9 : real == tenon::f32 ? 1e-4 : 2e-2;
}

// "at element [0, 1] of sample 2"
std::string place_text(size_t element, const Tensor& tensor, size_t levels) {
  std::vector<int64_t> index(static_cast<size_t>(tensor.dim()));
  auto rest = static_cast<int64_t>(element) / (tenon::is_complex(tensor.dtype()) ? 2 : 1);
  for (size_t d = index.size(); d-- > 0;) {
    index[d] = rest % tensor.shape()[static_cast<int64_t>(d)];
    rest /= tensor.shape()[static_cast<int64_t>(d)];
  }
  if (levels == 0)
    return format_text("at element {}", tenon::kernel::shape_text(
                                            {index.data(), static_cast<int64_t>(index.size())}));
  const auto inside = static_cast<int64_t>(index.size() - levels);
  const tenon::IntList sample(index.data(), static_cast<int64_t>(levels));
  return format_text("{}of sample {}",
                     inside == 0
                         ? ""
                         : format_text("at element {} ",
                                       tenon::kernel::shape_text({index.data() + levels, inside})),
                     levels == 1 ? std::to_string(sample[0]) : tenon::kernel::shape_text(sample));
}

// A difference of vmap from the loop: of shapes, then the worst element. Empty: none.
struct Breach {
  std::string text;
  bool shape = false;
};
Breach breach_of(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                 const std::string& what, size_t levels) {
  if (found.size() != expected.size())
    return {format_text("{} results in place of {}", found.size(), expected.size()), true};
  for (size_t r = 0; r < found.size(); ++r) {
    const std::string name = expected.size() == 1 ? what : format_text("{} {}", what, r);
    const Tensor &a = found[r], &b = expected[r];
    if (!a.defined() && !b.defined()) continue;
    if (a.defined() != b.defined())
      return {format_text("{} is missing in {}", name, a.defined() ? "the loop" : "vmap"), true};
    if (a.sizes() != b.sizes() || a.dtype() != b.dtype())
      return {format_text("{} is {} in place of {}, batch included", name, shape_dtype_text(a),
                          shape_dtype_text(b)),
              true};
    const std::vector<double> x = numbers_of(a.detach()), y = numbers_of(b.detach());
    double largest = 0, worst = -1;
    size_t at = 0;
    for (const double number : y)
      largest = std::isfinite(number) ? std::max(largest, std::abs(number)) : largest;
    for (size_t i = 0; i < y.size(); ++i) {
      if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
      const double off =
          std::isfinite(x[i]) && std::isfinite(y[i]) ? std::abs(x[i] - y[i]) : INFINITY;
      if (off <= worst || off <= room_of(b.dtype()) * largest + 1e-300) continue;
      worst = off;
      at = i;
    }
    if (worst >= 0)
      return {format_text("{} has {} in place of {} {}", name, short_number(x[at]),
                          short_number(y[at]), place_text(at, b, levels)),
              false};
  }
  return {};
}

class Batching {
 public:
  Batching(OpCheck& check, const Sample& sample)
      : check_(check), sample_(sample), call_(check, sample) {}

  void run() {
    if (!call_.usable()) return;
    const std::vector<uint64_t> masks = subsets();
    if (masks.empty()) return;
    check_.listener.trying(sample_);
    for (const uint64_t mask : masks) {
      for (const bool last : {false, true}) {
        if (last && !sample_.layouts) continue;  // by strides, which samples have others of
        const BatchPlaces places = at(mask, kSamples, last);
        if (!compare("batch-result", places)) return;
      }
    }
    if (!check_.found.empty() || !ruled_) return;
    const uint64_t all = masks.back();
    for (const int64_t size : {1, 2, 0}) {
      if (!compare("batch-size", at(all, size, false))) return;
    }
    if (sample_.layouts) compare_layouts(all);
    compare_nested(masks);
    if (!check_.found.empty() || call_.changes() || check_.op.differentiable == "none") return;
    for (const uint64_t mask : masks) {
      if (mask == all || (mask & (mask - 1)) == 0) compare_derivatives(at(mask, kSamples, false));
    }
    if (std::find(masks.begin(), masks.end(), all) != masks.end()) compare_nested_gradient(all);
  }

 private:
  // Sets of operands that are batched, as bits; all are the last one.
  std::vector<uint64_t> subsets() const {
    uint64_t all = 0, needed = 0;
    std::vector<size_t> operands;
    for (size_t t = 0; t < call_.tensors() && t < 63; ++t) {
      if (!call_.may_batch(t)) continue;
      operands.push_back(t);
      all |= uint64_t{1} << t;
      if (call_.must_batch(t)) needed |= uint64_t{1} << t;
    }
    std::vector<uint64_t> list;
    const auto add = [&](uint64_t subset) {
      if (subset != 0 && subset != all && (subset & needed) == needed &&
          std::find(list.begin(), list.end(), subset) == list.end())
        list.push_back(subset);
    };
    if (operands.size() <= kMostInFull) {
      for (uint64_t subset = 1; subset < all; ++subset) add(subset & all);
    } else {
      for (const size_t t : operands) add(needed | uint64_t{1} << t);
      for (const size_t t : operands) add(all ^ (uint64_t{1} << t));
    }
    if (all != 0) list.push_back(all);
    return list;
  }

  // The batch in front, or at the end of each second operand and in the middle of others.
  BatchPlaces at(uint64_t mask, int64_t size, bool last) const {
    BatchPlaces places{{size}, {}, ""};
    for (size_t t = 0; t < call_.tensors(); ++t) {
      const int64_t dim = !last ? 0 : t % 2 == 0 ? call_.rank(t) : (call_.rank(t) + 1) / 2;
      places.dims.push_back({(mask >> t & 1) != 0 ? dim : -1});
    }
    return places;
  }

  void find(const std::string& kind, const BatchPlaces& places, const std::string& what) {
    check_.find(
        kind,
        format_text("{}: under vmap, {}\nit runs by {}", places.text(), what, call_.last().text()),
        &sample_);
  }

  // False where a difference was found. A rule may hold for some subsets only: for others nothing is compared.
  bool compare(const std::string& kind, const BatchPlaces& places, const Layout* layout = nullptr) {
    std::vector<Tensor> wholes = call_.wholes(places);
    if (layout != nullptr) {
      for (size_t t = 0; t < wholes.size(); ++t) {
        if (places.dims[t][0] >= 0) wholes[t] = layout->make(wholes[t]);
      }
    }
    const BatchResult expected = call_.by_loop(places, wholes, false);
    if (!expected.error.empty()) return true;
    const BatchResult found = call_.by_vmap(places, call_.changes() ? copied(wholes) : wholes);
    if (!call_.last().has_rule() || is_refusal(found.error)) return true;
    ruled_ = true;
    if (!found.error.empty()) {
      find(kind == "batch-result" ? "batch-error" : kind, places,
           format_text("it raises: {}", found.error));
      return false;
    }
    const Breach breach = breach_of(found.tensors, expected.tensors, "result", places.sizes.size());
    if (breach.text.empty()) return true;
    find(kind == "batch-result" && breach.shape ? "batch-shape" : kind, places, breach.text);
    return false;
  }
  // Draws, and shapes that elements decide, within an op that is made of ops.
  bool is_refusal(const std::string& error) const {
    return call_.last().how == "ops" && contains_text(error, "(): vmap: ");
  }

  void compare_layouts(uint64_t mask) {
    for (const Layout& layout : kLayouts) {
      if (call_.changes() && layout.repeats) continue;
      BatchPlaces places = at(mask, kSamples, false);
      places.layout = layout.name;
      if (!compare("batch-layout", places, &layout)) return;
    }
  }

  // All operands in both levels; then each in one level and the others in the other one.
  void compare_nested(const std::vector<uint64_t>& masks) {
    const uint64_t all = masks.back();
    std::vector<std::pair<uint64_t, uint64_t>> pairs{{all, all}};
    for (const uint64_t mask : masks) {
      if (mask == all || (masks.size() > 7 && (mask & (mask - 1)) != 0)) continue;
      if (!call_.changes()) pairs.emplace_back(mask, all & ~mask);
      pairs.emplace_back(all, mask);
    }
    for (const auto& [outer, inner] : pairs) {
      if (!compare("batch-nested", nested(outer, inner))) return;
    }
  }
  BatchPlaces nested(uint64_t outer, uint64_t inner) const {
    BatchPlaces places{{2, kSamples}, {}, ""};
    for (size_t t = 0; t < call_.tensors(); ++t)
      places.dims.push_back({(outer >> t & 1) != 0 ? 0 : -1, (inner >> t & 1) != 0 ? 0 : -1});
    return places;
  }

  // ---- derivatives ----

  // Operands of one call, whose leaves are in `leaves`.
  std::vector<Tensor> leaves_of(const std::vector<Tensor>& wholes, std::vector<Tensor>& leaves) {
    std::vector<Tensor> given;
    for (size_t t = 0; t < wholes.size(); ++t) {
      given.push_back(wholes[t].detach());
      if (!call_.requires_grad(t)) continue;
      given.back().requires_grad_();
      leaves.push_back(given.back());
    }
    return given;
  }
  static std::vector<Tensor> gradients_of(const std::vector<Tensor>& results,
                                          const std::vector<Tensor>& leaves, bool graph) {
    std::vector<Tensor> roots;
    tenon::GradientOptions options;
    for (size_t r = 0; r < results.size(); ++r) {
      if (!results[r].defined() || !results[r].requires_grad()) continue;
      roots.push_back(results[r]);
      options.seeds.push_back(tenon::detail::arbitrary_like(results[r].detach(), r + 1));
    }
    if (roots.empty()) return std::vector<Tensor>(leaves.size());
    options.allow_unused = true;
    options.create_graph = graph;
    return tenon::gradients(roots, leaves, options);
  }
  // An undefined gradient counts as zeros.
  static std::vector<Tensor> filled(std::vector<Tensor> gradients,
                                    const std::vector<Tensor>& leaves) {
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined())
        gradients[i] = tenon::zeros(leaves[i].sizes(), leaves[i].dtype());
    }
    return gradients;
  }

  using Derivative = std::vector<Tensor> (Batching::*)(const BatchPlaces&,
                                                       const std::vector<Tensor>&, bool);
  std::vector<Tensor> results(const BatchPlaces& places, const std::vector<Tensor>& given,
                              bool by_vmap) {
    BatchResult result =
        by_vmap ? call_.by_vmap(places, given) : call_.by_loop(places, given, true);
    if (!result.error.empty()) throw tenon::RuntimeError(result.error);
    return result.tensors;
  }
  std::vector<Tensor> gradient(const BatchPlaces& places, const std::vector<Tensor>& wholes,
                               bool by_vmap) {
    const tenon::EnableGrad scope;
    std::vector<Tensor> leaves;
    const std::vector<Tensor> given = leaves_of(wholes, leaves);
    return filled(gradients_of(results(places, given, by_vmap), leaves, false), leaves);
  }
  std::vector<Tensor> second_gradient(const BatchPlaces& places, const std::vector<Tensor>& wholes,
                                      bool by_vmap) {
    const tenon::EnableGrad scope;
    std::vector<Tensor> leaves;
    const std::vector<Tensor> given = leaves_of(wholes, leaves);
    const std::vector<Tensor> first = gradients_of(results(places, given, by_vmap), leaves, true);
    return filled(gradients_of(first, leaves, false), leaves);
  }
  std::vector<Tensor> tangent(const BatchPlaces& places, const std::vector<Tensor>& wholes,
                              bool by_vmap) {
    const tenon::DualLevel level;
    std::vector<Tensor> given;
    for (size_t t = 0; t < wholes.size(); ++t) {
      given.push_back(wholes[t].detach());
      if (call_.requires_grad(t))
        given.back() =
            tenon::make_dual(given.back(), tenon::detail::arbitrary_like(given.back(), t + 1));
    }
    std::vector<Tensor> tangents;
    for (const Tensor& result : results(places, given, by_vmap)) {
      if (!tenon::is_differentiable(result.dtype())) continue;
      const tenon::Dual dual = tenon::unpack_dual(result);
      tangents.push_back(dual.tangent.defined() ? copied(dual.tangent)
                                                : tenon::zeros(result.sizes(), result.dtype()));
    }
    return tangents;
  }

  void compare_derivative(const char* kind, const char* what, Derivative of,
                          const BatchPlaces& places) {
    if (check_.found.count(kind) > 0) return;
    std::vector<Tensor> expected, found;
    const std::vector<Tensor> wholes = call_.wholes(places);
    try {
      expected = (this->*of)(places, wholes, false);
    } catch (const tenon::Error&) {
      return;  // the op's own matter
    }
    try {
      found = (this->*of)(places, wholes, true);
    } catch (const tenon::Error& error) {
      if (call_.last().has_rule() && !is_refusal(error.what()))
        find(kind, places, format_text("{} raises: {}", what, error.what()));
      return;
    }
    // Tangents have the batch in front, as results do.
    const size_t levels = of == &Batching::tangent ? places.sizes.size() : 0;
    const Breach breach = breach_of(found, expected, what, levels);
    if (!breach.text.empty()) find(kind, places, breach.text);
  }
  void compare_derivatives(const BatchPlaces& places) {
    if (sample_.gradcheck.check_backward_ad)
      compare_derivative("batch-gradient", "gradient", &Batching::gradient, places);
    if (sample_.gradcheck.check_forward_ad)
      compare_derivative("batch-tangent", "tangent", &Batching::tangent, places);
    if (sample_.gradcheck.check_backward_ad && check_.found.empty() &&
        check_.op.double_backward != "once")
      compare_derivative("batch-second-order", "gradient of gradients", &Batching::second_gradient,
                         places);
  }
  void compare_nested_gradient(uint64_t all) {
    if (check_.found.empty() && sample_.gradcheck.check_backward_ad)
      compare_derivative("batch-gradient", "gradient", &Batching::gradient, nested(all, all));
  }

  OpCheck& check_;
  const Sample& sample_;
  BatchedCall call_;
  bool ruled_ = false;
};

}  // namespace

void check_batching(OpCheck& check) {
  size_t left = kMostSamples;
  for (const Sample& sample : check.samples) {
    if (!sample.deterministic || left == 0) continue;
    --left;
    Batching(check, sample).run();
    if (!check.found.empty()) return;
  }
}

}  // namespace cli

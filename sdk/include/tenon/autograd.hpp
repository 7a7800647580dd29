// Backward, gradients and forward mode.
#pragma once

#include <vector>

#include "tenon/grad_mode.hpp"
#include "tenon/graph.hpp"
#include "tenon/hooks.hpp"
#include "tenon/tensor.hpp"

TENON_NAMESPACE_BEGIN

// Scope: recorded calls remember where they were made, and an error of backward names the op, its
// plugin and that place; with `check_nan` a gradient that is not a number is an error. Slow.
class AnomalyMode {
 public:
  explicit AnomalyMode(bool check_nan = true)  // also finds NaN
      : previous_(service::autograd().anomaly_mode_set(check_nan ? 2 : 1)) {}
  ~AnomalyMode() { service::autograd().anomaly_mode_set(previous_); }
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;
  static bool enabled() { return service::autograd().anomaly_mode() != 0; }  // for this thread

 private:
  int32_t previous_;
};

namespace detail {
inline tenon_tensor* const* handles(const std::vector<Tensor>& tensors) {
  return reinterpret_cast<tenon_tensor* const*>(tensors.data());
}
}  // namespace detail

struct BackwardOptions {
  std::vector<Tensor> seeds;  // one for each root; may be empty when the roots are scalars
  bool retain_graph = false;  // the graph stays for another backward
  bool create_graph = false;  // gradients are recorded
};
// Accumulates gradients of the roots into the leaves' .grad, or only into `inputs` when given.
inline void backward(const std::vector<Tensor>& roots, const BackwardOptions& options = {},
                     const std::vector<Tensor>* inputs = nullptr) {
  if (!options.seeds.empty() && options.seeds.size() != roots.size()) {
    detail::throw_message(TENON_ERROR_ARGUMENT, {"backward(): got ", options.seeds.size(),
                                                 " seeds for ", roots.size(), " roots"});
  }
  detail::check(service::autograd().backward, detail::handles(roots),
                options.seeds.empty() ? nullptr : detail::handles(options.seeds),
                static_cast<int64_t>(roots.size()),
                inputs == nullptr ? nullptr : detail::handles(*inputs),
                inputs == nullptr ? int64_t{-1} : static_cast<int64_t>(inputs->size()),
                options.retain_graph ? 1 : 0, options.create_graph ? 1 : 0);
}

struct GradientOptions {           // options of tenon::grad
  std::vector<Tensor> seeds;       // gradients of the outputs; none: 1 for scalars
  bool retain_graph = false;       // the graph stays for another backward
  bool create_graph = false;       // gradients are recorded
  bool allow_unused = false;       // undefined gradients of unused inputs, not an error
  bool materialize_grads = false;  // zeros for unused inputs, which are allowed then
  // With create_graph: further derivatives of gradients of ops that are differentiable once are
  // errors for seeds without gradients, too, for which these gradients are constants otherwise.
  bool refuse_constants = false;
};
// The gradients of the roots with respect to `inputs`; .grad is never touched. Unused inputs are an
// error, or undefined when allowed, or zeros.
inline std::vector<Tensor> gradients(const std::vector<Tensor>& roots,
                                     const std::vector<Tensor>& inputs,
                                     const GradientOptions& options = {}) {
  if (!options.seeds.empty() && options.seeds.size() != roots.size()) {
    detail::throw_message(TENON_ERROR_ARGUMENT, {"gradients(): got ", options.seeds.size(),
                                                 " seeds for ", roots.size(), " roots"});
  }
  std::vector<Tensor> results(inputs.size());
  detail::check(service::autograd().gradients, detail::handles(roots),
                options.seeds.empty() ? nullptr : detail::handles(options.seeds),
                static_cast<int64_t>(roots.size()), detail::handles(inputs),
                static_cast<int64_t>(inputs.size()), options.retain_graph ? 1 : 0,
                !options.create_graph      ? 0
                : options.refuse_constants ? 2
                                           : 1,
                options.materialize_grads ? 2
                : options.allow_unused    ? 1
                                          : 0,
                reinterpret_cast<tenon_tensor**>(results.data()));
  return results;
}

inline void Tensor::backward(const Tensor& seed, bool retain_graph, bool create_graph) const {
  tenon_tensor* root = handle_;
  tenon_tensor* given = seed.handle();
  detail::check(service::autograd().backward, &root, &given, int64_t{1},
                static_cast<tenon_tensor* const*>(nullptr), int64_t{-1},
                retain_graph || create_graph ? 1 : 0, create_graph ? 1 : 0);
}

// Forward mode: tensors made dual inside a level carry tangents through ops until the level ends.
// Levels nest: inside of another one, a tangent carries those of the outer level, so the parts of
// a result that belong to both are the outer tangent of its inner tangent.
class DualLevel {
 public:
  DualLevel() { detail::check(service::autograd().dual_level_enter); }
  ~DualLevel() { service::autograd().dual_level_exit(nullptr); }
  DualLevel(const DualLevel&) = delete;
  DualLevel& operator=(const DualLevel&) = delete;
};
inline Tensor make_dual(const Tensor& primal, const Tensor& tangent) {  // carries the tangent
  tenon_tensor* result = nullptr;
  detail::check(service::autograd().dual_make, primal.handle(), tangent.handle(), &result);
  return Tensor::take(result);
}
struct Dual {              // a value and its tangent
  Tensor primal, tangent;  // `tangent` is undefined where there is none
};
inline Dual unpack_dual(const Tensor& dual) {  // at the innermost level
  tenon_tensor *primal = nullptr, *tangent = nullptr;
  detail::check(service::autograd().dual_unpack, dual.handle(), &primal, &tangent);
  return {Tensor::take(primal), Tensor::take(tangent)};
}

TENON_NAMESPACE_END

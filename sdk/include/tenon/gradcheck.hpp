// Numeric gradient checks: backward, forward mode and double backward against central differences.
//
//   gradcheck([](const Tensor& x) { return x * x; }, {x});
//   gradgradcheck([](const std::vector<Tensor>& in) { return mul(in[0], in[1]); }, {a, b});
//   gradcheck(Op("add"), {a, b}, {.atol = 1e-4});   // designated initializers: C++20
//   gradcheck(configure("my.scale", arg("by") = 2.0), {a});
//
// The function takes its inputs as tensors or as one vector, and returns a Tensor or a vector of
// them. Inputs should be f64 or c128; those that require grad are checked, element by element. A
// complex element counts as two numbers, its parts, in inputs, outputs and both Jacobians. Not part
// of the umbrella headers.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tenon/configure.hpp"
#include "tenon/gradcheck_report.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

inline std::vector<Tensor> as_list(Tensor result) { return {std::move(result)}; }
inline std::vector<Tensor> as_list(std::vector<Tensor> result) { return result; }
template <class... T>
std::vector<Tensor> as_list(const std::tuple<T...>& results) {
  return std::apply([](const auto&... parts) { return std::vector<Tensor>{parts...}; }, results);
}

template <class F, size_t... I>
constexpr bool takes_tensors(std::index_sequence<I...>) {
  return std::is_invocable_v<F, std::conditional_t<(I >= 0), const Tensor&, void>...>;
}
template <class F, size_t... I>
std::vector<Tensor> spread(F& function, const std::vector<Tensor>& inputs,
                           std::index_sequence<I...>) {
  return as_list(function(inputs[I]...));
}
template <size_t Count, class F>
std::vector<Tensor> call_spread(F& function, const std::vector<Tensor>& inputs) {
  using Indices = std::make_index_sequence<Count>;
  if constexpr (takes_tensors<F&>(Indices{})) {
    if (inputs.size() != Count) {
      throw ArgumentError("gradcheck(): the function takes " + std::to_string(Count) +
                          " tensors, but " + std::to_string(inputs.size()) + " inputs are given");
    }
    return spread(function, inputs, Indices{});
  } else {
    static_assert(Count < 8, "the function must take a vector of tensors, or one to eight tensors");
    return call_spread<Count + 1>(function, inputs);
  }
}

template <class F>
CheckedFunction checked_function(F function) {
  return [function](const std::vector<Tensor>& inputs) mutable -> std::vector<Tensor> {
    if constexpr (std::is_same_v<F, Op> || std::is_same_v<F, ConfiguredOp>) {
      std::vector<tenon_value> values;
      values.reserve(inputs.size());
      for (const Tensor& input : inputs) values.push_back(Argument(input).value());
      const auto count = static_cast<int64_t>(values.size());
      tenon_value results[max_results] = {};
      if constexpr (std::is_same_v<F, Op>)
        check(service::ops().call, function.handle(), values.data(), count,
              static_cast<tenon_value*>(results));
      else
        function.call_values(values.data(), count, results);
      std::vector<Tensor> tensors;
      for (const tenon_value& result : results) {
        Value value(result);
        if (value.is_tensor())
          tensors.push_back(value.tensor());
        else if (result.tag == TENON_VALUE_TENSOR_LIST)
          for (Tensor& item : value.tensors()) tensors.push_back(item);
      }
      return tensors;
    } else if constexpr (std::is_invocable_v<F&, const std::vector<Tensor>&>) {
      return as_list(function(inputs));
    } else {
      return call_spread<1>(function, inputs);
    }
  };
}

class GradientChecker : private GradcheckReport {
 public:
  GradientChecker(const char* name, const CheckedCall& call, const std::vector<Tensor>& inputs,
                  const GradcheckOptions& options, size_t grad_outputs = 0)
      : GradcheckReport(name, call, inputs, options, grad_outputs) {
    // Forward mode alone asks for no history, and the op may have no backward. The second order
    // differentiates inside of its function.
    if (options.check_backward_ad || grad_outputs != 0) return;
    for (Tensor& input : given_) {
      if (input.defined()) input = input.detach();
    }
  }

  bool run() {
    check_inputs();
    try {
      check_all();
      return true;
    } catch (const GradcheckFailure& failure) {
      if (!options_.raise_exception) return false;
      throw GradcheckError(failure.message);
    }
  }

 private:
  void check_inputs() {
    if (options_.check_batched_grad) {
      throw ArgumentError(std::string(name_) +
                          "(): check_batched_grad is asked for, but ops have no batching rules; "
                          "leave it off");
    }
    if (!options_.check_backward_ad && !options_.check_forward_ad) {
      throw ArgumentError(std::string(name_) +
                          "(): check_backward_ad and check_forward_ad are both off, so nothing "
                          "would be checked: leave one of them on");
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Tensor& input = inputs_[i];
      require_data(input, "input " + std::to_string(i),
                   "pass the tensors that it is made of, and make it inside of the function");
      if (!input.defined() || !is_differentiable(input.dtype()) || !input.requires_grad()) continue;
      checked_.push_back(i);
      for (int64_t d = 0; d < input.dim(); ++d) {
        if (input.strides()[d] == 0 && input.shape()[d] > 1) {
          throw ArgumentError(std::string(name_) + "(): dimension " + std::to_string(d) +
                              " of input " + std::to_string(i) +
                              " has stride 0, so its elements cannot be changed one by one: "
                              "pass a contiguous copy, and expand inside of the function");
        }
      }
      if (real_dtype(input.dtype()) == f32) {
        warn("input " + std::to_string(i) + " is " + dtype_text(input.dtype()) +
             "; differences are reliable in f64 only");
      }
      if (overlaps(input)) {
        warn("elements of input " + std::to_string(i) +
             " share their memory: changing one changes others, and the differences with it; pass "
             "a contiguous copy");
      }
    }
    if (checked_.empty()) {
      throw ArgumentError(
          std::string(name_) +
          "(): no input requires grad: call requires_grad_() on at least one floating or complex "
          "input");
    }
  }

  void check_all() {
    {
      const EnableGrad scope;
      outputs_ = function_(given_);
    }
    const std::vector<Tensor>& outputs = outputs_;
    std::vector<size_t> differentiable;
    const bool by_history = options_.check_backward_ad;
    for (size_t o = 0; o < outputs.size(); ++o) {
      require_data(outputs[o], "output " + std::to_string(o),
                   "return ensure_tensor() of it from the function");
      if (outputs[o].defined() && is_differentiable(outputs[o].dtype()) &&
          (!by_history || outputs[o].requires_grad())) {
        differentiable.push_back(o);
      }
    }
    if (options_.fast_mode) {
      try {
        check_directions(outputs, differentiable);
        if (options_.check_backward_ad && options_.check_undefined_grad && !differentiable.empty())
          check_absent_gradients(outputs, differentiable);
        return;
      } catch (const GradcheckFailure&) {  // the full form says where
      }
    }
    const auto numerical = numerical_jacobians(outputs);
    if (differentiable.empty()) {
      for (const auto& of_input : numerical) {
        for (const Jacobian& jacobian : of_input) {
          for (const double value : jacobian.values) {
            if (std::abs(value) > options_.atol) {
              throw GradcheckFailure{
                  std::string(name_) +
                  "(): no output requires grad, but the numerical gradient "
                  "is not zero: the function cuts the graph, or an op in it has no gradient"};
            }
          }
        }
      }
      return;
    }
    if (options_.check_backward_ad) {
      for (const size_t o : differentiable) check_backward(outputs, o, numerical);
      if (options_.check_undefined_grad) check_absent_gradients(outputs, differentiable);
    }
    if (options_.check_forward_ad) check_forward(outputs, numerical);
  }

  // ---- fast mode ----
  static double product(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  void check_directions(const std::vector<Tensor>& outputs,
                        const std::vector<size_t>& differentiable) const {
    std::vector<std::vector<double>> v;
    for (size_t o = 0; o < outputs.size(); ++o) {
      const bool counts = outputs[o].defined() && is_differentiable(outputs[o].dtype());
      v.push_back(arbitrary_numbers(counts ? number_count(outputs[o]) : 0, seed_ + 2 * o));
    }
    const auto compare_numbers = [&](double numerical, double analytical, size_t o, size_t c) {
      // Errors of single entries add up like random steps.
      const double entries = std::sqrt(static_cast<double>(v[o].size()) *
                                       static_cast<double>(number_count(inputs_[checked_[c]])));
      const double room =
          options_.atol * std::max(1.0, entries) + options_.rtol * std::abs(numerical);
      if (!(analytical == numerical || std::abs(analytical - numerical) <= room))
        throw GradcheckFailure{"fast mode"};
    };
    for (size_t c = 0; c < checked_.size(); ++c) {
      const Tensor& input = inputs_[checked_[c]];
      const std::vector<double> u = arbitrary_numbers(number_count(input), seed_ + 2 * c + 1);
      std::vector<double> numerical(outputs.size());
      {
        Move move(input, u);
        for (const double sign : {1.0, -1.0}) {
          move.by(sign * options_.eps);
          const std::vector<Tensor> there = evaluate();
          for (size_t o = 0; o < outputs.size(); ++o) {
            if (!v[o].empty())
              numerical[o] += sign * product(v[o], numbers_of(there[o])) / (2 * options_.eps);
          }
        }
      }
      if (differentiable.empty()) {
        for (size_t o = 0; o < outputs.size(); ++o) compare_numbers(numerical[o], 0, o, c);
        continue;
      }
      for (const size_t o : differentiable) {
        if (!options_.check_backward_ad) break;
        const Tensor seed = tensor_of(v[o], outputs[o]);
        const Tensor first = backward_once(outputs[o], seed)[c],
                     second = backward_once(outputs[o], seed)[c];
        check_dtype(first, o, c);
        const std::vector<double> values = numbers_of(first), again = numbers_of(second);
        for (size_t i = 0; i < values.size(); ++i)
          check_repeatable(values[i], again.empty() ? 0 : again[i], o, c);
        compare_numbers(numerical[o], product(values, u), o, c);
      }
      if (!options_.check_forward_ad) continue;
      const DualLevel level;
      std::vector<Tensor> duals = given_;
      duals[checked_[c]] = make_dual(duals[checked_[c]], tensor_of(u, input));
      const std::vector<Tensor> results = call(duals);
      for (size_t o = 0; o < outputs.size(); ++o) {
        if (v[o].empty()) continue;
        compare_numbers(numerical[o], product(numbers_of(unpack_dual(results[o]).tangent), v[o]), o,
                        c);
      }
    }
  }

  // [checked input][output]
  using Jacobians = std::vector<std::vector<Jacobian>>;
  Jacobians empty_jacobians(const std::vector<Tensor>& outputs) const {
    Jacobians all(checked_.size());
    for (size_t c = 0; c < checked_.size(); ++c) {
      for (const Tensor& output : outputs) {
        const bool counts = output.defined() && is_differentiable(output.dtype());
        all[c].emplace_back(number_count(inputs_[checked_[c]]), counts ? number_count(output) : 0);
      }
    }
    return all;
  }
  Jacobians numerical_jacobians(const std::vector<Tensor>& outputs) const {
    Jacobians all = empty_jacobians(outputs);
    for (size_t c = 0; c < checked_.size(); ++c) {
      const Tensor& input = inputs_[checked_[c]];
      for (int64_t i = 0; i < number_count(input); ++i) {
        Shift shift(input, i);
        shift.by(options_.eps);
        std::vector<std::vector<double>> above;
        for (const Tensor& output : evaluate()) above.push_back(numbers_of(output));
        shift.by(-options_.eps);
        const std::vector<Tensor> below = evaluate();
        for (size_t o = 0; o < outputs.size(); ++o) {
          Jacobian& jacobian = all[c][o];
          const std::vector<double> low = numbers_of(below[o]);
          for (int64_t k = 0; k < jacobian.outputs; ++k) {
            const auto at = static_cast<size_t>(k);
            jacobian.at(i, k) = (above[o][at] - low[at]) / (2 * options_.eps);
          }
        }
      }
    }
    return all;
  }

  std::vector<Tensor> checked_inputs() const {
    std::vector<Tensor> list;
    for (const size_t i : checked_) list.push_back(inputs_[i]);
    return list;
  }
  std::vector<Tensor> backward_once(const Tensor& output, const Tensor& seed) const {
    GradientOptions options;
    options.seeds = {seed};
    options.retain_graph = true;
    options.allow_unused = true;
    return gradients({output}, checked_inputs(), options);
  }
  // Zeros with a one in the place of number k.
  static Tensor unit(const Tensor& like, int64_t k) {
    Tensor result = empty_tensor(like.shape(), like.dtype());
    fill_elements(result, 0);
    if (k < 0) return result;
    void* data = result.view_record().data;
    if (real_dtype(result.dtype()) == f32)
      static_cast<float*>(data)[k] = 1;
    else
      static_cast<double*>(data)[k] = 1;
    return result;
  }

  void check_backward(const std::vector<Tensor>& outputs, size_t o,
                      const Jacobians& numerical) const {
    const Tensor& output = outputs[o];
    Jacobians analytical = empty_jacobians(outputs);
    for (int64_t k = 0; k < number_count(output); ++k) {
      const Tensor seed = unit(output, k);
      const std::vector<Tensor> first = backward_once(output, seed),
                                second = backward_once(output, seed);
      for (size_t c = 0; c < checked_.size(); ++c) {
        if (!first[c].defined()) continue;
        check_dtype(first[c], o, c);
        const std::vector<double> values = numbers_of(first[c]), again = numbers_of(second[c]);
        for (int64_t i = 0; i < number_count(inputs_[checked_[c]]); ++i) {
          const auto at = static_cast<size_t>(i);
          analytical[c][o].at(i, k) = values[at];
          check_repeatable(values[at], again.empty() ? 0 : again[at], o, c);
        }
      }
    }
    for (size_t c = 0; c < checked_.size(); ++c) {
      compare("Jacobian", numerical[c][o], analytical[c][o], o, c);
    }
  }
  void check_dtype(const Tensor& gradient, size_t o, size_t c) const {
    const Tensor& input = inputs_[checked_[c]];
    if (!options_.check_grad_dtypes || !gradient.defined() || gradient.dtype() == input.dtype())
      return;
    throw GradcheckFailure{"the gradient of output " + std::to_string(o) +
                           " with respect to input " + std::to_string(checked_[c]) + " has dtype " +
                           dtype_text(gradient.dtype()) + ", but the input has " +
                           dtype_text(input.dtype())};
  }
  void check_repeatable(double a, double b, size_t o, size_t c) const {
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= options_.nondet_tol)
      return;
    throw GradcheckFailure{
        "Backward is not reentrant: run twice with the same gradient of output " +
        std::to_string(o) + " it gave " + number_text(a) + " and " + number_text(b) +
        " for input " + std::to_string(checked_[c]) + ", which differ by " +
        number_text(std::abs(a - b)) + ", more than nondet_tol (" +
        number_text(options_.nondet_tol) + ")"};
  }
  // Gradients of zero, and none at all, as a Function with set_materialize_grads(false) sees them.
  void check_absent_gradients(const std::vector<Tensor>& outputs,
                              const std::vector<size_t>& differentiable) const {
    std::vector<Tensor> roots, unreached;
    for (const size_t o : differentiable) {
      roots.push_back(outputs[o]);
      unreached.push_back(without_gradient(outputs[o]));
    }
    check_gives_zero("gradients of zero", roots);
    try {
      check_gives_zero("undefined gradients", unreached);
    } catch (const Error& error) {
      throw GradcheckFailure{
          std::string("backward fails when its gradients are undefined, as they may be after "
                      "set_materialize_grads(false): ") +
          error.what()};
    }
  }
  // A tensor through which no gradient goes back, although backward takes that way.
  static Tensor without_gradient(const Tensor& output) {
    static const Op clone("clone"), overwrite("copy_");
    const EnableGrad scope;
    return overwrite.call<Tensor>(clone.call<Tensor>(output), output.detach());
  }
  void check_gives_zero(const std::string& what, const std::vector<Tensor>& roots) const {
    GradientOptions options;
    options.retain_graph = options.allow_unused = true;
    for (const Tensor& root : roots) options.seeds.push_back(unit(root, -1));
    const std::vector<Tensor> results = gradients(roots, checked_inputs(), options);
    for (size_t c = 0; c < checked_.size(); ++c) {
      for (const double value : numbers_of(results[c])) {
        if (value == 0 || std::isnan(value)) continue;
        throw GradcheckFailure{what + " must give zero, but input " + std::to_string(checked_[c]) +
                               " got " + number_text(value) + ": backward adds something"};
      }
    }
  }
  void check_forward(const std::vector<Tensor>& outputs, const Jacobians& numerical) const {
    Jacobians analytical = empty_jacobians(outputs);
    for (size_t c = 0; c < checked_.size(); ++c) {
      const Tensor& input = inputs_[checked_[c]];
      for (int64_t i = 0; i < number_count(input); ++i) {
        const DualLevel level;
        std::vector<Tensor> duals = given_;
        duals[checked_[c]] = make_dual(duals[checked_[c]], unit(input, i));
        const std::vector<Tensor> results = call(duals);
        for (size_t o = 0; o < outputs.size(); ++o) {
          Jacobian& jacobian = analytical[c][o];
          if (jacobian.outputs == 0) continue;
          const std::vector<double> tangent = numbers_of(unpack_dual(results[o]).tangent);
          for (int64_t k = 0; k < jacobian.outputs && !tangent.empty(); ++k) {
            jacobian.at(i, k) = tangent[static_cast<size_t>(k)];
          }
        }
      }
      for (size_t o = 0; o < outputs.size(); ++o) {
        compare("Jacobian computed with forward mode", numerical[c][o], analytical[c][o], o, c);
      }
    }
  }
};

template <class F>
CheckedCall checked_call(F function) {
  CheckedCall call;
  if constexpr (std::is_same_v<F, Op>) {
    call.name = function.name();
    call.code = "tenon::Op(\"" + call.name + "\")";
  } else if constexpr (std::is_same_v<F, ConfiguredOp>) {
    call.name = function.op().name();
    call.code = "tenon::configure(\"" + call.name + "\", ...)";
  }
  call.function = checked_function(std::move(function));
  return call;
}

}  // namespace detail

// Compares the gradients of `function` at `inputs` with central differences. True when all are
// close; else a GradcheckError that shows both Jacobians, the worst entries and the likely cause,
// or false when raise_exception is off.
template <class F>
bool gradcheck(F function, const std::vector<Tensor>& inputs,
               const GradcheckOptions& options = {}) {
  return detail::GradientChecker("gradcheck", detail::checked_call(std::move(function)), inputs,
                                 options)
      .run();
}

// Checks the gradients of the gradients: the second order. `grad_outputs` are the gradients of the
// function's outputs to start from; arbitrary ones when left out.
template <class F>
bool gradgradcheck(F function, const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options = {}, std::vector<Tensor> grad_outputs = {}) {
  detail::CheckedCall checked = detail::checked_call(std::move(function));
  const detail::CheckedFunction call = checked.function;
  const auto usable = [](const Tensor& t) {
    return t.defined() && is_differentiable(t.dtype()) && t.requires_grad();
  };
  if (grad_outputs.empty()) {
    const EnableGrad scope;
    for (const Tensor& output : call(inputs)) {
      if (!usable(output)) continue;
      grad_outputs.push_back(detail::arbitrary_like(output, grad_outputs.size() + 1));
      grad_outputs.back().requires_grad_();
    }
  }
  std::vector<Tensor> all = inputs;
  all.insert(all.end(), grad_outputs.begin(), grad_outputs.end());
  const size_t input_count = inputs.size();
  checked.function = [call, usable, input_count](const std::vector<Tensor>& given) {
    const EnableGrad scope;
    const std::vector<Tensor> own(given.begin(),
                                  given.begin() + static_cast<std::ptrdiff_t>(input_count));
    std::vector<Tensor> roots, leaves;
    for (const Tensor& output : call(own)) {
      if (usable(output)) roots.push_back(output);
    }
    for (const Tensor& input : own) {
      if (usable(input)) leaves.push_back(input);
    }
    GradientOptions gradient_options;
    gradient_options.seeds.assign(given.begin() + static_cast<std::ptrdiff_t>(input_count),
                                  given.end());
    gradient_options.create_graph = gradient_options.allow_unused = true;
    std::vector<Tensor> results(leaves.size());
    if (!roots.empty()) results = gradients(roots, leaves, gradient_options);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].defined()) continue;
      results[i] = empty_tensor(leaves[i].shape(), leaves[i].dtype());
      fill_elements(results[i], 0);
    }
    return results;
  };
  return detail::GradientChecker("gradgradcheck", checked, all, options, grad_outputs.size()).run();
}

TENON_NAMESPACE_END

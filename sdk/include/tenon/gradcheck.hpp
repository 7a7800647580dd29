// Numeric gradient checks: backward, forward mode and double backward against central differences.
//
//   gradcheck([](const Tensor& x) { return x * x; }, {x});
//   gradgradcheck([](const std::vector<Tensor>& in) { return mul(in[0], in[1]); }, {a, b});
//   gradcheck(Op("add"), {a, b}, {.atol = 1e-4});   // designated initializers: C++20
//
// The function takes its inputs as tensors or as one vector, and returns a Tensor or a vector of
// them. Inputs should be f64; those that require grad are checked, element by element. Not part of
// the umbrella headers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tenon/autograd.hpp"
#include "tenon/op.hpp"

TENON_NAMESPACE_BEGIN

struct GradcheckOptions {
  double eps = 1e-6;  // step of the differences
  double atol = 1e-5, rtol = 1e-3;
  // False: a mismatch returns false. Wrong use and the function's own errors throw all the same.
  bool raise_exception = true;
  double nondet_tol = 0;             // how much two runs of one backward may differ
  bool check_undefined_grad = true;  // gradients of zero must give zero
  bool check_grad_dtypes = false;    // gradients must have their input's dtype
  bool check_batched_grad = false;   // ArgumentError when true: there are no batching rules
  bool check_forward_ad = false;
  bool check_backward_ad = true;
  // Compares v^T J u for two fixed directions instead of all of J: for large inputs. Where that
  // fails the full form decides, and reports.
  bool fast_mode = false;
  // What fast mode's directions are drawn from; an Op's own name when empty.
  std::string name = {};
};

namespace detail {

using CheckedFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

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
    if constexpr (std::is_same_v<F, Op>) {
      std::vector<tenon_value> values;
      for (const Tensor& input : inputs) values.push_back(Argument(input).value());
      const auto result_count = static_cast<size_t>(host().op_result_count(function.handle()));
      std::vector<tenon_value> results(result_count == 0 ? 1 : result_count);
      check(host().op_call, function.handle(), values.data(), static_cast<int64_t>(values.size()),
            results.data());
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

// A check that failed; not an Error, so that those of the function pass through untouched.
struct GradcheckFailure {
  std::string message;
};

inline std::string number_text(double number) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.6g", number);
  return buffer;
}

// d output[k] / d input[i] at [i * outputs + k].
struct Jacobian {
  int64_t inputs = 0, outputs = 0;
  std::vector<double> values;
  Jacobian(int64_t input_count, int64_t output_count)
      : inputs(input_count),
        outputs(output_count),
        values(static_cast<size_t>(input_count * output_count)) {}
  double& at(int64_t i, int64_t k) { return values[static_cast<size_t>(i * outputs + k)]; }
  double at(int64_t i, int64_t k) const { return values[static_cast<size_t>(i * outputs + k)]; }
  std::string text() const {
    const int64_t shape[] = {inputs, outputs};
    return from_buffer(values.data(), IntList(shape, 2)).text();
  }
};

inline char* element_place(const Tensor& input, int64_t element) {
  int64_t offset = 0;
  for (int64_t d = input.dim() - 1; d >= 0; --d) {
    offset += element % input.shape()[d] * input.strides()[d];
    element /= input.shape()[d];
  }
  return static_cast<char*>(input.view_record().data) + offset * element_size(input.dtype());
}

// Shifts one element of an input, and puts it back whatever happens.
class Shift {
 public:
  Shift(const Tensor& input, int64_t element)
      : single_(input.dtype() == f32), place_(element_place(input, element)) {
    original_ = single_ ? static_cast<double>(*reinterpret_cast<float*>(place_))
                        : *reinterpret_cast<double*>(place_);
  }
  ~Shift() { by(0); }
  Shift(const Shift&) = delete;
  Shift& operator=(const Shift&) = delete;
  void by(double step) {
    if (single_)
      *reinterpret_cast<float*>(place_) = static_cast<float>(original_ + step);
    else
      *reinterpret_cast<double*>(place_) = original_ + step;
  }

 private:
  bool single_;
  char* place_;
  double original_;
};

// Moves a whole input along a direction, and puts it back whatever happens.
class Move {
 public:
  Move(const Tensor& input, const std::vector<double>& direction) : direction_(direction) {
    shifts_.reserve(direction.size());
    for (int64_t i = 0; i < input.numel(); ++i)
      shifts_.push_back(std::make_unique<Shift>(input, i));
  }
  void by(double step) {
    for (size_t i = 0; i < shifts_.size(); ++i) shifts_[i]->by(step * direction_[i]);
  }

 private:
  const std::vector<double>& direction_;
  std::vector<std::unique_ptr<Shift>> shifts_;
};

// Repeatable numbers between -1 and 1, away from 0.
inline std::vector<double> arbitrary_numbers(int64_t count, uint64_t seed) {
  std::vector<double> numbers;
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double uniform = static_cast<double>(state >> 11) * 0x1p-53;
    numbers.push_back(uniform < 0.5 ? uniform - 1 : uniform);
  }
  return numbers;
}
inline Tensor tensor_of(const std::vector<double>& numbers, const Tensor& like) {
  const Tensor result = empty_tensor(like.shape(), like.dtype());
  visit(like.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::transform(numbers.begin(), numbers.end(), result.data<T>(),
                   [](double number) { return static_cast<T>(number); });
  });
  return result;
}
inline Tensor arbitrary_like(const Tensor& like, uint64_t seed) {
  return tensor_of(arbitrary_numbers(like.numel(), seed), like);
}

// Whether two elements may share a place; a stride of 0 is refused before.
inline bool overlaps(const Tensor& input) {
  std::vector<std::pair<int64_t, int64_t>> dimensions;  // stride, size
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (input.shape()[d] > 1)
      dimensions.emplace_back(std::abs(input.strides()[d]), input.shape()[d]);
  }
  std::sort(dimensions.begin(), dimensions.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : dimensions) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

// What is checked: the function, and how code would write it.
struct CheckedCall {
  CheckedFunction function;
  std::string code = "function", name = {};
};

class GradientChecker {
 public:
  GradientChecker(const char* name, const CheckedCall& call, const std::vector<Tensor>& inputs,
                  const GradcheckOptions& options, size_t grad_outputs = 0)
      : name_(name),
        function_(call.function),
        code_(call.code),
        inputs_(inputs),
        grad_outputs_(grad_outputs),
        options_(options) {
    for (const char c : options.name.empty() ? call.name : options.name)
      seed_ = (seed_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
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
  void warn(const std::string& text) const {
    const std::string whole = std::string(name_) + "(): " + text;
    host().log(3, "gradcheck", whole.data(), static_cast<int64_t>(whole.size()));
  }
  void check_inputs() {
    if (options_.check_batched_grad) {
      throw ArgumentError(std::string(name_) +
                          "(): check_batched_grad is asked for, but ops have no batching rules; "
                          "leave it off");
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Tensor& input = inputs_[i];
      if (!input.defined() || !is_floating(input.dtype()) || !input.requires_grad()) continue;
      checked_.push_back(i);
      for (int64_t d = 0; d < input.dim(); ++d) {
        if (input.strides()[d] == 0 && input.shape()[d] > 1) {
          throw ArgumentError(std::string(name_) + "(): dimension " + std::to_string(d) +
                              " of input " + std::to_string(i) +
                              " has stride 0, so its elements cannot be changed one by one: "
                              "pass a contiguous copy, and expand inside of the function");
        }
      }
      if (input.dtype() == f32) {
        warn("input " + std::to_string(i) + " is f32; differences are reliable in f64 only");
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
          "(): no input requires grad: call requires_grad_() on at least one floating input");
    }
  }

  void check_all() {
    std::vector<Tensor> outputs;
    {
      const EnableGrad scope;
      outputs = function_(inputs_);
    }
    std::vector<size_t> differentiable;
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (outputs[o].defined() && is_floating(outputs[o].dtype()) && outputs[o].requires_grad()) {
        differentiable.push_back(o);
      }
    }
    if (options_.fast_mode) {
      try {
        check_directions(outputs, differentiable);
        if (options_.check_backward_ad && options_.check_undefined_grad && !differentiable.empty())
          check_zero_gradients(outputs, differentiable);
        return;
      } catch (const GradcheckFailure&) {  // the full form tells where
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
      if (options_.check_undefined_grad) check_zero_gradients(outputs, differentiable);
    }
    if (options_.check_forward_ad) check_forward(outputs, numerical);
  }

  std::vector<Tensor> evaluate() const {
    const NoGrad scope;
    return function_(inputs_);
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
      const bool counts = outputs[o].defined() && is_floating(outputs[o].dtype());
      v.push_back(arbitrary_numbers(counts ? outputs[o].numel() : 0, seed_ + 2 * o));
    }
    const auto compare_numbers = [&](double numerical, double analytical, size_t o, size_t c) {
      // Errors of single entries add up like random steps.
      const double entries = std::sqrt(static_cast<double>(v[o].size()) *
                                       static_cast<double>(inputs_[checked_[c]].numel()));
      const double room =
          options_.atol * std::max(1.0, entries) + options_.rtol * std::abs(numerical);
      if (!(analytical == numerical || std::abs(analytical - numerical) <= room))
        throw GradcheckFailure{"fast mode"};
    };
    for (size_t c = 0; c < checked_.size(); ++c) {
      const Tensor& input = inputs_[checked_[c]];
      const std::vector<double> u = arbitrary_numbers(input.numel(), seed_ + 2 * c + 1);
      std::vector<double> numerical(outputs.size());
      {
        Move move(input, u);
        for (const double sign : {1.0, -1.0}) {
          move.by(sign * options_.eps);
          const std::vector<Tensor> there = evaluate();
          for (size_t o = 0; o < outputs.size(); ++o) {
            if (!v[o].empty())
              numerical[o] += sign * product(v[o], values_of(there[o])) / (2 * options_.eps);
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
        const std::vector<double> values = values_of(first), again = values_of(second);
        for (size_t i = 0; i < values.size(); ++i)
          check_repeatable(values[i], again.empty() ? 0 : again[i], o, c);
        compare_numbers(numerical[o], product(values, u), o, c);
      }
      if (!options_.check_forward_ad) continue;
      const DualLevel level;
      std::vector<Tensor> duals = inputs_;
      duals[checked_[c]] = make_dual(input, tensor_of(u, input));
      const std::vector<Tensor> results = function_(duals);
      for (size_t o = 0; o < outputs.size(); ++o) {
        if (v[o].empty()) continue;
        compare_numbers(numerical[o], product(values_of(unpack_dual(results[o]).tangent), v[o]), o,
                        c);
      }
    }
  }

  static std::vector<double> values_of(const Tensor& tensor) {
    return tensor.defined() ? tensor.to_vector<double>() : std::vector<double>();
  }

  // [checked input][output]
  using Jacobians = std::vector<std::vector<Jacobian>>;
  Jacobians empty_jacobians(const std::vector<Tensor>& outputs) const {
    Jacobians all(checked_.size());
    for (size_t c = 0; c < checked_.size(); ++c) {
      for (const Tensor& output : outputs) {
        const bool counts = output.defined() && is_floating(output.dtype());
        all[c].emplace_back(inputs_[checked_[c]].numel(), counts ? output.numel() : 0);
      }
    }
    return all;
  }
  Jacobians numerical_jacobians(const std::vector<Tensor>& outputs) const {
    Jacobians all = empty_jacobians(outputs);
    for (size_t c = 0; c < checked_.size(); ++c) {
      const Tensor& input = inputs_[checked_[c]];
      for (int64_t i = 0; i < input.numel(); ++i) {
        Shift shift(input, i);
        shift.by(options_.eps);
        std::vector<std::vector<double>> above;
        for (const Tensor& output : evaluate()) above.push_back(values_of(output));
        shift.by(-options_.eps);
        const std::vector<Tensor> below = evaluate();
        for (size_t o = 0; o < outputs.size(); ++o) {
          Jacobian& jacobian = all[c][o];
          const std::vector<double> low = values_of(below[o]);
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
  // Zeros with a one in the place of element k.
  static Tensor unit(const Tensor& like, int64_t k) {
    const Tensor result = empty_tensor(like.shape(), like.dtype());
    fill_elements(result, 0);
    if (k < 0) return result;
    if (result.dtype() == f32)
      result.data<float>()[k] = 1;
    else
      result.data<double>()[k] = 1;
    return result;
  }

  void check_backward(const std::vector<Tensor>& outputs, size_t o,
                      const Jacobians& numerical) const {
    const Tensor& output = outputs[o];
    Jacobians analytical = empty_jacobians(outputs);
    for (int64_t k = 0; k < output.numel(); ++k) {
      const Tensor seed = unit(output, k);
      const std::vector<Tensor> first = backward_once(output, seed),
                                second = backward_once(output, seed);
      for (size_t c = 0; c < checked_.size(); ++c) {
        if (!first[c].defined()) continue;
        check_dtype(first[c], o, c);
        const std::vector<double> values = values_of(first[c]), again = values_of(second[c]);
        for (int64_t i = 0; i < inputs_[checked_[c]].numel(); ++i) {
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
        " for input " + std::to_string(checked_[c]) + ", which differ by more than nondet_tol (" +
        number_text(options_.nondet_tol) + ")"};
  }
  void check_zero_gradients(const std::vector<Tensor>& outputs,
                            const std::vector<size_t>& differentiable) const {
    GradientOptions options;
    options.retain_graph = options.allow_unused = true;
    std::vector<Tensor> roots;
    for (const size_t o : differentiable) {
      roots.push_back(outputs[o]);
      options.seeds.push_back(unit(outputs[o], -1));
    }
    const std::vector<Tensor> results = gradients(roots, checked_inputs(), options);
    for (size_t c = 0; c < checked_.size(); ++c) {
      for (const double value : values_of(results[c])) {
        if (value == 0 || std::isnan(value)) continue;
        throw GradcheckFailure{"gradients of zero must give zero, but input " +
                               std::to_string(checked_[c]) + " got " + number_text(value) +
                               ": backward adds something of its own"};
      }
    }
  }
  void check_forward(const std::vector<Tensor>& outputs, const Jacobians& numerical) const {
    Jacobians analytical = empty_jacobians(outputs);
    for (size_t c = 0; c < checked_.size(); ++c) {
      const Tensor& input = inputs_[checked_[c]];
      for (int64_t i = 0; i < input.numel(); ++i) {
        const DualLevel level;
        std::vector<Tensor> duals = inputs_;
        duals[checked_[c]] = make_dual(input, unit(input, i));
        const std::vector<Tensor> results = function_(duals);
        for (size_t o = 0; o < outputs.size(); ++o) {
          Jacobian& jacobian = analytical[c][o];
          if (jacobian.outputs == 0) continue;
          const std::vector<double> tangent = values_of(unpack_dual(results[o]).tangent);
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

  bool close(double analytical, double numerical) const {
    return analytical == numerical ||
           std::abs(analytical - numerical) <= options_.atol + options_.rtol * std::abs(numerical);
  }
  void compare(const char* what, const Jacobian& numerical, const Jacobian& analytical, size_t o,
               size_t c) const {
    std::vector<int64_t> wrong;
    for (size_t i = 0; i < numerical.values.size(); ++i) {
      if (!close(analytical.values[i], numerical.values[i]))
        wrong.push_back(static_cast<int64_t>(i));
    }
    if (wrong.empty()) return;
    const auto error = [&](int64_t i) {
      const auto at = static_cast<size_t>(i);
      const double difference = std::abs(analytical.values[at] - numerical.values[at]);
      return std::isnan(difference) ? HUGE_VAL : difference;
    };
    std::stable_sort(wrong.begin(), wrong.end(),
                     [&](int64_t a, int64_t b) { return error(a) > error(b); });

    std::string text = std::string(what) + " mismatch for output " + std::to_string(o) +
                       " with respect to input " + std::to_string(checked_[c]) +
                       ",\nnumerical:" + numerical.text() + "\nanalytical:" + analytical.text() +
                       "\n" + std::to_string(wrong.size()) + " of " +
                       std::to_string(numerical.values.size()) + " entries differ; the worst:";
    for (size_t w = 0; w < wrong.size() && w < 3; ++w) {
      const auto at = static_cast<size_t>(wrong[w]);
      const double n = numerical.values[at], a = analytical.values[at];
      text += "\n  d output[" + std::to_string(wrong[w] % numerical.outputs) + "] / d input[" +
              std::to_string(wrong[w] / numerical.outputs) + "]: numerical " + number_text(n) +
              ", analytical " + number_text(a) + ", absolute error " +
              number_text(std::abs(a - n)) + ", relative error " +
              number_text(n == 0 ? HUGE_VAL : std::abs((a - n) / n));
    }
    const std::string cause = likely_cause(numerical, analytical, wrong, o, c);
    if (!cause.empty()) text += "\nlikely cause: " + cause;
    text += "\nto reproduce:\n  tenon::" + std::string(name_) + "(" + code_ + ", " + inputs_text() +
            ");";
    throw GradcheckFailure{text};
  }

  // ---- what may be behind a mismatch ----
  std::string likely_cause(const Jacobian& numerical, const Jacobian& analytical,
                           const std::vector<int64_t>& wrong, size_t o, size_t c) const {
    const Tensor& input = inputs_[checked_[c]];
    const std::vector<double> once = values_of(evaluate()[o]), twice = values_of(evaluate()[o]);
    for (size_t k = 0; k < once.size(); ++k) {
      if (once[k] != twice[k] && !(std::isnan(once[k]) && std::isnan(twice[k]))) {
        return "the function gives different results for the same inputs";
      }
    }
    if (input.dtype() == f32) {
      return "the input is f32, whose rounding drowns differences: use f64, or an eps near 1e-3 "
             "and wider tolerances";
    }
    const Tensor output = evaluate()[o];
    if (output.defined() && output.dtype() == f32) {
      return "the output is f32, whose rounding drowns differences: compute in the input's f64";
    }
    bool all_zero = true;
    double ratio = 0;
    bool proportional = true;
    for (size_t i = 0; i < numerical.values.size(); ++i) {
      const double n = numerical.values[i], a = analytical.values[i];
      if (a != 0) all_zero = false;
      if (std::abs(n) <= options_.atol) {
        proportional = proportional && std::abs(a) <= 100 * options_.atol;
        continue;
      }
      if (ratio == 0) ratio = a / n;
      proportional =
          proportional && std::abs(a / n - ratio) <= 10 * options_.rtol * std::abs(ratio);
    }
    if (all_zero)
      return "the analytical gradient is zero everywhere: the gradient rule leaves this input out, "
             "or the graph is cut";
    if (is_transposed(numerical, analytical)) {
      return "the analytical gradient is the transpose of the numerical one: input and output "
             "indices are exchanged";
    }
    const int64_t i = wrong[0] / numerical.outputs, k = wrong[0] % numerical.outputs;
    if (is_kink(input, i, o, k, once)) {
      return "the function is not smooth at input[" + std::to_string(i) +
             "]: move the inputs away from the kink";
    }
    if (proportional && std::isfinite(ratio) && ratio != 0) {
      return ratio < 0 && close(-ratio, 1) ? "the analytical gradient has the wrong sign"
                                           : "the analytical gradient is " + number_text(ratio) +
                                                 " times the numerical one: a factor is missing";
    }
    return "";
  }
  bool is_transposed(const Jacobian& numerical, const Jacobian& analytical) const {
    if (numerical.inputs != numerical.outputs) return false;
    for (int64_t i = 0; i < numerical.inputs; ++i) {
      for (int64_t k = 0; k < numerical.outputs; ++k) {
        if (!close(analytical.at(k, i), numerical.at(i, k))) return false;
      }
    }
    return true;
  }
  // Whether the slopes on both sides differ.
  bool is_kink(const Tensor& input, int64_t i, size_t o, int64_t k,
               const std::vector<double>& here) const {
    const auto at = static_cast<size_t>(k);
    Shift shift(input, i);
    shift.by(options_.eps);
    const double above = values_of(evaluate()[o])[at];
    shift.by(-options_.eps);
    const double below = values_of(evaluate()[o])[at];
    const double right = (above - here[at]) / options_.eps,
                 left = (here[at] - below) / options_.eps;
    return std::abs(right - left) > 100 * (options_.atol + options_.rtol * std::abs(right));
  }
  // As code that makes the inputs anew, while they are small.
  std::string inputs_text() const {
    const size_t own = inputs_.size() - grad_outputs_;
    std::string text = "{";
    for (size_t position = 0; position < inputs_.size(); ++position) {
      const Tensor& input = inputs_[position];
      text += position == own ? "}, {}, {\n      " : position == 0 ? "\n      " : ",\n      ";
      if (!input.defined()) {
        text += "tenon::Tensor()";
      } else if (input.numel() > 64) {
        text += "/* shape [";
        for (int64_t d = 0; d < input.dim(); ++d)
          text += (d == 0 ? "" : ", ") + std::to_string(input.shape()[d]);
        text += std::string("], ") + dtype_text(input.dtype()) + " */";
      } else {
        const std::vector<double> values = values_of(input);
        size_t next = 0;
        std::string nested;
        write_nested(input, 0, values, next, nested);
        text += "tenon::tensor(" + nested +
                ", tenon::" + (input.dtype() == boolean ? "boolean" : dtype_text(input.dtype())) +
                ")";
        if (input.requires_grad()) text += ".requires_grad_()";
      }
    }
    return text + "}";
  }
  static void write_nested(const Tensor& input, int64_t depth, const std::vector<double>& values,
                           size_t& next, std::string& text) {
    if (depth == input.dim()) {
      char buffer[32];
      std::snprintf(buffer, sizeof(buffer), "%.17g", values[next++]);
      text += buffer;
      return;
    }
    text += '{';
    for (int64_t i = 0; i < input.shape()[depth]; ++i) {
      if (i != 0) text += ", ";
      write_nested(input, depth + 1, values, next, text);
    }
    text += '}';
  }

  const char* name_;
  CheckedFunction function_;
  std::string code_;
  std::vector<Tensor> inputs_;
  size_t grad_outputs_;  // the last ones are gradients to start from
  GradcheckOptions options_;
  uint64_t seed_ = 14695981039346656037u;
  std::vector<size_t> checked_;  // inputs that require grad
};

template <class F>
CheckedCall checked_call(F function) {
  CheckedCall call;
  if constexpr (std::is_same_v<F, Op>) {
    call.name = function.name();
    call.code = "tenon::Op(\"" + call.name + "\")";
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

// The same for the gradients themselves: the second order. `grad_outputs` are the gradients of the
// function's outputs to start from; arbitrary ones when left out.
template <class F>
bool gradgradcheck(F function, const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options = {}, std::vector<Tensor> grad_outputs = {}) {
  detail::CheckedCall checked = detail::checked_call(std::move(function));
  const detail::CheckedFunction call = checked.function;
  const auto usable = [](const Tensor& t) {
    return t.defined() && is_floating(t.dtype()) && t.requires_grad();
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
    std::vector<Tensor> roots, wanted;
    for (const Tensor& output : call(own)) {
      if (usable(output)) roots.push_back(output);
    }
    for (const Tensor& input : own) {
      if (usable(input)) wanted.push_back(input);
    }
    GradientOptions gradient_options;
    gradient_options.seeds.assign(given.begin() + static_cast<std::ptrdiff_t>(input_count),
                                  given.end());
    gradient_options.create_graph = gradient_options.allow_unused = true;
    std::vector<Tensor> results(wanted.size());
    if (!roots.empty()) results = gradients(roots, wanted, gradient_options);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].defined()) continue;
      results[i] = empty_tensor(wanted[i].shape(), wanted[i].dtype());
      fill_elements(results[i], 0);
    }
    return results;
  };
  return detail::GradientChecker("gradgradcheck", checked, all, options, grad_outputs.size()).run();
}

TENON_NAMESPACE_END

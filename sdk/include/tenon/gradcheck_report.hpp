// Reports of gradcheck.hpp about a mismatch: both Jacobians, the worst entries, the likely cause,
// and code that repeats it.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "tenon/abi/facts.h"
#include "tenon/autograd.hpp"
#include "tenon/gradcheck_numbers.hpp"

TENON_NAMESPACE_BEGIN

struct GradcheckOptions {           // tolerances and what is checked
  double eps = 1e-6;                // step of the differences
  double atol = 1e-5, rtol = 1e-3;  // absolute and relative tolerance
  // False: a mismatch returns false. Wrong use and the function's own errors throw all the same.
  bool raise_exception = true;
  double nondet_tol = 0;             // how much two runs of one backward may differ
  bool check_undefined_grad = true;  // gradients of zero must give zero
  bool check_grad_dtypes = false;    // gradients must have their input's dtype
  bool check_batched_grad = false;   // ArgumentError when true: there are no batching rules
  bool check_forward_ad = false;     // tangents of forward mode too
  bool check_backward_ad = true;     // gradients of backward
  // Compares v^T J u for two fixed directions instead of all of J: for large inputs. Where that
  // fails the full form decides, and reports.
  bool fast_mode = false;
  // The name that fast mode's directions are drawn from; an Op's own name when empty.
  std::string name = {};
};

namespace detail {

using CheckedFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// A check that failed; not an Error, so that those of the function pass through untouched.
struct GradcheckFailure {
  std::string message;
};

// The checked call: the function, and how code would write it.
struct CheckedCall {
  CheckedFunction function;
  std::string code = "function", name = {};
};
class GradcheckReport {
 protected:
  GradcheckReport(const char* name, const CheckedCall& call, const std::vector<Tensor>& inputs,
                  const GradcheckOptions& options, size_t grad_outputs = 0)
      : name_(name),
        function_(call.function),
        code_(call.code),
        inputs_(inputs),
        given_(inputs),
        grad_outputs_(grad_outputs),
        options_(options) {
    for (const char c : options.name.empty() ? call.name : options.name)
      seed_ = TENON_FNV1A_64_NEXT(seed_, static_cast<unsigned char>(c));
  }
  std::vector<Tensor> evaluate() const {
    const NoGrad scope;
    return call(given_);
  }
  // Requires the number, shapes and dtypes of the first call's outputs.
  std::vector<Tensor> call(const std::vector<Tensor>& inputs) const {
    std::vector<Tensor> outputs = function_(inputs);
    if (outputs.size() != outputs_.size()) {
      throw GradcheckFailure{"the function returned " + std::to_string(outputs_.size()) +
                             " outputs at first and " + std::to_string(outputs.size()) +
                             " when it was called again; it must return as many each time"};
    }
    for (size_t o = 0; o < outputs.size(); ++o) {
      const std::string first = kind_text(outputs_[o]), again = kind_text(outputs[o]);
      if (first == again) continue;
      std::string text = "output " + std::to_string(o);
      text.append(" was ").append(first).append(" at first and ").append(again);
      text += " when the function was called again; it must have one shape and dtype";
      throw GradcheckFailure{std::move(text)};
    }
    return outputs;
  }
  static std::string kind_text(const Tensor& tensor) {
    if (!tensor.defined()) return "undefined";
    std::string text = dtype_text(tensor.dtype()) + std::string("[");
    for (int64_t d = 0; d < tensor.dim(); ++d)
      text += (d == 0 ? "" : ", ") + std::to_string(tensor.shape()[d]);
    return text + "]";
  }
  // Elements are changed and read one by one.
  void require_data(const Tensor& tensor, const std::string& which, const char* remedy) const {
    if (!tensor.defined() || (tensor.view_record().flags & TENON_TENSOR_SHAPE_ONLY) == 0) return;
    throw ArgumentError(std::string(name_) + "(): " + which + " is of type " +
                        service::types().name(tensor.view_record().type) +
                        ", which has no elements: " + remedy);
  }
  void warn(const std::string& text) const {
    const std::string whole = std::string(name_) + "(): " + text;
    service::threads().log(3, "gradcheck", whole.data(), static_cast<int64_t>(whole.size()));
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
    std::sort(wrong.begin(), wrong.end(), [&](int64_t a, int64_t b) {
      return std::pair(error(b), a) < std::pair(error(a), b);
    });

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
    const std::vector<double> once = numbers_of(evaluate()[o]), twice = numbers_of(evaluate()[o]);
    for (size_t k = 0; k < once.size(); ++k) {
      if (once[k] != twice[k] && !(std::isnan(once[k]) && std::isnan(twice[k]))) {
        return "the function gives different results for the same inputs";
      }
    }
    if (real_dtype(input.dtype()) == f32) {
      return "the input is f32, whose rounding drowns differences: use f64, or an eps near 1e-3 "
             "and wider tolerances";
    }
    const Tensor output = evaluate()[o];
    if (output.defined() && real_dtype(output.dtype()) == f32) {
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
    const double above = numbers_of(evaluate()[o])[at];
    shift.by(-options_.eps);
    const double below = numbers_of(evaluate()[o])[at];
    const double right = (above - here[at]) / options_.eps,
                 left = (here[at] - below) / options_.eps;
    return std::abs(right - left) > 100 * (options_.atol + options_.rtol * std::abs(right));
  }
  // As code that makes the inputs again, while they are small.
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
        const std::vector<double> values = numbers_of(input);
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
      const auto write = [&] { text += number_text(values[next++], 17); };
      const bool complex = is_complex(input.dtype());
      if (complex) text += "std::complex<double>(";
      write();
      if (!complex) return;
      text += ", ";
      write();
      text += ')';
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
  std::vector<Tensor> outputs_;  // outputs of the first call
  std::string code_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> given_;  // arguments of the function: inputs_, or these without history
  size_t grad_outputs_;        // the last ones are gradients to start from
  GradcheckOptions options_;
  uint64_t seed_ = TENON_FNV1A_64;
  std::vector<size_t> checked_;  // inputs that require grad
};

}  // namespace detail
TENON_NAMESPACE_END

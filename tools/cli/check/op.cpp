// Checks of one op: what it declares against what it does, then its gradients.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include <tenon/gradcheck.hpp>
#include <tenon/graph.hpp>
#include <tenon/parallel.hpp>
#include <tenon/shapes_only.hpp>
#include <tenon/type.hpp>

#include "check_item.hpp"
#include "format.hpp"
#include "text.hpp"

namespace cli {

using tenon::Tensor;
using tenon::Value;

CheckedOp checked_op(const tenon::Json& declaration) {
  CheckedOp op;
  op.name = declaration["name"].text();
  op.parameters = declared_types(declaration["parameters"]);
  op.returns = declared_types(declaration["returns"]);
  op.differentiable = declaration["differentiable"].text("none");
  op.jvp = declaration["jvp"].text("none");
  op.samples = declaration["samples"].text();
  op.double_backward = declaration["double_backward"].text();
  op.function = declaration["function"].as_bool();
  op.zero_gradient = declaration["zero_gradient"].as_bool();
  return op;
}

namespace {

bool has_data(const Tensor& tensor) {
  return (tensor.view_record().flags & TENON_TENSOR_SHAPE_ONLY) == 0;
}
// The tensor, or what the conversion of its type makes where the type has no data; undefined where
// there is no conversion.
Tensor readable(const Tensor& tensor) {
  if (!tensor.defined() || has_data(tensor)) return tensor;
  try {
    return tenon::ensure_tensor(tensor);
  } catch (const tenon::TypeError&) {
    return {};
  }
}
std::vector<Tensor> readable(std::vector<Tensor> tensors) {
  for (Tensor& tensor : tensors) tensor = readable(tensor);
  return tensors;
}

// The bytes of a tensor's elements in order.
std::vector<char> bytes_of(const Tensor& given) {
  const Tensor tensor = readable(given);
  if (!tensor.defined() || tensor.numel() == 0) return {};
  const Tensor flat = tenon::contiguous_as(tensor, tensor.dtype());
  const auto* from = static_cast<const char*>(flat.view_record().data);
  return {from, from + flat.numel() * tenon::element_size(flat.dtype())};
}
std::vector<std::vector<char>> bytes_of(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<char>> list;
  for (const Tensor& tensor : tensors) list.push_back(bytes_of(tensor));
  return list;
}

bool shares_storage(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() && a.numel() > 0 && b.numel() > 0 &&
         tenon::host().tensor_shares_storage(a.handle(), b.handle()) != 0;
}

std::string shape_text(const Tensor& tensor) {
  std::string text = "[";
  for (int64_t d = 0; d < tensor.dim(); ++d)
    text += format_text("{}{}", d == 0 ? "" : ", ", tensor.shape()[d]);
  return format_text("{}] {}", text, tenon::dtype_text(tensor.dtype()));
}

// A result, or one tensor of a result that is a list of them.
struct Piece {
  Tensor tensor;
  Value other;       // where it is not a tensor
  std::string type;  // of the tensor as the op gave it
};
Piece piece_of(Tensor tensor) {
  std::string type = tensor.defined() ? tenon::type_name(tensor) : "";
  return {std::move(tensor), {}, std::move(type)};
}
std::vector<Piece> pieces_of(std::vector<Value> results) {
  std::vector<Piece> pieces;
  for (Value& result : results) {
    if (result.is_tensor()) {
      pieces.push_back(piece_of(result.tensor()));
    } else if (result.get().tag == TENON_VALUE_TENSOR_LIST) {
      for (Tensor& tensor : result.tensors()) pieces.push_back(piece_of(std::move(tensor)));
    } else {
      pieces.push_back({{}, std::move(result), {}});
    }
  }
  return pieces;
}

// The numbers of a value that is one or a list of them; empty for others.
std::vector<double> numbers_of(const tenon_value& value) {
  switch (value.tag) {
    case TENON_VALUE_BOOL:
    case TENON_VALUE_INT:
    case TENON_VALUE_FLOAT:
      return {tenon::Scalar(value).to<double>()};
    case TENON_VALUE_INT_LIST:
      return {value.as.integers, value.as.integers + value.length};
    case TENON_VALUE_FLOAT_LIST:
      return {value.as.numbers, value.as.numbers + value.length};
    case TENON_VALUE_BOOL_LIST:
      return {value.as.booleans, value.as.booleans + value.length};
    default:
      return {};
  }
}

// The first place where numbers differ by more than rounding, "3 in one and 4 in the other at
// element 1"; empty: none.
std::string number_difference(const std::vector<double>& a, const std::vector<double>& b,
                              bool loose) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double room = loose ? 1e-3 + 1e-3 * std::abs(a[i]) : 1e-9 + 1e-7 * std::abs(a[i]);
    if (std::abs(a[i] - b[i]) <= room) continue;
    return format_text("{} in one and {} in the other{}", short_number(a[i]), short_number(b[i]),
                       a.size() == 1 ? "" : format_text(" at element {}", i));
  }
  return "";
}

std::string difference(const Tensor& a, const Tensor& b, bool loose) {
  if (a.defined() != b.defined()) return " is missing in one of them";
  if (!a.defined()) return "";
  if (a.sizes() != b.sizes() || (!loose && a.dtype() != b.dtype()))
    return format_text(" is {} in one and {} in the other", shape_text(a), shape_text(b));
  const Tensor one = readable(a), other = readable(b);
  if (!one.defined() || !other.defined()) return "";
  const auto x = one.to_vector<double>(), y = other.to_vector<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    const std::string found = number_difference({x[i]}, {y[i]}, loose);
    if (!found.empty()) return format_text(" has {} at element {}", found, i);
  }
  return "";
}

std::string difference(const Value& a, const Value& b, bool loose) {
  const tenon_value &x = a.get(), &y = b.get();
  const auto text = [](const tenon_value& value) {
    Value written;
    tenon::detail::check(tenon::host().value_text, &value, written.slot());
    return written.text();
  };
  const std::string found = format_text(" is {} in one and {} in the other", text(x), text(y));
  // A dtype may be that of the operands.
  if (loose && x.tag == TENON_VALUE_DTYPE && y.tag == TENON_VALUE_DTYPE) return "";
  if (x.tag != y.tag) return found;
  const std::vector<double> numbers = numbers_of(x), others = numbers_of(y);
  if (numbers.size() != others.size()) return found;
  if (!numbers.empty()) return number_difference(numbers, others, loose).empty() ? "" : found;
  if (x.tag == TENON_VALUE_STRING) return a.text() == b.text() ? "" : found;
  if (x.tag == TENON_VALUE_STRING_LIST) return a.strings() == b.strings() ? "" : found;
  // What is left are JSON documents and modules, new objects each time.
  return x.tag == TENON_VALUE_DTYPE && x.as.integer != y.as.integer ? found : "";
}

// The first place where results differ by more than rounding; empty: none. `loose` for other
// dtypes.
std::string difference(const std::vector<Piece>& a, const std::vector<Piece>& b, bool loose) {
  if (a.size() != b.size()) return "another number of results";
  for (size_t r = 0; r < a.size(); ++r) {
    const bool tensors = a[r].other.is_none() && b[r].other.is_none();
    std::string found = tensors ? difference(a[r].tensor, b[r].tensor, loose)
                                : difference(a[r].other, b[r].other, loose);
    if (a[r].type != b[r].type)
      found = format_text(" is of type {} in one and {} in the other", a[r].type, b[r].type);
    if (found.empty()) continue;
    return a.size() == 1 ? format_text("the result{}", found)
                         : format_text("result {}{}", r, found);
  }
  return "";
}

// The same elements behind strides that are not contiguous.
Tensor scattered(const Tensor& tensor) {
  if (tensor.dim() == 0 || tensor.numel() == 0) return tensor;
  std::vector<int64_t> padded = tensor.sizes(), strides(padded.size());
  // Dimensions in reverse order, every second element of the last one.
  int64_t step = 2;
  for (size_t d = 0; d < padded.size(); ++d) {
    strides[d] = step;
    step *= padded[d];
  }
  const Tensor storage = tenon::empty_tensor({step}, tensor.dtype());
  tenon::fill_elements(storage, 1);
  const Tensor view =
      tenon::alias_tensor(storage, tensor.shape(), tenon::IntList(strides.data(), tensor.dim()), 0);
  tenon::copy_elements(view, tensor);
  return view;
}

Tensor converted(const Tensor& tensor, tenon::DType dtype) {
  const Tensor result = tenon::empty_tensor(tensor.shape(), dtype);
  tenon::copy_elements(result, tensor);
  return result;
}

constexpr int64_t kMostInFull = 128;  // elements of inputs; above: fast mode

bool has_floating(const std::vector<Tensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    return tensor.defined() && tenon::is_floating(tensor.dtype());
  });
}
bool all_finite(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined() || !tenon::is_floating(tensor.dtype())) continue;
    for (const double number : tensor.to_vector<double>()) {
      if (!std::isfinite(number)) return false;
    }
  }
  return true;
}

// A stage's findings stop at the first sample that has one: one report of each kind is enough.
class OpCheck {
 public:
  OpCheck(const CheckedOp& op, const CheckSettings& settings, CheckListener& listener)
      : op_(op), seed_(settings.seed), settings_(settings), listener_(listener) {}

  void run() {
    listener_.stage("call");
    if (!find_samples()) return;
    for (Sample& sample : samples_) apply_options(settings_.options, sample);
    for (const Sample& sample : samples_) check_call(sample);
    check_idle_declarations();
    if (!found_.empty()) return finish();
    enter("layouts and dtypes");
    for (const Sample& sample : samples_) check_variants(sample);
    enter("shapes");
    for (const Sample& sample : samples_) check_shapes(sample);
    enter("odd inputs");
    check_odd_inputs(samples_[0]);
    // Wrong results have no gradients worth a look.
    if (!found_.empty()) return finish();
    check_gradients();
    finish();
  }

 private:
  const DeclaredType& parameter_of(const Sample& sample, size_t value) const {
    const std::string& name = sample.values[value].name;
    return *std::find_if(op_.parameters.begin(), op_.parameters.end(),
                         [&](const DeclaredType& type) { return type.name == name; });
  }
  void enter(const std::string& stage) {
    stage_ = stage;
    listener_.stage(stage);
  }
  void find(const std::string& kind, const std::string& message, const Sample* sample) {
    if (!found_.insert(kind).second) return;
    listener_.finding({kind, stage_, message, sample == nullptr ? "" : sample->dump()});
  }
  void finish() { listener_.samples(static_cast<int64_t>(samples_.size())); }

  // A result that the host has refused: "f(): result 0 is none, but the schema declares Tensor;
  // ...".
  bool find_refused_result(const tenon::Error& error, const Sample& sample) {
    const std::string text = error.what();
    const size_t begin = text.find("(): result "), end = text.find("; fix the op in plugin");
    if (op_.name != error.op() || begin == std::string::npos || end == std::string::npos)
      return false;
    const std::string fault = text.substr(begin + 4, end - begin - 4);
    find(contains_text(fault, "does not share") ? "missing-alias" : "result", fault, &sample);
    return true;
  }

  // A rule that fails: what it reads was not saved, which no change of the rule itself cures.
  void find_failing_rule(const char* kind, const tenon::Error& error, const Sample& sample) {
    find(contains_text(error.what(), "which was not kept") ? "unsaved-read" : kind, error.what(),
         &sample);
  }

  // ---- samples ----
  bool find_samples() {
    if (!op_.samples.empty()) {
      try {
        samples_ = parse_samples(op_.samples, op_.parameters);
      } catch (const tenon::Error& error) {
        find("samples", error.what(), nullptr);
        return false;
      }
      for (const Sample& sample : samples_) {
        try {
          listener_.trying(sample);
          const SampleCall call(op_.name, sample, seed_);
          call(call.tensors);
        } catch (const tenon::Error& error) {
          if (find_refused_result(error, sample)) return false;
          find("samples", format_text("the op refuses it: {}", error.what()), &sample);
          return false;
        }
      }
      return !samples_.empty();
    }
    std::string refusal;
    const auto accepts = [&](const Sample& sample) {
      if (found_.count("memory") > 0) return false;
      try {
        listener_.trying(sample);
        const SampleCall call(op_.name, sample, seed_);
        const std::vector<Value> results = call(call.tensors);
        const std::vector<Tensor> tensors = tensors_of(results);
        // One element at least, or nothing would be seen.
        const bool empty = !tensors.empty() &&
                           std::all_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
                             return tensor.defined() && tensor.numel() == 0;
                           });
        return !empty && all_finite(readable(tensors));
      } catch (const tenon::MemoryError& error) {
        find("memory", error.what(), &sample);
        return false;
      } catch (const tenon::Error& error) {
        if (find_refused_result(error, sample)) return false;
        if (error.kind() == TENON_ERROR_INTERNAL) find("result", error.what(), &sample);
        refusal = error.what();
        return false;
      }
    };
    Generated generated = generate_samples(op_.parameters, accepts, &refusal);
    samples_ = std::move(generated.samples);
    if (samples_.empty() && found_.empty()) listener_.skip(generated.reason);
    return !samples_.empty() && found_.empty();
  }

  // ---- calls ----
  void check_call(const Sample& sample) {
    listener_.trying(sample);
    const SampleCall call(op_.name, sample, seed_);
    const auto before = bytes_of(call.tensors);
    std::vector<int64_t> versions;
    for (const Tensor& tensor : call.tensors) versions.push_back(tensor.version());
    std::vector<Value> results = call(call.tensors);
    const std::vector<Tensor> tensors = tensors_of(results);
    check_results(sample, results);
    note_unreadable(tensors);

    for (size_t t = 0; t < call.tensors.size(); ++t) {
      const DeclaredType& type = parameter_of(sample, call.places[t].value);
      const bool written = bytes_of(call.tensors[t]) != before[t];
      const bool changed = written || call.tensors[t].version() != versions[t];
      if (written) mutated_.insert(type.name);
      if (changed && !type.mutates && !marks_dirty(sample, t)) {
        find("undeclared-mutation",
             format_text("the call changes its argument '{}', which the schema declares as {}",
                         type.name, declared(type)),
             &sample);
      }
      for (size_t r = 0; r < tensors.size(); ++r) {
        if (!shares_storage(call.tensors[t], tensors[r])) continue;
        aliased_.insert(type.name);
        if (!type.alias.empty() || marks_dirty(sample, t)) continue;
        // A Function may return its input: the host makes another handle of it.
        if (op_.function && tensors[r].is_same(call.tensors[t])) continue;
        find("undeclared-alias",
             format_text("the result{}{} the argument '{}', but the schema declares a new tensor",
                         tensors.size() == 1 ? "" : format_text(" {}", r),
                         tensors[r].is_same(call.tensors[t]) ? " is" : " is a view of", type.name),
             &sample);
      }
    }
    for (size_t r = 0; r < tensors.size(); ++r) {
      for (size_t s = 0; s < r; ++s) {
        if (shares_storage(tensors[r], tensors[s]) && aliased_.empty() && mutated_.empty()) {
          find("undeclared-alias",
               format_text(
                   "results {} and {} share their memory, but the schema declares new tensors", s,
                   r),
               &sample);
        }
      }
    }

    random_ = !sample.deterministic;
    if (random_) return;
    const SampleCall again(op_.name, sample, seed_);
    const std::vector<Piece> pieces = pieces_of(std::move(results));
    const std::vector<Piece> repeated = pieces_of(again(again.tensors));
    if (const std::string what = difference(pieces, repeated, false); !what.empty())
      find("nondeterminism", format_text("called twice with the same arguments, {}", what),
           &sample);
    const SampleCall other(op_.name, sample, seed_);
    if (!difference(pieces, pieces_of(other(other.tensors, 2)), false).empty()) random_ = true;
  }

  void note_unreadable(const std::vector<Tensor>& results) {
    for (const Tensor& result : results) {
      if (result.defined() && !readable(result).defined())
        listener_.note(format_text(
            "its elements are not compared: a {} has no data and no conversion to Tensor",
            tenon::type_name(result)));
    }
  }

  static std::string declared(const DeclaredType& type) {
    return format_text("'{}{} {}', without '!'", type.base,
                       type.alias.empty() ? "" : format_text("({})", type.alias), type.name);
  }

  // Functions may say it in their context instead: then the change is in the argument's history.
  bool marks_dirty(const Sample& sample, size_t t) const {
    if (!op_.function ||
        !tenon::is_floating(SampleCall(op_.name, sample, seed_).tensors[t].dtype()))
      return false;
    SampleCall call(op_.name, sample, seed_);
    try {
      const tenon::EnableGrad scope;
      Tensor leaf = call.tensors[t].detach();
      leaf.requires_grad_();
      call.tensors[t] = tenon::Op("clone").call<Tensor>(leaf);
      const std::vector<Tensor> results = tensors_of(call(call.tensors));
      return call.tensors[t].grad_fn().op() == op_.name;
    } catch (const tenon::Error&) {
      return false;
    }
  }

  void check_results(const Sample& sample, const std::vector<Value>& results) {
    for (size_t r = 0; r < results.size() && r < op_.returns.size(); ++r) {
      const DeclaredType& type = op_.returns[r];
      const uint32_t tag = results[r].get().tag;
      const bool fits = type.base == "any" || (tag == TENON_VALUE_NONE && type.optional) ||
                        (type.is_tensor() && !type.list && tag == TENON_VALUE_TENSOR) ||
                        (type.is_tensor() && type.list && tag == TENON_VALUE_TENSOR_LIST) ||
                        (!type.is_tensor() && tag != TENON_VALUE_NONE &&
                         tag != TENON_VALUE_TENSOR && tag != TENON_VALUE_TENSOR_LIST);
      if (fits) continue;
      find("result",
           format_text("result {} is {}, but the schema declares {}{}", r,
                       tag == TENON_VALUE_NONE ? "none" : "of another type", type.base,
                       type.list ? "[]" : ""),
           &sample);
    }
  }

  // What is declared and never seen.
  void check_idle_declarations() {
    for (const DeclaredType& type : op_.parameters) {
      if (type.alias.empty() || type.is_out()) continue;
      const bool given = std::any_of(samples_.begin(), samples_.end(), [&](const Sample& sample) {
        return std::any_of(sample.values.begin(), sample.values.end(), [&](const SampleValue& v) {
          return v.name == type.name && !v.tensors.empty();
        });
      });
      const bool expected = std::all_of(samples_.begin(), samples_.end(),
                                        [](const Sample& sample) { return sample.mutation; });
      if (!given) continue;
      const bool returned =
          std::any_of(op_.returns.begin(), op_.returns.end(),
                      [&](const DeclaredType& result) { return result.alias == type.alias; });
      if (type.mutates && expected && mutated_.count(type.name) == 0) {
        find("missing-mutation",
             format_text("the schema declares that '{}' is changed, but no sample changes it",
                         type.name),
             nullptr);
      } else if (returned && aliased_.count(type.name) == 0) {
        find("missing-alias",
             format_text("the schema declares a result that shares the memory of '{}', but in no "
                         "sample does it",
                         type.name),
             nullptr);
      }
    }
  }

  // ---- layouts, dtypes, out ----
  void check_variants(const Sample& sample) {
    listener_.trying(sample);
    const SampleCall call(op_.name, sample, seed_);
    std::vector<Piece> expected = pieces_of(call(call.tensors));
    for (Piece& piece : expected) {
      if (piece.tensor.defined() && has_data(piece.tensor))
        piece.tensor = converted(piece.tensor, piece.tensor.dtype());
    }
    const auto compare = [&](const char* kind, const char* what, Tensor (*change)(const Tensor&),
                             bool loose) {
      const SampleCall fresh(op_.name, sample, seed_);
      std::vector<Tensor> given;
      for (const Tensor& tensor : fresh.tensors) given.push_back(change(tensor));
      try {
        const std::string found = difference(expected, pieces_of(fresh(given)), loose);
        if (!found.empty()) find(kind, what + found, &sample);
      } catch (const tenon::Error&) {  // it may take some layouts and dtypes only
      }
    };
    // Views speak of the storage itself.
    if (sample.layouts && sample.deterministic && (aliased_.empty() || !mutated_.empty()))
      compare("layout", "once contiguous and once with other strides, ", scattered, false);
    if (sample.precision && !random_) {
      compare(
          "precision", "once in f64 and once in f32, ",
          [](const Tensor& tensor) {
            return tensor.dtype() == tenon::f64 ? converted(tensor, tenon::f32) : tensor;
          },
          true);
    }
    for (const DeclaredType& type : op_.parameters) {
      if (!type.is_out() || expected.size() != 1 || !expected[0].tensor.defined()) continue;
      const Tensor& without = expected[0].tensor;
      const SampleCall fresh(op_.name, sample, seed_);
      const Tensor out = tenon::empty_tensor(without.shape(), without.dtype());
      tenon::fill_elements(out, 3);
      try {
        const std::vector<Tensor> results = tensors_of(fresh.with(type.name, out));
        const std::string found = difference(without, out, false);
        if (!found.empty())
          find("out",
               format_text("once without and once in the tensor given as out, the result{}", found),
               &sample);
        else if (results.size() != 1 || !results[0].is_same(out))
          find("out", "the result is not the tensor that was given as out", &sample);
      } catch (const tenon::Error& error) {
        find("out", format_text("a fitting out is refused: {}", error.what()), &sample);
      }
    }
  }

  // Where shapes alone are computed, from zeros, results have those of the call.
  void check_shapes(const Sample& sample) {
    const SampleCall call(op_.name, sample, seed_), again(op_.name, sample, seed_);
    std::vector<Tensor> zeros;
    for (const Tensor& tensor : again.tensors) {
      if (tensor.defined() && !has_data(tensor)) return;
      zeros.push_back(tensor.defined() ? converted(tensor, tensor.dtype()) : tensor);
      if (tensor.defined()) tenon::fill_elements(zeros.back(), 0);
    }
    listener_.trying(sample);
    const std::vector<Tensor> expected = tensors_of(call(call.tensors));
    std::vector<Tensor> found;
    try {
      const tenon::ShapesOnly shapes;
      found = tensors_of(again(zeros));
    } catch (const tenon::NotImplementedError&) {  // declared data_dependent_shape
      return;
    } catch (const tenon::Error& error) {
      find("shape",
           format_text("where shapes alone are computed, from zeros, the op refuses them: {}",
                       error.what()),
           &sample);
      return;
    }
    for (size_t r = 0; r < expected.size() && r < found.size(); ++r) {
      if (!expected[r].defined() || !found[r].defined()) continue;
      if (expected[r].sizes() == found[r].sizes() && expected[r].dtype() == found[r].dtype())
        continue;
      find("shape",
           format_text("where shapes alone are computed, result {} is {}, but the call gives {}", r,
                       shape_text(found[r]), shape_text(expected[r])),
           &sample);
    }
  }

  // Nothing to compare with here: that they are refused in words, or taken, is enough.
  void check_odd_inputs(const Sample& sample) {
    const auto attempt = [&](const std::function<void(TensorSpec&)>& change) {
      Sample odd = sample;
      for (SampleValue& value : odd.values) {
        for (TensorSpec& spec : value.tensors) change(spec);
      }
      listener_.trying(odd);
      try {
        const SampleCall call(op_.name, odd, seed_);
        call(call.tensors);
      } catch (const tenon::Error& error) {
        if (error.kind() == TENON_ERROR_INTERNAL || *error.what() == 0 ||
            contains_text(error.what(), "and no message")) {
          find("unexplained-error", format_text("refused with: {}", error.what()), &odd);
        }
      }
    };
    attempt([](TensorSpec& spec) {
      if (!spec.shape.empty()) spec.shape[0] = 0;
    });
    attempt([](TensorSpec& spec) {
      spec.shape.clear();
      if (spec.values.size() > 1) spec.values.erase(spec.values.begin() + 1, spec.values.end());
    });
    attempt([](TensorSpec& spec) { spec.shape.insert(spec.shape.begin(), 1); });
    for (const tenon::DType dtype : {tenon::boolean, tenon::u8, tenon::i64, tenon::f32})
      attempt([dtype](TensorSpec& spec) { spec.dtype = dtype; });
    attempt([](TensorSpec& spec) {
      if (tenon::is_floating(spec.dtype)) spec.values = {HUGE_VAL, -HUGE_VAL, NAN};
    });
  }
  static bool contains_text(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  }

  // ---- gradients ----
  struct Differentiable {
    SampleCall call;
    std::vector<size_t> inputs;  // tensors of the call that take part
    std::vector<Tensor> leaves;
  };
  Differentiable differentiable(const Sample& sample) const {
    Differentiable result{SampleCall(op_.name, sample, seed_), {}, {}};
    for (size_t t = 0; t < result.call.tensors.size(); ++t) {
      if (!result.call.places[t].requires_grad) continue;
      result.inputs.push_back(t);
      result.leaves.push_back(result.call.tensors[t]);
      result.leaves.back().requires_grad_();
    }
    return result;
  }
  // The op as a function of its differentiable operands. What it changes in place is cloned first.
  tenon::detail::CheckedFunction function_of(const Sample& sample, Differentiable& given) const {
    std::vector<bool> cloned;
    for (const size_t t : given.inputs) {
      const DeclaredType& type = parameter_of(sample, given.call.places[t].value);
      cloned.push_back(type.mutates || mutated_.count(type.name) > 0);
    }
    const SampleCall& call = given.call;
    const std::vector<size_t>& inputs = given.inputs;
    return [&call, &inputs, cloned](const std::vector<Tensor>& values) {
      std::vector<Tensor> tensors;
      for (const Tensor& tensor : call.tensors)
        tensors.push_back(tensor.defined() ? tensor.detach() : tensor);
      for (size_t i = 0; i < inputs.size(); ++i) {
        tensors[inputs[i]] = cloned[i] ? tenon::Op("clone").call<Tensor>(values[i]) : values[i];
      }
      // Operands that are changed without being checked start from the same values each time.
      for (size_t t = 0; t < tensors.size(); ++t) {
        if (std::find(inputs.begin(), inputs.end(), t) == inputs.end() && tensors[t].defined())
          tensors[t] = converted(tensors[t], tensors[t].dtype());
      }
      std::vector<Tensor> outputs = readable(tensors_of(call(tensors)));
      outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                                   [](const Tensor& output) { return !output.defined(); }),
                    outputs.end());
      return outputs;
    };
  }

  void check_gradients() {
    bool any = false;
    for (const Sample& sample : samples_) {
      const SampleCall call(op_.name, sample, seed_);
      const bool takes = std::any_of(call.places.begin(), call.places.end(),
                                     [](const auto& place) { return place.requires_grad; });
      any = any || (takes && has_floating(readable(tensors_of(call(call.tensors)))));
    }
    if (!any) return;
    if (op_.differentiable == "none" && !op_.zero_gradient) {
      enter("gradient");
      find("missing-gradient",
           "floating results of floating inputs, but no gradient is declared: calling it with an "
           "input that requires grad is an error",
           samples_.data());
      return;
    }
    enter("gradient");
    for (const Sample& sample : samples_) check_backward(sample);
    if (found_.count("cut-graph") > 0) return;
    if (op_.jvp != "none" || op_.differentiable == "composite") {
      enter("forward mode");
      for (const Sample& sample : samples_) check_jvp(sample);
    } else if (op_.differentiable == "formula") {
      listener_.note("no jvp: forward mode refuses it");
    }
    if (op_.zero_gradient) return;
    if (op_.double_backward == "once") {
      listener_.note("declared once_differentiable: its second order is refused");
      return;
    }
    if (!found_.empty()) return;
    enter("second order");
    for (const Sample& sample : samples_) check_second_order(sample);
    if (op_.differentiable != "formula" || op_.double_backward != "unknown") return;
    listener_.note(
        found_.empty()
            ? "the definition does not say whether its backward may be differentiated; it may: "
              "declare twice_differentiable"
            : "the definition does not say whether its backward may be differentiated: declare "
              "once_differentiable, or fix it and declare twice_differentiable");
  }

  tenon::GradcheckOptions options_of(const Sample& sample) const {
    tenon::GradcheckOptions options = sample.gradcheck;
    options.name = op_.name;
    int64_t elements = 0;
    for (const SampleValue& value : sample.values) {
      for (const TensorSpec& spec : value.tensors) {
        int64_t count = 1;
        for (const int64_t size : spec.shape) count *= size;
        elements += count;
      }
    }
    options.fast_mode = options.fast_mode || elements > kMostInFull;
    return options;
  }

  void check_backward(const Sample& sample) {
    Differentiable given = differentiable(sample);
    if (given.inputs.empty()) return;
    const auto function = function_of(sample, given);
    listener_.trying(sample);
    tenon::GradcheckOptions options = options_of(sample);
    options.check_forward_ad = false;
    if (!options.check_backward_ad) return;
    try {
      // A rule that writes where it must not is repeatable no more.
      if (!check_borrowed(sample, function, given)) return;
      tenon::gradcheck(function, given.leaves, options);
    } catch (const tenon::GradcheckError& error) {
      const bool cut = contains_text(error.what(), "no output requires grad");
      find(cut ? "cut-graph" : "wrong-gradient", error.what(), &sample);
    } catch (const tenon::Error& error) {
      find_failing_rule("failing-gradient", error, sample);
    }
  }

  // Gradients and saved tensors are lent to backward, not given.
  bool check_borrowed(const Sample& sample, const tenon::detail::CheckedFunction& function,
                      const Differentiable& given) {
    const tenon::EnableGrad scope;
    std::vector<Tensor> roots;
    tenon::GradientOptions options;
    for (const Tensor& output : function(given.leaves)) {
      if (!output.defined() || !output.requires_grad()) continue;
      roots.push_back(output);
      options.seeds.push_back(tenon::detail::arbitrary_like(output, roots.size()));
    }
    if (roots.empty()) return true;
    options.allow_unused = true;
    std::vector<Tensor> all = options.seeds;
    all.insert(all.end(), given.leaves.begin(), given.leaves.end());
    const auto before = bytes_of(all);
    const auto results_before = bytes_of(roots);
    tenon::gradients(roots, given.leaves, options);
    const auto after = bytes_of(all);
    bool sound = true;
    for (size_t i = 0; i < all.size(); ++i) {
      if (after[i] == before[i]) continue;
      sound = false;
      if (i < options.seeds.size()) {
        find("changed-gradient",
             format_text("backward changes the gradient of result {} that it is handed", i),
             &sample);
      } else {
        find("changed-input",
             format_text(
                 "backward changes the argument '{}' of the call",
                 sample.values[given.call.places[given.inputs[i - options.seeds.size()]].value]
                     .name),
             &sample);
      }
    }
    if (bytes_of(roots) != results_before) {
      sound = false;
      find("changed-input", "backward changes a result of the call", &sample);
    }
    return sound;
  }

  void check_jvp(const Sample& sample) {
    Differentiable given = differentiable(sample);
    if (given.inputs.empty()) return;
    listener_.trying(sample);
    const auto function = function_of(sample, given);
    tenon::GradcheckOptions options = options_of(sample);
    if (!options.check_forward_ad) return;
    options.check_backward_ad = false;
    try {
      tenon::gradcheck(function, given.leaves, options);
    } catch (const tenon::GradcheckError& error) {
      find("wrong-jvp", error.what(), &sample);
    } catch (const tenon::NotImplementedError& error) {
      if (op_.differentiable == "composite")
        listener_.note(format_text("no forward mode: {}", error.what()));
      else
        find("failing-jvp", error.what(), &sample);
    } catch (const tenon::Error& error) {
      find_failing_rule("failing-jvp", error, sample);
    }
  }

  void check_second_order(const Sample& sample) {
    Differentiable given = differentiable(sample);
    if (given.inputs.empty()) return;
    listener_.trying(sample);
    const auto function = function_of(sample, given);
    tenon::GradcheckOptions options = options_of(sample);
    if (!options.check_backward_ad) return;
    options.check_grad_dtypes = options.check_forward_ad = false;
    try {
      tenon::gradgradcheck(function, given.leaves, options);
    } catch (const tenon::GradcheckError& error) {
      find("wrong-second-order", error.what(), &sample);
    } catch (const tenon::Error& error) {
      find("failing-second-order", error.what(), &sample);
    }
  }

  const CheckedOp& op_;
  const uint64_t seed_;
  const CheckSettings& settings_;
  CheckListener& listener_;
  std::string stage_ = "call";
  std::vector<Sample> samples_;
  std::set<std::string> found_, mutated_, aliased_;
  bool random_ = false;
};

}  // namespace

void check_op(const CheckedOp& op, const CheckSettings& settings, CheckListener& listener) {
  OpCheck(op, settings, listener).run();
}

}  // namespace cli

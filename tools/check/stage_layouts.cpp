// Stage "layouts and dtypes": the same elements behind other strides, as f32, and into `out`.
#include <algorithm>

#include "format.hpp"
#include "op_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

// All tensors in a layout, then each alone.
void check_layout(OpCheck& check, const Sample& sample, const Layout& layout, bool single) {
  const SampleCall call = check.call_of(sample);
  const std::vector<Tensor> plain = single ? in_single(call.tensors) : call.tensors;
  const size_t count = plain.size();
  for (size_t alone = 0; alone <= (count > 1 ? count : 0); ++alone) {
    std::vector<Tensor> changed = copied(plain);
    for (size_t t = 0; t < count; ++t) {
      if (alone == 0 || alone == t + 1) changed[t] = layout.make(changed[t]);
    }
    const std::vector<Tensor> whole = copied(changed);
    auto expected = check.attempt(sample, call, whole);
    if (!expected) continue;
    for (Piece& piece : *expected) {  // as it is now: what it shares memory with may change
      if (piece.tensor.defined() && has_data(piece.tensor)) piece.tensor = copied(piece.tensor);
    }
    const auto found = check.attempt(sample, call, changed);
    if (!found) continue;
    const std::string what = difference(*expected, *found, single ? kSingle : kExact);
    if (what.empty()) continue;
    check.find("layout",
               format_text("once contiguous and once with {}{}, {}", layout.name,
                           single ? ", in f32" : "", what),
               &sample);
    return;
  }
}

void check_single(OpCheck& check, const Sample& sample) {
  const SampleCall call = check.call_of(sample), again = check.call_of(sample);
  const auto expected = check.attempt(sample, call, call.tensors);
  if (!expected) return;
  std::vector<Piece> found;
  try {
    found = check.observe(sample, again, in_single(again.tensors));
  } catch (const tenon::Error& error) {
    if (!check.find_refused_result(error, sample))
      check.find("dtype", format_text("f64 is taken, but f32 is refused: {}", error.what()),
                 &sample);
    return;
  }
  const std::string what = difference(*expected, found, kOtherDtype);
  if (!what.empty())
    return check.find("precision", format_text("once in f64 and once in f32, {}", what), &sample);
  const bool names_dtype =
      std::any_of(sample.values.begin(), sample.values.end(),
                  [](const SampleValue& value) { return value.kind == SampleValue::Kind::dtype; });
  const bool all_double = std::all_of(
      call.tensors.begin(), call.tensors.end(),
      [](const Tensor& tensor) { return !tensor.defined() || tensor.dtype() == tenon::f64; });
  if (call.tensors.empty() || names_dtype || !all_double) return;
  for (const Tensor& result : tensors_of(found)) {
    if (result.defined() && result.dtype() == tenon::f64)
      check.listener.note("where all tensors are f32, a result is f64");
  }
}

// One parameter in f32, the others in f64. Which dtype comes of that is the op's choice, and whether it
// takes both; numbers are not.
void check_mixed(OpCheck& check, const Sample& sample) {
  const SampleCall call = check.call_of(sample);
  const std::vector<Tensor> single = in_single(call.tensors);
  if (check.mutates(sample)) return;
  for (size_t v = 0; v < sample.values.size(); ++v) {
    std::vector<Tensor> mixed = copied(call.tensors), rounded = copied(call.tensors);
    bool changed = false, others = false;
    for (size_t t = 0; t < single.size(); ++t) {
      if (!single[t].defined() || single[t].dtype() == call.tensors[t].dtype()) continue;
      const bool chosen = call.places[t].value == v;
      (chosen ? changed : others) = true;
      if (!chosen) continue;
      mixed[t] = copied(single[t]);
      rounded[t] = converted(single[t], tenon::f64);
    }
    if (!changed || !others) continue;
    const auto expected = check.attempt(sample, call, rounded);
    const auto found = check.attempt(sample, call, mixed);
    if (!expected || !found) continue;
    const std::string what = difference(*expected, *found, kOtherDtype);
    if (what.empty()) continue;
    return check.find("precision",
                      format_text("once where all operands are f64 and once where '{}' is f32, {}",
                                  sample.values[v].name, what),
                      &sample);
  }
}

void check_out(OpCheck& check, const Sample& sample, const DeclaredType& parameter) {
  const SampleCall call = check.call_of(sample);
  const auto expected = check.attempt(sample, call, call.tensors);
  if (!expected || expected->size() != 1 || !(*expected)[0].tensor.defined()) return;
  const Tensor without = copied((*expected)[0].tensor);
  for (const bool strided : {false, true}) {
    const SampleCall fresh = check.call_of(sample);
    Tensor out = tenon::empty_tensor(without.shape(), without.dtype());
    tenon::fill_elements(out, 3);
    if (strided) out = kLayouts[0].make(out);
    try {
      const std::vector<Tensor> results = tensors_of(fresh.with(parameter.name, out));
      const std::string found = difference(without, out, kExact);
      if (!found.empty())
        check.find(
            "out",
            format_text("once without and once in the tensor given as out, the result{}", found),
            &sample);
      else if (results.size() != 1 || !results[0].is_same(out))
        check.find("out", "the result is not the tensor that was given as out", &sample);
    } catch (const tenon::Error& error) {
      if (!strided)
        check.find("out", format_text("a fitting out is refused: {}", error.what()), &sample);
    }
  }
}

// The result in the memory of an operand: refused, or right.
void check_overlapping_out(OpCheck& check, const Sample& sample, const DeclaredType& parameter) {
  const SampleCall call = check.call_of(sample);
  const auto expected = check.attempt(sample, call, call.tensors);
  if (!expected || expected->size() != 1 || !(*expected)[0].tensor.defined()) return;
  const Tensor without = copied((*expected)[0].tensor);
  for (size_t t = 0; t < call.tensors.size(); ++t) {
    SampleCall fresh = check.call_of(sample);
    const Tensor& operand = fresh.tensors[t];
    if (operand.sizes() != without.sizes() || operand.dtype() != without.dtype()) continue;
    try {
      fresh.with(parameter.name, operand);
    } catch (const tenon::Error&) {
      continue;
    }
    const std::string found = difference(without, operand, kExact);
    if (!found.empty())
      check.find("overlapping-out",
                 format_text("once in a new tensor and once with the operand '{}' as out, the "
                             "result{}",
                             sample.values[call.places[t].value].name, found),
                 &sample);
  }
}

}  // namespace

void check_layouts(OpCheck& check) {
  for (const Sample& sample : check.samples) {
    check.listener.trying(sample);
    const bool changes = check.mutates(sample);
    // Views speak of the storage itself.
    if (sample.layouts && sample.deterministic &&
        (check.aliased.empty() || !check.mutated.empty())) {
      for (const Layout& layout : kLayouts) {
        if (layout.repeats && changes) continue;
        check_layout(check, sample, layout, false);
        if (sample.precision && !check.random) check_layout(check, sample, layout, true);
      }
    }
    if (sample.layouts && !check.aliased.empty()) {
      const SampleCall call = check.call_of(sample);  // whether a declared view is one
      std::vector<Tensor> strided;
      for (const Tensor& tensor : call.tensors) strided.push_back(kLayouts[0].make(tensor));
      check.attempt(sample, call, strided);
    }
    if (sample.precision && !check.random) {
      check_single(check, sample);
      if (sample.deterministic) check_mixed(check, sample);
    }
    for (const DeclaredType& type : check.op.parameters) {
      if (!type.is_out()) continue;
      check_out(check, sample, type);
      if (!check.random && check.found.count("out") == 0)
        check_overlapping_out(check, sample, type);
    }
  }
}

}  // namespace cli

// Stage "call": arguments that the op takes, and what it does against what it declares.
#include <algorithm>

#include <tenon/graph.hpp>
#include <tenon/parallel.hpp>
#include <tenon/typed_tensor.hpp>

#include "format.hpp"
#include "op_check.hpp"

namespace cli {

using tenon::Tensor;
using tenon::Value;

namespace {

// The op must accept the author's samples.
bool read_samples(OpCheck& check) {
  try {
    check.samples = parse_samples(check.op.samples, check.op.parameters);
  } catch (const tenon::Error& error) {
    check.find("samples", error.what(), nullptr);
    return false;
  }
  for (size_t i = 0; i < check.samples.size(); ++i) {
    Sample& sample = check.samples[i];
    try {
      check.listener.trying(sample);
      prepare_sample(sample, format_text("{}/{}/{}", check.settings.folder, check.op.name, i),
                     check.settings.seed);
    } catch (const tenon::Error& error) {
      check.find("samples", format_text("its `prepare` fails: {}", error.what()), &sample);
      return false;
    }
    try {
      const SampleCall call = check.call_of(sample);
      call(call.tensors);
    } catch (const tenon::Error& error) {
      if (check.find_refused_result(error, sample)) return false;
      check.find("samples", format_text("the op refuses it: {}", error.what()), &sample);
      return false;
    }
  }
  return !check.samples.empty();
}

// Refusals of the arguments that were tried.
struct Refusals {
  std::string last, first;
  int64_t count = 0;
  bool same = true;
  void add(const tenon::Error& error) {
    last = error.what();
    if (count++ == 0) first = last;
    same = same && last == first;
  }
};

bool is_taken(OpCheck& check, const Sample& sample, Refusals& refusals) {
  if (check.found.count("memory") > 0) return false;
  try {
    check.listener.trying(sample);
    const SampleCall call = check.call_of(sample);
    const std::vector<Value> results = call(call.tensors);
    const std::vector<Tensor> tensors = tensors_of(results);
    // One element at least, or nothing would be seen.
    const bool empty =
        !tensors.empty() && std::all_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
          return tensor.defined() && tensor.numel() == 0;
        });
    return !empty && all_finite(readable(tensors));
  } catch (const tenon::MemoryError& error) {
    check.find("memory", error.what(), &sample);
    return false;
  } catch (const tenon::Error& error) {
    if (check.find_refused_result(error, sample)) return false;
    if (error.kind() == TENON_ERROR_INTERNAL) check.find("result", error.what(), &sample);
    refusals.add(error);
    return false;
  }
}

bool fits(const DeclaredType& type, uint32_t tag) {
  if (type.base == "any") return true;
  if (tag == TENON_VALUE_NONE) return type.optional;
  if (type.is_tensor()) return tag == (type.list ? TENON_VALUE_TENSOR_LIST : TENON_VALUE_TENSOR);
  return tag != TENON_VALUE_TENSOR && tag != TENON_VALUE_TENSOR_LIST;
}

void check_kinds(OpCheck& check, const Sample& sample, const std::vector<Value>& results) {
  for (size_t r = 0; r < results.size() && r < check.op.returns.size(); ++r) {
    const DeclaredType& type = check.op.returns[r];
    const uint32_t tag = results[r].get().tag;
    if (fits(type, tag)) continue;
    check.find("result",
               format_text("result {} is {}, but the schema declares {}{}", r,
                           tag == TENON_VALUE_NONE ? "none" : "of another type", type.base,
                           type.list ? "[]" : ""),
               &sample);
  }
}

void note_unreadable(OpCheck& check, const std::vector<Tensor>& results) {
  for (const Tensor& result : results) {
    if (result.defined() && !readable(result).defined())
      check.listener.note(
          format_text("its elements are not compared: a {} has no data and no conversion to Tensor",
                      tenon::type_name(result)));
  }
}

std::string declared(const DeclaredType& type) {
  return format_text("'{}{} {}', without '!'", type.base,
                     type.alias.empty() ? "" : format_text("({})", type.alias), type.name);
}

// Memory that the next call gets for tensors of these sizes holds other bytes than before: what it
// does not write shows.
void spoil_free_memory(const std::vector<Tensor>& like) {
  constexpr int blocks = 8;
  std::vector<Tensor> spoiled;
  for (const Tensor& tensor : like) {
    for (int i = 0; tensor.defined() && has_data(tensor) && i < blocks; ++i) {
      spoiled.push_back(tenon::empty_tensor(tensor.shape(), tensor.dtype()));
      tenon::fill_elements(spoiled.back(), 77);
    }
  }
}

void check_call(OpCheck& check, const Sample& sample) {
  check.listener.trying(sample);
  const SampleCall call = check.call_of(sample);
  const std::vector<Piece> pieces = check.observe(sample, call, call.tensors);
  const std::vector<Tensor> results = tensors_of(pieces);
  note_unreadable(check, results);
  check.random = check.random || !sample.deterministic;
  if (!sample.deterministic) return;
  const auto before = bytes_of(results);
  const SampleCall again = check.call_of(sample);
  spoil_free_memory(results);
  const std::vector<Piece> repeated = pieces_of(again(again.tensors));
  if (const std::string what = difference(pieces, repeated, kExact); !what.empty())
    check.find("nondeterminism", format_text("called twice with the same arguments, {}", what),
               &sample);
  for (const Tensor& result : results) {
    for (const Tensor& later : tensors_of(repeated)) {
      if (!shares_storage(result, later) || !check.mutated.empty()) continue;
      check.find("shared-result", "a second call returns memory that the first result uses",
                 &sample);
    }
  }
  const SampleCall other = check.call_of(sample);
  if (!difference(pieces, pieces_of(other(other.tensors, 2)), kExact).empty()) check.random = true;
}

// Finds declarations that no call confirms.
void check_idle_declarations(OpCheck& check) {
  for (const DeclaredType& type : check.op.parameters) {
    if (type.alias.empty() || type.is_out()) continue;
    const bool given =
        std::any_of(check.samples.begin(), check.samples.end(), [&](const Sample& sample) {
          return std::any_of(sample.values.begin(), sample.values.end(), [&](const SampleValue& v) {
            return v.name == type.name && !v.tensors.empty();
          });
        });
    const bool expected = std::all_of(check.samples.begin(), check.samples.end(),
                                      [](const Sample& sample) { return sample.mutation; });
    if (!given) continue;
    const bool returned =
        std::any_of(check.op.returns.begin(), check.op.returns.end(),
                    [&](const DeclaredType& result) { return result.alias == type.alias; });
    if (type.mutates && expected && check.mutated.count(type.name) == 0) {
      check.find("missing-mutation",
                 format_text("the schema declares that '{}' is changed, but no sample changes it",
                             type.name),
                 nullptr);
    } else if (returned && check.aliased.count(type.name) == 0) {
      check.find("missing-alias",
                 format_text("the schema declares a result that shares the memory of '{}', but in "
                             "no sample does it",
                             type.name),
                 nullptr);
    }
  }
}

}  // namespace

bool find_samples(OpCheck& check) {
  if (!check.op.samples.empty()) {
    if (!read_samples(check)) check.samples.clear();
    for (Sample& sample : check.samples) apply_options(check.settings.options, sample);
    return !check.samples.empty();
  }
  Refusals refusals;
  const auto accepts = [&](const Sample& sample) { return is_taken(check, sample, refusals); };
  Generated generated = generate_samples(check.op.parameters, accepts, &refusals.last);
  check.samples = std::move(generated.samples);
  for (Sample& sample : check.samples) apply_options(check.settings.options, sample);
  if (!check.found.empty()) {
    check.samples.clear();
    return false;
  }
  // A refusal that depends on the arguments names what it dislikes about them.
  constexpr int64_t many = 20;
  const bool names_dtype =
      contains_text(refusals.last, "f32") || contains_text(refusals.last, "i32");
  if (check.samples.empty() && refusals.count >= many && refusals.same && !names_dtype) {
    check.find("refuses-all",
               format_text("{} different arguments were refused with the same words: {}",
                           refusals.count, refusals.last),
               nullptr);
    return false;
  }
  if (check.samples.empty()) check.listener.skip(generated.reason);
  return !check.samples.empty();
}

bool OpCheck::marks_dirty(const Sample& sample, size_t t) const {
  if (!op.function || !tenon::is_differentiable(call_of(sample).tensors[t].dtype())) return false;
  SampleCall call = call_of(sample);
  try {
    const tenon::EnableGrad scope;
    Tensor leaf = call.tensors[t].detach();
    leaf.requires_grad_();
    call.tensors[t] = tenon::Op("clone").call<Tensor>(leaf);
    const std::vector<Tensor> results = tensors_of(call(call.tensors));
    return call.tensors[t].grad_fn().op() == op.name;
  } catch (const tenon::Error&) {
    return false;
  }
}

std::vector<Piece> OpCheck::observe(const Sample& sample, const SampleCall& call,
                                    const std::vector<Tensor>& given) {
  const auto before = bytes_of(given);
  std::vector<int64_t> versions;
  std::vector<bool> required;
  for (const Tensor& tensor : given) {
    versions.push_back(tensor.version());
    required.push_back(tensor.requires_grad());
  }
  std::vector<Value> values = call(given);
  check_kinds(*this, sample, values);
  std::vector<Piece> pieces = pieces_of(std::move(values));
  if (!continues_draws())
    find("generator", "the call seeds the generator of the process, or sets it back", &sample);
  const std::vector<Tensor> results = tensors_of(pieces);
  for (size_t t = 0; t < given.size(); ++t) {
    const DeclaredType& type = parameter_of(sample, call.places[t].value);
    const bool written = bytes_of(given[t]) != before[t];
    const bool changed = written || given[t].version() != versions[t];
    if (written) mutated.insert(type.name);
    if (changed && !type.mutates && !marks_dirty(sample, t)) {
      find("undeclared-mutation",
           format_text("the call changes its argument '{}', which the schema declares as {}",
                       type.name, declared(type)),
           &sample);
    }
    if (given[t].requires_grad() != required[t] && !type.mutates && !marks_dirty(sample, t)) {
      find("undeclared-mutation",
           format_text("after the call the argument '{}' requires grad, which it did not before",
                       type.name),
           &sample);
    }
    for (size_t r = 0; r < results.size(); ++r) {
      if (!shares_storage(given[t], results[r])) continue;
      aliased.insert(type.name);
      if (!type.alias.empty() || marks_dirty(sample, t)) continue;
      // A Function may return its input: the host makes another handle of it.
      if (op.function && results[r].is_same(given[t])) continue;
      find("undeclared-alias",
           format_text("the result{}{} the argument '{}', but the schema declares a new tensor",
                       results.size() == 1 ? "" : format_text(" {}", r),
                       results[r].is_same(given[t]) ? " is" : " is a view of", type.name),
           &sample);
    }
  }
  for (size_t r = 0; r < results.size(); ++r) {
    for (size_t s = 0; s < r; ++s) {
      if (!shares_storage(results[r], results[s]) || !aliased.empty() || !mutated.empty()) continue;
      find("undeclared-alias",
           format_text("results {} and {} share their memory, but the schema declares new tensors",
                       s, r),
           &sample);
    }
  }
  return pieces;
}

std::optional<std::vector<Piece>> OpCheck::attempt(const Sample& sample, const SampleCall& call,
                                                   const std::vector<Tensor>& given) {
  try {
    return observe(sample, call, given);
  } catch (const tenon::Error& error) {
    find_refused_result(error, sample);
    return std::nullopt;
  }
}

void check_calls(OpCheck& check) {
  for (const Sample& sample : check.samples) check_call(check, sample);
  check_idle_declarations(check);
}

}  // namespace cli

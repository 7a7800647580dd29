// Stage "results" of overrides: what the op gives for the converted operands, each time, in new memory;
// operands stay.
#include <algorithm>

#include <tenon/typed_tensor.hpp>

#include "format.hpp"
#include "override_check.hpp"

namespace cli {

using tenon::Tensor;
using tenon::Value;

namespace {

// Numbers as tensors: an override may return a float where the op returns a Tensor.
std::vector<Piece> plain(std::vector<Piece> pieces) {
  for (Piece& piece : pieces) {
    piece.type.clear();
    if (piece.other.is_none()) {
      piece.tensor = readable(piece.tensor);
      continue;
    }
    try {
      piece.tensor = tenon::ensure_tensor(tenon::Argument(piece.other.get()));
      piece.other = {};
    } catch (const tenon::TypeError&) {  // a text, or another value without elements
    }
  }
  return pieces;
}
std::vector<Piece> plain_pieces(std::vector<Value> values) {
  return plain(pieces_of(std::move(values)));
}

// In what memory an operand or a result is; undefined where each conversion makes new memory.
Tensor memory_of(const Tensor& tensor) {
  if (!tensor.defined() || has_data(tensor)) return tensor;
  const Tensor plain = plain_of(tensor);
  return plain.defined() && has_data(plain) && shares_storage(plain, plain_of(tensor)) ? plain
                                                                                       : Tensor();
}

// Names the operand whose memory a result is in; empty: none.
std::string shared_operand(const AnsweredCall& answered, const SampleCall& call,
                           const std::vector<Tensor>& operands,
                           const std::vector<Tensor>& results) {
  for (size_t t = 0; t < operands.size(); ++t) {
    for (const Tensor& result : results) {
      if (!operands[t].defined() || !result.defined()) continue;
      const Tensor own = memory_of(operands[t]), other = memory_of(result);
      const bool shares = own.defined() && other.defined() && has_data(own) && has_data(other) &&
                          shares_storage(own, other);
      if (result.is_same(operands[t]) || shares)
        return answered.sample.values[call.places[t].value].name;
    }
  }
  return "";
}

// "f32, that of the op f64": a result with fewer digits; empty: none. Objects of the override's types
// have the digits that their type has.
std::string lost_digits(const std::vector<Piece>& results, const std::vector<std::string>& types,
                        const std::vector<Piece>& expected, const OverrideCheck& check) {
  for (size_t r = 0; r < std::min(results.size(), expected.size()); ++r) {
    if (std::find(check.types.begin(), check.types.end(), types[r]) != check.types.end()) continue;
    const Tensor &found = results[r].tensor, &other = expected[r].tensor;
    if (!found.defined() || !other.defined()) continue;
    if (!tenon::is_floating(found.dtype()) || !tenon::is_floating(other.dtype())) continue;
    if (tenon::element_size(found.dtype()) < tenon::element_size(other.dtype()))
      return format_text("{}, that of the op {}", tenon::dtype_text(found.dtype()),
                         tenon::dtype_text(other.dtype()));
  }
  return "";
}

// Whether the run, or what an object is made by, expects that few digits are enough.
bool few_digits(const AnsweredCall& answered) {
  return !answered.sample.precision ||
         std::any_of(answered.operands.begin(), answered.operands.end(),
                     [](const Operand& operand) {
                       return operand.source != nullptr && !operand.source->arguments.precision;
                     });
}

void check_result(OverrideCheck& check, const AnsweredCall& answered) {
  const Sample report = answered.report();
  const std::string order = order_text(answered.operands);
  check.listener.trying(report);
  const tenon::NoGrad off;
  const SampleCall call = check.call_of(answered);
  const std::vector<Tensor> operands = check.operands_of(answered, call);
  const std::vector<Tensor> converted = converted_operands(check.operands_of(answered, call));
  const auto before = bytes_of(operands);
  std::vector<Piece> results;
  std::vector<std::string> types;
  std::vector<Tensor> raw;
  try {
    std::vector<Piece> pieces = pieces_of(call(operands));
    raw = tensors_of(pieces);
    for (const Piece& piece : pieces) types.push_back(piece.type);
    results = plain(std::move(pieces));
  } catch (const tenon::Error& error) {  // it has answered before
    check.find("override-result",
               format_text("on {} it answers once, and is refused then: {}", order, error.what()),
               &report);
    return;
  }
  const bool declares_alias =
      std::any_of(check.op.returns.begin(), check.op.returns.end(),
                  [](const DeclaredType& type) { return !type.alias.empty(); });
  const std::string shared = shared_operand(answered, call, operands, raw);
  const auto after = bytes_of(operands);
  for (size_t t = 0; t < operands.size(); ++t) {
    const std::string& name = answered.sample.values[call.places[t].value].name;
    if (after[t] == before[t] || check.mutates(name)) continue;
    check.find("undeclared-mutation",
               format_text("the override changes '{}', which the op declares without '!'", name),
               &report);
  }
  if (check.found.empty()) {
    const std::string what =
        difference(results, plain_pieces(call(check.operands_of(answered, call))), kExact);
    if (!what.empty() && answered.sample.deterministic)
      check.find("nondeterminism",
                 format_text("called twice on {} with the same operands, {}", order, what),
                 &report);
  }
  if (converted.size() < operands.size())
    return check.listener.note("results are not compared: an operand has no conversion to Tensor");
  try {
    const std::vector<Piece> expected = plain_pieces(call(copied(converted)));
    if (!difference(expected, plain_pieces(call(copied(converted), 2)), kExact).empty())
      return check.listener.note("results are not compared: the op draws at random");
    const std::string lost =
        few_digits(answered) ? "" : lost_digits(results, types, expected, check);
    if (!lost.empty())
      check.find("override-result", format_text("on {} the result is {}", order, lost), &report);
    const std::vector<Tensor> given = copied(converted);
    if (!shared.empty() && !declares_alias &&
        shared_operand(answered, call, given, tensors_of(call(given))).empty())
      check.find("undeclared-alias",
                 format_text("on {} the result is in the memory of the operand '{}'; that of the "
                             "op is in new memory",
                             order, shared),
                 &report);
    const std::string what = difference(results, expected, kOtherDtype);
    if (!what.empty())
      check.find("override-result",
                 format_text("on {}, once by the override and once by the op on the converted "
                             "operands, {}",
                             order, what),
                 &report);
  } catch (const tenon::Error& error) {
    check.listener.note(format_text(
        "results are not compared: the op refuses the converted operands: {}", error.what()));
  }
}

}  // namespace

void check_override_results(OverrideCheck& check) {
  for (const AnsweredCall& call : check.calls) {
    try {
      check_result(check, call);
    } catch (const tenon::Error& error) {  // thrown by an object's maker or conversion
      check.listener.note(format_text("on {} results are not compared: {}",
                                      order_text(call.operands), error.what()));
    }
  }
}

}  // namespace cli

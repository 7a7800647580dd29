// Stage "results" of overrides: what the op gives for the converted operands; operands stay.
#include <tenon/type.hpp>

#include "format.hpp"
#include "override_check.hpp"

namespace cli {

using tenon::Tensor;
using tenon::Value;

namespace {

// Numbers as tensors: an override may return a float where the op returns a Tensor.
std::vector<Piece> plain_pieces(std::vector<Value> values) {
  std::vector<Piece> pieces = pieces_of(std::move(values));
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
  try {
    results = plain_pieces(call(operands));
  } catch (const tenon::Error& error) {  // it has answered before
    check.find("override-result",
               format_text("on {} it answers once, and is refused then: {}", order, error.what()),
               &report);
    return;
  }
  const auto after = bytes_of(operands);
  for (size_t t = 0; t < operands.size(); ++t) {
    const std::string& name = answered.sample.values[call.places[t].value].name;
    if (after[t] == before[t] || check.mutates(name)) continue;
    check.find("undeclared-mutation",
               format_text("the override changes '{}', which the op declares without '!'", name),
               &report);
  }
  if (converted.size() < operands.size())
    return check.listener.note("results are not compared: an operand has no conversion to Tensor");
  try {
    const std::vector<Piece> expected = plain_pieces(call(copied(converted)));
    if (!difference(expected, plain_pieces(call(copied(converted), 2)), kExact).empty())
      return check.listener.note("results are not compared: the op draws at random");
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
    } catch (const tenon::Error& error) {  // of an object's maker or conversion
      check.listener.note(format_text("on {} results are not compared: {}",
                                      order_text(call.operands), error.what()));
    }
  }
}

}  // namespace cli

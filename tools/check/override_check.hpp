// One override under check: what its stages share. Each stage is a function in a file named after
// it.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "item_check.hpp"
#include "objects.hpp"
#include "tensors.hpp"

namespace cli {

// One operand: an object, or a plain tensor or number.
struct Operand {
  std::string parameter;
  std::string type;                      // "Diagonal", "Tensor", "Scalar"
  const ObjectSource* source = nullptr;  // the maker of an object
};

// Arguments that the override answers.
struct AnsweredCall {
  std::vector<Operand> operands;
  Sample sample;  // with a tensor in the place of each object

  const ObjectSource* source_of(const std::string& parameter) const;
  Sample report() const;  // with the objects in their places
};
std::string order_text(const std::vector<Operand>& operands);  // "(Diagonal, Tensor)"

class OverrideCheck : public ItemCheck {
 public:
  // Throws ValueError where its op or a type is not known.
  OverrideCheck(const std::string& key_of, const CheckSettings& settings_of,
                CheckListener& listener_of);

  const std::string& key;          // "mul[A, B]"
  std::vector<std::string> types;  // types of the key
  CheckedOp op;
  std::deque<ObjectSource> sources;
  std::vector<AnsweredCall> calls;

  SampleCall call_of(const AnsweredCall& call) const {
    return {op.name, call.sample, settings.seed};
  }
  // Whether the op declares that it changes this argument.
  bool mutates(const std::string& parameter) const;
  // Fresh tensors for a call, objects in their places.
  std::vector<tenon::Tensor> operands_of(const AnsweredCall& answered,
                                         const SampleCall& call) const;
};
// The operands with each object converted; an empty list where one has no conversion.
std::vector<tenon::Tensor> converted_operands(const std::vector<tenon::Tensor>& operands);

// Stages. The first gathers the calls that the others look at.
void find_answers(OverrideCheck& check);
void check_override_results(OverrideCheck& check);
void check_override_gradients(OverrideCheck& check);
void check_override_threads(OverrideCheck& check);
void check_override_leaks(OverrideCheck& check);

}  // namespace cli

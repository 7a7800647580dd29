// The calls of a model as plain data: what a prepared model runs, and what passes rewrite.
//
// A list is for arguments of one layout. Its values are numbered: arguments of the model, constants
// and results of calls, each result once. A pass takes a list and leaves another that gives the same
// outputs; values that no call uses any more may stay.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/op.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

inline constexpr int64_t undefined_value = -1;  // number of an undefined value

// A tensor of the list.
struct ListValue {
  enum class Kind : uint8_t { argument, constant, result };  // origins of values
  Kind kind = Kind::result;                                  // its origin
  Tensor layout;    // dtype, shape and strides, without data
  Tensor constant;  // the tensor of a constant
  // Name of a parameter or buffer, "0.weight"; empty of other constants, which no output shows.
  std::string name;
  int64_t argument = 0;  // the place of an argument among the model's, see Program::run
  // Values of one number may share memory: views, and operands that come back as results.
  int64_t memory = 0;
};

// An argument or result of a call, or an output of the model: a tensor, a list of tensors, or a value
// that is the same in each run.
struct ListOperand {
  enum class Kind : uint8_t { literal, tensor, tensors };  // forms of an operand
  Kind kind = Kind::literal;                               // its form
  std::vector<int64_t> values;           // numbers of tensors; undefined_value for none
  std::shared_ptr<const Value> literal;  // null: none
};

struct ListedCall {                                          // a call of the list
  explicit ListedCall(Op called) : op(std::move(called)) {}  // for this op

  Op op;                               // op that is called
  std::vector<ListOperand> arguments;  // one for each parameter of the schema
  std::vector<ListOperand> results;    // values that it makes
  std::vector<size_t> written;         // parameters whose tensors it changes in place
  std::string rewrite;  // name of the rule that put it there; empty: the model made it
  // Parameters whose tensors, members of the model, it declares to change and has left as they are.
  std::vector<size_t> unchanged;
};

struct CallList {                 // calls in order, by numbers of values
  std::vector<ListValue> values;  // by their numbers
  std::vector<ListedCall> calls;  // in order
  // Results of the model, then those that a run compares: see `compared`.
  std::vector<ListOperand> outputs;
  // Elements of the last outputs, which the model read in the recording: the list is for runs in which
  // they are the same.
  std::vector<Tensor> compared;
};

// A copy of an argument that owns what it refers to: what a literal is.
Value copy_value(const tenon_value& value);

// Calls visit(number) with every tensor of an operand that is defined.
template <class Visit>
void for_each_value(const ListOperand& operand, Visit&& visit) {
  for (const int64_t value : operand.values) {
    if (value != undefined_value) visit(static_cast<size_t>(value));
  }
}
// Visits numbers of values.
template <class Visit>
void for_each_value(const std::vector<ListOperand>& operands, Visit&& visit) {
  for (const ListOperand& operand : operands) for_each_value(operand, visit);
}

}  // namespace prepared

TENON_NAMESPACE_END

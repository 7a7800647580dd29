// Values of a model as arguments of ops.
#pragma once

#include <vector>

#include "program.hpp"

namespace onnx {

// Elements of a tensor of numbers, and of one that has one, as what an op takes. TypeError and ValueError for others.
std::vector<int64_t> integers_of(const tenon_value& value);
std::vector<double> numbers_of(const tenon_value& value);
int64_t integer_of(const tenon_value& value);
bool truth_of(const tenon_value& value);

// The arguments of one call and the memory of its lists.
class CallArguments {
 public:
  // `value_of(source, reads)` is the value behind a source; `reads`: its elements are read here.
  template <class ValueOf>
  CallArguments(const Step& step, ValueOf&& value_of) {
    values_.reserve(step.arguments.size());
    for (const StepArgument& argument : step.arguments) {
      if (!argument.keyword.empty())
        keywords_.push_back(tenon::detail::string_of(argument.keyword));
      if (argument.as == StepArgument::As::tensors) {
        std::vector<tenon_tensor*>& list = tensors_.emplace_back();
        for (const Source& source : argument.sources)
          list.push_back(tensor_of(value_of(source, false)));
        values_.push_back(list_of(list));
      } else {
        const bool reads = argument.as != StepArgument::As::value;
        values_.push_back(convert(argument.as, value_of(argument.sources[0], reads)));
      }
    }
    positional_ = step.positional;
  }
  // The results; with `spread` the elements of the one list.
  std::vector<tenon::Value> call(const tenon::Op& op, size_t results, bool spread) const;

 private:
  static tenon_tensor* tensor_of(const tenon_value& value);
  static tenon_value list_of(const std::vector<tenon_tensor*>& list);
  tenon_value convert(StepArgument::As as, const tenon_value& value);

  std::vector<tenon_value> values_;
  std::vector<tenon_string> keywords_;
  size_t positional_ = 0;
  // The elements of a list stay where they are as lists are added. Empty for most calls, and then
  // without memory.
  std::vector<std::vector<tenon_tensor*>> tensors_;
  std::vector<std::vector<int64_t>> integers_;
  std::vector<std::vector<double>> numbers_;
};

}  // namespace onnx

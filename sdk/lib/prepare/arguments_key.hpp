// Keys of lists: what a list depends on, of the arguments that it is for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/json.hpp>

#include "record.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

class ConstantStore;
class StoredConstants;

// Calls visit(tensor) with each tensor of the arguments, in lists too; undefined ones are null there.
template <class Visit>
void for_each_tensor(const Arguments& arguments, Visit&& visit) {
  const auto look = [&](const tenon_value* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      if (values[i].tag == TENON_VALUE_TENSOR) visit(values[i].as.tensor);
      for (uint32_t k = 0; values[i].tag == TENON_VALUE_TENSOR_LIST && k < values[i].length; ++k)
        visit(values[i].as.tensors[k]);
    }
  };
  look(arguments.values, arguments.count);
  look(arguments.keyword_values, arguments.keyword_count);
}

// Everything about the arguments of a call that its list depends on: kinds, keywords, layouts, literals,
// and which tensors are the same.
class ArgumentsKey {
 public:
  explicit ArgumentsKey(const Arguments& arguments);
  bool matches(const Arguments& arguments) const;
  // With the elements of the arguments that are numbers, which the list depends on as well.
  void add_numbers(const Arguments& arguments);
  bool has_numbers() const { return !numbers_.empty(); }
  std::string text() const;
  // Layouts of the tensors, each tensor once.
  std::vector<Tensor> layouts() const;

  // For files: numbers by `store`; ValueError where the document is not one of a key.
  Json document(ConstantStore& store) const;
  ArgumentsKey(const Json& document, const StoredConstants& stored);

 private:
  struct One {
    std::string keyword;
    uint32_t tag = TENON_VALUE_NONE;
    std::vector<Tensor> layouts;  // undefined where a list has no tensor
    std::shared_ptr<const Value> literal;
  };
  static bool matches(const One& one, const tenon_value& value);
  std::vector<One> by_position_, by_keyword_;
  std::vector<size_t> same_;     // by tensor: the first that is the same
  std::vector<Tensor> numbers_;  // by tensor; undefined where the elements do not matter
};

}  // namespace prepared

TENON_NAMESPACE_END

// Parameters and results of a schema, as listings print them, and values held against them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/json.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

struct DeclaredType {  // type of a parameter of a schema
  std::string name;    // without brackets: "Tensor"
  std::string text;    // "Tensor|Scalar", "int[2]?"
  std::string base;    // "Tensor|Scalar", "int"
  // As the schema has it.
  bool list = false, optional = false, has_default = false, mutates = false, keyword_only = false;
  bool dictionary = false;          // a list by name: Module{}
  int64_t length = 0;               // length of int[2]; 0: any
  std::string alias, default_text;  // "a!" of an alias; text of the default

  bool is_tensor() const { return base == "Tensor" || base == "Tensor|Scalar"; }  // not a list
  bool is_out() const { return keyword_only && name == "out"; }  // a tensor to write to
};

// From "parameters" or "returns" of a listing.
std::vector<DeclaredType> declared_types(const Json& list);

// Whether a value names an op that computes a tensor: "balanced", {"type": "balanced"}.
bool names_op(const Json& value);

// Whether arguments that are tensors may be given: as numbers and nested lists of them, or as the
// name of an op that computes them.
enum class TensorForms { none, written };

// Faults of an object's members as arguments named after these parameters: unknown names, missing
// ones, values of another kind than a call would take. `given` are names of parameters that come
// from elsewhere; keys in `others` are not arguments. Each fault begins with its place.
std::vector<std::string> argument_faults(const Json& object, const std::string& owner,
                                         const std::vector<DeclaredType>& parameters,
                                         const std::vector<std::string>& given,
                                         const std::vector<std::string>& others,
                                         TensorForms tensors = TensorForms::none);

}  // namespace training

TENON_NAMESPACE_END

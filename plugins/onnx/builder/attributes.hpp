// Attributes of nodes, some of which are those of the function around them.
#pragma once

#include "model_file.hpp"
#include "signature.hpp"

namespace onnx {

// The function whose nodes are made in place of a call: the call's attributes.
struct FunctionCall {
  const Function* function = nullptr;
  const Node* node = nullptr;
  const FunctionCall* outer = nullptr;
};

// The attribute of a node, or of the function call that it refers to; null where it is absent.
const Attribute* resolve(const Attribute* attribute, const FunctionCall* call);
const Attribute* find_attribute(const Node& node, std::string_view name, const FunctionCall* call);
// ValueError where the node has no such graph.
const Graph& subgraph(const Node& node, std::string_view name, const FunctionCall* call);

// The value of an attribute as an argument for a parameter of an op.
tenon::Value attribute_value(ModelFile& file, const Attribute& attribute,
                             const Parameter& parameter);
// A literal of a rule; numbers are read for the parameter's type.
tenon::Value literal_value(const tenon::Json& literal, const Parameter& parameter);
// The tensor that a Constant's attribute is.
tenon::Tensor constant_tensor(ModelFile& file, const Attribute& attribute);

}  // namespace onnx

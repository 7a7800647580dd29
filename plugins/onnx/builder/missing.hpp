// Nodes that no plugin converts, found before anything is made.
#pragma once

#include "functions.hpp"
#include "operators.hpp"

namespace onnx {

// Operators that speak of the graph itself, which the builder makes.
bool is_built_in(const Node& node);
// Operators whose output is their input: an optional value is the value, or none.
bool is_another_name(const Node& node);
// The node's name, or its operator and its place.
std::string name_of(const Node& node, size_t place);

// NotImplementedError, which names all nodes of graphs and functions without a conversion.
void require_conversions(const ModelData& model, const Functions& functions,
                         const Operators& operators);

}  // namespace onnx

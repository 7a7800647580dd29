// A rule of export, read from its line: an op as an expression of ops that operators stand for.
//
//   nn.functional.silu(input) = mul(input, sigmoid(input))
//
// README.md has the grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/json.hpp>

namespace onnx {

struct ParameterPattern {
  enum class Elements : uint8_t { any, floating, integer, boolean };
  std::string name;
  bool optional = false;  // may be none
  int64_t rank = -1;      // dimensions of the tensor; -1: any number
  Elements elements = Elements::any;
  tenon::Json only;  // the one value that the rule is for; undefined: any
};

// `call` calls an op, `function` a function of the exporter itself, which begins with '@'.
struct Expression {
  enum class Kind : uint8_t { name, element, literal, list, call, function };
  Kind kind = Kind::literal;
  std::string name;  // the value, op or function
  size_t index = 0;  // of an element: the result of a step that has several
  tenon::Json literal;
  std::vector<Expression> items;      // elements, or arguments
  std::vector<std::string> keywords;  // of a call: one for each item; empty: by position
};

struct ExportRule {
  std::string op;
  std::vector<ParameterPattern> parameters;
  std::vector<std::pair<std::string, Expression>> steps;  // NAME := EXPRESSION
  std::vector<Expression> results;
};

// Throws ValueError, which has the line and the column of the fault.
ExportRule read_export_rule(std::string_view line);
// The op that the line is for.
std::string_view exported_op(std::string_view line);

}  // namespace onnx

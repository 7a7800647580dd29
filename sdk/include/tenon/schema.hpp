// What the SDK reads from a schema text at compile time: how many parameters, operands and returns.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/host.hpp"

TENON_NAMESPACE_BEGIN
namespace detail {

struct SchemaCounts {
  int parameters = 0;
  int positional = 0;  // before '*'
  int slots = 0;       // up to the last that may hold a tensor, `out` aside
  int operands = 0;    // Tensor or Tensor|Scalar parameters other than `out`
  int returns = 0;
  bool has_out = false;
  bool list_operands = false;  // some Tensor[]: as many slots as a call has tensors
  bool list_returns = false;
  bool well_formed = false;
  bool plain_parameters = true;  // all but the operands are Scalar, int, float or bool
  std::string_view types[32]{};  // of the parameters: "Tensor(a!)?", "int[2]"
};

constexpr bool starts_with(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && text.substr(0, prefix.size()) == prefix;
}
constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// "nn.relu" of "nn.relu(Tensor input) -> Tensor".
constexpr std::string_view schema_name(std::string_view schema) {
  return schema.substr(0, schema.find('('));
}

// Calls are counted by commas outside of brackets and quotes; the host checks the text in full.
constexpr SchemaCounts count_schema(std::string_view schema) {
  SchemaCounts counts;
  const size_t open = schema.find('(');
  if (open == std::string_view::npos) return counts;
  int depth = 0;
  bool quoted = false;
  bool keywords = false;
  size_t start = open + 1, i = open;
  for (; i < schema.size(); ++i) {
    const char c = schema[i];
    if (c == '\'') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    const bool end = depth == 0 && c == ')';
    if ((depth == 1 && c == ',') || end) {
      const std::string_view part = trim(schema.substr(start, i - start));
      start = i + 1;
      if (part == "*") keywords = true;
      if (!part.empty() && part != "*") {
        const size_t space = part.find(' ');
        const std::string_view type = part.substr(0, space);
        if (counts.parameters < 32) counts.types[counts.parameters] = type;
        ++counts.parameters;
        const std::string_view rest =
            space == std::string_view::npos ? part : trim(part.substr(space));
        const bool out = starts_with(rest, "out=") || rest == "out";
        if (out) counts.has_out = true;
        if (!keywords) ++counts.positional;
        if ((starts_with(part, "Tensor") || starts_with(part, "any")) && !out) {
          counts.slots = counts.parameters;
          if (type.find('[') != std::string_view::npos) counts.list_operands = true;
        }
        if (starts_with(part, "Tensor") && !out) ++counts.operands;
        if (!starts_with(part, "Tensor") && type != "Scalar" && type != "int" && type != "float" &&
            type != "bool") {
          counts.plain_parameters = false;
        }
      }
      if (end) break;
    }
  }
  if (i >= schema.size()) return counts;
  counts.well_formed = true;
  const size_t arrow = schema.find("->", i);
  if (arrow == std::string_view::npos) return counts;
  const std::string_view returns = trim(schema.substr(arrow + 2));
  if (returns == "()") return counts;
  counts.list_returns = returns.find('[') != std::string_view::npos;
  counts.returns = 1;
  depth = 0;
  for (const char c : returns) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 1 && returns.front() == '(') ++counts.returns;
  }
  return counts;
}

}  // namespace detail
TENON_NAMESPACE_END

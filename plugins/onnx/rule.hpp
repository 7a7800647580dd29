// A conversion's rule, read from its line: which op an operator is, and what its arguments are.
//
//   LeakyRelu:6(X; alpha=0.01) = nn.functional.leaky_relu(X, negative_slope=alpha)
//
// README.md has the grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/json.hpp>

namespace onnx {

struct RuleInput {
  std::string name;
  bool optional = false;
  bool variadic = false;  // this and all behind it
};

struct RuleAttribute {
  std::string name;
  bool optional = false;  // none where the node does not have it
  tenon::Json fallback;   // undefined: there is none
  tenon::Json only;       // where it is defined, the rule is for this value alone
};

struct RuleArgument {
  enum class Kind : uint8_t { input, attribute, literal, version, outputs };
  std::string keyword;  // empty: by position
  Kind kind = Kind::literal;
  size_t index = 0;  // its place among inputs or attributes
  tenon::Json literal;
};

struct Rule {
  std::string domain;  // "": that of ONNX
  std::string type;
  int64_t since = 0;
  bool random = false;     // results differ from call to call
  bool pointwise = false;  // an element of the result depends on those at its place alone
  bool spread = false;     // the elements of the op's list are the outputs
  std::string like;        // the engine whose answers it gives; empty: the standard's
  std::vector<RuleInput> inputs;
  std::vector<RuleAttribute> attributes;
  std::string op;
  std::vector<RuleArgument> arguments;

  const RuleAttribute* attribute(std::string_view name) const;
};

// The text before '(', "com.acme.Swish:1", and the engine that the rule is for.
struct RuleHead {
  std::string_view domain;
  std::string_view type;
  int64_t since = 0;
  std::string_view like;
};

// Both throw ValueError, which has the line and the column of the fault.
RuleHead read_rule_head(std::string_view line);
Rule read_rule(std::string_view line);

}  // namespace onnx

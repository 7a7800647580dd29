// Parameters of ops, as their schemas have them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program.hpp"
#include "rule.hpp"

namespace onnx {

// A parameter of an op.
struct Parameter {
  std::string name;
  std::string kind;
  bool list = false;
  bool optional = false;
  bool keyword_only = false;
  bool may_be_tensor = false;
};
struct Signature {
  std::vector<Parameter> parameters;
  size_t results = 0;
};

struct KnownOp {
  std::unique_ptr<tenon::Op> op;
  Signature signature;

  // The parameter that an argument of a rule is for; `place` is its position. ValueError where there is none.
  const Parameter& parameter_of(const RuleArgument& argument, size_t place) const;
};

// How a value of a model becomes an argument for the parameter.
StepArgument::As conversion_of(const Parameter& parameter);

// Ops by name; a schema is parsed once.
class KnownOps {
 public:
  const KnownOp& find(const std::string& name);

 private:
  std::map<std::string, KnownOp> ops_;
};

}  // namespace onnx

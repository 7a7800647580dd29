#include "signature.hpp"

#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "scope.hpp"

namespace onnx {

using tenon::Json;

namespace {

Signature read_signature(const tenon::Op& op) {
  const Json schema = tenon::parse_schema(op.schema());
  Signature signature;
  const Json parameters = schema["parameters"];
  for (int64_t i = 0; i < parameters.size(); ++i) {
    const Json one = parameters[i];
    const std::string type = one["type"].text();
    signature.parameters.push_back({one["name"].text(), one["kind"].text(), one["list"].as_bool(),
                                    one["optional"].as_bool(), one["keyword_only"].as_bool(),
                                    type.find("Tensor") != std::string::npos || type == "any"});
  }
  signature.results = static_cast<size_t>(schema["returns"].size());
  return signature;
}

}  // namespace

StepArgument::As conversion_of(const Parameter& parameter) {
  using As = StepArgument::As;
  if (parameter.may_be_tensor) return parameter.list ? As::tensors : As::value;
  if (parameter.kind == "int") return parameter.list ? As::integers : As::integer;
  if (parameter.kind == "float") return parameter.list ? As::numbers : As::number;
  if (parameter.kind == "Scalar") return As::scalar;
  if (parameter.kind == "bool") return As::boolean;
  return As::value;
}

const Parameter& KnownOp::parameter_of(const RuleArgument& argument, size_t place) const {
  const std::vector<Parameter>& parameters = signature.parameters;
  if (argument.keyword.empty() && place < parameters.size()) return parameters[place];
  for (const Parameter& one : parameters) {
    if (one.name == argument.keyword) return one;
  }
  throw tenon::ValueError("its conversion has an argument that " + op->name() + " does not take: " +
                          (argument.keyword.empty() ? "number " + std::to_string(place + 1)
                                                    : quoted(argument.keyword)));
}

const KnownOp& KnownOps::find(const std::string& name) {
  KnownOp& known = ops_[name];
  if (!known.op) {
    known.op = std::make_unique<tenon::Op>(name);
    known.signature = read_signature(*known.op);
  }
  return known;
}

}  // namespace onnx

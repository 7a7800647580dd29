// Calls of ops: nodes that a rule converts.
#include <algorithm>

#include <tenon/grad_mode.hpp>
#include <tenon/text.hpp>

#include "graph_builder.hpp"

namespace onnx {

using tenon::Json, tenon::Value;

namespace {

bool admits(const RuleAttribute& rule, const Node& node, const FunctionCall* call) {
  if (!rule.only.defined()) return true;
  const Attribute* attribute = find_attribute(node, rule.name, call);
  if (attribute == nullptr) {
    return rule.fallback.defined() && rule.fallback.dump() == rule.only.dump();
  }
  if (rule.only.is_text())
    return attribute->kind == AttributeKind::text && attribute->text == rule.only.text();
  return attribute->kind == AttributeKind::integer && rule.only.is_integer() &&
         attribute->integer == rule.only.integer();
}

// Refuses attributes and inputs that the rule does not speak of: what they change would be lost.
void check_node(const Node& node, const Rule& rule) {
  for (const Attribute& attribute : node.attributes) {
    if (rule.attribute(attribute.name) != nullptr) continue;
    throw tenon::NotImplementedError("its attribute " + quoted(attribute.name) +
                                     " is not converted");
  }
  const bool variadic = !rule.inputs.empty() && rule.inputs.back().variadic;
  size_t count = node.inputs.size();
  while (count > 0 && node.inputs[count - 1].empty()) --count;
  if (count > rule.inputs.size() && !variadic)
    throw tenon::NotImplementedError("it has " + std::to_string(count) +
                                     " inputs, and its conversion takes " +
                                     std::to_string(rule.inputs.size()));
}

void add_sources(const Node& node, const RuleInput& input, size_t index, const Parameter& parameter,
                 const Scope& scope, StepArgument& made) {
  made.as = conversion_of(parameter);
  if (input.variadic) {
    for (size_t i = index; i < node.inputs.size(); ++i)
      made.sources.push_back(node.inputs[i].empty() ? Source()
                                                    : scope.read(node.inputs[i], "the input"));
    made.as = StepArgument::As::tensors;
    return;
  }
  // A sequence is one value of the model.
  if (made.as == StepArgument::As::tensors) made.as = StepArgument::As::value;
  const bool given = index < node.inputs.size() && !node.inputs[index].empty();
  if (!given && !input.optional)
    throw tenon::ValueError("its input " + std::to_string(index + 1) + ", " + quoted(input.name) +
                            ", is missing");
  made.sources = {given ? scope.read(node.inputs[index], "the input") : Source()};
}

}  // namespace

const Rule& GraphBuilder::rule_for(const Node& node, int64_t version, const FunctionCall* call) {
  for (const std::vector<Rule>* rules : {&operators_.find_like(node.domain, node.type, version),
                                         &operators_.find(node.domain, node.type, version)}) {
    for (const Rule& rule : *rules) {
      if (std::all_of(rule.attributes.begin(), rule.attributes.end(),
                      [&](const RuleAttribute& one) { return admits(one, node, call); }))
        return rule;
    }
  }
  std::string text = "no conversion is for these attributes:";
  for (const Attribute& one : node.attributes) {
    const Attribute* attribute = resolve(&one, call);
    if (attribute == nullptr) continue;
    text += " " + tenon::printable(one.name);
    if (attribute->kind == AttributeKind::text) text += "=" + quoted(attribute->text);
    if (attribute->kind == AttributeKind::integer) text += "=" + std::to_string(attribute->integer);
  }
  throw tenon::NotImplementedError(text);
}

void GraphBuilder::build_call(const Node& node, const std::string& name, const Place& place) {
  const Rule& rule = rule_for(node, version_of(place.sets, node.domain), place.call);
  check_node(node, rule);
  if (!rule.like.empty()) built_.changes.push_back({name, std::string(node.type), rule.op});
  const KnownOp& known = ops_.find(rule.op);
  const size_t results = rule.spread ? node.outputs.size() : known.signature.results;
  if (node.outputs.size() > results)
    throw tenon::NotImplementedError("it has " + std::to_string(node.outputs.size()) +
                                     " outputs, and its conversion gives " +
                                     std::to_string(results));
  if (node.type == "QuantizeLinear" || node.type == "CastLike") {
    for (const std::string_view input : node.inputs) {
      if (!input.empty() && constants_.has_4_bits(place.scope.read(input, "the input")))
        throw tenon::NotImplementedError(
            "it makes tensors of integers of 4 bits, which Tenon does not compute in");
    }
  }
  Step step;
  step.spread = rule.spread;
  step.pointwise = rule.pointwise && results == 1 && !rule.spread;
  step.name = name;
  step.operation = node.type;
  step.op = std::make_unique<tenon::Op>(*known.op);
  for (const RuleArgument& argument : rule.arguments) {
    const Parameter& parameter = known.parameter_of(argument, step.arguments.size());
    if (argument.keyword.empty()) ++step.positional;
    step.arguments.push_back(argument_of(node, rule, argument, parameter, place));
  }
  step.results.assign(results, -1);
  if (!rule.random && folding_.admits(step)) {
    const tenon::NoGrad no_grad;
    std::vector<Value> values = run_step(step, built_.program.constants);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      place.scope.define(node.outputs[i],
                         constants_.add_weight(std::move(values[i]), node.outputs[i]));
    return;
  }
  for (StepArgument& argument : step.arguments) make_members(argument, known, step);
  define_results(node, step, place.scope);
  place.body.steps.push_back(std::move(step));
}

StepArgument GraphBuilder::argument_of(const Node& node, const Rule& rule,
                                       const RuleArgument& argument, const Parameter& parameter,
                                       const Place& place) {
  StepArgument made;
  made.keyword = argument.keyword;
  const auto literal = [&](const Json& value) {
    return constants_.add(literal_value(value, parameter));
  };
  const auto number = [&](int64_t value) { return literal(Json::parse(std::to_string(value))); };
  switch (argument.kind) {
    case RuleArgument::Kind::input:
      add_sources(node, rule.inputs[argument.index], argument.index, parameter, place.scope, made);
      break;
    case RuleArgument::Kind::attribute:
      made.sources = {
          attribute_source(node, rule.attributes[argument.index], parameter, place.call)};
      break;
    case RuleArgument::Kind::literal:
      made.sources = {literal(argument.literal)};
      break;
    case RuleArgument::Kind::version:
      made.sources = {number(version_of(place.sets, node.domain))};
      break;
    case RuleArgument::Kind::outputs:
      made.sources = {number(static_cast<int64_t>(node.outputs.size()))};
      break;
  }
  return made;
}

Source GraphBuilder::attribute_source(const Node& node, const RuleAttribute& rule,
                                      const Parameter& parameter, const FunctionCall* call) {
  const Attribute* attribute = find_attribute(node, rule.name, call);
  if (attribute != nullptr) return constants_.attribute(*attribute, parameter);
  if (rule.fallback.defined()) return constants_.add(literal_value(rule.fallback, parameter));
  if (rule.optional) return {};
  throw tenon::ValueError("its attribute " + quoted(rule.name) + " is missing");
}

void GraphBuilder::make_members(StepArgument& argument, const KnownOp& known, const Step& step) {
  if (argument.as != StepArgument::As::value && argument.as != StepArgument::As::tensors) return;
  std::string name = argument.keyword;
  if (name.empty()) {
    const auto place = static_cast<size_t>(&argument - step.arguments.data());
    name = known.signature.parameters[place].name;
  }
  for (Source& source : argument.sources)
    source = constants_.as_member(source, name, !step.pointwise);
}

}  // namespace onnx

// Control flow: nodes whose attributes are graphs.
#include <algorithm>

#include <tenon/ops.hpp>

#include "graph_builder.hpp"
#include "tensor_data.hpp"

namespace onnx {

using tenon::Tensor;

namespace {

// The output of a loop without iterations: no slice, along the axis, of the declared shape.
Tensor empty_output(const ValueInfo& info, int64_t axis) {
  std::vector<int64_t> shape;
  for (const int64_t size : info.shape) shape.push_back(std::max<int64_t>(size, 0));
  const auto rank = static_cast<int64_t>(shape.size()) + 1;
  if (axis < 0) axis += rank;
  // Without a declared shape the axis is known when there is a slice.
  if (info.has_shape && (axis < 0 || axis >= rank))
    throw tenon::ValueError("scan_output_axes has an axis that an output of " +
                            std::to_string(rank) + " dimensions does not have");
  shape.insert(shape.begin() + std::clamp<int64_t>(axis, 0, rank - 1), 0);
  const tenon::DType dtype = dtype_of_type(info.element);
  return tenon::empty_tensor(tenon::IntList(shape.data(), static_cast<int64_t>(shape.size())),
                             dtype == tenon::DType::none ? tenon::f32 : dtype);
}

}  // namespace

std::unique_ptr<Body> GraphBuilder::build_body(const Graph& graph, const Place& outer,
                                               size_t inputs) {
  if (graph.inputs.size() != inputs)
    throw tenon::ValueError("its graph has " + std::to_string(graph.inputs.size()) +
                            " inputs, not " + std::to_string(inputs));
  const Level level(depth_);
  auto body = std::make_unique<Body>();
  Scope scope;
  scope.outer = &outer.scope;
  for (const ValueInfo& input : graph.inputs) {
    const uint32_t slot = new_slot();
    scope.define(input.name, {Source::Kind::frame, slot});
    body->inputs.push_back(slot);
  }
  add_initializers(graph, scope);
  build_nodes(graph.nodes, {scope, *body, outer.sets, outer.call});
  for (const ValueInfo& output : graph.outputs)
    body->outputs.push_back(constants_.as_member(scope.read(output.name, "the output"), ""));
  return body;
}

Step GraphBuilder::control(Step::Kind kind, const Node& node, const std::string& name,
                           const Scope& scope) {
  Step step;
  step.kind = kind;
  step.name = name;
  step.operation = node.type;
  for (const std::string_view input : node.inputs)
    step.inputs.push_back(input.empty() ? Source()
                                        : constants_.as_member(scope.read(input, "the input"), ""));
  return step;
}

void GraphBuilder::finish(const Node& node, Step step, size_t results, const Place& place) {
  if (node.outputs.size() > results)
    throw tenon::ValueError("it has " + std::to_string(node.outputs.size()) +
                            " outputs, and its graph gives " + std::to_string(results));
  step.results.assign(results, -1);
  define_results(node, step, place.scope);
  place.body.steps.push_back(std::move(step));
}

void GraphBuilder::build_branch(const Node& node, const std::string& name, const Place& place) {
  Step step = control(Step::Kind::branch, node, name, place.scope);
  if (step.inputs.size() != 1) throw tenon::ValueError("an If has one input");
  for (const char* branch : {"then_branch", "else_branch"})
    step.bodies.push_back(build_body(subgraph(node, branch, place.call), place, 0));
  const size_t results = step.bodies[0]->outputs.size();
  if (step.bodies[1]->outputs.size() != results)
    throw tenon::ValueError("its branches have " + std::to_string(results) + " and " +
                            std::to_string(step.bodies[1]->outputs.size()) + " outputs");
  finish(node, std::move(step), results, place);
}

void GraphBuilder::build_loop(const Node& node, const std::string& name, const Place& place) {
  Step step = control(Step::Kind::loop, node, name, place.scope);
  while (step.inputs.size() < 2) step.inputs.emplace_back();
  const Graph& graph = subgraph(node, "body", place.call);
  const size_t states = step.inputs.size() - 2;
  step.bodies.push_back(build_body(graph, place, states + 2));
  Body& inner = *step.bodies[0];
  if (inner.outputs.size() < states + 1)
    throw tenon::ValueError("its graph has " + std::to_string(inner.outputs.size()) +
                            " outputs, fewer than a condition and the states");
  for (size_t i = states + 1; i < graph.outputs.size(); ++i)
    inner.empty_outputs.push_back(empty_output(graph.outputs[i], 0));
  finish(node, std::move(step), inner.outputs.size() - 1, place);
}

void GraphBuilder::build_scan(const Node& node, const std::string& name, const Place& place) {
  if (version_of(place.sets, "") < 9)
    throw tenon::NotImplementedError("Scan is converted from opset 9 on");
  Step step = control(Step::Kind::scan, node, name, place.scope);
  const Attribute* count = find_attribute(node, "num_scan_inputs", place.call);
  const int64_t scanned = count == nullptr ? 0 : count->integer;
  if (scanned < 1 || scanned > static_cast<int64_t>(step.inputs.size()))
    throw tenon::ValueError("num_scan_inputs is " + std::to_string(scanned) + ", of " +
                            std::to_string(step.inputs.size()) + " inputs");
  const size_t states = step.inputs.size() - static_cast<size_t>(scanned);
  const Graph& graph = subgraph(node, "body", place.call);
  step.bodies.push_back(build_body(graph, place, step.inputs.size()));
  Body& inner = *step.bodies[0];
  if (inner.outputs.size() < states)
    throw tenon::ValueError("its graph has fewer outputs than states");
  const size_t outputs = inner.outputs.size() - states;
  const auto list = [&](const char* attribute, size_t size) {
    const Attribute* found = find_attribute(node, attribute, place.call);
    if (found == nullptr) return std::vector<int64_t>(size, 0);
    if (found->integers.size() != size)
      throw tenon::ValueError(std::string(attribute) + " has " +
                              std::to_string(found->integers.size()) + " numbers, not " +
                              std::to_string(size));
    return found->integers;
  };
  step.scan_axes = list("scan_input_axes", static_cast<size_t>(scanned));
  step.scan_backward = list("scan_input_directions", static_cast<size_t>(scanned));
  step.output_axes = list("scan_output_axes", outputs);
  step.output_backward = list("scan_output_directions", outputs);
  for (size_t i = states; i < graph.outputs.size(); ++i)
    inner.empty_outputs.push_back(empty_output(graph.outputs[i], step.output_axes[i - states]));
  finish(node, std::move(step), inner.outputs.size(), place);
}

void GraphBuilder::build_map(const Node& node, const std::string& name, const Place& place) {
  Step step = control(Step::Kind::map, node, name, place.scope);
  if (step.inputs.empty()) throw tenon::ValueError("a SequenceMap has a sequence as its input");
  step.bodies.push_back(build_body(subgraph(node, "body", place.call), place, step.inputs.size()));
  const size_t results = step.bodies[0]->outputs.size();
  finish(node, std::move(step), results, place);
}

}  // namespace onnx

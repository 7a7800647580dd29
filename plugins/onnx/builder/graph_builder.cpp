#include "graph_builder.hpp"

#include <algorithm>

#include <tenon/text.hpp>

#include "lifetimes.hpp"
#include "missing.hpp"

namespace onnx {

namespace {

// A few functions that call each other make any number of steps of a small file: these take 50 MB.
constexpr size_t kMostSteps = 200'000;

// An error that names its node.
struct NodeError : tenon::Error {
  using tenon::Error::Error;
};

// Another name of the same value; of an Optional without an input, none.
void build_name(const Node& node, Scope& scope) {
  const bool empty = node.inputs.empty() && node.type == "Optional";
  if ((node.inputs.size() != 1 && !empty) || node.outputs.size() != 1)
    throw tenon::ValueError("it has one input and one output");
  scope.define(node.outputs[0], empty ? Source() : scope.read(node.inputs[0], "the input"));
}

}  // namespace

void GraphBuilder::build(const std::vector<std::string_view>& outputs) {
  const ModelData& model = file_.data();
  check_versions(model);
  require_conversions(model, functions_, operators_);
  Scope scope;
  add_initializers(model.graph, scope);
  for (const ValueInfo& input : model.graph.inputs) add_input(input, scope);
  build_nodes(model.graph.nodes, {scope, built_.program.body, model.operator_sets, nullptr});
  for (const ValueInfo& output : model.graph.outputs) {
    if (!outputs.empty() && std::find(outputs.begin(), outputs.end(), output.name) == outputs.end())
      continue;
    built_.program.body.outputs.push_back(scope.read(output.name, "the output"));
    built_.outputs.push_back(output);
  }
  for (const std::string_view one : outputs) {
    const auto has = [&](const ValueInfo& output) { return output.name == one; };
    if (std::none_of(built_.outputs.begin(), built_.outputs.end(), has))
      throw tenon::ValueError("it has no output " + quoted(one));
  }
  set_releases(built_.program.body);
}

void GraphBuilder::add_initializers(const Graph& graph, Scope& scope) {
  if (graph.has_sparse_initializers)
    throw tenon::NotImplementedError("it has sparse initializers, which Tenon does not read");
  for (const TensorData& data : graph.initializers)
    scope.define(data.name, constants_.initializer(data));
}

void GraphBuilder::add_input(const ValueInfo& info, Scope& scope) {
  const Source* initializer = scope.find(info.name);
  // Before version 4 each initializer was an input as well.
  if (initializer != nullptr && initializer->kind == Source::Kind::constant) return;
  const uint32_t slot = new_slot();
  scope.define(info.name, {Source::Kind::frame, slot});
  built_.program.body.inputs.push_back(slot);
  built_.inputs.push_back(info);
}

void GraphBuilder::build_nodes(const std::vector<Node>& nodes, const Place& place) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    const std::string name =
        (place.call != nullptr ? name_of(*place.call->node, 0) + "/" : "") + name_of(node, i);
    try {
      build_node(node, name, place);
    } catch (const NodeError&) {
      throw;
    } catch (const tenon::Error& cause) {
      throw NodeError(cause.kind(), "node '" + tenon::printable(name) + "' (" +
                                        tenon::printable(node.type) + "): " + cause.what());
    }
  }
}

void GraphBuilder::build_node(const Node& node, const std::string& name, const Place& place) {
  if (++steps_ > kMostSteps)
    throw tenon::ValueError("the model has more than " + std::to_string(kMostSteps) + " nodes");
  if (const Function* function = functions_.of(node)) return build_function(*function, node, place);
  if (node.domain.empty()) {
    if (node.type == "Constant") return build_constant(node, place);
    if (is_another_name(node)) return build_name(node, place.scope);
    if (node.type == "If") return build_branch(node, name, place);
    if (node.type == "Loop") return build_loop(node, name, place);
    if (node.type == "Scan") return build_scan(node, name, place);
    if (node.type == "SequenceMap") return build_map(node, name, place);
  }
  build_call(node, name, place);
}

// The nodes of a function take the place of the call.
void GraphBuilder::build_function(const Function& function, const Node& node, const Place& place) {
  const Level level(depth_);
  const FunctionCall call{&function, &node, place.call};
  for (const FunctionCall* one = place.call; one != nullptr; one = one->outer) {
    if (one->function == &function)
      throw tenon::ValueError("the function " + quoted(function.name) + " calls itself");
  }
  if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size())
    throw tenon::ValueError("the function has " + std::to_string(function.inputs.size()) +
                            " inputs and " + std::to_string(function.outputs.size()) + " outputs");
  Scope inner;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    const bool given = i < node.inputs.size() && !node.inputs[i].empty();
    inner.define(function.inputs[i],
                 given ? place.scope.read(node.inputs[i], "the input") : Source());
  }
  build_nodes(function.nodes, {inner, place.body, sets_of(function, place.sets), &call});
  for (size_t i = 0; i < node.outputs.size(); ++i)
    place.scope.define(node.outputs[i], inner.read(function.outputs[i], "the output"));
}

void GraphBuilder::build_constant(const Node& node, const Place& place) {
  if (node.outputs.size() != 1 || node.attributes.size() != 1)
    throw tenon::ValueError("a Constant has one attribute and one output");
  const Attribute* attribute = resolve(&node.attributes[0], place.call);
  if (attribute == nullptr) throw tenon::ValueError("it has no value");
  place.scope.define(node.outputs[0], constants_.constant(*attribute, node.outputs[0]));
}

void GraphBuilder::define_results(const Node& node, Step& step, Scope& scope) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const uint32_t slot = new_slot();
    step.results[i] = slot;
    scope.define(node.outputs[i], {Source::Kind::frame, slot});
  }
}

}  // namespace onnx

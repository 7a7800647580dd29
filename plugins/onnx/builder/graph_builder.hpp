// Makes steps of the nodes of graphs and functions.
#pragma once

#include "attributes.hpp"
#include "constants.hpp"
#include "folding.hpp"
#include "functions.hpp"

namespace onnx {

// The surroundings of a node: names that it sees, steps that it becomes one of, versions of operators, and
// the function whose node it is.
struct Place {
  Scope& scope;
  Body& body;
  const std::vector<OperatorSet>& sets;
  const FunctionCall* call;
};

class GraphBuilder {
 public:
  GraphBuilder(ModelFile& file, Operators& operators, BuiltModel& built)
      : file_(file),
        operators_(operators),
        built_(built),
        functions_(file.data()),
        constants_(file, built),
        folding_(built.program.constants) {}

  // Makes the program of the model. `outputs`: names of those to compute; empty: all.
  void build(const std::vector<std::string_view>& outputs);

 private:
  // graph_builder.cpp
  void add_initializers(const Graph& graph, Scope& scope);
  void add_input(const ValueInfo& info, Scope& scope);
  void build_nodes(const std::vector<Node>& nodes, const Place& place);
  void build_node(const Node& node, const std::string& name, const Place& place);
  void build_function(const Function& function, const Node& node, const Place& place);
  void build_constant(const Node& node, const Place& place);
  uint32_t new_slot() { return built_.program.frame_size++; }
  void define_results(const Node& node, Step& step, Scope& scope);

  // calls.cpp
  const Rule& rule_for(const Node& node, int64_t version, const FunctionCall* call);
  void build_call(const Node& node, const std::string& name, const Place& place);
  StepArgument argument_of(const Node& node, const Rule& rule, const RuleArgument& argument,
                           const Parameter& parameter, const Place& place);
  Source attribute_source(const Node& node, const RuleAttribute& rule, const Parameter& parameter,
                          const FunctionCall* call);
  void make_members(StepArgument& argument, const KnownOp& known, const Step& step);

  // subgraphs.cpp
  std::unique_ptr<Body> build_body(const Graph& graph, const Place& outer, size_t inputs);
  Step control(Step::Kind kind, const Node& node, const std::string& name, const Scope& scope);
  void finish(const Node& node, Step step, size_t results, const Place& place);
  void build_branch(const Node& node, const std::string& name, const Place& place);
  void build_loop(const Node& node, const std::string& name, const Place& place);
  void build_scan(const Node& node, const std::string& name, const Place& place);
  void build_map(const Node& node, const std::string& name, const Place& place);

  ModelFile& file_;
  Operators& operators_;
  BuiltModel& built_;
  Functions functions_;
  Constants constants_;
  Folding folding_;
  KnownOps ops_;
  size_t steps_ = 0;
  int depth_ = 0;
};

}  // namespace onnx

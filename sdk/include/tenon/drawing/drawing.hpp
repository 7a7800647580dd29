// Graphs of models as pictures: the calls of a model, of its backward or of its prepared list, as nodes and
// edges, and as text for Graphviz.
//
//   const drawing::Graph graph = drawing::forward_graph(model, {zeros({1, 3, 224, 224})});
//   std::puts(drawing::dot_text(drawing::collapsed(graph, {})).c_str());
//
// graph_text.hpp has recorded graphs of tensors as text, with what their nodes keep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN

namespace drawing {

struct GraphNode {                                // a call, an input or an output
  enum class Kind { op, module, input, output };  // kinds of nodes
  Kind kind = Kind::op;                           // kind of the node
  std::string title;                              // op, type of a module, name of an input
  std::vector<std::string> lines;                 // below it: "weight f32[10, 64]"
  std::string provider;                           // plugin of an op; empty: not known, or several
  int64_t module = -1;  // index of Graph::modules that makes the call; -1: the model itself
};

struct GraphEdge {           // a tensor from one node to another
  int64_t from = 0, to = 0;  // indices of nodes
  std::string label;         // "f32[64, 10]"
};

struct GraphModule {       // a module, which has nodes inside
  std::string name, type;  // "encoder.0", "Linear"
  int64_t parent = -1;     // index of the module that it is in; -1: the model
};

struct Graph {                       // nodes, edges and modules of a picture
  std::string title;                 // above the picture; may be empty
  std::vector<GraphNode> nodes;      // in the order of calls
  std::vector<GraphEdge> edges;      // by the indices of nodes
  std::vector<GraphModule> modules;  // below the model, parents first
};

// Ops that a call of the model makes, found from shapes alone: no element is computed. Errors are those
// of the call. The thread must not record the calls of another model at the same time.
Graph forward_graph(const Module& model, const std::vector<Tensor>& inputs);
// Nodes that backward would run from the model's floating point outputs, with gradients of ones, which
// it runs once: gradients of the model's parameters are put back. ValueError where no output requires grad.
Graph backward_graph(const Module& model, const std::vector<Tensor>& inputs);
// Calls of the model as prepared for inference, which runs it once. ValueError with the reason where it
// cannot be prepared.
Graph prepared_graph(const Module& model, const std::vector<Tensor>& inputs);

// The graph in which each module is one node, but those that are named by one of these patterns ("*" for
// any text), or inside of which such a module is.
Graph collapsed(const Graph& graph, const std::vector<std::string>& expanded);

// The graph in the language of Graphviz: modules are clusters, the colour of a node is that of its plugin,
// which a legend names. The same graph has the same text.
std::string dot_text(const Graph& graph);
// The image that Graphviz made of such a text, as SVG, without a background and with colours that follow the
// reader's scheme: light, or dark. What is not an SVG image stays as it is.
std::string adapting_svg(const std::string& svg);

}  // namespace drawing

TENON_NAMESPACE_END

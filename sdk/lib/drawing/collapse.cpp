// Graphs in which modules are single nodes.
#include <algorithm>
#include <set>
#include <tuple>

#include <tenon/drawing/drawing.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace drawing {

namespace {

// Modules that are drawn with what is in them.
std::vector<bool> open_modules(const Graph& graph, const std::vector<std::string>& expanded) {
  std::vector<bool> open(graph.modules.size());
  for (size_t m = graph.modules.size(); m-- > 0;) {
    const GraphModule& module = graph.modules[m];
    open[m] = open[m] || std::any_of(expanded.begin(), expanded.end(), [&](const std::string& one) {
                return lib::matches(one, module.name);
              });
    if (open[m] && module.parent >= 0) open[static_cast<size_t>(module.parent)] = true;
  }
  return open;
}

// For each module the outermost closed one that it is in, or is; -1: none.
std::vector<int64_t> closed_around(const Graph& graph, const std::vector<bool>& open) {
  std::vector<int64_t> closed(graph.modules.size(), -1);
  for (size_t m = 0; m < graph.modules.size(); ++m) {
    const int64_t parent = graph.modules[m].parent;
    if (parent >= 0) closed[m] = closed[static_cast<size_t>(parent)];
    if (closed[m] < 0 && !open[m]) closed[m] = static_cast<int64_t>(m);
  }
  return closed;
}

struct Inside {
  int64_t ops = 0;
  std::set<std::string> providers;
};

}  // namespace

Graph collapsed(const Graph& graph, const std::vector<std::string>& expanded) {
  const std::vector<int64_t> closed = closed_around(graph, open_modules(graph, expanded));
  Graph small;
  small.title = graph.title;
  small.modules = graph.modules;
  std::vector<int64_t> numbers, of_module(graph.modules.size(), -1);
  std::vector<Inside> inside(graph.modules.size());
  for (const GraphNode& node : graph.nodes) {
    const int64_t around = node.module < 0 ? -1 : closed[static_cast<size_t>(node.module)];
    if (around < 0) {
      numbers.push_back(static_cast<int64_t>(small.nodes.size()));
      small.nodes.push_back(node);
      continue;
    }
    const auto m = static_cast<size_t>(around);
    if (of_module[m] < 0) {
      of_module[m] = static_cast<int64_t>(small.nodes.size());
      const GraphModule& module = graph.modules[m];
      small.nodes.push_back(
          {GraphNode::Kind::module, module.type, {module.name}, "", module.parent});
    }
    ++inside[m].ops;
    if (!node.provider.empty()) inside[m].providers.insert(node.provider);
    numbers.push_back(of_module[m]);
  }
  for (size_t m = 0; m < inside.size(); ++m) {
    if (of_module[m] < 0) continue;
    GraphNode& node = small.nodes[static_cast<size_t>(of_module[m])];
    const std::vector<std::string> providers(inside[m].providers.begin(),
                                             inside[m].providers.end());
    if (providers.size() == 1) node.provider = providers.front();
    std::string line = lib::format_text("{} {}", inside[m].ops, inside[m].ops == 1 ? "op" : "ops");
    if (providers.size() > 1) line += lib::format_text(" of {}", lib::word_list(providers, "and"));
    node.lines.push_back(line);
  }
  std::set<std::tuple<int64_t, int64_t, std::string>> known;
  for (const GraphEdge& edge : graph.edges) {
    const int64_t from = numbers[static_cast<size_t>(edge.from)];
    const int64_t to = numbers[static_cast<size_t>(edge.to)];
    const bool within = from == to && edge.from != edge.to;
    if (!within && known.emplace(from, to, edge.label).second)
      small.edges.push_back({from, to, edge.label});
  }
  return small;
}

}  // namespace drawing

TENON_NAMESPACE_END

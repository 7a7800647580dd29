#include "missing.hpp"

#include <algorithm>
#include <set>

#include <tenon/conversion_rules.hpp>
#include <tenon/text.hpp>

#include "scope.hpp"

namespace onnx {

namespace {

// The reason that a complete list has for an operator without a conversion: "StringSplit:20 # reason".
std::string reason_of(const Node& node) {
  std::string reason;
  if (!node.domain.empty()) return reason;
  tenon::for_each_conversion_rule("complete.onnx", [&](const std::string&, std::string_view line) {
    const size_t sign = line.find('#');
    if (sign != std::string_view::npos && line.substr(0, line.find(':')) == node.type)
      reason = tenon::detail::trim(line.substr(sign + 1));
  });
  return reason;
}

// Walks through the nodes of a model.
class Missing {
 public:
  Missing(const Functions& functions, const Operators& operators)
      : functions_(functions), operators_(operators) {}

  void find(const std::vector<Node>& nodes, const std::vector<OperatorSet>& sets) {
    const Level level(depth_);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = nodes[i];
      for (const Attribute& attribute : node.attributes) {
        if (attribute.graph) find(attribute.graph->nodes, sets);
      }
      if (const Function* function = functions_.of(node)) {
        if (seen_.insert(function).second) find(function->nodes, sets_of(*function, sets));
        continue;
      }
      const int64_t version = version_of(sets, node.domain);
      if (is_built_in(node) || (version > 0 && has_rule(node, version))) continue;
      nodes_[describe(node, version)].push_back(quoted(name_of(node, i)));
    }
  }
  std::string text() const {
    std::string text;
    for (const auto& [name, nodes] : nodes_) {
      text += "\n  " + name + ": ";
      const size_t shown = std::min<size_t>(nodes.size(), 3);
      for (size_t i = 0; i < shown; ++i) text += (i > 0 ? ", " : "") + nodes[i];
      if (nodes.size() > shown) text += " and " + std::to_string(nodes.size() - shown) + " more";
    }
    return text;
  }

 private:
  bool has_rule(const Node& node, int64_t version) const {
    return !operators_.find(node.domain, node.type, version).empty() ||
           !operators_.find_like(node.domain, node.type, version).empty();
  }
  std::string describe(const Node& node, int64_t version) const {
    std::string text = tenon::printable(node.type) + " of ";
    text += node.domain.empty() ? "opset " : tenon::printable(node.domain) + " ";
    if (version == 0) return text + "(the model does not say which version of the domain it uses)";
    text += std::to_string(version);
    if (const std::string reason = reason_of(node); !reason.empty())
      return text + " (" + reason + ")";
    const int64_t first = operators_.first_version(node.domain, node.type);
    if (first > 0) return text + " (there is a conversion from " + std::to_string(first) + " on)";
    return text + tenon::suggestion(node.type, operators_.names(node.domain));
  }

  const Functions& functions_;
  const Operators& operators_;
  std::map<std::string, std::vector<std::string>> nodes_;  // by operator
  std::set<const Function*> seen_;
  int depth_ = 0;
};

}  // namespace

bool is_built_in(const Node& node) {
  return node.domain.empty() &&
         (node.type == "Constant" || is_another_name(node) || node.type == "If" ||
          node.type == "Loop" || node.type == "Scan" || node.type == "SequenceMap");
}

bool is_another_name(const Node& node) {
  return node.type == "Identity" || node.type == "Optional" || node.type == "OptionalGetElement";
}

std::string name_of(const Node& node, size_t place) {
  return node.name.empty() ? std::string(node.type) + " #" + std::to_string(place)
                           : std::string(node.name);
}

void require_conversions(const ModelData& model, const Functions& functions,
                         const Operators& operators) {
  Missing missing(functions, operators);
  missing.find(model.graph.nodes, model.operator_sets);
  const std::string text = missing.text();
  if (!text.empty()) throw tenon::NotImplementedError("no plugin converts these operators:" + text);
}

}  // namespace onnx

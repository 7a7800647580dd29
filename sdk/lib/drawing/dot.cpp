// Graphs in the language of Graphviz. Labels are its HTML-like ones, whose text is that of XML: no character of a
// name has a meaning there once it is written as an entity.
#include <array>
#include <map>

#include <tenon/drawing/drawing.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace drawing {

namespace {

using lib::format_text;

constexpr size_t kLongestLine = 60;  // bytes
constexpr const char* kFont = "Helvetica,Arial,sans-serif";

// A colour of the text for Graphviz, and the one in its place on a dark page. Texts have a contrast of 4.5 to
// the fills, as WCAG AA asks.
struct Colour {
  const char *light, *dark;
};
// Fills of plugins, in the order of their names; more plugins than colours share them.
constexpr std::array kFills{Colour{"#cfe8ff", "#12406b"}, Colour{"#ffe3c2", "#5e3a0c"},
                            Colour{"#d6f5d6", "#17512b"}, Colour{"#f6d5ec", "#5c2450"},
                            Colour{"#fff3b0", "#524600"}, Colour{"#dcd6f7", "#3c3278"},
                            Colour{"#c8f0ec", "#0c4f4a"}, Colour{"#f9d0d0", "#6b2228"},
                            Colour{"#e2e8c0", "#434a1c"}, Colour{"#e6ddd0", "#4a4036"}};
constexpr Colour kNeutral{"#f0f2f4", "#2d333b"};  // without a plugin
constexpr Colour kPlain{"white", "#1c2128"};      // inputs and outputs
constexpr Colour kText{"#24292f", "#e6edf3"};
constexpr Colour kQuietText{"#57606a", "#b7c0ca"};
constexpr Colour kLine{"#6e7781", "#9198a1"};   // edges, and borders of nodes
constexpr Colour kFrame{"#afb8c1", "#59626c"};  // around modules

// The text cut to a line's length, between characters.
std::string cut(const std::string& text) {
  if (text.size() <= kLongestLine) return text;
  size_t end = kLongestLine - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

// Text of a label. Bytes that XML does not hold are written as \x1b.
std::string label_text(const std::string& given) {
  const bool utf8 = lib::is_utf8(given);
  std::string text;
  for (const char c : cut(given)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      text += "&amp;";
    } else if (c == '<') {
      text += "&lt;";
    } else if (c == '>') {
      text += "&gt;";
    } else if (c == '"') {
      text += "&quot;";
    } else if (c == ']' && text.empty()) {
      text += "&#93;";  // Graphviz refuses a text that begins with it, the end of XML's CDATA
    } else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !utf8)) {
      text += format_text("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text.empty() ? "-" : text;
}

std::string label(const GraphNode& node) {
  std::string text = format_text("<b>{}</b>", label_text(node.title));
  for (const std::string& line : node.lines)
    text += format_text(R"(<br/><font point-size="10" color="{}">{}</font>)", kQuietText.light,
                        label_text(line));
  return text;
}

class Writer {
 public:
  explicit Writer(const Graph& graph)
      : graph_(graph), nodes_(graph.modules.size()), children_(graph.modules.size()) {
    for (const GraphNode& node : graph.nodes) {
      if (!node.provider.empty()) fills_.emplace(node.provider, kNeutral.light);
    }
    size_t next = 0;
    for (auto& [provider, fill] : fills_) fill = kFills[next++ % kFills.size()].light;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const int64_t module = graph.nodes[i].module;
      (module < 0 ? top_ : nodes_[static_cast<size_t>(module)]).push_back(i);
    }
    // From the innermost: modules with nodes inside are clusters.
    std::vector<bool> shown(graph.modules.size());
    for (size_t m = graph.modules.size(); m-- > 0;) {
      shown[m] = shown[m] || !nodes_[m].empty();
      const int64_t parent = graph.modules[m].parent;
      if (shown[m] && parent >= 0) shown[static_cast<size_t>(parent)] = true;
    }
    for (size_t m = 0; m < graph.modules.size(); ++m) {
      const int64_t parent = graph.modules[m].parent;
      if (shown[m])
        (parent < 0 ? top_modules_ : children_[static_cast<size_t>(parent)]).push_back(m);
    }
  }

  std::string text() {
    text_ = format_text(
        "digraph model {{\n"
        "  graph [label=<<b>{}</b>>, labelloc=t, labeljust=l, rankdir=TB, nodesep=0.3, "
        "ranksep=0.45,\n"
        "         pad=0.3, bgcolor=white, fontname=\"{}\", fontsize=13,\n"
        "         fontcolor=\"{}\"];\n"
        "  node [shape=box, style=\"rounded,filled\", color=\"{}\", penwidth=0.8, fontsize=11,\n"
        "        fontcolor=\"{}\", fontname=\"{}\", margin=\"0.14,0.07\"];\n"
        "  edge [color=\"{}\", arrowsize=0.6, fontsize=9, fontcolor=\"{}\",\n"
        "        fontname=\"{}\"];\n",
        label_text(graph_.title), kFont, kText.light, kLine.light, kText.light, kFont, kLine.light,
        kQuietText.light, kFont);
    for (const size_t node : top_) write_node(node, 1);
    for (const size_t module : top_modules_) write_module(module, 1);
    for (const GraphEdge& edge : graph_.edges) {
      text_ += format_text("  n{} -> n{}", edge.from, edge.to);
      if (!edge.label.empty())
        text_ += format_text(" [label=<&#160;{}&#160;>]", label_text(edge.label));
      text_ += ";\n";
    }
    write_legend();
    return text_ + "}\n";
  }

 private:
  void write_node(size_t number, size_t depth) {
    const GraphNode& node = graph_.nodes[number];
    text_ +=
        format_text("{}n{} [label=<{}>, fillcolor=\"{}\"", std::string(2 * depth, ' '), number,
                    label(node), node.provider.empty() ? kNeutral.light : fills_.at(node.provider));
    if (node.kind == GraphNode::Kind::input || node.kind == GraphNode::Kind::output)
      text_ += format_text(", shape=ellipse, style=filled, fillcolor={}", kPlain.light);
    if (node.kind == GraphNode::Kind::module) text_ += ", penwidth=1.6";
    text_ += "];\n";
  }
  void write_module(size_t number, size_t depth) {
    const GraphModule& module = graph_.modules[number];
    const std::string indent(2 * depth, ' ');
    text_ += format_text(
        "{}subgraph cluster_m{} {{\n{}  label=<<b>{}</b>&#160;&#160;{}>; style=rounded; "
        "color=\"{}\"; fontsize=11;\n",
        indent, number, indent, label_text(module.name), label_text(module.type), kFrame.light);
    for (const size_t node : nodes_[number]) write_node(node, depth + 1);
    for (const size_t child : children_[number]) write_module(child, depth + 1);
    text_ += format_text("{}}}\n", indent);
  }
  void write_legend() {
    if (fills_.empty()) return;
    text_ += format_text(
        "  subgraph cluster_legend {{\n    label=\"plugins\"; style=rounded; color=\"{}\"; "
        "fontsize=11;\n",
        kFrame.light);
    size_t number = 0;
    for (const auto& [provider, fill] : fills_)
      text_ += format_text("    p{} [label=<{}>, fillcolor=\"{}\"];\n", number++,
                           label_text(provider), fill);
    // Edges that are not drawn keep the order: from left to right.
    for (size_t i = 1; i < number; ++i)
      text_ += format_text("    {{ rank=same; p{} -> p{} [style=invis]; }}\n", i - 1, i);
    text_ += "  }\n";
  }

  const Graph& graph_;
  std::vector<std::vector<size_t>> nodes_, children_;  // nodes and modules in each module
  std::vector<size_t> top_, top_modules_;
  std::map<std::string, const char*> fills_;
  std::string text_;
};

}  // namespace

std::string dot_text(const Graph& graph) { return Writer(graph).text(); }

std::string adapting_svg(const std::string& svg) {
  const size_t start = svg.find("<svg");
  const size_t end = start == std::string::npos ? start : svg.find('>', start);
  if (end == std::string::npos) return svg;
  // Without a background, and without one in frames. Texts outside of nodes have an outline in the colour of the
  // ground, so that they are read on a page of the other scheme, too, and across a line.
  std::string style =
      "\n<style>\n"
      "svg { color-scheme: light dark; }\n"
      ".graph > polygon[fill] { fill: none; stroke: none; }\n"
      ".graph .cluster > path, .graph .cluster > polygon { fill: none; }\n"
      ".graph > text, .cluster > text, .edge > text { paint-order: stroke; stroke: white; "
      "stroke-width: 3px; stroke-linejoin: round; }\n"
      "@media (prefers-color-scheme: dark) {\n"
      "  .graph > text, .cluster > text, .edge > text { stroke: #14171b; }\n";
  const auto replace = [&](const char* attribute, const Colour& colour) {
    style += format_text("  .graph [{0}=\"{1}\"] {{ {0}: {2}; }}\n", attribute, colour.light,
                         colour.dark);
  };
  for (const Colour& fill : kFills) replace("fill", fill);
  for (const Colour& fill : {kNeutral, kPlain, kText, kQuietText, kLine}) replace("fill", fill);
  for (const Colour& stroke : {kLine, kFrame}) replace("stroke", stroke);
  return svg.substr(0, end + 1) + style + "}\n</style>" + svg.substr(end + 1);
}

}  // namespace drawing

TENON_NAMESPACE_END

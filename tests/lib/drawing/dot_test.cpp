// Graphs as text for Graphviz, read back by a reader of its labels, and by `dot` where it is installed.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include <tenon/drawing/drawing.hpp>
#include <tenon/tenon.hpp>
#include <tenon/trust/child_process.hpp>

#include "tests/support/temporary_folder.hpp"

using namespace tenon;
using drawing::Graph;
using drawing::GraphNode;

namespace {

// The texts of the labels of nodes, in order: an HTML-like label without its tags, entities decoded.
std::vector<std::string> labels_of(const std::string& dot) {
  std::vector<std::string> labels;
  std::istringstream lines(dot);
  for (std::string line; std::getline(lines, line);) {
    const size_t start = line.find(" [label=<");
    if (start == std::string::npos || line.substr(0, start).find("->") != std::string::npos)
      continue;
    std::string text;
    int depth = 1;
    size_t at = start + 9;
    for (; depth > 0; ++at) {
      REQUIRE(at < line.size());
      if (line[at] == '<') {
        ++depth;
        if (line.compare(at, 4, "<br/") == 0) text += '\n';
      } else if (line[at] == '>') {
        --depth;
      } else if (depth == 1) {
        if (line[at] != '&') {
          text += line[at];
          continue;
        }
        const size_t end = line.find(';', at);
        const std::string entity = line.substr(at, end - at + 1);
        const std::pair<const char*, char> entities[] = {
            {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#93;", ']'}};
        bool known = false;
        for (const auto& [written, letter] : entities) {
          if (entity != written) continue;
          text += letter;
          known = true;
        }
        CHECK_MESSAGE(known, entity);
        at = end;
      }
    }
    labels.push_back(text);
  }
  return labels;
}

// A name as a label shows it.
std::string shown(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(c));
      text += code;
    } else {
      text += c;
    }
  }
  return text.empty() ? "-" : text;
}

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    graph.title = name();
    for (uint32_t m = below(4); m > 0; --m) {
      const auto count = static_cast<int64_t>(graph.modules.size());
      graph.modules.push_back(
          {name(), name(), static_cast<int64_t>(below(static_cast<uint32_t>(count) + 1)) - 1});
    }
    const uint32_t nodes = below(6) + 1;
    for (uint32_t n = 0; n < nodes; ++n) {
      GraphNode node;
      node.kind = static_cast<GraphNode::Kind>(below(4));
      node.title = name();
      for (uint32_t i = below(3); i > 0; --i) node.lines.push_back(name());
      node.provider = below(2) == 0 ? "" : name();
      node.module =
          static_cast<int64_t>(below(static_cast<uint32_t>(graph.modules.size()) + 1)) - 1;
      graph.nodes.push_back(node);
    }
    for (uint32_t e = below(8); e > 0; --e) {
      graph.edges.push_back({static_cast<int64_t>(below(nodes)), static_cast<int64_t>(below(nodes)),
                             below(2) == 0 ? "" : name()});
    }
  }
  Graph graph;

 private:
  uint32_t below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }
  std::string name() {
    static const std::string letters[] = {"a",    "B",  "\"", "\\", "\\N", "<",  ">",    "&",
                                          "&lt;", "{",  "}",  "|",  "\n",  "\t", "\x01", "\x7f",
                                          "é",    "日", " ",  ";",  "]",   "->", "--",   "</b>"};
    std::string drawn;
    for (uint32_t i = below(6); i > 0; --i) drawn += letters[below(std::size(letters))];
    return drawn;
  }
  std::mt19937 random_;
};

std::string program_in_path(const std::string& name) {
  std::istringstream folders(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (std::filesystem::exists(folder + "/" + name)) return folder + "/" + name;
  }
  return {};
}

// The relative luminance of "#rrggbb", as WCAG 2 defines it.
double luminance(const std::string& colour) {
  if (colour == "white") return 1;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (size_t i = 0; i < 3; ++i) {
    const double part = std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    sum += weights[i] * (part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
  }
  return sum;
}
double contrast(const std::string& one, const std::string& other) {
  const double a = luminance(one), b = luminance(other);
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

}  // namespace

TEST_SUITE("lib/drawing/dot") {
  TEST_CASE("random names: labels read back as the names, whatever characters these have") {
    for (uint32_t seed = 0; seed < 400; ++seed) {
      const Graph graph = RandomGraph(seed).graph;
      std::multiset<std::string> expected, found;
      std::set<std::string> providers;
      for (const GraphNode& node : graph.nodes) {
        std::string text = shown(node.title);
        for (const std::string& line : node.lines) text += "\n" + shown(line);
        expected.insert(text);
        if (!node.provider.empty()) providers.insert(node.provider);
      }
      for (const std::string& provider : providers) expected.insert(shown(provider));
      for (const std::string& label : labels_of(drawing::dot_text(graph))) found.insert(label);
      found.erase(found.find(shown(graph.title)));
      CHECK_MESSAGE(found == expected, "seed " << seed);
    }
  }

  TEST_CASE("random names: Graphviz reads every text, and draws each node and edge") {
    const std::string dot = program_in_path("dot");
    if (dot.empty()) {
      MESSAGE("not tested: Graphviz is not installed (tools/setup --graphviz)");
      return;
    }
    const tenon_test::TemporaryFolder folder;
    for (uint32_t seed = 0; seed < 40; ++seed) {
      const Graph graph = RandomGraph(seed).graph;
      const std::string in = folder / "g.dot", out = folder / "g.svg";
      std::ofstream(in) << drawing::dot_text(graph);
      trust::ChildCommand command;
      command.program = dot;
      command.arguments = {"dot", "-Tsvg", "-o", out, in};
      trust::ChildProcess process(command);
      REQUIRE(process.wait(60));
      CHECK_MESSAGE(process.output().empty(), "seed " << seed << ": " << process.output());
      std::ifstream stream(out);
      const std::string svg(std::istreambuf_iterator<char>(stream), {});
      size_t edges = 0;
      for (size_t at = 0; (at = svg.find("class=\"edge\"", at)) != std::string::npos; ++at) ++edges;
      CHECK_MESSAGE(edges == graph.edges.size(), "seed " << seed);
    }
  }

  TEST_CASE("a line that is not UTF-8 is written as the bytes that it has, a long one is cut") {
    Graph graph;
    graph.nodes.push_back({GraphNode::Kind::op, "a\xff", {std::string(100, 'x')}, "", -1});
    const std::string text = drawing::dot_text(graph);
    CHECK(text.find("<b>a\\xff</b>") != std::string::npos);
    CHECK(text.find(std::string(57, 'x') + "...<") != std::string::npos);
  }

  TEST_CASE("each plugin has its colour, which a legend names") {
    Graph graph;
    for (const char* provider : {"nn", "blas", "", "nn"})
      graph.nodes.push_back({GraphNode::Kind::op, "op", {}, provider, -1});
    const std::string text = drawing::dot_text(graph);
    const auto fill = [&](const std::string& node) {
      const size_t at = text.find("fillcolor=\"", text.find("  " + node + " [label="));
      return text.substr(at + 11, 7);
    };
    CHECK(fill("n0") == fill("n3"));
    CHECK(fill("n0") != fill("n1"));
    CHECK(fill("n2") != fill("n1"));
    CHECK(fill("p0") == fill("n1"));
    CHECK(fill("p1") == fill("n0"));
  }

  TEST_CASE(
      "an image follows the reader's colour scheme, with texts of a contrast of 4.5 in both") {
    CHECK(drawing::adapting_svg("no image") == "no image");
    const std::string image = drawing::adapting_svg("<?xml?>\n<svg width=\"1pt\">\n<g/>\n</svg>\n");
    CHECK(image.rfind("<?xml?>\n<svg width=\"1pt\">\n<style>\n", 0) == 0);
    const size_t dark_from = image.find("@media (prefers-color-scheme: dark)");
    REQUIRE(dark_from != std::string::npos);
    std::map<std::string, std::string> dark;
    const std::regex rule(R"re(\[fill="(#......|white)"\] \{ fill: (#......); \})re");
    for (std::sregex_iterator
             it(image.begin() + static_cast<std::ptrdiff_t>(dark_from), image.end(), rule),
         end;
         it != end; ++it)
      dark.emplace((*it)[1], (*it)[2]);
    // Each colour of a text for Graphviz has one in its place.
    Graph graph;
    for (int n = 0; n < 12; ++n)
      graph.nodes.push_back(
          {GraphNode::Kind::op, "op", {"line"}, n == 0 ? "" : "p" + std::to_string(n), -1});
    graph.nodes.push_back({GraphNode::Kind::input, "x", {}, "", -1});
    const std::string text = drawing::dot_text(graph);
    const auto colours = [&](const char* pattern) {
      std::set<std::string> found;
      const std::regex colour(pattern);
      for (std::sregex_iterator it(text.begin(), text.end(), colour), end; it != end; ++it)
        found.insert((*it)[1]);
      return found;
    };
    const std::set<std::string> fills = colours("fillcolor=\"?(#......|white)");
    const std::set<std::string> inks = colours("(?:fontcolor|font [^>]* color)=\"(#......)");
    CHECK(fills.size() == 12);
    CHECK(inks.size() == 2);
    for (const std::string& fill : fills) {
      for (const std::string& ink : inks) {
        CAPTURE(fill);
        CAPTURE(ink);
        CHECK(contrast(fill, ink) >= 4.5);
        CHECK(contrast(dark.at(fill), dark.at(ink)) >= 4.5);
      }
    }
  }

  TEST_CASE("a module without nodes is not drawn, one with a nested node is") {
    Graph graph;
    graph.modules = {{"a", "A", -1}, {"a.b", "B", 0}, {"c", "C", -1}};
    graph.nodes.push_back({GraphNode::Kind::op, "op", {}, "", 1});
    const std::string text = drawing::dot_text(graph);
    CHECK(text.find("cluster_m0") < text.find("cluster_m1"));
    CHECK(text.find("cluster_m2") == std::string::npos);
  }
}

// tenon graph: continues as the program tenon-catalogue.
#include "catalogue/options.hpp"
#include "commands.hpp"
#include "continue_as.hpp"

namespace cli {

namespace {

int draw_graph(const GraphOptions& given, const SessionOptions& session) {
  GraphOptions options = given;
  options.session = session;
  if (options.backward && options.prepared)
    throw UsageError("--backward is about training, --prepared about inference: choose one");
  continue_as("tenon-catalogue", "tenon_catalogue", "graph", words_of(options));
}

}  // namespace

void define_graph(Commands& commands) {
  auto [command, options] = commands.add(
      draw_graph, "graph", "Draw the calls of a model, with shapes and plugins",
      "  tenon graph digits.json\n"
      "  tenon graph digits.json -o digits.svg --expand '*'\n"
      "  tenon graph digits.json -o backward.svg --backward\n"
      "  tenon graph detector.onnx --input x=1x3x320x320 --prepared -o detector.dot\n"
      "The text is for Graphviz, whose program `dot` makes the image. Nodes have the colour of "
      "their "
      "plugin, edges the dtype and shape of a tensor. A module is one node, unless --expand names "
      "it, "
      "or one inside of it. Without --backward and --prepared no element is computed.");
  command.argument(options.config, "CONFIG", "The config file, or the file of a model");
  command.inputs(options.inputs);
  command.flag("--backward", options.backward,
               "The nodes that backward runs, in place of the model's calls: calls it once");
  command.flag("--prepared", options.prepared,
               "The calls of the model prepared for inference: calls it once");
  command.list("--expand", options.expand, "PATTERN",
               "Modules to show with what is in them, by their names: encoder.*, or * for all");
  command.option("-o,--output", options.output, "FILE",
                 "The file to write, .dot or .svg; without it the text is printed");
}

}  // namespace cli

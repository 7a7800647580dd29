#include "graph.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fnmatch.h>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unistd.h>

#include <tenon/config/config.hpp>
#include <tenon/drawing/drawing.hpp>
#include <tenon/shapes_only.hpp>
#include <tenon/state/atomic_file.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/text.hpp>
#include <tenon/training/training.hpp>
#include <tenon/trust/child_process.hpp>

#include "cli/given_inputs.hpp"
#include "exit_code.hpp"
#include "format.hpp"
#include "private_folder.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace drawing = tenon::drawing;
namespace training = tenon::training;

namespace {

constexpr double kMostSeconds = 300;

// The program in a folder of PATH; empty: it is not there.
std::string program_in_path(const std::string& name) {
  const char* const path = secure_getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;  // the current folder
    const std::string program = folder.append("/").append(name);
    if (access(program.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(program))
      return program;
  }
  return {};
}

// An image by Graphviz.
std::string svg_of(const std::string& text, const std::string& dot) {
  const PrivateFolder folder;
  const std::string in = folder.path() + "/graph.dot", out = folder.path() + "/graph.svg";
  tenon::state::write_file(in, text);
  tenon::trust::ChildCommand command;
  command.program = dot;
  command.arguments = {"dot", "-Tsvg", "-o", out, in};
  tenon::trust::ChildProcess process(command);
  if (!process.wait(kMostSeconds))
    throw tenon::RuntimeError(
        format_text("'{}' has not drawn the graph within {} s: expand fewer modules, or write the "
                    "text, a .dot file",
                    dot, kMostSeconds));
  std::ifstream stream(out, std::ios::binary);
  std::string svg(std::istreambuf_iterator<char>(stream), {});
  if (process.status() != 0 || svg.empty())
    throw tenon::RuntimeError(
        format_text("'{}' has not drawn the graph: {}", dot,
                    process.output().empty() ? "it printed nothing" : process.output()));
  return drawing::adapting_svg(svg);
}

struct Called {
  tenon::Module model;
  std::vector<tenon::Tensor> inputs;
};

Called called_model(const training::TrainingConfig& config, const GraphOptions& options) {
  Called called;
  const auto create = [&] { called.model = tenon::state::create_module(config.model); };
  if (options.backward || options.prepared) {
    create();
  } else {
    const tenon::ShapesOnly shapes;
    create();
  }
  if (!options.backward) called.model.eval();
  if (training::is_model_file(options.config)) {
    GivenInputs given(options.config, called.model);
    for (const std::string& input : options.inputs) given.give(input);
    called.inputs = given.tensors(options.backward ? GivenInputs::Elements::random
                                                   : GivenInputs::Elements::zero);
  } else {
    called.inputs = training::model_inputs(config, {});
  }
  if (called.inputs.empty())
    throw tenon::ConfigError(format_text(
        R"({}: neither "data" nor "input" says what the model is called with)", options.config));
  return called;
}

void check_output(const training::TrainingConfig& config, const GraphOptions& options) {
  std::string fault = training::output_fault(options.output);
  if (fault.empty()) fault = training::overwrite_fault(config, options.output);
  if (fault.empty() && training::same_file(options.output, options.config))
    fault = format_text("cannot write '{}': it is the model", options.output);
  if (!fault.empty()) throw tenon::IOError(fault);
}

// Only '*' is special in it.
bool matches(const std::string& pattern, const std::string& name) {
  std::string plain;
  for (const char c : pattern) {
    if (c == '?' || c == '[' || c == '\\') plain += '\\';
    plain += c;
  }
  return fnmatch(plain.c_str(), name.c_str(), 0) == 0;
}

// A pattern that names no module would silently draw the graph as it is.
void require_module(const drawing::Graph& graph, const std::string& pattern) {
  constexpr size_t most = 8;
  std::vector<std::string> names, all;
  for (const drawing::GraphModule& module : graph.modules) {
    if (matches(pattern, module.name)) return;
    if (!module.name.empty()) all.push_back(module.name);
  }
  names.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size())));
  if (names.size() < all.size())
    names.push_back(
        format_text("{} more", grouped(static_cast<int64_t>(all.size() - names.size()))));
  throw UsageError(format_text(
      "--expand: no module is named '{}'{}; {}", pattern, tenon::suggestion(pattern, all),
      names.empty() ? "the graph has none" : format_text("there are {}", join(names, ", "))));
}

}  // namespace

int draw_graph(const GraphOptions& options) {
  const std::string ending = std::filesystem::path(options.output).extension();
  if (!options.output.empty() && ending != ".dot" && ending != ".svg")
    throw UsageError(format_text("--output must end in .dot or .svg, got '{}'", options.output));
  if (is_prepared_file(options.config))
    throw UsageError(format_text(
        "'{}' is the file of a prepared model: draw the model that it was made of, with "
        "--prepared",
        options.config));
  const std::string dot = ending == ".svg" ? program_in_path("dot") : "";
  if (ending == ".svg" && dot.empty())
    throw tenon::IOError(
        format_text("cannot draw '{}': Graphviz's program `dot` is not in PATH; install it (the "
                    "package graphviz), or write the text: -o FILE.dot",
                    options.output));
  const training::TrainingConfig config(training::read_config(options.config));
  if (!training::is_model_file(options.config)) refuse_inputs(options.inputs, options.config);
  if (!config.model.defined())
    throw tenon::ConfigError(
        format_text(R"({}: there is nothing to draw: the config has no "model")", options.config));
  if (!options.output.empty()) check_output(config, options);
  tenon::config::apply(config.document);
  const Called called = called_model(config, options);
  drawing::Graph graph = options.backward   ? drawing::backward_graph(called.model, called.inputs)
                         : options.prepared ? drawing::prepared_graph(called.model, called.inputs)
                                            : drawing::forward_graph(called.model, called.inputs);
  for (const std::string& pattern : options.expand) require_module(graph, pattern);
  graph = drawing::collapsed(graph, options.expand);
  graph.title =
      format_text("{}: {}", std::filesystem::path(options.config).filename().string(), graph.title);
  const std::string text = drawing::dot_text(graph);
  if (options.output.empty()) {
    print(text);
    return kFine;
  }
  tenon::state::write_file(options.output, dot.empty() ? text : svg_of(text, dot));
  print(format_text("{}: {}, {}\n", options.output,
                    counted(static_cast<int64_t>(graph.nodes.size()), "node"),
                    counted(static_cast<int64_t>(graph.edges.size()), "edge")));
  return kFine;
}

}  // namespace cli

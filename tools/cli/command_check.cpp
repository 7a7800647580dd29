// tenon check: continues as the program tenon-check, so that a job that checks nothing needs no checker.
#include <filesystem>

#include <tenon/shapes_only.hpp>
#include <tenon/state/model_format.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/training/config.hpp>

#include "check/options.hpp"
#include "commands.hpp"
#include "continue_as.hpp"
#include "format.hpp"
#include "given_inputs.hpp"

namespace cli {

namespace fs = std::filesystem;

namespace {

struct CheckCommandOptions : CheckOptions {
  std::vector<std::string> inputs;  // values of --input
};

// The check of the module that opens a model's file, with the inputs given.
void check_model_file(CheckOptions& options, const std::vector<std::string>& inputs) {
  if (!options.item.empty() || !options.against.empty())
    throw UsageError("--op and --against are about plugins; the file of a model is checked whole");
  const std::string path = options.plugin;
  const tenon::state::ModelFormat format = tenon::state::require_model_format(path);
  tenon::Module model;
  {
    const tenon::ShapesOnly shapes;
    model = tenon::state::create_module(tenon::training::read_config(path)["model"]);
  }
  GivenInputs given(path, model);
  for (const std::string& input : inputs) given.give(input);
  options.samples = given.sample().dump();
  options.plugin = format.plugin;
  options.item = format.module;
}

int check_plugin(const CheckCommandOptions& given, const SessionOptions& session) {
  CheckOptions options = given;
  options.session = session;
  const bool is_plugin_file = fs::path(options.plugin).extension() == ".so";
  if (!is_plugin_file && tenon::training::is_model_file(options.plugin))
    check_model_file(options, given.inputs);
  else if (!given.inputs.empty())
    throw UsageError(
        format_text("--input is for the file of a model, and '{}' is a plugin", options.plugin));
  continue_as("tenon-check", "tenon_check", "check", words_of(options));
}

}  // namespace

void define_check(Commands& commands) {
  auto [command, options] = commands.add(
      check_plugin, "check",
      "Try a plugin out in a child process: declarations, results, gradients",
      "  tenon check math\n"
      "  tenon check build/hello.so\n"
      "  tenon check ./hello.so --op hello.squash --in-process\n"
      "  tenon check math --check '{\"fast_mode\": true, \"atol\": 1e-4}'\n"
      "  tenon check dnnl --against nn,blas\n"
      "  tenon check opencl --against math,blas,nn\n"
      "  tenon check detector.onnx --input x=1x3x32x32\n"
      "Ends with 1 when anything is wrong. A crash, a hang or an exit of the plugin is a finding, "
      "and the next op is checked in a new process. The file of a model is checked as the module "
      "that opens it, with random inputs: each weight gets a gradient that agrees with "
      "differences.");
  command.argument(options.plugin, "PLUGIN",
                   "The plugin, by id or by its file; or the file of a model");
  command.inputs(options.inputs);
  command.option("--op", options.item, "NAME", "Only this op, module, type or override");
  command.number("--timeout", options.timeout, 0.01, 86400, "S",
                 "Seconds that one op may take; 30 if not given");
  command.number("--memory", options.memory, 0, 1 << 30, "MIB",
                 "Memory that the plugin may use, in MiB; 4096 if not given, 0: no limit");
  command.number("--seed", options.seed, 0, kLargestSeed, "N", "Other random inputs");
  command.option("--check", options.options, "JSON",
                 "Options of the gradient checks, as a sample's \"check\" has them");
  command.option("--html", options.page, "FILE",
                 "Also write the report as a page: what was checked and found, op by op");
  command.list(
      "--against", options.against, "PLUGIN,...",
      "Compare its ops with those of other providers, by id or file, on the same inputs: "
      "results and gradients, in ULP; of a plugin with a device: call their ops there, and "
      "compare with the CPU");
  command.flag("--in-process", options.in_process,
               "Without a child process and limits, for debuggers");
  command.json(options.json);
}

}  // namespace cli

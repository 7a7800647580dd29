// tenon export: the model of a config as a file of another format, written by the plugin that declares its
// ending.
#include <filesystem>
#include <optional>

#include <tenon/config/config.hpp>
#include <tenon/module.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/training/files.hpp>
#include <tenon/training/model_summary.hpp>
#include <tenon/training/training.hpp>

#include "commands.hpp"
#include "declared_files.hpp"
#include "format.hpp"
#include "lock_file.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace training = tenon::training;

namespace {

struct ExportOptions {
  std::string config, output;
  std::string weights;  // empty: those of the config's output, where they are there
  std::string dynamic;  // the name of the dimension of the batch
  std::optional<uint64_t> opset, batch;
  bool frozen = false;
};

using tenon::Module, tenon::Tensor;

std::string endings_text(const std::vector<DeclaredFile>& list) {
  std::string text;
  for (const DeclaredFile& one : list) text += (text.empty() ? "." : ", .") + one.ending;
  return text;
}

DeclaredFile exporter_for(const std::string& path) {
  const std::vector<DeclaredFile> list = declared_files("exports");
  const DeclaredFile* found = find_declared(list, file_ending(path));
  if (found != nullptr) return *found;
  throw UsageError(format_text(
      "no plugin writes '{}': {}", path,
      list.empty() ? "none that is found writes models; those by the ending .onnx come with the "
                     "plugin onnx"
                   : format_text("the ending must be one of {}", endings_text(list))));
}

void check_output(const training::TrainingConfig& config, const ExportOptions& options,
                  const std::string& weights) {
  std::string fault = training::output_fault(options.output);
  if (fault.empty()) fault = training::overwrite_fault(config, options.output);
  if (fault.empty() && !weights.empty() && training::same_file(options.output, weights))
    fault = format_text("cannot write '{}': it is the file of the weights", options.output);
  if (!fault.empty()) throw tenon::IOError(fault);
}

// Weights to load: those that are asked for, else those of the config's output, if a run has written them.
std::string weights_of(const training::TrainingConfig& config, const ExportOptions& options) {
  if (!options.weights.empty()) return options.weights;
  const std::string& written = config.output.weights;
  std::error_code ignored;
  return !written.empty() && std::filesystem::exists(written, ignored) ? written : "";
}

// The inputs that the model is called with; their elements do not matter.
std::vector<Tensor> inputs_of(const training::TrainingConfig& config,
                              const ExportOptions& options) {
  std::vector<Tensor> inputs;
  for (const Tensor& input : training::model_inputs(config, training::DataOutline())) {
    std::vector<int64_t> shape = input.sizes();
    shape[0] = static_cast<int64_t>(options.batch.value_or(1));
    const Tensor one = tenon::empty_tensor(
        tenon::IntList(shape.data(), static_cast<int64_t>(shape.size())), input.dtype());
    tenon::fill_elements(one, 0);
    inputs.push_back(one);
  }
  return inputs;
}

// A module of the type that the plugin declares; options that are not given have its defaults.
Module make_exporter(const DeclaredFile& declared, const Module& model,
                     const ExportOptions& options) {
  std::vector<tenon_string> names;
  std::vector<tenon_value> values;
  const auto add = [&](std::string_view name, const tenon::Argument& value) {
    names.push_back(tenon::detail::string_of(name));
    values.push_back(value.value());
  };
  add("model", model);
  add("path", options.output);
  if (options.opset) add("opset", static_cast<int64_t>(*options.opset));
  if (options.batch)
    add("dynamic", "");
  else if (!options.dynamic.empty())
    add("dynamic", options.dynamic);
  tenon_module* handle = nullptr;
  tenon::detail::check(tenon::service::modules().create, declared.name.c_str(),
                       static_cast<const tenon_value*>(nullptr), int64_t{0}, names.data(),
                       values.data(), static_cast<int64_t>(names.size()), &handle);
  return Module::take(handle);
}

int export_model(const ExportOptions& options) {
  const training::TrainingConfig config(training::read_config(options.config));
  if (!config.model.defined())
    throw tenon::ConfigError(format_text(
        "{}: there is no model to export: the config has no \"model\"", options.config));
  const std::string weights = weights_of(config, options);
  check_output(config, options, weights);
  if (options.frozen) freeze(config.document, lock_file_of(options.config));
  tenon::config::apply(config.document);
  const DeclaredFile declared = exporter_for(options.output);
  Module model = tenon::state::create_module(config.model);
  if (!weights.empty()) training::load_weights(model, weights);
  const std::string summary =
      make_exporter(declared, model, options).call<tenon::Value>(inputs_of(config, options)).text();
  print(format_text("wrote {}: {}, weights {}\n", options.output, summary,
                    weights.empty() ? "as the config has them" : format_text("of {}", weights)));
  return kFine;
}

}  // namespace

void define_export(Commands& commands) {
  auto [command, options] = commands.add(
      export_model, "export",
      "Write the model of a config as a file of another format, such as ONNX",
      "  tenon export digits.json model.onnx\n"
      "  tenon export digits.json model.onnx --weights best.safetensors --opset 20\n"
      "  tenon export digits.json model.onnx --batch 1\n"
      "The ending of the file chooses the plugin that writes it. The model is called with inputs "
      "of "
      "the shapes of \"input\" or \"data\", to see which ops it calls; it is in evaluation mode.");
  command.argument(options.config, "CONFIG", "The config file");
  command.argument(options.output, "FILE", "The file to write");
  command.option("--weights", options.weights, "WEIGHTS",
                 "Weights, in place of those that the config's output names");
  command.number("--opset", options.opset, 1, 1000, "N", "The version of the format's operators");
  command.option("--dynamic", options.dynamic, "NAME",
                 "The name of the dimension of the batch, whose size stays open");
  command.number("--batch", options.batch, 1, 1 << 20, "N", "Batches of this size alone");
  command.exclude("--dynamic", "--batch");
  command.frozen(options.frozen);
}

}  // namespace cli

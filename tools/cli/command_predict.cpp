// tenon predict: the outputs of a trained model for new samples.
#include <tenon/config/config.hpp>
#include <tenon/device.hpp>
#include <tenon/op.hpp>
#include <tenon/ops.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/atomic_file.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/training/training.hpp>

#include "commands.hpp"
#include "device_option.hpp"
#include "format.hpp"
#include "given_inputs.hpp"
#include "lock_file.hpp"
#include "model_call.hpp"
#include "profile_view.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace training = tenon::training;

namespace {

struct PredictOptions {
  std::string config;             // or the file of a model
  std::vector<std::string> data;  // the file of samples; of a model's file one for each input
  std::vector<std::string> inputs;
  std::string weights;  // empty: those of the config's output
  std::string output;   // .csv, .npy or .json
  std::string device = "cpu";
  bool frozen = false, as_is = false;
  bool profile = false;
  std::string profile_trace, trace;
};

using tenon::Tensor;

std::string ending_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(dot);
}

// One row for each sample: the class, where there are scores of classes, and the numbers.
struct Rows {
  explicit Rows(const Tensor& outputs)
      : count(outputs.size(0)),
        width(count == 0 ? 0 : outputs.numel() / count),
        values(outputs.to_vector<double>()) {
    if (outputs.dim() == 2 && width > 1) classes = tenon::argmax(outputs, 1).to_vector<int64_t>();
  }
  double at(int64_t row, int64_t column) const {
    return values[static_cast<size_t>(row * width + column)];
  }

  int64_t count, width;
  std::vector<double> values;
  std::vector<int64_t> classes;
};

std::string csv_text(const Rows& rows) {
  const bool scored = !rows.classes.empty();
  std::string text = scored ? "class" : "";
  for (int64_t c = 0; c < rows.width; ++c)
    text += format_text("{}{}_{}", text.empty() ? "" : ",", scored ? "score" : "output", c);
  text += "\n";
  for (int64_t r = 0; r < rows.count; ++r) {
    std::string line = scored ? std::to_string(rows.classes[static_cast<size_t>(r)]) : "";
    for (int64_t c = 0; c < rows.width; ++c)
      line += format_text("{}{}", line.empty() ? "" : ",", short_number(rows.at(r, c)));
    text += line + "\n";
  }
  return text;
}

std::string json_text(const Rows& rows) {
  tenon::JsonArray outputs, classes;
  for (int64_t r = 0; r < rows.count; ++r) {
    tenon::JsonArray row;
    for (int64_t c = 0; c < rows.width; ++c) row.add(rows.at(r, c));
    outputs.add(row.json());
  }
  tenon::JsonObject object;
  if (!rows.classes.empty()) {
    for (const int64_t label : rows.classes) classes.add(label);
    object.set("classes", classes.json());
  }
  return object.set("outputs", outputs.json()).json().dump() + "\n";
}

void check_output(const training::TrainingConfig& config, const PredictOptions& options) {
  const std::string ending = ending_of(options.output);
  if (ending != ".csv" && ending != ".npy" && ending != ".json")
    throw UsageError(
        format_text("--output must end in .csv, .npy or .json, got '{}'", options.output));
  std::string fault = training::output_fault(options.output);
  if (fault.empty()) fault = training::overwrite_fault(config, options.output);
  if (fault.empty() && training::same_file(options.output, options.data.front()))
    fault = format_text("cannot write '{}': it is the file of the samples", options.output);
  if (!fault.empty()) throw tenon::IOError(fault);
}

// Outputs of a model's file, printed where no file is named.
int predict_model_file(const PredictOptions& options) {
  if (!options.weights.empty() || options.frozen)
    throw UsageError("--weights and --frozen are for configs; the file of a model has its weights");
  if (!options.output.empty()) {
    std::string fault = training::output_fault(options.output);
    if (fault.empty() && training::same_file(options.output, options.config))
      fault = format_text("cannot write '{}': it is the model", options.output);
    for (const std::string& file : options.data) {
      if (fault.empty() && training::same_file(options.output, file))
        fault = format_text("cannot write '{}': it is the file of an input", options.output);
    }
    if (!fault.empty()) throw tenon::IOError(fault);
  }
  const ModelCallResult result =
      call_model_file({options.config,
                       options.inputs,
                       options.data,
                       0,
                       options.device,
                       {options.profile, options.profile_trace, options.trace}});
  if (options.output.empty()) {
    print_outputs(result, false);
  } else {
    write_outputs(result, options.output);
    if (result.profile) print(profile_text(*result.profile));
  }
  if (result.fault) std::rethrow_exception(result.fault);
  return kFine;
}

int predict_outputs(const PredictOptions& options) {
  for (const auto& [option, path] :
       {std::pair("--profile-trace", options.profile_trace), std::pair("--trace", options.trace)}) {
    if (!path.empty() && !options.output.empty() && training::same_file(path, options.output))
      throw tenon::IOError(
          format_text("cannot write '{}': --output and {} name one file; it is not a "
                      "trace of calls and the outputs at once",
                      options.output, option));
  }
  if (is_prepared_file(options.config) || training::is_model_file(options.config))
    return predict_model_file(options);
  refuse_inputs(options.inputs, options.config);
  if (options.data.size() != 1)
    throw UsageError(options.data.empty()
                         ? "data is required; see `tenon predict --help`"
                         : format_text("a config's model is applied to one file of samples, not {}",
                                       options.data.size()));
  if (options.output.empty()) throw UsageError("--output is required; see `tenon predict --help`");
  const training::TrainingConfig config(training::read_config(options.config));
  if (const std::string missing = training::missing_keys(config, false); !missing.empty())
    throw tenon::ConfigError(
        format_text("{}: cannot apply the model: the config has no {}", options.config, missing));
  const std::string weights = options.weights.empty() ? config.output.weights : options.weights;
  if (weights.empty())
    throw UsageError("no weights are given: name them by --weights, or in the config's output");
  check_output(config, options);
  if (options.frozen) freeze(config.document, lock_file_of(options.config));
  tenon::config::apply(config.document);
  const training::WeightsNote note =
      training::weights_note(weights).value_or(training::WeightsNote());
  tenon::Module model = tenon::state::create_module(config.model);
  training::load_weights(model, weights);
  tenon::device::move(model, device_option(options.device));
  const Tensor inputs = training::load_inputs(config.data, options.data.front(), note.fitted);
  ProfileScope profile({options.profile, options.profile_trace, options.trace});
  profile.begin(model, options.config, options.config, 0);
  const Tensor outputs = training::predict(
      model, inputs, 256,
      options.as_is ? training::ModelCalls::as_is : training::ModelCalls::prepared);
  std::exception_ptr fault;
  const auto made = profile.end(fault);
  const std::string ending = ending_of(options.output);
  if (ending == ".npy")
    tenon::Op("data.write_npy").call<void>(options.output, outputs);
  else
    tenon::state::write_file(options.output,
                             ending == ".csv" ? csv_text(Rows(outputs)) : json_text(Rows(outputs)));
  if (made) print(profile_text(*made));
  if (fault) std::rethrow_exception(fault);
  return kFine;
}

}  // namespace

void define_predict(Commands& commands) {
  auto [command, options] = commands.add(
      predict_outputs, "predict",
      "Apply the model of a config, or of a file, to samples, and write its outputs",
      "  tenon predict digits.json new.csv --output predictions.csv\n"
      "  tenon predict digits.json new.npy --weights best.safetensors -o scores.npy\n"
      "  tenon predict detector.onnx image=page.npy --output boxes.npz\n"
      "Samples are read like the config's data; target columns may be missing. For a classifier, "
      "the predicted class precedes the scores. A model's file takes FILE or NAME=FILE for its "
      "inputs (.npy, .npz, .safetensors); without --output its outputs are printed.");
  command.argument(options.config, "CONFIG",
                   "The config file, or the file of a model, prepared or not");
  command.optional_arguments(options.data, "DATA",
                             "The file of samples; for a model's file, files of its inputs");
  command.inputs(options.inputs);
  command.option(
      "-o,--output", options.output, "FILE",
      "The file to write: .csv, .npy or .json; of a model's file .npz, .npy, .safetensors "
      "or .json");
  command.option("--weights", options.weights, "WEIGHTS",
                 "Weights, in place of those that the config's output names");
  command.option("--device", options.device, "NAME",
                 "Where the model runs: a device of a plugin, 'opencl:0'; 'cpu' if not given");
  command.flag("--as-is", options.as_is,
               "Call the model itself, where many samples would have it prepared first");
  command.profile(options.profile);
  command.profile_trace(options.profile_trace);
  command.trace(options.trace);
  command.frozen(options.frozen);
}

}  // namespace cli

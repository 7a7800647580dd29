// tenon convert: tensors of a file as a file of another format.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>

#include <tenon/config/config.hpp>
#include <tenon/dtype_name.hpp>
#include <tenon/json.hpp>
#include <tenon/op.hpp>
#include <tenon/prepare/prepare.hpp>
#include <tenon/state/atomic_file.hpp>
#include <tenon/state/gguf_file.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/state/numpy_file.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/state/torch_file.hpp>
#include <tenon/training/config.hpp>
#include <tenon/training/files.hpp>
#include <tenon/training/weights.hpp>

#include "commands.hpp"
#include "declared_files.hpp"
#include "format.hpp"
#include "given_inputs.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace state = tenon::state;
namespace training = tenon::training;

namespace {

using state::NamedTensors;
using tenon::DType, tenon::Tensor;

struct ConvertOptions {
  std::string input, output;
  std::string dtype, prefix, shard_size;
  std::vector<std::string> inputs;
};

// Formats of tenon::state. A plugin adds others by facts: "weights.read", an op (str path) -> (str[] names,
// Tensor[] tensors), and "weights.write", an op (str path, str[] names, Tensor[] tensors).
struct Format {
  const char* ending;
  NamedTensors (*read)(const std::string& path);
  void (*write)(const std::string& path, const NamedTensors& tensors, const tenon::Json& metadata);
  const char* instead;  // how to get what it does not write
};

NamedTensors read_torch(const std::string& path) { return state::map_torch(path).tensors; }
NamedTensors read_safetensors(const std::string& path) { return state::map_tensors(path); }
NamedTensors read_npz(const std::string& path) { return state::map_npz(path); }
NamedTensors read_gguf(const std::string& path) { return state::load_gguf(path); }
void write_npz(const std::string& path, const NamedTensors& tensors, const tenon::Json&) {
  state::save_npz(path, tensors);
}

constexpr const char* kTorchInstead = "read the .safetensors file with safetensors.torch.load_file";
constexpr Format kFormats[] = {
    {"safetensors", read_safetensors, state::save_tensors, nullptr},
    {"json", read_safetensors, nullptr, "write a .safetensors file, which needs no index"},
    {"npz", read_npz, write_npz, nullptr},
    {"pt", read_torch, nullptr, kTorchInstead},
    {"pth", read_torch, nullptr, kTorchInstead},
    {"bin", read_torch, nullptr, kTorchInstead},
    {"ckpt", read_torch, nullptr, kTorchInstead},
    {"gguf", read_gguf, nullptr, "convert the .safetensors file with llama.cpp"},
    {"onnx", nullptr, nullptr, "a model is written by tenon export CONFIG FILE"}};

const Format* find_format(const std::string& ending) {
  const auto* const found =
      std::find_if(std::begin(kFormats), std::end(kFormats),
                   [&](const Format& format) { return format.ending == ending; });
  return found == std::end(kFormats) ? nullptr : found;
}

std::string known_endings(bool written, const std::vector<DeclaredFile>& declared) {
  std::string text;
  const auto add = [&](const std::string& ending) {
    text += (text.empty() ? "." : ", .") + ending;
  };
  for (const Format& format : kFormats) {
    if (written ? format.write != nullptr : format.read != nullptr) add(format.ending);
  }
  for (const DeclaredFile& one : declared) add(one.ending);
  return text;
}

NamedTensors read_tensors(const std::string& path) {
  const std::string ending = file_ending(path);
  const std::vector<DeclaredFile> declared = declared_files("weights.read");
  if (const DeclaredFile* found = find_declared(declared, ending)) {
    tenon_value results[tenon::detail::max_results]{};
    const tenon::Op op(found->name);
    const tenon_value argument = tenon::Argument(path).value();
    tenon::detail::check(tenon::service::ops().call, op.handle(), &argument, int64_t{1},
                         static_cast<tenon_value*>(results));
    const std::vector<std::string> names = tenon::Value(results[0]).strings();
    std::vector<Tensor> tensors = tenon::Value(results[1]).tensors();
    NamedTensors list;
    for (size_t i = 0; i < names.size() && i < tensors.size(); ++i)
      list.emplace_back(names[i], std::move(tensors[i]));
    return list;
  }
  const Format* const format = find_format(ending);
  if (format != nullptr && format->read != nullptr) return format->read(path);
  throw UsageError(format_text("cannot read '{}': the ending must be one of {}", path,
                               known_endings(false, declared)));
}

void write_tensors(const std::string& path, const NamedTensors& tensors,
                   const tenon::Json& metadata) {
  const std::string ending = file_ending(path);
  const std::vector<DeclaredFile> declared = declared_files("weights.write");
  if (const DeclaredFile* found = find_declared(declared, ending)) {
    std::vector<tenon_string> names;
    std::vector<Tensor> list;
    for (const auto& [name, tensor] : tensors) {
      names.push_back(tenon::detail::string_of(name));
      list.push_back(tensor);
    }
    tenon_value texts{TENON_VALUE_STRING_LIST, static_cast<uint32_t>(names.size()), {0}};
    texts.as.strings = names.data();
    tenon::Op(found->name).call<void>(path, tenon::Argument(texts), list);
    return;
  }
  find_format(ending)->write(path, tensors, metadata);
}

// Refused before anything is read.
void check_output(const ConvertOptions& options) {
  const std::string ending = file_ending(options.output);
  const std::vector<DeclaredFile> declared = declared_files("weights.write");
  const Format* const format = find_format(ending);
  if (find_declared(declared, ending) == nullptr &&
      (format == nullptr || format->write == nullptr)) {
    const std::string what = format_text("cannot write '{}': the ending must be one of {}",
                                         options.output, known_endings(true, declared));
    throw UsageError(format == nullptr ? what : format_text("{}; {}", what, format->instead));
  }
  std::string fault = training::output_fault(options.output);
  if (fault.empty() && training::same_file(options.output, options.input))
    fault = format_text("cannot write '{}': it is the file that is read", options.output);
  if (!fault.empty()) throw tenon::IOError(fault);
}

// Numbers of 8, 6 and 4 bits, too, which are for storage.
bool has_fractions(DType dtype) { return tenon::is_floating(dtype) || tenon::is_narrow(dtype); }

DType asked_dtype(const std::string& name) {
  if (name.empty()) return DType::none;
  const std::optional<DType> dtype = tenon::dtype_named(name);
  if (dtype && has_fractions(*dtype)) return *dtype;
  throw UsageError(
      format_text("--dtype must be a floating dtype such as float16 or bfloat16, got '{}'", name));
}

// Tensors whose names begin with the prefix, under the rest of their names.
NamedTensors chosen(const NamedTensors& tensors, const ConvertOptions& options) {
  NamedTensors list;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(options.prefix))
      list.emplace_back(name.substr(options.prefix.size()), tensor);
  }
  if (list.empty())
    throw tenon::ValueError(options.prefix.empty()
                                ? format_text("'{}' has no tensors", options.input)
                                : format_text("no tensor of '{}' has a name that begins with '{}'",
                                              options.input, options.prefix));
  return list;
}

// Bytes of "5GB", "200MiB" or "1000"; 0 where none is given.
int64_t shard_bytes(const ConvertOptions& options) {
  const std::string& text = options.shard_size;
  if (text.empty()) return 0;
  int64_t number = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(stop, text.data() + text.size());
  constexpr std::pair<const char*, int64_t> kUnits[] = {
      {"", 1},          {"B", 1},         {"KB", 1000},    {"MB", 1000000}, {"GB", 1000000000},
      {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  const auto* const found = std::find_if(std::begin(kUnits), std::end(kUnits),
                                         [&](const auto& one) { return one.first == unit; });
  int64_t bytes = 0;
  if (fault != std::errc() || found == std::end(kUnits) || number < 1 ||
      __builtin_mul_overflow(number, found->second, &bytes))
    throw UsageError(format_text(
        "--shard-size must be a number of bytes such as 5GB or 200MiB, got '{}'", text));
  if (file_ending(options.output) != "safetensors")
    throw UsageError(
        format_text("--shard-size is for .safetensors files, not for '{}'", options.output));
  return bytes;
}

int64_t bytes_of(const Tensor& tensor) {
  return tensor.numel() * tenon::element_size(tensor.dtype());
}

// Tensors in their order, as many in a file as it has room for; a larger tensor has a file alone.
std::vector<NamedTensors> in_shards(const NamedTensors& tensors, int64_t most) {
  std::vector<NamedTensors> shards(1);
  int64_t used = 0;
  for (const auto& one : tensors) {
    const int64_t bytes = bytes_of(one.second);
    if (!shards.back().empty() && bytes > most - used) {
      shards.emplace_back();
      used = 0;
    }
    used = std::min(most, used + bytes);
    shards.back().push_back(one);
  }
  return shards;
}

// Writes the parts and then their index, so that an index never names a part that is not there; one that
// is there before goes first.
std::string write_shards(const ConvertOptions& options, const std::vector<NamedTensors>& shards,
                         const tenon::Json& metadata) {
  namespace files = std::filesystem;
  const std::string stem =
      options.output.substr(0, options.output.size() - std::string(".safetensors").size());
  const std::string index = options.output + ".index.json";
  std::vector<std::string> paths{index};
  for (size_t i = 0; i < shards.size(); ++i) {
    std::string number = std::to_string(i + 1), count = std::to_string(shards.size());
    constexpr size_t digits = 5;
    for (std::string* text : {&number, &count})
      text->insert(0, digits - std::min(digits, text->size()), '0');
    paths.push_back(format_text("{}-{}-of-{}.safetensors", stem, number, count));
  }
  for (const std::string& path : paths) {
    std::string fault = training::output_fault(path);
    if (fault.empty() && training::same_file(path, options.input))
      fault = format_text("cannot write '{}': it is the file that is read", path);
    if (!fault.empty()) throw tenon::IOError(fault);
  }
  std::error_code ignored;
  files::remove(index, ignored);
  tenon::JsonObject map;
  int64_t bytes = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    state::save_tensors(paths[i + 1], shards[i], metadata);
    for (const auto& [name, tensor] : shards[i]) {
      map.set(name, files::path(paths[i + 1]).filename().string());
      bytes += bytes_of(tensor);
    }
  }
  state::write_file(index, tenon::JsonObject()
                               .set("metadata", tenon::JsonObject().set("total_size", bytes).json())
                               .set("weight_map", map.json())
                               .json()
                               .dump());
  return index;
}

// Zeros as inputs, for each layout that is given: an input that is named again begins the next one, for which the
// others stay as they are.
std::vector<std::vector<Tensor>> examples_of(const ConvertOptions& options,
                                             const tenon::Module& model) {
  std::vector<std::vector<Tensor>> examples;
  GivenInputs given(options.input, model);
  std::set<std::string> names;
  for (const std::string& input : options.inputs) {
    if (!names.insert(input.substr(0, input.find('='))).second) {
      examples.push_back(given.tensors(GivenInputs::Elements::zero));
      names = {input.substr(0, input.find('='))};
    }
    given.give(input);
  }
  examples.push_back(given.tensors(GivenInputs::Elements::zero));
  return examples;
}

// A model, prepared for its inputs.
int convert_model(const ConvertOptions& options) {
  if (!options.dtype.empty() || !options.prefix.empty() || !options.shard_size.empty())
    throw UsageError(
        "--dtype, --prefix and --shard-size are for tensors; a model is prepared as it is");
  std::string fault = training::output_fault(options.output);
  if (fault.empty() && training::same_file(options.output, options.input))
    fault = format_text("cannot write '{}': it is the file that is read", options.output);
  if (!fault.empty()) throw tenon::IOError(fault);
  tenon::Prepared prepared;
  tenon::Json notes;
  if (is_prepared_file(options.input)) {
    prepared = open_prepared_file(options.input);
  } else {
    const training::TrainingConfig config(training::read_config(options.input));
    tenon::config::apply(config.document);
    tenon::Module model = state::create_module(config.model);
    model.eval();
    if (!training::is_model_file(options.input) && !config.output.weights.empty() &&
        std::filesystem::exists(config.output.weights)) {
      training::load_weights(model, config.output.weights);
      // The note of their training, by which tenon run --evaluate chooses samples.
      if (file_ending(config.output.weights) == "safetensors")
        notes = state::metadata(config.output.weights);
    }
    const std::vector<std::vector<Tensor>> examples = examples_of(options, model);
    tenon::PrepareOptions prepare_options;
    prepare_options.lists = std::max(prepare_options.lists, examples.size());
    prepared = tenon::prepare(model, examples, prepare_options);
    for (const tenon::PreparedList& list : prepared.lists()) {
      if (!list.reason.empty())
        throw tenon::RuntimeError(format_text("cannot prepare '{}' for {}: {}", options.input,
                                              list.arguments, list.reason));
    }
  }
  prepared.save(options.output, notes);
  print(format_text("wrote {}: {} of calls\n", options.output,
                    counted(static_cast<int64_t>(prepared.lists().size()), "list")));
  return kFine;
}

int convert_file(const ConvertOptions& options) {
  if (is_prepared_file(options.output)) return convert_model(options);
  if (!options.inputs.empty())
    throw UsageError("--input is for a model that is prepared: OUTPUT.tenon");
  const DType dtype = asked_dtype(options.dtype);
  const int64_t most = shard_bytes(options);
  check_output(options);
  NamedTensors tensors = chosen(read_tensors(options.input), options);
  for (auto& [name, tensor] : tensors) {
    if (dtype != DType::none && has_fractions(tensor.dtype()))
      tensor = tenon::contiguous_as(tensor, dtype);
  }
  const bool has_metadata = file_ending(options.input) == "safetensors";
  const tenon::Json metadata = has_metadata ? state::metadata(options.input) : tenon::Json();
  if (most > 0) {
    const std::vector<NamedTensors> shards = in_shards(tensors, most);
    if (shards.size() > 1) {
      const std::string index = write_shards(options, shards, metadata);
      print(format_text("wrote {}: {} in {} files\n", index,
                        counted(static_cast<int64_t>(tensors.size()), "tensor"), shards.size()));
      return kFine;
    }
  }
  write_tensors(options.output, tensors, metadata);
  print(format_text("wrote {}: {}\n", options.output,
                    counted(static_cast<int64_t>(tensors.size()), "tensor")));
  return kFine;
}

}  // namespace

void define_convert(Commands& commands) {
  auto [command, options] = commands.add(
      convert_file, "convert", "Write the tensors of a file as a file of another format",
      "  tenon convert checkpoint.pth model.safetensors\n"
      "  tenon convert model.safetensors model.npz --dtype float16\n"
      "  tenon convert model.gguf model.safetensors --prefix blk.0.\n"
      "  tenon convert detector.onnx detector.tenon --input x=1x3x320x320\n"
      "  tenon convert digits.json d.tenon --input input=64x1x8x8 --input input=1x1x8x8\n"
      "The endings choose the formats: safetensors (and the index of one in parts), npz, files of "
      "torch.save and GGUF are read, safetensors and npz are written, and what plugins add. "
      "Nothing "
      "that a checkpoint names is run. OUTPUT.tenon is a model, or that of a config with the "
      "weights "
      "of its output, prepared for inputs of one layout, or of several: an input that is given "
      "again "
      "begins the next.");
  command.option(
      "--shard-size", options.shard_size, "BYTES",
      "Write a .safetensors file as parts of at most this size, such as 5GB, with an index: "
      "OUTPUT.index.json");
  command.argument(options.input, "FILE", "The file to read");
  command.argument(options.output, "OUTPUT", "The file to write");
  command.inputs(options.inputs);
  command.option("--dtype", options.dtype, "DTYPE", "Convert floating tensors to this dtype");
  command.option("--prefix", options.prefix, "TEXT",
                 "Take the tensors whose names begin with it, under the rest of their names");
}

}  // namespace cli

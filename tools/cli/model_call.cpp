#include "model_call.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <tenon/device.hpp>
#include <tenon/grad_mode.hpp>
#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/atomic_file.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/state/numpy_file.hpp>
#include <tenon/training/config.hpp>

#include "device_option.hpp"
#include "exit_code.hpp"
#include "format.hpp"
#include "given_inputs.hpp"
#include "json.hpp"
#include "table.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;
using tenon::Tensor;
namespace state = tenon::state;

namespace {

// Results of a forward schema: "y" of "(Tensor y, Tensor state)", "output" of one without a name.
std::vector<std::string> result_names(const std::string& forward) {
  const Json returns = tenon::parse_schema(forward)["returns"];
  std::vector<std::string> names;
  for (int64_t i = 0; i < returns.size(); ++i) {
    const std::string otherwise = returns.size() == 1 ? "output" : format_text("output_{}", i);
    names.push_back(returns[i]["name"].text(otherwise));
  }
  return names;
}

// Results of a call as it is.
void call_module(const tenon::Module& model, const std::vector<tenon_value>& values,
                 tenon_value* results) {
  tenon::detail::check(tenon::service::modules().call, model.handle(), values.data(),
                       static_cast<int64_t>(values.size()),
                       static_cast<const tenon_string*>(nullptr),
                       static_cast<const tenon_value*>(nullptr), int64_t{0}, results, int64_t{-1});
}

template <class Call>
state::NamedTensors call(const std::string& forward, const std::vector<Tensor>& inputs,
                         Call&& run) {
  std::vector<tenon_value> values;
  values.reserve(inputs.size());
  for (const Tensor& input : inputs) values.push_back(tenon::Argument(input).value());
  tenon_value results[tenon::detail::max_results]{};
  run(values, static_cast<tenon_value*>(results));
  state::NamedTensors outputs;
  const std::vector<std::string> names = result_names(forward);
  for (size_t i = 0; i < names.size(); ++i) {
    const tenon::Value value(results[i]);
    if (value.is_tensor()) {
      outputs.emplace_back(names[i], value.tensor());
    } else if (results[i].tag == TENON_VALUE_TENSOR_LIST) {
      const std::vector<Tensor> list = value.tensors();
      for (size_t k = 0; k < list.size(); ++k)
        outputs.emplace_back(format_text("{}_{}", names[i], k), list[k]);
    }
  }
  return outputs;
}

Json shape_json(const std::vector<int64_t>& sizes) {
  tenon::JsonArray shape;
  for (const int64_t size : sizes) shape.add(size);
  return shape.json();
}

struct Range {
  double low = 0, high = 0, mean = 0;
};
Range range_of(const std::vector<double>& numbers) {
  Range range{numbers.front(), numbers.front(), 0};
  for (const double number : numbers) {
    range.low = std::min(range.low, number);
    range.high = std::max(range.high, number);
    range.mean += number / static_cast<double>(numbers.size());
  }
  return range;
}

Json output_json(const std::string& name, const Tensor& output, bool elements) {
  tenon::JsonObject object;
  object.set("name", name).set("dtype", tenon::dtype_text(output.dtype()));
  object.set("shape", shape_json(output.sizes()));
  const std::vector<double> numbers = output.to_vector<double>();
  if (elements) {
    tenon::JsonArray values;
    for (const double number : numbers) values.add(number);
    object.set("values", values.json());
  } else if (!numbers.empty()) {
    const Range range = range_of(numbers);
    object.set("minimum", range.low).set("maximum", range.high).set("mean", range.mean);
  }
  return object.json();
}

}  // namespace

ModelCallResult call_model_file(const ModelCallOptions& options) {
  const tenon::NoGrad no_grad;
  tenon::seed_generator(options.seed);
  tenon::Module model;
  tenon::Prepared prepared;
  const bool is_prepared = is_prepared_file(options.path);
  if (is_prepared && options.profile.any())
    throw UsageError(
        format_text("'{}' is the file of a prepared model, whose calls cannot be observed: "
                    "observe the model that it was made of",
                    options.path));
  const tenon::device::Device device =
      device_option(options.device.empty() ? "cpu" : options.device);
  if (is_prepared)
    require_cpu(device, "--device", format_text("'{}'", options.path),
                "call the model that it was made of there, or leave --device out");
  if (is_prepared) {
    prepared = open_prepared_file(options.path);
  } else {
    model = state::create_module(tenon::training::read_config(options.path)["model"]);
    model.eval();
    tenon::device::move(model, device);
  }
  GivenInputs given =
      is_prepared ? GivenInputs(options.path, prepared) : GivenInputs(options.path, model);
  for (const std::string& file : options.files) given.give_file(file);
  for (const std::string& input : options.inputs) given.give(input);
  std::vector<Tensor> inputs = given.tensors(GivenInputs::Elements::random);
  for (Tensor& input : inputs) input = tenon::device::to(input, device);
  ModelCallResult result;
  result.path = options.path;
  for (const Tensor& input : inputs) result.inputs.push_back(input.sizes());
  ProfileScope profile(options.profile);
  profile.begin(model, std::filesystem::path(options.path).filename(), options.path, options.seed);
  const auto start = std::chrono::steady_clock::now();
  result.outputs = call(is_prepared ? prepared.forward_schema() : model.forward_schema(), inputs,
                        [&](const std::vector<tenon_value>& values, tenon_value* results) {
                          if (is_prepared)
                            prepared.call_values(values.data(), static_cast<int64_t>(values.size()),
                                                 results, -1);
                          else
                            call_module(model, values, results);
                        });
  for (auto& [name, output] : result.outputs) output = tenon::device::to(output, "cpu");
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.profile = profile.end(result.fault);
  return result;
}

void print_outputs(const ModelCallResult& result, bool json) {
  if (json) {
    tenon::JsonArray inputs, outputs;
    for (const auto& shape : result.inputs) inputs.add(shape_json(shape));
    for (const auto& [name, output] : result.outputs) outputs.add(output_json(name, output, false));
    tenon::JsonObject object;
    object.set("model", result.path)
        .set("inputs", inputs.json())
        .set("outputs", outputs.json())
        .set("seconds", result.seconds);
    if (result.profile) object.set("profile", tenon::profile::document(*result.profile));
    return print_json(object);
  }
  Table table({{"OUTPUT"},
               {"DTYPE"},
               {"SHAPE"},
               {"MINIMUM", Align::right},
               {"MAXIMUM", Align::right},
               {"MEAN", Align::right}});
  for (const auto& [name, output] : result.outputs) {
    const std::vector<double> numbers = output.to_vector<double>();
    std::vector<Cell> row = {name, std::string(tenon::dtype_text(output.dtype())),
                             shape_json(output.sizes()).dump()};
    if (numbers.empty()) {
      row.insert(row.end(), {"-", "-", "-"});
    } else {
      const Range range = range_of(numbers);
      for (const double number : {range.low, range.high, range.mean})
        row.emplace_back(format_text("{:.6g}", number));
    }
    table.add(std::move(row));
  }
  print(table.text());
  print(format_text("one call in {}\n", duration(result.seconds)));
  if (result.profile) print("\n" + profile_text(*result.profile));
}

void write_outputs(const ModelCallResult& result, const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  if (ending == ".npz") {
    state::save_npz(path, result.outputs);
  } else if (ending == ".safetensors") {
    state::save_tensors(path, result.outputs);
  } else if (ending == ".json") {
    tenon::JsonArray outputs;
    for (const auto& [name, output] : result.outputs) outputs.add(output_json(name, output, true));
    state::write_file(path,
                      tenon::JsonObject().set("outputs", outputs.json()).json().dump() + "\n");
  } else if (ending == ".npy") {
    if (result.outputs.size() != 1)
      throw tenon::ValueError(
          format_text("cannot write '{}': a .npy file has one array, the model gives {}; "
                      "write a .npz file",
                      path, counted(static_cast<int64_t>(result.outputs.size()), "output")));
    state::save_npy(path, result.outputs.front().second);
  } else {
    throw UsageError(format_text(
        "--output must end in .npz, .npy, .safetensors or .json for the file of a model, got '{}'",
        path));
  }
}

}  // namespace cli

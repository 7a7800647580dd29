#include "given_inputs.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <tenon/ops.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/numpy_file.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/text.hpp>
#include <tenon/trust/guard.hpp>

#include "exit_code.hpp"
#include "format.hpp"
#include "text.hpp"

namespace cli {

using tenon::Tensor;
namespace state = tenon::state;

namespace {

std::string shape_text(const std::vector<std::string>& sizes) {
  return format_text("[{}]", join(sizes, ", "));
}
std::string shape_text(const std::vector<int64_t>& sizes) {
  std::vector<std::string> texts;
  texts.reserve(sizes.size());
  for (const int64_t size : sizes) texts.push_back(std::to_string(size));
  return shape_text(texts);
}

// "1x3x320x320"; false for another text.
bool read_shape(const std::string& text, std::vector<int64_t>& shape) {
  const char *at = text.data(), *const end = at + text.size();
  for (;;) {
    int64_t size = 0;
    const auto [stop, fault] = std::from_chars(at, end, size);
    if (fault != std::errc() || size < 0) return false;
    shape.push_back(size);
    if (stop == end) return true;
    if (*stop != 'x') return false;
    at = stop + 1;
  }
}
bool read_number(const std::string& text, double& number) {
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && stop == text.data() + text.size();
}

tenon::DType dtype_of(const state::ModelInput& declared) {
  return declared.dtype == tenon::DType::none ? tenon::f32 : declared.dtype;
}

state::NamedTensors read_inputs(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  if (ending == ".npy") return {{"", state::load_npy(path)}};
  if (ending == ".npz") return state::load_npz(path);
  if (ending == ".safetensors") return state::load_tensors(path);
  throw tenon::ValueError(format_text(
      "cannot read inputs from '{}': expected a file .npy, .npz or .safetensors", path));
}

}  // namespace

GivenInputs::GivenInputs(const std::string& path, const tenon::Module& model) : path_(path) {
  std::optional<std::vector<state::ModelInput>> declared;  // configs have none
  if (state::find_model_format(path)) declared = state::model_inputs(path);
  add_inputs(model.forward_schema(), declared);
}

GivenInputs::GivenInputs(const std::string& path, const tenon::Prepared& model) : path_(path) {
  std::vector<state::ModelInput> declared;
  const std::vector<tenon::PreparedList> lists = model.lists();
  for (const Tensor& layout : lists.front().layouts) {
    state::ModelInput input;
    input.dtype = layout.dtype();
    input.has_shape = true;
    for (const int64_t size : layout.shape()) input.shape.push_back(std::to_string(size));
    declared.push_back(std::move(input));
  }
  add_inputs(model.forward_schema(), declared);
  for (Input& input : inputs_) input.declared.name = input.parameter;
}

void GivenInputs::add_inputs(const std::string& forward,
                             const std::optional<std::vector<state::ModelInput>>& declared) {
  const tenon::Json parameters = tenon::parse_schema(forward)["parameters"];
  for (int64_t i = 0; i < parameters.size(); ++i) {
    Input& input = inputs_.emplace_back();
    input.parameter = parameters[i]["name"].text();
    if (declared && static_cast<size_t>(i) < declared->size())
      input.declared = (*declared)[static_cast<size_t>(i)];
    else
      input.declared.name = input.parameter;
  }
}

GivenInputs::Input& GivenInputs::find(const std::string& name) {
  std::vector<std::string> names;
  for (Input& input : inputs_) {
    if (input.declared.name == name || input.parameter == name) return input;
    names.push_back(input.declared.name);
  }
  throw tenon::ValueError(format_text("{}: the model has no input '{}'{}; it has {}", path_, name,
                                      tenon::suggestion(name, names), join(names, ", ")));
}

void GivenInputs::give(const std::string& text) {
  const size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == text.size())
    throw UsageError(
        format_text("--input: found '{}', expected NAME=1x3x320x320, NAME=FILE or, for an "
                    "input without dimensions, NAME=NUMBER",
                    text));
  Input& input = find(text.substr(0, sign));
  const std::string value = text.substr(sign + 1);
  const state::ModelInput& declared = input.declared;
  double number = 0;
  if (declared.has_shape && declared.shape.empty() && read_number(value, number))
    return give_tensor(input, tenon::full(std::vector<int64_t>{}, number, dtype_of(declared)));
  std::vector<int64_t> shape;
  if (read_shape(value, shape)) return give_shape(input, shape);
  give_file(text);
}

void GivenInputs::give_file(const std::string& text) {
  std::error_code fault;
  const size_t sign = std::filesystem::exists(text, fault) ? std::string::npos : text.find('=');
  if (sign == std::string::npos) {
    for (const auto& [name, tensor] : read_inputs(text)) {
      if (!name.empty()) {
        give_tensor(find(name), tensor);
        continue;
      }
      const auto next = std::find_if(inputs_.begin(), inputs_.end(), [](const Input& input) {
        return !input.tensor.defined() && !input.has_shape;
      });
      if (next == inputs_.end())
        throw tenon::ValueError(
            format_text("{}: the model has {}, all of which are given before '{}'", path_,
                        counted(static_cast<int64_t>(inputs_.size()), "input"), text));
      give_tensor(*next, tensor);
    }
    return;
  }
  const std::string name = text.substr(0, sign), file = text.substr(sign + 1);
  Input& input = find(name);
  const state::NamedTensors tensors = read_inputs(file);
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& one) {
    return one.first == name || tensors.size() == 1;
  });
  if (found == tensors.end())
    throw tenon::ValueError(format_text("'{}' has {} and none named '{}'", file,
                                        counted(static_cast<int64_t>(tensors.size()), "tensor"),
                                        name));
  give_tensor(input, found->second);
}

void GivenInputs::give_tensor(Input& input, const Tensor& tensor) {
  const state::ModelInput& declared = input.declared;
  if (declared.dtype != tenon::DType::none && tensor.dtype() != declared.dtype)
    throw tenon::ValueError(format_text(
        "{}: the input '{}' is given as {}, the model takes {}; convert it", path_, declared.name,
        tenon::dtype_text(tensor.dtype()), tenon::dtype_text(declared.dtype)));
  give_shape(input, tensor.sizes());
  input.tensor = tensor;
}

void GivenInputs::give_shape(Input& input, const std::vector<int64_t>& shape) {
  const state::ModelInput& declared = input.declared;
  bool fits = !declared.has_shape || shape.size() == declared.shape.size();
  for (size_t i = 0; fits && declared.has_shape && i < shape.size(); ++i)
    fits = declared.size(i).value_or(shape[i]) == shape[i];
  if (!fits)
    throw tenon::ValueError(
        format_text("{}: the input '{}' is given with the shape {}, the model takes {}", path_,
                    declared.name, shape_text(shape), shape_text(declared.shape)));
  input.shape = shape;
  input.has_shape = true;
}

std::vector<int64_t> GivenInputs::shape_of(const Input& input,
                                           std::vector<std::string>& faults) const {
  if (input.has_shape) return input.shape;
  const state::ModelInput& declared = input.declared;
  std::vector<int64_t> shape;
  std::vector<std::string> example;
  bool open = !declared.has_shape;
  for (size_t i = 0; i < declared.shape.size(); ++i) {
    const std::optional<int64_t> size = declared.size(i);
    open = open || !size;
    example.push_back(size ? std::to_string(*size) : i == 0 ? "1" : "64");
    shape.push_back(size.value_or(0));
  }
  if (open)
    faults.push_back(format_text(
        "the input '{}' {}; give it, such as --input {}={}", declared.name,
        declared.has_shape ? format_text("has the open shape {}", shape_text(declared.shape))
                           : "has no declared shape",
        declared.name, example.empty() ? "1x64" : join(example, "x")));
  return shape;
}

std::vector<std::vector<int64_t>> GivenInputs::shapes() const {
  std::vector<std::vector<int64_t>> list;
  std::vector<std::string> faults;
  for (const Input& input : inputs_) list.push_back(shape_of(input, faults));
  if (faults.empty()) return list;
  throw tenon::ValueError(
      faults.size() == 1 ? format_text("{}: {}", path_, faults.front())
                         : format_text("{}: {}\n  {}", path_,
                                       counted(static_cast<int64_t>(faults.size()), "open input"),
                                       join(faults, "\n  ")));
}

std::vector<Tensor> GivenInputs::tensors(Elements elements) const {
  const std::vector<std::vector<int64_t>> known = shapes();
  std::vector<Tensor> list;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const tenon::DType dtype = dtype_of(inputs_[i].declared);
    if (inputs_[i].tensor.defined())
      list.push_back(inputs_[i].tensor);
    else if (elements == Elements::random && tenon::is_floating(dtype))
      list.push_back(tenon::rand(known[i], dtype));
    else
      list.push_back(tenon::zeros(known[i], dtype));
  }
  return list;
}

tenon::Json GivenInputs::sample() const {
  const std::vector<std::vector<int64_t>> known = shapes();
  const state::ModelFormat format = state::require_model_format(path_);
  const std::string whole = std::filesystem::absolute(path_).lexically_normal();
  tenon::JsonObject inputs;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    tenon::JsonArray shape;
    for (const int64_t size : known[i]) shape.add(size);
    tenon::JsonObject tensor;
    tensor.set("shape", shape.json())
        .set("dtype", tenon::dtype_text(dtype_of(inputs_[i].declared)));
    if (inputs_[i].tensor.defined()) {
      tenon::JsonArray values;
      for (const double value : inputs_[i].tensor.to_vector<double>()) values.add(value);
      tensor.set("values", values.json());
    }
    inputs.set(inputs_[i].parameter, tensor.json());
  }
  return tenon::JsonArray()
      .add(tenon::JsonObject().set(format.attribute, whole).set("inputs", inputs.json()).json())
      .json();
}

bool is_prepared_file(const std::string& path) {
  return std::filesystem::path(path).extension() == ".tenon";
}

tenon::Prepared open_prepared_file(const std::string& path) {
  tenon::trust::install();
  return tenon::open_prepared(path);
}

void refuse_inputs(const std::vector<std::string>& inputs, const std::string& config) {
  if (!inputs.empty())
    throw UsageError(format_text(
        "--input is for the file of a model, and '{}' is a config, which has \"input\"", config));
}

}  // namespace cli

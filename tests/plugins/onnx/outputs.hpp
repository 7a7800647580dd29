// Models that are called with .npy files, whose results are compared with others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <tenon/module.hpp>
#include <tenon/prepare/prepare.hpp>
#include <tenon/tenon.hpp>

namespace outputs {

using tenon::Module, tenon::Tensor, tenon::Value;

inline Tensor read(const std::string& path) {
  return tenon::Op("data.read_npy").call<Tensor>(path);
}
// FOLDER/KIND_0.npy and those behind it.
inline std::vector<Tensor> read_all(const std::string& folder, const std::string& kind,
                                    size_t count) {
  std::vector<Tensor> list;
  for (size_t i = 0; i < count; ++i)
    list.push_back(read(folder + "/" + kind + "_" + std::to_string(i) + ".npy"));
  return list;
}

// The models that tools/setup --models has installed, with inputs, and the outputs of ONNX Runtime, which
// computes them when they are asked for first. No cases without the models.
class RealModels {
 public:
  struct Case {
    std::string name, path, folder;
    size_t input_count = 0, outputs = 0;
    std::vector<Tensor> inputs() const { return read_all(folder, "input", input_count); }
    std::vector<Tensor> expected() const { return read_all(folder, "output", outputs); }
  };
  // Models are in the folder of the variable TENON_MODELS, or else in `models`.
  RealModels(const std::string& models, const std::string& sources, const std::string& written) {
    const char* const chosen = std::getenv("TENON_MODELS");
    const std::string modules = (chosen != nullptr ? chosen : models) + "/node_modules";
    if (!std::filesystem::exists(modules + "/onnxruntime-node")) return;
    if (!std::filesystem::exists(written + "/cases.txt")) {
      const std::string command =
          "node '" + sources + "/runtime_outputs.js' '" + modules + "' '" + written + "'";
      if (std::system(command.c_str()) != 0) throw tenon::RuntimeError(command + " failed");
    }
    std::ifstream file(written + "/cases.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      Case one;
      words >> one.name >> one.path >> one.input_count >> one.outputs;
      one.folder = written + "/" + one.name;
      one.path = modules + "/" + one.path;
      cases_.push_back(one);
    }
  }
  const std::vector<Case>& cases() const { return cases_; }

 private:
  std::vector<Case> cases_;
};

inline std::vector<Tensor> call(const Module& model, const std::vector<Tensor>& inputs,
                                size_t count) {
  std::vector<tenon_value> values;
  for (const Tensor& one : inputs) values.push_back(tenon::Argument(one).value());
  tenon_value results[tenon::detail::max_results]{};
  tenon::detail::check(
      tenon::service::modules().call, model.handle(),
      static_cast<const tenon_value*>(values.data()), static_cast<int64_t>(values.size()),
      static_cast<const tenon_string*>(nullptr), static_cast<const tenon_value*>(nullptr),
      int64_t{0}, results, static_cast<int64_t>(count));
  std::vector<Tensor> list;
  for (size_t i = 0; i < count; ++i) list.push_back(Value(results[i]).tensor());
  return list;
}

inline std::vector<Tensor> call(const tenon::Prepared& prepared, const std::vector<Tensor>& inputs,
                                size_t count) {
  std::vector<tenon_value> values;
  for (const Tensor& one : inputs) values.push_back(tenon::Argument(one).value());
  tenon_value results[tenon::detail::max_results]{};
  prepared.call_values(values.data(), static_cast<int64_t>(values.size()), results,
                       static_cast<int64_t>(count));
  std::vector<Tensor> list;
  for (size_t i = 0; i < count; ++i) list.push_back(Value(results[i]).tensor());
  return list;
}

// The largest difference, as a part of the largest number, or of 0.001 where all are smaller; infinity for tensors of another shape or dtype, and
// where one is NaN and the other is not.
inline double difference(const Tensor& found, const Tensor& expected) {
  if (found.dtype() != expected.dtype() || found.sizes() != expected.sizes()) return INFINITY;
  const auto a = found.to_vector<double>(), b = expected.to_vector<double>();
  double most = 0, largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return INFINITY;
    most = std::max(most, std::abs(a[i] - b[i]));
  }
  for (const double number : b) {
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  return most / std::max(largest, 1e-3);
}

}  // namespace outputs

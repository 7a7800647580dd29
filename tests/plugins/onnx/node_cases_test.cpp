// The node tests of the package onnx, up to opset 17: every case is computed or listed with its reason.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <doctest/doctest.h>

#include <tenon/module.hpp>
#include <tenon/tenon.hpp>

namespace {

using tenon::Module, tenon::Op, tenon::Tensor, tenon::Value;

struct Case {
  std::string name;
  double rtol = 0, atol = 0;
  std::vector<std::string> inputs, outputs;  // T, or S and the length
};

// Writes the cases once; empty where the package is missing.
std::string case_folder() {
  const std::string folder = TENON_ONNX_CASES;
  if (!std::filesystem::exists(folder + "/cases.txt")) {
    const std::string command = std::string("/usr/bin/python3 '") + TENON_ONNX_SOURCES +
                                "/make_node_cases.py' '" + folder + "' >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) return {};
  }
  return folder;
}

std::vector<Case> read_cases(const std::string& folder) {
  std::ifstream file(folder + "/cases.txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Case one;
    words >> one.name >> one.rtol >> one.atol;
    bool output = false;
    for (std::string word; words >> word;) {
      if (word == "->")
        output = true;
      else
        (output ? one.outputs : one.inputs).push_back(word);
    }
    cases.push_back(one);
  }
  return cases;
}

// Names that are not computed, and why: "NAME reason", '*' at the end of a name stands for any rest.
std::vector<std::pair<std::string, std::string>> read_unsupported() {
  std::ifstream file(std::string(TENON_ONNX_SOURCES) + "/unsupported.txt");
  std::vector<std::pair<std::string, std::string>> list;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' ');
    list.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return list;
}
bool names(const std::string& pattern, const std::string& name) {
  if (pattern.empty() || pattern.back() != '*') return pattern == name;
  return name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
}

Tensor read_tensor(const std::string& path) { return Op("onnx.read_tensor").call<Tensor>(path); }

// A difference as text; empty where there is none.
std::string difference(const Tensor& found, const Tensor& expected, const Case& one) {
  if (!found.defined()) return "no tensor";
  if (found.dtype() != expected.dtype())
    return std::string("dtype ") + tenon::dtype_text(found.dtype()) + ", not " +
           tenon::dtype_text(expected.dtype());
  if (found.sizes() != expected.sizes()) return "another shape: " + found.text();
  const auto a = found.to_vector<double>(), b = expected.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::abs(a[i] - b[i]) <= one.atol + one.rtol * std::abs(b[i])))
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", not " +
             std::to_string(b[i]);
  }
  return {};
}

// Empty where all outputs are as expected.
std::string run(const std::string& folder, const Case& one) {
  if (!one.inputs.empty() && one.inputs[0] == "?") return "its values are not tensors";
  const std::string path = folder + "/" + one.name;
  const Module model = Module::create("onnx.Model", tenon::arg("path") = path + "/model.onnx");
  std::vector<std::vector<Tensor>> kept;
  std::vector<tenon_value> values;
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    const std::string file = path + "/input_" + std::to_string(i);
    std::vector<Tensor>& list = kept.emplace_back();
    if (one.inputs[i] == "T") {
      list.push_back(read_tensor(file + ".pb"));
      values.push_back(tenon::Argument(list[0]).value());
      continue;
    }
    const int count = std::atoi(one.inputs[i].c_str() + 1);
    for (int j = 0; j < count; ++j)
      list.push_back(read_tensor(file + "." + std::to_string(j) + ".pb"));
    tenon_value value{};
    value.tag = TENON_VALUE_TENSOR_LIST;
    value.length = static_cast<uint32_t>(count);
    value.as.tensors = reinterpret_cast<tenon_tensor* const*>(list.data());
    values.push_back(value);
  }
  tenon_value results[tenon::detail::max_results]{};
  tenon::detail::check(tenon::service::modules().call, model.handle(),
                       static_cast<const tenon_value*>(values.data()),
                       static_cast<int64_t>(values.size()),
                       static_cast<const tenon_string*>(nullptr),
                       static_cast<const tenon_value*>(nullptr), int64_t{0}, results, int64_t{-1});
  std::vector<Value> owned;
  for (tenon_value& result : results) owned.emplace_back(result);
  for (size_t i = 0; i < one.outputs.size(); ++i) {
    const std::string file = path + "/output_" + std::to_string(i);
    std::vector<Tensor> expected;
    if (one.outputs[i] == "T") {
      expected.push_back(read_tensor(file + ".pb"));
    } else {
      const int count = std::atoi(one.outputs[i].c_str() + 1);
      for (int j = 0; j < count; ++j)
        expected.push_back(read_tensor(file + "." + std::to_string(j) + ".pb"));
    }
    const std::vector<Tensor> found =
        owned[i].is_tensor() ? std::vector<Tensor>{owned[i].tensor()} : owned[i].tensors();
    if (found.size() != expected.size()) return "another number of tensors";
    for (size_t j = 0; j < found.size(); ++j) {
      const std::string text = difference(found[j], expected[j], one);
      if (!text.empty()) return "output " + std::to_string(i) + ": " + text;
    }
  }
  return {};
}

}  // namespace

TEST_CASE("the node tests of the package onnx are computed, or listed as not supported") {
  const std::string folder = case_folder();
  if (folder.empty()) {
    MESSAGE("skipped: the package python3-onnx is not installed");
    return;
  }
  const auto unsupported = read_unsupported();
  const char* only = std::getenv("TENON_ONNX_CASE");
  int computed = 0, listed = 0;
  for (const Case& one : read_cases(folder)) {
    if (only != nullptr && one.name != only) continue;
    std::string fault;
    try {
      fault = run(folder, one);
    } catch (const tenon::Error& error) {
      fault = error.what();
    }
    bool known = false;
    for (const auto& [pattern, reason] : unsupported) known = known || names(pattern, one.name);
    CAPTURE(one.name);
    if (known) {
      ++listed;
      CHECK_MESSAGE(!fault.empty(), "it is computed: remove it from unsupported.txt");
    } else {
      computed += fault.empty() ? 1 : 0;
      CHECK_MESSAGE(fault.empty(), fault);
    }
  }
  const int share = 1000 * computed / std::max(computed + listed, 1);
  MESSAGE("node tests computed: " << computed << " of " << computed + listed << " (" << share / 10.0
                                  << " %), not supported: " << listed);
  if (only == nullptr) CHECK(share >= 950);
}

// The node tests of the package onnx, up to opset 17: every case is computed or listed with its reason.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <doctest/doctest.h>

#include <tenon/grad_mode.hpp>
#include <tenon/module.hpp>
#include <tenon/parallel.hpp>
#include <tenon/prepare/prepare.hpp>
#include <tenon/tenon.hpp>

#include "tests/support/skipped.hpp"

namespace {

using tenon::Module, tenon::Op, tenon::Prepared, tenon::Tensor, tenon::Value;

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

// Tensors of a case, and lists of them, as arguments.
class Inputs {
 public:
  Inputs(const std::string& path, const Case& one) {
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      const std::string file = path + "/input_" + std::to_string(i);
      std::vector<Tensor>& list = kept_.emplace_back();
      if (one.inputs[i] == "T") {
        list.push_back(read_tensor(file + ".pb"));
        values_.push_back(tenon::Argument(list[0]).value());
        continue;
      }
      const int count = std::atoi(one.inputs[i].c_str() + 1);
      for (int j = 0; j < count; ++j)
        list.push_back(read_tensor(file + "." + std::to_string(j) + ".pb"));
      tenon_value value{};
      value.tag = TENON_VALUE_TENSOR_LIST;
      value.length = static_cast<uint32_t>(count);
      value.as.tensors = reinterpret_cast<tenon_tensor* const*>(list.data());
      values_.push_back(value);
    }
  }
  const tenon_value* values() const { return values_.data(); }
  int64_t count() const { return static_cast<int64_t>(values_.size()); }

 private:
  std::vector<std::vector<Tensor>> kept_;
  std::vector<tenon_value> values_;
};

bool has_tensors(const Case& one) { return one.inputs.empty() || one.inputs[0] != "?"; }

Module load(const std::string& path) {
  return Module::create("onnx.Model", tenon::arg("path") = path + "/model.onnx");
}

std::vector<Value> call(const Module& model, const Inputs& inputs) {
  tenon_value results[tenon::detail::max_results]{};
  tenon::detail::check(tenon::service::modules().call, model.handle(), inputs.values(),
                       inputs.count(), static_cast<const tenon_string*>(nullptr),
                       static_cast<const tenon_value*>(nullptr), int64_t{0},
                       static_cast<tenon_value*>(results), int64_t{-1});
  return {std::begin(results), std::end(results)};
}
std::vector<Value> call(const Prepared& model, const Inputs& inputs) {
  tenon_value results[tenon::detail::max_results]{};
  model.call_values(inputs.values(), inputs.count(), results, -1);
  return {std::begin(results), std::end(results)};
}

std::vector<Tensor> tensors_of(const Value& value) {
  return value.is_tensor() ? std::vector<Tensor>{value.tensor()} : value.tensors();
}

// Empty where all outputs are as expected.
std::string fault_of(const std::vector<Value>& owned, const std::string& path, const Case& one) {
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
    const std::vector<Tensor> found = tensors_of(owned[i]);
    if (found.size() != expected.size()) return "another number of tensors";
    for (size_t j = 0; j < found.size(); ++j) {
      const std::string text = difference(found[j], expected[j], one);
      if (!text.empty()) return "output " + std::to_string(i) + ": " + text;
    }
  }
  return {};
}
std::string run(const std::string& folder, const Case& one) {
  if (!has_tensors(one)) return "its values are not tensors";
  const std::string path = folder + "/" + one.name;
  return fault_of(call(load(path), Inputs(path, one)), path, one);
}

// The bits of all elements; NaN are equal.
bool same_bits(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  const Tensor one = tenon::contiguous_as(a, a.dtype()), other = tenon::contiguous_as(b, b.dtype());
  if (a.numel() == 0 ||
      std::memcmp(one.view_record().data, other.view_record().data,
                  static_cast<size_t>(a.numel() * tenon::element_size(a.dtype()))) == 0)
    return true;
  const Case exact;
  return difference(one, other, exact).empty();
}
bool same_bits(const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].is_none() != b[i].is_none()) return false;
    if (a[i].is_none()) continue;
    const std::vector<Tensor> one = tensors_of(a[i]), other = tensors_of(b[i]);
    if (!std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const Tensor& x, const Tensor& y) { return same_bits(x, y); }))
      return false;
  }
  return true;
}

}  // namespace

TEST_CASE("the node tests of the package onnx are computed, or listed as not supported") {
  const std::string folder = case_folder();
  if (folder.empty()) {
    skipped::note("the package python3-onnx is not installed");
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

TEST_CASE("the node tests are computed alike when they are prepared") {
  const std::string folder = case_folder();
  if (folder.empty()) {
    skipped::note("the package python3-onnx is not installed");
    return;
  }
  const tenon::NoGrad no_grad;
  const auto unsupported = read_unsupported();
  const auto is_supported = [&](const Case& one) {
    return has_tensors(one) &&
           std::none_of(unsupported.begin(), unsupported.end(),
                        [&](const auto& line) { return names(line.first, one.name); });
  };
  const char* only = std::getenv("TENON_ONNX_CASE");
  int64_t compared = 0, rewritten = 0, listed = 0;
  for (const Case& one : read_cases(folder)) {
    if (!is_supported(one) || (only != nullptr && one.name != only)) continue;
    CAPTURE(one.name);
    const std::string path = folder + "/" + one.name;
    const Module model = load(path);
    model.eval();
    const Inputs inputs(path, one);
    tenon::seed_generator(1);
    const std::vector<Value> expected = call(model, inputs);
    const Prepared prepared = tenon::prepare(model);
    // The second run has its results in the list's memory.
    for (int i = 0; i < 2; ++i) {
      tenon::seed_generator(1);
      const std::vector<Value> found = call(prepared, inputs);
      const bool exact = prepared.lists().empty() || prepared.lists().front().rewrites.empty();
      if (exact)
        CHECK(same_bits(found, expected));
      else
        CHECK(fault_of(found, path, one) == "");
      rewritten += exact ? 0 : 1;
    }
    CAPTURE(prepared.reasons());
    CHECK(prepared.listed_runs() + prepared.runs_as_is() == 2);
    ++compared;
    listed += prepared.listed_runs() / 2;
  }
  MESSAGE("node tests prepared: " << compared << ", by lists " << listed << ", rewritten "
                                  << rewritten / 2);
  if (only == nullptr) CHECK(listed > compared * 9 / 10);
}

// Shared code of the tests of the skin: the plugin of Functions, numbers, refusals.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

namespace functions {

using namespace tenon;

// f64, as the conformance cases have it.
inline Tensor row(const std::vector<double>& values) {
  return from_range(values.begin(), values.end());
}
inline Tensor leaf(const std::vector<double>& values) { return row(values).requires_grad_(); }
inline Tensor scalar(double value) { return full(std::vector<int64_t>{}, value, f64); }
inline std::vector<double> numbers(const Tensor& tensor) { return tensor.to_vector<double>(); }
using Numbers = std::vector<double>;

// An op of the fixture plugins functions and styles.
inline Op fixture(const std::string& name) {
  static const bool found = (add_plugin_path(TENON_FIXTURES "/functions"), true);
  (void)found;
  return Op(name);
}
inline Op fx(const std::string& name) { return fixture("fx." + name); }
inline Op styles(const std::string& name) { return fixture("styles." + name); }
template <class... Arguments>
Tensor apply(const std::string& name, const Arguments&... arguments) {
  return fx(name).call<Tensor>(arguments...);
}
// An op of the fixture types: tensor types and overrides.
inline Op tx(const std::string& name) {
  static const bool found = (add_plugin_path(TENON_FIXTURES "/types"), true);
  (void)found;
  return Op("tx." + name);
}
inline std::string seen() { return fx("seen")().text(); }
inline std::string styles_seen() { return styles("seen")().text(); }

// Gradients that can be differentiated again.
inline GradientOptions recorded() {
  GradientOptions options;
  options.create_graph = true;
  return options;
}

// The error that the call throws, with its kind; kind 0 when it throws none.
struct Refusal {
  tenon_status kind = TENON_OK;
  std::string text, op, provider;
};
template <class Call>
Refusal refusal(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.kind(), error.what(), error.op(), error.provider()};
  }
  return {};
}
struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("tenon-module-" + std::to_string(::getpid()) + ".safetensors"))
                         .string();
  ~TemporaryFile() { std::remove(path.c_str()); }
};

inline bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("'" << part << "' is not in: " << text);
  return found;
}

}  // namespace functions

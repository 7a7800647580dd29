// Shared code of the tests of reports.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

#include "tests/support/temporary_folder.hpp"

namespace reports {

using namespace tenon;
using tenon_test::TemporaryFolder;
using Numbers = std::vector<double>;
using Whole = std::vector<int64_t>;

inline Tensor row(const Numbers& values) { return from_range(values.begin(), values.end()); }
inline Tensor leaf(const Numbers& values) { return row(values).requires_grad_(); }
inline Tensor codes(const Whole& values) { return from_range(values.begin(), values.end()); }
inline Numbers numbers(const Tensor& tensor) { return tensor.to_vector<double>(); }

template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::string write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace reports

// Shared code of the tests of transforms.
#pragma once

#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

namespace transforming {

using namespace tenon;
using namespace tenon::transforms;
using Numbers = std::vector<double>;

inline Tensor row(const Numbers& values) { return from_range(values.begin(), values.end()); }
inline Tensor scalar(double value) { return full(std::vector<int64_t>{}, value, f64); }
inline Numbers numbers(const Tensor& tensor) { return tensor.to_vector<double>(); }

// The error of a call: its kind and its text.
struct Refused {
  uint32_t kind = TENON_OK;
  std::string text;
};
template <class Call>
Refused refused(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {static_cast<uint32_t>(error.kind()), error.what()};
  }
  return {};
}
inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Lines that the log writes during a call.
template <class Call>
std::string logged(Call&& call) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int before = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  call();
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  ::close(before);
  std::string text(static_cast<size_t>(lseek(fileno(file), 0, SEEK_END)), '\0');
  const auto read = pread(fileno(file), text.data(), text.size(), 0);
  std::fclose(file);
  CHECK(read == static_cast<ssize_t>(text.size()));
  return text;
}

inline bool close(const Tensor& a, const Tensor& b, double tolerance = 1e-9) {
  if (a.sizes() != b.sizes()) return false;
  const Numbers one = numbers(a), other = numbers(b);
  for (size_t i = 0; i < one.size(); ++i) {
    if (!(std::abs(one[i] - other[i]) <= tolerance * (1 + std::abs(other[i])))) return false;
  }
  return true;
}

}  // namespace transforming

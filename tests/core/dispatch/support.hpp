// Ops for the tests of dispatch, written against the boundary as a plugin in C would.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/base/error.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/tensor/copy.hpp"

namespace tenon::core::test {

inline tenon_op_descriptor descriptor(const char* schema, tenon_run_function run = nullptr) {
  tenon_op_descriptor made{};
  made.size = sizeof(made);
  made.schema = schema;
  made.run = run;
  return made;
}

inline TensorRef floats(std::initializer_list<float> values, std::vector<int64_t> shape = {}) {
  if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
  TensorRef tensor = make_empty(TENON_F32, shape);
  std::copy(values.begin(), values.end(), static_cast<float*>(tensor->view.data));
  return tensor;
}
inline std::vector<float> read(const Tensor& tensor) {
  const TensorRef dense = contiguous_copy(tensor, TENON_F32);
  const auto* data = static_cast<const float*>(dense->view.data);
  return {data, data + dense->view.count};
}

inline tenon_value number(double value) { return float_value(value); }
inline tenon_value integer(int64_t value) { return int_value(value); }

// The outcome of a call: its status, the fields of the error, its results released at the end.
struct Outcome {
  tenon_status status = TENON_OK;
  std::string message, op, provider;
  tenon_value results[kMaxResults] = {};

  Outcome() = default;
  Outcome(const Outcome&) = delete;
  Outcome& operator=(const Outcome&) = delete;
  ~Outcome() {
    for (tenon_value& result : results) release_value(result);
  }
  void take(tenon_error* error) {
    if (error == nullptr) return;
    message = error->error.message;
    op = error->error.op;
    provider = error->error.provider;
    if (!error->preallocated) delete error;
  }
  Tensor* tensor(size_t i = 0) const {
    REQUIRE_MESSAGE(status == TENON_OK, message);
    REQUIRE(results[i].tag == TENON_VALUE_TENSOR);
    return results[i].as.tensor;
  }
};
inline void call(Outcome& outcome, const tenon_op* op, const std::vector<tenon_value>& arguments) {
  tenon_error* error = nullptr;
  outcome.status = call_op(op, arguments.data(), static_cast<int64_t>(arguments.size()),
                           outcome.results, &error);
  outcome.take(error);
}

template <class Body>
std::string refusal(Body&& body, tenon_status kind) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.kind == kind);
    return error.message;
  }
  FAIL("nothing was refused");
  return {};
}
inline bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("'" << part << "' is not in: " << text);
  return found;
}

}  // namespace tenon::core::test

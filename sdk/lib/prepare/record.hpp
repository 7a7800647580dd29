// A model's list for arguments of one layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tenon/prepare/prepare.hpp>

#include "model_state.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

// The arguments of one call of a model.
struct Arguments {
  const tenon_value* values;
  int64_t count;
  const tenon_string* keywords;
  const tenon_value* keyword_values;
  int64_t keyword_count;
};
void call_as_is(const Module& module, const Arguments& arguments, tenon_value* results,
                int64_t result_count);

// Elements that the model may read in a recording, each including those before: none; those of arguments
// that are numbers (is_number); results of calls that are one, which are then compared in each run.
enum class Readable : uint8_t { nothing, arguments, results };

struct Recording {
  CallList list;
  std::string reason;   // why the model runs as it is; empty where there is a list
  bool raised = false;  // the reason is an error of the model's own: it may have read an element
  std::vector<Tensor> kept;  // tensors that the model keeps beside its members
};

// Runs the model twice on stand-ins. Grad mode is off, and nothing watches the thread's calls.
Recording record(const Module& module, const ModelState& state, const Arguments& arguments,
                 Readable readable);

}  // namespace prepared

TENON_NAMESPACE_END

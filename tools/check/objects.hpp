// Objects of tensor types, for checks: made by calls of ops that return them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sample.hpp"

namespace cli {

// A call, one of whose results is an object of the type.
struct ObjectSource {
  std::string op;
  Sample arguments;
  size_t result = 0;  // which tensor among the results

  SampleCall call(uint64_t seed) const { return {op, arguments, seed}; }
  // The object, from other tensors in the places of the call's. Throws what the op throws.
  tenon::Tensor make(const SampleCall& call, const std::vector<tenon::Tensor>& given) const;
  tenon::Tensor make(uint64_t seed) const;
  // As an argument of a sample: {"op": "my.make", "n": 2}.
  SampleValue argument(const std::string& name) const;
};
// A sample that says how an object was made, for reports.
Sample sample_of(const ObjectSource& source);

struct Objects {
  std::vector<ObjectSource> sources;
  std::string reason;  // why there are none
};
// Looks among the ops of the plugin that provides the type, those with `samples` first. `trying`
// gets each call before it is made; `bases`: shapes that tensors are derived from, empty: any.
Objects find_objects(const std::string& type, uint64_t seed,
                     const std::function<void(const Sample&)>& trying,
                     const std::vector<std::vector<int64_t>>& bases = {});

// The object as a plain Tensor; undefined where its type has no conversion. Throws what a
// conversion throws that fails.
tenon::Tensor plain_of(const tenon::Tensor& object);

}  // namespace cli

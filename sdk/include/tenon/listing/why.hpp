// Explanations of calls for readers: what a call would do, and why, without making it.
//
//   std::puts(listing::explain_text(listing::explain(Op("add"), x, y, arg("alpha") = 2)).c_str());
//
//   add(input, other, *, alpha=1, out=None)
//     arguments  input: ScalarTensor f32[2, 2], other: Tensor f32[2, 2], alpha: 2
//     defaults   out=None
//     types      ScalarTensor, Tensor
//     ...
//     runs       override add[ScalarTensor], plugin diagonal 1.0.0
//     gradient   through the ops that it calls
//
// Calls are also written down by the types of their operands:
//
//   listing::why("add", {"ScalarTensor", "Tensor:f64", "alpha=Scalar"})
//
// A type for each operand in order, then by name; lists as A,B or [A,B]; Scalar for a number; other values
// as they are: dim=0, reduction='sum'. What is required and left out is assumed.
#pragma once

#include <string>
#include <vector>

#include "tenon/explain.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

// The host's account of a call, of tenon::explain, with the versions of the plugins, what else they
// declare for it, and, where the call would fail, what is nearest and one thing to try.
// share/tenon/documents.md has the shape.
Json explanation(const Json& account);

// The explanation of a call with these arguments. Calling thread only: modes and settings of the
// thread are part of the answer.
template <class... Arguments>
Json explain(const Op& op, const Arguments&... arguments) {
  return explanation(tenon::explain(op, arguments...));
}
// The explanation of a call that is written down. Loads the plugins of the op and of the types. Calling
// thread only.
Json why(const std::string& op, const std::vector<std::string>& operands);

// An explanation as `tenon why` prints it.
std::string explain_text(const Json& explanation);

}  // namespace listing

TENON_NAMESPACE_END

// What a call would do, and why: by the code that calls use, described step by step.
#pragma once

#include <span>
#include <string_view>

#include "core/base/tree.hpp"
#include "core/dispatch/op.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

// Of a call with these arguments, as it would be made now on this thread. Runs nothing.
//
// {op, signature, provider, version, ranked?: what ranks it above others,
//  arguments: [{name, position, given: "position" | "keyword" | "default" | "assumed", value,
//               converted?}],
//  types: [the set of the operands'], order: [those that are asked],
//  modes: [innermost first], modes_below: [...],
//  steps: [{type?, what, provider?, version?, asked, reason?}],
//  outranked: [{plugin, what, standing, reason?}] of others who declare it,
//  answer: {what, provider, version}, then: {...} what runs when modes pass it on,
//  kernel: {device, compute?, result?, isa?},
//  gradient}
// or instead of answer, then, kernel and gradient
// {error, kind, nearest: [...], plugins: [{plugin, override, state, reason}], suggestion}.
Tree explain_call(const tenon_op* op, std::span<const tenon_value> positional,
                  std::span<const tenon_string> keywords,
                  std::span<const tenon_value> keyword_values);

// Of a call that is written down by types: "add ScalarTensor Tensor:f64 alpha=Scalar". A type for
// each operand in order, then by name; lists as A,B, Scalar for a number, other values as they
// are: dim=0, reduction='sum'. What is required and left out is assumed.
Tree explain_call(std::string_view call);

}  // namespace tenon::core

// Families of batch rules: how an op runs once for a whole batch.
#pragma once

#include <optional>

#include "transforms/batch_call.hpp"

namespace tenon_transforms {

// Whether the conditions of the rule hold for the call.
bool holds(const tenon::transforms::BatchRule& rule, const BatchCall& batch);

// Runs the call by a rule that names a family; nothing where the family is not for such operands. Results
// are those of inner tensors, without their level.
std::optional<Results> run_family(const tenon::transforms::BatchRule& rule, const BatchCall& batch);

// Runs an elementwise op: operands broadcast behind the batch dimension. Nothing where the dtype of the
// result would be another one, since tensors without dimensions count less in it. `whole`: operands that
// are not batched are expanded.
std::optional<Results> run_elementwise(const BatchCall& batch, bool whole = false);

// The expression of a rule, on the operands of the call as they are. Results are batched.
Results run_expression(const tenon::transforms::BatchRule& rule, const BatchCall& batch);

// A Function with generate_batch_rule: its methods run on batched tensors. Results are batched.
Results run_generated(const BatchCall& batch);

// The op for each sample. Results are batched. `random`: draws are expected.
Results run_loop(const BatchCall& batch, bool random);

}  // namespace tenon_transforms

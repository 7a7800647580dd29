// Batch rules (<tenon/transforms/batch_rules.hpp>): steps of optimizers are loops over elements.
#include <tenon/transforms/batch_rules.hpp>

TENON_BATCH_RULES(steps, R"(
optim.sgd_step_, optim.adam_step_, optim.adamw_step_, optim.adagrad_step_, optim.rmsprop_step_: each
optim.sgd_steps_, optim.adam_steps_, optim.adamw_steps_, optim.adagrad_steps_, optim.rmsprop_steps_, optim.clip_value_: each
optim.clip_norm_: refuse("its result is a number of the program, not a tensor of each sample; divide by vector_norm")
)")

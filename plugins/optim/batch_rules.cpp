// Batch rules (<tenon/transforms/batch_rules.hpp>): steps of optimizers are loops over elements.
#include <tenon/transforms/batch_rules.hpp>

TENON_BATCH_RULES(steps, R"(
optim.sgd_step_, optim.adam_step_, optim.adamw_step_, optim.adagrad_step_, optim.rmsprop_step_: each
)")

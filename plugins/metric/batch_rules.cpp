// Batch rules (<tenon/transforms/batch_rules.hpp>): most metrics are numbers of the program, which a batch of samples has not got.
#include <tenon/transforms/batch_rules.hpp>

TENON_BATCH_RULES(metrics, R"(
metric.accuracy, metric.top_k, metric.precision, metric.recall, metric.f1: refuse("its result is one number of the program; measure samples one at a time")
metric.mean_absolute_error, metric.root_mean_squared_error, metric.r2_score: refuse("its result is one number of the program; use nn.functional.l1_loss or mse_loss")
metric.confusion_matrix(output, target) =
  sum(mul(unsqueeze(one_hot(target, size(output, 1)), 2), unsqueeze(one_hot(argmax(output, 1), size(output, 1)), 1)), [0])
  where rank(output) == 2, rank(target) == 1
)")

// Batch rules (<tenon/transforms/batch_rules.hpp>).
#include <tenon/transforms/batch_rules.hpp>

TENON_BATCH_RULES(blocked, R"(
dnnl.to_blocked: fold(input=4)
dnnl.from_blocked, dnnl.max_pool2d_blocked: fold(input=5)
dnnl.conv2d_blocked: fold(input=5, addend=5) where rank(input) == 5
dnnl.conv2d_blocked: fold(input=4, addend=5) where rank(input) == 4
)")

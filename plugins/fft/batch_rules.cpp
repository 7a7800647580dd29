// Batch rules (<tenon/transforms/batch_rules.hpp>): transforms along dimensions.
#include <tenon/transforms/batch_rules.hpp>

TENON_BATCH_RULES(transforms, R"(
fft.c2c, fft.c2r, fft.r2c: dims(dim)
)")

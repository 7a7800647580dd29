// Batch rules (<tenon/transforms/batch_rules.hpp>).
#include <tenon/transforms/batch_rules.hpp>

TENON_BATCH_RULES(samples, R"(
data.csv, data.npy: loop("a file is read, without an operand")
data.write_npy, data.write_npz, data.write_safetensors: refuse("samples would be written into one file; write the whole batch")
data.split_by_parts, data.stratified_split: refuse("the lengths of the parts depend on elements")
data.balanced_weights: loop("without classes their number is that of the labels")
data.sample_balanced: loop("rows are drawn from the seed, by the labels")
data.sample_sequential, data.sample_shuffled: once
data.random_crop, data.random_flip, data.random_noise: loop("the seed draws the same numbers for each call")
data.fit_normalize: dims(dim)
)")

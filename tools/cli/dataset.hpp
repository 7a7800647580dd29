// Labelled samples, as a config's "data" and "split" describe them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/runtime.hpp>
#include <tenon/tensor.hpp>

namespace cli {

struct Samples {
  tenon::Tensor inputs;  // f32 [samples, ...]
  tenon::Tensor labels;
  int64_t count() const { return inputs.defined() ? inputs.size(0) : 0; }
};

struct Dataset {
  Samples train, test;
};

// The keys that a config needs to be run, and has not: "\"data\", no \"model\"".
std::string missing_keys(const tenon::Json& config, bool training);

// The ops that `load_dataset` calls.
std::vector<std::string> dataset_ops(const tenon::Json& data, const tenon::Json& split);

// Reads, scales, shapes and divides. Draws from the process's generator where it shuffles.
Dataset load_dataset(const tenon::Json& data, const tenon::Json& split);

// How `count` samples divide: those for testing.
int64_t test_count(const tenon::Json& split, int64_t count);

// What the files say, without running an op.
struct DataOutline {
  int64_t bytes = 0;
  int64_t samples = -1;  // -1: not known
  int64_t features = -1;
  int64_t label_column = -1;
  std::vector<std::string> faults;
};
DataOutline outline_data(const tenon::Json& data);

}  // namespace cli

// Labelled samples, as a config's "data" and "split" describe them:
//
//   "data": {"type": "csv", "path": "digits.csv", "targets": -1, "scale": 0.0625, "shape": [1, 8, 8]},
//   "split": {"test": 0.2, "validation": 0.1, "stratified": true}
//
// "type" is the op that reads, or follows from the file's ending; what is not named here is an
// argument of it. The op returns inputs and targets, and perhaps parts and a fitted text, as
// plugins/README.md says of readers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/module.hpp"
#include "tenon/tensor.hpp"
#include "tenon/training/training_config.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

struct Samples {
  Tensor inputs;  // f32 [samples, ...]
  Tensor labels;
  Tensor parts;  // i64 [samples]: 0 train, 1 validation, 2 test; undefined: the reader does not say
  std::string fitted;  // values that the reader learned from the file, for reading others
  int64_t count() const { return inputs.defined() ? inputs.size(0) : 0; }
  // The samples from row `start`, as views; the samples of `rows`, an i64 tensor, as copies.
  Samples narrow(int64_t start, int64_t length) const;
  Samples select(const Tensor& rows) const;
};

struct Dataset {
  Samples train, validation, test;
  // Values learned from the data, by the reader and for "normalize". They belong to the weights.
  std::string fitted;
  // The samples that each epoch is measured on and that choose the best epoch: the validation part;
  // where there is none the test part.
  const Samples& watched() const { return validation.count() > 0 ? validation : test; }
  const char* watched_name() const { return validation.count() > 0 ? "validation" : "test"; }
};

// The name of the op that reads: from "type", else from the ending of "path".
std::string reader_name(const DataConfig& data);

// Reads, scales and shapes. `fitted` goes to readers that have such a parameter. ConfigError where
// there are no targets.
Samples load_samples(const DataConfig& data, const std::string& fitted = "");
// The inputs of another file, read as `data` says and without targets, which it need not have.
// `fitted` is that of the Dataset, normalisation included.
Tensor load_inputs(const DataConfig& data, const std::string& path, const std::string& fitted);
// The file beside "path" that another key names, such as that of the targets; empty: none does.
std::string second_file(const DataConfig& data);
// load_samples, divided: by the parts that the file says, else as `split` says, by the process's
// generator and its seed; and normalised, by what the training part has. With the `fitted` of an
// earlier training that is applied instead.
Dataset load_dataset(const DataConfig& data, const SplitConfig& split,
                     const std::string& fitted = "");
// How `count` samples of the data's own file divide.
struct PartCounts {
  int64_t train = 0, validation = 0, test = 0;
};
PartCounts part_counts(const SplitConfig& split, int64_t count);

// The ops that these call beside the reader.
std::vector<std::string> dataset_ops(const DataConfig& data, const SplitConfig& split);

// Samples in batches, in an order that is drawn for each epoch.
class Batches {
 public:
  // The last batch of an epoch has what is left.
  Batches(Samples samples, int64_t batch_size);
  int64_t per_epoch() const { return (count_ + size_ - 1) / size_; }
  int64_t batch_size() const { return size_; }

  // Draws the order of an epoch from the process's generator.
  void shuffle();
  // Batch `index` of the epoch.
  Samples batch(int64_t index) const;

  // The order, which checkpoints keep: i64 [samples].
  const Tensor& order() const { return order_; }
  void set_order(const Tensor& order) { order_ = order; }

 private:
  Samples samples_;
  Tensor order_;
  int64_t count_, size_;
};

// Gives the labels the form that fits the model's output: class numbers (i64) where it scores
// several classes, [samples, classes], and the labels are whole numbers, or [samples, classes, ...]
// and there is an integer at each place; else f32 in the output's shape. Throws where neither fits,
// naming the place in the config.
void fit_labels(const TrainingConfig& config, Module& model, Dataset& dataset);

// The shapes of samples, as a run would read them. Runs the reader, but computes nothing else.
struct DataOutline {
  int64_t samples = -1;                 // -1: not known
  std::vector<int64_t> shape, targets;  // sizes of one sample, and of its targets
  std::vector<std::string> faults;
};
DataOutline outline_data(const DataConfig& data);

}  // namespace training

TENON_NAMESPACE_END

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

struct Samples {  // inputs with labels, of one part
  Tensor inputs;  // f32 [samples, ...]
  Tensor labels;  // a label for each sample; may be undefined
  Tensor parts;  // i64 [samples]: 0 train, 1 validation, 2 test; undefined: the reader does not say
  Tensor rows;  // i64 [samples]: the place of each in its file, from 0; undefined: the file's order
  std::string fitted;  // values that the reader learned from the file, for reading others
  int64_t count() const { return inputs.defined() ? inputs.size(0) : 0; }  // 0 of none
  // The samples from row `start`, as views; those of `chosen` rows, an i64 tensor, as copies.
  Samples narrow(int64_t start, int64_t length) const;
  Samples select(const Tensor& chosen) const;  // copies, in this order
};

struct Dataset {                    // all samples of a training
  Samples train, validation, test;  // parts; may be empty
  // Values learned from the data, by the reader and for "normalize". They belong to the weights.
  std::string fitted;
  int64_t classes = 0;  // classes that fit_labels found the labels to number; 0: they do not
  // The samples that each epoch is measured on and that choose the best epoch: the validation part;
  // where there is none the test part.
  const Samples& watched() const { return validation.count() > 0 ? validation : test; }
  // Part that a monitor watches.
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
  int64_t train = 0, validation = 0, test = 0;  // samples of each part
};
PartCounts part_counts(const SplitConfig& split, int64_t count);  // parts of `count` samples

// The ops that these call beside the reader.
std::vector<std::string> dataset_ops(const DataConfig& data, const SplitConfig& split);

// How batches of `size` divide the samples of an epoch.
struct BatchPlan {
  int64_t samples = 0, size = 1;  // samples of an epoch, and of a batch
  bool drop_last = false;         // leave out a last batch that has fewer samples than the others

  // Batches in an epoch.
  int64_t batches() const { return drop_last ? samples / size : (samples + size - 1) / size; }
  // Samples of all batches together.
  int64_t used() const { return drop_last ? batches() * size : samples; }
  // Samples of the last batch where it is smaller than the others; 0: it is not.
  int64_t remainder() const { return drop_last ? 0 : samples % size; }
};

// Samples in batches, in an order that is drawn for each epoch.
class Batches {
 public:
  // ValueError where no batch is left.
  Batches(Samples samples, int64_t batch_size, bool drop_last = false);
  // ConfigError, at the place of the section "training", where no batch is left.
  static void require_some(const Json& training, const BatchPlan& plan);
  int64_t per_epoch() const { return plan_.batches(); }  // batches
  int64_t batch_size() const { return plan_.size; }      // samples
  const BatchPlan& plan() const { return plan_; }        // in an epoch

  // Draws the order of an epoch from the process's generator.
  void shuffle();
  // Batch `index` of the epoch.
  Samples batch(int64_t index) const;

  const Tensor& labels() const { return samples_.labels; }  // labels of all samples
  // The order, which checkpoints keep: i64 [samples], the row of each place. A row may be there
  // more than once.
  const Tensor& order() const { return order_; }
  void set_order(const Tensor& order) { order_ = order; }  // indices of samples

 private:
  Samples samples_;
  Tensor order_;
  BatchPlan plan_;
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
  bool whole_targets = false;           // targets are integers
  bool has_parts = false;               // the file says which samples are for training
  std::vector<std::string> faults;      // messages; empty: none
};
DataOutline outline_data(const DataConfig& data);  // without reading all

}  // namespace training

TENON_NAMESPACE_END

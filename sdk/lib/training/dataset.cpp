// Reading data, dividing it, and finding its shapes.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>

#include <tenon/op.hpp>
#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>
#include <tenon/shapes_only.hpp>
#include <tenon/text.hpp>
#include <tenon/training/dataset.hpp>
#include <tenon/training/op_choice.hpp>

#include "lib/base/format.hpp"
#include "normalization.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

// ---- reading ----

// The name of the data in messages: its file, or the op that makes it.
std::string source_of(const DataConfig& data) {
  return data.path_node.defined() ? data.path : data.type;
}

void check_samples(const DataConfig& data, int64_t count, int64_t features) {
  const Json node = data.path_node.defined() ? data.path_node : data.section;
  if (count < 1)
    throw ConfigError(lib::format_text("{}: '{}' has no samples", node.place(), source_of(data)));
  if (features < 1)
    throw ConfigError(
        lib::format_text("{}: the samples of '{}' have no numbers beside their labels",
                         node.place(), source_of(data)));
  if (data.shape.empty()) return;
  const int64_t expected =
      std::accumulate(data.shape.begin(), data.shape.end(), int64_t{1}, std::multiplies<>());
  if (expected != features) {
    throw ConfigError(lib::format_text("{}: {} holds {}, but a sample of '{}' has {}",
                                       data.section["shape"].place(), data.section["shape"].dump(),
                                       counted(expected, "number"), source_of(data),
                                       grouped(features)));
  }
}

Samples read_samples(const DataConfig& data, const std::string& fitted) {
  const OpChoice reader(reader_role(), data.section, reader_name(data));
  const std::vector<Value> results =
      fitted.empty() ? reader.call({}) : reader.call({}, {arg("fitted") = fitted});
  const auto tensor = [&](size_t i) {
    if (!results[i].is_tensor() || !results[i].tensor().defined() || results[i].tensor().dim() < 1)
      throw ConfigError(lib::format_text("{}: {} must give tensors of samples and of their targets",
                                         data.section.place(), reader.found().name));
    return results[i].tensor();
  };
  Samples samples;
  samples.inputs = tensor(0);
  samples.labels = tensor(1);
  for (size_t i = 2; i < results.size(); ++i) {
    const bool parts = results[i].is_tensor() && results[i].tensor().defined();
    if (parts && results[i].tensor().numel() > 0) samples.parts = results[i].tensor();
    if (!results[i].is_tensor()) samples.fitted = results[i].text();
  }
  const int64_t count = samples.inputs.size(0), targets = samples.labels.size(0);
  if (count != targets)
    throw ConfigError(lib::format_text("{}: {} gives {}, but {}", data.section.place(),
                                       reader.found().name, counted(count, "sample"),
                                       counted(targets, "target")));
  samples.inputs = contiguous_as(samples.inputs, f32);
  return samples;
}

// Scaled and shaped.
Tensor prepared(const DataConfig& data, Tensor inputs) {
  const int64_t count = inputs.size(0);
  check_samples(data, count, count == 0 ? 0 : inputs.numel() / count);
  if (data.scale != 1) inputs = mul(inputs, data.scale);
  std::vector<int64_t> shape = data.shape;
  if (shape.empty()) return inputs;
  shape.insert(shape.begin(), count);
  return inputs.reshape(shape);
}

// ---- division ----

// The rows of each part.
struct Rows {
  Tensor train, validation, test;
};

Rows rows_by_parts(const DataConfig& data, const Tensor& part_of) {
  std::vector<int64_t> rows[3];
  const std::vector<int64_t> parts = part_of.to_vector<int64_t>();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] < 0 || parts[i] > 2)
      throw ConfigError(
          lib::format_text("{}: row {} is of part {}; expected 0 (train), 1 (validation) or "
                           "2 (test)",
                           data.section.place(), i, parts[i]));
    rows[parts[i]].push_back(static_cast<int64_t>(i));
  }
  if (rows[0].empty())
    throw ConfigError(lib::format_text("{}: no sample is for training", data.section.place()));
  const auto tensor = [](const std::vector<int64_t>& list) {
    return from_range(list.begin(), list.end());
  };
  return {tensor(rows[0]), tensor(rows[1]), tensor(rows[2])};
}

// Rows with an equal fraction of each class; the process's seed decides.
Rows stratified_rows(const SplitConfig& split, const Tensor& labels) {
  return at_place(split.section["stratified"], [&] {
    Rows rows;
    std::tie(rows.train, rows.validation, rows.test) =
        Op("data.stratified_split")
            .call<std::tuple<Tensor, Tensor, Tensor>>(
                labels, arg("validation") = split.validation,
                arg("test") = split.test_path.defined() ? 0.0 : split.test,
                arg("seed") = static_cast<int64_t>(generator_state().seed));
    return rows;
  });
}

// Testing samples are at the end of the order, before them those for validation.
Rows drawn_rows(const SplitConfig& split, int64_t count) {
  const PartCounts counts = part_counts(split, count);
  const Tensor order = split.shuffle ? randperm(count) : arange(0, count, 1, i64);
  return {narrow(order, 0, 0, counts.train), narrow(order, 0, counts.train, counts.validation),
          narrow(order, 0, counts.train + counts.validation, counts.test)};
}

// The config's data with another file in the place of "path".
DataConfig data_of_file(const DataConfig& data, const Json& path) {
  if (const std::string second = second_file(data); !second.empty())
    throw ConfigError(lib::format_text(
        "{}: the samples of \"data\" have a second file, '{}', for which this key names no other",
        path.place(), second));
  return data.with_path(path);
}

}  // namespace

Samples Samples::narrow(int64_t start, int64_t length) const {
  Samples part;
  part.inputs = tenon::narrow(inputs, 0, start, length);
  part.labels = tenon::narrow(labels, 0, start, length);
  if (rows.defined()) part.rows = tenon::narrow(rows, 0, start, length);
  return part;
}

Samples Samples::select(const Tensor& chosen) const {
  Samples part;
  part.inputs = index_select(inputs, 0, chosen);
  part.labels = index_select(labels, 0, chosen);
  part.rows = rows.defined() ? index_select(rows, 0, chosen) : chosen;
  return part;
}

std::string reader_name(const DataConfig& data) {
  if (!data.type.empty()) return data.type;
  std::string path = data.path;
  const std::string compressed = ".gz";
  if (path.size() > compressed.size() &&
      path.compare(path.size() - compressed.size(), compressed.size(), compressed) == 0)
    path.resize(path.size() - compressed.size());
  const size_t dot = path.rfind('.');
  const bool ending =
      dot != std::string::npos && dot + 1 < path.size() && path.find('/', dot) == std::string::npos;
  if (!ending)
    throw ConfigError(
        lib::format_text("{}: no \"type\" says how to read the samples, and no ending of \"path\"; "
                         "expected the name of a data reader such as 'csv'",
                         data.section.place()));
  return path.substr(dot + 1);
}

Samples load_samples(const DataConfig& data, const std::string& fitted) {
  Samples samples = read_samples(data, fitted);
  samples.inputs = prepared(data, samples.inputs);
  if (samples.labels.numel() == 0)
    throw ConfigError(
        lib::format_text("{}: the samples of '{}' have no targets; name them in \"targets\"",
                         data.section.place(), source_of(data)));
  return samples;
}

std::string second_file(const DataConfig& data) {
  const std::filesystem::path folder = std::filesystem::path(data.path).parent_path();
  const Json& section = data.section;
  for (int64_t i = 0; i < section.size(); ++i) {
    const std::string key = section.key(i), name = section[i].text();
    if (key == "path" || key == "type" || name.empty()) continue;
    std::error_code code;
    if (std::filesystem::is_regular_file(folder / name, code)) return folder / name;
  }
  return "";
}

PartCounts part_counts(const SplitConfig& split, int64_t count) {
  const auto of = [&](double fraction) {
    return std::llround(fraction * static_cast<double>(count));
  };
  PartCounts counts;
  if (!split.test_path.defined()) counts.test = std::min<int64_t>(count - 1, of(split.test));
  if (!split.validation_path.defined())
    counts.validation = std::min<int64_t>(count - 1 - counts.test, of(split.validation));
  counts.train = count - counts.test - counts.validation;
  return counts;
}

Dataset load_dataset(const DataConfig& data, const SplitConfig& split, const std::string& known) {
  Fitted fitted = Fitted::parse(known);
  const Samples all = load_samples(data, fitted.reader);
  if (fitted.reader.empty()) fitted.reader = all.fitted;
  const Rows rows = all.parts.defined() ? rows_by_parts(data, all.parts)
                    : split.stratified  ? stratified_rows(split, all.labels)
                                        : drawn_rows(split, all.count());
  Dataset dataset;
  dataset.train = all.select(rows.train);
  if (rows.validation.numel() > 0) dataset.validation = all.select(rows.validation);
  if (rows.test.numel() > 0) dataset.test = all.select(rows.test);
  if (split.validation_path.defined())
    dataset.validation = load_samples(data_of_file(data, split.validation_path), fitted.reader);
  if (split.test_path.defined())
    dataset.test = load_samples(data_of_file(data, split.test_path), fitted.reader);
  if (data.normalize && !fitted.normalization.active())
    fitted.normalization = Normalization::fit(dataset.train.inputs);
  for (Samples* part : {&dataset.train, &dataset.validation, &dataset.test})
    part->inputs = fitted.normalization.apply(part->inputs);
  dataset.fitted = fitted.text();
  return dataset;
}

Tensor load_inputs(const DataConfig& data, const std::string& path, const std::string& known) {
  const Fitted fitted = Fitted::parse(known);
  const DataConfig other = data.with_path(JsonArray().add(path).json()[0]);
  const OpChoice reader(reader_role(), other.section, reader_name(other));
  const std::vector<Value> results =
      reader.call({}, {arg("with_targets") = false, arg("fitted") = fitted.reader});
  const Tensor inputs = results.empty() ? Tensor() : results.front().tensor();
  if (!inputs.defined()) throw ValueError(lib::format_text("'{}' has no samples", path));
  return fitted.normalization.apply(prepared(other, contiguous_as(inputs, f32)));
}

namespace {

std::string no_batch_text(const BatchPlan& plan) {
  return lib::format_text(
      "an epoch has {}, and the only batch of {} is not full: dropping it leaves nothing to train "
      "on; choose a smaller batch_size",
      counted(plan.samples, "sample"), grouped(plan.size));
}

}  // namespace

Batches::Batches(Samples samples, int64_t batch_size, bool drop_last)
    : samples_(std::move(samples)), plan_{samples_.count(), batch_size, drop_last} {
  samples_.rows = {};
  if (batch_size < 1)
    throw ValueError("a batch has at least one sample, got " + std::to_string(batch_size));
  if (plan_.samples > 0 && plan_.batches() == 0) throw ValueError(no_batch_text(plan_));
}

void Batches::require_some(const Json& training, const BatchPlan& plan) {
  if (plan.batches() > 0) return;
  throw ConfigError(lib::format_text("{}: {}", training["drop_last"].place(), no_batch_text(plan)));
}

void Batches::shuffle() { order_ = randperm(plan_.samples); }

Samples Batches::batch(int64_t index) const {
  const int64_t start = index * plan_.size;
  return samples_.select(narrow(order_, 0, start, std::min(plan_.size, plan_.samples - start)));
}

std::vector<std::string> dataset_ops(const DataConfig& data, const SplitConfig& split) {
  std::vector<std::string> ops = {"index_select", "narrow", "reshape"};
  ops.emplace_back(split.stratified ? "data.stratified_split"
                   : split.shuffle  ? "randperm"
                                    : "arange");
  if (data.normalize) ops.insert(ops.end(), {"data.fit_normalize", "data.normalize"});
  if (data.scale != 1) ops.emplace_back("mul");
  return ops;
}

// With shapes alone: a reader whose op has a shape rule reads no more of a file than that needs.
DataOutline outline_data(const DataConfig& data) {
  DataOutline outline;
  try {
    const ShapesOnly shapes;
    const Samples samples = load_samples(data);
    outline.samples = samples.count();
    outline.shape = samples.inputs.sizes();
    outline.targets = samples.labels.sizes();
    outline.whole_targets = !is_floating(samples.labels.dtype());
    outline.has_parts = samples.parts.defined();
    outline.shape.erase(outline.shape.begin());
    outline.targets.erase(outline.targets.begin());
  } catch (const Error& error) {
    outline.faults.emplace_back(error.what());
  }
  return outline;
}

}  // namespace training

TENON_NAMESPACE_END

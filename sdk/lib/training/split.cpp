// Dividing samples into those for training, validation and testing.
#include <algorithm>
#include <cmath>

#include <tenon/op.hpp>
#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>
#include <tenon/training/dataset.hpp>
#include <tenon/training/op_choice.hpp>

#include "lib/base/format.hpp"
#include "normalization.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

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

}  // namespace training

TENON_NAMESPACE_END

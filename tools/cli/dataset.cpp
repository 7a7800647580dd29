// Reading data for `tenon run`, and looking at it for `tenon plan`.
#include "dataset.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <tenon/csv.hpp>
#include <tenon/data_ops.hpp>
#include <tenon/npy.hpp>
#include <tenon/ops.hpp>
#include <tenon/text.hpp>

#include "config_place.hpp"
#include "files.hpp"
#include "format.hpp"
#include "text.hpp"

namespace cli {

namespace {

using tenon::Json;
using tenon::Tensor;

// The position of the label column; `names` is asked for where a name is given.
template <class Names>
int64_t find_label_column(const Json& data, int64_t columns, Names&& names_of) {
  const std::string path = data["path"].text();
  const Json column = data["label_column"];
  if (column.is_text()) {
    const std::vector<std::string> names = names_of();
    const auto found = std::find(names.begin(), names.end(), column.text());
    if (found == names.end()) {
      throw tenon::ConfigError(format_text("{}: '{}' has no column '{}'{}", column.place(), path,
                                           column.text(), tenon::suggestion(column.text(), names)));
    }
    if (static_cast<int64_t>(names.size()) != columns) {
      throw tenon::ConfigError(
          format_text("{}: the header of '{}' names {}, but its rows have {}", column.place(), path,
                      counted(static_cast<int64_t>(names.size()), "column"), grouped(columns)));
    }
    return found - names.begin();
  }
  const int64_t asked = column.integer(-1);
  if (asked < -columns || asked >= columns) {
    throw tenon::ConfigError(
        format_text("{}: there is no column {} in '{}', which has {} (0 to {}, or -1 for the last)",
                    column.place(), asked, path, columns, columns - 1));
  }
  return asked < 0 ? asked + columns : asked;
}

std::vector<int64_t> sample_shape(const Json& data) {
  std::vector<int64_t> shape;
  for (int64_t i = 0; i < data["shape"].size(); ++i) shape.push_back(data["shape"][i].integer());
  return shape;
}

void check_samples(const Json& data, int64_t count, int64_t features) {
  if (count < 1)
    throw tenon::ConfigError(
        format_text("{}: '{}' has no samples", data["path"].place(), data["path"].text()));
  if (features < 1)
    throw tenon::ConfigError(
        format_text("{}: the samples of '{}' have no numbers beside their labels",
                    data["path"].place(), data["path"].text()));
  const std::vector<int64_t> shape = sample_shape(data);
  if (shape.empty()) return;
  const int64_t expected =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  if (expected != features) {
    throw tenon::ConfigError(format_text(
        "{}: {} holds {}, but a sample of '{}' has {}", data["shape"].place(), data["shape"].dump(),
        counted(expected, "number"), data["path"].text(), grouped(features)));
  }
}

void check_labels(const Json& data, const std::vector<int64_t>& inputs,
                  const std::vector<int64_t>& labels) {
  const auto count = [](const std::vector<int64_t>& shape) {
    return shape.empty() ? int64_t{0} : shape[0];
  };
  if (!inputs.empty() && !labels.empty() && inputs[0] == labels[0]) return;
  throw tenon::ConfigError(format_text("{}: '{}' has {}, but '{}' has {}", data["labels"].place(),
                                       data["labels"].text(), counted(count(labels), "label"),
                                       data["path"].text(), counted(count(inputs), "sample")));
}

Samples read_samples(const Json& data) {
  const std::string path = data["path"].text();
  Samples samples;
  if (data["format"].text() == "npy") {
    const auto read = [](const Json& file) {
      return at_place(file, [&] { return tenon::data::read_npy(file.text()); });
    };
    samples.inputs = tenon::contiguous_as(read(data["path"]), tenon::f32);
    samples.labels = read(data["labels"]);
    check_labels(data, samples.inputs.sizes(), samples.labels.sizes());
  } else {
    const Tensor table = at_place(
        data["path"], [&] { return tenon::data::read_csv(path, data["header"].as_bool()); });
    const int64_t columns = table.size(1);
    const int64_t label = find_label_column(
        data, columns, [&] { return tenon::data::parse_csv_header(read_file(path)); });
    std::vector<int64_t> rest;
    for (int64_t c = 0; c < columns; ++c) {
      if (c != label) rest.push_back(c);
    }
    samples.labels = tenon::narrow(table, 1, label, 1).reshape({table.size(0)});
    samples.inputs = tenon::index_select(table, 1, tenon::from_range(rest.begin(), rest.end()));
  }
  const int64_t count = samples.inputs.size(0);
  check_samples(data, count, count == 0 ? 0 : samples.inputs.numel() / count);
  if (const double scale = data["scale"].number(1); scale != 1) {
    samples.inputs = tenon::mul(samples.inputs, scale);
  }
  if (std::vector<int64_t> shape = sample_shape(data); !shape.empty()) {
    shape.insert(shape.begin(), count);
    samples.inputs = samples.inputs.reshape(shape);
  }
  return samples;
}

}  // namespace

std::string missing_keys(const Json& config, bool training) {
  std::vector<std::string> missing;
  std::vector<std::string> keys = {"data", "model"};
  if (training) keys.insert(keys.end(), {"loss", "optimizer", "training"});
  for (const std::string& key : keys) {
    if (!config[key].defined()) missing.push_back(format_text("\"{}\"", key));
  }
  return join(missing, ", no ");
}

std::vector<std::string> dataset_ops(const Json& data, const Json& split) {
  std::vector<std::string> ops = {"index_select", "narrow", "reshape"};
  ops.emplace_back(data["format"].text() == "npy" ? "data.read_npy" : "data.read_csv");
  ops.emplace_back(split["shuffle"].as_bool(true) ? "randperm" : "arange");
  if (data["scale"].number(1) != 1) ops.emplace_back("mul");
  return ops;
}

int64_t test_count(const Json& split, int64_t count) {
  const double part = split["test"].number(0.2);
  return std::min<int64_t>(count - 1, std::llround(part * static_cast<double>(count)));
}

Dataset load_dataset(const Json& data, const Json& split) {
  const Samples all = read_samples(data);
  const int64_t count = all.count();
  const int64_t held_back = test_count(split, count);
  const Tensor order = split["shuffle"].as_bool(true) ? tenon::randperm(count)
                                                      : tenon::arange(0, count, 1, tenon::i64);
  const auto part = [&](int64_t start, int64_t length) {
    const Tensor rows = tenon::narrow(order, 0, start, length);
    return Samples{tenon::index_select(all.inputs, 0, rows),
                   tenon::index_select(all.labels, 0, rows)};
  };
  Dataset dataset;
  dataset.train = part(0, count - held_back);
  if (held_back > 0) dataset.test = part(count - held_back, held_back);
  return dataset;
}

namespace {

int64_t product(const std::vector<int64_t>& sizes, size_t first) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(first), sizes.end(),
                         int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> npy_shape(const std::string& path) {
  return tenon::data::parse_npy(read_file(path, tenon::data::kNpyHead), file_length(path)).shape;
}

}  // namespace

// By the parsers of the plugin `data`, which reads the file in a run.
DataOutline outline_data(const Json& data) {
  DataOutline outline;
  Json file = data["path"];
  try {
    if (data["format"].text() == "npy") {
      outline.bytes = file_length(file.text());
      const std::vector<int64_t> inputs = npy_shape(file.text());
      file = data["labels"];
      outline.bytes += file_length(file.text());
      check_labels(data, inputs, npy_shape(file.text()));
      outline.samples = inputs[0];
      outline.features = product(inputs, 1);
    } else {
      const std::string text = read_file(file.text());
      outline.bytes = static_cast<int64_t>(text.size());
      const tenon::data::CsvTable table =
          tenon::data::parse_csv(text, ',', data["header"].as_bool());
      outline.samples = table.rows;
      outline.features = table.columns - 1;
      outline.label_column = find_label_column(data, table.columns, [&] { return table.names; });
    }
    check_samples(data, outline.samples, outline.features);
  } catch (const tenon::data::Fault& fault) {
    outline.faults.push_back(
        format_text("{}: {}{}: {}", file.place(), file.text(),
                    fault.where().empty() ? "" : format_text(":{}", fault.where()), fault.what()));
  } catch (const tenon::IOError& error) {
    outline.faults.push_back(format_text("{}: {}", file.place(), error.what()));
  } catch (const tenon::Error& error) {
    outline.faults.emplace_back(error.what());
  }
  return outline;
}

}  // namespace cli

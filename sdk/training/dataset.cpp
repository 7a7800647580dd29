// Reading data, and looking at it without running an op.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <tenon/csv.hpp>
#include <tenon/npy.hpp>
#include <tenon/ops.hpp>
#include <tenon/text.hpp>
#include <tenon/training/dataset.hpp>
#include <tenon/training/files.hpp>
#include <tenon/training/op_choice.hpp>

#include "format.hpp"
#include "normalization.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

constexpr const char* kCsvReader = "data.read_csv";
constexpr const char* kNpyReader = "data.read_npy";

// The position of the label column; `names` is asked for where a name is given.
template <class Names>
int64_t find_label_column(const Json& data, int64_t columns, Names&& names_of) {
  const std::string path = data["path"].text();
  const Json column = data["label_column"];
  if (column.is_text()) {
    const std::vector<std::string> names = names_of();
    const auto found = std::find(names.begin(), names.end(), column.text());
    if (found == names.end()) {
      throw ConfigError(format_text("{}: '{}' has no column '{}'{}", column.place(), path,
                                    column.text(), suggestion(column.text(), names)));
    }
    if (static_cast<int64_t>(names.size()) != columns) {
      throw ConfigError(
          format_text("{}: the header of '{}' names {}, but its rows have {}", column.place(), path,
                      counted(static_cast<int64_t>(names.size()), "column"), grouped(columns)));
    }
    return found - names.begin();
  }
  const int64_t asked = column.integer(-1);
  if (asked < -columns || asked >= columns) {
    throw ConfigError(
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

int64_t product(const std::vector<int64_t>& sizes, size_t first) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(first), sizes.end(),
                         int64_t{1}, std::multiplies<>());
}

// What messages call the data: its file, or the op that makes it.
std::string source_of(const Json& data) { return data["path"].text(data["type"].text()); }

void check_samples(const Json& data, int64_t count, int64_t features) {
  const Json node = data["path"].defined() ? data["path"] : data;
  if (count < 1)
    throw ConfigError(format_text("{}: '{}' has no samples", node.place(), source_of(data)));
  if (features < 1)
    throw ConfigError(format_text("{}: the samples of '{}' have no numbers beside their labels",
                                  node.place(), source_of(data)));
  const std::vector<int64_t> shape = sample_shape(data);
  if (shape.empty()) return;
  const int64_t expected = product(shape, 0);
  if (expected != features) {
    throw ConfigError(format_text("{}: {} holds {}, but a sample of '{}' has {}",
                                  data["shape"].place(), data["shape"].dump(),
                                  counted(expected, "number"), source_of(data), grouped(features)));
  }
}

void check_labels(const Json& data, const std::vector<int64_t>& inputs,
                  const std::vector<int64_t>& labels) {
  const auto count = [](const std::vector<int64_t>& shape) {
    return shape.empty() ? int64_t{0} : shape[0];
  };
  if (!inputs.empty() && !labels.empty() && inputs[0] == labels[0]) return;
  const Json node = data["labels"].defined() ? data["labels"] : data;
  throw ConfigError(format_text("{}: '{}' has {}, but '{}' has {}", node.place(),
                                data["labels"].text(), counted(count(labels), "label"),
                                source_of(data), counted(count(inputs), "sample")));
}

Samples split_table(const Json& data, const std::string& reader, const Tensor& table) {
  if (table.dim() != 2)
    throw ConfigError(format_text(
        "{}: '{}' has {} dimensions, expected a table of rows and columns; or name the file of the "
        "labels in \"labels\"",
        data.place(), source_of(data), table.dim()));
  const int64_t columns = table.size(1);
  const int64_t label = find_label_column(data, columns, [&] {
    return reader == kCsvReader ? data::parse_csv_header(read_file(data["path"].text()))
                                : std::vector<std::string>();
  });
  std::vector<int64_t> rest;
  for (int64_t c = 0; c < columns; ++c) {
    if (c != label) rest.push_back(c);
  }
  Samples samples;
  samples.inputs = index_select(table, 1, from_range(rest.begin(), rest.end()));
  samples.labels = tenon::narrow(table, 1, label, 1).reshape({table.size(0)});
  return samples;
}

Samples read_samples(const Json& data, const std::string& fitted) {
  const std::string name = reader_name(data);
  const OpChoice reader(reader_role(), data, name);
  const auto read = [&](const Json& file, const std::vector<Keyword>& supplied) {
    return at_place(file.defined() ? file : data, [&] { return reader.call({}, supplied); });
  };
  std::vector<Value> results =
      fitted.empty() ? read(data["path"], {}) : read(data["path"], {arg("fitted") = fitted});
  const auto tensor = [&](size_t i) {
    if (!results[i].is_tensor() || !results[i].tensor().defined())
      throw ConfigError(format_text("{}: {} must give tensors", data.place(), reader.found().name));
    return results[i].tensor();
  };
  if (results.empty())
    throw ConfigError(format_text("{}: {} gives no samples", data.place(), reader.found().name));
  Samples samples;
  if (results.size() >= 2) {
    samples.inputs = tensor(0);
    samples.labels = tensor(1);
    for (size_t i = 2; i < results.size(); ++i) {
      const bool parts = results[i].is_tensor() && results[i].tensor().defined();
      if (parts && results[i].tensor().numel() > 0) samples.parts = results[i].tensor();
      if (!results[i].is_tensor()) samples.fitted = results[i].text();
    }
  } else if (const Json labels = data["labels"]; labels.defined()) {
    samples.inputs = tensor(0);
    const std::string path = labels.text();
    results = read(labels, {arg("path") = path});
    samples.labels = tensor(0);
  } else {
    samples = split_table(data, reader.found().name, tensor(0));
  }
  check_labels(data, samples.inputs.sizes(), samples.labels.sizes());
  samples.inputs = contiguous_as(samples.inputs, f32);
  return samples;
}

// Scaled and shaped.
Tensor prepared(const Json& data, Tensor inputs) {
  const int64_t count = inputs.size(0);
  check_samples(data, count, count == 0 ? 0 : inputs.numel() / count);
  if (const double scale = data["scale"].number(1); scale != 1) inputs = mul(inputs, scale);
  std::vector<int64_t> shape = sample_shape(data);
  if (shape.empty()) return inputs;
  shape.insert(shape.begin(), count);
  return inputs.reshape(shape);
}

}  // namespace

Samples Samples::narrow(int64_t start, int64_t length) const {
  Samples part;
  part.inputs = tenon::narrow(inputs, 0, start, length);
  part.labels = tenon::narrow(labels, 0, start, length);
  return part;
}

Samples Samples::select(const Tensor& rows) const {
  Samples part;
  part.inputs = index_select(inputs, 0, rows);
  part.labels = index_select(labels, 0, rows);
  return part;
}

std::string reader_name(const Json& data) {
  if (data["type"].defined()) return data["type"].text();
  std::string path = data["path"].text();
  const std::string compressed = ".gz";
  if (path.size() > compressed.size() &&
      path.compare(path.size() - compressed.size(), compressed.size(), compressed) == 0)
    path.resize(path.size() - compressed.size());
  const size_t dot = path.rfind('.');
  const bool ending =
      dot != std::string::npos && dot + 1 < path.size() && path.find('/', dot) == std::string::npos;
  if (!ending)
    throw ConfigError(
        format_text("{}: no \"type\" says how to read the samples, and no ending of \"path\"; "
                    "expected the name of a data reader such as 'csv'",
                    data.place()));
  return path.substr(dot + 1);
}

Samples load_samples(const Json& data, const std::string& fitted) {
  Samples samples = read_samples(data, fitted);
  samples.inputs = prepared(data, samples.inputs);
  return samples;
}

Tensor load_inputs(const Json& data, const std::string& path, bool labelled,
                   const std::string& known) {
  const Fitted fitted = Fitted::parse(known);
  JsonObject other;
  for (int64_t i = 0; i < data.size(); ++i) {
    if (data.key(i) != "path" && data.key(i) != "labels") other.set(data.key(i), data[i]);
  }
  const Json section = other.set("path", path).json();
  const OpChoice reader(reader_role(), section, reader_name(section));
  const std::vector<Value> results =
      reader.call({}, {arg("with_targets") = false, arg("fitted") = fitted.reader});
  Tensor inputs = results.empty() ? Tensor() : results.front().tensor();
  if (!inputs.defined()) throw ValueError(format_text("'{}' has no samples", path));
  if (labelled && results.size() == 1 && !data["labels"].defined())
    inputs = split_table(section, reader.found().name, inputs).inputs;
  return fitted.normalization.apply(prepared(section, contiguous_as(inputs, f32)));
}

std::vector<std::string> dataset_ops(const Json& data, const Json& split) {
  std::vector<std::string> ops = {"index_select", "narrow", "reshape"};
  ops.emplace_back(split["stratified"].as_bool()    ? "data.stratified_split"
                   : split["shuffle"].as_bool(true) ? "randperm"
                                                    : "arange");
  if (data["normalize"].as_bool()) ops.insert(ops.end(), {"data.fit_normalize", "data.normalize"});
  if (data["scale"].number(1) != 1) ops.emplace_back("mul");
  return ops;
}

// ---- outline ----

namespace {

std::vector<int64_t> npy_shape(const std::string& path) {
  return data::parse_npy(read_file(path, data::kNpyHead), file_length(path)).shape;
}

void outline_npy(const Json& data, Json& file, DataOutline& outline) {
  outline.bytes = file_length(file.text());
  const std::vector<int64_t> inputs = npy_shape(file.text());
  if (!data["labels"].defined()) {
    outline.samples = inputs.empty() ? 0 : inputs[0];
    outline.features = inputs.size() == 2 ? inputs[1] - 1 : 0;
    outline.label_column =
        find_label_column(data, outline.features + 1, [] { return std::vector<std::string>(); });
    return;
  }
  file = data["labels"];
  outline.bytes += file_length(file.text());
  check_labels(data, inputs, npy_shape(file.text()));
  outline.samples = inputs[0];
  outline.features = product(inputs, 1);
}

void outline_csv(const Json& data, const Json& file, DataOutline& outline) {
  const std::string text = read_file(file.text());
  outline.bytes = static_cast<int64_t>(text.size());
  const data::CsvTable table = data::parse_csv(text, ',', data["header"].as_bool());
  outline.samples = table.rows;
  outline.features = table.columns - 1;
  outline.label_column = find_label_column(data, table.columns, [&] { return table.names; });
}

}  // namespace

// By the parsers of the plugin `data`, which reads the file in a run.
DataOutline outline_data(const Json& data, const std::string& reader) {
  DataOutline outline;
  Json file = data["path"];
  try {
    if (reader == kNpyReader) {
      outline_npy(data, file, outline);
    } else if (reader == kCsvReader && !data["labels"].defined()) {
      outline_csv(data, file, outline);
    } else {
      return outline;
    }
    check_samples(data, outline.samples, outline.features);
  } catch (const data::Fault& fault) {
    outline.faults.push_back(
        format_text("{}: {}{}: {}", file.place(), file.text(),
                    fault.where().empty() ? "" : format_text(":{}", fault.where()), fault.what()));
  } catch (const IOError& error) {
    outline.faults.push_back(format_text("{}: {}", file.place(), error.what()));
  } catch (const Error& error) {
    outline.faults.emplace_back(error.what());
  }
  return outline;
}

}  // namespace training

TENON_NAMESPACE_END

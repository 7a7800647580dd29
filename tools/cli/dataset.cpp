// Reading data for `tenon run`, and looking at it for `tenon plan`.
#include "dataset.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include <tenon/ops.hpp>

#include "text.hpp"

namespace cli {

namespace {

using tenon::Tensor;
using tenon::Tree;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  if (starts_with(line, "\xef\xbb\xbf")) line.erase(0, 3);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

std::vector<std::string> split_cells(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.push_back(std::move(cell));
      cell.clear();
    } else {
      cell += c;
    }
  }
  cells.push_back(std::move(cell));
  for (std::string& text : cells) {
    const size_t begin = text.find_first_not_of(" \t");
    text = begin == std::string::npos
               ? ""
               : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
  }
  return cells;
}

// The position of the label column among `columns`.
int64_t find_label_column(const Tree& data, int64_t columns) {
  const std::string path = data["path"].text();
  const Tree column = data["label_column"];
  if (column.is_text()) {
    if (!data["header"].truth()) {
      throw tenon::ConfigError(
          "/data/label_column: '" + column.text() +
          "' is a name, but the file has no row of names; set \"header\": true "
          "or give the column's number");
    }
    const std::vector<std::string> names = split_cells(first_line(path));
    const auto found = std::find(names.begin(), names.end(), column.text());
    if (found == names.end()) {
      throw tenon::ConfigError("/data/label_column: '" + path + "' has no column '" +
                               column.text() + "'" + suggestion(column.text(), names));
    }
    return found - names.begin();
  }
  const int64_t asked = column.integer(-1);
  if (asked < -columns || asked >= columns) {
    throw tenon::ConfigError("/data/label_column: there is no column " + std::to_string(asked) +
                             " in '" + path + "', which has " + std::to_string(columns) +
                             " (0 to " + std::to_string(columns - 1) + ", or -1 for the last)");
  }
  return asked < 0 ? asked + columns : asked;
}

std::vector<int64_t> sample_shape(const Tree& data) {
  std::vector<int64_t> shape;
  for (int64_t i = 0; i < data["shape"].size(); ++i) shape.push_back(data["shape"][i].integer());
  return shape;
}

void check_sample_shape(const Tree& data, int64_t features) {
  const std::vector<int64_t> shape = sample_shape(data);
  if (shape.empty()) return;
  const int64_t wanted =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  if (wanted != features) {
    throw tenon::ConfigError("/data/shape: " + data["shape"].json() + " holds " +
                             counted(wanted, "number") + ", but a sample of '" +
                             data["path"].text() + "' has " + grouped(features));
  }
}

Samples read_samples(const Tree& data) {
  const std::string path = data["path"].text();
  Samples samples;
  if (data["format"].text() == "npy") {
    samples.inputs = tenon::contiguous_as(tenon::data::read_npy(path), tenon::f32);
    samples.labels = tenon::data::read_npy(data["labels"].text());
    if (samples.inputs.dim() < 1 || samples.labels.dim() < 1 ||
        samples.inputs.size(0) != samples.labels.size(0)) {
      throw tenon::ValueError(
          "'" + path + "' and '" + data["labels"].text() + "' hold different numbers of samples: " +
          std::to_string(samples.inputs.dim() < 1 ? 0 : samples.inputs.size(0)) + " and " +
          std::to_string(samples.labels.dim() < 1 ? 0 : samples.labels.size(0)));
    }
  } else {
    const Tensor table = tenon::data::read_csv(path, data["header"].truth());
    const int64_t columns = table.size(1);
    const int64_t label = find_label_column(data, columns);
    std::vector<int64_t> rest;
    for (int64_t c = 0; c < columns; ++c) {
      if (c != label) rest.push_back(c);
    }
    samples.labels = tenon::narrow(table, 1, label, 1).reshape({table.size(0)});
    samples.inputs = tenon::index_select(table, 1, tenon::from_range(rest.begin(), rest.end()));
  }
  const int64_t count = samples.inputs.size(0);
  if (count == 0) throw tenon::ValueError("'" + path + "' holds no samples");
  check_sample_shape(data, samples.inputs.numel() / count);
  if (const double scale = data["scale"].number(1); scale != 1) {
    samples.inputs = tenon::mul(samples.inputs, scale);
  }
  if (std::vector<int64_t> shape = sample_shape(data); !shape.empty()) {
    shape.insert(shape.begin(), count);
    samples.inputs = samples.inputs.reshape(shape);
  }
  return samples;
}

// ---- outlines ----

struct NpyOutline {
  std::vector<int64_t> shape;
  bool fine = false;
};

// The shape in the header: ... 'shape': (1797, 64), ...
NpyOutline outline_npy(const std::string& path) {
  NpyOutline outline;
  std::ifstream file(path, std::ios::binary);
  std::string head(4096, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  const size_t shape = head.find("'shape': (");
  if (!starts_with(head, "\x93NUMPY") || shape == std::string::npos) return outline;
  const std::string list = head.substr(shape + 10, head.find(')', shape) - shape - 10);
  for (const std::string& cell : split_cells(list)) {
    if (!cell.empty()) outline.shape.push_back(std::atoll(cell.c_str()));
  }
  outline.fine = true;
  return outline;
}

int64_t count_rows(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> block(size_t{1} << 16);
  int64_t rows = 0;
  bool blank = true;
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0) {
    for (std::streamsize i = 0; i < file.gcount(); ++i) {
      const char c = block[static_cast<size_t>(i)];
      if (c == '\n') {
        rows += blank ? 0 : 1;
        blank = true;
      } else if (c != '\r' && c != ' ') {
        blank = false;
      }
    }
  }
  return rows + (blank ? 0 : 1);
}

}  // namespace

int64_t test_count(const Tree& split, int64_t count) {
  const double part = split["test"].number(0.2);
  return std::min<int64_t>(count - 1, std::llround(part * static_cast<double>(count)));
}

Dataset load_dataset(const Tree& data, const Tree& split) {
  const Samples all = read_samples(data);
  const int64_t count = all.count();
  const int64_t held_back = test_count(split, count);
  const Tensor order = split["shuffle"].truth(true) ? tenon::randperm(count)
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

DataOutline outline_data(const Tree& data) {
  DataOutline outline;
  const std::string path = data["path"].text();
  const auto readable = [&](const std::string& file, const char* key) {
    std::error_code error;
    if (!std::filesystem::exists(file, error)) {
      outline.faults.push_back("/data/" + std::string(key) + ": there is no file '" + file + "'");
    } else if (!std::filesystem::is_regular_file(file, error) || !std::ifstream(file)) {
      outline.faults.push_back("/data/" + std::string(key) + ": '" + file + "' cannot be read");
    } else {
      outline.bytes += static_cast<int64_t>(std::filesystem::file_size(file, error));
      return true;
    }
    return false;
  };
  if (!readable(path, "path")) return outline;
  try {
    if (data["format"].text() == "npy") {
      const NpyOutline inputs = outline_npy(path);
      if (!inputs.fine || inputs.shape.empty()) {
        outline.faults.push_back("/data/path: '" + path + "' is not a .npy file of samples");
        return outline;
      }
      outline.samples = inputs.shape[0];
      outline.features = std::accumulate(inputs.shape.begin() + 1, inputs.shape.end(), int64_t{1},
                                         std::multiplies<>());
      if (!readable(data["labels"].text(), "labels")) return outline;
      const NpyOutline labels = outline_npy(data["labels"].text());
      if (!labels.fine || labels.shape.empty() || labels.shape[0] != outline.samples) {
        outline.faults.push_back("/data/labels: '" + data["labels"].text() + "' does not hold " +
                                 grouped(outline.samples) + " labels");
      }
    } else {
      const bool header = data["header"].truth();
      outline.samples = count_rows(path) - (header ? 1 : 0);
      const auto columns = static_cast<int64_t>(split_cells(first_line(path)).size());
      outline.features = columns - 1;
      outline.label_column = find_label_column(data, columns);
    }
    if (outline.samples < 1)
      outline.faults.push_back("/data/path: '" + path + "' holds no samples");
    check_sample_shape(data, outline.features);
  } catch (const tenon::Error& error) {
    outline.faults.emplace_back(error.what());
  }
  return outline;
}

}  // namespace cli

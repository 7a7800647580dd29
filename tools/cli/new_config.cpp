// tenon new --config: writes a config that trains as it is, with a comment on every key.
#include "new_config.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>

#include <tenon/runtime.hpp>
#include <tenon/training/config.hpp>
#include <tenon/training/dataset.hpp>

#include "exit_code.hpp"
#include "format.hpp"
#include "new_files.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

namespace fs = std::filesystem;
namespace training = tenon::training;

using tenon::Json;
using tenon::JsonArray;
using tenon::JsonObject;

// The task that the config is written for.
struct Task {
  std::string data;            // as the config names it
  std::string reader;          // its "type"; empty: the ending says it
  std::vector<int64_t> shape;  // shape of a sample
  int64_t outputs = 1;         // classes, or numbers to predict
  bool classes = false;
  int64_t epochs = 30, batch_size = 32;
};

// ---- the samples ----

// Three classes of points around three centres, the same for every machine.
std::string sample_rows() {
  constexpr double centres[3][2] = {{-2, 0}, {2, 0}, {0, 3}};
  constexpr const char* names[3] = {"left", "right", "top"};
  std::mt19937 random(1);
  const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  std::string text = "x,y,class\n";
  for (int i = 0; i < 150; ++i) {
    // Sums of uniform numbers are close to normally distributed.
    const auto spread = [&] {
      return 0.7 * (uniform() + uniform() + uniform() + uniform() - 2) * 1.7;
    };
    const double x = centres[i % 3][0] + spread(), y = centres[i % 3][1] + spread();
    text += format_text("{:.3f},{:.3f},{}\n", x, y, names[i % 3]);
  }
  return text;
}

// The number of classes that targets stand for; 0: they are numbers.
int64_t class_count(const tenon::Tensor& targets) {
  if (targets.dim() != 1) return 0;
  std::set<double> values;
  for (const double value : targets.to_vector<double>()) {
    if (value < 0 || value != std::floor(value)) return 0;
    values.insert(value);
    if (values.size() > 1000) return 0;
  }
  const auto most = static_cast<int64_t>(*values.rbegin()) + 1;
  // Whole numbers that hardly repeat are measured, not classes.
  const bool repeated = static_cast<int64_t>(values.size()) * 4 <= targets.size(0);
  return targets.dtype() == tenon::i64 || (repeated && most <= 1000) ? std::max<int64_t>(most, 2)
                                                                     : 0;
}

// `folder` is that of the config, absolute.
Task task_of(const std::string& data, const fs::path& folder) {
  Task task;
  if (fs::is_directory(data)) task.reader = "images";
  JsonObject section;
  section.set("path", data).set("scale", 1.0);
  if (!task.reader.empty()) section.set("type", task.reader);
  const training::Samples samples = training::load_samples(section.json());
  task.shape = samples.inputs.sizes();
  task.shape.erase(task.shape.begin());
  const int64_t classes = class_count(samples.labels);
  task.classes = classes > 0;
  task.outputs = task.classes ? classes : samples.labels.dim() > 1 ? samples.labels.size(1) : 1;
  std::error_code code;
  const fs::path near = fs::proximate(fs::absolute(data), folder, code);
  task.data = code ? fs::absolute(data).string() : near.string();
  return task;
}

// ---- the values ----

Json linear(int64_t inputs, int64_t outputs) {
  return JsonObject()
      .set("type", "Linear")
      .set("in_features", inputs)
      .set("out_features", outputs)
      .json();
}

Json model_of(const Task& task) {
  constexpr int64_t hidden = 32;
  int64_t inputs = 1;
  for (const int64_t size : task.shape) inputs *= size;
  JsonArray layers;
  if (task.shape.size() != 1) layers.add("Flatten");
  layers.add(linear(inputs, hidden)).add("ReLU").add(linear(hidden, task.outputs));
  return JsonObject().set("type", "Sequential").set("layers", layers.json()).json();
}

Json config_of(const Task& task, const std::string& stem) {
  JsonObject data;
  if (!task.reader.empty()) data.set("type", task.reader);
  data.set("path", task.data).set("normalize", true);
  return JsonObject()
      .set("schema_version", 1)
      .set("seed", 1)
      .set("data", data.json())
      .set("split", JsonObject().set("test", 0.2).json())
      .set("model", model_of(task))
      .set("loss", task.classes ? "cross_entropy" : "mse_loss")
      .set("metrics", JsonArray().add(task.classes ? "accuracy" : "mean_absolute_error").json())
      .set("optimizer", JsonObject().set("type", "adam").set("learning_rate", 0.01).json())
      .set("training",
           JsonObject().set("epochs", task.epochs).set("batch_size", task.batch_size).json())
      .set("output",
           JsonObject().set("weights", stem + ".safetensors").set("plot", stem + ".svg").json())
      .json();
}

// ---- the text ----

// Sections whose keys are all shown; the others are values.
constexpr const char* kShown[] = {"data", "split", "training", "output"};

// "text" behind comment marks, in lines.
std::string comment(const std::string& text, size_t indent) {
  std::string lines = wrapped(text, indent + 3, 100), out;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    std::string line = lines.substr(at, end - at);
    out += std::string(indent, ' ') + "// " + line.substr(std::min(indent + 3, line.size())) + "\n";
    at = end + 1;
  }
  return out;
}

// The value behind its key, with an indent for the lines of a longer one.
std::string value_text(const Json& value, size_t indent) {
  const std::string line = value.dump();
  if (line.size() < 70) return line;
  const std::string lines = value.dump(2);
  std::string out;
  for (const char c : lines) {
    out += c;
    if (c == '\n') out += std::string(indent, ' ');
  }
  return out;
}

Json example_of(const Json& object, const std::string& key) {
  const Json examples = object["examples"];
  for (int64_t i = 0; i < examples.size(); ++i) {
    if (examples[i][key].defined()) return examples[i][key];
  }
  return {};
}

// The members of an object in the order of its schema: those that have a value, and the others as
// comments.
std::string members_text(const Json& schema, const Json& object, const Json& values,
                         size_t indent) {
  const std::string margin(indent, ' ');
  const Json properties = object["properties"];
  std::string text;
  for (int64_t i = 0; i < properties.size(); ++i) {
    const std::string key = properties.key(i);
    const Json value = values[key];
    const std::string about = comment(properties[i]["description"].text(), indent);
    const bool shown =
        std::find(std::begin(kShown), std::end(kShown), key) != std::end(kShown) && indent == 2;
    if (!text.empty() && indent == 2) text += "\n";
    if (!value.defined()) {
      const Json example = example_of(object, key);
      if (example.defined())
        text += about + margin + format_text("// \"{}\": {},\n", key, example.dump());
    } else if (shown) {
      const std::string members =
          members_text(schema, schema["definitions"][key], value, indent + 2);
      text += about + format_text("{}\"{}\": {{\n{}{}}},\n", margin, key, members, margin);
    } else {
      text += about + margin + format_text("\"{}\": {},\n", key, value_text(value, indent));
    }
  }
  return text;
}

std::string config_text(const Task& task, const std::string& stem, const std::string& file) {
  const Json schema = training::config_schema(false);
  std::string text = comment(
      format_text(
          "`tenon run {}` trains as this file says, `tenon plan {}` checks it. Keys behind // "
          "are not used: take the marks away to use one. `tenon docs` describes all of them, "
          "and the ops and modules that can be named here.",
          file, file),
      0);
  return text + "{\n" + members_text(schema, schema, config_of(task, stem), 2) + "}\n";
}

}  // namespace

int create_config(const std::string& name, const std::string& data) {
  fs::path path = name.empty() ? fs::path("config.jsonc") : fs::path(name);
  try {
    if (fs::is_directory(path)) path /= "config.jsonc";
    const fs::path folder = path.parent_path();
    for (const fs::path& file : {path, folder / "samples.csv"}) {
      if (fs::exists(file) && (file == path || data.empty()))
        throw tenon::IOError(
            format_text("cannot write '{}': it exists; name another file", file.string()));
    }
    NewFiles files;
    std::vector<fs::path> made = {path};
    Task task{"samples.csv", "", {2}, 3, true};
    if (data.empty()) {
      made.push_back(folder / "samples.csv");
      files.write(made.back(), sample_rows());
    } else {
      task = task_of(data, fs::absolute(path).parent_path());
    }
    files.write(path, config_text(task, path.stem(), path.filename()));
    training::read_config(path);
    files.keep();
    for (const fs::path& file : made)
      print(format_text("created {}\n", paint(stdout, Style::bold, file.string())));
    print(format_text("\nnext:\n  tenon plan {}\n  tenon run {}\n", path.string(), path.string()));
  } catch (const fs::filesystem_error& error) {
    throw tenon::IOError(error.what());
  }
  return kFine;
}

}  // namespace cli

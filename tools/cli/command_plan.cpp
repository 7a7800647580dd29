// tenon plan: what a run of a config would do, without running any plugin code.
#include <algorithm>

#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "dataset.hpp"
#include "declared_type.hpp"
#include "files.hpp"
#include "format.hpp"
#include "json.hpp"
#include "table.hpp"
#include "text.hpp"
#include "views.hpp"

namespace cli {

namespace {

using tenon::Json;

struct PlannedPlugin {
  std::string id, version, state, path, load;
  std::vector<std::string> purposes;
};

struct Layer {
  std::string name, type, attributes, plugin;
  int depth = 0;
};

class Plan {
 public:
  explicit Plan(const std::string& path) : path_(path), config_(tenon::read_config(path)) {
    tenon::apply_config_lazily(config_);
    plugins_ = tenon::describe("plugins");
    plan_config_plugins();
    if (config_["data"].defined()) plan_data();
    if (config_["model"].defined()) plan_module(config_["model"], "model", 0);
    if (config_["loss"].defined()) plan_loss();
    if (config_["optimizer"].defined()) {
      const Json type = config_["optimizer"]["type"];
      use_ops({format_text("optim.{}_step_", type.text())}, type, "optimizer");
    }
    if (config_["training"].defined()) {
      use_ops({"index_select", "randperm", "narrow", "argmax", "eq", "count_nonzero"},
              config_["training"], "training");
    }
    plan_output();
  }

  const std::vector<std::string>& faults() const { return faults_; }
  // What a run needs and the config does not have, "\"data\", no \"model\""; empty: nothing.
  std::string missing() const { return missing_keys(config_, true); }
  // Members whose values plugin code checks, too: that takes a run.
  std::vector<std::string> checked_by_run() const;
  void print_text() const;
  Json json() const;

 private:
  void fault(const Json& node, const std::string& text) {
    faults_.push_back(format_text("{}: {}", node.place(), text));
  }
  PlannedPlugin& plugin_row(const Json& plugin);
  void use_plugin(const std::string& id, const std::string& purpose);
  Json use_item(const char* kind, const std::string& name, const Json& node,
                const std::string& purpose);
  void use_ops(const std::vector<std::string>& ops, const Json& node, const std::string& purpose);
  void check_arguments(const Json& object, const std::string& owner, const Json& item, size_t given,
                       const std::vector<std::string>& others);
  void plan_config_plugins();
  void plan_data();
  void plan_module(const Json& node, const std::string& name, int depth);
  void plan_children(const Json& value, const DeclaredType& parameter, const std::string& name,
                     int depth);
  void plan_loss();
  void plan_output();
  void add_data(Table& table) const;
  void add_training(Table& table) const;
  void add_preferences(Table& table) const;
  Table settings() const;

  std::string path_;
  Json config_, plugins_;
  std::vector<PlannedPlugin> rows_;
  std::vector<Layer> layers_;
  DataOutline data_;
  std::vector<std::string> faults_;
};

PlannedPlugin& Plan::plugin_row(const Json& plugin) {
  const std::string path = plugin["path"].text();
  for (PlannedPlugin& row : rows_) {
    if (row.path == path) return row;
  }
  rows_.push_back({plugin["id"].text("-"),
                   plugin["version"].text("-"),
                   plugin["state"].text(),
                   path,
                   "lazy",
                   {}});
  return rows_.back();
}

void Plan::use_plugin(const std::string& id, const std::string& purpose) {
  for (int64_t i = 0; i < plugins_.size(); ++i) {
    const std::string state = plugins_[i]["state"].text();
    if (plugins_[i]["id"].text() != id || state == "shadowed" || state == "failed") continue;
    std::vector<std::string>& purposes = plugin_row(plugins_[i]).purposes;
    if (std::find(purposes.begin(), purposes.end(), purpose) == purposes.end()) {
      purposes.push_back(purpose);
    }
    return;
  }
}

void Plan::plan_config_plugins() {
  const Json entries = config_["plugins"];
  for (int64_t i = 0; i < entries.size(); ++i) {
    const std::string name = entries[i]["name"].text(), path = entries[i]["path"].text();
    bool known = false;
    for (int64_t p = 0; p < plugins_.size(); ++p) {
      const std::string state = plugins_[p]["state"].text();
      const bool named = path.empty() ? plugins_[p]["id"].text() == name && state != "shadowed"
                                      : plugins_[p]["path"].text() == path;
      if (!named) continue;
      known = true;
      PlannedPlugin& row = plugin_row(plugins_[p]);
      row.load = entries[i]["load"].text("lazy");
      row.purposes.emplace_back("config");
      if (state == "failed") fault(entries[i], plugins_[p]["reason"].text());
      break;
    }
    // It is not required, or the config would have been refused.
    if (!known) rows_.push_back({name.empty() ? "-" : name, "-", "missing", path, "-", {"config"}});
  }
}

// The listing of an op or module, after noting which plugin would provide it; undefined, with a
// fault, when none would.
Json Plan::use_item(const char* kind, const std::string& name, const Json& node,
                    const std::string& purpose) {
  Json item;
  try {
    item = tenon::describe(kind, name);
  } catch (const tenon::Error& error) {
    fault(node, error.what());
    return {};
  }
  if (item["name"].text() != name) {
    fault(node,
          format_text("'{}' must be given by its full name, '{}'", name, item["name"].text()));
    return {};
  }
  const Json providers = item["providers"];
  std::string refusals;
  for (int64_t i = 0; i < providers.size(); ++i) {
    const std::string standing = providers[i]["standing"].text();
    if (standing == "chosen") {
      use_plugin(providers[i]["plugin"].text(), purpose);
      return item;
    }
    const std::string reason = providers[i]["reason"].text();
    refusals +=
        format_text("{}{} is {}{}", refusals.empty() ? "" : "; ", providers[i]["plugin"].text(),
                    standing, reason.empty() ? "" : format_text(" ({})", reason));
  }
  fault(node, format_text("no plugin can provide {} '{}': {}", kind, name, refusals));
  return {};
}

void Plan::use_ops(const std::vector<std::string>& ops, const Json& node,
                   const std::string& purpose) {
  for (const std::string& op : ops) use_item("op", op, node, purpose);
}

// `item` is the listing of what takes the members of `object` as arguments.
void Plan::check_arguments(const Json& object, const std::string& owner, const Json& item,
                           size_t given, const std::vector<std::string>& others) {
  const std::vector<std::string> found =
      argument_faults(object, owner, declared_types(item["parameters"]), given, others);
  faults_.insert(faults_.end(), found.begin(), found.end());
}

void Plan::plan_data() {
  const Json data = config_["data"];
  use_ops(dataset_ops(data, config_["split"]), data, "data");
  data_ = outline_data(data);
  faults_.insert(faults_.end(), data_.faults.begin(), data_.faults.end());
}

namespace {

// What is shown as layers.
bool holds_modules(const Json& value) {
  if (value.is_object()) return value["type"].is_text();
  return value.is_container() && value.size() > 0 && value[0].is_object();
}

}  // namespace

void Plan::plan_module(const Json& node, const std::string& name, int depth) {
  std::vector<DeclaredType> parameters;
  Layer layer;
  layer.name = name;
  layer.depth = depth;
  layer.type = node.is_text() ? node.text() : node["type"].text();
  for (int64_t i = 0; i < node.size(); ++i) {
    if (node.key(i) == "type" || holds_modules(node[i])) continue;
    layer.attributes +=
        format_text("{}{}={}", layer.attributes.empty() ? "" : ", ", node.key(i), node[i].dump());
  }
  layer.plugin = "-";
  if (const Json found =
          use_item("module", layer.type, node.is_text() ? node : node["type"], "model");
      found.defined()) {
    layer.plugin = found["provider"].text();
    for (int64_t i = 0; i < found["providers"].size(); ++i) {
      if (found["providers"][i]["standing"].text() == "chosen")
        layer.plugin = found["providers"][i]["plugin"].text();
    }
    check_arguments(node, layer.type, found, 0, {"type"});
    parameters = declared_types(found["parameters"]);
  }
  layers_.push_back(std::move(layer));
  for (const DeclaredType& parameter : parameters) {
    if (parameter.base == "Module") plan_children(node[parameter.name], parameter, name, depth);
  }
}

// Of an attribute that is a module, or modules: the elements of a list are named as Sequential
// registers them, others after the attribute.
void Plan::plan_children(const Json& value, const DeclaredType& parameter, const std::string& name,
                         int depth) {
  const auto below = [&](const std::string& child) {
    return depth == 0 ? child : format_text("{}.{}", name, child);
  };
  if (!parameter.list) {
    if (value.defined() && !value.is_null()) plan_module(value, below(parameter.name), depth + 1);
    return;
  }
  for (int64_t i = 0; i < value.size(); ++i)
    plan_module(value[i], below(value.is_object() ? value.key(i) : std::to_string(i)), depth + 1);
}

void Plan::plan_loss() {
  const Json loss = config_["loss"];
  const Json op = use_item("op", loss["op"].text(), loss["op"], "loss");
  if (!op.defined()) return;
  const std::vector<DeclaredType> parameters = declared_types(op["parameters"]);
  for (size_t i = 0; i < 2; ++i) {
    const std::string what = i == 0 ? "the output" : "the target";
    if (i >= parameters.size())
      fault(loss["op"], format_text("{} takes no argument for {}", op["name"].text(), what));
    else if (!parameters[i].is_tensor() || parameters[i].list)
      fault(loss["op"], format_text("{} takes '{} {}' in the place of {}", op["name"].text(),
                                    parameters[i].text, parameters[i].name, what));
  }
  check_arguments(loss["options"], op["name"].text(), op, 2, {});
}

void Plan::plan_output() {
  const Json output = config_["output"];
  for (int64_t i = 0; i < output.size(); ++i) {
    const std::string text = output_fault(output[i].text());
    if (!text.empty()) fault(output[i], text);
  }
}

std::string arguments_text(const Json& object, const std::string& without) {
  std::vector<std::string> parts;
  for (int64_t i = 0; i < object.size(); ++i) {
    if (object.key(i) != without)
      parts.push_back(format_text("{}={}", object.key(i), object[i].dump()));
  }
  return parts.empty() ? "" : format_text("({})", join(parts, ", "));
}

// Rows about the samples.
void Plan::add_data(Table& table) const {
  const Json data = config_["data"], split = config_["split"];
  const std::string format = data["format"].text();
  table.add({"data", data_.bytes > 0 ? format_text("{} ({}, {})", data["path"].text(),
                                                   file_size(data_.bytes), format)
                                     : data["path"].text()});
  if (data_.samples <= 0 || data_.features < 0) return;
  const std::string labels =
      format == "npy" ? format_text("labels from {}", data["labels"].text())
                      : format_text("labels in column {}",
                                    data_.label_column < 0 ? data["label_column"].dump()
                                                           : std::to_string(data_.label_column));
  table.add({"samples", format_text("{} of {}, {}", grouped(data_.samples),
                                    counted(data_.features, "number"), labels)});
  std::vector<std::string> changes;
  if (data["shape"].defined()) changes.push_back(format_text("shape {}", data["shape"].dump()));
  if (data["scale"].number(1) != 1)
    changes.push_back(format_text("scaled by {}", short_number(data["scale"].number())));
  if (!changes.empty()) table.add({"", join(changes, ", ")});
  const int64_t test = test_count(split, data_.samples);
  table.add({"split",
             format_text("{} to train, {} to test{}", grouped(data_.samples - test), grouped(test),
                         split["shuffle"].as_bool(true) ? ", shuffled" : ", in the file's order")});
}

// Rows about loss, optimizer and epochs.
void Plan::add_training(Table& table) const {
  const Json loss = config_["loss"], optimizer = config_["optimizer"];
  const Json training = config_["training"];
  if (loss.defined()) table.add({"loss", loss["op"].text() + arguments_text(loss["options"], "")});
  if (optimizer.defined())
    table.add({"optimizer", optimizer["type"].text() + arguments_text(optimizer, "type")});
  if (!training.defined()) return;
  const int64_t batch = training["batch_size"].integer(64);
  std::string text = counted(training["epochs"].integer(), "epoch");
  if (data_.samples > 0 && data_.features >= 0) {
    const int64_t train = data_.samples - test_count(config_["split"], data_.samples);
    text += format_text(" of {}", counted((train + batch - 1) / batch, "step"));
  }
  table.add({"training", format_text("{}, batches of {}, learning rate {}", text, grouped(batch),
                                     training["schedule"].text("constant"))});
}

// Rows about what is ranked and switched off, and how types are treated.
void Plan::add_preferences(Table& table) const {
  const Json prefer = config_["ops"]["prefer"], disable = config_["ops"]["disable"];
  for (int64_t i = 0; i < prefer.size(); ++i)
    table.add({i == 0 ? "prefer" : "", format_text("{} for {}", prefer[i].text(), prefer.key(i))});
  for (int64_t i = 0; i < disable.size(); ++i) {
    const std::string plugin = disable[i]["plugin"].text();
    table.add({i == 0 ? "disable" : "", format_text("{}{}{}", disable[i]["op"].text(),
                                                    plugin.empty() ? "" : " of ", plugin)});
  }
  const Json types = config_["types"];
  for (int64_t i = 0; i < types.size(); ++i)
    table.add({i == 0 ? "types" : "", types.key(i) + arguments_text(types[i], "")});
}

Table Plan::settings() const {
  Table table({{"", Align::left, false}, {"", Align::left, false}}, 2);
  if (config_["data"].defined()) add_data(table);
  add_training(table);
  add_preferences(table);
  table.add({"seed", std::to_string(config_["seed"].integer())});
  if (config_["threads"].defined())
    table.add({"threads", std::to_string(config_["threads"].integer())});
  const Json output = config_["output"];
  for (int64_t i = 0; i < output.size(); ++i) table.add({output.key(i), output[i].text()});
  return table;
}

std::vector<std::string> Plan::checked_by_run() const {
  std::vector<std::string> members;
  for (const char* key : {"model", "loss"}) {
    if (config_[key].defined()) members.emplace_back(format_text("/{}", key));
  }
  return members;
}

void Plan::print_text() const {
  const auto title = [](const char* text) {
    print(format_text("\n{}\n", paint(stdout, Style::bold, text)));
  };
  print(format_text("plan of {}\n", paint(stdout, Style::bold, path_)));
  title("plugins");
  Table plugins(
      {{"PLUGIN"}, {"VERSION"}, {"STATE"}, {"LOAD"}, {"FOR", Align::left, true}, {"PATH"}}, 2);
  for (const PlannedPlugin& row : rows_) {
    plugins.add({row.id,
                 row.version,
                 {row.state, state_style(row.state)},
                 row.load,
                 join(row.purposes, ", "),
                 row.path});
  }
  print(plugins.empty() ? "  none\n" : plugins.text());
  if (!layers_.empty()) {
    title("model");
    Table model({{"LAYER"}, {"MODULE"}, {"ATTRIBUTES", Align::left, true}, {"PLUGIN"}}, 2);
    for (const Layer& layer : layers_) {
      const std::string indent(static_cast<size_t>(layer.depth) * 2, ' ');
      model.add({layer.name, indent + layer.type, layer.attributes, layer.plugin});
    }
    print(model.text());
  }
  title("settings");
  print(settings().text());
}

Json Plan::json() const {
  tenon::JsonArray plugins, layers;
  for (const PlannedPlugin& row : rows_) {
    plugins.add(tenon::JsonObject()
                    .set("id", row.id)
                    .set("version", row.version)
                    .set("state", row.state)
                    .set("load", row.load)
                    .set("for", text_array(row.purposes))
                    .set("path", row.path)
                    .json());
  }
  for (const Layer& layer : layers_) {
    layers.add(tenon::JsonObject()
                   .set("name", layer.name)
                   .set("type", layer.type)
                   .set("attributes", layer.attributes)
                   .set("plugin", layer.plugin)
                   .json());
  }
  tenon::JsonObject object;
  object.set("config", path_).set("plugins", plugins.json()).set("model", layers.json());
  if (config_["data"].defined()) {
    const int64_t test = data_.samples > 0 ? test_count(config_["split"], data_.samples) : 0;
    object.set("data", tenon::JsonObject()
                           .set("path", config_["data"]["path"])
                           .set("bytes", data_.bytes)
                           .set("samples", data_.samples)
                           .set("features", data_.features)
                           .set("train", data_.samples - test)
                           .set("test", test)
                           .json());
  }
  for (const char* key : {"ops", "types", "loss", "optimizer", "training", "output"}) {
    if (config_[key].defined()) object.set(key, config_[key]);
  }
  return object.set("checked_by_run", text_array(checked_by_run()))
      .set("runs", faults_.empty() && missing().empty())
      .set("seed", config_["seed"].integer())
      .set("faults", text_array(faults_))
      .json();
}

}  // namespace

int plan_config(const PlanOptions& options) {
  const Plan plan(options.config);
  if (options.json) {
    print_json(plan.json());
    return plan.faults().empty() ? kFine : kFault;
  }
  plan.print_text();
  if (plan.faults().empty()) {
    const std::string missing = plan.missing();
    print(format_text(
        "\n{}{}\n", paint(stdout, Style::green, "no faults found"),
        missing.empty() ? "" : format_text(", and nothing to run: the config has no {}", missing)));
    if (!plan.checked_by_run().empty())
      print(
          wrapped("what only plugin code knows, such as ranges and choices, is checked when a "
                  "run constructs the modules and calls the loss",
                  0, 92));
    return kFine;
  }
  std::string text = counted(static_cast<int64_t>(plan.faults().size()), "fault");
  for (const std::string& line : plan.faults()) text += format_text("\n  {}", line);
  throw tenon::ConfigError(plan.faults().size() == 1 ? plan.faults().front() : text);
}

}  // namespace cli

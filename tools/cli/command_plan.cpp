// tenon plan: what a run of a config would do. The model alone is made and called, with shapes and
// no values.
#include <algorithm>

#include <tenon/config/config.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/training/config.hpp>
#include <tenon/training/model_summary.hpp>
#include <tenon/training/roles.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "lock_file.hpp"
#include "table.hpp"
#include "text.hpp"
#include "views.hpp"

namespace cli {

namespace {

struct PlanOptions {
  std::string config;
  bool shapes = true;      // calls the model with shapes, which runs plugin code
  bool providers = false;  // lists the plugin that each op of these calls would get
  bool frozen = false;
  bool json = false;
};

namespace training = tenon::training;

using tenon::Json;

struct PlannedPlugin {
  std::string id, version, state, path, load;
  std::vector<std::string> purposes;
};

class Plan {
 public:
  explicit Plan(const PlanOptions& options)
      : path_(options.config), config_(training::read_config(path_)) {
    if (options.frozen)
      freeze(config_.document, lock_file_of(path_));
    else
      tenon::config::apply(config_.document, tenon::EagerPlugins::wait);
    plugins_ = tenon::listing::plugins();
    plan_config_plugins();
    outline_ = training::outline(
        config_, options.shapes ? training::DataFiles::read : training::DataFiles::skip);
    for (const training::Purpose& purpose : outline_.purposes)
      use_plugin(purpose.plugin, purpose.what);
    faults_.insert(faults_.end(), outline_.faults.begin(), outline_.faults.end());
    if (!options.shapes || !config_.model.defined() || !faults_.empty()) return;
    summary_ = training::summarize_model(config_, outline_.data, options.providers);
    faults_ = summary_.faults;
  }

  const std::vector<std::string>& faults() const { return faults_; }
  // Sections that a run needs and the config lacks, "\"data\", no \"model\""; empty: nothing.
  std::string missing() const { return training::missing_keys(config_, true); }
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
  void plan_config_plugins();
  void add_data(Table& table) const;
  void add_training(Table& table) const;
  void add_preferences(Table& table) const;
  Table plugins() const;
  Table settings() const;
  Table layers() const;
  Table shapes() const;
  Table providers() const;
  Json summary_json() const;

  std::string path_;
  training::TrainingConfig config_;
  Json plugins_;
  std::vector<PlannedPlugin> rows_;
  training::Outline outline_;
  training::ModelSummary summary_;  // without layers: there is none
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
    if (plugins_[i]["id"].text() != id || state == "shadowed" || is_refused(state)) continue;
    std::vector<std::string>& purposes = plugin_row(plugins_[i]).purposes;
    if (std::find(purposes.begin(), purposes.end(), purpose) == purposes.end()) {
      purposes.push_back(purpose);
    }
    return;
  }
}

void Plan::plan_config_plugins() {
  const Json entries = config_.document["plugins"];
  for (int64_t i = 0; i < entries.size(); ++i) {
    const std::string name = entries[i]["name"].text(), path = entries[i]["path"].text();
    bool known = false;
    for (int64_t p = 0; p < plugins_.size(); ++p) {
      const std::string state = plugins_[p]["state"].text();
      const std::string id = plugins_[p]["id"].text();
      const bool meant =
          id == name || name == format_text("{}@{}", id, plugins_[p]["version"].text());
      const bool named =
          path.empty() ? meant && state != "shadowed" : plugins_[p]["path"].text() == path;
      if (!named) continue;
      known = true;
      PlannedPlugin& row = plugin_row(plugins_[p]);
      row.load = entries[i]["load"].text();
      row.purposes.emplace_back("config");
      if (is_refused(state)) fault(entries[i], plugins_[p]["reason"].text());
      break;
    }
    // It is not required, or the config would have been refused.
    if (!known) rows_.push_back({name.empty() ? "-" : name, "-", "missing", path, "-", {"config"}});
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

std::string shapes_text(const std::vector<std::vector<int64_t>>& shapes) {
  std::vector<std::string> texts;
  for (const std::vector<int64_t>& shape : shapes) {
    std::vector<std::string> sizes;
    sizes.reserve(shape.size());
    for (const int64_t size : shape) sizes.push_back(std::to_string(size));
    texts.push_back(format_text("[{}]", join(sizes, ", ")));
  }
  return texts.empty() ? "-" : join(texts, ", ");
}

// Rows about the samples.
void Plan::add_data(Table& table) const {
  const training::DataConfig& data = config_.data;
  const training::SplitConfig& split = config_.split;
  const std::string &path = data.path, &reader = outline_.reader;
  const std::string size =
      outline_.data_bytes > 0 ? format_text("{}, ", file_size(outline_.data_bytes)) : "";
  table.add({"data", path.empty()     ? reader
                     : reader.empty() ? path
                                      : format_text("{} ({}{})", path, size, reader)});
  if (outline_.data.samples <= 0) return;
  const std::string targets =
      outline_.data.targets.empty()
          ? "one target each"
          : format_text("targets of shape {}", shapes_text({outline_.data.targets}));
  table.add({"samples", format_text("{} of shape {}, {}", grouped(outline_.data.samples),
                                    shapes_text({outline_.data.shape}), targets)});
  std::vector<std::string> changes;
  if (data.scale != 1) changes.push_back(format_text("scaled by {}", short_number(data.scale)));
  if (data.normalize) changes.emplace_back("normalised");
  if (!changes.empty()) table.add({"", join(changes, ", ")});
  const training::PartCounts counts = training::part_counts(split, outline_.data.samples);
  std::string parts = format_text("{} to train", grouped(counts.train));
  if (counts.validation > 0) parts += format_text(", {} to validate", grouped(counts.validation));
  parts += format_text(", {} to test", grouped(counts.test));
  for (const Json& file : {split.validation_path, split.test_path}) {
    if (file.defined()) parts += format_text(", {}", file.text());
  }
  table.add({"split", parts + (split.stratified ? ", stratified"
                               : split.shuffle  ? ", shuffled"
                                                : ", in the file's order")});
}

// "adam(learning_rate=0.1)"; of several "warmup(warmup_steps=5) * cosine".
std::string choices_text(const std::vector<Json>& ops, const char* between) {
  std::vector<std::string> texts;
  for (const Json& one : ops) texts.push_back(one["type"].text() + arguments_text(one, "type"));
  return join(texts, between);
}

// Rows about loss, metrics, optimizer and epochs.
void Plan::add_training(Table& table) const {
  if (config_.loss.defined()) table.add({"loss", choices_text({config_.loss}, ", ")});
  if (config_.metrics) table.add({"metrics", choices_text(*config_.metrics, ", ")});
  if (config_.optimizer.defined())
    table.add({"optimizer", choices_text({config_.optimizer}, ", ")});
  if (!config_.training) return;
  const training::LoopConfig& loop = *config_.training;
  const int64_t batch = loop.batch_size;
  std::string text = counted(loop.epochs, "epoch");
  if (outline_.data.samples > 0) {
    const int64_t train = training::part_counts(config_.split, outline_.data.samples).train;
    text += format_text(" of {}", counted((train + batch - 1) / batch, "step"));
  }
  table.add(
      {"training",
       format_text("{}, batches of {}, learning rate {}", text, grouped(batch),
                   loop.schedules.empty() ? "constant" : choices_text(loop.schedules, " * "))});
  if (loop.monitor)
    table.add({"monitor", format_text("{} {}", loop.monitor->maximize ? "maximize" : "minimize",
                                      loop.monitor->metric.text())});
  if (!loop.transforms.empty()) table.add({"transforms", choices_text(loop.transforms, ", ")});
  if (!loop.clips.empty()) table.add({"clip", choices_text(loop.clips, ", ")});
}

// Rows about what is ranked and switched off, and how types are treated.
void Plan::add_preferences(Table& table) const {
  const Json prefer = config_.document["ops"]["prefer"],
             disable = config_.document["ops"]["disable"];
  for (int64_t i = 0; i < prefer.size(); ++i) {
    const auto add = [&](bool first, const std::string& plugin, const Json& when) {
      table.add({first ? "prefer" : "",
                 format_text("{} for {}{}", plugin, prefer.key(i), arguments_text(when, ""))});
    };
    if (prefer[i].is_text()) add(i == 0, prefer[i].text(), {});
    for (int64_t k = 0; prefer[i].is_container() && k < prefer[i].size(); ++k)
      add(i == 0 && k == 0, prefer[i][k]["plugin"].text(), prefer[i][k]["when"]);
  }
  for (int64_t i = 0; i < disable.size(); ++i) {
    const std::string plugin = disable[i]["plugin"].text();
    table.add({i == 0 ? "disable" : "", format_text("{}{}{}", disable[i]["op"].text(),
                                                    plugin.empty() ? "" : " of ", plugin)});
  }
  const Json types = config_.document["types"];
  for (int64_t i = 0; i < types.size(); ++i)
    table.add({i == 0 ? "types" : "", types.key(i) + arguments_text(types[i], "")});
}

Table Plan::settings() const {
  Table table = Table::of_facts();
  if (config_.data.section.defined()) add_data(table);
  add_training(table);
  add_preferences(table);
  table.add({"seed", std::to_string(config_.seed)});
  if (config_.threads > 0) table.add({"threads", std::to_string(config_.threads)});
  const Json output = config_.output.section;
  for (int64_t i = 0; i < output.size(); ++i) table.add({output.key(i), output[i].text()});
  return table;
}

std::vector<std::string> Plan::checked_by_run() const {
  std::vector<std::string> members;
  const std::pair<const char*, bool> keys[] = {
      {"data", outline_.data.samples >= 0}, {"model", !summary_.layers.empty()}, {"loss", false}};
  for (const auto& [key, checked] : keys) {
    if (config_.document[key].defined() && !checked) members.emplace_back(format_text("/{}", key));
  }
  return members;
}

Table Plan::plugins() const {
  using Plugin = PlannedPlugin;
  return table_of<Plugin>(
      rows_,
      {{"PLUGIN", &Plugin::id},
       {"VERSION", &Plugin::version},
       {"STATE", [](const Plugin& row) { return Cell(row.state, state_style(row.state)); }},
       {"LOAD", &Plugin::load},
       {"FOR", [](const Plugin& row) { return join(row.purposes, ", "); }, Align::left, true},
       {"PATH", &Plugin::path}},
      2);
}

Table Plan::layers() const {
  using training::Layer;
  const auto indented = [](const Layer& layer) {
    return std::string(static_cast<size_t>(layer.depth) * 2, ' ') + layer.type;
  };
  return table_of<Layer>(outline_.layers,
                         {{"LAYER", &Layer::name},
                          {"MODULE", indented},
                          {"ATTRIBUTES", &Layer::attributes, Align::left, true},
                          {"PLUGIN", &Layer::plugin}},
                         2);
}

std::string name_or_model(const std::string& layer) { return layer.empty() ? "model" : layer; }

// The table of modules: results, parameters and multiply-adds.
Table Plan::shapes() const {
  using Layer = training::LayerSummary;
  const auto count = [](int64_t Layer::*member) {
    return [member](const Layer& layer) {
      return layer.*member == 0 ? std::string("-") : grouped(layer.*member);
    };
  };
  Table table = table_of<Layer>(
      summary_.layers,
      {{"LAYER", [](const Layer& layer) { return name_or_model(layer.name); }},
       {"MODULE", &Layer::type},
       {"OUTPUT", [](const Layer& layer) { return shapes_text(layer.outputs); }, Align::left, true},
       {"PARAMETERS", count(&Layer::parameters), Align::right},
       {"BYTES", count(&Layer::bytes), Align::right},
       {"MULTIPLY-ADDS", count(&Layer::multiply_adds), Align::right}},
      2);
  table.add({"total", "", "", grouped(summary_.parameters), grouped(summary_.bytes),
             grouped(summary_.multiply_adds)});
  return table;
}

std::string declined_text(const training::ProvidedOp& op) {
  std::vector<std::string> declined;
  for (const auto& [plugin, reason] : op.declined)
    declined.push_back(format_text("{}: {}", plugin, reason));
  return declined.empty() ? "-" : join(declined, "; ");
}

// Which plugin would run the ops that each module calls.
Table Plan::providers() const {
  using Op = training::ProvidedOp;
  return table_of<Op>(summary_.ops,
                      {{"LAYER", [](const Op& op) { return name_or_model(op.layer); }},
                       {"OP", &Op::op},
                       {"CALLS", [](const Op& op) { return grouped(op.calls); }, Align::right},
                       {"PLUGIN", &Op::provider},
                       {"DECLINED BY", declined_text, Align::left, true}},
                      2);
}

void Plan::print_text() const {
  const auto title = [](const char* text) {
    print(format_text("\n{}\n", paint(stdout, Style::bold, text)));
  };
  print(format_text("plan of {}\n", paint(stdout, Style::bold, path_)));
  title("plugins");
  print(rows_.empty() ? "  none\n" : plugins().text());
  if (!outline_.layers.empty()) {
    title("model");
    print(layers().text());
  }
  if (!summary_.layers.empty()) {
    title(summary_.inputs.empty()
              ? "shapes"
              : format_text("shapes for input {}", shapes_text(summary_.inputs)).c_str());
    print(shapes().text());
    const int64_t frozen = summary_.parameters - summary_.trainable;
    if (frozen > 0) print(format_text("  {} of the parameters are frozen\n", grouped(frozen)));
    if (!summary_.unknown.empty())
      print(wrapped(format_text("shapes are not known: {}", summary_.unknown), 2, 92));
  }
  if (!summary_.ops.empty()) {
    title("providers");
    print(providers().text());
  }
  title("settings");
  print(settings().text());
}

Json sizes_json(const std::vector<int64_t>& shape) {
  tenon::JsonArray sizes;
  for (const int64_t size : shape) sizes.add(size);
  return sizes.json();
}

Json shapes_json(const std::vector<std::vector<int64_t>>& shapes) {
  tenon::JsonArray list;
  for (const std::vector<int64_t>& shape : shapes) list.add(sizes_json(shape));
  return list.json();
}

Json ops_json(const std::vector<training::ProvidedOp>& ops) {
  tenon::JsonArray list;
  for (const training::ProvidedOp& op : ops) {
    tenon::JsonArray declined;
    for (const auto& [plugin, reason] : op.declined)
      declined.add(tenon::JsonObject().set("plugin", plugin).set("reason", reason).json());
    list.add(tenon::JsonObject()
                 .set("layer", op.layer)
                 .set("op", op.op)
                 .set("calls", op.calls)
                 .set("provider", op.provider)
                 .set("declined", declined.json())
                 .json());
  }
  return list.json();
}

Json Plan::summary_json() const {
  tenon::JsonArray layers;
  for (const training::LayerSummary& layer : summary_.layers) {
    layers.add(tenon::JsonObject()
                   .set("name", layer.name)
                   .set("type", layer.type)
                   .set("outputs", shapes_json(layer.outputs))
                   .set("parameters", layer.parameters)
                   .set("bytes", layer.bytes)
                   .set("multiply_adds", layer.multiply_adds)
                   .json());
  }
  tenon::JsonObject object;
  object.set("inputs", shapes_json(summary_.inputs)).set("layers", layers.json());
  if (!summary_.ops.empty()) object.set("ops", ops_json(summary_.ops));
  return object.set("parameters", summary_.parameters)
      .set("trainable", summary_.trainable)
      .set("bytes", summary_.bytes)
      .set("multiply_adds", summary_.multiply_adds)
      .set("unknown", summary_.unknown)
      .json();
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
  for (const training::Layer& layer : outline_.layers) {
    layers.add(tenon::JsonObject()
                   .set("name", layer.name)
                   .set("type", layer.type)
                   .set("attributes", layer.attributes)
                   .set("plugin", layer.plugin)
                   .json());
  }
  tenon::JsonObject object;
  object.set("config", path_).set("plugins", plugins.json()).set("model", layers.json());
  if (!summary_.layers.empty()) object.set("summary", summary_json());
  if (config_.data.section.defined()) {
    training::PartCounts counts{outline_.data.samples, 0, 0};
    if (outline_.data.samples > 0)
      counts = training::part_counts(config_.split, outline_.data.samples);
    object.set("data", tenon::JsonObject()
                           .set("path", config_.data.path_node)
                           .set("bytes", outline_.data_bytes)
                           .set("samples", outline_.data.samples)
                           .set("shape", sizes_json(outline_.data.shape))
                           .set("targets", sizes_json(outline_.data.targets))
                           .set("train", counts.train)
                           .set("validation", counts.validation)
                           .set("test", counts.test)
                           .json());
  }
  for (const char* key : {"ops", "types", "loss", "metrics", "optimizer", "training", "output"}) {
    if (const Json section = config_.document[key]; section.defined()) object.set(key, section);
  }
  return object.set("checked_by_run", text_array(checked_by_run()))
      .set("runs", faults_.empty() && missing().empty())
      .set("seed", static_cast<int64_t>(config_.seed))
      .set("faults", text_array(faults_))
      .json();
}

int plan_config(const PlanOptions& options) {
  const Plan plan(options);
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

}  // namespace

void define_plan(Commands& commands) {
  auto [command, options] = commands.add(
      plan_config, "plan",
      "Print what a run would do: plugins, data, and the model's layers with their shapes",
      "  tenon plan digits.json\n"
      "  tenon plan digits.json --json\n"
      "  tenon plan digits.json --providers\n"
      "The model is called with shapes alone: it computes nothing. Ends with 1 when the run would "
      "fail for a reason that can be seen now.");
  command.argument(options.config, "CONFIG", "The config file");
  command.frozen(options.frozen);
  command.flag("!--no-shapes", options.shapes,
               "Run no plugin code: layers as the config names them, without shapes");
  command.flag("--providers", options.providers,
               "List the plugin that each op of the model would get, and who declines it");
  command.exclude("--providers", "--no-shapes");
  command.json(options.json);
}

}  // namespace cli

// Plans in words: tables of plugins, layers, shapes and providers, and the settings.
#include <tenon/training/roles.hpp>

#include "format.hpp"
#include "plan.hpp"
#include "rewrite_list.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "views.hpp"

namespace cli {

namespace training = tenon::training;

using tenon::Json;

namespace {

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
void add_data(const Plan& plan, Table& table) {
  const training::DataConfig& data = plan.config.data;
  const training::SplitConfig& split = plan.config.split;
  const std::string &path = data.path, &reader = plan.outline.reader;
  const std::string size =
      plan.outline.data_bytes > 0 ? format_text("{}, ", file_size(plan.outline.data_bytes)) : "";
  table.add({"data", path.empty()     ? reader
                     : reader.empty() ? path
                                      : format_text("{} ({}{})", path, size, reader)});
  if (plan.outline.data.samples <= 0) return;
  const std::string targets =
      plan.outline.data.targets.empty()
          ? "one target each"
          : format_text("targets of shape {}", shapes_text({plan.outline.data.targets}));
  table.add({"samples", format_text("{} of shape {}, {}", grouped(plan.outline.data.samples),
                                    shapes_text({plan.outline.data.shape}), targets)});
  std::vector<std::string> changes;
  if (data.scale != 1) changes.push_back(format_text("scaled by {}", short_number(data.scale)));
  if (data.normalize) changes.emplace_back("normalised");
  if (!changes.empty()) table.add({"", join(changes, ", ")});
  const training::PartCounts counts = training::part_counts(split, plan.outline.data.samples);
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
void add_training(const Plan& plan, Table& table) {
  if (plan.config.loss.defined()) table.add({"loss", choices_text({plan.config.loss}, ", ")});
  if (plan.config.metrics) table.add({"metrics", choices_text(*plan.config.metrics, ", ")});
  if (plan.config.optimizer.defined())
    table.add({"optimizer", choices_text({plan.config.optimizer}, ", ")});
  if (!plan.config.training) return;
  const training::LoopConfig& loop = *plan.config.training;
  std::string text = counted(loop.epochs, "epoch");
  if (plan.outline.data.samples > 0) {
    const int64_t train = training::part_counts(plan.config.split, plan.outline.data.samples).train;
    const training::BatchPlan batches{train, loop.batch_size, loop.drop_last};
    text += format_text(" of {}", counted(batches.batches(), "step"));
  }
  table.add(
      {"training",
       format_text("{}, batches of {}, learning rate {}", text, grouped(loop.batch_size),
                   loop.schedules.empty() ? "constant" : choices_text(loop.schedules, " * "))});
  if (loop.monitor)
    table.add({"monitor", format_text("{} {}", loop.monitor->maximize ? "maximize" : "minimize",
                                      loop.monitor->metric.text())});
  if (!loop.transforms.empty()) table.add({"transforms", choices_text(loop.transforms, ", ")});
  if (!loop.clips.empty()) table.add({"clip", choices_text(loop.clips, ", ")});
}

// Rows about what is ranked and switched off, and how types are treated.
void add_preferences(const Plan& plan, Table& table) {
  const Json prefer = plan.config.document["ops"]["prefer"],
             disable = plan.config.document["ops"]["disable"];
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
  const Json types = plan.config.document["types"];
  for (int64_t i = 0; i < types.size(); ++i)
    table.add({i == 0 ? "types" : "", types.key(i) + arguments_text(types[i], "")});
}

// A row for each device, where the training is on another one than the CPU.
void add_devices(const Plan& plan, Table& table) {
  if (!plan.config.training || plan.config.training->device.empty()) return;
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Plan::DeviceBytes& one : plan.bytes_by_device()) {
    const std::string text = format_text("{} bytes of {}", grouped(one.bytes), one.what);
    if (rows.empty() || rows.back().first != one.device)
      rows.emplace_back(one.device, text);
    else
      rows.back().second += ", " + text;
  }
  for (const auto& [device, text] : rows)
    table.add({device == rows.front().first ? "devices" : "", format_text("{}: {}", device, text)});
}

Table settings_table(const Plan& plan) {
  Table table = Table::of_facts();
  if (plan.config.data.section.defined()) add_data(plan, table);
  add_training(plan, table);
  add_preferences(plan, table);
  add_devices(plan, table);
  table.add({"seed", std::to_string(plan.config.seed)});
  if (plan.config.threads > 0) table.add({"threads", std::to_string(plan.config.threads)});
  const Json output = plan.config.output.section;
  for (int64_t i = 0; i < output.size(); ++i) table.add({output.key(i), output[i].text()});
  return table;
}

Table plugins_table(const Plan& plan) {
  using Plugin = PlannedPlugin;
  return table_of<Plugin>(
      plan.plugins,
      {{"PLUGIN", &Plugin::id},
       {"VERSION", &Plugin::version},
       {"STATE", [](const Plugin& row) { return Cell(row.state, state_style(row.state)); }},
       {"LOAD", &Plugin::load},
       {"FOR", [](const Plugin& row) { return join(row.purposes, ", "); }, Align::left, true},
       {"PATH", &Plugin::path}},
      2);
}

Table layers_table(const Plan& plan) {
  using training::Layer;
  const auto indented = [](const Layer& layer) {
    return std::string(static_cast<size_t>(layer.depth) * 2, ' ') + layer.type;
  };
  return table_of<Layer>(plan.outline.layers,
                         {{"LAYER", &Layer::name},
                          {"MODULE", indented},
                          {"ATTRIBUTES", &Layer::attributes, Align::left, true},
                          {"PLUGIN", &Layer::plugin}},
                         2);
}

std::string name_or_model(const std::string& layer) { return layer.empty() ? "model" : layer; }

// The table of modules: results, parameters and multiply-adds.
Table shapes_table(const Plan& plan) {
  using Layer = training::LayerSummary;
  const auto count = [](int64_t Layer::*member) {
    return [member](const Layer& layer) {
      return layer.*member == 0 ? std::string("-") : grouped(layer.*member);
    };
  };
  Table table = table_of<Layer>(
      plan.summary.layers,
      {{"LAYER", [](const Layer& layer) { return name_or_model(layer.name); }},
       {"MODULE", &Layer::type},
       {"OUTPUT", [](const Layer& layer) { return shapes_text(layer.outputs); }, Align::left, true},
       {"PARAMETERS", count(&Layer::parameters), Align::right},
       {"BYTES", count(&Layer::bytes), Align::right},
       {"MULTIPLY-ADDS", count(&Layer::multiply_adds), Align::right}},
      2);
  table.add({"total", "", "", grouped(plan.summary.parameters), grouped(plan.summary.bytes),
             grouped(plan.summary.multiply_adds)});
  return table;
}

std::string declined_text(const training::ProvidedOp& op) {
  std::vector<std::string> declined;
  for (const auto& [plugin, reason] : op.declined)
    declined.push_back(format_text("{}: {}", plugin, reason));
  return declined.empty() ? "-" : join(declined, "; ");
}

// Which plugin would run the ops that each module calls.
Table providers_table(const Plan& plan) {
  using Op = training::ProvidedOp;
  return table_of<Op>(plan.summary.ops,
                      {{"LAYER", [](const Op& op) { return name_or_model(op.layer); }},
                       {"OP", &Op::op},
                       {"CALLS", [](const Op& op) { return grouped(op.calls); }, Align::right},
                       {"PLUGIN", &Op::provider},
                       {"DECLINED BY", declined_text, Align::left, true}},
                      2);
}

Table prepared_table(const tenon::PreparedList& list) {
  using Call = tenon::PreparedCall;
  const auto memory = [](const Call& call) {
    return call.bytes == 0 ? "-"
           : call.in_place ? "in place"
           : call.in_arena ? "shared"
                           : "its own";
  };
  std::vector<ColumnOf<Call>> columns{
      {"OP", &Call::op},
      {"PLUGIN", &Call::provider},
      {"BYTES", [](const Call& call) { return grouped(call.bytes); }, Align::right},
      {"MEMORY", memory}};
  if (!list.rewrites.empty()) columns.push_back({"REWRITE", &Call::rewrite});
  return table_of<Call>(list.calls, columns, 2);
}

std::string rewritten_text(const tenon::rewrites::Applied& one) {
  return format_text("{} of plugin {}, {}, {}", one.rule, one.plugin, counted(one.count, "time"),
                     bound_text(one.bound));
}

void print_prepared(const tenon::PreparedList& list) {
  if (!list.reason.empty()) {
    print(wrapped(format_text("the model runs as it is: {}", list.reason), 2, line_width(92)));
    return;
  }
  print(prepared_table(list).text());
  const auto ops = [](const char* what, const std::vector<std::string>& names) {
    if (!names.empty())
      print(wrapped(format_text("{}: {}", what, join(names, ", ")), 2, line_width(92)));
  };
  ops("computed once, from constants", list.folded);
  ops("not computed, since nothing reads it", list.dropped);
  for (const tenon::rewrites::Applied& one : list.rewrites)
    print(wrapped(format_text("rewritten by {}", rewritten_text(one)), 2, line_width(92)));
  for (const std::string& one : list.refused)
    print(wrapped(format_text("not rewritten by {}", one), 2, line_width(92)));
  print_fitted(format_text("  bytes of results: {}, with shared memory {}\n",
                           grouped(list.result_bytes),
                           grouped(list.result_bytes - list.shared_bytes + list.arena_bytes)));
  print_fitted(format_text("  at the same time at most: {}, as it is {}\n",
                           grouped(list.peak_bytes), grouped(list.recorded_peak_bytes)));
  if (list.compared > 0)
    print_fitted(
        format_text("  results that the model goes by, compared in each run: {}\n", list.compared));
}

void print_memory(const training::BackwardMemory& memory) {
  print_fitted(format_text("  kept for backward at the same time, at most: {} bytes\n",
                           grouped(memory.peak_bytes)));
  if (memory.recomputed.empty()) return;
  print_fitted(format_text("  without \"recompute\": {} bytes\n", grouped(memory.kept_bytes)));
  std::vector<std::string> layers;
  for (const std::string& layer : memory.recomputed) layers.push_back(name_or_model(layer));
  print(wrapped(format_text("computed again: {}", join(layers, ", ")), 2, line_width(92)));
}

void title(const std::string& text) {
  print_fitted(format_text("\n{}\n", paint(stdout, Style::bold, text)));
}

}  // namespace

void print_prepared_list(const tenon::PreparedList& list) {
  title(format_text("prepared for {}", list.arguments));
  print_prepared(list);
}

void print_plan(const Plan& plan) {
  print_fitted(format_text("plan of {}\n", paint(stdout, Style::bold, plan.path)));
  title("plugins");
  print(plan.plugins.empty() ? "  none\n" : plugins_table(plan).text());
  if (!plan.outline.layers.empty()) {
    title("model");
    print(layers_table(plan).text());
  }
  if (!plan.summary.layers.empty()) {
    title(plan.summary.inputs.empty()
              ? "shapes"
              : format_text("shapes for input {}", shapes_text(plan.summary.inputs)));
    print(shapes_table(plan).text());
    const int64_t frozen = plan.summary.parameters - plan.summary.trainable;
    if (frozen > 0) print(format_text("  {} of the parameters are frozen\n", grouped(frozen)));
    if (!plan.summary.unknown.empty())
      print(wrapped(format_text("shapes are not known: {}", plan.summary.unknown), 2,
                    line_width(92)));
  }
  if (!plan.summary.ops.empty()) {
    title("providers");
    print(providers_table(plan).text());
  }
  if (plan.prepared) print_prepared_list(*plan.prepared);
  if (plan.memory) {
    title("memory of a training step");
    print_memory(*plan.memory);
  }
  title("settings");
  print(settings_table(plan).text());
}

}  // namespace cli

// Outline of a training: its ops, modules, data, and faults of its config, by plugin facts.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/stat.h>

#include <tenon/device.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/model_format.hpp>
#include <tenon/text.hpp>
#include <tenon/training/config.hpp>
#include <tenon/training/files.hpp>
#include <tenon/training/op_choice.hpp>
#include <tenon/training/optimizer.hpp>
#include <tenon/training/plot.hpp>
#include <tenon/training/roles.hpp>

#include "config_sections.hpp"
#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

class Outliner {
 public:
  Outliner(const TrainingConfig& config, DataFiles files) : config_(config) {
    if (config.data.section.defined()) outline_data_of(config.data, files);
    if (config.model.defined()) outline_model();
    if (config.loss.defined()) use_choice(loss_role(), config.loss);
    if (config.metrics) {
      for (const Json& metric : *config.metrics) use_choice(metric_role(), metric);
    }
    if (config.optimizer.defined()) outline_optimizer(config.optimizer);
    if (config.training) outline_training(*config.training);
    outline_output(config.output.section);
  }
  Outline take() { return std::move(outline_); }

 private:
  void fault(const Json& node, const std::string& text) {
    outline_.faults.push_back(lib::format_text("{}: {}", node.place(), text));
  }
  void add_faults(const std::vector<std::string>& faults) {
    outline_.faults.insert(outline_.faults.end(), faults.begin(), faults.end());
  }
  void use_plugin(const std::string& plugin, const std::string& purpose) {
    const auto found = std::find_if(
        outline_.purposes.begin(), outline_.purposes.end(),
        [&](const Purpose& one) { return one.plugin == plugin && one.what == purpose; });
    if (found == outline_.purposes.end()) outline_.purposes.push_back({plugin, purpose});
  }

  // Notes which plugin would provide an op or module; false, with a fault, when none would.
  bool use_item(const char* kind, const Json& item, const Json& node, const std::string& purpose,
                std::string* plugin = nullptr) {
    const Json providers = item["providers"];
    std::string refusals;
    for (int64_t i = 0; i < providers.size(); ++i) {
      const std::string standing = providers[i]["standing"].text();
      const std::string id = providers[i]["plugin"].text();
      if (providers[i]["used"].as_bool()) {
        if (plugin != nullptr) *plugin = id;
        use_plugin(id, purpose);
        return true;
      }
      const std::string reason = providers[i]["reason"].text();
      refusals += lib::format_text("{}{} is {}{}", refusals.empty() ? "" : "; ", id, standing,
                                   reason.empty() ? "" : lib::format_text(" ({})", reason));
    }
    fault(node, lib::format_text("no plugin can provide {} '{}': {}", kind, item["name"].text(),
                                 refusals));
    return false;
  }

  // The listing of an op or module of this full name; undefined, with a fault, where there is none.
  Json find_item(const char* kind, const std::string& name, const Json& node) {
    try {
      const bool is_op = std::string_view(kind) == "op";
      Json item = is_op ? listing::op(name) : listing::module(name);
      if (item["name"].text() == name) return item;
      fault(node, lib::format_text("'{}' must be given by its full name, '{}'", name,
                                   item["name"].text()));
    } catch (const Error& error) {
      fault(node, error.what());
    }
    return {};
  }
  void use_ops(const std::vector<std::string>& ops, const Json& node, const std::string& purpose) {
    for (const std::string& op : ops) {
      if (const Json item = find_item("op", op, node); item.defined())
        use_item("op", item, node, purpose);
    }
  }

  // The op of a section; nothing, with a fault, where there is none.
  std::optional<FoundOp> use_choice(const OpRole& role, const Json& section,
                                    const std::string& name = "") {
    const Json type = section["type"].defined() ? section["type"] : section;
    try {
      FoundOp op = find_op(role, name.empty() ? section["type"].text() : name, type);
      use_item("op", op.listing, type, &role == &reader_role() ? "data" : role.what);
      add_faults(op_faults(role, op, section));
      return op;
    } catch (const Error& error) {
      outline_.faults.emplace_back(error.what());
      return std::nullopt;
    }
  }

  void outline_data_of(const DataConfig& data, DataFiles files) {
    use_ops(dataset_ops(data, config_.split), data.section, "data");
    std::string name;
    try {
      name = reader_name(data);
    } catch (const Error& error) {
      outline_.faults.emplace_back(error.what());
      return;
    }
    const std::optional<FoundOp> reader = use_choice(reader_role(), data.section, name);
    if (!reader) return;
    outline_.reader = reader->name;
    if (const Json path = data.path_node; path.defined()) {
      struct stat facts {};
      if (stat(path.text().c_str(), &facts) != 0)
        fault(path, lib::format_text("cannot read '{}': {}", path.text(), std::strerror(errno)));
      else if (S_ISREG(facts.st_mode))
        outline_.data_bytes = static_cast<int64_t>(facts.st_size);
    }
    if (files == DataFiles::skip || !outline_.faults.empty()) return;
    outline_.data = outline_data(data);
    add_faults(outline_.data.faults);
  }

  // Whether a value is shown as layers.
  static bool holds_modules(const Json& value) {
    if (value.is_object()) return value["type"].is_text();
    return value.is_container() && value.size() > 0 && value[0].is_object();
  }

  // The keys of a module's section that are not attributes of the type.
  static std::vector<std::string> settings_beside(const std::vector<DeclaredType>& attributes) {
    static const Json keys = Json::parse(kSections)["definitions"]["module"]["properties"];
    std::vector<std::string> settings;
    for (int64_t i = 0; i < keys.size(); ++i) {
      const std::string key = keys.key(i);
      const bool attribute = std::any_of(attributes.begin(), attributes.end(),
                                         [&](const DeclaredType& one) { return one.name == key; });
      if (key != "layers" && key != "path" && !attribute) settings.push_back(key);
    }
    return settings;
  }
  void outline_init(const Json& init, const std::vector<DeclaredType>& attributes) {
    const std::vector<std::string> settings = settings_beside(attributes);
    if (std::find(settings.begin(), settings.end(), "init") == settings.end()) return;
    for (int64_t i = 0; i < init.size(); ++i) {
      const Json type = init[i].is_text() ? init[i] : init[i]["type"];
      if (type.is_text()) use_ops({type.text()}, type, "model");
    }
  }

  void outline_model() {
    try {
      outline_module(state::with_model_files(config_.model), "model", 0);
    } catch (const Error& error) {
      outline_.faults.emplace_back(error.what());
    }
  }
  void outline_module(const Json& node, const std::string& name, int depth) {
    const Json type = node.is_text() ? node : node["type"];
    std::vector<DeclaredType> attributes;
    Layer layer;
    layer.name = name;
    layer.depth = depth;
    layer.type = type.text();
    for (int64_t i = 0; i < node.size(); ++i) {
      if (node.key(i) == "type" || holds_modules(node[i])) continue;
      layer.attributes += lib::format_text("{}{}={}", layer.attributes.empty() ? "" : ", ",
                                           node.key(i), node[i].dump());
    }
    layer.plugin = "-";
    if (const Json found = find_item("module", layer.type, type); found.defined()) {
      use_item("module", found, type, "model", &layer.plugin);
      attributes = declared_types(found["parameters"]);
      add_faults(argument_faults(node, layer.type, attributes, {}, settings_beside(attributes)));
      outline_init(node["init"], attributes);
    }
    outline_.layers.push_back(std::move(layer));
    for (const DeclaredType& attribute : attributes) {
      if (attribute.base == "Module")
        outline_children(node[attribute.name], attribute, name, depth);
    }
  }

  // Outlines an attribute that is a module, or modules: the elements of a list are named as
  // Sequential registers them, a single one after the attribute.
  void outline_children(const Json& value, const DeclaredType& attribute, const std::string& name,
                        int depth) {
    const auto below = [&](const std::string& child) {
      return depth == 0 ? child : lib::format_text("{}.{}", name, child);
    };
    if (!attribute.list) {
      if (value.defined() && !value.is_null())
        outline_module(value, below(attribute.name), depth + 1);
      return;
    }
    for (int64_t i = 0; i < value.size(); ++i) {
      outline_module(value[i], below(value.is_object() ? value.key(i) : std::to_string(i)),
                     depth + 1);
    }
  }

  void outline_optimizer(const Json& section) {
    const std::optional<FoundOp> op = use_choice(optimizer_role(), section);
    if (!op) return;
    for (const std::string& text : optimizer_schema(*op).faults) fault(section["type"], text);
    if (!config_.training) return;
    const Json schedule = config_.training->section["schedule"];
    if (schedule.defined() && !op->has("learning_rate"))
      fault(schedule,
            lib::format_text("{} has no keyword 'learning_rate' for a schedule", op->name));
  }

  // The plugin of the device, by its tensor type.
  void outline_device(const LoopConfig& training) {
    const std::string kind = training.device.substr(0, training.device.find(':'));
    if (kind == "cpu") return;
    try {
      use_plugin(listing::type(kind)["provider"].text(), "training");
    } catch (const ValueError&) {
      fault(training.device_node, device::unknown_device(training.device));
    } catch (const Error& error) {
      fault(training.device_node, error.what());
    }
  }

  void outline_training(const LoopConfig& training) {
    outline_device(training);
    use_ops({"index_select", "randperm", "narrow"}, training.section, "training");
    for (const Json& one : training.schedules) use_choice(schedule_role(), one);
    for (const Json& one : training.clips) use_choice(clip_role(), one);
    for (const Json& one : training.transforms) use_choice(transform_role(), one);
    if (training.sampler.defined()) use_choice(sampler_role(), training.sampler);
    if (!config_.metrics || !training.monitor) return;
    const Json watched = training.monitor->metric;
    if (watched.text() == "loss") return;
    std::vector<std::string> names = {"loss"};
    for (const Json& metric : *config_.metrics) {
      const std::string op = metric["type"].text();
      names.push_back(metric["name"].text(op.substr(op.rfind('.') + 1)));
    }
    if (std::find(names.begin(), names.end(), watched.text()) == names.end())
      fault(watched, lib::format_text("no metric is named '{}'{}; there are {}", watched.text(),
                                      suggestion(watched.text(), names), join(names, ", ")));
  }

  void outline_output(const Json& output) {
    for (int64_t i = 0; i < output.size(); ++i) {
      const std::string path = output[i].text();
      std::string text = output_fault(path);
      if (text.empty() && output.key(i) == "plot") {
        text = plot_fault(path);
        if (const char* op = plot_op(path); text.empty() && op != nullptr)
          use_ops({op}, output[i], "plot");
      }
      if (text.empty()) text = overwrite_fault(config_, path);
      for (int64_t k = 0; k < i && text.empty(); ++k) {
        if (same_file(path, output[k].text()))
          text =
              lib::format_text("cannot write '{}': \"{}\" is the same file", path, output.key(k));
      }
      if (!text.empty()) fault(output[i], text);
    }
  }

  const TrainingConfig& config_;
  Outline outline_;
};

}  // namespace

std::string overwrite_fault(const TrainingConfig& config, const std::string& path) {
  // "FILE:1:20: /schema_version"
  std::string file = config.document["schema_version"].place();
  for (int colons = 0; colons < 3 && !file.empty(); ++colons)
    file.resize(file.rfind(':') == std::string::npos ? 0 : file.rfind(':'));
  const auto text = [&](const std::string& what) {
    return lib::format_text("cannot write '{}': it is {}", path, what);
  };
  if (!file.empty() && same_file(path, file)) return text("the config");
  for (const std::string& input :
       {config.data.path, second_file(config.data), config.split.validation_path.text(),
        config.split.test_path.text()}) {
    if (!input.empty() && same_file(path, input)) return text("the file of the data");
  }
  const Json plugins = config.document["plugins"];
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const std::string plugin = plugins[i]["path"].text();
    if (!plugin.empty() && same_file(path, plugin)) return text("a plugin of the config");
  }
  return "";
}

Outline outline(const TrainingConfig& config, DataFiles files) {
  return Outliner(config, files).take();
}

void require_sound(const TrainingConfig& config) {
  const std::vector<std::string> faults = outline(config, DataFiles::skip).faults;
  if (faults.empty()) return;
  throw ConfigError(faults.size() == 1
                        ? faults.front()
                        : lib::format_text("{}\n  {}",
                                           counted(static_cast<int64_t>(faults.size()), "fault"),
                                           join(faults, "\n  ")));
}

}  // namespace training

TENON_NAMESPACE_END

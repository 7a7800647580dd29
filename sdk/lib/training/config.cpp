// Configs of trainings: reading them, and every key of their sections, once.
#include <filesystem>
#include <fstream>

#include <tenon/config/config.hpp>
#include <tenon/state/model_format.hpp>
#include <tenon/text.hpp>
#include <tenon/training/config.hpp>
#include <tenon/training/training_config.hpp>
#include <tenon/trust/guard.hpp>

#include "config_sections.hpp"
#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

// A key that is required, or that the reader of configs fills in.
Json filled(const Json& section, const char* key) {
  Json value = section[key];
  if (value.defined()) return value;
  throw ValueError(lib::format_text(
      "{}: no \"{}\", which reading fills in; read the config by training::read_config",
      section.place(), key));
}

std::vector<int64_t> sizes_of(const Json& list) {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < list.size(); ++i) sizes.push_back(list[i].integer());
  return sizes;
}

template <class Config>
std::optional<Config> optional_section(const Json& section) {
  return section.defined() ? std::optional<Config>(Config(section)) : std::nullopt;
}

}  // namespace

bool is_model_file(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  if (ending.empty() || ending == ".json" || ending == ".jsonc") return false;
  trust::install();
  if (state::find_model_format(path)) return true;
  // A config is a text, and so is what is nearly one.
  std::ifstream file(path, std::ios::binary);
  std::string start(4096, ' ');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (start.find('\0') != std::string::npos) state::require_model_format(path);
  return false;
}

Json read_config(const std::string& path) {
  trust::install();
  if (!is_model_file(path)) return config::read(path, Json::parse(kSections));
  const std::string whole = std::filesystem::absolute(path).lexically_normal();
  return JsonObject().set("model", JsonObject().set("type", whole).json()).json();
}

std::string missing_keys(const TrainingConfig& config, bool training) {
  std::vector<std::string> missing;
  std::vector<std::string> keys = {"data", "model"};
  if (training) keys.insert(keys.end(), {"loss", "optimizer", "training"});
  for (const std::string& key : keys) {
    if (!config.document[key].defined()) missing.push_back(lib::format_text("\"{}\"", key));
  }
  return join(missing, ", no ");
}

std::vector<Json> section_list(const Json& section) {
  std::vector<Json> list;
  if (section.is_object()) return {section};
  for (int64_t i = 0; i < section.size(); ++i) list.push_back(section[i]);
  return list;
}

DataConfig::DataConfig(const Json& data)
    : section(data),
      path_node(data["path"]),
      type(data["type"].text()),
      path(path_node.text()),
      shape(sizes_of(data["shape"])),
      normalize(data["normalize"].as_bool()) {
  if (data.defined()) scale = filled(data, "scale").number();
}

DataConfig DataConfig::with_path(const Json& other) const {
  JsonObject object;
  for (int64_t i = 0; i < section.size(); ++i) {
    if (section.key(i) != "path") object.set(section.key(i), section[i]);
  }
  return DataConfig(object.set("path", other).json());
}

SplitConfig::SplitConfig(const Json& split)
    : section(split),
      validation(split["validation"].number()),
      test_path(split["test_path"]),
      validation_path(split["validation_path"]),
      stratified(split["stratified"].as_bool()) {
  if (!split.defined()) return;
  test = filled(split, "test").number();
  shuffle = filled(split, "shuffle").as_bool();
}

InputConfig::InputConfig(const Json& input)
    : section(input), shape(sizes_of(input["shape"])), dtype(input["dtype"]) {}

MonitorConfig::MonitorConfig(const Json& monitor)
    : section(monitor),
      metric(filled(monitor, "metric")),
      maximize(filled(monitor, "goal").text() == "maximize"),
      keep_best(filled(monitor, "keep_best").as_bool()),
      patience(filled(monitor, "patience").integer()),
      minimum_change(filled(monitor, "minimum_change").number()) {}

LoopConfig::LoopConfig(const Json& training)
    : section(training),
      epochs(filled(training, "epochs").integer()),
      batch_size(filled(training, "batch_size").integer()),
      drop_last(training["drop_last"].as_bool()),
      sampler(training["sampler"]),
      schedules(section_list(training["schedule"])),
      clips(section_list(training["clip"])),
      transforms(section_list(training["transforms"])),
      monitor(optional_section<MonitorConfig>(training["monitor"])),
      checkpoint_minutes(training["checkpoint"]["minutes"].number()),
      detect_anomaly(training["detect_anomaly"].as_bool()),
      device(training["device"].text("cpu")),
      device_node(training["device"]) {
  checkpoint_epochs = training["checkpoint"]["epochs"].integer(checkpoint_minutes > 0 ? 0 : 1);
}

DistributedConfig::DistributedConfig(const Json& distributed) : section(distributed) {
  if (!distributed.defined()) return;
  engine = filled(distributed, "engine").text();
  check = filled(distributed, "check").text();
  bucket_bytes = filled(distributed, "bucket_bytes").integer();
  timeout = filled(distributed, "timeout").number();
  deterministic = filled(distributed, "deterministic").as_bool();
  shard_optimizer = filled(distributed, "shard_optimizer").as_bool();
  if (deterministic) parts = filled(distributed, "parts").integer();
}

OutputConfig::OutputConfig(const Json& output)
    : section(output),
      weights(output["weights"].text()),
      plot(output["plot"].text()),
      history(output["history"].text()),
      log(output["log"].text()),
      checkpoint(output["checkpoint"].text()) {}

TrainingConfig::TrainingConfig(const Json& config)
    : document(config),
      seed(static_cast<uint64_t>(config["seed"].integer())),
      threads(static_cast<int32_t>(config["threads"].integer())),
      lock_file(config["frozen"].text()),
      data(config["data"]),
      split(config["split"]),
      model(config["model"]),
      loss(config["loss"]),
      optimizer(config["optimizer"]),
      training(optional_section<LoopConfig>(config["training"])),
      distributed(config["distributed"]),
      output(config["output"]) {
  for (const Json& input : section_list(config["input"])) inputs.emplace_back(input);
  if (config["metrics"].defined()) metrics = section_list(config["metrics"]);
}

}  // namespace training

TENON_NAMESPACE_END

// The keys of the config.
#include "core/plugin/config_table.hpp"

#include "core/base/format.hpp"
#include "core/plugin/policy.hpp"

namespace tenon::core {

namespace {

using Type = ConfigType;
using Text = ConfigText;
using Names = std::string_view[];

constexpr ConfigSchema kBool[] = {{.type = Type::Bool}};
constexpr ConfigSchema kText[] = {{.type = Type::Text}};
constexpr ConfigSchema kInputPath[] = {{.type = Type::Text, .text = Text::InputPath}};
constexpr ConfigSchema kOutputPath[] = {{.type = Type::Text, .text = Text::OutputPath}};
constexpr ConfigSchema kPluginId[] = {{.type = Type::Text, .text = Text::PluginId}};
constexpr ConfigSchema kPluginPath[] = {{.type = Type::Text, .text = Text::PluginPath}};
constexpr ConfigSchema kName[] = {{.type = Type::Text, .text = Text::Name}};
constexpr ConfigSchema kPattern[] = {{.type = Type::Text, .text = Text::Pattern}};
constexpr ConfigSchema kVersion[] = {{.type = Type::Text, .text = Text::Version}};
constexpr ConfigSchema kSha256[] = {{.type = Type::Text, .text = Text::Sha256}};
constexpr ConfigSchema kFree[] = {{.type = Type::Free}};
constexpr ConfigSchema kCount[] = {{.type = Type::Int, .low = 1, .high = kMaxConfigInt}};
constexpr ConfigSchema kPositive[] = {{.type = Type::Number, .low = 0, .above_low = true}};
constexpr ConfigSchema kNotNegative[] = {{.type = Type::Number, .low = 0}};
constexpr ConfigSchema kFraction[] = {
    {.type = Type::Number, .low = 0, .high = 1, .below_high = true}};
constexpr ConfigSchema kAnyNumber[] = {{.type = Type::Number}};
constexpr ConfigSchema kInputPaths[] = {{.type = Type::Array, .elements = kInputPath}};

// ---- plugins and ops ----

constexpr Names kLoadModes = {"lazy", "eager", "never"};
constexpr ConfigSchema kLoad[] = {
    {.type = Type::Text, .text = Text::Choice, .choices = kLoadModes}};
constexpr ConfigKey kPluginKeys[] = {
    {.name = "name",
     .meaning = "id of the plugin; looked for in the search folders",
     .schemas = kPluginId},
    {.name = "path",
     .meaning = "its file, when it is not in a search folder",
     .schemas = kPluginPath},
    {.name = "version",
     .meaning = "versions that will do, like '>=1.2, <2' or '1.2'",
     .schemas = kVersion},
    {.name = "options", .meaning = "handed to the plugin when it starts", .schemas = kFree},
    {.name = "sha256", .meaning = "hash that the file must have", .schemas = kSha256},
    {.name = "load",
     .meaning = "when its code is loaded: at the first use, at once, or not at all",
     .schemas = kLoad,
     .fallback = "\"lazy\""},
    {.name = "require",
     .meaning = "whether it is an error when the plugin is missing",
     .schemas = kBool,
     .fallback = "true"},
    {.name = "glue",
     .meaning = "whether it may override ops of others for types of others, to join them",
     .schemas = kBool},
};
std::string_view plugin_shorthand(std::string_view text) {
  return is_plugin_path(text) ? "path" : "name";
}
constexpr ConfigObject kPlugin = {.name = "plugin",
                                  .meaning = "a plugin, by id or by path",
                                  .keys = kPluginKeys,
                                  .shorthand = plugin_shorthand};
constexpr ConfigSchema kPluginEntry[] = {{.type = Type::Object, .object = &kPlugin}};
constexpr ConfigSchema kPlugins[] = {{.type = Type::Array, .elements = kPluginEntry}};

constexpr ConfigKey kDisableKeys[] = {
    {.name = "op",
     .meaning = "name or pattern of ops, or of single overrides: 'add[TypeA, TypeB]'",
     .schemas = kPattern,
     .required = true},
    {.name = "plugin", .meaning = "only what this plugin provides", .schemas = kPluginId},
};
constexpr ConfigObject kDisable = {
    .name = "disable",
    .meaning = "ops that are switched off",
    .keys = kDisableKeys,
    .shorthand = [](std::string_view) { return std::string_view("op"); }};
constexpr ConfigSchema kDisableEntry[] = {{.type = Type::Object, .object = &kDisable}};
constexpr ConfigSchema kDisableList[] = {{.type = Type::Array, .elements = kDisableEntry}};
constexpr ConfigSchema kPrefer[] = {
    {.type = Type::Map, .text = Text::Pattern, .elements = kPluginId}};
constexpr Names kDuplicateChoices = {"error", "first", "last"};
constexpr ConfigSchema kDuplicates[] = {
    {.type = Type::Text, .text = Text::Choice, .choices = kDuplicateChoices}};
constexpr ConfigKey kOpsKeys[] = {
    {.name = "prefer",
     .meaning = "op, override or pattern -> the plugin whose implementation is taken; the first "
                "that matches decides",
     .schemas = kPrefer,
     .fallback = "{}"},
    {.name = "disable",
     .meaning = "ops, overrides or patterns that are switched off",
     .schemas = kDisableList,
     .fallback = "[]"},
    {.name = "duplicates",
     .meaning = "which plugin wins when several provide the same name and no preference decides: "
                "'error' (default), 'first' or 'last'",
     .schemas = kDuplicates},
};
constexpr ConfigObject kOps = {
    .name = "ops", .meaning = "ranking and switching off of ops", .keys = kOpsKeys};
constexpr ConfigSchema kOpsForm[] = {{.type = Type::Object, .object = &kOps}};

// ---- tensor types ----

constexpr ConfigSchema kPatterns[] = {{.type = Type::Array, .elements = kPattern}};
constexpr Names kFallbackNames = {"decline", "to_tensor", "unwrap_rewrap"};
constexpr ConfigSchema kFallbackForm[] = {
    {.type = Type::Text, .text = Text::Choice, .choices = kFallbackNames}};
constexpr ConfigKey kFallbackOpsKeys[] = {
    {.name = "allow", .meaning = "ops that fall back; all when left out", .schemas = kPatterns},
    {.name = "deny", .meaning = "ops that do not, allowed or not", .schemas = kPatterns},
};
constexpr ConfigObject kFallbackOps = {
    .name = "fallback_ops", .meaning = "for which ops a type falls back", .keys = kFallbackOpsKeys};
constexpr ConfigSchema kFallbackOpsForm[] = {{.type = Type::Object, .object = &kFallbackOps}};
constexpr ConfigKey kTypeKeys[] = {
    {.name = "fallback",
     .meaning = "what happens when no override or handler of the type handles an op; the type's "
                "own fallback when left out",
     .schemas = kFallbackForm},
    {.name = "fallback_ops", .meaning = kFallbackOps.meaning, .schemas = kFallbackOpsForm},
    {.name = "covers",
     .meaning = "the ops that the type is meant for; `tenon coverage` lists no others",
     .schemas = kPatterns},
};
constexpr ConfigObject kType = {
    .name = "type", .meaning = "how a tensor type is treated", .keys = kTypeKeys};
constexpr ConfigSchema kTypeEntry[] = {{.type = Type::Object, .object = &kType}};
constexpr ConfigSchema kTypesForm[] = {
    {.type = Type::Map, .text = Text::Name, .elements = kTypeEntry}};

// ---- data ----

constexpr Names kFormats = {"csv", "npy"};
constexpr ConfigSchema kFormat[] = {
    {.type = Type::Text, .text = Text::Choice, .choices = kFormats}};
constexpr ConfigSchema kColumn[] = {
    {.type = Type::Int, .low = -kMaxConfigInt, .high = kMaxConfigInt}, {.type = Type::Text}};
constexpr ConfigSchema kShape[] = {
    {.type = Type::Array, .elements = kCount, .fewest = 1, .most = 15}};
std::string format_of(const tenon_json& object) {
  const tenon_json* path = object.find("path");
  if (path == nullptr || !path->is_string()) return "";
  for (const std::string_view format : kFormats) {
    if (path->as_string().ends_with(format_text(".{}", format))) return std::string(format);
  }
  return "";
}
constexpr ConfigKey kDataKeys[] = {
    {.name = "path", .meaning = "the file of samples", .schemas = kInputPath, .required = true},
    {.name = "format",
     .meaning = "the file's format; decided by its ending when left out",
     .schemas = kFormat,
     .derive = format_of},
    {.name = "label_column",
     .meaning = "column of the labels: number (negative: from the end) or name",
     .schemas = kColumn,
     .fallback = "-1",
     .variant = "csv"},
    {.name = "header",
     .meaning = "whether the first row names the columns",
     .schemas = kBool,
     .fallback = "false",
     .variant = "csv"},
    {.name = "labels",
     .meaning = "the .npy file of labels",
     .schemas = kInputPath,
     .required = true,
     .variant = "npy"},
    {.name = "scale",
     .meaning = "what samples are multiplied by",
     .schemas = kAnyNumber,
     .fallback = "1.0"},
    {.name = "shape", .meaning = "shape of one sample; flat when left out", .schemas = kShape},
};
constexpr ConfigObject kData = {
    .name = "data", .meaning = "labelled samples", .keys = kDataKeys, .variant_key = "format"};
constexpr ConfigSchema kDataForm[] = {{.type = Type::Object, .object = &kData}};

constexpr ConfigKey kSplitKeys[] = {
    {.name = "test",
     .meaning = "part of the samples that is held back for testing",
     .schemas = kFraction,
     .fallback = "0.2"},
    {.name = "shuffle",
     .meaning = "whether samples are shuffled before the split",
     .schemas = kBool,
     .fallback = "true"},
};
constexpr ConfigObject kSplit = {
    .name = "split", .meaning = "how samples are divided", .keys = kSplitKeys};
constexpr ConfigSchema kSplitForm[] = {{.type = Type::Object, .object = &kSplit}};

// ---- model, loss, optimizer ----

extern const ConfigObject kModule;
constexpr ConfigSchema kModuleForm[] = {{.type = Type::Object, .object = &kModule}};
constexpr ConfigSchema kLayers[] = {{.type = Type::Array, .elements = kModuleForm}};
constexpr ConfigKey kModuleKeys[] = {
    {.name = "type", .meaning = "name of the module type", .schemas = kName, .required = true},
    {.name = "layers", .meaning = "modules inside it, in order", .schemas = kLayers},
};
constexpr ConfigObject kModule = {
    .name = "module",
    .meaning = "a module: its type, and its attributes by name",
    .keys = kModuleKeys,
    .open = true,
    .shorthand = [](std::string_view) { return std::string_view("type"); }};

constexpr ConfigKey kLossKeys[] = {
    {.name = "op",
     .meaning = "op called with output and target",
     .schemas = kName,
     .required = true},
    {.name = "options",
     .meaning = "more arguments of the op, by name",
     .schemas = kFree,
     .fallback = "{}"},
};
constexpr ConfigObject kLoss = {
    .name = "loss",
    .meaning = "loss function to minimize",
    .keys = kLossKeys,
    .shorthand = [](std::string_view) { return std::string_view("op"); }};
constexpr ConfigSchema kLossForm[] = {{.type = Type::Object, .object = &kLoss}};

constexpr Names kOptimizers = {"sgd", "adam"};
constexpr ConfigSchema kOptimizerType[] = {
    {.type = Type::Text, .text = Text::Choice, .choices = kOptimizers}};
constexpr ConfigSchema kBetas[] = {
    {.type = Type::Array, .elements = kFraction, .fewest = 2, .most = 2}};
constexpr ConfigKey kOptimizerKeys[] = {
    {.name = "type", .meaning = "the optimizer", .schemas = kOptimizerType, .required = true},
    {.name = "learning_rate", .meaning = "size of a step", .schemas = kPositive, .required = true},
    {.name = "momentum",
     .meaning = "part of the last step that is kept",
     .schemas = kFraction,
     .fallback = "0.0",
     .variant = "sgd"},
    {.name = "betas",
     .meaning = "decay of the running mean and of the running square",
     .schemas = kBetas,
     .fallback = "[0.9, 0.999]",
     .variant = "adam"},
    {.name = "epsilon",
     .meaning = "keeps the division finite",
     .schemas = kPositive,
     .fallback = "1e-8",
     .variant = "adam"},
    {.name = "weight_decay", .meaning = "weight decay", .schemas = kNotNegative, .fallback = "0.0"},
};
constexpr ConfigObject kOptimizer = {.name = "optimizer",
                                     .meaning = "how gradients change the weights",
                                     .keys = kOptimizerKeys,
                                     .variant_key = "type"};
constexpr ConfigSchema kOptimizerForm[] = {{.type = Type::Object, .object = &kOptimizer}};

// ---- training and output ----

constexpr Names kSchedules = {"constant", "cosine"};
constexpr ConfigSchema kSchedule[] = {
    {.type = Type::Text, .text = Text::Choice, .choices = kSchedules}};
constexpr ConfigKey kTrainingKeys[] = {
    {.name = "epochs",
     .meaning = "passes over the training samples",
     .schemas = kCount,
     .required = true},
    {.name = "batch_size", .meaning = "samples in one step", .schemas = kCount, .fallback = "64"},
    {.name = "schedule",
     .meaning = "learning-rate schedule",
     .schemas = kSchedule,
     .fallback = "\"constant\""},
};
constexpr ConfigObject kTraining = {
    .name = "training", .meaning = "how long and in which steps to train", .keys = kTrainingKeys};
constexpr ConfigSchema kTrainingForm[] = {{.type = Type::Object, .object = &kTraining}};

constexpr ConfigKey kOutputKeys[] = {
    {.name = "weights",
     .meaning = "safetensors file of the trained weights",
     .schemas = kOutputPath},
    {.name = "plot", .meaning = "SVG file of the learning curve", .schemas = kOutputPath},
};
constexpr ConfigObject kOutput = {
    .name = "output", .meaning = "files that a run writes", .keys = kOutputKeys};
constexpr ConfigSchema kOutputForm[] = {{.type = Type::Object, .object = &kOutput}};

// ---- the whole ----

constexpr ConfigSchema kSchemaVersion[] = {{.type = Type::Int, .low = 1, .high = 1}};
constexpr ConfigSchema kSeed[] = {{.type = Type::Int, .low = 0, .high = kMaxConfigInt}};
constexpr ConfigSchema kThreads[] = {{.type = Type::Int, .low = 1, .high = 1024}};
constexpr Names kNeedsData = {"data"};
constexpr Names kNeedsModel = {"model"};
constexpr Names kNeedsAll = {"data", "model", "loss", "optimizer"};
constexpr ConfigKey kRootKeys[] = {
    {.name = "$schema", .meaning = "where editors find the schema of this file", .schemas = kText},
    {.name = "schema_version",
     .meaning = "version of this format",
     .schemas = kSchemaVersion,
     .required = true},
    {.name = "plugins", .meaning = "the plugins to use", .schemas = kPlugins, .fallback = "[]"},
    {.name = "search_paths",
     .meaning = "folders in which plugins are looked for first",
     .schemas = kInputPaths,
     .fallback = "[]"},
    {.name = "ops", .meaning = kOps.meaning, .schemas = kOpsForm, .fallback = "{}"},
    {.name = "types",
     .meaning = "name of a tensor type -> how it is treated",
     .schemas = kTypesForm},
    {.name = "strict",
     .meaning = "whether plugins are refused that register what is only warned of otherwise: "
                "ambiguous overrides, overrides of ops of others for types of others",
     .schemas = kBool},
    {.name = "autoload",
     .meaning = "whether plugins in folders are used without being named in \"plugins\"; true when "
                "left out",
     .schemas = kBool},
    {.name = "seed",
     .meaning = "random seed; the same seed and number of threads give the same run",
     .schemas = kSeed,
     .fallback = "0"},
    {.name = "threads",
     .meaning = "threads to compute with; all when left out",
     .schemas = kThreads},
    {.name = "data", .meaning = kData.meaning, .schemas = kDataForm},
    {.name = "split",
     .meaning = kSplit.meaning,
     .schemas = kSplitForm,
     .fallback = "{}",
     .needs = kNeedsData},
    {.name = "model", .meaning = "the module to train or evaluate", .schemas = kModuleForm},
    {.name = "loss", .meaning = kLoss.meaning, .schemas = kLossForm, .needs = kNeedsModel},
    {.name = "optimizer",
     .meaning = kOptimizer.meaning,
     .schemas = kOptimizerForm,
     .needs = kNeedsModel},
    {.name = "training",
     .meaning = kTraining.meaning,
     .schemas = kTrainingForm,
     .needs = kNeedsAll},
    {.name = "output", .meaning = kOutput.meaning, .schemas = kOutputForm, .needs = kNeedsModel},
};
constexpr ConfigObject kRoot = {.name = "config",
                                .meaning = "A Tenon config: plugins, and what to do with them",
                                .keys = kRootKeys};

}  // namespace

const ConfigObject& config_table() { return kRoot; }

}  // namespace tenon::core

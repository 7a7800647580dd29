// The keys of the config.
#include "core/plugin/config_table.hpp"

#include "core/plugin/policy.hpp"

namespace tenon::core {

namespace {

using Type = ConfigType;
using Text = ConfigText;
using Names = std::string_view[];

constexpr ConfigForm kBool[] = {{.type = Type::Bool}};
constexpr ConfigForm kText[] = {{.type = Type::Text}};
constexpr ConfigForm kInputPath[] = {{.type = Type::Text, .text = Text::InputPath}};
constexpr ConfigForm kOutputPath[] = {{.type = Type::Text, .text = Text::OutputPath}};
constexpr ConfigForm kPluginId[] = {{.type = Type::Text, .text = Text::PluginId}};
constexpr ConfigForm kPluginPath[] = {{.type = Type::Text, .text = Text::PluginPath}};
constexpr ConfigForm kName[] = {{.type = Type::Text, .text = Text::Name}};
constexpr ConfigForm kPattern[] = {{.type = Type::Text, .text = Text::Pattern}};
constexpr ConfigForm kVersion[] = {{.type = Type::Text, .text = Text::Version}};
constexpr ConfigForm kSha256[] = {{.type = Type::Text, .text = Text::Sha256}};
constexpr ConfigForm kFree[] = {{.type = Type::Free}};
constexpr ConfigForm kCount[] = {{.type = Type::Int, .low = 1, .high = kMaxConfigInt}};
constexpr ConfigForm kPositive[] = {{.type = Type::Number, .low = 0, .above_low = true}};
constexpr ConfigForm kNotNegative[] = {{.type = Type::Number, .low = 0}};
constexpr ConfigForm kFraction[] = {
    {.type = Type::Number, .low = 0, .high = 1, .below_high = true}};
constexpr ConfigForm kAnyNumber[] = {{.type = Type::Number}};
constexpr ConfigForm kInputPaths[] = {{.type = Type::Array, .elements = kInputPath}};

// ---- plugins and ops ----

constexpr Names kLoadModes = {"lazy", "eager", "never"};
constexpr ConfigForm kLoad[] = {{.type = Type::Text, .text = Text::Choice, .choices = kLoadModes}};
constexpr ConfigKey kPluginKeys[] = {
    {.name = "name",
     .meaning = "id of the plugin; looked for in the search folders",
     .forms = kPluginId},
    {.name = "path",
     .meaning = "its file, when it is not in a search folder",
     .forms = kPluginPath},
    {.name = "version",
     .meaning = "versions that will do, like '>=1.2, <2' or '1.2'",
     .forms = kVersion},
    {.name = "options", .meaning = "handed to the plugin when it starts", .forms = kFree},
    {.name = "sha256", .meaning = "hash that the file must have", .forms = kSha256},
    {.name = "load",
     .meaning = "when its code is loaded: at the first use, at once, or not at all",
     .forms = kLoad,
     .fallback = "\"lazy\""},
    {.name = "require",
     .meaning = "whether it is an error when the plugin is missing",
     .forms = kBool,
     .fallback = "true"},
    {.name = "glue",
     .meaning = "whether it may override ops of others for types of others, to join them",
     .forms = kBool},
};
std::string_view plugin_shorthand(std::string_view text) {
  return is_plugin_path(text) ? "path" : "name";
}
constexpr ConfigObject kPlugin = {.name = "plugin",
                                  .meaning = "a plugin, by id or by path",
                                  .keys = kPluginKeys,
                                  .shorthand = plugin_shorthand};
constexpr ConfigForm kPluginEntry[] = {{.type = Type::Object, .object = &kPlugin}};
constexpr ConfigForm kPlugins[] = {{.type = Type::Array, .elements = kPluginEntry}};

constexpr ConfigKey kDisableKeys[] = {
    {.name = "op",
     .meaning = "name or pattern of ops, or of single overrides: 'add[TypeA, TypeB]'",
     .forms = kPattern,
     .required = true},
    {.name = "plugin", .meaning = "only what this plugin provides", .forms = kPluginId},
};
constexpr ConfigObject kDisable = {
    .name = "disable",
    .meaning = "ops that are switched off",
    .keys = kDisableKeys,
    .shorthand = [](std::string_view) { return std::string_view("op"); }};
constexpr ConfigForm kDisableEntry[] = {{.type = Type::Object, .object = &kDisable}};
constexpr ConfigForm kDisableList[] = {{.type = Type::Array, .elements = kDisableEntry}};
constexpr ConfigForm kPrefer[] = {
    {.type = Type::Map, .text = Text::Pattern, .elements = kPluginId}};
constexpr Names kDuplicateRules = {"error", "first", "last"};
constexpr ConfigForm kDuplicates[] = {
    {.type = Type::Text, .text = Text::Choice, .choices = kDuplicateRules}};
constexpr ConfigKey kOpsKeys[] = {
    {.name = "prefer",
     .meaning = "op, override or pattern -> the plugin whose implementation is taken; the first "
                "that matches decides",
     .forms = kPrefer,
     .fallback = "{}"},
    {.name = "disable",
     .meaning = "ops, overrides or patterns that are switched off",
     .forms = kDisableList,
     .fallback = "[]"},
    {.name = "duplicates",
     .meaning = "which plugin wins when several provide the same name and no rule decides: "
                "'error' (default), 'first' or 'last'",
     .forms = kDuplicates},
};
constexpr ConfigObject kOps = {
    .name = "ops", .meaning = "ranking and switching off of ops", .keys = kOpsKeys};
constexpr ConfigForm kOpsForm[] = {{.type = Type::Object, .object = &kOps}};

// ---- tensor types ----

constexpr ConfigForm kPatterns[] = {{.type = Type::Array, .elements = kPattern}};
constexpr Names kFallbackNames = {"decline", "to_tensor", "unwrap_rewrap"};
constexpr ConfigForm kFallbackForm[] = {
    {.type = Type::Text, .text = Text::Choice, .choices = kFallbackNames}};
constexpr ConfigKey kFallbackOpsKeys[] = {
    {.name = "allow", .meaning = "ops that fall back; all when left out", .forms = kPatterns},
    {.name = "deny", .meaning = "ops that do not, allowed or not", .forms = kPatterns},
};
constexpr ConfigObject kFallbackOps = {
    .name = "fallback_ops", .meaning = "for which ops a type falls back", .keys = kFallbackOpsKeys};
constexpr ConfigForm kFallbackOpsForm[] = {{.type = Type::Object, .object = &kFallbackOps}};
constexpr ConfigKey kTypeKeys[] = {
    {.name = "fallback",
     .meaning = "what happens when no override or handler of the type handles an op; the type's "
                "own fallback when left out",
     .forms = kFallbackForm},
    {.name = "fallback_ops", .meaning = kFallbackOps.meaning, .forms = kFallbackOpsForm},
    {.name = "covers",
     .meaning = "the ops that the type is meant for; `tenon coverage` lists no others",
     .forms = kPatterns},
};
constexpr ConfigObject kType = {
    .name = "type", .meaning = "how a tensor type is treated", .keys = kTypeKeys};
constexpr ConfigForm kTypeEntry[] = {{.type = Type::Object, .object = &kType}};
constexpr ConfigForm kTypesForm[] = {
    {.type = Type::Map, .text = Text::Name, .elements = kTypeEntry}};

// ---- data ----

constexpr Names kFormats = {"csv", "npy"};
constexpr ConfigForm kFormat[] = {{.type = Type::Text, .text = Text::Choice, .choices = kFormats}};
constexpr ConfigForm kColumn[] = {{.type = Type::Int, .low = -kMaxConfigInt, .high = kMaxConfigInt},
                                  {.type = Type::Text}};
constexpr ConfigForm kShape[] = {
    {.type = Type::Array, .elements = kCount, .fewest = 1, .most = 15}};
std::string format_of(const tenon_tree& object) {
  const tenon_tree* path = object.find("path");
  if (path == nullptr || !path->is_string()) return "";
  for (const std::string_view format : kFormats) {
    if (path->as_string().ends_with("." + std::string(format))) return std::string(format);
  }
  return "";
}
constexpr ConfigKey kDataKeys[] = {
    {.name = "path", .meaning = "the file of samples", .forms = kInputPath, .required = true},
    {.name = "format",
     .meaning = "the file's format; decided by its ending when left out",
     .forms = kFormat,
     .derive = format_of},
    {.name = "label_column",
     .meaning = "column of the labels: number (negative: from the end) or name",
     .forms = kColumn,
     .fallback = "-1",
     .variant = "csv"},
    {.name = "header",
     .meaning = "whether the first row names the columns",
     .forms = kBool,
     .fallback = "false",
     .variant = "csv"},
    {.name = "labels",
     .meaning = "the .npy file of labels",
     .forms = kInputPath,
     .required = true,
     .variant = "npy"},
    {.name = "scale",
     .meaning = "what samples are multiplied by",
     .forms = kAnyNumber,
     .fallback = "1.0"},
    {.name = "shape", .meaning = "shape of one sample; flat when left out", .forms = kShape},
};
constexpr ConfigObject kData = {
    .name = "data", .meaning = "labelled samples", .keys = kDataKeys, .variant_key = "format"};
constexpr ConfigForm kDataForm[] = {{.type = Type::Object, .object = &kData}};

constexpr ConfigKey kSplitKeys[] = {
    {.name = "test",
     .meaning = "part of the samples that is held back for testing",
     .forms = kFraction,
     .fallback = "0.2"},
    {.name = "shuffle",
     .meaning = "whether samples are shuffled before the split",
     .forms = kBool,
     .fallback = "true"},
};
constexpr ConfigObject kSplit = {
    .name = "split", .meaning = "how samples are divided", .keys = kSplitKeys};
constexpr ConfigForm kSplitForm[] = {{.type = Type::Object, .object = &kSplit}};

// ---- model, loss, optimizer ----

extern const ConfigObject kModule;
constexpr ConfigForm kModuleForm[] = {{.type = Type::Object, .object = &kModule}};
constexpr ConfigForm kLayers[] = {{.type = Type::Array, .elements = kModuleForm}};
constexpr ConfigKey kModuleKeys[] = {
    {.name = "type", .meaning = "name of the module type", .forms = kName, .required = true},
    {.name = "layers", .meaning = "modules inside it, in order", .forms = kLayers},
};
constexpr ConfigObject kModule = {
    .name = "module",
    .meaning = "a module: its type, and its attributes by name",
    .keys = kModuleKeys,
    .open = true,
    .shorthand = [](std::string_view) { return std::string_view("type"); }};

constexpr ConfigKey kLossKeys[] = {
    {.name = "op", .meaning = "op called with output and target", .forms = kName, .required = true},
    {.name = "options",
     .meaning = "more arguments of the op, by name",
     .forms = kFree,
     .fallback = "{}"},
};
constexpr ConfigObject kLoss = {
    .name = "loss",
    .meaning = "loss function to minimize",
    .keys = kLossKeys,
    .shorthand = [](std::string_view) { return std::string_view("op"); }};
constexpr ConfigForm kLossForm[] = {{.type = Type::Object, .object = &kLoss}};

constexpr Names kOptimizers = {"sgd", "adam"};
constexpr ConfigForm kOptimizerType[] = {
    {.type = Type::Text, .text = Text::Choice, .choices = kOptimizers}};
constexpr ConfigForm kBetas[] = {
    {.type = Type::Array, .elements = kFraction, .fewest = 2, .most = 2}};
constexpr ConfigKey kOptimizerKeys[] = {
    {.name = "type", .meaning = "the rule", .forms = kOptimizerType, .required = true},
    {.name = "learning_rate", .meaning = "size of a step", .forms = kPositive, .required = true},
    {.name = "momentum",
     .meaning = "part of the last step that is kept",
     .forms = kFraction,
     .fallback = "0.0",
     .variant = "sgd"},
    {.name = "betas",
     .meaning = "decay of the running mean and of the running square",
     .forms = kBetas,
     .fallback = "[0.9, 0.999]",
     .variant = "adam"},
    {.name = "epsilon",
     .meaning = "keeps the division finite",
     .forms = kPositive,
     .fallback = "1e-8",
     .variant = "adam"},
    {.name = "weight_decay", .meaning = "weight decay", .forms = kNotNegative, .fallback = "0.0"},
};
constexpr ConfigObject kOptimizer = {.name = "optimizer",
                                     .meaning = "how gradients change the weights",
                                     .keys = kOptimizerKeys,
                                     .variant_key = "type"};
constexpr ConfigForm kOptimizerForm[] = {{.type = Type::Object, .object = &kOptimizer}};

// ---- training and output ----

constexpr Names kSchedules = {"constant", "cosine"};
constexpr ConfigForm kSchedule[] = {
    {.type = Type::Text, .text = Text::Choice, .choices = kSchedules}};
constexpr ConfigKey kTrainingKeys[] = {
    {.name = "epochs",
     .meaning = "passes over the training samples",
     .forms = kCount,
     .required = true},
    {.name = "batch_size", .meaning = "samples in one step", .forms = kCount, .fallback = "64"},
    {.name = "schedule",
     .meaning = "learning-rate schedule",
     .forms = kSchedule,
     .fallback = "\"constant\""},
};
constexpr ConfigObject kTraining = {
    .name = "training", .meaning = "how long and in which steps to train", .keys = kTrainingKeys};
constexpr ConfigForm kTrainingForm[] = {{.type = Type::Object, .object = &kTraining}};

constexpr ConfigKey kOutputKeys[] = {
    {.name = "weights", .meaning = "safetensors file of the trained weights", .forms = kOutputPath},
    {.name = "plot", .meaning = "SVG file of the learning curve", .forms = kOutputPath},
};
constexpr ConfigObject kOutput = {
    .name = "output", .meaning = "files that a run writes", .keys = kOutputKeys};
constexpr ConfigForm kOutputForm[] = {{.type = Type::Object, .object = &kOutput}};

// ---- the whole ----

constexpr ConfigForm kSchemaVersion[] = {{.type = Type::Int, .low = 1, .high = 1}};
constexpr ConfigForm kSeed[] = {{.type = Type::Int, .low = 0, .high = kMaxConfigInt}};
constexpr ConfigForm kThreads[] = {{.type = Type::Int, .low = 1, .high = 1024}};
constexpr Names kNeedsData = {"data"};
constexpr Names kNeedsModel = {"model"};
constexpr Names kNeedsAll = {"data", "model", "loss", "optimizer"};
constexpr ConfigKey kRootKeys[] = {
    {.name = "$schema", .meaning = "where editors find the schema of this file", .forms = kText},
    {.name = "schema_version",
     .meaning = "version of this format",
     .forms = kSchemaVersion,
     .required = true},
    {.name = "plugins", .meaning = "the plugins to use", .forms = kPlugins, .fallback = "[]"},
    {.name = "search_paths",
     .meaning = "folders in which plugins are looked for first",
     .forms = kInputPaths,
     .fallback = "[]"},
    {.name = "ops", .meaning = kOps.meaning, .forms = kOpsForm, .fallback = "{}"},
    {.name = "types", .meaning = "name of a tensor type -> how it is treated", .forms = kTypesForm},
    {.name = "strict",
     .meaning = "whether plugins are refused that register what is only warned of otherwise: "
                "ambiguous overrides, overrides of ops of others for types of others",
     .forms = kBool},
    {.name = "autoload",
     .meaning = "whether plugins in folders are used without being named in \"plugins\"; true when "
                "left out",
     .forms = kBool},
    {.name = "seed",
     .meaning = "random seed; the same seed and number of threads give the same run",
     .forms = kSeed,
     .fallback = "0"},
    {.name = "threads", .meaning = "threads to compute with; all when left out", .forms = kThreads},
    {.name = "data", .meaning = kData.meaning, .forms = kDataForm},
    {.name = "split",
     .meaning = kSplit.meaning,
     .forms = kSplitForm,
     .fallback = "{}",
     .needs = kNeedsData},
    {.name = "model", .meaning = "the module to train or evaluate", .forms = kModuleForm},
    {.name = "loss", .meaning = kLoss.meaning, .forms = kLossForm, .needs = kNeedsModel},
    {.name = "optimizer",
     .meaning = kOptimizer.meaning,
     .forms = kOptimizerForm,
     .needs = kNeedsModel},
    {.name = "training", .meaning = kTraining.meaning, .forms = kTrainingForm, .needs = kNeedsAll},
    {.name = "output", .meaning = kOutput.meaning, .forms = kOutputForm, .needs = kNeedsModel},
};
constexpr ConfigObject kRoot = {.name = "config",
                                .meaning = "A Tenon config: plugins, and what to do with them",
                                .keys = kRootKeys};

}  // namespace

const ConfigObject& config_table() { return kRoot; }

}  // namespace tenon::core

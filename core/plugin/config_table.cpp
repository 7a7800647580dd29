// The keys of the config, and the JSON Schema made from them.
#include "core/plugin/config_table.hpp"

#include <cmath>
#include <vector>

#include "core/base/text.hpp"

namespace tenon::core {

namespace {

using Type = ConfigType;
using Text = ConfigText;
using Names = std::string_view[];

constexpr double kMaxInt = 9007199254740992.0;  // what every JSON reader keeps exactly

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
constexpr ConfigForm kCount[] = {{.type = Type::Int, .low = 1, .high = kMaxInt}};
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
  return text.find('/') != std::string_view::npos || text.ends_with(".so") ? "path" : "name";
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
constexpr ConfigForm kColumn[] = {{.type = Type::Int, .low = -kMaxInt, .high = kMaxInt},
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
constexpr ConfigForm kSeed[] = {{.type = Type::Int, .low = 0, .high = kMaxInt}};
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

std::string number_text(double number) {
  if (std::fabs(number) < 1e15 && number == std::floor(number)) {
    return std::to_string(static_cast<int64_t>(number));
  }
  return float_text(number);
}

// " from 1 to 1024", " above 0", " of at least 0 and below 1"; bounds of kMaxInt are not worth a
// word.
std::string range_text(const ConfigForm& form) {
  const bool low = form.low > -kMaxInt;
  const bool high = form.high < kMaxInt;
  if (low && high && form.low == form.high) return " equal to " + number_text(form.low);
  if (low && high && !form.above_low && !form.below_high) {
    return " from " + number_text(form.low) + " to " + number_text(form.high);
  }
  std::string text;
  if (low) text += (form.above_low ? " above " : " of at least ") + number_text(form.low);
  if (low && high) text += " and";
  if (high) text += (form.below_high ? " below " : " of at most ") + number_text(form.high);
  return text;
}

std::string text_wanted(const ConfigForm& form) {
  switch (form.text) {
    case Text::Any:
      return "a string";
    case Text::Choice:
      return quoted_list(form.choices, "or");
    case Text::InputPath:
    case Text::OutputPath:
      return "a path";
    case Text::PluginId:
      return "a plugin id like 'math'";
    case Text::PluginPath:
      return "the path of a plugin";
    case Text::Name:
      return "a name like 'relu' or 'nn.functional.relu'";
    case Text::Pattern:
      return "a name or pattern like 'nn.functional.*'";
    case Text::Version:
      return "a version range like '>=1.2, <2'";
    case Text::Sha256:
      return "a SHA-256 hash of 64 hexadecimal digits";
  }
  return "a string";
}

// ---- JSON Schema ----

// What the reader enforces by code, as regular expressions for editors.
std::string_view text_pattern(Text text) {
  switch (text) {
    case Text::PluginId:
      return "^[A-Za-z0-9_][A-Za-z0-9_.-]*$";
    case Text::Name:
      return "^[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*$";
    case Text::Pattern:
      return "^[A-Za-z0-9_.*]+(\\[[A-Za-z0-9_.*, ]+\\])?$";
    case Text::Sha256:
      return "^[0-9A-Fa-f]{64}$";
    default:
      return "";
  }
}

void put_number(TreeBuilder& out, std::string_view name, double number) {
  if (number == std::floor(number)) {
    out.member(name, static_cast<int64_t>(number));
  } else {
    out.member(name, number);
  }
}

void put_forms(TreeBuilder& out, std::span<const ConfigForm> forms);

// The members that describe one form, into an object that is open.
void put_form(TreeBuilder& out, const ConfigForm& form) {
  switch (form.type) {
    case Type::Bool:
      out.member("type", "boolean");
      break;
    case Type::Int:
    case Type::Number:
      out.member("type", form.type == Type::Int ? "integer" : "number");
      if (form.low > -kMaxInt)
        put_number(out, form.above_low ? "exclusiveMinimum" : "minimum", form.low);
      if (form.high < kMaxInt)
        put_number(out, form.below_high ? "exclusiveMaximum" : "maximum", form.high);
      break;
    case Type::Text:
      out.member("type", "string");
      if (form.text == Text::Choice) {
        out.key("enum").begin_array();
        for (const std::string_view choice : form.choices) out.value(choice);
        out.end_array();
      } else if (!text_pattern(form.text).empty()) {
        out.member("pattern", text_pattern(form.text));
      } else if (form.text != Text::Any) {
        out.member("minLength", 1);
      }
      break;
    case Type::Object:
      out.member("$ref", "#/definitions/" + std::string(form.object->name));
      break;
    case Type::Map:
      out.member("type", "object");
      out.key("propertyNames")
          .begin_object()
          .member("pattern", text_pattern(form.text))
          .end_object();
      out.key("additionalProperties").begin_object();
      put_forms(out, form.elements);
      out.end_object();
      break;
    case Type::Array:
      out.member("type", "array");
      out.key("items").begin_object();
      put_forms(out, form.elements);
      out.end_object();
      if (form.fewest > 0) out.member("minItems", form.fewest);
      if (form.most < std::numeric_limits<int64_t>::max()) out.member("maxItems", form.most);
      break;
    case Type::Free:
      out.member("type", "object");
      break;
  }
}

void put_forms(TreeBuilder& out, std::span<const ConfigForm> forms) {
  if (forms.size() == 1) return put_form(out, forms.front());
  out.key("anyOf").begin_array();
  for (const ConfigForm& form : forms) {
    out.begin_object();
    put_form(out, form);
    out.end_object();
  }
  out.end_array();
}

// The object with the keys of one variant.
void put_object(TreeBuilder& out, const ConfigObject& object, std::string_view variant) {
  const auto belongs = [&](const ConfigKey& key) {
    return key.variant.empty() || key.variant == variant;
  };
  out.member("type", "object").member("description", object.meaning);
  out.key("properties").begin_object();
  for (const ConfigKey& key : object.keys) {
    if (!belongs(key)) continue;
    out.key(key.name).begin_object();
    const bool chooser = !variant.empty() && key.name == object.variant_key;
    // Draft 7 ignores what is beside $ref.
    const bool reference = key.forms.size() == 1 && key.forms.front().type == Type::Object;
    if (chooser) {
      out.member("const", variant);
    } else if (reference) {
      out.key("allOf").begin_array().begin_object();
      put_forms(out, key.forms);
      out.end_object().end_array();
    } else {
      put_forms(out, key.forms);
    }
    out.member("description", key.meaning);
    if (!key.fallback.empty()) out.key("default").copy(*parse_tree(key.fallback), false);
    out.end_object();
  }
  out.end_object();
  bool any_required = false;
  bool any_needs = false;
  for (const ConfigKey& key : object.keys) {
    any_required = any_required || (key.required && belongs(key));
    any_needs = any_needs || !key.needs.empty();
  }
  if (any_required) {
    out.key("required").begin_array();
    for (const ConfigKey& key : object.keys) {
      if (key.required && belongs(key)) out.value(key.name);
    }
    out.end_array();
  }
  if (any_needs) {
    out.key("dependencies").begin_object();
    for (const ConfigKey& key : object.keys) {
      if (key.needs.empty()) continue;
      out.key(key.name).begin_array();
      for (const std::string_view need : key.needs) out.value(need);
      out.end_array();
    }
    out.end_object();
  }
  out.member("additionalProperties", object.open);
}

std::span<const std::string_view> variants_of(const ConfigObject& object) {
  for (const ConfigKey& key : object.keys) {
    if (key.name == object.variant_key) return key.forms.front().choices;
  }
  return {};
}

void put_definition(TreeBuilder& out, const ConfigObject& object) {
  const auto variants = variants_of(object);
  if (object.shorthand == nullptr && variants.empty()) return put_object(out, object, "");
  out.key(variants.empty() ? "anyOf" : "oneOf").begin_array();
  if (object.shorthand != nullptr) {
    out.begin_object().member("type", "string").member("minLength", 1).end_object();
  }
  if (variants.empty()) {
    out.begin_object();
    put_object(out, object, "");
    out.end_object();
  }
  for (const std::string_view variant : variants) {
    out.begin_object();
    put_object(out, object, variant);
    out.end_object();
  }
  out.end_array();
}

void collect_objects(std::span<const ConfigForm> forms, std::vector<const ConfigObject*>& objects) {
  for (const ConfigForm& form : forms) {
    collect_objects(form.elements, objects);
    if (form.object == nullptr) continue;
    bool known = false;
    for (const ConfigObject* object : objects) known = known || object == form.object;
    if (known) continue;
    objects.push_back(form.object);
    for (const ConfigKey& key : form.object->keys) collect_objects(key.forms, objects);
  }
}

}  // namespace

const ConfigObject& config_table() { return kRoot; }

std::string expected_text(const ConfigForm& form) {
  switch (form.type) {
    case Type::Bool:
      return "true or false";
    case Type::Int:
      return "an integer" + range_text(form);
    case Type::Number:
      return "a number" + range_text(form);
    case Type::Text:
      return text_wanted(form);
    case Type::Object:
      return form.object->shorthand == nullptr ? "an object" : "a string or an object";
    case Type::Array: {
      std::string text = "an array";
      if (form.fewest == form.most) text += " of " + std::to_string(form.most);
      if (form.fewest != form.most && form.fewest > 0) {
        text += " of " + std::to_string(form.fewest) + " to " + std::to_string(form.most);
      }
      return text;
    }
    case Type::Map:
    case Type::Free:
      return "an object";
  }
  return "";
}

std::string expected_text(std::span<const ConfigForm> forms) {
  std::vector<std::string> texts;
  for (const ConfigForm& form : forms) texts.push_back(expected_text(form));
  const Words words(texts.begin(), texts.end());
  return word_list(words, "or");
}

std::string config_schema_json() {
  std::vector<const ConfigObject*> objects;
  for (const ConfigKey& key : kRoot.keys) collect_objects(key.forms, objects);
  TreeBuilder out;
  out.begin_object().member("$schema", "http://json-schema.org/draft-07/schema#");
  out.member("title", "Tenon config");
  put_object(out, kRoot, "");
  out.key("definitions").begin_object();
  for (const ConfigObject* object : objects) {
    out.key(object->name).begin_object();
    put_definition(out, *object);
    out.end_object();
  }
  out.end_object().end_object();
  return json(*out.finish(), 2) + "\n";
}

}  // namespace tenon::core

// The keys of the config.
#include "core/plugin/config_table.hpp"

namespace tenon::core {

namespace {

using Type = ConfigType;
using Text = ConfigText;
using Names = std::string_view[];

constexpr ConfigSchema kBool[] = {{.type = Type::Bool}};
constexpr ConfigSchema kText[] = {{.type = Type::Text}};
constexpr ConfigSchema kInputPath[] = {{.type = Type::Text, .text = Text::InputPath}};
constexpr ConfigSchema kPluginId[] = {{.type = Type::Text, .text = Text::PluginId}};
constexpr ConfigSchema kPluginPath[] = {{.type = Type::Text, .text = Text::PluginPath}};
constexpr ConfigSchema kPattern[] = {{.type = Type::Text, .text = Text::Pattern}};
constexpr ConfigSchema kVersion[] = {{.type = Type::Text, .text = Text::Version}};
constexpr ConfigSchema kSha256[] = {{.type = Type::Text, .text = Text::Sha256}};
constexpr ConfigSchema kFree[] = {{.type = Type::Free}};
constexpr ConfigSchema kInputPaths[] = {{.type = Type::Array, .elements = kInputPath}};

// ---- plugins and ops ----

constexpr Names kLoadModes = {"lazy", "eager", "never"};
constexpr ConfigSchema kLoad[] = {
    {.type = Type::Text, .text = Text::Choice, .choices = kLoadModes}};
constexpr ConfigKey kPluginKeys[] = {
    {.name = "name",
     .meaning = "id of the plugin, or one version of it, 'cube@1.2.0'; looked for in the search "
                "folders",
     .schemas = kPluginId},
    {.name = "path",
     .meaning = "its file, when it is not in a search folder",
     .schemas = kPluginPath},
    {.name = "version",
     .meaning = "accepted versions, for example '>=1.2, <2' or '1.2'",
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
constexpr ConfigObject kPlugin = {.name = "plugin",
                                  .meaning = "a plugin, by id or by path",
                                  .keys = kPluginKeys,
                                  .shorthand = "name",
                                  .path_shorthand = "path",
                                  .examples = R"([
    {"name": "blas", "version": ">=0.1, <1", "load": "eager", "require": false},
    {"path": "./my_ops.so", "options": {"device": 0}, "glue": true,
     "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}])"};
constexpr ConfigSchema kPluginEntry[] = {{.type = Type::Object, .object = &kPlugin}};
constexpr ConfigSchema kPlugins[] = {{.type = Type::Array, .elements = kPluginEntry}};

constexpr ConfigKey kDisableKeys[] = {
    {.name = "op",
     .meaning = "name or pattern of ops, or of single overrides: 'add[TypeA, TypeB]'",
     .schemas = kPattern,
     .required = true},
    {.name = "plugin", .meaning = "only what this plugin provides", .schemas = kPluginId},
};
constexpr ConfigObject kDisable = {.name = "disable",
                                   .meaning = "ops that are switched off",
                                   .keys = kDisableKeys,
                                   .shorthand = "op",
                                   .examples = R"([{"op": "nn.*", "plugin": "my_ops"}])"};
constexpr ConfigSchema kDisableEntry[] = {{.type = Type::Object, .object = &kDisable}};
constexpr ConfigSchema kDisableList[] = {{.type = Type::Array, .elements = kDisableEntry}};
constexpr ConfigSchema kShapeClass[] = {{.type = Type::Text, .text = Text::ShapeClass}};
constexpr ConfigSchema kWhen[] = {{.type = Type::Map, .text = Text::Name, .elements = kShapeClass}};
constexpr ConfigKey kPreferenceKeys[] = {
    {.name = "plugin",
     .meaning = "the plugin whose implementation is taken, or of calls asked first",
     .schemas = kPluginId,
     .required = true},
    {.name = "when",
     .meaning = "for calls with such operands alone: parameter -> class of shapes; without it the "
                "plugin is ranked first for all",
     .schemas = kWhen},
};
constexpr ConfigObject kPreference = {
    .name = "preference",
    .meaning = "a preference, for all calls or for some",
    .keys = kPreferenceKeys,
    .shorthand = "plugin",
    .examples = R"([{"plugin": "blas", "when": {"input": "f32[64..127, 784]", "mat2": "[*, ..15]"}},
                     "dnnl"])"};
constexpr ConfigSchema kPreferenceEntry[] = {{.type = Type::Object, .object = &kPreference}};
constexpr ConfigSchema kPreferences[] = {
    {.type = Type::Text, .text = Text::PluginId},
    {.type = Type::Array, .elements = kPreferenceEntry, .fewest = 1}};
constexpr ConfigSchema kPrefer[] = {
    {.type = Type::Map, .text = Text::Pattern, .elements = kPreferences}};
constexpr Names kDuplicateChoices = {"error", "first", "last"};
constexpr ConfigSchema kDuplicates[] = {
    {.type = Type::Text, .text = Text::Choice, .choices = kDuplicateChoices}};
constexpr ConfigKey kOpsKeys[] = {
    {.name = "prefer",
     .meaning = "op, override or pattern -> the plugin whose implementation is taken, or a list of "
                "preferences by shapes; the first that matches decides",
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
constexpr ConfigObject kOps = {.name = "ops",
                               .meaning = "ranking and switching off of ops",
                               .keys = kOpsKeys,
                               .examples = R"([{"prefer": {"add": "math", "nn.functional.*": "nn",
                                "mm": [{"plugin": "blas", "when": {"input": "f32[..64, *]"}}]},
                     "disable": ["exp2"],
                     "duplicates": "first"}])"};
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
    .name = "fallback_ops",
    .meaning = "for which ops a type falls back",
    .keys = kFallbackOpsKeys,
    .examples = R"([{"allow": ["nn.*"], "deny": ["nn.functional.dropout"]}])"};
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
    .name = "type",
    .meaning = "how a tensor type is treated",
    .keys = kTypeKeys,
    .examples = R"([{"fallback": "to_tensor", "fallback_ops": {"allow": ["nn.*"]},
                     "covers": ["add", "mm"]}])"};
constexpr ConfigSchema kTypeEntry[] = {{.type = Type::Object, .object = &kType}};
constexpr ConfigSchema kTypesForm[] = {
    {.type = Type::Map, .text = Text::Name, .elements = kTypeEntry}};

// ---- who may provide what ----

constexpr ConfigSchema kPluginIds[] = {{.type = Type::Array, .elements = kPluginId}};
constexpr ConfigSchema kPublicKey[] = {{.type = Type::Text, .text = Text::PublicKey}};
constexpr ConfigSchema kNamespace[] = {{.type = Type::Text, .text = Text::Namespace}};
constexpr ConfigSchema kNamespaces[] = {{.type = Type::Array, .elements = kNamespace, .fewest = 1}};
constexpr ConfigKey kKeyKeys[] = {
    {.name = "key",
     .meaning = "public key, as minisign writes it: 'RW' and 54 characters",
     .schemas = kPublicKey,
     .required = true},
    {.name = "namespaces",
     .meaning = "a plugin that declares something in one of them, or whose id is in it, must be "
                "signed with this key, or with another that is bound to it: 'acme' is acme and "
                "all names below it, '*' stands for any text",
     .schemas = kNamespaces,
     .required = true},
};
constexpr ConfigObject kKey = {
    .name = "key",
    .meaning = "a key that signs plugins, bound to namespaces",
    .keys = kKeyKeys,
    .examples = R"([{"key": "RWSZLSa+OfoLl3ptRuAod4HRG0HjTRJ7r+rGkBNGRpYpE7CONpusoHAs",
                     "namespaces": ["math", "acme."]}])"};
constexpr ConfigSchema kKeyEntry[] = {{.type = Type::Object, .object = &kKey}};
constexpr ConfigSchema kKeys[] = {{.type = Type::Array, .elements = kKeyEntry}};

// ---- the whole ----

constexpr ConfigSchema kSchemaVersion[] = {{.type = Type::Int, .low = 1, .high = 1}};
constexpr ConfigSchema kSeed[] = {{.type = Type::Int, .low = 0, .high = kMaxConfigInt}};
constexpr ConfigSchema kThreads[] = {{.type = Type::Int, .low = 1, .high = 1024}};
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
    {.name = "frozen",
     .meaning = "lock file, as `tenon lock` writes it: only what it has may be loaded, and only as "
                "it is locked",
     .schemas = kInputPath},
    {.name = "trust",
     .meaning = "plugin files, and folders of them, that are used although other users can change "
                "them",
     .schemas = kInputPaths},
    {.name = "keys",
     .meaning = "keys by which plugins must be signed, each with the namespaces it is for",
     .schemas = kKeys},
    {.name = "quarantine",
     .meaning = "whether plugins that crash while they are loaded are kept out until they change; "
                "true when left out",
     .schemas = kBool},
    {.name = "retry",
     .meaning = "ids of plugins that are taken out of quarantine",
     .schemas = kPluginIds},
    {.name = "seed",
     .meaning = "random seed; the same seed gives the same run, for any number of threads",
     .schemas = kSeed,
     .fallback = "0"},
    {.name = "threads",
     .meaning = "threads to compute with; all when left out",
     .schemas = kThreads},
};
constexpr ConfigObject kRoot = {.name = "config",
                                .meaning = "A Tenon config: plugins, and what to do with them",
                                .keys = kRootKeys,
                                .examples = R"([
    {"$schema": "config.schema.json", "schema_version": 1, "plugins": ["math", "./my_ops.so"],
     "search_paths": ["plugins"], "ops": {"prefer": {"add": "math"}},
     "types": {"ScalarTensor": {"fallback": "to_tensor"}}, "strict": true, "autoload": true,
     "frozen": "tenon.lock", "trust": ["/opt/shared/plugins"],
     "keys": [{"key": "RWSZLSa+OfoLl3ptRuAod4HRG0HjTRJ7r+rGkBNGRpYpE7CONpusoHAs",
               "namespaces": ["acme."]}],
     "quarantine": true, "retry": ["hello"], "seed": 7, "threads": 4}])"};

}  // namespace

const ConfigObject& config_table() { return kRoot; }

}  // namespace tenon::core

// The keys of Tenon itself, as JSON Schema. Their order is that of messages and of editors.
#pragma once

#include <string_view>

#include <tenon/json.hpp>

TENON_NAMESPACE_BEGIN

namespace config {

// JSON Schema of a whole config with an application's sections; undefined ones leave the top open.
// ValueError where a section has a key or definition of Tenon.
Json whole_schema(const Json& sections);

inline constexpr std::string_view kFileSections = R"({
  "properties": {
    "$schema": {"type": "string", "description": "where editors find the schema of this file"},
    "schema_version": {"type": "integer", "minimum": 1, "maximum": 1,
                       "description": "version of this format"}
  },
  "required": ["schema_version"],
  "examples": [{"$schema": "config.schema.json", "schema_version": 1}]
})";

inline constexpr std::string_view kPluginSections = R"({
  "properties": {
    "plugins": {"type": "array", "items": {"$ref": "#/definitions/plugin"},
                "description": "the plugins to use", "default": []},
    "search_paths": {"type": "array", "items": {"type": "string", "format": "input-path"},
                     "description": "folders in which plugins are looked for first", "default": []},
    "ops": {"$ref": "#/definitions/ops", "description": "ranking and switching off of ops",
            "default": {}},
    "rewrites": {"$ref": "#/definitions/rewrites",
                 "description": "ranking and switching off of rewrites, by which prepared models replace calls"},
    "types": {"type": "object", "propertyNames": {"format": "name"},
              "additionalProperties": {"$ref": "#/definitions/type"},
              "description": "name of a tensor type -> how it is treated"},
    "strict": {"type": "boolean",
               "description": "whether plugins are refused that register what is only warned of otherwise: ambiguous overrides, overrides of ops of others for types of others"},
    "autoload": {"type": "boolean",
                 "description": "whether plugins in folders are used without being named in \"plugins\"; true when left out"}
  },
  "definitions": {
    "plugin": {
      "type": "object",
      "description": "a plugin, by id or by path",
      "properties": {
        "name": {"type": "string", "format": "plugin-id",
                 "description": "id of the plugin, or one version of it, 'cube@1.2.0'; looked for in the search folders"},
        "path": {"type": "string", "format": "plugin-path",
                 "description": "its file, when it is not in a search folder"},
        "version": {"type": "string", "format": "version-range",
                    "description": "accepted versions, for example '>=1.2, <2' or '1.2'"},
        "options": {"type": "object", "description": "handed to the plugin when it starts"},
        "sha256": {"type": "string", "format": "sha256", "description": "hash that the file must have"},
        "load": {"type": "string", "enum": ["lazy", "eager", "never"],
                 "description": "when its code is loaded: at the first use, at once, or not at all",
                 "default": "lazy"},
        "require": {"type": "boolean",
                    "description": "whether it is an error when the plugin is missing",
                    "default": true},
        "glue": {"type": "boolean",
                 "description": "whether it may override ops of others for types of others, to join them"}
      },
      "additionalProperties": false,
      "examples": [
        {"name": "blas", "version": ">=0.1, <1", "load": "eager", "require": false},
        {"path": "./my_ops.so", "options": {"device": 0}, "glue": true,
         "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}],
      "shorthand": "name",
      "path_shorthand": "path"
    },
    "ops": {
      "type": "object",
      "description": "ranking and switching off of ops",
      "properties": {
        "prefer": {"type": "object", "propertyNames": {"format": "pattern"},
                   "additionalProperties": {
                     "anyOf": [{"type": "string", "format": "plugin-id"},
                               {"type": "array", "items": {"$ref": "#/definitions/preference"},
                                "minItems": 1}]},
                   "description": "op, override or pattern -> the plugin whose implementation is taken, or a list of preferences by shapes; the first that matches decides",
                   "default": {}},
        "disable": {"type": "array", "items": {"$ref": "#/definitions/disable"},
                    "description": "ops, overrides or patterns that are switched off", "default": []},
        "duplicates": {"type": "string", "enum": ["error", "first", "last"],
                       "description": "which plugin wins when several provide the same name and no preference decides: 'error' (default), 'first' or 'last'"}
      },
      "additionalProperties": false,
      "examples": [{"prefer": {"add": "math", "nn.functional.*": "nn",
                               "mm": [{"plugin": "blas", "when": {"input": "f32[..64, *]"}}]},
                    "disable": ["exp2"], "duplicates": "first"}]
    },
    "preference": {
      "type": "object",
      "description": "a preference, for all calls or for some",
      "properties": {
        "plugin": {"type": "string", "format": "plugin-id",
                   "description": "the plugin whose implementation is taken, or of calls asked first"},
        "when": {"type": "object", "propertyNames": {"format": "name"},
                 "additionalProperties": {"type": "string", "format": "shape-class"},
                 "description": "for calls with such operands alone: parameter -> class of shapes; without it the plugin is ranked first for all"}
      },
      "required": ["plugin"],
      "additionalProperties": false,
      "examples": [{"plugin": "blas", "when": {"input": "f32[64..127, 784]", "mat2": "[*, ..15]"}},
                   "dnnl"],
      "shorthand": "plugin"
    },
    "disable": {
      "type": "object",
      "description": "ops that are switched off",
      "properties": {
        "op": {"type": "string", "format": "pattern",
               "description": "name or pattern of ops, or of single overrides: 'add[TypeA, TypeB]'"},
        "plugin": {"type": "string", "format": "plugin-id",
                   "description": "only what this plugin provides"}
      },
      "required": ["op"],
      "additionalProperties": false,
      "examples": [{"op": "nn.*", "plugin": "my_ops"}],
      "shorthand": "op"
    },
    "rewrites": {
      "type": "object",
      "description": "ranking and switching off of rewrites",
      "properties": {
        "prefer": {"type": "array", "items": {"type": "string", "format": "pattern"},
                   "description": "rules or patterns that are tried before all others, in this order"},
        "disable": {"type": "array", "items": {"type": "string", "format": "pattern"},
                    "description": "rules or patterns that are switched off"},
        "enabled": {"type": "boolean",
                    "description": "whether any rule is used; true when left out"}
      },
      "additionalProperties": false,
      "examples": [{"prefer": ["dnnl.*"], "disable": ["nn.gelu"], "enabled": true}]
    },
    "type": {
      "type": "object",
      "description": "how a tensor type is treated",
      "properties": {
        "fallback": {"type": "string", "enum": ["decline", "to_tensor", "unwrap_rewrap"],
                     "description": "what happens when no override or handler of the type handles an op; the type's own fallback when left out"},
        "fallback_ops": {"$ref": "#/definitions/fallback_ops",
                         "description": "for which ops a type falls back"},
        "covers": {"type": "array", "items": {"type": "string", "format": "pattern"},
                   "description": "the ops that the type is meant for; `tenon coverage` lists no others"}
      },
      "additionalProperties": false,
      "examples": [{"fallback": "to_tensor", "fallback_ops": {"allow": ["nn.*"]},
                    "covers": ["add", "mm"]}]
    },
    "fallback_ops": {
      "type": "object",
      "description": "for which ops a type falls back",
      "properties": {
        "allow": {"type": "array", "items": {"type": "string", "format": "pattern"},
                  "description": "ops that fall back; all when left out"},
        "deny": {"type": "array", "items": {"type": "string", "format": "pattern"},
                 "description": "ops that do not, allowed or not"}
      },
      "additionalProperties": false,
      "examples": [{"allow": ["nn.*"], "deny": ["nn.functional.dropout"]}]
    }
  },
  "examples": [
    {"plugins": ["math", "./my_ops.so"], "search_paths": ["plugins"],
     "ops": {"prefer": {"add": "math"}}, "rewrites": {"disable": ["nn.gelu"]}, "types": {"ScalarTensor": {"fallback": "to_tensor"}},
     "strict": true, "autoload": true}]
})";

inline constexpr std::string_view kRunSections = R"({
  "properties": {
    "seed": {"type": "integer", "minimum": 0,
             "description": "random seed; the same seed gives the same run, for any number of threads",
             "default": 0},
    "threads": {"type": "integer", "minimum": 1, "maximum": 1024,
                "description": "threads to compute with; all when left out"}
  },
  "examples": [{"seed": 7, "threads": 4}]
})";

}  // namespace config

TENON_NAMESPACE_END

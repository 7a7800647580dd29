// Configs: files that say which plugins are used and how, and hold sections of the application.
//
//   const tenon::Json config = tenon::config::read("app.json");
//   tenon::config::apply(config);
//
// A config is JSON; besides it may have comments, // and /* */, and a comma behind the last element
// of a list or object. The smallest one is {"schema_version": 1}; `tenon docs` prints every key with
// its range, default and meaning.
#pragma once

#include <string>
#include <string_view>

#include "tenon/json.hpp"
#include "tenon/runtime.hpp"

TENON_NAMESPACE_BEGIN

namespace config {

// Reads, checks and normalizes: defaults filled in, short forms written out, paths absolute
// (relative ones start at the config's folder). Nodes keep their places, for later messages. Runs no
// plugin code. "-" is standard input, with paths relative to the current folder.
//
// `sections`: JSON Schema of keys that the application adds. Its "properties" become keys of the
// config's top, and any key that neither it nor Tenon knows is a fault. The subset: type (boolean,
// integer, number, string, array, object), minimum, maximum, exclusiveMinimum, exclusiveMaximum,
// enum, items, minItems, maxItems, anyOf, properties, propertyNames, required, dependencies,
// additionalProperties, default, description, examples, and $ref to "#/definitions/NAME". The format
// of a string may be "name", "input-path" or "output-path"; "shorthand" of an object is the key that
// a bare string stands for. ValueError with the place of anything else. Without sections, keys that
// Tenon does not know are left to the application, unless they are nearly a key of Tenon.
//
// Throws IOError when the file cannot be read or is not a regular file, else ConfigError, whose
// message is
//   FILE:LINE:COLUMN: /json/pointer: what was found, expected what (did you mean 'x'?)
// for one fault, and "config 'FILE' has 3 faults:" with one such line for each, in the file's
// order, for several. Text that is not JSON is a single fault. [any-thread]
Json read(const std::string& path, const Json& sections = {});
// Reads a text. `file` is for messages; relative paths start at `folder`.
Json parse(std::string_view text, const std::string& file, const std::string& folder,
           const Json& sections = {});

// JSON Schema (draft 7) of configs with these sections, for editors. [any-thread]
Json schema(const Json& sections = {});

// The part of a config that the host decides by, see apply_policy. [any-thread]
Json policy(const Json& config);
// Applies that part: plugins, search paths, rules about ops and types. [any-thread]
void apply(const Json& config, EagerPlugins eager = EagerPlugins::load);

}  // namespace config

TENON_NAMESPACE_END

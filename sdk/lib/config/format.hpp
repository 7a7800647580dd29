// Formats: the kinds of texts that a config has, each with its grammar.
#pragma once

#include <cstdint>
#include <string_view>

#include <tenon/host.hpp>

TENON_NAMESPACE_BEGIN

namespace config {

// Normal forms of texts.
enum class Normal : uint8_t {
  same,
  absolute,   // a path that starts at the config's folder
  lower_case  // of hexadecimal digits
};

struct Format {
  std::string_view name;  // in a schema
  // By code, because regular expressions take a stack that grows with the text.
  bool (*fits)(std::string_view text);
  std::string_view pattern;   // a regular expression of ECMAScript for editors; may be empty
  std::string_view expected;  // for messages
  Normal normal = Normal::same;
};

// Null: there is none of the name.
const Format* find_format(std::string_view name);

// Whether a plugin is named by its file: ids hold no '/' and do not end in ".so".
bool is_plugin_path(std::string_view name);

}  // namespace config

TENON_NAMESPACE_END

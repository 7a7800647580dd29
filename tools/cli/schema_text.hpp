// What plan and run read from a schema's text: the parameters, to hold a config's names against.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tenon/tree.hpp>

namespace cli {

struct SchemaParameter {
  std::string type;  // "int", "float?", "int[2]"
  std::string name;
  bool required = false;
};

std::vector<SchemaParameter> schema_parameters(std::string_view schema);

// What is wrong with an object's members as arguments named after these parameters: unknown names,
// missing ones, values of another kind. `given` counts the leading parameters that come from
// elsewhere; keys in `others` are no arguments. Each fault begins with a JSON pointer below
// `place`.
std::vector<std::string> argument_faults(const tenon::Tree& object, const std::string& place,
                                         const std::string& owner,
                                         const std::vector<SchemaParameter>& parameters,
                                         size_t given, const std::vector<std::string>& others);

}  // namespace cli

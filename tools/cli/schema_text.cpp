// Schema texts taken apart as far as checking a config needs.
#include "schema_text.hpp"

#include <algorithm>
#include <cctype>

#include "text.hpp"

namespace cli {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

SchemaParameter parse_parameter(std::string_view part) {
  SchemaParameter parameter;
  const size_t equals = part.find('=');
  parameter.required = equals == std::string_view::npos;
  const std::string_view declared = trimmed(part.substr(0, std::min(equals, part.size())));
  const size_t space = declared.rfind(' ');
  if (space == std::string_view::npos) {
    parameter.name = declared;
  } else {
    parameter.type = trimmed(declared.substr(0, space));
    parameter.name = declared.substr(space + 1);
  }
  return parameter;
}

bool is_integer(const tenon::Tree& value) {
  return value.is_number() && value.json().find_first_of(".eE") == std::string::npos;
}

bool fits_one(const tenon::Tree& value, std::string_view type) {
  const bool truth = value.defined() && !value.is_null() && !value.is_container() &&
                     !value.is_text() && !value.is_number();
  if (type == "int") return is_integer(value);
  if (type == "float") return value.is_number();
  if (type == "Scalar") return value.is_number() || truth;
  if (type == "bool") return truth;
  if (type == "str" || type == "dtype") return value.is_text();
  return true;  // whatever else there is, the runtime judges
}

bool fits(const tenon::Tree& value, std::string_view type) {
  if (ends_with(type, "?")) {
    if (value.is_null()) return true;
    type.remove_suffix(1);
  }
  const size_t bracket = type.find('[');
  if (bracket == std::string_view::npos) return fits_one(value, type);
  const std::string_view element = type.substr(0, bracket);
  // One int stands for all of a list of fixed length.
  if (!value.is_container()) return type.substr(bracket) != "[]" && fits_one(value, element);
  if (value.is_object()) return false;
  for (int64_t i = 0; i < value.size(); ++i) {
    if (!fits_one(value[i], element)) return false;
  }
  return true;
}

}  // namespace

std::vector<SchemaParameter> schema_parameters(std::string_view schema) {
  std::vector<SchemaParameter> parameters;
  const size_t open = schema.find('(');
  if (open == std::string_view::npos) return parameters;
  int depth = 0;
  bool quoted = false;
  size_t start = open + 1;
  for (size_t i = open; i < schema.size(); ++i) {
    const char c = schema[i];
    if (c == '\'' && schema[i - 1] != '\\') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    const bool end = depth == 0;
    if (!end && (depth != 1 || c != ',')) continue;
    const std::string_view part = trimmed(schema.substr(start, i - start));
    start = i + 1;
    if (!part.empty() && part != "*") parameters.push_back(parse_parameter(part));
    if (end) break;
  }
  return parameters;
}

std::vector<std::string> argument_faults(const tenon::Tree& object, const std::string& place,
                                         const std::string& owner,
                                         const std::vector<SchemaParameter>& parameters,
                                         size_t given, const std::vector<std::string>& others) {
  std::vector<std::string> faults, names;
  given = std::min(given, parameters.size());
  for (size_t i = given; i < parameters.size(); ++i) names.push_back(parameters[i].name);
  for (int64_t i = 0; i < object.size(); ++i) {
    const std::string key = object.key(i);
    const auto found = std::find(names.begin(), names.end(), key);
    if (found != names.end()) {
      const SchemaParameter& parameter =
          parameters[given + static_cast<size_t>(found - names.begin())];
      if (!fits(object[i], parameter.type)) {
        faults.push_back(place + "/" + key + ": " + owner + " takes '" + parameter.type + " " +
                         key + "', found " + object[i].json());
      }
    } else if (std::find(others.begin(), others.end(), key) == others.end()) {
      faults.push_back(place + "/" + key + ": " + owner + " has no argument '" + key + "'" +
                       suggestion(key, names) +
                       (names.empty() ? "; it takes none" : "; it takes " + join(names, ", ")));
    }
  }
  for (size_t i = given; i < parameters.size(); ++i) {
    if (parameters[i].required && !object[parameters[i].name].defined()) {
      faults.push_back(place + ": " + owner + " needs '" + parameters[i].type + " " +
                       parameters[i].name + "'");
    }
  }
  return faults;
}

}  // namespace cli

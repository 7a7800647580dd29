// Parameters and results of a schema, and values held against them.
#include "declared_type.hpp"

#include <algorithm>

#include <tenon/text.hpp>

#include "format.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

std::vector<DeclaredType> declared_types(const Json& list) {
  std::vector<DeclaredType> types;
  for (int64_t i = 0; i < list.size(); ++i) {
    const Json part = list[i];
    DeclaredType type;
    type.name = part["name"].text();
    type.text = part["type"].text();
    type.base = type.text.substr(0, type.text.find_first_of("([?"));
    const size_t bracket = type.text.find('[');
    type.list = bracket != std::string::npos;
    if (type.list) type.length = std::strtoll(type.text.c_str() + bracket + 1, nullptr, 10);
    type.optional = type.text.ends_with("?");
    type.has_default = part["default"].defined();
    type.default_text = part["default"].text();
    type.alias = part["alias"].text();
    type.mutates = part["mutates"].as_bool();
    type.keyword_only = part["keyword_only"].as_bool();
    types.push_back(std::move(type));
  }
  return types;
}

namespace {

bool is_dtype(const std::string& name) {
#define TENON_CLI_DTYPE(constant, code, bytes, type, text, ...) \
  if (name == text) return true;
  TENON_DTYPES(TENON_CLI_DTYPE)
#undef TENON_CLI_DTYPE
  return false;
}

bool fits_one(const Json& value, const std::string& base, bool element) {
  const bool number = value.is_number();
  const bool integer = number && value.dump().find_first_of(".eE") == std::string::npos;
  const bool truth =
      value.defined() && !value.is_null() && !value.is_container() && !value.is_text() && !number;
  if (base == "int") return integer || (truth && !element);
  if (base == "float") return number || (truth && !element);
  if (base == "Scalar" || base == "Tensor|Scalar") return number || (truth && !element);
  if (base == "bool") return truth;
  if (base == "str") return value.is_text();
  if (base == "dtype") return value.is_text() && is_dtype(value.text());
  if (base == "json") return value.is_container();
  return base != "Tensor";  // "any" takes all that there is; JSON has no tensors
}

bool fits(const Json& value, const DeclaredType& type) {
  if (value.is_null()) return type.optional;
  if (!type.list) return fits_one(value, type.base, false);
  // One number stands for all of a list.
  if (!value.is_container()) return !value.is_text() && fits_one(value, type.base, false);
  if (value.is_object() || (type.length > 0 && value.size() != type.length)) return false;
  for (int64_t i = 0; i < value.size(); ++i) {
    if (!fits_one(value[i], type.base, true)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> argument_faults(const Json& object, const std::string& owner,
                                         const std::vector<DeclaredType>& parameters, size_t given,
                                         const std::vector<std::string>& others) {
  std::vector<std::string> faults, names;
  given = std::min(given, parameters.size());
  for (size_t i = given; i < parameters.size(); ++i) names.push_back(parameters[i].name);
  for (int64_t i = 0; i < object.size(); ++i) {
    const std::string key = object.key(i);
    const std::string start = format_text("{}: {}", object[i].place(), owner);
    const auto found = std::find(names.begin(), names.end(), key);
    if (found != names.end()) {
      const DeclaredType& parameter =
          parameters[given + static_cast<size_t>(found - names.begin())];
      if (!fits(object[i], parameter))
        faults.push_back(format_text("{} takes '{} {}', found {}", start, parameter.text, key,
                                     object[i].dump()));
    } else if (std::find(others.begin(), others.end(), key) == others.end()) {
      faults.push_back(format_text(
          "{} has no argument '{}'{}{}", start, key, tenon::suggestion(key, names),
          names.empty() ? "; it takes none" : format_text("; it takes {}", join(names, ", "))));
    }
  }
  for (size_t i = given; i < parameters.size(); ++i) {
    if (!parameters[i].has_default && !object[parameters[i].name].defined())
      faults.push_back(format_text("{}: {} needs '{} {}'", object.place(), owner,
                                   parameters[i].text, parameters[i].name));
  }
  return faults;
}

}  // namespace cli

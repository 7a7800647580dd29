// Parameters and results of a schema, and values held against them.
#include <algorithm>

#include <tenon/json_tensor.hpp>
#include <tenon/text.hpp>
#include <tenon/training/declared_type.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

bool names_op(const Json& value) {
  return value.is_text() || (value.is_object() && value["type"].is_text());
}

std::vector<DeclaredType> declared_types(const Json& list) {
  std::vector<DeclaredType> types;
  for (int64_t i = 0; i < list.size(); ++i) {
    const Json part = list[i];
    DeclaredType type;
    type.name = part["name"].text();
    type.text = part["type"].text();
    type.base = part["kind"].text();
    type.dictionary = part["dictionary"].as_bool();
    type.list = type.dictionary || part["list"].as_bool();
    type.length = part["length"].integer();
    type.optional = part["optional"].as_bool();
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
  TENON_ALL_DTYPES(TENON_CLI_DTYPE)
#undef TENON_CLI_DTYPE
  return false;
}

bool fits_one(const Json& value, const std::string& base) {
  const bool number = value.is_number();
  const bool integer = number && value.dump().find_first_of(".eE") == std::string::npos;
  const bool truth =
      value.defined() && !value.is_null() && !value.is_container() && !value.is_text() && !number;
  // A call takes True as 1; in a config it is a slip.
  if (base == "int") return integer;
  if (base == "float") return number;
  if (base == "Scalar" || base == "Tensor|Scalar") return number || truth;
  if (base == "Module") return value.is_text() || value.is_object();
  if (base == "bool") return truth;
  if (base == "str") return value.is_text();
  if (base == "dtype") return value.is_text() && is_dtype(value.text());
  if (base == "json") return value.is_container();
  return base != "Tensor";  // "any" takes all that there is; modules take no tensors of a config
}

// Why a value is not a tensor, or not a list of them, as the type has it; empty: it is one.
std::string tensor_fault(const Json& value, const DeclaredType& type) {
  if (!type.list) return json_tensor_fault(value);
  if (!value.is_array()) return lib::format_text("found {}", value.dump());
  std::string fault;
  for (int64_t i = 0; i < value.size() && fault.empty(); ++i) fault = json_tensor_fault(value[i]);
  return fault;
}

bool fits(const Json& value, const DeclaredType& type, TensorForms tensors) {
  if (value.is_null()) return type.optional;
  if (type.is_tensor() && !type.dictionary && tensors == TensorForms::written) {
    return (!type.list && names_op(value)) || tensor_fault(value, type).empty();
  }
  if (!type.list) return fits_one(value, type.base);
  // One number stands for all of a list.
  if (!value.is_container())
    return type.base != "Module" && !value.is_text() && fits_one(value, type.base);
  if ((value.is_object() && !type.dictionary) || (type.length > 0 && value.size() != type.length))
    return false;
  for (int64_t i = 0; i < value.size(); ++i) {
    if (!fits_one(value[i], type.base)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> argument_faults(const Json& object, const std::string& owner,
                                         const std::vector<DeclaredType>& parameters,
                                         const std::vector<std::string>& given,
                                         const std::vector<std::string>& others,
                                         TensorForms tensors) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string> faults, names;
  for (const DeclaredType& parameter : parameters) {
    if (!has(given, parameter.name)) names.push_back(parameter.name);
  }
  for (int64_t i = 0; i < object.size(); ++i) {
    const std::string key = object.key(i);
    if (has(others, key)) continue;
    const std::string start = lib::format_text("{}: {}", object[i].place(), owner);
    if (!has(names, key)) {
      faults.push_back(
          lib::format_text("{} has no argument '{}'{}{}", start, key, suggestion(key, names),
                           names.empty() ? "; it takes none"
                                         : lib::format_text("; it takes {}", join(names, ", "))));
      continue;
    }
    const auto parameter =
        std::find_if(parameters.begin(), parameters.end(),
                     [&](const DeclaredType& candidate) { return candidate.name == key; });
    if (fits(object[i], *parameter, tensors)) continue;
    const bool list =
        parameter->is_tensor() && tensors == TensorForms::written && object[i].is_array();
    faults.push_back(lib::format_text("{} takes '{} {}', {}", start, parameter->text, key,
                                      list ? tensor_fault(object[i], *parameter)
                                           : lib::format_text("found {}", object[i].dump())));
  }
  for (const DeclaredType& parameter : parameters) {
    if (!parameter.has_default && has(names, parameter.name) && !object[parameter.name].defined())
      faults.push_back(lib::format_text("{}: {} needs '{} {}'", object.place(), owner,
                                        parameter.text, parameter.name));
  }
  return faults;
}

}  // namespace training

TENON_NAMESPACE_END

// Binding of positional and keyword arguments, conversions, and Python's words for misuse.
#include "core/dispatch/binding/arguments.hpp"

#include <algorithm>
#include <bitset>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/tensor/dtype.hpp"
#include "tenon/abi/tensor.h"

namespace tenon::core {

namespace {

std::string tensor_text(const tenon_tensor* tensor) {
  const uint32_t type = tensor == nullptr ? 0 : tenon_tensor_get_view(tensor)->type;
  return type == 0 ? "Tensor" : tensor_type_name(type);
}

[[noreturn]] void refuse(const Schema& schema, const std::string& what) {
  throw Error(TENON_ERROR_TYPE, "{}(){}", schema.called_name(), what);
}

// "'a'", "'a' and 'b'", "'a', 'b', and 'c'": Python's list, with its comma.
std::string python_list(const Words& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0 && names.size() > 2) text += ",";
    if (i > 0) text += i + 1 == names.size() ? " and " : " ";
    text += quote(names[i]);
  }
  return text;
}

std::string argument_text(const Schema& schema, int64_t parameter, int64_t position) {
  std::string text =
      format_text(": argument {}", quote(schema.parameters[static_cast<size_t>(parameter)].name));
  if (position >= 0) text += format_text(" (position {})", position + 1);
  return text;
}

// Names by tag; those of lists are their elements'.
constexpr std::string_view kTagNames[] = {"NoneType",
                                          "bool",
                                          "int",
                                          "float",
                                          "dtype",
                                          "str",
                                          "Tensor",
                                          "int",
                                          "float",
                                          "bool",
                                          "str",
                                          "Tensor",
                                          "json",
                                          "Module",
                                          "NotImplementedType",
                                          "Module",
                                          "dictionary of Modules"};
static_assert(std::size(kTagNames) == TENON_VALUE_TAG_COUNT);

bool is_list(uint32_t tag) {
  return (tag >= TENON_VALUE_INT_LIST && tag <= TENON_VALUE_TENSOR_LIST) ||
         tag == TENON_VALUE_MODULE_LIST;
}

// "list of ints", or "list of 2 ints" when the count matters.
std::string list_text(std::string_view element, int64_t count = -1) {
  std::string text = "list of ";
  if (count >= 0) text += format_text("{} ", count);
  text += element;
  if (count != 1 && element != "str") text += 's';
  return text;
}

constexpr uint32_t kIntegral = tag_bit(TENON_VALUE_INT) | tag_bit(TENON_VALUE_BOOL);

bool has_tag_of(const tenon_value& value, uint32_t tags) {
  return value.tag < 32 && (tags & tag_bit(value.tag)) != 0;
}

// Binds one value to one parameter.
class Conversion {
 public:
  Conversion(const Schema& schema, size_t parameter, int64_t position, BoundArguments& bound)
      : schema_(schema),
        index_(static_cast<int64_t>(parameter)),
        position_(position),
        parameter_(schema.parameters[parameter]),
        type_(parameter_.type),
        bound_(bound) {}

  tenon_value convert(const tenon_value& value) {
    const tenon_json* document = value.tag == TENON_VALUE_JSON ? value.as.json : nullptr;
    if (type_.kind == TypeKind::any && document != nullptr) return convert_document(value);
    if (accepts(parameter_, value)) return value;
    if (document != nullptr && !document->is_array() && !document->is_object()) {
      // In documents truths are not numbers.
      if (document->is_bool() &&
          (type_.kind == TypeKind::integer || type_.kind == TypeKind::floating))
        wrong("bool");
      return convert(document->value());
    }
    if (type_.list && document != nullptr && document->is_array()) return convert_array(*document);
    if (type_.list) return is_list(value.tag) ? convert_list(value) : spread(value);
    if (type_.kind == TypeKind::floating && has_tag_of(value, kIntegral))
      return float_value(static_cast<double>(value.as.integer));
    if (type_.kind == TypeKind::dtype && value.tag == TENON_VALUE_STRING)
      return convert_dtype({value.as.string, value.length});
    wrong(value_type_text(value));
  }

 private:
  [[noreturn]] void wrong(const std::string& found) const {
    throw_argument_type(schema_, index_, position_, found);
  }
  [[noreturn]] void wrong_element(const tenon_value& element, int64_t at) const {
    refuse(schema_, format_text("{} must be {}, but found element of type {} at position {}",
                                argument_text(schema_, index_, position_), expected_text(type_),
                                value_type_text(element), at + 1));
  }

  // A number, a text or an array of ints as a caller in code gives it; others stay documents.
  tenon_value convert_document(const tenon_value& value) {
    if (value.as.json->is_object()) return value;
    if (!value.as.json->is_array()) return value.as.json->value();
    const auto& items = value.as.json->children();
    if (items.empty() || !std::ranges::all_of(items, &tenon_json::is_int)) return value;
    return build(TypeKind::integer, static_cast<uint32_t>(items.size()),
                 [&](uint32_t i) { return items[i].value(); });
  }

  tenon_value convert_dtype(std::string_view name) const {
    const tenon_dtype dtype = dtype_find(name);
    if (dtype == TENON_DTYPE_NONE) {
      throw Error(TENON_ERROR_VALUE, "{}(){}: unknown dtype {}{}; the dtypes are {}",
                  schema_.called_name(), argument_text(schema_, index_, position_), quote(name),
                  suggestion(name, dtype_names()), word_list(dtype_names(), "and"));
    }
    return dtype_value(dtype);
  }

  // A list of another type (ints or bools for floats, bools for ints), or of a fixed length.
  tenon_value convert_list(const tenon_value& value) {
    if (type_.length > 0 && value.length != static_cast<uint32_t>(type_.length))
      wrong(list_text(kTagNames[value.tag], value.length));
    if (value.length == 0) return empty_list();
    if (has_tag_of(value, accepted_tags(type_))) return value;
    const bool booleans = value.tag == TENON_VALUE_BOOL_LIST;
    if (type_.kind == TypeKind::floating ? !booleans && value.tag != TENON_VALUE_INT_LIST
                                         : type_.kind != TypeKind::integer || !booleans)
      wrong(value_type_text(value));
    return build(type_.kind, value.length, [&](uint32_t i) {
      return int_value(booleans ? value.as.booleans[i] : value.as.integers[i]);
    });
  }

  // An empty list carries no element type.
  tenon_value empty_list() const {
    tenon_value result{};
    result.tag = list_tag(type_);
    return result;
  }

  // One value for a list of it: of as many as the type says, otherwise of one.
  tenon_value spread(const tenon_value& value) {
    const TypeKind kind = type_.kind;
    const uint32_t tags = facts_of(kind).tags | (kind == TypeKind::floating ? kIntegral : 0);
    if (kind == TypeKind::string || kind == TypeKind::module || !has_tag_of(value, tags))
      wrong(value_type_text(value));
    const bool of_floats = kind == TypeKind::scalar && value.tag == TENON_VALUE_FLOAT;
    return build(of_floats ? TypeKind::floating : kind,
                 static_cast<uint32_t>(std::max(1, type_.length)), [&](uint32_t) { return value; });
  }

  // An array of a document, as configs have them.
  tenon_value convert_array(const tenon_json& array) {
    TypeKind kind = type_.kind;
    if (type_.length > 0 && array.size() != type_.length)
      wrong(format_text("list of length {}", array.size()));
    if (array.size() == 0) return empty_list();
    const auto& items = array.children();
    if (kind == TypeKind::scalar && !std::ranges::all_of(items, &tenon_json::is_int))
      kind = TypeKind::floating;
    if (kind == TypeKind::tensor || kind == TypeKind::module) wrong("list");
    const auto fits = kind == TypeKind::floating  ? &tenon_json::is_number
                      : kind == TypeKind::boolean ? &tenon_json::is_bool
                      : kind == TypeKind::string  ? &tenon_json::is_string
                                                  : &tenon_json::is_int;
    for (const tenon_json& item : items) {
      if (!(item.*fits)()) wrong_element(item.value(), &item - items.data());
    }
    return build(kind, static_cast<uint32_t>(items.size()),
                 [&](uint32_t i) { return items[i].value(); });
  }

  // A list of elements that fit the kind, each given as a value.
  template <class ElementAt>
  tenon_value build(TypeKind kind, uint32_t count, ElementAt&& element) {
    const auto list_of = [&](uint32_t tag, auto&& convert) {
      auto* const elements = bound_.room<decltype(convert(element(0)))>(count);
      for (uint32_t i = 0; i < count; ++i) elements[i] = convert(element(i));
      tenon_value list{};
      list.tag = tag;
      list.length = count;
      list.as.pointer = elements;
      return list;
    };
    switch (kind) {
      case TypeKind::tensor:
        return list_of(TENON_VALUE_TENSOR_LIST,
                       [](const tenon_value& value) { return value.as.tensor; });
      case TypeKind::floating:
        return list_of(TENON_VALUE_FLOAT_LIST, [](const tenon_value& value) {
          return value.tag == TENON_VALUE_FLOAT ? value.as.number
                                                : static_cast<double>(value.as.integer);
        });
      case TypeKind::boolean:
        return list_of(TENON_VALUE_BOOL_LIST,
                       [](const tenon_value& value) { return uint8_t{value.as.integer != 0}; });
      case TypeKind::string:
        return list_of(TENON_VALUE_STRING_LIST, [](const tenon_value& value) {
          return tenon_string{value.as.string, int64_t{value.length}};
        });
      default:
        return list_of(TENON_VALUE_INT_LIST,
                       [](const tenon_value& value) { return value.as.integer; });
    }
  }

  const Schema& schema_;
  int64_t index_, position_;
  const Parameter& parameter_;
  const SchemaType& type_;
  BoundArguments& bound_;
};

[[noreturn]] void refuse_keyword(const Schema& schema, std::string_view name) {
  Words names;
  for (const Parameter& parameter : schema.parameters) names.push_back(parameter.name);
  refuse(schema, format_text(" got an unexpected keyword argument {}{}", quote(name),
                             suggestion(name, names)));
}

[[noreturn]] void refuse_count(const Schema& schema, size_t given, size_t keyword_only_given) {
  const int64_t most = schema.positional_count;
  const std::string range = schema.required_count < most
                                ? format_text("from {} to {}", schema.required_count,
                                              counted(most, "positional argument"))
                                : counted(most, "positional argument");
  // Python counts "from 0 to 1 positional arguments".
  const std::string takes =
      schema.required_count < most && most == 1 ? format_text("{}s", range) : range;
  std::string text = format_text(" takes {} but ", takes);
  if (keyword_only_given > 0) {
    text += format_text("{} (and {}) were given",
                        counted(static_cast<int64_t>(given), "positional argument"),
                        counted(static_cast<int64_t>(keyword_only_given), "keyword-only argument"));
  } else {
    text += format_text("{} {} given", given, given == 1 ? "was" : "were");
  }
  refuse(schema, text);
}

[[noreturn]] void refuse_missing(const Schema& schema, const std::bitset<kMaxParameters>& filled) {
  for (const bool keyword_only : {false, true}) {
    Words missing;
    for (size_t i = 0; i < schema.parameters.size(); ++i) {
      const Parameter& parameter = schema.parameters[i];
      if (filled[i] || parameter.has_default || parameter.keyword_only != keyword_only) continue;
      missing.push_back(parameter.name);
    }
    if (missing.empty()) continue;
    refuse(schema, format_text(" missing {} required {} argument{}{}", missing.size(),
                               keyword_only ? "keyword-only" : "positional",
                               missing.size() == 1 ? ": " : "s: ", python_list(missing)));
  }
  throw Error(TENON_ERROR_INTERNAL, "no argument is missing");
}

}  // namespace

void bind_arguments(const Schema& schema, const AsWritten& written, BoundArguments& bound) {
  const std::span positional = written.positional;
  const std::span keywords = written.keywords;
  const std::span keyword_values = written.keyword_values;
  if (keywords.size() != keyword_values.size()) {
    throw Error(TENON_ERROR_ARGUMENT, "{}(): {} for {}", schema.called_name(),
                counted(static_cast<int64_t>(keywords.size()), "keyword"),
                counted(static_cast<int64_t>(keyword_values.size()), "value"));
  }
  const size_t count = schema.parameters.size();
  const auto positional_count = static_cast<size_t>(schema.positional_count);
  constexpr int8_t kNone = -1;
  int8_t source[kMaxParameters];  // which keyword fills a parameter
  std::fill_n(source, count, kNone);
  std::bitset<kMaxParameters> filled;
  for (size_t i = 0; i < std::min(positional.size(), positional_count); ++i) filled.set(i);

  size_t keyword_only_given = 0;
  for (size_t k = 0; k < keywords.size(); ++k) {
    const std::string_view name(keywords[k].data, static_cast<size_t>(keywords[k].length));
    const int64_t found = schema.find(name);
    if (found < 0) refuse_keyword(schema, name);
    const auto index = static_cast<size_t>(found);
    if (filled[index]) {
      refuse(schema,
             format_text(" got multiple values for {} {}",
                         source[index] == kNone ? "argument" : "keyword argument", quote(name)));
    }
    filled.set(index);
    source[index] = static_cast<int8_t>(k);
    if (schema.parameters[index].keyword_only) ++keyword_only_given;
  }
  if (positional.size() > positional_count)
    refuse_count(schema, positional.size(), keyword_only_given);

  bound.used = 0;
  bound.overflow.clear();
  // A missing argument is reported before one of the wrong type, as Python does.
  for (size_t i = 0; i < count; ++i) {
    if (!filled[i] && !schema.parameters[i].has_default) refuse_missing(schema, filled);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!filled[i]) {
      bound.values[i] = schema.parameters[i].default_value.value;
    } else if (source[i] == kNone) {
      bound.values[i] =
          Conversion(schema, i, static_cast<int64_t>(i), bound).convert(positional[i]);
    } else {
      const auto keyword = static_cast<size_t>(source[i]);
      bound.values[i] = Conversion(schema, i, -1, bound).convert(keyword_values[keyword]);
    }
  }
}

tenon_value bind_argument(const Schema& schema, size_t parameter, const tenon_value& value,
                          BoundArguments& bound) {
  return Conversion(schema, parameter, -1, bound).convert(value);
}

void throw_argument_type(const Schema& schema, int64_t parameter, int64_t position,
                         const std::string& found) {
  refuse(schema,
         format_text("{} must be {}, not {}", argument_text(schema, parameter, position),
                     expected_text(schema.parameters[static_cast<size_t>(parameter)].type), found));
}

std::string expected_text(const SchemaType& type) {
  const std::string element(facts_of(type.kind).words);
  if (type.dictionary) return "dictionary of Modules";
  if (!type.list) return element;
  return list_text(element, type.length > 0 ? type.length : -1);
}

std::string value_type_text(const tenon_value& value) {
  if (value.tag >= TENON_VALUE_TAG_COUNT)
    return format_text("value with unknown tag {}", value.tag);
  const std::string_view name = kTagNames[value.tag];
  if (is_list(value.tag)) return value.length == 0 ? "empty list" : list_text(name);
  if (value.tag == TENON_VALUE_TENSOR) return tensor_text(value.as.tensor);
  const bool array =
      value.tag == TENON_VALUE_JSON && value.as.json != nullptr && value.as.json->is_array();
  return std::string(array ? "list" : name);
}

}  // namespace tenon::core

// Facts about schema types, and texts that are made from schemas.
#include "core/dispatch/schema/schema.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

std::string_view Schema::short_name() const {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? std::string_view(name) : std::string_view(name).substr(dot + 1);
}

std::string Schema::called_name() const {
  return owner.empty() ? std::string(short_name()) : format_text("{}.{}", owner, short_name());
}

std::string_view Schema::namespace_name() const {
  const size_t dot = name.rfind('.');
  return std::string_view(name).substr(0, dot == std::string::npos ? 0 : dot);
}

int64_t Schema::find(std::string_view parameter) const {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == parameter) return static_cast<int64_t>(i);
  }
  return -1;
}

// ---- kinds ----

namespace {

constexpr uint32_t kNumbers =
    tag_bit(TENON_VALUE_BOOL) | tag_bit(TENON_VALUE_INT) | tag_bit(TENON_VALUE_FLOAT);
constexpr uint32_t kNumberLists = tag_bit(TENON_VALUE_BOOL_LIST) | tag_bit(TENON_VALUE_INT_LIST) |
                                  tag_bit(TENON_VALUE_FLOAT_LIST);

}  // namespace

constexpr std::array<KindFacts, 11> kTypeKinds{{
    {TypeKind::tensor, "Tensor", "Tensor", tag_bit(TENON_VALUE_TENSOR), TENON_VALUE_TENSOR_LIST},
    {TypeKind::tensor_or_scalar, "Tensor|Scalar", "Tensor or Number",
     tag_bit(TENON_VALUE_TENSOR) | kNumbers, TENON_VALUE_NONE},
    {TypeKind::scalar, "Scalar", "Number", kNumbers, TENON_VALUE_INT_LIST},
    {TypeKind::integer, "int", "int", tag_bit(TENON_VALUE_INT) | tag_bit(TENON_VALUE_BOOL),
     TENON_VALUE_INT_LIST},
    {TypeKind::floating, "float", "float", tag_bit(TENON_VALUE_FLOAT), TENON_VALUE_FLOAT_LIST},
    {TypeKind::boolean, "bool", "bool", tag_bit(TENON_VALUE_BOOL), TENON_VALUE_BOOL_LIST},
    {TypeKind::string, "str", "str", tag_bit(TENON_VALUE_STRING), TENON_VALUE_STRING_LIST},
    {TypeKind::dtype, "dtype", "dtype", tag_bit(TENON_VALUE_DTYPE), TENON_VALUE_NONE},
    {TypeKind::json, "json", "json", tag_bit(TENON_VALUE_JSON), TENON_VALUE_NONE},
    {TypeKind::module, "Module", "Module", tag_bit(TENON_VALUE_MODULE), TENON_VALUE_MODULE_LIST},
    {TypeKind::any, "any", "any value", tag_bit(TENON_VALUE_TAG_COUNT) - 1, TENON_VALUE_NONE},
}};
static_assert(std::ranges::is_sorted(kTypeKinds, {}, &KindFacts::kind));

uint32_t list_tag(const SchemaType& type) {
  return type.dictionary ? uint32_t{TENON_VALUE_MODULE_DICT} : facts_of(type.kind).list_tag;
}

uint32_t accepted_tags(const SchemaType& type) {
  const uint32_t none = type.optional ? tag_bit(TENON_VALUE_NONE) : 0;
  if (!type.list) return none | facts_of(type.kind).tags;
  return none | (type.kind == TypeKind::scalar ? kNumberLists : tag_bit(list_tag(type)));
}

// ---- texts ----

std::string parameters_text(const Schema& schema, std::string (*text)(const Parameter& parameter)) {
  std::string all = "(";
  bool keyword_only = false;
  for (const Parameter& parameter : schema.parameters) {
    if (&parameter != schema.parameters.data()) all += ", ";
    if (parameter.keyword_only && !keyword_only) all += "*, ";
    keyword_only = parameter.keyword_only;
    all += text(parameter);
  }
  all += ')';
  return all;
}

std::string signature_text(const Schema& schema) {
  return parameters_text(schema, [](const Parameter& parameter) {
    return parameter.has_default
               ? format_text("{}={}", parameter.name, parameter.default_value.text)
               : parameter.name;
  });
}

// Every op that is loaded has its text made: by appending, which costs least.
std::string parameter_text(const Parameter& parameter) {
  std::string text = type_text(parameter.type);
  text += ' ';
  text += parameter.name;
  if (!parameter.has_default) return text;
  text += '=';
  text += parameter.default_value.text;
  return text;
}

std::string returns_text(const Schema& schema) {
  const bool bare = schema.returns.size() == 1 && !schema.returns_tuple;
  std::string text = bare ? "" : "(";
  for (size_t i = 0; i < schema.returns.size(); ++i) {
    if (i > 0) text += ", ";
    text += type_text(schema.returns[i]);
    if (schema.return_names[i].empty()) continue;
    text += ' ';
    text += schema.return_names[i];
  }
  if (!bare) text += ')';
  return text;
}

std::string schema_difference(const Schema& a, std::string_view a_owner, const Schema& b,
                              std::string_view b_owner) {
  const auto quoted_parameter = [](const Schema& schema, size_t i) -> std::string {
    if (i >= schema.parameters.size()) return "nothing";
    const Parameter& parameter = schema.parameters[i];
    return quote(parameter_text(parameter)) + (parameter.keyword_only ? " by name only" : "");
  };
  const auto differ = [&](const std::string& where, const std::string& of_a,
                          const std::string& of_b) {
    return format_text("their schemas differ in {}: {} of {}, {} of {}", where, of_a,
                       quote(a_owner), of_b, quote(b_owner));
  };
  for (size_t i = 0; i < std::max(a.parameters.size(), b.parameters.size()); ++i) {
    const std::string of_a = quoted_parameter(a, i), of_b = quoted_parameter(b, i);
    if (of_a != of_b) return differ(format_text("parameter {}", i + 1), of_a, of_b);
  }
  const std::string of_a = quote(returns_text(a)), of_b = quote(returns_text(b));
  return of_a == of_b ? "" : differ("what they return", of_a, of_b);
}

std::string type_text(const SchemaType& type) {
  std::string text(facts_of(type.kind).name);
  if (type.alias != 0) {
    text += "(";
    text += type.alias;
    text += type.mutates ? "!)" : ")";
  }
  if (type.dictionary)
    text += "{}";
  else if (type.list)
    text += type.length > 0 ? format_text("[{}]", type.length) : "[]";
  if (type.optional) text += "?";
  return text;
}

}  // namespace tenon::core

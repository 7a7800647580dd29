#include "signature.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include <tenon/detail/parameters.hpp>
#include <tenon/runtime.hpp>

#include "literal.hpp"

TENON_NAMESPACE_BEGIN

namespace rewrites {

using LiteralKind = Literal::Kind;

namespace {

// A default as schemas print it: True, None, 1, -inf, 'mean', [1, 1], float32.
Literal default_of(std::string_view printed) {
  printed = tenon::detail::trim(printed);
  if (printed == "None") return {};
  if (printed == "True") return boolean(true);
  if (printed == "False") return boolean(false);
  if (!printed.empty() && printed.front() == '[') {
    std::vector<Literal> items;
    tenon::detail::read_list(printed, 0, [&](std::string_view item) {
      if (!item.empty()) items.push_back(default_of(item));
    });
    return list(std::move(items));
  }
  if (printed.size() > 1 && (printed.front() == '\'' || printed.front() == '"'))
    return text(std::string(printed.substr(1, printed.size() - 2)));
  if (const std::optional<Literal> dtype = dtype_literal(printed)) return *dtype;
  const std::string found(printed);
  if (found.find_first_not_of("-0123456789") == std::string::npos)
    return integer(std::strtoll(found.c_str(), nullptr, 10));
  return number(std::strtod(found.c_str(), nullptr));
}

SchemaParameter parameter_of(const Json& written) {
  SchemaParameter parameter;
  parameter.name = written["name"].text();
  parameter.type = written["type"].text();
  parameter.kind = written["kind"].text();
  parameter.list = written["list"].as_bool();
  parameter.optional = written["optional"].as_bool();
  parameter.keyword_only = written["keyword_only"].as_bool();
  parameter.mutates = written["mutates"].as_bool();
  parameter.length = written["length"].integer();
  if (written["default"].defined()) parameter.fallback = default_of(written["default"].text());
  return parameter;
}

// ---- literals as values ----

// A single element, in place of a list where the type has a length.
std::vector<Literal> items_for(const SchemaParameter& parameter, const Literal& literal) {
  if (literal.kind == LiteralKind::list) return literal.list;
  return parameter.length > 0 ? std::vector(static_cast<size_t>(parameter.length), literal)
                              : std::vector<Literal>();
}
bool fits(const std::string& kind, const Literal& literal) {
  if (kind == "int") return literal.kind == LiteralKind::integer;
  if (kind == "float") return is_number(literal);
  if (kind == "bool") return literal.kind == LiteralKind::boolean;
  if (kind == "str") return literal.kind == LiteralKind::text;
  if (kind == "dtype") return literal.kind == LiteralKind::dtype;
  return is_number(literal) || literal.kind == LiteralKind::boolean;
}

Value list_value(const std::string& kind, const std::vector<Literal>& items) {
  tenon_value value{};
  const auto fill = [&](auto element, auto&& read) {
    std::vector<decltype(element)> list;
    list.reserve(items.size());
    for (const Literal& item : items) list.push_back(read(item));
    tenon::detail::give_list(list, &value);
  };
  const bool whole = std::all_of(items.begin(), items.end(), [](const Literal& item) {
    return item.kind == LiteralKind::integer;
  });
  if (kind == "str")
    fill(std::string(), [](const Literal& item) { return item.text; });
  else if (kind == "bool")
    fill(bool(), [](const Literal& item) { return item.integer != 0; });
  else if (kind == "int" || (kind != "float" && whole))
    fill(int64_t(), [](const Literal& item) { return item.integer; });
  else
    fill(double(), as_number);
  return Value(value);
}
Value single_value(const std::string& kind, const Literal& literal) {
  tenon_value value{};
  if (literal.kind == LiteralKind::text)
    tenon::detail::give_text(literal.text, &value);
  else if (literal.kind == LiteralKind::dtype)
    value = Argument(static_cast<DType>(literal.integer)).value();
  else if (literal.kind == LiteralKind::boolean)
    value = Argument(literal.integer != 0).value();
  else if (literal.kind == LiteralKind::integer && kind != "float")
    value = Argument(literal.integer).value();
  else
    value = Argument(as_number(literal)).value();
  return Value(value);
}

}  // namespace

const SchemaParameter* Signature::find(const std::string& name) const {
  for (const SchemaParameter& parameter : parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

Signature read_signature(const std::string& schema) {
  const Json parsed = parse_schema(schema);
  Signature signature;
  signature.op = parsed["name"].text();
  for (int64_t i = 0; i < parsed["parameters"].size(); ++i)
    signature.parameters.push_back(parameter_of(parsed["parameters"][i]));
  for (int64_t i = 0; i < parsed["returns"].size(); ++i) {
    const Json result = parsed["returns"][i];
    signature.results.push_back(result["list"].as_bool());
    signature.tensors_only &= result["kind"].text() == "Tensor";
  }
  return signature;
}

const Signature* Signatures::find(const std::string& op) {
  const auto known = read_.find(op);
  if (known != read_.end()) return &known->second;
  const auto schema = schemas_.find(op);
  if (schema == schemas_.end()) return nullptr;
  return &read_.emplace(op, read_signature(schema->second)).first->second;
}
std::vector<std::string> Signatures::names() const {
  std::vector<std::string> names;
  for (const auto& [name, schema] : schemas_) names.push_back(name);
  return names;
}

std::optional<std::shared_ptr<const Value>> value_for(const SchemaParameter& parameter,
                                                      const Literal& literal) {
  const auto made = [](Value value) { return std::make_shared<const Value>(std::move(value)); };
  if (literal.kind == LiteralKind::none) {
    if (parameter.optional || parameter.kind == "any") return nullptr;
    return std::nullopt;
  }
  if (literal.kind == LiteralKind::tensor || parameter.kind == "Tensor" ||
      parameter.kind == "json" || parameter.kind == "Module")
    return std::nullopt;
  const std::string& kind = parameter.kind;
  if (kind == "any" && !parameter.list) {
    if (literal.kind != LiteralKind::list) return made(single_value(kind, literal));
    const std::string found = literal.list.empty()                                ? "int"
                              : literal.list.front().kind == LiteralKind::text    ? "str"
                              : literal.list.front().kind == LiteralKind::boolean ? "bool"
                                                                                  : "Scalar";
    if (!std::all_of(literal.list.begin(), literal.list.end(),
                     [&](const Literal& item) { return fits(found, item); }))
      return std::nullopt;
    return made(list_value(found, literal.list));
  }
  if (!parameter.list) {
    if (!fits(kind, literal)) return std::nullopt;
    return made(single_value(kind, literal));
  }
  const std::vector<Literal> items = items_for(parameter, literal);
  if ((parameter.length > 0 && static_cast<int64_t>(items.size()) != parameter.length) ||
      (literal.kind != LiteralKind::list && items.empty()) ||
      !std::all_of(items.begin(), items.end(),
                   [&](const Literal& item) { return fits(kind, item); }))
    return std::nullopt;
  return made(list_value(kind, items));
}

}  // namespace rewrites

TENON_NAMESPACE_END

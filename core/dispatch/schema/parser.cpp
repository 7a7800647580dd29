// The schema parser; schema.hpp has the grammar.
#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/schema/cursor.hpp"

namespace tenon::core {

void SchemaCursor::fail(size_t offset, const std::string& what) const {
  throw Error(TENON_ERROR_VALUE, "schema error at column {}: {}{}",
              character_count(source.substr(0, offset)) + 1, what, caret_lines(source, offset));
}

std::string SchemaCursor::here() {
  skip_space();
  if (at >= source.size()) return "the end of the text";
  size_t end = at + 1;
  const bool word = is_of_name(source[at]);
  while (end < source.size() && (word ? is_of_name(source[end]) : continues_character(source[end])))
    ++end;
  return quote(source.substr(at, end - at));
}

namespace {

constexpr size_t kLongestSchema = 1 << 16;

// Names of types in other systems, for suggestions.
constexpr std::pair<std::string_view, std::string_view> kForeignNames[] = {
    {"string", "str"},    {"String", "str"},  {"double", "float"}, {"number", "Scalar"},
    {"Number", "Scalar"}, {"int64_t", "int"}, {"SymInt", "int"},   {"ScalarType", "dtype"},
    {"boolean", "bool"},  {"at", "Tensor"},   {"dict", "json"},    {"object", "any"}};

class Parser : SchemaCursor {
 public:
  explicit Parser(std::string_view text) : SchemaCursor(text) {}

  Schema parse() {
    if (source.size() > kLongestSchema) {
      throw Error(TENON_ERROR_VALUE, "schema error: the text has {} bytes; at most {} are read",
                  source.size(), kLongestSchema);
    }
    parse_name();
    parse_parameters();
    const bool arrow = take("->");
    if (arrow && module_at_) fail(*module_at_, "only attributes of modules are modules");
    if (arrow) parse_returns();
    skip_space();
    if (at < source.size()) {
      fail(at, arrow ? format_text("unexpected {} after the end", here())
                     : format_text("unexpected {}; expected '->'", here()));
    }
    finish(arrow);
    return std::move(schema_);
  }

 private:
  void parse_name() {
    skip_space();
    const size_t begin = at;
    while (true) {
      const size_t part = at;
      const std::string_view word = take_word();
      if (word.empty()) {
        fail(at, format_text("expected {}, found {}",
                             part == begin ? "the op's name" : "a name after '.'", here()));
      }
      schema_.name += word;
      // Only one run of text: a space ends the name.
      if (at < source.size() && source[at] == '.') {
        if (part == begin && word == "tenon") {
          fail(begin, "namespace 'tenon' is reserved; use another namespace or none");
        }
        ++at;
        if (at < source.size() && source[at] != ' ') {
          schema_.name += '.';
          continue;
        }
        fail(at, format_text("expected a name after '.', found {}", here()));
      }
      break;
    }
  }

  void parse_parameters() {
    expect("(", "'(' after the name");
    bool keyword_only = false;
    size_t star = 0;
    const size_t open = at - 1;
    if (take(")")) return;
    schema_.parameters.reserve(static_cast<size_t>(std::count(source.begin(), source.end(), ',')) +
                               1);
    while (true) {
      skip_space();
      const size_t begin = at;
      if (peek() == '\0') fail(open, "the '(' is never closed");
      if (take("*")) {
        if (keyword_only) fail(begin, "a second '*'");
        keyword_only = true;
        star = begin;
      } else {
        parse_parameter(begin, keyword_only);
      }
      if (take(",")) continue;
      if (take(")")) break;
      if (peek() == '\0') fail(open, "the '(' is never closed");
      fail(at, format_text("expected ',' or ')', found {}", here()));
    }
    if (keyword_only &&
        schema_.positional_count == static_cast<int64_t>(schema_.parameters.size())) {
      fail(star, "no parameter follows '*'");
    }
  }

  void parse_parameter(size_t begin, bool keyword_only) {
    Parameter parameter;
    parameter.keyword_only = keyword_only;
    parameter.type = parse_type(true);
    skip_space();
    const size_t name_at = at;
    parameter.name = take_word();
    if (parameter.name.empty())
      fail(at, format_text("expected a name for the parameter of type {}, found {}",
                           quote(type_text(parameter.type)), here()));
    if (parameter.name == "None" || parameter.name == "True" || parameter.name == "False")
      fail(name_at, format_text("{} cannot name a parameter", quote(parameter.name)));
    if (schema_.find(parameter.name) >= 0)
      fail(name_at, format_text("a second parameter named {}", quote(parameter.name)));
    if (schema_.parameters.size() == static_cast<size_t>(kMaxParameters)) {
      fail(name_at, format_text("more than {} parameters", kMaxParameters));
    }
    skip_space();
    if (take("=")) {
      parameter.has_default = true;
      parse_default(*this, schema_, parameter);
    } else if (!keyword_only && schema_.required_count < schema_.positional_count) {
      fail(name_at, format_text("parameter {} has no default but follows {}, which has one",
                                quote(parameter.name), quote(schema_.parameters.back().name)));
    }
    if (keyword_only && parameter.name == "out" && parameter.type.kind == TypeKind::tensor &&
        !(parameter.type.mutates && parameter.type.optional && parameter.has_default)) {
      fail(begin, "the keyword-only parameter 'out' is written 'Tensor(a!)? out=None'");
    }
    parameter.accept = accepted_tags(parameter.type);
    if (parameter.type.length > 0) parameter.accept &= 1u << TENON_VALUE_NONE;
    if (!keyword_only) {
      ++schema_.positional_count;
      if (!parameter.has_default) ++schema_.required_count;
    }
    schema_.parameters.push_back(std::move(parameter));
  }

  SchemaType parse_type(bool is_parameter) {
    skip_space();
    const size_t begin = at;
    SchemaType type;
    const std::string_view word = take_word();
    if (word.empty()) fail(at, format_text("expected a type, found {}", here()));
    const auto known = std::ranges::find(kTypeKinds, word, &KindFacts::name);
    if (known == kTypeKinds.end())
      fail(begin, format_text("unknown type {}{}", quote(word), type_hint(word)));
    type.kind = known->kind;
    if (type.kind == TypeKind::module && !module_at_) module_at_ = begin;
    if (take("|")) {
      skip_space();
      const size_t second = at;
      const std::string_view other = take_word();
      const bool fits =
          (word == "Tensor" && other == "Scalar") || (word == "Scalar" && other == "Tensor");
      if (!fits) fail(second, "the only union of types is 'Tensor|Scalar'");
      type.kind = TypeKind::tensor_or_scalar;
    }
    if (peek() == '(') parse_alias(type, is_parameter);
    if (peek() == '[') parse_list(type);
    if (peek() == '{') parse_dictionary(type);
    if (take("?")) {
      if (!is_parameter && type.kind != TypeKind::tensor)
        fail(at - 1, "only a Tensor result can be optional");
      type.optional = true;
      if (peek() == '[')
        fail(at, "an optional list is written 'Type[]?'; lists of optional values do not exist");
    }
    if (!is_parameter &&
        (type.kind == TypeKind::tensor_or_scalar || type.kind == TypeKind::module ||
         type.kind == TypeKind::json || type.length > 0)) {
      fail(begin, format_text("{} cannot be the type of a result", quote(type_text(type))));
    }
    return type;
  }

  static std::string type_hint(std::string_view word) {
    if (word == "Parameter" || word == "Buffer")
      return "; an op keeps no state: a Module registers it, and passes it to the op as a Tensor";
    for (const auto& [foreign, ours] : kForeignNames) {
      if (foreign == word) return format_text(" (did you mean {}?)", quote(ours));
    }
    Words names;
    for (const KindFacts& facts : kTypeKinds) {
      if (facts.kind != TypeKind::tensor_or_scalar) names.push_back(facts.name);
    }
    const std::string hint = suggestion(word, names);
    return hint.empty() ? format_text("; the types are {}", word_list(names, "and")) : hint;
  }

  void parse_alias(SchemaType& type, bool is_parameter) {
    const size_t begin = at;
    expect("(", "'('");
    if (type.kind != TypeKind::tensor) fail(begin, "only a Tensor can be marked as alias");
    skip_space();
    const std::string_view letter = take_word();
    if (letter.size() != 1 || letter[0] < 'a' || letter[0] > 'z') {
      fail(begin + 1, "an alias mark is one small letter, as in 'Tensor(a)' or 'Tensor(a!)'");
    }
    type.alias = letter[0];
    type.mutates = take("!");
    expect(")", "')' after the alias mark");
    if (is_parameter) return;
    bool named = false;
    bool mutated = false;
    for (const Parameter& parameter : schema_.parameters) {
      if (parameter.type.alias != type.alias) continue;
      named = true;
      mutated = mutated || parameter.type.mutates;
    }
    const std::string mark(1, type.alias);
    if (!named) fail(begin, format_text("no parameter carries the alias mark '({})'", mark));
    if (type.mutates && !mutated)
      fail(begin, format_text("no parameter carries the mutation mark '({}!)'", mark));
  }

  void parse_list(SchemaType& type) {
    const size_t begin = at;
    expect("[", "'['");
    const bool possible = type.kind != TypeKind::tensor_or_scalar && type.kind != TypeKind::dtype &&
                          type.kind != TypeKind::json && type.kind != TypeKind::any;
    if (!possible)
      fail(begin, format_text("a list of {} is not a type; drop the brackets",
                              quote(facts_of(type.kind).name)));
    type.list = true;
    if (is_digit(peek())) {
      const size_t digits = at;
      const auto [end, error] =
          std::from_chars(source.data() + at, source.data() + source.size(), type.length);
      at = static_cast<size_t>(end - source.data());
      if (error != std::errc() || type.length < 1 || type.length > kMaxParameters) {
        fail(digits, format_text("a fixed list length is from 1 to {}", kMaxParameters));
      }
      if (type.kind == TypeKind::tensor) fail(digits, "lists of Tensors have no fixed length");
    }
    expect("]", "']'");
    if (peek() == '[') fail(at, "a list of lists is not a type; use one list");
  }

  void parse_dictionary(SchemaType& type) {
    const size_t begin = at;
    expect("{", "'{'");
    if (type.kind != TypeKind::module)
      fail(begin, format_text("a dictionary of {} is not a type; dictionaries are of modules",
                              quote(facts_of(type.kind).name)));
    type.list = type.dictionary = true;
    expect("}", "'}'");
  }

  void parse_returns() {
    if (!take("(")) {
      add_return();
      return;
    }
    const size_t open = at - 1;
    if (take(")")) return;
    schema_.returns_tuple = true;
    do {
      if (peek() == '\0') break;
      add_return();
      skip_space();
      const size_t name_at = at;
      const std::string_view name = take_word();
      if (name.empty()) continue;
      const auto& names = schema_.return_names;
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        fail(name_at, format_text("a second result named {}", quote(name)));
      }
      schema_.return_names.back() = name;
    } while (take(","));
    if (peek() == '\0') fail(open, "the '(' is never closed");
    expect(")", "',' or ')'");
  }

  void add_return() {
    skip_space();
    const size_t begin = at;
    if (schema_.returns.size() == static_cast<size_t>(kMaxParameters)) {
      fail(begin, format_text("more than {} results", kMaxParameters));
    }
    schema_.returns.push_back(parse_type(false));
    schema_.return_names.emplace_back();
  }

  void finish(bool arrow) {
    std::string text = schema_.name + parameters_text(schema_, parameter_text);
    if (arrow) text += " -> " + returns_text(schema_);
    schema_.text = std::move(text);
  }

  std::optional<size_t> module_at_;  // the first type that is a module
  Schema schema_;
};

}  // namespace

Schema parse_schema(std::string_view text) { return Parser(text).parse(); }

}  // namespace tenon::core

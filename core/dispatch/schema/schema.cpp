// The schema parser and the texts that are made from schemas.
#include "core/dispatch/schema/schema.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/characters.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/binding/arguments.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

constexpr size_t kLongestSchema = 1 << 16;
constexpr size_t kLongestDefault = 256;  // elements of a list

struct TypeName {
  std::string_view text;
  TypeKind kind;
};
constexpr TypeName kTypeNames[] = {{"Tensor", TypeKind::tensor}, {"Scalar", TypeKind::scalar},
                                   {"int", TypeKind::integer},   {"float", TypeKind::floating},
                                   {"bool", TypeKind::boolean},  {"str", TypeKind::string},
                                   {"dtype", TypeKind::dtype},   {"json", TypeKind::json},
                                   {"Module", TypeKind::module}, {"any", TypeKind::any}};
// What people write who come from elsewhere.
constexpr std::pair<std::string_view, std::string_view> kForeignNames[] = {
    {"string", "str"},    {"String", "str"},  {"double", "float"}, {"number", "Scalar"},
    {"Number", "Scalar"}, {"int64_t", "int"}, {"SymInt", "int"},   {"ScalarType", "dtype"},
    {"boolean", "bool"},  {"at", "Tensor"},   {"dict", "json"},    {"object", "any"}};

std::string_view kind_name(TypeKind kind) {
  for (const TypeName& name : kTypeNames) {
    if (name.kind == kind) return name.text;
  }
  return "Tensor|Scalar";
}

constexpr uint32_t bit(uint32_t tag) { return 1u << tag; }

uint32_t accepted_tags(const SchemaType& type) {
  uint32_t tags = type.optional ? bit(TENON_VALUE_NONE) : 0;
  if (type.list) {
    if (type.length > 0) return tags;
    switch (type.kind) {
      case TypeKind::module:
        return tags | bit(type.dictionary ? TENON_VALUE_MODULE_DICT : TENON_VALUE_MODULE_LIST);
      case TypeKind::tensor:
        return tags | bit(TENON_VALUE_TENSOR_LIST);
      case TypeKind::integer:
        return tags | bit(TENON_VALUE_INT_LIST);
      case TypeKind::floating:
        return tags | bit(TENON_VALUE_FLOAT_LIST);
      case TypeKind::boolean:
        return tags | bit(TENON_VALUE_BOOL_LIST);
      case TypeKind::string:
        return tags | bit(TENON_VALUE_STRING_LIST);
      default:  // Scalar
        return tags | bit(TENON_VALUE_BOOL_LIST) | bit(TENON_VALUE_INT_LIST) |
               bit(TENON_VALUE_FLOAT_LIST);
    }
  }
  constexpr uint32_t numbers =
      bit(TENON_VALUE_BOOL) | bit(TENON_VALUE_INT) | bit(TENON_VALUE_FLOAT);
  switch (type.kind) {
    case TypeKind::tensor:
      return tags | bit(TENON_VALUE_TENSOR);
    case TypeKind::tensor_or_scalar:
      return tags | bit(TENON_VALUE_TENSOR) | numbers;
    case TypeKind::scalar:
      return tags | numbers;
    case TypeKind::integer:
      return tags | bit(TENON_VALUE_INT) | bit(TENON_VALUE_BOOL);
    case TypeKind::floating:
      return tags | bit(TENON_VALUE_FLOAT);
    case TypeKind::boolean:
      return tags | bit(TENON_VALUE_BOOL);
    case TypeKind::string:
      return tags | bit(TENON_VALUE_STRING);
    case TypeKind::dtype:
      return tags | bit(TENON_VALUE_DTYPE);
    case TypeKind::json:
      return tags | bit(TENON_VALUE_JSON);
    case TypeKind::module:
      return tags | bit(TENON_VALUE_MODULE);
    case TypeKind::any:
      return bit(TENON_VALUE_TAG_COUNT) - 1;
  }
  return tags;
}

// A default before it is fitted to its type.
struct Literal {
  enum class Kind : uint8_t { None, Bool, Int, Float, String, Word, List };
  Kind kind = Kind::None;
  int64_t integer = 0;
  double number = 0;
  std::string text;  // of strings and words
  size_t offset = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view source) : source_(source) {}

  Schema parse() {
    if (source_.size() > kLongestSchema) {
      throw Error(TENON_ERROR_VALUE, "schema error: the text has {} bytes; at most {} are read",
                  source_.size(), kLongestSchema);
    }
    parse_name();
    parse_parameters();
    const bool arrow = take("->");
    if (arrow && module_at_) fail(*module_at_, "only attributes of modules are modules");
    if (arrow) parse_returns();
    skip_space();
    if (at_ < source_.size()) {
      fail(at_, arrow ? format_text("unexpected {} after the end", here())
                      : format_text("unexpected {}; expected '->'", here()));
    }
    finish(arrow);
    return std::move(schema_);
  }

 private:
  [[noreturn]] void fail(size_t offset, const std::string& what) const {
    throw Error(TENON_ERROR_VALUE, "schema error at column {}: {}{}",
                character_count(source_.substr(0, offset)) + 1, what, caret_lines(source_, offset));
  }

  void skip_space() {
    while (at_ < source_.size() &&
           (source_[at_] == ' ' || source_[at_] == '\n' || source_[at_] == '\t'))
      ++at_;
  }
  char peek() {
    skip_space();
    return at_ < source_.size() ? source_[at_] : '\0';
  }
  bool take(char token) {
    if (peek() != token) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view token) {
    skip_space();
    if (!source_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  // The token at the reading position, for messages.
  std::string here() {
    skip_space();
    if (at_ >= source_.size()) return "the end of the text";
    size_t end = at_ + 1;
    const bool word = is_of_name(source_[at_]);
    while (end < source_.size() &&
           (word ? is_of_name(source_[end]) : continues_character(source_[end])))
      ++end;
    return quote(source_.substr(at_, end - at_));
  }
  void expect(char token, std::string_view why) {
    if (!take(token)) fail(at_, format_text("expected {}, found {}", why, here()));
  }
  // A word without leading digit; empty when there is none.
  std::string_view take_word() {
    skip_space();
    size_t end = at_;
    if (end < source_.size() && begins_name(source_[end])) {
      while (end < source_.size() && is_of_name(source_[end])) ++end;
    }
    const std::string_view word = source_.substr(at_, end - at_);
    at_ = end;
    return word;
  }

  void parse_name() {
    skip_space();
    const size_t begin = at_;
    while (true) {
      const size_t part = at_;
      const std::string_view word = take_word();
      if (word.empty()) {
        fail(at_, format_text("expected {}, found {}",
                              part == begin ? "the op's name" : "a name after '.'", here()));
      }
      schema_.name += word;
      // Only one run of text: a space ends the name.
      if (at_ < source_.size() && source_[at_] == '.') {
        if (part == begin && word == "tenon") {
          fail(begin, "namespace 'tenon' is reserved; use another namespace or none");
        }
        ++at_;
        if (at_ < source_.size() && source_[at_] != ' ') {
          schema_.name += '.';
          continue;
        }
        fail(at_, format_text("expected a name after '.', found {}", here()));
      }
      break;
    }
  }

  void parse_parameters() {
    expect('(', "'(' after the name");
    bool keyword_only = false;
    size_t star = 0;
    const size_t open = at_ - 1;
    if (take(')')) return;
    schema_.parameters.reserve(
        static_cast<size_t>(std::count(source_.begin(), source_.end(), ',')) + 1);
    while (true) {
      skip_space();
      const size_t begin = at_;
      if (peek() == '\0') fail(open, "the '(' is never closed");
      if (take('*')) {
        if (keyword_only) fail(begin, "a second '*'");
        keyword_only = true;
        star = begin;
      } else {
        parse_parameter(begin, keyword_only);
      }
      if (take(',')) continue;
      if (take(')')) break;
      if (peek() == '\0') fail(open, "the '(' is never closed");
      fail(at_, format_text("expected ',' or ')', found {}", here()));
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
    const size_t name_at = at_;
    parameter.name = take_word();
    if (parameter.name.empty())
      fail(at_, format_text("expected a name for the parameter of type {}, found {}",
                            quote(type_text(parameter.type)), here()));
    const char first = parameter.name[0];
    if ((first == 'N' && parameter.name == "None") || (first == 'T' && parameter.name == "True") ||
        (first == 'F' && parameter.name == "False")) {
      fail(name_at, format_text("{} cannot name a parameter", quote(parameter.name)));
    }
    if (schema_.find(parameter.name) >= 0)
      fail(name_at, format_text("a second parameter named {}", quote(parameter.name)));
    if (schema_.parameters.size() == static_cast<size_t>(kMaxParameters)) {
      fail(name_at, format_text("more than {} parameters", kMaxParameters));
    }
    skip_space();
    if (take('=')) {
      parameter.has_default = true;
      parse_default(parameter);
    } else if (!keyword_only && schema_.required_count < schema_.positional_count) {
      fail(name_at, format_text("parameter {} has no default but follows {}, which has one",
                                quote(parameter.name), quote(schema_.parameters.back().name)));
    }
    if (keyword_only && parameter.name == "out" && parameter.type.kind == TypeKind::tensor &&
        !(parameter.type.mutates && parameter.type.optional && parameter.has_default)) {
      fail(begin, "the keyword-only parameter 'out' is written 'Tensor(a!)? out=None'");
    }
    parameter.accept = accepted_tags(parameter.type);
    if (!keyword_only) {
      ++schema_.positional_count;
      if (!parameter.has_default) ++schema_.required_count;
    }
    schema_.parameters.push_back(std::move(parameter));
  }

  SchemaType parse_type(bool is_parameter) {
    skip_space();
    const size_t begin = at_;
    SchemaType type;
    const std::string_view word = take_word();
    if (word.empty()) fail(at_, format_text("expected a type, found {}", here()));
    const auto* const known = std::find_if(std::begin(kTypeNames), std::end(kTypeNames),
                                           [&](const TypeName& name) { return name.text == word; });
    if (known == std::end(kTypeNames))
      fail(begin, format_text("unknown type {}{}", quote(word), type_hint(word)));
    type.kind = known->kind;
    if (type.kind == TypeKind::module && !module_at_) module_at_ = begin;
    if (take('|')) {
      skip_space();
      const size_t second = at_;
      const std::string_view other = take_word();
      const bool fits =
          (word == "Tensor" && other == "Scalar") || (word == "Scalar" && other == "Tensor");
      if (!fits) fail(second, "the only union of types is 'Tensor|Scalar'");
      type.kind = TypeKind::tensor_or_scalar;
    }
    if (peek() == '(') parse_alias(type, is_parameter);
    if (peek() == '[') parse_list(type);
    if (peek() == '{') parse_dictionary(type);
    if (take('?')) {
      if (!is_parameter && type.kind != TypeKind::tensor)
        fail(at_ - 1, "only a Tensor result can be optional");
      type.optional = true;
      if (peek() == '[')
        fail(at_, "an optional list is written 'Type[]?'; lists of optional values do not exist");
    }
    if (!is_parameter &&
        (type.kind == TypeKind::tensor_or_scalar || type.kind == TypeKind::module ||
         type.kind == TypeKind::json || type.length > 0)) {
      fail(begin, format_text("{} cannot be the type of a result", quote(type_text(type))));
    }
    return type;
  }

  static std::string type_hint(std::string_view word) {
    for (const auto& [foreign, ours] : kForeignNames) {
      if (foreign == word) return format_text(" (did you mean {}?)", quote(ours));
    }
    Words names;
    for (const TypeName& name : kTypeNames) names.push_back(name.text);
    const std::string hint = suggestion(word, names);
    return hint.empty() ? format_text("; the types are {}", word_list(names, "and")) : hint;
  }

  void parse_alias(SchemaType& type, bool is_parameter) {
    const size_t begin = at_;
    expect('(', "'('");
    if (type.kind != TypeKind::tensor) fail(begin, "only a Tensor can be marked as alias");
    skip_space();
    const std::string_view letter = take_word();
    if (letter.size() != 1 || letter[0] < 'a' || letter[0] > 'z') {
      fail(begin + 1, "an alias mark is one small letter, as in 'Tensor(a)' or 'Tensor(a!)'");
    }
    type.alias = letter[0];
    type.mutates = take('!');
    expect(')', "')' after the alias mark");
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
    const size_t begin = at_;
    expect('[', "'['");
    const bool possible = type.kind != TypeKind::tensor_or_scalar && type.kind != TypeKind::dtype &&
                          type.kind != TypeKind::json && type.kind != TypeKind::any;
    if (!possible)
      fail(begin, format_text("a list of {} is not a type; drop the brackets",
                              quote(kind_name(type.kind))));
    type.list = true;
    if (is_digit(peek())) {
      const size_t digits = at_;
      const auto [end, error] =
          std::from_chars(source_.data() + at_, source_.data() + source_.size(), type.length);
      at_ = static_cast<size_t>(end - source_.data());
      if (error != std::errc() || type.length < 1 || type.length > kMaxParameters) {
        fail(digits, format_text("a fixed list length is from 1 to {}", kMaxParameters));
      }
      if (type.kind == TypeKind::tensor) fail(digits, "lists of Tensors have no fixed length");
    }
    expect(']', "']'");
    if (peek() == '[') fail(at_, "a list of lists is not a type; use one list");
  }

  void parse_dictionary(SchemaType& type) {
    const size_t begin = at_;
    expect('{', "'{'");
    if (type.kind != TypeKind::module)
      fail(begin, format_text("a dictionary of {} is not a type; dictionaries are of modules",
                              quote(kind_name(type.kind))));
    type.list = type.dictionary = true;
    expect('}', "'}'");
  }

  Literal parse_literal() {
    Literal literal;
    const char first = peek();
    literal.offset = at_;
    if (first == '\'' || first == '"') {
      literal.kind = Literal::Kind::String;
      parse_string(literal);
    } else if (begins_name(first)) {
      literal.text = take_word();
      parse_word(literal, false);
    } else if (is_digit(first) || first == '-' || first == '+' || first == '.') {
      parse_number(literal);
    } else {
      fail(at_, format_text("expected a default, found {}", here()));
    }
    return literal;
  }

  void parse_word(Literal& literal, bool negative) {
    using Kind = Literal::Kind;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::string& word = literal.text;
    if (word == "inf" || word == "nan") {
      literal.kind = Kind::Float;
      literal.number = word == "nan" ? std::nan("") : negative ? -infinity : infinity;
    } else if (negative) {
      fail(literal.offset, "expected a number after the sign");
    } else if (word == "None") {
      literal.kind = Kind::None;
    } else if (word == "True" || word == "False") {
      literal.kind = Kind::Bool;
      literal.integer = word == "True" ? 1 : 0;
    } else {
      literal.kind = Kind::Word;
    }
  }

  void parse_number(Literal& literal) {
    const bool negative = source_[at_] == '-';
    if (negative || source_[at_] == '+') ++at_;
    if (at_ < source_.size() && begins_name(source_[at_])) {
      literal.text = take_word();
      parse_word(literal, negative);
      return;
    }
    size_t end = at_;
    bool integral = true;
    while (end < source_.size()) {
      const char c = source_[end];
      const bool sign =
          (c == '-' || c == '+') && (source_[end - 1] == 'e' || source_[end - 1] == 'E');
      if (!is_of_name(c) && c != '.' && !sign) break;
      if (!is_digit(c)) integral = false;
      ++end;
    }
    const std::string text = (negative ? "-" : "") + std::string(source_.substr(at_, end - at_));
    const char* const last = text.data() + text.size();
    at_ = end;
    literal.kind = integral ? Literal::Kind::Int : Literal::Kind::Float;
    const auto [stop, error] = integral ? std::from_chars(text.data(), last, literal.integer)
                                        : std::from_chars(text.data(), last, literal.number);
    if (error == std::errc::result_out_of_range) {
      fail(literal.offset,
           integral ? "the integer does not fit in 64 bits" : "the number is out of range");
    }
    if (error != std::errc() || stop != last)
      fail(literal.offset, format_text("{} is not a number", quote(text)));
    if (integral) literal.number = static_cast<double>(literal.integer);
  }

  void parse_string(Literal& literal) {
    const char mark = source_[at_];
    for (++at_; at_ < source_.size() && source_[at_] != mark; ++at_) {
      char letter = source_[at_];
      if (static_cast<unsigned char>(letter) < 0x20)
        fail(at_, "a control character inside a string");
      if (letter == '\\') {
        ++at_;
        const char escaped = at_ < source_.size() ? source_[at_] : '\0';
        if (escaped == 'n') {
          letter = '\n';
        } else if (escaped == 't') {
          letter = '\t';
        } else if (escaped == '\\' || escaped == '\'' || escaped == '"') {
          letter = escaped;
        } else {
          fail(at_ - 1, R"(no such escape; \n \t \\ \' and \" exist)");
        }
      }
      literal.text += letter;
    }
    if (at_ >= source_.size()) fail(literal.offset, "the string is never closed");
    ++at_;
    if (!is_utf8(literal.text)) fail(literal.offset, "the string is not UTF-8");
  }

  void parse_default(Parameter& parameter) {
    const SchemaType& type = parameter.type;
    skip_space();
    const size_t begin = at_;
    DefaultValue& result = parameter.default_value;
    if (take('[')) {
      std::vector<Literal> items;
      if (!take(']')) {
        do {
          if (peek() == '[') fail(at_, "a list of lists is not a type; use one list");
          items.push_back(parse_literal());
          if (items.size() > kLongestDefault) fail(begin, "the default has too many elements");
        } while (take(','));
        expect(']', "',' or ']'");
      }
      if (!type.list && type.kind != TypeKind::any) unfit(begin, parameter, "a list");
      const SchemaType element = element_type(parameter, items, begin);
      result.text = "[";
      for (const Literal& item : items) {
        if (result.text.size() > 1) result.text += ", ";
        result.text += literal_text(element, item, parameter);
      }
      result.text += "]";
      if (type.kind == TypeKind::module) {
        if (!items.empty()) unfit(begin, parameter, "a module");
        result.value.tag = list_tag(type);
        return;
      }
      if (type.length > 0 && static_cast<int32_t>(items.size()) != type.length) {
        fail(begin,
             format_text("the default of {} has {}, its type needs {}", quote(parameter.name),
                         counted(static_cast<int64_t>(items.size()), "element"), type.length));
      }
      result.value = list_value(element.kind, items);
      return;
    }
    const Literal literal = parse_literal();
    if (literal.kind == Literal::Kind::None) {
      if (!type.optional && type.kind != TypeKind::any) {
        fail(begin,
             format_text("None does not fit {}; the optional type is {}", quote(type_text(type)),
                         quote(format_text("{}?", type_text(type)))));
      }
      result.text = "None";
      return;
    }
    SchemaType element = type;
    element.list = false;
    element.length = 0;
    element.optional = false;
    result.text = literal_text(element, literal, parameter);
    if (type.list) {
      if (type.kind == TypeKind::string || type.kind == TypeKind::tensor)
        unfit(begin, parameter, "a single value");
      // One value stands for all of a list of fixed length, else for a list of one.
      const auto count = static_cast<size_t>(std::max(1, type.length));
      result.value =
          list_value(scalar_kind(type.kind, literal), std::vector<Literal>(count, literal));
      return;
    }
    result.value = scalar_value(element.kind, literal);
  }

  [[noreturn]] void unfit(size_t offset, const Parameter& parameter,
                          const std::string& what) const {
    fail(offset, format_text("{} does not fit parameter {} of type {}", what, quote(parameter.name),
                             quote(type_text(parameter.type))));
  }

  // The element type of a list default; for `any` and lists of numbers it follows from the
  // elements.
  SchemaType element_type(const Parameter& parameter, const std::vector<Literal>& items,
                          size_t begin) const {
    using Kind = Literal::Kind;
    SchemaType element;
    element.kind = parameter.type.kind;
    if (element.kind == TypeKind::tensor && !items.empty())
      unfit(begin, parameter, "a list of values");
    if (element.kind != TypeKind::any && element.kind != TypeKind::scalar) return element;
    const auto all = [&](auto&& test) { return std::all_of(items.begin(), items.end(), test); };
    if (all([](const Literal& item) { return item.kind == Kind::Int; })) {
      element.kind = TypeKind::integer;
    } else if (all([](const Literal& item) {
                 return item.kind == Kind::Int || item.kind == Kind::Float;
               })) {
      element.kind = TypeKind::floating;
    } else if (all([](const Literal& item) { return item.kind == Kind::Bool; })) {
      element.kind = TypeKind::boolean;
    } else if (parameter.type.kind == TypeKind::any &&
               all([](const Literal& item) { return item.kind == Kind::String; })) {
      element.kind = TypeKind::string;
    } else {
      unfit(begin, parameter, "a list of mixed values");
    }
    return element;
  }

  static TypeKind scalar_kind(TypeKind kind, const Literal& literal) {
    if (kind != TypeKind::scalar) return kind;
    return literal.kind == Literal::Kind::Bool  ? TypeKind::boolean
           : literal.kind == Literal::Kind::Int ? TypeKind::integer
                                                : TypeKind::floating;
  }

  // Checks that a single literal fits, and prints it the way it is normalized.
  std::string literal_text(const SchemaType& type, const Literal& literal,
                           const Parameter& parameter) const {
    using Kind = Literal::Kind;
    const bool boolean = literal.kind == Kind::Bool;
    const bool integer = literal.kind == Kind::Int;
    const bool number = integer || literal.kind == Kind::Float;
    bool fits = false;
    switch (type.kind) {
      case TypeKind::tensor_or_scalar:
      case TypeKind::scalar:
        fits = number || boolean;
        break;
      case TypeKind::integer:
        fits = integer;
        break;
      case TypeKind::floating:
        fits = number;
        break;
      case TypeKind::boolean:
        fits = boolean;
        break;
      case TypeKind::string:
        fits = literal.kind == Kind::String;
        break;
      case TypeKind::dtype:
        if (literal.kind == Kind::Word && dtype_find(literal.text) == TENON_DTYPE_NONE) {
          fail(literal.offset,
               format_text("unknown dtype {}{}", quote(literal.text), dtype_hint(literal.text)));
        }
        fits = literal.kind == Kind::Word;
        break;
      case TypeKind::any:
        fits = number || boolean || literal.kind == Kind::String;
        break;
      case TypeKind::tensor:
      case TypeKind::json:
      case TypeKind::module:
        break;
    }
    if (literal.kind == Kind::Word && type.kind != TypeKind::dtype) {
      const std::string word = literal.text;
      const std::string hint = word == "true" || word == "false" || word == "none" || word == "null"
                                   ? format_text("; write {}", word == "true"    ? "True"
                                                               : word == "false" ? "False"
                                                                                 : "None")
                                   : "";
      fail(literal.offset, format_text("{} is not a value{}", quote(word), hint));
    }
    if (!fits) unfit(literal.offset, parameter, shown(literal));
    if (type.kind == TypeKind::floating && integer) return float_text(literal.number);
    if (type.kind == TypeKind::dtype) return dtype_text(dtype_find(literal.text));
    return shown(literal);
  }

  static std::string dtype_hint(std::string_view word) {
    Words names;
#define TENON_NAME(name, code, bytes, type, text, ...) names.push_back(text);
    TENON_DTYPES(TENON_NAME)
#undef TENON_NAME
    const std::string hint = suggestion(word, names);
    return hint.empty() ? format_text("; the dtypes are {}", word_list(names, "and")) : hint;
  }

  static std::string shown(const Literal& literal) {
    switch (literal.kind) {
      case Literal::Kind::None:
        return "None";
      case Literal::Kind::Bool:
        return literal.integer != 0 ? "True" : "False";
      case Literal::Kind::Int:
        return std::to_string(literal.integer);
      case Literal::Kind::Float:
        return float_text(literal.number);
      case Literal::Kind::String: {
        std::string text = "'";
        for (const char letter : literal.text) {
          if (letter == '\'' || letter == '\\') text += '\\';
          if (letter == '\n' || letter == '\t') {
            text += letter == '\n' ? "\\n" : "\\t";
          } else {
            text += letter;
          }
        }
        return format_text("{}'", text);
      }
      default:
        return literal.text;
    }
  }

  tenon_string keep_string(const std::string& text) {
    const auto& kept = schema_.default_strings.emplace_back(std::make_unique<std::string>(text));
    return {kept->data(), static_cast<int64_t>(kept->size())};
  }

  tenon_value scalar_value(TypeKind kind, const Literal& literal) {
    tenon_value value{};
    if (kind == TypeKind::dtype) {
      value.tag = TENON_VALUE_DTYPE;
      value.as.integer = dtype_find(literal.text);
    } else if (literal.kind == Literal::Kind::String) {
      const tenon_string text = keep_string(literal.text);
      value.tag = TENON_VALUE_STRING;
      value.length = static_cast<uint32_t>(text.length);
      value.as.string = text.data;
    } else if (literal.kind == Literal::Kind::Float || kind == TypeKind::floating) {
      value.tag = TENON_VALUE_FLOAT;
      value.as.number = literal.number;
    } else {
      value.tag = literal.kind == Literal::Kind::Bool ? TENON_VALUE_BOOL : TENON_VALUE_INT;
      value.as.integer = literal.integer;
    }
    return value;
  }

  tenon_value list_value(TypeKind kind, const std::vector<Literal>& items) {
    tenon_value value{};
    value.length = static_cast<uint32_t>(items.size());
    switch (kind) {
      case TypeKind::tensor:
        value.tag = TENON_VALUE_TENSOR_LIST;
        break;
      case TypeKind::floating: {
        std::vector<double>& kept = schema_.default_numbers.emplace_back();
        for (const Literal& item : items) kept.push_back(item.number);
        value.tag = TENON_VALUE_FLOAT_LIST;
        value.as.numbers = kept.data();
        break;
      }
      case TypeKind::boolean: {
        std::vector<uint8_t>& kept = schema_.default_booleans.emplace_back();
        for (const Literal& item : items) kept.push_back(item.integer != 0);
        value.tag = TENON_VALUE_BOOL_LIST;
        value.as.booleans = kept.data();
        break;
      }
      case TypeKind::string: {
        std::vector<tenon_string>& kept = schema_.default_string_lists.emplace_back();
        for (const Literal& item : items) kept.push_back(keep_string(item.text));
        value.tag = TENON_VALUE_STRING_LIST;
        value.as.strings = kept.data();
        break;
      }
      default: {
        std::vector<int64_t>& kept = schema_.default_integers.emplace_back();
        for (const Literal& item : items) kept.push_back(item.integer);
        value.tag = TENON_VALUE_INT_LIST;
        value.as.integers = kept.data();
        break;
      }
    }
    return value;
  }

  void parse_returns() {
    if (!take('(')) {
      add_return();
      return;
    }
    const size_t open = at_ - 1;
    if (take(')')) return;
    schema_.returns_tuple = true;
    do {
      if (peek() == '\0') break;
      add_return();
      skip_space();
      const size_t name_at = at_;
      const std::string_view name = take_word();
      if (name.empty()) continue;
      const auto& names = schema_.return_names;
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        fail(name_at, format_text("a second result named {}", quote(name)));
      }
      schema_.return_names.back() = name;
    } while (take(','));
    if (peek() == '\0') fail(open, "the '(' is never closed");
    expect(')', "',' or ')'");
  }

  void add_return() {
    skip_space();
    const size_t begin = at_;
    if (schema_.returns.size() == static_cast<size_t>(kMaxParameters)) {
      fail(begin, format_text("more than {} results", kMaxParameters));
    }
    schema_.returns.push_back(parse_type(false));
    schema_.return_names.emplace_back();
  }

  void finish(bool arrow) {
    std::string text;
    text.reserve(source_.size() + 16);
    text += schema_.name;
    text += '(';
    bool keyword_only = false;
    for (const Parameter& parameter : schema_.parameters) {
      if (&parameter != schema_.parameters.data()) text += ", ";
      if (parameter.keyword_only && !keyword_only) text += "*, ";
      keyword_only = parameter.keyword_only;
      text += type_text(parameter.type);
      text += ' ';
      text += parameter.name;
      if (!parameter.has_default) continue;
      text += '=';
      text += parameter.default_value.text;
    }
    text += ")";
    if (arrow) {
      const bool bare = schema_.returns.size() == 1 && !schema_.returns_tuple;
      text += bare ? " -> " : " -> (";
      for (size_t i = 0; i < schema_.returns.size(); ++i) {
        if (i > 0) text += ", ";
        text += type_text(schema_.returns[i]);
        if (!schema_.return_names[i].empty()) text += format_text(" {}", schema_.return_names[i]);
      }
      if (!bare) text += ")";
    }
    schema_.text = std::move(text);
  }

  std::string_view source_;
  size_t at_ = 0;
  std::optional<size_t> module_at_;  // the first type that is a module
  Schema schema_;
};

}  // namespace

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

Schema parse_schema(std::string_view text) { return Parser(text).parse(); }

std::string signature_text(const Schema& schema) {
  std::string text = "(";
  bool keyword_only = false;
  for (const Parameter& parameter : schema.parameters) {
    if (&parameter != schema.parameters.data()) text += ", ";
    if (parameter.keyword_only && !keyword_only) text += "*, ";
    keyword_only = parameter.keyword_only;
    text += parameter.name;
    if (parameter.has_default) text += format_text("={}", parameter.default_value.text);
  }
  return format_text("{})", text);
}

std::string schema_difference(const Schema& a, std::string_view a_owner, const Schema& b,
                              std::string_view b_owner) {
  const auto parameter_text = [](const Schema& schema, size_t i) -> std::string {
    if (i >= schema.parameters.size()) return "nothing";
    const Parameter& parameter = schema.parameters[i];
    const std::string fallback =
        parameter.has_default ? format_text("={}", parameter.default_value.text) : "";
    return format_text(
        "{}{}", quote(format_text("{} {}{}", type_text(parameter.type), parameter.name, fallback)),
        parameter.keyword_only ? " by name only" : "");
  };
  const auto returns_text = [](const Schema& schema) {
    std::vector<std::string> types;
    for (size_t i = 0; i < schema.returns.size(); ++i) {
      const std::string& name = schema.return_names[i];
      types.push_back(
          format_text("{}{}{}", type_text(schema.returns[i]), name.empty() ? "" : " ", name));
    }
    const bool tuple = schema.returns_tuple;
    return format_text("'{}{}{}'", tuple ? "(" : "", join(types, ", "), tuple ? ")" : "");
  };
  const auto differ = [&](const std::string& where, const std::string& of_a,
                          const std::string& of_b) {
    return format_text("their schemas differ in {}: {} of {}, {} of {}", where, of_a,
                       quote(a_owner), of_b, quote(b_owner));
  };
  for (size_t i = 0; i < std::max(a.parameters.size(), b.parameters.size()); ++i) {
    const std::string of_a = parameter_text(a, i), of_b = parameter_text(b, i);
    if (of_a != of_b) return differ(format_text("parameter {}", i + 1), of_a, of_b);
  }
  const std::string of_a = returns_text(a), of_b = returns_text(b);
  return of_a == of_b ? "" : differ("what they return", of_a, of_b);
}

std::string type_text(const SchemaType& type) {
  std::string text(kind_name(type.kind));
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

// Literals of defaults: read, fitted to the parameter's type, printed, kept.
#include "core/dispatch/schema/default_value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

constexpr size_t kLongestDefault = 256;  // elements of a list

// A default before it is fitted to its type.
struct Literal {
  enum class Kind : uint8_t { None, Bool, Int, Float, String, Word, List };
  Kind kind = Kind::None;
  int64_t integer = 0;
  double number = 0;
  std::string text;  // text of strings and words
  size_t offset = 0;
};

class DefaultParser {
 public:
  DefaultParser(SchemaCursor& text, Schema& schema) : text_(text), schema_(schema) {}

  void parse_into(Parameter& parameter) {
    const SchemaType& type = parameter.type;
    text_.skip_space();
    const size_t begin = text_.at;
    DefaultValue& result = parameter.default_value;
    if (text_.take('[')) {
      std::vector<Literal> items;
      if (!text_.take(']')) {
        do {
          if (text_.peek() == '[')
            text_.fail(text_.at, "a list of lists is not a type; use one list");
          items.push_back(parse_literal());
          if (items.size() > kLongestDefault)
            text_.fail(begin, "the default has too many elements");
        } while (text_.take(','));
        text_.expect(']', "',' or ']'");
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
        text_.fail(begin, format_text(
                              "the default of {} has {}, its type needs {}", quote(parameter.name),
                              counted(static_cast<int64_t>(items.size()), "element"), type.length));
      }
      result.value = list_value(element.kind, items);
      return;
    }
    const Literal literal = parse_literal();
    if (literal.kind == Literal::Kind::None) {
      if (!type.optional && type.kind != TypeKind::any) {
        text_.fail(begin,
                   format_text("None does not fit {}; the optional type is {}",
                               quote(type_text(type)), quote(format_text("{}?", type_text(type)))));
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

 private:
  Literal parse_literal() {
    Literal literal;
    const char first = text_.peek();
    literal.offset = text_.at;
    if (first == '\'' || first == '"') {
      literal.kind = Literal::Kind::String;
      parse_string(literal);
    } else if (begins_name(first)) {
      literal.text = text_.take_word();
      parse_word(literal, false);
    } else if (is_digit(first) || first == '-' || first == '+' || first == '.') {
      parse_number(literal);
    } else {
      text_.fail(text_.at, format_text("expected a default, found {}", text_.here()));
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
      text_.fail(literal.offset, "expected a number after the sign");
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
    const bool negative = text_.source[text_.at] == '-';
    if (negative || text_.source[text_.at] == '+') ++text_.at;
    if (text_.at < text_.source.size() && begins_name(text_.source[text_.at])) {
      literal.text = text_.take_word();
      parse_word(literal, negative);
      return;
    }
    size_t end = text_.at;
    bool integral = true;
    while (end < text_.source.size()) {
      const char c = text_.source[end];
      const bool sign =
          (c == '-' || c == '+') && (text_.source[end - 1] == 'e' || text_.source[end - 1] == 'E');
      if (!is_of_name(c) && c != '.' && !sign) break;
      if (!is_digit(c)) integral = false;
      ++end;
    }
    const std::string text =
        (negative ? "-" : "") + std::string(text_.source.substr(text_.at, end - text_.at));
    const char* const last = text.data() + text.size();
    text_.at = end;
    literal.kind = integral ? Literal::Kind::Int : Literal::Kind::Float;
    const auto [stop, error] = integral ? std::from_chars(text.data(), last, literal.integer)
                                        : std::from_chars(text.data(), last, literal.number);
    if (error == std::errc::result_out_of_range) {
      text_.fail(literal.offset,
                 integral ? "the integer does not fit in 64 bits" : "the number is out of range");
    }
    if (error != std::errc() || stop != last)
      text_.fail(literal.offset, format_text("{} is not a number", quote(text)));
    if (integral) literal.number = static_cast<double>(literal.integer);
  }

  void parse_string(Literal& literal) {
    const char mark = text_.source[text_.at];
    for (++text_.at; text_.at < text_.source.size() && text_.source[text_.at] != mark; ++text_.at) {
      char letter = text_.source[text_.at];
      if (static_cast<unsigned char>(letter) < 0x20)
        text_.fail(text_.at, "a control character inside a string");
      if (letter == '\\') {
        ++text_.at;
        const char escaped = text_.at < text_.source.size() ? text_.source[text_.at] : '\0';
        if (escaped == 'n') {
          letter = '\n';
        } else if (escaped == 't') {
          letter = '\t';
        } else if (escaped == '\\' || escaped == '\'' || escaped == '"') {
          letter = escaped;
        } else {
          text_.fail(text_.at - 1, R"(no such escape; \n \t \\ \' and \" exist)");
        }
      }
      literal.text += letter;
    }
    if (text_.at >= text_.source.size()) text_.fail(literal.offset, "the string is never closed");
    ++text_.at;
    if (!is_utf8(literal.text)) text_.fail(literal.offset, "the string is not UTF-8");
  }

  [[noreturn]] void unfit(size_t offset, const Parameter& parameter,
                          const std::string& what) const {
    text_.fail(offset, format_text("{} does not fit parameter {} of type {}", what,
                                   quote(parameter.name), quote(type_text(parameter.type))));
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
          text_.fail(literal.offset, format_text("unknown dtype {}{}", quote(literal.text),
                                                 dtype_hint(literal.text)));
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
      text_.fail(literal.offset, format_text("{} is not a value{}", quote(word), hint));
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

  SchemaCursor& text_;
  Schema& schema_;
};

}  // namespace

void parse_default(SchemaCursor& text, Schema& schema, Parameter& parameter) {
  DefaultParser(text, schema).parse_into(parameter);
}

}  // namespace tenon::core

// Defaults of parameters: literals, fitted to the parameter's type, printed, kept.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/text.hpp"
#include "core/dispatch/schema/cursor.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

constexpr size_t kLongestDefault = 256;  // elements of a list

// A default before it is fitted to its type.
struct Literal {
  tenon_value value{};  // without the string
  std::string text;     // text of strings and words
  bool is_word = false;
  size_t offset = 0;

  double number() const {
    return value.tag == TENON_VALUE_FLOAT ? value.as.number : static_cast<double>(value.as.integer);
  }
};

class DefaultParser {
 public:
  DefaultParser(SchemaCursor& text, Schema& schema, Parameter& parameter)
      : text_(text), schema_(schema), parameter_(parameter), type_(parameter.type) {}

  void parse() {
    DefaultValue& result = parameter_.default_value;
    text_.skip_space();
    begin_ = text_.at;
    if (text_.take("[")) return parse_list();
    const Literal literal = parse_literal();
    if (literal.value.tag == TENON_VALUE_NONE && !literal.is_word) {
      if (!type_.optional && type_.kind != TypeKind::any) {
        text_.fail(begin_, format_text("None does not fit {}; the optional type is {}",
                                       quote(type_text(type_)),
                                       quote(format_text("{}?", type_text(type_)))));
      }
      result.text = "None";
      return;
    }
    result.text = fitted_text(type_.kind, literal);
    if (!type_.list) {
      result.value = single_value(type_.kind, literal);
      return;
    }
    if (type_.kind == TypeKind::string || type_.kind == TypeKind::tensor)
      unfit(begin_, "a single value");
    // One value stands for all of a list of fixed length, else for a list of one.
    const std::vector<Literal> items(static_cast<size_t>(std::max(1, type_.length)), literal);
    result.value = list_value(element_kind(items), items);
  }

 private:
  void parse_list() {
    std::vector<Literal> items;
    if (!text_.take("]")) {
      do {
        if (text_.peek() == '[')
          text_.fail(text_.at, "a list of lists is not a type; use one list");
        items.push_back(parse_literal());
        if (items.size() > kLongestDefault) text_.fail(begin_, "the default has too many elements");
      } while (text_.take(","));
      text_.expect("]", "',' or ']'");
    }
    if (!type_.list && type_.kind != TypeKind::any) unfit(begin_, "a list");
    if (type_.kind == TypeKind::tensor && !items.empty()) unfit(begin_, "a list of values");
    const TypeKind kind = element_kind(items);
    DefaultValue& result = parameter_.default_value;
    for (const Literal& item : items)
      result.text += (result.text.empty() ? "[" : ", ") + fitted_text(kind, item);
    result.text += items.empty() ? "[]" : "]";
    if (type_.length > 0 && static_cast<int32_t>(items.size()) != type_.length) {
      text_.fail(begin_,
                 format_text("the default of {} has {}, its type needs {}", quote(parameter_.name),
                             counted(static_cast<int64_t>(items.size()), "element"), type_.length));
    }
    result.value = list_value(kind, items);
  }

  // ---- literals ----

  Literal parse_literal() {
    Literal literal;
    const char first = text_.peek();
    literal.offset = text_.at;
    if (first == '\'' || first == '"') {
      parse_string(literal);
    } else if (begins_name(first)) {
      parse_word(literal, false);
    } else if (is_digit(first) || first == '-' || first == '+' || first == '.') {
      parse_number(literal);
    } else {
      text_.fail(text_.at, format_text("expected a default, found {}", text_.here()));
    }
    return literal;
  }

  void parse_word(Literal& literal, bool negative) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::string_view word = text_.take_word();
    if (word == "inf" || word == "nan") {
      literal.value.tag = TENON_VALUE_FLOAT;
      literal.value.as.number = word == "nan" ? std::nan("") : negative ? -infinity : infinity;
    } else if (negative) {
      text_.fail(literal.offset, "expected a number after the sign");
    } else if (word == "True" || word == "False") {
      literal.value.tag = TENON_VALUE_BOOL;
      literal.value.as.integer = word == "True" ? 1 : 0;
    } else if (word != "None") {
      literal.is_word = true;
      literal.text = word;
    }
  }

  void parse_number(Literal& literal) {
    const std::string_view source = text_.source;
    const bool negative = source[text_.at] == '-';
    if (negative || source[text_.at] == '+') ++text_.at;
    if (text_.at < source.size() && begins_name(source[text_.at]))
      return parse_word(literal, negative);
    size_t end = text_.at;
    bool integral = true;
    for (; end < source.size(); ++end) {
      const char c = source[end];
      const bool sign =
          (c == '-' || c == '+') && (source[end - 1] == 'e' || source[end - 1] == 'E');
      if (!is_of_name(c) && c != '.' && !sign) break;
      integral &= is_digit(c);
    }
    const std::string text =
        (negative ? "-" : "") + std::string(source.substr(text_.at, end - text_.at));
    const char* const last = text.data() + text.size();
    text_.at = end;
    tenon_value& value = literal.value;
    value.tag = integral ? TENON_VALUE_INT : TENON_VALUE_FLOAT;
    const auto [stop, error] = integral ? std::from_chars(text.data(), last, value.as.integer)
                                        : std::from_chars(text.data(), last, value.as.number);
    if (error == std::errc::result_out_of_range) {
      text_.fail(literal.offset,
                 integral ? "the integer does not fit in 64 bits" : "the number is out of range");
    }
    if (error != std::errc() || stop != last)
      text_.fail(literal.offset, format_text("{} is not a number", quote(text)));
  }

  void parse_string(Literal& literal) {
    literal.value.tag = TENON_VALUE_STRING;
    const std::string_view source = text_.source;
    const char mark = source[text_.at];
    for (++text_.at; text_.at < source.size() && source[text_.at] != mark; ++text_.at) {
      char letter = source[text_.at];
      if (static_cast<unsigned char>(letter) < 0x20)
        text_.fail(text_.at, "a control character inside a string");
      if (letter == '\\') {
        ++text_.at;
        letter = text_.at < source.size() ? source[text_.at] : '\0';
        if (letter == 'n') {
          letter = '\n';
        } else if (letter == 't') {
          letter = '\t';
        } else if (letter != '\\' && letter != '\'' && letter != '"') {
          text_.fail(text_.at - 1, R"(no such escape; \n \t \\ \' and \" exist)");
        }
      }
      literal.text += letter;
    }
    if (text_.at >= source.size()) text_.fail(literal.offset, "the string is never closed");
    ++text_.at;
    if (!is_utf8(literal.text)) text_.fail(literal.offset, "the string is not UTF-8");
  }

  static std::string shown(const Literal& literal) {
    switch (literal.value.tag) {
      case TENON_VALUE_BOOL:
        return literal.value.as.integer != 0 ? "True" : "False";
      case TENON_VALUE_INT:
        return std::to_string(literal.value.as.integer);
      case TENON_VALUE_FLOAT:
        return float_text(literal.value.as.number);
      case TENON_VALUE_STRING:
        return string_text(literal.text);
      default:
        return "None";
    }
  }

  // Whole and in the escapes that parse_string reads; quote() is for messages.
  static std::string string_text(std::string_view string) {
    std::string text = "'";
    for (const char letter : string) {
      if (letter == '\'' || letter == '\\') text += '\\';
      if (letter == '\n' || letter == '\t')
        text += letter == '\n' ? "\\n" : "\\t";
      else
        text += letter;
    }
    return text + "'";
  }

  // ---- fitting ----

  [[noreturn]] void unfit(size_t offset, const std::string& what) const {
    text_.fail(offset, format_text("{} does not fit parameter {} of type {}", what,
                                   quote(parameter_.name), quote(type_text(type_))));
  }

  // The kind of a list's elements; for `any` and lists of numbers it follows from the elements.
  TypeKind element_kind(const std::vector<Literal>& items) const {
    const bool any = type_.kind == TypeKind::any;
    if (!any && type_.kind != TypeKind::scalar) return type_.kind;
    uint32_t tags = 0;
    for (const Literal& item : items) tags |= tag_bit(item.value.tag);
    if ((tags & ~tag_bit(TENON_VALUE_INT)) == 0) return TypeKind::integer;
    if ((tags & ~(tag_bit(TENON_VALUE_INT) | tag_bit(TENON_VALUE_FLOAT))) == 0)
      return TypeKind::floating;
    if (tags == tag_bit(TENON_VALUE_BOOL)) return TypeKind::boolean;
    if (any && tags == tag_bit(TENON_VALUE_STRING)) return TypeKind::string;
    unfit(begin_, "a list of mixed values");
  }

  // Checks that a literal fits, and returns its normalized text.
  std::string fitted_text(TypeKind kind, const Literal& literal) const {
    if (literal.is_word) return word_text(kind, literal);
    uint32_t tags = facts_of(kind).tags;
    if (kind == TypeKind::integer)
      tags &= ~tag_bit(TENON_VALUE_BOOL);  // calls may pass one, as Python
    if (kind == TypeKind::floating) tags |= tag_bit(TENON_VALUE_INT);
    if ((tags & tag_bit(literal.value.tag)) == 0) unfit(literal.offset, shown(literal));
    return kind == TypeKind::floating ? float_text(literal.number()) : shown(literal);
  }

  // A word that is not a constant can be a dtype alone.
  std::string word_text(TypeKind kind, const Literal& literal) const {
    const std::string& word = literal.text;
    if (kind != TypeKind::dtype) {
      const char* const hint = word == "true"                     ? "; write True"
                               : word == "false"                  ? "; write False"
                               : word == "none" || word == "null" ? "; write None"
                                                                  : "";
      text_.fail(literal.offset, format_text("{} is not a value{}", quote(word), hint));
    }
    const tenon_dtype dtype = dtype_find(word);
    if (dtype != TENON_DTYPE_NONE) return dtype_text(dtype);
    const std::string hint = suggestion(word, dtype_names());
    text_.fail(literal.offset,
               format_text("unknown dtype {}{}", quote(word),
                           hint.empty()
                               ? format_text("; the dtypes are {}", word_list(dtype_names(), "and"))
                               : hint));
  }

  // ---- values, kept in the schema ----

  template <class Container>
  auto* keep(Container elements) {
    const auto kept = std::make_shared<Container>(std::move(elements));
    schema_.default_storage.push_back(kept);
    return std::as_const(*kept).data();
  }
  tenon_string keep_string(const std::string& text) {
    return {keep(text), static_cast<int64_t>(text.size())};
  }

  tenon_value single_value(TypeKind kind, const Literal& literal) {
    tenon_value value = literal.value;
    if (kind == TypeKind::dtype) {
      value.tag = TENON_VALUE_DTYPE;
      value.as.integer = dtype_find(literal.text);
    } else if (value.tag == TENON_VALUE_STRING) {
      value.length = static_cast<uint32_t>(literal.text.size());
      value.as.string = keep_string(literal.text).data;
    } else if (kind == TypeKind::floating) {
      value.tag = TENON_VALUE_FLOAT;
      value.as.number = literal.number();
    }
    return value;
  }

  tenon_value list_value(TypeKind kind, const std::vector<Literal>& items) {
    const auto elements = [&](auto&& element) {
      std::vector<decltype(element(items[0]))> list;
      list.reserve(items.size());
      for (const Literal& item : items) list.push_back(element(item));
      return keep(std::move(list));
    };
    tenon_value value{};
    value.tag = kind == type_.kind ? list_tag(type_) : facts_of(kind).list_tag;
    value.length = static_cast<uint32_t>(items.size());
    if (kind == TypeKind::integer)
      value.as.integers = elements([](const Literal& item) { return item.value.as.integer; });
    if (kind == TypeKind::floating)
      value.as.numbers = elements([](const Literal& item) { return item.number(); });
    if (kind == TypeKind::boolean) {
      value.as.booleans =
          elements([](const Literal& item) { return uint8_t{item.value.as.integer != 0}; });
    }
    if (kind == TypeKind::string)
      value.as.strings = elements([&](const Literal& item) { return keep_string(item.text); });
    return value;
  }

  SchemaCursor& text_;
  Schema& schema_;
  Parameter& parameter_;
  const SchemaType& type_;
  size_t begin_ = 0;
};

}  // namespace

void parse_default(SchemaCursor& text, Schema& schema, Parameter& parameter) {
  DefaultParser(text, schema, parameter).parse();
}

}  // namespace tenon::core

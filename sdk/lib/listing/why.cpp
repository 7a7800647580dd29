// Calls that are written down by types, read word by word.
#include <charconv>
#include <deque>

#include <tenon/listing/why.hpp>
#include <tenon/op.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "explanation.hpp"
#include "inventory.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

namespace {

bool is_operand(const Json& parameter) {
  const std::string kind = parameter["kind"].text();
  return kind == "Tensor" || kind == "Tensor|Scalar" || kind == "any";
}

template <class Number>
bool reads(const std::string& word, Number& number) {
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
  return fault == std::errc() && end == word.data() + word.size();
}

// Whether the word is between the two letters.
bool is_between(const std::string& word, char open, char close) {
  return word.size() >= 2 && word.front() == open && word.back() == close;
}

tenon_dtype dtype_of_text(const std::string& text) {
#define TENON_LISTING_DTYPE(constant, code, bytes, type, name, ...) \
  if (text == name) return TENON_##constant;
  TENON_ALL_DTYPES(TENON_LISTING_DTYPE)
#undef TENON_LISTING_DTYPE
  return TENON_DTYPE_NONE;
}

// Arguments of a call, made from words. What they point to lives as long as this.
class WrittenCall {
 public:
  WrittenCall(const Op& op, const std::vector<std::string>& words)
      : parameters_(parse_schema(op.schema())["parameters"]),
        given_(static_cast<size_t>(parameters_.size())) {
    for (int64_t i = 0; i < parameters_.size() && !parameters_[i]["keyword_only"].as_bool(); ++i) {
      if (is_operand(parameters_[i])) operands_.push_back(i);
    }
    for (const std::string& word : words) add(word);
    assume();
  }

  Json explanation(const Op& op) const {
    std::vector<tenon_written_argument> all;
    for (const Written& one : positional_) all.push_back(one.argument);
    for (const Written& one : named_) all.push_back(one.argument);
    Json account;
    detail::check(service::ops().explain_types, op.handle(),
                  static_cast<const tenon_written_argument*>(all.data()),
                  static_cast<int64_t>(all.size()), account.slot());
    return explanation_of(account, as_written(account["arguments"]));
  }

 private:
  struct Written {
    std::string word, keyword;
    tenon_written_argument argument{};
    bool assumed = false;  // left out
  };

  // Arguments of the account as the words that they are written in.
  Json as_written(const Json& arguments) const {
    Writer list;
    list.begin_array();
    for (int64_t i = 0; i < arguments.size(); ++i) {
      const Json argument = arguments[i];
      const bool bound = argument["position"].defined();
      const Written* const written = written_at(argument, bound, static_cast<size_t>(i));
      const bool assumed = written != nullptr && written->assumed;
      if (assumed && !bound) continue;
      list.begin_object();
      put_members(list, argument, {"name", "position"});
      list.set("given", assumed ? "assumed" : argument["given"].text())
          .set("value", written != nullptr ? written->word : argument["value"].text());
      put_members(list, argument, {"converted"});
      list.end();
    }
    return list.end().json();
  }
  // Bound ones are in the order of the parameters, others as they are written.
  const Written* written_at(const Json& argument, bool bound, size_t i) const {
    if (i < positional_.size()) return &positional_[i];
    if (!bound) return &named_[i - positional_.size()];
    const std::string name = argument["name"].text();
    for (const Written& one : named_) {
      if (one.keyword == name) return &one;
    }
    return nullptr;
  }

  void add(const std::string& word) {
    if (const size_t equals = word.find('='); equals != std::string::npos && equals > 0) {
      const std::string name = word.substr(0, equals);
      int64_t place = 0;
      while (place < parameters_.size() && parameters_[place]["name"].text() != name) ++place;
      mark_given(place);
      named_.push_back(argument(word.substr(equals + 1), name, parameters_[place]));
      return;
    }
    // By position as long as only operands are in front, and where there are too many, which
    // binding reports. Otherwise by name.
    const auto next = static_cast<size_t>(next_);
    const bool by_position = next >= operands_.size() || operands_[next] == next_;
    const int64_t place = next < operands_.size() ? operands_[next] : next_;
    ++next_;
    mark_given(place);
    const Json parameter = parameters_[place];
    if (by_position)
      positional_.push_back(argument(word, "", parameter));
    else
      named_.push_back(argument(word, parameter["name"].text(), parameter));
  }
  void mark_given(int64_t place) {
    if (place < parameters_.size()) given_[static_cast<size_t>(place)] = true;
  }
  // Adds what is required and left out, but for operands, which binding reports.
  void assume() {
    for (int64_t i = 0; i < parameters_.size(); ++i) {
      const Json parameter = parameters_[i];
      if (given_[static_cast<size_t>(i)] || parameter["default"].defined() || is_operand(parameter))
        continue;
      named_.push_back(argument(parameter["type"].text(), parameter["name"].text(), parameter));
      named_.back().assumed = true;
    }
  }

  tenon_string kept(const std::string& text) {
    const std::string& copy = texts_.emplace_back(text);
    return {copy.data(), static_cast<int64_t>(copy.size())};
  }

  Written argument(const std::string& word, const std::string& keyword, const Json& parameter) {
    Written written{word, keyword};
    written.argument.keyword = kept(keyword);
    read(word, parameter, written.argument);
    return written;
  }

  void read(const std::string& word, const Json& parameter, tenon_written_argument& argument) {
    int64_t integer = 0;
    double number = 0;
    if (reads(word, integer)) {
      argument.value = Argument(integer).value();
    } else if (reads(word, number)) {
      argument.value = Argument(number).value();
    } else if (word == "None") {
      argument.value = tenon_value{};
    } else if (word == "True" || word == "False") {
      argument.value = Argument(word == "True").value();
    } else if (is_between(word, '\'', '\'')) {
      argument.value = text_value(word.substr(1, word.size() - 2));
    } else if (is_between(word, '[', ']')) {
      read_list(word.substr(1, word.size() - 2), argument);
    } else if (word.find(',') != std::string::npos) {
      read_list(word, argument);
    } else if (!read_kind(word, parameter, argument.value)) {
      put_operands({operand(word)}, argument);
    }
  }
  // The word for a kind of values in schemas, and a text where the parameter takes one.
  bool read_kind(const std::string& word, const Json& parameter, tenon_value& value) {
    const std::string kind = parameter["kind"].text();
    if (word == "Scalar" || word == "Number" || word == "int")
      value = Argument(1).value();
    else if (word == "float")
      value = Argument(1.0).value();
    else if (word == "bool")
      value = Argument(false).value();
    else if (word == parameter["type"].text() && kind != "Tensor")
      value = assumed_value(parameter);
    else if (kind == "str" || kind == "dtype")
      value = text_value(word);
    else
      return false;
    return true;
  }
  tenon_value assumed_value(const Json& parameter) {
    const std::string kind = parameter["kind"].text();
    if (parameter["list"].as_bool() && !parameter["length"].defined()) {
      tenon_value list{};
      list.tag = kind == "float"                     ? TENON_VALUE_FLOAT_LIST
                 : kind == "bool"                    ? TENON_VALUE_BOOL_LIST
                 : kind == "str"                     ? TENON_VALUE_STRING_LIST
                 : kind != "Module"                  ? TENON_VALUE_INT_LIST
                 : parameter["dictionary"].as_bool() ? TENON_VALUE_MODULE_DICT
                                                     : TENON_VALUE_MODULE_LIST;
      return list;
    }
    if (kind == "float") return Argument(1.0).value();
    if (kind == "bool") return Argument(false).value();
    if (kind == "str") return text_value("");
    if (kind == "dtype") return text_value("f32");
    return Argument(1).value();
  }
  tenon_value text_value(const std::string& text) {
    const tenon_string copy = kept(text);
    tenon_value value{};
    value.tag = TENON_VALUE_STRING;
    value.length = static_cast<uint32_t>(copy.length);
    value.as.string = copy.data;
    return value;
  }

  // "A,B:f64"
  void read_list(const std::string& words, tenon_written_argument& argument) {
    std::vector<tenon_operand_type> list;
    for (size_t i = 0; i < words.size();) {
      const size_t end = std::min(words.find(',', i), words.size());
      list.push_back(operand(words.substr(i, end - i)));
      i = end + 1;
    }
    put_operands(std::move(list), argument);
    argument.list = 1;
  }
  void put_operands(std::vector<tenon_operand_type> list, tenon_written_argument& argument) {
    argument.operand_count = static_cast<int64_t>(list.size());
    list.emplace_back();  // never null, also for an empty list
    argument.operands = types_.emplace_back(std::move(list)).data();
  }
  // "ScalarTensor" or "Tensor:f64"; loads the type's plugin.
  static tenon_operand_type operand(const std::string& word) {
    const size_t colon = word.find(':');
    tenon_operand_type found{0, TENON_DTYPE_NONE};
    const std::string name = word.substr(0, colon);
    try {
      detail::check(service::types().find, name.c_str(), &found.type);
    } catch (const ValueError&) {
      // Tensor is not a declaration, so the host does not suggest it.
      const std::string hint = suggestion(name, {"Tensor", "Scalar"});
      if (hint.empty()) throw;
      throw ValueError(lib::format_text("no tensor type is named {}{}", lib::quote(name), hint));
    }
    if (colon == std::string::npos) return found;
    found.dtype = dtype_of_text(word.substr(colon + 1));
    if (found.dtype == TENON_DTYPE_NONE)
      throw ValueError(lib::format_text("unknown dtype in {}, as in Tensor:f32", lib::quote(word)));
    return found;
  }

  const Json parameters_;
  std::vector<bool> given_;
  std::vector<int64_t> operands_;  // places of operands that may be given by position
  int64_t next_ = 0;
  std::vector<Written> positional_, named_;
  std::deque<std::string> texts_;
  std::deque<std::vector<tenon_operand_type>> types_;
};

}  // namespace

Json why(const std::string& op, const std::vector<std::string>& operands) {
  const Op found(op);
  return WrittenCall(found, operands).explanation(found);
}

}  // namespace listing

TENON_NAMESPACE_END

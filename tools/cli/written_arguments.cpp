#include "written_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>

#include <tenon/call.hpp>
#include <tenon/dtype_name.hpp>
#include <tenon/grad_mode.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/listing/why.hpp>
#include <tenon/nested_numbers.hpp>
#include <tenon/ops.hpp>
#include <tenon/runtime.hpp>
#include <tenon/shapes_only.hpp>
#include <tenon/text.hpp>

#include "exit_code.hpp"
#include "format.hpp"
#include "name_pattern.hpp"
#include "private_folder.hpp"
#include "shape_drawing.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

using tenon::DType;
using tenon::Json;
using tenon::Tensor;

namespace {

constexpr auto kForms =
    "a number such as 2, 0.5 or 1+2j, a list such as [[1, 2], [3, 4]], f32[2,3] for random "
    "elements, a file, or - for standard input";

// A number, or a list of these.
struct Literal {
  enum class Kind { boolean, integer, floating, complex, list };
  Kind kind = Kind::list;
  int64_t integer = 0;
  double number = 0, imaginary = 0;
  std::vector<Literal> items;

  bool is_real() const { return kind != Kind::boolean && kind != Kind::complex; }
  bool has_complex() const {
    return kind == Kind::complex ||
           std::any_of(items.begin(), items.end(),
                       [](const Literal& item) { return item.has_complex(); });
  }
};

class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}
  // False where the text is not one.
  bool read(Literal& literal) {
    literal = {};
    const bool read = read_one(literal, 0);
    skip_spaces();
    return read && at_ == end_;
  }

 private:
  void skip_spaces() {
    while (at_ < end_ && std::isspace(static_cast<unsigned char>(*at_)) != 0) ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool read_one(Literal& literal, int depth) {
    if (take('[')) return depth < TENON_MAX_RANK && read_items(literal, depth);
    skip_spaces();
    const char* const end = std::find_if(
        at_, end_, [](char c) { return c == ',' || c == ']' || c == ' ' || c == '\n'; });
    const std::string_view word(at_, static_cast<size_t>(end - at_));
    at_ = end;
    return read_number(word, literal);
  }
  bool read_items(Literal& literal, int depth) {
    if (take(']')) return true;
    do {
      if (!read_one(literal.items.emplace_back(), depth + 1)) return false;
    } while (take(','));
    return take(']');
  }

 public:
  static bool read_number(std::string_view word, Literal& literal) {
    if (word == "True" || word == "true" || word == "False" || word == "false") {
      literal.kind = Literal::Kind::boolean;
      literal.integer = word == "True" || word == "true" ? 1 : 0;
      literal.number = static_cast<double>(literal.integer);
      return true;
    }
    if (word.ends_with('j')) return read_complex(word.substr(0, word.size() - 1), literal);
    if (word.starts_with('+')) word.remove_prefix(1);
    const char* const end = word.data() + word.size();
    const auto whole = std::from_chars(word.data(), end, literal.integer);
    literal.kind = Literal::Kind::integer;
    literal.number = static_cast<double>(literal.integer);
    if (whole.ec == std::errc() && whole.ptr == end) return true;
    const auto real = std::from_chars(word.data(), end, literal.number);
    literal.kind = Literal::Kind::floating;
    return !word.empty() && real.ec == std::errc() && real.ptr == end;
  }

 private:
  // "1+2" of "1+2j", or "2": the sign of the second part is the last one that is not that of an exponent.
  static bool read_complex(std::string_view word, Literal& literal) {
    size_t split = word.size();
    while (split > 0) {
      --split;
      const bool sign = word[split] == '+' || word[split] == '-';
      if (sign && (split == 0 || (word[split - 1] != 'e' && word[split - 1] != 'E'))) break;
    }
    Literal real, imaginary;
    if (split > 0 && !read_number(word.substr(0, split), real)) return false;
    if (!read_number(word.substr(split), imaginary)) return false;
    if (!real.is_real() || !imaginary.is_real()) return false;
    literal.kind = Literal::Kind::complex;
    literal.number = split > 0 ? real.number : 0;
    literal.imaginary = imaginary.number;
    return true;
  }

  const char *at_, *end_;
};

// `imaginary`: of complex numbers these parts, of others zeros.
void add_elements(const Literal& literal, size_t depth, bool imaginary,
                  tenon::NestedNumbers& numbers) {
  if (imaginary && literal.kind != Literal::Kind::list)
    return numbers.add(depth, literal.imaginary);
  switch (literal.kind) {
    case Literal::Kind::boolean:
      return numbers.add(depth, literal.integer != 0);
    case Literal::Kind::integer:
      return numbers.add(depth, literal.integer);
    case Literal::Kind::floating:
    case Literal::Kind::complex:
      return numbers.add(depth, literal.number);
    case Literal::Kind::list:
      break;
  }
  numbers.add_list(depth, static_cast<int64_t>(literal.items.size()));
  for (const Literal& item : literal.items) add_elements(item, depth + 1, imaginary, numbers);
}

Tensor complex_tensor_from(const Literal& literal, DType dtype) {
  if (!tenon::is_complex(dtype))
    throw tenon::ValueError(
        format_text("complex numbers are c64 or c128, not {}", tenon::dtype_text(dtype)));
  Tensor parts[2];
  for (const bool imaginary : {false, true}) {
    tenon::NestedNumbers numbers;
    add_elements(literal, 0, imaginary, numbers);
    parts[imaginary ? 1 : 0] = numbers.tensor(tenon::f64);
  }
  const Tensor whole = tenon::empty_tensor(parts[0].shape(), tenon::c128);
  std::vector<int64_t> strides(whole.strides().begin(), whole.strides().end());
  for (int64_t& stride : strides) stride *= 2;
  for (const int64_t part : {0, 1})
    tenon::copy_elements(
        tenon::alias_tensor_as(whole, tenon::f64, whole.shape(),
                               {strides.data(), static_cast<int64_t>(strides.size())}, part),
        parts[part]);
  return tenon::contiguous_as(whole, dtype);
}

// ValueError for lists that are not rectangular.
Tensor tensor_from(const Literal& literal, DType dtype, bool floating) {
  using Kind = tenon::NestedNumbers::Kind;
  if (literal.has_complex())
    return complex_tensor_from(literal, dtype == DType::none ? tenon::c64 : dtype);
  tenon::NestedNumbers numbers;
  add_elements(literal, 0, false, numbers);
  if (dtype == DType::none)
    dtype = floating || numbers.kind() == Kind::fraction ? tenon::f32
            : numbers.kind() == Kind::truth              ? tenon::boolean
                                                         : tenon::i64;
  return numbers.tensor(dtype);
}

// "f32[64,64]"; undefined for another text.
Tensor random_tensor(const std::string& word) {
  const size_t open = word.find('[');
  Literal sizes;
  if (open == 0 || open == word.npos || !LiteralReader(word.substr(open)).read(sizes)) return {};
  const std::optional<DType> named = tenon::dtype_named(word.substr(0, open));
  if (!named) return {};
  const DType dtype = *named;
  std::vector<int64_t> shape;
  for (const Literal& size : sizes.items) {
    if (size.kind != Literal::Kind::integer || size.integer < 0)
      throw tenon::ValueError("its sizes are not whole numbers from 0");
    shape.push_back(size.integer);
  }
  const bool whole = !tenon::is_floating(dtype) && !tenon::is_complex(dtype);
  const Tensor made = whole ? tenon::randint(0, dtype == DType::boolean ? 2 : 10, shape)
                            : tenon::rand(shape, dtype == tenon::f64 ? dtype : tenon::f32);
  return tenon::contiguous_as(made, dtype);
}

// The op that reads files of the ending: one of any plugin whose name ends in ".read_ENDING".
tenon::Op reader_of(const std::string& path) {
  std::string ending = lower(std::filesystem::path(path).extension().string());
  if (!ending.empty()) ending.erase(0, 1);
  std::vector<std::string> known;
  const std::vector<std::string> names = tenon::listing::op_names();
  for (const std::string& name : names) {
    const std::string last = last_part(name);
    if (!last.starts_with("read_") || tenon::listing::is_internal(name)) continue;
    if (last.substr(5) == ending) return tenon::Op(name);
    known.push_back(format_text(".{}", last.substr(5)));
  }
  throw tenon::ValueError(format_text("no plugin has an op read_{} for it; there are ops for {}",
                                      ending, join(known, ", ")));
}

// The tensor of a file, the one of that name where it has several.
Tensor read_tensor(const std::string& path, const std::string& name) {
  const tenon::Op reader = reader_of(path);
  const int64_t count = tenon::service::ops().result_count(reader.handle());
  if (count == 1) {
    if (!name.empty()) throw tenon::ValueError("the file has one tensor, without a name");
    return reader.call<Tensor>(path);
  }
  tenon::Results results = tenon::Results::of_count(count);
  const tenon_value given = tenon::Argument(path).value();
  tenon::detail::check(tenon::service::ops().call, reader.handle(), &given, int64_t{1},
                       results.slots());
  const auto names = results.take(0).to<std::vector<std::string>>();
  const auto tensors = results.take(1).to<std::vector<Tensor>>();
  if (name.empty() && tensors.size() == 1) return tensors.front();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return tensors[static_cast<size_t>(found - names.begin())];
  if (name.empty())
    throw tenon::ValueError(format_text("the file has {}; name one, such as {}:{}",
                                        counted(static_cast<int64_t>(names.size()), "tensor"), path,
                                        names.empty() ? "NAME" : names.front()));
  throw tenon::ValueError(
      format_text("the file has no tensor '{}'{}", name, tenon::suggestion(name, names)));
}

// Ending of the file that bytes are of; empty: text.
std::string ending_of(std::string_view bytes) {
  if (bytes.starts_with("\x93NUMPY")) return ".npy";
  if (bytes.starts_with("PK\x03\x04")) return ".npz";
  if (bytes.starts_with("\x89PNG")) return ".png";
  if (bytes.size() > 9 && bytes[8] == '{' && bytes[7] == '\0') return ".safetensors";
  return "";
}

// Standard input; rows of numbers, with spaces or commas between, are a list, too.
Tensor read_input(DType dtype, bool floating) {
  const std::string bytes((std::istreambuf_iterator<char>(std::cin)), {});
  if (const std::string ending = ending_of(bytes); !ending.empty()) {
    const PrivateFolder folder;
    const std::string path = format_text("{}/input{}", folder.path(), ending);
    std::ofstream(path, std::ios::binary) << bytes;
    return read_tensor(path, "");
  }
  Literal literal;
  if (LiteralReader(bytes).read(literal)) return tensor_from(literal, dtype, floating);
  Literal rows;
  std::istringstream lines(bytes);
  for (std::string line; std::getline(lines, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    Literal row;
    for (std::string word; words >> word;) {
      if (!LiteralReader::read_number(word, row.items.emplace_back()))
        throw tenon::ValueError(format_text("standard input has '{}', expected numbers", word));
    }
    if (!row.items.empty()) rows.items.push_back(std::move(row));
  }
  if (rows.items.empty()) throw tenon::ValueError("standard input is empty");
  if (rows.items.size() == 1) rows = Literal(rows.items.front());
  return tensor_from(rows, dtype, floating);
}

// Whether the word is the name of a file, perhaps with that of a tensor in it.
bool is_file(const std::string& word) {
  std::error_code fault;
  return std::filesystem::is_regular_file(word, fault);
}

Tensor tensor_of(const std::string& word, bool floating) {
  Literal literal;
  if (LiteralReader(word).read(literal)) return tensor_from(literal, DType::none, floating);
  if (word == "-") return read_input(DType::none, floating);
  if (is_file(word)) return read_tensor(word, "");
  if (const Tensor random = random_tensor(word); random.defined()) return random;
  if (const size_t colon = word.rfind(':'); colon != word.npos && colon > 0) {
    const std::string before = word.substr(0, colon), behind = word.substr(colon + 1);
    if (const std::optional<DType> dtype = tenon::dtype_named(behind)) {
      if (LiteralReader(before).read(literal)) return tensor_from(literal, *dtype, false);
      return tenon::contiguous_as(tensor_of(before, false), *dtype);
    }
    if (is_file(before)) return read_tensor(before, behind);
  }
  const bool path = word.find('/') != word.npos || word.rfind('.') != word.npos;
  throw tenon::ValueError(path ? format_text("there is no such file; expected {}", kForms)
                               : format_text("expected {}", kForms));
}

// Items of a list in brackets, which commas separate; false for another text.
bool split_list(const std::string& word, std::vector<std::string>& items) {
  if (word.size() < 2 || word.front() != '[' || word.back() != ']') return false;
  int depth = 0;
  std::string item;
  for (size_t i = 1; i + 1 < word.size(); ++i) {
    const char c = word[i];
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      items.push_back(item);
      item.clear();
    } else if (c != ' ' || !item.empty()) {
      item += c;
    }
  }
  if (!item.empty()) items.push_back(item);
  return true;
}

// Whether a dtype is in the word: "[1,2]:f64", "f32[2,3]", also within a list or behind a name.
bool says_dtype(const std::string& word) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (size_t at = 0; at < word.size();) {
    size_t end = at;
    while (end < word.size() && in_name(word[end])) ++end;
    const bool marked = (at > 0 && word[at - 1] == ':') || (end < word.size() && word[end] == '[');
    if (end > at && marked && tenon::dtype_named(word.substr(at, end - at))) return true;
    at = end + 1;
  }
  return false;
}

std::string without_quotes(const std::string& word) {
  const bool quoted = word.size() >= 2 && word.front() == word.back() &&
                      (word.front() == '\'' || word.front() == '"');
  return quoted ? word.substr(1, word.size() - 2) : word;
}

[[noreturn]] void refuse(const std::string& name, const std::string& word,
                         const std::string& reason) {
  throw tenon::ValueError(
      format_text("the argument '{}' cannot be read from '{}': {}", name, word, reason));
}

}  // namespace

WrittenArguments::WrittenArguments(const tenon::Op& op, const std::vector<std::string>& words,
                                   bool floating)
    : floating_(floating && std::none_of(words.begin(), words.end(), says_dtype)) {
  const Json parameters = tenon::parse_schema(op.schema())["parameters"];
  std::vector<std::string> names;
  for (int64_t i = 0; i < parameters.size(); ++i) names.push_back(parameters[i]["name"].text());
  std::vector<bool> given(names.size());
  const auto give = [&](size_t place) {
    if (given[place]) throw UsageError(format_text("{} got '{}' twice", op.name(), names[place]));
    given[place] = true;
  };
  int64_t next = 0;
  for (const std::string& word : words) {
    const size_t sign = word.find('=');
    const std::string name = sign == word.npos ? "" : word.substr(0, sign);
    const auto named = std::find(names.begin(), names.end(), name);
    if (named != names.end()) {
      give(static_cast<size_t>(named - names.begin()));
      add(name, parameters[named - names.begin()], word.substr(sign + 1));
      continue;
    }
    const bool by_name =
        !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
          return std::isalnum(c) != 0 || c == '_';
        });
    if (by_name && !is_file(word))
      throw UsageError(format_text("{} has no parameter '{}'{}; it has {}", op.name(), name,
                                   tenon::suggestion(name, names), join(names, ", ")));
    if (next >= parameters.size() || parameters[next]["keyword_only"].as_bool())
      throw UsageError(format_text(
          "{} takes {} by position, and '{}' is one more; name it, such as "
          "{}={}",
          op.name(), counted(next, "argument"), word,
          next < parameters.size() ? names[static_cast<size_t>(next)] : std::string("NAME"), word));
    give(static_cast<size_t>(next));
    add("", parameters[next++], word);
  }
  std::vector<std::string> missing;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!given[i] && !parameters[static_cast<int64_t>(i)]["default"].defined())
      missing.push_back(format_text("'{}'", names[i]));
  }
  // A reduction along a dimension, without one, is that of all elements, as in C++.
  const bool reduces = std::find(names.begin(), names.end(), "keepdim") != names.end();
  if (reduces && missing == std::vector<std::string>{"'dim'"} && !operands_.empty() &&
      operands_.front().name == names.front() && written_.front().count == 1) {
    operands_.front().tensor = tenon::reshape(operands_.front().tensor, {-1});
    add("dim", parameters[std::find(names.begin(), names.end(), "dim") - names.begin()], "0");
    missing.clear();
  }
  if (!missing.empty())
    throw UsageError(format_text("{} needs {}; it is called as {}{}", op.name(),
                                 join(missing, " and "), last_part(op.name()),
                                 tenon::listing::signature(op.name())));
}

void WrittenArguments::add(const std::string& keyword, const Json& parameter,
                           const std::string& word) {
  Written& written = written_.emplace_back();
  written.keyword = keyword;
  written.first = operands_.size();
  const std::string name = parameter["name"].text();
  try {
    put(parameter, word, written);
  } catch (const tenon::ValueError& error) {
    refuse(name, word, error.what());
  }
}

void WrittenArguments::put(const Json& parameter, const std::string& word, Written& written) {
  const std::string kind = parameter["kind"].text(), name = parameter["name"].text();
  if (word == "None") return;
  if (kind == "Module") throw tenon::ValueError("a module cannot be written here; use a config");
  if (kind == "json") {
    written.value = tenon::Argument(documents_.emplace_back(Json::parse(word))).value();
    return;
  }
  if (parameter["list"].as_bool() && (word.starts_with("[") || kind == "Tensor"))
    return put_list(parameter, word, written);
  if (kind == "Tensor") return put_tensor(name, word, written);
  Literal literal;
  // An operand that derivatives are asked of is a tensor.
  const bool number =
      LiteralReader::read_number(word, literal) && literal.kind != Literal::Kind::complex &&
      !(floating_ && kind == "Tensor|Scalar" && literal.kind != Literal::Kind::boolean);
  if (kind == "str" || kind == "dtype") {
    written.value = text_value(without_quotes(word));
  } else if (number) {
    written.value = literal.kind == Literal::Kind::boolean
                        ? tenon::Argument(literal.integer != 0).value()
                    : literal.kind == Literal::Kind::integer && kind != "float"
                        ? tenon::Argument(literal.integer).value()
                        : tenon::Argument(literal.number).value();
  } else if (kind == "Tensor|Scalar" || kind == "any") {
    const bool text = kind == "any" && without_quotes(word) != word;
    if (text)
      written.value = text_value(without_quotes(word));
    else
      put_tensor(name, word, written);
  } else {
    throw tenon::ValueError(format_text("expected {}", parameter["type"].text()));
  }
}

void WrittenArguments::put_list(const Json& parameter, const std::string& word, Written& written) {
  const std::string kind = parameter["kind"].text();
  std::vector<std::string> items;
  if (!split_list(word, items)) throw tenon::ValueError("expected a list such as [a.npy, b.npy]");
  tenon_value& value = written.value;
  value.length = static_cast<uint32_t>(items.size());
  if (kind == "Tensor") {
    for (size_t i = 0; i < items.size(); ++i)
      put_tensor(format_text("{}[{}]", parameter["name"].text(), i), items[i], written);
    written.list = true;
    return;
  }
  std::vector<Literal> literals(items.size());
  for (size_t i = 0; i < items.size() && kind != "str"; ++i) {
    if (!LiteralReader::read_number(items[i], literals[i]) || literals[i].has_complex())
      throw tenon::ValueError(format_text("'{}' is not a number", items[i]));
  }
  if (kind == "str") {
    std::vector<tenon_string>& list = strings_.emplace_back();
    for (const std::string& item : items) {
      const std::string& text = texts_.emplace_back(without_quotes(item));
      list.push_back({text.data(), static_cast<int64_t>(text.size())});
    }
    value.tag = TENON_VALUE_STRING_LIST;
    value.as.strings = list.data();
  } else if (kind == "bool") {
    std::vector<uint8_t>& list = truths_.emplace_back();
    for (const Literal& one : literals) list.push_back(one.number != 0 ? 1 : 0);
    value.tag = TENON_VALUE_BOOL_LIST;
    value.as.booleans = list.data();
  } else if (kind == "int" ||
             (kind != "float" &&
              std::none_of(literals.begin(), literals.end(), [](const Literal& one) {
                return one.kind == Literal::Kind::floating;
              }))) {
    std::vector<int64_t>& list = integers_.emplace_back();
    for (const Literal& one : literals) {
      if (one.kind == Literal::Kind::floating)
        throw tenon::ValueError(format_text("expected whole numbers, found {}", one.number));
      list.push_back(one.integer);
    }
    value.tag = TENON_VALUE_INT_LIST;
    value.as.integers = list.data();
  } else {
    std::vector<double>& list = numbers_.emplace_back();
    for (const Literal& one : literals) list.push_back(one.number);
    value.tag = TENON_VALUE_FLOAT_LIST;
    value.as.numbers = list.data();
  }
}

void WrittenArguments::put_tensor(const std::string& name, const std::string& word,
                                  Written& written) {
  operands_.push_back({name, tensor_of(word, floating_)});
  ++written.count;
}

tenon_value WrittenArguments::text_value(const std::string& text) {
  return tenon::Argument(texts_.emplace_back(text)).value();
}

const WrittenArguments::Given& WrittenArguments::given() {
  given_ = {};
  lists_.clear();
  for (Written& written : written_) {
    tenon_value value = written.value;
    if (written.list) {
      std::vector<tenon_tensor*>& list = lists_.emplace_back();
      for (size_t i = 0; i < written.count; ++i)
        list.push_back(operands_[written.first + i].tensor.handle());
      value.tag = TENON_VALUE_TENSOR_LIST;
      value.as.tensors = list.data();
    } else if (written.count > 0) {
      value = tenon::Argument(operands_[written.first].tensor).value();
    }
    if (written.keyword.empty()) {
      given_.values.push_back(value);
    } else {
      given_.names.push_back(
          {written.keyword.data(), static_cast<int64_t>(written.keyword.size())});
      given_.named.push_back(value);
    }
  }
  return given_;
}

Json explanation_of(const tenon::Op& op, WrittenArguments& arguments) {
  const WrittenArguments::Given& given = arguments.given();
  Json account;
  tenon::detail::check(tenon::service::ops().explain, op.handle(), given.values.data(),
                       static_cast<int64_t>(given.values.size()), given.names.data(),
                       given.named.data(), static_cast<int64_t>(given.named.size()),
                       account.slot());
  return tenon::listing::explanation(account);
}

std::string shapes_text(const tenon::Op& op, WrittenArguments& arguments) {
  std::vector<NamedShape> shapes;
  for (const WrittenArguments::Operand& operand : arguments.operands()) {
    if (operand.tensor.defined()) shapes.emplace_back(operand.name, operand.tensor.sizes());
  }
  if (shapes.size() < 2) return "";
  bool refused = false;
  try {
    const tenon::NoGrad no_grad;
    const tenon::ShapesOnly only;
    const WrittenArguments::Given& given = arguments.given();
    const Json returns = tenon::parse_schema(op.schema())["returns"];
    tenon::Results results = tenon::Results::of_count(returns.size());
    tenon::detail::check(tenon::service::ops().call_keywords, op.handle(), given.values.data(),
                         static_cast<int64_t>(given.values.size()), given.names.data(),
                         given.named.data(), static_cast<int64_t>(given.named.size()),
                         results.slots());
    for (int64_t i = 0; i < returns.size(); ++i) {
      const tenon::Value value = results.take(i);
      if (!value.is_tensor()) continue;
      const std::string otherwise = returns.size() == 1 ? "result" : format_text("result {}", i);
      shapes.emplace_back(returns[i]["name"].text(otherwise), value.tensor().sizes());
    }
  } catch (const tenon::NotImplementedError&) {  // the shape follows from elements
  } catch (const tenon::Error&) {
    refused = true;
  }
  return format_text("  shapes\n{}", drawn_shapes(shapes, refused, output_width()));
}

bool says_shape(const std::string& word) {
  const size_t bracket = word.find('[');
  return bracket != word.npos && tenon::dtype_named(word.substr(0, bracket)).has_value();
}

}  // namespace cli

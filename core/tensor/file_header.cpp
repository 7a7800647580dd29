// Parsing of tensor files' headers.
#include "core/tensor/file_header.hpp"

#include <algorithm>
#include <tuple>

#include "core/base/characters.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

constexpr int kDeepest = 8;  // deepest nesting of fields that the reader skips

[[noreturn]] void fail(const std::string& fault) { throw Error(TENON_ERROR_VALUE, fault); }
[[noreturn]] void fail(const char* what, const std::string& name, const std::string& fault) {
  fail(format_text("{} of tensor {}: {}", what, quote(name), fault));
}

// The four digits after "\u"; -1 when they are missing.
int32_t code_unit(std::string_view raw, size_t at) {
  if (raw.size() < at + 4) return -1;
  int32_t unit = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const int digit = hexadecimal(raw[i]);
    if (digit < 0) return -1;
    unit = unit << 4 | digit;
  }
  return unit;
}

void append_character(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// The text between the quotes of a JSON string, with its escapes resolved into `out`. False: an
// escape is wrong.
bool unescape(std::string_view raw, std::string& out) {
  out.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      const size_t end = std::min(raw.find('\\', i), raw.size());
      out += raw.substr(i, end - i);
      i = end - 1;
      continue;
    }
    if (++i == raw.size()) return false;
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (const size_t letter = kLetters.find(raw[i]); letter != kLetters.npos) {
      out += kMeanings[letter];
      continue;
    }
    const int32_t unit = raw[i] == 'u' ? code_unit(raw, i + 1) : -1;
    if (unit < 0 || (unit >= 0xDC00 && unit < 0xE000)) return false;
    i += 4;
    if (unit < 0xD800 || unit >= 0xE000) {
      append_character(out, static_cast<uint32_t>(unit));
      continue;
    }
    const int32_t low = raw.substr(i + 1, 2) == "\\u" ? code_unit(raw, i + 3) : -1;
    if (low < 0xDC00 || low >= 0xE000) return false;
    append_character(out, 0x10000U + (static_cast<uint32_t>(unit - 0xD800) << 10) +
                              static_cast<uint32_t>(low - 0xDC00));
    i += 6;
  }
  return true;
}

uint32_t hash_of(std::string_view name) {
  uint32_t hash = 2166136261U;  // FNV-1a
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return hash;
}

}  // namespace

// Reads token after token.
class HeaderCursor {
 public:
  explicit HeaderCursor(std::string_view text, size_t at = 0) : text_(text), at_(at) {}

  size_t position() const { return at_; }
  // The next character that is not a blank; 0 at the end.
  char peek() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) unexpected(quote(std::string_view(&c, 1)));
  }
  // Calls `member` with each key of an object, whose value is next.
  template <class Member>
  void object(Member&& member) {
    expect('{');
    if (take('}')) return;
    do {
      peek();
      const size_t key = at_;
      std::string name = string();
      expect(':');
      member(std::move(name), key);
    } while (take(','));
    expect('}');
  }
  template <class Element>
  void array(Element&& element) {
    expect('[');
    if (take(']')) return;
    do element();
    while (take(','));
    expect(']');
  }
  std::string string() {
    const std::string_view raw = raw_string();
    std::string text;
    if (!unescape(raw, text)) invalid("a wrong escape in a string");
    return text;
  }
  // -1: no whole number from 0 on is next.
  int64_t natural() {
    const char first = peek();
    int64_t number = 0;
    size_t end = at_;
    for (; end < text_.size() && is_digit(text_[end]); ++end) {
      if (__builtin_mul_overflow(number, int64_t{10}, &number) ||
          __builtin_add_overflow(number, int64_t{text_[end] - '0'}, &number))
        return -1;
    }
    const size_t digits = end - at_;
    const char next = end < text_.size() ? text_[end] : '\0';
    if (digits == 0 || (first == '0' && digits > 1) || next == '.' || next == 'e' || next == 'E')
      return -1;
    at_ = end;
    return number;
  }
  // A value of a field that the reader does not know.
  void skip_value(int depth = 0) {
    if (depth == kDeepest) invalid("too many levels");
    const char first = peek();
    if (first == '{') {
      object([&](const std::string&, size_t) { skip_value(depth + 1); });
    } else if (first == '[') {
      array([&] { skip_value(depth + 1); });
    } else if (first == '"') {
      string();
    } else {
      skip_word();
    }
  }
  void end() {
    if (peek() != '\0' || at_ != text_.size()) unexpected("the end");
  }
  // "an array", for messages.
  const char* next_kind() {
    switch (peek()) {
      case '{':
        return "an object";
      case '[':
        return "an array";
      case '"':
        return "a string";
      case 't':
      case 'f':
        return "a boolean";
      case 'n':
        return "null";
      default:
        return "a number";
    }
  }
  [[noreturn]] void invalid(const std::string& fault) const {
    fail(format_text("invalid header: invalid JSON: byte {}: {}", at_, fault));
  }
  [[noreturn]] void unexpected(const std::string& expected) const {
    invalid(format_text("found {}, expected {}",
                        at_ < text_.size() ? quote(text_.substr(at_, 1)) : std::string("the end"),
                        expected));
  }

 private:
  std::string_view raw_string() {
    expect('"');
    const size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) invalid("a control character in a string");
      if (text_[at_] == '\\') ++at_;
    }
    if (at_ >= text_.size()) {
      at_ = text_.size();
      invalid("the text ends in a string");
    }
    return text_.substr(begin, at_++ - begin);
  }
  // true, false, null or a number.
  void skip_word() {
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return;
    }
    number();
  }
  void number() {
    const auto digits = [&] {
      const size_t begin = at_;
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
      return at_ - begin;
    };
    const auto is_next = [&](std::string_view letters) {
      if (at_ == text_.size() || letters.find(text_[at_]) == letters.npos) return false;
      ++at_;
      return true;
    };
    is_next("-");
    const bool zero = at_ < text_.size() && text_[at_] == '0';
    const size_t whole = digits();
    if (whole == 0 || (zero && whole > 1)) unexpected("a value");
    if (is_next(".") && digits() == 0) unexpected("a digit");
    if (!is_next("eE")) return;
    is_next("+-");
    if (digits() == 0) unexpected("a digit");
  }

  std::string_view text_;
  size_t at_;
};

namespace {

FileHeader::Tensor read_tensor(HeaderCursor& cursor, std::string name) {
  constexpr const char* kWhat = "invalid header";
  FileHeader::Tensor tensor;
  tensor.name = std::move(name);
  const auto natural = [&] {
    const int64_t number = cursor.natural();
    if (number < 0) fail(kWhat, tensor.name, "sizes and offsets must be whole numbers from 0 on");
    return number;
  };
  if (cursor.peek() != '{')
    fail(kWhat, tensor.name, format_text("found {}, expected an object", cursor.next_kind()));
  bool has_shape = false;
  bool has_range = false;
  cursor.object([&](const std::string& field, size_t) {
    const bool again = (field == "dtype" && tensor.dtype != TENON_DTYPE_NONE) ||
                       (field == "shape" && has_shape) || (field == "data_offsets" && has_range);
    if (again) fail(kWhat, tensor.name, format_text("the field '{}' is there twice", field));
    if (field == "dtype") {
      if (cursor.peek() != '"') fail(kWhat, tensor.name, "the dtype must be a string");
      const std::string text = cursor.string();
      for (const FileDtype& known : kFileDtypes) {
        if (text == known.text) tensor.dtype = known.dtype;
      }
      if (tensor.dtype == TENON_DTYPE_NONE) {
        std::string known;
        for (const FileDtype& type : kFileDtypes) {
          known += known.empty() ? "" : ", ";
          known += type.text;
        }
        fail(kWhat, tensor.name,
             format_text("dtype {} cannot be read; the dtypes are {}", quote(text), known));
      }
    } else if (field == "shape") {
      has_shape = true;
      if (cursor.peek() != '[') fail(kWhat, tensor.name, "the shape must be an array");
      cursor.array([&] {
        if (tensor.shape.rank == TENON_MAX_RANK) {
          fail("invalid info", tensor.name, format_text("more than {} dimensions", TENON_MAX_RANK));
        }
        tensor.shape.values[tensor.shape.rank++] = natural();
      });
    } else if (field == "data_offsets") {
      has_range = true;
      int count = 0;
      if (cursor.peek() == '[') {
        cursor.array([&] {
          int64_t& offset = count == 0 ? tensor.begin : tensor.end;
          if (++count <= 2)
            offset = natural();
          else
            fail(kWhat, tensor.name, "data_offsets must be [begin, end]");
        });
      }
      if (count != 2) fail(kWhat, tensor.name, "data_offsets must be [begin, end]");
    } else {
      cursor.skip_value();
    }
  });
  for (const auto& [there, field] :
       {std::pair{tensor.dtype != TENON_DTYPE_NONE, "dtype"}, std::pair{has_shape, "shape"},
        std::pair{has_range, "data_offsets"}}) {
    if (!there) fail(kWhat, tensor.name, format_text("the field '{}' is missing", field));
  }
  return tensor;
}

}  // namespace

FileHeader::FileHeader(std::shared_ptr<const std::string> owner)
    : owner_(std::move(owner)), text_(*owner_) {
  const std::string_view text = text_;
  if (!is_utf8(text)) fail("invalid header: it is invalid UTF-8");
  if (!text.starts_with('{')) fail("invalid header: it must be an object and begin with '{'");
  HeaderCursor cursor(text);
  std::deque<HeaderKey> keys;
  cursor.object([&](std::string name, size_t key) {
    if (name == kMetadataKey) return read_metadata(cursor);
    keys.push_back({hash_of(name), static_cast<uint32_t>(key)});
    const Tensor tensor = read_tensor(cursor, std::move(name));
    entries_.push_back({tensor.begin, tensor.end, static_cast<uint32_t>(key)});
  });
  cursor.end();
  check_twice(keys, "the tensor ");
  const auto before = [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.key) < std::tie(b.begin, b.end, b.key);
  };
  // Most files have their entries in the order of their data.
  if (!std::is_sorted(entries_.begin(), entries_.end(), before))
    std::sort(entries_.begin(), entries_.end(), before);
}

void FileHeader::read_metadata(HeaderCursor& cursor) {
  if (metadata_ != 0) fail("invalid header: __metadata__ is there twice");
  if (cursor.peek() != '{') fail("invalid header: __metadata__ must be an object");
  metadata_ = cursor.position();
  cursor.object([&](const std::string& name, size_t key) {
    if (cursor.peek() != '"')
      fail(format_text("invalid header: the metadata {} must be a string", quote(name)));
    cursor.string();
    metadata_keys_.push_back({hash_of(name), static_cast<uint32_t>(key)});
  });
  check_twice(metadata_keys_, "the metadata ");
}

void FileHeader::check_twice(std::deque<HeaderKey>& keys, const char* what) const {
  const auto name = [&](const HeaderKey& key) { return HeaderCursor(text_, key.at).string(); };
  const auto before = [&](const HeaderKey& a, const HeaderKey& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.at != b.at && name(a) < name(b);
  };
  std::sort(keys.begin(), keys.end(), before);
  const auto twin =
      std::adjacent_find(keys.begin(), keys.end(), [&](const HeaderKey& a, const HeaderKey& b) {
        return a.hash == b.hash && name(a) == name(b);
      });
  if (twin != keys.end())
    fail(format_text("invalid header: {}{} is there twice", what, quote(name(*twin))));
}

FileHeader::Tensor FileHeader::tensor(size_t index) const {
  HeaderCursor cursor(text_, entries_[index].key);
  std::string name = cursor.string();
  cursor.expect(':');
  return read_tensor(cursor, std::move(name));
}

std::optional<std::string> StoredMetadata::find(std::string_view key) const {
  const uint32_t hash = hash_of(key);
  auto at = std::lower_bound(keys_.begin(), keys_.end(), hash,
                             [](const HeaderKey& a, uint32_t b) { return a.hash < b; });
  for (; at != keys_.end() && at->hash == hash; ++at) {
    HeaderCursor cursor(*text_, at->at);
    if (cursor.string() != key) continue;
    cursor.expect(':');
    return cursor.string();
  }
  return std::nullopt;
}

void StoredMetadata::each(
    const std::function<void(const std::string& key, std::string value)>& visit) const {
  if (begin_ == 0) return;
  HeaderCursor cursor(*text_, begin_);
  cursor.object([&](const std::string& key, size_t) { visit(key, cursor.string()); });
}

void FileHeader::check_ranges(int64_t bytes) const {
  int64_t next = 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Tensor tensor = this->tensor(i);
    if (tensor.begin != next || tensor.end < tensor.begin) {
      fail("invalid offset", tensor.name,
           format_text("its data is at [{}, {}], the data before it ends at {}", tensor.begin,
                       tensor.end, next));
    }
    int64_t needed = 0;
    try {
      needed = element_count(tensor.shape);
    } catch (const Error& error) {
      fail("invalid info", tensor.name, error.message);
    }
    if (__builtin_mul_overflow(needed, dtype_bytes(tensor.dtype), &needed) ||
        needed != tensor.end - tensor.begin) {
      fail("invalid info", tensor.name,
           format_text("{} of shape {} does not take the {} bytes of its range",
                       dtype_file_text(tensor.dtype), shape_text(tensor.shape),
                       tensor.end - tensor.begin));
    }
    next = tensor.end;
  }
  if (next != bytes) {
    fail(format_text("incomplete buffer: the header describes {} bytes of data, the file has {}",
                     next, bytes));
  }
}

std::string_view dtype_file_text(tenon_dtype dtype) {
  for (const FileDtype& entry : kFileDtypes) {
    if (entry.dtype == dtype) return entry.text;
  }
  return "";
}

}  // namespace tenon::core

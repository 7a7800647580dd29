// The header of .npy files: a bounded parser for the little Python that it is written in.
#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/abi/dtype.h>

#include "file_fault.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

// The dtypes that the format has, and their names in it. It has none for bf16.
struct NpyType {
  tenon_dtype dtype;
  std::string_view text;
  int64_t bytes;
};
inline constexpr NpyType kNpyTypes[] = {
    {TENON_BOOL, "b1", 1}, {TENON_U8, "u1", 1},    {TENON_U16, "u2", 2}, {TENON_U32, "u4", 4},
    {TENON_U64, "u8", 8},  {TENON_I8, "i1", 1},    {TENON_I16, "i2", 2}, {TENON_I32, "i4", 4},
    {TENON_I64, "i8", 8},  {TENON_F16, "f2", 2},   {TENON_F32, "f4", 4}, {TENON_F64, "f8", 8},
    {TENON_C64, "c8", 8},  {TENON_C128, "c16", 16}};
// Null for a dtype that the format does not have.
constexpr const NpyType* find_npy_type(tenon_dtype dtype) {
  for (const NpyType& type : kNpyTypes) {
    if (type.dtype == dtype) return &type;
  }
  return nullptr;
}

struct NpyLayout {
  tenon_dtype dtype = TENON_F32;
  int64_t element_bytes = 4;
  std::vector<int64_t> shape;
  bool fortran_order = false;
  bool big_endian = false;
  int64_t offset = 0;  // offset of the data in the file
  int64_t bytes = 0;   // size of the data
};

inline constexpr int64_t kNpyPreamble = 12;  // magic, version and the longer form of the length
inline constexpr int64_t kNpyMostHeader = int64_t{64} * 1024;  // longer ones are refused
inline constexpr int64_t kNpyMostRank = 16;
// Bytes of a file's beginning that `parse_npy` needs, or all of a shorter file.
inline constexpr int64_t kNpyHead = kNpyPreamble + kNpyMostHeader;

class NpyParser {
 public:
  // `head` is the file's beginning, as much of it as kNpyPreamble + kNpyMostHeader or all.
  NpyParser(std::string_view head, int64_t file_size) : head_(head), file_size_(file_size) {}

  NpyLayout parse() {
    preamble();
    dictionary();
    if (!seen_descr_ || !seen_order_ || !seen_shape_) {
      throw Fault(std::string("the header has no '") +
                  (!seen_descr_   ? "descr"
                   : !seen_order_ ? "fortran_order"
                                  : "shape") +
                  "'");
    }
    measure();
    return std::move(layout_);
  }

 private:
  void preamble() {
    if (head_.size() < 6 || std::memcmp(head_.data(), "\x93NUMPY", 6) != 0) {
      throw Fault("this is not a .npy file: it does not begin with the bytes 93 'NUMPY'");
    }
    if (head_.size() < 10) throw truncated("its header");
    const int major = byte(6), minor = byte(7);
    if (major < 1 || major > 3 || minor != 0) {
      throw Fault("version " + std::to_string(major) + "." + std::to_string(minor) +
                  " of the format is not known; 1.0, 2.0 and 3.0 are");
    }
    int64_t length = byte(8) | byte(9) << 8;
    int64_t start = 10;
    if (major > 1) {
      if (head_.size() < 12) throw truncated("its header");
      length |= static_cast<int64_t>(byte(10)) << 16 | static_cast<int64_t>(byte(11)) << 24;
      start = 12;
    }
    if (length > kNpyMostHeader) {
      throw Fault("the header says that it is " + std::to_string(length) + " bytes long; " +
                  std::to_string(kNpyMostHeader) + " is the most");
    }
    if (static_cast<int64_t>(head_.size()) < start + length) throw truncated("its header");
    layout_.offset = start + length;
    text_ = head_.substr(static_cast<size_t>(start), static_cast<size_t>(length));
  }
  int byte(size_t i) const { return static_cast<unsigned char>(head_[i]); }
  static Fault truncated(const std::string& where) {
    return Fault("the file ends in " + where, true);
  }

  // {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } in any order.
  void dictionary() {
    expect('{');
    while (!take('}')) {
      const std::string_view key = string();
      expect(':');
      bool& seen = key == "descr"           ? seen_descr_
                   : key == "fortran_order" ? seen_order_
                                            : seen_shape_;
      if (key != "descr" && key != "fortran_order" && key != "shape") {
        throw Fault("the header has an unknown key " + quoted_text(key));
      }
      if (seen) throw Fault("the header has " + quoted_text(key) + " twice");
      seen = true;
      if (key == "descr") {
        descr();
      } else if (key == "fortran_order") {
        layout_.fortran_order = truth();
      } else {
        shape();
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) unexpected("the end");
  }

  void descr() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[')
      throw Fault("arrays of records are not read: save each field alone");
    const std::string_view text = string();
    if (text.empty()) throw Fault("the dtype is empty");
    const bool ordered = text[0] == '<' || text[0] == '>' || text[0] == '|' || text[0] == '=';
    const std::string_view type = text.substr(ordered ? 1 : 0);
    for (const NpyType& info : kNpyTypes) {
      if (info.text != type) continue;
      layout_.big_endian = text[0] == '>' && info.bytes > 1;
      layout_.dtype = info.dtype;
      layout_.element_bytes = info.bytes;
      return;
    }
    if (type == "O" || (!type.empty() && type[0] == 'O')) {
      throw Fault("arrays of Python objects are not read: save numbers");
    }
    throw Fault("dtype " + quoted_text(type) + " is not read; " + types_text() + " are");
  }

  static std::string types_text() {
    std::string text;
    for (const NpyType& type : kNpyTypes) {
      const bool last = &type == std::end(kNpyTypes) - 1;
      text += (text.empty() ? "" : last ? " and " : ", ") + std::string(type.text);
    }
    return text;
  }

  bool truth() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    unexpected("True or False");
  }

  void shape() {
    expect('(');
    while (!take(')')) {
      layout_.shape.push_back(size());
      if (static_cast<int64_t>(layout_.shape.size()) > kNpyMostRank) {
        throw Fault("the array has more than " + std::to_string(kNpyMostRank) + " dimensions");
      }
      if (!take(',')) {
        expect(')');
        break;
      }
    }
  }
  int64_t size() {
    skip_space();
    const size_t first = at_;
    int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value)) {
        throw Fault("a size in the shape is too large");
      }
      ++at_;
    }
    if (at_ == first) unexpected("a size");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote it
    return value;
  }

  void measure() {
    int64_t count = layout_.element_bytes;
    bool empty = false, overflow = false;
    for (const int64_t n : layout_.shape) {
      empty = empty || n == 0;
      overflow = overflow || __builtin_mul_overflow(count, n, &count);
    }
    layout_.bytes = empty ? 0 : count;
    const int64_t present = file_size_ - layout_.offset;
    if (!empty && (overflow || count > present)) {
      throw Fault(
          "the file ends in its data: the shape " + shape_text() + " takes " +
              (overflow ? "more bytes than can be counted" : std::to_string(count) + " bytes") +
              ", " + std::to_string(present) + " are there",
          true);
    }
    if (layout_.bytes != present) {
      throw Fault(std::to_string(present - layout_.bytes) + " bytes follow the data of shape " +
                  shape_text());
    }
  }
  std::string shape_text() const {
    std::string text = "[";
    for (const int64_t n : layout_.shape)
      text += (text.size() == 1 ? "" : ", ") + std::to_string(n);
    return text + "]";
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  bool take(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) unexpected("'" + std::string(1, c) + "'");
  }
  std::string_view string() {
    skip_space();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"'))
      unexpected("a quoted text");
    const size_t first = at_ + 1, last = text_.find(text_[at_], first);
    if (last == std::string_view::npos) throw Fault("a quote in the header is not closed");
    at_ = last + 1;
    return text_.substr(first, last - first);
  }
  [[noreturn]] void unexpected(const std::string& expected) const {
    throw Fault("the header is broken at byte " + std::to_string(at_) + ": expected " + expected +
                ", found " +
                (at_ >= text_.size() ? "its end" : quoted_text(text_.substr(at_, 12))));
  }

  std::string_view head_, text_;
  int64_t file_size_;
  size_t at_ = 0;
  bool seen_descr_ = false, seen_order_ = false, seen_shape_ = false;
  NpyLayout layout_;
};

inline NpyLayout parse_npy(std::string_view head, int64_t file_size) {
  return NpyParser(head, file_size).parse();
}

// Magic, version, length and the dictionary, padded so that the data begins at a multiple of 64.
inline std::string npy_header_text(const NpyType& info, const int64_t* shape, int64_t rank) {
  std::string text = "{'descr': '" + std::string(info.bytes == 1 ? "|" : "<") +
                     std::string(info.text) + "', 'fortran_order': False, 'shape': (";
  for (int64_t i = 0; i < rank; ++i)
    text += std::to_string(shape[i]) + (i + 1 < rank ? ", " : rank == 1 ? "," : "");
  text += "), }";
  constexpr size_t fixed = 10;
  text.append(63 - (fixed + text.size()) % 64, ' ');
  text += '\n';
  std::string header = "\x93NUMPY";
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace state

TENON_NAMESPACE_END

// The header of a tensor file: JSON of exactly one shape, read in one pass and refused at the first
// token that does not belong.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tensor/shape.hpp"
#include "tenon/abi/dtype.h"

namespace tenon::core {

using FileMetadata = std::vector<std::pair<std::string, std::string>>;

struct FileDtype {
  std::string_view text;
  tenon_dtype dtype;
};
inline constexpr FileDtype kFileDtypes[] = {
    {"BOOL", TENON_BOOL}, {"U8", TENON_U8},   {"I8", TENON_I8},   {"I16", TENON_I16},
    {"I32", TENON_I32},   {"I64", TENON_I64}, {"F32", TENON_F32}, {"F64", TENON_F64}};
// As files write it, "F32".
std::string_view dtype_file_text(tenon_dtype dtype);
inline constexpr std::string_view kMetadataKey = "__metadata__";

// Keeps 24 bytes for a tensor and finds the rest in the text again, so that no header takes more
// than twice its length, sound or not.
class FileHeader {
 public:
  struct Tensor {
    std::string name;
    tenon_dtype dtype = TENON_DTYPE_NONE;
    Sizes shape;
    int64_t begin = 0;  // of its data, in bytes
    int64_t end = 0;
  };

  // `text` is borrowed; it must outlive the header. Throws Error(ValueError) with the fault alone.
  explicit FileHeader(std::string_view text);

  size_t size() const noexcept { return entries_.size(); }
  // In the order of their data.
  Tensor tensor(size_t index) const;
  FileMetadata metadata() const;
  // That the ranges cover `bytes` bytes of data without gap or overlap, and fit their shapes.
  void check_ranges(int64_t bytes) const;

 private:
  struct Entry {
    int64_t begin;
    int64_t end;
    uint32_t key;  // where its name is in the text
  };
  struct Key {
    uint32_t hash;
    uint32_t key;
  };
  void read_metadata(class HeaderCursor& cursor);
  void check_twice(std::deque<Key> keys, const char* what) const;

  std::string_view text_;
  std::deque<Entry> entries_;  // grows without a copy
  size_t metadata_ = 0;        // where its object begins; 0: there is none
};

}  // namespace tenon::core

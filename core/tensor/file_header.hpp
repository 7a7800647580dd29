// The header of a tensor file: JSON of exactly one shape, read in one pass and refused at the first
// token that does not belong.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tensor/shape.hpp"
#include "tenon/abi/dtype.h"

namespace tenon::core {

// Metadata to be written.
using FileMetadata = std::vector<std::pair<std::string, std::string>>;

// Place of a string in a header, and the hash of its text.
struct HeaderKey {
  uint32_t hash;
  uint32_t at;
};

// Metadata of a file that was read. Keeps the header as its text and 8 bytes for a pair: separate
// strings would take many times the length of short ones.
class StoredMetadata {
 public:
  StoredMetadata() = default;
  // `begin`: where the object is in the text; 0: there is none. `keys` are sorted by hash.
  StoredMetadata(std::shared_ptr<const std::string> text, size_t begin, std::deque<HeaderKey> keys)
      : text_(std::move(text)), begin_(begin), keys_(std::move(keys)) {}

  std::optional<std::string> find(std::string_view key) const;
  // In the order of the file.
  void each(const std::function<void(const std::string& key, std::string value)>& visit) const;

 private:
  std::shared_ptr<const std::string> text_;
  size_t begin_ = 0;
  std::deque<HeaderKey> keys_;
};

struct FileDtype {
  std::string_view text;
  tenon_dtype dtype;
};
#define TENON_FILE_DTYPE(name, code, ...) {#name, code},
// The format has no c128.
inline constexpr FileDtype kFileDtypes[] = {TENON_COMPUTED_DTYPES(
    TENON_FILE_DTYPE) TENON_STORED_DTYPES(TENON_FILE_DTYPE){"C64", TENON_C64}};
#undef TENON_FILE_DTYPE
// As files write it, "F32"; "" for a dtype that the format does not have.
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
    int64_t begin = 0;  // begin of its data, in bytes
    int64_t end = 0;
  };

  // Throws Error(ValueError) with the fault alone.
  explicit FileHeader(std::shared_ptr<const std::string> text);

  size_t size() const noexcept { return entries_.size(); }
  // In the order of their data.
  Tensor tensor(size_t index) const;
  // To be asked for once.
  StoredMetadata take_metadata() { return {owner_, metadata_, std::move(metadata_keys_)}; }
  // Checks that the ranges cover `bytes` bytes of data without gap or overlap, and fit their
  // shapes.
  void check_ranges(int64_t bytes) const;

 private:
  struct Entry {
    int64_t begin;
    int64_t end;
    uint32_t key;  // offset of its name in the text
  };
  void read_metadata(class HeaderCursor& cursor);
  // Sorts the keys by what they say.
  void check_twice(std::deque<HeaderKey>& keys, const char* what) const;

  std::shared_ptr<const std::string> owner_;
  std::string_view text_;
  std::deque<Entry> entries_;  // grows without a copy
  size_t metadata_ = 0;        // offset of its object; 0: there is none
  std::deque<HeaderKey> metadata_keys_;
};

}  // namespace tenon::core

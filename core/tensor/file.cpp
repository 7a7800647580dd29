// Tensor files in the safetensors format: what is read is not trusted before it is checked.
#include "core/tensor/file.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <unordered_set>

#include <sys/stat.h>

#include "core/base/atomic_file.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/tree.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and so is the data");

namespace {

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMostHeader = 100'000'000;  // the reference reader's own bound
constexpr size_t kMostAtOnce = size_t{1} << 30;
constexpr std::string_view kMetadataKey = "__metadata__";

struct FileDtype {
  std::string_view text;
  tenon_dtype dtype;
};
constexpr FileDtype kFileDtypes[] = {{"BOOL", TENON_BOOL}, {"U8", TENON_U8},   {"I8", TENON_I8},
                                     {"I16", TENON_I16},   {"I32", TENON_I32}, {"I64", TENON_I64},
                                     {"F32", TENON_F32},   {"F64", TENON_F64}};

std::string_view file_dtype(tenon_dtype dtype) {
  for (const FileDtype& entry : kFileDtypes) {
    if (entry.dtype == dtype) return entry.text;
  }
  return "";
}

[[noreturn]] void io_error(const std::string& path, int code) {
  throw Error(TENON_ERROR_IO,
              "cannot read '" + path + "': " + std::generic_category().message(code));
}

// ---- writing ----

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw Error(TENON_ERROR_VALUE, "cannot save '" + path + "': " + reason);
}

void append_string(std::string& json, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  json += '"';
  for (const char character : text) {
    const auto code = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      json += '\\';
      json += character;
    } else if (code < 0x20) {
      json += "\\u00";
      json += kDigits[code >> 4];
      json += kDigits[code & 15];
    } else {
      json += character;
    }
  }
  json += '"';
}

int64_t data_bytes(const Tensor& tensor) {
  return tensor.view.count * dtype_bytes(tensor.view.dtype);
}

void check_entries(const std::string& path, std::span<const NamedTensor> tensors,
                   const FileMetadata& metadata) {
  std::unordered_set<std::string_view> seen;
  for (const NamedTensor& entry : tensors) {
    if (!is_utf8(entry.name))
      refuse(path, "a tensor's name is not valid UTF-8: " + quote(entry.name));
    if (entry.name == kMetadataKey)
      refuse(path, "the name '__metadata__' is reserved by the format");
    if (!seen.insert(entry.name).second)
      refuse(path, "two tensors have the name " + quote(entry.name));
    if (!entry.tensor) refuse(path, "the tensor " + quote(entry.name) + " is undefined");
    if (entry.tensor->view.count != 0 && entry.tensor->view.data == nullptr) {
      refuse(path, "the tensor " + quote(entry.name) + " has a shape but no data");
    }
  }
  seen.clear();
  for (const auto& [key, value] : metadata) {
    if (!is_utf8(key) || !is_utf8(value))
      refuse(path, "metadata is not valid UTF-8: " + quote(key));
    if (!seen.insert(key).second)
      refuse(path, "the metadata key " + quote(key) + " is there twice");
  }
}

std::string header_text(std::span<const NamedTensor* const> entries, const FileMetadata& metadata) {
  std::string json = "{";
  if (!metadata.empty()) {
    append_string(json, kMetadataKey);
    json += ':';
    char before = '{';
    for (const auto& [key, value] : metadata) {
      json += before;
      append_string(json, key);
      json += ':';
      append_string(json, value);
      before = ',';
    }
    json += '}';
  }
  int64_t offset = 0;
  for (const NamedTensor* entry : entries) {
    if (json.size() > 1) json += ',';
    append_string(json, entry->name);
    json += ":{\"dtype\":\"";
    json += file_dtype(entry->tensor->view.dtype);
    json += "\",\"shape\":[";
    for (size_t i = 0; i < entry->tensor->view.rank; ++i) {
      if (i != 0) json += ',';
      json += std::to_string(entry->tensor->view.shape[i]);
    }
    json += "],\"data_offsets\":[" + std::to_string(offset) + ',';
    offset += data_bytes(*entry->tensor);
    json += std::to_string(offset) + "]}";
  }
  json += '}';
  json.resize((json.size() + 7) / 8 * 8, ' ');
  return json;
}

// ---- reading ----

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

struct Entry {
  const tenon_tree* node;
  tenon_dtype dtype;
  Sizes shape;
  int64_t begin;
  int64_t end;

  std::string_view name() const { return node->key(); }
};

class Reader {
 public:
  explicit Reader(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (file_.get() < 0) io_error(path_, errno);
    struct stat status {};
    if (fstat(file_.get(), &status) != 0) io_error(path_, errno);
    if (S_ISDIR(status.st_mode)) io_error(path_, EISDIR);
    if (!S_ISREG(status.st_mode))
      throw Error(TENON_ERROR_IO, "cannot read '" + path_ + "': it is no regular file");
    file_bytes_ = status.st_size;
  }

  TensorFile read() {
    TensorFile result;
    result.path = path_;
    const int64_t header_bytes = read_length();
    const int64_t data_start = kLengthBytes + header_bytes;
    const Tree header = read_header(header_bytes);
    const std::vector<Entry> entries = read_entries(*header, &result.metadata);
    check_ranges(entries, file_bytes_ - data_start);
    for (const Entry& entry : entries) {
      TensorRef tensor = make_empty(entry.dtype, entry.shape);
      read_at(tensor->view.data, entry.end - entry.begin, data_start + entry.begin);
      result.tensors.push_back({std::string(entry.name()), std::move(tensor)});
    }
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& fault) const {
    throw Error(TENON_ERROR_VALUE, "'" + path_ + "' is no valid tensor file: " + fault);
  }
  [[noreturn]] void fail(std::string_view what, const tenon_tree& node,
                         const std::string& fault) const {
    fail(std::string(what) + " of tensor " + quote(node.key()) + ": " + fault);
  }

  void read_at(void* to, int64_t bytes, int64_t offset) const {
    char* next = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t got =
          pread(file_.get(), next, std::min(static_cast<size_t>(bytes), kMostAtOnce), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) io_error(path_, errno);
      if (got == 0)
        throw Error(TENON_ERROR_IO, "cannot read '" + path_ + "': it became shorter meanwhile");
      next += got;
      offset += got;
      bytes -= got;
    }
  }

  int64_t read_length() const {
    if (file_bytes_ < kLengthBytes) {
      fail("header too small: the file has " + std::to_string(file_bytes_) +
           " bytes, its length field alone takes 8");
    }
    uint64_t length = 0;
    read_at(&length, kLengthBytes, 0);
    if (length > static_cast<uint64_t>(kMostHeader)) {
      fail("header too large: " + std::to_string(length) + " bytes, at most " +
           std::to_string(kMostHeader) + " are read");
    }
    const auto bytes = static_cast<int64_t>(length);
    if (bytes > file_bytes_ - kLengthBytes) {
      fail("invalid header length: " + std::to_string(length) + " bytes, but the file has only " +
           std::to_string(file_bytes_ - kLengthBytes) + " after the length field");
    }
    return bytes;
  }

  Tree read_header(int64_t bytes) const {
    std::string text(static_cast<size_t>(bytes), '\0');
    read_at(text.data(), bytes, kLengthBytes);
    if (!is_utf8(text)) fail("invalid header: it is invalid UTF-8");
    Tree header;
    try {
      TreeOptions options;
      options.max_bytes = static_cast<size_t>(kMostHeader);
      options.max_depth = 8;
      header = parse_tree(text, options);
    } catch (const Error& error) {
      if (error.kind != TENON_ERROR_VALUE) throw;
      fail("invalid header: invalid JSON: " + error.message);
    }
    if (!header->is_object())
      fail("invalid header: an object is wanted, it is " + std::string(kind_text(header->kind())));
    if (!text.starts_with('{')) fail("invalid header: it does not begin with '{'");
    return header;
  }

  const tenon_tree& field(const tenon_tree& node, std::string_view name) const {
    const tenon_tree* found = node.find(name);
    if (found == nullptr)
      fail("invalid header", node, "the field '" + std::string(name) + "' is missing");
    return *found;
  }

  int64_t natural(const tenon_tree& node, const tenon_tree& number) const {
    if (!number.is_int() || number.as_int() < 0) {
      fail("invalid header", node, "sizes and offsets are whole numbers from 0 on");
    }
    return number.as_int();
  }

  Entry read_entry(const tenon_tree& node) const {
    if (!node.is_object())
      fail("invalid header", node,
           "an object is wanted, it is " + std::string(kind_text(node.kind())));
    Entry entry{.node = &node, .dtype = TENON_DTYPE_NONE, .shape = {}, .begin = 0, .end = 0};
    const tenon_tree& dtype = field(node, "dtype");
    if (!dtype.is_string()) fail("invalid header", node, "the dtype is no string");
    for (const FileDtype& known : kFileDtypes) {
      if (dtype.as_string() == known.text) entry.dtype = known.dtype;
    }
    if (entry.dtype == TENON_DTYPE_NONE) {
      fail("invalid header", node,
           "dtype " + quote(dtype.as_string()) +
               " cannot be read, only BOOL, U8, I8, I16, I32, I64, F32 and F64");
    }
    const tenon_tree& shape = field(node, "shape");
    if (!shape.is_array()) fail("invalid header", node, "the shape is no list");
    if (shape.size() > TENON_MAX_RANK) {
      fail("invalid info", node,
           std::to_string(shape.size()) + " dimensions, at most " + std::to_string(TENON_MAX_RANK) +
               " are possible");
    }
    for (const tenon_tree& size : shape.children())
      entry.shape.values[entry.shape.rank++] = natural(node, size);
    const tenon_tree& range = field(node, "data_offsets");
    if (!range.is_array() || range.size() != 2)
      fail("invalid header", node, "data_offsets is no pair");
    entry.begin = natural(node, *range.at(0));
    entry.end = natural(node, *range.at(1));
    return entry;
  }

  void read_metadata(const tenon_tree& node, FileMetadata* metadata) const {
    if (!node.is_object()) fail("invalid header: __metadata__ is no object");
    for (const tenon_tree& member : node.children()) {
      if (!member.is_string()) {
        fail("invalid header: the metadata " + quote(member.key()) + " is no string");
      }
      metadata->emplace_back(member.key(), member.as_string());
    }
  }

  // In the order of their data.
  std::vector<Entry> read_entries(const tenon_tree& header, FileMetadata* metadata) const {
    std::vector<Entry> entries;
    entries.reserve(static_cast<size_t>(header.size()));
    for (const tenon_tree& member : header.children()) {
      if (member.key() == kMetadataKey) {
        read_metadata(member, metadata);
      } else {
        entries.push_back(read_entry(member));
      }
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    return entries;
  }

  // The ranges must cover the data without gap or overlap, and fit their shapes.
  void check_ranges(const std::vector<Entry>& entries, int64_t held) const {
    int64_t next = 0;
    for (const Entry& entry : entries) {
      if (entry.begin != next || entry.end < entry.begin) {
        fail("invalid offset", *entry.node,
             "its data is at [" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) +
                 "], the data before it ends at " + std::to_string(next));
      }
      int64_t count = 0;
      int64_t bytes = 0;
      try {
        count = element_count(entry.shape);
      } catch (const Error& error) {
        fail("invalid info", *entry.node, error.message);
      }
      if (__builtin_mul_overflow(count, dtype_bytes(entry.dtype), &bytes) ||
          bytes != entry.end - entry.begin) {
        fail("invalid info", *entry.node,
             std::string(file_dtype(entry.dtype)) + " of shape " + shape_text(entry.shape) +
                 " does not take the " + std::to_string(entry.end - entry.begin) +
                 " bytes of its range");
      }
      next = entry.end;
    }
    if (next != held) {
      fail("incomplete buffer: the header describes " + std::to_string(next) +
           " bytes of data, the file has " + std::to_string(held));
    }
  }

  const std::string& path_;
  Descriptor file_;
  int64_t file_bytes_ = 0;
};

}  // namespace

const NamedTensor* TensorFile::find(std::string_view name) const noexcept {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [name](const NamedTensor& entry) { return entry.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

const TensorRef& TensorFile::at(std::string_view name) const {
  if (const NamedTensor* found = find(name); found != nullptr) return found->tensor;
  std::vector<std::string_view> names;
  for (const NamedTensor& entry : tensors) names.push_back(entry.name);
  throw Error(TENON_ERROR_VALUE,
              "'" + path + "' holds no tensor " + quote(name) + suggestion(name, names));
}

void save_tensors(const std::string& path, std::span<const NamedTensor> tensors,
                  const FileMetadata& metadata) {
  check_entries(path, tensors, metadata);
  std::vector<const NamedTensor*> entries;
  for (const NamedTensor& entry : tensors) entries.push_back(&entry);
  std::stable_sort(entries.begin(), entries.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return dtype_bytes(a->tensor->view.dtype) > dtype_bytes(b->tensor->view.dtype);
  });
  const std::string header = header_text(entries, metadata);
  if (header.size() > static_cast<size_t>(kMostHeader)) {
    refuse(path, "its header would be too large: " + std::to_string(header.size()) +
                     " bytes, at most " + std::to_string(kMostHeader) + " are read back");
  }
  AtomicFile file(path);
  const uint64_t length = header.size();
  file.write(&length, kLengthBytes);
  file.write(header);
  for (const NamedTensor* entry : entries) {
    const TensorRef data =
        entry->tensor->contiguous() ? entry->tensor : contiguous_copy(*entry->tensor);
    file.write(data->view.data, data_bytes(*data));
  }
  file.commit();
}

TensorFile load_tensors(const std::string& path) { return Reader(path).read(); }

}  // namespace tenon::core

// Tensor files in the safetensors format: what is read is not trusted before it is checked.
#include "core/tensor/file.hpp"

#include <algorithm>
#include <bit>
#include <unordered_set>
#include <utility>

#include "core/base/atomic_file.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/input_file.hpp"
#include "core/base/text.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and so is the data");

namespace {

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMostHeader = 100'000'000;  // the reference reader's own bound
// Bytes that an empty tensor takes beside its name, and that all may take beyond their data: a
// header of some 50 bytes for each would become many times its size.
constexpr int64_t kTensorBytes = 480;
constexpr int64_t kTensorRoom = int64_t{16} << 20;

int64_t most_tensors(int64_t data_bytes) { return (data_bytes + kTensorRoom) / kTensorBytes; }

// ---- writing ----

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw Error(TENON_ERROR_VALUE, "cannot save '{}': {}", path, reason);
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
      refuse(path, format_text("a tensor's name is not valid UTF-8: {}", quote(entry.name)));
    if (entry.name == kMetadataKey)
      refuse(path, "the name '__metadata__' is reserved by the format");
    if (!seen.insert(entry.name).second)
      refuse(path, format_text("two tensors have the name {}", quote(entry.name)));
    if (!entry.tensor) refuse(path, format_text("the tensor {} is undefined", quote(entry.name)));
    if (entry.tensor->view.count != 0 && entry.tensor->view.data == nullptr) {
      refuse(path, format_text("the tensor {} has a shape but no data", quote(entry.name)));
    }
    if (dtype_file_text(entry.tensor->view.dtype).empty()) {
      refuse(path,
             format_text("the format has no {}, the dtype of tensor {}: save view_as_real() of "
                         "it, or convert it to c64",
                         dtype_text(entry.tensor->view.dtype), quote(entry.name)));
    }
  }
  seen.clear();
  for (const auto& [key, value] : metadata) {
    if (!is_utf8(key) || !is_utf8(value))
      refuse(path, format_text("metadata is not valid UTF-8: {}", quote(key)));
    if (!seen.insert(key).second)
      refuse(path, format_text("the metadata key {} is there twice", quote(key)));
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
    json += R"(:{"dtype":")";
    json += dtype_file_text(entry->tensor->view.dtype);
    json += R"(","shape":[)";
    for (size_t i = 0; i < entry->tensor->view.rank; ++i) {
      if (i != 0) json += ',';
      json += std::to_string(entry->tensor->view.shape[i]);
    }
    json += format_text("],\"data_offsets\":[{}{}", offset, ',');
    offset += data_bytes(*entry->tensor);
    json += format_text("{}]}}", offset);
  }
  json += '}';
  json.resize((json.size() + 7) / 8 * 8, ' ');
  return json;
}

// ---- reading ----

[[noreturn]] void fail(const std::string& path, const std::string& fault) {
  throw Error(TENON_ERROR_VALUE, "{} is not a valid tensor file: {}", quote(path), fault);
}

std::shared_ptr<const std::string> read_header(const InputFile& file, const std::string& path) {
  if (file.size() < kLengthBytes) {
    fail(path,
         format_text("header too small: the file has {} bytes, its length field alone takes 8",
                     file.size()));
  }
  uint64_t length = 0;
  file.read_at(&length, kLengthBytes, 0);
  if (length > static_cast<uint64_t>(kMostHeader)) {
    fail(path, format_text("header too large: {} bytes, at most {} are read", length, kMostHeader));
  }
  const auto bytes = static_cast<int64_t>(length);
  if (bytes > file.size() - kLengthBytes) {
    fail(path,
         format_text(
             "invalid header length: {} bytes, but the file has only {} after the length field",
             length, file.size() - kLengthBytes));
  }
  auto text = std::make_shared<std::string>(length, '\0');
  file.read_at(text->data(), bytes, kLengthBytes);
  return text;
}

FileHeader parse_header(const std::shared_ptr<const std::string>& text, int64_t data_bytes,
                        const std::string& path) {
  try {
    FileHeader header(text);
    header.check_ranges(data_bytes);
    return header;
  } catch (const Error& error) {
    if (error.kind != TENON_ERROR_VALUE) throw;
    fail(path, error.message);
  }
}

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
  throw Error(TENON_ERROR_VALUE, "'{}' holds no tensor {}{}", path, quote(name),
              suggestion(name, names));
}

void save_tensors(const std::string& path, std::span<const NamedTensor> tensors,
                  const FileMetadata& metadata) {
  check_entries(path, tensors, metadata);
  std::vector<const NamedTensor*> entries;
  for (const NamedTensor& entry : tensors) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return std::pair(dtype_bytes(b->tensor->view.dtype), a) <
           std::pair(dtype_bytes(a->tensor->view.dtype), b);
  });
  const std::string header = header_text(entries, metadata);
  if (header.size() > static_cast<size_t>(kMostHeader)) {
    refuse(path, format_text("its header would be too large: {} bytes, at most {} are read back",
                             header.size(), kMostHeader));
  }
  int64_t bytes = 0;
  for (const NamedTensor* entry : entries) bytes += data_bytes(*entry->tensor);
  const auto count = static_cast<int64_t>(entries.size());
  if (count > most_tensors(bytes)) {
    refuse(path, format_text("{} tensors with {} bytes of data, at most {} are read back; join "
                             "small tensors into fewer",
                             count, bytes, most_tensors(bytes)));
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

namespace {

void check_count(size_t count, int64_t data_bytes, const std::string& path) {
  const int64_t most = most_tensors(data_bytes);
  if (static_cast<int64_t>(count) > most) {
    throw Error(TENON_ERROR_VALUE,
                "cannot read {}: it has {} tensors, at most {} are read of a file with {} bytes of "
                "data; join small tensors into fewer",
                quote(path), count, most, data_bytes);
  }
}

// `tensor_of(entry, position)` makes the tensor whose data is there in the file.
template <class TensorOf>
TensorFile read_tensors(const InputFile& file, const std::string& path, TensorOf&& tensor_of) {
  const std::shared_ptr<const std::string> text = read_header(file, path);
  const auto data_start = kLengthBytes + static_cast<int64_t>(text->size());
  FileHeader header = parse_header(text, file.size() - data_start, path);
  check_count(header.size(), file.size() - data_start, path);
  TensorFile result;
  result.path = path;
  result.metadata = header.take_metadata();
  result.tensors.reserve(header.size());
  for (size_t i = 0; i < header.size(); ++i) {
    FileHeader::Tensor entry = header.tensor(i);
    TensorRef tensor = tensor_of(entry, data_start + entry.begin);
    result.tensors.push_back({std::move(entry.name), std::move(tensor)});
  }
  return result;
}

TensorRef read_tensor(const InputFile& file, const FileHeader::Tensor& entry, int64_t position) {
  TensorRef tensor = make_empty(entry.dtype, entry.shape);
  file.read_at(tensor->view.data, entry.end - entry.begin, position);
  return tensor;
}

}  // namespace

TensorFile load_tensors(const std::string& path) {
  const InputFile file(path);
  return read_tensors(file, path, [&](const FileHeader::Tensor& entry, int64_t position) {
    return read_tensor(file, entry, position);
  });
}

TensorFile map_tensors(const std::string& path) {
  const InputFile file(path);
  std::shared_ptr<char> mapping;
  return read_tensors(file, path, [&](const FileHeader::Tensor& entry, int64_t position) {
    if (entry.begin == entry.end || position % dtype_bytes(entry.dtype) != 0)
      return read_tensor(file, entry, position);
    if (!mapping) mapping = file.map();
    auto kept = std::make_unique<std::shared_ptr<char>>(mapping);
    TensorRef tensor =
        make_wrapped(entry.dtype, entry.shape, {}, mapping.get() + position, kept.get(),
                     [](void* owner) { delete static_cast<std::shared_ptr<char>*>(owner); });
    static_cast<void>(kept.release());  // the tensor owns it now
    return tensor;
  });
}

StoredMetadata load_metadata(const std::string& path) {
  const InputFile file(path);
  const std::shared_ptr<const std::string> text = read_header(file, path);
  const auto data_start = kLengthBytes + static_cast<int64_t>(text->size());
  return parse_header(text, file.size() - data_start, path).take_metadata();
}

FileMetadata file_metadata(const tenon_json& object) {
  FileMetadata metadata;
  for (const tenon_json& member : object.children()) {
    if (!member.is_string())
      throw Error(TENON_ERROR_TYPE, "metadata {} must be a string, got {}", quote(member.key()),
                  dump(member));
    metadata.emplace_back(member.key(), member.as_string());
  }
  return metadata;
}

}  // namespace tenon::core

// Safetensors files: written as a whole, and not trusted before they are checked.
#include "stored_file.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_set>

#include <tenon/state/atomic_file.hpp>
#include <tenon/text.hpp>

#include "file_limits.hpp"
#include "input_file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "packed_elements.hpp"
#include "sharded_file.hpp"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is little-endian, as data is");

TENON_NAMESPACE_BEGIN

namespace state {

using lib::format_text;
using lib::quote;

Json json_of(Metadata&& metadata) {
  JsonObject object;
  for (auto& [key, value] : metadata) {
    object.set(key, value);
    std::string().swap(value);  // long texts are there twice, not three times
  }
  return object.json();
}

namespace {

// ---- writing ----

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw ValueError(format_text("cannot save '{}': {}", path, reason));
}

void append(Metadata& metadata, const Json& object) {
  for (int64_t i = 0; i < object.size(); ++i) {
    if (!object[i].is_text())
      throw TypeError(format_text("metadata {} must be a string, got {}", quote(object.key(i)),
                                  object[i].dump()));
    metadata.emplace_back(object.key(i), object[i].text());
  }
}

const tenon_tensor_view& view_of(const Tensor& tensor) {
  return *tenon_tensor_get_view(tensor.handle());
}

// An entry without its range.
FileEntry entry_of(const std::string& path, const std::string& name, const Tensor& tensor) {
  const tenon_tensor_view& view = view_of(tensor);
  if (view.count != 0 && view.data == nullptr)
    refuse(path, format_text("the tensor {} has a shape but no data", quote(name)));
  FileEntry entry;
  entry.name = name;
  entry.dtype = file_dtype(view.dtype);
  entry.shape.assign(view.shape, view.shape + view.rank);
  if (entry.dtype != nullptr) return entry;
  refuse(path,
         format_text("the format has no {}, the dtype of tensor {}: save view_as_real() of it, "
                     "or convert it to c64",
                     dtype_text(tensor.dtype()), quote(name)));
}

void check_names(const std::string& path, const NamedTensors& tensors) {
  std::unordered_set<std::string_view> seen;
  for (const auto& [name, tensor] : tensors) {
    if (!lib::is_utf8(name))
      refuse(path, format_text("a tensor's name is not valid UTF-8: {}", quote(name)));
    if (name == kMetadataKey) refuse(path, "the name '__metadata__' is reserved by the format");
    if (!seen.insert(name).second)
      refuse(path, format_text("two tensors have the name {}", quote(name)));
    if (!tensor.defined()) refuse(path, format_text("the tensor {} is undefined", quote(name)));
  }
}

void check_metadata(const std::string& path, const Metadata& metadata) {
  std::unordered_set<std::string_view> seen;
  for (const auto& [key, value] : metadata) {
    if (!lib::is_utf8(key) || !lib::is_utf8(value))
      refuse(path, format_text("metadata is not valid UTF-8: {}", quote(key)));
    if (!seen.insert(key).second)
      refuse(path, format_text("the metadata key {} is there twice", quote(key)));
  }
  if (metadata.size() > kMostMetadata)
    refuse(path, format_text("{} pairs of metadata, at most {} are read back", metadata.size(),
                             kMostMetadata));
}

void check_limits(const std::string& path, const FileHeader& header, const std::string& text,
                  int64_t data_bytes) {
  if (text.size() > static_cast<size_t>(kMostHeader)) {
    refuse(path, format_text("its header would be too large: {} bytes, at most {} are read back",
                             text.size(), kMostHeader));
  }
  const auto count = static_cast<int64_t>(header.entries.size());
  if (count <= most_tensors(data_bytes)) return;
  refuse(path, format_text("{} tensors with {} bytes of data, at most {} are read back; join small "
                           "tensors into fewer",
                           count, data_bytes, most_tensors(data_bytes)));
}

void write_data(AtomicFile& file, const tenon_tensor_view& view, int64_t bits) {
  if (bits >= 8) return file.write(view.data, packed_bytes(view.count, bits));
  std::vector<uint8_t> packed(static_cast<size_t>(packed_bytes(kPackedPiece, bits)));
  const auto* elements = static_cast<const uint8_t*>(view.data);
  for (int64_t i = 0; i < view.count; i += kPackedPiece) {
    const int64_t count = std::min(kPackedPiece, view.count - i);
    pack_elements(elements + i, packed.data(), count, bits);
    file.write(packed.data(), packed_bytes(count, bits));
  }
}

}  // namespace

void write_stored(const std::string& path, const NamedTensors& tensors, Stored how,
                  const Json& metadata, size_t alignment) {
  check_names(path, tensors);
  StoredTensors parts = store_objects(tensors, how);
  NamedTensors& stored = parts.tensors;
  check_names(path, stored);
  FileHeader header;
  append(header.metadata, metadata);
  for (auto& pair : parts.metadata) header.metadata.push_back(std::move(pair));
  check_metadata(path, header.metadata);
  // Wide dtypes first, so that all data is aligned; otherwise the given order stays.
  const auto width = [](const Tensor& tensor) {
    const FileDtype* known = file_dtype(view_of(tensor).dtype);
    return known == nullptr ? 0 : known->bits;
  };
  std::stable_sort(stored.begin(), stored.end(),
                   [&](const auto& a, const auto& b) { return width(a.second) > width(b.second); });
  int64_t bytes = 0;
  for (const auto& [name, tensor] : stored) {
    FileEntry& entry = header.entries.emplace_back(entry_of(path, name, tensor));
    entry.begin = bytes;
    const int64_t count = view_of(tensor).count, bits = entry.dtype->bits;
    if (count * bits % 8 != 0)
      refuse(path, format_text("the format packs {}, and the {} elements of tensor {} do not fill "
                               "whole bytes: pad it",
                               dtype_text(tensor.dtype()), count, quote(name)));
    entry.end = bytes += packed_bytes(count, bits);
  }
  const std::string text = header_text(header, alignment);
  check_limits(path, header, text, bytes);
  AtomicFile file(path);
  const uint64_t length = text.size();
  file.write(&length, kLengthBytes);
  file.write(text);
  for (size_t i = 0; i < stored.size(); ++i) {
    const Tensor data = contiguous_as(stored[i].second, stored[i].second.dtype());
    write_data(file, view_of(data), header.entries[i].dtype->bits);
  }
  file.commit();
}

namespace {

// ---- reading ----

// An open file whose header was checked.
class StoredReader {
 public:
  explicit StoredReader(const std::string& path) : path_(path), file_(path) {
    const std::string text = read_text();
    start_ = kLengthBytes + static_cast<int64_t>(text.size());
    header_ = read_header(path, text, file_.size() - start_);
  }

  FileHeader& header() { return header_; }

  Tensor tensor(const FileEntry& entry, Access access) {
    const IntList shape(entry.shape.data(), static_cast<int64_t>(entry.shape.size()));
    const auto dtype = static_cast<DType>(entry.dtype->dtype);
    const int64_t position = start_ + entry.begin;
    const int64_t bits = entry.dtype->bits;
    if (access == Access::Map && entry.begin != entry.end && bits >= 8 &&
        position % (bits / 8) == 0)
      return mapped(entry, position, shape, dtype);
    Tensor tensor = empty_tensor(shape, dtype);
    if (bits >= 8)
      file_.read_at(view_of(tensor).data, entry.end - entry.begin, position);
    else
      read_packed(view_of(tensor), position, bits);
    return tensor;
  }

  // Why a tensor cannot be read; empty: it can.
  std::string fault(const FileEntry& entry) const {
    if (entry.dtype != nullptr) return {};
    std::string known;
    for (const FileDtype& type : kFileDtypes)
      known.append(known.empty() ? "" : ", ").append(type.text);
    return invalid_text(
        path_,
        format_text("invalid header of tensor {}: dtype {} cannot be read; the dtypes are {}; read "
                    "the other tensors by their names",
                    quote(entry.name), quote(entry.unknown_dtype), known));
  }

 private:
  [[noreturn]] void refuse(const std::string& fault) const {
    throw ValueError(invalid_text(path_, fault));
  }

  std::string read_text() const {
    if (file_.size() < kLengthBytes) {
      refuse(format_text("header too small: the file has {} bytes, its length field alone takes 8",
                         file_.size()));
    }
    uint64_t length = 0;
    file_.read_at(&length, kLengthBytes, 0);
    if (length > static_cast<uint64_t>(kMostHeader)) {
      refuse(format_text("header too large: {} bytes, at most {} are read", length, kMostHeader));
    }
    const auto bytes = static_cast<int64_t>(length);
    if (bytes > file_.size() - kLengthBytes) {
      refuse(
          format_text("invalid header length: {} bytes, but the file has only {} after the "
                      "length field",
                      length, file_.size() - kLengthBytes));
    }
    std::string text(length, '\0');
    file_.read_at(text.data(), bytes, kLengthBytes);
    return text;
  }

  void read_packed(const tenon_tensor_view& view, int64_t position, int64_t bits) const {
    std::vector<uint8_t> packed(static_cast<size_t>(packed_bytes(kPackedPiece, bits)));
    auto* elements = static_cast<uint8_t*>(view.data);
    for (int64_t i = 0; i < view.count; i += kPackedPiece) {
      const int64_t count = std::min(kPackedPiece, view.count - i);
      file_.read_at(packed.data(), packed_bytes(count, bits), position + packed_bytes(i, bits));
      unpack_elements(packed.data(), elements + i, count, bits);
    }
  }

  // The tensor keeps the mapping.
  Tensor mapped(const FileEntry& entry, int64_t position, IntList shape, DType dtype) {
    if (!mapping_) mapping_ = file_.map();
    std::vector<int64_t> strides(entry.shape.size(), 1);
    for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * entry.shape[i];
    auto kept = std::make_unique<std::shared_ptr<char>>(mapping_);
    Tensor tensor = wrap_buffer(
        mapping_.get() + position, shape, IntList(strides.data(), shape.size()), dtype, kept.get(),
        [](void* owner) { delete static_cast<std::shared_ptr<char>*>(owner); });
    static_cast<void>(kept.release());
    return tensor;
  }

  const std::string& path_;
  InputFile file_;
  FileHeader header_;
  int64_t start_ = 0;  // begin of the data
  std::shared_ptr<char> mapping_;
};

// The tensors of these names, in their order; `present` are all names of the file.
NamedTensors choose(const std::string& path, const NamedTensors& tensors,
                    const std::vector<std::string>& names,
                    const std::vector<std::string>& present) {
  NamedTensors chosen;
  for (const std::string& name : names) {
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    if (found == tensors.end())
      throw ValueError(
          format_text("'{}' holds no tensor {}{}", path, quote(name), suggestion(name, present)));
    chosen.push_back(*found);
  }
  return chosen;
}

NamedTensors read_tensors(const std::string& path, Access access,
                          const std::vector<std::string>& names) {
  std::vector<std::string> present;
  // Objects are made of several tensors, whose names their types know.
  StoredFile file =
      read_stored(path, access, [&](const Metadata& metadata, const std::string& name) {
        if (names.empty()) return true;
        present.push_back(name);
        return has_objects(metadata) || std::find(names.begin(), names.end(), name) != names.end();
      });
  if (names.empty() && !file.unreadable.empty()) throw ValueError(file.unreadable.front().second);
  for (const std::string& name : names) file.require_readable(name);
  if (has_objects(file.metadata))
    file.tensors = make_objects(std::move(file.tensors), file.metadata, path);
  if (names.empty()) return std::move(file.tensors);
  return choose(path, file.tensors, names, present);
}

}  // namespace

void StoredFile::require_readable(const std::string& name) const {
  for (const auto& [unread, fault] : unreadable) {
    if (unread == name) throw ValueError(fault);
  }
}

namespace {

// The chosen tensors of a file in parts; a part without one is not opened.
StoredFile read_parts(const std::string& path, Access access, const ChosenTensor& chosen) {
  StoredFile file;
  for (const auto& [part, names] : read_shard_index(path).parts) {
    std::unordered_set<std::string> expected;
    for (const std::string& name : names) {
      if (chosen(file.metadata, name)) expected.insert(name);
    }
    if (expected.empty()) continue;
    // An index that names itself would be read without end.
    if (is_shard_index(part))
      throw ValueError(
          format_text("the part {} of {} is an index as well; name the file that has "
                      "the tensors",
                      quote(part), quote(path)));
    StoredFile read = read_stored(part, access, [&](const Metadata&, const std::string& name) {
      return expected.count(name) != 0;
    });
    for (auto& entry : read.tensors) {
      expected.erase(entry.first);
      file.tensors.push_back(std::move(entry));
    }
    for (auto& entry : read.unreadable) {
      expected.erase(entry.first);
      file.unreadable.push_back(std::move(entry));
    }
    if (!expected.empty())
      throw ValueError(format_text("{} has no tensor {}, which the index {} says it has",
                                   quote(part), quote(*expected.begin()), quote(path)));
  }
  return file;
}

}  // namespace

StoredFile read_stored(const std::string& path, Access access, const ChosenTensor& chosen) {
  if (is_shard_index(path)) return read_parts(path, access, chosen);
  StoredReader reader(path);
  StoredFile file;
  file.metadata = std::move(reader.header().metadata);
  for (FileEntry& entry : reader.header().entries) {
    if (!chosen(file.metadata, entry.name)) continue;
    if (std::string fault = reader.fault(entry); !fault.empty()) {
      file.unreadable.emplace_back(std::move(entry.name), std::move(fault));
      continue;
    }
    Tensor tensor = reader.tensor(entry, access);
    file.tensors.emplace_back(std::move(entry.name), std::move(tensor));
  }
  return file;
}

void save_tensors(const std::string& path, const NamedTensors& tensors, const Json& metadata) {
  write_stored(path, tensors, Stored::Whole, metadata);
}

void save_tensors(const std::string& path, const NamedTensors& tensors, const Json& metadata,
                  int64_t alignment) {
  constexpr int64_t most = 1 << 16;
  if (alignment < 8 || alignment > most || alignment % 8 != 0)
    throw ValueError(
        format_text("the alignment of a tensor file must be a multiple of 8 up to {}, got {}", most,
                    alignment));
  write_stored(path, tensors, Stored::Whole, metadata, static_cast<size_t>(alignment));
}

NamedTensors load_tensors(const std::string& path, const std::vector<std::string>& names) {
  return read_tensors(path, Access::Read, names);
}

NamedTensors map_tensors(const std::string& path, const std::vector<std::string>& names) {
  return read_tensors(path, Access::Map, names);
}

Json metadata(const std::string& path) {
  if (is_shard_index(path)) return read_shard_index(path).metadata;
  return json_of(std::move(StoredReader(path).header().metadata));
}

}  // namespace state

TENON_NAMESPACE_END

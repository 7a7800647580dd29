// Reads and writes the files of NumPy: arrays are mapped where a file has them as memory needs them.
#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_set>

#include <tenon/state/atomic_file.hpp>
#include <tenon/state/numpy_file.hpp>
#include <tenon/text.hpp>

#include "byte_order.hpp"
#include "input_file.hpp"
#include "lib/base/text.hpp"
#include "npy_header.hpp"
#include "stored_file.hpp"
#include "zip_file.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

namespace {

constexpr std::string_view kNpyEnding = ".npy";

IntList list(const std::vector<int64_t>& sizes) {
  return IntList(sizes.data(), static_cast<int64_t>(sizes.size()));
}

// An open file; what it maps is mapped once.
class ArrayFile {
 public:
  explicit ArrayFile(const std::string& path) : file_(path) {}

  const InputFile& file() const { return file_; }

  // The array whose file, or member of a file, is at these bytes. `read` gives the next of them.
  template <class Read>
  Tensor array(int64_t size, Read&& read) const {
    std::string head(static_cast<size_t>(std::min(size, kNpyHead)), '\0');
    const auto head_size = static_cast<int64_t>(head.size());
    read(head.data(), head_size);
    const NpyLayout layout = parse_npy(head, size);
    // Sizes beside one of 0 may be too large for strides.
    const bool turned = layout.fortran_order && layout.bytes > 0;
    const std::vector<int64_t> stored = turned ? stored_shape(layout) : layout.shape;
    Tensor result = empty_tensor(list(stored), static_cast<DType>(layout.dtype));
    auto* bytes = static_cast<char*>(result.view_record().data);
    const int64_t present = std::min(head_size - layout.offset, layout.bytes);
    if (present > 0) std::memcpy(bytes, head.data() + layout.offset, static_cast<size_t>(present));
    if (layout.bytes > present) read(bytes + present, layout.bytes - present);
    if (layout.big_endian) swap_bytes(bytes, layout.bytes, number_bytes(layout.dtype));
    if (layout.dtype == TENON_BOOL) {
      for (int64_t i = 0; i < layout.bytes; ++i) bytes[i] = bytes[i] != 0;
    }
    if (!turned || stored.size() < 2) return result;
    const std::vector<int64_t> strides = strides_of(layout);
    const Tensor columns = alias_tensor(result, list(layout.shape), list(strides), 0);
    return contiguous_as(columns, columns.dtype());
  }
  Tensor read() const {
    int64_t at = 0;
    return array(file_.size(), [&](char* to, int64_t count) {
      file_.read_at(to, count, at);
      at += count;
    });
  }

  NpyLayout layout(int64_t offset, int64_t size) const {
    std::string head(static_cast<size_t>(std::min(size, kNpyHead)), '\0');
    file_.read_at(head.data(), static_cast<int64_t>(head.size()), offset);
    return parse_npy(head, size);
  }
  // The array as the file has it at these bytes; undefined where memory needs it otherwise.
  Tensor map(int64_t offset, int64_t size) {
    const NpyLayout layout = this->layout(offset, size);
    const int64_t at = offset + layout.offset;
    if (layout.big_endian || layout.bytes == 0 || at % number_bytes(layout.dtype) != 0) return {};
    if (!mapping_) mapping_ = file_.map();
    const std::vector<int64_t> strides = strides_of(layout);
    auto kept = std::make_unique<std::shared_ptr<char>>(mapping_);
    Tensor tensor = wrap_buffer(
        mapping_.get() + at, list(layout.shape), list(strides), static_cast<DType>(layout.dtype),
        kept.get(), [](void* owner) { delete static_cast<std::shared_ptr<char>*>(owner); });
    static_cast<void>(kept.release());
    return tensor;
  }

 private:
  static std::vector<int64_t> stored_shape(const NpyLayout& layout) {
    std::vector<int64_t> shape = layout.shape;
    if (layout.fortran_order) std::reverse(shape.begin(), shape.end());
    return shape;
  }
  static std::vector<int64_t> strides_of(const NpyLayout& layout) {
    const std::vector<int64_t> shape = stored_shape(layout);
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    if (layout.fortran_order) std::reverse(strides.begin(), strides.end());
    return strides;
  }

  InputFile file_;
  std::shared_ptr<char> mapping_;
};

Tensor read_member(ArrayFile& file, const ZipMember& member, Access access) {
  try {
    if (access == Access::Map && !member.deflated) {
      Tensor mapped = file.map(member.data, member.size);
      if (mapped.defined()) return mapped;
    }
    ZipContents contents(file.file(), member);
    Tensor array =
        file.array(member.size, [&](char* to, int64_t count) { contents.read(to, count); });
    contents.finish();
    return array;
  } catch (const Fault& fault) {
    throw Fault(quoted_text(member.name) + ": " + fault.what(), fault.truncated());
  }
}

[[noreturn]] void refuse_name(const std::string& path, const std::string& name,
                              const std::vector<std::string>& present) {
  std::string known;
  for (const std::string& each : present) known += (known.empty() ? "" : ", ") + quoted_text(each);
  throw ValueError(path + ": no array is named " + quoted_text(name) + suggestion(name, present) +
                   "; the file has " + (known.empty() ? "none" : known));
}

NamedTensors read_npz(const std::string& path, const std::vector<std::string>& names,
                      Access access) {
  try {
    ArrayFile file(path);
    NamedTensors arrays;
    std::vector<std::string> present;
    std::vector<const ZipMember*> found;
    const std::vector<ZipMember> members = read_zip(file.file());
    for (const ZipMember& member : members) {
      const size_t ending = member.name.size() - std::min(member.name.size(), kNpyEnding.size());
      if (member.name.substr(ending) != kNpyEnding) continue;
      present.push_back(member.name.substr(0, ending));
      found.push_back(&member);
    }
    for (const std::string& name : names.empty() ? present : names) {
      const auto at = std::find(present.begin(), present.end(), name);
      if (at == present.end()) refuse_name(path, name, present);
      const auto place = static_cast<size_t>(at - present.begin());
      arrays.emplace_back(name, read_member(file, *found[place], access));
    }
    return arrays;
  } catch (const Fault& fault) {
    fault.raise(path + ": " + fault.what());
  }
}

std::string file_header(const Tensor& tensor) {
  const NpyType* const type = find_npy_type(static_cast<tenon_dtype>(tensor.dtype()));
  if (type == nullptr)
    throw TypeError(std::string(".npy files have no ") + dtype_text(tensor.dtype()) +
                    "; convert the tensor to f32 with to(), or write a safetensors file");
  return npy_header_text(*type, tensor.shape().data(), tensor.dim());
}
std::string_view bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.view_record().data),
          static_cast<size_t>(tensor.numel() * element_size(tensor.dtype()))};
}

}  // namespace

Tensor load_npy(const std::string& path) {
  try {
    return ArrayFile(path).read();
  } catch (const Fault& fault) {
    fault.raise(path + ": " + fault.what());
  }
}

Tensor map_npy(const std::string& path) {
  try {
    ArrayFile file(path);
    Tensor mapped = file.map(0, file.file().size());
    return mapped.defined() ? mapped : file.read();
  } catch (const Fault& fault) {
    fault.raise(path + ": " + fault.what());
  }
}

NpyHeader npy_header(const std::string& path) {
  try {
    const ArrayFile file(path);
    NpyLayout layout = file.layout(0, file.file().size());
    return {std::move(layout.shape), static_cast<DType>(layout.dtype)};
  } catch (const Fault& fault) {
    fault.raise(path + ": " + fault.what());
  }
}

void save_npy(const std::string& path, const Tensor& tensor) {
  const std::string header = file_header(tensor);
  const Tensor whole = contiguous_as(tensor, tensor.dtype());
  AtomicFile file(path);
  file.write(header);
  if (whole.numel() > 0) file.write(bytes_of(whole));
  file.commit();
}

NamedTensors load_npz(const std::string& path, const std::vector<std::string>& names) {
  return read_npz(path, names, Access::Read);
}
NamedTensors map_npz(const std::string& path, const std::vector<std::string>& names) {
  return read_npz(path, names, Access::Map);
}

void save_npz(const std::string& path, const NamedTensors& tensors, bool compress) {
  std::unordered_set<std::string_view> seen;
  try {
    ZipWriter writer(compress);
    for (const auto& [name, tensor] : tensors) {
      if (!lib::is_utf8(name))
        throw ValueError(path + ": a tensor's name is not valid UTF-8: " + quoted_text(name));
      if (!seen.insert(name).second)
        throw ValueError(path + ": two tensors have the name " + quoted_text(name));
      const Tensor whole = contiguous_as(tensor, tensor.dtype());
      std::string member = file_header(tensor);
      if (whole.numel() > 0) member += bytes_of(whole);
      writer.add(name + std::string(kNpyEnding), member);
    }
    write_file(path, writer.finish());
  } catch (const Fault& fault) {
    fault.raise(path + ": " + fault.what());
  }
}

}  // namespace state

TENON_NAMESPACE_END

// Array files as tensors: the one array of a .npy file, the named ones of .npz and safetensors.
#include "array_file.hpp"

#include <algorithm>
#include <set>

#include <tenon/runtime.hpp>
#include <tenon/state/atomic_file.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/text.hpp>

#include "file.hpp"
#include "npy_array.hpp"
#include "npy_header.hpp"
#include "zip.hpp"

namespace data {

using tenon::Tensor;

namespace {

constexpr std::string_view kNpyEnding = ".npy";

class FileStream : public ByteStream {
 public:
  explicit FileStream(const File& file) : file_(file) {}
  int64_t size() const override { return file_.size(); }
  void read(char* to, int64_t count) override {
    file_.read(to, at_, count);
    at_ += count;
  }

 private:
  const File& file_;
  int64_t at_ = 0;
};

class MemberStream : public ByteStream {
 public:
  MemberStream(const File& file, const ZipMember& member)
      : contents_(file, member), size_(member.size) {}
  int64_t size() const override { return size_; }
  void read(char* to, int64_t count) override { contents_.read(to, count); }
  void finish() { contents_.finish(); }

 private:
  ZipContents contents_;
  int64_t size_;
};

Tensor read_member(const File& file, const ZipMember& member) {
  try {
    MemberStream stream(file, member);
    Tensor array = read_npy_array(stream);
    stream.finish();
    return array;
  } catch (const Fault& fault) {
    throw Fault(quoted_text(member.name) + ": " + fault.what(), "", fault.truncated());
  }
}

[[noreturn]] void refuse_name(std::string_view path, const std::string& name,
                              const std::vector<std::string>& present) {
  std::string list;
  for (const std::string& each : present) list += (list.empty() ? "" : ", ") + quoted_text(each);
  throw tenon::ValueError(std::string(path) + ": no array is named " + quoted_text(name) +
                          tenon::suggestion(name, present) + "; the file has " +
                          (list.empty() ? "none" : list));
}

void check_path(std::string_view path) {
  if (path.find('\0') != path.npos) throw tenon::IOError("the path holds a NUL byte; remove it");
}

}  // namespace

Tensor read_npy(std::string_view path) {
  const File file(path);
  try {
    FileStream stream(file);
    return read_npy_array(stream);
  } catch (const Fault& fault) {
    file.refuse(fault);
  }
}

Tensor read_npy_shape(std::string_view path) {
  const File file(path);
  try {
    std::string head(static_cast<size_t>(std::min(file.size(), kNpyHead)), '\0');
    file.read(head.data(), 0, static_cast<int64_t>(head.size()));
    const NpyLayout layout = parse_npy(head, file.size());
    return tenon::empty_tensor(
        tenon::IntList(layout.shape.data(), static_cast<int64_t>(layout.shape.size())),
        static_cast<tenon::DType>(layout.dtype));
  } catch (const Fault& fault) {
    file.refuse(fault);
  }
}

NamedArrays read_npz(std::string_view path, const std::vector<std::string>& names) {
  const File file(path);
  try {
    NamedArrays arrays;
    std::vector<std::string> present;
    const std::vector<ZipMember> members = read_zip(file);
    std::vector<const ZipMember*> found;
    for (const ZipMember& member : members) {
      // NumPy takes members of other names for files that are not arrays.
      const size_t ending = member.name.size() - std::min(member.name.size(), kNpyEnding.size());
      if (member.name.substr(ending) != kNpyEnding) continue;
      present.push_back(member.name.substr(0, ending));
      found.push_back(&member);
    }
    const std::vector<std::string>& asked = names.empty() ? present : names;
    for (const std::string& name : asked) {
      const auto at = std::find(present.begin(), present.end(), name);
      if (at == present.end()) refuse_name(path, name, present);
      arrays.emplace_back(name,
                          read_member(file, *found[static_cast<size_t>(at - present.begin())]));
    }
    return arrays;
  } catch (const Fault& fault) {
    file.refuse(fault);
  }
}

NamedArrays read_safetensors(std::string_view path, const std::vector<std::string>& names) {
  check_path(path);
  return tenon::state::load_tensors(std::string(path), names);
}

NamedArrays named_arrays(const std::vector<std::string_view>& names, tenon::TensorList tensors) {
  if (static_cast<int64_t>(names.size()) != tensors.size()) {
    throw tenon::ValueError("there are " + std::to_string(names.size()) + " names for " +
                            std::to_string(tensors.size()) + " tensors");
  }
  NamedArrays arrays;
  std::set<std::string_view> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) throw tenon::ValueError("the name of a tensor is empty");
    if (!seen.insert(names[i]).second)
      throw tenon::ValueError("two tensors have the name " + quoted_text(names[i]));
    arrays.emplace_back(names[i], tensors[static_cast<int64_t>(i)]);
  }
  return arrays;
}

void replace_file(std::string_view path, std::string_view contents) {
  check_path(path);
  tenon::state::write_file(std::string(path), contents);
}

void write_npz(std::string_view path, const NamedArrays& arrays, bool compress) {
  try {
    ZipWriter writer(compress);
    for (const auto& [name, tensor] : arrays)
      writer.add(name + std::string(kNpyEnding), npy_file(tensor));
    replace_file(path, writer.finish());
  } catch (const Fault& fault) {
    throw tenon::ValueError(std::string(path) + ": " + fault.what());
  }
}

void write_safetensors(std::string_view path, const NamedArrays& arrays) {
  check_path(path);
  tenon::state::save_tensors(std::string(path), arrays);
}

}  // namespace data

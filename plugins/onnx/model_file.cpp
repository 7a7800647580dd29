#include "model_file.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <unistd.h>

#include <sys/mman.h>

#include <tenon/error.hpp>

#include "message_reader.hpp"
#include "tensor_data.hpp"

namespace onnx {

namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}
// Without symbolic links; empty where the file is missing.
std::string real_path(const std::string& path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) != nullptr ? buffer : "";
}

}  // namespace

ModelFile::ModelFile(std::string path) : ModelFile(path, tenon::state::map_file(path)) {
  mapped_ = true;
}

ModelFile::ModelFile(std::string path, MappedFile bytes)
    : path_(std::move(path)), file_(std::move(bytes)) {
  try {
    data_ = read_model(file_.view());
  } catch (const tenon::Error& cause) {
    refuse(cause.what());
  }
  if (!data_.has_graph) refuse("this is not an ONNX file: it has no graph");
}

void ModelFile::refuse(const std::string& what) const {
  throw tenon::ValueError(path_ + ": " + what);
}

tenon::Tensor ModelFile::tensor(const TensorData& data) {
  if (!data.is_external) {
    tenon::Tensor made = make_tensor(data, file_, data.raw);
    if (!data.raw.empty() && made.view_record().data == data.raw.data()) views_.push_back(data.raw);
    return made;
  }
  const std::string name(data.name);
  const MappedFile file = open(data.external.location, name);
  const auto size = static_cast<int64_t>(file.size);
  const int64_t offset = data.external.offset;
  const int64_t length = data.external.length < 0 ? size - offset : data.external.length;
  if (offset > size || length > size - offset) {
    const std::string bytes = length < 0 ? "" : std::to_string(length) + " bytes ";
    throw tenon::ValueError("tensor '" + name + "': its data is " + bytes + "from byte " +
                            std::to_string(offset) + " on in '" +
                            std::string(data.external.location) + "', which has " +
                            std::to_string(size) + " bytes");
  }
  return make_tensor(data, file,
                     file.view().substr(static_cast<size_t>(offset), static_cast<size_t>(length)));
}

void ModelFile::release_pages() const {
  if (!mapped_ || file_.size == 0) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  std::vector<std::string_view> views = views_;
  const std::string_view bytes = file_.view();
  views.push_back(bytes.substr(bytes.size()));
  std::sort(views.begin(), views.end(),
            [](std::string_view a, std::string_view b) { return a.data() < b.data(); });
  auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  for (const std::string_view view : views) {
    const auto at = reinterpret_cast<uintptr_t>(view.data());
    const uintptr_t end = at / page * page;
    if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    begin = std::max(begin, (at + view.size() + page - 1) / page * page);
  }
}

// A location is a relative path that stays in the model's folder, also behind symbolic links: a model
// must not read other files of the user.
MappedFile ModelFile::open(std::string_view location, const std::string& tensor) {
  if (const auto known = external_.find(location); known != external_.end()) return known->second;
  const std::string folder = folder_of(path_);
  const std::string path = folder + "/" + std::string(location);
  std::string inside = real_path(folder);
  if (inside != "/") inside += "/";
  const std::string real = real_path(path);
  const std::string what =
      "tensor '" + tensor + "': its data is in '" + std::string(location) + "'";
  if (location.empty() || location.front() == '/' ||
      location.find('\0') != std::string_view::npos ||
      (!real.empty() && real.compare(0, inside.size(), inside) != 0)) {
    throw tenon::ValueError(what + ", which is not in the folder of the model");
  }
  if (real.empty()) throw tenon::IOError(what + ", which is not there: '" + path + "'");
  return external_[std::string(location)] = tenon::state::map_file(real);
}

tenon::Tensor read_tensor_file(const std::string& path) {
  const MappedFile file = tenon::state::map_file(path);
  try {
    const TensorData data = read_tensor(file.view());
    if (data.is_external) throw tenon::ValueError("its data is in another file");
    return make_tensor(data, file, data.raw);
  } catch (const tenon::ValueError& cause) {
    throw tenon::ValueError(path + ": " + cause.what());
  }
}

}  // namespace onnx

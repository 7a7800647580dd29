// An ONNX file in memory, and the files beside it that its tensors are in.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/state/mapped_file.hpp>
#include <tenon/tensor.hpp>

#include "messages.hpp"

namespace onnx {

using tenon::state::MappedFile;

class ModelFile {
 public:
  // IOError for a file that cannot be read, ValueError for one that is not of the format; both name it.
  explicit ModelFile(std::string path);
  // A model in memory; its other files are those beside the path.
  ModelFile(std::string path, MappedFile bytes);

  const std::string& path() const { return path_; }
  const ModelData& data() const { return data_; }
  std::string_view bytes() const { return file_.view(); }
  // The tensor: a view of the file where the elements are aligned there, else a copy. Writing to it does
  // not reach the file. ValueError names the tensor, and file and place of the data.
  tenon::Tensor tensor(const TensorData& data);
  // Returns pages of the file to the system that no such view is in; to read them again maps them again. For a
  // model that is built: most weights of many files are copies, since they are not aligned there.
  void release_pages() const;

 private:
  MappedFile open(std::string_view location, const std::string& tensor);
  [[noreturn]] void refuse(const std::string& what) const;

  std::string path_;
  bool mapped_ = false;
  std::vector<std::string_view> views_;  // bytes of file_ that tensors are views of
  MappedFile file_;
  ModelData data_;
  std::map<std::string, MappedFile, std::less<>> external_;
};

// The tensor of a file that has one TensorProto. IOError and ValueError name the file.
tenon::Tensor read_tensor_file(const std::string& path);

}  // namespace onnx

// Constants of saved lists: which tensors a file has, and where in them the constants are.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/json.hpp>
#include <tenon/tensor.hpp>

TENON_NAMESPACE_BEGIN

namespace prepared {

// The dtype of a name, "f32". ValueError for another text.
DType read_dtype(const Json& document);
// {"dtype": "f32", "shape": [2, 3]}, with "strides" where it is not contiguous.
JsonObject layout_document(const Tensor& tensor);
// A tensor of the layout, without data. ValueError for another document.
Tensor read_layout(const Json& document);

// Bytes at whose multiples constants begin, as tensors in memory do.
inline constexpr int64_t constant_alignment = 64;

// Collects constants. Each is in a tensor of one dimension, filled up to whole 64 bytes, so that all begin at
// such a place of the file; constants in the same memory are in one.
class ConstantStore {
 public:
  // The document by which StoredConstants finds it. `name` is that of the tensor in the file where it is free.
  Json add(const Tensor& tensor, const std::string& name);
  const std::vector<std::pair<std::string, Tensor>>& tensors() const { return tensors_; }

 private:
  std::string add_memory(const Tensor& tensor, int64_t low, int64_t count, const std::string& name);

  std::vector<std::pair<std::string, Tensor>> tensors_;
  std::map<std::tuple<const void*, int64_t, DType>, std::string> known_;
  std::set<std::string> names_;
  std::vector<Tensor> kept_;  // whose memory `known_` has
};

class StoredConstants {
 public:
  explicit StoredConstants(const std::vector<std::pair<std::string, Tensor>>& tensors)
      : tensors_(tensors.begin(), tensors.end()) {}
  // ValueError where the document is not one of a constant, or the file does not have it.
  Tensor find(const Json& document) const;

 private:
  std::map<std::string, Tensor, std::less<>> tensors_;
};

}  // namespace prepared

TENON_NAMESPACE_END

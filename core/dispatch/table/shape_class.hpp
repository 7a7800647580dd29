// Classes of operands by dtype and sizes, as configs write them: "f32[64..127, 784]".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tenon::core {

// DTYPE[SIZE, SIZE, ...], with a size for each dimension; without a dtype any will do. A size is a
// number, a range with both ends in it (64..127), one with an end (64.., ..127), or any (*).
class ShapeClass {
 public:
  struct Sizes {
    int64_t low = 0, high = INT64_MAX;
  };
  // Throws ValueError, which says what is expected.
  explicit ShapeClass(std::string_view text);

  bool contains(const Tensor& tensor) const noexcept;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  tenon_dtype dtype_ = TENON_DTYPE_NONE;
  std::vector<Sizes> sizes_;
};

}  // namespace tenon::core

// data.read_npy: a tensor from a .npy file.
#include <algorithm>
#include <array>

#include <tenon/npy.hpp>

#include "file.hpp"

namespace {

using tenon::Tensor;

struct ReadNpy {
  static constexpr auto schema = "data.read_npy(str path) -> Tensor";
  static constexpr auto doc =
      "The array of a .npy file: bool, integers, f16, f32 or f64, little-endian, of any order and "
      "format version.";

  static Tensor forward(std::string_view path) {
    const data::File file(path);
    std::string head(static_cast<size_t>(std::min(file.size(), tenon::data::kNpyHead)), '\0');
    file.read(head.data(), 0, static_cast<int64_t>(head.size()));
    try {
      return read(file, tenon::data::parse_npy(head, file.size()));
    } catch (const tenon::data::Fault& fault) {
      file.refuse(fault);
    }
  }

 private:
  static Tensor read(const data::File& file, const tenon::data::NpyLayout& layout) {
    const auto rank = static_cast<int64_t>(layout.shape.size());
    std::vector<int64_t> stored = layout.shape;
    if (layout.fortran_order) std::reverse(stored.begin(), stored.end());
    Tensor result = tenon::empty_tensor(tenon::IntList(stored.data(), rank),
                                        static_cast<tenon::DType>(layout.dtype));
    auto* bytes = static_cast<char*>(result.view_record().data);
    if (layout.bytes > 0) file.read(bytes, layout.offset, layout.bytes);
    if (layout.dtype == TENON_BOOL) {
      for (int64_t i = 0; i < layout.bytes; ++i) bytes[i] = bytes[i] != 0;
    }
    if (!layout.fortran_order || rank < 2) return result;
    std::vector<int64_t> strides(result.strides().begin(), result.strides().end());
    std::reverse(strides.begin(), strides.end());
    const Tensor transposed = tenon::alias_tensor(result, tenon::IntList(layout.shape.data(), rank),
                                                  tenon::IntList(strides.data(), rank), 0);
    return tenon::contiguous_as(transposed, transposed.dtype());
  }
};

}  // namespace
TENON_OP(ReadNpy)

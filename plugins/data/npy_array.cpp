// Converts between the bytes of .npy files and tensors.
#include "npy_array.hpp"

#include <algorithm>
#include <cstring>

#include "npy_header.hpp"

namespace data {

using tenon::Tensor;

namespace {

const NpyType& type_of(tenon::DType dtype) {
  if (const auto* type = find_npy_type(static_cast<tenon_dtype>(dtype))) return *type;
  throw tenon::TypeError(std::string(".npy files have no ") + dtype_text(dtype) +
                         "; convert the tensor to f32 with to(), or write a safetensors file");
}

// A tensor of the sizes, from the bytes as Fortran orders them.
Tensor row_major(const Tensor& stored, const std::vector<int64_t>& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<int64_t> strides(stored.strides().begin(), stored.strides().end());
  std::reverse(strides.begin(), strides.end());
  const Tensor transposed = tenon::alias_tensor(stored, tenon::IntList(shape.data(), rank),
                                                tenon::IntList(strides.data(), rank), 0);
  return tenon::contiguous_as(transposed, transposed.dtype());
}

}  // namespace

Tensor read_npy_array(ByteStream& stream) {
  std::string head(static_cast<size_t>(std::min(stream.size(), kNpyHead)), '\0');
  const auto head_size = static_cast<int64_t>(head.size());
  stream.read(head.data(), head_size);
  const NpyLayout layout = parse_npy(head, stream.size());

  const auto rank = static_cast<int64_t>(layout.shape.size());
  std::vector<int64_t> stored = layout.shape;
  if (layout.fortran_order) std::reverse(stored.begin(), stored.end());
  Tensor result = tenon::empty_tensor(tenon::IntList(stored.data(), rank),
                                      static_cast<tenon::DType>(layout.dtype));
  auto* bytes = static_cast<char*>(result.view_record().data);
  const int64_t present = std::min(head_size - layout.offset, layout.bytes);
  if (present > 0) std::memcpy(bytes, head.data() + layout.offset, static_cast<size_t>(present));
  if (layout.bytes > present) stream.read(bytes + present, layout.bytes - present);
  if (layout.dtype == TENON_BOOL) {
    for (int64_t i = 0; i < layout.bytes; ++i) bytes[i] = bytes[i] != 0;
  }
  return layout.fortran_order && rank > 1 ? row_major(result, layout.shape) : result;
}

std::string npy_file(const Tensor& input) {
  const Tensor whole = tenon::contiguous_as(input, input.dtype());
  std::string file = npy_header(type_of(input.dtype()), input.shape().data(), input.dim());
  if (whole.numel() > 0) {
    file.append(static_cast<const char*>(whole.view_record().data),
                static_cast<size_t>(whole.numel() * tenon::element_size(whole.dtype())));
  }
  return file;
}

}  // namespace data

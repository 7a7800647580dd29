// data.write_npy: a tensor into a .npy file.
#include <string>

#include <tenon/npy.hpp>
#include <tenon/plugin.hpp>

namespace {

using tenon::Tensor;

const tenon::data::NpyType& type_of(tenon::DType dtype) {
  if (const auto* type = tenon::data::find_npy_type(static_cast<tenon_dtype>(dtype))) return *type;
  throw tenon::TypeError(std::string("write_npy(): .npy files have no ") + dtype_text(dtype) +
                         "; convert the tensor to f32 with to(), or write a safetensors file");
}

struct WriteNpy {
  static constexpr auto schema = "data.write_npy(str path, Tensor input) -> ()";
  static constexpr auto doc =
      "Writes a tensor as a .npy file; a file that is there is replaced as a whole or stays.";
  static constexpr bool any_dtype = true;

  static void forward(std::string_view path, const Tensor& input) {
    const Tensor whole = tenon::contiguous_as(input, input.dtype());
    std::string file =
        tenon::data::npy_header(type_of(input.dtype()), input.shape().data(), input.dim());
    if (whole.numel() > 0) {
      file.append(static_cast<const char*>(whole.view_record().data),
                  static_cast<size_t>(whole.numel() * tenon::element_size(whole.dtype())));
    }
    if (path.find('\0') != path.npos)
      throw tenon::IOError("write_npy(): the path holds a NUL byte; remove it");
    tenon::detail::check(tenon::host().file_write, std::string(path).c_str(), file.data(),
                         static_cast<int64_t>(file.size()));
  }
};

}  // namespace
TENON_OP(WriteNpy)

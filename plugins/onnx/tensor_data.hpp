// Tensors of messages.
#pragma once

#include "model_file.hpp"

namespace onnx {

// The dtype of TensorProto.DataType; `none` where Tenon has none.
tenon::DType dtype_of_type(int64_t type);
// int4 and uint4, whose tensors are of i8 and u8: ops that give a result of the type of an input cannot take them.
bool is_integer_of_4_bits(int64_t type);
int64_t type_of_dtype(tenon::DType dtype);
// "float8e4m3fn", for messages.
std::string type_text(int64_t type);

// Makes a tensor of its message. `bytes` are its elements, where they are raw data of `file`. ValueError without
// the file's name.
tenon::Tensor make_tensor(const TensorData& data, const MappedFile& file, std::string_view bytes);

}  // namespace onnx

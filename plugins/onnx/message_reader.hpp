// Reads messages from the bytes of a file.
#pragma once

#include <string>

#include "messages.hpp"

namespace onnx {

// The text of a TensorProto, ModelProto, or SequenceProto of tensors. What is read refers to `bytes`. ValueError
// for text that is not of the format, without the file's name.
ModelData read_model(std::string_view bytes);
TensorData read_tensor(std::string_view bytes);

// "ai.onnx" and "" are one domain.
std::string_view domain_of(std::string_view domain);

}  // namespace onnx

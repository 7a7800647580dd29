// Messages of the format, written with protozero.
#include <protozero/pbf_writer.hpp>

#include <tenon/error.hpp>
#include <tenon/state/atomic_file.hpp>

#include "export/graph.hpp"
#include "messages.hpp"
#include "tensor_data.hpp"

namespace onnx {

namespace {

using Writer = protozero::pbf_writer;
using tenon::Tensor;

int64_t type_code(tenon::DType dtype) {
  const int64_t type = type_of_dtype(dtype);
  if (type != 0 && dtype != tenon::DType::f4_e2m1) return type;  // two to a byte
  throw tenon::NotImplementedError(std::string("the format has no tensors of dtype ") +
                                   tenon::dtype_text(dtype));
}

// Elements in a file of data begin at pages, so that they can be mapped; smaller ones stay in the message.
constexpr int64_t kPageBytes = 4096, kSmallBytes = 1024;

int64_t bytes_of(const Tensor& tensor) {
  return tensor.numel() * tenon::element_size(tensor.dtype());
}
// The fields of a TensorProto but its elements.
void write_head(std::string& bytes, const std::string& name, const Tensor& tensor) {
  Writer writer(bytes);
  for (const int64_t dim : tensor.shape()) writer.add_int64(1, dim);
  writer.add_int32(2, static_cast<int32_t>(type_code(tensor.dtype())));
  if (!name.empty()) writer.add_string(8, name);
}

// One of the fields of an AttributeProto, and its kind.
struct AttributeWriter {
  Writer& writer;

  AttributeKind operator()(int64_t number) const {
    writer.add_int64(3, number);
    return AttributeKind::integer;
  }
  AttributeKind operator()(double number) const {
    writer.add_float(2, static_cast<float>(number));
    return AttributeKind::number;
  }
  AttributeKind operator()(const std::string& text) const {
    writer.add_bytes(4, text);
    return AttributeKind::text;
  }
  AttributeKind operator()(const std::vector<int64_t>& list) const {
    for (const int64_t number : list) writer.add_int64(8, number);
    return AttributeKind::integers;
  }
  AttributeKind operator()(const std::vector<double>& list) const {
    for (const double number : list) writer.add_float(7, static_cast<float>(number));
    return AttributeKind::numbers;
  }
  AttributeKind operator()(const std::vector<std::string>& list) const {
    for (const std::string& text : list) writer.add_bytes(9, text);
    return AttributeKind::texts;
  }
  AttributeKind operator()(const Tensor& tensor) const {
    writer.add_message(5, tensor_bytes("", tensor));
    return AttributeKind::tensor;
  }
};

std::string attribute_bytes(const WrittenAttribute& attribute) {
  std::string bytes;
  Writer writer(bytes);
  writer.add_string(1, attribute.name);
  const AttributeKind kind = std::visit(AttributeWriter{writer}, attribute.value);
  writer.add_int32(20, static_cast<int32_t>(kind));
  return bytes;
}

}  // namespace

Message& Message::text(uint32_t field, std::string_view bytes) {
  Writer(bytes_).add_bytes(field, bytes.data(), bytes.size());
  return *this;
}
Message& Message::number(uint32_t field, int64_t number) {
  Writer(bytes_).add_int64(field, number);
  return *this;
}

std::string node_bytes(const WrittenNode& node) {
  std::string bytes;
  Writer writer(bytes);
  for (const std::string& input : node.inputs) writer.add_string(1, input);
  for (const std::string& output : node.outputs) writer.add_string(2, output);
  writer.add_string(3, node.name);
  writer.add_string(4, node.type);
  for (const WrittenAttribute& attribute : node.attributes)
    writer.add_message(5, attribute_bytes(attribute));
  if (!node.domain.empty()) writer.add_string(7, node.domain);
  return bytes;
}

std::string value_bytes(const WrittenValue& value) {
  Message shape;
  for (const WrittenDimension& dimension : value.shape) {
    Message one;
    if (dimension.name.empty())
      one.number(1, dimension.size);
    else
      one.text(2, dimension.name);
    shape.text(1, one.bytes());
  }
  const Message tensor = Message().number(1, type_code(value.dtype)).text(2, shape.bytes());
  return Message().text(1, value.name).text(2, Message().text(1, tensor.bytes()).bytes()).bytes();
}

std::string tensor_bytes(const std::string& name, const Tensor& tensor) {
  const Tensor whole = tenon::contiguous_as(tensor, tensor.dtype());
  const auto size = static_cast<size_t>(bytes_of(whole));
  std::string bytes;
  bytes.reserve(size + name.size() + 64);
  write_head(bytes, name, whole);
  Writer(bytes).add_bytes(9, static_cast<const char*>(whole.view_record().data), size);
  return bytes;
}

Initializers::Initializers(std::string data_path) : path_(std::move(data_path)) {}

std::string Initializers::bytes(const std::string& name, const Tensor& tensor) {
  const int64_t size = bytes_of(tensor);
  if (!has_file() || size < kSmallBytes) return tensor_bytes(name, tensor);
  size_ = (size_ + kPageBytes - 1) / kPageBytes * kPageBytes;
  const std::pair<const char*, std::string> entries[] = {
      {"location", path_.substr(path_.rfind('/') + 1)},
      {"offset", std::to_string(size_)},
      {"length", std::to_string(size)}};
  std::string bytes;
  write_head(bytes, name, tensor);
  for (const auto& [key, value] : entries)
    Writer(bytes).add_message(13, Message().text(1, key).text(2, value).bytes());
  Writer(bytes).add_int32(14, 1);
  kept_.emplace_back(size_, tensor);
  size_ += size;
  return bytes;
}

void Initializers::write() const {
  if (!has_file()) return;
  tenon::state::AtomicFile file(path_);
  const std::string zeros(static_cast<size_t>(kPageBytes), '\0');
  int64_t at = 0;
  for (const auto& [offset, tensor] : kept_) {
    file.write(zeros.data(), offset - at);
    const Tensor whole = tenon::contiguous_as(tensor, tensor.dtype());
    file.write(whole.view_record().data, bytes_of(whole));
    at = offset + bytes_of(whole);
  }
  file.commit();
}

}  // namespace onnx

// A graph that is written: its nodes and attributes, by the names of values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <tenon/tensor.hpp>

namespace onnx {

using AttributeValue = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                                    std::vector<double>, std::vector<std::string>, tenon::Tensor>;

struct WrittenAttribute {
  std::string name;
  AttributeValue value;
};

struct WrittenNode {
  std::string name, type, domain;
  std::vector<std::string> inputs, outputs;  // empty: an optional one that is absent
  std::vector<WrittenAttribute> attributes;
};

// An input or output. A dimension has a name where its size is known in a run only.
struct WrittenDimension {
  int64_t size = 0;
  std::string name;
};
struct WrittenValue {
  std::string name;
  tenon::DType dtype = tenon::f32;
  std::vector<WrittenDimension> shape;
};

// Messages of the format as bytes. NotImplementedError for a tensor of a dtype that the format lacks.
std::string node_bytes(const WrittenNode& node);
std::string value_bytes(const WrittenValue& value);
std::string tensor_bytes(const std::string& name, const tenon::Tensor& tensor);

// Initializers of a written model: in its one message, which has at most 2 GiB, or with their elements in a file
// beside it.
class Initializers {
 public:
  // The largest message of the format.
  static constexpr int64_t kMostBytes = (int64_t{1} << 31) - 1;

  Initializers() = default;  // all in the message
  explicit Initializers(std::string data_path);

  bool has_file() const { return !path_.empty(); }
  // A TensorProto. The tensor is kept until write(), where its elements are for the file.
  std::string bytes(const std::string& name, const tenon::Tensor& tensor);
  // Writes the file, if there is one. IOError.
  void write() const;

 private:
  std::string path_;
  std::vector<std::pair<int64_t, tenon::Tensor>> kept_;  // with their places in the file
  int64_t size_ = 0;
};

// A message of a file: begun, then added to field by field.
class Message {
 public:
  Message& text(uint32_t field, std::string_view bytes);
  Message& number(uint32_t field, int64_t number);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace onnx

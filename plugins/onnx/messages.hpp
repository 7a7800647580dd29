// The messages of an ONNX file that Tenon reads, as views of the file's bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace onnx {

// The place of a tensor's bytes in another file, relative to the model's folder.
struct ExternalData {
  std::string_view location;
  int64_t offset = 0;
  int64_t length = -1;  // -1: to the end of the file
};

// A TensorProto. Its elements are in one of the lists; of packed lists only the bytes are known.
struct TensorData {
  std::string_view name;
  std::vector<int64_t> dims;
  int64_t type = 0;  // TensorProto.DataType
  std::string_view raw;
  bool has_raw = false;
  std::string_view packed;        // the packed list of numbers
  uint32_t list = 0;              // its field
  std::vector<uint64_t> numbers;  // numbers that were not packed, as their bits
  std::vector<std::string_view> strings;
  bool is_external = false;
  ExternalData external;
};

struct Graph;
struct SparseTensor;

// An AttributeProto. Kinds are those of AttributeProto.AttributeType.
enum class AttributeKind : uint8_t {
  undefined = 0,
  number = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  numbers = 6,
  integers = 7,
  texts = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14
};
struct Attribute {
  std::string_view name;
  std::string_view reference;  // the attribute of the function around it that it is
  AttributeKind kind = AttributeKind::undefined;
  double number = 0;
  int64_t integer = 0;
  std::string_view text;
  std::vector<double> numbers;
  std::vector<int64_t> integers;
  std::vector<std::string_view> texts;
  std::shared_ptr<const TensorData> tensor;
  std::shared_ptr<const Graph> graph;
};

struct Node {
  std::string_view name;
  std::string_view type;  // the operator
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;  // empty: an optional one that is absent
  std::vector<std::string_view> outputs;
  std::vector<Attribute> attributes;

  const Attribute* attribute(std::string_view key) const;
};

// The type of an input or output. A dimension is -1 where it is not a number.
struct ValueInfo {
  enum class Kind : uint8_t { unknown, tensor, sequence, optional, other };
  std::string_view name;
  Kind kind = Kind::unknown;
  bool of_sequence = false;  // an optional sequence
  int64_t element = 0;       // TensorProto.DataType of a tensor
  bool has_shape = false;
  std::vector<int64_t> shape;
  std::vector<std::string_view> symbols;  // names of the open dimensions of `shape`
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<TensorData> initializers;
  bool has_sparse_initializers = false;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
};

// A version of a domain's operators; the domain of ONNX itself is "".
struct OperatorSet {
  std::string_view domain;
  int64_t version = 0;
};

struct Function {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> attribute_names;
  std::vector<Attribute> attribute_defaults;
  std::vector<Node> nodes;
  std::vector<OperatorSet> operator_sets;
};

struct ModelData {
  int64_t ir_version = 0;
  std::vector<OperatorSet> operator_sets;
  std::string_view producer;
  Graph graph;
  bool has_graph = false;
  std::vector<Function> functions;
};

}  // namespace onnx

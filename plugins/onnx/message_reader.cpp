#include "message_reader.hpp"

#include <cstring>
#include <utility>

#include <protozero/pbf_message.hpp>

#include <tenon/error.hpp>

namespace onnx {

namespace {

using Reader = protozero::pbf_reader;
using Wire = protozero::pbf_wire_type;

// Graphs that are inside of each other, in attributes of nodes.
constexpr int kMostDepth = 64;
// Memory that the messages of a file may take: as much as two files, and this. A file of empty messages would
// take fifty.
constexpr int64_t kSpareBytes = int64_t{16} << 20;

[[noreturn]] void refuse(const std::string& what) {
  throw tenon::ValueError("this is not an ONNX file: " + what);
}

// The rest of a file's limits where a message is read.
class Limits {
 public:
  explicit Limits(int64_t& bytes) : bytes_(&bytes) {}
  Limits deeper() const {
    Limits inner = *this;
    if (++inner.depth_ > kMostDepth)
      refuse("its graphs are nested deeper than " + std::to_string(kMostDepth));
    return inner;
  }
  void take(size_t bytes) const {
    *bytes_ -= static_cast<int64_t>(bytes);
    if (*bytes_ < 0) refuse("its messages take more memory than the file is large");
  }
  // Adds to a list of messages.
  template <class Message>
  void add(std::vector<Message>& list, Message message) const {
    // A vector grows by doubling.
    take(2 * sizeof(Message));
    list.push_back(std::move(message));
  }

 private:
  int64_t* bytes_;
  int depth_ = 0;
};

std::string_view text_of(Reader& reader, const char* what) {
  if (!reader.has_wire_type(Wire::length_delimited))
    refuse(std::string(what) + " is not a text or message");
  const protozero::data_view view = reader.get_view();
  return {view.data(), view.size()};
}
Reader message_of(Reader& reader, const char* what) {
  const std::string_view bytes = text_of(reader, what);
  return Reader(bytes.data(), bytes.size());
}
int64_t integer_of(Reader& reader, const char* what) {
  if (!reader.has_wire_type(Wire::varint)) refuse(std::string(what) + " is not an integer");
  return reader.get_int64();
}

// A repeated field of integers, of which one message has all or one.
void add_integers(Reader& reader, std::vector<int64_t>& list, const char* what,
                  const Limits& limits) {
  if (reader.has_wire_type(Wire::varint)) {
    limits.add(list, reader.get_int64());
    return;
  }
  if (!reader.has_wire_type(Wire::length_delimited))
    refuse(std::string(what) + " are not integers");
  for (const int64_t one : reader.get_packed_int64()) limits.add(list, one);
}
void add_floats(Reader& reader, std::vector<double>& list, const char* what, const Limits& limits) {
  if (reader.has_wire_type(Wire::fixed32)) {
    limits.add(list, static_cast<double>(reader.get_float()));
    return;
  }
  if (!reader.has_wire_type(Wire::length_delimited)) refuse(std::string(what) + " are not numbers");
  for (const float one : reader.get_packed_float()) limits.add(list, static_cast<double>(one));
}

// ---- tensors ----

void read_external(Reader entry, ExternalData& external) {
  std::string_view key, value;
  while (entry.next()) {
    if (entry.tag() == 1)
      key = text_of(entry, "a key of external data");
    else if (entry.tag() == 2)
      value = text_of(entry, "external data");
    else
      entry.skip();
  }
  if (key == "location") external.location = value;
  if (key != "offset" && key != "length") return;
  int64_t number = 0;
  for (const char c : value) {
    if (c < '0' || c > '9' || number > (INT64_MAX - 9) / 10)
      refuse("the " + std::string(key) + " of external data is not a number: '" +
             std::string(value.substr(0, 40)) + "'");
    number = number * 10 + (c - '0');
  }
  if (value.empty()) return;
  (key == "offset" ? external.offset : external.length) = number;
}

// Fields of numbers: 4 float, 5 int32, 7 int64, 10 double, 11 uint64.
void read_numbers(Reader& reader, TensorData& tensor, const Limits& limits) {
  const uint32_t field = reader.tag();
  if (tensor.list != 0 && tensor.list != field) refuse("a tensor has numbers of two kinds");
  tensor.list = field;
  if (reader.has_wire_type(Wire::length_delimited)) {
    if (!tensor.packed.empty() || !tensor.numbers.empty()) refuse("a tensor has two lists");
    tensor.packed = text_of(reader, "a list of numbers");
    return;
  }
  const Wire wire = field == 4 ? Wire::fixed32 : field == 10 ? Wire::fixed64 : Wire::varint;
  if (!reader.has_wire_type(wire)) refuse("a tensor's numbers are of another kind");
  if (!tensor.packed.empty()) refuse("a tensor has two lists");
  limits.add(tensor.numbers, wire == Wire::fixed32   ? reader.get_fixed32()
                             : wire == Wire::fixed64 ? reader.get_fixed64()
                                                     : reader.get_uint64());
}

TensorData read_tensor(Reader reader, const Limits& limits) {
  TensorData tensor;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        add_integers(reader, tensor.dims, "dimensions of a tensor", limits);
        break;
      case 2:
        tensor.type = integer_of(reader, "the type of a tensor");
        break;
      case 4:
      case 5:
      case 7:
      case 10:
      case 11:
        read_numbers(reader, tensor, limits);
        break;
      case 6:
        limits.add(tensor.strings, text_of(reader, "a text of a tensor"));
        break;
      case 8:
        tensor.name = text_of(reader, "the name of a tensor");
        break;
      case 9:
        tensor.raw = text_of(reader, "raw data");
        tensor.has_raw = true;
        break;
      case 13:
        read_external(message_of(reader, "external data"), tensor.external);
        break;
      case 14:
        tensor.is_external = integer_of(reader, "the location of data") == 1;
        break;
      default:
        reader.skip();
    }
  }
  return tensor;
}

// ---- nodes ----

template <class Message>
std::shared_ptr<const Message> shared(const Limits& limits, Message message) {
  limits.take(sizeof(Message));
  return std::make_shared<const Message>(std::move(message));
}

Graph read_graph(Reader reader, const Limits& limits);

Attribute read_attribute(Reader reader, const Limits& limits) {
  Attribute attribute;
  int64_t type = 0;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        attribute.name = text_of(reader, "the name of an attribute");
        break;
      case 2:
        if (!reader.has_wire_type(Wire::fixed32)) refuse("an attribute is not a float");
        attribute.number = reader.get_float();
        break;
      case 3:
        attribute.integer = integer_of(reader, "an attribute");
        break;
      case 4:
        attribute.text = text_of(reader, "an attribute");
        break;
      case 5:
        attribute.tensor = shared(limits, read_tensor(message_of(reader, "a tensor"), limits));
        break;
      case 6:
        attribute.graph =
            shared(limits, read_graph(message_of(reader, "a graph"), limits.deeper()));
        break;
      case 7:
        add_floats(reader, attribute.numbers, "numbers of an attribute", limits);
        break;
      case 8:
        add_integers(reader, attribute.integers, "integers of an attribute", limits);
        break;
      case 9:
        limits.add(attribute.texts, text_of(reader, "a text of an attribute"));
        break;
      case 20:
        type = integer_of(reader, "the type of an attribute");
        break;
      case 21:
        attribute.reference = text_of(reader, "the name of a function's attribute");
        break;
      default:
        reader.skip();
    }
  }
  if (type < 0 || type > static_cast<int64_t>(AttributeKind::types))
    refuse("the type " + std::to_string(type) + " of the attribute '" +
           std::string(attribute.name) + "' is not known");
  attribute.kind = static_cast<AttributeKind>(type);
  if (attribute.kind == AttributeKind::tensor && !attribute.tensor)
    attribute.tensor = std::make_shared<TensorData>();
  if (attribute.kind == AttributeKind::graph && !attribute.graph)
    attribute.graph = std::make_shared<Graph>();
  return attribute;
}

Node read_node(Reader reader, const Limits& limits) {
  Node node;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        limits.add(node.inputs, text_of(reader, "an input of a node"));
        break;
      case 2:
        limits.add(node.outputs, text_of(reader, "an output of a node"));
        break;
      case 3:
        node.name = text_of(reader, "the name of a node");
        break;
      case 4:
        node.type = text_of(reader, "the operator of a node");
        break;
      case 5:
        limits.add(node.attributes, read_attribute(message_of(reader, "an attribute"), limits));
        break;
      case 7:
        node.domain = domain_of(text_of(reader, "the domain of a node"));
        break;
      case 8:
        node.overload = text_of(reader, "the overload of a node");
        break;
      default:
        reader.skip();
    }
  }
  return node;
}

// ---- types ----

void read_shape(Reader reader, ValueInfo& info, const Limits& limits) {
  info.has_shape = true;
  while (reader.next()) {
    if (reader.tag() != 1) {
      reader.skip();
      continue;
    }
    Reader dimension = message_of(reader, "a dimension");
    int64_t size = -1;
    std::string_view symbol;
    while (dimension.next()) {
      if (dimension.tag() == 1)
        size = integer_of(dimension, "a dimension");
      else if (dimension.tag() == 2)
        symbol = text_of(dimension, "the symbol of a dimension");
      else
        dimension.skip();
    }
    limits.add(info.shape, size);
    info.symbols.push_back(symbol);
  }
}

// An optional's type has the type of its value, of which the kind alone is kept.
void read_optional(Reader reader, ValueInfo& info) {
  info.kind = ValueInfo::Kind::optional;
  while (reader.next()) {
    if (reader.tag() != 1) {
      reader.skip();
      continue;
    }
    Reader type = message_of(reader, "a type");
    while (type.next()) {
      info.of_sequence = info.of_sequence || type.tag() == 4;
      type.skip();
    }
  }
}

void read_type(Reader reader, ValueInfo& info, const Limits& limits) {
  while (reader.next()) {
    switch (reader.tag()) {
      case 1: {
        info.kind = ValueInfo::Kind::tensor;
        Reader tensor = message_of(reader, "a type");
        while (tensor.next()) {
          if (tensor.tag() == 1)
            info.element = integer_of(tensor, "the type of elements");
          else if (tensor.tag() == 2)
            read_shape(message_of(tensor, "a shape"), info, limits);
          else
            tensor.skip();
        }
        break;
      }
      case 4:
        info.kind = ValueInfo::Kind::sequence;
        reader.skip();
        break;
      case 9:
        read_optional(message_of(reader, "a type"), info);
        break;
      case 5:
      case 8:
        info.kind = ValueInfo::Kind::other;
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }
}

ValueInfo read_value_info(Reader reader, const Limits& limits) {
  ValueInfo info;
  while (reader.next()) {
    if (reader.tag() == 1)
      info.name = text_of(reader, "the name of a value");
    else if (reader.tag() == 2)
      read_type(message_of(reader, "a type"), info, limits);
    else
      reader.skip();
  }
  return info;
}

// ---- graphs ----

Graph read_graph(Reader reader, const Limits& limits) {
  Graph graph;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        limits.add(graph.nodes, read_node(message_of(reader, "a node"), limits));
        break;
      case 2:
        graph.name = text_of(reader, "the name of a graph");
        break;
      case 5:
        limits.add(graph.initializers, read_tensor(message_of(reader, "an initializer"), limits));
        break;
      case 11:
        limits.add(graph.inputs, read_value_info(message_of(reader, "an input"), limits));
        break;
      case 12:
        limits.add(graph.outputs, read_value_info(message_of(reader, "an output"), limits));
        break;
      case 15:
        graph.has_sparse_initializers = true;
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }
  return graph;
}

OperatorSet read_operator_set(Reader reader) {
  OperatorSet set;
  while (reader.next()) {
    if (reader.tag() == 1)
      set.domain = domain_of(text_of(reader, "a domain"));
    else if (reader.tag() == 2)
      set.version = integer_of(reader, "the version of a domain");
    else
      reader.skip();
  }
  return set;
}

Function read_function(Reader reader, const Limits& limits) {
  Function function;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        function.name = text_of(reader, "the name of a function");
        break;
      case 4:
        limits.add(function.inputs, text_of(reader, "an input of a function"));
        break;
      case 5:
        limits.add(function.outputs, text_of(reader, "an output of a function"));
        break;
      case 6:
        limits.add(function.attribute_names, text_of(reader, "an attribute of a function"));
        break;
      case 7:
        limits.add(function.nodes, read_node(message_of(reader, "a node"), limits));
        break;
      case 9:
        limits.add(function.operator_sets, read_operator_set(message_of(reader, "a version")));
        break;
      case 10:
        function.domain = domain_of(text_of(reader, "the domain of a function"));
        break;
      case 11:
        limits.add(function.attribute_defaults,
                   read_attribute(message_of(reader, "an attribute"), limits));
        break;
      case 13:
        function.overload = text_of(reader, "the overload of a function");
        break;
      default:
        reader.skip();
    }
  }
  return function;
}

ModelData read_model(Reader reader, const Limits& limits) {
  ModelData model;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        model.ir_version = integer_of(reader, "the version of the format");
        break;
      case 2:
        model.producer = text_of(reader, "the producer");
        break;
      case 7:
        model.graph = read_graph(message_of(reader, "the graph"), limits);
        model.has_graph = true;
        break;
      case 8:
        limits.add(model.operator_sets, read_operator_set(message_of(reader, "a version")));
        break;
      case 25:
        limits.add(model.functions, read_function(message_of(reader, "a function"), limits));
        break;
      default:
        reader.skip();
    }
  }
  return model;
}

// Reads a message; what protozero finds wrong becomes a ValueError.
template <class Result>
Result read_bytes(std::string_view bytes, Result (*read)(Reader, const Limits&)) {
  int64_t left = kSpareBytes + 2 * static_cast<int64_t>(bytes.size());
  try {
    return read(Reader(bytes.data(), bytes.size()), Limits(left));
  } catch (const protozero::end_of_buffer_exception&) {
    refuse("it ends early, or a length in it is too large");
  } catch (const protozero::exception& cause) {
    refuse(cause.what());
  }
}

}  // namespace

const Attribute* Node::attribute(std::string_view key) const {
  for (const Attribute& one : attributes) {
    if (one.name == key) return &one;
  }
  return nullptr;
}

std::string_view domain_of(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

ModelData read_model(std::string_view bytes) { return read_bytes<ModelData>(bytes, read_model); }
TensorData read_tensor(std::string_view bytes) {
  return read_bytes<TensorData>(bytes, read_tensor);
}

}  // namespace onnx

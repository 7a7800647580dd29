#include "export/source_graph.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include <protozero/pbf_message.hpp>
#include <protozero/pbf_writer.hpp>

#include <tenon/error.hpp>

#include "builder.hpp"
#include "export/graph.hpp"
#include "export/versions.hpp"
#include "message_reader.hpp"
#include "tensor_data.hpp"
#include "weight.hpp"

namespace onnx {

using tenon::Tensor;

namespace {

using Reader = protozero::pbf_reader;
using Wire = protozero::pbf_wire_type;

std::string_view view_of(Reader& reader) {
  const protozero::data_view view = reader.get_view();
  return {view.data(), view.size()};
}
Reader reader_of(std::string_view bytes) { return Reader(bytes.data(), bytes.size()); }

// Copies the field that the reader is at.
void copy_field(Reader& reader, std::string& to) {
  const protozero::pbf_tag_type tag = reader.tag();
  protozero::pbf_writer writer(to);
  switch (reader.wire_type()) {
    case Wire::varint:
      writer.add_uint64(tag, reader.get_uint64());
      break;
    case Wire::fixed32:
      writer.add_fixed32(tag, reader.get_fixed32());
      break;
    case Wire::fixed64:
      writer.add_fixed64(tag, reader.get_fixed64());
      break;
    default: {
      const std::string_view bytes = view_of(reader);
      writer.add_bytes(tag, bytes.data(), bytes.size());
    }
  }
}

bool same_elements(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  const Tensor left = tenon::contiguous_as(a, a.dtype()),
               right = tenon::contiguous_as(b, b.dtype());
  const auto bytes = static_cast<size_t>(a.numel() * tenon::element_size(a.dtype()));
  return bytes == 0 || std::memcmp(left.view_record().data, right.view_record().data, bytes) == 0;
}

// Renames what a message names: values of nodes, of tensors and of graphs inside of nodes.
using Rename = std::function<std::string(std::string_view)>;

std::string renamed_graph(std::string_view bytes, const Rename& rename);

std::string renamed_attribute(std::string_view bytes, const Rename& rename) {
  std::string made;
  Reader reader = reader_of(bytes);
  while (reader.next()) {
    if (reader.tag() != 6 && reader.tag() != 11) {
      copy_field(reader, made);
      continue;
    }
    const protozero::pbf_tag_type tag = reader.tag();
    protozero::pbf_writer(made).add_message(tag, renamed_graph(view_of(reader), rename));
  }
  return made;
}
std::string renamed_node(std::string_view bytes, const Rename& rename) {
  std::string made;
  Reader reader = reader_of(bytes);
  while (reader.next()) {
    const protozero::pbf_tag_type tag = reader.tag();
    if (tag >= 1 && tag <= 3) {
      protozero::pbf_writer(made).add_string(tag, rename(view_of(reader)));
    } else if (tag == 5) {
      protozero::pbf_writer(made).add_message(tag, renamed_attribute(view_of(reader), rename));
    } else {
      copy_field(reader, made);
    }
  }
  return made;
}
// A TensorProto or ValueInfoProto, whose name is the field `name`.
std::string renamed_message(std::string_view bytes, protozero::pbf_tag_type name,
                            const Rename& rename) {
  std::string made;
  Reader reader = reader_of(bytes);
  while (reader.next()) {
    if (reader.tag() == name)
      protozero::pbf_writer(made).add_string(name, rename(view_of(reader)));
    else
      copy_field(reader, made);
  }
  return made;
}
std::string renamed_graph(std::string_view bytes, const Rename& rename) {
  std::string made;
  Reader reader = reader_of(bytes);
  while (reader.next()) {
    const protozero::pbf_tag_type tag = reader.tag();
    protozero::pbf_writer writer(made);
    if (tag == 1)
      writer.add_message(tag, renamed_node(view_of(reader), rename));
    else if (tag == 5)
      writer.add_message(tag, renamed_message(view_of(reader), 8, rename));
    else if (tag >= 11 && tag <= 13)
      writer.add_message(tag, renamed_message(view_of(reader), 1, rename));
    else
      copy_field(reader, made);
  }
  return made;
}

std::string name_of(std::string_view bytes, protozero::pbf_tag_type field) {
  Reader reader = reader_of(bytes);
  while (reader.next(field)) return std::string(view_of(reader));
  return {};
}

// Whether tensors of the type are weights, of which a file has most of its bytes.
bool is_floating_type(int64_t type) {
  const tenon::DType dtype = dtype_of_type(type);
  return tenon::is_floating(dtype) && !tenon::is_narrow(dtype);
}

// Nodes of a graph and of those inside of it.
void each_node(const Graph& graph, const std::function<void(const Node&)>& body) {
  for (const Node& node : graph.nodes) {
    body(node);
    for (const Attribute& attribute : node.attributes) {
      if (attribute.graph) each_node(*attribute.graph, body);
    }
  }
}

}  // namespace

SourceGraph::SourceGraph(const tenon::Module& model)
    : path_(model.attribute<std::string>("path")), file_(std::make_shared<ModelFile>(path_)) {
  const auto chosen = model.attribute<std::vector<std::string_view>>("outputs");
  const auto prefer = model.attribute<std::vector<std::string_view>>("prefer");
  Operators operators(prefer);
  const BuiltModel built = build_model(*file_, operators, chosen);
  WeightPaths paths;
  for (const std::vector<NamedTensor>* list : {&built.parameters, &built.buffers}) {
    for (const NamedTensor& one : *list) {
      const Tensor now = model.tensor(paths.add(one.name).c_str());
      if (now.sizes() != one.tensor.sizes())
        throw tenon::ValueError(path_ + " is not the file that the model was made of: '" +
                                one.name + "' has another shape there");
      if (!same_elements(now, one.tensor)) changed_.emplace(one.source, now);
    }
  }
  for (const ValueInfo& input : built.inputs) inputs_.emplace_back(input.name);
  for (const ValueInfo& output : built.outputs) outputs_.emplace_back(output.name);
  for (const OperatorSet& set : file_->data().operator_sets)
    versions_[std::string(set.domain)] = std::max(versions_[std::string(set.domain)], set.version);
  bytes_ = file_->bytes();
  Reader reader = reader_of(bytes_);
  while (reader.next()) {
    if (reader.tag() == 7)
      graph_ = view_of(reader);
    else if (reader.tag() == 25)
      functions_.emplace_back(view_of(reader));
    else
      reader.skip();
  }
}

void SourceGraph::require_version(int64_t opset) const {
  const int64_t own = versions_.count("") != 0 ? versions_.at("") : opset;
  if (own == opset) return;
  const Operators operators({});
  std::set<std::string> differing;
  each_node(file_->data().graph, [&](const Node& node) {
    if (!node.domain.empty()) return;
    const std::string type(node.type);
    if (&operators.find("", type, own) != &operators.find("", type, opset)) differing.insert(type);
  });
  if (!functions_.empty()) differing.insert("its functions");
  if (differing.empty()) return;
  std::string text;
  for (const std::string& type : differing) text += (text.empty() ? "" : ", ") + type;
  throw tenon::NotImplementedError(path_ + " is of opset " + std::to_string(own) +
                                   ", and these differ in opset " + std::to_string(opset) + ": " +
                                   text + "; export it with opset " + std::to_string(own) +
                                   ", or convert the result with onnx.version_converter");
}

std::string SourceGraph::initializer_bytes(std::string_view tensor, Initializers& weights) const {
  const std::string name = name_of(tensor, 8);
  const auto changed = changed_.find(name);
  if (changed != changed_.end()) return weights.bytes(name, changed->second);
  const TensorData data = read_tensor(tensor);
  // Data of other files comes along: the written file may be in another folder.
  const bool is_moved = data.is_external || (weights.has_file() && is_floating_type(data.type));
  return is_moved ? weights.bytes(name, file_->tensor(data)) : std::string(tensor);
}

// A node whose output is a weight that was changed: a Constant, or what was computed of constants.
bool SourceGraph::is_replaced(std::string_view node) const {
  Reader reader = reader_of(node);
  bool any = false;
  while (reader.next(2)) {
    if (changed_.find(view_of(reader)) == changed_.end()) return false;
    any = true;
  }
  return any;
}

std::string SourceGraph::graph_bytes(Initializers& weights) const {
  std::string made;
  std::set<std::string> written;
  Reader reader = reader_of(graph_);
  while (reader.next()) {
    const protozero::pbf_tag_type tag = reader.tag();
    if (tag != 1 && tag != 5 && tag != 12) {
      copy_field(reader, made);
      continue;
    }
    const std::string_view bytes = view_of(reader);
    protozero::pbf_writer writer(made);
    if (tag == 1) {
      if (!is_replaced(bytes)) writer.add_message(1, bytes.data(), bytes.size());
    } else if (tag == 5) {
      written.insert(name_of(bytes, 8));
      writer.add_message(5, initializer_bytes(bytes, weights));
    } else if (std::find(outputs_.begin(), outputs_.end(), name_of(bytes, 1)) != outputs_.end()) {
      writer.add_message(12, bytes.data(), bytes.size());
    }
  }
  std::set<std::string, std::less<>> outputs;
  for (const Node& node : file_->data().graph.nodes)
    outputs.insert(node.outputs.begin(), node.outputs.end());
  for (const auto& [name, tensor] : changed_) {
    if (written.count(name) != 0) continue;
    if (outputs.count(name) == 0)
      throw tenon::NotImplementedError(path_ + ": the weight '" + name +
                                       "' is one of a function or of a graph inside of a node, "
                                       "where it cannot be replaced");
    protozero::pbf_writer(made).add_message(5, weights.bytes(name, tensor));
  }
  return made;
}

std::string SourceGraph::model_bytes(int64_t opset, Initializers& weights) const {
  if (opset != 0) require_version(opset);
  std::string made;
  Reader reader = reader_of(bytes_);
  while (reader.next()) {
    const protozero::pbf_tag_type tag = reader.tag();
    protozero::pbf_writer writer(made);
    if (tag == 7) {
      reader.skip();
      writer.add_message(7, graph_bytes(weights));
    } else if (tag == 1 && opset != 0) {
      writer.add_int64(1, std::max(reader.get_int64(), ir_version_of(opset)));
    } else if (tag == 8 && opset != 0) {
      const std::string_view bytes = view_of(reader);
      const std::string domain(domain_of(name_of(bytes, 1)));
      if (domain.empty())
        writer.add_message(8, Message().number(2, opset).bytes());
      else
        writer.add_message(8, bytes.data(), bytes.size());
    } else {
      copy_field(reader, made);
    }
  }
  return made;
}

SourceGraph::Part SourceGraph::part(const std::string& prefix,
                                    const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs,
                                    Initializers& weights) const {
  std::map<std::string, std::string, std::less<>> given;
  for (size_t i = 0; i < inputs_.size() && i < inputs.size(); ++i) given[inputs_[i]] = inputs[i];
  const Rename rename = [&](std::string_view name) -> std::string {
    if (name.empty()) return "";
    const auto found = given.find(name);
    return found != given.end() ? found->second : prefix + std::string(name);
  };
  Part part;
  const std::string graph = graph_bytes(weights);
  Reader reader = reader_of(graph);
  while (reader.next()) {
    if (reader.tag() == 1)
      part.nodes.push_back(renamed_node(view_of(reader), rename));
    else if (reader.tag() == 5)
      part.initializers.push_back(renamed_message(view_of(reader), 8, rename));
    else
      reader.skip();
  }
  for (size_t i = 0; i < outputs.size() && i < outputs_.size(); ++i) {
    if (outputs[i].empty()) continue;
    WrittenNode node;
    node.name = prefix + "output_" + std::to_string(i);
    node.type = "Identity";
    node.inputs = {rename(outputs_[i])};
    node.outputs = {outputs[i]};
    part.nodes.push_back(node_bytes(node));
  }
  return part;
}

}  // namespace onnx

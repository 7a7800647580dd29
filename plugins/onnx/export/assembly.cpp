#include "export/assembly.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include <tenon/abi/version.h>
#include <tenon/error.hpp>

#include "export/source_graph.hpp"
#include "export/versions.hpp"

namespace onnx {

using tenon::DType, tenon::Tensor;

namespace {

bool same_elements(const Tensor& a, const Tensor& b) {
  const Tensor left = tenon::contiguous_as(a, a.dtype()),
               right = tenon::contiguous_as(b, b.dtype());
  const auto bytes = static_cast<size_t>(a.numel() * tenon::element_size(a.dtype()));
  return bytes == 0 || std::memcmp(left.view_record().data, right.view_record().data, bytes) == 0;
}
// The one number that all elements are, as a tensor without dimensions; undefined where they differ.
Tensor uniform_element(const Tensor& tensor) {
  const Tensor whole = tenon::contiguous_as(tensor, tensor.dtype());
  const auto size = static_cast<size_t>(tenon::element_size(whole.dtype()));
  const char* data = static_cast<const char*>(whole.view_record().data);
  if (whole.numel() == 0) return {};
  for (int64_t i = 1; i < whole.numel(); ++i) {
    if (std::memcmp(data, data + static_cast<size_t>(i) * size, size) != 0) return {};
  }
  const Tensor one = tenon::empty_tensor({}, whole.dtype());
  std::memcpy(one.view_record().data, data, size);
  return one;
}

bool same_attribute(const WrittenAttribute& a, const WrittenAttribute& b) {
  if (a.name != b.name || a.value.index() != b.value.index()) return false;
  if (const auto* tensor = std::get_if<Tensor>(&a.value)) {
    const auto& other = std::get<Tensor>(b.value);
    return tensor->sizes() == other.sizes() && same_elements(*tensor, other);
  }
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Tensor>)
          return false;
        else
          return value == std::get<T>(b.value);
      },
      a.value);
}

std::string version_text() {
  return std::to_string(TENON_VERSION_MAJOR) + "." + std::to_string(TENON_VERSION_MINOR) + "." +
         std::to_string(TENON_VERSION_PATCH);
}

// A number that is factor * batch + offset.
struct Linear {
  int64_t factor = 0, offset = 0;
};

class Assembly {
 public:
  Assembly(const std::vector<BatchRecording>& recordings, const AssemblyNames& names,
           const ExportRules& rules, Initializers& written)
      : recordings_(recordings),
        first_(recordings.front().recording),
        names_(names),
        rules_(rules),
        written_(written) {}

  std::string run() {
    check_structure();
    for (const auto& [name, tensor] : names_.weights) weights_.try_emplace(tensor.handle(), name);
    value_names_.resize(first_.values.size());
    name_inputs();
    name_outputs();
    for (const RecordedNode& node : first_.nodes) add(node);
    for (const auto& [value, name] : renamed_outputs_)
      add_node("Identity", {name_of(value)}, name, {});
    return model();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw tenon::NotImplementedError(what +
                                     " depends on the size of the batch; export the model for "
                                     "batches of one size");
  }

  // ---- several recordings ----

  void check_structure() const {
    for (const BatchRecording& other : recordings_) {
      const Recording& recording = other.recording;
      if (recording.nodes.size() != first_.nodes.size() ||
          recording.values.size() != first_.values.size() || recording.outputs != first_.outputs)
        refuse("which ops the model calls");
      for (size_t i = 0; i < first_.nodes.size(); ++i) {
        const RecordedNode &a = first_.nodes[i], &b = recording.nodes[i];
        if (a.type != b.type || a.inputs != b.inputs || a.outputs != b.outputs)
          refuse("which ops the model calls");
        bool same = a.attributes.size() == b.attributes.size();
        for (size_t k = 0; same && k < a.attributes.size(); ++k)
          same = same_attribute(a.attributes[k], b.attributes[k]);
        if (!same)
          refuse("an attribute of " + a.type + " in " +
                 (a.place.empty() ? "the model" : "'" + a.place + "'"));
      }
    }
  }
  const Tensor& tensor_of(size_t recording, int64_t value) const {
    return recordings_[recording].recording.values[static_cast<size_t>(value)].tensor;
  }
  // The number that has these values in the recordings.
  Linear linear(const std::vector<int64_t>& values) const {
    Linear found{0, values[0]};
    if (values.size() < 2) return found;
    const int64_t step = recordings_[1].batch - recordings_[0].batch;
    found.factor = (values[1] - values[0]) / step;
    found.offset = values[0] - found.factor * recordings_[0].batch;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] != found.factor * recordings_[i].batch + found.offset)
        refuse("a size that is not a multiple of it");
    }
    return found;
  }
  std::vector<WrittenDimension> shape_of(int64_t value, const std::string& name) const {
    std::vector<WrittenDimension> shape;
    const Tensor& tensor = tensor_of(0, value);
    for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
      std::vector<int64_t> sizes;
      for (size_t i = 0; i < recordings_.size(); ++i)
        sizes.push_back(tensor_of(i, value).size(dim));
      const bool fixed =
          std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size == sizes[0]; });
      if (fixed) {
        shape.push_back({sizes[0], ""});
        continue;
      }
      bool batch = true;
      for (size_t i = 0; i < sizes.size(); ++i) batch = batch && sizes[i] == recordings_[i].batch;
      shape.push_back({0, batch ? names_.batch : name + "_dim_" + std::to_string(dim)});
    }
    return shape;
  }

  // ---- names ----

  std::string unique(const std::string& wished) {
    std::string name = wished.empty() ? "value" : wished;
    const std::string base = name;
    for (int& count = counts_[base]; !taken_.insert(name).second;)
      name = base + "_" + std::to_string(++count);
    return name;
  }
  void name_inputs() {
    for (size_t i = 0; i < first_.inputs.size(); ++i)
      value_names_[static_cast<size_t>(first_.inputs[i])] =
          unique(i < names_.inputs.size() ? names_.inputs[i] : "input");
  }
  // A result has the name of the output that it is. A value that is something else as well gets an Identity.
  void name_outputs() {
    for (size_t i = 0; i < first_.outputs.size(); ++i) {
      const auto value = static_cast<size_t>(first_.outputs[i]);
      std::string name = unique(i < names_.outputs.size() ? names_.outputs[i] : "output");
      output_names_.push_back(name);
      if (first_.values[value].kind == RecordedValue::Kind::result && value_names_[value].empty())
        value_names_[value] = std::move(name);
      else
        renamed_outputs_.emplace_back(first_.outputs[i], std::move(name));
    }
  }
  static std::string path_of(const std::string& place) {
    std::string path = "/" + place;
    std::replace(path.begin(), path.end(), '.', '/');
    return path.size() > 1 ? path + "/" : path;
  }

  // The name of a value; a constant becomes an initializer, or nodes that compute it.
  const std::string& name_of(int64_t value) {
    std::string& name = value_names_[static_cast<size_t>(value)];
    if (!name.empty()) return name;
    const RecordedValue& known = first_.values[static_cast<size_t>(value)];
    if (known.kind == RecordedValue::Kind::constant) {
      std::string made = constant(value);
      return value_names_[static_cast<size_t>(value)] = std::move(made);
    }
    return name = unique("value");
  }
  std::string constant(int64_t value) {
    const Tensor& tensor = tensor_of(0, value);
    const auto weight = weights_.find(tensor.handle());
    if (weight != weights_.end()) return initializer(weight->second, tensor);
    bool same = true;
    for (size_t i = 1; i < recordings_.size(); ++i) {
      const Tensor& other = tensor_of(i, value);
      same = same && (other.is_same(tensor) ||
                      (other.sizes() == tensor.sizes() && same_elements(other, tensor)));
    }
    if (same) return initializer("constant", tensor);
    bool same_shape = true;
    for (size_t i = 1; i < recordings_.size(); ++i)
      same_shape = same_shape && tensor_of(i, value).sizes() == tensor.sizes();
    if (same_shape && tensor.dtype() == DType::i64 && tensor.dim() <= 1) return sizes(value);
    return expanded(value);
  }
  std::string initializer(const std::string& wished, const Tensor& tensor) {
    const std::string name = unique(wished);
    initializers_.push_back(written_.bytes(name, tensor));
    return name;
  }

  // ---- what the size of the batch decides ----

  std::string integers(const std::vector<int64_t>& list) {
    return initializer("constant", tenon::from_range(list.begin(), list.end()));
  }
  // i64 [1]
  const std::string& batch() {
    if (!batch_.empty()) return batch_;
    const std::string shape =
        add_node("Shape", {value_names_[static_cast<size_t>(first_.inputs.at(0))]}, "", {});
    batch_ = add_node("Gather", {shape, integers({0})}, "", {{"axis", int64_t{0}}});
    return batch_;
  }
  // Integers of one dimension, each of them linear in the size of the batch.
  std::string list_of(const std::vector<Linear>& numbers) {
    std::vector<std::string> parts;
    std::vector<int64_t> fixed;
    const auto end_fixed = [&] {
      if (!fixed.empty()) parts.push_back(integers(fixed));
      fixed.clear();
    };
    for (const Linear& number : numbers) {
      if (number.factor == 0) {
        fixed.push_back(number.offset);
        continue;
      }
      end_fixed();
      std::string part = batch();
      if (number.factor != 1) part = add_node("Mul", {part, integers({number.factor})}, "", {});
      if (number.offset != 0) part = add_node("Add", {part, integers({number.offset})}, "", {});
      parts.push_back(part);
    }
    end_fixed();
    if (parts.size() == 1) return parts[0];
    return add_node("Concat", parts, "", {{"axis", int64_t{0}}});
  }
  std::vector<Linear> linear_elements(int64_t value) const {
    std::vector<std::vector<int64_t>> lists;
    for (size_t i = 0; i < recordings_.size(); ++i)
      lists.push_back(tensor_of(i, value).to_vector<int64_t>());
    std::vector<Linear> numbers;
    for (size_t k = 0; k < lists[0].size(); ++k) {
      std::vector<int64_t> values;
      values.reserve(lists.size());
      for (const std::vector<int64_t>& list : lists) values.push_back(list[k]);
      numbers.push_back(linear(values));
    }
    return numbers;
  }
  std::string sizes(int64_t value) {
    const std::string list = list_of(linear_elements(value));
    return tensor_of(0, value).dim() == 1 ? list : add_node("Squeeze", {list}, "", {});
  }
  // A constant of one number in a shape that has the batch.
  std::string expanded(int64_t value) {
    const Tensor element = uniform_element(tensor_of(0, value));
    std::vector<std::vector<int64_t>> sizes;
    for (size_t i = 0; i < recordings_.size(); ++i) {
      const Tensor other = uniform_element(tensor_of(i, value));
      sizes.push_back(tensor_of(i, value).sizes());
      if (!element.defined() || !other.defined() || !same_elements(element, other) ||
          sizes[i].size() != sizes[0].size())
        refuse("a tensor that the model makes");
    }
    std::vector<Linear> numbers;
    for (size_t k = 0; k < sizes[0].size(); ++k) {
      std::vector<int64_t> values;
      values.reserve(sizes.size());
      for (const std::vector<int64_t>& list : sizes) values.push_back(list[k]);
      numbers.push_back(linear(values));
    }
    return add_node("Expand", {initializer("constant", element), list_of(numbers)}, "", {});
  }
  // A Reshape works out one size: the one that the batch decides.
  std::optional<Tensor> reshape_sizes(int64_t value) const {
    const RecordedValue& known = first_.values[static_cast<size_t>(value)];
    if (known.kind != RecordedValue::Kind::constant || known.tensor.dim() != 1 ||
        recordings_.size() < 2 || weights_.count(known.tensor.handle()) != 0)
      return std::nullopt;
    std::vector<int64_t> list;
    int dynamic = 0;
    for (const Linear& number : linear_elements(value)) {
      dynamic += number.factor != 0 ? 1 : 0;
      list.push_back(number.factor != 0 ? -1 : number.offset);
      if (number.factor == 0 && number.offset <= 0) return std::nullopt;
    }
    if (dynamic != 1) return std::nullopt;
    return tenon::from_range(list.begin(), list.end());
  }

  // ---- nodes ----

  // A node of one output, which gets the name, or a new one.
  std::string add_node(const std::string& type, const std::vector<std::string>& inputs,
                       const std::string& output, const std::vector<WrittenAttribute>& attributes) {
    WrittenNode node;
    node.name = unique("/" + type);
    node.type = type;
    node.inputs = inputs;
    node.attributes = attributes;
    const std::string made = output.empty() ? unique(node.name + "_output_0") : output;
    node.outputs = {made};
    nodes_.push_back(node_bytes(node));
    return made;
  }
  void add(const RecordedNode& node) {
    if (node.model.defined()) return add_graph(node);
    WrittenNode made;
    made.name = unique(path_of(node.place) + node.type);
    made.type = node.type;
    made.domain = node.domain;
    domains_.insert(node.domain);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int64_t input = node.inputs[i];
      if (input < 0) {
        made.inputs.emplace_back();
        continue;
      }
      if (node.type == "Reshape" && node.domain.empty() && i == 1) {
        if (const std::optional<Tensor> list = reshape_sizes(input)) {
          made.inputs.push_back(initializer("constant", *list));
          continue;
        }
      }
      made.inputs.push_back(name_of(input));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      made.outputs.push_back(
          node.outputs[i] < 0
              ? ""
              : result_name(node.outputs[i], made.name + "_output_" + std::to_string(i)));
    }
    made.attributes = node.attributes;
    nodes_.push_back(node_bytes(made));
  }
  std::string result_name(int64_t value, const std::string& wished) {
    std::string& name = value_names_[static_cast<size_t>(value)];
    if (name.empty()) name = unique(wished);
    return name;
  }
  void add_graph(const RecordedNode& node) {
    const SourceGraph graph(node.model);
    graph.require_version(rules_.opset());
    for (const auto& [domain, version] : graph.versions()) {
      if (domain.empty()) continue;
      int64_t& known = versions_[domain];
      if (known != 0 && known != version)
        throw tenon::NotImplementedError("two of its graphs have operators of '" + domain +
                                         "' of versions " + std::to_string(known) + " and " +
                                         std::to_string(version));
      known = version;
    }
    functions_.insert(graph.functions().begin(), graph.functions().end());
    std::vector<std::string> inputs, outputs;
    for (const int64_t input : node.inputs) inputs.push_back(input < 0 ? "" : name_of(input));
    for (const int64_t output : node.outputs)
      outputs.push_back(output < 0 ? "" : result_name(output, path_of(node.place) + "output"));
    SourceGraph::Part part = graph.part(path_of(node.place), inputs, outputs, written_);
    std::move(part.nodes.begin(), part.nodes.end(), std::back_inserter(nodes_));
    std::move(part.initializers.begin(), part.initializers.end(),
              std::back_inserter(initializers_));
  }

  std::string model() {
    Message graph;
    for (const std::string& node : nodes_) graph.text(1, node);
    graph.text(2, "main");
    for (const std::string& one : initializers_) graph.text(5, one);
    for (const int64_t input : first_.inputs) add_value(graph, 11, input, "");
    for (size_t i = 0; i < first_.outputs.size(); ++i)
      add_value(graph, 12, first_.outputs[i], output_names_[i]);
    Message model;
    model.number(1, ir_version_of(rules_.opset()));
    model.text(2, "tenon").text(3, version_text()).text(7, graph.bytes());
    model.text(8, Message().text(1, "").number(2, rules_.opset()).bytes());
    for (const std::string& domain : domains_) {
      if (!domain.empty()) versions_.try_emplace(domain, rules_.version_of(domain));
    }
    for (const auto& [domain, version] : versions_)
      model.text(8, Message().text(1, domain).number(2, version).bytes());
    for (const std::string& function : functions_) model.text(25, function);
    return model.bytes();
  }
  void add_value(Message& graph, uint32_t field, int64_t value, const std::string& name) {
    WrittenValue written;
    written.name = name.empty() ? value_names_[static_cast<size_t>(value)] : name;
    written.dtype = tensor_of(0, value).dtype();
    written.shape = shape_of(value, written.name);
    graph.text(field, value_bytes(written));
  }

  const std::vector<BatchRecording>& recordings_;
  const Recording& first_;
  const AssemblyNames& names_;
  const ExportRules& rules_;
  Initializers& written_;
  std::map<const tenon_tensor*, std::string> weights_;
  std::vector<std::string> value_names_, output_names_;
  std::vector<std::pair<int64_t, std::string>> renamed_outputs_;
  std::set<std::string> taken_, domains_, functions_;
  std::map<std::string, int> counts_;
  std::map<std::string, int64_t> versions_;
  std::vector<std::string> nodes_, initializers_;  // bytes
  std::string batch_;                              // the value of its size
};

}  // namespace

std::string assemble(const std::vector<BatchRecording>& recordings, const AssemblyNames& names,
                     const ExportRules& rules, Initializers& weights) {
  return Assembly(recordings, names, rules, weights).run();
}

}  // namespace onnx

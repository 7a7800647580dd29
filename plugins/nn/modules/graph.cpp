// Graph: ops and modules as named nodes.
#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

#include <tenon/hooked.hpp>
#include <tenon/json_tensor.hpp>
#include <tenon/runtime.hpp>

#include "modules/joined_convolution.hpp"

namespace {

using namespace nn;
using tenon::Json, tenon::Module, tenon::ModuleOf, tenon::Value;

[[noreturn]] void refuse(const Json& node, const std::string& what) {
  const std::string place = node.place();
  throw tenon::ConfigError((place.empty() ? "" : place + ": ") + what);
}

// The names of the results in a schema's text; an empty name where it has none.
std::vector<std::string> result_names(const std::string& schema) {
  const std::string_view results =
      tenon::detail::trim(std::string_view(schema).substr(schema.rfind("->") + 2));
  if (results.empty() || results.front() != '(') return {""};
  std::vector<std::string> names;
  tenon::detail::each_item(
      results, 0, [&](int, std::string_view, std::string_view name) { names.emplace_back(name); });
  return names;
}

// The type in a schema of a parameter: by its name, or by its place where that is empty.
std::string_view type_of(std::string_view schema, std::string_view name, size_t place) {
  std::string_view found;
  tenon::detail::each_item(schema, schema.find('('),
                           [&](int i, std::string_view type, std::string_view parameter) {
                             if (name.empty() ? static_cast<size_t>(i) == place : parameter == name)
                               found = type;
                           });
  return found;
}

// The input of a node for one parameter: a value of the run, a list of them, or a literal.
struct Input {
  std::string keyword;  // empty: by position
  std::vector<size_t> values;
  bool list = false;
  Json literal;                 // in place of values, where it is defined
  Tensor tensor;                // of a literal for a parameter of type Tensor
  std::vector<Tensor> tensors;  // of one for a parameter of type Tensor[]
};

struct Node {
  std::string name;
  std::string place;
  std::optional<tenon::Op> op;
  size_t child = 0;  // a module, when there is no op
  std::vector<Input> inputs;
  size_t first_result = 0;
  std::vector<std::string> results;  // their names
  std::vector<size_t> last_uses;     // values that no later node reads
};

// A node with a Conv2d and the nodes behind it that run as one op with it; the places of nodes.
struct Joint {
  size_t last;
  std::optional<size_t> norm, activation;  // nodes with a module
  std::optional<size_t> addend;            // a value
  std::optional<size_t> changed;           // the node that gives it, where add_ writes to it
  bool relu = false;                       // by the activation or by an op
};

struct Graph : ModuleOf<Graph> {
  static constexpr auto schema = "Graph(json nodes, str[] inputs=['input'], str[] outputs=[])";
  static constexpr bool own_forward_schema = true;
  static constexpr auto samples = R"([{"nodes": {"a": {"op": "tanh"}, "b": {"op": "add",
      "inputs": ["a", "input"], "alpha": 2}}}])";
  static constexpr auto doc =
      "Named nodes, each an op or a module: {\"a\": {\"op\": \"relu\"}, \"b\": {\"module\": "
      "{\"type\": \"Linear\", ...}, \"inputs\": [\"a\"]}}. A node runs on the one before it, or on "
      "its inputs: names of the graph's inputs and of earlier nodes, \"lstm.hidden\" for one of "
      "several results, a list of names, or numbers; by keyword in an object. Other keys of an op "
      "are its keyword arguments. {\"same\": \"b\"} runs the module of b again.";

  Graph(const Json& document, const std::vector<std::string_view>& inputs,
        const std::vector<std::string_view>& outputs) {
    if (!document.is_object() || document.size() == 0)
      refuse(document, "Graph: nodes is an object of named nodes, with at least one");
    std::string signature;
    for (const std::string_view input : inputs) add_input(document, input, signature);
    for (int64_t i = 0; i < document.size(); ++i) add_node(document.key(i), document[i]);
    add_outputs(document, outputs);
    std::string results;
    for (size_t i = 0; i < outputs_.size(); ++i) results += i > 0 ? ", Tensor" : "Tensor";
    set_forward_schema("forward(" + signature + ") -> " +
                       (outputs_.size() == 1 ? results : "(" + results + ")"));
    find_last_uses();
    find_joints();
  }

  std::vector<Value> forward(const tenon_value* arguments) const {
    std::vector<Value> values(names_.size());
    for (size_t i = 0; i < input_count_; ++i) {
      if (arguments[i].tag != TENON_VALUE_TENSOR) continue;
      tenon_value given = arguments[i];
      tenon::service::tensors().retain(given.as.tensor);
      values[i] = Value(given);
    }
    const bool joins = joins_ && may_join();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const size_t last = joins && run_joint(i, values) ? joints_[i]->last : i;
      if (last == i) run(nodes_[i], values);
      for (; i <= last; ++i) {
        for (const size_t value : nodes_[i].last_uses) values[value] = Value();
      }
      i = last;
    }
    std::vector<Value> results;
    for (const size_t output : outputs_) {
      tenon_value copy = values[output].get();
      if (copy.tag == TENON_VALUE_TENSOR) tenon::service::tensors().retain(copy.as.tensor);
      results.emplace_back(copy.tag == TENON_VALUE_TENSOR ? copy : tenon_value{});
    }
    return results;
  }

 private:
  // "image", or "mask=None" for one that calls may leave out.
  void add_input(const Json& document, std::string_view input, std::string& signature) {
    const size_t equals = input.find('=');
    const std::string name(input.substr(0, equals));
    const bool optional = equals != std::string_view::npos;
    if (name.empty() || (optional && input.substr(equals) != "=None"))
      refuse(document,
             "Graph: an input is a name, or \"name=None\", not '" + std::string(input) + "'");
    if (find(name)) refuse(document, "Graph: the input '" + name + "' is there twice");
    names_.push_back(name);
    ++input_count_;
    signature += signature.empty() ? "" : ", ";
    signature += (optional ? "Tensor? " : "Tensor ") + name + (optional ? "=None" : "");
  }

  void add_node(const std::string& name, const Json& description) {
    if (name.empty() || name.find('.') != std::string::npos)
      refuse(description, "Graph: a node's name is not empty and has no dots, got '" + name + "'");
    if (find(name)) refuse(description, "Graph: '" + name + "' is there twice");
    if (!description.is_object())
      refuse(description, R"(Graph: a node is an object with "op", "module" or "same")");
    Node node;
    node.name = name;
    node.place = description.place();
    const bool op = description["op"].defined(), module = description["module"].defined(),
               same = description["same"].defined();
    if (int{op} + int{module} + int{same} != 1)
      refuse(description, R"(Graph: a node has one of "op", "module" and "same")");
    if (op) {
      node.op.emplace(description["op"].text());
      node.results = result_names(node.op->schema());
    } else {
      node.child = module ? add_child(name, description["module"])
                          : child_of(description["same"], description["same"].text());
      node.results = result_names(children_[node.child].forward_schema());
    }
    add_inputs(description, node);
    for (int64_t i = 0; i < description.size(); ++i) add_keyword(description, i, node);
    make_tensors(node);
    node.first_result = names_.size();
    for (size_t i = 0; i < node.results.size(); ++i) {
      const std::string& result = node.results[i];
      names_.push_back(node.results.size() == 1
                           ? name
                           : name + "." + (result.empty() ? std::to_string(i) : result));
    }
    nodes_.push_back(std::move(node));
  }

  size_t add_child(const std::string& name, const Json& description) {
    const Module made = tenon::create_module(description);
    children_.emplace_back(*this, name);
    children_.back() = made;
    return children_.size() - 1;
  }
  size_t child_of(const Json& at, const std::string& name) const {
    for (const Node& node : nodes_) {
      if (node.name == name && !node.op) return node.child;
    }
    refuse(at, "Graph: no earlier node '" + name + "' has a module");
  }

  // The inputs of a node; by default the result of the node before it.
  void add_inputs(const Json& description, Node& node) {
    const Json inputs = description["inputs"];
    if (!inputs.defined()) {
      node.inputs.emplace_back().values = {nodes_.empty() ? 0 : nodes_.back().first_result};
    } else if (inputs.is_container() && !inputs.is_object()) {
      for (int64_t i = 0; i < inputs.size(); ++i) node.inputs.push_back(read_input("", inputs[i]));
    } else if (inputs.is_object()) {
      for (int64_t i = 0; i < inputs.size(); ++i)
        node.inputs.push_back(read_input(inputs.key(i), inputs[i]));
    } else {
      node.inputs.push_back(read_input("", inputs));
    }
  }
  Input read_input(const std::string& keyword, const Json& item) const {
    Input input;
    input.keyword = keyword;
    if (item.is_text()) {
      input.values.push_back(reference(item));
    } else if (item.is_container() && !item.is_object() && item.size() > 0 && item[0].is_text()) {
      input.list = true;
      for (int64_t i = 0; i < item.size(); ++i) input.values.push_back(reference(item[i]));
    } else {
      input.literal = item;
    }
    return input;
  }
  void add_keyword(const Json& description, int64_t i, Node& node) const {
    const std::string key = description.key(i);
    if (key == "op" || key == "module" || key == "same" || key == "inputs") return;
    if (!node.op) {
      refuse(description[i], "Graph: a node with a module has \"inputs\" beside it, not '" + key +
                                 "'; attributes are inside of \"module\", keyword inputs in an "
                                 "object of \"inputs\"");
    }
    Input input;
    input.keyword = key;
    input.literal = description[i];
    node.inputs.push_back(input);
  }

  // Numbers and lists of them, for parameters of type Tensor.
  void make_tensors(Node& node) const {
    const std::string signature =
        node.op ? node.op->schema() : children_[node.child].forward_schema();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Input& input = node.inputs[i];
      const std::string_view type = type_of(signature, input.keyword, i);
      const bool list = input.literal.is_array();
      const bool takes_tensor = type == "Tensor" || type == "Tensor?" ||
                                (list && tenon::detail::starts_with(type, "Tensor|Scalar") &&
                                 type.find('[') == std::string_view::npos);
      if (list && tenon::detail::starts_with(type, "Tensor[]")) {
        for (int64_t k = 0; k < input.literal.size(); ++k)
          input.tensors.push_back(written_tensor(input.literal[k]));
      } else if (takes_tensor && (list || input.literal.is_number())) {
        input.tensor = written_tensor(input.literal);
      }
    }
  }
  static Tensor written_tensor(const Json& literal) {
    const std::string fault = tenon::json_tensor_fault(literal);
    if (!fault.empty())
      refuse(literal, "Graph: a tensor is numbers, or lists of them with equal lengths; " + fault);
    return tenon::json_tensor(literal);
  }

  std::optional<size_t> find(const std::string& name) const {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return i;
    }
    return std::nullopt;
  }
  // A value by its name; one of several results by "node.result" or "node.1".
  size_t reference(const Json& item) const {
    const std::string name = item.text();
    if (const auto found = find(name)) return *found;
    const std::string node_name = name.substr(0, name.find('.'));
    for (const Node& node : nodes_) {
      if (node.name != node_name) continue;
      std::string known;
      for (size_t i = 0; i < node.results.size(); ++i) {
        if (name == node_name + "." + std::to_string(i)) return node.first_result + i;
        known.append(i > 0 ? ", " : "").append(names_[node.first_result + i]);
      }
      refuse(item, "Graph: node '" + node_name + "' has " + std::to_string(node.results.size()) +
                       " results; name one of " + known);
    }
    std::string known;
    for (const std::string& value : names_) known.append(known.empty() ? "" : ", ").append(value);
    refuse(item, "Graph: '" + name + "' is not an input or an earlier node; these are: " + known);
  }

  void add_outputs(const Json& document, const std::vector<std::string_view>& outputs) {
    if (outputs.empty()) {
      for (size_t i = 0; i < nodes_.back().results.size(); ++i)
        outputs_.push_back(nodes_.back().first_result + i);
    }
    for (const std::string_view output : outputs) {
      const auto found = find(std::string(output));
      if (!found)
        refuse(document, "Graph: the output '" + std::string(output) +
                             "' is not an input or a node, or a node with several results");
      outputs_.push_back(*found);
    }
    if (outputs_.empty() || outputs_.size() > 8)
      refuse(document, "Graph: it has " + std::to_string(outputs_.size()) +
                           " outputs; from 1 to 8 are possible");
  }

  void find_last_uses() {
    std::vector<bool> used(names_.size(), false);
    for (const size_t output : outputs_) used[output] = true;
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      const auto use = [&](size_t value) {
        if (!used[value]) node->last_uses.push_back(value);
        used[value] = true;
      };
      for (const Input& input : node->inputs) {
        for (const size_t value : input.values) use(value);
      }
      for (size_t i = 0; i < node->results.size(); ++i) use(node->first_result + i);
    }
  }

  // ---- convolutions and what follows them ----

  void find_joints() {
    joints_.resize(nodes_.size());
    bool any = false;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!has_module(nodes_[i], "Conv2d") || !reads_one_value(nodes_[i])) continue;
      joints_[i] = joint_at(i);
      any = any || joints_[i].has_value();
    }
    joins_ = any && joined_by_same_plugins();
  }
  std::optional<Joint> joint_at(size_t first) const {
    Joint joint{first, {}, {}, {}, {}};
    const auto next = [&]() -> const Node* { return follower(joint.last); };
    if (const Node* node = next();
        node != nullptr && has_module(*node, "BatchNorm2d") && reads_one_value(*node)) {
      joint.norm = ++joint.last;
    }
    if (const Node* node = next(); node != nullptr && node->op) {
      if ((joint.addend = other_addend(*node, nodes_[joint.last].first_result))) {
        if (node->op->name() == "add_" && node->inputs[0].values[0] == *joint.addend)
          joint.changed = giver(*joint.addend);
        ++joint.last;
      }
    }
    if (const Node* node = next(); node != nullptr && reads_one_value(*node)) {
      if (has_module(*node, "ReLU")) {
        joint.activation = ++joint.last;
        joint.relu = true;
      } else if (is_op(*node, "relu", "relu_")) {
        ++joint.last;
        joint.relu = true;
      }
    }
    if (joint.last == first) return std::nullopt;
    return joint;
  }
  // The node behind another one, if it alone reads what that one gives.
  const Node* follower(size_t place) const {
    if (place + 1 == nodes_.size()) return nullptr;
    const Node& node = nodes_[place + 1];
    return ends_with(node, nodes_[place].first_result) ? &node : nullptr;
  }
  static bool ends_with(const Node& node, size_t value) {
    return std::find(node.last_uses.begin(), node.last_uses.end(), value) != node.last_uses.end();
  }
  bool has_module(const Node& node, const char* type) const {
    return !node.op && is_of_type(children_[node.child], type);
  }
  static bool is_op(const Node& node, const char* name, const char* in_place) {
    return node.op && (node.op->name() == name || node.op->name() == in_place);
  }
  static bool is_one_value(const Input& input) {
    return input.keyword.empty() && !input.list && input.values.size() == 1;
  }
  static bool reads_one_value(const Node& node) {
    return node.inputs.size() == 1 && is_one_value(node.inputs[0]);
  }
  // The other addend of `value` in an addition whose order does not matter and that changes nothing
  // that is read later.
  std::optional<size_t> other_addend(const Node& node, size_t value) const {
    if (!is_op(node, "add", "add_") || node.inputs.size() != 2) return std::nullopt;
    for (const Input& input : node.inputs) {
      if (!is_one_value(input)) return std::nullopt;
    }
    const size_t first = node.inputs[0].values[0], second = node.inputs[1].values[0];
    if (first == second) return std::nullopt;
    if (first == value) return second;
    if (node.op->name() == "add_" && !is_own(node, first)) return std::nullopt;
    return first;
  }
  // A new tensor, of which nothing is seen when the node changes it.
  bool is_own(const Node& reader, size_t value) const {
    const std::optional<size_t> node = giver(value);
    return node && ends_with(reader, value) && gives_new_tensors(nodes_[*node]);
  }
  bool gives_new_tensors(const Node& node) const {
    return has_module(node, "Conv2d") || has_module(node, "BatchNorm2d");
  }
  std::optional<size_t> giver(size_t value) const {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].first_result == value) return i;
    }
    return std::nullopt;
  }
  // Whether the children are of the types that the joint was found with, since any can be assigned.
  bool holds(size_t first, const Joint& joint) const {
    const auto is = [&](std::optional<size_t> node, const char* type) {
      return !node || has_module(nodes_[*node], type);
    };
    return is(first, "Conv2d") && is(joint.norm, "BatchNorm2d") && is(joint.activation, "ReLU") &&
           (!joint.changed || gives_new_tensors(nodes_[*joint.changed]));
  }
  // False where the nodes must run one by one.
  bool run_joint(size_t first, std::vector<Value>& values) const {
    const std::optional<Joint>& joint = joints_[first];
    if (!joint || !holds(first, *joint)) return false;
    const auto child = [&](std::optional<size_t> node) {
      return node ? Module(children_[nodes_[*node].child]) : Module();
    };
    const auto tensor = [&](size_t value) {
      return values[value].is_tensor() ? values[value].tensor() : Tensor();
    };
    // A hook or a watch may have kept the addend.
    if (joint->changed && tenon::is_watched(child(joint->changed))) return false;
    const Node& node = nodes_[first];
    JoinedConvolution joined{
        child(first), child(joint->norm), {}, child(joint->activation), joint->relu};
    if (joint->addend) {
      joined.addend = tensor(*joint->addend);
      if (!joined.addend.defined()) return false;
    }
    Tensor result;
    try {
      result = run_joined(joined, tensor(node.inputs[0].values[0]));
    } catch (const tenon::Error& cause) {
      fail(node, cause);
    }
    if (!result.defined()) return false;
    tenon_value given{};
    given.tag = TENON_VALUE_TENSOR;
    given.as.tensor = result.give();
    values[nodes_[joint->last].first_result] = Value(given);
    return true;
  }

  void run(const Node& node, std::vector<Value>& values) const {
    std::vector<tenon_value> positional, named;
    std::vector<tenon_string> keywords;
    std::deque<std::vector<tenon_tensor*>> lists;
    for (const Input& input : node.inputs) {
      const tenon_value value = argument(input, values, lists);
      if (input.keyword.empty()) {
        positional.push_back(value);
      } else {
        keywords.push_back(tenon::detail::string_of(input.keyword));
        named.push_back(value);
      }
    }
    tenon_value results[tenon::detail::max_results]{};
    tenon_error* error = nullptr;
    const auto count = static_cast<int64_t>(positional.size());
    const auto named_count = static_cast<int64_t>(named.size());
    const tenon_status status =
        node.op ? tenon::service::ops().call_keywords(node.op->handle(), positional.data(), count,
                                                      keywords.data(), named.data(), named_count,
                                                      results, &error)
                : tenon::service::modules().call(children_[node.child].handle(), positional.data(),
                                                 count, keywords.data(), named.data(), named_count,
                                                 results, int64_t{-1}, &error);
    if (status != TENON_OK) fail(node, status, error);
    for (size_t i = 0; i < node.results.size(); ++i)
      values[node.first_result + i] = Value(results[i]);
  }
  static tenon_value argument(const Input& input, const std::vector<Value>& values,
                              std::deque<std::vector<tenon_tensor*>>& lists) {
    tenon_value value{};
    if (input.tensor.defined()) {
      value.tag = TENON_VALUE_TENSOR;
      value.as.tensor = input.tensor.handle();
      return value;
    }
    if (!input.tensors.empty()) {
      std::vector<tenon_tensor*>& list = lists.emplace_back();
      for (const Tensor& tensor : input.tensors) list.push_back(tensor.handle());
      return list_of(list);
    }
    if (input.values.empty()) {
      value.tag = TENON_VALUE_JSON;
      value.as.json = const_cast<tenon_json*>(input.literal.handle());
      return value;
    }
    if (!input.list) return values[input.values[0]].get();
    std::vector<tenon_tensor*>& list = lists.emplace_back();
    for (const size_t one : input.values) list.push_back(values[one].tensor().handle());
    return list_of(list);
  }
  static tenon_value list_of(const std::vector<tenon_tensor*>& list) {
    tenon_value value{};
    value.tag = TENON_VALUE_TENSOR_LIST;
    value.length = static_cast<uint32_t>(list.size());
    value.as.tensors = list.data();
    return value;
  }
  [[noreturn]] static void fail(const Node& node, tenon_status status, tenon_error* error) {
    try {
      tenon::detail::throw_error(status, error);
    } catch (const tenon::Error& cause) {
      fail(node, cause);
    }
  }
  [[noreturn]] static void fail(const Node& node, const tenon::Error& cause) {
    throw tenon::Error(cause.kind(), std::string(cause.what()) + "\n  at node '" + node.name + "'" +
                                         (node.place.empty() ? "" : " (" + node.place + ")"));
  }

  std::vector<std::string> names_;  // names of all values: inputs, then results of nodes
  size_t input_count_ = 0;
  std::vector<Node> nodes_;
  std::deque<Child> children_;
  std::vector<size_t> outputs_;
  std::vector<std::optional<Joint>> joints_;  // one for each node
  bool joins_ = false;
};

}  // namespace
TENON_MODULE(Graph)

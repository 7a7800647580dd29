#include "builder.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <tenon/detail/parameters.hpp>
#include <tenon/grad_mode.hpp>
#include <tenon/ops.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "arguments.hpp"
#include "message_reader.hpp"
#include "tensor_data.hpp"

namespace onnx {

using tenon::Json, tenon::Tensor, tenon::Value;

namespace {

constexpr int64_t kLastVersion = 25, kLastIrVersion = 13;
// Elements of one result that is computed when the model is made, and of all operands and results together.
constexpr int64_t kMostFolded = int64_t{1} << 22, kMostFoldedInAll = int64_t{1} << 24;
// The largest integers mean "up to the end"; as a size they fail.
constexpr double kBeyondMemory = 9e18;
// Functions and graphs that are inside of each other, and steps that they become. Each level takes stack.
constexpr int kMostDepth = 100;
constexpr size_t kMostSteps = 1'000'000;

std::string quoted(std::string_view text) { return "'" + tenon::printable(text) + "'"; }

// A parameter of an op, as its schema has it.
struct Parameter {
  std::string name;
  std::string kind;
  bool list = false;
  bool optional = false;
  bool keyword_only = false;
  bool may_be_tensor = false;
};
struct Signature {
  std::vector<Parameter> parameters;
  size_t results = 0;
};

Signature read_signature(const tenon::Op& op) {
  const Json schema = tenon::parse_schema(op.schema());
  Signature signature;
  const Json parameters = schema["parameters"];
  for (int64_t i = 0; i < parameters.size(); ++i) {
    const Json one = parameters[i];
    const std::string type = one["type"].text();
    signature.parameters.push_back({one["name"].text(), one["kind"].text(), one["list"].as_bool(),
                                    one["optional"].as_bool(), one["keyword_only"].as_bool(),
                                    type.find("Tensor") != std::string::npos || type == "any"});
  }
  signature.results = static_cast<size_t>(schema["returns"].size());
  return signature;
}

StepArgument::As conversion_of(const Parameter& parameter) {
  using As = StepArgument::As;
  if (parameter.may_be_tensor) return parameter.list ? As::tensors : As::value;
  if (parameter.kind == "int") return parameter.list ? As::integers : As::integer;
  if (parameter.kind == "float") return parameter.list ? As::numbers : As::number;
  if (parameter.kind == "Scalar") return As::scalar;
  if (parameter.kind == "bool") return As::boolean;
  return As::value;
}

// Names of a graph; inner graphs see those around them.
struct Scope {
  const Scope* outer = nullptr;
  std::map<std::string_view, Source> values;

  const Source* find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      const auto found = scope->values.find(name);
      if (found != scope->values.end()) return &found->second;
    }
    return nullptr;
  }
};

// The function whose nodes are made in place of a call: the call's attributes.
struct FunctionCall {
  const Function* function = nullptr;
  const Node* node = nullptr;
  const FunctionCall* outer = nullptr;
};

class Builder {
 public:
  Builder(ModelFile& file, Operators& operators, BuiltModel& built)
      : file_(file), operators_(operators), built_(built) {}

  void build(const std::vector<std::string_view>& outputs) {
    const ModelData& model = file_.data();
    check_versions(model);
    for (const Function& one : model.functions)
      functions_[{one.domain, one.name, one.overload}] = &one;
    find_missing(model);
    Scope scope;
    add_initializers(model.graph, scope);
    for (const ValueInfo& input : model.graph.inputs) add_input(input, scope);
    build_nodes(model.graph.nodes, scope, built_.program.body, model.operator_sets, nullptr);
    for (const ValueInfo& output : model.graph.outputs) {
      if (!outputs.empty() &&
          std::find(outputs.begin(), outputs.end(), output.name) == outputs.end())
        continue;
      built_.program.body.outputs.push_back(read(output.name, scope, "the output"));
      built_.outputs.push_back(output);
    }
    for (const std::string_view one : outputs) {
      const auto has = [&](const ValueInfo& output) { return output.name == one; };
      if (std::none_of(built_.outputs.begin(), built_.outputs.end(), has))
        throw tenon::ValueError("it has no output " + quoted(one));
    }
    release(built_.program.body, {});
  }

 private:
  using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;

  // A level of functions and graphs.
  class Level {
   public:
    explicit Level(int& depth) : depth_(depth) {
      if (depth_ >= kMostDepth)
        throw tenon::ValueError("its functions and graphs are nested deeper than " +
                                std::to_string(kMostDepth));
      ++depth_;
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --depth_; }

   private:
    int& depth_;
  };

  // ---- versions ----

  static void check_versions(const ModelData& model) {
    if (model.ir_version < 3 || model.ir_version > kLastIrVersion) {
      throw tenon::NotImplementedError("it is of version " + std::to_string(model.ir_version) +
                                       " of the format; Tenon reads 3 to " +
                                       std::to_string(kLastIrVersion));
    }
    if (model.operator_sets.empty())
      throw tenon::ValueError("it does not say which versions of operators it uses");
    for (const OperatorSet& set : model.operator_sets) check_version(set);
  }
  static void check_version(const OperatorSet& set) {
    if (!set.domain.empty() || (set.version >= 1 && set.version <= kLastVersion)) return;
    throw tenon::NotImplementedError("it uses opset " + std::to_string(set.version) +
                                     "; Tenon reads those up to " + std::to_string(kLastVersion) +
                                     ": convert it with onnx.version_converter");
  }
  static int64_t version_of(const std::vector<OperatorSet>& sets, std::string_view domain) {
    int64_t version = 0;
    for (const OperatorSet& set : sets) {
      if (set.domain == domain) version = std::max(version, set.version);
    }
    return version;
  }

  // ---- what cannot be converted, before anything is made ----

  void find_missing(const ModelData& model) {
    std::map<std::string, std::vector<std::string>> missing;  // operator: nodes
    std::set<const Function*> seen;
    find_missing(model.graph.nodes, model.operator_sets, missing, seen);
    if (missing.empty()) return;
    std::string text = "no plugin converts these operators:";
    for (const auto& [name, nodes] : missing) {
      text += "\n  " + name + ": ";
      const size_t shown = std::min<size_t>(nodes.size(), 3);
      for (size_t i = 0; i < shown; ++i) text += (i > 0 ? ", " : "") + nodes[i];
      if (nodes.size() > shown) text += " and " + std::to_string(nodes.size() - shown) + " more";
    }
    throw tenon::NotImplementedError(text);
  }
  void find_missing(const std::vector<Node>& nodes, const std::vector<OperatorSet>& sets,
                    std::map<std::string, std::vector<std::string>>& missing,
                    std::set<const Function*>& seen) {
    const Level level(depth_);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = nodes[i];
      for (const Attribute& attribute : node.attributes) {
        if (attribute.graph) find_missing(attribute.graph->nodes, sets, missing, seen);
      }
      if (const Function* function = function_of(node)) {
        if (seen.insert(function).second)
          find_missing(function->nodes, sets_of(*function, sets), missing, seen);
        continue;
      }
      const int64_t version = version_of(sets, node.domain);
      if (is_built_in(node) || (version > 0 && has_rule(node, version))) continue;
      missing[describe(node, version)].push_back(quoted(name_of(node, i)));
    }
  }
  bool has_rule(const Node& node, int64_t version) {
    return !operators_.find(node.domain, node.type, version).empty();
  }
  std::string describe(const Node& node, int64_t version) const {
    std::string text = tenon::printable(node.type) + " of ";
    text += node.domain.empty() ? "opset " : tenon::printable(node.domain) + " ";
    if (version == 0) return text + "(the model does not say which version of the domain it uses)";
    text += std::to_string(version);
    const int64_t first = operators_.first_version(node.domain, node.type);
    if (first > 0) return text + " (there is a conversion from " + std::to_string(first) + " on)";
    return text + tenon::suggestion(node.type, operators_.names(node.domain));
  }
  static bool is_built_in(const Node& node) {
    return node.domain.empty() &&
           (node.type == "Constant" || is_another_name(node) || node.type == "If" ||
            node.type == "Loop" || node.type == "Scan" || node.type == "SequenceMap");
  }
  // An optional value is the value, or none.
  static bool is_another_name(const Node& node) {
    return node.type == "Identity" || node.type == "Optional" || node.type == "OptionalGetElement";
  }
  static std::string name_of(const Node& node, size_t place) {
    return node.name.empty() ? std::string(node.type) + " #" + std::to_string(place)
                             : std::string(node.name);
  }
  const Function* function_of(const Node& node) const {
    const auto found = functions_.find({node.domain, node.type, node.overload});
    return found == functions_.end() ? nullptr : found->second;
  }
  static std::vector<OperatorSet> sets_of(const Function& function,
                                          const std::vector<OperatorSet>& outer) {
    for (const OperatorSet& set : function.operator_sets) check_version(set);
    std::vector<OperatorSet> sets = function.operator_sets;
    for (const OperatorSet& set : outer) {
      if (version_of(sets, set.domain) == 0) sets.push_back(set);
    }
    return sets;
  }

  // ---- values ----

  uint32_t new_slot() { return built_.program.frame_size++; }
  Source new_constant(Value value) {
    built_.program.constants.push_back(std::move(value));
    return {Source::Kind::constant, static_cast<uint32_t>(built_.program.constants.size() - 1)};
  }
  Source new_constant(const Tensor& tensor) {
    tenon_value value{};
    tenon::detail::give_result(Tensor(tensor), &value);
    return new_constant(Value(value));
  }
  static void define(std::string_view name, Source source, Scope& scope) {
    if (name.empty()) return;
    if (!scope.values.emplace(name, source).second)
      throw tenon::ValueError("the value " + quoted(name) + " is there twice");
  }
  static Source read(std::string_view name, const Scope& scope, const char* what) {
    const Source* source = scope.find(name);
    if (source == nullptr) {
      throw tenon::ValueError(std::string(what) + " " + quoted(name) +
                              " is not an input, an initializer or the output of an earlier node");
    }
    return *source;
  }

  void add_initializers(const Graph& graph, Scope& scope) {
    if (graph.has_sparse_initializers)
      throw tenon::NotImplementedError("it has sparse initializers, which Tenon does not read");
    for (const TensorData& data : graph.initializers) {
      const auto [known, fresh] = known_.try_emplace({&data, ""});
      if (fresh) {
        known->second = new_constant(file_.tensor(data));
        weights_[known->second.index] = data.name;
      }
      define(data.name, known->second, scope);
    }
  }
  void add_input(const ValueInfo& info, Scope& scope) {
    const Source* initializer = scope.find(info.name);
    // Before version 4 each initializer was an input as well.
    if (initializer != nullptr && initializer->kind == Source::Kind::constant) return;
    const uint32_t slot = new_slot();
    define(info.name, {Source::Kind::frame, slot}, scope);
    built_.program.body.inputs.push_back(slot);
    built_.inputs.push_back(info);
  }

  std::string unique_name(std::string_view name) {
    std::string unique(name.empty() ? "value" : name);
    std::replace(unique.begin(), unique.end(), '.', '_');
    const std::string base = unique;
    int& last = names_[base];
    while (++last > 1) {
      unique = base + "_" + std::to_string(last);
      if (names_.try_emplace(unique, 1).second) break;
    }
    return unique;
  }

  // A constant that an op reads as a tensor of numbers is a weight: a parameter, or a buffer where the op
  // keeps statistics there.
  Source as_member(Source source, const std::string& parameter) {
    if (source.kind != Source::Kind::constant) return source;
    const auto weight = weights_.find(source.index);
    if (weight == weights_.end()) return source;
    if (const auto known = members_.find(source.index); known != members_.end())
      return known->second;
    const Value& value = built_.program.constants[source.index];
    const Tensor tensor = value.tensor();
    if (!tenon::is_floating(tensor.dtype()) || tensor.numel() < 2) return source;
    const bool buffer = parameter.compare(0, 8, "running_") == 0;
    std::vector<NamedTensor>& list = buffer ? built_.buffers : built_.parameters;
    list.push_back({unique_name(weight->second), tensor});
    return members_[source.index] = {buffer ? Source::Kind::buffer : Source::Kind::parameter,
                                     static_cast<uint32_t>(list.size() - 1)};
  }

  // ---- nodes ----

  void build_nodes(const std::vector<Node>& nodes, Scope& scope, Body& body,
                   const std::vector<OperatorSet>& sets, const FunctionCall* call) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = nodes[i];
      const std::string name =
          (call != nullptr ? name_of(*call->node, 0) + "/" : "") + name_of(node, i);
      try {
        build_node(node, name, scope, body, sets, call);
      } catch (const NodeError&) {
        throw;
      } catch (const tenon::Error& cause) {
        throw NodeError(cause.kind(), "node '" + tenon::printable(name) + "' (" +
                                          tenon::printable(node.type) + "): " + cause.what());
      }
    }
  }
  // An error that names its node.
  struct NodeError : tenon::Error {
    using tenon::Error::Error;
  };

  void build_node(const Node& node, const std::string& name, Scope& scope, Body& body,
                  const std::vector<OperatorSet>& sets, const FunctionCall* call) {
    if (++steps_ > kMostSteps)
      throw tenon::ValueError("the model has more than " + std::to_string(kMostSteps) + " nodes");
    if (const Function* function = function_of(node))
      return build_function(*function, node, scope, body, sets, call);
    if (node.domain.empty()) {
      if (node.type == "Constant") return build_constant(node, scope, call);
      if (is_another_name(node)) return build_name(node, scope);
      if (node.type == "If") return build_branch(node, name, scope, body, sets, call);
      if (node.type == "Loop") return build_loop(node, name, scope, body, sets, call);
      if (node.type == "Scan") return build_scan(node, name, scope, body, sets, call);
      if (node.type == "SequenceMap") return build_map(node, name, scope, body, sets, call);
    }
    build_call(node, name, scope, body, version_of(sets, node.domain), call);
  }

  // The nodes of a function take the place of the call.
  void build_function(const Function& function, const Node& node, Scope& scope, Body& body,
                      const std::vector<OperatorSet>& sets, const FunctionCall* outer) {
    const Level level(depth_);
    const FunctionCall call{&function, &node, outer};
    for (const FunctionCall* one = outer; one != nullptr; one = one->outer) {
      if (one->function == &function)
        throw tenon::ValueError("the function " + quoted(function.name) + " calls itself");
    }
    if (node.inputs.size() > function.inputs.size() ||
        node.outputs.size() > function.outputs.size())
      throw tenon::ValueError("the function has " + std::to_string(function.inputs.size()) +
                              " inputs and " + std::to_string(function.outputs.size()) +
                              " outputs");
    Scope inner;
    for (size_t i = 0; i < function.inputs.size(); ++i) {
      const bool given = i < node.inputs.size() && !node.inputs[i].empty();
      define(function.inputs[i], given ? read(node.inputs[i], scope, "the input") : Source(),
             inner);
    }
    build_nodes(function.nodes, inner, body, sets_of(function, sets), &call);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      define(node.outputs[i], read(function.outputs[i], inner, "the output"), scope);
  }

  // ---- attributes ----

  // The attribute of a node, or of the function call that it refers to; null where it is absent.
  static const Attribute* resolve(const Attribute* attribute, const FunctionCall* call) {
    while (attribute != nullptr && !attribute->reference.empty()) {
      if (call == nullptr)
        throw tenon::ValueError("the attribute " + quoted(attribute->name) +
                                " refers to a function's, but is not in one");
      const std::string_view name = attribute->reference;
      attribute = call->node->attribute(name);
      if (attribute == nullptr) {
        for (const Attribute& one : call->function->attribute_defaults) {
          if (one.name == name) return &one;
        }
      }
      call = call->outer;
    }
    return attribute;
  }
  static const Attribute* find_attribute(const Node& node, std::string_view name,
                                         const FunctionCall* call) {
    return resolve(node.attribute(name), call);
  }
  static const Graph& subgraph(const Node& node, std::string_view name, const FunctionCall* call) {
    const Attribute* attribute = find_attribute(node, name, call);
    if (attribute == nullptr || !attribute->graph)
      throw tenon::ValueError("it has no graph " + quoted(name));
    return *attribute->graph;
  }

  // The value of an attribute as an argument for a parameter of an op.
  Value attribute_value(const Attribute& attribute, const Parameter& parameter) {
    tenon_value value{};
    using tenon::detail::give_result;
    switch (attribute.kind) {
      case AttributeKind::integer:
        if (parameter.kind == "dtype")
          give_dtype(attribute.integer, value);
        else if (parameter.kind == "bool")
          give_result(attribute.integer != 0, &value);
        else if (parameter.kind == "float")
          give_result(static_cast<double>(attribute.integer), &value);
        else
          give_result(attribute.integer, &value);
        break;
      case AttributeKind::number:
        give_result(attribute.number, &value);
        break;
      case AttributeKind::text:
        give_result(std::string(attribute.text), &value);
        break;
      case AttributeKind::integers:
        give_result(attribute.integers, &value);
        break;
      case AttributeKind::numbers:
        give_result(attribute.numbers, &value);
        break;
      case AttributeKind::texts: {
        std::vector<std::string> texts(attribute.texts.begin(), attribute.texts.end());
        give_result(texts, &value);
        break;
      }
      case AttributeKind::tensor:
        give_result(file_.tensor(*attribute.tensor), &value);
        break;
      default:
        throw tenon::NotImplementedError("the attribute " + quoted(attribute.name) +
                                         " is of a kind that ops do not take");
    }
    return Value(value);
  }
  static void give_dtype(int64_t type, tenon_value& value) {
    const tenon::DType dtype = dtype_of_type(type);
    if (dtype == tenon::DType::none && type != 0)
      throw tenon::NotImplementedError("it makes tensors of type " + type_text(type) +
                                       ", which Tenon does not compute in");
    value = tenon::Argument(dtype).value();
  }
  // A literal of a rule; numbers are read for the parameter's type.
  static Value literal_value(const Json& literal, const Parameter& parameter) {
    tenon_value value{};
    using tenon::detail::give_result;
    if (literal.is_array()) {
      if (parameter.kind == "float") {
        std::vector<double> list;
        for (int64_t i = 0; i < literal.size(); ++i) list.push_back(literal[i].number());
        give_result(list, &value);
      } else if (parameter.kind == "str") {
        std::vector<std::string> list;
        for (int64_t i = 0; i < literal.size(); ++i) list.push_back(literal[i].text());
        give_result(list, &value);
      } else {
        std::vector<int64_t> list;
        for (int64_t i = 0; i < literal.size(); ++i) list.push_back(literal[i].integer());
        give_result(list, &value);
      }
    } else if (literal.is_text()) {
      give_result(literal.text(), &value);
    } else if (literal.is_bool()) {
      give_result(literal.as_bool(), &value);
    } else if (parameter.kind == "dtype" && literal.is_integer()) {
      give_dtype(literal.integer(), value);
    } else if (parameter.kind == "bool" && literal.is_integer()) {
      give_result(literal.integer() != 0, &value);
    } else if (parameter.kind == "float" && literal.is_number()) {
      give_result(literal.number(), &value);
    } else if (literal.is_integer()) {
      give_result(literal.integer(), &value);
    } else if (literal.is_number()) {
      give_result(literal.number(), &value);
    }
    return Value(value);
  }

  // ---- constants ----

  void build_constant(const Node& node, Scope& scope, const FunctionCall* call) {
    if (node.outputs.size() != 1 || node.attributes.size() != 1)
      throw tenon::ValueError("a Constant has one attribute and one output");
    const Attribute* attribute = resolve(&node.attributes[0], call);
    if (attribute == nullptr) throw tenon::ValueError("it has no value");
    const auto [known, fresh] = known_.try_emplace({attribute, ""});
    if (fresh) {
      known->second = new_constant(constant_tensor(*attribute));
      weights_[known->second.index] = node.outputs[0];
    }
    define(node.outputs[0], known->second, scope);
  }
  Tensor constant_tensor(const Attribute& attribute) {
    switch (attribute.kind) {
      case AttributeKind::tensor:
        return file_.tensor(*attribute.tensor);
      case AttributeKind::number:
        return tenon::full(tenon::IntList(), attribute.number, tenon::f32);
      case AttributeKind::integer:
        return tenon::full(tenon::IntList(), attribute.integer, tenon::i64);
      case AttributeKind::numbers: {
        const std::vector<float> list(attribute.numbers.begin(), attribute.numbers.end());
        return tenon::from_range(list.begin(), list.end());
      }
      case AttributeKind::integers:
        return tenon::from_range(attribute.integers.begin(), attribute.integers.end());
      default:
        throw tenon::NotImplementedError("its value is neither a number nor a tensor of numbers");
    }
  }

  // Another name of the same value; of an Optional without an input, none.
  static void build_name(const Node& node, Scope& scope) {
    const bool empty = node.inputs.empty() && node.type == "Optional";
    if ((node.inputs.size() != 1 && !empty) || node.outputs.size() != 1)
      throw tenon::ValueError("it has one input and one output");
    define(node.outputs[0], empty ? Source() : read(node.inputs[0], scope, "the input"), scope);
  }

  // ---- calls ----

  const Rule& rule_for(const Node& node, int64_t version, const FunctionCall* call) {
    const std::vector<Rule>& rules = operators_.find(node.domain, node.type, version);
    for (const Rule& rule : rules) {
      if (std::all_of(rule.attributes.begin(), rule.attributes.end(),
                      [&](const RuleAttribute& one) { return admits(one, node, call); }))
        return rule;
    }
    std::string text = "no conversion is for these attributes:";
    for (const Attribute& one : node.attributes) {
      const Attribute* attribute = resolve(&one, call);
      if (attribute == nullptr) continue;
      text += " " + tenon::printable(one.name);
      if (attribute->kind == AttributeKind::text) text += "=" + quoted(attribute->text);
      if (attribute->kind == AttributeKind::integer)
        text += "=" + std::to_string(attribute->integer);
    }
    throw tenon::NotImplementedError(text);
  }
  static bool admits(const RuleAttribute& rule, const Node& node, const FunctionCall* call) {
    if (!rule.only.defined()) return true;
    const Attribute* attribute = find_attribute(node, rule.name, call);
    if (attribute == nullptr) {
      return rule.fallback.defined() && rule.fallback.dump() == rule.only.dump();
    }
    if (rule.only.is_text())
      return attribute->kind == AttributeKind::text && attribute->text == rule.only.text();
    return attribute->kind == AttributeKind::integer && rule.only.is_integer() &&
           attribute->integer == rule.only.integer();
  }

  struct KnownOp {
    std::unique_ptr<tenon::Op> op;
    Signature signature;
  };
  const KnownOp& known_op(const std::string& name) {
    KnownOp& known = ops_[name];
    if (!known.op) {
      known.op = std::make_unique<tenon::Op>(name);
      known.signature = read_signature(*known.op);
    }
    return known;
  }

  void build_call(const Node& node, const std::string& name, Scope& scope, Body& body,
                  int64_t version, const FunctionCall* call) {
    const Rule& rule = rule_for(node, version, call);
    check_node(node, rule);
    const KnownOp& known = known_op(rule.op);
    const size_t results = rule.spread ? node.outputs.size() : known.signature.results;
    if (node.outputs.size() > results)
      throw tenon::NotImplementedError("it has " + std::to_string(node.outputs.size()) +
                                       " outputs, and its conversion gives " +
                                       std::to_string(results));
    Step step;
    step.spread = rule.spread;
    step.name = name;
    step.operation = node.type;
    step.op = std::make_unique<tenon::Op>(*known.op);
    size_t place = 0;
    for (const RuleArgument& argument : rule.arguments) {
      const Parameter& parameter = parameter_of(known, rule, argument, place++);
      StepArgument made;
      made.keyword = argument.keyword;
      if (argument.keyword.empty()) ++step.positional;
      switch (argument.kind) {
        case RuleArgument::Kind::input:
          add_sources(node, rule.inputs[argument.index], argument.index, parameter, scope, made);
          break;
        case RuleArgument::Kind::attribute:
          made.sources = {attribute_source(node, rule.attributes[argument.index], parameter, call)};
          break;
        case RuleArgument::Kind::literal:
          made.sources = {new_constant(literal_value(argument.literal, parameter))};
          break;
        case RuleArgument::Kind::version:
          made.sources = {
              new_constant(literal_value(Json::parse(std::to_string(version)), parameter))};
          break;
        case RuleArgument::Kind::outputs:
          made.sources = {new_constant(
              literal_value(Json::parse(std::to_string(node.outputs.size())), parameter))};
          break;
      }
      step.arguments.push_back(std::move(made));
    }
    if (!rule.random && is_constant(step) && is_small(step)) {
      const tenon::NoGrad no_grad;
      std::vector<Value> values = run_now(step, results);
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        const Source source = new_constant(std::move(values[i]));
        if (built_.program.constants[source.index].is_tensor())
          weights_[source.index] = node.outputs[i];
        define(node.outputs[i], source, scope);
      }
      return;
    }
    for (StepArgument& argument : step.arguments) make_members(argument, known, step);
    step.results.assign(results, -1);
    define_results(node, step, scope);
    body.steps.push_back(std::move(step));
  }
  std::vector<Value> run_now(Step& step, size_t results) {
    step.results.assign(results, -1);
    return run_step(step, built_.program.constants);
  }
  void define_results(const Node& node, Step& step, Scope& scope) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      const uint32_t slot = new_slot();
      step.results[i] = slot;
      define(node.outputs[i], {Source::Kind::frame, slot}, scope);
    }
  }
  static const Parameter& parameter_of(const KnownOp& known, const Rule& rule,
                                       const RuleArgument& argument, size_t place) {
    const auto& parameters = known.signature.parameters;
    if (argument.keyword.empty() && place < parameters.size()) return parameters[place];
    for (const Parameter& one : parameters) {
      if (one.name == argument.keyword) return one;
    }
    throw tenon::ValueError("its conversion has an argument that " + rule.op + " does not take: " +
                            (argument.keyword.empty() ? "number " + std::to_string(place + 1)
                                                      : quoted(argument.keyword)));
  }
  // Refuses attributes and inputs that the rule does not speak of: what they change would be lost.
  static void check_node(const Node& node, const Rule& rule) {
    for (const Attribute& attribute : node.attributes) {
      if (rule.attribute(attribute.name) != nullptr) continue;
      throw tenon::NotImplementedError("its attribute " + quoted(attribute.name) +
                                       " is not converted");
    }
    const bool variadic = !rule.inputs.empty() && rule.inputs.back().variadic;
    size_t count = node.inputs.size();
    while (count > 0 && node.inputs[count - 1].empty()) --count;
    if (count > rule.inputs.size() && !variadic)
      throw tenon::NotImplementedError("it has " + std::to_string(count) +
                                       " inputs, and its conversion takes " +
                                       std::to_string(rule.inputs.size()));
  }
  static void add_sources(const Node& node, const RuleInput& input, size_t index,
                          const Parameter& parameter, const Scope& scope, StepArgument& made) {
    made.as = conversion_of(parameter);
    if (input.variadic) {
      for (size_t i = index; i < node.inputs.size(); ++i)
        made.sources.push_back(node.inputs[i].empty() ? Source()
                                                      : read(node.inputs[i], scope, "the input"));
      made.as = StepArgument::As::tensors;
      return;
    }
    // A sequence is one value of the model.
    if (made.as == StepArgument::As::tensors) made.as = StepArgument::As::value;
    const bool given = index < node.inputs.size() && !node.inputs[index].empty();
    if (!given && !input.optional)
      throw tenon::ValueError("its input " + std::to_string(index + 1) + ", " + quoted(input.name) +
                              ", is missing");
    made.sources = {given ? read(node.inputs[index], scope, "the input") : Source()};
  }
  Source attribute_source(const Node& node, const RuleAttribute& rule, const Parameter& parameter,
                          const FunctionCall* call) {
    const Attribute* attribute = find_attribute(node, rule.name, call);
    if (attribute != nullptr) {
      const auto [known, fresh] = known_.try_emplace({attribute, parameter.kind});
      if (fresh) known->second = new_constant(attribute_value(*attribute, parameter));
      return known->second;
    }
    if (rule.fallback.defined()) return new_constant(literal_value(rule.fallback, parameter));
    if (rule.optional) return {};
    throw tenon::ValueError("its attribute " + quoted(rule.name) + " is missing");
  }

  // Whether it can be computed now, once for all calls. Weights stay what can be trained.
  bool is_constant(const Step& step) const {
    bool any = false;
    for (const StepArgument& argument : step.arguments) {
      for (const Source& source : argument.sources) {
        if (source.kind == Source::Kind::none) continue;
        if (source.kind != Source::Kind::constant) return false;
        const Value& value = built_.program.constants[source.index];
        any = any || value.is_tensor();
        if (argument.as != StepArgument::As::value && argument.as != StepArgument::As::tensors)
          continue;
        if (!value.is_tensor()) continue;
        const Tensor tensor = value.tensor();
        if (tenon::is_differentiable(tensor.dtype()) && tensor.numel() > 1) return false;
      }
    }
    return any;
  }
  // Whether its result cannot be large: a file must not take memory by saying a size, before it is run. A
  // result may have as many elements as its operands multiplied, as in a broadcast, and as the numbers in
  // them, which may be sizes, or steps of a range.
  bool is_small(const Step& step) {
    int64_t product = 1;
    const auto multiply = [&product](double by) {
      if (!(by <= static_cast<double>(kMostFolded))) return false;
      product *= std::max<int64_t>(static_cast<int64_t>(std::ceil(by)), 1);
      return product <= kMostFolded;
    };
    const auto multiply_number = [&](double number) {
      const double size = std::abs(number);
      return size == 0 || size > kBeyondMemory || multiply(size < 1 ? 1 / size : size);
    };
    for (const StepArgument& argument : step.arguments) {
      for (const Source& source : argument.sources) {
        if (source.kind == Source::Kind::none) continue;
        const Value& value = built_.program.constants[source.index];
        if (!value.is_tensor()) {
          const std::vector<double> numbers = numbers_in(value.get());
          if (!std::all_of(numbers.begin(), numbers.end(), multiply_number)) return false;
          continue;
        }
        const Tensor tensor = value.tensor();
        if (tenon::is_complex(tensor.dtype()) || !multiply(static_cast<double>(tensor.numel())))
          return false;
        folded_ += tensor.numel();
        if (folded_ > kMostFoldedInAll) return false;
        const std::vector<double> numbers = tensor.to_vector<double>();
        if (!std::all_of(numbers.begin(), numbers.end(), multiply_number)) return false;
      }
    }
    folded_ += product;
    return folded_ <= kMostFoldedInAll;
  }
  // The numbers of an attribute.
  static std::vector<double> numbers_in(const tenon_value& value) {
    switch (value.tag) {
      case TENON_VALUE_INT:
        return {static_cast<double>(value.as.integer)};
      case TENON_VALUE_FLOAT:
        return {value.as.number};
      case TENON_VALUE_INT_LIST:
        return {value.as.integers, value.as.integers + value.length};
      case TENON_VALUE_FLOAT_LIST:
        return {value.as.numbers, value.as.numbers + value.length};
      default:
        return {};
    }
  }
  void make_members(StepArgument& argument, const KnownOp& known, const Step& step) {
    if (argument.as != StepArgument::As::value && argument.as != StepArgument::As::tensors) return;
    std::string name = argument.keyword;
    if (name.empty()) {
      const auto place = static_cast<size_t>(&argument - step.arguments.data());
      name = known.signature.parameters[place].name;
    }
    for (Source& source : argument.sources) source = as_member(source, name);
  }

  // ---- control flow ----

  std::unique_ptr<Body> build_body(const Graph& graph, const Scope& outer,
                                   const std::vector<OperatorSet>& sets, const FunctionCall* call,
                                   size_t inputs) {
    if (graph.inputs.size() != inputs)
      throw tenon::ValueError("its graph has " + std::to_string(graph.inputs.size()) +
                              " inputs, not " + std::to_string(inputs));
    const Level level(depth_);
    auto body = std::make_unique<Body>();
    Scope scope;
    scope.outer = &outer;
    for (const ValueInfo& input : graph.inputs) {
      const uint32_t slot = new_slot();
      define(input.name, {Source::Kind::frame, slot}, scope);
      body->inputs.push_back(slot);
    }
    add_initializers(graph, scope);
    build_nodes(graph.nodes, scope, *body, sets, call);
    for (const ValueInfo& output : graph.outputs)
      body->outputs.push_back(as_member(read(output.name, scope, "the output"), ""));
    return body;
  }
  Step control(Step::Kind kind, const Node& node, const std::string& name, const Scope& scope) {
    Step step;
    step.kind = kind;
    step.name = name;
    step.operation = node.type;
    for (const std::string_view input : node.inputs)
      step.inputs.push_back(input.empty() ? Source()
                                          : as_member(read(input, scope, "the input"), ""));
    return step;
  }
  void finish(const Node& node, Step step, size_t results, Scope& scope, Body& body) {
    if (node.outputs.size() > results)
      throw tenon::ValueError("it has " + std::to_string(node.outputs.size()) +
                              " outputs, and its graph gives " + std::to_string(results));
    step.results.assign(results, -1);
    define_results(node, step, scope);
    body.steps.push_back(std::move(step));
  }

  void build_branch(const Node& node, const std::string& name, Scope& scope, Body& body,
                    const std::vector<OperatorSet>& sets, const FunctionCall* call) {
    Step step = control(Step::Kind::branch, node, name, scope);
    if (step.inputs.size() != 1) throw tenon::ValueError("an If has one input");
    for (const char* branch : {"then_branch", "else_branch"})
      step.bodies.push_back(build_body(subgraph(node, branch, call), scope, sets, call, 0));
    const size_t results = step.bodies[0]->outputs.size();
    if (step.bodies[1]->outputs.size() != results)
      throw tenon::ValueError("its branches have " + std::to_string(results) + " and " +
                              std::to_string(step.bodies[1]->outputs.size()) + " outputs");
    finish(node, std::move(step), results, scope, body);
  }

  void build_loop(const Node& node, const std::string& name, Scope& scope, Body& body,
                  const std::vector<OperatorSet>& sets, const FunctionCall* call) {
    Step step = control(Step::Kind::loop, node, name, scope);
    while (step.inputs.size() < 2) step.inputs.emplace_back();
    const Graph& graph = subgraph(node, "body", call);
    const size_t states = step.inputs.size() - 2;
    step.bodies.push_back(build_body(graph, scope, sets, call, states + 2));
    Body& inner = *step.bodies[0];
    if (inner.outputs.size() < states + 1)
      throw tenon::ValueError("its graph has " + std::to_string(inner.outputs.size()) +
                              " outputs, fewer than a condition and the states");
    for (size_t i = states + 1; i < graph.outputs.size(); ++i)
      inner.empty_outputs.push_back(empty_output(graph.outputs[i], 0));
    finish(node, std::move(step), inner.outputs.size() - 1, scope, body);
  }
  // The output of a loop without iterations: no slice, along the axis, of the declared shape.
  static Tensor empty_output(const ValueInfo& info, int64_t axis) {
    std::vector<int64_t> shape;
    for (const int64_t size : info.shape) shape.push_back(std::max<int64_t>(size, 0));
    const auto rank = static_cast<int64_t>(shape.size()) + 1;
    if (axis < 0) axis += rank;
    // Without a declared shape the axis is known when there is a slice.
    if (info.has_shape && (axis < 0 || axis >= rank))
      throw tenon::ValueError("scan_output_axes has an axis that an output of " +
                              std::to_string(rank) + " dimensions does not have");
    shape.insert(shape.begin() + std::clamp<int64_t>(axis, 0, rank - 1), 0);
    const tenon::DType dtype = dtype_of_type(info.element);
    return tenon::empty_tensor(tenon::IntList(shape.data(), static_cast<int64_t>(shape.size())),
                               dtype == tenon::DType::none ? tenon::f32 : dtype);
  }

  void build_scan(const Node& node, const std::string& name, Scope& scope, Body& body,
                  const std::vector<OperatorSet>& sets, const FunctionCall* call) {
    if (version_of(sets, "") < 9)
      throw tenon::NotImplementedError("Scan is converted from opset 9 on");
    Step step = control(Step::Kind::scan, node, name, scope);
    const Attribute* count = find_attribute(node, "num_scan_inputs", call);
    const int64_t scanned = count == nullptr ? 0 : count->integer;
    if (scanned < 1 || scanned > static_cast<int64_t>(step.inputs.size()))
      throw tenon::ValueError("num_scan_inputs is " + std::to_string(scanned) + ", of " +
                              std::to_string(step.inputs.size()) + " inputs");
    const size_t states = step.inputs.size() - static_cast<size_t>(scanned);
    const Graph& graph = subgraph(node, "body", call);
    step.bodies.push_back(build_body(graph, scope, sets, call, step.inputs.size()));
    Body& inner = *step.bodies[0];
    if (inner.outputs.size() < states)
      throw tenon::ValueError("its graph has fewer outputs than states");
    const size_t outputs = inner.outputs.size() - states;
    const auto list = [&](const char* attribute, size_t size) {
      const Attribute* found = find_attribute(node, attribute, call);
      if (found == nullptr) return std::vector<int64_t>(size, 0);
      if (found->integers.size() != size)
        throw tenon::ValueError(std::string(attribute) + " has " +
                                std::to_string(found->integers.size()) + " numbers, not " +
                                std::to_string(size));
      return found->integers;
    };
    step.scan_axes = list("scan_input_axes", static_cast<size_t>(scanned));
    step.scan_backward = list("scan_input_directions", static_cast<size_t>(scanned));
    step.output_axes = list("scan_output_axes", outputs);
    step.output_backward = list("scan_output_directions", outputs);
    for (size_t i = states; i < graph.outputs.size(); ++i)
      inner.empty_outputs.push_back(empty_output(graph.outputs[i], step.output_axes[i - states]));
    finish(node, std::move(step), inner.outputs.size(), scope, body);
  }

  void build_map(const Node& node, const std::string& name, Scope& scope, Body& body,
                 const std::vector<OperatorSet>& sets, const FunctionCall* call) {
    Step step = control(Step::Kind::map, node, name, scope);
    if (step.inputs.empty()) throw tenon::ValueError("a SequenceMap has a sequence as its input");
    step.bodies.push_back(
        build_body(subgraph(node, "body", call), scope, sets, call, step.inputs.size()));
    const size_t results = step.bodies[0]->outputs.size();
    finish(node, std::move(step), results, scope, body);
  }

  // ---- lifetimes ----

  using Slots = std::set<uint32_t>;
  static void add_reads(const std::vector<Source>& sources, Slots& slots) {
    for (const Source& source : sources) {
      if (source.kind == Source::Kind::frame) slots.insert(source.index);
    }
  }
  static Slots reads_of(const Step& step) {
    Slots slots;
    add_reads(step.inputs, slots);
    for (const StepArgument& argument : step.arguments) add_reads(argument.sources, slots);
    for (const std::unique_ptr<Body>& body : step.bodies) {
      add_reads(body->outputs, slots);
      for (const Step& inner : body->steps) slots.merge(reads_of(inner));
    }
    return slots;
  }
  // The slots that a body's own steps and inputs fill.
  static Slots own_slots(const Body& body) {
    Slots slots(body.inputs.begin(), body.inputs.end());
    for (const Step& step : body.steps) {
      for (const int64_t result : step.results) {
        if (result >= 0) slots.insert(static_cast<uint32_t>(result));
      }
    }
    return slots;
  }
  // Each step releases what no later one of its body reads, if it is the body's own. A body's inputs of a
  // loop are replaced in the next iteration.
  static void release(Body& body, const Slots&) {
    const Slots own = own_slots(body);
    Slots later;
    add_reads(body.outputs, later);
    for (auto step = body.steps.rbegin(); step != body.steps.rend(); ++step) {
      Slots used = reads_of(*step);
      for (const int64_t result : step->results) {
        if (result >= 0) used.insert(static_cast<uint32_t>(result));
      }
      for (const uint32_t slot : used) {
        if (own.count(slot) != 0 && later.insert(slot).second) step->released.push_back(slot);
      }
      for (const std::unique_ptr<Body>& inner : step->bodies) release(*inner, own);
    }
  }

  ModelFile& file_;
  Operators& operators_;
  BuiltModel& built_;
  std::map<FunctionKey, const Function*> functions_;
  std::map<std::string, KnownOp> ops_;
  // Constants by their messages and what they are for: a function's are made once for all calls.
  std::map<std::pair<const void*, std::string>, Source> known_;
  std::map<uint32_t, std::string_view> weights_;  // constants that may be members, by their names
  std::map<uint32_t, Source> members_;            // constants that are members
  std::map<std::string, int> names_;              // of members, with the last number behind them
  size_t steps_ = 0;
  int64_t folded_ = 0;  // elements of operands and results of what was computed
  int depth_ = 0;
};

}  // namespace

BuiltModel build_model(ModelFile& file, Operators& operators,
                       const std::vector<std::string_view>& outputs) {
  BuiltModel built;
  Builder(file, operators, built).build(outputs);
  return built;
}

}  // namespace onnx

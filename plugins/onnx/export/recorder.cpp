#include "export/recorder.hpp"

#include <algorithm>
#include <optional>

#include <tenon/grad_mode.hpp>
#include <tenon/shapes_only.hpp>

#include "export/convert.hpp"
#include "tensor_data.hpp"

namespace onnx {

using tenon::Call, tenon::DType, tenon::Module, tenon::Results, tenon::Tensor, tenon::Value;

namespace {

// Rules of export that are inside of each other.
constexpr int kMostDepth = 30;

class Counted {
 public:
  explicit Counted(int& count) : count_(count) { ++count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }

 private:
  int& count_;
};

// Computes elements in a scope of shapes alone.
class WithElements {
 public:
  WithElements() : outer_(tenon::service::modes().shapes_only_set(nullptr)) {}
  WithElements(const WithElements&) = delete;
  WithElements& operator=(const WithElements&) = delete;
  ~WithElements() { tenon::service::modes().shapes_only_set(outer_); }

 private:
  int64_t* outer_;
};

// Modes are asked again in a handler of one.
class WithModes {
 public:
  WithModes() : outer_(tenon::service::modes().disable(0)) {}
  WithModes(const WithModes&) = delete;
  WithModes& operator=(const WithModes&) = delete;
  ~WithModes() { tenon::service::modes().disable(outer_); }

 private:
  uint32_t outer_;
};

// How many numbers the process has drawn at random.
uint64_t draws() {
  uint64_t seed = 0, offset = 0;
  tenon::service::threads().generator_reserve(0, &seed, &offset);
  return offset;
}

template <class Body>
void each_result(const tenon_value* results, int64_t count, Body&& body) {
  for (int64_t i = 0; i < count; ++i) {
    const tenon_value& value = results[i];
    if (value.tag == TENON_VALUE_TENSOR) body(Tensor::borrow(value.as.tensor));
    for (uint32_t k = 0; value.tag == TENON_VALUE_TENSOR_LIST && k < value.length; ++k) {
      if (value.as.tensors[k] != nullptr) body(Tensor::borrow(value.as.tensors[k]));
    }
  }
}

bool is_graph(const Module& module) { return module.type() == "onnx.Model"; }

}  // namespace

Recorder::Recorder(ExportRules& rules) : rules_(rules) {}
Recorder::~Recorder() {
  for (const tenon::Hook& hook : hooks_) hook.remove();
}

Recording Recorder::record(const Module& model, const std::vector<Tensor>& inputs) {
  bool reads_elements = false;
  for (const auto& [name, module] : model.named_modules()) {
    reads_elements = reads_elements || is_graph(module);
    names_.emplace(module.handle(), name);
    hooks_.push_back(module.register_forward_pre_hook(
        [this](const Module& entered, tenon::HookValues&) { enter(entered); }));
    hooks_.push_back(module.register_forward_hook(
        [this](const Module& left, const tenon::HookValues& given, tenon::HookValues& made) {
          std::vector<Tensor> from, to;
          const auto add = [&](const tenon::HookValues& values, std::vector<Tensor>& list) {
            for (int64_t i = 0; i < values.size(); ++i) {
              const tenon_value value = values[i].value();
              const bool tensor = value.tag == TENON_VALUE_TENSOR;
              list.push_back(tensor ? Tensor::borrow(value.as.tensor) : Tensor());
            }
          };
          add(given, from);
          add(made, to);
          leave(left, from, to);
        }));
  }
  std::vector<tenon_value> values;
  for (const Tensor& input : inputs) {
    recording_.inputs.push_back(static_cast<int64_t>(recording_.values.size()));
    recording_.values.push_back({RecordedValue::Kind::input, input});
    track(input, recording_.inputs.back());
    values.push_back(tenon::Argument(input).value());
  }
  tenon_value results[tenon::detail::max_results]{};
  {
    const tenon::NoGrad no_grad;
    // The steps of a graph read shapes and conditions as elements.
    std::optional<tenon::ShapesOnly> shapes;
    if (!reads_elements) shapes.emplace();
    const tenon::ModeScope inside(inside_, tenon::Level::below_autograd), outside(outside_);
    tenon::detail::check(tenon::service::modules().call, model.handle(), values.data(),
                         static_cast<int64_t>(values.size()),
                         static_cast<const tenon_string*>(nullptr),
                         static_cast<const tenon_value*>(nullptr), int64_t{0},
                         static_cast<tenon_value*>(results), int64_t{-1});
  }
  for (tenon_value& result : results) {
    const Value owned(result);
    if (owned.is_none()) continue;
    if (!owned.is_tensor())
      throw tenon::NotImplementedError("the model returns a value that is not a tensor");
    recording_.outputs.push_back(value_of(owned.tensor()));
  }
  if (refused_.empty()) return std::move(recording_);
  std::string text = "no operator of ONNX stands for these calls:";
  for (const auto& [what, places] : refused_) {
    text += "\n  " + what + ", in ";
    const size_t shown = std::min<size_t>(places.size(), 3);
    for (size_t i = 0; i < shown; ++i) text += (i > 0 ? ", " : "") + places[i];
    if (places.size() > shown) text += " and " + std::to_string(places.size() - shown) + " more";
  }
  throw tenon::NotImplementedError(text);
}

void Recorder::enter(const Module& module) {
  places_.push_back(names_[module.handle()]);
  if (is_graph(module)) ++quiet_;
}
void Recorder::leave(const Module& module, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& outputs) {
  if (is_graph(module) && --quiet_ == 0) {
    RecordedCall call;
    call.op = module.type();
    std::vector<int64_t> from;
    from.reserve(inputs.size());
    for (const Tensor& input : inputs) from.push_back(input.defined() ? value_of(input) : -1);
    add_node(call, "", "", std::move(from), {}, outputs);
    recording_.nodes.back().model = module;
  }
  places_.pop_back();
}
const std::string& Recorder::place() const {
  static const std::string none;
  return places_.empty() ? none : places_.back();
}

Results Recorder::hear(const Call& call, bool inside) {
  if (quiet_ > 0) return call.call_parent();
  bool tracked = false;
  call.each_tensor([&](const Tensor& tensor) { tracked = tracked || is_tracked(tensor); });
  if (!tracked) return compute_constant(call);

  RecordedCall recorded;
  recorded.op = call.name();
  recorded.signature = &rules_.signature(call.op());
  recorded.arguments = call.handle()->arguments;
  Results results = [&] {
    const Counted quiet(quiet_);
    return call.call_parent();
  }();
  recorded.results = results.slots();
  recorded.result_count = results.size();

  bool any = false, fresh = false, in_place = false;
  each_result(recorded.results, recorded.result_count, [&](const Tensor& result) {
    any = true;
    bool operand = false;
    for (int64_t i = 0; i < call.size(); ++i) {
      const bool same = call.tensor(i).is_same(result);
      operand = operand || same;
      in_place =
          in_place || (same && recorded.signature->parameters[static_cast<size_t>(i)].mutates);
    }
    fresh = fresh || !operand;
  });
  std::string reason;
  if (in_place) {
    reason = "it changes a tensor in place";
  } else if (any && !fresh) {
    return results;
  } else if (convert(recorded, reason)) {
    return results;
  } else if (!inside) {
    // Its ops are heard, if it is a composite, where elements are computed.
    const WithElements elements;
    Results made = call.call_parent();
    each_result(made.slots(), made.size(), [&](const Tensor& result) {
      if (!is_tracked(result)) refuse(recorded.op, "it makes a tensor without an op");
    });
    return made;
  }
  if (!any && depth_ > 0) return results;  // numbers that a rule asks for
  if (!any) reason = "it returns what elements decide";
  refuse(recorded.op, reason);
  each_result(recorded.results, recorded.result_count, [&](const Tensor& result) {
    if (is_tracked(result)) return;
    recording_.values.push_back({RecordedValue::Kind::result, result});
    track(result, static_cast<int64_t>(recording_.values.size() - 1));
  });
  return results;
}

// Operands that do not depend on the inputs: the results do not either.
Results Recorder::compute_constant(const Call& call) {
  const Counted quiet(quiet_);
  const WithElements elements;
  const uint64_t before = draws();
  Results results = call.call_parent();
  if (draws() != before) refuse(call.name(), "it draws numbers at random");
  return results;
}

bool Recorder::convert(const RecordedCall& call, std::string& reason) {
  for (const Inverse& inverse : rules_.inverses(call.op)) {
    if (invert(*this, inverse, call, reason)) return true;
  }
  const std::vector<ExportRule>& rules = rules_.rules(call.op);
  if (!rules.empty()) reason = "no rule of export is for these arguments";
  for (const ExportRule& rule : rules) {
    if (!admits(rule, call)) continue;
    const size_t nodes = recording_.nodes.size();
    if (depth_ >= kMostDepth) {
      reason = "its rules of export call each other without an end";
      return false;
    }
    try {
      const Counted deeper(depth_);
      std::vector<Value> made;
      {
        const WithModes modes;
        const tenon::ModeScope inside(inside_, tenon::Level::below_autograd), outside(outside_);
        made = evaluate(rule, call, rules_);
      }
      std::vector<Tensor> expected, given;
      each_result(call.results, call.result_count,
                  [&](const Tensor& tensor) { expected.push_back(tensor); });
      for (const Value& value : made) {
        const tenon_value one = value.get();
        each_result(&one, 1, [&](const Tensor& tensor) { given.push_back(tensor); });
      }
      if (given.size() < expected.size())
        throw tenon::ValueError("its rule of export makes " + std::to_string(given.size()) +
                                " tensors for " + std::to_string(expected.size()));
      for (size_t i = 0; i < expected.size(); ++i) set_same(call, expected[i], given[i]);
      return true;
    } catch (const tenon::Error& error) {
      if (error.kind() == TENON_ERROR_INTERRUPTED) throw;
      reason = error.what();
      recording_.nodes.resize(nodes);
      return false;
    }
  }
  return false;
}

void Recorder::refuse(const std::string& op, const std::string& reason) {
  const std::string at = place().empty() ? "the model" : "'" + place() + "'";
  std::vector<std::string>& places = refused_[reason.empty() ? op : op + " (" + reason + ")"];
  if (places.empty() || places.back() != at) places.push_back(at);
}

void Recorder::track(const Tensor& tensor, int64_t value) {
  tracked_[tensor.handle()] = value;
  held_.push_back(tensor);
}

int64_t Recorder::value_of(const Tensor& tensor) {
  const auto tracked = tracked_.find(tensor.handle());
  if (tracked != tracked_.end()) return tracked->second;
  const auto [known, fresh] =
      constants_.try_emplace(tensor.handle(), static_cast<int64_t>(recording_.values.size()));
  if (fresh) recording_.values.push_back({RecordedValue::Kind::constant, tensor});
  return known->second;
}

void Recorder::add_node(const RecordedCall& call, std::string type, std::string domain,
                        std::vector<int64_t> inputs, std::vector<WrittenAttribute> attributes,
                        const std::vector<Tensor>& outputs) {
  RecordedNode node{place(),           call.op, std::move(type),       std::move(domain),
                    std::move(inputs), {},      std::move(attributes), {}};
  for (const Tensor& output : outputs) {
    if (!output.defined()) {
      node.outputs.push_back(-1);
      continue;
    }
    node.outputs.push_back(static_cast<int64_t>(recording_.values.size()));
    recording_.values.push_back({RecordedValue::Kind::result, output});
    track(output, node.outputs.back());
  }
  recording_.nodes.push_back(std::move(node));
}

Tensor Recorder::cast(const RecordedCall& call, const Tensor& tensor, DType dtype) {
  if (!is_tracked(tensor)) {
    const WithElements elements;
    return tenon::contiguous_as(tensor, dtype);
  }
  const Tensor made = tenon::empty_tensor(tensor.shape(), dtype);
  add_node(call, "Cast", "", {value_of(tensor)}, {{"to", type_of_dtype(dtype)}}, {made});
  return made;
}

void Recorder::set_same(const RecordedCall& call, const Tensor& result, const Tensor& made) {
  if (made.sizes() != result.sizes())
    throw tenon::ValueError("its rule of export makes a tensor of another shape");
  const Tensor same = made.dtype() == result.dtype() ? made : cast(call, made, result.dtype());
  track(result, value_of(same));
}

}  // namespace onnx

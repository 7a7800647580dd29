#include "program.hpp"

#include <algorithm>
#include <optional>

#include <tenon/call.hpp>
#include <tenon/detail/parameters.hpp>
#include <tenon/device.hpp>
#include <tenon/grad_mode.hpp>
#include <tenon/ops.hpp>
#include <tenon/shapes_only.hpp>

#include "arguments.hpp"
#include "chain.hpp"

namespace onnx {

using tenon::Tensor, tenon::Value;

namespace {

Value value_of_tensor(Tensor tensor) {
  tenon_value value{};
  if (tensor.defined()) {
    value.tag = TENON_VALUE_TENSOR;
    value.as.tensor = tensor.give();
  }
  return Value(value);
}

// Whether a value is small enough that what is computed of it takes no time.
bool is_small(const Value& value) {
  constexpr int64_t most = 1 << 16;
  return !value.is_tensor() || !value.tensor().defined() || value.tensor().numel() <= most;
}

// Elements of a tensor on a device are not in memory of the CPU, and are there.
bool has_no_data(const Tensor& tensor) {
  return tensor.defined() && (tensor.view_record().flags & TENON_TENSOR_SHAPE_ONLY) != 0 &&
         tenon::device::name_of(tensor) == "cpu";
}
bool has_no_data(const Value& value) { return value.is_tensor() && has_no_data(value.tensor()); }
// A tensor of the same dtype and shape that has data: one element.
Tensor with_data(const Tensor& tensor) {
  return tenon::zeros(tenon::IntList(), tensor.dtype()).expand(tensor.shape());
}

// A step's inputs and results in a frame.
//
// Some shapes depend on elements also where ops compute shapes alone, and where the caller passes tensors
// without data to have the calls listed: of the target of a Reshape, which the model computes from the Shape
// of something. So what is computed of shapes, of constants and of integers that the caller gave is known, and
// computed, which no mode sees; the rest is not.
class Run {
 public:
  Run(const Program& program, const Members& members)
      : program_(program), members_(members), frame_(program.frame_size) {}

  std::vector<Value> run(std::vector<Value> inputs) {
    shapes_only_ = tenon::ComputeElements().inside_shapes_only() ||
                   std::any_of(inputs.begin(), inputs.end(),
                               [](const Value& input) { return has_no_data(input); });
    stand_ins_ = shapes_only_ && !tenon::ComputeElements().inside_shapes_only();
    if (shapes_only_) known_.resize(program_.frame_size);
    // Blocks are for calls that nothing watches or records.
    in_blocks_ =
        !shapes_only_ && !tenon::GradMode::enabled() && tenon::service::calls().watched() == 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const uint32_t slot = program_.body.inputs[i];
      if (shapes_only_) {
        known_[slot] = inputs[i].is_tensor() && !has_no_data(inputs[i]) && is_small(inputs[i]) &&
                       !tenon::is_differentiable(inputs[i].tensor().dtype());
      }
      frame_[slot] = std::move(inputs[i]);
    }
    return run(program_.body);
  }

 private:
  tenon_value value_of(const Source& source) const {
    tenon_value value{};
    switch (source.kind) {
      case Source::Kind::none:
        break;
      case Source::Kind::frame:
        return frame_[source.index].get();
      case Source::Kind::constant: {
        const int64_t member = program_.members[source.index];
        if (member < 0) return program_.constants[source.index].get();
        value.as.tensor = members_.constant(static_cast<uint32_t>(member));
        break;
      }
      case Source::Kind::parameter:
        value.as.tensor = members_.parameter(source.index);
        break;
      case Source::Kind::buffer:
        value.as.tensor = members_.buffer(source.index);
        break;
    }
    value.tag = value.as.tensor != nullptr ? TENON_VALUE_TENSOR : TENON_VALUE_NONE;
    return value;
  }
  // A constant as the program has it: its elements are read here.
  tenon_value value_on_cpu(const Source& source) const {
    return source.kind == Source::Kind::constant ? program_.constants[source.index].get()
                                                 : value_of(source);
  }

  std::vector<Value> run(const Body& body) {
    size_t one_by_one = in_blocks_ ? 0 : body.steps.size();  // steps before it begin no chain
    for (size_t i = 0; i < body.steps.size(); ++i) {
      if (i >= one_by_one) {
        const Chain chain = chain_at(body, i, [this](const Source& at) { return value_of(at); });
        one_by_one = i + chain.steps;
        if (chain.steps > 1 && run_chain(body, i, chain)) {
          i = one_by_one - 1;
          continue;
        }
      }
      const Step& step = body.steps[i];
      try {
        run(step);
      } catch (const tenon::Error& cause) {
        throw tenon::Error(cause.kind(), std::string(cause.what()) + "\n  at node '" + step.name +
                                             "' (" + step.operation + ")");
      }
      for (const uint32_t slot : step.released) frame_[slot] = Value();
    }
    std::vector<Value> outputs;
    outputs.reserve(body.outputs.size());
    for (const Source& source : body.outputs) outputs.push_back(share(value_of(source)));
    return outputs;
  }

  // False where the steps are to run one by one: of an error, so that it names the node and its operands.
  bool run_chain(const Body& body, size_t first, const Chain& chain) {
    ChainRun blocks(body, first, chain, frame_);
    try {
      if (blocks.run([this](const Step& step) { give(step, call(step)); })) {
        blocks.finish();
        return true;
      }
    } catch (const tenon::Error& error) {
      blocks.undo();
      if (error.kind() == TENON_ERROR_INTERRUPTED || error.kind() == TENON_ERROR_MEMORY) throw;
      return false;
    }
    blocks.undo();
    return false;
  }

  void run(const Step& step) {
    switch (step.kind) {
      case Step::Kind::call:
        give(step, shapes_only_ ? call_for_shapes(step) : call(step));
        break;
      case Step::Kind::branch:
        run_branch(step);
        break;
      case Step::Kind::loop:
        run_loop(step);
        break;
      case Step::Kind::scan:
        run_scan(step);
        break;
      case Step::Kind::map:
        run_map(step);
        break;
    }
  }
  std::vector<Value> call(const Step& step) const {
    return CallArguments(step,
                         [this](const Source& source, bool reads) {
                           return reads ? value_on_cpu(source) : value_of(source);
                         })
        .call(*step.op, step.results.size(), step.spread);
  }
  void give(const Step& step, std::vector<Value> results) {
    for (size_t i = 0; i < step.results.size(); ++i) {
      if (step.results[i] >= 0)
        frame_[static_cast<size_t>(step.results[i])] = std::move(results[i]);
    }
  }

  // ---- elements where shapes alone are computed ----

  bool is_known(const Source& source) const {
    if (source.kind == Source::Kind::frame) return known_[source.index];
    return source.kind == Source::Kind::constant || source.kind == Source::Kind::none;
  }
  bool is_known(const StepArgument& argument) const {
    return std::all_of(argument.sources.begin(), argument.sources.end(),
                       [this](const Source& source) { return is_known(source); });
  }
  void set_known(const Step& step, size_t result, bool known) {
    if (shapes_only_ && step.results[result] >= 0)
      known_[static_cast<size_t>(step.results[result])] = known;
  }
  void require_known(bool known, const std::string& what) const {
    if (shapes_only_ && !known)
      throw tenon::NotImplementedError(
          what + " depends on elements, which are not computed where shapes alone are");
  }

  std::vector<Value> call_for_shapes(const Step& step) {
    bool known = step.operation == "Shape" || step.operation == "Size";
    if (!known) {
      known = std::all_of(step.arguments.begin(), step.arguments.end(),
                          [this](const StepArgument& argument) { return is_known(argument); });
    }
    for (size_t i = 0; i < step.arguments.size() && !known; ++i) {
      using As = StepArgument::As;
      const StepArgument& argument = step.arguments[i];
      if (argument.as == As::value || argument.as == As::tensors) continue;
      require_known(std::all_of(argument.sources.begin(), argument.sources.end(),
                                [this](const Source& source) { return is_readable(source); }),
                    argument.keyword.empty() ? "argument " + std::to_string(i)
                                             : "the argument '" + argument.keyword + "'");
    }
    std::vector<Value> results = known ? call_known(step) : call(step);
    for (size_t i = 0; i < results.size(); ++i) set_known(step, i, known && is_small(results[i]));
    return results;
  }

  std::vector<Value> call_known(const Step& step) const {
    const tenon::ComputeElements elements;
    const tenon::DisableTenonFunction no_modes;
    std::vector<Value> stand_ins;  // operands of Shape and Size
    return CallArguments(step,
                         [&](const Source& source, bool) {
                           const tenon_value value = value_on_cpu(source);
                           if (value.tag != TENON_VALUE_TENSOR) return value;
                           const Tensor& tensor = Tensor::borrow(value.as.tensor);
                           if (!has_no_data(tensor)) return value;
                           stand_ins.push_back(value_of_tensor(with_data(tensor)));
                           return stand_ins.back().get();
                         })
        .call(*step.op, step.results.size(), step.spread);
  }

  // ---- control flow ----

  void run_branch(const Step& step) {
    require_known(is_readable(step.inputs[0]), "the condition");
    const Body& body = *step.bodies[truth_of(value_on_cpu(step.inputs[0])) ? 0 : 1];
    std::vector<Value> results = run(body);
    for (size_t i = 0; i < results.size() && shapes_only_; ++i)
      set_known(step, i, is_known(body.outputs[i]));
    give(step, std::move(results));
  }
  // Whether control flow can read it. The caller that has calls listed gives no data to what it must not read.
  bool is_readable(const Source& source) const {
    if (!shapes_only_ || is_known(source)) return true;
    if (!stand_ins_) return false;
    const tenon_value value = value_of(source);
    return value.tag == TENON_VALUE_TENSOR && !has_no_data(Tensor::borrow(value.as.tensor));
  }
  bool is_known_input(const Step& step, size_t input) const {
    return !shapes_only_ || is_known(step.inputs[input]);
  }

  // Inputs: trip count, condition, states. The body takes the iteration, the condition and the states,
  // and gives the condition, the states and an element of each scan output.
  void run_loop(const Step& step) {
    const Body& body = *step.bodies[0];
    const size_t states = step.inputs.size() - 2;
    require_known(is_readable(step.inputs[0]), "the trip count");
    require_known(is_readable(step.inputs[1]), "the condition");
    const tenon_value trips = value_on_cpu(step.inputs[0]), first = value_on_cpu(step.inputs[1]);
    const bool counted = trips.tag != TENON_VALUE_NONE;
    const int64_t most = counted ? integer_of(trips) : INT64_MAX;
    bool continues = first.tag == TENON_VALUE_NONE || truth_of(first);
    if (continues && !counted && is_always_true(body.outputs[0], body)) {
      throw tenon::ValueError(
          "the loop never ends: it has no trip count, and its condition is always true; give it "
          "one");
    }
    std::vector<Value> state;
    std::vector<bool> known(states);
    for (size_t i = 0; i < states; ++i) {
      state.push_back(share(value_of(step.inputs[i + 2])));
      known[i] = is_known_input(step, i + 2);
    }
    std::vector<std::vector<Tensor>> scanned(body.outputs.size() - 1 - states);
    for (int64_t i = 0; i < most && continues; ++i) {
      {
        const tenon::ComputeElements elements;
        // Known numbers are computed with, so that they must have elements.
        std::optional<tenon::DisableTenonFunction> no_modes;
        if (stand_ins_) no_modes.emplace();
        frame_[body.inputs[0]] = value_of_tensor(tenon::full(tenon::IntList(), i, tenon::i64));
        frame_[body.inputs[1]] =
            value_of_tensor(tenon::full(tenon::IntList(), true, tenon::boolean));
      }
      for (size_t s = 0; s < states; ++s) frame_[body.inputs[s + 2]] = std::move(state[s]);
      for (size_t s = 0; s < states + 2 && shapes_only_; ++s)
        known_[body.inputs[s]] = s < 2 || known[s - 2];
      std::vector<Value> given = run(body);
      require_known(is_readable(body.outputs[0]), "the condition of the loop");
      continues = truth_of(given[0].get());
      for (size_t s = 0; s < states; ++s) {
        state[s] = std::move(given[s + 1]);
        known[s] = !shapes_only_ || is_known(body.outputs[s + 1]);
      }
      for (size_t s = 0; s < scanned.size(); ++s)
        scanned[s].push_back(given[s + 1 + states].tensor());
    }
    for (size_t s = 0; s < scanned.size(); ++s) {
      state.push_back(
          value_of_tensor(scanned[s].empty() ? body.empty_outputs[s] : tenon::stack(scanned[s])));
    }
    for (size_t i = 0; i < state.size(); ++i) set_known(step, i, i < states && known[i]);
    give(step, std::move(state));
  }

  // Whether the condition that a loop's body gives is a constant, or the one that it was given.
  bool is_always_true(const Source& condition, const Body& body) const {
    if (condition.kind == Source::Kind::frame) return condition.index == body.inputs[1];
    return condition.kind == Source::Kind::constant && truth_of(value_on_cpu(condition));
  }

  // Inputs: states, then what is scanned. The body takes states and a slice of each, and gives states
  // and a slice of each output.
  void run_scan(const Step& step) {
    const Body& body = *step.bodies[0];
    const size_t count = step.scan_axes.size(), states = step.inputs.size() - count;
    std::vector<Value> state;
    for (size_t i = 0; i < states; ++i) state.push_back(share(value_of(step.inputs[i])));
    std::vector<std::vector<Tensor>> slices;
    for (size_t i = 0; i < count; ++i) {
      const tenon_value whole = value_of(step.inputs[states + i]);
      if (whole.tag != TENON_VALUE_TENSOR)
        tenon::detail::throw_kind("what a Scan scans", whole, "a tensor");
      slices.push_back(tenon::unbind(Tensor::borrow(whole.as.tensor), step.scan_axes[i]));
      if (step.scan_backward[i] != 0) std::reverse(slices.back().begin(), slices.back().end());
      if (slices.back().size() != slices.front().size()) {
        throw tenon::ValueError("the inputs that it scans have " +
                                std::to_string(slices.front().size()) + " and " +
                                std::to_string(slices.back().size()) + " slices");
      }
    }
    std::vector<std::vector<Tensor>> scanned(body.outputs.size() - states);
    for (size_t i = 0; !slices.empty() && i < slices.front().size(); ++i) {
      for (size_t s = 0; s < states; ++s) frame_[body.inputs[s]] = std::move(state[s]);
      for (size_t s = 0; s < count; ++s)
        frame_[body.inputs[states + s]] = value_of_tensor(slices[s][i]);
      std::vector<Value> given = run(body);
      for (size_t s = 0; s < states; ++s) state[s] = std::move(given[s]);
      for (size_t s = 0; s < scanned.size(); ++s) scanned[s].push_back(given[s + states].tensor());
    }
    for (size_t s = 0; s < scanned.size(); ++s) {
      if (step.output_backward[s] != 0) std::reverse(scanned[s].begin(), scanned[s].end());
      state.push_back(value_of_tensor(scanned[s].empty()
                                          ? body.empty_outputs[s]
                                          : tenon::stack(scanned[s], step.output_axes[s])));
    }
    give(step, std::move(state));
  }

  // The body runs on each element of the sequences; tensors among the inputs are the same each time.
  void run_map(const Step& step) {
    const Body& body = *step.bodies[0];
    const tenon_value first = value_of(step.inputs[0]);
    if (first.tag != TENON_VALUE_TENSOR_LIST)
      tenon::detail::throw_kind("the first input of a SequenceMap", first, "a sequence");
    std::vector<std::vector<Tensor>> lists(body.outputs.size());
    for (uint32_t i = 0; i < first.length; ++i) {
      for (size_t s = 0; s < step.inputs.size(); ++s) {
        const tenon_value value = value_of(step.inputs[s]);
        const bool sequence = value.tag == TENON_VALUE_TENSOR_LIST;
        if (sequence && value.length != first.length) {
          throw tenon::ValueError("its sequences have " + std::to_string(first.length) + " and " +
                                  std::to_string(value.length) + " tensors");
        }
        frame_[body.inputs[s]] =
            sequence ? value_of_tensor(Tensor::borrow(value.as.tensors[i])) : share(value);
      }
      std::vector<Value> given = run(body);
      for (size_t s = 0; s < given.size(); ++s) lists[s].push_back(given[s].tensor());
    }
    std::vector<Value> results;
    for (std::vector<Tensor>& list : lists) {
      tenon_value value{};
      tenon::detail::give_result(list, &value);
      results.emplace_back(value);
    }
    give(step, std::move(results));
  }

  const Program& program_;
  const Members& members_;
  std::vector<Value> frame_;
  bool in_blocks_ = false;  // chains of steps run block by block
  bool shapes_only_ = false;
  bool stand_ins_ = false;   // shapes alone, because the caller gave tensors without data
  std::vector<bool> known_;  // by slot, where shapes alone are computed
};

}  // namespace

Value share(const tenon_value& value) {
  tenon_value copy = value;
  if (value.tag == TENON_VALUE_TENSOR) {
    tenon::service::tensors().retain(copy.as.tensor);
  } else if (value.tag == TENON_VALUE_TENSOR_LIST) {
    std::vector<Tensor> list;
    for (uint32_t i = 0; i < value.length; ++i) list.push_back(Tensor::borrow(value.as.tensors[i]));
    copy = tenon_value{};
    tenon::detail::give_result(std::move(list), &copy);
  } else if (value.tag >= TENON_VALUE_STRING) {
    tenon::detail::throw_kind("a value of the model", value, "a tensor or a list of tensors");
  }
  return Value(copy);
}

std::vector<Value> run_program(const Program& program, const Members& members,
                               std::vector<Value> inputs) {
  return Run(program, members).run(std::move(inputs));
}

std::vector<Value> run_step(const Step& step, const std::vector<Value>& constants) {
  return CallArguments(step,
                       [&](const Source& source, bool) {
                         return source.kind == Source::Kind::constant
                                    ? constants[source.index].get()
                                    : tenon_value{};
                       })
      .call(*step.op, step.results.size(), step.spread);
}

}  // namespace onnx

// Checks of one op, stage by stage.
#include <algorithm>
#include <array>

#include "batching.hpp"
#include "op_check.hpp"

namespace cli {

CheckedOp checked_op(const tenon::Json& declaration) {
  CheckedOp op;
  op.name = declaration["name"].text();
  op.parameters = declared_types(declaration["parameters"]);
  op.returns = declared_types(declaration["returns"]);
  op.differentiable = declaration["differentiable"].text("none");
  op.jvp = declaration["jvp"].text("none");
  op.samples = declaration["samples"].text();
  op.double_backward = declaration["double_backward"].text();
  op.function = declaration["function"].as_bool();
  op.zero_gradient = declaration["zero_gradient"].as_bool();
  return op;
}

namespace {

bool takes_gradients(const OpCheck& check) {
  for (const Sample& sample : check.samples) {
    const SampleCall call = check.call_of(sample);
    const bool takes = std::any_of(call.places.begin(), call.places.end(),
                                   [](const auto& place) { return place.requires_grad; });
    if (takes && has_floating(readable(tensors_of(call(call.tensors))))) return true;
  }
  return false;
}
bool has_gradients(const OpCheck& check) {
  return check.op.differentiable != "none" && !check.op.zero_gradient && takes_gradients(check) &&
         check.found.count("cut-graph") == 0;
}

// Draws differ between samples, or are refused.
bool runs_in_batches(const OpCheck& check) {
  return check.found.empty() && !check.random && has_vmap();
}

bool always(const OpCheck&) { return true; }
bool is_sound(const OpCheck& check) { return check.found.empty(); }
bool needs_gradient_check(const OpCheck& check) {
  return is_sound(check) && takes_gradients(check);
}
bool has_sound_gradients(const OpCheck& check) { return is_sound(check) && has_gradients(check); }
bool has_forward_mode(const OpCheck& check) {
  if (!takes_gradients(check) || check.found.count("cut-graph") > 0) return false;
  if (check.op.jvp != "none" || check.op.differentiable == "composite")
    return has_gradients(check) || check.op.zero_gradient;
  if (check.op.differentiable == "formula" && has_gradients(check))
    check.listener.note("no jvp: forward mode refuses it");
  return false;
}
bool has_second_order(const OpCheck& check) {
  if (!has_gradients(check)) return false;
  if (check.op.double_backward != "once") return is_sound(check);
  check.listener.note("declared once_differentiable: its second order is refused");
  return false;
}

// In this order: what is cheap first, and what makes later findings certain to follow. Memory before
// sizes: beside a large block a read out of bounds ends the process.
struct Stage {
  const char* name;
  bool (*applies)(const OpCheck&);
  void (*check)(OpCheck&);
  bool last_of_group;  // with a finding so far, the stages of later groups say nothing new
};
constexpr std::array kStages{
    Stage{"call", always, check_calls, true},
    Stage{"layouts and dtypes", always, check_layouts, false},
    Stage{"shapes", always, check_shapes, false},
    Stage{"odd inputs", always, check_odd_inputs, false},
    Stage{"memory", is_sound, check_memory, false},
    Stage{"sizes", is_sound, check_sizes, false},
    Stage{"ranks", is_sound, check_ranks, false},
    Stage{"operands", is_sound, check_operands, false},
    Stage{"numbers", is_sound, check_numbers, true},
    Stage{"gradient", needs_gradient_check, check_gradients, false},
    Stage{"forward mode", has_forward_mode, check_forward_mode, false},
    Stage{"second order", has_second_order, check_second_order, false},
    Stage{"subsets", has_sound_gradients, check_subsets, false},
    Stage{"graphs", has_sound_gradients, check_graphs, false},
    Stage{"gradient memory", has_sound_gradients, check_gradient_memory, false},
    Stage{"batching", runs_in_batches, check_batching, false},
    Stage{"threads", is_sound, check_threads, false},
    Stage{"leaks", is_sound, check_leaks, false},
};

}  // namespace

void OpCheck::find_failing_rule(const char* kind, const tenon::Error& error, const Sample& sample) {
  find(contains_text(error.what(), "which was not kept") ? "unsaved-read" : kind, error.what(),
       &sample);
}

// "f(): result 0 is none, but the schema declares Tensor; ...".
bool OpCheck::find_refused_result(const tenon::Error& error, const Sample& sample) {
  const std::string text = error.what();
  const size_t begin = text.find("(): result "), end = text.find("; fix the op in plugin");
  if (op.name != error.op() || begin == std::string::npos || end == std::string::npos) return false;
  const std::string fault = text.substr(begin + 4, end - begin - 4);
  find(contains_text(fault, "does not share") ? "missing-alias" : "result", fault, &sample);
  return true;
}

const DeclaredType& OpCheck::parameter_of(const Sample& sample, size_t value) const {
  const std::string& name = sample.values[value].name;
  return *std::find_if(op.parameters.begin(), op.parameters.end(),
                       [&](const DeclaredType& type) { return type.name == name; });
}

bool names_dimension(const DeclaredType& type) {
  constexpr std::array names{"dim", "axis", "dims", "axes", "dim0", "dim1"};
  return type.base == "int" && std::find(names.begin(), names.end(), type.name) != names.end();
}

bool OpCheck::mutates(const Sample& sample) const {
  if (!mutated.empty()) return true;
  for (size_t v = 0; v < sample.values.size(); ++v) {
    if (parameter_of(sample, v).mutates) return true;
  }
  return false;
}

void check_op(const CheckedOp& op, const CheckSettings& settings, CheckListener& listener) {
  OpCheck check(op, settings, listener);
  for (const Stage& stage : kStages) {
    if (stage.applies(check)) {
      check.run_stage(stage.name, [&] {
        if (&stage != kStages.data() || find_samples(check)) stage.check(check);
      });
    }
    if (check.samples.empty()) return;
    if (stage.last_of_group && !check.found.empty()) break;
  }
  listener.samples(static_cast<int64_t>(check.samples.size()));
}

}  // namespace cli

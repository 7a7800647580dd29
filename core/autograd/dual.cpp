// Forward mode.
#include "core/autograd/dual.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include "core/autograd/history.hpp"
#include "core/base/error.hpp"
#include "core/dispatch/call.hpp"
#include "core/dispatch/registry.hpp"
#include "core/dispatch/value.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

std::atomic<uint64_t> level_counter{1};
thread_local uint64_t open_level = 0;  // 0: none

std::string name_of(const Implementation& implementation) {
  return std::string(implementation.schema.short_name());
}

void attach(Tensor& tensor, TensorRef tangent) {
  TensorMeta& meta = meta_of(tensor);
  meta.tangent = std::move(tangent);
  meta.tangent_level = open_level;
  tensor.view.flags |= TENON_TENSOR_HAS_TANGENT;
}

TensorRef zeros_like(const Tensor& tensor) {
  TensorRef zeros = make_empty(tensor.view.dtype, tensor.shape());
  tenon_value zero{};
  zero.tag = TENON_VALUE_INT;
  fill(*zeros, zero);
  return zeros;
}

// What a rule sees right after forward: the call itself.
class JvpRule final : public RuleState {
 public:
  std::vector<Tensor**> const* results = nullptr;
  FunctionNotes* notes = nullptr;
  int64_t slots = 0;
  int64_t only_slot = -1;  // pointwise: the one input that is asked for

  Tensor* result(int64_t index) override {
    return index >= 0 && index < static_cast<int64_t>(results->size())
               ? alias_result(*(*results)[static_cast<size_t>(index)])
               : nullptr;
  }
  bool needs_gradient(int64_t slot) override { return only_slot < 0 || slot == only_slot; }
  int64_t slot_count() override { return slots; }
  int64_t saved_count() override {
    return notes == nullptr ? 0 : static_cast<int64_t>(notes->saved.size());
  }
  Tensor* saved(int64_t index) override {
    if (index < 0 || index >= saved_count())
      throw Error(TENON_ERROR_INDEX, "fewer tensors were saved than are asked for");
    return alias_result(notes->saved[static_cast<size_t>(index)].get());
  }
  void* stash() override { return notes == nullptr ? nullptr : notes->stash; }

 private:
  // The tangent may keep what it is computed from, and the result keeps its tangent: a result is
  // handed out as another tensor, so that it does not keep itself.
  Tensor* alias_result(Tensor* tensor) {
    const bool own =
        tensor != nullptr && std::any_of(results->begin(), results->end(),
                                         [&](Tensor** place) { return *place == tensor; });
    if (!own) return tensor;
    held_.push_back(make_detached(*tensor));
    return held_.back().get();
  }
  std::vector<TensorRef> held_;
};

void run_rule(const Implementation& implementation, tenon_rule_function rule,
              const tenon_value* arguments, JvpRule& state, std::span<Tensor* const> given,
              std::vector<TensorRef>& answer) {
  state.answer = &answer;
  state.answered = false;
  tenon_context context{&implementation, arguments, nullptr, &state};
  tenon_error* error = nullptr;
  const tenon_status status = rule(implementation.descriptor.self, &context, given.data(),
                                   static_cast<int64_t>(given.size()), &error);
  if (status != TENON_OK) {
    add_error_context(&error, implementation, status);
    throw_status(status, error);
  }
}

TensorRef add(TensorRef a, TensorRef b) {
  if (!a) return b;
  if (!b) return a;
  static const tenon_op* const op = Registry::process().require("add");
  const tenon_value arguments[] = {tensor_value(a.get()), tensor_value(b.get())};
  return call_tensor(op, arguments);
}

// The tangent at the shape of the result: operands may have been broadcast.
TensorRef expanded(const TensorRef& tangent, const Tensor& like) {
  if (std::equal(tangent->shape().begin(), tangent->shape().end(), like.shape().begin(),
                 like.shape().end()))
    return tangent;
  static const tenon_op* const op = Registry::process().require("expand");
  tenon_value shape{};
  shape.tag = TENON_VALUE_INT_LIST;
  shape.length = like.view.rank;
  shape.as.integers = like.view.shape;
  const tenon_value arguments[] = {tensor_value(tangent.get()), shape};
  return call_tensor(op, arguments);
}

}  // namespace

void enter_dual_level() {
  if (open_level != 0)
    throw Error(TENON_ERROR_RUNTIME,
                "a dual level is open already: nested forward mode is not supported");
  open_level = level_counter.fetch_add(1);
}

void exit_dual_level() {
  if (open_level == 0) throw Error(TENON_ERROR_RUNTIME, "no dual level is open");
  open_level = 0;
}

Tensor* tangent_of(const Tensor& tensor) {
  if (!tensor.has_flag(TENON_TENSOR_HAS_TANGENT) || open_level == 0) return nullptr;
  TensorMeta* meta = meta_if_any(tensor);
  return meta != nullptr && meta->tangent_level == open_level ? meta->tangent.get() : nullptr;
}

TensorRef make_dual(Tensor& primal, Tensor& tangent) {
  if (open_level == 0) throw Error(TENON_ERROR_RUNTIME, "make_dual needs an open dual level");
  if (!dtype_floating(primal.view.dtype) || !dtype_floating(tangent.view.dtype)) {
    throw Error(TENON_ERROR_TYPE,
                std::string("make_dual: primal and tangent must be floating point, not ") +
                    dtype_text(primal.view.dtype) + " and " + dtype_text(tangent.view.dtype));
  }
  if (!std::equal(primal.shape().begin(), primal.shape().end(), tangent.shape().begin(),
                  tangent.shape().end())) {
    throw Error(TENON_ERROR_VALUE, "make_dual: the tangent has shape " +
                                       shape_text(tangent.shape()) + " but the primal has shape " +
                                       shape_text(primal.shape()));
  }
  if (primal.view.dtype != tangent.view.dtype) {
    throw Error(TENON_ERROR_TYPE, std::string("make_dual: the tangent has dtype ") +
                                      dtype_text(tangent.view.dtype) +
                                      " but the primal has dtype " + dtype_text(primal.view.dtype));
  }
  if (tangent_of(tangent) != nullptr)
    throw Error(TENON_ERROR_RUNTIME,
                "make_dual: the tangent carries a tangent of this level itself");
  TensorRef dual = make_detached(primal);
  if (primal.requires_grad()) {
    const Edge edge = gradient_edge(primal);
    set_history(*dual, edge.node, edge.output);
    edge.node->release();
  }
  attach(*dual, TensorRef(&tangent));
  return dual;
}

bool carries_tangent(const Implementation& implementation, const tenon_value* arguments) {
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    const tenon_value& value = arguments[i];
    if (value.tag == TENON_VALUE_TENSOR && tangent_of(*value.as.tensor) != nullptr) return true;
    for (uint32_t k = 0; value.tag == TENON_VALUE_TENSOR_LIST && k < value.length; ++k) {
      if (value.as.tensors[k] != nullptr && tangent_of(*value.as.tensors[k]) != nullptr)
        return true;
    }
  }
  return false;
}

void check_dual(const Implementation& implementation, const tenon_value* arguments) {
  if (implementation.out_parameter >= 0 &&
      arguments[implementation.out_parameter].tag == TENON_VALUE_TENSOR) {
    throw Error(TENON_ERROR_RUNTIME,
                name_of(implementation) +
                    "(): functions with out=... arguments don't support forward mode, but one of "
                    "the arguments carries a tangent");
  }
  const bool constant = implementation.descriptor.differentiable == TENON_DIFFERENTIABLE_NONE;
  if (implementation.descriptor.jvp_kind == TENON_JVP_NONE && !constant) {
    throw Error(TENON_ERROR_NOT_IMPLEMENTED,
                "[" + implementation.schema.name + "::jvp] not implemented: op '" +
                    implementation.schema.name + "' of plugin '" + implementation.provider +
                    "' was given a dual tensor; you should implement its jvp");
  }
}

void propagate_tangents(const Implementation& implementation, const tenon_value* arguments,
                        const std::vector<TensorRef>& originals,
                        const std::vector<Tensor**>& results, FunctionNotes* notes) {
  const uint32_t kind = implementation.descriptor.jvp_kind;
  if (kind == TENON_JVP_NONE) {
    const bool floating = std::any_of(results.begin(), results.end(), [](Tensor** place) {
      return *place != nullptr && dtype_floating((*place)->view.dtype);
    });
    if (!floating || (implementation.flags & TENON_OP_ZERO_GRADIENT) != 0) return;
    throw Error(TENON_ERROR_NOT_IMPLEMENTED,
                "[" + implementation.schema.name + "::jvp] not implemented: op '" +
                    implementation.schema.name + "' of plugin '" + implementation.provider +
                    "' was given a dual tensor; you should implement its jvp");
  }
  // Operands as they were, without tangents: rules must not differentiate themselves at this level.
  tenon_value plain[kMaxParameters];
  std::vector<TensorRef> held;
  std::vector<std::vector<Tensor*>> lists;
  std::vector<Tensor*> tangents;
  std::vector<TensorRef> zero_tangents;
  std::vector<uint32_t> slot_parameter;
  std::vector<uint32_t> slot_entry;
  const auto strip = [&](Tensor* tensor) {
    if (tensor == nullptr || tangent_of(*tensor) == nullptr) return tensor;
    held.push_back(make_detached(*tensor));
    if (tensor->requires_grad()) {
      const Edge edge = gradient_edge(*tensor);
      set_history(*held.back(), edge.node, edge.output);
      edge.node->release();
    }
    return held.back().get();
  };
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    plain[i] = arguments[i];
    const bool slot = i < implementation.slot_parameters;
    if (arguments[i].tag == TENON_VALUE_TENSOR_LIST) {
      lists.emplace_back();
      for (uint32_t k = 0; k < arguments[i].length; ++k) {
        Tensor* tensor = arguments[i].as.tensors[k];
        if (slot) {
          tangents.push_back(tensor == nullptr ? nullptr : tangent_of(*tensor));
          slot_parameter.push_back(i);
          slot_entry.push_back(k);
        }
        lists.back().push_back(strip(tensor));
      }
      plain[i].as.tensors = lists.back().data();
      continue;
    }
    Tensor* tensor = arguments[i].tag == TENON_VALUE_TENSOR ? arguments[i].as.tensor : nullptr;
    if (slot) {
      tangents.push_back(tensor == nullptr ? nullptr : tangent_of(*tensor));
      slot_parameter.push_back(i);
      slot_entry.push_back(0);
    }
    if (tensor != nullptr) {
      const bool changed = i < originals.size() && originals[i];
      plain[i].as.tensor = changed ? originals[i].get() : strip(tensor);
    }
  }
  // The tangents of an operand changed in place are read before they are replaced.
  std::vector<TensorRef> keep;
  for (Tensor* tangent : tangents) keep.emplace_back(tangent);

  std::vector<TensorRef> answer;
  JvpRule rule;
  rule.results = &results;
  rule.notes = notes;
  rule.slots = static_cast<int64_t>(tangents.size());
  if (kind == TENON_JVP_RULE) {
    if (notes == nullptr || notes->materialize) {
      for (size_t slot = 0; slot < tangents.size(); ++slot) {
        const tenon_value& value = plain[slot_parameter[slot]];
        Tensor* operand = value.tag == TENON_VALUE_TENSOR ? value.as.tensor
                          : value.tag == TENON_VALUE_TENSOR_LIST
                              ? value.as.tensors[slot_entry[slot]]
                              : nullptr;
        const bool function = (implementation.flags & TENON_OP_FUNCTION) != 0;
        if (!function || tangents[slot] != nullptr || operand == nullptr ||
            !dtype_floating(operand->view.dtype))
          continue;
        zero_tangents.push_back(zeros_like(*operand));
        tangents[slot] = zero_tangents.back().get();
      }
    }
    run_rule(implementation, implementation.descriptor.jvp, plain, rule, tangents, answer);
  } else if (kind == TENON_JVP_POINTWISE) {
    TensorRef total;
    Tensor* like = results.empty() ? nullptr : *results[0];
    for (size_t slot = 0; slot < tangents.size() && like != nullptr; ++slot) {
      if (tangents[slot] == nullptr) continue;
      const TensorRef wide = expanded(TensorRef(tangents[slot]), *like);
      std::vector<TensorRef> part;
      rule.only_slot = static_cast<int64_t>(slot);
      Tensor* given = wide.get();
      run_rule(implementation, implementation.descriptor.backward, plain, rule, {&given, 1}, part);
      if (slot < part.size()) total = add(std::move(total), std::move(part[slot]));
    }
    answer.push_back(std::move(total));
  } else {
    // Linear in its operands: the op itself maps tangents.
    const bool jointly = kind == TENON_JVP_LINEAR;
    for (size_t slot = 0; slot < tangents.size(); ++slot) {
      if (tangents[slot] == nullptr) continue;
      tenon_value replaced[kMaxParameters];
      std::copy_n(plain, implementation.parameter_count, replaced);
      std::vector<TensorRef> zeros;
      std::vector<std::vector<Tensor*>> own_lists = lists;
      size_t list = 0;
      for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
        if (replaced[i].tag == TENON_VALUE_TENSOR_LIST)
          replaced[i].as.tensors = own_lists[list++].data();
      }
      for (size_t other = 0; other < tangents.size(); ++other) {
        if (!jointly && other != slot) continue;
        tenon_value& value = replaced[slot_parameter[other]];
        Tensor* operand = value.tag == TENON_VALUE_TENSOR ? value.as.tensor
                          : value.tag == TENON_VALUE_TENSOR_LIST
                              ? value.as.tensors[slot_entry[other]]
                              : nullptr;
        if (operand == nullptr || !dtype_floating(operand->view.dtype)) continue;
        Tensor* tangent = tangents[other];
        if (tangent == nullptr) {
          zeros.push_back(zeros_like(*operand));
          tangent = zeros.back().get();
        }
        if (value.tag == TENON_VALUE_TENSOR)
          value.as.tensor = tangent;
        else
          const_cast<Tensor**>(value.as.tensors)[slot_entry[other]] = tangent;
      }
      tenon_value made[8] = {};
      tenon_error* error = nullptr;
      const tenon_status status =
          call_op(implementation.op, replaced, implementation.parameter_count, made, &error);
      if (status != TENON_OK) throw_status(status, error);
      size_t at = 0;
      const auto take = [&](Tensor* tensor) {
        if (answer.size() <= at) answer.resize(at + 1);
        answer[at] = add(std::move(answer[at]), TensorRef(tensor));
        ++at;
      };
      for (uint32_t r = 0; r < implementation.result_count; ++r) {
        if (made[r].tag == TENON_VALUE_TENSOR) take(made[r].as.tensor);
        for (uint32_t k = 0; made[r].tag == TENON_VALUE_TENSOR_LIST && k < made[r].length; ++k)
          take(made[r].as.tensors[k]);
        release_value(made[r]);
      }
      if (jointly) break;
    }
  }
  if (kind == TENON_JVP_RULE && answer.size() != results.size()) {
    throw Error(TENON_ERROR_RUNTIME,
                "function " + implementation.node_name +
                    " returned an incorrect number of tangents from its jvp (expected " +
                    std::to_string(results.size()) + ", got " + std::to_string(answer.size()) +
                    ")");
  }
  for (size_t i = 0; i < results.size() && i < answer.size(); ++i) {
    Tensor* result = *results[i];
    if (result == nullptr || !answer[i] || !dtype_floating(result->view.dtype)) continue;
    const Tensor& tangent = *answer[i];
    if (tangent.view.dtype != result->view.dtype ||
        !std::equal(tangent.shape().begin(), tangent.shape().end(), result->shape().begin(),
                    result->shape().end())) {
      throw Error(TENON_ERROR_RUNTIME,
                  "function " + implementation.node_name +
                      " returned an invalid tangent at index " + std::to_string(i) + " - got " +
                      dtype_text(tangent.view.dtype) + " " + shape_text(tangent.shape()) +
                      " but expected " + dtype_text(result->view.dtype) + " " +
                      shape_text(result->shape()));
    }
    attach(*result, answer[i]);
  }
}

}  // namespace tenon::core

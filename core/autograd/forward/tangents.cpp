#include "core/autograd/forward/tangents.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/autograd/engine/grad.hpp"
#include "core/autograd/forward/dual.hpp"
#include "core/autograd/graph/error_node.hpp"
#include "core/autograd/record/inplace.hpp"
#include "core/autograd/typed/typed.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/parallel.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/call/trace.hpp"
#include "core/dispatch/table/core_ops.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

bool share_memory(const Tensor* a, const Tensor* b) {
  return a != nullptr && b != nullptr && a->storage != nullptr && a->storage == b->storage;
}

// In another dtype, as gradients are cast; what has no gradients stays, to be refused.
TensorRef cast(TensorRef tensor, tenon_dtype dtype) {
  if (!tensor || tensor->view.dtype == dtype || !dtype_differentiable(tensor->view.dtype))
    return tensor;
  return core_ops::in_dtype(std::move(tensor), dtype);
}

// Zeros for an operand without a tangent, in its memory.
TensorRef zeros_for(const Tensor& operand) {
  return make_zeros_in(memory_type(operand.view.type), operand.view.dtype, operand.shape(),
                       &operand);
}

TensorRef add(TensorRef a, TensorRef b) {
  if (!a) return b;
  if (!b) return a;
  return add_gradients(std::move(a), b.get(), thread_state.grad_enabled);
}

// The tangent at the shape of the result: operands may have been broadcast.
TensorRef expanded(Tensor& tangent, const Tensor& like) {
  if (same_shape(tangent.shape(), like.shape())) return TensorRef(&tangent);
  return core_ops::expand(tangent, like.shape());
}

[[noreturn, gnu::cold]] void fail_no_jvp(const Implementation& implementation) {
  throw Error(TENON_ERROR_NOT_IMPLEMENTED,
              "[{}::jvp] not implemented: op '{}' of plugin '{}' was given a dual tensor; you "
              "should implement its jvp",
              implementation.schema.name, implementation.schema.name, implementation.provider);
}

[[noreturn, gnu::cold]] void fail_count(const Implementation& implementation, const char* what,
                                        size_t expected, size_t got) {
  throw Error(TENON_ERROR_RUNTIME,
              "function {} returned an incorrect number of {} (expected {}, got {})",
              implementation.node_name, what, expected, got);
}

// The call as a rule sees it right after forward: the call itself, without tangents, since it must
// not differentiate itself at this level.
class JvpRule final : public RuleState {
 public:
  explicit JvpRule(const DualCall& call) : call_(call) {}
  int64_t slots = 0;
  // Pointwise: the one input and the block of the result that are computed.
  int64_t only_slot = -1;
  TensorRef block;

  // Another handle on the result, with its history: the tangent may keep what it is computed from,
  // and the result keeps its tangent, but nothing may keep itself.
  Tensor* result(int64_t index) override {
    if (index < 0 || index >= static_cast<int64_t>(call_.results.size())) return nullptr;
    Tensor* tensor = *call_.results[static_cast<size_t>(index)];
    if (tensor == nullptr) return nullptr;
    return hold(block ? block : without_tangent(*tensor));
  }
  bool needs_gradient(int64_t slot) override { return only_slot < 0 || slot == only_slot; }
  int64_t slot_count() override { return slots; }
  int64_t saved_count() override { return static_cast<int64_t>(call_.saved.size()); }
  Tensor* saved(int64_t index) override {
    if (index < 0 || index >= saved_count())
      throw Error(TENON_ERROR_INDEX,
                  "the jvp asks for saved tensor {}, but save_for_forward kept {}", index,
                  saved_count());
    Tensor* tensor = call_.saved[static_cast<size_t>(index)].get();
    if (tensor == nullptr) return nullptr;
    const bool result = std::any_of(call_.results.begin(), call_.results.end(),
                                    [&](Tensor** place) { return *place == tensor; });
    return result || tangent_of(*tensor) != nullptr ? hold(without_tangent(*tensor)) : tensor;
  }
  FunctionContext* function_context() override { return call_.function; }

 private:
  Tensor* hold(TensorRef tensor) {
    held_.push_back(std::move(tensor));
    return held_.back().get();
  }
  const DualCall& call_;
  std::vector<TensorRef> held_;
};

class Propagation {
 public:
  explicit Propagation(const DualCall& call)
      : call_(call), implementation_(call.implementation), rule_(call) {}

  void run() {
    read_operands();
    keep_changing_tangents();
    compute();
    for (size_t i = 0; i < computed_.size(); ++i) {
      Tensor* result = *call_.results[i];
      const bool differentiable =
          result != nullptr && dtype_differentiable(result->view.dtype) && !call_.constant[i];
      if (!differentiable) {
        if (computed_[i] && implementation_.descriptor.jvp_kind == TENON_JVP_RULE)
          fail_constant(result, i);
        computed_[i] = {};
        if (result == nullptr || !dtype_differentiable(result->view.dtype)) continue;
      }
      computed_[i] = cast(std::move(computed_[i]), result->view.dtype);
      if (computed_[i]) check_fit(*computed_[i], *result, i);
      if (is_operand(result))
        change(*result, i);
      else if (computed_[i])
        give(*result, i);
      else if (!differentiable && tangent_of(*result) != nullptr)  // the tangent of its base
        attach_tangent(*result, zeros_in_layout(*result));
    }
  }

 private:
  struct Slot {
    uint32_t parameter;
    Tensor* operand;  // the caller's; null for none
    TensorRef tangent;
  };

  // The arguments without tangents, as they were before the call, and the tangents by slot.
  void read_operands() {
    for_each_slot(
        implementation_, call_.arguments, [&](size_t, Tensor* operand, uint32_t parameter) {
          slots_.push_back(
              {parameter, operand, TensorRef(operand == nullptr ? nullptr : tangent_of(*operand))});
        });
    rule_.slots = static_cast<int64_t>(slots_.size());
    replace_operands(plain_, call_.arguments, [&](Tensor* operand, size_t slot) {
      const bool original = slot < call_.originals.size() && call_.originals[slot];
      return strip(original ? *call_.originals[slot] : *operand);
    });
  }
  // Each operand as replace(Tensor*, slot) gives it. The others, which have no slot, are without
  // tangents in `plain_`.
  template <class Replace>
  void replace_operands(ReplacedOperands& replaced, const tenon_value* arguments,
                        Replace&& replace) {
    size_t slot = 0;
    replaced.set(implementation_, arguments, [&](Tensor* operand, uint32_t parameter) {
      if (parameter >= implementation_.slot_parameters) return strip(*operand);
      while (slots_[slot].operand == nullptr) ++slot;
      return replace(operand, slot++);
    });
  }
  Tensor* strip(Tensor& tensor) {
    if (tangent_of(tensor) == nullptr) return &tensor;
    held_.push_back(without_tangent(tensor));
    return held_.back().get();
  }

  bool is_operand(const Tensor* result) const {
    return std::any_of(slots_.begin(), slots_.end(),
                       [&](const Slot& slot) { return slot.operand == result; });
  }
  bool is_changed(const Slot& slot) const {
    return slot.operand != nullptr &&
           std::any_of(call_.results.begin(), call_.results.end(),
                       [&](Tensor** place) { return *place == slot.operand; });
  }

  // A recorded rule may keep the tangents that it is given: what will change is handed over as a
  // copy.
  void keep_changing_tangents() {
    if (!thread_state.grad_enabled) return;
    const bool recorded =
        call_.node != nullptr || std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
          return slot.tangent && slot.tangent->requires_grad();
        });
    if (!recorded) return;
    for (Slot& slot : slots_) {
      if (slot.tangent && is_changed(slot)) slot.tangent = core_ops::clone(*slot.tangent);
    }
  }

  void compute() {
    computed_.reserve(call_.results.size());
    trace_rule();
    const TraceDepth inside(tracing());
    compute_by_kind();
    if (implementation_.descriptor.jvp_kind != TENON_JVP_RULE)
      computed_.resize(call_.results.size());
    if (computed_.size() != call_.results.size())
      fail_count(implementation_, "tangents from its jvp", call_.results.size(), computed_.size());
  }
  void trace_rule() const {
    if (!tracing() || implementation_.descriptor.jvp_kind == TENON_JVP_NONE) return;
    const bool replaced = implementation_.own != nullptr &&
                          implementation_.own->descriptor.jvp != implementation_.descriptor.jvp;
    trace(trace_event::jvp, implementation_, format_text("jvp {}", implementation_.schema.name),
          replaced ? implementation_.rules_provider : implementation_.provider);
  }
  void compute_by_kind() {
    switch (implementation_.descriptor.jvp_kind) {
      case TENON_JVP_RULE:
        return compute_by_rule();
      case TENON_JVP_POINTWISE:
        return compute_pointwise();
      case TENON_JVP_LINEAR:
      case TENON_JVP_MULTILINEAR:
        return compute_linear();
      default:
        break;
    }
    const bool floating =
        std::any_of(call_.results.begin(), call_.results.end(), [](Tensor** place) {
          return *place != nullptr && dtype_differentiable((*place)->view.dtype);
        });
    if (floating && (implementation_.flags & TENON_OP_ZERO_GRADIENT) == 0)
      fail_no_jvp(implementation_);
  }

  void run_rule(tenon_rule_function function, const tenon_value* arguments, JvpRule& rule,
                std::span<Tensor* const> given, std::vector<TensorRef>& produced) {
    rule.answer = &produced;
    rule.answered = false;
    tenon_context context{
        .implementation = &implementation_, .arguments = arguments, .rule = &rule};
    const SwitchGuard<&ThreadState::joins_memory> joins(thread_state.joins_memory ||
                                                        in_own_memory(given));
    tenon_error* error = nullptr;
    const tenon_status status = function(implementation_.descriptor.self, &context, given.data(),
                                         static_cast<int64_t>(given.size()), &error);
    if (status == TENON_OK) return;
    add_error_context(&error, implementation_, status, FailureOf::rule);
    throw_status(status, error);
  }

  void compute_by_rule() {
    // A Function is handed zeros for tensors without a tangent, unless it declined.
    const bool zeros = call_.function != nullptr && call_.function->materialize;
    std::vector<Tensor*> given;
    for (Slot& slot : slots_) {
      if (zeros && !slot.tangent && slot.operand != nullptr &&
          dtype_differentiable(slot.operand->view.dtype)) {
        held_.push_back(zeros_for(*slot.operand));
        given.push_back(held_.back().get());
      } else {
        given.push_back(slot.tangent.get());
      }
    }
    const bool once = (implementation_.flags & TENON_OP_JVP_ONCE) != 0;
    if (once) refuse_tangents_around();
    if (!once || !thread_state.grad_enabled) {
      run_rule(implementation_.descriptor.jvp, plain_.values(), rule_, given, computed_);
      return;
    }
    for (const Slot& slot : slots_) {
      if (slot.tangent && slot.tangent->requires_grad())
        fail_once(slot, "requires grad: detach the tangent, or call the op under no_grad");
    }
    {
      const GradModeGuard guard(false);
      run_rule(implementation_.descriptor.jvp, plain_.values(), rule_, given, computed_);
    }
    if (call_.node != nullptr) call_.node->forbid_differentiation(computed_, jvp_differentiated);
  }

  // A level around this one differentiates the rule.
  void refuse_tangents_around() const {
    at_each_level(thread_state.dual_level->outer.get(), [&] {
      for (const Slot& slot : slots_) {
        if ((slot.operand != nullptr && tangent_of(*slot.operand) != nullptr) ||
            (slot.tangent && tangent_of(*slot.tangent) != nullptr))
          fail_once(slot, "is differentiated by the dual level around this one");
      }
    });
  }
  [[noreturn]] void fail_once(const Slot& slot, const char* cause) const {
    throw Error(TENON_ERROR_RUNTIME,
                "the jvp of op '{}' of plugin '{}' is declared as not differentiable, but the "
                "tangent of '{}' {}",
                implementation_.schema.name, implementation_.provider,
                implementation_.schema.parameters[slot.parameter].name, cause);
  }

  void compute_pointwise() {
    Tensor* like = call_.results.empty() ? nullptr : *call_.results[0];
    if (like == nullptr) return;
    std::vector<Tensor*> tangents;
    for (const Slot& slot : slots_) tangents.push_back(slot.tangent.get());
    TensorRef tangent;
    if (blocks_pay(*like)) tangent = compute_blocks(*like, tangents);
    if (!tangent) tangent = sum_of_parts(*like, plain_.values(), rule_, tangents);
    computed_.push_back(std::move(tangent));
  }

  // The backward rule of each operand that has a tangent, applied to the tangent in the dtype of
  // the result, as a gradient would be. A rule multiplies by the conjugate of the derivative, so a
  // complex tangent is conjugated before and after it: conj(conj(t) * conj(d)) = t * d.
  TensorRef sum_of_parts(const Tensor& like, const tenon_value* arguments, JvpRule& rule,
                         std::span<Tensor* const> tangents) {
    TensorRef total;
    for (size_t slot = 0; slot < tangents.size(); ++slot) {
      if (tangents[slot] == nullptr) continue;
      const bool complex = dtype_complex(like.view.dtype);
      TensorRef wide = cast(expanded(*tangents[slot], like), like.view.dtype);
      if (complex) wide = core_ops::conj(*wide);
      Tensor* given = wide.get();
      std::vector<TensorRef> part;
      rule.only_slot = static_cast<int64_t>(slot);
      run_rule(implementation_.descriptor.backward, arguments, rule, {&given, 1}, part);
      if (slot >= part.size())
        fail_count(implementation_, "gradients", tangents.size(), part.size());
      TensorRef share = cast(std::move(part[slot]), like.view.dtype);
      if (complex && share) share = core_ops::conj(*share);
      total = add(std::move(total), std::move(share));
    }
    return total;
  }

  // A rule takes several ops: in blocks, what one leaves is in the cache for the next.
  static constexpr int64_t kBlock = 1 << 14;
  bool blocks_pay(const Tensor& like) const {
    const auto fits = [&](const Tensor& tensor) {
      return tensor.contiguous() && same_shape(tensor.shape(), like.shape());
    };
    // Blocks carry no tangents.
    if (like.view.count < 4 * kBlock || !like.contiguous() || call_.node != nullptr ||
        thread_state.dual_level->outer != nullptr)
      return false;
    return std::all_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
      if (slot.operand == nullptr) return true;
      if (!fits(*slot.operand)) return false;
      return !slot.tangent ||
             (fits(*slot.tangent) && !(slot.tangent->requires_grad() && thread_state.grad_enabled));
    });
  }
  // Null when the rule gives something else than elements of the result's dtype.
  TensorRef compute_blocks(const Tensor& like, std::span<Tensor* const> tangents) {
    TensorRef whole = make_empty(like.view.dtype, like.shape());
    std::atomic<bool> fits{true};
    parallel_for(0, like.view.count, 4 * kBlock, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end && fits; at += kBlock) {
        const int64_t count = std::min(kBlock, end - at);
        const int64_t stride = 1;
        std::vector<TensorRef> blocks;
        const auto block = [&](const Tensor& tensor) {
          return blocks.emplace_back(make_alias(tensor, {&count, 1}, {&stride, 1}, at)).get();
        };
        ReplacedOperands arguments;
        arguments.set(implementation_, plain_.values(), [&](Tensor* operand, uint32_t parameter) {
          return parameter < implementation_.slot_parameters ? block(*operand) : operand;
        });
        std::vector<Tensor*> given;
        for (Tensor* tangent : tangents)
          given.push_back(tangent == nullptr ? nullptr : block(*tangent));
        JvpRule rule(call_);
        rule.slots = rule_.slots;
        rule.block = TensorRef(block(like));
        const TensorRef part = sum_of_parts(*rule.block, arguments.values(), rule, given);
        if (!part || part->view.dtype != like.view.dtype ||
            !same_shape(part->shape(), rule.block->shape()))
          fits = false;
        else
          copy(*block(*whole), *part);
      }
    });
    return fits ? whole : TensorRef();
  }

  // The op itself maps tangents: all at once, or one at a time where it is linear in each. An
  // operand without a tangent, integers among them, is a constant: its tangent is 0.
  void compute_linear() {
    if (implementation_.descriptor.jvp_kind == TENON_JVP_LINEAR) {
      call_with_tangents(slots_.size());
      return;
    }
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      if (slots_[slot].tangent) call_with_tangents(slot);
    }
  }
  // `only` beyond the slots: every one.
  void call_with_tangents(size_t only) {
    ReplacedOperands arguments;
    std::vector<TensorRef> made_here;
    replace_operands(arguments, plain_.values(), [&](Tensor* operand, size_t at) {
      const Slot& slot = slots_[at];
      const bool chosen = only == at || only >= slots_.size();
      if (chosen && slot.tangent) return slot.tangent.get();
      if (chosen) return made_here.emplace_back(zeros_for(*operand)).get();
      // The op is going to change it.
      if (is_changed(slot)) return made_here.emplace_back(core_ops::clone(*operand)).get();
      return operand;
    });
    tenon_value made[kMaxResults] = {};
    tenon_error* error = nullptr;
    const tenon_status status = call_op(implementation_.op, arguments.values(),
                                        implementation_.parameter_count, made, &error);
    if (status != TENON_OK) throw_status(status, error);
    size_t at = 0;
    const auto take = [&](Tensor* tensor) {
      if (computed_.size() <= at) computed_.resize(at + 1);
      computed_[at] = add(std::move(computed_[at]), TensorRef(tensor));
      ++at;
    };
    for (uint32_t r = 0; r < implementation_.result_count; ++r) {
      if (made[r].tag == TENON_VALUE_TENSOR_LIST) {
        for (uint32_t k = 0; k < made[r].length; ++k) take(made[r].as.tensors[k]);
      } else {
        take(made[r].tag == TENON_VALUE_TENSOR ? made[r].as.tensor : nullptr);
      }
      release_value(made[r]);
    }
  }

  void check_fit(const Tensor& tangent, const Tensor& result, size_t index) const {
    if (tangent.view.dtype == result.view.dtype && same_shape(tangent.shape(), result.shape()))
      return;
    throw Error(
        TENON_ERROR_RUNTIME,
        "function {} returned an invalid tangent at index {} - got {} {} but expected {} {}",
        implementation_.node_name, index, dtype_text(tangent.view.dtype),
        shape_text(tangent.shape()), dtype_text(result.view.dtype), shape_text(result.shape()));
  }

  [[noreturn, gnu::cold]] void fail_constant(const Tensor* result, size_t index) const {
    const std::string what =
        result == nullptr ? "is undefined"
        : call_.constant[index]
            ? "is marked as not differentiable"
            : format_text("has dtype {}, and only floating-point and complex outputs have tangents",
                          dtype_text(result->view.dtype));
    throw Error(TENON_ERROR_RUNTIME,
                "the jvp of op '{}' of plugin '{}' returned a tangent at index {}, but that output "
                "{}: return an undefined tensor there",
                implementation_.schema.name, implementation_.provider, index, what);
  }

  // Whether `tangent` is to the operand's tangent what `result` is to the operand.
  static bool same_part(const Tensor& tangent, const Slot& slot, const Tensor& result) {
    const auto bytes = [](const Tensor& part, const Tensor& whole) {
      return static_cast<const char*>(part.view.data) - static_cast<const char*>(whole.view.data);
    };
    return same_layout(tangent, result) &&
           bytes(tangent, *slot.tangent) == bytes(result, *slot.operand);
  }

  // A result that the call made.
  void give(Tensor& result, size_t index) {
    bool view = false;
    const Slot* dual = nullptr;
    for (const Slot& slot : slots_) {
      if (!share_memory(slot.operand, &result)) continue;
      view = true;
      if (slot.tangent) dual = &slot;
      if (share_memory(slot.tangent.get(), computed_[index].get()) &&
          (result.view.count == 0 || same_part(*computed_[index], slot, result))) {
        attach_tangent(result, computed_[index]);
        return;
      }
    }
    if (!view || result.view.count == 0) {
      attach_tangent(result, own(index));
    } else if (dual != nullptr) {
      throw Error(TENON_ERROR_RUNTIME,
                  "the jvp of op '{}' of plugin '{}' returned another tangent at index {}, but the "
                  "result is a view of '{}': it has to be the same view of that one's tangent",
                  implementation_.schema.name, implementation_.provider, index,
                  implementation_.schema.parameters[dual->parameter].name);
    }
    // The remaining case is a view of a tensor without a tangent.
  }

  // The computed tangent as a tensor that shares memory with nothing else of this call.
  TensorRef own(size_t index) {
    TensorRef& computed = computed_[index];
    const Tensor& result = **call_.results[index];
    bool shared = !same_layout(*computed, result) || tangent_of(*computed) != nullptr ||
                  computed->has_flag(TENON_TENSOR_READ_ONLY);
    for (const Slot& slot : slots_) {
      shared |= share_memory(slot.tangent.get(), computed.get()) ||
                share_memory(slot.operand, computed.get());
    }
    for (size_t i = 0; i < computed_.size(); ++i) {
      shared |= i != index && share_memory(computed_[i].get(), computed.get());
      shared |= share_memory(*call_.results[i], computed.get());
    }
    return shared ? copy_in_layout(*computed, result) : computed;
  }

  // A result that is an operand, changed in place.
  void change(Tensor& result, size_t index) {
    TensorRef& computed = computed_[index];
    Tensor* tangent = tangent_of(result);
    if (tangent == nullptr) {
      if (!computed) return;
      if (result.view_base == nullptr) {
        attach_tangent(result, own(index));
        return;
      }
      attach_tangent(*result.view_base, zeros_in_layout(*result.view_base));
      tangent = tangent_of(result);
    }
    if (tangent == computed.get()) return;
    if (computed)
      core_ops::copy(*tangent, *computed);
    else
      core_ops::zero(*tangent);
  }

  const DualCall& call_;
  const Implementation& implementation_;
  JvpRule rule_;
  ReplacedOperands plain_;
  std::vector<TensorRef> held_;
  std::vector<Slot> slots_;
  std::vector<TensorRef> computed_;
};

bool carries_at_level(const Implementation& implementation, const tenon_value* arguments) {
  bool found = false;
  for_each_operand(implementation, arguments,
                   [&](Tensor* operand) { found = found || tangent_of(*operand) != nullptr; });
  return found;
}

}  // namespace

bool carries_tangent(const Implementation& implementation, const tenon_value* arguments) {
  bool found = false;
  at_each_level([&] { found = found || carries_at_level(implementation, arguments); });
  return found;
}

void check_dual(const Implementation& implementation, const tenon_value* arguments) {
  if (has_out(implementation, arguments)) {
    throw Error(TENON_ERROR_RUNTIME,
                "{}(): functions with out=... arguments don't support forward mode, but one of the "
                "arguments carries a tangent",
                implementation.schema.short_name());
  }
  const bool ruled = implementation.descriptor.jvp_kind != TENON_JVP_NONE;
  const bool constant = implementation.descriptor.differentiable == TENON_DIFFERENTIABLE_NONE;
  if (!ruled && !constant) fail_no_jvp(implementation);
  for_each_mutated(implementation, arguments, [&](Tensor* tensor, uint32_t parameter) {
    if (!dtype_differentiable(tensor->view.dtype)) return;
    if (!ruled && (implementation.flags & TENON_OP_ZERO_GRADIENT) == 0) fail_no_jvp(implementation);
    const auto& aliases = implementation.result_alias;
    if (std::find(aliases.begin(), aliases.end(), static_cast<int32_t>(parameter)) ==
        aliases.end()) {
      throw Error(TENON_ERROR_RUNTIME,
                  "{}() changes '{}' in place and does not return it: forward mode has no way to "
                  "its new tangent",
                  implementation.schema.short_name(),
                  implementation.schema.parameters[parameter].name);
    }
    require_disjoint(*tensor, implementation.schema.short_name());
    at_each_level([&] {
      Tensor* tangent = tangent_of(*tensor);
      if (tangent != nullptr && thread_state.grad_enabled && has_history(*tangent))
        check_inplace(*tangent, implementation.schema.short_name());
    });
  });
}

void propagate_tangents(const DualCall& call) {
  at_each_level([&] {
    if (!carries_at_level(call.implementation, call.arguments)) return;
    Propagation(call).run();
    if (call.node != nullptr) call.node->share_tangents(call.results);
  });
}

}  // namespace tenon::core

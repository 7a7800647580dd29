// The layer of types: chains of overrides and handlers, fallbacks, and what a handler calls on.

#include "core/dispatch/types/chain.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/call/error_context.hpp"
#include "core/dispatch/call/explanation.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/operands.hpp"
#include "core/dispatch/call/result_check.hpp"
#include "core/dispatch/call/trace.hpp"
#include "core/dispatch/table/registry.hpp"
#include "core/dispatch/types/conversion.hpp"
#include "core/dispatch/types/modes.hpp"
#include "core/dispatch/types/override.hpp"
#include "core/dispatch/types/plan.hpp"

namespace tenon::core {

namespace {

constexpr int kMaxDepth = 256;

const Candidate& candidate_of(const CallFrame& frame) {
  return frame.chain->candidates[frame.index];
}

std::string frame_text(const CallFrame& frame) {
  const Candidate& candidate = candidate_of(frame);
  const char* what = candidate.kind == Candidate::Kind::Override ? "override of " : "handler of ";
  return format_text("{}{} for {}", what, candidate.level->name,
                     frame.call.implementation.schema.name);
}

// "handler of A for add -> override of B for add": the nearest of the outer frames, then the frame.
std::string path_text(const std::vector<const CallFrame*>& outer, size_t most,
                      const CallFrame& frame) {
  std::string text;
  for (size_t i = std::min(outer.size(), most); i-- > 0;)
    text += format_text("{} -> ", frame_text(*outer[i]));
  return text + frame_text(frame);
}

bool share_typed_operand(const Call& a, const Call& b) {
  bool shared = false;
  for_each_operand(a.implementation, a.arguments, [&](const Tensor* mine) {
    for_each_operand(b.implementation, b.arguments,
                     [&](const Tensor* theirs) { shared |= mine == theirs && mine->typed(); });
  });
  return shared;
}

// Calling an op again from inside its own handler, with the operand that it was called for, can
// only come back here.
void check_recursion(const CallFrame& frame) {
  const Candidate& candidate = candidate_of(frame);
  const std::string_view op = frame.call.implementation.schema.short_name();
  std::vector<const CallFrame*> frames;
  for (const CallFrame* outer = frame.outer; outer != nullptr; outer = outer->outer) {
    if (outer->chain == nullptr) continue;  // a mode
    frames.push_back(outer);
    const Candidate& running = candidate_of(*outer);
    if (outer->call.implementation.op == frame.call.implementation.op &&
        running.level == candidate.level && running.kind == candidate.kind &&
        running.entry == candidate.entry &&
        (frame.depth >= kMaxDepth || share_typed_operand(frame.call, outer->call))) {
      throw Error(TENON_ERROR_RUNTIME,
                  "{}(): endless recursion: {}; call_parent runs the next handler up, calling the "
                  "op comes back to the same one",
                  op, path_text(frames, frames.size(), frame));
    }
  }
  if (frame.depth >= 4 * kMaxDepth) {
    constexpr size_t kShown = 8;  // enough to see what repeats
    throw Error(TENON_ERROR_RUNTIME,
                "{}(): endless recursion: more than {} handlers are running inside each other: ... "
                "-> {}; call_parent runs the next handler up",
                op, 4 * kMaxDepth, path_text(frames, kShown, frame));
  }
}

[[noreturn, gnu::cold]] void throw_untaken(const Override& entry, const std::string& parameter) {
  throw Error(TENON_ERROR_TYPE, "{}() got an unexpected keyword argument '{}'",
              entry.schema.short_name(), parameter);
}

// Binds the op's arguments to the override's own signature. False where it does not take them:
// refused(throw_error) throws the TypeError, or passes the override over.
template <class Refused>
bool bind_signature(const Candidate& candidate, const Implementation& implementation,
                    const tenon_value* bound, tenon_value* own, Refused&& refused) {
  const Override& entry = *candidate.entry;
  for (const uint8_t untaken : candidate.binding.untaken) {
    const Parameter& parameter = implementation.schema.parameters[untaken];
    if (is_default(parameter, bound[untaken])) [[likely]]
      continue;
    refused([&] { throw_untaken(entry, parameter.name); });
    return false;
  }
  const std::vector<int8_t>& source = candidate.binding.source;
  for (size_t i = 0; i < source.size(); ++i) {
    const Parameter& parameter = entry.schema.parameters[i];
    own[i] = source[i] < 0 ? parameter.default_value.value : bound[source[i]];
    if (accepts(parameter, own[i])) [[likely]]
      continue;
    if (parameter.type.list && (own[i].tag == list_tag(parameter.type))) continue;
    if (parameter.type.kind == TypeKind::floating && own[i].tag == TENON_VALUE_INT) {
      own[i].as.number = static_cast<double>(own[i].as.integer);
      own[i].tag = TENON_VALUE_FLOAT;
      continue;
    }
    refused([&] {
      throw_argument_type(entry.schema, static_cast<int64_t>(i),
                          parameter.keyword_only ? -1 : static_cast<int64_t>(i),
                          value_type_text(own[i]));
    });
    return false;
  }
  return true;
}
constexpr auto kThrow = [](const auto& throw_error) { throw_error(); };

// ---- one candidate ----

}  // namespace

// At least one, see run_typed.
void clear_results(const Call& call) noexcept {
  const uint32_t count = std::max<uint32_t>(call.implementation.result_count, 1);
  for (uint32_t r = 0; r < count; ++r) call.results[r] = tenon_value{};
}

namespace {

// Runs the op with types disabled, and makes the results the type.
tenon_status run_default_handler(const TensorType& type, Call& call) noexcept {
  clear_results(call);
  const TypesDisabledGuard types_off(true);
  const ModesOffGuard modes_off;
  const uint32_t flags = call.flags;
  call.flags &= ~uint32_t{TENON_TENSOR_TYPED};
  const tenon_status status = next<LayerId::typed>(call);
  call.flags = flags;
  if (status != TENON_OK) return status;
  const tenon_status retyped = guarded(
      call.error, [&] { retype_results(type, call.implementation, call.arguments, call.results); });
  if (retyped != TENON_OK) release_results(call.implementation, call.results);
  return retyped;
}

tenon_status run_override(CallFrame& frame) noexcept {
  const Call& call = frame.call;
  const Candidate& candidate = candidate_of(frame);
  const Override& entry = *candidate.entry;
  tenon_value own[kMaxParameters];
  bool fits = true;
  const tenon_status status = guarded(call.error, [&] {
    if (frame.outer != nullptr) check_recursion(frame);
    fits = bind_signature(candidate, call.implementation, call.arguments, own,
                          [&](const auto& throw_error) {
                            // In place of a kernel the next one takes what this does not.
                            if (!frame.plan->in_own_memory) throw_error();
                          });
    if (frame.hidden != 0 && entry.rules != nullptr)
      higher_areas.refuse_hidden_history(frame, entry);
  });
  if (status != TENON_OK) return status;
  if (!fits) [[unlikely]] {
    call.results[0].tag = TENON_VALUE_NOT_IMPLEMENTED;
    return TENON_OK;
  }
  if (entry.rules != nullptr) {
    // Recorded as an op is.
    Call recorded{*entry.rules, own, call.results, call.error, call.flags};
    recorded.flags &= ~(uint32_t{TENON_TENSOR_TYPED} | kProviderFlag);  // it is not of a provider
    return next<LayerId::typed>(recorded);
  }
  frame.view.size = sizeof(tenon_call);
  frame.view.op = call.implementation.op;
  frame.view.arguments = own;
  frame.view.argument_count = static_cast<int64_t>(entry.schema.parameters.size());
  frame.view.positional = nullptr;
  frame.view.positional_count = 0;
  frame.view.keywords = nullptr;
  frame.view.keyword_values = nullptr;
  frame.view.keyword_count = 0;
  frame.view.spelling = call.written.spelling();
  return entry.descriptor.run(entry.descriptor.self, &frame.view, call.results, call.error);
}

tenon_status run_handler(CallFrame& frame) noexcept {
  const Call& call = frame.call;
  WrittenCall written;
  fill_view(frame.view, call, written);
  if (frame.outer != nullptr) {
    const tenon_status status = guarded(call.error, [&] { check_recursion(frame); });
    if (status != TENON_OK) return status;
  }
  const tenon_type_descriptor& type = candidate_of(frame).level->descriptor;
  return type.handler(type.self, &frame.view, call.results, call.error);
}

// Checks results for values that are none, and for gradients that are lost.
tenon_status check_handled(const CallFrame& frame) noexcept {
  const Call& call = frame.call;
  const tenon_value& first = call.results[0];
  const bool one_value = call.implementation.result_count == 1 &&
                         (first.tag < TENON_VALUE_STRING ||
                          (first.tag == TENON_VALUE_TENSOR && first.as.tensor != nullptr));
  if (!one_value && !made_of_values(call.implementation, call.results)) [[unlikely]]
    return check_results(call.implementation, call.results, frame_text(frame), call.error);
  constexpr uint32_t kTracked = TENON_TENSOR_REQUIRES_GRAD | TENON_TENSOR_HAS_TANGENT;
  if (((call.flags | frame.hidden) & kTracked) == 0 || declined(call.results)) [[likely]]
    return TENON_OK;
  // A call that is recorded as an op has the history that its rules say, a constant's none.
  const Override* const entry = candidate_of(frame).entry;
  if (entry != nullptr && entry->rules != nullptr) return TENON_OK;
  const tenon_status status =
      guarded(call.error, [&] { higher_areas.refuse_lost_gradient(frame, call.results); });
  if (status != TENON_OK) release_results(call.implementation, call.results);
  return status;
}

// Which op and plugin an error of a candidate comes from, where it does not say so itself.
void name_origin(const CallFrame& frame, tenon_status status) noexcept {
  const Call& call = frame.call;
  if (call.error == nullptr || *call.error == nullptr) return;
  tenon_error*& error = *call.error;
  if (!error->error.chain.empty()) add_error_context(call.error, call.implementation, status);
  if (error->preallocated || !error->error.op.empty()) return;
  error->error.op = call.implementation.schema.name;
  error->error.provider = provider_of(candidate_of(frame));
}

tenon_status invoke(CallFrame& frame) noexcept {
  const Call& call = frame.call;
  const Candidate::Kind kind = candidate_of(frame).kind;
  if (kind == Candidate::Kind::DefaultHandler)
    return run_default_handler(*frame.chain->type, frame.call);

  clear_results(call);
  frame.view.type = frame.chain->type->id;
  frame.view.types = frame.plan->dispatching.data();
  frame.view.type_count = static_cast<int64_t>(frame.plan->dispatching.size());
  const FrameScope scope(frame);
  tenon_status status =
      kind == Candidate::Kind::Override ? run_override(frame) : run_handler(frame);
  if (status == TENON_OK) {
    status = check_handled(frame);
    if (status == TENON_OK) return TENON_OK;
  } else {
    release_results(call.implementation, call.results);
  }
  name_origin(frame, status);
  return status;
}

[[gnu::cold]] tenon_status invoke_traced(CallFrame& frame) noexcept {
  const Implementation& implementation = frame.call.implementation;
  const Candidate& candidate = candidate_of(frame);
  trace(candidate.kind == Candidate::Kind::Override ? trace_event::override_of_op
                                                    : trace_event::handler,
        implementation, candidate_text(candidate), provider_of(candidate));
  const TraceDepth inside;
  const tenon_status status = invoke(frame);
  if (status == TENON_OK && declined(frame.call.results))
    trace(trace_event::declined, implementation, "declined");
  return status;
}

}  // namespace

tenon_status ask_candidate(const Plan& plan, const DispatchChain& chain, size_t index, Call& call,
                           uint32_t hidden) noexcept {
  CallFrame frame(call);
  frame.plan = &plan;
  frame.chain = &chain;
  frame.index = index;
  frame.hidden = hidden;
  if (tracing()) [[unlikely]]
    return invoke_traced(frame);
  return invoke(frame);
}

namespace {

// ---- a plan ----

tenon_status run_plan(const Plan& plan, Call& call, uint32_t hidden) noexcept {
  if (plan.refused != nullptr || plan.chains.empty()) [[unlikely]]
    return guarded(call.error, [&] { check_plan(plan, call.implementation, call.arguments); });
  for (const DispatchChain& chain : plan.chains) {
    for (const int32_t index : {chain.first_override, chain.first_handler}) {
      if (index < 0) continue;
      const auto at = static_cast<size_t>(index);
      // It needs no frame, and never declines.
      if (chain.candidates[at].kind == Candidate::Kind::DefaultHandler && !tracing())
        return run_default_handler(*chain.type, call);
      const tenon_status status = ask_candidate(plan, chain, at, call, hidden);
      if (status != TENON_OK || !declined(call.results)) return status;
    }
  }
  return guarded(call.error, [&] {
    if (plan.fallbacks.empty()) throw_declined(call.implementation, plan);
    run_fallback(*plan.fallbacks.front(), call, call.results);
  });
}

// Arguments that a handler puts in the place of the call's: as many as the op has, bound already.
void check_given(const Implementation& implementation, const tenon_value* arguments) {
  const Schema& schema = implementation.schema;
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    const uint32_t tag = arguments[i].tag;
    if (tag < 32 && (implementation.accept[i] >> tag & 1u) != 0) continue;
    throw_argument_type(schema, i, schema.parameters[i].keyword_only ? -1 : int64_t{i},
                        tag < TENON_VALUE_TAG_COUNT ? value_type_text(arguments[i]) : "nothing");
  }
}

// The flags of a call whose operands carry these.
uint32_t call_flags(const Implementation& implementation, uint32_t operands) {
  return operands | thread_state.call_flags | kKernelFlag |
         (may_pass_on(implementation) ? kProviderFlag : 0);
}

// ---- explanations ----

Explanation::Handling handling_by(const Candidate& candidate) {
  return {candidate_text(candidate), provider_of(candidate),
          candidate.kind == Candidate::Kind::DefaultHandler,
          candidate.entry == nullptr ? nullptr : candidate.entry->rules.get(),
          candidate.entry == nullptr ? nullptr : &candidate};
}

}  // namespace

void explain_plan(const Plan& plan, const std::vector<Rejection>& rejections,
                  Explanation& explanation) {
  const auto pass_over = [&](const TensorType& type, const std::string& reason) {
    explanation.steps.push_back({type.name, "nothing", "", reason});
  };
  const auto handle = [&](const TensorType& type, const Explanation::Handling& handling) {
    explanation.steps.push_back({type.name, handling.what, handling.provider, ""});
    if (!explanation.handling) explanation.handling = handling;
  };
  for (const TensorType* type : plan.types) {
    bool rejected = false;
    for (const Rejection& rejection : rejections) {
      if (rejection.type != type) continue;
      pass_over(*type, rejection.text);
      rejected = true;
    }
    const auto chain = std::ranges::find(plan.chains, type, &DispatchChain::type);
    if (chain == plan.chains.end()) {
      pass_over(*type, "it has neither handler, override nor fallback");
      continue;
    }
    if (chain->candidates.empty() && !rejected) {
      pass_over(*type, format_text("no override for {} and no handler",
                                   explanation.implementation->schema.name));
    }
    for (const int32_t index : {chain->first_override, chain->first_handler}) {
      if (index >= 0) handle(*type, handling_by(chain->candidates[static_cast<size_t>(index)]));
    }
  }
  if (plan.fallbacks.empty()) return;
  // The first one only: the op that it calls is explained on its own.
  const TensorType& type = *plan.fallbacks.front();
  const std::string what = format_text("fallback {}", fallback_text(type.fallback()));
  explanation.steps.push_back({type.name, what, type.provider, ""});
  if (!explanation.handling)
    explanation.handling = {format_text("{} of {}", what, type.name), type.provider};
}

namespace {

// Explains a call that goes by its plan, and refuses what the plan or an own signature refuses.
void explain_planned(const Plan& plan, const std::vector<Rejection>& rejections,
                     Explanation& explanation) {
  explain_plan(plan, rejections, explanation);
  check_plan(plan, *explanation.implementation, explanation.arguments);
  if (!explanation.handling) throw_declined(*explanation.implementation, plan);
  const Candidate* const candidate = explanation.handling->entry;
  if (candidate == nullptr) return;
  const Override& entry = *candidate->entry;
  explanation.suggestion =
      format_text("call it as override {} takes it, {}; or give that a wider signature",
                  entry.key(), entry.schema.text);
  tenon_value own[kMaxParameters];
  bind_signature(*candidate, *explanation.implementation, explanation.arguments, own, kThrow);
  explanation.suggestion.clear();
}

}  // namespace

void explain_typed(Explanation& explanation) {
  const Implementation& implementation = *explanation.implementation;
  if (explanation.operands.count() > 0 && asks_types(implementation)) {
    std::vector<Rejection> rejections;
    explanation.suggestion = "register an override for exactly these types";
    explanation.plan =
        make_plan(explanation.types, implementation, explanation.operands, &rejections);
    explanation.suggestion.clear();
    if (explanation.plan->in_own_memory) {
      explanation.handling = {"kernel", implementation.provider, true};
      return;
    }
    return explain_planned(*explanation.plan, rejections, explanation);
  }
  const char* const why =
      explanation.overridable() ? "types are disabled here" : "the op is not overridable";
  for (const TensorType* type : explanation.operands)
    explanation.steps.push_back({type->name, "nothing", "", why});
  if (has_foreign(implementation, explanation.arguments))
    throw_foreign(implementation, explanation.arguments);
  explanation.handling = {"kernel", implementation.provider, true};
}

tenon_status run_typed(Call& call) noexcept {
  const Implementation& implementation = call.implementation;
  if (!asks_types(implementation)) {
    // Operands of subclasses of Tensor are plain tensors, all others are refused.
    if (has_foreign(implementation, call.arguments)) [[unlikely]]
      return guarded(call.error, [&] { throw_foreign(implementation, call.arguments); });
    if (!are_in_own_memory(implementation, call.arguments))
      call.flags &= ~uint32_t{TENON_TENSOR_TYPED};
    return next<LayerId::typed>(call);
  }
  const Plan* plan = nullptr;
  Carried carried;
  const tenon_status status = guarded(call.error, [&] {
    plan = &PlanCache::process().find(implementation,
                                      gather_types(implementation, call.arguments, carried));
  });
  if (status != TENON_OK) return status;
  call.flags = call_flags(implementation, carried.flags);
  if (plan->in_own_memory && plan->refused == nullptr) return next<LayerId::typed>(call);
  if (implementation.result_count > 0) [[likely]]
    return run_plan(*plan, call, carried.hidden);
  tenon_value handled{};  // not_implemented: every candidate has declined
  Call with_result = call;
  with_result.results = &handled;
  return run_plan(*plan, with_result, carried.hidden);
}

void call_override(const Override& entry, const AsWritten& written, tenon_value* results) {
  const tenon_op* op = Registry::process().require(entry.schema.name);
  const Implementation& implementation = require_implementation(op);
  if (entry.is_gradient_override())
    throw Error(TENON_ERROR_TYPE,
                "override {} of plugin '{}' only replaces gradient rules and cannot be called",
                entry.key(), entry.provider);
  BoundArguments bound;
  bind_arguments(implementation.schema, written, bound);
  Carried carried;
  const OperandTypes types = gather_types(implementation, bound.values, carried);

  Plan plan;
  plan.implementation = &implementation;
  plan.types.assign(types.begin(), types.end());
  plan.plain = types.plain;
  std::vector<int> steps;
  std::string why;
  if (!fits(entry, {plan.types, plan.plain}, steps, &why))
    throw Error(TENON_ERROR_TYPE, "override {} from '{}' is not for these operands: {}",
                entry.key(), entry.provider, why);
  const TensorType* chain_of = nullptr;
  for (const TensorType* type : plan.types) {
    plan.dispatching.push_back(type->id);
    if (chain_of == nullptr && type->is(*entry.types.front())) chain_of = type;
  }
  plan.chains.push_back(make_chain(implementation, {&entry}, *chain_of, types));
  tenon_error* error = nullptr;
  Call call{implementation, bound.values, results, &error,
            call_flags(implementation, carried.flags)};
  call.written = Writing(written);
  CallFrame frame(call);
  frame.plan = &plan;
  frame.chain = &plan.chains.front();
  frame.hidden = carried.hidden;
  while (candidate_of(frame).entry != &entry) ++frame.index;
  const tenon_status status = invoke(frame);
  if (status != TENON_OK) throw_status(status, error);
}

tenon_status call_parent(const tenon_call* view, const tenon_value* arguments, tenon_value* results,
                         tenon_error** error) noexcept {
  const CallFrame* found = thread_state.frame;
  while (found != nullptr && &found->view != view) found = found->outer;
  if (found == nullptr) [[unlikely]] {
    return guarded(error, [] {
      throw Error(TENON_ERROR_RUNTIME,
                  "call_parent: the call is not running on this thread; use it only inside its "
                  "handler");
    });
  }
  const CallFrame& running = *found;
  const Implementation& implementation = running.call.implementation;
  if (tracing()) trace(trace_event::parent, implementation, "parent");
  const TraceDepth inside(tracing());
  if (running.chain == nullptr) return call_outside(running, arguments, results, error);
  const std::vector<Candidate>& candidates = running.chain->candidates;
  const TensorType* level = candidates[running.index].level;
  size_t index = running.index + 1;
  while (index < candidates.size() && candidates[index].level == level) ++index;
  Call call = running.call;
  call.flags = call_flags(implementation, call.flags);
  call.results = results;
  call.error = error;
  if (index == candidates.size()) {
    clear_results(call);
    if (implementation.composite && (level->descriptor.flags & TENON_TYPE_DECOMPOSES) != 0) {
      if (arguments != nullptr) call.arguments = arguments;
      call.flags &= ~uint32_t{TENON_TENSOR_TYPED};
      return next<LayerId::typed>(call);
    }
    results[0].tag = TENON_VALUE_NOT_IMPLEMENTED;
    return TENON_OK;
  }
  if (arguments == nullptr)
    return ask_candidate(*running.plan, *running.chain, index, call, running.hidden);
  Carried carried;
  const tenon_status status = guarded(error, [&] {
    check_given(implementation, arguments);
    gather_types(implementation, arguments, carried);
  });
  if (status != TENON_OK) return status;
  const Rewritten written(running.call, arguments);
  call.flags = call_flags(implementation, carried.flags);
  call.arguments = arguments;
  call.written = Writing(written.get());
  return ask_candidate(*running.plan, *running.chain, index, call, carried.hidden);
}

}  // namespace tenon::core

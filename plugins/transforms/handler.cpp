// The handler of Batched: takes every op with a batched operand to the tensors inside.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/ops.hpp>

#include "transforms/batch_call.hpp"
#include "transforms/families.hpp"
#include "transforms/last_run.hpp"
#include "transforms/levels.hpp"
#include "transforms/op_plan.hpp"

namespace tenon_transforms {

using namespace tenon;
using transforms::BatchRule;
using transforms::Randomness;

namespace {

// Payload of a batched tensor; null of any other. Valid as long as the tensor.
const Batched* payload_of(tenon_tensor* handle) {
  static const uint32_t type = detail::type_id<Batched>();
  const tenon_tensor_view& view = *tenon_tensor_get_view(handle);
  if ((view.flags & TENON_TENSOR_TYPED) == 0) return nullptr;
  // A BatchedOperand is one, too.
  if (view.type != type && service::types().is(view.type, type) == 0) return nullptr;
  return static_cast<const Batched*>(service::types().payload(handle));
}

// The innermost level among the operands; valid as long as they are.
transforms_level* innermost(const tenon_call& call) {
  transforms_level* level = nullptr;
  const auto look = [&](tenon_tensor* handle) {
    if (handle == nullptr) return;
    const Batched* const payload = payload_of(handle);
    if (payload == nullptr || payload->level.get() == level) return;
    if (!payload->level.alive())
      throw RuntimeError(std::string(service::ops().name(call.op)) +
                         "(): a batched tensor is used after its vmap has returned: return it from "
                         "the function instead of keeping it");
    if (level != nullptr && payload->level->depth == level->depth)
      throw RuntimeError(
          std::string(service::ops().name(call.op)) +
          "(): operands are batched by two calls of vmap, neither of which is inside "
          "the other");
    if (level == nullptr || payload->level->depth > level->depth) level = payload->level.get();
  };
  for (int64_t i = 0; i < call.argument_count; ++i) {
    const tenon_value& value = call.arguments[i];
    if (value.tag == TENON_VALUE_TENSOR) look(value.as.tensor);
    for (uint32_t k = 0; value.tag == TENON_VALUE_TENSOR_LIST && k < value.length; ++k)
      look(value.as.tensors[k]);
  }
  return level;
}

// ---- elementwise ops without a rule ----

Tensor plain(const Tensor& tensor) {
  const Batched* const payload = try_as<Batched>(tensor);
  return payload == nullptr ? tensor : plain(payload->value);
}

// Whether the host runs the op in loops over elements. The operands say which implementation is asked;
// of an in-place form it is the op.
bool has_loops(const BatchCall& batch) {
  const OpPlan& plan = batch.plan();
  const tenon_op* op = plan.op;
  if (plan.changes) {
    if (plan.changed != 0 || plan.name.back() != '_') return false;
    const std::string name = plan.name.substr(0, plan.name.size() - 1);
    if (service::ops().find(name.data(), static_cast<int64_t>(name.size()), &op, nullptr) !=
        TENON_OK)
      return false;
  }
  const OpPlan& form = plan_of(op);
  std::vector<tenon_value> values(form.parameters.size());
  std::vector<Tensor> kept;
  kept.reserve(batch.operands().size());
  for (size_t i = 0; i < values.size(); ++i) {
    const int position = plan.position(form.parameters[i].name);
    if (position < 0 || position == plan.out) continue;
    values[i] = batch.argument(static_cast<size_t>(position));
    if (values[i].tag == TENON_VALUE_TENSOR_LIST) return false;
    if (values[i].tag != TENON_VALUE_TENSOR) continue;
    kept.push_back(plain(Tensor::borrow(values[i].as.tensor)));
    values[i].as.tensor = kept.back().handle();
  }
  tenon_prepared_call* prepared = nullptr;
  if (service::calls().prepare(op, values.data(), static_cast<int64_t>(values.size()), &prepared,
                               nullptr) != TENON_OK)
    return false;
  const bool loops = service::calls().writes_into(prepared) != 0;
  service::calls().release(prepared);
  return loops;
}

bool is_elementwise(const BatchCall& batch) {
  Elementwise known = batch.plan().elementwise.load(std::memory_order_relaxed);
  if (known == Elementwise::unknown) {
    known = has_loops(batch) ? Elementwise::yes : Elementwise::no;
    batch.plan().elementwise.store(known, std::memory_order_relaxed);
  }
  return known == Elementwise::yes;
}

// ---- a call ----

void log_loop(const BatchCall& batch) {
  if (batch.plan().logged.exchange(true)) return;
  const std::string line =
      "vmap runs " + batch.name() + " in a loop over samples: no plugin has a batch rule for it";
  service::threads().log(2, "transforms", line.c_str(), static_cast<int64_t>(line.size()));
}

// Results of an op that is made of ops, as new handles: the host has made views of them.
Results renewed(const BatchCall& batch, Results results) {
  results.transform([&](const Tensor& result) {
    for (const Operand& operand : batch.operands()) {
      if (operand.given.is_same(result)) return result;
    }
    const Batched* const payload = try_as<Batched>(result);
    return payload == nullptr ? result : make<Batched>(payload->value, payload->level);
  });
  return results;
}

// The common case, without copies of operands: an elementwise op whose batched operands have the highest
// rank of all. Undefined in other cases.
Tensor run_aligned(const tenon_call& call, const OpPlan& plan) {
  constexpr int64_t most = 8;
  if (call.argument_count > most || plan.changes || plan.result_count != 1) return {};
  tenon_value values[most];
  const Level* level = nullptr;
  int64_t rank = -1, plain_rank = 0, least = INT64_MAX;
  tenon_dtype dtype = TENON_DTYPE_NONE;
  bool mixed = false;
  for (int64_t i = 0; i < call.argument_count; ++i) {
    values[i] = call.arguments[i];
    if (values[i].tag == TENON_VALUE_TENSOR_LIST) return {};
    if (values[i].tag != TENON_VALUE_TENSOR) continue;
    if (i == plan.out) return {};
    const tenon_tensor_view& view = *tenon_tensor_get_view(values[i].as.tensor);
    mixed = mixed || (dtype != TENON_DTYPE_NONE && dtype != view.dtype);
    dtype = view.dtype;
    least = std::min<int64_t>(least, view.rank);
    if (const Batched* const payload = payload_of(values[i].as.tensor)) {
      if (level == nullptr) level = &payload->level;
      if (payload->level != *level || (rank >= 0 && rank != view.rank)) return {};
      constexpr uint32_t carried = TENON_TENSOR_REQUIRES_GRAD | TENON_TENSOR_HAS_TANGENT;
      if ((view.flags & ~payload->value.view_record().flags & carried) != 0)
        return {};  // a Function was recorded for it
      rank = view.rank;
      values[i].as.tensor = payload->value.handle();
    } else if ((view.flags & TENON_TENSOR_TYPED) != 0) {
      return {};
    } else {
      plain_rank = std::max<int64_t>(plain_rank, view.rank);
    }
  }
  if (level == nullptr || !level->alive()) return {};
  if (plain_rank > rank || (mixed && least == 0 && rank > 0)) return {};
  tenon_value result{};
  detail::check(service::ops().call, plan.op, values, call.argument_count, &result);
  Value owned(result);
  const tenon_value& held = owned.get();
  const bool fits = held.tag == TENON_VALUE_TENSOR &&
                    tenon_tensor_get_view(held.as.tensor)->rank > 0 &&
                    tenon_tensor_get_view(held.as.tensor)->shape[0] == (*level)->size;
  if (!fits) return {};
  return make<Batched>(Tensor::take(owned.give().as.tensor), *level);
}

thread_local const char* last_how = nullptr;
thread_local const BatchRule* last_rule = nullptr;

Results run(const BatchCall& batch, const Call& call, Run& noted) {
  const OpPlan& plan = batch.plan();
  if (plan.generated) {
    noted.note("ops");
    return run_generated(batch);
  }
  if (plan.elementwise.load(std::memory_order_relaxed) == Elementwise::yes) {
    noted.note("elementwise", plan.elementwise_rule);
    batch.check_changes();
    if (std::optional<Results> results = run_elementwise(batch))
      return wrap_results(batch, std::move(*results), "elementwise");
  }
  for (const BatchRule& rule : plan.rules) {
    if (!holds(rule, batch)) continue;
    noted.note(rule.family == "refuse"   ? "refused"
               : rule.family == "random" ? "random"
               : rule.family == "loop"   ? "loop"
                                         : "rule",
               &rule);
    if (rule.family.empty()) return run_expression(rule, batch);
    batch.check_changes();
    if (rule.family == "refuse") throw RuntimeError(batch.name() + "(): vmap: " + rule.reason);
    if (rule.family == "random") {
      if (batch.level()->randomness == static_cast<uint32_t>(Randomness::error))
        refuse_random(batch.plan());
      return run_loop(batch, true);
    }
    if (rule.family == "loop") return run_loop(batch, false);
    if (std::optional<Results> results = run_family(rule, batch))
      return wrap_results(batch, std::move(*results), rule.text);
  }
  noted.note("ops");
  try {
    std::optional<DrawsSeen> seen;  // a lasting level sees them all along
    if (!is_lasting(batch.level())) seen.emplace(batch.level().get());
    Results decomposed = call.call_parent();
    if (!decomposed.declined()) return renewed(batch, std::move(decomposed));
  } catch (const RuntimeError&) {
    throw;  // an op within is refused
  } catch (const Error&) {
    // It may read elements, which a batched tensor does not have. What it has changed stays so.
    if (plan.changes) throw;
  }
  noted.note("loop");
  batch.check_changes();
  if (is_elementwise(batch)) {
    noted.note("elementwise", plan.elementwise_rule);
    if (std::optional<Results> results = run_elementwise(batch))
      return wrap_results(batch, std::move(*results), "elementwise");
  } else {
    log_loop(batch);
  }
  noted.note("loop");
  return run_loop(batch, false);
}

// The operands that an op has changed are its results.
Results changed_operands(const BatchCall& batch) {
  Results results = Results::of_count(batch.plan().result_count);
  int64_t r = 0;
  for (size_t i = 0; i < batch.plan().parameters.size() && r < results.size(); ++i) {
    const OpParameter& parameter = batch.plan().parameters[i];
    if (!parameter.mutates || parameter.out) continue;
    if (parameter.list) {
      std::vector<Tensor> list;
      for (const Operand& operand : batch.operands()) {
        if (operand.parameter == i) list.push_back(operand.given);
      }
      detail::give_result(std::move(list), results.slots() + r++);
    } else if (const Operand* const operand = batch.operand(i)) {
      detail::give_result(Tensor(operand->given), results.slots() + r++);
    } else {
      ++r;  // none was given, and none results
    }
  }
  return results;
}

Results into_out(const BatchCall& batch, const tenon_value& out, Results results) {
  if (out.tag != TENON_VALUE_TENSOR)
    throw TypeError(batch.name() + "(): vmap: out takes no list of tensors; omit it");
  const Tensor target = Tensor::borrow(out.as.tensor);
  if (transforms::batched_by(target, batch.level()) == nullptr)
    throw TypeError(batch.name() +
                    "(): vmap: 'out' is not batched, but an operand is: omit it, or give a batched "
                    "tensor");
  const Tensor result = results.take(0).tensor();
  if (target.sizes() != result.sizes() || target.dtype() != result.dtype())
    throw ValueError(batch.name() + "(): vmap: 'out' has another shape or dtype than the result");
  static const Op copy("copy_");
  copy.call<Tensor>(target, result);
  return Results(target);
}

}  // namespace

Run::~Run() {
  last_how = how_;
  last_rule = rule_;
}

void take_last_run(const char** how, const char** rule, const char** provider) {
  *how = std::exchange(last_how, nullptr);
  const BatchRule* const last = std::exchange(last_rule, nullptr);
  *rule = last == nullptr ? nullptr : last->text.c_str();
  *provider = last == nullptr ? nullptr : last->provider.c_str();
}

}  // namespace tenon_transforms

TENON_NAMESPACE_BEGIN

Results transforms::Batched::tenon_function(const Call& call) {
  using namespace tenon_transforms;
  const tenon_call& raw = *call.handle();
  const OpPlan& plan = plan_of(raw.op);
  Run noted;
  if (plan.elementwise.load(std::memory_order_relaxed) == Elementwise::yes) {
    noted.note("elementwise", plan.elementwise_rule);
    if (Tensor result = run_aligned(raw, plan); result.defined()) return result;
  }
  const Level level(innermost(raw));
  const BatchCall batch(raw, plan, level);
  Results results = run(batch, call, noted);
  if (plan.changed >= 0) return changed_operands(batch);
  if (plan.out >= 0) {
    const tenon_value& out = raw.arguments[plan.out];
    if (out.tag != TENON_VALUE_NONE) return into_out(batch, out, std::move(results));
  }
  return results;
}

TENON_NAMESPACE_END

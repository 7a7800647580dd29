#include "transforms/levels.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/call.hpp>
#include <tenon/ops.hpp>

#include "transforms/op_plan.hpp"

namespace tenon_transforms {

using namespace tenon;
using transforms::Batched;
using transforms::Level;
using transforms::Randomness;

namespace {

thread_local transforms_level* active_level = nullptr;

void TENON_CALL destroy(transforms_level* level);

// A level, and the mode that sees random ops without batched operands.
struct OwnLevel : transforms_level {
  tenon_mode* mode = nullptr;
  bool lasting = false;
};

void TENON_CALL destroy(transforms_level* level) { delete static_cast<OwnLevel*>(level); }

bool is_batched(const Tensor& tensor, const transforms_level* level) {
  const Batched* const payload = try_as<Batched>(tensor);
  return payload != nullptr && (payload->level.get() == level || is_batched(payload->value, level));
}
bool has_batched(const Call& call, const transforms_level* level) {
  bool found = false;
  call.each_tensor([&](const Tensor& tensor) { found = found || is_batched(tensor, level); });
  return found;
}

// Each sample's numbers, as a batched tensor.
Results draw_each(const Call& call, transforms_level* level) {
  const int64_t count = service::ops().result_count(call.handle()->op);
  std::vector<std::vector<Tensor>> samples(static_cast<size_t>(count));
  for (int64_t i = 0; i < std::max<int64_t>(level->size, 1); ++i) {
    Results drawn = call.call_parent();
    for (int64_t r = 0; r < count; ++r)
      samples[static_cast<size_t>(r)].push_back(drawn.take(r).tensor());
  }
  Results results = Results::of_count(count);
  for (int64_t r = 0; r < count; ++r) {
    Tensor whole = stack(samples[static_cast<size_t>(r)], 0);
    if (level->size == 0) whole = narrow(whole, 0, 0, 0);
    detail::give_result(make<Batched>(whole, Level(level)), results.slots() + r);
  }
  return results;
}

tenon_status TENON_CALL see_random(void* self, const tenon_call* raw, tenon_value* results,
                                   tenon_error** error) {
  // Most calls draw nothing.
  const OpPlan* plan = nullptr;
  const tenon_status status = run_slot(error, [&] { plan = &plan_of(raw->op); });
  if (status != TENON_OK) return status;
  if (!plan->random) {
    if (static_cast<OwnLevel*>(self)->lasting) {  // it also sees what the op draws
      results[0].tag = TENON_VALUE_NOT_IMPLEMENTED;
      return TENON_OK;
    }
    return service::types().call_parent(raw, static_cast<const tenon_value*>(nullptr), results,
                                        error);
  }
  return detail::answer(raw, results, error, [&]() -> Results {
    const Call call(raw);
    auto* const level = static_cast<transforms_level*>(self);
    if (has_batched(call, level)) return call.call_parent();
    if (level->randomness == static_cast<uint32_t>(Randomness::error)) refuse_random(*plan);
    if (plan->changes)
      throw TypeError(plan->name +
                      "(): vmap: it would fill a tensor that is not batched with numbers of each "
                      "sample; make a new tensor of random numbers");
    return draw_each(call, level);
  });
}

// Null where all samples get the same numbers: then an op draws once for all.
tenon_mode* see_random_ops(transforms_level* level) {
  tenon_mode* mode = nullptr;
  if (level->randomness != static_cast<uint32_t>(Randomness::same))
    call_slot(service::modes().enter, "vmap", see_random, static_cast<void*>(level), int32_t{0},
              &mode);
  return mode;
}

}  // namespace

Level lasting_level(int64_t size, uint32_t randomness) {
  auto* const made = new OwnLevel;
  made->references = 1;
  made->depth = 1;
  made->size = size;
  made->randomness = randomness;
  made->alive = 1;
  made->outer = nullptr;
  made->destroy = destroy;
  made->lasting = true;
  return Level::take(made);
}
bool is_lasting(const Level& level) { return static_cast<const OwnLevel*>(level.get())->lasting; }

ActiveLevel::ActiveLevel(transforms_level* level) : before_(std::exchange(active_level, level)) {}
ActiveLevel::~ActiveLevel() { active_level = before_; }

DrawsSeen::DrawsSeen(transforms_level* level)
    : outer_(level->outer == nullptr ? nullptr : std::make_unique<DrawsSeen>(level->outer)),
      mode_(see_random_ops(level)) {}
DrawsSeen::~DrawsSeen() {
  if (mode_ != nullptr) service::modes().leave(mode_, nullptr);
}

tenon_status begin_level(int64_t size, uint32_t randomness, transforms_level** level,
                         tenon_error** error) {
  return run_slot(error, [&] {
    if (size < 0) throw ValueError("a batch has " + std::to_string(size) + " samples");
    auto* const made = new OwnLevel;
    made->references = 1;
    made->depth = active_level == nullptr ? 1 : active_level->depth + 1;
    made->size = size;
    made->randomness = randomness;
    made->alive = 1;
    made->outer = active_level;
    made->destroy = destroy;
    const Level owned = Level::take(made);
    made->mode = see_random_ops(made);
    active_level = made;
    *level = Level(owned).get();
    __atomic_fetch_add(&made->references, 1, __ATOMIC_RELAXED);
  });
}

tenon_status end_level(transforms_level* level, tenon_error** error) {
  return run_slot(error, [&] {
    auto* const own = static_cast<OwnLevel*>(level);
    __atomic_store_n(&level->alive, 0, __ATOMIC_RELEASE);
    const bool innermost = active_level == level;
    if (innermost) active_level = level->outer;
    if (own->mode != nullptr) call_slot(service::modes().leave, std::exchange(own->mode, nullptr));
    if (!innermost)
      throw RuntimeError("a level of vmap ends that is not the innermost of its thread");
  });
}

transforms_level* innermost_level() { return active_level; }

}  // namespace tenon_transforms
